//! Code of scripting languages as tokens: enough to see which calls it makes with which text.

use super::Language;
use crate::value::{Piece, Text, Unknown, What};

/// A piece of code.
#[derive(Clone, Debug)]
pub(crate) enum Token {
    /// A name with its dots: `os.path.join`; one that starts with a dot is called on what stands before it.
    Name(String),
    /// A string.
    Text(Text),
    /// A string that a shell runs: backticks in Perl, Ruby and PHP.
    Shell(Text),
    /// A number.
    Number(String),
    /// Anything else; a line end is one too.
    Sign(char),
}

impl Token {
    /// The name that it is.
    pub(crate) fn as_name(&self) -> Option<&str> {
        if let Self::Name(name) = self { Some(name) } else { None }
    }
}

/// Tokens beyond this are left out.
const MOST: usize = 20_000;

/// The tokens of `code`.
pub(crate) fn tokens(code: &str, language: Language) -> Vec<Token> {
    let mut reader = CodeReader { code: code.chars().collect(), at: 0, language, tokens: Vec::new() };
    while reader.at < reader.code.len() && reader.tokens.len() < MOST {
        reader.next();
    }
    reader.tokens
}

struct CodeReader {
    code: Vec<char>,
    at: usize,
    language: Language,
    tokens: Vec<Token>,
}

impl CodeReader {
    fn peek(&self, distance: usize) -> char {
        self.code.get(self.at + distance).copied().unwrap_or('\0')
    }

    fn next(&mut self) {
        let character = self.peek(0);
        let comments_by_slashes = matches!(self.language, Language::JavaScript | Language::Php);
        let has_patterns = !matches!(self.language, Language::Python | Language::Lua);
        match character {
            ' ' | '\t' | '\r' => self.at += 1,
            '#' if self.language != Language::JavaScript && self.peek(1) != '{' => self.skip_line(),
            '/' if comments_by_slashes && self.peek(1) == '/' => self.skip_line(),
            '-' if self.language == Language::Lua && self.peek(1) == '-' => self.skip_line(),
            '/' if has_patterns && self.starts_pattern() => self.skip_pattern(),
            '"' | '\'' => self.string(character, character == '"'),
            '`' if self.language == Language::JavaScript => self.string('`', true),
            '`' => self.backticks(),
            '%' if self.language == Language::Ruby && self.peek(1) == 'x' && !self.peek(2).is_alphanumeric() => {
                self.at += 2;
                let text = self.delimited();
                self.tokens.push(Token::Shell(text));
            }
            'q' if self.language == Language::Perl
                && matches!(self.peek(1), 'x' | 'q' | 'w' | '(' | '{' | '/' | '[')
                && !self.in_name() =>
            {
                self.perl_quote();
            }
            _ if character.is_alphabetic() || character == '_' || character == '$' || character == '@' => self.name(),
            '.' if self.peek(1).is_alphabetic()
                && matches!(self.tokens.last(), Some(Token::Sign(')' | ']' | '}') | Token::Text(_)))
                && self.language != Language::Php =>
            {
                self.name();
            }
            _ if character.is_ascii_digit() => self.number(),
            _ => {
                self.tokens.push(Token::Sign(character));
                self.at += 1;
            }
        }
    }

    /// Whether a slash here opens a regular expression rather than divides.
    fn starts_pattern(&self) -> bool {
        let opens = match self.tokens.last() {
            None => true,
            Some(Token::Sign(sign)) => !matches!(sign, ')' | ']' | '}'),
            Some(_) => false,
        };
        let line = self.code[self.at + 1..].iter().take_while(|character| **character != '\n');
        opens && line.clone().any(|character| *character == '/')
    }

    fn skip_pattern(&mut self) {
        self.at += 1;
        while self.at < self.code.len() && !matches!(self.peek(0), '/' | '\n') {
            self.at += 1 + usize::from(self.peek(0) == '\\');
        }
        self.at += 1;
        self.tokens.push(Token::Number("0".to_owned()));
    }

    fn in_name(&self) -> bool {
        self.at > 0
            && (self.code[self.at - 1].is_alphanumeric() || matches!(self.code[self.at - 1], '_' | '$' | '.' | ':'))
    }

    fn skip_line(&mut self) {
        while self.at < self.code.len() && self.peek(0) != '\n' {
            self.at += 1;
        }
    }

    fn name(&mut self) {
        let mut name = String::new();
        loop {
            let character = self.peek(0);
            let joins = match character {
                '.' => self.peek(1).is_alphabetic() || self.peek(1) == '_' || name.is_empty(),
                ':' => self.peek(1) == ':' || name.ends_with(':'),
                '-' => self.peek(1) == '>',
                '>' => name.ends_with('-'),
                '$' | '@' | '_' => true,
                '?' | '!' => false,
                other => other.is_alphanumeric(),
            };
            if !joins {
                break;
            }
            name.push(character);
            self.at += 1;
        }
        if name.is_empty() {
            self.at += 1;
            return;
        }
        // `f"…"`, `r'…'`, `b"…"`.
        if matches!(self.peek(0), '"' | '\'')
            && name.len() <= 2
            && name.chars().all(|letter| "rRbBfFuU".contains(letter))
            && self.language == Language::Python
        {
            let quote = self.peek(0);
            let expands = name.contains(['f', 'F']);
            self.python_string(quote, expands, name.contains(['r', 'R']));
            return;
        }
        self.tokens.push(Token::Name(name));
    }

    fn number(&mut self) {
        let mut number = String::new();
        while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == '_' {
            number.push(self.peek(0));
            self.at += 1;
        }
        let value =
            number.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok()).map(|value| value.to_string());
        self.tokens.push(Token::Number(value.unwrap_or(number)));
    }

    fn string(&mut self, quote: char, expands: bool) {
        if self.language == Language::Python {
            self.python_string(quote, false, false);
            return;
        }
        self.at += 1;
        let text = self.until(quote, expands, false);
        self.tokens.push(Token::Text(text));
    }

    fn python_string(&mut self, quote: char, expands: bool, raw: bool) {
        let triple = self.peek(1) == quote && self.peek(2) == quote;
        self.at += if triple { 3 } else { 1 };
        let mut text = Text::default();
        if triple {
            let mut inner = String::new();
            while self.at < self.code.len()
                && !(self.peek(0) == quote && self.peek(1) == quote && self.peek(2) == quote)
            {
                inner.push(self.peek(0));
                self.at += 1;
            }
            self.at += 3;
            text.push(Piece::Known(inner));
        } else {
            text = self.until(quote, expands, raw);
        }
        // Strings that follow each other are one.
        if let Some(Token::Text(before)) = self.tokens.last_mut() {
            before.append(&text);
        } else {
            self.tokens.push(Token::Text(text));
        }
    }

    fn backticks(&mut self) {
        self.at += 1;
        let text = self.until('`', true, false);
        self.tokens.push(Token::Shell(text));
    }

    fn perl_quote(&mut self) {
        let kind = self.peek(1);
        self.at += if kind.is_alphabetic() { 2 } else { 1 };
        let text = self.delimited();
        match kind {
            'x' => self.tokens.push(Token::Shell(text)),
            'w' => {
                self.tokens.push(Token::Sign('('));
                for word in text.display().split_whitespace() {
                    self.tokens.push(Token::Text(Text::known(word)));
                    self.tokens.push(Token::Sign(','));
                }
                self.tokens.push(Token::Sign(')'));
            }
            _ => self.tokens.push(Token::Text(text)),
        }
    }

    /// Text between delimiters of its own choice.
    fn delimited(&mut self) -> Text {
        let open = self.peek(0);
        let close = match open {
            '(' => ')',
            '{' => '}',
            '[' => ']',
            '<' => '>',
            other => other,
        };
        self.at += 1;
        self.until(close, true, false)
    }

    /// Text up to `close`; what is interpolated is unknown.
    fn until(&mut self, close: char, expands: bool, raw: bool) -> Text {
        let mut text = Text::default();
        let mut known = String::new();
        while self.at < self.code.len() {
            let character = self.peek(0);
            self.at += 1;
            if character == close {
                break;
            }
            let interpolates = expands
                && match (self.language, character, self.peek(0)) {
                    (Language::JavaScript, '$', '{') | (Language::Ruby, '#', '{') | (Language::Python, '{', _) => true,
                    (Language::Perl | Language::Php, '$', next) => next.is_alphabetic() || next == '{',
                    _ => false,
                };
            if interpolates {
                text.push(Piece::Known(std::mem::take(&mut known)));
                let name = self.interpolation(character);
                text.push(Piece::Unknown(Unknown { what: What::Variable(name), filled: false }));
            } else if character == '\\' && !raw && self.at < self.code.len() {
                known.push(self.escape());
            } else {
                known.push(character);
            }
        }
        text.push(Piece::Known(known));
        text
    }

    fn interpolation(&mut self, first: char) -> String {
        let mut name = String::new();
        if self.peek(0) == '{' || first == '{' {
            let mut open = i32::from(first == '{');
            while self.at < self.code.len() {
                let character = self.peek(0);
                self.at += 1;
                open += match character {
                    '{' => 1,
                    '}' => -1,
                    _ => 0,
                };
                if open == 0 {
                    break;
                }
                name.push(character);
            }
            return name.trim_matches(['{', '}']).to_owned();
        }
        while self.peek(0).is_alphanumeric() || self.peek(0) == '_' {
            name.push(self.peek(0));
            self.at += 1;
        }
        name
    }

    fn escape(&mut self) -> char {
        let letter = self.peek(0);
        self.at += 1;
        let digits = match letter {
            'n' => return '\n',
            't' => return '\t',
            'x' => 2,
            'u' => 4,
            other => return other,
        };
        let hex: String =
            self.code[self.at..].iter().take(digits).take_while(|digit| digit.is_ascii_hexdigit()).collect();
        self.at += hex.len();
        u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32).unwrap_or('?')
    }
}
