//! The answer to a call.

use chiton_engine::{Outcome, Task};
use serde_json::{Map, Value, json};

use crate::action::{Failure, Ran};
use crate::arguments::CallError;

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
        Self::bad(error.to_string(), object(&json!({"error": {"kind": "bad_call", "message": error.to_string()}})))
    }
}

/// A JSON object as its entries.
pub fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// A failure for machines: its own shape, without an exit code, so that it cannot be taken for a command that failed.
pub fn failure(failure: &Failure) -> Map<String, Value> {
    object(&json!({"error": {"kind": failure.kind.word(), "message": failure.message}}))
}

/// The facts of a run that every dialect reports to machines.
pub fn run_facts(ran: &Ran) -> Map<String, Value> {
    let response = &ran.response;
    object(&json!({
        "outcome": response.outcome.word(),
        "exit_code": response.outcome.exit_code(),
        "signal": response.outcome.signal().map(|signal| signal.to_string()),
        "timed_out": response.outcome == Outcome::TimedOut,
        "run_id": response.run_id,
        "cwd": response.cwd.to_string_lossy(),
        "leftovers": response.leftovers,
        "leftover_task": response.leftover_task,
        "omitted_bytes": response.omitted_bytes(),
        "duration_ms": u64::try_from(response.duration.as_millis()).unwrap_or(u64::MAX),
        "notices": response.notices,
    }))
}

/// The facts of a task that every dialect reports to machines.
pub fn task_facts(task: &Task) -> Map<String, Value> {
    object(&json!({
        "task_id": task.id,
        "bash_id": task.id,
        "session_id": task.id,
        "command": task.command,
        "status": task.status,
        "is_running": task.status.is_running(),
        "exit_code": task.outcome.as_ref().and_then(Outcome::exit_code),
        "signal": task.outcome.as_ref().and_then(Outcome::signal).map(|signal| signal.to_string()),
        "pid": task.pid,
        "pgid": task.pid,
        "duration_ms": u64::try_from(task.duration.as_millis()).unwrap_or(u64::MAX),
    }))
}

/// `a` with the entries of `b` in it.
pub fn with(mut a: Map<String, Value>, b: &Value) -> Map<String, Value> {
    a.extend(object(b));
    a
}
