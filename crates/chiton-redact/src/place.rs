//! Where in a command a reference stands: what surrounds it decides how a value can be put there.
//!
//! This is no parser of bash. It knows quotes, comments, here-documents and what nests, and which word of a command a
//! reference is part of. What it cannot decide with certainty it calls [`Place::Unfit`], and such a command is refused.

mod heredoc;
mod quoted;
mod scanner;
mod simple;

use std::ops::Range;

use scanner::{Scanner, Until, Words};

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
    /// It is what a declaration assigns, which may be read as a list.
    pub(crate) declared: bool,
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
        found.resize(tokens.len(), Located { place: Place::Unfit(why), backticks: 0, code_of: None, declared: false });
    }
    found
}
