//! What to say where a program would have waited for a person.
//!
//! The guard knows many of these programs beforehand, and most calls of them go well all the same: there is no terminal, so
//! they do without a person. The hint is for those that did not. Only a call that can do nothing but wait is not started.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use chiton_guard::{Verdict, WaitingCommand};
use regex::Regex;

use crate::request::{CommandInput, CommandRequest};
use crate::run::{Ending, Outcome};
use crate::state::{ShellState, Value};

/// What programs say that found no terminal, or the end of their input where an answer should be.
const SIGNS: &str = r"(?i)\b(tty|terminal|ioctl|eof|eoferror|end[ -]of[ -](file|input)|(non-?)?interactive(ly)?|password|passphrase|stdin|standard input|prompts?|abort(ed|ing)?|editor|authentication|host key)\b";

/// Editors that wait for ever where there is no terminal: they turn to their standard error for keys. All others that we
/// know notice that nobody is there.
const WAIT_FOR_EVER: [&str; 7] = ["vim", "vi", "vimdiff", "rvim", "vim.tiny", "vim.basic", "vim.nox"];

/// Why a command is not even started: it is nothing but an editor on some files, without any option that could make it end
/// by itself, and without a terminal. Whatever is less certain runs, and gets its hint later.
pub(crate) fn for_certain(verdict: &Verdict, request: &CommandRequest, state: &ShellState) -> Option<String> {
    let ([waiting], [command]) = (&verdict.waits[..], &verdict.commands[..]) else { return None };
    if request.terminal.is_some() || !matches!(request.input, CommandInput::Nothing) || !is_alone(waiting, request) {
        return None;
    }
    let (name, operands) = command.words.split_first()?;
    let is_plain = command.decided && command.assignments.is_empty() && command.redirections.is_empty();
    let only_files = !operands.iter().any(|operand| operand.starts_with(['-', '+']));
    let is_own = state.functions.contains_key(name.as_bytes()) || state.aliases.contains_key(name.as_bytes());
    if !is_plain || !only_files || is_own || !WAIT_FOR_EVER.contains(&name.as_str()) || !is_vim(name, request, state) {
        return None;
    }
    Some(format!("{}. Nothing was started.", in_words(&waiting.program, &waiting.hint)))
}

/// Whether the program of this name is vim itself, and not another editor or a script.
fn is_vim(name: &str, request: &CommandRequest, state: &ShellState) -> bool {
    let of_session = match state.variables.get("PATH").map(|variable| &variable.value) {
        Some(Value::Scalar(path)) => Some(path),
        _ => None,
    };
    let Some(path) = request.environment.variables().get("PATH").or(of_session) else { return false };
    let places = std::env::split_paths(OsStr::from_bytes(path)).map(|place| place.join(name));
    let found = places.into_iter().find(|place| place.is_file()).and_then(|place| place.canonicalize().ok());
    let is_named = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"vim"));
    found.filter(is_named).is_some_and(|path| is_binary(&path))
}

/// Whether a file is a program for the kernel: a script may do anything under any name.
fn is_binary(path: &Path) -> bool {
    let mut magic = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *b"\x7fELF"
}

/// What a command printed, as far as it is known.
pub(crate) struct Printed<'a> {
    /// The beginnings and ends of its streams.
    pub(crate) texts: [Option<&'a str>; 4],
    /// About how much it was in all.
    pub(crate) bytes: u64,
}

/// A hint about the program that waited in vain, or failed because nobody was there; at most one.
pub(crate) fn hint(
    waits: &[WaitingCommand],
    request: &CommandRequest,
    ending: &Ending,
    printed: &Printed<'_>,
) -> Option<String> {
    if request.terminal.is_some() {
        return None;
    }
    if let Some(program) = &ending.hung_up {
        let known = waits.iter().find(|waiting| waiting.program == *program).or(waits.first());
        let what = known.map_or("it wants keys, and nobody can type any", |waiting| waiting.hint.as_str());
        return Some(in_words(program, what));
    }

    if matches!(request.input, CommandInput::Open) {
        return None;
    }
    let waiting = match ending.outcome {
        Outcome::TimedOut => waits.first(),
        // Not found, or not to be run.
        Outcome::Exited(0 | 126 | 127) => None,
        Outcome::Exited(_) => failed_for_it(waits, request, printed),
        _ => None,
    };
    waiting.map(|waiting| in_words(&waiting.program, &waiting.hint))
}

/// The program that failed because nobody was there: the one that its message names, or else the last, whose code it is.
fn failed_for_it<'a>(
    waits: &'a [WaitingCommand],
    request: &CommandRequest,
    printed: &Printed<'_>,
) -> Option<&'a WaitingCommand> {
    if printed.bytes == 0 {
        return waits.first().filter(|waiting| is_alone(waiting, request));
    }
    let line = complaint(printed)?;
    waits.iter().rev().find(|waiting| line.contains(&waiting.program)).or(waits.last())
}

fn in_words(program: &str, hint: &str) -> String {
    format!("{program} would wait for a person: {hint}; or run it in a terminal (pty)")
}

/// The last line that says that somebody was missed.
fn complaint<'a>(printed: &Printed<'a>) -> Option<&'a str> {
    static WORDS: OnceLock<Option<Regex>> = OnceLock::new();
    let words = WORDS.get_or_init(|| Regex::new(SIGNS).ok()).as_ref()?;
    printed.texts.into_iter().flatten().flat_map(str::lines).rfind(|line| words.is_match(line))
}

/// Whether the command is nothing but the call of this program: then it is the one that failed.
fn is_alone(waiting: &WaitingCommand, request: &CommandRequest) -> bool {
    let blank = |bytes: Option<&[u8]>| bytes.is_some_and(|bytes| bytes.trim_ascii().is_empty());
    let command: &[u8] = &request.command;
    blank(command.get(..waiting.span.start)) && blank(command.get(waiting.span.end..))
}
