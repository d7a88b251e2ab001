//! Code for an interpreter: [`lexer`] cuts it into words, [`scan`] finds the calls that matter.

pub(crate) mod lexer;
pub(crate) mod scan;
