//! What went wrong, as an exception of the Python package.

use chiton_engine::EngineError;
use chiton_engine::changes::ChangesError;
use chiton_engine::error::StoreError;
use chiton_engine::tasks::{NotFound, ReadError, SendError};
use pyo3::prelude::*;

/// A failure on its way to Python, where `kind` is the name of its class in `chiton.errors`.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: &'static str,
    message: String,
}

impl Failure {
    pub(crate) fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// What was asked for makes no sense.
    pub(crate) fn request(message: impl Into<String>) -> Self {
        Self::new("RequestError", message)
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let kind = if matches!(error, EngineError::Request(_)) { "RequestError" } else { "NotStarted" };
        Self::new(kind, error.to_string())
    }
}

impl From<NotFound> for Failure {
    fn from(error: NotFound) -> Self {
        Self::new("TaskNotFound", error.to_string())
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Self {
        let kind = match &error {
            SendError::NotFound(_) => "TaskNotFound",
            SendError::Ended { .. } => "TaskEnded",
            _ => "TaskError",
        };
        Self::new(kind, error.to_string())
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        let kind = if matches!(error, ReadError::BadFilter { .. }) { "RequestError" } else { "TaskError" };
        Self::new(kind, error.to_string())
    }
}

impl From<ChangesError> for Failure {
    fn from(error: ChangesError) -> Self {
        Self::new("UndoError", error.to_string())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::new("StoreError", error.to_string())
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        let Failure { kind, message } = failure;
        Python::attach(|py| {
            let class = py.import("chiton.errors").and_then(|errors| errors.getattr(kind));
            let made = class.and_then(|class| class.call1((message,)));
            made.map_or_else(|error| error, PyErr::from_value)
        })
    }
}
