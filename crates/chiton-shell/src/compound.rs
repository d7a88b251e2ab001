//! Compound commands: groups, conditions, loops, functions.

use std::sync::Arc;

use crate::command::plain_word;
use crate::dollar::{Closing, MAYBE_ARITHMETIC};
use crate::lexer::{Failure, Lexer, Parsed, name_length};
use crate::place::{Region, Role};
use crate::tree::{Arm, Command, CommandKind, List, Word};

impl Lexer<'_> {
    /// The compound command that starts here, if one does.
    pub(super) fn compound(&mut self) -> Parsed<Option<CommandKind>> {
        if self.peek() == Some(b'(') {
            return self.parenthesis().map(Some);
        }

        let Some(word) = self.reserved() else { return Ok(None) };
        let start = self.at;
        self.at += word.len();

        let kind = match word {
            b"{" => self.group(start)?,
            b"if" => self.condition_chain()?,
            b"while" => self.conditional_loop(false)?,
            b"until" => self.conditional_loop(true)?,
            b"for" => self.for_loop(false)?,
            b"select" => self.for_loop(true)?,
            b"case" => self.case()?,
            b"[[" => self.double_bracket(start)?,
            b"function" => self.function_after_keyword()?,
            b"coproc" => self.coprocess()?,
            b"in" => {
                self.at = start;
                return Ok(None);
            }
            _ => {
                self.at = start;
                return Err(self.unexpected());
            }
        };

        Ok(Some(kind))
    }

    fn parenthesis(&mut self) -> Parsed<CommandKind> {
        let start = self.at;
        if self.starts_with(b"((") && self.closes_as_arithmetic(2)? {
            self.at += 2;
            let expression = self.arithmetic_text(Closing::Parenthesis)?;
            if !self.take(b"))") {
                return Err(self.close_error(start, "`((`"));
            }
            self.note(start, Region::Role(Role::Arithmetic));
            return Ok(CommandKind::Arithmetic(expression));
        }

        if self.starts_with(b"((") {
            self.places.note_doubt(MAYBE_ARITHMETIC);
        }
        self.at += 1;
        let list = self.body()?;
        if !self.take(b")") {
            return Err(self.close_error(start, "`(`"));
        }
        Ok(CommandKind::Subshell(list))
    }

    /// The error for a construct from `start` that does not end here.
    pub(super) fn close_error(&self, start: usize, what: &'static str) -> crate::SyntaxError {
        if self.is_end() { self.error_from(start, Failure::Unclosed(what)) } else { self.unexpected() }
    }

    fn group(&mut self, start: usize) -> Parsed<CommandKind> {
        let list = self.body()?;
        if self.reserved() != Some(b"}") {
            return Err(self.close_error(start, "`{`"));
        }
        self.at += 1;
        Ok(CommandKind::Group(list))
    }

    fn condition_chain(&mut self) -> Parsed<CommandKind> {
        let mut clauses = Vec::new();
        loop {
            let condition = self.body()?;
            self.expect("then")?;
            clauses.push((condition, self.body()?));
            if self.reserved() != Some(b"elif") {
                break;
            }
            self.at += 4;
        }
        let mut otherwise = None;
        if self.reserved() == Some(b"else") {
            self.at += 4;
            otherwise = Some(self.body()?);
        }
        self.expect("fi")?;
        Ok(CommandKind::If { clauses, otherwise })
    }

    fn conditional_loop(&mut self, until: bool) -> Parsed<CommandKind> {
        let condition = self.body()?;
        Ok(CommandKind::Loop { until, condition, body: self.do_body()? })
    }

    fn do_body(&mut self) -> Parsed<List> {
        self.expect("do")?;
        let body = self.body()?;
        self.expect("done")?;
        Ok(body)
    }

    /// The body of `for`, which may also stand in braces.
    fn for_body(&mut self) -> Parsed<List> {
        self.skip_blanks();
        self.take(b";");
        self.skip_lines()?;
        if self.reserved() != Some(b"{") {
            return self.do_body();
        }
        let start = self.at;
        self.at += 1;
        match self.deeper(|lexer| lexer.group(start))? {
            CommandKind::Group(list) => Ok(list),
            _ => Err(self.unexpected()),
        }
    }

    fn for_loop(&mut self, select: bool) -> Parsed<CommandKind> {
        self.skip_blanks();
        if self.starts_with(b"((") && !select {
            return self.arithmetic_for();
        }

        let length = name_length(&self.source[self.at..]);
        let start = self.at;
        if length > 0 && length == plain_word(self.rest()).len() {
            self.at += length;
        } else if self.at_word() {
            // Bash takes any word here, and complains when it comes to the loop; what follows runs.
            self.word()?;
        } else {
            return Err(self.unexpected());
        }
        let name = String::from_utf8_lossy(&self.source[start..self.at]).into_owned();
        self.skip_blanks();

        // `for x; do`, `for x do` and `for x in …; do`, each with line ends in between.
        let mut words = None;
        if self.peek() != Some(b';') {
            self.skip_lines()?;
            if self.reserved() == Some(b"in") {
                self.at += 2;
                words = Some(self.loop_words()?);
            }
        }

        Ok(CommandKind::For { name, words, body: self.for_body()?, select })
    }

    fn loop_words(&mut self) -> Parsed<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            if self.at_word() {
                let start = self.at;
                words.push(self.word()?);
                self.note(start, Region::Role(Role::Subject));
            } else if matches!(self.peek(), Some(b';' | b'\n')) {
                return Ok(words);
            } else {
                return Err(self.unexpected());
            }
        }
    }

    fn arithmetic_for(&mut self) -> Parsed<CommandKind> {
        let start = self.at;
        if !self.closes_as_arithmetic(2)? {
            return Err(self.error(Failure::Unclosed("`((`")));
        }
        self.at += 2;
        let mut expressions = vec![self.arithmetic_text(Closing::ParenthesisOrSemicolon)?];
        while self.take(b";") {
            expressions.push(self.arithmetic_text(Closing::ParenthesisOrSemicolon)?);
        }
        if expressions.len() != 3 || !self.take(b"))") {
            return Err(self.unexpected());
        }
        self.note(start, Region::Role(Role::Arithmetic));
        Ok(CommandKind::ArithmeticFor { expressions, body: self.for_body()? })
    }

    fn case(&mut self) -> Parsed<CommandKind> {
        self.skip_blanks();
        if !self.at_word() {
            return Err(self.unexpected());
        }

        let start = self.at;
        let subject = self.word()?;
        self.note(start, Region::Role(Role::Subject));
        self.skip_lines()?;
        self.expect("in")?;

        let mut arms = Vec::new();
        loop {
            self.skip_lines()?;
            if self.reserved() == Some(b"esac") {
                self.at += 4;
                return Ok(CommandKind::Case { subject, arms });
            }
            let mut arm = self.arm()?;
            self.skip_lines()?;
            arm.goes_on = self.take(b";;&") || self.take(b";&");
            let is_closed = arm.goes_on || self.take(b";;");
            arms.push(arm);
            if is_closed {
                continue;
            }
            if self.reserved() != Some(b"esac") {
                return Err(self.close_error(start, "`case`"));
            }
        }
    }

    fn arm(&mut self) -> Parsed<Arm> {
        self.take(b"(");
        let mut patterns = Vec::new();
        loop {
            self.skip_blanks();
            if !self.at_word() {
                return Err(self.unexpected());
            }
            let start = self.at;
            patterns.push(self.word()?);
            self.note(start, Region::Role(Role::Subject));
            self.skip_blanks();
            if self.take(b")") {
                break;
            }
            if !self.take(b"|") {
                return Err(self.unexpected());
            }
        }
        Ok(Arm { patterns, body: self.list()?, goes_on: false })
    }

    fn function_after_keyword(&mut self) -> Parsed<CommandKind> {
        self.skip_blanks();
        if !self.at_word() {
            return Err(self.unexpected());
        }
        let start = self.at;
        self.word()?;
        let name = self.source[start..self.at].to_vec();
        self.skip_blanks();
        if self.peek() == Some(b'(') {
            self.at += 1;
            self.skip_blanks();
            if !self.take(b")") {
                return Err(self.unexpected());
            }
        }
        self.function_body(&name)
    }

    /// `name` has been read and `(` stands here.
    pub(super) fn function_after_name(&mut self, start: usize, name: &[u8]) -> Parsed<Command> {
        self.at += 1;
        self.skip_blanks();
        if !self.take(b")") {
            return Err(self.unexpected());
        }
        let kind = self.function_body(name)?;
        Ok(Command { kind, redirections: Vec::new(), span: self.since(start) })
    }

    fn function_body(&mut self, name: &[u8]) -> Parsed<CommandKind> {
        self.skip_lines()?;
        let start = self.at;
        let body = self.deeper(|lexer| {
            let Some(kind) = lexer.compound()? else { return Err(lexer.unexpected()) };
            let redirections = lexer.redirections()?;
            Ok(Command { kind, redirections, span: lexer.since(start) })
        })?;
        let name = String::from_utf8_lossy(name).into_owned();
        Ok(CommandKind::Function { name, body: Arc::new(body) })
    }

    fn coprocess(&mut self) -> Parsed<CommandKind> {
        self.skip_blanks();
        let start = self.at;
        let mut name = "COPROC".to_owned();
        // A name stands before a compound command only. Any word is one for the parser.
        let noted = self.places.noted();
        if self.reserved().is_none() && self.at_word() {
            self.word()?;
            let end = self.at;
            self.skip_blanks();
            let opens =
                |word: &[u8]| matches!(word, b"{" | b"if" | b"while" | b"until" | b"for" | b"case" | b"[[" | b"select");
            if self.peek() == Some(b'(') || self.reserved().is_some_and(opens) {
                name = String::from_utf8_lossy(&self.source[start..end]).into_owned();
            } else {
                self.spend(self.at - start)?;
                self.at = start;
                self.places.forget(noted);
            }
        }
        let command = Box::new(self.deeper(Lexer::command)?);
        Ok(CommandKind::Coprocess { name, command })
    }
}
