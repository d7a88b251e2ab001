//! How a command reaches the shell so that it behaves as under `bash -c`, without being in an argument list.
//!
//! The command lies in a descriptor; bash reads it into a variable and evaluates that ([`Form::Evaluated`]). Two
//! things bash does differently then: it calls a syntax error one of `eval` instead of `-c`, and it traces (`set -x`)
//! one level deeper. So a command that traces, or that bash itself finds malformed, is given as an argument after all
//! ([`Form::Argument`]). One that holds the value of a secret never is.

use crate::bytes::ByteString;
use crate::keeper::protocol::Forms;
use crate::limits::ARGUMENT_BYTES;
use crate::session::bash::load::{LOADER_FD, SCRIPT_FD};

use super::shell::ShellKind;

/// What is known about a command before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delivery {
    pub(super) form: Form,
    /// It may set an exit trap, in front of which the handing back must be put.
    pub(super) sets_exit_trap: bool,
    /// It may end with a pipeline, whose parts are to be told.
    pub(super) pipes: bool,
    /// Whether it hands its state back: not where bash would print the trap itself (`set -v`).
    pub(super) hands_back: bool,
    /// Whether its text is taken out of the variable before it runs.
    pub(super) forgets: bool,
    /// Whether it is not run at all where bash finds an error in it.
    pub(super) only_well_formed: bool,
}

/// How it is given to bash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Evaluated from a descriptor.
    Evaluated,
    /// As the argument of `-c`.
    Argument,
    /// Evaluated, unless `bash -n` finds an error in it.
    Undecided,
}

impl Delivery {
    /// For a command in which the value of a secret stands: arguments can be seen by others, and variables listed. After
    /// an error bash may go on with the next line, which in a here-document may be one of the value.
    pub(super) fn out_of_sight(self, command: &[u8], kind: ShellKind) -> Self {
        let only_well_formed = kind == ShellKind::Bash && !is_plain(command);
        Self { form: Form::Evaluated, forgets: true, only_well_formed, ..self }
    }
}

pub(super) fn choose(command: &[u8], kind: ShellKind) -> Delivery {
    let has = |word: &str| memchr::memmem::find(command, word.as_bytes()).is_some();
    let form = if kind == ShellKind::Posix || command.len() > ARGUMENT_BYTES {
        Form::Evaluated
    } else if sets_option(command, b'x') || has("xtrace") || has("[[ ]]") {
        // The empty condition is an error that bash does not even mention with -n.
        Form::Argument
    } else if is_plain(command) {
        Form::Evaluated
    } else {
        Form::Undecided
    };
    Delivery {
        form,
        sets_exit_trap: has("trap") && (["XIT", "xit", "Xit", "0", "-p"].into_iter().any(has) || lists_traps(command)),
        pipes: has("|") && !has("DEBUG") && !command.ends_with(b"\\"),
        hands_back: !(sets_option(command, b'v') || has("set -o verbose")),
        forgets: false,
        only_well_formed: false,
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
pub(super) fn forms(kind: ShellKind, called_as: &[u8], command: &[u8], delivery: Delivery) -> Forms {
    let arguments = |rest: &[&[u8]]| -> Vec<ByteString> {
        [called_as].iter().chain(rest).map(|argument| (*argument).into()).collect()
    };
    let argument = || arguments(&[b"--norc", b"--noprofile", b"-c", command]);
    let evaluated = match kind {
        ShellKind::Bash => arguments(&[b"--norc", b"--noprofile", b"-c", bootstrap(delivery).as_bytes()]),
        ShellKind::Posix => arguments(&[b"-c", format!(". /dev/fd/{LOADER_FD}\n. /dev/fd/{SCRIPT_FD}").as_bytes()]),
    };
    let only_well_formed = delivery.only_well_formed;
    match delivery.form {
        Form::Evaluated => Forms { evaluated: Some(evaluated), argument: None, only_well_formed },
        Form::Argument => Forms { evaluated: None, argument: Some(argument()), only_well_formed },
        Form::Undecided => Forms { evaluated: Some(evaluated), argument: Some(argument()), only_well_formed },
    }
}

/// Loads the state, which brings the command into the variable, then evaluates it. All on line 1, since bash counts
/// the lines of the command from the line of this `eval`. The status of a pipeline's parts is gone once `eval` has
/// returned, so it is remembered inside.
fn bootstrap(delivery: Delivery) -> String {
    let variable = "BASH_EXECUTION_STRING";
    let load = format!("IFS= read -r -d '' {variable} <&{LOADER_FD};builtin eval \"${variable}\"");
    let remember = if delivery.pipes {
        r#"$'\n''__chiton_p=("$?" "${PIPESTATUS[@]}");builtin exit "${__chiton_p[0]}"'"#
    } else {
        ""
    };
    let forget =
        if delivery.forgets { format!("'builtin unset -v {variable};builtin : \"$0\";'") } else { String::new() };
    format!("{load};builtin : \"$0\";builtin eval {forget}\"${variable}\"{remember}")
}

/// For a plain `sh`, which cannot read a descriptor into a variable: it sources the script, closing descriptors first.
pub(super) fn posix_script(command: &[u8]) -> Vec<u8> {
    [format!("exec {LOADER_FD}<&- {SCRIPT_FD}<&-\n").as_bytes(), command].concat()
}

/// Whether `command` is certainly free of syntax errors: simple commands, quotes, expansions, lists, pipes and
/// redirections. `false` means that bash has to be asked.
fn is_plain(command: &[u8]) -> bool {
    Scanner { rest: command, depth: 0 }.list(None).is_some()
}

struct Scanner<'a> {
    rest: &'a [u8],
    depth: usize,
}

const MAX_DEPTH: usize = 20;
const RESERVED: [&[u8]; 22] = [
    b"!",
    b"[[",
    b"]]",
    b"{",
    b"}",
    b"case",
    b"coproc",
    b"do",
    b"done",
    b"elif",
    b"else",
    b"esac",
    b"fi",
    b"for",
    b"function",
    b"if",
    b"in",
    b"select",
    b"then",
    b"time",
    b"until",
    b"while",
];

impl Scanner<'_> {
    /// A list of commands up to the end, or up to `close`. `None` as soon as anything is not plain.
    fn list(&mut self, close: Option<u8>) -> Option<()> {
        let mut words = 0;
        let mut owed = false;
        loop {
            self.skip_blanks();
            match *self.rest {
                [] => return (close.is_none() && !owed).then_some(()),
                [byte, ..] if Some(byte) == close => {
                    self.rest = &self.rest[1..];
                    return (!owed).then_some(());
                }
                [b'\n', ..] => {
                    self.rest = &self.rest[1..];
                    words = 0;
                }
                [b'#', ..] => self.skip_line(),
                [b'&', b'>', ..] => {
                    self.rest = &self.rest[2..];
                    self.operand()?;
                    words += 1;
                }
                [b'&', b'&', ..] | [b'|', b'|', ..] if words > 0 => {
                    self.rest = &self.rest[2..];
                    (words, owed) = (0, true);
                }
                [b'|', ..] if words > 0 => {
                    self.rest = &self.rest[1 + usize::from(self.rest.get(1) == Some(&b'&'))..];
                    (words, owed) = (0, true);
                }
                [b';' | b'&', ..] if words > 0 => {
                    self.rest = &self.rest[1..];
                    words = 0;
                }
                [b'>' | b'<', ..] => {
                    self.redirection()?;
                    words += 1;
                    owed = false;
                }
                [b'|' | b'&' | b';' | b'(' | b')', ..] => return None,
                _ => {
                    let word = self.word()?;
                    if words == 0 && RESERVED.contains(&word) {
                        return None;
                    }
                    words += 1;
                    owed = false;
                }
            }
        }
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.rest {
                [b' ' | b'\t', after @ ..] | [b'\\', b'\n', after @ ..] => self.rest = after,
                _ => return,
            }
        }
    }

    fn skip_line(&mut self) {
        self.rest = &self.rest[memchr::memchr(b'\n', self.rest).unwrap_or(self.rest.len())..];
    }

    fn redirection(&mut self) -> Option<()> {
        let operators: [&[u8]; 7] = [b">>", b">|", b">&", b"<&", b"<>", b">", b"<"];
        let operator = operators.iter().find(|operator| self.rest.starts_with(operator))?;
        self.rest = &self.rest[operator.len()..];
        self.operand()
    }

    /// The word a redirection needs. A here-document, a process substitution or nothing at all is not plain.
    fn operand(&mut self) -> Option<()> {
        self.skip_blanks();
        match self.rest {
            [] | [b'<' | b'>' | b'(' | b')' | b'|' | b'&' | b';' | b'\n' | b'#', ..] => None,
            _ => {
                let start = self.rest;
                self.word()?;
                let word = &start[..start.len() - self.rest.len()];
                // `> 2>&1`: the digits belong to the next redirection, so this one has no operand.
                let is_number = word.iter().all(u8::is_ascii_digit) && matches!(self.rest, [b'<' | b'>', ..]);
                (!is_number).then_some(())
            }
        }
    }

    /// One word; gives the bare text it starts with.
    fn word(&mut self) -> Option<&'static [u8]> {
        let start = self.rest;
        loop {
            match *self.rest {
                [] | [b' ' | b'\t' | b'\n' | b'|' | b'&' | b';' | b'<' | b'>' | b')', ..] => {
                    let text = &start[..start.len() - self.rest.len()];
                    let reserved = RESERVED.iter().find(|reserved| **reserved == text);
                    return Some(reserved.copied().unwrap_or(b"word"));
                }
                [b'(' | b'`', ..] | [b'\\'] => return None,
                [b'\\', _, ..] => self.rest = &self.rest[2..],
                [b'\'', ..] => {
                    let end = memchr::memchr(b'\'', &self.rest[1..])?;
                    self.rest = &self.rest[end + 2..];
                }
                [b'"', ..] => {
                    self.rest = &self.rest[1..];
                    self.double_quoted()?;
                }
                [b'$', ..] => self.expansion()?,
                _ => self.rest = &self.rest[1..],
            }
        }
    }

    fn double_quoted(&mut self) -> Option<()> {
        loop {
            match *self.rest {
                [b'"', ..] => {
                    self.rest = &self.rest[1..];
                    return Some(());
                }
                [] | [b'`', ..] | [b'\\'] => return None,
                [b'\\', _, ..] => self.rest = &self.rest[2..],
                [b'$', b'\'' | b'"', ..] => self.rest = &self.rest[1..],
                [b'$', ..] => self.expansion()?,
                _ => self.rest = &self.rest[1..],
            }
        }
    }

    fn expansion(&mut self) -> Option<()> {
        match *self.rest {
            [b'$', b'(', b'(', ..] | [b'$', b'[' | b'"', ..] => None,
            [b'$', b'(', ..] => {
                self.rest = &self.rest[2..];
                self.depth += 1;
                let inner = if self.depth > MAX_DEPTH { None } else { self.list(Some(b')')) };
                self.depth -= 1;
                inner
            }
            [b'$', b'{', ..] => {
                let end = self.rest.iter().position(|byte| *byte == b'}')?;
                let inside = &self.rest[2..end];
                let simple = |byte: &u8| byte.is_ascii_alphanumeric() || b"_@*#?!:-+=/.,%[]".contains(byte);
                let named = inside.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_');
                self.rest = &self.rest[end + 1..];
                (named && inside.iter().all(simple)).then_some(())
            }
            [b'$', b'\'', ..] => {
                self.rest = &self.rest[2..];
                while let [first, after @ ..] = self.rest {
                    self.rest = if *first == b'\\' { after.get(1..)? } else { after };
                    if *first == b'\'' {
                        return Some(());
                    }
                }
                None
            }
            _ => {
                self.rest = &self.rest[1..];
                Some(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

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
            assert!(is_plain(case.as_bytes()), "{case}");
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "bash is the oracle here")]
    fn nothing_that_bash_finds_malformed_is_plain() {
        let pieces = [
            "echo", "a", " ", "'", "\"", "$(", ")", "(", "{", "}", ";", "&", "&&", "|", "||", ">", "<", "2>&1", "\n",
            "#", "if", "then", "fi", "${x}", "${", "`", "\\", "$'", "done", "!", "<<E", "for", "[[", "x=1", "$((",
            "))", "=(",
        ];
        let mut seed = 7u64;
        let mut next = |bound: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(seed >> 33).unwrap() % bound
        };
        let mut asked = 0;
        while asked < 250 {
            let length = 1 + next(9);
            let text: String = (0..length).map(|_| pieces[next(pieces.len())]).collect::<Vec<_>>().join(" ");
            if !is_plain(text.as_bytes()) {
                continue;
            }
            asked += 1;
            let quiet = Stdio::null;
            let status = Command::new("bash")
                .args(["--norc", "--noprofile", "-n", "-c", &text])
                .stdin(quiet())
                .stderr(quiet())
                .status()
                .unwrap();
            assert!(status.success(), "{text}");
        }
    }

    #[test]
    fn tracing_and_exit_traps_are_seen() {
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
