//! What an error of the engine is in the words of a dialect.

use chiton_dialects::action::{Failure, FailureKind};
use chiton_engine::EngineError;
use chiton_engine::tasks::{NotFound, ReadError, SendError};

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
pub(crate) fn not_found(error: NotFound) -> Failure {
    let kind = if error.removed.is_some() { FailureKind::Removed } else { FailureKind::NotFound };
    Failure::new(kind, error.to_string())
}

pub(crate) fn system(error: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::System, error.to_string())
}

pub(crate) fn not_possible(error: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::NotPossible, error.to_string())
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
pub(crate) fn engine_failure(error: EngineError) -> Failure {
    let kind = if matches!(error, EngineError::TaskLimit(_)) { FailureKind::TaskLimit } else { FailureKind::System };
    Failure::new(kind, error.to_string())
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
pub(crate) fn read_failure(error: ReadError) -> Failure {
    let kind = if matches!(error, ReadError::BadFilter { .. }) { FailureKind::BadFilter } else { FailureKind::System };
    Failure::new(kind, error.to_string())
}

pub(crate) fn send_failure(error: SendError) -> Failure {
    match error {
        SendError::NotFound(error) => not_found(error),
        SendError::Read(error) => read_failure(error),
        error @ SendError::BadPattern { .. } => Failure::new(FailureKind::BadFilter, error.to_string()),
        error @ SendError::InputClosed { .. } => Failure::new(FailureKind::InputClosed, error.to_string()),
        SendError::Objected { id, refusal } => {
            let message = format!("task {id}: {}", refusal.reason);
            Failure { kind: FailureKind::Refused, message, refusal: Some(refusal) }
        }
        other => not_possible(other),
    }
}
