//! How a command reaches the shell so that it behaves as under `bash -c`, without being in an argument list.
//!
//! The command lies in a descriptor; bash reads it into a variable and evaluates that ([`Form::Evaluated`]). Two
//! things bash does differently then: it calls a syntax error one of `eval` instead of `-c`, and it traces (`set -x`)
//! one level deeper. So a command that traces, or that bash itself finds malformed, is given as an argument after all
//! ([`Form::Argument`]). One that holds the value of a secret never is.

use crate::bytes::ByteString;
use crate::limits::ARGUMENT_BYTES;
use crate::protocol::{Forms, GO_FD, SCRATCH_FD, STATE_FD};
use crate::state::ShellState;
use crate::state::bash::dump::NOTHING_CAME;
use crate::state::bash::load::{LOADER_FD, SCRIPT_FD};
use chiton_shell::effect;
use chiton_shell::tree::Script;

use super::shell::ShellKind;

/// What is known about a command before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub(crate) form: Form,
    /// It may set an exit trap, in front of which the handing back must be put.
    pub(crate) sets_exit_trap: bool,
    /// It may end with a pipeline, whose parts are to be told.
    pub(crate) pipes: bool,
    /// Whether a line after it is one of its own.
    pub(crate) can_be_followed: bool,
    /// Whether it can be written to a pipe at once.
    pub(crate) fits_into_a_pipe: bool,
    /// Whether it hands its state back: not where bash would print the trap itself (`set -v`).
    pub(crate) hands_back: bool,
    /// Whether its shell may go on after it to say that it ran through. Not where a trap of its own would see that.
    pub(crate) says_end: bool,
    /// Whether its text is taken out of the variable before it runs.
    pub(crate) forgets: bool,
    /// Whether it is not run at all where bash finds an error in it.
    pub(crate) only_well_formed: bool,
    /// Whether it is known to leave its shell as it was.
    pub(crate) changes_nothing: bool,
}

/// How it is given to bash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Evaluated from a descriptor.
    Evaluated,
    /// As the argument of `-c`.
    Argument,
    /// Evaluated, unless `bash -n` finds an error in it.
    Undecided,
}

impl Delivery {
    /// Whether a shell that was started before the command was known can run it.
    pub(crate) fn can_wait(self) -> bool {
        let comes_through = self.fits_into_a_pipe && self.can_be_followed;
        self.form == Form::Evaluated && self.says_end && comes_through && !self.forgets
    }

    /// For a command in which the value of a secret stands: arguments can be seen by others, and variables listed. After
    /// an error bash may go on with the next line, which in a here-document may be one of the value.
    pub(crate) fn out_of_sight(self, kind: ShellKind) -> Self {
        let only_well_formed = kind == ShellKind::Bash;
        Self { form: Form::Evaluated, forgets: true, only_well_formed, ..self }
    }
}

/// How this command is given to a shell of this kind.
///
/// `parse` gives the parse of the command; it is not asked where that does not matter.
pub(crate) fn choose<'a>(
    command: &[u8],
    parse: impl FnOnce() -> Option<&'a Script>,
    kind: ShellKind,
    state: &ShellState,
) -> Delivery {
    let has = |word: &str| memchr::memmem::find(command, word.as_bytes()).is_some();
    let sets_exit_trap = has("trap") && (["XIT", "xit", "Xit", "0", "-p"].into_iter().any(has) || lists_traps(command));
    let hands_back = !(sets_option(command, b'v') || has("set -o verbose"));
    let plain = plain(command, parse);
    let form = if kind == ShellKind::Posix || command.len() > ARGUMENT_BYTES {
        Form::Evaluated
    } else if sets_option(command, b'x') || has("xtrace") || has("[[ ]]") {
        // The empty condition is an error that bash does not even mention with -n.
        Form::Argument
    } else if plain.is_some() {
        Form::Evaluated
    } else {
        Form::Undecided
    };
    let can_be_followed = !command.ends_with(b"\\");
    // Nothing at all is what a shell gets that nobody wants any more.
    let fits_into_a_pipe = (1..=WAITED_BYTES).contains(&command.len());
    Delivery {
        form,
        sets_exit_trap,
        pipes: has("|") && !has("DEBUG") && can_be_followed,
        can_be_followed,
        fits_into_a_pipe,
        hands_back,
        says_end: kind == ShellKind::Bash && hands_back && !sets_exit_trap && !has("DEBUG"),
        forgets: false,
        only_well_formed: false,
        changes_nothing: plain.is_some_and(|script| effect::changes_nothing(script, &|name| state.defines(name))),
    }
}

/// Whether a bare `trap`, which lists them, stands anywhere in the text.
fn lists_traps(command: &[u8]) -> bool {
    memchr::memmem::find_iter(command, b"trap").any(|place| {
        let next = command[place + 4..].iter().find(|byte| !matches!(byte, b' ' | b'\t'));
        next.is_none_or(|byte| b"\n;|&)>}`".contains(byte))
    })
}

/// Whether `set -…x…` stands anywhere in the text.
fn sets_option(command: &[u8], letter: u8) -> bool {
    memchr::memmem::find_iter(command, b"set").any(|place| {
        let mut words = command[place + 3..].split(|byte| byte.is_ascii_whitespace() || b";&|".contains(byte));
        let is_word =
            place == 0 || !(command[place - 1].is_ascii_alphanumeric() || b"_-./".contains(&command[place - 1]));
        is_word && words.next() == Some(b"") && turns_on(words, letter)
    })
}

/// Whether the arguments of `set` switch an option on by its letter, possibly after others.
fn turns_on<'a>(words: impl Iterator<Item = &'a [u8]>, letter: u8) -> bool {
    let mut names = 0;
    for word in words {
        let (sign, letters) = word.split_at(word.len().min(1));
        let is_group =
            matches!(sign, b"-" | b"+") && !letters.is_empty() && letters.iter().all(u8::is_ascii_alphabetic);
        if is_group {
            if sign == b"-" && letters.contains(&letter) {
                return true;
            }
            // An `o` takes the name of an option that follows.
            names += usize::from(letters.contains(&b'o'));
        } else if names > 0 {
            names -= 1;
        } else {
            return false;
        }
    }
    false
}

/// The arguments with which the shell is executed, in the form that is known to be right, or in both.
pub(crate) fn forms(kind: ShellKind, called_as: &[u8], command: &[u8], delivery: Delivery, keeper: i32) -> Forms {
    let arguments = |rest: &[&[u8]]| -> Vec<ByteString> {
        [called_as].iter().chain(rest).map(|argument| (*argument).into()).collect()
    };
    let argument = || arguments(&[b"--norc", b"--noprofile", b"-c", command]);
    let boot = Boot { keeper, delivery: Some(delivery) };
    let evaluated = match kind {
        ShellKind::Bash => arguments(&[b"--norc", b"--noprofile", b"-c", bootstrap(boot).as_bytes()]),
        ShellKind::Posix => arguments(&[b"-c", format!(". /dev/fd/{LOADER_FD}\n. /dev/fd/{SCRIPT_FD}").as_bytes()]),
    };
    let only_well_formed = delivery.only_well_formed;
    match delivery.form {
        Form::Evaluated => Forms { evaluated: Some(evaluated), argument: None, only_well_formed },
        Form::Argument => Forms { evaluated: None, argument: Some(argument()), only_well_formed },
        Form::Undecided => Forms { evaluated: Some(evaluated), argument: Some(argument()), only_well_formed },
    }
}

/// How a shell that evaluates its command begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Boot {
    /// The keeper whose descriptors it uses.
    pub(crate) keeper: i32,
    /// What is known of the command. `None` where it is not known yet, and the shell waits for it: then only for one
    /// that it can wait for, see [`Delivery::can_wait`].
    pub(crate) delivery: Option<Delivery>,
}

/// Loads the state, waits for the command if need be, reads and evaluates it. All on line 1, since bash counts the lines
/// of the command from the line of this `eval`, and all in one piece, which bash has read before it runs any of it.
///
/// Before the command, everything of ours is taken away. After it, the status of a pipeline's parts is remembered,
/// which is gone once `eval` has returned. At the end the shell tells its status and where it is, and goes on to its
/// exit trap when the keeper says so: what that tells is not to hold up the answer. A function of the command's may be
/// called `builtin`; in POSIX mode, for one moment, `unset` cannot be shadowed.
pub(crate) fn bootstrap(boot: Boot) -> String {
    let keeper = boot.keeper;
    let variable = "BASH_EXECUTION_STRING";
    let loader = format!("IFS= read -r -d '' {variable} <&{LOADER_FD};builtin eval \"${variable}\";");
    let (start, gone, after, says_end) = match boot.delivery {
        None => {
            // Where nothing comes, nobody wants this shell any more, and it has run nothing. What it will need of bash
            // is used once before, so that its pages are there.
            let start = format!(
                "{loader}command exec {LOADER_FD}<&-;\
                 {{ builtin eval \"builtin : \\\"\\$0\\\";:\";builtin printf '%s\\0' \"${{DIRSTACK[0]-}}\"; }} \
                 >|/proc/{keeper}/fd/{SCRATCH_FD};IFS= builtin read -r -d '' {variable} </dev/null;\
                 builtin read -r -N {ALL} -u {SCRIPT_FD} {variable};[[ ${variable} ]]||\
                 {{ builtin printf %s '{NOTHING_CAME}' >|/proc/{keeper}/fd/{STATE_FD};builtin kill -KILL $$; }};\
                 SECONDS=0;command exec {SCRIPT_FD}<&-;"
            );
            (start, None, format!("\"{REMEMBER}\""), true)
        }
        Some(delivery) => {
            // Before there are functions that may be called like a builtin.
            let start = format!(
                "IFS= read -r -d '' __chiton_l <&{LOADER_FD};IFS= read -r -d '' {variable} <&{SCRIPT_FD};\
                 exec {LOADER_FD}<&- {SCRIPT_FD}<&-;builtin eval \"$__chiton_l\";"
            );
            let gone = if delivery.forgets { "__chiton_l BASH_EXECUTION_STRING" } else { "__chiton_l" };
            let after = match (delivery.pipes, delivery.says_end) {
                (false, _) => String::new(),
                (true, true) => format!("\"{REMEMBER}\""),
                (true, false) => format!("\"{REMEMBER}';builtin exit \"${{__chiton_p[0]}}\"'\""),
            };
            (start, Some(gone), after, delivery.says_end)
        }
    };
    let end = if says_end {
        format!(
            r#";__chiton_s=${{__chiton_p[0]=$?}} __chiton_o=$SHELLOPTS __chiton_b=$BASHOPTS;POSIXLY_CORRECT=y;unset -f builtin;unset -v POSIXLY_CORRECT;builtin printf '%s\0' 'chiton 2' 1 "${{#__chiton_p[@]}}" "${{__chiton_p[@]}}" "${{DIRSTACK[0]-$PWD}}" >|/proc/{keeper}/fd/{STATE_FD}&&__chiton_e=1&&builtin read -r -N 1 __chiton_g </proc/{keeper}/fd/{GO_FD};builtin exit "$__chiton_s""#
        )
    } else {
        String::new()
    };
    let gone = gone.map(|gone| format!("builtin unset -v {gone};")).unwrap_or_default();
    format!("{start}builtin eval \"{gone}builtin : \\\"\\$0\\\";${variable}{after}\"{end}")
}

/// More characters than a command has that a shell can wait for: with so many asked for, bash reads on until the end,
/// and in large pieces. Asked for all that comes before a NUL, it would read a pipe byte by byte.
const ALL: usize = 2 * WAITED_BYTES;

/// A longer command may not fit into a pipe.
const WAITED_BYTES: usize = 32 << 10;

/// Remembers the status of a pipeline's parts, on a line of its own.
const REMEMBER: &str = r#"$'\n''__chiton_p=("$?" "${PIPESTATUS[@]}")'"#;

/// For a plain `sh`, which cannot read a descriptor into a variable: it sources the script, closing descriptors first.
pub(crate) fn posix_script(command: &[u8]) -> Vec<u8> {
    [format!("exec {LOADER_FD}<&- {SCRIPT_FD}<&-\n").as_bytes(), command].concat()
}

/// The parts of a command that is certainly one that bash reads without a word: without a warning about a here-document,
/// too. `None` means that bash has to be asked, about patterns that are errors unless an option is on among others.
fn plain<'a>(command: &[u8], parse: impl FnOnce() -> Option<&'a Script>) -> Option<&'a Script> {
    let is_pattern = |place: usize| place > 0 && b"?*+@!".contains(&command[place - 1]);
    if command.len() > ARGUMENT_BYTES || memchr::memchr_iter(b'(', command).any(is_pattern) {
        return None;
    }
    parse().filter(|script| !script.places.has_open_here())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn is_plain(text: &str) -> bool {
        let script = chiton_shell::parse(text.as_bytes()).ok();
        plain(text.as_bytes(), || script.as_ref()).is_some()
    }

    #[test]
    fn everyday_commands_are_plain() {
        let cases = [
            "true",
            "ls -la | wc -l",
            "cd /tmp && make 2>&1 | tee log; echo $?",
            "echo \"$(date +%s) ${HOME}/x\" # note",
            "git commit -m 'it works'",
            "FOO=bar cargo test -- --nocapture &",
            "sleep 1 &",
            "cat < in > out 2>> err",
            "echo a\\\n b",
            "printf $'a\\'b'",
            "grep -rn \"foo bar\" src/ || true",
            "",
            "\n\n",
            "# only a comment",
            "a=$(b=$(c))",
            "echo {a,b}",
            "x; y;",
            "echo $",
            "command 2>&1 &>all",
        ];
        for case in cases {
            assert!(is_plain(case), "{case}");
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "bash is the oracle here")]
    fn nothing_that_bash_finds_malformed_is_plain() {
        let pieces = [
            "echo", "a", " ", "'", "\"", "$(", ")", "(", "{", "}", ";", "&", "&&", "|", "||", ">", "<", "2>&1", "\n",
            "#", "if", "then", "fi", "${x}", "${", "`", "\\", "$'", "done", "!", "<<E", "for", "[[", "x=1", "$((",
            "))", "=(", "]]", "-f", "-eq", "==", "case", "esac", "while", "do", "f()", "x)", "y*",
        ];
        let mut seed = 7u64;
        let mut next = |bound: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(seed >> 33).unwrap() % bound
        };
        let mut asked = 0;
        let mut wrong = Vec::new();
        while asked < 1000 {
            let length = 1 + next(9);
            let text: String = (0..length).map(|_| pieces[next(pieces.len())]).collect::<Vec<_>>().join(" ");
            if !is_plain(&text) {
                continue;
            }
            asked += 1;
            let quiet = Stdio::null;
            let status = Command::new("bash")
                .args(["--norc", "--noprofile", "-n", "-c", "--", &text])
                .stdin(quiet())
                .stderr(quiet())
                .status()
                .unwrap();
            if !status.success() {
                wrong.push(text);
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n--\n"));
    }

    #[test]
    fn tracing_and_exit_traps_are_seen() {
        let choose = |text: &[u8], kind| {
            let script = chiton_shell::parse(text).ok();
            choose(text, || script.as_ref(), kind, &ShellState::fresh("/", [], 0o022))
        };
        for text in
            ["set -x", "true; set -ex\nls", "set -e -x", "bash -o xtrace -c true", "set -euo pipefail -x", "set +e -x"]
        {
            assert_eq!(choose(text.as_bytes(), ShellKind::Bash).form, Form::Argument, "{text}");
        }
        for text in ["tar -xf a", "test -x a", "set -e; [ -x a ]", "reset -x"] {
            assert_ne!(choose(text.as_bytes(), ShellKind::Bash).form, Form::Argument, "{text}");
        }
        assert!(choose(b"trap 'rm -f x' EXIT", ShellKind::Bash).sets_exit_trap);
        assert!(!choose(b"set -v; ls", ShellKind::Bash).hands_back);
        for text in ["make --verbose", "kubectl set -v=5 image", "echo verbose", "tar -xvf a"] {
            assert!(choose(text.as_bytes(), ShellKind::Bash).hands_back, "{text}");
        }
    }
}
