//! Here documents.

use std::sync::{Arc, OnceLock};

use crate::lexer::{Lexer, Parsed, Pending, Positions};
use crate::place::{Quoting, Region, Role};
use crate::tree::{HereDocument, Part, Target, Word};

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
        let word = self.word()?;
        self.note(start, Region::Role(Role::HereDelimiter));
        let raw = &self.source[start..self.at];
        let quoted = raw.iter().any(|byte| matches!(byte, b'\'' | b'"' | b'\\'));
        let delimiter = if quoted { unquoted(&word.parts) } else { raw.to_vec() };

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
        let mut continued = false;
        let mut is_open = true;
        while self.at < self.source.len() {
            let rest = &self.source[self.at..];
            let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
            let line = &rest[..length];
            let tabs = if pending.strip_tabs { line.iter().take_while(|byte| **byte == b'\t').count() } else { 0 };
            let content = line[tabs..].strip_suffix(b"\n").unwrap_or(&line[tabs..]);
            let line_start = self.at;
            self.at += length;
            if content == pending.delimiter && !continued {
                is_open = false;
                break;
            }
            // Where the body is expanded, a backslash joins lines, and a joined line is never the delimiter.
            let backslashes = content.iter().rev().take_while(|byte| **byte == b'\\').count();
            continued = !pending.quoted && backslashes % 2 == 1;
            text.extend_from_slice(&line[tabs..]);
            places.extend(line_start + tabs..line_start + length);
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

    fn note_range(&mut self, start: usize, end: usize, region: Region) {
        if !matches!(self.positions, Positions::Fixed(_)) {
            let span = self.positions.span(start, end);
            self.places.note(span, region);
        }
    }

    fn expanded_body(&mut self, text: &[u8], places: Vec<usize>, start: usize, end: usize) -> Parsed<Word> {
        let positions = self.positions.of(places, end);
        let mut inner = Lexer::new(text, positions, self.depth)?;
        inner.patience = self.patience;
        let parts = inner.deeper(Lexer::here_text)?;
        self.patience = inner.patience;
        self.places.extend(inner.places);
        Ok(Word { parts, span: self.positions.span(start, end) })
    }
}

/// The text of a delimiter without its quotes.
fn unquoted(parts: &[Part]) -> Vec<u8> {
    let mut text = Vec::new();
    for part in parts {
        match part {
            Part::Literal(literal) | Part::Quoted(literal) => text.extend_from_slice(literal.as_bytes()),
            Part::Double(inner) => text.extend(unquoted(inner)),
            _ => {}
        }
    }
    text
}
