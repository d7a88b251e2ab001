//! What to say where a program would have waited for a person.
//!
//! The guard knows many of these programs beforehand, and most calls of them go well all the same: there is no terminal, so
//! they do without a person. The hint is for those that did not.

use std::sync::OnceLock;

use chiton_guard::WaitingCommand;
use regex::Regex;

use crate::render::Views;
use crate::request::{CommandInput, CommandRequest};
use crate::run::{Ending, Outcome};

/// What programs say that found no terminal, or the end of their input where an answer should be.
const SIGNS: &str = r"(?i)\b(tty|terminal|ioctl|eof|eoferror|end[ -]of[ -](file|input)|(non-?)?interactive(ly)?|password|passphrase|stdin|standard input|prompts?|abort(ed|ing)?|editor|authentication|host key)\b";

/// A hint about the program that waited in vain, or failed because nobody was there; at most one.
pub(crate) fn hint(
    waits: &[WaitingCommand],
    request: &CommandRequest,
    ending: &Ending,
    views: &Views,
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
        Outcome::Exited(_) => failed_for_it(waits, request, views),
        _ => None,
    };
    waiting.map(|waiting| in_words(&waiting.program, &waiting.hint))
}

/// The program that failed because nobody was there: the one that its message names, or else the last, whose code it is.
fn failed_for_it<'a>(
    waits: &'a [WaitingCommand],
    request: &CommandRequest,
    views: &Views,
) -> Option<&'a WaitingCommand> {
    if views.output_bytes() == 0 {
        return waits.first().filter(|waiting| is_alone(waiting, request));
    }
    let line = complaint(views)?;
    waits.iter().rev().find(|waiting| line.contains(&waiting.program)).or(waits.last())
}

fn in_words(program: &str, hint: &str) -> String {
    format!("{program} would wait for a person: {hint}; or run it in a terminal (pty)")
}

/// The last line that says that somebody was missed.
fn complaint(views: &Views) -> Option<&str> {
    static WORDS: OnceLock<Option<Regex>> = OnceLock::new();
    let words = WORDS.get_or_init(|| Regex::new(SIGNS).ok()).as_ref()?;
    let texts = [&views.stdout, &views.stderr].map(|view| [Some(view.head.as_str()), view.tail.as_deref()]);
    texts.into_iter().flatten().flatten().flat_map(str::lines).filter(|line| words.is_match(line)).last()
}

/// Whether the command is nothing but the call of this program: then it is the one that failed.
fn is_alone(waiting: &WaitingCommand, request: &CommandRequest) -> bool {
    let blank = |bytes: Option<&[u8]>| bytes.is_some_and(|bytes| bytes.trim_ascii().is_empty());
    let command: &[u8] = &request.command;
    blank(command.get(..waiting.span.start)) && blank(command.get(waiting.span.end..))
}
