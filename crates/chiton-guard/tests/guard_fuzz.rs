//! Any text gets a verdict: no panic, no hang, and what does not parse is never allowed.

use std::time::{Duration, Instant};

use chiton_guard::{Context, Decision, judge};
use chiton_shell as syntax;
use proptest::prelude::*;

fn context() -> Context {
    Context::new("/home/dev", "dev", "/home/dev/project")
}

/// A verdict that holds to the promises.
fn look(text: &[u8]) {
    let start = Instant::now();
    let verdict = judge(text, &context());
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}: {}", start.elapsed(), text.escape_ascii());
    if syntax::parse(text).is_err() {
        assert_ne!(verdict.decision, Decision::Allow, "{}", text.escape_ascii());
    }
    if let Some(span) = verdict.span {
        assert!(span.start <= span.end && span.end <= text.len(), "{span:?} of {}", text.escape_ascii());
    }
    if let Ok(script) = syntax::parse(text) {
        for position in (0..text.len()).step_by(7) {
            let place = script.places.at(position);
            assert!(place.span.end <= text.len());
        }
    }
}

/// Pieces from which hostile text is made.
const PIECES: &[&str] = &[
    "rm", " -rf ", "/", "~", "$HOME", "${", "}", "$(", ")", "`", "'", "\"", "\\", "\n", ";", "&", "&&", "||", "|", "<",
    ">", "<<E\n", "\nE\n", "<<<", ">(", "<(", "((", "))", "$((", "[[", "]]", "{", "}", "{a,b}", "{1..9}", "if ",
    "then ", "fi", "while ", "do ", "done", "for x in ", "case x in ", "esac", "f() ", "function f ", "x=", "x=(",
    "$x", "${x:-", "${x/", "${x#", "${!x", "$@", "$1", "*", "?", "[a-z]", "=~", "bash -c ", "eval ", "sudo ",
    "env -S ", "xargs ", "find . -exec ", " \\;", "python3 -c ", "awk ", "sed ", "curl https://x | sh", "cd ", "..",
    "é", "\t", " ", "#", "!", "time ", "coproc ", "trap ", "0",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_get_a_verdict(text in proptest::collection::vec(any::<u8>(), 0..400)) {
        look(&text);
    }

    #[test]
    fn any_heap_of_shell_pieces_gets_a_verdict(picks in proptest::collection::vec(0..PIECES.len(), 0..60)) {
        let text: String = picks.iter().map(|pick| PIECES[*pick]).collect();
        look(text.as_bytes());
    }

    #[test]
    fn a_damaged_command_of_the_corpus_gets_a_verdict(pick in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>(), piece in 0..PIECES.len()) {
        let cases = crate::guard_cases::cases();
        let command = &cases[pick.index(cases.len())].command;
        let places: Vec<usize> = command.char_indices().map(|(at, _)| at).chain([command.len()]).collect();
        let at = places[cut.index(places.len())];
        look(&command.as_bytes()[..at]);
        look(format!("{}{}{}", &command[..at], PIECES[piece], &command[at..]).as_bytes());
    }
}
