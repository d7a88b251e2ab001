//! What a dollar sign or a backtick opens: parameters, substitutions, arithmetic.

use std::sync::Arc;

use crate::lexer::{Failure, HERE_AROUND_SUBSTITUTION, Lexer, Parsed, SyntaxError, is_metacharacter, name_length};
use crate::matched::Pair;
use crate::place::{Region, Role};
use crate::tree::{CaseChange, Fallback, List, Operation, Parameter, Part, Word};
use crate::word::{Parts, Surrounding};

/// Bash decides by where the parentheses close, after reading ahead with rules of its own.
pub(super) const MAYBE_ARITHMETIC: &str = "`((` may open arithmetic or two subshells: write a space between them";

/// What ends an arithmetic expression, outside pairs of the same brackets inside it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Closing {
    /// `)`.
    Parenthesis,
    /// `)` or `;`: one of the three expressions of `for ((`.
    ParenthesisOrSemicolon,
    /// `]`.
    Bracket,
}

impl Lexer<'_> {
    /// What the dollar sign here opens.
    pub(super) fn dollar(&mut self, surrounding: Surrounding) -> Parsed<Part> {
        let start = self.at;
        let rest = &self.source[start + 1..];
        match rest.first() {
            Some(b'\'') if surrounding == Surrounding::Bare => self.ansi_quotes(),
            Some(b'\'') if surrounding.has_half_quotes() => self.half_ansi_quotes(),
            Some(b'"') if surrounding == Surrounding::Bare || surrounding.has_half_quotes() => {
                self.at += 1;
                self.double_quotes()
            }
            Some(b'(') if rest.get(1) == Some(&b'(') && self.closes_as_arithmetic(3)? => {
                self.at += 3;
                let expression = self.deeper(|lexer| lexer.arithmetic_text(Closing::Parenthesis))?;
                if !self.take(b"))") {
                    return Err(self.close_error(start, "`$((`"));
                }
                let text = &self.source[start + 3..self.at - 2];
                // Bash counts the parentheses once more, those of substitutions in there included.
                if !is_balanced(text) || text.windows(4).any(|word| word == b"esac") {
                    self.uncertain(start, MAYBE_ARITHMETIC);
                }
                if memchr::memchr_iter(b'#', text).any(|at| at > 0 && matches!(text[at - 1], b' ' | b'\t' | b'\n')) {
                    self.uncertain(start, "a `#` behind a blank in `$((…))` may begin a comment");
                }
                self.note(start, Region::Role(Role::Arithmetic));
                Ok(Part::Arithmetic(expression))
            }
            Some(b'(') => {
                if rest.get(1) == Some(&b'(') {
                    self.uncertain(start, MAYBE_ARITHMETIC);
                }
                self.at += 2;
                Ok(Part::Command(self.substitution(start, "`$(`")?))
            }
            Some(b'[') => {
                self.at += 2;
                let expression = self.deeper(|lexer| lexer.arithmetic_text(Closing::Bracket))?;
                if !self.take(b"]") {
                    return Err(self.error_from(start, Failure::Unclosed("`$[`")));
                }
                if self.source[start..self.at].iter().any(|byte| matches!(byte, b'\'' | b'"' | b'`' | b'\\')) {
                    self.places.note_doubt("`$[…]` with quotes in it is old syntax: write `$((…))`");
                }
                self.note(start, Region::Role(Role::Arithmetic));
                Ok(Part::Arithmetic(expression))
            }
            Some(b'{') => {
                self.at += 2;
                let part = match self.deeper(|lexer| lexer.braces(start, surrounding)) {
                    Err(error) if !error.failure.is_limit() => self.bad_substitution(start, error)?,
                    read => read?,
                };
                if surrounding != Surrounding::Bare && self.source[start..self.at].contains(&b'\'') {
                    self.places.note_doubt("a single quote stands inside `${…}` in double quotes or a here document");
                }
                self.note(start, Region::Role(Role::Parameter));
                Ok(part)
            }
            Some(byte) if byte.is_ascii_digit() || b"@*#?-$!".contains(byte) => {
                let name = char::from(*byte).to_string();
                self.at += 2;
                self.note(start, Region::Role(Role::Parameter));
                Ok(Part::Parameter(Box::new(Parameter { name, ..Parameter::default() })))
            }
            _ => {
                let length = name_length(rest);
                if surrounding == Surrounding::Bare && self.braces_change_name(start, start + 1 + length) {
                    self.uncertain(start, "braces put text behind a variable's name before bash looks for its value");
                }
                if length == 0 {
                    self.at += 1;
                    return Ok(if surrounding == Surrounding::Bare {
                        Part::Literal("$".to_owned())
                    } else {
                        Part::Quoted("$".to_owned())
                    });
                }
                let name = String::from_utf8_lossy(&rest[..length]).into_owned();
                self.at += 1 + length;
                self.note(start, Region::Role(Role::Parameter));
                Ok(Part::Parameter(Box::new(Parameter { name, bare: true, ..Parameter::default() })))
            }
        }
    }

    /// Whether alternatives in braces may go on with the name that stands from the dollar sign at `start` up to `end`:
    /// bash makes words of them first, so that `$a{b,c}` is `$ab $ac`.
    fn braces_change_name(&self, start: usize, end: usize) -> bool {
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let rest = self.source.get(end..).unwrap_or_default();
        let word = &rest[..rest.iter().position(|byte| is_metacharacter(*byte)).unwrap_or(rest.len())];
        // Where quotes may hold blanks, the word may go on up to anywhere.
        let is_plain = !word.iter().any(|byte| matches!(byte, b'\'' | b'"' | b'\\' | b'`' | b'$'));
        let rest = if is_plain { word } else { rest };
        // A dollar sign alone may become anything.
        let goes_on = |byte: &u8| is_name(byte) || end == start + 1;
        match rest.first() {
            Some(b'{') => {
                rest.windows(2).any(|pair| matches!(pair[0], b'{' | b',' | b'}') && goes_on(&pair[1]))
                    && rest.contains(&b'}')
                    && (rest.contains(&b',') || rest.windows(2).any(|pair| pair == b".."))
            }
            Some(b',' | b'}') => {
                let before = &self.source[..start];
                let word = before.iter().rposition(|byte| is_metacharacter(*byte)).map_or(0, |at| at + 1);
                let opens = before[word..].iter().rev().enumerate().any(|(at, byte)| {
                    *byte == b'{' && before.len().checked_sub(at + 2).and_then(|at| before.get(at)) != Some(&b'$')
                });
                opens && rest.windows(2).any(|pair| pair[0] == b'}' && (goes_on(&pair[1]) || pair[1] == b'{'))
            }
            _ => false,
        }
    }

    /// After `$(`, `<(` or `>(`: commands up to the parenthesis that closes it.
    fn substitution(&mut self, start: usize, what: &'static str) -> Parsed<Arc<List>> {
        let outer = std::mem::take(&mut self.pending);
        let outside = self.pending_outside;
        self.pending_outside |= !outer.is_empty();
        let open = self.at - 1;
        self.inside += 1;
        let list = self.list();
        self.inside -= 1;
        let list = list?;
        if self.peek() != Some(b')') {
            return Err(self.close_error(start, what));
        }

        // `$(cat <<E)`: no line end comes before the parenthesis. Bash warns, and reads the body behind it.
        if !self.pending.is_empty() {
            self.uncertain(start, HERE_AROUND_SUBSTITUTION);
            self.pending.clear();
        }
        self.at += 1;
        self.substitutions.insert(open, self.at);
        (self.pending, self.pending_outside) = (outer, outside);
        self.note(start, Region::Substitution);
        Ok(Arc::new(list))
    }

    pub(super) fn process_substitution(&mut self) -> Parsed<Part> {
        let start = self.at;
        let reads = self.peek() == Some(b'<');
        self.at += 2;
        let list = self.substitution(start, if reads { "`<(`" } else { "`>(`" })?;
        Ok(Part::Process { reads, list })
    }

    /// A command in backticks: one layer of backslashes is taken off, then it is parsed by itself.
    pub(super) fn backticks(&mut self, surrounding: Surrounding) -> Parsed<Part> {
        let start = self.at;
        let mut text = Vec::new();
        let mut places = Vec::new();
        let quoted = matches!(surrounding, Surrounding::Double | Surrounding::BracedDouble);
        let mut at = start + 1;
        loop {
            match self.source.get(at) {
                None => return Err(self.error(Failure::Unclosed("a backtick"))),
                Some(b'`') => break,
                Some(b'\\') => {
                    let next = self.source.get(at + 1).copied();
                    // Gone before anybody looks for comments or quotes in there.
                    if next == Some(b'\n') {
                        at += 2;
                        continue;
                    }
                    if matches!(next, Some(b'$' | b'`' | b'\\')) || (quoted && next == Some(b'"')) {
                        at += 1;
                    } else {
                        text.push(b'\\');
                        places.push(at);
                        at += 1;
                    }
                    if let Some(byte) = self.source.get(at) {
                        text.push(*byte);
                        places.push(at);
                        at += 1;
                    }
                }
                Some(byte) => {
                    text.push(*byte);
                    places.push(at);
                    at += 1;
                }
            }
        }

        self.spend(text.len())?;

        let positions = self.positions.of(places, at);
        let (depth, patience) = (self.depth, self.patience);
        let outside = self.pending_outside || !self.pending.is_empty();
        let prepare = |inner: &mut Lexer<'_>| {
            (inner.depth, inner.patience, inner.pending_outside) = (depth, patience, outside);
        };
        let (list, remains) = Lexer::reading(&text, &positions, &prepare, &|inner| inner.whole());
        if let Some(remains) = remains {
            self.patience = remains.patience;
            self.places.extend(remains.places);
        }
        let list = match list {
            Ok(list) => list,
            Err(error) if error.failure.is_limit() => return Err(error),
            // Bash finds that out when it runs it, after what stands before it.
            Err(error) => {
                self.places.note_uncertain(error.span, "what stands in backticks is not a command");
                List::default()
            }
        };
        self.at = at + 1;
        self.note(start, Region::Backtick);
        Ok(Part::Command(Arc::new(list)))
    }

    /// `$'…'` where bash puts what it stands for into text that it expands afterwards.
    fn half_ansi_quotes(&mut self) -> Parsed<Part> {
        let start = self.at;
        let part = self.ansi_quotes()?;
        let text = &self.source[start + 2..self.at - 1];
        if text.iter().any(|byte| matches!(byte, b'\\' | b'$' | b'`' | b'"')) {
            self.uncertain(start, "`$'…'` stands where bash expands what it stands for");
        }
        Ok(part)
    }

    /// Whether the parentheses that open here, the last two of `skip` bytes, close next to each other. If so, it is
    /// arithmetic, otherwise a subshell in a subshell.
    pub(super) fn closes_as_arithmetic(&mut self, skip: usize) -> Parsed<bool> {
        let from = self.at + skip;
        let end = self.pair_end(from, b'(', b')', Pair::Arithmetic, 0);
        self.spend(end.unwrap_or(self.source.len()).saturating_sub(from))?;
        Ok(end.is_some_and(|end| self.source.get(end) == Some(&b')')))
    }

    /// An arithmetic expression up to what closes it, which stays where it is.
    pub(super) fn arithmetic_text(&mut self, closing: Closing) -> Parsed<Word> {
        let start = self.at;
        let mut parts = Parts::default();
        let mut open = 0_usize;
        let (opens, closes) = if closing == Closing::Bracket { (b'[', b']') } else { (b'(', b')') };
        loop {
            match self.peek() {
                None => return Err(self.error_from(start, Failure::Unclosed("an arithmetic expression"))),
                Some(byte) if open == 0 && byte == closes => break,
                Some(b';') if open == 0 && closing == Closing::ParenthesisOrSemicolon => break,
                Some(byte) if byte == opens || byte == closes => {
                    open = if byte == opens { open + 1 } else { open - 1 };
                    parts.byte(byte);
                    self.at += 1;
                }
                Some(_) => self.piece(&mut parts, Surrounding::Arithmetic)?,
            }
        }

        Ok(Word { parts: parts.finish(), span: self.since(start) })
    }

    /// `[…]` after a name, if it is closed.
    pub(super) fn subscript(&mut self) -> Parsed<Option<Word>> {
        let start = self.at;
        let noted = self.places.noted();
        self.at += 1;
        let mut parts = Parts::default();
        let mut open = 0_usize;

        let closed = self.deeper(|lexer| {
            loop {
                match lexer.peek() {
                    None => return Ok(false),
                    Some(b']') if open == 0 => return Ok(true),
                    Some(byte @ (b'[' | b']')) => {
                        open = if byte == b'[' { open + 1 } else { open - 1 };
                        parts.byte(byte);
                        lexer.at += 1;
                    }
                    Some(b'<' | b'>') if lexer.peek_at(1) == Some(b'(') => {
                        let part = lexer.process_substitution()?;
                        parts.push(part);
                    }
                    Some(_) => lexer.piece(&mut parts, Surrounding::Subscript)?,
                }
            }
        });

        if !matches!(closed, Ok(true)) {
            let tried = self.at - start;
            self.at = start;
            self.places.forget(noted);
            self.spend(tried)?;
            return Ok(None);
        }

        if self.source[start..self.at].contains(&b'\n') {
            self.places.note_doubt("a line ends inside the subscript of an array");
        }
        let span = self.positions.span(start + 1, self.at);
        self.at += 1;
        self.note(start, Region::Role(Role::Index));
        Ok(Some(Word { parts: parts.finish(), span }))
    }

    /// `${…}` that is none of the expansions. Bash finds that out when it gets there, and the next version of it may
    /// know it.
    fn bad_substitution(&mut self, start: usize, error: SyntaxError) -> Parsed<Part> {
        let tried = self.at.saturating_sub(start);
        let end = self.pair_end(start + 2, b'{', b'}', Pair::Braces, 0).ok_or(error)?;
        self.spend(tried)?;
        self.at = end;
        self.uncertain(start, "`${` does not begin an expansion that is known here");
        Ok(Part::Quoted(String::new()))
    }

    /// After `${`.
    fn braces(&mut self, start: usize, surrounding: Surrounding) -> Parsed<Part> {
        let mut parameter = Parameter::default();
        let rest = &self.source[self.at..];
        match rest.first() {
            Some(b'#') if is_length(rest) => {
                parameter.length = true;
                self.at += 1;
            }
            Some(b'!') if !matches!(rest.get(1), Some(b'}' | b':' | b'%' | b'=' | b'+' | b'/') | None) => {
                parameter.indirect = true;
                self.at += 1;
            }
            _ => {}
        }
        let rest = &self.source[self.at..];
        let length = match rest.first() {
            Some(byte) if byte.is_ascii_digit() => rest.iter().take_while(|byte| byte.is_ascii_digit()).count(),
            Some(byte) if b"@*#?-$!".contains(byte) => 1,
            _ => name_length(rest),
        };

        if length == 0 {
            return Err(self.close_error(start, "`${`"));
        }
        parameter.name = String::from_utf8_lossy(&rest[..length]).into_owned();
        self.at += length;

        if self.peek() == Some(b'[') {
            parameter.index = self.subscript()?;
        }
        parameter.operation = self.operation(start, surrounding, parameter.indirect)?;
        if parameter.length && !matches!(parameter.operation, Operation::Plain) {
            self.uncertain(start, "bash gives up where the length of a value is asked for and changed at once");
        }
        let is_alternative = matches!(parameter.operation, Operation::Alternative { .. });
        if parameter.name == "!" && !parameter.indirect && is_alternative {
            self.uncertain(start, "nobody can say whether `$!` is set here");
        }
        if !self.take(b"}") {
            return Err(self.close_error(start, "`${`"));
        }
        Ok(Part::Parameter(Box::new(parameter)))
    }

    fn operation(&mut self, start: usize, surrounding: Surrounding, indirect: bool) -> Parsed<Operation> {
        let Some(first) = self.peek() else { return Ok(Operation::Plain) };
        let second = self.peek_at(1);
        let inner = match surrounding {
            Surrounding::Bare | Surrounding::Subscript => surrounding,
            _ => Surrounding::BracedDouble,
        };
        match first {
            b'}' => Ok(Operation::Plain),
            b'*' | b'@' if indirect && second == Some(b'}') => {
                self.at += 1;
                Ok(Operation::Names)
            }
            b'@' if second.is_some_and(|byte| byte.is_ascii_alphabetic()) => {
                self.at += 2;
                Ok(Operation::Transform(second.map_or('?', char::from)))
            }
            b':' if !matches!(second, Some(b'-' | b'=' | b'?' | b'+')) => {
                self.at += 1;
                let offset = self.braced_word(start, Surrounding::Arithmetic, b":")?;
                let length =
                    if self.take(b":") { Some(self.braced_word(start, Surrounding::Arithmetic, b"")?) } else { None };
                Ok(Operation::Slice { offset, length })
            }
            b':' | b'-' | b'=' | b'?' | b'+' => {
                let colon = first == b':';
                let kind = match if colon { second } else { Some(first) } {
                    Some(b'=') => Fallback::Assign,
                    Some(b'?') => Fallback::Fail,
                    Some(b'+') => Fallback::Replace,
                    _ => Fallback::Use,
                };
                self.at += 1 + usize::from(colon);
                // The message of `?` is expanded by itself, whatever is around it.
                let (from, is_message) = (self.at, kind == Fallback::Fail);
                let word = self.braced_word(start, if is_message { Surrounding::Bare } else { inner }, b"")?;
                let message = &self.source[from..self.at];
                if is_message && surrounding != Surrounding::Bare && message.windows(2).any(|pair| pair == b"$'") {
                    self.uncertain(start, "`$'…'` stands in the message of an expansion inside double quotes");
                }
                Ok(Operation::Alternative { kind, colon, word })
            }
            b'#' | b'%' => {
                let longest = second == Some(first);
                self.at += 1 + usize::from(longest);
                let pattern = self.braced_word(start, Surrounding::Bare, b"")?;
                Ok(Operation::Trim { suffix: first == b'%', longest, pattern })
            }
            b'/' => {
                self.at += 1;
                let all = self.take(b"/");
                let anchor = self.peek().filter(|byte| !all && matches!(byte, b'#' | b'%')).map(char::from);
                self.at += usize::from(anchor.is_some());
                let pattern = self.braced_word(start, Surrounding::Bare, b"/")?;
                let replacement =
                    if self.take(b"/") { self.braced_word(start, Surrounding::Bare, b"")? } else { Word::default() };
                Ok(Operation::Replace { all, anchor, pattern, replacement })
            }
            b'^' | b',' | b'~' => {
                let all = second == Some(first);
                self.at += 1 + usize::from(all);
                let pattern = self.braced_word(start, Surrounding::Bare, b"")?;
                let kind = match first {
                    b'^' => CaseChange::Upper,
                    b',' => CaseChange::Lower,
                    _ => CaseChange::Toggle,
                };
                Ok(Operation::Case { kind, all, pattern })
            }
            _ => Err(self.unexpected()),
        }
    }

    /// A word inside braces, up to `}` or one of `ends`.
    fn braced_word(&mut self, start: usize, surrounding: Surrounding, ends: &[u8]) -> Parsed<Word> {
        let from = self.at;
        let mut parts = Parts::default();
        loop {
            match self.peek() {
                None => return Err(self.error_from(start, Failure::Unclosed("`${`"))),
                Some(b'}') => break,
                Some(byte) if ends.contains(&byte) && self.at > from => break,
                Some(byte) if ends == b":" && byte == b':' => break,
                Some(b'$') if self.peek_at(1) == Some(b'$') && matches!(self.peek_at(2), Some(b'{' | b'(')) => {
                    self.uncertain(self.at, "bash looks for the end of `${…}` as if `$${` opened another one");
                    self.piece(&mut parts, surrounding)?;
                }
                Some(b'<' | b'>')
                    if self.peek_at(1) == Some(b'(')
                        && matches!(surrounding, Surrounding::Bare | Surrounding::Subscript) =>
                {
                    let part = self.process_substitution()?;
                    parts.push(part);
                }
                Some(_) => self.piece(&mut parts, surrounding)?,
            }
        }
        Ok(Word { parts: parts.finish(), span: self.since(from) })
    }
}

/// Whether each parenthesis outside quotes has its counterpart.
fn is_balanced(text: &[u8]) -> bool {
    let (mut open, mut at) = (0_usize, 0);
    let mut quote = None;
    while let Some(&byte) = text.get(at) {
        match (quote, byte) {
            (None | Some(b'"'), b'\\') => at += 1,
            (Some(kind), byte) => quote = Some(kind).filter(|kind| *kind != byte),
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'(') => open += 1,
            (None, b')') => match open.checked_sub(1) {
                Some(less) => open = less,
                None => return false,
            },
            _ => {}
        }
        at += 1;
    }
    open == 0 && quote.is_none()
}

/// Whether the `#` that opens `rest`, inside braces, asks for a length. Otherwise it is the number of arguments.
fn is_length(rest: &[u8]) -> bool {
    match rest.get(1) {
        None | Some(b'}' | b':' | b'%' | b'=' | b'+' | b'/' | b'^' | b',' | b'~') => false,
        Some(b'-' | b'?' | b'#') => rest.get(2) == Some(&b'}'),
        Some(_) => true,
    }
}
