//! What stands between quotes, and what a `$` or a backtick begins.

use std::ops::Range;

use super::scanner::{Scanner, Until, Words};
use super::{Place, places};

impl Scanner<'_> {
    pub(super) fn single(&mut self) -> Option<()> {
        self.position += 1;
        loop {
            if self.token(Place::Single, None) {
                continue;
            }
            let byte = *self.rest().first()?;
            self.position += 1;
            if byte == b'\'' {
                return Some(());
            }
        }
    }

    pub(super) fn ansi_c(&mut self) -> Option<()> {
        self.position += 2;
        loop {
            let place = if self.is_escaped() { Place::Unfit("a backslash stands before it") } else { Place::AnsiC };
            if self.token(place, None) {
                continue;
            }
            match *self.rest() {
                [] => return None,
                [b'\'', ..] => {
                    self.position += 1;
                    return Some(());
                }
                [b'\\', _, ..] => self.position += if self.is_token_at(1) { 1 } else { 2 },
                _ => self.position += 1,
            }
        }
    }

    /// Between double quotes, the first of which is `skip` bytes long.
    pub(super) fn double(&mut self, skip: usize) -> Option<()> {
        self.position += skip;
        loop {
            let place = if self.is_escaped() {
                Place::Unfit("a backslash stands before it")
            } else if self.text[self.position - 1] == b'$' {
                Place::Unfit("a $ stands before it")
            } else {
                Place::Double
            };
            if self.token(place, None) {
                continue;
            }
            match *self.rest() {
                [] => return None,
                [b'"', ..] => {
                    self.position += 1;
                    return Some(());
                }
                [b'\\', _, ..] => self.position += if self.is_token_at(1) { 1 } else { 2 },
                [b'$' | b'`', ..] => self.expansion(true)?,
                _ => self.position += 1,
            }
        }
    }

    /// What a `$` or a backtick begins. `quoted` where it stands between double quotes or in a here-document.
    pub(super) fn expansion(&mut self, quoted: bool) -> Option<()> {
        match *self.rest() {
            [b'`', ..] => self.deeper(|scanner| scanner.backquoted(quoted)),
            [b'$', b'(', b'(', ..] => {
                self.position += 3;
                self.arithmetic()
            }
            [b'$', b'(', ..] => {
                self.position += 2;
                self.deeper(|scanner| scanner.commands(Until::Paren, Words::Commands))
            }
            [b'$', b'[', ..] => {
                self.position += 2;
                self.brackets()
            }
            // A reference, not an expansion; whoever called sees the $ before it.
            [b'$', b'{', ..] if self.is_token_at(1) => {
                self.position += 1;
                Some(())
            }
            [b'$', b'{', b' ' | b'\t' | b'\n' | b'|', ..] => self.give_up("${ …; } is in the command"),
            [b'$', b'{', ..] => {
                self.position += 2;
                self.deeper(|scanner| scanner.parameter(quoted))
            }
            _ => {
                self.position += 1;
                Some(())
            }
        }
    }

    /// Inside `${…}`: nothing can be put there, only its end is looked for.
    pub(super) fn parameter(&mut self, quoted: bool) -> Option<()> {
        loop {
            if self.token(Place::Unfit("it is inside ${…}"), None) {
                continue;
            }
            match *self.rest() {
                [] => return None,
                [b'}', ..] => {
                    self.position += 1;
                    return Some(());
                }
                [b'\\', _, ..] => self.position += if self.is_token_at(1) { 1 } else { 2 },
                [b'\'', ..] if quoted => self.give_up("a single quote is inside \"${…}\"")?,
                [b'\'', ..] => self.unfit(Self::single)?,
                [b'"', ..] => self.unfit(|scanner| scanner.double(1))?,
                [b'$', b'\'', ..] if !quoted => self.unfit(Self::ansi_c)?,
                [b'$' | b'`', ..] => self.unfit(|scanner| scanner.expansion(quoted))?,
                _ => self.position += 1,
            }
        }
    }

    /// Reads something in which no reference can be resolved.
    pub(super) fn unfit(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let first = self.found.len();
        read(self)?;
        for located in &mut self.found[first..] {
            located.place = Place::Unfit("it is inside ${…}, an index or an arithmetic expression");
        }
        Some(())
    }

    /// Inside `((…))`, where a value would be calculated with, and could run commands.
    pub(super) fn arithmetic(&mut self) -> Option<()> {
        let mut depth = 2usize;
        while depth > 0 {
            if self.token(Place::Unfit("it is inside an arithmetic expression"), None) {
                continue;
            }
            match *self.rest() {
                [] => return None,
                [b'(', ..] => {
                    depth += 1;
                    self.position += 1;
                }
                [b')', ref after @ ..] => {
                    depth -= 1;
                    self.position += 1;
                    if depth == 1 && after.first() != Some(&b')') {
                        return self.give_up(
                            "((…)) in the command may be arithmetic or not: write a space between the two brackets",
                        );
                    }
                }
                [b'\\', _, ..] => self.position += if self.is_token_at(1) { 1 } else { 2 },
                [b'\'', ..] => self.unfit(Self::single)?,
                [b'"', ..] => self.unfit(|scanner| scanner.double(1))?,
                [b'$' | b'`', ..] => self.unfit(|scanner| scanner.expansion(false))?,
                _ => self.position += 1,
            }
        }
        Some(())
    }

    /// Inside the index of an array, with which bash calculates: only its end is looked for.
    pub(super) fn index(&mut self) -> Option<()> {
        let mut depth = 1usize;
        while depth > 0 {
            if self.token(Place::Unfit("it is an index there, with which bash calculates"), None) {
                continue;
            }
            match *self.rest() {
                [] => return None,
                [b'\\', _, ..] => self.position += if self.is_token_at(1) { 1 } else { 2 },
                [b'\'', ..] => self.unfit(Self::single)?,
                [b'"', ..] => self.unfit(|scanner| scanner.double(1))?,
                [b'$' | b'`', ..] => self.unfit(|scanner| scanner.expansion(false))?,
                [byte, ..] => {
                    depth = if byte == b'[' { depth + 1 } else { depth - usize::from(byte == b']') };
                    self.position += 1;
                }
            }
        }
        Some(())
    }

    pub(super) fn brackets(&mut self) -> Option<()> {
        let mut depth = 1usize;
        while depth > 0 {
            if self.token(Place::Unfit("it is inside an arithmetic expression"), None) {
                continue;
            }
            match *self.rest() {
                [] => return None,
                [b'[', ..] => depth += 1,
                [b']', ..] => depth -= 1,
                [b'\'' | b'"' | b'`' | b'\\', ..] => self.give_up("$[…] with quotes is in the command")?,
                _ => {}
            }
            self.position += 1;
        }
        Some(())
    }

    /// Between backticks, where one layer of backslashes is taken off before the text is read.
    pub(super) fn backquoted(&mut self, quoted: bool) -> Option<()> {
        let start = self.position + 1;
        let mut inner = Vec::new();
        let mut tokens: Vec<Range<usize>> = Vec::new();
        let mut place = start;
        loop {
            let next = self.tokens.get(self.found.len() + tokens.len());
            if let Some(token) = next.filter(|token| token.start == place) {
                tokens.push(inner.len()..inner.len() + token.len());
                inner.extend_from_slice(&self.text[token.clone()]);
                place = token.end;
                continue;
            }
            match *self.text.get(place..self.end)? {
                [] => return None,
                [b'`', ..] => break,
                [b'\\', byte @ (b'$' | b'`' | b'\\'), ..] => {
                    inner.push(byte);
                    place += 2;
                }
                [byte, ..] => {
                    inner.push(byte);
                    place += 1;
                }
            }
        }
        self.position = place + 1;
        let mut located = places(&inner, &tokens);
        for located in &mut located {
            located.backticks += 1;
            if quoted {
                located.place = Place::Unfit("it is between backticks in double quotes: write $(…)");
            }
        }
        self.found.extend(located);
        Some(())
    }
}
