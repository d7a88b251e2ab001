//! Lists, pipelines, simple commands and redirections.

use crate::builtins::{BuiltinEffect, KEYWORDS, builtin};
use crate::lexer::{Failure, HERE_AROUND_SUBSTITUTION, Lexer, Parsed, is_metacharacter, name_length};
use crate::matched::Pair;
use crate::place::{Region, Role};
use crate::tree::{
    AssignedValue, Assignment, Command, CommandKind, Connector, Descriptor, Item, List, Operator, Part, Pipeline,
    Redirection, Simple, Target, Word,
};
use crate::word::{Parts, TWO_ENDS};

/// What a pipe takes.
#[derive(Clone, Copy)]
enum Piped {
    /// `|`.
    Output,
    /// `|&`.
    OutputAndErrors,
}

/// Words that end a list where a command could begin.
const CLOSERS: [&[u8]; 8] = [b"then", b"else", b"elif", b"fi", b"do", b"done", b"esac", b"}"];

impl Lexer<'_> {
    /// Commands up to something that only a surrounding construct can take.
    pub(super) fn list(&mut self) -> Parsed<List> {
        self.deeper(|lexer| {
            let mut list = List::default();
            loop {
                lexer.skip_lines()?;
                if lexer.is_list_end() {
                    return Ok(list);
                }
                list.items.push(lexer.item()?);
                lexer.skip_blanks();
                match lexer.peek() {
                    Some(b';') if lexer.peek_at(1) == Some(b';') || lexer.peek_at(1) == Some(b'&') => {
                        return Ok(list);
                    }
                    Some(b';') => lexer.at += 1,
                    Some(b'&') => {
                        lexer.at += 1;
                        if let Some(last) = list.items.last_mut() {
                            last.background = true;
                        }
                    }
                    Some(b'\n') => {}
                    _ => return Ok(list),
                }
            }
        })
    }

    /// A list that must not be empty.
    pub(super) fn body(&mut self) -> Parsed<List> {
        let list = self.list()?;
        if list.items.is_empty() { Err(self.unexpected()) } else { Ok(list) }
    }

    fn is_list_end(&self) -> bool {
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => matches!(self.peek_at(1), Some(b';' | b'&')),
            _ => self.reserved().is_some_and(|word| CLOSERS.contains(&word)),
        }
    }

    fn item(&mut self) -> Parsed<Item> {
        let mut item = Item { first: self.pipeline()?, rest: Vec::new(), background: false };
        loop {
            self.skip_blanks();
            let connector = if self.take(b"&&") {
                Connector::And
            } else if self.take(b"||") {
                Connector::Or
            } else {
                return Ok(item);
            };
            self.skip_lines()?;
            item.rest.push((connector, self.pipeline()?));
        }
    }

    fn pipeline(&mut self) -> Parsed<Pipeline> {
        let start = self.at;
        let (mut negated, mut prefixed) = (false, false);
        loop {
            match self.reserved() {
                Some(b"!") => {
                    self.at += 1;
                    negated = !negated;
                }
                Some(b"time") => {
                    self.at += 4;
                    self.skip_blanks();
                    for option in [b"-p".as_slice(), b"--"] {
                        if plain_word(self.rest()) == option {
                            self.at += option.len();
                            self.skip_blanks();
                        }
                    }
                }
                _ => break,
            }
            prefixed = true;
            self.skip_blanks();
        }

        let mut stages = Vec::new();
        let nothing = matches!(self.peek(), None | Some(b'\n' | b';' | b')'));
        if !(prefixed && nothing) {
            stages.push(self.command()?);
            while let Some(piped) = self.take_pipe() {
                if let (Piped::OutputAndErrors, Some(stage)) = (piped, stages.last_mut()) {
                    stage.redirections.push(self.errors_to_output());
                }
                self.skip_lines()?;
                stages.push(self.command()?);
            }
        }

        Ok(Pipeline { negated, stages, span: self.since(start) })
    }

    fn take_pipe(&mut self) -> Option<Piped> {
        self.skip_blanks();
        if self.peek() != Some(b'|') || self.peek_at(1) == Some(b'|') {
            return None;
        }
        self.at += 1;
        Some(if self.take(b"&") { Piped::OutputAndErrors } else { Piped::Output })
    }

    /// `|&` is short for `2>&1 |`.
    fn errors_to_output(&self) -> Redirection {
        let span = self.since(self.at.saturating_sub(2));
        let target = Word { parts: vec![Part::Literal("1".to_owned())], span };
        let descriptor = Some(Descriptor::Number(2));
        Redirection { descriptor, operator: Operator::DuplicateOutput, target: Target::Word(target), span }
    }

    /// The reserved word that stands here.
    pub(super) fn reserved(&self) -> Option<&'static [u8]> {
        let first = self.peek()?;
        if !first.is_ascii_lowercase() && !matches!(first, b'{' | b'}' | b'!' | b'[' | b']') {
            return None;
        }
        let word = plain_word(self.rest());
        KEYWORDS.into_iter().map(str::as_bytes).find(|reserved| *reserved == word)
    }

    /// Goes past the reserved word, which must stand here.
    pub(super) fn expect(&mut self, word: &'static str) -> Parsed<()> {
        if self.reserved() == Some(word.as_bytes()) {
            self.at += word.len();
            return Ok(());
        }
        if self.is_end() { Err(self.error(Failure::Missing(named(word)))) } else { Err(self.unexpected()) }
    }

    pub(super) fn command(&mut self) -> Parsed<Command> {
        self.skip_blanks();
        let start = self.at;
        if let Some(kind) = self.compound()? {
            let redirections = if matches!(kind, CommandKind::Function { .. } | CommandKind::Coprocess { .. }) {
                Vec::new()
            } else {
                self.redirections()?
            };
            return Ok(Command { kind, redirections, span: self.since(start) });
        }
        self.simple(start)
    }

    fn simple(&mut self, start: usize) -> Parsed<Command> {
        let mut simple = Simple::default();
        let mut redirections = Vec::new();
        let mut end = self.at;
        loop {
            self.skip_blanks();
            if let Some(redirection) = self.redirection()? {
                redirections.push(redirection);
                end = self.at;
                continue;
            }
            let word_start = self.at;
            let leading = if simple.words.is_empty() { self.leading()? } else { None };
            if let Some(Leading::Assignment(assignment)) = leading {
                simple.assignments.push(assignment);
            } else if leading.is_some() || self.at_word() {
                let role = if simple.words.is_empty() { Role::CommandName } else { Role::Argument };
                let word = if let Some(Leading::Word(word)) = leading {
                    word
                } else {
                    let (word, declared) = self.argument(&simple)?;
                    simple.declared.extend(declared.map(|declared| (simple.words.len(), declared)));
                    word
                };
                simple.words.push(word);
                self.note(word_start, Region::Role(role));
                end = self.at;
                if simple.words.len() == 1 && simple.assignments.is_empty() && redirections.is_empty() {
                    self.skip_blanks();
                    if self.peek() == Some(b'(') {
                        let name = self.source[start..end].to_vec();
                        return self.function_after_name(start, &name);
                    }
                }
                continue;
            } else {
                break;
            }
            end = self.at;
        }

        if simple.words.is_empty() && simple.assignments.is_empty() && redirections.is_empty() {
            return Err(self.unexpected());
        }
        let span = self.positions.span(start, end);
        Ok(Command { kind: CommandKind::Simple(simple), redirections, span })
    }

    /// Whether a word stands here: also where `<(` or `>(` opens one.
    pub(super) fn at_word(&self) -> bool {
        match self.peek() {
            None => false,
            Some(b'<' | b'>') => self.peek_at(1) == Some(b'('),
            Some(byte) => !is_metacharacter(byte),
        }
    }

    /// `name=value` or `name[…`, if one of them stands here.
    fn leading(&mut self) -> Parsed<Option<Leading>> {
        let start = self.at;
        let rest = &self.source[start..];
        let length = name_length(rest);
        if length == 0 || !matches!(rest.get(length), Some(b'=' | b'+' | b'[')) {
            return Ok(None);
        }

        let name = String::from_utf8_lossy(&rest[..length]).into_owned();
        let noted = self.places.noted();
        self.at += length;
        let bracket = self.at;
        let mut index = None;
        if self.peek() == Some(b'[') {
            index = self.subscript()?;
            if index.is_none() {
                // For bash the word goes on up to the bracket that closes, over blanks and line ends.
                return Err(self.error(Failure::Unclosed("`[`")));
            }
            if self.pair_end(bracket + 1, b'[', b']', Pair::Subscript, 0) != Some(self.at) {
                self.uncertain(start, TWO_ENDS);
            }
        }

        let append = self.starts_with(b"+=");
        if !append && self.peek() != Some(b'=') {
            let Some(index) = index else {
                self.at = start;
                self.places.forget(noted);
                return Ok(None);
            };
            self.places.note_doubt("a `[` after a name opens a subscript that nothing is assigned to");
            let mut parts = Parts::default();
            name.bytes().chain([b'[']).for_each(|byte| parts.byte(byte));
            index.parts.into_iter().for_each(|part| parts.push(part));
            parts.byte(b']');
            return self.word_from(start, parts, &is_metacharacter).map(|word| Some(Leading::Word(word)));
        }

        self.at += 1 + usize::from(append);
        self.note(start, Region::Role(Role::AssignmentName));

        let value_start = self.at;
        let value = if self.peek() == Some(b'(') { self.array_value()? } else { AssignedValue::Scalar(self.word()?) };
        self.note(value_start, Region::Role(Role::AssignmentValue));
        Ok(Some(Leading::Assignment(Assignment { name, index, append, value, span: self.since(start) })))
    }

    /// `( … )` after `name=`. Where more text follows the parenthesis that closes it, bash makes one text of it all.
    fn array_value(&mut self) -> Parsed<AssignedValue> {
        let start = self.at;
        let elements = self.array()?;
        // For bash that is still the same word, even if it begins with `#`.
        if !self.at_word() {
            return Ok(AssignedValue::Array(elements));
        }
        self.places.note_doubt("text follows the parenthesis that closes an array");
        let mut parts = Parts::default();
        spell_out(elements, &mut parts);
        self.word_from(start, parts, &is_metacharacter).map(AssignedValue::Scalar)
    }

    /// `( … )` after `name=`.
    fn array(&mut self) -> Parsed<Vec<(Option<Word>, Word)>> {
        let open = self.at;
        let waits = self.pending_outside || !self.pending.is_empty();
        self.at += 1;
        let mut elements = Vec::new();
        loop {
            self.skip_lines()?;
            match self.peek() {
                None => return Err(self.error_from(open, Failure::Unclosed("`(`"))),
                Some(b')') => {
                    self.at += 1;
                    if waits && self.source[open..self.at].contains(&b'\n') {
                        self.uncertain(open, HERE_AROUND_SUBSTITUTION);
                    }
                    return Ok(elements);
                }
                Some(b'[') => elements.push(self.indexed_element()?),
                Some(_) if self.at_word() => elements.push((None, self.word()?)),
                Some(_) => return Err(self.unexpected()),
            }
        }
    }

    /// An element of an array that begins with a bracket.
    fn indexed_element(&mut self) -> Parsed<(Option<Word>, Word)> {
        let start = self.at;
        let Some(index) = self.subscript()? else {
            return Err(self.error(Failure::Unclosed("`[`")));
        };
        if self.pair_end(start + 1, b'[', b']', Pair::Subscript, 0) != Some(self.at) {
            self.uncertain(start, TWO_ENDS);
        }
        if self.take(b"=") || self.take(b"+=") {
            return Ok((Some(index), self.word()?));
        }
        self.places.note_doubt("a `[` in an array opens a subscript that nothing is assigned to");
        let mut parts = Parts::default();
        parts.byte(b'[');
        index.parts.into_iter().for_each(|part| parts.push(part));
        parts.byte(b']');
        Ok((None, self.word_from(start, parts, &is_metacharacter)?))
    }

    /// A word after the first; where the command takes them, `name=(…)` is one.
    fn argument(&mut self, simple: &Simple) -> Parsed<(Word, Option<Assignment>)> {
        let start = self.at;
        let mut word = self.word()?;
        let text = &self.source[start..self.at];
        if self.peek() != Some(b'(') || !text.ends_with(b"=") || name_length(text) == 0 {
            return Ok((word, None));
        }
        let builtin = simple.words.first().and_then(Word::as_plain).and_then(builtin);
        let Some(builtin) = builtin.filter(|builtin| builtin.takes_arrays) else { return Ok((word, None)) };

        let name = String::from_utf8_lossy(&text[..name_length(text)]).into_owned();
        let append = text.ends_with(b"+=");
        let elements = self.array()?;
        let mut parts = Parts::default();
        word.parts.drain(..).for_each(|part| parts.push(part));
        spell_out(elements.clone(), &mut parts);
        let is_array = builtin.effect == BuiltinEffect::Declares && !self.at_word();
        let word = self.word_from(start, parts, &is_metacharacter)?;
        let span = word.span;
        let declared = || Assignment { name, index: None, append, value: AssignedValue::Array(elements), span };
        Ok((word, is_array.then(declared)))
    }

    pub(super) fn redirections(&mut self) -> Parsed<Vec<Redirection>> {
        let mut redirections = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirection()? {
                Some(redirection) => redirections.push(redirection),
                None => return Ok(redirections),
            }
        }
    }

    fn redirection(&mut self) -> Parsed<Option<Redirection>> {
        let start = self.at;
        let (descriptor, length) = descriptor_at(self.rest());
        self.at += length;
        let Some(operator) = self.operator(length > 0) else {
            self.at = start;
            return Ok(None);
        };

        self.skip_blanks();
        let target = if operator == Operator::HereDocument {
            self.here_announcement(start)?
        } else {
            // `> 2>&1`: the digits belong to the next redirection, so this one has no target.
            if !self.at_word() || descriptor_at(self.rest()).0.is_some() {
                return Err(self.unexpected());
            }
            let word_start = self.at;
            let duplicates = matches!(operator, Operator::DuplicateInput | Operator::DuplicateOutput);
            let word = if duplicates && self.take(b"-") {
                // The dash stands alone, whatever follows it: `>&-#` ends in a comment.
                self.fresh_at = self.at;
                Word { parts: vec![Part::Literal("-".to_owned())], span: self.since(word_start) }
            } else {
                self.word()?
            };
            let role = if operator == Operator::HereString { Role::HereString } else { Role::RedirectionTarget };
            self.note(word_start, Region::Role(role));
            Target::Word(word)
        };

        Ok(Some(Redirection { descriptor, operator, target, span: self.since(start) }))
    }

    fn operator(&mut self, with_descriptor: bool) -> Option<Operator> {
        // Longest first.
        const OPERATORS: [(&[u8], Operator); 11] = [
            (b"&>>", Operator::AppendBoth),
            (b"<<<", Operator::HereString),
            (b"&>", Operator::WriteBoth),
            (b"<<", Operator::HereDocument),
            (b"<&", Operator::DuplicateInput),
            (b"<>", Operator::ReadWrite),
            (b">>", Operator::Append),
            (b">&", Operator::DuplicateOutput),
            (b">|", Operator::Clobber),
            (b"<", Operator::Read),
            (b">", Operator::Write),
        ];

        if !matches!(self.peek(), Some(b'<' | b'>' | b'&')) {
            return None;
        }
        let (text, operator) = OPERATORS.into_iter().find(|(text, _)| self.starts_with(text))?;
        let opens_process = matches!(operator, Operator::Read | Operator::Write) && self.peek_at(1) == Some(b'(');
        if opens_process && !with_descriptor {
            return None;
        }

        self.at += text.len();
        Some(operator)
    }
}

/// What may stand before the first word of a command.
enum Leading {
    Assignment(Assignment),
    /// `name[…]`, to which nothing is assigned: the first word itself.
    Word(Word),
}

/// Writes an array as the text it was, with its parentheses.
fn spell_out(elements: Vec<(Option<Word>, Word)>, parts: &mut Parts) {
    parts.byte(b'(');
    for (at, (index, element)) in elements.into_iter().enumerate() {
        if at > 0 {
            parts.byte(b' ');
        }
        if let Some(index) = index {
            parts.byte(b'[');
            index.parts.into_iter().for_each(|part| parts.push(part));
            parts.byte(b']');
            parts.byte(b'=');
        }
        element.parts.into_iter().for_each(|part| parts.push(part));
    }
    parts.byte(b')');
}

fn named(word: &'static str) -> &'static str {
    match word {
        "then" => "`then`",
        "fi" => "`fi`",
        "do" => "`do`",
        "done" => "`done`",
        "esac" => "`esac`",
        "in" => "`in`",
        "}" => "`}`",
        _ => "a reserved word",
    }
}

/// The descriptor that stands before an operator, and how long it is.
fn descriptor_at(rest: &[u8]) -> (Option<Descriptor>, usize) {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let follows = |length: usize| matches!(rest.get(length), Some(b'<' | b'>'));
    if digits > 0 && follows(digits) {
        let number = String::from_utf8_lossy(&rest[..digits]).parse().unwrap_or(u32::MAX);
        return (Some(Descriptor::Number(number)), digits);
    }
    if rest.first() == Some(&b'{') {
        let length = name_length(&rest[1..]);
        if length > 0 && rest.get(length + 1) == Some(&b'}') && follows(length + 2) {
            let name = String::from_utf8_lossy(&rest[1..=length]).into_owned();
            return (Some(Descriptor::Variable(name)), length + 2);
        }
    }
    (None, 0)
}

/// The bytes of the word at the start of `rest`, as they are.
pub(super) fn plain_word(rest: &[u8]) -> &[u8] {
    &rest[..rest.iter().position(|byte| is_metacharacter(*byte)).unwrap_or(rest.len())]
}
