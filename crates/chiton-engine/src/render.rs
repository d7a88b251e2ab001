//! Stage 7: bytes as text that can be shown.
//!
//! Text is always valid UTF-8 and never ends or begins inside a character where output was cut; bytes that are not
//! UTF-8 are replaced, and stay as they are in the spool.

use chiton_terminal::text::{continuation_bytes, whole_characters};

use crate::capture::HeadTail;
use crate::capture::intake::Captured;
use crate::secrets::known::KnownSecrets;

/// One stream as text, and what of it is not shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextView {
    /// The text: all of it, or its beginning.
    pub head: String,
    /// The end, where the middle was left out.
    pub tail: Option<String>,
    /// Bytes that are in neither.
    pub omitted: u64,
}

impl TextView {
    /// The whole as one text; where something was left out, a line in between says how much.
    pub fn to_text(&self) -> String {
        match &self.tail {
            None => self.head.clone(),
            Some(tail) => {
                let omitted = self.omitted;
                format!("{}\n[… {omitted} bytes omitted …]\n{tail}", self.head)
            }
        }
    }
}

/// What a run printed, as text.
pub(crate) struct Views {
    pub(crate) stdout: TextView,
    pub(crate) stderr: TextView,
    pub(crate) output: TextView,
}

impl Views {
    /// About how many bytes the command printed.
    pub(crate) fn output_bytes(&self) -> u64 {
        let shown = self.stdout.head.len() + self.stderr.head.len();
        shown as u64 + self.stdout.omitted + self.stderr.omitted
    }
}

/// Whether more may come after what is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completeness {
    /// The command has ended.
    Whole,
    /// The command goes on. A character of which only the first half has come is left for later.
    SoFar,
}

/// Turns what a run printed into text that shows no value, with its escape sequences or without.
pub(crate) fn present(captured: Captured, completeness: Completeness, known: &KnownSecrets) -> Views {
    let Captured { stdout, stderr, output } = captured;
    let view = |captured| TextView::of(captured, completeness).without_values(known);
    let stdout = view(stdout);
    let output = output.map_or_else(|| stdout.clone(), view);
    Views { stdout, stderr: view(stderr), output }
}

impl From<HeadTail> for TextView {
    fn from(captured: HeadTail) -> Self {
        Self::of(captured, Completeness::Whole)
    }
}

impl TextView {
    /// Drawing over a line can put a value together that never was one in the stream. Then the text is shown as it looks
    /// in the end.
    fn without_values(mut self, known: &KnownSecrets) -> Self {
        self.head = known.masked_view(self.head);
        self.tail = self.tail.map(|tail| known.masked_view(tail));
        self
    }

    fn of(captured: HeadTail, completeness: Completeness) -> Self {
        let omitted = captured.omitted();
        let (mut head, mut tail) = captured.into_parts();
        if completeness == Completeness::SoFar {
            let end = if omitted == 0 { &mut head } else { &mut tail };
            end.truncate(whole_characters(end));
        }

        if omitted == 0 {
            return Self { head: lossy(&head), tail: None, omitted };
        }
        let (head, cut) = head.split_at(whole_characters(&head));
        let skipped = continuation_bytes(&tail);
        let omitted = omitted + (cut.len() + skipped) as u64;
        Self { head: lossy(head), tail: Some(lossy(&tail[skipped..])), omitted }
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::ViewLimits;

    #[test]
    fn a_cut_never_splits_a_character_and_every_byte_is_shown_or_counted() {
        let text = "a\u{e9}\u{4e16}\u{1f600}".repeat(50);
        for head in 0..24 {
            for tail in 0..24 {
                let mut captured = HeadTail::new(ViewLimits { head, tail });
                captured.push(text.as_bytes());
                let view = TextView::from(captured);
                let end = view.tail.unwrap();
                assert!(text.starts_with(&view.head) && text.ends_with(&end), "{head} {tail}");
                assert_eq!(view.head.len() + end.len() + usize::try_from(view.omitted).unwrap(), text.len());
                assert!(view.head.len() + 3 >= head && end.len() + 3 >= tail);
            }
        }
    }

    #[test]
    fn half_a_character_is_left_for_later_only_where_more_may_come() {
        let view = |completeness| {
            let mut captured = HeadTail::new(ViewLimits::default());
            captured.push("ab\u{e9}".as_bytes().split_last().unwrap().1);
            TextView::of(captured, completeness).to_text()
        };
        assert_eq!(view(Completeness::SoFar), "ab");
        assert_eq!(view(Completeness::Whole), "ab\u{fffd}");
    }

    #[test]
    fn bytes_that_are_not_text_are_replaced_not_refused() {
        let mut captured = HeadTail::new(ViewLimits::default());
        captured.push(&[b'a', 0xff, b'b', 0xc3]);
        assert_eq!(TextView::from(captured).to_text(), "a\u{fffd}b\u{fffd}");
    }
}
