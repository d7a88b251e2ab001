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

    pub(super) fn is_sign(&self, sign: char) -> bool {
        matches!(self, Self::Sign(own) if *own == sign)
    }

    pub(super) fn is_name(&self, name: &str) -> bool {
        self.as_name() == Some(name)
    }
}

/// Tokens beyond this are left out.
const MOST: usize = 20_000;

/// Code as tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tokens {
    pub(crate) all: Vec<Token>,
    /// For each token that is the first of its line, its column, counted from 1; for others 0.
    pub(super) columns: Vec<usize>,
}

/// The tokens of `code`.
pub(crate) fn tokens(code: &str, language: Language) -> Vec<Token> {
    read(code, language).all
}

/// The tokens of `code`, and where they stand.
pub(super) fn read(code: &str, language: Language) -> Tokens {
    let mut reader = CodeReader {
        code: code.chars().collect(),
        at: 0,
        line: 0,
        language,
        tokens: Vec::new(),
        columns: Vec::new(),
        open: Vec::new(),
    };
    while reader.at < reader.code.len() && reader.tokens.len() < MOST {
        let (before, start) = (reader.tokens.len(), reader.at);
        reader.next();
        let is_first =
            reader.columns.is_empty() || matches!(reader.tokens.get(before.wrapping_sub(1)), Some(Token::Sign('\n')));
        while reader.columns.len() < reader.tokens.len() {
            let column =
                if is_first && reader.columns.len() == before { start - reader.line.min(start) + 1 } else { 0 };
            reader.columns.push(column);
        }
        if reader.tokens.len() > before && reader.tokens.last().is_some_and(|token| token.is_sign('\n')) {
            reader.line = reader.at;
        }
    }
    Tokens { all: reader.tokens, columns: reader.columns }
}

pub(super) struct CodeReader {
    pub(super) code: Vec<char>,
    pub(super) at: usize,
    /// Where the current line begins.
    line: usize,
    pub(super) language: Language,
    pub(super) tokens: Vec<Token>,
    columns: Vec<usize>,
    /// Brackets that are open: in round and square ones a line end means nothing.
    open: Vec<char>,
}

impl CodeReader {
    pub(super) fn peek(&self, distance: usize) -> char {
        self.code.get(self.at + distance).copied().unwrap_or('\0')
    }

    fn is_here(&self, mark: &str) -> bool {
        mark.chars().enumerate().all(|(distance, sign)| self.peek(distance) == sign)
    }

    fn next(&mut self) {
        if self.skip_comment() {
            return;
        }
        let character = self.peek(0);
        match character {
            ' ' | '\t' | '\r' => self.at += 1,
            '\\' if self.peek(1) == '\n' => self.at += 2,
            '\n' if matches!(self.open.last(), Some('(' | '[')) => self.at += 1,
            '\n' if self.open.last() == Some(&'{') && self.language == Language::Python => self.at += 1,
            '/' if self.has_patterns() && self.starts_pattern() => self.skip_pattern(),
            _ if self.starts_string() => self.string(),
            _ if self.starts_name(character) => self.name(),
            _ if character.is_ascii_digit() => self.number(),
            _ => self.sign(character),
        }
    }

    fn sign(&mut self, character: char) {
        match character {
            '(' | '[' | '{' => self.open.push(character),
            ')' | ']' | '}' => drop(self.open.pop()),
            _ => {}
        }
        self.tokens.push(Token::Sign(character));
        self.at += 1;
    }

    fn skip_comment(&mut self) -> bool {
        if let Some((begin, end)) = self.language.block_comment()
            && self.is_here(begin)
        {
            self.at += begin.len();
            while self.at < self.code.len() && !self.is_here(end) {
                self.at += 1;
            }
            self.at += end.len();
            return true;
        }
        let is_comment = self.language.line_comments().iter().any(|mark| self.is_here(mark));
        // `$#x`, `#{x}` and Lua's `#x` are not comments; Perl writes patterns with `#`, too.
        let is_part = self.peek(0) == '#' && (self.peek(1) == '{' || self.at > 0 && self.code[self.at - 1] == '$');
        if !is_comment || is_part {
            return false;
        }
        while self.at < self.code.len() && self.peek(0) != '\n' {
            self.at += 1;
        }
        true
    }

    fn has_patterns(&self) -> bool {
        matches!(
            self.language,
            Language::JavaScript | Language::Perl | Language::Ruby | Language::Awk | Language::Elixir
        )
    }

    /// Whether a slash here opens a regular expression rather than divides.
    fn starts_pattern(&self) -> bool {
        let opens = match self.tokens.last() {
            None => true,
            Some(Token::Sign(sign)) => !matches!(sign, ')' | ']' | '}'),
            Some(Token::Name(name)) => {
                matches!(name.as_str(), "if" | "unless" | "and" | "or" | "not" | "return" | "split" | "grep" | "when")
            }
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

    pub(super) fn in_name(&self) -> bool {
        self.at > 0
            && (self.code[self.at - 1].is_alphanumeric()
                || matches!(self.code[self.at - 1], '_' | '$' | '.' | ':' | '@'))
    }

    fn starts_name(&self, character: char) -> bool {
        let next = self.peek(1);
        match character {
            '_' | '$' | '@' => true,
            '.' => {
                let is_method = next.is_alphabetic() || next == '_';
                let behind = matches!(
                    self.tokens.last(),
                    Some(Token::Sign(')' | ']' | '}') | Token::Text(_) | Token::Shell(_) | Token::Name(_))
                );
                // A chain may go on in the next line.
                let behind_line = matches!(self.tokens.last(), Some(Token::Sign('\n')));
                let is_operator = next == '!' && self.language == Language::Braces;
                let joins_text = matches!(self.language, Language::Php | Language::Perl);
                (is_method && (behind || behind_line) || is_operator && behind) && !joins_text
            }
            ':' if self.language == Language::Lua => {
                next.is_alphabetic() && matches!(self.tokens.last(), Some(Token::Sign(')') | Token::Text(_)))
            }
            '-' => next == '>' && matches!(self.tokens.last(), Some(Token::Sign(')' | ']' | '}'))),
            '!' if self.language == Language::Braces => {
                // Scala: `"command".!` and `"command" !`.
                matches!(self.tokens.last(), Some(Token::Text(_))) && next != '='
            }
            other if self.language == Language::Lisp => is_lisp_name(other) && !other.is_ascii_digit(),
            other => other.is_alphabetic(),
        }
    }

    fn name(&mut self) {
        let mut name = String::new();
        if self.peek(0) == '!' || self.peek(0) == '.' && self.peek(1) == '!' {
            while matches!(self.peek(0), '!' | '.') {
                self.at += 1;
            }
            self.tokens.push(Token::Name(".execute".to_owned()));
            self.tokens.extend([Token::Sign('('), Token::Sign(')')]);
            return;
        }
        loop {
            let character = self.peek(0);
            let next = self.peek(1);
            let starts = next.is_alphabetic() || next == '_';
            let joins = match character {
                _ if self.language == Language::Lisp => is_lisp_name(character),
                '.' => starts || name.is_empty() && next != '.',
                '?' => next == '.' && self.language == Language::JavaScript,
                '!' => self.language == Language::Elixir && next == '(',
                ':' => {
                    next == ':'
                        || name.ends_with(':')
                        || starts && name.is_empty()
                        || starts && matches!(self.language, Language::Erlang | Language::Lua) && !name.is_empty()
                }
                '-' => next == '>',
                '>' => name.ends_with('-'),
                '\\' => self.language == Language::Php && starts && !name.starts_with('$'),
                '$' | '@' | '_' => true,
                other => other.is_alphanumeric(),
            };
            if !joins {
                break;
            }
            if character != '?' && character != '!' {
                name.push(character);
            }
            self.at += 1;
        }
        if name.is_empty() || name == "." {
            self.at += usize::from(name.is_empty());
            return;
        }
        if self.prefixed_string(&name) {
            return;
        }
        self.tokens.push(Token::Name(plain(name)));
    }

    fn number(&mut self) {
        let mut number = String::new();
        while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == '_' {
            if self.peek(0) != '_' {
                number.push(self.peek(0));
            }
            self.at += 1;
        }
        let radix =
            |start: &str, radix| number.strip_prefix(start).and_then(|digits| u64::from_str_radix(digits, radix).ok());
        let value =
            radix("0x", 16).or_else(|| radix("0o", 8)).or_else(|| radix("0b", 2)).map(|value| value.to_string());
        self.tokens.push(Token::Number(value.unwrap_or(number)));
    }

    /// Adds a string; in Python and C, strings that follow each other are one.
    pub(super) fn push_text(&mut self, text: Text) {
        let joins = matches!(self.language, Language::Python | Language::Braces);
        match self.tokens.last_mut() {
            Some(Token::Text(before)) if joins => before.append(&text),
            _ => self.tokens.push(Token::Text(text)),
        }
    }
}

/// Arrows and colons between the parts of a name become dots.
fn plain(name: String) -> String {
    let joined = if name.contains(['>', ':', '\\']) {
        name.replace("->", ".").replace("::", ".").replace('\\', ".")
    } else {
        name
    };
    match joined.strip_prefix(':') {
        Some(method) => format!(".{method}"),
        None => joined.trim_end_matches('.').to_owned(),
    }
}

fn is_lisp_name(character: char) -> bool {
    character.is_alphanumeric() || "-_+*/<>=!?.:%&$~^".contains(character)
}

/// A stretch that the code does not decide.
pub(super) fn unknown(name: &str) -> Piece {
    Piece::Unknown(Unknown { what: What::Variable(name.to_owned()), filled: false })
}
