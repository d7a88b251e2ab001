//! A terminal from outside: what is typed into it, who types, and what is to be seen of it.

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

/// What is to be seen of a terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// The screen.
    pub screen: Snapshot,
    /// What the command waits for, where it waits for input and does nothing else.
    pub waits: Option<InputWait>,
    /// People who have their own terminal on it now and can type.
    pub people: usize,
    /// How often a person has typed.
    pub typed_by_people: u64,
}

/// A command that waits for somebody to type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputWait {
    /// The last line: what it asks, as a rule.
    pub prompt: String,
    /// Whether what is typed is shown. Where it is not, a line is read and nothing shown, it asks for a password.
    pub echo: bool,
    /// Whether it is seen to wait, or only taken to: another user's process does not show what it does.
    pub certain: bool,
}
