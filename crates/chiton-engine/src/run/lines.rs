//! Lines that somebody types.

/// How much of what was typed is kept.
const MOST_BYTES: usize = 64 << 10;

/// What was typed, as the lines that come of it: keys that take something back are applied.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines(Vec<u8>);

impl Lines {
    /// Those that were typed before.
    pub(crate) fn new(typed: &[u8]) -> Self {
        Self(typed.to_vec())
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Adds what is typed next, byte by byte as a keyboard sends it.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            match byte {
                b'\r' | b'\n' => self.0.push(b'\n'),
                0x08 | 0x7f => self.take_back_character(),
                // Ctrl-U and Ctrl-C.
                0x15 | 0x03 => self.take_back_line(),
                0x17 => self.take_back_word(),
                0x1b => rest = after_escape(after),
                b'\t' | 0x20.. => self.0.push(byte),
                _ => {}
            }
        }
        if self.0.len() > MOST_BYTES {
            let cut = self.0.len() - MOST_BYTES;
            let line = self.0[cut..].iter().position(|byte| *byte == b'\n').map_or(cut, |at| cut + at + 1);
            self.0.drain(..line);
        }
    }

    fn take_back_character(&mut self) {
        if self.0.last().is_some_and(|last| *last != b'\n') {
            // A character of several bytes goes as a whole.
            while self.0.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
        }
    }

    fn take_back_line(&mut self) {
        let start = self.0.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.0.truncate(start);
    }

    fn take_back_word(&mut self) {
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        while self.0.last().is_some_and(is_blank) {
            self.0.pop();
        }
        while self.0.last().is_some_and(|byte| !is_blank(byte) && *byte != b'\n') {
            self.0.pop();
        }
    }
}

/// What follows an escape sequence: a key that moves the cursor, or the mark of a paste.
fn after_escape(bytes: &[u8]) -> &[u8] {
    match bytes {
        [b'[', rest @ ..] => {
            let end = rest.iter().position(|byte| (0x40..0x7f).contains(byte)).map_or(rest.len(), |at| at + 1);
            &rest[end..]
        }
        [b'O', _, rest @ ..] | [_, rest @ ..] => rest,
        [] => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_take_something_back_are_applied() {
        let cases: &[(&str, &str)] = &[
            ("ls\r", "ls\n"),
            ("ls\n", "ls\n"),
            ("lx\u{7f}s\r", "ls\n"),
            ("\u{7f}\u{7f}a", "a"),
            ("é\u{8}e", "e"),
            ("first\rsecond\u{15}third\r", "first\nthird\n"),
            ("first\rsecond\u{3}third\r", "first\nthird\n"),
            ("one two  \u{17}three", "one three"),
            ("a\u{1b}[Ab\u{1b}OCc\u{1b}[200~d\u{1b}[201~", "abcd"),
            ("a\u{1}b\u{4}", "ab"),
            ("\tx\u{1b}", "\tx"),
        ];
        for (typed, lines) in cases {
            let mut all = Lines::default();
            all.add(typed.as_bytes());
            assert_eq!(String::from_utf8_lossy(&all.0), *lines, "{typed:?}");
        }
    }

    #[test]
    fn only_whole_lines_are_forgotten() {
        let mut lines = Lines::default();
        for number in 0..20_000 {
            lines.add(format!("line {number}\n").as_bytes());
        }
        assert!(lines.0.len() <= MOST_BYTES && lines.0.starts_with(b"line "));
        assert!(lines.0.ends_with(b"line 19999\n"));
    }
}
