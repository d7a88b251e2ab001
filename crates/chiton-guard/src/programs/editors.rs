//! Editors, debuggers and readers: programs with commands of their own, some of which run others.

use super::credentials;
use super::options::{Grammar, Options};
use super::row::Does::RunHelper;
use super::row::When::{Always, Any, Fed, Has, Not, Starts};
use super::row::{On, PROGRAM, Program, When, Which, allows, asks, denies};
use crate::effect::Writing;
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Machine, Ran};
use crate::snippet::{Language, run_code};
use crate::value::{Arg, Text};

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["vim", "vi", "nvim"],
        custom: Some(vi),
        prompts: WAITS_FOR_EDITS,
        examples: &[
            denies("vim -c '!rm -rf /' -c q", "delete-root"),
            denies("vim '+!rm -rf /'", "delete-root"),
            asks("vim -es -c 'w! /etc/hosts' x", "system-write"),
            asks("vim -es -c '%p' -c q ~/.ssh/id_rsa", "credentials"),
            denies("vim ~/.config/chiton/config.toml", "chiton"),
            allows("vim -es -c 'g/a/d' -c wq notes.txt"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["ex", "view"],
        custom: Some(vi),
        examples: &[denies("echo '!rm -rf /' | ex notes.txt", "delete-root"), allows("view notes.txt")],
        ..PROGRAM
    },
    Program {
        names: &["ed"],
        custom: Some(vi),
        prompts: WAITS_FOR_EDITS,
        examples: &[
            denies("echo '!rm -rf /' | ed", "delete-root"),
            asks("printf '%s\\n' 'w /etc/hosts' q | ed notes.txt", "system-write"),
            allows("printf '%s\\n' ,p q | ed notes.txt"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["emacs"],
        custom: Some(emacs),
        prompts: WAITS_FOR_EDITS,
        examples: &[
            denies("emacs --batch --eval '(shell-command \"rm -rf /\")'", "delete-root"),
            allows("emacs --batch -l build.el"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["gdb", "lldb"],
        custom: Some(debugger),
        examples: &[
            denies("gdb -batch -ex 'shell rm -rf /'", "delete-root"),
            denies("gdb --args rm -rf /", "delete-root"),
            allows("gdb -batch -ex run -ex bt ./a.out"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["man"],
        grammar: Grammar { short: "PHpSsML", long: &["pager", "html"], ..Grammar::PLAIN },
        effects: &[On(Always, RunHelper(Which::Values(&["P", "pager", "H"])))],
        prompts: &[(WAITS_FOR_KEYS, "it may open a pager; use `man … | cat`")],
        examples: &[
            denies("man -P 'rm -rf /' ls", "delete-root"),
            asks("man --pager=/tmp/x ls", "hidden-run"),
            allows("man 2 open"),
        ],
        ..PROGRAM
    },
    Program { names: &["ffmpeg"], examples: &[allows("ffmpeg -i in.mp4 -c copy out.mp4")], ..PROGRAM },
];

/// Whether a program that takes over the terminal waits for keys: neither its input nor an option makes it go on alone.
pub(super) const WAITS_FOR_KEYS: When = Not(&Any(&[
    Fed,
    Has(&["-b", "-es", "-s", "--batch", "-E", "--version", "--help", "-bn1", "-c"]),
    Starts(&["-b", "-e"]),
]));

const WAITS_FOR_EDITS: &[(When, &str)] =
    &[(WAITS_FOR_KEYS, "it waits for somebody to edit; write the file with a here document or `sed -i`")];

/// Commands beyond this are left out.
const MOST_COMMANDS: usize = 200;

/// `vim -c`, `--cmd` and `+command`; `ex`, `ed` and `vim` read commands, too.
fn vi(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    const VI: Grammar = Grammar { short: "cSuU", long: &["cmd"], ..Grammar::PLAIN };
    let options = Options::read(&call.args, &VI);
    let mut commands: Vec<Arg> = options.values(&["c", "S", "cmd"]).cloned().collect();
    commands.extend(plus_commands(call));
    if ["ex", "ed", "vim", "vi"].contains(&call.name.as_str()) {
        commands.extend(lines_read(call));
    }
    run_commands(machine, commands, call, world);
    for file in &options.operands {
        credentials::edits(machine, file, call, world);
    }
    None
}

/// `emacs --eval`, `--execute` and `+command`.
fn emacs(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    const EMACS: Grammar = Grammar { short: "lf", long: &["eval", "execute", "load", "funcall"], ..Grammar::PLAIN };
    let options = Options::read(&call.args, &EMACS);
    let mut commands: Vec<Arg> = options.values(&["eval", "execute"]).cloned().collect();
    commands.extend(plus_commands(call));
    run_commands(machine, commands, call, world);
    for file in &options.operands {
        credentials::edits(machine, file, call, world);
    }
    None
}

/// `gdb --args program` runs it; `-ex` and `-o` take commands, and so does the input of `gdb`.
fn debugger(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    const RUN: Grammar = Grammar { short: "xd", long: &["command", "directory"], stops: true, ..Grammar::PLAIN };
    const DEBUG: Grammar = Grammar {
        short: "xdop",
        long: &["ex", "eval-command", "command", "iex", "one-line"],
        single_dash: true,
        ..Grammar::PLAIN
    };
    if call.args.iter().any(|arg| arg.text.is("--args") || arg.text.is("--")) {
        let words = Options::read(&call.args, &RUN).operands;
        return Some(machine.run_words(call, &words, world.clone()));
    }

    let options = Options::read(&call.args, &DEBUG);
    let mut commands: Vec<Arg> = options.values(&["ex", "eval-command", "iex", "o", "one-line"]).cloned().collect();
    commands.extend(plus_commands(call));
    if call.name == "gdb" {
        commands.extend(lines_read(call));
    }
    run_commands(machine, commands, call, world);
    None
}

/// Arguments that are commands behind a plus.
fn plus_commands(call: &Call) -> impl Iterator<Item = Arg> {
    let plus = call.args.iter().filter(|arg| arg.text.known_start().starts_with('+'));
    plus.map(|arg| Arg::new(arg.text.skip(1), arg.span))
}

/// The lines of the input, which are commands.
fn lines_read(call: &Call) -> impl Iterator<Item = Arg> {
    let lines = call.input.text.as_deref().unwrap_or_default().lines();
    lines.map(|line| Arg::known(line, call.span))
}

fn run_commands(machine: &mut Machine<'_>, commands: Vec<Arg>, call: &Call, world: &World) {
    for command in commands.into_iter().take(MOST_COMMANDS) {
        if let Some(text) = command.text.as_literal() {
            run_command(machine, &text, &command, call, world);
        }
    }
}

/// A command of an editor: for a shell, for another language, or one that writes.
fn run_command(machine: &mut Machine<'_>, text: &str, command: &Arg, call: &Call, world: &World) {
    const SHELL: [&str; 11] =
        ["!", "r!", "r !", "read !", "w !", "shell ", "silent !", "silent! !", "execute '!", "exe '!", "e !"];
    const CODE: [&str; 3] = ["system(", "os.execute", "shell-command"];
    const WRITE: [&str; 3] = ["w! ", "w ", "wq! "];
    // The lines that it is about stand in front.
    let is_address = |letter: char| letter.is_whitespace() || letter.is_ascii_digit() || ":%.,$".contains(letter);
    let line = text.trim_start_matches(is_address);
    let behind = |marks: &[&str]| marks.iter().find_map(|mark| line.strip_prefix(mark));

    if let Some(inner) = behind(&SHELL) {
        let inner = Arg::known(inner.trim_end_matches('\''), command.span);
        machine.run_text(&inner, world.clone(), &call.input);
    } else if CODE.iter().any(|mark| line.contains(mark)) || line.starts_with("python") {
        let code = line.replace("(shell-command ", "system(").replace("call ", "");
        run_code(machine, &Arg::known(code, command.span), Language::Ruby, world, &call.input);
    } else if let Some(file) = behind(&WRITE) {
        let file = Text::known(file.trim());
        machine.writes("This would write to", &file, Writing::Replaces, world, command.span);
    }
}
