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

    /// A call that could not be read.
    pub fn unreadable(error: &CallError) -> Self {
        let message = error.to_string();
        Self::bad(message.clone(), facts::error("bad_call", &message))
    }

    /// What could not be done, in the words of whoever tried.
    pub fn failed(failure: &Failure) -> Self {
        Self::bad(failure.message.clone(), facts::failure(failure))
    }

    /// The reply to everything that a dialect has no words of its own for: failures, and what it never asks for.
    pub fn otherwise(done: &Done) -> Self {
        match done {
            Done::Failed(failure) => Self::failed(failure),
            _ => Self::bad("this tool has no answer to that", facts::error("unexpected", "no answer to that")),
        }
    }
}
