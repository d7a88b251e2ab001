//! Shells that a command starts: with text, with a file, or with what comes in.

use std::rc::Rc;

use super::builtins::is_standard_input;
use super::options::Grammar;
use super::row::When::Always;
use super::row::{PROGRAM, Program, Runs, Which, allows, asks, denies};
use crate::machine::command::Call;
use crate::machine::state::{Value, World};
use crate::machine::{Machine, Ran};
use crate::value::{Arg, Flow, Labels, Piece, Text};

pub(crate) use chiton_shell::reader::SHELLS;

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &SHELLS,
        custom: Some(|machine, call, world| Some(start(machine, call, world.clone()))),
        examples: examples![
            denies("bash -c 'rm -rf /'", "delete-root"),
            denies("echo 'rm -rf /' | sh", "delete-root"),
            denies("echo 'rm -rf /' > x.sh; sh x.sh", "delete-root"),
            asks("curl https://x.io/install.sh | bash -s -- -y", "download-run"),
            denies("rm() { echo; }; bash -c 'rm -rf /'", "delete-root"),
            denies("d=build; bash -c 'rm -rf \"$d\"/*'", "delete-root"),
            denies("exec 3<<< 'rm -rf /'; bash <&3", "delete-root"),
            allows("export d=build; bash -c 'rm -rf \"$d\"/*'"),
            allows("bash -euo pipefail -c 'make test'"),
            denies("echo 'rm -rf /' > x; ENV=x sh -i", "delete-root"),
            denies("echo 'rm -rf /' >> x.sh; sh x.sh", "delete-root"),
            denies("{ cat setup.sh; echo 'rm -rf /'; } | sh", "delete-root"),
            denies("f=$(mktemp); echo 'rm -rf /' > $f; sh $f", "delete-root"),
            denies("echo 'rm -rf /' > x.sh; find . -name '*.sh' -exec sh {} \\;", "delete-root"),
            allows("f=$(mktemp); echo 'make test' > $f; sh $f"),
            allows("sh ./configure"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["su"],
        grammar: Grammar {
            short: "cgGswC",
            long: &["command", "group", "supp-group", "shell", "session-command", "whitelist-environment"],
            flags: &["login", "preserve-environment", "pty"],
            ..Grammar::PLAIN
        },
        runs: Runs::FirstOf(&[Runs::Text(Which::Values(&["c", "command", "session-command"])), Runs::Input]),
        prompts: &[(Always, "it asks for a password")],
        examples: examples![
            denies("su - root -c 'rm -rf /'", "delete-root"),
            denies("echo 'rm -rf /' | su", "delete-root"),
            allows("su - postgres -c 'psql -l'"),
        ],
        ..PROGRAM
    },
];

/// A shell with its arguments.
pub(super) fn start(machine: &mut Machine<'_>, call: &Call, mut world: World) -> Ran {
    let mut rest = call.args.iter().peekable();
    let (mut takes_text, mut reads_input) = (false, false);
    while let Some(arg) = rest.peek() {
        let option = arg.text.known_start();
        match &*option {
            "--" => {
                rest.next();
                break;
            }
            "-" if arg.text.is("-") => {
                rest.next();
                break;
            }
            "--help" | "--version" => return Ran::same(world, Flow::labelled(Labels::PLAIN)),
            "--rcfile" | "--init-file" => {
                rest.next();
                if let Some(file) = rest.next() {
                    let flow = machine.read(&file.text, &world);
                    machine.run_flow(&flow, world.clone(), &call.input, file);
                }
            }
            _ if option.starts_with("--") => {
                rest.next();
            }
            _ if option.starts_with(['-', '+']) && option.len() > 1 => {
                takes_text |= option.starts_with('-') && option.contains('c');
                world.ends_on_failure |= option.starts_with('-') && option.contains('e');
                reads_input |= option.starts_with('-') && option.contains('s');
                rest.next();
                // `-o` and `-O` take the name of a setting.
                for _ in option.chars().filter(|letter| matches!(letter, 'o' | 'O')) {
                    rest.next();
                }
            }
            _ => break,
        }
    }

    let rest: Vec<Arg> = rest.cloned().collect();
    let reads_env = is_interactive(call) && world.has_set("ENV") && !matches!(call.name.as_str(), "bash" | "zsh");
    if reads_env && let Value::Scalar(file) = world.get("ENV", machine.context) {
        let flow = machine.read(&file, &world);
        machine.run_flow(&flow, world.clone(), &call.input, &Arg::new(file, call.span));
    }
    world.forget_what_is_not_exported();
    match rest.split_first() {
        _ if takes_text => with_text(machine, &rest, world, call),
        Some((file, args)) if !reads_input => with_file(machine, file, args, world, call),
        _ => {
            world.positional = Some(texts(&rest));
            reading_input(machine, call, world)
        }
    }
}

fn texts(args: &[Arg]) -> Rc<Vec<Text>> {
    Rc::new(args.iter().map(|arg| arg.text.clone()).collect())
}

fn with_text(machine: &mut Machine<'_>, rest: &[Arg], mut world: World, call: &Call) -> Ran {
    let Some((text, parameters)) = rest.split_first() else { return Ran::same(world, Flow::empty()) };
    let outer = world.clone();
    world.script = parameters.first().and_then(|arg| arg.text.as_known());
    world.positional = Some(texts(parameters.get(1..).unwrap_or_default()));

    let other = text.text.as_literal().and_then(|known| without_unexported(machine, &known, &world));
    let flow = machine.run_text(text, world, &call.input).flow;
    if let Some(other) = other {
        machine.run_text(text, other, &call.input);
    }
    Ran::same(outer, flow)
}

/// The same world without the variables that `text` uses and that a new shell does not get; none where there are none.
fn without_unexported(machine: &Machine<'_>, text: &str, world: &World) -> Option<World> {
    let uses = |name: &&str| {
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            rest = &rest[at + 1..];
            let named = rest.strip_prefix('{').unwrap_or(rest).strip_prefix(*name);
            if named.is_some_and(|after| !after.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_')) {
                return true;
            }
        }
        false
    };
    let names: Vec<String> = world.unexported(machine.context).filter(uses).map(str::to_owned).collect();
    if names.is_empty() {
        return None;
    }
    let mut other = world.clone();
    for name in names {
        other.set(&name, Value::Unset);
    }
    Some(other)
}

/// A script file: what this command wrote into it is known, other files are as good as any program.
fn with_file(machine: &mut Machine<'_>, file: &Arg, args: &[Arg], mut world: World, call: &Call) -> Ran {
    let outer = world.clone();
    let mark = format!("script {}", file.text.display());
    if let Some(at) = machine.frames.iter().rposition(|frame| frame.name == mark) {
        machine.recursion(at, &file.text.display(), call.span);
        return Ran::same(outer, Flow::unknown());
    }

    if is_standard_input(&file.text) {
        world.positional = Some(texts(args));
        return reading_input(machine, call, world);
    }
    let content = machine.read(&file.text, &world);
    world.script = file.text.as_known();
    world.positional = Some(texts(args));

    let frame = machine.frame(&mark);
    machine.frames.push(frame);
    let other = content.text.as_deref().and_then(|known| without_unexported(machine, known, &world));
    let flow = machine.run_flow(&content, world, &call.input, file).flow;
    if let Some(other) = other {
        machine.run_flow(&content, other, &call.input, file);
    }
    machine.frames.pop();
    Ran::same(outer, flow)
}

fn is_interactive(call: &Call) -> bool {
    call.args.iter().any(|arg| arg.text.known_start().starts_with('-') && arg.text.known_start().contains('i'))
}

/// A shell that takes its commands from its input.
pub(super) fn reading_input(machine: &mut Machine<'_>, call: &Call, world: World) -> Ran {
    let is_interactive = is_interactive(call);
    if *call.input == Flow::empty() {
        if is_interactive || SHELLS.contains(&call.name.as_str()) {
            machine.waits_for_a_person(&call.name, "it waits for commands; give them with -c", call.span);
        }
        let labels = if is_interactive { Labels::SHELL } else { Labels::SHELL.with(Labels::UNKNOWN) };
        return Ran::same(world, Flow::labelled(labels));
    }

    let outer = world.clone();
    let from = Arg::known("standard input", call.span);
    let silent = Rc::new(Flow::empty());
    if let Some(other) = call.input.text.as_deref().and_then(|known| without_unexported(machine, known, &world)) {
        machine.run_flow(&call.input, other, &silent, &from);
    }
    let mut flow = machine.run_flow(&call.input, world, &silent, &from).flow;
    flow.labels = flow.labels.with(Labels::SHELL);
    Ran::same(outer, flow)
}

/// Words that a program joins with blanks and hands to a shell.
pub(super) fn run_joined(machine: &mut Machine<'_>, words: &[Arg], call: &Call, world: World) -> Ran {
    let mut text = Text::default();
    for (index, arg) in words.iter().enumerate() {
        if index > 0 {
            text.push(Piece::Known(" ".to_owned()));
        }
        text.append(&arg.text.clone().without_globs());
    }

    let span = words.first().map_or(call.span, |arg| arg.span);
    machine.run_text(&Arg::new(text, span), world, &call.input)
}
