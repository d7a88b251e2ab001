//! Where bash's own reader thinks that a word ends.
//!
//! Bash reads a word twice. Its parser looks for the end of the word by matching pairs of quotes and brackets; when the
//! word is expanded, other code takes it apart. The rest of this crate reads once, as expansion does. What is here
//! follows `parse_matched_pair` in bash's parser step by step, and a word that the two would end at different places
//! cannot be read for certain.

use crate::lexer::{Lexer, is_metacharacter};

/// What a pair is matched as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pair {
    /// Quotes, a regular expression, an extended pattern.
    Plain,
    /// `$'…'`, in which a backslash escapes.
    Ansi,
    /// `${…}`: the first closing brace ends it.
    Braces,
    /// `$((…))`, `((…))` and `$[…]`.
    Arithmetic,
    /// The subscript of an array that is assigned to.
    Subscript,
}

/// How deep pairs may nest.
const DEEPEST_PAIRS: usize = 60;

impl Lexer<'_> {
    /// Whether bash's parser would end the word from `start` at the same place as this one did: here. `is_regex` says
    /// whether it is a regular expression.
    pub(super) fn ends_alike(&mut self, start: usize, is_regex: bool) -> bool {
        self.token_end(start, is_regex) == Some(self.at)
    }

    /// Where the word from `start` ends.
    fn token_end(&mut self, start: usize, is_regex: bool) -> Option<usize> {
        let mut at = start;
        while let Some(byte) = self.source.get(at).copied() {
            let next = self.source.get(at + 1);
            at = match (byte, next) {
                (b'\\', None) => at + 1,
                (b'\\', Some(_)) | (b'$', Some(b'$')) => at + 2,
                (b'\'' | b'"' | b'`', _) => self.pair_end(at + 1, byte, byte, Pair::Plain, 0)?,
                (b'(', _) if is_regex => self.pair_end(at + 1, b'(', b')', Pair::Plain, 0)?,
                (b'|', _) if is_regex => at + 1,
                (b'?' | b'*' | b'+' | b'@' | b'!', Some(b'(')) => self.pair_end(at + 2, b'(', b')', Pair::Plain, 0)?,
                (b'$', Some(b'{')) => self.pair_end(at + 2, b'{', b'}', Pair::Braces, 0)?,
                (b'$', Some(b'[')) => self.pair_end(at + 2, b'[', b']', Pair::Arithmetic, 0)?,
                (b'$' | b'<' | b'>', Some(b'(')) => self.substitution_end(at + 1, 0)?,
                (b'$', Some(b'\'')) => self.pair_end(at + 2, b'\'', b'\'', Pair::Ansi, 0)?,
                (b'$', Some(b'"')) => self.pair_end(at + 2, b'"', b'"', Pair::Plain, 0)?,
                _ if is_metacharacter(byte) => return Some(at),
                _ => at + 1,
            };
        }
        Some(at)
    }

    /// Where the substitution whose parenthesis opens at `open` ends: behind the one that closes it.
    fn substitution_end(&mut self, open: usize, depth: usize) -> Option<usize> {
        if self.source.get(open + 1) == Some(&b'(') {
            return self.pair_end(open + 1, b'(', b')', Pair::Arithmetic, depth + 1);
        }
        if let Some(end) = self.substitutions.get(&open) {
            return Some(*end);
        }
        self.read_ahead(open)
    }

    /// Reads the substitution that opens at `open` for its end alone.
    fn read_ahead(&mut self, open: usize) -> Option<usize> {
        let (at, noted) = (self.at, self.places.noted());
        let pending = std::mem::take(&mut self.pending);
        self.at = open + 1;
        self.inside += 1;
        let read = self.list();
        self.inside -= 1;
        let end = (read.is_ok() && self.peek() == Some(b')')).then_some(self.at + 1);
        let spent = self.spend(self.at.saturating_sub(open));
        self.places.forget(noted);
        (self.at, self.pending) = (at, pending);
        let end = end.filter(|_| spent.is_ok())?;
        self.substitutions.insert(open, end);
        Some(end)
    }

    /// Where the pair that was opened before `from` ends: behind what closes it. Nothing where it is never closed, or
    /// where it holds a substitution that was not read as one.
    pub(super) fn pair_end(&mut self, from: usize, open: u8, close: u8, pair: Pair, depth: usize) -> Option<usize> {
        if depth > DEEPEST_PAIRS {
            return None;
        }
        let groups = open != close;
        let (mut count, mut at) = (1_usize, from);
        let (mut was_dollar, mut was_angle) = (false, false);
        loop {
            let byte = *self.source.get(at)?;
            at += 1;
            if byte == close {
                count -= 1;
            } else if byte == open && (pair != Pair::Braces || was_dollar) {
                count += 1;
            }
            if count == 0 {
                return Some(at);
            }

            if open == b'\'' {
                at += usize::from(pair == Pair::Ansi && byte == b'\\');
                continue;
            }
            if byte == b'\\' {
                at += 1;
                (was_dollar, was_angle) = (false, false);
                continue;
            }

            let expands = matches!(byte, b'(' | b'{' | b'[');
            let opens_expansion = if groups {
                let dollar = match pair {
                    Pair::Subscript | Pair::Braces => was_dollar && expands,
                    Pair::Arithmetic => was_dollar && byte == b'(',
                    Pair::Plain | Pair::Ansi => false,
                };
                dollar || (matches!(pair, Pair::Subscript | Pair::Braces) && was_angle && byte == b'(')
            } else {
                open != b'`' && was_dollar && expands
            };

            if groups && matches!(byte, b'\'' | b'"' | b'`') {
                let inner = if was_dollar && byte == b'\'' { Pair::Ansi } else { Pair::Plain };
                at = self.pair_end(at, byte, byte, inner, depth + 1)?;
            } else if open == b'"' && byte == b'`' {
                at = self.pair_end(at, b'`', b'`', Pair::Plain, depth + 1)?;
            } else if opens_expansion {
                if byte == open {
                    count -= 1;
                }
                at = match byte {
                    b'(' => self.substitution_end(at - 1, depth + 1)?,
                    b'{' => self.pair_end(at, b'{', b'}', Pair::Braces, depth + 1)?,
                    _ => self.pair_end(at, b'[', b']', Pair::Arithmetic, depth + 1)?,
                };
            }
            was_angle = matches!(byte, b'<' | b'>') && !was_angle;
            was_dollar = byte == b'$' && !was_dollar;
        }
    }
}
