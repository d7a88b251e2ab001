//! What a command says: one parse of bash text, with the place of every piece.
//!
//! 1. [`parse`] reads the whole command into a [`tree::Script`], as bash does, or says where it stops making sense.
//! 2. [`place::Places`] answers what a byte of the text is: part of a command name, inside double quotes, in a here
//!    document, a comment, and so on.
//!
//! Nothing is expanded here, and nothing is looked up: that is the guard's work. Size, depth and effort are bounded
//! before they can hurt, so a hostile text costs an error and never the stack.

mod ansi;
pub mod builtins;
mod command;
mod compound;
mod condition;
mod dollar;
pub mod effect;
mod here;
mod lexer;
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
use tree::{Script, Span};

/// The longest text that is parsed. Commands with a file in a here document fit; what is longer is no command.
pub const LONGEST: usize = 1 << 20;
/// How deep constructs may nest. People stay below ten, generated code below thirty.
pub const DEEPEST: usize = 60;

/// Parses `source` as bash would read it from a script.
pub fn parse(source: &[u8]) -> Result<Script, SyntaxError> {
    Lexer::new(source, Positions::Offset(0), 0)?.script()
}

/// Parses text that stands at `span` of the real command, such as the argument of `bash -c`; everything in the tree
/// then has that span.
pub fn parse_at(source: &[u8], span: Span) -> Result<Script, SyntaxError> {
    Lexer::new(source, Positions::Fixed(span), 0)?.script()
}

#[cfg(test)]
mod tests;
