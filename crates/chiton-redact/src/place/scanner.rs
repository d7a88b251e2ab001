//! Commands, words and comments: the backbone of the scan.

use std::ops::Range;

use super::simple::{Operand, RESERVED, Simple};
use super::{Heredoc, Located, Place};

/// How deep things may nest.
const MAX_DEPTH: usize = 64;

/// What ends a list of commands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    End,
    Paren,
}

/// What a list of words is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    Commands,
    /// The elements of an array, or an extended pattern: no command begins anywhere in it.
    Plain,
}

/// Where a `case` stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Subject,
    Pattern,
    Body,
}

pub(super) struct Scanner<'a> {
    pub(super) text: &'a [u8],
    pub(super) tokens: &'a [Range<usize>],
    pub(super) found: Vec<Located>,
    pub(super) position: usize,
    /// Where the part ends that is read right now.
    pub(super) end: usize,
    pub(super) depth: usize,
    pub(super) backticks: usize,
    /// Here-documents whose bodies are still to come, on this level and the ones around it.
    pub(super) announced: usize,
    pub(super) lost: Option<&'static str>,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a [u8], tokens: &'a [Range<usize>]) -> Self {
        let end = text.len();
        Self { text, tokens, found: Vec::new(), position: 0, end, depth: 0, backticks: 0, announced: 0, lost: None }
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        &self.text[self.position.min(self.end)..self.end]
    }

    pub(super) fn give_up(&mut self, why: &'static str) -> Option<()> {
        self.lost = self.lost.or(Some(why));
        None
    }

    /// Goes one level deeper.
    pub(super) fn deeper(&mut self, inner: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        if self.depth == MAX_DEPTH {
            return self.give_up("the command nests too deep");
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Steps over a reference that begins here.
    pub(super) fn token(&mut self, place: Place, code_of: Option<String>) -> bool {
        let Some(token) = self.tokens.get(self.found.len()).filter(|token| token.start == self.position) else {
            return false;
        };
        self.position = token.end;
        self.found.push(Located { place, backticks: self.backticks, code_of, declared: false });
        true
    }

    /// Commands, up to the end or the closing parenthesis, which is read too.
    pub(super) fn commands(&mut self, until: Until, kind: Words) -> Option<()> {
        let mut simple = Simple::default();
        let mut heredocs: Vec<(Heredoc, Option<String>)> = Vec::new();
        let mut cases: Vec<Case> = Vec::new();
        loop {
            let in_pattern = cases.last() == Some(&Case::Pattern);
            simple.nameless = in_pattern || kind == Words::Plain;
            simple.listed = kind == Words::Plain;
            if self.tokens.get(self.found.len()).is_some_and(|token| token.start == self.position) {
                self.bare_token(&mut simple);
                continue;
            }
            let rest = self.rest();
            match *rest {
                [] => {
                    Self::end_word(&mut simple, &mut cases);
                    let complete = until == Until::End && heredocs.is_empty() && cases.is_empty() && !simple.condition;
                    return complete.then_some(());
                }
                [b')', ..] => {
                    Self::end_word(&mut simple, &mut cases);
                    self.position += 1;
                    if in_pattern {
                        cases.pop();
                        cases.push(Case::Body);
                        simple = Simple::default();
                    } else if until == Until::Paren && cases.is_empty() {
                        return if heredocs.is_empty() { Some(()) } else { self.give_up(HEREDOC) };
                    } else {
                        return None;
                    }
                }
                [b' ' | b'\t', ..] => {
                    Self::end_word(&mut simple, &mut cases);
                    self.position += 1;
                }
                [b'\n', ..] => {
                    Self::end_word(&mut simple, &mut cases);
                    self.position += 1;
                    if self.announced > heredocs.len() {
                        return self.give_up(HEREDOC);
                    }
                    self.bodies(&mut heredocs)?;
                    Self::separate(&mut simple, kind);
                }
                [b'#', ..] if !simple.in_word => self.comment(),
                [b';', b';' | b'&', ..] if cases.last() == Some(&Case::Body) => {
                    Self::end_word(&mut simple, &mut cases);
                    self.position += if rest.starts_with(b";;&") { 3 } else { 2 };
                    cases.pop();
                    cases.push(Case::Pattern);
                    simple = Simple::default();
                }
                [b'&', b'>', ..] => {
                    Self::end_word(&mut simple, &mut cases);
                    self.position += if rest.starts_with(b"&>>") { 3 } else { 2 };
                    simple.operand = Some(Operand::File);
                }
                [b';' | b'&' | b'|', ..] => {
                    Self::end_word(&mut simple, &mut cases);
                    self.position += 1;
                    if !in_pattern {
                        Self::separate(&mut simple, kind);
                    }
                }
                [b'<' | b'>', ..] => self.redirection(&mut simple, &mut heredocs, &mut cases)?,
                [b'(', ..] => self.parenthesis(&mut simple, in_pattern)?,
                _ => self.word_part(&mut simple)?,
            }
        }
    }

    /// What follows is another command.
    pub(super) fn separate(simple: &mut Simple, kind: Words) {
        if !simple.condition && kind == Words::Commands {
            *simple = Simple::default();
        }
    }

    pub(super) fn bare_token(&mut self, simple: &mut Simple) {
        let escaped = self.position > 0 && self.is_escaped();
        let expands = self.position > 0 && self.text[self.position - 1] == b'$' && !simple.word.is_empty();
        simple.begin_word();
        let place = if escaped {
            Place::Unfit("a backslash stands before it")
        } else if expands {
            Place::Unfit("a $ stands before it")
        } else {
            simple.objection().map_or(Place::Word, Place::Unfit)
        };
        let code_of = self.code_of(simple);
        if self.token(place, code_of)
            && let Some(located) = self.found.last_mut()
        {
            located.declared = simple.declares();
        }
        simple.word.push(b'x');
        simple.bare = false;
    }

    /// Whether an odd number of backslashes stands before this position.
    pub(super) fn is_escaped(&self) -> bool {
        self.text[..self.position].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
    }

    pub(super) fn end_word(simple: &mut Simple, cases: &mut Vec<Case>) {
        if !std::mem::take(&mut simple.in_word) {
            return;
        }
        if simple.operand.take().is_some() {
            return;
        }
        let word = std::mem::take(&mut simple.word);
        let (bare, at_command) = (simple.bare, simple.words.is_empty());
        match cases.last() {
            Some(Case::Subject) if bare && word == b"in" && simple.words.len() >= 2 => {
                cases.pop();
                cases.push(Case::Pattern);
                *simple = Simple::default();
                return;
            }
            Some(Case::Pattern | Case::Body) if bare && at_command && word == b"esac" => {
                cases.pop();
                *simple = Simple::default();
                simple.words.push(word);
                return;
            }
            Some(Case::Pattern) => return,
            _ => {}
        }
        if at_command && bare && RESERVED.contains(&&word[..]) {
            return;
        }
        if at_command && bare && word == b"case" {
            cases.push(Case::Subject);
        }
        if bare && word == b"[[" && at_command {
            simple.condition = true;
        } else if bare && word == b"]]" {
            simple.condition = false;
        }
        simple.word = word;
        let assignment = at_command && simple.is_assignment();
        if !assignment {
            simple.words.push(std::mem::take(&mut simple.word));
        }
        // After the name of a function comes its body.
        if simple.words.len() == 2 && simple.words[0] == b"function" {
            *simple = Simple::default();
        }
    }

    pub(super) fn comment(&mut self) {
        while self.position < self.end && self.text[self.position] != b'\n' {
            if !self.token(Place::Comment, None) {
                self.position += 1;
            }
        }
    }

    pub(super) fn is_token_at(&self, ahead: usize) -> bool {
        self.tokens.get(self.found.len()).is_some_and(|token| token.start == self.position + ahead)
    }

    pub(super) fn parenthesis(&mut self, simple: &mut Simple, in_pattern: bool) -> Option<()> {
        let rest = self.rest();
        if in_pattern && !simple.in_word {
            self.position += 1;
            return Some(());
        }
        if simple.in_word {
            let last = self.text[self.position - 1];
            // Bash takes an array in an array for an error, and goes on with the next line.
            let is_array = simple.bare && simple.is_assignment() && last == b'=' && !simple.nameless;
            let is_pattern = b"?*+@!".contains(&last) || simple.condition;
            if is_array || is_pattern {
                self.position += 1;
                simple.bare = false;
                return self.deeper(|scanner| scanner.commands(Until::Paren, Words::Plain));
            }
        }
        // `name()` and `name ()`: a function, whose body follows.
        let blanks = rest[1..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let named = simple.in_word || !simple.words.is_empty();
        if named && rest.get(1 + blanks) == Some(&b')') && !simple.condition {
            self.position += blanks + 2;
            *simple = Simple::default();
            return Some(());
        }
        if simple.condition {
            self.position += 1;
            return self.deeper(|scanner| scanner.commands(Until::Paren, Words::Plain));
        }
        if rest.starts_with(b"((") {
            self.position += 2;
            simple.begin_word();
            simple.bare = false;
            return self.arithmetic();
        }
        if named && simple.words.first().is_none_or(|word| word != b"function") {
            return None;
        }
        self.position += 1;
        simple.words.push(b"(".to_vec());
        self.deeper(|scanner| scanner.commands(Until::Paren, Words::Commands))
    }

    /// One character or one quoted or expanded part of a word.
    pub(super) fn word_part(&mut self, simple: &mut Simple) -> Option<()> {
        match *self.rest() {
            [b'\\', b'\n', ..] => {
                self.position += 2;
                return Some(());
            }
            [b'\\', byte, ..] => {
                simple.begin_word();
                simple.word.push(byte);
                simple.bare = false;
                self.position += if self.is_token_at(1) { 1 } else { 2 };
                return Some(());
            }
            [b'\'' | b'"' | b'$' | b'`', ..] => {}
            [b'[', ..] if simple.takes_index() => {
                simple.begin_word();
                simple.word.extend_from_slice(b"[]");
                self.position += 1;
                return self.index();
            }
            [byte, ..] => {
                simple.begin_word();
                simple.word.push(byte);
                self.position += 1;
                return Some(());
            }
            [] => return None,
        }
        simple.begin_word();
        let code = self.code_of(simple);
        let (objection, declares) = (simple.objection(), simple.declares());
        let start = self.position;
        let first = self.found.len();
        match *self.rest() {
            [b'\'', ..] => self.single()?,
            [b'"', ..] => self.double(1)?,
            [b'$', b'\'', ..] => self.ansi_c()?,
            [b'$', b'"', ..] => self.double(2)?,
            _ => self.expansion(false)?,
        }
        let quoted = matches!(self.text[start], b'\'' | b'"') || matches!(self.text.get(start + 1), Some(b'\'' | b'"'));
        if quoted {
            for located in &mut self.found[first..] {
                if matches!(located.place, Place::Single | Place::Double | Place::AnsiC) {
                    located.code_of = located.code_of.take().or_else(|| code.clone());
                    located.declared |= declares;
                    if let Some(why) = objection {
                        located.place = Place::Unfit(why);
                    }
                }
            }
        }
        simple.bare = false;
        let plain = &self.text[start..self.position];
        simple.word.extend(plain.iter().filter(|byte| !matches!(byte, b'\'' | b'"')));
        Some(())
    }
}

pub(super) const HEREDOC: &str = "a here-document begins on the line on which its substitution ends";
