//! Goes through the tokens of code: assignments are remembered, calls are handed to their rows.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use chiton_shell::tree::Span;

use super::calls;
use super::effects;
use super::lexer::Token;
use super::values::Code;
use super::{Language, run_code};
use crate::machine::Machine;
use crate::machine::state::World;
use crate::value::{Arg, Flow, Text};

/// Goes through code that stands at `span` of the command.
pub(super) fn scan(
    machine: &mut Machine<'_>,
    tokens: &[Token],
    language: Language,
    world: &World,
    input: &Rc<Flow>,
    span: Span,
) {
    let home = machine.context.home.to_string_lossy().into_owned();
    let code = Code { tokens, variables: BTreeMap::new(), home, cwd: world.cwd.as_deref() };
    let mut scan = Scan { machine, code, language, world, span, input };

    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Shell(text) => scan.run_text(text),
            Token::Name(name) => scan.at_name(at, name),
            Token::Text(_) | Token::Number(_) | Token::Sign(_) => {}
        }
    }
}

/// Code that is being gone through.
pub(super) struct Scan<'s, 'm> {
    pub(super) machine: &'s mut Machine<'m>,
    pub(super) code: Code<'s>,
    pub(super) language: Language,
    pub(super) world: &'s World,
    pub(super) span: Span,
    input: &'s Rc<Flow>,
}

/// A call in code.
pub(super) struct CodeCall<'c> {
    /// Its whole name.
    pub(super) name: &'c str,
    /// Where its arguments stand.
    pub(super) arguments: &'c [Range<usize>],
    /// What its arguments say.
    pub(super) texts: Vec<Text>,
}

impl Scan<'_, '_> {
    fn at_name(&mut self, at: usize, name: &str) {
        let needs_parentheses = matches!(self.language, Language::Python | Language::JavaScript);
        let takes_names = matches!(self.language, Language::Perl | Language::Ruby | Language::Tcl);
        match self.code.tokens.get(at + 1) {
            Some(Token::Sign('=')) if !matches!(self.code.tokens.get(at + 2), Some(Token::Sign('=' | '>' | '~'))) => {
                let end = self.code.statement_end(at + 2);
                if let Some(value) = self.code.value(at + 2..end) {
                    self.code.variables.insert(name.trim_start_matches('$').to_owned(), value);
                }
            }
            Some(Token::Sign('(')) => {
                let (arguments, _) = self.code.arguments(at + 2);
                self.call(at, name, &arguments);
            }
            // `system "…"` and `rm_rf '…'` do without parentheses.
            Some(Token::Text(_) | Token::Number(_) | Token::Sign('-')) if !needs_parentheses => {
                self.call_without_parentheses(at, name);
            }
            Some(Token::Name(_) | Token::Sign('[')) if takes_names => self.call_without_parentheses(at, name),
            _ => {}
        }
    }

    fn call_without_parentheses(&mut self, at: usize, name: &str) {
        let end = self.code.statement_end(at + 1);
        let arguments = self.code.split(at + 1..end);
        self.call(at, name, &arguments);
    }

    fn call(&mut self, at: usize, name: &str, arguments: &[Range<usize>]) {
        let texts =
            |scan: &Self| -> Vec<Text> { arguments.iter().map(|argument| scan.code.text(argument.clone())).collect() };

        // The `sh` module of Python: each of its functions is a program.
        if let Some(program) = name.strip_prefix("sh.").filter(|_| self.language == Language::Python) {
            let mut words = vec![Text::known(program)];
            words.append(&mut texts(self));
            self.run_words(words);
            return;
        }

        for row in calls::rows_of(name, self.language) {
            let receiver = if row.on_receiver && name.starts_with('.') { self.code.receiver(at) } else { None };
            let texts = receiver.into_iter().chain(texts(self)).collect();
            effects::report(self, row.does, &CodeCall { name, arguments, texts });
        }
    }

    /// Goes through a command that code starts word by word.
    pub(super) fn run_words(&mut self, words: Vec<Text>) {
        // Code computes the names of programs all the time.
        if words.first().is_none_or(|program| !program.is_decided()) {
            return;
        }
        let args: Vec<Arg> = words.into_iter().map(|word| Arg::new(word, self.span)).collect();
        let frame = self.machine.frame("code");
        self.machine.frames.push(frame);
        self.machine.invoke(&args, self.world.clone(), self.input, self.span);
        self.machine.frames.pop();
    }

    /// Goes through text that code hands to a shell.
    pub(super) fn run_text(&mut self, text: &Text) {
        let arg = Arg::new(text.clone(), self.span);
        self.machine.run_text(&arg, self.world.clone(), self.input);
    }

    /// Goes through text that code runs as more code.
    pub(super) fn run_code(&mut self, code: String) {
        let frame = self.machine.frame("code");
        self.machine.frames.push(frame);
        run_code(self.machine, &Arg::known(code, self.span), self.language, self.world, self.input);
        self.machine.frames.pop();
    }
}
