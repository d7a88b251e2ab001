//! Strings in code: which quotes a language has, what they expand and which of them a shell runs.

use super::Language;
use super::lexer::{CodeReader, Token, unknown};
use crate::value::{Piece, Text};

/// What a string does with what is in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// Everything stands for itself.
    Raw,
    /// Backslashes protect.
    Escapes,
    /// Backslashes protect, and expressions in it are replaced.
    Expands,
}

impl CodeReader {
    /// Whether a string begins here.
    pub(super) fn starts_string(&self) -> bool {
        let next = self.peek(1);
        let behind_value =
            matches!(self.tokens.last(), Some(Token::Name(_) | Token::Number(_) | Token::Sign(')' | ']' | '}' | '\'')));
        match self.peek(0) {
            '"' => true,
            '\'' => match self.language {
                Language::Lisp => false,
                Language::Haskell | Language::Ocaml => !self.in_name() && self.peek(2) == '\'',
                Language::Octave => !behind_value || self.code.get(self.at.wrapping_sub(1)) == Some(&' '),
                Language::Braces => {
                    self.code[self.at + 1..].iter().take_while(|sign| **sign != '\n').any(|sign| *sign == '\'')
                }
                _ => true,
            },
            '`' => !matches!(self.language, Language::Lisp | Language::R | Language::Haskell),
            '%' if self.language == Language::Ruby => {
                let delimiter = if next.is_alphabetic() { self.peek(2) } else { next };
                "xwWqQiI".contains(next) && "({[<|!/".contains(delimiter) || "({[|!".contains(next) && !behind_value
            }
            'q' if matches!(self.language, Language::Perl) => self.is_perl_quote(),
            '[' if self.language == Language::Lua => next == '[',
            '<' if self.language == Language::Perl => self.is_perl_list_or_input(),
            '~' if self.language == Language::Elixir => "cswS".contains(next) && "\"'({[|/".contains(self.peek(2)),
            ':' if matches!(self.language, Language::Ruby | Language::Elixir) => {
                (next.is_alphabetic() || next == '"')
                    && !(self.at > 0 && (self.code[self.at - 1] == ':' || self.code[self.at - 1].is_alphanumeric()))
            }
            _ => false,
        }
    }

    pub(super) fn string(&mut self) {
        match (self.language, self.peek(0)) {
            (Language::Python, quote) => self.python_string(quote, Inside::Escapes),
            (Language::JavaScript, '`') => {
                let is_shell = matches!(self.tokens.last(), Some(Token::Name(name)) if matches!(name.as_str(), "$" | "Bun.$" | "sh"));
                self.at += 1;
                let text = self.until('`', Inside::Expands);
                self.tokens.push(if is_shell { Token::Shell(text) } else { Token::Text(text) });
            }
            (Language::Braces, '`') => {
                self.at += 1;
                let text = self.until('`', Inside::Raw);
                self.push_text(text);
            }
            (Language::Ocaml | Language::Erlang | Language::AppleScript | Language::Awk, '`') => {
                self.tokens.push(Token::Sign('`'));
                self.at += 1;
            }
            (_, '`') => {
                self.at += 1;
                let text = self.until('`', Inside::Expands);
                self.tokens.push(Token::Shell(text));
            }
            (Language::Ruby, '%') => self.ruby_quote(),
            (Language::Perl, 'q') => self.perl_quote(),
            (Language::Perl, '<') => self.perl_list_or_input(),
            (Language::Lua, '[') => {
                self.at += 2;
                let text = self.until(']', Inside::Raw);
                self.at += usize::from(self.peek(0) == ']');
                self.push_text(text);
            }
            (Language::Elixir, '~') => {
                self.at += 2;
                let text = self.delimited(Inside::Expands);
                self.push_text(text);
            }
            (Language::Ruby | Language::Elixir, ':') => self.symbol(),
            (Language::Braces, '"') if self.peek(1) == '"' && self.peek(2) == '"' => self.triple('"', Inside::Escapes),
            (Language::Julia | Language::Elixir, '"') if self.peek(1) == '"' && self.peek(2) == '"' => {
                self.triple('"', Inside::Expands);
            }
            (_, quote) => {
                self.at += 1;
                let single = match self.language {
                    Language::Perl | Language::Php | Language::Ruby | Language::R | Language::PowerShell => {
                        Inside::Escapes
                    }
                    Language::Octave | Language::AppleScript => Inside::Raw,
                    _ => Inside::Escapes,
                };
                let inside = if quote == '"' { self.in_double_quotes() } else { single };
                let text = self.until(quote, inside);
                self.push_text(text);
            }
        }
    }

    fn in_double_quotes(&self) -> Inside {
        match self.language {
            Language::JavaScript
            | Language::Lua
            | Language::Lisp
            | Language::Haskell
            | Language::Ocaml
            | Language::Erlang
            | Language::R
            | Language::Octave
            | Language::AppleScript
            | Language::Awk => Inside::Escapes,
            _ => Inside::Expands,
        }
    }

    /// `f"…"`, `r'…'`, `s"…"`: a string whose prefix was read as a name.
    pub(super) fn prefixed_string(&mut self, name: &str) -> bool {
        let quote = self.peek(0);
        if !matches!(quote, '"' | '\'') || name.len() > 2 {
            return false;
        }
        match self.language {
            Language::Python if name.chars().all(|letter| "rRbBfFuUtT".contains(letter)) => {
                let inside = match (name.contains(['f', 'F', 't', 'T']), name.contains(['r', 'R'])) {
                    (true, _) => Inside::Expands,
                    (false, true) => Inside::Raw,
                    (false, false) => Inside::Escapes,
                };
                self.python_string(quote, inside);
                true
            }
            Language::Braces if matches!(name, "s" | "f" | "r" | "b" | "L" | "u" | "U" | "c" | "@" | "$" | "$@") => {
                self.at += 1;
                let text = self.until(quote, if name == "r" { Inside::Raw } else { Inside::Expands });
                self.push_text(text);
                true
            }
            Language::R | Language::Julia if matches!(name, "r" | "R" | "raw") => {
                self.at += 1;
                let text = self.until(quote, Inside::Raw);
                self.push_text(text);
                true
            }
            _ => false,
        }
    }

    fn python_string(&mut self, quote: char, inside: Inside) {
        if self.peek(1) == quote && self.peek(2) == quote {
            self.triple(quote, inside);
            return;
        }
        self.at += 1;
        let text = self.until(quote, inside);
        self.push_text(text);
    }

    /// A string between three quotes each.
    fn triple(&mut self, quote: char, inside: Inside) {
        self.at += 3;
        let mut text = Text::default();
        while self.at < self.code.len() {
            let part = self.until(quote, inside);
            text.append(&part);
            if self.peek(0) == quote && self.peek(1) == quote {
                self.at += 2;
                break;
            }
            text.push(Piece::Known(quote.to_string()));
        }
        self.push_text(text);
    }

    /// `:name` and `:"name"`; `:os.cmd` of Elixir is a name.
    fn symbol(&mut self) {
        self.at += 1;
        if self.peek(0) == '"' {
            self.at += 1;
            let text = self.until('"', Inside::Expands);
            self.push_text(text);
            return;
        }
        let rest: String =
            self.code[self.at..].iter().take_while(|sign| sign.is_alphanumeric() || **sign == '_').collect();
        let end = self.code.get(self.at + rest.chars().count()).copied();
        if self.language == Language::Elixir && end == Some('.') {
            return;
        }
        self.at += rest.chars().count();
        self.push_text(Text::known(rest));
    }

    /// `%x{…}`, `%w[…]`, `%q(…)` and `%(…)`.
    fn ruby_quote(&mut self) {
        self.at += 1;
        let kind = self.peek(0);
        self.at += usize::from(kind.is_alphabetic());
        let inside = match kind {
            'w' | 'i' => Inside::Raw,
            'q' => Inside::Escapes,
            _ => Inside::Expands,
        };
        let text = self.delimited(inside);
        match kind {
            'x' => self.tokens.push(Token::Shell(text)),
            'w' | 'W' | 'i' | 'I' => self.push_words(&text, '[', ']'),
            _ => self.push_text(text),
        }
    }

    /// `q` behind which a quote goes on: `q|…|`, `qq{…}`, `qx/…/`, `qw(…)`.
    fn is_perl_quote(&self) -> bool {
        if self.in_name() {
            return false;
        }
        let kind = usize::from(matches!(self.peek(1), 'q' | 'x' | 'w' | 'r'));
        let mut after = 1 + kind;
        let has_blank = self.peek(after) == ' ';
        while self.peek(after) == ' ' {
            after += 1;
        }
        let delimiter = self.peek(after);
        let is_word = delimiter.is_alphanumeric() || matches!(delimiter, '_' | '\0' | ',' | ';' | ')' | '\n');
        let is_operator = matches!(delimiter, '=' | '-') || has_blank && delimiter == '#';
        !is_word && !is_operator
    }

    fn perl_quote(&mut self) {
        let kind = self.peek(1);
        let is_plain = !matches!(kind, 'q' | 'x' | 'w' | 'r');
        self.at += if is_plain { 1 } else { 2 };
        while self.peek(0) == ' ' {
            self.at += 1;
        }
        let text = self.delimited(if is_plain || kind == 'w' { Inside::Escapes } else { Inside::Expands });
        match kind {
            'x' => self.tokens.push(Token::Shell(text)),
            'w' => self.push_words(&text, '(', ')'),
            'r' => self.tokens.push(Token::Number("0".to_owned())),
            _ => self.push_text(text),
        }
    }

    /// `<STDIN>`, `<>` and `<words in a list>` of Raku.
    fn is_perl_list_or_input(&self) -> bool {
        if matches!(self.tokens.last(), Some(Token::Number(_) | Token::Text(_) | Token::Sign(')' | ']'))) {
            return false;
        }
        let inner: String =
            self.code[self.at + 1..].iter().take_while(|sign| !matches!(sign, '>' | '\n' | ';')).collect();
        self.code.get(self.at + 1 + inner.chars().count()) == Some(&'>')
            && !inner.starts_with(['=', '<'])
            && (inner.contains(' ')
                || inner.is_empty()
                || inner.chars().all(|sign| sign.is_alphanumeric() || "$_".contains(sign)))
    }

    fn perl_list_or_input(&mut self) {
        self.at += 1;
        let text = self.until('>', Inside::Raw);
        let inner = text.display();
        if inner.contains(' ') {
            self.push_words(&text, '(', ')');
        } else {
            self.tokens.extend([Token::Name("readline".to_owned()), Token::Sign('('), Token::Sign(')')]);
        }
    }

    /// A list of words, as the tokens of one.
    fn push_words(&mut self, text: &Text, open: char, close: char) {
        self.tokens.push(Token::Sign(open));
        for word in text.display().replace("\\ ", "\u{1}").split_whitespace() {
            self.tokens.push(Token::Text(Text::known(word.replace('\u{1}', " "))));
            self.tokens.push(Token::Sign(','));
        }
        self.tokens.push(Token::Sign(close));
    }

    /// Text between delimiters of its own choice; brackets nest.
    fn delimited(&mut self, inside: Inside) -> Text {
        let open = self.peek(0);
        let close = match open {
            '(' => ')',
            '{' => '}',
            '[' => ']',
            '<' => '>',
            other => other,
        };
        self.at += 1;
        let mut text = self.until(close, inside);
        let mut nested = nesting(&text, open, close);
        while nested > 0 && open != close && self.at < self.code.len() {
            text.push(Piece::Known(close.to_string()));
            let rest = self.until(close, inside);
            text.append(&rest);
            nested = nesting(&text, open, close);
        }
        text
    }

    /// Text up to `close`; what is replaced in it is unknown, by the name of its expression.
    fn until(&mut self, close: char, inside: Inside) -> Text {
        let mut text = Text::default();
        let mut known = String::new();
        while self.at < self.code.len() {
            let character = self.peek(0);
            self.at += 1;
            if character == close {
                // A quote that stands twice is one, where backslashes do not protect.
                if inside == Inside::Raw && close == '\'' && self.peek(0) == '\'' {
                    known.push('\'');
                    self.at += 1;
                    continue;
                }
                break;
            }
            if inside == Inside::Expands && self.expands(character) {
                text.push(Piece::Known(std::mem::take(&mut known)));
                let name = self.interpolation(character);
                text.push(unknown(&name));
            } else if inside == Inside::Expands && self.language == Language::Python && "{}".contains(character) {
                known.push(character);
                self.at += usize::from(self.peek(0) == character);
            } else if character == '\\' && inside != Inside::Raw && self.at < self.code.len() {
                known.push_str(&self.escape());
            } else {
                known.push(character);
            }
        }
        text.push(Piece::Known(known));
        text
    }

    /// Whether an expression that is replaced begins with `character`, which was just read.
    fn expands(&self, character: char) -> bool {
        let next = self.peek(0);
        let starts_name = next.is_alphabetic() || next == '_';
        match (self.language, character) {
            (Language::JavaScript, '$') | (Language::Ruby | Language::Elixir, '#') => next == '{',
            (Language::Python, '{') => next != '{',
            (Language::Php, '{') => next == '$',
            (Language::Perl, '$' | '@') | (Language::Php | Language::Braces, '$') => starts_name || next == '{',
            (Language::Julia | Language::PowerShell, '$') => starts_name || next == '(',
            (Language::Braces, '\\') => next == '(',
            _ => false,
        }
    }

    /// The expression behind a sign that has it replaced.
    fn interpolation(&mut self, first: char) -> String {
        if matches!(self.peek(0), '{' | '(') || first == '{' {
            let mut name = String::new();
            let mut open = i32::from(first == '{');
            while self.at < self.code.len() {
                let character = self.peek(0);
                self.at += 1;
                open += match character {
                    '{' | '(' => 1,
                    '}' | ')' => -1,
                    _ => 0,
                };
                if open == 0 {
                    break;
                }
                name.push(character);
            }
            let name = if first == '{' { name.as_str() } else { name.get(1..).unwrap_or_default() };
            return name.trim().to_owned();
        }
        let mut name = String::from(if first == '@' { "@" } else { "$" });
        while self.peek(0).is_alphanumeric() || self.peek(0) == '_' {
            name.push(self.peek(0));
            self.at += 1;
        }
        // `$ARGV[0]`, `$ENV{HOME}`.
        let close = match self.peek(0) {
            '[' => ']',
            '{' => '}',
            _ => return name,
        };
        let subscript: String =
            self.code[self.at..].iter().take_while(|sign| **sign != close && **sign != '\n').collect();
        let is_plain = subscript.chars().skip(1).all(|sign| sign.is_alphanumeric() || "_$'\"".contains(sign));
        if self.language == Language::Perl && is_plain && subscript.len() > 1 {
            self.at += subscript.chars().count() + 1;
            name.push_str(&subscript);
            name.push(close);
        }
        name
    }

    fn escape(&mut self) -> String {
        let letter = self.peek(0);
        self.at += 1;
        let (radix, most, start) = match letter {
            'n' => return "\n".to_owned(),
            't' => return "\t".to_owned(),
            'r' => return "\r".to_owned(),
            'e' => return "\u{1b}".to_owned(),
            '\n' => return String::new(),
            'x' | 'u' if self.peek(0) == '{' => {
                self.at += 1;
                (16, 8, self.at)
            }
            'x' => (16, 2, self.at),
            'u' => (16, 4, self.at),
            'U' => (16, 8, self.at),
            '0'..='7' => (8, 3, self.at - 1),
            other => return other.to_string(),
        };
        let digits: String = self.code[start..].iter().take(most).take_while(|digit| digit.is_digit(radix)).collect();
        self.at = start + digits.len();
        self.at += usize::from(self.peek(0) == '}' && start > 0 && self.code[start - 1] == '{');
        u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32).unwrap_or('?').to_string()
    }
}

/// How many brackets of a kind a text leaves open.
fn nesting(text: &Text, open: char, close: char) -> usize {
    let shown = text.display();
    shown.matches(open).count().saturating_sub(shown.matches(close).count())
}
