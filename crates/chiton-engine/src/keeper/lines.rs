//! The lines of a command's output, and which of them match.
//!
//! 1. [`LineAssembly`] puts the lines of each stream together as their bytes arrive, and numbers them.
//! 2. A [`Matcher`] counts those that match, and keeps the last few.
//!
//! Memory is bounded, whatever is printed: of a long line only the beginning is looked at, and of many matches only the
//! last are kept. The count is exact.

use regex::bytes::Regex;

use crate::run::{MatchedLine, Stream, Watch};
use chiton_terminal::text::plain_text;

/// A line that is longer is matched on this much of its beginning.
const LONGEST_LINE: usize = 64 << 10;

/// The unfinished line of each stream, and how many lines there were.
#[derive(Debug, Default)]
pub(super) struct LineAssembly {
    unfinished: [Vec<u8>; 2],
    lines: u64,
}

impl LineAssembly {
    /// Takes the next bytes of a stream, and gives each line that they complete to `take`, with its number.
    pub(super) fn feed(&mut self, stream: Stream, bytes: &[u8], mut take: impl FnMut(u64, &[u8])) {
        let unfinished = &mut self.unfinished[usize::from(stream == Stream::Stderr)];
        let mut rest = bytes;
        while let Some(newline) = memchr::memchr(b'\n', rest) {
            let part = &rest[..newline];
            rest = &rest[newline + 1..];
            self.lines += 1;
            if unfinished.is_empty() {
                take(self.lines, beginning(part));
            } else {
                extend(unfinished, part);
                take(self.lines, unfinished);
                unfinished.clear();
            }
        }
        extend(unfinished, rest);
    }

    /// The output has ended: what was printed without a newline at its end is a line too.
    pub(super) fn finish(&mut self, mut take: impl FnMut(u64, &[u8])) {
        for unfinished in &mut self.unfinished {
            if !unfinished.is_empty() {
                take(self.lines + 1, unfinished);
                unfinished.clear();
            }
        }
    }
}

fn beginning(line: &[u8]) -> &[u8] {
    &line[..line.len().min(LONGEST_LINE)]
}

fn extend(unfinished: &mut Vec<u8>, part: &[u8]) {
    let room = LONGEST_LINE - unfinished.len();
    unfinished.extend_from_slice(&part[..part.len().min(room)]);
}

/// What is kept of the lines that match.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatchBounds {
    pub(super) lines: usize,
    /// Of each line.
    pub(super) bytes: usize,
}

/// Counts the lines that match a pattern.
#[derive(Debug)]
pub(super) struct Matcher {
    pattern: Regex,
    bounds: MatchBounds,
    pub(super) watch: Watch,
}

impl Matcher {
    /// `shown` is the pattern as it may be shown.
    pub(super) fn new(pattern: Regex, shown: String, number: u32, bounds: MatchBounds) -> Self {
        Self { pattern, bounds, watch: Watch { number, pattern: shown, matches: 0, last: Vec::new() } }
    }

    /// Takes a line; gives whether it matches, as it was printed or as a person reads it.
    pub(super) fn take(&mut self, number: u64, line: &[u8]) -> bool {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // Most lines have nothing in them that would make the two differ.
        let is_plain = !line.iter().any(|byte| *byte < b' ' && *byte != b'\t');
        let as_printed = self.pattern.is_match(line);
        if is_plain && !as_printed {
            return false;
        }
        let text = plain_text(&String::from_utf8_lossy(line));
        if !as_printed && !self.pattern.is_match(text.as_bytes()) {
            return false;
        }

        self.watch.matches += 1;
        if self.watch.last.len() == self.bounds.lines {
            self.watch.last.remove(0);
        }
        self.watch.last.push(MatchedLine { line: number, text: cut(text, self.bounds.bytes) });
        true
    }
}

/// The beginning of a text, in whole characters.
fn cut(mut text: String, bytes: usize) -> String {
    if text.len() > bytes {
        let end = text.floor_char_boundary(bytes);
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: MatchBounds = MatchBounds { lines: 2, bytes: 8 };

    fn matched(pattern: &str, chunks: &[(Stream, &[u8])]) -> (u64, Vec<(u64, String)>) {
        let mut lines = LineAssembly::default();
        let mut matcher = Matcher::new(Regex::new(pattern).unwrap(), pattern.to_owned(), 1, BOUNDS);
        for (stream, bytes) in chunks {
            lines.feed(*stream, bytes, |number, line| _ = matcher.take(number, line));
        }
        lines.finish(|number, line| _ = matcher.take(number, line));
        let last = matcher.watch.last.into_iter().map(|line| (line.line, line.text)).collect();
        (matcher.watch.matches, last)
    }

    /// A pattern, what arrives, how many lines match, and the last of them.
    type Case<'a> = (&'a str, &'a [(Stream, &'a [u8])], u64, &'a [(u64, &'a str)]);

    #[test]
    fn a_line_counts_once_however_it_arrives() {
        let (out, err) = (Stream::Stdout, Stream::Stderr);
        let cases: &[Case<'_>] = &[
            ("error", &[(out, b"an error\nfine\n")], 1, &[(1, "an error")]),
            ("error", &[(out, b"an er"), (out, b"ror\n")], 1, &[(1, "an error")]),
            ("error", &[(out, b"an er"), (err, b"ror\n"), (out, b"ror\n")], 1, &[(2, "an error")]),
            ("^ror$", &[(out, b"an er"), (err, b"ror\n"), (out, b"ror\n")], 1, &[(1, "ror")]),
            ("x", &[(out, b"x\nx\nx\n")], 3, &[(2, "x"), (3, "x")]),
            ("x", &[(out, b"x xx x\n")], 1, &[(1, "x xx x")]),
            ("^done$", &[(out, b"\x1b[32mdone\x1b[0m\r\n")], 1, &[(1, "done")]),
            ("^100%$", &[(out, b"10%\r50%\r100%\n")], 1, &[(1, "100%")]),
            ("end$", &[(out, b"a\nthe end")], 1, &[(2, "the end")]),
            ("^$", &[(out, b"\n\na")], 2, &[(1, ""), (2, "")]),
            ("long", &[(out, "long äöü ende\n".as_bytes())], 1, &[(1, "long ä")]),
        ];
        for (pattern, chunks, matches, last) in cases {
            let last = last.iter().map(|(line, text)| (*line, (*text).to_owned())).collect();
            assert_eq!(matched(pattern, chunks), (*matches, last), "{pattern} {chunks:?}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_matched_on_its_beginning() {
        let mut long = vec![b'a'; LONGEST_LINE - 3];
        long.extend(b"beg end\nnext\n");
        for chunk in [1000, 4096, long.len()] {
            let chunks: Vec<_> = long.chunks(chunk).map(|bytes| (Stream::Stdout, bytes)).collect();
            assert_eq!(matched("beg", &chunks).0, 1);
            assert_eq!(matched("end", &chunks).0, 0);
            assert_eq!(matched("next", &chunks), (1, vec![(2, "next".to_owned())]));
        }
    }
}
