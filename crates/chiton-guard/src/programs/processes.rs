//! Programs that end and list processes.

use super::options::{Grammar, Options};
use super::row::Does::Is;
use super::row::When::{All, Always, Any, Has, Starts};
use super::row::{On, PROGRAM, Prints, Program, allows, denies};
use crate::effect::Kind::{KillAll, KillOwn};
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Machine, Ran};
use crate::value::{Arg, Flow, Labels, Unknown, What};

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["kill"],
        custom: Some(kill),
        prints: Prints::Nothing,
        examples: examples![
            denies("kill -9 -1", "kill-all"),
            denies("kill 1", "kill-all"),
            denies("kill $(ps -e -o pid)", "kill-all"),
            denies("kill $PPID", "kill-self"),
            allows("kill -0 1"),
            allows("kill -TERM 4711"),
            allows("kill %1"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["killall", "skill", "snice"],
        custom: Some(kill_by_name),
        prints: Prints::Nothing,
        examples: examples![
            denies("killall systemd", "kill-all"),
            denies("killall -u dev", "kill-all"),
            denies("killall chiton", "kill-self"),
            allows("killall -9 webpack"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["pkill"],
        custom: Some(kill_by_name),
        prints: Prints::Nothing,
        examples: examples![
            denies("pkill .", "kill-all"),
            denies("pkill -u dev", "kill-all"),
            denies("pkill -P 1", "kill-all"),
            denies("pkill -f chiton", "kill-self"),
            allows("pkill -0 -f chiton"),
            allows("pkill -f 'node server.js'"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["killall5"],
        effects: &[On(Always, Is(KillAll, "This ends all processes."))],
        prints: Prints::Nothing,
        examples: examples![denies("killall5 -9", "kill-all"), allows("killall5 --help")],
        ..PROGRAM
    },
    Program {
        names: &["xkill", "fuser"],
        effects: &[On(
            All(&[Any(&[Starts(&["-k"]), Has(&["--kill"])]), Has(&["/", "/home", "/usr"])]),
            Is(KillAll, "This ends every process that uses the file system."),
        )],
        prints: Prints::Labelled(CHOSEN),
        examples: examples![denies("fuser -km /", "kill-all"), allows("fuser -k 8080/tcp"), allows("fuser -v /home")],
        ..PROGRAM
    },
    Program {
        names: &["ps"],
        custom: Some(list_processes),
        prints: Prints::Labelled(NOT_CHOSEN),
        examples: examples![
            allows("ps aux"),
            allows("kill $(ps -p 4711 -o pid=)"),
            denies("kill $(ps -eo pid)", "kill-all")
        ],
        ..PROGRAM
    },
    Program {
        names: &["pgrep", "pidof", "lsof"],
        custom: Some(find_processes),
        prints: Prints::Labelled(CHOSEN),
        examples: examples![
            allows("kill $(pgrep -f vite)"),
            allows("kill $(lsof -t -i:3000)"),
            denies("kill $(pgrep .)", "kill-all"),
            denies("kill $(pidof systemd)", "kill-all"),
        ],
        ..PROGRAM
    },
];

/// What a program prints that was told which processes to find.
const CHOSEN: Labels = Labels::PLAIN.with(Labels::CHOSEN);

/// What a program prints that finds all processes.
const NOT_CHOSEN: Labels = Labels::PROCESSES.with(Labels::UNKNOWN);

/// `ps` finds chosen processes by their id, name or parent; their parents are not chosen.
fn list_processes(_: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let chooses = |arg: &Arg| {
        let start = arg.text.known_start();
        ["-p", "--pid", "-C", "--ppid", "-s", "--sid", "-t", "--tty"].iter().any(|option| start.starts_with(option))
    };
    let shows_parents = |arg: &Arg| arg.text.display().contains("ppid");
    let chosen = call.args.iter().any(chooses) && !call.args.iter().any(shows_parents);
    chosen.then(|| Ran::same(world.clone(), Flow::labelled(Labels::PLAIN)))
}

/// `pgrep`, `pidof` and `lsof` find all processes by a pattern that matches all, or by the name of one of our own.
fn find_processes(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    const FIND: Grammar = Grammar {
        short: "dFgGNoOPQstUu",
        long: &["delimiter", "parent", "uid", "euid", "pgroup", "session"],
        ..Grammar::PLAIN
    };
    let options = Options::read(&call.args, &FIND);
    let matches_all = |arg: &Arg| arg.text.as_known().is_some_and(|pattern| is_sweeping(&pattern));
    let sweeping = call.name == "pgrep"
        && options.operands.iter().all(matches_all)
        && !options.has(&["P", "parent", "g", "pgroup", "s", "t"]);
    let own = options.operands.iter().any(|arg| names_own(machine, &arg.text.display()));
    (sweeping || own).then(|| Ran::same(world.clone(), Flow::labelled(NOT_CHOSEN)))
}

fn names_own(machine: &Machine<'_>, name: &str) -> bool {
    let mut own_processes = machine.context.own_processes.iter();
    ["systemd", "init"].contains(&name)
        || own_processes.any(|own| own.name == name || own.name.starts_with(name) && name.len() > 3)
        || name.contains("chiton")
}

fn kill(machine: &mut Machine<'_>, call: &Call, _: &mut World) -> Option<Ran> {
    let mut operands: Vec<&Arg> = Vec::new();
    let mut rest = call.args.iter();
    let mut first = true;
    while let Some(arg) = rest.next() {
        let start = arg.text.known_start();
        if start == "--" && arg.text.is("--") {
            operands.extend(rest);
            break;
        }

        match &*start {
            "-l" | "-L" | "--list" | "-t" | "--table" => return None,
            "-s" | "-n" | "--signal" | "-q" | "--queue" => {
                rest.next();
            }
            // The first word with a dash is the signal, later ones are groups.
            _ if first && start.starts_with('-') && start.len() > 1 && !(start == "-1" && call.args.len() == 1) => {
                if start == "-0" {
                    return None;
                }
            }
            _ => operands.push(arg),
        }
        first = false;
    }

    for arg in operands {
        kill_target(machine, arg);
    }
    None
}

fn kill_target(machine: &mut Machine<'_>, arg: &Arg) {
    let shown = arg.text.display();
    let of_all = |unknown: &Unknown| matches!(&unknown.what, What::Found(roots) if roots.iter().any(|root| root.directory().starts_with("/proc")));
    if arg.text.unknowns().any(of_all) || arg.text.has_glob() || arg.text.labels().has(Labels::PROCESSES) {
        let reason = format!("{shown} stands for processes that were not chosen.");
        machine.state(KillAll, reason, arg.span, Some(shown));
        return;
    }
    if arg.text.unknowns().any(|unknown| unknown.what == What::Parent) {
        let reason = "The parent of the shell is the server that runs this command.";
        machine.state(KillOwn, reason, arg.span, Some(shown));
        return;
    }

    let Some(known) = arg.text.as_known() else { return };
    let Ok(number) = known.trim().parse::<i64>() else { return };
    if number == -1 {
        machine.state(KillAll, "-1 stands for every process.", arg.span, Some(known));
    } else if number.abs() == 1 {
        machine.state(KillAll, "Process 1 is the parent of all others.", arg.span, Some(known));
    } else if is_own(machine, number) {
        let reason = format!("{known} is the server that runs this command, or one of its ancestors.");
        machine.state(KillOwn, reason, arg.span, Some(known));
    }
}

fn is_own(machine: &Machine<'_>, number: i64) -> bool {
    let Ok(id) = u32::try_from(number.abs()) else { return false };
    let is_group = number < 0 && machine.context.own_groups.contains(&id);
    is_group || number > 0 && machine.context.own_processes.iter().any(|own| own.id == id)
}

fn kill_by_name(machine: &mut Machine<'_>, call: &Call, _: &mut World) -> Option<Ran> {
    const KILL: Grammar = Grammar {
        short: "ounyzsZt",
        long: &[
            "signal", "user", "uid", "euid", "parent", "pgroup", "group", "session", "terminal", "older-than",
            "younger-than", "pidfile", "ns",
        ],
        flags: &["full", "regexp", "exact", "ignore-case", "newest", "oldest", "inverse"],
        ..Grammar::PLAIN
    };
    let by_pattern = call.name == "pkill";
    let grammar = if by_pattern { Grammar { short: "dFgGNoOPQstUu", ..KILL } } else { KILL };
    let args: Vec<Arg> = call.args.iter().filter(|arg| !is_signal(arg)).cloned().collect();
    let options = Options::read(&args, &grammar);
    if options.value(&["s", "signal"]).is_some_and(|signal| signal.text.is("0"))
        || call.args.iter().any(|arg| arg.text.is("-0") || arg.text.is("-l"))
    {
        return None;
    }

    let by_user = options.value(&["u", "U", "user", "uid", "euid"]).is_some();
    if (by_user && options.operands.is_empty()) || options.has(&["v", "inverse"]) {
        let reason = "This ends all processes of a user, this server among them.";
        machine.state(KillAll, reason, call.span, None);
    }
    if options.value(&["P", "parent"]).is_some_and(|parent| parent.text.is("1")) {
        let reason = "The children of process 1 are the services of the machine.";
        machine.state(KillAll, reason, call.span, None);
    }

    let by_pattern = by_pattern || options.has(&["r", "regexp"]);
    for arg in &options.operands {
        kill_named(machine, arg, by_pattern);
    }
    None
}

/// A signal may stand as `-9` or `-KILL`.
fn is_signal(arg: &Arg) -> bool {
    let start = arg.text.known_start();
    let name = start.strip_prefix('-').unwrap_or_default();
    !name.is_empty()
        && (name.bytes().all(|byte| byte.is_ascii_digit())
            || name.len() > 2 && name.bytes().all(|byte| byte.is_ascii_uppercase()))
}

fn kill_named(machine: &mut Machine<'_>, arg: &Arg, by_pattern: bool) {
    let shown = arg.text.display();
    let Some(name) = arg.text.as_literal() else { return };
    let is_own = machine.context.own_processes.iter().any(|own| {
        if by_pattern { name.len() > 2 && own.name.contains(name.trim_matches(['^', '$'])) } else { own.name == name }
    });

    if by_pattern && is_sweeping(&name) || ["systemd", "init"].contains(&name.as_str()) {
        let reason = format!("{shown} matches processes that were not chosen.");
        machine.state(KillAll, reason, arg.span, Some(shown));
    } else if is_own || name.contains("chiton") {
        let reason = format!("{shown} matches the server that runs this command, or one of its ancestors.");
        machine.state(KillOwn, reason, arg.span, Some(shown));
    }
}

/// Whether a pattern for process names matches nearly all of them.
fn is_sweeping(pattern: &str) -> bool {
    let inner = pattern.trim_matches(['^', '$']);
    inner.is_empty()
        || inner.chars().all(|character| matches!(character, '.' | '*' | '?' | '+' | '(' | ')' | '|'))
        || inner.chars().count() == 1
}
