//! Functions that code defines: their names, their parameters and where their bodies stand.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::Language;
use super::lexer::{Token, Tokens};
use super::values::{Argument, CodeValue, bare, opened_by};
use crate::value::Text;

/// A function of the code.
#[derive(Clone, Debug)]
pub(super) struct Defined {
    pub(super) name: Option<String>,
    pub(super) parameters: Vec<String>,
    /// The parameter that takes all that are left.
    pub(super) gathers: Option<usize>,
    pub(super) body: Range<usize>,
    /// Where it ends, with what closes it.
    pub(super) end: usize,
    /// Whether the body is one expression, which it gives back.
    pub(super) is_expression: bool,
}

impl Defined {
    /// Gives the parameters their values.
    pub(super) fn bind(&self, values: &[CodeValue], keyed: &[Argument], variables: &mut BTreeMap<String, CodeValue>) {
        for (at, parameter) in self.parameters.iter().enumerate() {
            let value = if self.gathers == Some(at) {
                CodeValue::List(values.get(at..).unwrap_or_default().to_vec())
            } else {
                values.get(at).cloned().unwrap_or_else(|| CodeValue::Text(Text::variable(parameter)))
            };
            variables.insert(parameter.clone(), value);
        }
        for argument in keyed {
            if let Some(key) = argument.key.as_ref().filter(|key| self.parameters.contains(key)) {
                variables.insert(key.clone(), argument.value.clone());
            }
        }
    }
}

/// The functions of the code.
#[derive(Clone, Debug, Default)]
pub(super) struct Functions {
    pub(super) all: Vec<Defined>,
    pub(super) by_start: HashMap<usize, usize>,
    pub(super) by_name: HashMap<String, usize>,
}

/// Functions beyond this are not told apart.
const MOST: usize = 200;

impl Functions {
    pub(super) fn of(tokens: &Tokens, language: Language) -> Self {
        let mut functions = Self::default();
        let finder = Finder { tokens: &tokens.all, columns: &tokens.columns, language };
        let mut at = 0;
        while at < tokens.all.len() && functions.all.len() < MOST {
            if let Some(defined) = finder.function_at(at) {
                let index = functions.all.len();
                if let Some(name) = &defined.name {
                    functions.by_name.insert(name.clone(), index);
                }
                functions.by_start.insert(at, index);
                functions.all.push(defined);
            }
            at += 1;
        }
        functions
    }

    /// No functions, for tokens that stand elsewhere.
    pub(super) fn without_places() -> Self {
        Self { all: Vec::new(), by_start: HashMap::new(), by_name: HashMap::new() }
    }
}

struct Finder<'f> {
    tokens: &'f [Token],
    columns: &'f [usize],
    language: Language,
}

impl Finder<'_> {
    fn sign(&self, at: usize, sign: char) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_sign(sign))
    }

    fn closing(&self, from: usize) -> usize {
        let mut open = 0_i32;
        for at in from..self.tokens.len() {
            open += opened_by(&self.tokens[at]);
            if open < 0 {
                return at;
            }
        }
        self.tokens.len()
    }

    fn function_at(&self, at: usize) -> Option<Defined> {
        let word = self.tokens.get(at).and_then(Token::as_name);
        match (self.language, word) {
            (Language::Python, Some("def")) => self.python(at),
            (Language::Python, Some("lambda")) => self.lambda(at),
            (Language::Ruby | Language::Elixir | Language::Julia, Some("def" | "defp" | "function")) => {
                Some(self.until_end(at))
            }
            (Language::Lua, Some("function")) => Some(self.until_end(at)),
            (Language::Perl, Some("sub")) => self.perl(at),
            (Language::JavaScript | Language::Php | Language::R, Some("function" | "fn")) => self.braced(at),
            (Language::JavaScript, _) => self.arrow(at),
            (Language::Ruby, _) if self.sign(at, '-') && self.sign(at + 1, '>') => self.ruby_lambda(at),
            _ => None,
        }
    }

    /// The names between parentheses that open at `at`, and where they close.
    fn parameters(&self, at: usize) -> (Vec<String>, Option<usize>, usize) {
        let close = self.closing(at + 1);
        let mut names = Vec::new();
        let mut gathers = None;
        let mut is_new = true;
        let mut open = 0_i32;
        for token in &self.tokens[at + 1..close] {
            open += opened_by(token);
            match token {
                Token::Sign(',') if open == 0 => is_new = true,
                Token::Sign('*' | '.') if is_new && open == 0 => gathers = gathers.or(Some(names.len())),
                Token::Name(name) if is_new && !matches!(name.as_str(), "string" | "array" | "int" | "final") => {
                    names.push(bare(name.trim_start_matches('.')).to_owned());
                    is_new = false;
                }
                _ => {}
            }
        }
        (names, gathers, close)
    }

    fn name_at(&self, at: usize) -> Option<String> {
        self.tokens
            .get(at)
            .and_then(Token::as_name)
            .map(|name| bare(name).rsplit('.').next().unwrap_or_default().to_owned())
    }

    fn python(&self, at: usize) -> Option<Defined> {
        let name = self.name_at(at + 1)?;
        if !self.sign(at + 2, '(') {
            return None;
        }
        let (mut parameters, mut gathers, close) = self.parameters(at + 2);
        if parameters.first().is_some_and(|first| first == "self" || first == "cls") {
            parameters.remove(0);
            gathers = gathers.map(|at| at.saturating_sub(1));
        }
        let colon = (close..self.tokens.len()).find(|at| self.sign(*at, ':'))?;
        let own = self.line_column(at);
        let end = if self.sign(colon + 1, '\n') {
            (colon + 2..self.tokens.len())
                .find(|at| self.columns[*at] != 0 && self.columns[*at] <= own && !self.sign(*at, '\n'))
                .unwrap_or(self.tokens.len())
        } else {
            (colon + 1..self.tokens.len()).find(|at| self.sign(*at, '\n')).unwrap_or(self.tokens.len())
        };
        Some(Defined { name: Some(name), parameters, gathers, body: colon + 1..end, end, is_expression: false })
    }

    /// The column of the first token in the line of `at`.
    fn line_column(&self, at: usize) -> usize {
        (0..=at).rev().map(|at| self.columns[at]).find(|column| *column != 0).unwrap_or(1)
    }

    fn lambda(&self, at: usize) -> Option<Defined> {
        let colon = (at + 1..self.tokens.len().min(at + 40)).find(|at| self.sign(*at, ':'))?;
        let parameters: Vec<String> =
            self.tokens[at + 1..colon].iter().filter_map(Token::as_name).map(|name| bare(name).to_owned()).collect();
        let gathers = self.tokens[at + 1..colon].iter().position(|token| token.is_sign('*'));
        let end = self.expression_end(colon + 1);
        let name = self.assigned_name(at);
        Some(Defined { name, parameters, gathers, body: colon + 1..end, end, is_expression: true })
    }

    /// `name = lambda …`, `const name = …`.
    fn assigned_name(&self, at: usize) -> Option<String> {
        let equals = at.checked_sub(1)?;
        if self.sign(equals, '=') { self.name_at(equals.checked_sub(1)?) } else { None }
    }

    fn expression_end(&self, from: usize) -> usize {
        let mut open = 0_i32;
        for at in from..self.tokens.len() {
            open += opened_by(&self.tokens[at]);
            if open < 0 || open == 0 && matches!(self.tokens[at], Token::Sign(',' | ';' | '\n')) && at > from {
                return at;
            }
        }
        self.tokens.len()
    }

    /// `def name(parameters) … end`: what opens must close.
    fn until_end(&self, at: usize) -> Defined {
        let is_named = matches!(self.tokens.get(at + 1), Some(Token::Name(_)));
        let name = if is_named { self.name_at(at + 1) } else { self.assigned_name(at) };
        let open = at + 1 + usize::from(is_named);
        let (parameters, gathers, close) = if self.sign(open, '(') {
            self.parameters(open)
        } else {
            let line = (open..self.tokens.len()).take_while(|at| !self.sign(*at, '\n') && !self.sign(*at, ';'));
            let names =
                line.clone().filter_map(|at| self.tokens[at].as_name()).map(|name| bare(name).to_owned()).collect();
            (names, None, line.last().unwrap_or(open.saturating_sub(1)))
        };
        let mut depth = 1_i32;
        let mut end = self.tokens.len();
        for inner in close + 1..self.tokens.len() {
            let Some(word) = self.tokens[inner].as_name() else { continue };
            let is_first = self.columns[inner] != 0 || self.sign(inner - 1, ';') || self.sign(inner - 1, '=');
            depth += match word {
                "end" => -1,
                "do" | "function" | "def" | "begin" | "class" | "module" => 1,
                "if" if self.language == Language::Lua => 1,
                "if" | "unless" | "case" if is_first => 1,
                _ => 0,
            };
            if depth == 0 {
                end = inner;
                break;
            }
        }
        Defined {
            name,
            parameters,
            gathers,
            body: close + 1..end,
            end: (end + 1).min(self.tokens.len()),
            is_expression: false,
        }
    }

    fn perl(&self, at: usize) -> Option<Defined> {
        let open = (at + 1..(at + 8).min(self.tokens.len())).find(|at| self.sign(*at, '{'))?;
        let close = self.closing(open + 1);
        let name = if open > at + 1 { self.name_at(at + 1) } else { self.assigned_name(at) };
        let end = (close + 1).min(self.tokens.len());
        Some(Defined {
            name,
            parameters: vec!["_".to_owned()],
            gathers: Some(0),
            body: open + 1..close,
            end,
            is_expression: false,
        })
    }

    /// `function name(parameters) { … }`, and of R `function(parameters) expression`.
    fn braced(&self, at: usize) -> Option<Defined> {
        let is_named = matches!(self.tokens.get(at + 1), Some(Token::Name(_)));
        let open = at + 1 + usize::from(is_named) + usize::from(self.sign(at + 1, '*'));
        if !self.sign(open, '(') {
            return None;
        }
        let name = if is_named {
            self.name_at(at + 1)
        } else if self.language == Language::R && at >= 3 && self.sign(at - 1, '-') && self.sign(at - 2, '<') {
            self.name_at(at - 3)
        } else {
            self.assigned_name(at)
        };
        let (parameters, gathers, close) = self.parameters(open);
        let brace = (close + 1..(close + 12).min(self.tokens.len())).find(|at| self.sign(*at, '{'));
        let is_arrow = self.sign(close + 1, '=') && self.sign(close + 2, '>');
        match brace {
            Some(brace) if !is_arrow => {
                let end = self.closing(brace + 1);
                let after = (end + 1).min(self.tokens.len());
                Some(Defined { name, parameters, gathers, body: brace + 1..end, end: after, is_expression: false })
            }
            _ => {
                let start = if is_arrow { close + 3 } else { close + 1 };
                let end = self.expression_end(start);
                Some(Defined { name, parameters, gathers, body: start..end, end, is_expression: true })
            }
        }
    }

    /// `x => …` and `(x, y) => …`.
    fn arrow(&self, at: usize) -> Option<Defined> {
        let (parameters, gathers, last) = match self.tokens.get(at)? {
            Token::Name(name) if self.sign(at + 1, '=') && self.sign(at + 2, '>') => (vec![name.clone()], None, at),
            Token::Sign('(') => {
                let close = self.closing(at + 1);
                if !self.sign(close + 1, '=') || !self.sign(close + 2, '>') {
                    return None;
                }
                self.parameters(at)
            }
            _ => return None,
        };
        let start = last + 3;
        let is_async = at > 0 && self.tokens[at - 1].is_name("async");
        let name = self.assigned_name(at - usize::from(is_async));
        if self.sign(start, '{') {
            let close = self.closing(start + 1);
            let end = (close + 1).min(self.tokens.len());
            return Some(Defined { name, parameters, gathers, body: start + 1..close, end, is_expression: false });
        }
        let end = self.expression_end(start);
        Some(Defined { name, parameters, gathers, body: start..end, end, is_expression: true })
    }

    /// `->(x) { … }`.
    fn ruby_lambda(&self, at: usize) -> Option<Defined> {
        let (parameters, gathers, last) =
            if self.sign(at + 2, '(') { self.parameters(at + 2) } else { (Vec::new(), None, at + 1) };
        let open = last + 1;
        if !self.sign(open, '{') {
            return None;
        }
        let close = self.closing(open + 1);
        let end = (close + 1).min(self.tokens.len());
        Some(Defined {
            name: self.assigned_name(at),
            parameters,
            gathers,
            body: open + 1..close,
            end,
            is_expression: false,
        })
    }
}
