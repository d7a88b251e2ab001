//! The answer to a call.

use serde_json::{Map, Value};

use crate::action::{Done, Failure};
use crate::call_error::CallError;
use crate::facts;

/// What a client gets.
#[derive(Clone, Debug)]
pub struct Reply {
    /// For the model.
    pub text: String,
    /// For machines.
    pub structured: Map<String, Value>,
    /// Whether the call counts as failed.
    pub is_error: bool,
}

impl Reply {
    /// A reply that counts as done.
    pub fn good(text: impl Into<String>, structured: Map<String, Value>) -> Self {
        Self { text: text.into(), structured, is_error: false }
    }

    /// A reply that counts as failed.
    pub fn bad(text: impl Into<String>, structured: Map<String, Value>) -> Self {
        Self { text: text.into(), structured, is_error: true }
    }

    /// The same with a text that says something. Some clients pass a text without a visible character on to a model
    /// whose provider refuses the whole conversation for it.
    #[must_use]
    pub fn never_empty(self) -> Self {
        let text = match self.text.as_str() {
            "" => "(no output)".to_owned(),
            text if text.trim().is_empty() => format!("(no output but {} blank characters)", text.chars().count()),
            _ => return self,
        };
        Self { text, ..self }
    }

    /// A call that could not be read.
    pub fn unreadable(error: &CallError) -> Self {
        let message = error.to_string();
        Self::bad(message.clone(), facts::error("bad_call", &message))
    }

    /// What could not be done, in the words of whoever tried.
    pub fn failed(failure: &Failure) -> Self {
        Self::bad(failure.message.clone(), facts::failure(failure))
    }

    /// The reply to everything for which a dialect has no words of its own: failures, and what it never asks for.
    pub fn otherwise(done: &Done) -> Self {
        match done {
            Done::Failed(failure) => Self::failed(failure),
            _ => Self::bad("this tool has no answer to that", facts::error("unexpected", "no answer to that")),
        }
    }
}
