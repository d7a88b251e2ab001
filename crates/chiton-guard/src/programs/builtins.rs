//! Builtins of the shell: what they change for what comes after them.

use std::rc::Rc;

use super::options::{Grammar, Options};
use super::row::Does::Is;
use super::row::When::{All, Called, Fed, Not, Starts};
use super::row::{On, PROGRAM, Prints, Program, Runs, allows, asks, denies};
use crate::effect::Kind;
use crate::machine::command::Call;
use crate::machine::state::{Value, World, Worlds};
use crate::machine::{Lasting, Machine, Ran};
use crate::value::path;
use crate::value::{Arg, Flow, Labels, Piece, Text, What};

/// A builtin that prints nothing of interest and changes nothing here.
const QUIET: Program = Program { prints: Prints::Nothing, ..PROGRAM };

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["cd", "chdir", "pushd", "popd"],
        custom: Some(|machine, call, world| Some(change_directory(machine, call, world.clone()))),
        examples: &[
            denies("cd / && rm -rf usr", "delete-system"),
            denies("pushd /; rm -rf ./etc; popd", "delete-system"),
            allows("cd build && rm -rf out"),
        ],
        ..QUIET
    },
    Program {
        names: &["export", "declare", "typeset", "local", "readonly"],
        custom: Some(|machine, call, world| {
            declare(machine, call, world);
            let lists = |arg: &Arg| matches!(arg.text.known_start().as_str(), "-p" | "-x" | "-px" | "-xp");
            let flow = if call.args.iter().all(lists) { Flow::labelled(Labels::SECRET) } else { Flow::empty() };
            let world = world.clone();
            Some(if call.name == "export" { Ran::succeeded(world, flow) } else { Ran::same(world, flow) })
        }),
        examples: &[
            denies("declare D=/; rm -rf $D", "delete-root"),
            asks("export LD_PRELOAD=/tmp/x.so", "environment"),
            allows("export NAME=value"),
        ],
        ..QUIET
    },
    Program {
        names: &["unset"],
        custom: Some(|machine, call, world| {
            unset(machine, call, world);
            None
        }),
        examples: &[asks("unset HISTFILE", "logs"), allows("unset NAME")],
        ..QUIET
    },
    Program {
        names: &["set"],
        custom: Some(|machine, call, world| {
            set(machine, call, world);
            let labels = if call.args.is_empty() { Labels::SECRET } else { Labels::PLAIN };
            Some(Ran::succeeded(world.clone(), Flow::labelled(labels)))
        }),
        examples: &[
            denies("set -- /; rm -rf \"$1\"", "delete-root"),
            asks("set +o history", "logs"),
            allows("set -euo pipefail"),
        ],
        ..QUIET
    },
    Program {
        names: &["shift"],
        custom: Some(shift),
        examples: &[denies("set -- a /; shift; rm -rf $1", "delete-root"), allows("shift")],
        ..QUIET
    },
    Program {
        names: &["read", "mapfile", "readarray"],
        custom: Some(|machine, call, world| Some(read_variables(machine, call, world.clone()))),
        prompts: &[(All(&[Called(&["read"]), Not(&Fed)]), "it waits for a line that nobody types")],
        examples: &[denies("read D <<< /; rm -rf $D", "delete-root"), allows("read -r line < notes.txt")],
        ..QUIET
    },
    Program {
        names: &["getopts"],
        custom: Some(|_, call, world| {
            if let Some(name) = call.args.get(1).and_then(|arg| arg.text.as_known()) {
                world.set_text(&name, Text::unknown(What::Plain, true));
            }
            None
        }),
        examples: &[allows("getopts ab: option")],
        ..QUIET
    },
    Program {
        names: &["exit", "logout", "return", "break", "continue"],
        custom: Some(|_, _, world| {
            world.ended = true;
            None
        }),
        examples: &[allows("exit 3")],
        ..QUIET
    },
    Program {
        names: &["true", ":", "shopt", "umask"],
        custom: Some(|_, _, world| Some(Ran::succeeded(world.clone(), Flow::empty()))),
        examples: &[allows("true && ls"), denies("true || ls; rm -rf /", "delete-root")],
        ..QUIET
    },
    Program {
        names: &["false"],
        custom: Some(|_, _, world| {
            let failure = Worlds::one(world.clone());
            Some(Ran { failure, flow: Flow::empty(), ..Ran::default() })
        }),
        examples: &[denies("false || rm -rf /", "delete-root"), allows("false")],
        ..QUIET
    },
    Program {
        names: &[
            "test", "[", "wait", "jobs", "fg", "bg", "disown", "ulimit", "times", "help", "suspend", "caller", "dirs",
            "compgen",
        ],
        examples: &[allows("test -d src"), allows("wait")],
        ..QUIET
    },
    Program {
        names: &["let"],
        custom: Some(|_, call, world| {
            for arg in &call.args {
                if let Some((name, _)) = arg.text.known_start().split_once('=') {
                    world.set_text(name.trim_end_matches(['+', '-', '*', '/']), Text::unknown(What::Plain, true));
                }
            }
            None
        }),
        examples: &[allows("let x=1+2")],
        ..QUIET
    },
    Program {
        names: &["alias"],
        custom: Some(|machine, call, world| {
            alias(machine, call, world);
            Some(Ran::succeeded(world.clone(), Flow::empty()))
        }),
        examples: &[asks("alias sudo=/tmp/x", "hidden-run"), allows("alias ll='ls -l'")],
        ..QUIET
    },
    Program {
        names: &["unalias"],
        custom: Some(|_, _, world| {
            world.aliases = Rc::default();
            None
        }),
        examples: &[allows("unalias ll")],
        ..QUIET
    },
    Program {
        names: &["trap"],
        custom: Some(|machine, call, world| {
            trap(machine, call, world);
            Some(Ran::succeeded(world.clone(), Flow::empty()))
        }),
        examples: &[denies("trap 'rm -rf /' EXIT", "delete-root"), allows("trap 'rm -f lock' EXIT")],
        ..QUIET
    },
    Program {
        names: &["eval"],
        custom: Some(|machine, call, world| Some(eval(machine, call, world.clone()))),
        examples: &[denies("eval 'rm -rf /'", "delete-root"), allows("eval 'ls -l'")],
        ..QUIET
    },
    Program {
        names: &["source", "."],
        custom: Some(|machine, call, world| Some(source(machine, call, world.clone()))),
        examples: &[denies("source /dev/stdin <<< 'rm -rf /'", "delete-root"), allows("source ./env.sh")],
        ..QUIET
    },
    Program {
        names: &["enable"],
        runs: Runs::Perhaps,
        effects: &[On(Starts(&["-f"]), Is(Kind::RunHidden, "This loads code into the shell."))],
        examples: &[asks("enable -f ./x.so x", "hidden-run"), allows("enable -n test")],
        ..QUIET
    },
    Program {
        names: &["hash"],
        runs: Runs::Perhaps,
        effects: &[On(Starts(&["-p"]), Is(Kind::RunHidden, "This puts another program in the place of a command."))],
        examples: &[asks("hash -p /tmp/x ls", "hidden-run"), allows("hash -r")],
        ..QUIET
    },
    Program {
        names: &["complete", "bind"],
        custom: Some(bound_commands),
        examples: &[
            denies("complete -C 'rm -rf /' ls", "delete-root"),
            denies("bind -x '\"a\":rm -rf /'", "delete-root"),
            allows("complete -W 'a b' tool"),
        ],
        ..QUIET
    },
    Program {
        names: &["history"],
        custom: Some(|machine, call, _| {
            let wipes = |arg: &Arg| {
                let start = arg.text.known_start();
                start.starts_with('-') && start.contains(['c', 'd', 'w'])
            };
            if call.args.iter().any(wipes) {
                machine.state(Kind::EraseLog, "This wipes the history of the shell.", call.span, None);
            }
            None
        }),
        prints: Prints::Unknown,
        examples: &[asks("history -c", "logs"), allows("history 20")],
        ..PROGRAM
    },
];

fn shift(_: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let count = call.args.first().map_or(Some(1), |arg| arg.text.as_known().and_then(|text| text.parse().ok()));
    world.positional = match (world.positional.take(), count) {
        (Some(all), Some(count)) => Some(Rc::new(all.iter().skip(count).cloned().collect())),
        _ => None,
    };
    None
}

/// `complete -C command` and `bind -x key:command`.
fn bound_commands(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let options = Options::read(&call.args, &Grammar { short: "CxFAGWPSXomuqrf", ..Grammar::PLAIN });
    for text in options.values(&["C", "x"]) {
        let command = text
            .text
            .as_known()
            .map(|known| known.split_once(':').map_or(known.clone(), |(_, command)| command.to_owned()));
        let arg = Arg::new(command.map_or_else(|| text.text.clone(), Text::known), text.span);
        machine.run_text(&arg, world.clone(), &call.input);
    }
    None
}

fn change_directory(machine: &mut Machine<'_>, call: &Call, world: World) -> Ran {
    let options = Options::read(&call.args, &Grammar { short: "", stops: true, ..Grammar::default() });
    let mut moved = world.clone();
    let target = options.operands.first().map(|arg| arg.text.clone());
    match (call.name.as_str(), target) {
        ("popd", _) => {
            let directory = Rc::make_mut(&mut moved.stack).pop();
            moved.enter(directory.flatten());
        }
        ("pushd", target) => {
            let cwd = moved.cwd.clone();
            Rc::make_mut(&mut moved.stack).push(cwd);
            let directory = target.and_then(|text| directory(&text, &world));
            moved.enter(directory);
        }
        (_, None) if call.args.first().is_some_and(|arg| arg.text.is("-")) => {
            let previous = moved.previous.clone();
            moved.enter(previous);
        }
        (_, None) => {
            let home = match world.get("HOME", machine.context) {
                Value::Scalar(text) => text.as_known(),
                _ => None,
            };
            moved.enter(home);
        }
        (_, Some(text)) if text.is("-") => {
            let previous = moved.previous.clone();
            moved.enter(previous);
        }
        (_, Some(text)) => {
            // `cd ""` stays where it is.
            if !text.is("") {
                let directory = directory(&text, &world);
                moved.enter(directory);
            }
        }
    }
    let mut stayed = world;
    stayed.stayed = true;
    Ran { success: Worlds::one(moved), failure: Worlds::one(stayed), flow: Flow::empty(), errors: None }
}

fn declare(machine: &mut Machine<'_>, call: &Call, world: &mut World) {
    let reference =
        call.args.iter().any(|arg| arg.text.known_start().starts_with('-') && arg.text.known_start().contains('n'))
            && call.name != "export";
    for arg in &call.args {
        let start = arg.text.known_start();
        if start.starts_with(['-', '+']) {
            continue;
        }
        let Some(equals) = start.find('=') else {
            if call.name == "local" || call.name == "declare" {
                let known = start.clone();
                if !known.is_empty() && !world.has_set(&known) && call.name == "local" {
                    world.set(&known, Value::Unset);
                }
            }
            continue;
        };
        let (name, append) = match start[..equals].strip_suffix('+') {
            Some(name) => (name.to_owned(), true),
            None => (start[..equals].to_owned(), false),
        };
        let value = arg.text.skip(equals + 1);
        machine.judge_variable(&name, &value, arg.span, Lasting::Stays);
        if reference {
            let other = value.as_known().unwrap_or_default();
            world.set(&name, Value::Reference(other));
        } else {
            let (name, index) = match name.split_once('[') {
                Some((name, index)) => (name.to_owned(), Some(Text::known(index.trim_end_matches(']')))),
                None => (name, None),
            };
            machine.store(&name, index, append, value, world);
        }
    }
}

fn unset(machine: &mut Machine<'_>, call: &Call, world: &mut World) {
    for arg in &call.args {
        match arg.text.as_known() {
            Some(name) if name.starts_with('-') => {}
            Some(name) => {
                if matches!(name.as_str(), "HISTFILE" | "HISTSIZE") {
                    machine.state(
                        Kind::EraseLog,
                        format!("Without {name} the shell keeps no history."),
                        arg.span,
                        Some(name.clone()),
                    );
                }
                if call.args.iter().any(|arg| arg.text.is("-f")) {
                    world.undefine(&name);
                } else {
                    world.set(&name, Value::Unset);
                }
            }
            None => {}
        }
    }
}

fn set(machine: &mut Machine<'_>, call: &Call, world: &mut World) {
    let mut rest = call.args.iter();
    while let Some(arg) = rest.next() {
        if arg.text.is("--") {
            world.positional = Some(Rc::new(rest.map(|arg| arg.text.clone()).collect()));
            return;
        }
        let start = arg.text.known_start();
        if start.starts_with(['-', '+']) {
            if start.ends_with('o') && rest.next().is_some_and(|name| name.text.is("history")) && start.starts_with('+')
            {
                machine.state(
                    Kind::EraseLog,
                    "This switches the history of the shell off.".to_owned(),
                    call.span,
                    None,
                );
            }
            continue;
        }
        let mut all = vec![arg.text.clone()];
        all.extend(rest.map(|arg| arg.text.clone()));
        world.positional = Some(Rc::new(all));
        return;
    }
}

fn read_variables(machine: &mut Machine<'_>, call: &Call, mut world: World) -> Ran {
    let grammar = if call.name == "read" {
        Grammar { short: "adinNptu", ..Grammar::default() }
    } else {
        Grammar { short: "dnOsucC", ..Grammar::default() }
    };
    let options = Options::read(&call.args, &grammar);
    if let Some(callback) = options.value(&["C"]).filter(|_| call.name != "read") {
        machine.run_text(callback, world.clone(), &call.input);
    }
    if call.name == "read" && *call.input == Flow::empty() && options.has(&["p"]) {
        machine.waits_for_a_person(
            "read",
            "it waits for a line that nobody types; give the value in the command",
            call.span,
        );
    }
    let mut names: Vec<String> = options.operands.iter().filter_map(|arg| arg.text.as_known()).collect();
    let array = options.value(&["a"]).and_then(|arg| arg.text.as_known()).filter(|_| call.name == "read");
    if names.is_empty() {
        names.push(if call.name == "read" { "REPLY".to_owned() } else { "MAPFILE".to_owned() });
    }
    let lines: Option<Vec<String>> = call.input.text.as_ref().map(|text| text.lines().map(str::to_owned).collect());
    let unknown = || Text::of_flow(&Flow { text: None, ..(*call.input).clone() });
    if call.name != "read" || array.is_some() {
        let name = array.unwrap_or_else(|| names.remove(0));
        let value = match lines {
            Some(lines) if call.name == "read" => {
                let words =
                    lines.first().map(|line| line.split_whitespace().map(str::to_owned).collect()).unwrap_or_default();
                array_of(words)
            }
            Some(lines) => array_of(lines),
            None => Value::Array(vec![("0".to_owned(), unknown())]),
        };
        world.set(&name, value);
        return Ran::same(world, Flow::empty());
    }
    let Some(lines) = lines.filter(|lines| lines.len() <= 32) else {
        for name in &names {
            world.set_text(name, unknown());
        }
        return Ran::same(world, Flow::empty());
    };
    // In a loop any of the lines may be the one.
    let mut worlds = Worlds::default();
    for line in lines.iter().map(String::as_str).chain(lines.is_empty().then_some("")) {
        let mut world = world.clone();
        let line = line.trim();
        let mut rest = line;
        for (index, name) in names.iter().enumerate() {
            let (first, after) = if index + 1 == names.len() {
                (rest, "")
            } else {
                rest.split_once(char::is_whitespace).unwrap_or((rest, ""))
            };
            world.set_text(name, Text::known(first));
            rest = after.trim_start();
        }
        worlds.add(world);
    }
    Ran { success: worlds.clone(), failure: worlds, flow: Flow::empty(), errors: None }
}

fn alias(machine: &mut Machine<'_>, call: &Call, world: &mut World) {
    for arg in &call.args {
        let start = arg.text.known_start();
        let Some((name, _)) = start.split_once('=') else { continue };
        let value = arg.text.skip(name.len() + 1);
        let reserved = ["sudo", "su", "ssh", "passwd", "login"].contains(&name);
        if let Some(text) = value.as_known() {
            let first = text.split_whitespace().next().unwrap_or_default().to_owned();
            if reserved && first.contains('/') {
                let reason = format!("`{name}` would be another program from now on.");
                machine.state(Kind::RunHidden, reason, arg.span, Some(first));
            }
            Rc::make_mut(&mut world.aliases).insert(name.to_owned(), text.into());
        }
    }
}

fn trap(machine: &mut Machine<'_>, call: &Call, world: &World) {
    let operands: Vec<&Arg> = call.args.iter().skip_while(|arg| arg.text.is("--")).collect();
    if operands.len() < 2 || operands[0].text.is("-") || operands[0].text.known_start().starts_with("-p") {
        return;
    }
    let action = operands[0].clone();
    if action.text.is("") {
        return;
    }
    machine.run_text(&action, world.clone(), &Rc::new(Flow::empty()));
}

fn eval(machine: &mut Machine<'_>, call: &Call, world: World) -> Ran {
    let mut text = Text::default();
    for (index, arg) in call.args.iter().filter(|arg| !arg.text.is("--")).enumerate() {
        if index > 0 {
            text.push(Piece::Known(" ".to_owned()));
        }
        text.append(&arg.text);
    }
    let span = call.args.first().map_or(call.span, |arg| arg.span);
    machine.run_text(&Arg::new(text, span), world, &call.input)
}

fn source(machine: &mut Machine<'_>, call: &Call, mut world: World) -> Ran {
    let Some((file, rest)) = call.args.split_first() else { return Ran::same(world, Flow::empty()) };
    if !rest.is_empty() {
        world.positional = Some(Rc::new(rest.iter().map(|arg| arg.text.clone()).collect()));
    }
    let flow = if is_standard_input(&file.text) { (*call.input).clone() } else { machine.read(&file.text, &world) };
    machine.run_flow(&flow, world, &call.input, file)
}

/// Whether a file name is another name of standard input.
pub(crate) fn is_standard_input(text: &Text) -> bool {
    ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "-"].iter().any(|name| text.is(name))
}

fn array_of(items: Vec<String>) -> Value {
    Value::Array(items.into_iter().enumerate().map(|(index, item)| (index.to_string(), Text::known(item))).collect())
}

fn directory(text: &Text, world: &World) -> Option<String> {
    if let Some(known) = text.as_known() {
        return path::absolute(&known, world.cwd.as_deref());
    }
    // A path just made, or one with an end of its own below a known start, is still a place of its own.
    if let [Piece::Unknown(unknown)] = text.0.as_slice()
        && unknown.what == What::Temporary
    {
        return Some("/tmp/\u{1}".to_owned());
    }
    let start = text.known_start();
    let below = start.rsplit_once('/').map(|(directory, _)| directory).filter(|directory| directory.len() > 1);
    below.and_then(|directory| path::absolute(&format!("{directory}/\u{1}"), world.cwd.as_deref()))
}
