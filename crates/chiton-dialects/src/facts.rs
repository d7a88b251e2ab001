//! What replies say to machines, and the schemas of that, side by side.
//!
//! A structured reply is one of a few shapes: a command that ran, a task, an error, and what a dialect adds to them.
//! A tool's output schema is the list of the shapes it may give ([`any_of`]).

use chiton_engine::terminal::Snapshot;
use chiton_engine::{InputWait, Look, Outcome, RunReport, Task};
use serde_json::{Map, Value, json};

use crate::action::{Failure, Ran};

/// A JSON object as its entries.
pub fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// `a` with the entries of `b` in it.
pub fn with(mut a: Map<String, Value>, b: &Value) -> Map<String, Value> {
    a.extend(object(b));
    a
}

/// A failure: its own shape, without an exit code, so that it cannot be taken for a command that failed.
pub fn failure(failure: &Failure) -> Map<String, Value> {
    error(failure.kind.word(), &failure.message)
}

/// An error of this kind.
pub fn error(kind: &str, message: &str) -> Map<String, Value> {
    object(&json!({"error": {"kind": kind, "message": message}}))
}

/// The facts of a run that most dialects report.
pub fn run_facts(ran: &Ran) -> Map<String, Value> {
    let outcome = ran.outcome();
    object(&json!({
        "outcome": ran.response.word(),
        "exit_code": outcome.as_ref().and_then(Outcome::exit_code),
        "signal": outcome.as_ref().and_then(Outcome::signal).map(|signal| signal.to_string()),
        "timed_out": outcome == Some(Outcome::TimedOut),
        "limit": ran.limit(),
        "run_id": ran.run_id(),
        "cwd": ran.cwd.to_string_lossy(),
        "leftovers": ran.leftovers(),
        "leftover_task": ran.leftover_task(),
        "omitted_bytes": ran.response.ran().map_or(0, RunReport::omitted_bytes),
        "duration_ms": u64::try_from(ran.duration().as_millis()).unwrap_or(u64::MAX),
        "notices": ran.notices,
        "protection": ran.response.protection(),
    }))
}

const RUN: [(&str, &str); 13] = [
    ("outcome", "string"),
    ("exit_code", "integer?"),
    ("signal", "string?"),
    ("timed_out", "boolean"),
    ("limit", "string?"),
    ("run_id", "string"),
    ("cwd", "string"),
    ("leftovers", "processes"),
    ("leftover_task", "string?"),
    ("omitted_bytes", "integer"),
    ("duration_ms", "integer"),
    ("notices", "strings"),
    ("protection", "string"),
];

/// The facts of a task that most dialects report.
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
        "protection": task.protection,
    }))
}

const TASK: [(&str, &str); 12] = [
    ("task_id", "string"),
    ("bash_id", "string"),
    ("session_id", "string"),
    ("command", "string"),
    ("status", "string"),
    ("is_running", "boolean"),
    ("exit_code", "integer?"),
    ("signal", "string?"),
    ("pid", "integer?"),
    ("pgid", "integer?"),
    ("duration_ms", "integer"),
    ("protection", "string?"),
];

/// What a command waits for, where it waits for input.
pub fn waiting(wait: Option<&InputWait>) -> Value {
    wait.map_or(Value::Null, |wait| json!({"prompt": wait.prompt, "echo": wait.echo, "certain": wait.certain}))
}

/// The facts of a look at a terminal.
pub fn look_facts(look: Option<&Look>) -> Map<String, Value> {
    let screen = look.map(|look| &look.screen);
    object(&json!({
        "screen": screen.map(Snapshot::to_text),
        "cursor": screen.map(|screen| json!({"row": screen.cursor.row, "column": screen.cursor.column, "visible": screen.cursor.visible})),
        "size": screen.map(|screen| json!({"columns": screen.size.columns, "rows": screen.size.rows})),
        "alternate_screen": screen.map(|screen| screen.alternate),
        "title": screen.and_then(|screen| screen.title.clone()),
        "bells": screen.map(|screen| screen.bells),
        "waiting": waiting(look.and_then(|look| look.waits.as_ref())),
        "people_attached": look.map(|look| look.people),
        "typed_by_people": look.map(|look| look.typed_by_people),
    }))
}

/// The fields of [`look_facts`].
pub const LOOK: [(&str, &str); 9] = [
    ("screen", "string?"),
    ("cursor", "object?"),
    ("size", "object?"),
    ("alternate_screen", "boolean?"),
    ("title", "string?"),
    ("bells", "integer?"),
    ("waiting", "object?"),
    ("people_attached", "integer?"),
    ("typed_by_people", "integer?"),
];

/// Fields by name and kind, as [`shape`] reads them.
pub type Fields<'a> = &'a [(&'a str, &'a str)];

/// The schema of [`run_facts`] with these fields in addition.
pub fn ran(more: Fields<'_>) -> Value {
    shape(&[&RUN, more].concat())
}

/// The schema of [`task_facts`] with these fields in addition.
pub fn task(more: Fields<'_>) -> Value {
    shape(&[&TASK, more].concat())
}

/// The schema of [`failure`].
pub fn failed() -> Value {
    let shape = shape(&[("kind", "string"), ("message", "string")]);
    json!({"type": "object", "properties": {"error": shape}, "required": ["error"], "additionalProperties": false})
}

/// A tool's output schema: its reply is one of these, or an error.
pub fn any_of(shapes: impl IntoIterator<Item = Value>) -> Value {
    let shapes: Vec<Value> = shapes.into_iter().chain([failed()]).collect();
    json!({"type": "object", "anyOf": shapes})
}

/// The schema of an object with exactly these fields. A kind is a type of JSON, with `?` one that may be null, with `-`
/// one that may be left out; `strings` and `processes` are lists.
pub fn shape(fields: Fields<'_>) -> Value {
    let properties: Map<String, Value> = fields.iter().map(|(name, kind)| ((*name).to_owned(), field(kind))).collect();
    let required: Vec<&str> = fields.iter().filter(|(_, kind)| !kind.ends_with('-')).map(|(name, _)| *name).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn field(kind: &str) -> Value {
    let kind = kind.trim_end_matches('-');
    match kind {
        "strings" => json!({"type": "array", "items": {"type": "string"}}),
        "processes" => json!({"type": "array", "items": shape(&[("pid", "integer"), ("command", "string")])}),
        _ => match kind.strip_suffix('?') {
            Some(kind) => json!({"type": [kind, "null"]}),
            None => json!({"type": kind}),
        },
    }
}
