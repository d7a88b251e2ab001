//! Editors, debuggers and readers: programs with commands of their own, some of which run others.

use super::credentials;
use super::options::{Grammar, Options};
use super::row::Does::RunHelper;
use super::row::When::{Always, Any, Fed, Has, Not, Starts};
use super::row::{On, PROGRAM, Program, When, Which, allows, asks, denies};
use crate::effect::{Kind, Writing};
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Machine, Ran};
use crate::snippet::{Language, run_code};
use crate::value::{Arg, Flow, Labels, Text};

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["vim", "vi", "nvim", "gvim", "vimdiff", "nvi", "vim.tiny", "vim.basic", "rvim", "elvis"],
        custom: Some(vi),
        prompts: WAITS_FOR_EDITS,
        examples: examples![
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
        names: &["ex", "view", "rview", "gview", "evim"],
        custom: Some(vi),
        examples: examples![denies("echo '!rm -rf /' | ex notes.txt", "delete-root"), allows("view notes.txt")],
        ..PROGRAM
    },
    Program {
        names: &["ed", "red"],
        custom: Some(vi),
        prompts: WAITS_FOR_EDITS,
        examples: examples![
            denies("echo '!rm -rf /' | ed", "delete-root"),
            asks("printf '%s\\n' 'w /etc/hosts' q | ed notes.txt", "system-write"),
            allows("printf '%s\\n' ,p q | ed notes.txt"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["emacs", "emacsclient"],
        custom: Some(emacs),
        prompts: WAITS_FOR_EDITS,
        examples: examples![
            denies("emacs --batch --eval '(shell-command \"rm -rf /\")'", "delete-root"),
            denies("emacs -batch -eval '(delete-directory \"/\" t)'", "delete-root"),
            denies("emacsclient -e '(call-process \"rm\" nil nil nil \"-rf\" \"/\")'", "delete-root"),
            asks("emacs --batch -l /tmp/x.el", "hidden-run"),
            allows("emacs --batch -l build.el"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["gdb", "lldb", "rust-gdb", "rust-lldb", "gdb-multiarch"],
        custom: Some(debugger),
        examples: examples![
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
        examples: examples![
            denies("man -P 'rm -rf /' ls", "delete-root"),
            asks("man --pager=/tmp/x ls", "hidden-run"),
            allows("man 2 open"),
        ],
        ..PROGRAM
    },
    Program { names: &["ffmpeg"], examples: examples![allows("ffmpeg -i in.mp4 -c copy out.mp4")], ..PROGRAM },
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
    const VI: Grammar = Grammar { short: "cSuUTwW", long: &["cmd", "startuptime", "servername"], ..Grammar::PLAIN };
    let options = Options::read(&call.args, &VI);
    let mut commands: Vec<Arg> = options.values(&["c", "cmd"]).cloned().collect();
    commands.extend(plus_commands(call));
    for file in options.values(&["S", "u", "U", "s"]) {
        let flow = machine.read(&file.text, world);
        commands.extend(flow.text.iter().flat_map(|text| text.lines()).map(|line| Arg::known(line, file.span)));
        let shown = file.text.display();
        if flow.text.is_none() && ["/tmp/", "/var/tmp/", "/dev/shm/"].iter().any(|place| shown.starts_with(place)) {
            let reason = format!("{shown} would be run first, where anybody can put something.");
            machine.state(Kind::RunHidden, reason, file.span, Some(shown));
        }
    }
    if ["ex", "ed", "red", "vim", "vi", "nvim"].contains(&call.name.as_str()) {
        commands.extend(lines_read(call));
    }
    run_commands(machine, commands, call, world);
    for file in &options.operands {
        credentials::edits(machine, file, call, world);
    }
    None
}

/// `emacs --eval`, `--execute` and `-l`.
fn emacs(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    const EMACS: Grammar = Grammar {
        short: "elfs",
        long: &["eval", "execute", "load", "funcall", "insert", "script", "chdir", "socket-name"],
        single_dash: true,
        ..Grammar::PLAIN
    };
    let options = Options::read(&call.args, &EMACS);
    // To the client, `-e` is a flag.
    let evaluates = call.name == "emacsclient" && options.has(&["e", "eval"]);
    let operands = options.operands.iter().filter(|_| evaluates);
    for code in options.values(&["e", "eval", "execute"]).chain(operands) {
        run_code(machine, code, Language::Lisp, world, &call.input);
    }
    for file in options.values(&["l", "load", "script"]) {
        load(machine, file, Language::Lisp, world, call);
    }
    for file in options.operands.iter().filter(|_| !evaluates) {
        credentials::edits(machine, file, call, world);
    }
    None
}

/// A file of commands or code: known where this command wrote it, and suspicious where anybody may have put it.
fn load(machine: &mut Machine<'_>, file: &Arg, language: Language, world: &World, call: &Call) {
    let flow = machine.read(&file.text, world);
    if let Some(text) = flow.text {
        run_code(machine, &Arg::known(text, file.span), language, world, &call.input);
    } else {
        let shown = file.text.display();
        if ["/tmp/", "/var/tmp/", "/dev/shm/"].iter().any(|place| shown.starts_with(place)) {
            let reason = format!("{shown} would be loaded first, where anybody can put something.");
            machine.state(Kind::RunHidden, reason, file.span, Some(shown));
        }
        machine.object_to_flow(&Flow::labelled(flow.labels.without(Labels::UNKNOWN)), file);
    }
}

/// `gdb --args program` runs it; `-ex` and `-o` take commands, and so does the input of `gdb`.
fn debugger(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    const RUN: Grammar = Grammar {
        short: "xdo",
        long: &["command", "directory", "ex", "eval-command", "iex", "one-line"],
        stops: true,
        single_dash: true,
        ..Grammar::PLAIN
    };
    const DEBUG: Grammar = Grammar {
        short: "xdop",
        long: &["ex", "eval-command", "command", "iex", "one-line", "ix", "cd", "source"],
        single_dash: true,
        ..Grammar::PLAIN
    };
    let runs = call.args.iter().any(|arg| ["--args", "-args", "--"].iter().any(|mark| arg.text.is(mark)));
    let words = if runs { Options::read(&call.args, &RUN).operands } else { Vec::new() };

    let before = call.args.iter().take_while(|arg| !arg.text.is("--")).cloned().collect::<Vec<_>>();
    let options = Options::read(&before, &DEBUG);
    let mut commands: Vec<Arg> = options.values(&["ex", "eval-command", "iex", "o", "one-line"]).cloned().collect();
    commands.extend(plus_commands(call));
    if call.name == "gdb" {
        commands.extend(lines_read(call));
    }
    for file in options.values(&["x", "command", "s", "source"]) {
        let known = machine.read(&file.text, world).text;
        commands.extend(known.iter().flat_map(|text| text.lines()).map(|line| Arg::known(line, file.span)));
    }
    run_commands(machine, commands, call, world);
    (!words.is_empty()).then(|| machine.run_words(call, &words, world.clone()))
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

/// A command of an editor or a debugger: for a shell, for another language, or one that writes.
fn run_command(machine: &mut Machine<'_>, text: &str, command: &Arg, call: &Call, world: &World) {
    const SHELL: [&str; 18] = [
        "!!", "!", "r!", "r !", "read !", "w !", "shell ", "silent !", "silent! !", "sil!", "execute '!", "exe '!",
        "e !", "platform shell ", "terminal ", "term ", "make ", "E !",
    ];
    const CODE: [(&str, Language); 14] = [
        ("python3 ", Language::Python),
        ("python ", Language::Python),
        ("pyx ", Language::Python),
        ("py3 ", Language::Python),
        ("py ", Language::Python),
        ("script ", Language::Python),
        ("pi ", Language::Python),
        ("lua ", Language::Lua),
        ("luado ", Language::Lua),
        ("perldo ", Language::Perl),
        ("perl ", Language::Perl),
        ("rubydo ", Language::Ruby),
        ("ruby ", Language::Ruby),
        ("tcl ", Language::Tcl),
    ];
    const CALLS: [&str; 10] = [
        "system(", "systemlist(", "os.execute", "io.popen", "job_start(", "jobstart(", "termopen(", "term_start(",
        "delete(", "execute(",
    ];
    const WRITE: [&str; 5] = ["w! ", "w ", "wq! ", "write! ", "write "];
    // The lines that it is about stand in front.
    let is_address = |letter: char| letter.is_whitespace() || letter.is_ascii_digit() || ":%.,$".contains(letter);
    let line = text.trim_start_matches(is_address);
    let behind = |marks: &[&str]| marks.iter().find_map(|mark| line.strip_prefix(mark));

    if let Some(inner) = behind(&SHELL) {
        let inner = Arg::known(inner.trim_end_matches('\''), command.span);
        machine.run_text(&inner, world.clone(), &call.input);
    } else if let Some((mark, language)) = CODE.iter().find(|(mark, _)| line.starts_with(mark)) {
        let code = line[mark.len()..].trim_start_matches("<<");
        run_code(machine, &Arg::known(code, command.span), *language, world, &call.input);
    } else if let Some((_, inner)) = line.split_once('|').filter(|_| line.starts_with("pipe ")) {
        machine.run_text(&Arg::known(inner, command.span), world.clone(), &call.input);
    } else if CALLS.iter().any(|mark| line.contains(mark)) {
        let code = line.replace("call ", "").replace("delete(", "rmtree(");
        run_code(machine, &Arg::known(code, command.span), Language::Ruby, world, &call.input);
    } else if let Some(file) = behind(&WRITE) {
        let file = Text::known(file.trim());
        machine.writes("This would write to", &file, Writing::Replaces, world, command.span);
    } else if let Some(file) = line.strip_prefix("source ").or_else(|| line.strip_prefix("so ")) {
        let file = Arg::known(file.trim(), command.span);
        let known = machine.read(&file.text, world).text;
        for inner in known.iter().flat_map(|text| text.lines()).take(MOST_COMMANDS) {
            if !inner.starts_with("so") {
                run_command(machine, inner, command, call, world);
            }
        }
    }
}
