//! Where in a command a reference stands: what surrounds it decides how a value can be put there.
//!
//! This is no parser of bash. It knows quotes, comments, here-documents and what nests, and which word of a command a
//! reference is part of. What it cannot decide with certainty it calls [`Place::Unfit`], and such a command is refused.

use std::ops::Range;

/// How deep things may nest.
const MAX_DEPTH: usize = 64;

/// What surrounds a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A word, or part of one, without quotes.
    Word,
    /// Between double quotes.
    Double,
    /// Between single quotes.
    Single,
    /// Between `$'` and `'`.
    AnsiC,
    /// In the body of a here-document.
    Heredoc(Heredoc),
    /// In a comment, where nothing is put.
    Comment,
    /// Where no value can be put, and why.
    Unfit(&'static str),
}

/// A here-document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heredoc {
    /// The line that ends it.
    pub(crate) delimiter: Vec<u8>,
    /// Its delimiter is quoted: nothing in it is expanded.
    pub(crate) quoted: bool,
    /// Tabs at the beginning of its lines are not part of it.
    pub(crate) strips_tabs: bool,
}

/// A reference's place, and what else is to be known about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) place: Place,
    /// How many pairs of backticks are around it.
    pub(crate) backticks: usize,
    /// The command that reads the word as code, where there is one.
    pub(crate) code_of: Option<String>,
}

/// Where each of these `tokens`, in order, stands in `command`.
pub(crate) fn places(command: &[u8], tokens: &[Range<usize>]) -> Vec<Located> {
    let mut scanner = Scanner::new(command, tokens);
    let whole = scanner.commands(Until::End, Words::Commands).is_some() && scanner.position == command.len();
    let mut found = scanner.found;
    if !whole {
        // Either it is malformed, or it is beyond us: in both cases nothing that was found can be relied on.
        let why = scanner.lost.unwrap_or("a quote or a bracket in the command is not closed");
        found.clear();
        found.resize(tokens.len(), Located { place: Place::Unfit(why), backticks: 0, code_of: None });
    }
    found
}

/// What ends a list of commands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    End,
    Paren,
}

/// What a list of words is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    Commands,
    /// The elements of an array, or an extended pattern: no command begins anywhere in it.
    Plain,
}

/// Where a `case` stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Subject,
    Pattern,
    Body,
}

struct Scanner<'a> {
    text: &'a [u8],
    tokens: &'a [Range<usize>],
    found: Vec<Located>,
    position: usize,
    /// Where the part ends that is read right now.
    end: usize,
    depth: usize,
    backticks: usize,
    /// Here-documents whose bodies are still to come, on this level and the ones around it.
    announced: usize,
    lost: Option<&'static str>,
}

/// The simple command that is being read.
#[derive(Default)]
struct Simple {
    /// Its words so far, quotes removed, as far as they matter.
    words: Vec<Vec<u8>>,
    /// The word that is being read.
    word: Vec<u8>,
    in_word: bool,
    /// Nothing of the word was quoted so far.
    bare: bool,
    /// The word is what a redirection goes to.
    operand: bool,
    /// Between `[[` and `]]`.
    condition: bool,
    /// In an array or a pattern: no word is the name of a command.
    nameless: bool,
}

impl Simple {
    fn begin_word(&mut self) {
        if !self.in_word {
            self.word.clear();
            (self.in_word, self.bare) = (true, true);
        }
    }

    /// Whether a word that begins now would be the name of a command.
    fn at_command(&self) -> bool {
        self.words.is_empty() && !self.operand && !self.condition && !self.nameless
    }

    fn is_assignment(&self) -> bool {
        let name = self.word.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        let rest = &self.word[name..];
        let rest = match (rest.first(), memchr::memchr(b']', rest)) {
            (Some(b'['), Some(close)) => &rest[close + 1..],
            _ => rest,
        };
        name > 0 && !self.word[0].is_ascii_digit() && (rest.starts_with(b"=") || rest.starts_with(b"+="))
    }
}

const RESERVED: [&[u8]; 10] = [b"!", b"{", b"do", b"elif", b"else", b"if", b"then", b"until", b"while", b"time"];
const SHELLS: [&str; 10] = ["bash", "sh", "dash", "ash", "ksh", "mksh", "zsh", "fish", "su", "runuser"];
const DECLARATIONS: [&str; 5] = ["declare", "typeset", "local", "readonly", "export"];
const EVALUATORS: [&str; 7] = ["eval", "trap", "alias", "let", "ssh", "watch", "parallel"];

impl<'a> Scanner<'a> {
    fn new(text: &'a [u8], tokens: &'a [Range<usize>]) -> Self {
        let end = text.len();
        Self { text, tokens, found: Vec::new(), position: 0, end, depth: 0, backticks: 0, announced: 0, lost: None }
    }

    fn rest(&self) -> &'a [u8] {
        &self.text[self.position.min(self.end)..self.end]
    }

    fn give_up(&mut self, why: &'static str) -> Option<()> {
        self.lost = self.lost.or(Some(why));
        None
    }

    /// Goes one level deeper.
    fn deeper(&mut self, inner: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        if self.depth == MAX_DEPTH {
            return self.give_up("the command nests too deep");
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Steps over a reference that begins here.
    fn token(&mut self, place: Place, code_of: Option<String>) -> bool {
        let Some(token) = self.tokens.get(self.found.len()).filter(|token| token.start == self.position) else {
            return false;
        };
        self.position = token.end;
        self.found.push(Located { place, backticks: self.backticks, code_of });
        true
    }

    /// Commands, up to the end or the closing parenthesis, which is read too.
    fn commands(&mut self, until: Until, kind: Words) -> Option<()> {
        let mut simple = Simple::default();
        let mut heredocs: Vec<(Heredoc, Option<String>)> = Vec::new();
        let mut cases: Vec<Case> = Vec::new();
        loop {
            let in_pattern = cases.last() == Some(&Case::Pattern);
            simple.nameless = in_pattern || kind == Words::Plain;
            if self.tokens.get(self.found.len()).is_some_and(|token| token.start == self.position) {
                self.bare_token(&mut simple);
                continue;
            }
            let rest = self.rest();
            match *rest {
                [] => {
                    Self::end_word(&mut simple, &mut cases);
                    let complete = until == Until::End && heredocs.is_empty() && cases.is_empty() && !simple.condition;
                    return complete.then_some(());
                }
                [b')', ..] => {
                    Self::end_word(&mut simple, &mut cases);
                    self.position += 1;
                    if in_pattern {
                        cases.pop();
                        cases.push(Case::Body);
                        simple = Simple::default();
                    } else if until == Until::Paren && cases.is_empty() {
                        return if heredocs.is_empty() { Some(()) } else { self.give_up(HEREDOC) };
                    } else {
                        return None;
                    }
                }
                [b' ' | b'\t', ..] => {
                    Self::end_word(&mut simple, &mut cases);
                    self.position += 1;
                }
                [b'\n', ..] => {
                    Self::end_word(&mut simple, &mut cases);
                    self.position += 1;
                    if self.announced > heredocs.len() {
                        return self.give_up(HEREDOC);
                    }
                    self.bodies(&mut heredocs)?;
                    Self::separate(&mut simple, kind);
                }
                [b'#', ..] if !simple.in_word => self.comment(),
                [b';', b';', ..] | [b';', b'&', ..] if cases.last() == Some(&Case::Body) => {
                    Self::end_word(&mut simple, &mut cases);
                    self.position += if rest.starts_with(b";;&") { 3 } else { 2 };
                    cases.pop();
                    cases.push(Case::Pattern);
                    simple = Simple::default();
                }
                [b'&', b'>', ..] => {
                    Self::end_word(&mut simple, &mut cases);
                    self.position += if rest.starts_with(b"&>>") { 3 } else { 2 };
                    simple.operand = true;
                }
                [b';' | b'&' | b'|', ..] => {
                    Self::end_word(&mut simple, &mut cases);
                    self.position += 1;
                    if !in_pattern {
                        Self::separate(&mut simple, kind);
                    }
                }
                [b'<' | b'>', ..] => self.redirection(&mut simple, &mut heredocs, &mut cases)?,
                [b'(', ..] => self.parenthesis(&mut simple, in_pattern)?,
                _ => self.word_part(&mut simple)?,
            }
        }
    }

    /// What follows is another command.
    fn separate(simple: &mut Simple, kind: Words) {
        if !simple.condition && kind == Words::Commands {
            *simple = Simple::default();
        }
    }

    fn bare_token(&mut self, simple: &mut Simple) {
        let escaped = self.position > 0 && self.is_escaped();
        let expands = self.position > 0 && self.text[self.position - 1] == b'$' && !simple.word.is_empty();
        simple.begin_word();
        let name = simple.at_command() && !simple.is_assignment();
        let place = if escaped {
            Place::Unfit("a backslash stands before it")
        } else if expands {
            Place::Unfit("a $ stands before it")
        } else if name {
            Place::Unfit("it is the name of a command there")
        } else {
            Place::Word
        };
        let code_of = self.code_of(simple);
        self.token(place, code_of);
        simple.word.push(b'x');
        simple.bare = false;
    }

    /// Whether an odd number of backslashes stands before this position.
    fn is_escaped(&self) -> bool {
        self.text[..self.position].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
    }

    fn end_word(simple: &mut Simple, cases: &mut Vec<Case>) {
        if !std::mem::take(&mut simple.in_word) {
            return;
        }
        if std::mem::take(&mut simple.operand) {
            return;
        }
        let word = std::mem::take(&mut simple.word);
        let (bare, at_command) = (simple.bare, simple.words.is_empty());
        match cases.last() {
            Some(Case::Subject) if bare && word == b"in" && simple.words.len() >= 2 => {
                cases.pop();
                cases.push(Case::Pattern);
                *simple = Simple::default();
                return;
            }
            Some(Case::Pattern | Case::Body) if bare && at_command && word == b"esac" => {
                cases.pop();
                *simple = Simple::default();
                simple.words.push(word);
                return;
            }
            Some(Case::Pattern) => return,
            _ => {}
        }
        if at_command && bare && RESERVED.contains(&&word[..]) {
            return;
        }
        if at_command && bare && word == b"case" {
            cases.push(Case::Subject);
        }
        if bare && word == b"[[" && at_command {
            simple.condition = true;
        } else if bare && word == b"]]" {
            simple.condition = false;
        }
        simple.word = word;
        let assignment = at_command && simple.is_assignment();
        if !assignment {
            simple.words.push(std::mem::take(&mut simple.word));
        }
        // After the name of a function comes its body.
        if simple.words.len() == 2 && simple.words[0] == b"function" {
            *simple = Simple::default();
        }
    }

    fn comment(&mut self) {
        while self.position < self.end && self.text[self.position] != b'\n' {
            if !self.token(Place::Comment, None) {
                self.position += 1;
            }
        }
    }

    fn redirection(
        &mut self,
        simple: &mut Simple,
        heredocs: &mut Vec<(Heredoc, Option<String>)>,
        cases: &mut Vec<Case>,
    ) -> Option<()> {
        let rest = self.rest();
        if let [b'<' | b'>', b'(', ..] = rest {
            simple.begin_word();
            simple.bare = false;
            self.position += 2;
            return self.deeper(|scanner| scanner.commands(Until::Paren, Words::Commands));
        }
        // The digits before it are the descriptor.
        if simple.in_word && simple.bare && simple.word.iter().all(u8::is_ascii_digit) {
            simple.in_word = false;
        }
        Self::end_word(simple, cases);
        if rest.starts_with(b"<<") && !rest.starts_with(b"<<<") && !simple.condition {
            let strips_tabs = rest.starts_with(b"<<-");
            self.position += if strips_tabs { 3 } else { 2 };
            let (delimiter, quoted) = self.delimiter()?;
            let reader = simple.words.iter().find_map(|word| is_one_of(word, &SHELLS).or(is_one_of(word, &["ssh"])));
            self.announced += 1;
            heredocs.push((Heredoc { delimiter, quoted, strips_tabs }, reader));
            return Some(());
        }
        let operators: [&[u8]; 9] = [b"<<<", b"<&", b"<>", b">>", b">|", b">&", b"<", b">", b""];
        let operator = operators.iter().find(|operator| rest.starts_with(operator))?;
        self.position += operator.len();
        simple.operand = !simple.condition;
        Some(())
    }

    /// The word that ends a here-document, and whether it is quoted.
    fn delimiter(&mut self) -> Option<(Vec<u8>, bool)> {
        while let [b' ' | b'\t', ..] = self.rest() {
            self.position += 1;
        }
        let (mut word, mut quoted) = (Vec::new(), false);
        loop {
            if self.token(Place::Unfit("it is the delimiter of a here-document there"), None) {
                word.push(b'x');
                continue;
            }
            match *self.rest() {
                [] | [b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')', ..] => break,
                [b'\\', byte, ..] => {
                    word.push(byte);
                    quoted = true;
                    self.position += 2;
                }
                [quote @ (b'\'' | b'"'), ref after @ ..] => {
                    let length = memchr::memchr(quote, after)?;
                    let inside = &after[..length];
                    if inside.contains(&b'\\')
                        || inside.contains(&b'\n')
                        || memchr::memmem::find(inside, b"{{").is_some()
                    {
                        self.give_up("the delimiter of a here-document is written in an unusual way")?;
                    }
                    word.extend_from_slice(inside);
                    quoted = true;
                    self.position += length + 2;
                }
                [b'$' | b'`', ..] => {
                    self.give_up("the delimiter of a here-document is written in an unusual way")?;
                }
                [byte, ..] => {
                    word.push(byte);
                    self.position += 1;
                }
            }
        }
        (!word.is_empty()).then_some((word, quoted))
    }

    /// The bodies of the here-documents that were announced on the line that just ended.
    fn bodies(&mut self, heredocs: &mut Vec<(Heredoc, Option<String>)>) -> Option<()> {
        for (heredoc, reader) in heredocs.drain(..) {
            self.announced -= 1;
            let (start, mut line) = (self.position, self.position);
            let end = loop {
                if line >= self.end {
                    // Bash takes the end of the text for the end of the body, and says so.
                    break None;
                }
                let length = memchr::memchr(b'\n', &self.text[line..self.end]);
                let content = &self.text[line..length.map_or(self.end, |length| line + length)];
                let tabs = content.iter().take_while(|byte| heredoc.strips_tabs && **byte == b'\t').count();
                if content[tabs..] == heredoc.delimiter {
                    break Some(line + content.len());
                }
                line += content.len() + 1;
            };
            let after = end?;
            let outer = std::mem::replace(&mut self.end, line);
            self.position = start;
            let read = self.body(&heredoc, reader.as_deref());
            self.end = outer;
            read?;
            self.position = (after + 1).min(self.end);
        }
        Some(())
    }

    fn body(&mut self, heredoc: &Heredoc, reader: Option<&str>) -> Option<()> {
        while self.position < self.end {
            let place = if self.backticks > 0 {
                Place::Unfit("it is in a here-document between backticks")
            } else if !heredoc.quoted && self.position > 0 && self.is_escaped() {
                Place::Unfit("a backslash stands before it")
            } else if !heredoc.quoted && self.position > 0 && self.text[self.position - 1] == b'$' {
                Place::Unfit("a $ stands before it")
            } else {
                Place::Heredoc(heredoc.clone())
            };
            if self.token(place, reader.map(str::to_owned)) {
                continue;
            }
            match *self.rest() {
                [b'\\', _, ..] if !heredoc.quoted => self.position += if self.is_token_at(1) { 1 } else { 2 },
                [b'$' | b'`', ..] if !heredoc.quoted => self.expansion(true)?,
                _ => self.position += 1,
            }
        }
        Some(())
    }

    fn is_token_at(&self, ahead: usize) -> bool {
        self.tokens.get(self.found.len()).is_some_and(|token| token.start == self.position + ahead)
    }

    fn parenthesis(&mut self, simple: &mut Simple, in_pattern: bool) -> Option<()> {
        let rest = self.rest();
        if in_pattern && !simple.in_word {
            self.position += 1;
            return Some(());
        }
        if simple.in_word {
            let last = self.text[self.position - 1];
            let is_array = simple.bare && simple.is_assignment() && last == b'=';
            let is_pattern = b"?*+@!".contains(&last) || simple.condition;
            if is_array || is_pattern {
                self.position += 1;
                simple.bare = false;
                return self.deeper(|scanner| scanner.commands(Until::Paren, Words::Plain));
            }
        }
        // `name()` and `name ()`: a function, whose body follows.
        let blanks = rest[1..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let named = simple.in_word || !simple.words.is_empty();
        if named && rest.get(1 + blanks) == Some(&b')') && !simple.condition {
            self.position += blanks + 2;
            *simple = Simple::default();
            return Some(());
        }
        if simple.condition {
            self.position += 1;
            return self.deeper(|scanner| scanner.commands(Until::Paren, Words::Plain));
        }
        if rest.starts_with(b"((") {
            self.position += 2;
            simple.begin_word();
            simple.bare = false;
            return self.arithmetic();
        }
        if named && simple.words.first().is_none_or(|word| word != b"function") {
            return None;
        }
        self.position += 1;
        simple.words.push(b"(".to_vec());
        self.deeper(|scanner| scanner.commands(Until::Paren, Words::Commands))
    }

    /// One character or one quoted or expanded part of a word.
    fn word_part(&mut self, simple: &mut Simple) -> Option<()> {
        match *self.rest() {
            [b'\\', b'\n', ..] => {
                self.position += 2;
                return Some(());
            }
            [b'\\', byte, ..] => {
                simple.begin_word();
                simple.word.push(byte);
                simple.bare = false;
                self.position += if self.is_token_at(1) { 1 } else { 2 };
                return Some(());
            }
            [b'\'' | b'"' | b'$' | b'`', ..] => {}
            [byte, ..] => {
                simple.begin_word();
                simple.word.push(byte);
                self.position += 1;
                return Some(());
            }
            [] => return None,
        }
        simple.begin_word();
        let code = self.code_of(simple);
        let name = simple.at_command() && !simple.is_assignment();
        let start = self.position;
        let first = self.found.len();
        match *self.rest() {
            [b'\'', ..] => self.single()?,
            [b'"', ..] => self.double(1)?,
            [b'$', b'\'', ..] => self.ansi_c()?,
            [b'$', b'"', ..] => self.double(2)?,
            _ => self.expansion(false)?,
        }
        let quoted = matches!(self.text[start], b'\'' | b'"') || matches!(self.text.get(start + 1), Some(b'\'' | b'"'));
        if quoted {
            for located in &mut self.found[first..] {
                if matches!(located.place, Place::Single | Place::Double | Place::AnsiC) {
                    located.code_of = located.code_of.take().or_else(|| code.clone());
                    if name {
                        located.place = Place::Unfit("it is the name of a command there");
                    }
                }
            }
        }
        simple.bare = false;
        let plain = &self.text[start..self.position];
        simple.word.extend(plain.iter().filter(|byte| !matches!(byte, b'\'' | b'"')));
        Some(())
    }

    fn single(&mut self) -> Option<()> {
        self.position += 1;
        loop {
            if self.token(Place::Single, None) {
                continue;
            }
            let byte = *self.rest().first()?;
            self.position += 1;
            if byte == b'\'' {
                return Some(());
            }
        }
    }

    fn ansi_c(&mut self) -> Option<()> {
        self.position += 2;
        loop {
            let place = if self.is_escaped() { Place::Unfit("a backslash stands before it") } else { Place::AnsiC };
            if self.token(place, None) {
                continue;
            }
            match *self.rest() {
                [] => return None,
                [b'\'', ..] => {
                    self.position += 1;
                    return Some(());
                }
                [b'\\', _, ..] => self.position += if self.is_token_at(1) { 1 } else { 2 },
                _ => self.position += 1,
            }
        }
    }

    /// Between double quotes, the first of which is `skip` bytes long.
    fn double(&mut self, skip: usize) -> Option<()> {
        self.position += skip;
        loop {
            let place = if self.is_escaped() {
                Place::Unfit("a backslash stands before it")
            } else if self.text[self.position - 1] == b'$' {
                Place::Unfit("a $ stands before it")
            } else {
                Place::Double
            };
            if self.token(place, None) {
                continue;
            }
            match *self.rest() {
                [] => return None,
                [b'"', ..] => {
                    self.position += 1;
                    return Some(());
                }
                [b'\\', _, ..] => self.position += if self.is_token_at(1) { 1 } else { 2 },
                [b'$' | b'`', ..] => self.expansion(true)?,
                _ => self.position += 1,
            }
        }
    }

    /// What a `$` or a backtick begins. `quoted` where it stands between double quotes or in a here-document.
    fn expansion(&mut self, quoted: bool) -> Option<()> {
        match *self.rest() {
            [b'`', ..] => self.deeper(|scanner| scanner.backquoted(quoted)),
            [b'$', b'(', b'(', ..] => {
                self.position += 3;
                self.arithmetic()
            }
            [b'$', b'(', ..] => {
                self.position += 2;
                self.deeper(|scanner| scanner.commands(Until::Paren, Words::Commands))
            }
            [b'$', b'[', ..] => {
                self.position += 2;
                self.brackets()
            }
            // A reference, not an expansion; whoever called sees the $ before it.
            [b'$', b'{', ..] if self.is_token_at(1) => {
                self.position += 1;
                Some(())
            }
            [b'$', b'{', b' ' | b'\t' | b'\n' | b'|', ..] => self.give_up("${ …; } is in the command"),
            [b'$', b'{', ..] => {
                self.position += 2;
                self.deeper(|scanner| scanner.parameter(quoted))
            }
            _ => {
                self.position += 1;
                Some(())
            }
        }
    }

    /// Inside `${…}`: nothing can be put there, only its end is looked for.
    fn parameter(&mut self, quoted: bool) -> Option<()> {
        loop {
            if self.token(Place::Unfit("it is inside ${…}"), None) {
                continue;
            }
            match *self.rest() {
                [] => return None,
                [b'}', ..] => {
                    self.position += 1;
                    return Some(());
                }
                [b'\\', _, ..] => self.position += if self.is_token_at(1) { 1 } else { 2 },
                [b'\'', ..] if quoted => self.give_up("a single quote is inside \"${…}\"")?,
                [b'\'', ..] => self.unfit(Self::single)?,
                [b'"', ..] => self.unfit(|scanner| scanner.double(1))?,
                [b'$', b'\'', ..] if !quoted => self.unfit(Self::ansi_c)?,
                [b'$' | b'`', ..] => self.unfit(|scanner| scanner.expansion(quoted))?,
                _ => self.position += 1,
            }
        }
    }

    /// Reads something in which no reference can be resolved.
    fn unfit(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let first = self.found.len();
        read(self)?;
        for located in &mut self.found[first..] {
            located.place = Place::Unfit("it is inside ${…} or an arithmetic expression");
        }
        Some(())
    }

    /// Inside `((…))`, where a value would be calculated with, and could run commands.
    fn arithmetic(&mut self) -> Option<()> {
        let mut depth = 2usize;
        while depth > 0 {
            if self.token(Place::Unfit("it is inside an arithmetic expression"), None) {
                continue;
            }
            match *self.rest() {
                [] => return None,
                [b'(', ..] => {
                    depth += 1;
                    self.position += 1;
                }
                [b')', ref after @ ..] => {
                    depth -= 1;
                    self.position += 1;
                    if depth == 1 && after.first() != Some(&b')') {
                        return self.give_up(
                            "((…)) in the command may be arithmetic or not: write a space between the two brackets",
                        );
                    }
                }
                [b'\\', _, ..] => self.position += if self.is_token_at(1) { 1 } else { 2 },
                [b'\'', ..] => self.unfit(Self::single)?,
                [b'"', ..] => self.unfit(|scanner| scanner.double(1))?,
                [b'$' | b'`', ..] => self.unfit(|scanner| scanner.expansion(false))?,
                _ => self.position += 1,
            }
        }
        Some(())
    }

    fn brackets(&mut self) -> Option<()> {
        let mut depth = 1usize;
        while depth > 0 {
            if self.token(Place::Unfit("it is inside an arithmetic expression"), None) {
                continue;
            }
            match *self.rest() {
                [] => return None,
                [b'[', ..] => depth += 1,
                [b']', ..] => depth -= 1,
                [b'\'' | b'"' | b'`' | b'\\', ..] => self.give_up("$[…] with quotes is in the command")?,
                _ => {}
            }
            self.position += 1;
        }
        Some(())
    }

    /// Between backticks, where one layer of backslashes is taken off before the text is read.
    fn backquoted(&mut self, quoted: bool) -> Option<()> {
        let start = self.position + 1;
        let mut inner = Vec::new();
        let mut tokens: Vec<Range<usize>> = Vec::new();
        let mut place = start;
        loop {
            let next = self.tokens.get(self.found.len() + tokens.len());
            if let Some(token) = next.filter(|token| token.start == place) {
                tokens.push(inner.len()..inner.len() + token.len());
                inner.extend_from_slice(&self.text[token.clone()]);
                place = token.end;
                continue;
            }
            match *self.text.get(place..self.end)? {
                [] => return None,
                [b'`', ..] => break,
                [b'\\', byte @ (b'$' | b'`' | b'\\'), ..] => {
                    inner.push(byte);
                    place += 2;
                }
                [byte, ..] => {
                    inner.push(byte);
                    place += 1;
                }
            }
        }
        self.position = place + 1;
        let mut located = places(&inner, &tokens);
        for located in &mut located {
            located.backticks += 1;
            if quoted {
                located.place = Place::Unfit("it is between backticks in double quotes: write $(…)");
            }
        }
        self.found.extend(located);
        Some(())
    }
}

impl Scanner<'_> {
    /// The command that reads the word that is being read as code, where there is one.
    fn code_of(&self, simple: &Simple) -> Option<String> {
        if simple.condition {
            // These calculate with both their sides.
            let operators = [" -eq ", " -ne ", " -lt ", " -le ", " -gt ", " -ge ", " -v "];
            let has = |operator: &&str| memchr::memmem::find(self.text, operator.as_bytes()).is_some();
            return operators.iter().any(|operator| has(&operator)).then(|| "[[".to_owned());
        }
        let first = simple.words.first()?;
        let calculates = |word: &Vec<u8>| word.starts_with(b"-") && word.contains(&b'i');
        if let Some(name) = is_one_of(first, &DECLARATIONS).filter(|_| simple.words.iter().any(calculates)) {
            return Some(format!("{name} -i"));
        }
        let evaluator = simple.words.iter().find_map(|word| is_one_of(word, &EVALUATORS));
        if evaluator.is_some() {
            return evaluator;
        }
        let shell = simple.words.iter().position(|word| is_one_of(word, &SHELLS).is_some())?;
        let after = &simple.words[shell + 1..];
        let is_option = |word: &Vec<u8>| word.starts_with(b"-") && !word.starts_with(b"--");
        let command = after.iter().position(|word| is_option(word) && word.contains(&b'c'))?;
        let given = after[command + 1..].iter().any(|word| !word.starts_with(b"-"));
        if given { None } else { is_one_of(&simple.words[shell], &SHELLS).map(|shell| format!("{shell} -c")) }
    }
}

const HEREDOC: &str = "a here-document begins on the line on which its substitution ends";

/// The last part of a path, where it is one of these names.
fn is_one_of(word: &[u8], names: &[&str]) -> Option<String> {
    let name = word.rsplit(|byte| *byte == b'/').next()?;
    names.iter().find(|known| known.as_bytes() == name).map(|known| (*known).to_owned())
}
