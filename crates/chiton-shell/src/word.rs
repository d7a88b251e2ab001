//! Words and quotes.

use crate::ansi;
use crate::lexer::{Failure, Lexer, Parsed, is_metacharacter};
use crate::place::{Quoting, Region};
use crate::tree::{Part, Word};

/// What a piece of text lies in, which decides what is special there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Surrounding {
    /// Nothing.
    Bare,
    /// Double quotes.
    Double,
    /// `${…}` inside double quotes: its own double quotes count, single quotes do not.
    BracedDouble,
    /// The body of a here document.
    Here,
    /// An arithmetic expression.
    Arithmetic,
}

impl Lexer<'_> {
    /// The word that stands here; empty if none does.
    pub(super) fn word(&mut self) -> Parsed<Word> {
        self.word_until(&|byte, _| is_metacharacter(byte))
    }

    /// A regular expression after `=~`: parentheses and bars are part of it.
    pub(super) fn regex_word(&mut self) -> Parsed<Word> {
        let open = std::cell::Cell::new(0_usize);
        self.word_until(&|byte, escaped| {
            if escaped {
                return false;
            }
            match byte {
                b'(' => open.set(open.get() + 1),
                b')' | b'&' if open.get() == 0 => return true,
                b')' => open.set(open.get() - 1),
                b' ' | b'\t' | b'\n' => return open.get() == 0,
                _ => {}
            }
            false
        })
    }

    fn word_until(&mut self, ends: &dyn Fn(u8, bool) -> bool) -> Parsed<Word> {
        let start = self.at;
        let mut parts = Parts::default();
        while let Some(byte) = self.peek() {
            match byte {
                b'<' | b'>' if self.peek_at(1) == Some(b'(') => parts.push(self.process_substitution()?),
                b'?' | b'*' | b'+' | b'@' | b'!'
                    if self.peek_at(1) == Some(b'(') && !opens_function(&self.rest()[2..]) =>
                {
                    self.extended_pattern(&mut parts)?;
                }
                _ if ends(byte, false) => break,
                _ => self.piece(&mut parts, Surrounding::Bare)?,
            }
        }
        Ok(Word { parts: parts.finish(), span: self.since(start) })
    }

    /// `@(a|b)` and its like, kept as the text it is.
    fn extended_pattern(&mut self, parts: &mut Parts) -> Parsed<()> {
        let start = self.at;
        for _ in 0..2 {
            parts.byte(self.source[self.at]);
            self.at += 1;
        }

        self.deeper(|lexer| {
            loop {
                match lexer.peek() {
                    None => return Err(lexer.error_from(start, Failure::Unclosed("`(`"))),
                    Some(b')') => {
                        parts.byte(b')');
                        lexer.at += 1;
                        return Ok(());
                    }
                    Some(b'?' | b'*' | b'+' | b'@' | b'!') if lexer.peek_at(1) == Some(b'(') => {
                        lexer.extended_pattern(parts)?;
                    }
                    Some(_) => lexer.piece(parts, Surrounding::Bare)?,
                }
            }
        })
    }

    /// One piece of text, whatever it is, added to `parts`.
    pub(super) fn piece(&mut self, parts: &mut Parts, surrounding: Surrounding) -> Parsed<()> {
        let Some(byte) = self.peek() else { return Ok(()) };
        match byte {
            b'\\' => self.backslash(parts, surrounding),
            b'$' => {
                let part = self.dollar(surrounding)?;
                parts.push(part);
            }
            b'`' => {
                let part = self.backticks(surrounding)?;
                parts.push(part);
            }
            b'\'' if surrounding == Surrounding::Bare => {
                let part = self.single_quotes()?;
                parts.push(part);
            }
            b'"' if matches!(surrounding, Surrounding::Bare | Surrounding::Arithmetic | Surrounding::BracedDouble) => {
                let part = self.double_quotes()?;
                parts.push(part);
            }
            _ => {
                parts.byte(byte);
                self.at += 1;
            }
        }
        Ok(())
    }

    fn backslash(&mut self, parts: &mut Parts, surrounding: Surrounding) {
        let start = self.at;
        let Some(next) = self.peek_at(1) else {
            // At the very end bash keeps it.
            parts.byte(b'\\');
            self.at += 1;
            return;
        };

        let special = match surrounding {
            Surrounding::Bare => true,
            Surrounding::Double => matches!(next, b'$' | b'`' | b'"' | b'\\' | b'\n'),
            Surrounding::BracedDouble => matches!(next, b'$' | b'`' | b'"' | b'\\' | b'\n' | b'}'),
            Surrounding::Here | Surrounding::Arithmetic => matches!(next, b'$' | b'`' | b'\\' | b'\n'),
        };

        if !special {
            parts.byte(b'\\');
            self.at += 1;
            return;
        }
        if next == b'\n' {
            self.at += 2;
            return;
        }

        let length = character_length(next);
        let end = (self.at + 1 + length).min(self.source.len());
        let text = String::from_utf8_lossy(&self.source[self.at + 1..end]).into_owned();
        self.at = end;
        parts.push(Part::Quoted(text));
        if surrounding == Surrounding::Bare {
            self.note(start, Region::Quoting(Quoting::Escaped));
        }
    }

    fn single_quotes(&mut self) -> Parsed<Part> {
        let start = self.at;
        let rest = &self.source[start + 1..];
        let Some(length) = memchr::memchr(b'\'', rest) else {
            return Err(self.error(Failure::Unclosed("a single quote")));
        };
        let text = String::from_utf8_lossy(&rest[..length]).into_owned();
        self.at += length + 2;
        self.note(start, Region::Quoting(Quoting::Single));
        Ok(Part::Quoted(text))
    }

    /// `$'…'`.
    pub(super) fn ansi_quotes(&mut self) -> Parsed<Part> {
        let start = self.at;
        let mut end = start + 2;
        loop {
            match self.source.get(end) {
                None => return Err(self.error(Failure::Unclosed("`$'`"))),
                Some(b'\'') => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
            }
        }
        let text = ansi::decode(&self.source[start + 2..end]);
        self.at = end + 1;
        self.note(start, Region::Quoting(Quoting::Ansi));
        Ok(Part::Quoted(text))
    }

    pub(super) fn double_quotes(&mut self) -> Parsed<Part> {
        let start = self.at;
        self.at += 1;
        let mut parts = Parts::default();

        self.deeper(|lexer| {
            loop {
                match lexer.peek() {
                    None => return Err(lexer.error_from(start, Failure::Unclosed("a double quote"))),
                    Some(b'"') => {
                        lexer.at += 1;
                        return Ok(());
                    }
                    Some(_) => lexer.piece(&mut parts, Surrounding::Double)?,
                }
            }
        })?;

        self.note(start, Region::Quoting(Quoting::Double));
        Ok(Part::Double(parts.finish()))
    }

    /// The whole text as the body of a here document.
    pub(super) fn here_text(&mut self) -> Parsed<Vec<Part>> {
        let mut parts = Parts::default();
        while !self.is_end() {
            self.piece(&mut parts, Surrounding::Here)?;
        }
        Ok(parts.finish())
    }
}

fn character_length(first: u8) -> usize {
    match first {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    }
}

/// Pieces of a word while it is read; neighbouring bytes become one literal.
#[derive(Default)]
pub(super) struct Parts {
    done: Vec<Part>,
    bytes: Vec<u8>,
}

impl Parts {
    pub(super) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    pub(super) fn push(&mut self, part: Part) {
        self.flush();
        self.done.push(part);
    }

    fn flush(&mut self) {
        if !self.bytes.is_empty() {
            let text = String::from_utf8(std::mem::take(&mut self.bytes))
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
            self.done.push(Part::Literal(text));
        }
    }

    pub(super) fn finish(mut self) -> Vec<Part> {
        self.flush();
        self.done
    }
}

/// Whether `rest` closes the bracket before it at once. `name()` looks like a pattern when the name ends in one of its characters, but a pattern is
/// not empty.
fn opens_function(rest: &[u8]) -> bool {
    let inner = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
    inner == Some(&b')')
}
