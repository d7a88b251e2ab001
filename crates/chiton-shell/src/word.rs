//! Words and quotes.

use crate::ansi;
use crate::lexer::{Failure, Lexer, Parsed, is_metacharacter};
use crate::place::{Quoting, Region};
use crate::tree::{Part, Word};

/// Why a word cannot be read for certain.
pub(super) const TWO_ENDS: &str =
    "quotes and brackets are nested in a way that bash reads differently at different times";

/// What a piece of text lies in, which decides what is special there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Surrounding {
    /// Nothing.
    Bare,
    /// Double quotes.
    Double,
    /// The word after `-`, `=` or `+` of `${…}` inside double quotes or a here document. Its own double quotes count.
    /// Single quotes are text when it is expanded, but pairs of them when its end is looked for.
    BracedDouble,
    /// The body of a here document.
    Here,
    /// An arithmetic expression, which bash expands as if it were in double quotes.
    Arithmetic,
    /// The subscript of an array. It may be calculated with, or be a name.
    Subscript,
}

impl Surrounding {
    /// Whether single quotes are pairs here, and text all the same.
    pub(super) fn has_half_quotes(self) -> bool {
        matches!(self, Self::BracedDouble | Self::Arithmetic | Self::Subscript)
    }
}

impl Lexer<'_> {
    /// The word that stands here; empty if none does.
    pub(super) fn word(&mut self) -> Parsed<Word> {
        let start = self.at;
        let parts = Parts::default();
        self.word_from(start, parts, &|byte| is_metacharacter(byte))
    }

    /// The rest of the word from `start`, of which `parts` have been read.
    pub(super) fn word_from(&mut self, start: usize, parts: Parts, ends: &dyn Fn(u8) -> bool) -> Parsed<Word> {
        let from = self.at;
        let word = self.word_until(start, parts, ends)?;
        self.check_end(from, false);
        Ok(word)
    }

    /// The whole text as one word, whatever stands in it.
    pub(super) fn whole_word(&mut self) -> Parsed<Word> {
        self.word_until(0, Parts::default(), &|_| false)
    }

    /// A regular expression after `=~`: parentheses and bars are part of it.
    pub(super) fn regex_word(&mut self) -> Parsed<Word> {
        let start = self.at;
        let open = std::cell::Cell::new(0_usize);
        let word = self.word_until(start, Parts::default(), &|byte| {
            match byte {
                b'(' => open.set(open.get() + 1),
                b')' if open.get() > 0 => open.set(open.get() - 1),
                b'|' => {}
                _ => return open.get() == 0 && is_metacharacter(byte),
            }
            false
        })?;
        self.check_end(start, true);
        Ok(word)
    }

    /// Notes it where bash's parser would end the word from `start` at another place than here. Only words with
    /// brackets behind a dollar sign can be read in two ways, and regular expressions.
    fn check_end(&mut self, start: usize, is_regex: bool) {
        let text = &self.source[start..self.at];
        let brackets =
            || memchr::memchr_iter(b'$', text).any(|at| matches!(text.get(at + 1), Some(b'{' | b'[' | b'(')));
        let is_pattern = |at: usize| at > 0 && matches!(text[at - 1], b'?' | b'*' | b'+' | b'@' | b'!');
        let patterns = || memchr::memchr_iter(b'(', text).any(is_pattern);
        if (is_regex || brackets() || patterns()) && !self.ends_alike(start, is_regex) {
            self.uncertain(start, TWO_ENDS);
        }
    }

    fn word_until(&mut self, start: usize, mut parts: Parts, ends: &dyn Fn(u8) -> bool) -> Parsed<Word> {
        self.look_for_joins();
        while let Some(byte) = self.peek() {
            match byte {
                b'<' | b'>' if self.peek_at(1) == Some(b'(') => parts.push(self.process_substitution()?),
                b'?' | b'*' | b'+' | b'@' | b'!'
                    if self.peek_at(1) == Some(b'(') && !opens_function(&self.rest()[2..]) =>
                {
                    self.extended_pattern(&mut parts)?;
                }
                _ if ends(byte) => break,
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
        self.look_for_joins();
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
            b'\'' if surrounding.has_half_quotes() => self.half_quotes(parts, surrounding)?,
            b'"' if surrounding == Surrounding::Bare || surrounding.has_half_quotes() => {
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

    /// Single quotes that keep together what is between them while the end of the word is looked for, but do not keep
    /// it from being expanded.
    fn half_quotes(&mut self, parts: &mut Parts, surrounding: Surrounding) -> Parsed<()> {
        let start = self.at;
        let Some(length) = memchr::memchr(b'\'', &self.source[start + 1..]) else {
            return Err(self.error(Failure::Unclosed("a single quote")));
        };
        let end = start + 1 + length;
        let text = &self.source[start + 1..end];
        self.places.note_doubt("single quotes stand where bash expands what is between them");
        let expands = text.iter().any(|byte| matches!(byte, b'$' | b'`' | b'\\'));
        if surrounding == Surrounding::Subscript && !expands {
            let part = self.single_quotes()?;
            parts.push(part);
            return Ok(());
        }

        parts.byte(b'\'');
        self.at += 1;
        while self.at < end {
            match self.source[self.at] {
                // Taken away with the quotes around the whole.
                b'"' => self.at += 1,
                b'\'' => break,
                _ => match self.piece(parts, surrounding) {
                    Err(error) if error.failure.is_limit() => return Err(error),
                    Err(_) => self.at = usize::MAX,
                    Ok(()) => {}
                },
            }
        }
        if self.at != end {
            self.uncertain(start, TWO_ENDS);
            self.at = end + 1;
            return Ok(());
        }
        parts.byte(b'\'');
        self.at += 1;
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
            Surrounding::Arithmetic | Surrounding::Subscript => matches!(next, b'$' | b'`' | b'"' | b'\\' | b'\n'),
            Surrounding::Here => matches!(next, b'$' | b'`' | b'\\' | b'\n'),
        };

        if !special {
            parts.byte(b'\\');
            self.at += 1;
            // Even then the next byte opens nothing: `\'` is not a quote.
            if surrounding.has_half_quotes() {
                parts.byte(next);
                self.at += 1;
            }
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

/// Whether `rest` closes the bracket before it at once, and a body follows: `name() {` looks like a pattern when the name
/// ends in one of its characters.
fn opens_function(rest: &[u8]) -> bool {
    const BODIES: [&[u8]; 9] = [b"{", b"(", b"[[", b"if", b"for", b"case", b"while", b"until", b"select"];
    let blanks = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n');
    let Some((b')', behind)) = rest.trim_ascii_start().split_first() else { return false };
    let behind = &behind[behind.iter().take_while(|byte| blanks(byte)).count()..];
    BODIES.iter().any(|body| behind.starts_with(body))
}
