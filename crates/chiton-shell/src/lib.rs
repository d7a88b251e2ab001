#![doc = include_str!("../README.md")]

mod ansi;
pub mod builtins;
mod code_words;
mod command;
mod compound;
mod condition;
mod dollar;
pub mod effect;
mod here;
mod lexer;
mod matched;
pub mod names;
pub mod place;
pub mod quote;
pub mod reader;
mod span;
pub mod survey;
pub mod tree;
mod walk;
mod word;

pub use lexer::{Failure, SyntaxError};
pub use survey::Survey;

use lexer::{Lexer, Positions};
use tree::{Script, Span, Word};

/// The longest text that is parsed, in bytes. Commands with a file in a here document fit; nobody writes longer ones.
pub const LONGEST: usize = 1 << 20;
/// How deep constructs may nest. People stay below ten, generated code below thirty.
pub const DEEPEST: usize = 60;

/// Parses `source` as bash would read it from a script.
pub fn parse(source: &[u8]) -> Result<Script, SyntaxError> {
    Lexer::script(source, &Positions::Offset(0))
}

/// Parses text that stands at `span` of the real command, such as the argument of `bash -c`; everything in the tree
/// then has that span.
pub fn parse_at(source: &[u8], span: Span) -> Result<Script, SyntaxError> {
    Lexer::script(source, &Positions::Fixed(span))
}

/// Reads `source`, all of it, as one word, as bash does with text that it expands a second time: the result of
/// expanding what follows `>&`, where that is neither a number nor `-`. What cannot be read for certain is an error.
pub fn parse_word_at(source: &[u8], span: Span) -> Result<Word, SyntaxError> {
    let (word, remains) = Lexer::reading(source, &Positions::Fixed(span), &|_| {}, &|lexer| lexer.whole_word());
    match remains.and_then(|remains| remains.places.uncertain()) {
        Some(uncertain) => {
            let failure = Failure::Unexpected(format!("text that cannot be read for certain ({})", uncertain.why));
            Err(SyntaxError { failure, span })
        }
        None => word,
    }
}

#[cfg(test)]
mod tests;
