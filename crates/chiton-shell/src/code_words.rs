//! Which words of a call are code, as rows of builtins and programs say it.

/// Which words a program reads as code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeWords {
    /// All of them.
    Everything,
    /// All of them, from the first that begins with one of these.
    EverythingWith(&'static [&'static str]),
    /// All of them, after this word.
    After(&'static str),
    /// What this option takes: `-c`, `--eval` or `-ex`, in the next word or in the same one.
    Option(&'static str),
    /// What this option takes. The words after that belong to the script.
    LastOption(&'static str),
    /// The first operand, unless an option has given the code.
    FirstOperand,
    /// The operands from this one on, counted from 0.
    Operands(usize),
    /// Each word that begins with this.
    Joined(&'static str),
    /// The value of a setting whose name begins so, in lower case: `name=value`, or the word after the name.
    Setting(&'static str),
}
