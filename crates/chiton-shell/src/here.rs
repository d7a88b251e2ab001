//! Here documents.

use std::sync::{Arc, OnceLock};

use crate::lexer::{Failure, Lexer, Parsed, Pending, Positions};
use crate::place::{Quoting, Region, Role};
use crate::tree::{HereDocument, Part, Target, Word};

/// How many here documents bash takes on one line.
const MOST_PENDING: usize = 16;

impl Lexer<'_> {
    /// After `<<`: the delimiter. The body follows at the next line end.
    pub(super) fn here_announcement(&mut self, operator: usize) -> Parsed<Target> {
        // `<<-`: the dash belongs to the operator only if it follows at once.
        let strip_tabs = self.source[operator..self.at].ends_with(b"<<") && self.take(b"-");
        self.skip_blanks();
        if !self.at_word() {
            return Err(self.unexpected());
        }

        let start = self.at;
        self.word()?;
        self.note(start, Region::Role(Role::HereDelimiter));
        let raw = &self.source[start..self.at];
        let quoted = raw.iter().any(|byte| matches!(byte, b'\'' | b'"' | b'\\'));
        let delimiter = if quoted { unquoted(raw) } else { raw.to_vec() };
        if raw.contains(&b'(') || raw.contains(&b'`') || raw.windows(2).any(|pair| pair == b"$'") {
            // Bash writes the commands anew, and takes that text.
            self.uncertain(start, "a here document ends with a substitution or with `$'…'`");
        }

        if self.pending.len() >= MOST_PENDING {
            return Err(
                self.error_from(start, Failure::Unexpected("one more here document on the same line".to_owned()))
            );
        }
        let slot = Arc::new(OnceLock::new());
        self.pending.push(Pending { delimiter, quoted, strip_tabs, slot: Arc::clone(&slot) });
        Ok(Target::Here(slot))
    }

    /// Reads the body that starts here, up to its delimiter or the end of the text.
    pub(super) fn here_body(&mut self, pending: Pending) -> Parsed<()> {
        let start = self.at.min(self.source.len());
        let mut text = Vec::new();
        let mut places = Vec::new();

        let mut end = start;
        let mut is_open = true;
        while self.at < self.source.len() {
            let line = self.here_line(!pending.quoted);
            let tabs =
                if pending.strip_tabs { line.iter().take_while(|at| self.source[**at] == b'\t').count() } else { 0 };
            let is_delimiter = |line: &[usize], length: usize| {
                line.len() >= length
                    && line.iter().take(length).map(|at| &self.source[*at]).eq(pending.delimiter.iter().take(length))
            };
            let length = pending.delimiter.len();
            let ends = |line: &[usize]| {
                is_delimiter(line, length) && line.get(length).is_none_or(|at| self.source[*at] == b'\n')
            };
            if ends(&line) || ends(&line[tabs..]) {
                is_open = false;
                break;
            }
            let line = &line[tabs..];
            // Inside `$(…)` the delimiter may also be followed by the parenthesis that closes it.
            if self.inside > 0 && is_delimiter(line, length) && line[length..].iter().any(|at| self.source[*at] == b')')
            {
                is_open = false;
                self.at = line[length];
                break;
            }
            text.extend(line.iter().map(|at| self.source[*at]));
            places.extend_from_slice(line);
            end = self.at;
        }

        self.places.has_open_here |= is_open;
        let body = if pending.quoted {
            self.note_range(start, end, Region::Quoting(Quoting::HereLiteral));
            Word {
                parts: vec![Part::Quoted(String::from_utf8_lossy(&text).into_owned())],
                span: self.positions.span(start, end),
            }
        } else {
            self.note_range(start, end, Region::Quoting(Quoting::HereExpanded));
            self.expanded_body(&text, places, start, end)?
        };

        self.note_range(start, end, Region::Role(Role::HereBody));

        let Pending { delimiter, quoted, strip_tabs: strips_tabs, slot } = pending;
        let _ = slot.set(HereDocument { delimiter, quoted, strips_tabs, body });
        Ok(())
    }

    /// Where the bytes of the next line of a body stand, its end included. Where the body is expanded, a backslash
    /// joins it with the line after it, before anybody looks for the delimiter.
    fn here_line(&mut self, is_expanded: bool) -> Vec<usize> {
        let mut line = Vec::new();
        while let Some(byte) = self.peek() {
            if byte == b'\\' && is_expanded {
                if self.peek_at(1) == Some(b'\n') {
                    self.at += 2;
                    continue;
                }
                line.push(self.at);
                self.at += 1;
                if self.is_end() {
                    break;
                }
            }
            line.push(self.at);
            self.at += 1;
            if byte == b'\n' {
                break;
            }
        }
        line
    }

    fn note_range(&mut self, start: usize, end: usize, region: Region) {
        if !matches!(self.positions, Positions::Fixed(_)) {
            let span = self.positions.span(start, end);
            self.places.note(span, region);
        }
    }

    fn expanded_body(&mut self, text: &[u8], places: Vec<usize>, start: usize, end: usize) -> Parsed<Word> {
        let span = self.positions.span(start, end);
        if memchr::memchr3(b'$', b'`', b'\\', text).is_none() {
            let parts = vec![Part::Literal(String::from_utf8_lossy(text).into_owned())];
            return Ok(Word { parts, span });
        }

        let positions = self.positions.of(places, end);
        let (depth, patience) = (self.depth, self.patience);
        let prepare = |inner: &mut Lexer<'_>| (inner.depth, inner.patience) = (depth, patience);
        let (parts, remains) = Lexer::reading(text, &positions, &prepare, &|inner| inner.deeper(Lexer::here_text));
        if let Some(remains) = remains {
            self.patience = remains.patience;
            self.places.extend(remains.places);
        }
        let parts = match parts {
            Ok(parts) => parts,
            Err(error) if error.failure.is_limit() => return Err(error),
            // Bash finds that out when it expands the body.
            Err(error) => {
                self.places.note_uncertain(error.span, "an expansion in a here document is not closed, or not one");
                Vec::new()
            }
        };
        Ok(Word { parts, span })
    }
}

/// The text of a delimiter without its quotes. Nothing else in it is special.
fn unquoted(raw: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut quote = None;
    let mut at = 0;
    while let Some(&byte) = raw.get(at) {
        at += 1;
        match (quote, byte) {
            (None, b'$') if matches!(raw.get(at), Some(b'"' | b'\'')) => {}
            (None, b'\'' | b'"') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            (None, b'\\') => {
                text.extend(raw.get(at));
                at += 1;
            }
            (Some(b'"'), b'\\') if matches!(raw.get(at), Some(b'$' | b'`' | b'"' | b'\\')) => {
                text.extend(raw.get(at));
                at += 1;
            }
            _ => text.push(byte),
        }
    }
    text
}
