//! What the expressions in code say, as far as that can be told.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use super::Language;
use super::functions::Functions;
use super::given;
use super::lexer::{self, Token};
use crate::value::{Flow, Piece, Text, What};

/// What an expression is.
#[derive(Clone, Debug)]
pub(super) enum CodeValue {
    Text(Text),
    List(Vec<CodeValue>),
    /// Values by key.
    Map(Vec<(String, CodeValue)>),
    /// One of these.
    Choice(Vec<CodeValue>),
    /// A module, a class or a function by its name.
    Named(String),
    /// A function of this code.
    Function(usize),
    /// A method of a value.
    Method(Box<CodeValue>, String),
    Unknown,
}

/// An argument of a call.
#[derive(Clone, Debug)]
pub(super) struct Argument {
    /// Its name, where it is given by name.
    pub(super) key: Option<String>,
    pub(super) value: CodeValue,
}

/// What surrounds the code.
#[derive(Clone, Debug)]
pub(super) struct Around {
    pub(super) home: String,
    pub(super) cwd: Option<String>,
    /// What comes in.
    pub(super) input: Rc<Flow>,
}

/// Code as tokens, and what is known so far.
pub(super) struct Code<'c> {
    pub(super) tokens: &'c [Token],
    pub(super) language: Language,
    pub(super) variables: BTreeMap<String, CodeValue>,
    /// Modules whose names are all taken over: `from os import *`.
    pub(super) stars: Vec<String>,
    pub(super) functions: Rc<Functions>,
    pub(super) around: Rc<Around>,
    /// How deep the expression is that is being read.
    pub(super) depth: Rc<Cell<usize>>,
    /// How many expressions were read.
    pub(super) work: Rc<Cell<usize>>,
}

/// Expressions that nest deeper say nothing.
const DEEPEST: usize = 32;
/// Expressions beyond this many say nothing.
const MOST_WORK: usize = 8_000;
/// Values larger than this, in bytes and items, say nothing.
const LARGEST: usize = 64 << 10;

impl CodeValue {
    pub(super) fn known(text: impl Into<String>) -> Self {
        Self::Text(Text::known(text))
    }

    /// The text that it is; of a list, its first item.
    pub(super) fn text(&self) -> Text {
        match self {
            Self::Text(text) => text.clone(),
            Self::List(items) | Self::Choice(items) => items.first().map(Self::text).unwrap_or_default(),
            Self::Named(name) => Text::variable(name),
            Self::Method(..) | Self::Function(_) | Self::Map(_) | Self::Unknown => Text::variable("expression"),
        }
    }

    /// What it may be, one by one.
    pub(super) fn choices(&self) -> Vec<&Self> {
        match self {
            Self::Choice(choices) => choices.iter().flat_map(Self::choices).collect(),
            other => vec![other],
        }
    }

    /// Its items; what is not a list is its own only one.
    pub(super) fn items(&self) -> Vec<Self> {
        match self {
            Self::List(items) => items.clone(),
            Self::Choice(choices) => choices.first().map(Self::items).unwrap_or_default(),
            other => vec![other.clone()],
        }
    }

    pub(super) fn as_known(&self) -> Option<String> {
        if let Self::Text(text) = self { text.as_known() } else { None }
    }

    pub(super) fn is_unknown(&self) -> bool {
        match self {
            Self::Unknown | Self::Named(_) | Self::Method(..) => true,
            Self::Text(text) => text.0.iter().all(|piece| matches!(piece, Piece::Unknown(_))) && !text.0.is_empty(),
            _ => false,
        }
    }

    /// What stands at `key` of a map.
    pub(super) fn at_key(&self, key: &str) -> Option<&Self> {
        if let Self::Map(entries) = self {
            return entries.iter().rev().find(|(own, _)| own == key).map(|(_, value)| value);
        }
        None
    }

    /// One of several values; those of which nothing is known count only where all are like that.
    pub(super) fn one_of(values: Vec<Self>) -> Self {
        let (unknown, mut known): (Vec<Self>, Vec<Self>) = values.into_iter().partition(Self::is_unknown);
        match known.len() {
            0 => unknown.into_iter().next().unwrap_or(Self::Unknown),
            1 => known.remove(0),
            _ => Self::Choice(known),
        }
    }

    /// The value, if it is not too large to go on with.
    pub(super) fn bounded(self) -> Self {
        fn size(value: &CodeValue, left: &mut usize) {
            let own = match value {
                CodeValue::Text(text) => {
                    text.0.iter().map(|piece| if let Piece::Known(known) = piece { known.len() } else { 8 }).sum()
                }
                _ => 8,
            };
            *left = left.saturating_sub(own);
            if *left == 0 {
                return;
            }
            match value {
                CodeValue::List(items) | CodeValue::Choice(items) => items.iter().for_each(|item| size(item, left)),
                CodeValue::Map(entries) => entries.iter().for_each(|(_, item)| size(item, left)),
                CodeValue::Method(receiver, _) => size(receiver, left),
                _ => {}
            }
        }
        let mut left = LARGEST;
        size(&self, &mut left);
        if left == 0 { Self::Unknown } else { self }
    }
}

impl Code<'_> {
    /// Where the statement that goes on at `from` ends.
    pub(super) fn statement_end(&self, from: usize) -> usize {
        const ENDS: [&str; 10] = ["if", "unless", "while", "until", "for", "foreach", "or", "and", "do", "rescue"];
        let ends_by_word = matches!(self.language, Language::Perl | Language::Ruby | Language::Lua);
        let mut open = 0_i32;
        for at in from..self.tokens.len() {
            open += opened_by(&self.tokens[at]);
            match &self.tokens[at] {
                _ if open < 0 => return at,
                Token::Sign(';' | '\n') if open == 0 => return at,
                Token::Name(word) if ends_by_word && open == 0 && at > from && ENDS.contains(&word.as_str()) => {
                    return at;
                }
                Token::Name(word) if open == 0 && word == "end" && at > from => return at,
                _ => {}
            }
        }
        self.tokens.len()
    }

    /// Where the bracket that opened before `from` closes.
    pub(super) fn closing(&self, from: usize) -> usize {
        let mut open = 0_i32;
        for at in from..self.tokens.len() {
            open += opened_by(&self.tokens[at]);
            if open < 0 {
                return at;
            }
        }
        self.tokens.len()
    }

    /// The parts of a range of tokens between its commas.
    pub(super) fn split(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let (mut open, mut start) = (0_i32, range.start);
        for at in range.start..range.end.min(self.tokens.len()) {
            open += opened_by(&self.tokens[at]);
            let separates = self.tokens[at].is_sign(',') || self.tokens[at].is_sign(';');
            if open == 0 && separates {
                parts.push(start..at);
                start = at + 1;
            }
        }
        if start < range.end {
            parts.push(start..range.end);
        }
        parts
    }

    /// The arguments in a range of tokens.
    pub(super) fn arguments(&self, range: Range<usize>) -> Vec<Argument> {
        let parts = if self.language.is_juxtaposed() || self.language == Language::Lisp {
            self.elements(range)
        } else {
            self.split(range)
        };
        let mut arguments = Vec::new();
        for part in parts {
            let tokens = &self.tokens[part.clone()];
            let (key, start) = match tokens {
                [Token::Name(name), Token::Sign('='), rest, ..] if !rest.is_sign('=') && !rest.is_sign('>') => {
                    (Some(name.clone()), part.start + 2)
                }
                [Token::Name(name), Token::Sign(':'), rest, ..] if !rest.is_sign(':') => {
                    (Some(name.clone()), part.start + 2)
                }
                [Token::Sign('*'), ..] => (Some("*".to_owned()), part.start + 1),
                [Token::Sign('.'), Token::Sign('.'), Token::Sign('.'), ..] => (Some("*".to_owned()), part.start + 3),
                _ => (None, part.start),
            };
            let value = self.value(start..part.end);
            if key.as_deref() == Some("*") {
                let items = if let CodeValue::List(items) = value { items } else { vec![value] };
                arguments.extend(items.into_iter().map(|value| Argument { key: None, value }));
            } else {
                arguments.push(Argument { key, value });
            }
        }
        arguments
    }

    /// Expressions that stand side by side.
    pub(super) fn elements(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let start = at;
            while at < range.end && matches!(self.tokens[at], Token::Sign('\'' | '#' | '`' | ',')) {
                at += 1;
            }
            match self.tokens.get(at) {
                Some(Token::Sign('\n' | '$' | ';' | '|')) => {
                    at += 1;
                    continue;
                }
                Some(Token::Sign('(' | '[' | '{')) => at = self.closing(at + 1) + 1,
                _ => at += 1,
            }
            // `"a" ++ b` is one.
            while at + 1 < range.end && matches!(self.tokens[at], Token::Sign('+' | '^')) {
                at += 1;
                while at < range.end && matches!(self.tokens[at], Token::Sign('+' | '^')) {
                    at += 1;
                }
                at = match self.tokens.get(at) {
                    Some(Token::Sign('(' | '[')) => self.closing(at + 1) + 1,
                    _ => at + 1,
                };
            }
            parts.push(start..at.min(range.end));
        }
        parts
    }

    /// The value of an expression.
    pub(super) fn value(&self, range: Range<usize>) -> CodeValue {
        if self.depth.get() >= DEEPEST || self.work.get() >= MOST_WORK || range.start >= range.end {
            return CodeValue::Unknown;
        }
        self.depth.set(self.depth.get() + 1);
        self.work.set(self.work.get() + 1);
        let mut reading = Reading { code: self, at: range.start, end: range.end.min(self.tokens.len()) };
        let value = reading.expression().bounded();
        self.depth.set(self.depth.get() - 1);
        value
    }

    /// Where the callee of a call begins whose parenthesis opens at `at`.
    pub(super) fn callee_start(&self, at: usize) -> usize {
        /// A chain that goes back further is cut.
        const FURTHEST: usize = 400;
        let least = at.saturating_sub(FURTHEST);
        let mut start = at;
        while start > least {
            match &self.tokens[start - 1] {
                Token::Sign(close @ (')' | ']' | '}')) => {
                    let Some(open) = self.opening(start - 1, least) else { return start };
                    let is_block =
                        *close == '}' && !matches!(self.tokens.get(open.wrapping_sub(1)), Some(Token::Name(_)));
                    if is_block && self.language != Language::Perl {
                        return start;
                    }
                    start = open;
                }
                Token::Name(name) => {
                    start -= 1;
                    let goes_on = name.starts_with('.');
                    let behind = start > least
                        && match &self.tokens[start - 1] {
                            Token::Sign(sign) => matches!(sign, ')' | ']' | '}' | '\n') && goes_on,
                            Token::Text(_) | Token::Name(_) | Token::Shell(_) => goes_on,
                            Token::Number(_) => false,
                        };
                    if !behind {
                        return start;
                    }
                }
                Token::Sign('\n') if matches!(&self.tokens[start], Token::Name(name) if name.starts_with('.')) => {
                    start -= 1;
                }
                Token::Text(_) => return start - 1,
                _ => return start,
            }
        }
        start
    }

    fn opening(&self, at: usize, least: usize) -> Option<usize> {
        let mut open = 0_i32;
        for back in (least..=at).rev() {
            open -= opened_by(&self.tokens[back]);
            if open == 0 {
                return Some(back);
            }
        }
        None
    }

    /// The value of a name, with aliases and variables put in.
    pub(super) fn named(&self, name: &str) -> CodeValue {
        let bare = bare(name);
        if let Some(value) = self.variables.get(bare) {
            return value.clone();
        }
        let mut end = bare.len();
        while let Some(dot) = bare[..end].rfind('.') {
            if dot == 0 {
                break;
            }
            if let Some(value) = self.variables.get(&bare[..dot]) {
                let mut value = value.clone();
                for part in bare[dot + 1..].split('.') {
                    value = self.attribute(value, part);
                }
                return value;
            }
            end = dot;
        }
        if let Some(text) = given::constant(bare, &self.around) {
            return text;
        }
        let of_star = self.stars.iter().find(|_| !bare.contains('.') && given::is_function(bare));
        if let Some(module) = of_star {
            return CodeValue::Named(format!("{module}.{bare}"));
        }
        let index = self.functions.by_name.get(bare).copied();
        index.map_or_else(|| CodeValue::Named(bare.to_owned()), CodeValue::Function)
    }

    /// The attribute of a value.
    pub(super) fn attribute(&self, value: CodeValue, part: &str) -> CodeValue {
        match value {
            CodeValue::Named(name) => {
                if matches!(part, "__dict__" | "default") {
                    return CodeValue::Named(name);
                }
                let name = format!("{name}.{part}");
                self.variables
                    .get(&name)
                    .cloned()
                    .or_else(|| given::constant(&name, &self.around))
                    .unwrap_or(CodeValue::Named(name))
            }
            CodeValue::Map(_) => match value.at_key(part) {
                Some(found) => found.clone(),
                None => CodeValue::Method(Box::new(value), part.to_owned()),
            },
            other => CodeValue::Method(Box::new(other), part.to_owned()),
        }
    }

    /// What stands in a value at a place.
    fn at_index(&self, value: &CodeValue, index: &CodeValue) -> CodeValue {
        let key = index.as_known();
        match value {
            CodeValue::Choice(choices) => {
                CodeValue::one_of(choices.iter().map(|choice| self.at_index(choice, index)).collect())
            }
            CodeValue::Map(_) => key.and_then(|key| value.at_key(&key).cloned()).unwrap_or(CodeValue::Unknown),
            CodeValue::Named(name) => match key {
                Some(key) => given::entry(name, &key, &self.around)
                    .unwrap_or_else(|| self.attribute(value.clone(), key.trim_matches(['"', '\'']))),
                None => CodeValue::Unknown,
            },
            CodeValue::List(items) => {
                let starts_at_one = matches!(self.language, Language::Julia | Language::R | Language::Octave);
                let number =
                    key.and_then(|key| key.parse::<i64>().ok()).map(|number| number - i64::from(starts_at_one));
                let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
                let at = number.map(|number| if number < 0 { number + length } else { number });
                let item = at.and_then(|at| usize::try_from(at).ok()).and_then(|at| items.get(at).cloned());
                item.unwrap_or_else(|| CodeValue::Text(Text::variable("item")))
            }
            CodeValue::Text(text) => {
                let character = || {
                    let number = key.as_ref()?.parse::<i64>().ok()?;
                    let all: Vec<char> = text.as_known()?.chars().collect();
                    let length = i64::try_from(all.len()).ok()?;
                    let at = usize::try_from(if number < 0 { number + length } else { number }).ok()?;
                    all.get(at).map(|character| CodeValue::known(character.to_string()))
                };
                character().unwrap_or(CodeValue::Unknown)
            }
            CodeValue::Method(receiver, _) => self.at_index(receiver, index),
            _ => CodeValue::Unknown,
        }
    }

    /// A string with the expressions in it put in.
    pub(super) fn interpolated(&self, text: &Text) -> CodeValue {
        if text.is_decided() {
            return CodeValue::Text(text.clone());
        }
        let mut filled = Text::default();
        for piece in &text.0 {
            match piece {
                Piece::Unknown(unknown) => {
                    if let What::Variable(expression) = &unknown.what {
                        filled.append(&self.value_of_text(expression));
                    } else {
                        filled.push(piece.clone());
                    }
                }
                known => filled.push(known.clone()),
            }
        }
        CodeValue::Text(filled)
    }

    /// The value of an expression inside a string.
    fn value_of_text(&self, expression: &str) -> Text {
        let plain = if self.language == Language::Python {
            expression.split_once(['!', ':']).map_or(expression, |(plain, _)| plain)
        } else {
            expression
        };
        let tokens = lexer::tokens(plain, self.language);
        if tokens.is_empty() || tokens.len() > 200 || self.depth.get() >= DEEPEST {
            return Text::variable(expression);
        }
        let inner = Code {
            tokens: &tokens,
            language: self.language,
            variables: self.variables.clone(),
            stars: self.stars.clone(),
            functions: Rc::new(Functions::without_places()),
            around: Rc::clone(&self.around),
            depth: Rc::clone(&self.depth),
            work: Rc::clone(&self.work),
        };
        let text = match inner.value(0..tokens.len()) {
            CodeValue::List(items) => joined(items.iter().map(CodeValue::text), " "),
            value => value.text(),
        };
        if text.is_decided() { text } else { Text::variable(expression) }
    }
}

/// A name without the sign that says what kind of variable it is.
pub(super) fn bare(name: &str) -> &str {
    match name.strip_prefix(['$', '@', '%', '&']) {
        Some(rest) if !rest.is_empty() => rest.trim_start_matches(['$', '@']),
        _ => name,
    }
}

/// Texts with something between them.
pub(super) fn joined(texts: impl Iterator<Item = Text>, between: &str) -> Text {
    let mut all = Text::default();
    for (index, text) in texts.enumerate() {
        if index > 0 {
            all.push(Piece::Known(between.to_owned()));
        }
        all.append(&text);
    }
    all
}

/// How many brackets a token opens: -1 if it closes one.
pub(super) fn opened_by(token: &Token) -> i32 {
    match token {
        Token::Sign('(' | '[' | '{') => 1,
        Token::Sign(')' | ']' | '}') => -1,
        _ => 0,
    }
}

/// An expression that is being read.
struct Reading<'r, 'c> {
    code: &'r Code<'c>,
    at: usize,
    end: usize,
}

impl Reading<'_, '_> {
    fn peek(&self, distance: usize) -> Option<&Token> {
        let at = self.at + distance;
        if at < self.end { self.code.tokens.get(at) } else { None }
    }

    fn is_sign(&self, distance: usize, sign: char) -> bool {
        self.peek(distance).is_some_and(|token| token.is_sign(sign))
    }

    /// An expression with everything that stands behind it.
    fn expression(&mut self) -> CodeValue {
        self.skip_prefixes();
        let mut value = self.operand();
        while self.at < self.end {
            let Some(operator) = self.operator() else { break };
            value = match operator {
                Operator::Joins => {
                    let right = self.operand();
                    given::added(value, &right)
                }
                Operator::Repeats => {
                    let right = self.operand();
                    given::repeated(&value, &right)
                }
                Operator::Formats => {
                    let right = self.operand();
                    given::formatted_with(&value, &right)
                }
                Operator::Path => {
                    let right = self.operand();
                    given::path_below(&value, &right)
                }
                Operator::Else => CodeValue::one_of(vec![value, self.expression()]),
                Operator::Chooses => {
                    // `condition ? a : b`.
                    let colon = (self.at..self.end).find(|at| self.code.tokens[*at].is_sign(':'));
                    let Some(colon) = colon else { return CodeValue::Unknown };
                    let yes = self.code.value(self.at..colon);
                    self.at = colon + 1;
                    CodeValue::one_of(vec![yes, self.expression()])
                }
                Operator::If => {
                    // `a if condition else b`; in a comprehension, `a for x in list`.
                    let otherwise = (self.at..self.end).find(|at| self.code.tokens[*at].is_name("else"));
                    if let Some(at) = otherwise {
                        self.at = at + 1;
                        CodeValue::one_of(vec![value, self.expression()])
                    } else {
                        self.at = self.end;
                        value
                    }
                }
                Operator::For => {
                    self.at = self.end;
                    match value {
                        CodeValue::Choice(items) => CodeValue::List(items),
                        value => CodeValue::List(vec![value]),
                    }
                }
                Operator::Other => return CodeValue::Unknown,
            };
        }
        value
    }

    fn skip_prefixes(&mut self) {
        const PREFIXES: [&str; 16] = [
            "await", "new", "return", "yield", "scalar", "my", "our", "local", "const", "let", "var", "try", "print",
            "echo", "val", "final",
        ];
        while self.peek(0).is_some_and(|token| {
            token.is_sign('\n')
                || token.is_sign('&')
                || matches!(token, Token::Name(name) if PREFIXES.contains(&name.as_str()))
        }) && self.at + 1 < self.end
        {
            self.at += 1;
        }
    }

    fn operator(&mut self) -> Option<Operator> {
        let language = self.code.language;
        let (operator, length) = match self.peek(0)? {
            Token::Sign('\n') => (None, 1),
            Token::Sign('+') if self.is_sign(1, '+') => (Some(Operator::Joins), 2),
            Token::Sign('+' | '^') => (Some(Operator::Joins), 1),
            Token::Sign('<') if self.is_sign(1, '>') => (Some(Operator::Joins), 2),
            Token::Sign('.') if self.is_sign(1, '.') && language == Language::Lua => (Some(Operator::Joins), 2),
            Token::Sign('.') if matches!(language, Language::Perl | Language::Php) => (Some(Operator::Joins), 1),
            Token::Sign('~') if language == Language::Perl => (Some(Operator::Joins), 1),
            Token::Sign('&') if language == Language::AppleScript => (Some(Operator::Joins), 1),
            Token::Sign('*') if language == Language::Julia => (Some(Operator::Joins), 1),
            Token::Sign('*') => (Some(Operator::Repeats), 1),
            Token::Name(name) if name == "x" && language == Language::Perl => (Some(Operator::Repeats), 1),
            Token::Sign('%') => (Some(Operator::Formats), 1),
            Token::Sign('/') if self.is_sign(1, '/') => (Some(Operator::Else), 2),
            Token::Sign('/') => (Some(Operator::Path), 1),
            Token::Sign('|') if self.is_sign(1, '|') => (Some(Operator::Else), 2),
            Token::Sign('?') if self.is_sign(1, '?') => (Some(Operator::Else), 2),
            Token::Sign('?') if self.is_sign(1, ':') => (Some(Operator::Else), 2),
            Token::Sign('?') => (Some(Operator::Chooses), 1),
            Token::Name(name) if name == "or" => (Some(Operator::Else), 1),
            Token::Name(name) if name == "if" => (Some(Operator::If), 1),
            Token::Name(name) if name == "for" => (Some(Operator::For), 1),
            Token::Name(name) if name == "as" => return self.rest(),
            // In some languages strings that stand side by side are joined, as in awk.
            Token::Text(_) if language == Language::Awk => (Some(Operator::Joins), 0),
            _ => (Some(Operator::Other), 1),
        };
        self.at += length;
        match operator {
            Some(operator) => Some(operator),
            None => self.operator_behind_line(),
        }
    }

    fn operator_behind_line(&mut self) -> Option<Operator> {
        if self.at < self.end { self.operator() } else { None }
    }

    fn rest(&mut self) -> Option<Operator> {
        self.at = self.end;
        None
    }

    /// An operand with its indices, attributes and calls.
    fn operand(&mut self) -> CodeValue {
        let mut value = self.primary();
        while let Some(token) = self.peek(0) {
            match token {
                Token::Sign('(') => {
                    let close = self.code.closing(self.at + 1).min(self.end);
                    let arguments = self.code.arguments(self.at + 1..close);
                    self.at = close + 1;
                    value = given::called(self.code, &value, &arguments);
                }
                Token::Sign('[') => {
                    let close = self.code.closing(self.at + 1).min(self.end);
                    value = self.indexed(&value, self.at + 1..close);
                    self.at = close + 1;
                }
                Token::Sign('{')
                    if matches!(self.code.language, Language::Perl)
                        && matches!(value, CodeValue::Named(_) | CodeValue::Map(_)) =>
                {
                    let close = self.code.closing(self.at + 1).min(self.end);
                    let inner = &self.code.tokens[self.at + 1..close];
                    let key = match inner {
                        [Token::Name(name)] => CodeValue::known(name.clone()),
                        _ => self.code.value(self.at + 1..close),
                    };
                    value = self.code.at_index(&value, &key);
                    self.at = close + 1;
                }
                Token::Sign('{') if matches!(&value, CodeValue::Named(name) if name == "String" || name == "string") => {
                    // `new String[]{"a", "b"}`, `[]string{"a", "b"}`.
                    let close = self.code.closing(self.at + 1).min(self.end);
                    value = self.list(self.at + 1..close);
                    self.at = close + 1;
                }
                Token::Sign('!') if self.code.language == Language::Braces => self.at += 1,
                Token::Sign('\n') if matches!(self.peek(1), Some(Token::Name(name)) if name.starts_with('.')) => {
                    self.at += 1;
                }
                Token::Name(name) if name.starts_with('.') => {
                    for part in name[1..].split('.') {
                        value = self.code.attribute(value, part);
                    }
                    self.at += 1;
                    // A method that needs no arguments may do without parentheses.
                    if !self.is_sign(0, '(') && matches!(self.code.language, Language::Ruby | Language::Braces) {
                        value = given::called(self.code, &value, &[]);
                    }
                }
                _ => break,
            }
        }
        if let CodeValue::Method(..) = &value
            && matches!(self.code.language, Language::Ruby)
        {
            return given::called(self.code, &value, &[]);
        }
        value
    }

    fn indexed(&self, value: &CodeValue, range: Range<usize>) -> CodeValue {
        let tokens = &self.code.tokens[range.clone()];
        if tokens.iter().any(|token| token.is_sign(':')) && self.code.language == Language::Python {
            let parts: Vec<Option<i64>> = self
                .code
                .split_at(range, ':')
                .into_iter()
                .map(|part| self.code.value(part).as_known().and_then(|known| known.parse().ok()))
                .collect();
            return given::sliced(value, &parts);
        }
        if tokens.is_empty() {
            return value.clone();
        }
        if let CodeValue::Named(name) = value
            && name == "Dir"
        {
            return given::called(self.code, &CodeValue::Named("Dir.glob".to_owned()), &self.code.arguments(range));
        }
        let index = self.code.value(range);
        self.code.at_index(value, &index)
    }

    fn primary(&mut self) -> CodeValue {
        let start = self.at;
        if let Some(index) = self.code.functions.by_start.get(&start) {
            self.at = self.code.functions.all[*index].end.min(self.end);
            return CodeValue::Function(*index);
        }
        if self.at >= self.end {
            return CodeValue::Unknown;
        }
        let tokens = self.code.tokens;
        self.at += 1;
        match &tokens[start] {
            Token::Text(text) => self.code.interpolated(text),
            Token::Shell(text) if self.code.language == Language::Julia => self.code.interpolated(text),
            Token::Shell(_) => CodeValue::Text(Text::variable("output")),
            Token::Number(number) => CodeValue::known(number.clone()),
            Token::Name(name) if self.code.language == Language::Lisp => self.code.named(name),
            Token::Name(name) => self.name(name),
            Token::Sign('-') => match self.peek(0) {
                Some(Token::Number(number)) => {
                    let number = format!("-{number}");
                    self.at += 1;
                    CodeValue::known(number)
                }
                _ => CodeValue::Unknown,
            },
            Token::Sign('\'' | '#' | '`' | '\\') => self.primary(),
            Token::Sign(':') if self.code.language == Language::Lisp => self.primary(),
            Token::Sign('[') if self.is_sign(0, '|') => {
                // OCaml: `[|"a"; "b"|]`.
                let close = self.code.closing(self.at).min(self.end);
                let value = self.list(self.at + 1..close.saturating_sub(1));
                self.at = close + 1;
                value
            }
            Token::Sign('[') => {
                let close = self.code.closing(self.at).min(self.end);
                let value = self.list(self.at..close);
                self.at = close + 1;
                // `[]string{…}`.
                if matches!(&value, CodeValue::List(items) if items.is_empty())
                    && matches!(self.peek(0), Some(Token::Name(name)) if name == "string")
                {
                    self.at += 1;
                    return CodeValue::Named("string".to_owned());
                }
                value
            }
            Token::Sign('(') => {
                let close = self.code.closing(self.at).min(self.end);
                let inside = self.at..close;
                self.at = close + 1;
                if self.code.language == Language::Lisp { self.lisp(inside) } else { self.group(inside) }
            }
            Token::Sign('{') => {
                let close = self.code.closing(self.at).min(self.end);
                let inside = self.at..close;
                self.at = close + 1;
                self.map(inside)
            }
            Token::Sign(_) => CodeValue::Unknown,
        }
    }

    fn name(&mut self, name: &str) -> CodeValue {
        let value = self.code.named(name);
        // `reverse "text"`, `glob "/*"`, `join " ", "a", "b"`: a call without parentheses, as the last operand.
        let takes = matches!(self.peek(0), Some(Token::Text(_) | Token::Name(_))) && self.code.language.calls_bare();
        if takes
            && let CodeValue::Named(function) = &value
            && given::gives(function)
        {
            let arguments = self.code.arguments(self.at..self.end);
            self.at = self.end;
            return given::called(self.code, &value, &arguments);
        }
        if matches!(name, "shift" | "pop" | "gets" | "STDIN.gets" | "ARGF.read") && !self.is_sign(0, '(') {
            return given::called(self.code, &value, &[]);
        }
        value
    }

    fn group(&self, inside: Range<usize>) -> CodeValue {
        let parts = self.code.split(inside.clone());
        let ends_with_comma = inside.end > inside.start && self.code.tokens[inside.end - 1].is_sign(',');
        match parts.len() {
            0 => CodeValue::List(Vec::new()),
            1 if !ends_with_comma => self.code.value(inside),
            _ => self.list(inside),
        }
    }

    fn list(&self, inside: Range<usize>) -> CodeValue {
        let entries = self.code.split(inside);
        // PHP: `["key" => "value"]`.
        let is_map = |part: &Range<usize>| self.arrow_in(part).is_some();
        if self.code.language == Language::Php && entries.iter().any(is_map) {
            return self.entries(&entries);
        }
        let mut items = Vec::new();
        for argument in entries.into_iter().flat_map(|part| self.code.arguments(part)) {
            match argument.value {
                CodeValue::List(inner) if self.code.language == Language::Perl => items.extend(inner),
                value => items.push(value),
            }
        }
        CodeValue::List(items)
    }

    fn arrow_in(&self, part: &Range<usize>) -> Option<usize> {
        (part.start..part.end.saturating_sub(1))
            .find(|at| self.code.tokens[*at].is_sign('=') && self.code.tokens[*at + 1].is_sign('>'))
    }

    /// `{"key": value}`, `{key: value}`, `{key => value}`; without keys, a list.
    fn map(&self, inside: Range<usize>) -> CodeValue {
        let parts = self.code.split(inside);
        self.entries(&parts)
    }

    fn entries(&self, parts: &[Range<usize>]) -> CodeValue {
        let mut entries = Vec::new();
        let mut items = Vec::new();
        for part in parts {
            let start = (part.start..part.end).find(|at| !self.code.tokens[*at].is_sign('\n')).unwrap_or(part.end);
            let key = match self.code.tokens.get(start) {
                Some(Token::Name(name)) => Some(name.clone()),
                Some(Token::Text(text)) => text.as_known(),
                Some(Token::Number(number)) => Some(number.clone()),
                // `{["a"] = …}` of Lua.
                _ => None,
            };
            let behind = self.code.tokens.get(start + 1);
            let value_start = match (behind, self.code.tokens.get(start + 2)) {
                (Some(Token::Sign('=')), Some(Token::Sign('>'))) => Some(start + 3),
                (Some(Token::Sign(':' | '=')), _) => Some(start + 2),
                _ => None,
            };
            match (key, value_start.filter(|at| *at < part.end)) {
                (Some(key), Some(at)) => entries.push((key, self.code.value(at..part.end))),
                (Some(key), None) if start + 1 == part.end && matches!(self.code.tokens[start], Token::Name(_)) => {
                    let value = self.code.named(&key);
                    entries.push((key, value.clone()));
                    items.push(value);
                }
                _ => items.extend(self.code.arguments(part.clone()).into_iter().map(|argument| argument.value)),
            }
        }
        if entries.is_empty() || self.code.language == Language::Lua && !items.is_empty() {
            CodeValue::List(items)
        } else {
            CodeValue::Map(entries)
        }
    }

    /// `(list "a" "b")`, `("a" "b")`, `(concat "a" "b")`.
    fn lisp(&self, inside: Range<usize>) -> CodeValue {
        let Some(Token::Name(function)) = self.code.tokens.get(inside.start) else {
            return self.lisp_list(inside);
        };
        let arguments = self.code.arguments(inside.start + 1..inside.end);
        if matches!(function.as_str(), "list" | "vector" | "quote" | "vec") {
            let items: Vec<CodeValue> = arguments.into_iter().map(|argument| argument.value).collect();
            return match items.as_slice() {
                [CodeValue::List(inner)] => CodeValue::List(inner.clone()),
                _ => CodeValue::List(items),
            };
        }
        given::called(self.code, &CodeValue::Named(function.clone()), &arguments)
    }

    fn lisp_list(&self, inside: Range<usize>) -> CodeValue {
        CodeValue::List(self.code.arguments(inside).into_iter().map(|argument| argument.value).collect())
    }
}

impl Code<'_> {
    /// What a function of this code gives back.
    pub(super) fn returned(&self, index: usize, values: &[CodeValue]) -> CodeValue {
        let Some(function) = self.functions.all.get(index) else { return CodeValue::Unknown };
        if self.depth.get() >= DEEPEST {
            return CodeValue::Unknown;
        }
        let mut variables = self.variables.clone();
        function.bind(values, &[], &mut variables);
        let inner = Code {
            tokens: self.tokens,
            language: self.language,
            variables,
            stars: self.stars.clone(),
            functions: Rc::clone(&self.functions),
            around: Rc::clone(&self.around),
            depth: Rc::clone(&self.depth),
            work: Rc::clone(&self.work),
        };
        if function.is_expression {
            return inner.value(function.body.clone());
        }
        let returns = function.body.clone().filter(|at| self.tokens[*at].is_name("return")).take(3);
        let values: Vec<CodeValue> = returns.map(|at| inner.value(at + 1..inner.statement_end(at + 1))).collect();
        if values.is_empty() { CodeValue::Unknown } else { CodeValue::one_of(values) }
    }

    /// The parts of a range between a sign.
    fn split_at(&self, range: Range<usize>, sign: char) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let mut start = range.start;
        for at in range.clone() {
            if self.tokens[at].is_sign(sign) {
                parts.push(start..at);
                start = at + 1;
            }
        }
        parts.push(start..range.end);
        parts
    }
}

/// What an operator makes of two values.
enum Operator {
    Joins,
    Repeats,
    Formats,
    Path,
    Else,
    Chooses,
    If,
    For,
    Other,
}
