//! The text of statements, taken apart as a database does it.

/// How a client reads its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    /// A backslash in a string escapes the next character.
    escapes: bool,
    /// A `#` begins a comment.
    hashes: bool,
    /// Nothing has to stand between two statements.
    pub(super) loose: bool,
    /// Which lines are commands of the client.
    lines: Lines,
}

/// Which lines are commands of the client and not statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lines {
    /// Those with a backslash: `psql`.
    Backslash,
    /// Those that begin with a dot: `sqlite3`.
    Dot,
    /// Some words, and a backslash: `mysql`.
    Words,
    /// Those with an exclamation mark, and some words: `sqlplus`, `hive`, `sqlcmd`.
    Exclamation,
}

impl Dialect {
    /// The way a client of this name reads.
    pub(super) fn of(program: &str) -> Self {
        let plain = Self { escapes: false, hashes: false, loose: false, lines: Lines::Exclamation };
        match program {
            "psql" | "pgcli" | "usql" | "vsql" | "gsql" | "cockroach" | "crdb" => {
                Self { lines: Lines::Backslash, ..plain }
            }
            "mysql" | "mariadb" | "mycli" | "mysqlsh" | "mysql.exe" => {
                Self { escapes: true, hashes: true, lines: Lines::Words, ..plain }
            }
            "sqlite3" | "sqlite" | "litecli" | "duckdb" | "sqlite-utils" | "libsql" | "turso" => {
                Self { lines: Lines::Dot, ..plain }
            }
            "sqlcmd" | "osql" | "isql" | "tsql" | "mssql-cli" | "fisql" | "bcp" => Self { loose: true, ..plain },
            _ => plain,
        }
    }

    /// The same, where nothing has to stand between two statements.
    pub(super) fn loosened(self) -> Self {
        Self { loose: true, ..self }
    }

    /// Whether a line that begins like this is a command of the client.
    fn is_command(self, line: &str) -> bool {
        let word = line.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        match self.lines {
            Lines::Backslash => line.starts_with('\\'),
            Lines::Dot => line.starts_with('.'),
            Lines::Words => {
                line.starts_with('\\') || matches!(word.as_str(), "system" | "source" | "pager" | "tee" | "nopager")
            }
            Lines::Exclamation => line.starts_with(['!', '@', ':']) || matches!(word.as_str(), "host" | "shell" | "go"),
        }
    }
}

/// A piece of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A word, a number or a sign.
    Word(String),
    /// A name in quotes.
    Name(String),
    /// A string, or a body between dollars.
    String(String),
}

impl Token {
    /// It in capitals; a string keeps its quotes, so that no word of the grammar is like it.
    pub(super) fn upper(&self) -> String {
        match self {
            Self::Word(text) => text.to_ascii_uppercase(),
            Self::Name(text) => format!("\"{text}\""),
            Self::String(text) => format!("'{}'", text.to_ascii_uppercase()),
        }
    }

    /// It as it stands.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Word(text) | Self::Name(text) | Self::String(text) => text.clone(),
        }
    }

    /// What is in it, if it is a string.
    pub(super) fn string(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }
}

/// The statements of a text, and the lines that are commands of the client.
pub(super) fn split(text: &str, dialect: Dialect) -> (Vec<Vec<Token>>, Vec<String>) {
    let mut reader = Reader { rest: text, dialect, statements: Vec::new(), current: Vec::new(), lines: Vec::new() };
    while !reader.rest.is_empty() {
        reader.step();
    }
    reader.end();
    (reader.statements, reader.lines)
}

struct Reader<'t> {
    rest: &'t str,
    dialect: Dialect,
    statements: Vec<Vec<Token>>,
    current: Vec<Token>,
    lines: Vec<String>,
}

impl<'t> Reader<'t> {
    fn step(&mut self) {
        self.rest = self.rest.trim_start();
        let Some(first) = self.rest.chars().next() else { return };
        if (self.current.is_empty() || first == '\\') && self.dialect.is_command(self.rest) {
            let line = self.take_until("\n").trim_end().to_owned();
            self.lines.push(line);
            return;
        }
        if self.rest.starts_with("--") || first == '#' && self.dialect.hashes {
            self.take_until("\n");
        } else if self.rest.starts_with("/*!") {
            // MySQL runs what is in such a comment: `/*!50000 DROP TABLE x */`.
            self.rest = self.rest[3..].trim_start_matches(|c: char| c.is_ascii_digit());
        } else if self.rest.starts_with("*/") {
            self.rest = &self.rest[2..];
        } else if self.rest.starts_with("/*") {
            self.take_until("*/");
        } else if first == ';' {
            self.rest = &self.rest[1..];
            self.end();
        } else {
            self.token(first);
        }
    }

    fn end(&mut self) {
        if !self.current.is_empty() {
            self.statements.push(std::mem::take(&mut self.current));
        }
    }

    /// Takes everything up to and with `end`, and gives what is before it.
    fn take_until(&mut self, end: &str) -> &'t str {
        let (taken, rest) = self.rest.split_once(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    fn token(&mut self, first: char) {
        match first {
            '\'' => {
                let text = self.quoted('\'');
                self.current.push(Token::String(text));
            }
            '"' | '`' => {
                let text = self.quoted(first);
                self.current.push(Token::Name(text));
            }
            '[' => {
                self.rest = &self.rest[1..];
                let name = self.take_until("]").to_owned();
                self.current.push(Token::Name(name));
            }
            '$' if self.dollar_quoted() => {}
            _ => self.word(first),
        }
    }

    fn word(&mut self, first: char) {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '{' | '}' | '@' | '#' | '%');
        let end = match self.rest.find(|c: char| !is_part(c)) {
            Some(0) => first.len_utf8(),
            Some(end) => end,
            None => self.rest.len(),
        };
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        // A line that is `GO` ends a batch.
        if self.dialect.loose && word.eq_ignore_ascii_case("go") {
            self.end();
        } else {
            self.current.push(Token::Word(word.to_owned()));
        }
    }

    /// A text in quotes, in which the quote is doubled.
    fn quoted(&mut self, quote: char) -> String {
        let mut text = String::new();
        let mut chars = self.rest.char_indices().skip(1).peekable();
        while let Some((at, c)) = chars.next() {
            if c == '\\' && self.dialect.escapes {
                text.extend(chars.next().map(|(_, escaped)| escaped));
            } else if c != quote {
                text.push(c);
            } else if chars.peek().is_some_and(|(_, next)| *next == quote) {
                chars.next();
                text.push(quote);
            } else {
                self.rest = &self.rest[at + 1..];
                return text;
            }
        }
        self.rest = "";
        text
    }

    /// `$$ … $$` and `$tag$ … $tag$`.
    fn dollar_quoted(&mut self) -> bool {
        let Some(end) = self.rest[1..].find('$').map(|at| at + 2) else { return false };
        let mark = &self.rest[..end];
        if !mark[1..end - 1].chars().all(|c| c.is_alphanumeric() || c == '_') {
            return false;
        }
        self.rest = &self.rest[end..];
        let body = self.take_until(mark).to_owned();
        self.current.push(Token::String(body));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str, program: &str) -> Vec<Vec<String>> {
        let (statements, _) = split(text, Dialect::of(program));
        statements.iter().map(|statement| statement.iter().map(Token::upper).collect()).collect()
    }

    #[test]
    fn comments_go_and_strings_stay_whole() {
        let text = "select 'drop -- x'; /* a ; b */ drop/**/table\n x -- y\n;";
        assert_eq!(words(text, "psql"), [vec!["SELECT", "'DROP -- X'"], vec!["DROP", "TABLE", "X"]]);
    }

    #[test]
    fn a_comment_that_mysql_runs_is_a_statement() {
        assert_eq!(words("/*!50000 DROP TABLE x */", "mysql"), [["DROP", "TABLE", "X"]]);
    }

    #[test]
    fn a_body_between_dollars_is_one_string() {
        assert_eq!(words("DO $x$ begin; end $x$", "psql"), [["DO", "' BEGIN; END '"]]);
    }

    #[test]
    fn a_quote_that_is_doubled_or_escaped_does_not_end_a_string() {
        assert_eq!(words("select 'it''s; x'", "psql"), [["SELECT", "'IT'S; X'"]]);
        assert_eq!(words(r"select 'it\'s; x'", "mysql"), [["SELECT", "'IT'S; X'"]]);
    }

    #[test]
    fn a_command_of_the_client_may_follow_a_statement() {
        let (_, lines) = split("select 1 \\! id", Dialect::of("psql"));
        assert_eq!(lines, ["\\! id"]);
    }
}
