//! `[[ … ]]`.

use super::place::{Region, Role};
use super::reader::{Failure, Parsed, Reader};
use super::tree::{CommandKind, Word};

impl Reader<'_> {
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
                self.note(word_start, Region::Role(Role::Subject));
                wants_operand = word.as_plain().is_some_and(|text| matches!(text, "=~" | "==" | "=" | "!=" | "!"));
                words.push(word);
            } else {
                return Err(self.unexpected());
            }
        }
    }
}
