//! Programs that start others in their own way: again and again, later, in another terminal, one for each item.

use std::rc::Rc;

use super::finders;
use super::options::{Grammar, Options};
use super::row::When::{Always, Has};
use super::row::{PROGRAM, Prints, Program, Runs, Which, allows, asks, denies};
use crate::effect::Kind;
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Machine, Ran};
use crate::value::{Arg, Flow, Piece, Text};

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["watch"],
        grammar: Grammar { short: "nq", long: &["interval", "equexit"], stops: true, ..Grammar::PLAIN },
        runs: Runs::Joined,
        prompts: &[(Always, "it never ends by itself")],
        examples: examples![denies("watch -n 5 'rm -rf /'", "delete-root"), allows("watch -n 5 kubectl get pods")],
        ..PROGRAM
    },
    Program {
        names: &["script"],
        grammar: Grammar {
            short: "cIOBToE",
            long: &["command", "log-in", "log-out", "log-io", "log-timing"],
            ..Grammar::PLAIN
        },
        runs: Runs::FirstOf(&[Runs::Text(Which::Values(&["c", "command"])), Runs::Input]),
        examples: examples![
            denies("script -qc 'rm -rf /' log", "delete-root"),
            denies("echo 'rm -rf /' | script log", "delete-root"),
            allows("script -qc 'make test' log"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["flock"],
        grammar: FLOCK,
        custom: Some(flock_with_text),
        runs: Runs::Operands(1),
        examples: examples![
            denies("flock lock rm -rf /", "delete-root"),
            denies("flock lock -c 'rm -rf /'", "delete-root"),
            allows("flock -n lock make"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["parallel", "rush", "env_parallel"],
        custom: Some(|machine, call, world| Some(for_each_item(machine, call, world))),
        examples: examples![
            denies("parallel rm -rf ::: /", "delete-root"),
            denies("echo / | parallel 'rm -rf {}'", "delete-root"),
            denies("parallel --pipe bash <<< 'rm -rf /'", "delete-root"),
            denies("echo / | parallel -X rm -rf", "delete-root"),
            allows("find . -type f -print0 | parallel -0 -X md5sum"),
            denies("parallel :::: <(echo 'rm -rf /')", "delete-root"),
            denies("parallel --onall -S web-1 'rm -rf /'", "delete-root"),
            allows("parallel gzip ::: a.txt b.txt"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["tmux", "screen", "byobu"],
        custom: Some(in_another_terminal),
        examples: examples![
            denies("tmux new -d 'rm -rf /'", "delete-root"),
            denies("tmux send-keys -t web 'rm -rf /' Enter", "delete-root"),
            denies("screen -dm rm -rf /", "delete-root"),
            denies("screen -x work -p 0 -X stuff 'rm -rf /\n'", "delete-root"),
            denies("screen -S work -X screen rm -rf /", "delete-root"),
            allows("screen -x $SESSION -p 0 -X stuff 'stop\n'"),
            denies("tmux if-shell true 'run-shell \"rm -rf /\"'", "delete-root"),
            denies("tmux pipe-pane 'rm -rf /'", "delete-root"),
            allows("tmux ls"),
            allows("tmux new -d 'npm start'"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["at", "batch"],
        custom: Some(later),
        prints: Prints::Nothing,
        examples: examples![
            asks("echo 'make' | at midnight", "persistence"),
            denies("echo 'rm -rf /' | at now", "delete-root"),
            allows("at -l"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["newgrp"],
        runs: Runs::Input,
        examples: examples![denies("echo 'rm -rf /' | newgrp docker", "delete-root"), allows("newgrp docker")],
        ..PROGRAM
    },
    Program {
        names: &["expect"],
        custom: Some(expect),
        examples: examples![
            denies("expect -c 'system \"rm -rf /\"'", "delete-root"),
            denies("expect -c 'spawn rm -rf /; expect eof'", "delete-root"),
            allows("expect login.exp"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["nix-shell", "nix"],
        grammar: Grammar { short: "pc", long: &["run", "command", "packages"], ..Grammar::PLAIN },
        runs: Runs::FirstOf(&[
            Runs::Text(Which::Values(&["run", "command"])),
            Runs::If(Has(&["-c", "--command"]), &Runs::Words(Which::Behind(&["-c", "--command"]))),
            Runs::Perhaps,
        ]),
        examples: examples![
            denies("nix-shell -p jq --run 'rm -rf /'", "delete-root"),
            denies("nix shell nixpkgs#jq -c rm -rf /", "delete-root"),
            allows("nix build"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["shx"],
        runs: Runs::Words(Which::Arguments),
        examples: examples![denies("shx rm -rf /", "delete-root"), allows("shx mkdir -p dist")],
        ..PROGRAM
    },
    Program {
        names: &["concurrently", "nodemon", "watchexec", "onchange", "chokidar", "start-server-and-test"],
        custom: Some(command_lines),
        examples: examples![
            denies("concurrently 'npm start' 'rm -rf /'", "delete-root"),
            denies("nodemon --exec 'rm -rf /'", "delete-root"),
            allows("nodemon --exec 'npm start'"),
        ],
        ..PROGRAM
    },
];

const FLOCK: Grammar = Grammar {
    short: "wEc",
    long: &["timeout", "wait", "conflict-exit-code", "command"],
    stops: true,
    ..Grammar::PLAIN
};

/// `flock -c text file` and `flock file -c text`.
fn flock_with_text(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let options = Options::read(&call.args, &FLOCK);
    let behind = match options.operands.as_slice() {
        [_, option, text, ..] if option.text.is("-c") || option.text.is("--command") => Some(text),
        _ => None,
    };
    let text = options.value(&["c", "command"]).or(behind)?;
    Some(machine.run_text(text, world.clone(), &call.input))
}

const PARALLEL: Grammar = Grammar {
    short: "jaIdnNSPlL",
    long: &[
        "jobs", "arg-file", "delimiter", "max-args", "colsep", "timeout", "delay", "joblog", "results", "retries",
        "sshlogin", "tmpdir", "workdir",
    ],
    stops: true,
    ..Grammar::PLAIN
};

/// Items of `parallel` that are gone through. Those behind them are treated alike.
const MOST_ITEMS: usize = 32;

/// `parallel command ::: items`; without `:::`, what comes in has the items.
fn for_each_item(machine: &mut Machine<'_>, call: &Call, world: &World) -> Ran {
    let options = Options::read(&call.args, &PARALLEL);
    let is_mark = |arg: &Arg| [":::", "::::", ":::+"].iter().any(|mark| arg.text.is(mark));
    let at = options.operands.iter().position(is_mark);
    let template = &options.operands[..at.unwrap_or(options.operands.len())];
    if options.has(&["pipe", "spreadstdin", "pipe-part", "pipepart"]) {
        return super::shells::run_joined(machine, template, call, world.clone());
    }
    if options.has(&["onall", "nonall"]) {
        super::shells::run_joined(machine, template, call, world.clone());
    }

    let from_files = at.is_some_and(|at| options.operands[at].text.known_start().starts_with("::::"))
        || options.has(&["a", "arg-file"]);
    let items: Vec<Text> = match (at, &call.input.text) {
        _ if from_files => {
            let behind = at.map_or(&[][..], |at| &options.operands[at + 1..]);
            let files: Vec<Arg> = behind.iter().chain(options.values(&["a", "arg-file"])).cloned().collect();
            let flows: Vec<Flow> = files.iter().map(|file| machine.read(&file.text, world)).collect();
            let lines = |flow: &Flow| match &flow.text {
                Some(text) => text.lines().map(Text::known).collect(),
                None => vec![Text::of_flow(flow)],
            };
            flows.iter().flat_map(lines).collect()
        }
        (Some(at), _) => {
            let behind = options.operands[at + 1..].iter();
            behind.filter(|arg| !arg.text.known_start().starts_with(":::")).map(|arg| arg.text.clone()).collect()
        }
        (None, Some(text)) => text.lines().map(Text::known).collect(),
        (None, None) => vec![Text::of_flow(&call.input)],
    };

    let mut ran = Ran::same(world.clone(), Flow::unknown());
    for item in items.iter().take(MOST_ITEMS) {
        let text = Arg::new(filled(template, item), call.span);
        ran = machine.run_text(&text, world.clone(), &Rc::new(Flow::empty()));
    }
    ran.flow = Flow::unknown();
    ran
}

/// The command line that `parallel` makes of its template and an item, which goes to the end where nothing stands for
/// it.
fn filled(template: &[Arg], item: &Text) -> Text {
    let mut text = Text::default();
    let mut is_placed = false;
    for (index, arg) in template.iter().enumerate() {
        if index > 0 {
            text.push(Piece::Known(" ".to_owned()));
        }
        let (filled, hit) = finders::substitute(&arg.text, "{}", item);
        is_placed |= hit;
        text.append(&filled);
    }

    if !is_placed {
        text.push(Piece::Known(" ".to_owned()));
        text.append(item);
    }
    text
}

/// Terminals inside a terminal: command lines, keys that are typed, and a command at the end.
fn in_another_terminal(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    const STARTS: [&str; 24] = [
        "new", "new-session", "neww", "new-window", "split-window", "splitw", "respawn-pane", "respawn-window",
        "run-shell", "run", "if-shell", "if", "send-keys", "send", "pipe-pane", "pipep", "set-hook", "bind-key",
        "bind", "display-popup", "popup", "source-file", "confirm-before", "-c",
    ];
    // `run-shell "command"` inside a text is a command of the terminal again.
    for arg in &call.args {
        let Some(text) = arg.text.as_known() else { continue };
        for start in ["run-shell ", "run ", "new-window ", "split-window ", "pipe-pane "] {
            if let Some(inner) = text.strip_prefix(start) {
                let inner = inner.trim_start_matches("-b ").trim_matches(['"', '\'']);
                machine.run_text(&Arg::known(inner, arg.span), world.clone(), &call.input);
            }
        }
    }
    if let Some(at) = call.args.iter().position(|arg| arg.text.is("-X")).filter(|_| call.name == "screen") {
        return told_to_screen(machine, &call.args[at + 1..], call, world);
    }
    let is_tmux = call.name == "tmux";
    let starts = |arg: &Arg| STARTS.iter().any(|word| arg.text.is(word));
    if is_tmux && !call.args.iter().any(starts) {
        return None;
    }

    run_lines(machine, &call.args, call, world);
    let types_keys = call.args.iter().any(|arg| arg.text.known_start().starts_with("send"));
    let short = if is_tmux { "cFnstxye" } else { "cehpstSTX" };
    let behind_verb = call.args.get(usize::from(is_tmux)..).unwrap_or_default();
    let behind_verb =
        if call.args.first().is_some_and(|first| first.text.is("-c")) && is_tmux { &[] } else { behind_verb };
    let operands = Options::read(behind_verb, &Grammar { short, stops: true, ..Grammar::PLAIN }).operands;
    (!operands.is_empty() && !types_keys).then(|| machine.run_words(call, &operands, world.clone()))
}

/// `screen -X command`: keys that are typed into a window, or a program in a new one.
fn told_to_screen(machine: &mut Machine<'_>, words: &[Arg], call: &Call, world: &World) -> Option<Ran> {
    let (verb, rest) = words.split_first()?;
    if verb.text.is("stuff") {
        for keys in rest {
            machine.run_text(keys, world.clone(), &Rc::new(Flow::empty()));
        }
    } else if verb.text.is("screen") || verb.text.is("exec") {
        return Some(machine.run_words(call, rest, world.clone()));
    }
    None
}

/// Goes through those of `args` that are command lines.
fn run_lines(machine: &mut Machine<'_>, args: &[Arg], call: &Call, world: &World) {
    for arg in args {
        if arg.text.as_known().is_some_and(|text| text.contains(' ')) {
            machine.run_text(arg, world.clone(), &call.input);
        }
    }
}

/// Tools that run command lines whenever a file changes, or several at once.
fn command_lines(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    const GRAMMAR: Grammar =
        Grammar { short: "xewicn", long: &["exec", "ext", "watch", "ignore", "names"], ..Grammar::PLAIN };
    let options = Options::read(&call.args, &GRAMMAR);
    let lines: Vec<Arg> = options.values(&["x", "exec"]).chain(&options.operands).cloned().collect();
    run_lines(machine, &lines, call, world);
    // `watchexec rm -rf x` takes the words of one command.
    let starts = call.args.iter().position(|arg| !arg.text.known_start().starts_with('-') || arg.text.is("--"));
    if let Some(at) = starts.filter(|_| call.name == "watchexec") {
        let skip = usize::from(call.args[at].text.is("--"));
        machine.run_words(call, &call.args[at + skip..], world.clone());
    }
    None
}

/// `at` runs what comes in, by itself.
fn later(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let only_shows = |arg: &Arg| ["-l", "-c", "-V"].iter().any(|option| arg.text.is(option));
    if !call.args.iter().any(only_shows) {
        machine.state(Kind::Persist, "This sets a timer.", call.span, None);
        let options = Options::read(&call.args, &Grammar { short: "fqtd", ..Grammar::PLAIN });
        let input = Arg::known("-", call.span);
        let from = options.value(&["f"]).unwrap_or(&input);
        let flow = machine.read_given(&from.text, call, world);
        machine.run_flow(&flow, world.clone(), &Rc::new(Flow::empty()), from);
    }
    None
}

/// The lines of a table of timers: five fields or a word like `@reboot`, and a command.
pub(super) fn timers(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let options = Options::read(&call.args, &Grammar { short: "u", ..Grammar::PLAIN });
    let input = Arg::known("-", call.span);
    let from = options.operands.first().unwrap_or(&input);
    let text = machine.read_given(&from.text, call, world).text?;
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let fields = if line.starts_with('@') { 1 } else { 5 };
        let mut rest = line;
        for _ in 0..fields {
            rest = rest.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start());
        }
        if !rest.is_empty() {
            machine.script(rest, world.clone(), &Rc::new(Flow::empty()), from.span);
        }
    }
    None
}

fn expect(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let options = Options::read(&call.args, &Grammar { short: "cdf", stops: true, ..Grammar::PLAIN });
    let language = crate::snippet::Language::Tcl;
    for code in options.values(&["c"]) {
        crate::snippet::run_code(machine, code, language, world, &call.input);
    }
    let file = options.operands.first().filter(|file| !file.text.is("-"));
    let code = match file {
        Some(file) => machine.read(&file.text, world).text,
        None => call.input.text.clone(),
    };
    if let Some(code) = code.filter(|code| !code.is_empty()) {
        crate::snippet::run_code(machine, &Arg::known(code, call.span), language, world, &Rc::new(Flow::empty()));
    }
    None
}
