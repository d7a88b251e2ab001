//! The position in the text, and what all parts of the parser share.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use thiserror::Error;

use super::{DEEPEST, LONGEST};
use crate::place::{Places, Region, Role};
use crate::span::Span;
use crate::tree::{HereDocument, List, Script};

/// Why a text is not a command.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{failure}")]
pub struct SyntaxError {
    /// What is wrong.
    pub failure: Failure,
    /// Where.
    pub span: Span,
}

/// The ways in which a text is not a command.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Failure {
    /// Something was opened and never closed.
    #[error("{0} is never closed")]
    Unclosed(&'static str),
    /// Something stands where it cannot.
    #[error("{0} is not expected here")]
    Unexpected(String),
    /// Something is missing.
    #[error("{0} is missing here")]
    Missing(&'static str),
    /// Longer than [`LONGEST`].
    #[error("the command is longer than the {LONGEST} bytes that are examined")]
    TooLong,
    /// Deeper than [`DEEPEST`].
    #[error("constructs are nested more than {DEEPEST} deep, which is more than is examined")]
    TooDeep,
    /// The parser would have to read it too often.
    #[error("the command is too involved to be examined")]
    TooInvolved,
    /// It holds a NUL byte, which no command can.
    #[error("the command holds a NUL byte")]
    Nul,
}

impl Failure {
    /// Whether the text is too much to be examined, rather than wrong: bash may take it.
    pub fn is_limit(&self) -> bool {
        matches!(self, Self::TooLong | Self::TooDeep | Self::TooInvolved)
    }
}

pub(super) type Parsed<T> = Result<T, SyntaxError>;

/// Where the bytes of a text stand in the real command.
#[derive(Clone, Debug)]
pub(super) enum Positions {
    /// This much further right.
    Offset(usize),
    /// All at one place.
    Fixed(Span),
    /// Each at its own place; one more for the end.
    Table(Vec<usize>),
}

impl Positions {
    /// Where the text from `start` up to `end` stands.
    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        match self {
            Self::Offset(offset) => Span::new(start + offset, end + offset),
            Self::Fixed(span) => *span,
            Self::Table(table) => {
                let place = |at: usize| table.get(at).or(table.last()).copied().unwrap_or_default();
                Span::new(place(start), place(end))
            }
        }
    }

    /// Where the bytes of a text that was taken out of this one lie: each byte, and `end` for its end.
    pub(super) fn of(&self, mut places: Vec<usize>, end: usize) -> Self {
        if let Self::Fixed(span) = self {
            return Self::Fixed(*span);
        }
        places.push(end);
        for place in &mut places {
            *place = self.span(*place, *place).start;
        }
        Self::Table(places)
    }
}

/// A here document whose body is still to be read.
pub(super) struct Pending {
    pub(super) delimiter: Vec<u8>,
    pub(super) quoted: bool,
    pub(super) strip_tabs: bool,
    pub(super) slot: Arc<OnceLock<HereDocument>>,
}

pub(super) struct Lexer<'a> {
    pub(super) source: &'a [u8],
    pub(super) at: usize,
    pub(super) positions: Positions,
    pub(super) depth: usize,
    /// Bytes that may still be read ahead and read again.
    pub(super) patience: usize,
    pub(super) pending: Vec<Pending>,
    /// Whether here documents wait for their bodies outside the substitution that is being read.
    pub(super) pending_outside: bool,
    pub(super) places: Places,
    /// Where something ended that no word goes on behind, although nothing else separates it.
    pub(super) fresh_at: usize,
    /// Up to where continued lines have been looked for.
    looked_until: usize,
    /// Where lines are continued in the middle of a word or an operator. The text has to be read again without them.
    pub(super) joins: Vec<usize>,
    /// Where the parentheses of substitutions that have been read open, and where each of them ends.
    pub(super) substitutions: HashMap<usize, usize>,
    /// How many `$(…)` and `<(…)` are around what is being read.
    pub(super) inside: usize,
}

/// How often a text is read again without the lines that are continued in the middle of a word.
const MOST_READINGS: usize = 200;
/// How many bytes are read in all these readings.
const MOST_READ: usize = 32 << 20;

impl<'a> Lexer<'a> {
    /// Reads `source` with `read`. Where a line is continued in the middle of a word or an operator, bash never sees
    /// the break; the text is then read again without it.
    pub(super) fn reading<T>(
        source: &[u8],
        positions: &Positions,
        prepare: &dyn Fn(&mut Lexer<'_>),
        read: &dyn Fn(&mut Lexer<'_>) -> Parsed<T>,
    ) -> (Parsed<T>, Option<Remains>) {
        let mut owned: Option<(Vec<u8>, Vec<usize>)> = None;
        for _ in 0..MOST_READINGS.min(8 + MOST_READ / (source.len() + 1)) {
            let (text, positions) = match &owned {
                None => (source, positions.clone()),
                Some((text, places)) => (text.as_slice(), positions.of(places.clone(), source.len())),
            };
            let mut lexer = match Lexer::new(text, positions, 0) {
                Ok(lexer) => lexer,
                Err(error) => return (Err(error), None),
            };
            prepare(&mut lexer);
            let result = read(&mut lexer);
            if lexer.joins.is_empty() {
                let Lexer { places, patience, .. } = lexer;
                return (result, Some(Remains { places, patience }));
            }
            let joins = std::mem::take(&mut lexer.joins);
            owned = Some(without(text, owned.as_ref().map(|(_, places)| places.as_slice()), &joins));
        }
        let error = SyntaxError { failure: Failure::TooInvolved, span: positions.span(0, source.len()) };
        (Err(error), None)
    }

    pub(super) fn new(source: &'a [u8], positions: Positions, depth: usize) -> Parsed<Self> {
        let patience = 1_000_000 + 16 * source.len();
        let lexer = Self {
            source,
            at: 0,
            positions,
            depth,
            patience,
            pending: Vec::new(),
            pending_outside: false,
            places: Places::default(),
            fresh_at: 0,
            looked_until: 0,
            joins: Vec::new(),
            substitutions: HashMap::new(),
            inside: 0,
        };

        if source.len() > LONGEST {
            return Err(lexer.error(Failure::TooLong));
        }
        if let Some(nul) = memchr::memchr(0, source) {
            return Err(SyntaxError { failure: Failure::Nul, span: lexer.positions.span(nul, nul + 1) });
        }
        Ok(lexer)
    }

    /// The whole text as a script.
    pub(super) fn script(source: &[u8], positions: &Positions) -> Parsed<Script> {
        let (list, remains) = Self::reading(source, positions, &|_| {}, &|lexer| lexer.whole());
        Ok(Script { list: list?, places: remains.map(|remains| remains.places).unwrap_or_default() })
    }

    /// All commands up to the end of the text.
    pub(super) fn whole(&mut self) -> Parsed<List> {
        let list = self.list()?;
        if !self.is_end() {
            return Err(self.unexpected());
        }
        self.finish_pending()?;
        Ok(list)
    }

    /// Looks for lines that are continued in the middle of a word or an operator, from here up to where quotes, a
    /// comment or the next line may begin. A break behind a blank needs no care: no word goes on over it.
    pub(super) fn look_for_joins(&mut self) {
        if self.at < self.looked_until || !self.joins.is_empty() {
            return;
        }
        let mut at = self.at;
        let mut before = at.checked_sub(1).and_then(|at| self.source.get(at)).copied().unwrap_or(b' ');
        while let Some(byte) = self.source.get(at) {
            match byte {
                b'\\' if self.source.get(at + 1) == Some(&b'\n') => {
                    if !matches!(before, b' ' | b'\t' | b'\n') {
                        self.joins.push(at);
                    }
                    at += 2;
                    continue;
                }
                b'\\' => at += 1,
                b'\'' | b'#' | b'\n' => break,
                _ => {}
            }
            before = *byte;
            at += 1;
        }
        self.looked_until = at.max(self.at + 1);
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.source.get(self.at).copied()
    }

    pub(super) fn peek_at(&self, distance: usize) -> Option<u8> {
        self.source.get(self.at + distance).copied()
    }

    pub(super) fn starts_with(&self, text: &[u8]) -> bool {
        self.source[self.at..].starts_with(text)
    }

    /// The text from here on.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.source.get(self.at..).unwrap_or_default()
    }

    pub(super) fn is_end(&self) -> bool {
        self.at >= self.source.len()
    }

    /// Goes past `text` if it stands here.
    pub(super) fn take(&mut self, text: &[u8]) -> bool {
        let here = self.starts_with(text);
        if here {
            self.at += text.len();
        }
        here
    }

    pub(super) fn since(&self, start: usize) -> Span {
        self.positions.span(start, self.at)
    }

    pub(super) fn error(&self, failure: Failure) -> SyntaxError {
        let end = (self.at + 1).min(self.source.len());
        SyntaxError { failure, span: self.positions.span(self.at.min(end), end) }
    }

    pub(super) fn error_from(&self, start: usize, failure: Failure) -> SyntaxError {
        SyntaxError { failure, span: self.positions.span(start, (start + 1).min(self.source.len())) }
    }

    /// The error for what stands here.
    pub(super) fn unexpected(&self) -> SyntaxError {
        let rest = &self.source[self.at.min(self.source.len())..];
        let length = match rest.first() {
            None => return self.error(Failure::Unexpected("the end of the command".to_owned())),
            Some(b'\n') => return self.error(Failure::Unexpected("the end of the line".to_owned())),
            Some(byte) if is_metacharacter(*byte) => 1 + usize::from(rest.get(1) == Some(byte)),
            Some(_) => rest.iter().position(|byte| is_metacharacter(*byte)).unwrap_or(rest.len()),
        };
        let text = format!("`{}`", String::from_utf8_lossy(&rest[..length.min(40)]));
        SyntaxError { failure: Failure::Unexpected(text), span: self.positions.span(self.at, self.at + length) }
    }

    /// Runs `inner` one level deeper.
    pub(super) fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEEPEST {
            return Err(self.error(Failure::TooDeep));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Notes what the text from `start` up to here is.
    pub(super) fn note(&mut self, start: usize, region: Region) {
        if !matches!(self.positions, Positions::Fixed(_)) {
            let span = self.since(start);
            self.places.note(span, region);
        }
    }

    /// Notes that nobody can say for certain how bash reads the text at `start`.
    pub(super) fn uncertain(&mut self, start: usize, why: &'static str) {
        let end = (start + 1).min(self.source.len()).max(start);
        let span = self.positions.span(start, end);
        self.places.note_uncertain(span, why);
    }

    /// Uses up some of what may be read ahead.
    pub(super) fn spend(&mut self, bytes: usize) -> Parsed<()> {
        match self.patience.checked_sub(bytes) {
            Some(left) => {
                self.patience = left;
                Ok(())
            }
            None => Err(self.error(Failure::TooInvolved)),
        }
    }

    /// Goes past blanks, continued lines and a comment.
    pub(super) fn skip_blanks(&mut self) {
        loop {
            self.look_for_joins();
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => self.at += 2,
                Some(b'#') if self.at == self.fresh_at || is_word_start(&self.source[..self.at]) => {
                    let start = self.at;
                    let rest = &self.source[self.at..];
                    self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                    self.note(start, Region::Role(Role::Comment));
                }
                _ => return,
            }
        }
    }

    /// Goes past blanks and line ends; bodies of here documents are read on the way.
    pub(super) fn skip_lines(&mut self) -> Parsed<()> {
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.line_end()?;
        }
    }

    /// Goes past a line end and the bodies of the here documents that were announced on the line.
    pub(super) fn line_end(&mut self) -> Parsed<()> {
        self.at += 1;
        if self.pending_outside {
            self.uncertain(self.at - 1, HERE_AROUND_SUBSTITUTION);
        }
        self.finish_pending()
    }

    /// At the end of the text: bash gives a here document without a body an empty one.
    pub(super) fn finish_pending(&mut self) -> Parsed<()> {
        for pending in std::mem::take(&mut self.pending) {
            self.here_body(pending)?;
        }
        Ok(())
    }
}

/// What is left of a lexer when it is done.
pub(super) struct Remains {
    pub(super) places: Places,
    pub(super) patience: usize,
}

/// `text` without the continued lines at `joins`, and where each of its bytes stood in the text that `places` tells of.
fn without(text: &[u8], places: Option<&[usize]>, joins: &[usize]) -> (Vec<u8>, Vec<usize>) {
    let mut joins = joins.iter().copied().peekable();
    let (mut rest, mut kept) = (Vec::with_capacity(text.len()), Vec::with_capacity(text.len()));
    let mut at = 0;
    while at < text.len() {
        if joins.next_if_eq(&at).is_some() {
            at += 2;
            continue;
        }
        rest.push(text[at]);
        kept.push(places.map_or(at, |places| places[at]));
        at += 1;
    }
    (rest, kept)
}

/// Versions of bash differ in which text is the body then.
pub(super) const HERE_AROUND_SUBSTITUTION: &str =
    "a here document begins on a line that a substitution or an array continues on the next";

/// Whether `byte` ends a word where it is not quoted.
pub(super) fn is_metacharacter(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
}

/// How many bytes at the start of `text` are a variable's name.
pub(super) fn name_length(text: &[u8]) -> usize {
    let starts = text.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    if starts { text.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count() } else { 0 }
}

/// Whether a word would start behind `before`, rather than go on. Lines that are broken in the middle of a word have been
/// joined by then.
fn is_word_start(before: &[u8]) -> bool {
    before.last().is_none_or(|byte| is_metacharacter(*byte) || *byte == b'`')
}
