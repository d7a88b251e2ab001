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
    /// After `[[`: words up to `]]`, with the operators between them checked as far as they matter.
    pub(super) fn double_bracket(&mut self, start: usize) -> Parsed<CommandKind> {
        let mut words: Vec<Word> = Vec::new();
        let mut open = 0_usize;
        let mut wants_operand = true;
        loop {
            self.skip_lines()?;
            if self.is_end() {
                return Err(self.error_from(start, Failure::Unclosed("`[[`")));
            }
            if self.reserved() == Some(b"]]") && !words.is_empty() {
                if open > 0 || wants_operand {
                    return Err(self.unexpected());
                }
                self.at += 2;
                return Ok(CommandKind::Condition(words));
            }

            let matches_regex = words.last().and_then(Word::as_plain) == Some("=~");
            if matches_regex {
                let word_start = self.at;
                let word = self.regex_word()?;
                if word.parts.is_empty() {
                    return Err(self.unexpected());
                }
                self.note(word_start, Region::Role(Role::Subject));
                words.push(word);
                wants_operand = false;
            } else if self.take(b"&&") || self.take(b"||") {
                if wants_operand {
                    return Err(self.error(Failure::Missing("an operand")));
                }
                wants_operand = true;
            } else if self.peek() == Some(b'(') {
                self.at += 1;
                open += 1;
                wants_operand = true;
            } else if self.peek() == Some(b')') && open > 0 {
                self.at += 1;
                open -= 1;
            } else if matches!(self.peek(), Some(b'<' | b'>')) && self.peek_at(1) != Some(b'(') {
                self.at += 1;
                wants_operand = true;
            } else if self.at_word() {
                let word_start = self.at;
                let word = self.word()?;
                let plain = word.as_plain().unwrap_or_default();
                // After an operand, a word can only be an operator between two.
                let operator = is_between(plain);
                if !wants_operand && !operator {
                    return Err(self.error_from(word_start, Failure::Missing("an operator between two operands")));
                }
                self.note(word_start, Region::Role(Role::Subject));
                wants_operand = if wants_operand { plain == "!" || is_before(plain) } else { operator };
                words.push(word);
            } else {
                return Err(self.unexpected());
            }
        }
    }
}
