//! `[[ … ]]`.

use crate::lexer::{Failure, Lexer, Parsed};
use crate::place::{Region, Role};
use crate::tree::{CommandKind, Word};

/// Whether it is an operator with one operand, which follows.
fn is_before(word: &str) -> bool {
    word.len() == 2 && word.starts_with('-') && b"abcdefghkLnNoOpGrRsStuvwxz".contains(&word.as_bytes()[1])
}

/// Whether it is an operator between two operands.
fn is_between(word: &str) -> bool {
    matches!(word, "=~" | "==" | "=" | "!=" | "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-nt" | "-ot" | "-ef")
}

impl Lexer<'_> {
    /// After `[[`: an expression up to `]]`.
    pub(super) fn double_bracket(&mut self, start: usize) -> Parsed<CommandKind> {
        let mut words = Vec::new();
        self.alternatives(start, &mut words)?;
        self.skip_lines()?;
        if self.reserved() != Some(b"]]") {
            return Err(self.close_error(start, "`[[`"));
        }
        self.at += 2;
        Ok(CommandKind::Condition(words))
    }

    /// Terms joined by `&&` and `||`. Their words are added in order, operators among them.
    fn alternatives(&mut self, start: usize, words: &mut Vec<Word>) -> Parsed<()> {
        loop {
            self.term(start, words)?;
            self.skip_lines()?;
            if !(self.take(b"&&") || self.take(b"||")) {
                return Ok(());
            }
        }
    }

    fn term(&mut self, start: usize, words: &mut Vec<Word>) -> Parsed<()> {
        self.skip_lines()?;
        if self.is_end() {
            return Err(self.error_from(start, Failure::Unclosed("`[[`")));
        }
        if self.peek() == Some(b'(') {
            let open = self.at;
            self.at += 1;
            self.deeper(|lexer| lexer.alternatives(start, words))?;
            self.skip_lines()?;
            return if self.take(b")") { Ok(()) } else { Err(self.close_error(open, "`(`")) };
        }

        if self.reserved() == Some(b"]]") {
            return Err(self.unexpected());
        }
        let first = self.operand()?;
        let plain = first.as_plain().unwrap_or_default().to_owned();
        words.push(first);
        if plain == "!" {
            return self.deeper(|lexer| lexer.term(start, words));
        }
        if is_before(&plain) {
            words.push(self.operand()?);
            return Ok(());
        }

        self.skip_blanks();
        if matches!(self.peek(), Some(b'<' | b'>')) && self.peek_at(1) != Some(b'(') {
            self.at += 1;
            words.push(self.operand()?);
            return Ok(());
        }
        if !self.at_word() || self.reserved() == Some(b"]]") {
            return Ok(());
        }
        let operator_start = self.at;
        let operator = self.operand()?;
        let plain = operator.as_plain().unwrap_or_default().to_owned();
        if !is_between(&plain) {
            return Err(self.error_from(operator_start, Failure::Missing("an operator between two operands")));
        }
        words.push(operator);
        let operand = if plain == "=~" { self.regex()? } else { self.operand()? };
        words.push(operand);
        Ok(())
    }

    fn operand(&mut self) -> Parsed<Word> {
        self.skip_blanks();
        if !self.at_word() {
            return Err(self.unexpected());
        }
        let start = self.at;
        let word = self.word()?;
        self.note(start, Region::Role(Role::Subject));
        Ok(word)
    }

    fn regex(&mut self) -> Parsed<Word> {
        self.skip_blanks();
        let start = self.at;
        let word = self.regex_word()?;
        if word.parts.is_empty() {
            return Err(self.unexpected());
        }
        self.note(start, Region::Role(Role::Subject));
        Ok(word)
    }
}
