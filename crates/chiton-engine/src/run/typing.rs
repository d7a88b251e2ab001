//! A terminal from outside: what is typed into it, who types, and what it shows.

use chiton_terminal::Snapshot;
use serde::{Deserialize, Serialize};

use crate::bytes::ByteString;

/// What is typed into a terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Typing {
    /// Text; the end of a line is the enter key.
    Text(String),
    /// Keys by their names, separated by blanks.
    Keys(String),
    /// A paste, marked as one where the program asked for that.
    Paste(String),
    /// Bytes as they are.
    Raw(ByteString),
}

/// Who types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Typist {
    /// Whoever runs the command.
    Caller,
    /// A person who took over.
    Person,
}

/// A terminal at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// The screen.
    pub screen: Snapshot,
    /// What the command waits for, where it waits for input and does nothing else.
    pub waits: Option<InputWait>,
    /// How many people have a window on it now in which they can type.
    pub people: usize,
    /// How often a person has typed.
    pub typed_by_people: u64,
}

/// A command that waits for somebody to type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputWait {
    /// The last line, which is what it asks as a rule.
    pub prompt: String,
    /// Whether what is typed is shown. Where it is not, the command asks for a password.
    pub echo: bool,
    /// Whether it was seen to wait, or is only assumed to: a process of another user does not show what it does.
    pub certain: bool,
}
