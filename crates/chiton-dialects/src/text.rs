//! Words and cuts that several dialects share.

use chiton_engine::InputWait;
use chiton_engine::Leftover;
use chiton_engine::render::TextView;

use crate::action::Ran;

/// The first `limit` characters of a text, and a line that says so where there are more.
pub fn first_characters(text: &str, total: u64, limit: usize) -> (String, bool) {
    let Some((end, _)) = text.char_indices().nth(limit) else {
        return (text.to_owned(), false);
    };
    let total = total.max(text.chars().count() as u64);
    (format!("{}\n[Output truncated: {total} characters, showing first {limit}]", &text[..end]), true)
}

/// The first `limit` bytes and the last `limit` bytes of a text, whole characters only, with `between` in between.
pub fn both_ends(view: &TextView, limit: usize, between: &str) -> String {
    let end = view.tail.as_deref().unwrap_or(&view.head);
    let head = &view.head[..view.head.floor_char_boundary(limit)];
    let tail = &end[end.ceil_char_boundary(end.len().saturating_sub(limit))..];
    format!("{head}{between}{tail}")
}

/// Counts lines in bytes that arrive in pieces; an unfinished one at the end is one.
#[derive(Clone, Copy, Debug, Default)]
pub struct LineCount {
    finished: u64,
    open: bool,
}

impl LineCount {
    /// The next piece.
    pub fn count(&mut self, bytes: &[u8]) {
        self.finished += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.open = bytes.last().map_or(self.open, |last| *last != b'\n');
    }

    /// Output that was only counted, with this many line ends. `last` is its last byte.
    pub fn add(&mut self, ends: u64, last: Option<u8>) {
        self.finished += ends;
        self.open = last.map_or(self.open, |last| last != b'\n');
    }

    /// The lines so far.
    pub fn lines(self) -> u64 {
        self.finished + u64::from(self.open)
    }
}

/// A line for each process that a command left running.
pub fn leftover_lines(ran: &Ran) -> Vec<String> {
    let task = ran.leftover_task().map(|id| format!(" as {id}")).unwrap_or_default();
    let line = |leftover: &Leftover| format!("[left running{task}: pid {} {}]", leftover.pid, leftover.command);
    ran.leftovers().iter().map(line).collect()
}

/// Output as plain text: without escape sequences, and with the last state of what was drawn over itself.
pub fn without_escapes(text: &str) -> String {
    chiton_engine::terminal::text::plain_text(text)
}

/// That a command waits for input, in one line.
pub fn waiting_line(id: &str, wait: &InputWait) -> String {
    let prompt = wait.prompt.trim();
    let (word, asks) =
        (if wait.certain { "waits" } else { "seems to wait" }, if prompt.is_empty() { "" } else { ": " });
    if wait.echo {
        return format!("[{word} for input{asks}{prompt}]");
    }
    format!(
        "[{word} for a password{asks}{prompt}; type a reference to a secret, or let a person type it: chiton attach {id}]"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_characters_and_says_so() {
        assert_eq!(first_characters("h\u{e9}llo", 5, 5), ("h\u{e9}llo".to_owned(), false));
        let (cut, truncated) = first_characters(&"\u{e9}".repeat(10), 50, 4);
        assert!(truncated && cut.starts_with("\u{e9}\u{e9}\u{e9}\u{e9}\n[Output truncated: 50 characters"), "{cut}");
    }

    #[test]
    fn lines_are_counted_whatever_the_pieces_they_come_in() {
        for (text, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)] {
            for piece in 1..=text.len().max(1) {
                let mut count = LineCount::default();
                text.as_bytes().chunks(piece).for_each(|part| count.count(part));
                assert_eq!(count.lines(), lines, "{text:?} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn every_kind_of_escape_is_removed_and_nothing_else() {
        let cases = [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("a\u{1b}]0;title\u{7}b\u{1b}]8;;x\u{1b}\\c", "abc"),
            ("\u{1b}(B\u{1b}[?25lx\u{1b}[K", "x"),
            ("plain [31m text", "plain [31m text"),
            ("open\u{1b}[31", "open"),
            ("\u{1b}cx", "x"),
        ];
        for (text, plain) in cases {
            assert_eq!(without_escapes(text), plain);
        }
    }
}
