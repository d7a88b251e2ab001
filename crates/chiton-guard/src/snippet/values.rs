//! What the expressions in code say, as far as that can be told.

use std::collections::BTreeMap;
use std::ops::Range;

use super::calls::{self, Gives};
use super::lexer::Token;
use crate::decode;
use crate::machine::expand::patterned;
use crate::value::{Piece, Text, What};

/// What an expression is.
#[derive(Clone, Debug)]
pub(super) enum CodeValue {
    Text(Text),
    List(Vec<Text>),
}

/// Code as tokens, and what is known about its surroundings.
pub(super) struct Code<'c> {
    pub(super) tokens: &'c [Token],
    pub(super) variables: BTreeMap<String, CodeValue>,
    pub(super) home: String,
    pub(super) cwd: Option<&'c str>,
}

impl Code<'_> {
    /// Where the statement that goes on at `from` ends.
    pub(super) fn statement_end(&self, from: usize) -> usize {
        const ENDS: [&str; 9] = ["if", "unless", "while", "until", "for", "or", "and", "do", "rescue"];
        let mut open = 0_i32;
        for at in from..self.tokens.len() {
            open += opened_by(&self.tokens[at]);
            match &self.tokens[at] {
                _ if open < 0 => return at,
                Token::Sign(';' | '\n') if open == 0 => return at,
                Token::Name(word) if open == 0 && at > from && ENDS.contains(&word.as_str()) => return at,
                _ => {}
            }
        }
        self.tokens.len()
    }

    /// The arguments of a call whose parenthesis opened before `from`, and where it closes.
    pub(super) fn arguments(&self, from: usize) -> (Vec<Range<usize>>, usize) {
        let mut open = 0_i32;
        let closes = |at: &usize| {
            open += opened_by(&self.tokens[*at]);
            open < 0
        };
        let end = (from..self.tokens.len()).find(closes).unwrap_or(self.tokens.len());
        (self.split(from..end), end)
    }

    /// The parts of a range of tokens between its commas.
    pub(super) fn split(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let (mut open, mut start) = (0_i32, range.start);
        for at in range.start..range.end.min(self.tokens.len()) {
            open += opened_by(&self.tokens[at]);
            if open == 0 && matches!(self.tokens[at], Token::Sign(',')) {
                parts.push(start..at);
                start = at + 1;
            }
        }
        if start < range.end {
            parts.push(start..range.end);
        }
        parts
    }

    /// The value of an expression.
    pub(super) fn value(&self, range: Range<usize>) -> Option<CodeValue> {
        let all = self.tokens.get(range.clone())?;
        let skipped = all.iter().take_while(|token| matches!(token, Token::Sign('\n'))).count();
        let range = range.start + skipped..range.end;

        match &all[skipped..] {
            [] => None,
            [Token::Text(text)] => Some(CodeValue::Text(text.clone())),
            [Token::Text(text), Token::Name(method), Token::Sign('('), Token::Sign(')')] if method == ".split" => {
                Some(CodeValue::List(text.as_known()?.split_whitespace().map(Text::known).collect()))
            }
            [Token::Name(name), Token::Text(text)] if name == "glob" => {
                let mut pattern = Text::default();
                patterned(&text.display(), &mut pattern);
                Some(CodeValue::Text(pattern))
            }
            [Token::Number(number)] => Some(CodeValue::Text(Text::known(number.clone()))),
            [Token::Sign('-'), Token::Number(number)] => Some(CodeValue::Text(Text::known(format!("-{number}")))),
            [Token::Name(name)] => self.variable(name),
            [Token::Sign(open @ ('[' | '(')), .., Token::Sign(close)]
                if *close == closing(*open) && self.closes_at_end(&range) =>
            {
                let inside = range.start + 1..range.end - 1;
                let items: Vec<Text> = self.split(inside.clone()).into_iter().map(|item| self.text(item)).collect();
                if *open == '(' && items.len() == 1 { self.value(inside) } else { Some(CodeValue::List(items)) }
            }
            _ => self.combined(range),
        }
    }

    /// The text that an expression is; of a list, its first item.
    pub(super) fn text(&self, range: Range<usize>) -> Text {
        match self.value(range) {
            Some(CodeValue::Text(text)) => text,
            Some(CodeValue::List(items)) => items.into_iter().next().unwrap_or_default(),
            None => Text::unknown(What::Variable("expression".to_owned()), false),
        }
    }

    /// What the method whose name stands at `at` is called on.
    pub(super) fn receiver(&self, at: usize) -> Option<Text> {
        let mut open = 0_i32;
        for back in (0..at).rev() {
            match &self.tokens[back] {
                Token::Sign(')' | ']') => open += 1,
                Token::Sign('(' | '[') => {
                    open -= 1;
                    if open == 0 {
                        let named = back > 0 && matches!(self.tokens[back - 1], Token::Name(_));
                        return Some(self.text(back - usize::from(named)..at));
                    }
                }
                _ if open == 0 => return None,
                _ => {}
            }
        }
        None
    }

    fn variable(&self, name: &str) -> Option<CodeValue> {
        let is_home = ["process.env.HOME", "Dir.home", "$ENV", "os.homedir"].contains(&name);
        let known = self.variables.get(name.trim_start_matches('$')).cloned();
        known.or_else(|| is_home.then(|| CodeValue::Text(Text::known(self.home.clone()))))
    }

    /// Whether the bracket that opens a range closes at its very end.
    fn closes_at_end(&self, range: &Range<usize>) -> bool {
        self.arguments(range.start + 1).1 == range.end - 1
    }

    /// The value of something with an operator, or of a call.
    fn combined(&self, range: Range<usize>) -> Option<CodeValue> {
        match self.first_operator(&range) {
            Some((_, '|' | '?')) => None,
            Some((at, sign)) => {
                let mut joined = self.text(range.start..at);
                if sign == '/' {
                    joined.push(Piece::Known("/".to_owned()));
                }
                joined.append(&self.text(at + 1..range.end));
                Some(CodeValue::Text(joined))
            }
            None => self.called(&range),
        }
    }

    /// The first operator outside brackets that joins text or chooses between alternatives.
    fn first_operator(&self, range: &Range<usize>) -> Option<(usize, char)> {
        let mut open = 0_i32;
        for at in range.clone() {
            open += opened_by(&self.tokens[at]);
            match self.tokens[at] {
                Token::Sign(sign @ ('+' | '/' | '.')) if open == 0 && at > range.start => return Some((at, sign)),
                Token::Sign(sign @ ('|' | '?')) if open == 0 => return Some((at, sign)),
                _ => {}
            }
        }
        None
    }

    fn called(&self, range: &Range<usize>) -> Option<CodeValue> {
        let Token::Name(name) = &self.tokens[range.start] else { return None };
        let Some(Token::Sign('(' | '[' | '{')) = self.tokens.get(range.start + 1) else { return None };
        let (arguments, close) = self.arguments(range.start + 2);

        let after = close + 1;
        if after != range.end {
            // A method of what this gives, such as `Path.home().parent` or `b64decode(…).decode()`.
            let is_method = matches!(self.tokens.get(after), Some(Token::Name(name)) if name.starts_with('.'));
            let of_method = if is_method { self.combined(after..range.end) } else { None };
            return of_method.or_else(|| self.value(range.start..after));
        }
        self.given(calls::given_by(name)?, &arguments).map(CodeValue::Text)
    }

    /// What a call with these arguments gives back.
    fn given(&self, gives: Gives, arguments: &[Range<usize>]) -> Option<Text> {
        let texts = || arguments.iter().map(|argument| self.text(argument.clone()));
        let first = || texts().next().unwrap_or_default();
        Some(match gives {
            Gives::ExpandedPath => {
                let known = first().as_known()?;
                let tilde = usize::from(known.starts_with('~'));
                Text::known(known.replacen('~', &self.home, tilde).replace("$HOME", &self.home))
            }
            Gives::Home => Text::known(self.home.clone()),
            Gives::Variable => {
                // The key of a hash may do without quotes.
                let key = arguments.first().and_then(|argument| self.tokens.get(argument.start));
                let is_home = first().is("HOME") || matches!(key, Some(Token::Name(name)) if name == "HOME");
                return is_home.then(|| Text::known(self.home.clone()));
            }
            Gives::WorkingDirectory => Text::known(self.cwd?),
            Gives::Temporary => Text::unknown(What::Temporary, true),
            Gives::FirstArgument => first(),
            Gives::JoinedPath => joined_path(texts()),
            Gives::Characters => {
                let character = |text: Text| text.as_known()?.parse::<u32>().ok().and_then(char::from_u32);
                Text::known(texts().map(character).collect::<Option<String>>()?)
            }
            Gives::Base64 => Text::known(decode::base64(&first().as_known()?)?),
            Gives::Hexadecimal => Text::known(decode::hex(&first().as_known()?)?),
        })
    }
}

/// How many brackets a token opens: -1 if it closes one.
fn opened_by(token: &Token) -> i32 {
    match token {
        Token::Sign('(' | '[' | '{') => 1,
        Token::Sign(')' | ']' | '}') => -1,
        _ => 0,
    }
}

fn closing(bracket: char) -> char {
    if bracket == '[' { ']' } else { ')' }
}

/// A path of parts; one that begins at the root replaces what stands before it.
fn joined_path(parts: impl Iterator<Item = Text>) -> Text {
    let mut joined = Text::default();
    for (index, part) in parts.enumerate() {
        if index > 0 && part.known_start().starts_with('/') {
            joined = Text::default();
        } else if index > 0 {
            joined.push(Piece::Known("/".to_owned()));
        }
        joined.append(&part);
    }
    joined
}
