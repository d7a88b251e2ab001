//! Goes through the tokens of code: what it imports and assigns is remembered, calls are handed to their rows, and
//! functions of its own are gone through when they are called.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use chiton_shell::tree::Span;

use super::calls::{self, CallDoes, CallRow};
use super::effects;
use super::functions::Functions;
use super::lexer::{Token, Tokens};
use super::values::{Argument, Around, Code, CodeValue, bare};
use super::{Language, run_code};
use crate::effect::Kind;
use crate::machine::Machine;
use crate::machine::state::World;
use crate::value::{Arg, Flow, Labels, Piece, Text};
use crate::verdict::Decision;

/// Calls of functions of the code that are gone through.
const MOST_INLINED: usize = 200;
/// How deep those call each other.
const DEEPEST_INLINED: usize = 6;
/// Values of one call that are gone through, where it may be one of several.
const MOST_CHOICES: usize = 16;

/// Goes through code that stands at `span` of the command.
pub(super) fn scan(
    machine: &mut Machine<'_>,
    tokens: &Tokens,
    language: Language,
    world: &World,
    input: &Rc<Flow>,
    arguments: &[Text],
    span: Span,
) {
    let home = machine.context.home.to_string_lossy().into_owned();
    let around = Around { home, cwd: world.cwd.as_deref().map(str::to_owned), input: Rc::clone(input) };
    let functions = Rc::new(Functions::of(tokens, language));
    let code = Code {
        tokens: &tokens.all,
        language,
        variables: predefined(language, arguments),
        stars: Vec::new(),
        functions: Rc::clone(&functions),
        around: Rc::new(around),
        depth: Rc::new(Cell::new(0)),
        work: Rc::new(Cell::new(0)),
    };
    let called = vec![false; functions.all.len()];
    let mut scan = Scan {
        machine,
        code,
        language,
        world: world.clone(),
        span,
        input,
        called,
        inlined: 0,
        deep: 0,
        is_first_pass: true,
        feeds_shell: false,
    };

    // What a list is made of may stand behind its use: `f(x) for x in list`.
    scan.walk(0..tokens.all.len());
    scan.is_first_pass = false;
    scan.walk(0..tokens.all.len());
    scan.uncalled();
}

/// Whether a call on this value is not about it: nothing is known of it.
fn is_idle(receiver: &CodeValue, does: CallDoes) -> bool {
    receiver.is_unknown() && !matches!(does, CallDoes::CallNamed)
}

/// What the language has in its variables from the start.
fn predefined(language: Language, arguments: &[Text]) -> BTreeMap<String, CodeValue> {
    let mut variables = BTreeMap::new();
    let given = arguments.iter().cloned().map(CodeValue::Text);
    let (name, first) = match language {
        Language::Python => ("sys.argv", Some("-c")),
        Language::JavaScript => ("process.argv", Some("node")),
        Language::Php => ("argv", Some("-")),
        Language::Lua => ("arg", Some("lua")),
        Language::Julia => ("ARGS", None),
        _ => ("ARGV", None),
    };
    if !arguments.is_empty() {
        let values = first.map(CodeValue::known).into_iter().chain(given).collect();
        variables.insert(name.to_owned(), CodeValue::List(values));
    }
    variables
}

/// Code that is being gone through.
pub(super) struct Scan<'s, 'm> {
    pub(super) machine: &'s mut Machine<'m>,
    pub(super) code: Code<'s>,
    pub(super) language: Language,
    pub(super) world: World,
    pub(super) span: Span,
    pub(super) input: &'s Rc<Flow>,
    /// Which functions of the code were called.
    called: Vec<bool>,
    inlined: usize,
    deep: usize,
    /// Whether values are gathered, and nothing is reported yet.
    is_first_pass: bool,
    /// Whether the code has started a shell that it may write to.
    pub(super) feeds_shell: bool,
}

/// A call in code.
pub(super) struct CodeCall<'c> {
    /// Its whole name.
    pub(super) name: &'c str,
    /// What it is called with, by place; what it is called on comes first where that counts.
    pub(super) values: Vec<CodeValue>,
    /// All that it is called with.
    pub(super) arguments: &'c [Argument],
}

impl CodeCall<'_> {
    /// The value of an argument by its name, also in a map of options.
    pub(super) fn named(&self, key: &str) -> Option<&CodeValue> {
        let by_key = self.arguments.iter().find(|argument| argument.key.as_deref() == Some(key));
        by_key
            .map(|argument| &argument.value)
            .or_else(|| self.arguments.iter().find_map(|argument| argument.value.at_key(key)))
    }
}

impl Scan<'_, '_> {
    fn walk(&mut self, range: Range<usize>) {
        let functions = Rc::clone(&self.code.functions);
        let mut at = range.start;
        while at < range.end.min(self.code.tokens.len()) {
            if let Some(index) = functions.by_start.get(&at)
                && functions.all[*index].body.start > range.start
            {
                at = functions.all[*index].end.max(at + 1);
                continue;
            }
            self.at(at);
            at += 1;
        }
    }

    fn at(&mut self, at: usize) {
        let tokens = self.code.tokens;
        match &tokens[at] {
            Token::Shell(text) if !self.is_first_pass => {
                let value = self.code.interpolated(text);
                self.run_text(&value.text(), "`");
            }
            Token::Name(name) => self.at_name(at, name),
            Token::Sign('(') if self.language == Language::Lisp => self.at_list(at),
            Token::Sign('(') => self.at_parenthesis(at),
            Token::Sign('{') => self.at_brace(at),
            _ => {}
        }
    }

    fn is_sign(&self, at: usize, sign: char) -> bool {
        self.code.tokens.get(at).is_some_and(|token| token.is_sign(sign))
    }

    fn name_at(&self, at: usize) -> Option<&str> {
        self.code.tokens.get(at).and_then(Token::as_name)
    }

    fn set(&mut self, name: &str, value: CodeValue) {
        self.code.variables.insert(bare(name).to_owned(), value);
    }

    fn at_name(&mut self, at: usize, name: &str) {
        match (self.language, name) {
            (Language::Python | Language::JavaScript, "import") => return self.import(at),
            (Language::Python, "from") => return self.import_from(at),
            (_, "for" | "foreach" | "async.for") => self.for_each(at),
            (Language::Ruby | Language::Elixir, "do") if self.is_sign(at + 1, '|') => self.block(at, at + 2),
            (Language::Perl, "my" | "our" | "local") if self.is_sign(at + 1, '(') => return self.unpack(at + 2),
            (Language::JavaScript, "const" | "let" | "var") if self.is_sign(at + 1, '[') => return self.unpack(at + 2),
            _ => {}
        }
        if self.assignment(at, name) || self.is_first_pass {
            return;
        }
        // PHP runs what it includes, from wherever that comes.
        if self.language == Language::Php && matches!(name, "include" | "include_once" | "require" | "require_once") {
            let from = self.code.value(at + 1..self.code.statement_end(at + 1)).text();
            if ["http://", "https://", "ftp://"].iter().any(|start| from.known_start().starts_with(start)) {
                self.machine.object_to_flow(&Flow::labelled(Labels::DOWNLOADED), &Arg::new(from, self.span));
            }
        }
        let takes = match self.code.tokens.get(at + 1) {
            Some(Token::Text(_) | Token::Number(_) | Token::Shell(_) | Token::Sign('-')) => true,
            Some(Token::Sign('[' | '$' | '*') | Token::Name(_)) => {
                matches!(
                    self.language,
                    Language::Perl | Language::Ruby | Language::Haskell | Language::Ocaml | Language::AppleScript
                )
            }
            _ => false,
        };
        if takes && self.language.calls_bare() && !name.starts_with('$') {
            self.call_without_parentheses(at, name);
        } else if !self.is_sign(at + 1, '(')
            && matches!(self.language, Language::Ruby | Language::Braces)
            && name.contains('.')
        {
            // `Pathname.new("/").rmtree` needs no parentheses.
            let start = self.code.callee_start(at + 1);
            if start < at || self.language == Language::Ruby {
                let callee = self.callee(start..at + 1);
                self.call_value(&callee, &[]);
            }
        }
    }

    /// `name = value`, `name += value`, `name := value`, `name <- value`; whether it was one.
    fn assignment(&mut self, at: usize, name: &str) -> bool {
        let tokens = self.code.tokens;
        let sign = |at: usize| match tokens.get(at) {
            Some(Token::Sign(sign)) => *sign,
            _ => '\0',
        };
        let (start, adds) = match (sign(at + 1), sign(at + 2), sign(at + 3)) {
            ('=', '=' | '>' | '~', _) => return false,
            ('=', ..) => (at + 2, false),
            ('+' | '.' | '*', '=', _) => (at + 3, true),
            ('.', '.', '=') => (at + 4, true),
            (':', '=', _) | ('<', '-', _) => (at + 3, false),
            // `name: type = value`.
            (':', _, '=') if self.language == Language::Python && !matches!(sign(at + 4), '=') => (at + 4, false),
            _ => return false,
        };
        if bare(name).is_empty() || self.is_keyword_argument(at) {
            return false;
        }
        let end = self.code.statement_end(start);
        let value = self.code.value(start..end);
        let value = if adds { super::given::added(self.code.named(name), &value) } else { value };
        self.set(name, value);
        self.process_of(name);
        true
    }

    /// `p.executableURL = …; p.arguments = …`: a program that is described before it starts.
    fn process_of(&mut self, name: &str) {
        let Some(process) = name.strip_suffix(".arguments").filter(|_| !self.is_first_pass) else { return };
        let at = |part: &str| self.code.variables.get(&format!("{process}.{part}"));
        let program = ["executableURL", "launchPath", "executable"].iter().find_map(|part| at(part));
        if let (Some(program), Some(CodeValue::List(items))) = (program, at("arguments")) {
            let words = std::iter::once(program.text()).chain(items.iter().map(CodeValue::text)).collect();
            self.run_words(words, "Process");
        }
    }

    /// `f(name=value)` assigns nothing.
    fn is_keyword_argument(&self, at: usize) -> bool {
        let before = at.checked_sub(1).map(|at| &self.code.tokens[at]);
        let in_call = matches!(before, Some(Token::Sign('(' | ',')));
        in_call && matches!(self.language, Language::Python | Language::R | Language::Julia)
    }

    /// `my ($a, $b) = @_`, `const [a, b] = list`.
    fn unpack(&mut self, from: usize) {
        let close = self.code.closing(from);
        if !self.is_sign(close + 1, '=') {
            return;
        }
        let end = self.code.statement_end(close + 2);
        let items = self.code.value(close + 2..end).items();
        let names: Vec<String> =
            self.code.tokens[from..close].iter().filter_map(Token::as_name).map(str::to_owned).collect();
        for (at, name) in names.iter().enumerate() {
            self.set(name, items.get(at).cloned().unwrap_or(CodeValue::Unknown));
        }
    }

    /// `import os as o, sys`, `import {exec as e} from "child_process"`.
    fn import(&mut self, at: usize) {
        let end = self.code.statement_end(at + 1);
        if self.is_sign(at + 1, '(') {
            return self.at_parenthesis(at + 1);
        }
        if self.language == Language::Python {
            for part in self.code.split(at + 1..end) {
                if let (Some(module), Some("as"), Some(alias)) =
                    (self.name_at(part.start), self.name_at(part.start + 1), self.name_at(part.start + 2))
                {
                    let (module, alias) = (module.to_owned(), alias.to_owned());
                    self.set(&alias, CodeValue::Named(module));
                }
            }
            return;
        }
        let from = (at + 1..end).find(|at| self.name_at(*at) == Some("from"));
        let module = from.and_then(|from| match self.code.tokens.get(from + 1) {
            Some(Token::Text(text)) => text.as_known(),
            _ => None,
        });
        let (Some(from), Some(module)) = (from, module) else { return };
        let module = module.trim_start_matches("node:").replace('/', ".");
        self.take_names(at + 1..from, &module);
    }

    /// The names in `{a, b as c}`, `* as name` or `name` stand for parts of a module, or for all of it.
    fn take_names(&mut self, range: Range<usize>, module: &str) {
        let open = range.clone().find(|at| self.is_sign(*at, '{'));
        let whole = range.start..open.unwrap_or(range.end);
        if let Some(name) = whole.clone().filter_map(|at| self.name_at(at)).next_back().map(str::to_owned) {
            self.set(&name, CodeValue::Named(module.to_owned()));
        }
        let Some(open) = open else { return };
        let close = self.code.closing(open + 1);
        for part in self.code.split(open + 1..close.min(range.end)) {
            let names: Vec<String> =
                self.code.tokens[part].iter().filter_map(Token::as_name).map(str::to_owned).collect();
            if let (Some(first), Some(last)) = (names.first(), names.last()) {
                self.set(last, CodeValue::Named(format!("{module}.{first}")));
            }
        }
    }

    /// `from os import system as s, popen`.
    fn import_from(&mut self, at: usize) {
        let Some(module) = self.name_at(at + 1).map(str::to_owned) else { return };
        if self.name_at(at + 2) != Some("import") {
            return;
        }
        let end = self.code.statement_end(at + 3);
        if self.is_sign(at + 3, '*') {
            self.code.stars.push(module);
            return;
        }
        let start = at + 3 + usize::from(self.is_sign(at + 3, '('));
        for part in self.code.split(start..end) {
            let names: Vec<String> =
                self.code.tokens[part].iter().filter_map(Token::as_name).map(str::to_owned).collect();
            if let (Some(first), Some(last)) = (names.first(), names.last()) {
                self.set(last, CodeValue::Named(format!("{module}.{first}")));
            }
        }
    }

    /// `for x in list`, `for (const x of list)`, `foreach my $x (list)`, `foreach (list as $x)`, `… for (list)`.
    fn for_each(&mut self, at: usize) {
        let mut from = at + 1;
        while matches!(self.name_at(from), Some("my" | "our" | "const" | "let" | "var" | "await")) {
            from += 1;
        }
        let is_open = self.is_sign(from, '(');
        let inside = from + usize::from(is_open);
        let end = if is_open { self.code.closing(from + 1) } else { self.list_end(from) };
        let word = (inside..end).find(|at| matches!(self.name_at(*at), Some("in" | "of" | "as")));

        match word {
            Some(word) if self.name_at(word) == Some("as") => {
                let list = self.code.value(inside..word);
                if let Some(name) = (word + 1..end).filter_map(|at| self.name_at(at)).next_back().map(str::to_owned) {
                    self.bind_item(&name, &list);
                }
            }
            Some(word) => {
                let end = if is_open { end } else { self.list_end(word + 1) };
                let list = self.code.value(word + 1..end);
                let names: Vec<String> = (inside..word)
                    .filter_map(|at| self.name_at(at))
                    .filter(|name| !matches!(*name, "my" | "const" | "let" | "var"))
                    .map(str::to_owned)
                    .collect();
                // `for key, value in pairs(list)`: the last is what matters.
                for name in &names {
                    self.bind_item(name, &list);
                }
            }
            None if self.language == Language::Perl => {
                let named = self
                    .name_at(from)
                    .filter(|name| name.starts_with('$') && self.is_sign(from + 1, '('))
                    .map(str::to_owned);
                let (name, list) = match named {
                    Some(name) => (name, self.code.value(from + 1..self.code.closing(from + 2) + 1)),
                    None => ("_".to_owned(), self.code.value(from..self.code.statement_end(from))),
                };
                self.bind_item(&name, &list);
            }
            None => {}
        }
    }

    /// Where the list of a loop ends.
    fn list_end(&self, from: usize) -> usize {
        let mut open = 0_i32;
        for at in from..self.code.tokens.len() {
            open += super::values::opened_by(&self.code.tokens[at]);
            let ends = match &self.code.tokens[at] {
                Token::Sign(':' | '\n' | ';') => true,
                Token::Sign('{') => open == 1 && at > from && self.language != Language::Lua,
                Token::Name(word) => matches!(word.as_str(), "do" | "if" | "for"),
                _ => false,
            };
            if open < 0 || ends && (open == 0 || self.is_sign(at, '{')) {
                return at;
            }
        }
        self.code.tokens.len()
    }

    /// A variable that stands for each item of a list.
    fn bind_item(&mut self, name: &str, list: &CodeValue) {
        let value = match list {
            CodeValue::List(items) if !items.is_empty() => {
                CodeValue::one_of(items.iter().take(MOST_CHOICES).cloned().collect())
            }
            CodeValue::Map(entries) if !entries.is_empty() => {
                CodeValue::one_of(entries.iter().take(MOST_CHOICES).map(|(_, value)| value.clone()).collect())
            }
            CodeValue::Choice(_) | CodeValue::Named(_) => list.clone(),
            CodeValue::Text(text) if text.has_glob() => list.clone(),
            CodeValue::Text(text) if text.is_decided() && self.language == Language::Perl => list.clone(),
            _ => CodeValue::Text(Text::variable(bare(name))),
        };
        self.set(name, value);
    }

    /// `list.each { |x| … }`: what stands before the brace at `at` is called on the list.
    fn block(&mut self, at: usize, names_from: usize) {
        let Some(name) = self.name_at(names_from).map(str::to_owned) else { return };
        let mut end = at;
        // `each_with_index(…) { |x| … }`.
        if at > 0 && self.is_sign(at - 1, ')') {
            end = (0..at - 1).rev().find(|back| self.is_sign(*back, '(')).unwrap_or(at);
        }
        let start = self.code.callee_start(end);
        let list = match self.callee(start..end) {
            CodeValue::Method(receiver, _) => *receiver,
            other => other,
        };
        self.bind_item(&name, &list);
    }

    fn at_brace(&mut self, at: usize) {
        if self.is_sign(at + 1, '|') && self.language == Language::Ruby {
            self.block(at, at + 2);
        }
        // `const {exec: e} = require("child_process")`.
        let declares = at > 0 && matches!(self.name_at(at - 1), Some("const" | "let" | "var"));
        if !declares || self.language != Language::JavaScript {
            return;
        }
        let close = self.code.closing(at + 1);
        if !self.is_sign(close + 1, '=') {
            return;
        }
        let value = self.code.value(close + 2..self.code.statement_end(close + 2));
        for part in self.code.split(at + 1..close) {
            let names: Vec<String> =
                self.code.tokens[part].iter().filter_map(Token::as_name).map(str::to_owned).collect();
            if let (Some(first), Some(last)) = (names.first(), names.last()) {
                let part = self.code.attribute(value.clone(), first);
                self.set(last, part);
            }
        }
    }

    /// What is called: a name behind which arguments stand, or an expression.
    fn callee(&self, range: Range<usize>) -> CodeValue {
        if let [Token::Name(name)] = &self.code.tokens[range.clone()] {
            return self.code.named(name);
        }
        // The last method itself, and not what it gives.
        if let Some(Token::Name(method)) = self.code.tokens.get(range.end.wrapping_sub(1))
            && method.starts_with('.')
            && range.len() > 1
        {
            let mut value = self.code.value(range.start..range.end - 1);
            for part in method[1..].split('.') {
                value = self.code.attribute(value, part);
            }
            return value;
        }
        self.code.value(range)
    }

    fn at_parenthesis(&mut self, at: usize) {
        let start = self.code.callee_start(at);
        if start == at {
            return;
        }
        let callee = self.callee(start..at);
        if self.is_first_pass {
            self.grow(&callee, start, at);
            return;
        }
        let is_row = match &callee {
            CodeValue::Named(name) => calls::rows_of(name, self.language).next().is_some() || name.starts_with("sh."),
            CodeValue::Unknown | CodeValue::List(_) | CodeValue::Map(_) => {
                start + 1 < at && !matches!(self.code.tokens[at - 1], Token::Name(_))
            }
            _ => true,
        };
        if is_row {
            let close = self.code.closing(at + 1);
            let arguments = self.code.arguments(at + 1..close);
            self.grow(&callee, start, at);
            self.call_value(&callee, &arguments);
        }
    }

    /// `list.append(x)` and its like make a list longer.
    fn grow(&mut self, callee: &CodeValue, start: usize, at: usize) {
        let CodeValue::Method(receiver, method) = callee else { return };
        if !matches!(method.as_str(), "append" | "extend" | "push" | "insert" | "unshift" | "concat" | "add") {
            return;
        }
        let Some(name) = self.name_at(start).and_then(|name| name.rsplit_once('.')).map(|(name, _)| name.to_owned())
        else {
            return;
        };
        let mut items = receiver.items();
        if items.len() > 64 || !matches!(**receiver, CodeValue::List(_)) {
            return;
        }
        let close = self.code.closing(at + 1);
        for argument in self.code.arguments(at + 1..close) {
            match (method.as_str(), argument.value) {
                ("extend" | "concat", CodeValue::List(more)) => items.extend(more),
                (_, value) => items.push(value),
            }
        }
        self.set(&name, CodeValue::List(items).bounded());
    }

    /// `(function argument …)` of a Lisp.
    fn at_list(&mut self, at: usize) {
        let Some(name) = self.name_at(at + 1).map(str::to_owned) else { return };
        let close = self.code.closing(at + 1);
        if matches!(name.as_str(), "setq" | "define" | "def" | "defparameter" | "let") {
            if let Some(variable) = self.name_at(at + 2).map(str::to_owned) {
                let value = self.code.arguments(at + 3..close).into_iter().next();
                self.set(&variable, value.map_or(CodeValue::Unknown, |argument| argument.value));
            }
            return;
        }
        if !self.is_first_pass && calls::rows_of(&name, self.language).next().is_some() {
            let arguments = self.code.arguments(at + 2..close);
            self.call_value(&CodeValue::Named(name), &arguments);
        }
    }

    fn call_without_parentheses(&mut self, at: usize, name: &str) {
        let callee = if name.starts_with('.') {
            self.callee(self.code.callee_start(at + 1)..at + 1)
        } else {
            self.code.named(name)
        };
        let has_row = match &callee {
            CodeValue::Named(name) => calls::rows_of(name, self.language).next().is_some(),
            CodeValue::Function(_) | CodeValue::Method(..) => true,
            _ => false,
        };
        if !has_row {
            return;
        }
        let end = self.code.statement_end(at + 1);
        // `print PIPE "text"` names where it goes first.
        if matches!(name, "print" | "printf" | "say") && self.feeds_shell {
            let texts = self.code.tokens[at + 1..end]
                .iter()
                .filter_map(|token| if let Token::Text(text) = token { Some(text) } else { None });
            let arguments: Vec<Argument> =
                texts.map(|text| Argument { key: None, value: self.code.interpolated(text) }).collect();
            return self.call_value(&callee, &arguments);
        }
        let arguments = self.code.arguments(at + 1..end);
        self.call_value(&callee, &arguments);
    }

    /// Goes through a call.
    pub(super) fn call_value(&mut self, callee: &CodeValue, arguments: &[Argument]) {
        if self.is_first_pass {
            return;
        }
        match callee {
            CodeValue::Named(name) => self.call_named(name, None, arguments),
            CodeValue::Text(text) => {
                if let Some(name) = text.as_known().filter(|_| matches!(self.language, Language::Php | Language::Perl))
                {
                    self.call_named(&name, None, arguments);
                }
            }
            CodeValue::Function(index) => {
                let values: Vec<CodeValue> = arguments
                    .iter()
                    .filter(|argument| argument.key.is_none())
                    .map(|argument| argument.value.clone())
                    .collect();
                self.inline(*index, &values, arguments);
            }
            CodeValue::Method(receiver, method)
                if matches!(**receiver, CodeValue::Function(_))
                    && matches!(method.as_str(), "call" | "apply" | "yield") =>
            {
                self.call_value(&receiver.clone(), arguments);
            }
            CodeValue::Method(receiver, method) => {
                let own = self.code.functions.by_name.get(method.as_str()).copied();
                match own {
                    Some(index) if receiver.is_unknown() => {
                        let values: Vec<CodeValue> = arguments
                            .iter()
                            .filter(|argument| argument.key.is_none())
                            .map(|argument| argument.value.clone())
                            .collect();
                        self.inline(index, &values, arguments);
                    }
                    _ => self.call_named(&format!(".{method}"), Some(receiver), arguments),
                }
            }
            CodeValue::Choice(choices) => {
                for choice in choices.iter().take(MOST_CHOICES) {
                    self.call_value(choice, arguments);
                }
            }
            // `&{"system"}(…)`.
            CodeValue::List(items) if self.language == Language::Perl && items.len() == 1 => {
                self.call_value(&items[0].clone(), arguments);
            }
            CodeValue::Unknown | CodeValue::List(_) | CodeValue::Map(_) => self.calls_unknown(arguments),
        }
    }

    fn call_named(&mut self, name: &str, receiver: Option<&CodeValue>, arguments: &[Argument]) {
        // Where arguments are always named, they count by their place, too.
        let are_named = matches!(self.language, Language::Braces | Language::Lisp);
        let values = || {
            let by_place = arguments.iter().filter(move |argument| argument.key.is_none() || are_named);
            by_place.map(|argument| argument.value.clone())
        };

        // `method(:system).call(…)`, `execSync.call(null, …)`.
        if let Some(function) = name.strip_suffix(".call").or_else(|| name.strip_suffix(".apply"))
            && calls::rows_of(function, self.language).next().is_some()
        {
            let skip = usize::from(self.language == Language::JavaScript && arguments.len() > 1);
            return self.call_named(function, None, arguments.get(skip..).unwrap_or_default());
        }

        // The `sh` module of Python: each of its functions is a program.
        if let Some(program) = name.strip_prefix("sh.").filter(|_| self.language == Language::Python) {
            let words = std::iter::once(Text::known(program)).chain(values().map(|value| value.text())).collect();
            self.run_words(words, name);
            return;
        }

        let rows: Vec<&'static CallRow> = calls::rows_of(name, self.language).collect();
        for row in rows {
            let of_module = || match (row.does, name.rsplit_once('.')) {
                (CallDoes::CallNamed, Some((module, _))) if !module.is_empty() => {
                    Some(CodeValue::Named(module.to_owned()))
                }
                _ => None,
            };
            let receiver =
                receiver.cloned().or_else(of_module).filter(|receiver| row.on_receiver && !is_idle(receiver, row.does));
            let values = receiver.into_iter().chain(values()).collect();
            effects::report(self, row.does, &CodeCall { name, values, arguments });
        }
    }

    /// A function that nobody knows is given text that would be refused as a command.
    fn calls_unknown(&mut self, arguments: &[Argument]) {
        for argument in arguments {
            let Some(text) = argument.value.as_known() else { continue };
            if self.would_be_stopped(&text) {
                let reason = "This code calls a function that the text does not decide, with a dangerous command.";
                self.machine.state(Kind::Code, reason, self.span, Some(text));
            }
        }
    }

    /// Whether a text would be stopped if it were a command.
    fn would_be_stopped(&mut self, text: &str) -> bool {
        if text.len() > 4096 || !text.contains([' ', '/']) || chiton_shell::parse(text.as_bytes()).is_err() {
            return false;
        }
        let before = self.machine.findings.len();
        let seen = self.machine.seen.len();
        self.run_text(&Text::known(text), "system");
        let found = self.machine.findings.split_off(before.min(self.machine.findings.len()));
        self.machine.seen.truncate(seen);
        found.iter().any(|finding| finding.decision != Decision::Allow && finding.rule != "syntax")
    }

    /// Goes through the body of a function of the code.
    fn inline(&mut self, index: usize, values: &[CodeValue], arguments: &[Argument]) {
        let functions = Rc::clone(&self.code.functions);
        let Some(function) = functions.all.get(index) else { return };
        if self.inlined >= MOST_INLINED || self.deep >= DEEPEST_INLINED {
            return;
        }
        self.called[index] = true;
        self.inlined += 1;
        self.deep += 1;
        let before = self.code.variables.clone();
        function.bind(values, arguments, &mut self.code.variables);
        self.walk(function.body.clone());
        self.code.variables = before;
        self.deep -= 1;
    }

    /// A function that is given away is called by whoever gets it.
    pub(super) fn call_back(&mut self, function: &CodeValue, item: CodeValue) {
        if let CodeValue::Function(index) = function {
            self.inline(*index, &[item], &[]);
        } else {
            self.call_value(function, &[Argument { key: None, value: item }]);
        }
    }

    /// Functions that were never called may be called from elsewhere: what they do by themselves counts, what their
    /// arguments decide does not.
    fn uncalled(&mut self) {
        let functions = Rc::clone(&self.code.functions);
        for (index, function) in functions.all.iter().enumerate() {
            if self.called[index] {
                continue;
            }
            let before = self.machine.findings.len();
            self.inline(index, &[], &[]);
            if function.name.is_some() {
                let mut at = 0;
                self.machine.findings.retain(|finding| {
                    at += 1;
                    at <= before
                        || finding.decision == Decision::Deny
                        || !matches!(
                            finding.rule.as_str(),
                            "delete-unknown" | "unknown-run" | "code" | "permissions" | "disk"
                        )
                });
            }
        }
    }

    /// Goes through a command that code starts word by word.
    pub(super) fn run_words(&mut self, words: Vec<Text>, name: &str) {
        let Some(program) = words.first() else { return };
        if !program.is_decided() && crate::machine::command::program_name(program).is_none() {
            // Code computes the names of programs all the time. What it gives them may be telling.
            let deletes = words.iter().skip(1).any(|word| {
                let start = word.known_start();
                start.starts_with('-') && !start.starts_with("--") && start.contains(['r', 'R']) && start.contains('f')
            });
            if deletes && calls::is_sure(name, self.language) {
                let words: Vec<Text> = std::iter::once(Text::known("rm")).chain(words.into_iter().skip(1)).collect();
                let before = self.machine.findings.len();
                self.invoke(words);
                for finding in self.machine.findings.iter_mut().skip(before) {
                    finding.decision = finding.decision.min(Decision::Ask);
                }
            }
            return;
        }
        self.invoke(words);
    }

    fn invoke(&mut self, words: Vec<Text>) {
        let is_shell =
            words.len() == 1 && words[0].as_known().is_some_and(|program| super::commands::is_shell(&program));
        self.feeds_shell |= is_shell;
        let args: Vec<Arg> = words.into_iter().map(|word| Arg::new(word, self.span)).collect();
        let frame = self.machine.frame("code");
        self.machine.frames.push(frame);
        self.machine.invoke(&args, self.world.clone(), self.input, self.span);
        self.machine.frames.pop();
    }

    /// Goes through text that code hands to a shell by a call of `name`.
    pub(super) fn run_text(&mut self, text: &Text, name: &str) {
        let is_sure = name == "`" || calls::is_sure(name, self.language);
        if let Some(known) = text.as_literal() {
            // What is not for a shell need not parse: `connection.execute("create table t (a int)")`.
            if !is_sure && chiton_shell::parse(known.as_bytes()).is_err() {
                return;
            }
            self.feeds_shell |= super::commands::is_shell(known.trim());
        } else if text.0.iter().all(|piece| matches!(piece, Piece::Unknown(_))) {
            if is_sure {
                self.undecided(text);
            }
            return;
        }
        let arg = Arg::new(text.clone(), self.span);
        self.machine.run_text(&arg, self.world.clone(), self.input);
    }

    /// Code runs something of which nothing is known.
    pub(super) fn undecided(&mut self, text: &Text) {
        let labels = text.labels();
        if labels.has(Labels::DOWNLOADED) || labels.has(Labels::DECODED) {
            self.machine.object_to_flow(&Flow::labelled(labels), &Arg::new(text.clone(), self.span));
        } else if !labels.has(Labels::FILE) {
            let reason = format!("The text does not decide what this {} code runs.", self.language.name());
            self.machine.state(Kind::Code, reason, self.span, Some(text.display()));
        }
    }

    /// Does `what` with another input.
    pub(super) fn fed(&mut self, input: &Rc<Flow>, what: impl FnOnce(&mut Scan<'_, '_>)) {
        let mut inner = Scan {
            machine: &mut *self.machine,
            code: Code {
                tokens: self.code.tokens,
                language: self.code.language,
                variables: self.code.variables.clone(),
                stars: self.code.stars.clone(),
                functions: Rc::clone(&self.code.functions),
                around: Rc::clone(&self.code.around),
                depth: Rc::clone(&self.code.depth),
                work: Rc::clone(&self.code.work),
            },
            language: self.language,
            world: self.world.clone(),
            span: self.span,
            input,
            called: self.called.clone(),
            inlined: self.inlined,
            deep: self.deep,
            is_first_pass: self.is_first_pass,
            feeds_shell: self.feeds_shell,
        };
        what(&mut inner);
    }

    /// Goes through text that code runs as more code.
    pub(super) fn run_code(&mut self, code: String) {
        let frame = self.machine.frame("code");
        self.machine.frames.push(frame);
        run_code(self.machine, &Arg::known(code, self.span), self.language, &self.world, self.input);
        self.machine.frames.pop();
    }
}
