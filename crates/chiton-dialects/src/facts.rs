//! What replies say to machines.
//!
//! A structured reply is one of a few shapes: a command that ran, a task, an error, and what a dialect adds to them.
//! Each row of a table here is a field and its value, so that what a reply says and the schema of it are one list. A
//! tool's output schema is the list of the shapes that it may give ([`crate::shape::any_of`]).

use chiton_engine::review::Refusal;
use chiton_engine::{InputWait, Look, Outcome, RunReport, Task};
use serde_json::{Map, Value, json};

use crate::action::{Failure, Ran};
use crate::shape::{Field, shape};

/// One fact: the field that reports it, and where it comes from.
struct Fact<T: 'static> {
    field: Field,
    value: fn(&T) -> Value,
}

const fn fact<T>(field: Field, value: fn(&T) -> Value) -> Fact<T> {
    Fact { field, value }
}

/// The facts of a command that ran, which most dialects report.
const RUN: &[Fact<Ran>] = &[
    fact(Field::text("outcome"), |ran| json!(ran.response.word())),
    fact(Field::integer("exit_code").or_null(), |ran| json!(ran.outcome().as_ref().and_then(Outcome::exit_code))),
    fact(Field::text("signal").or_null(), |ran| signal(ran.outcome().as_ref())),
    fact(Field::boolean("timed_out"), |ran| json!(ran.outcome() == Some(Outcome::TimedOut))),
    fact(Field::text("limit").or_null(), |ran| json!(ran.limit())),
    fact(Field::text("run_id"), |ran| json!(ran.run_id())),
    fact(Field::text("cwd"), |ran| json!(ran.cwd.to_string_lossy())),
    fact(Field::processes("leftovers"), |ran| json!(ran.leftovers())),
    fact(Field::text("leftover_task").or_null(), |ran| json!(ran.leftover_task())),
    fact(Field::integer("omitted_bytes"), |ran| json!(ran.response.ran().map_or(0, RunReport::omitted_bytes))),
    fact(Field::integer("duration_ms"), |ran| millis(ran.duration())),
    fact(Field::texts("notices"), |ran| json!(ran.notices)),
    fact(Field::object("refused").or_null(), |ran| json!(ran.response.refusal().map(Refusal::facts))),
    fact(Field::text("protection"), |ran| json!(ran.response.protection())),
];

/// The facts of a task, which most dialects report. Its id has the name that each of the surfaces has for it.
const TASK: &[Fact<Task>] = &[
    fact(Field::text("task_id"), |task| json!(task.id)),
    fact(Field::text("bash_id"), |task| json!(task.id)),
    fact(Field::text("session_id"), |task| json!(task.id)),
    fact(Field::text("command"), |task| json!(task.command)),
    fact(Field::text("status"), |task| json!(task.status)),
    fact(Field::boolean("is_running"), |task| json!(task.status.is_running())),
    fact(Field::integer("exit_code").or_null(), |task| json!(task.outcome.as_ref().and_then(Outcome::exit_code))),
    fact(Field::text("signal").or_null(), |task| signal(task.outcome.as_ref())),
    fact(Field::integer("pid").or_null(), |task| json!(task.pid)),
    fact(Field::integer("pgid").or_null(), |task| json!(task.pid)),
    fact(Field::integer("duration_ms"), |task| millis(task.duration)),
    fact(Field::text("protection").or_null(), |task| json!(task.protection)),
];

/// The facts of a look at a terminal. Without a terminal, all of them are null.
const LOOK: &[Fact<Look>] = &[
    fact(Field::text("screen").or_null(), |look| json!(look.screen.to_text())),
    fact(Field::object("cursor").or_null(), |look| {
        let cursor = &look.screen.cursor;
        json!({"row": cursor.row, "column": cursor.column, "visible": cursor.visible})
    }),
    fact(
        Field::object("size").or_null(),
        |look| json!({"columns": look.screen.size.columns, "rows": look.screen.size.rows}),
    ),
    fact(Field::boolean("alternate_screen").or_null(), |look| json!(look.screen.alternate)),
    fact(Field::text("title").or_null(), |look| json!(look.screen.title)),
    fact(Field::integer("bells").or_null(), |look| json!(look.screen.bells)),
    fact(Field::object("waiting").or_null(), |look| waiting(look.waits.as_ref())),
    fact(Field::integer("people_attached").or_null(), |look| json!(look.people)),
    fact(Field::integer("typed_by_people").or_null(), |look| json!(look.typed_by_people)),
];

/// The facts of a run that most dialects report.
pub fn run_facts(ran: &Ran) -> Map<String, Value> {
    values(RUN, Some(ran))
}

/// The facts of a task that most dialects report.
pub fn task_facts(task: &Task) -> Map<String, Value> {
    values(TASK, Some(task))
}

/// The facts of a look at a terminal, where there is one.
pub fn look_facts(look: Option<&Look>) -> Map<String, Value> {
    values(LOOK, look)
}

/// The schema of [`run_facts`] with these fields in addition.
pub fn ran(more: &[Field]) -> Value {
    shape(&[&fields(RUN)[..], more].concat())
}

/// The schema of [`task_facts`] with these fields in addition.
pub fn task(more: &[Field]) -> Value {
    shape(&[&fields(TASK)[..], more].concat())
}

/// The fields of [`look_facts`].
pub fn look_fields() -> Vec<Field> {
    fields(LOOK)
}

fn fields<T>(facts: &[Fact<T>]) -> Vec<Field> {
    facts.iter().map(|fact| fact.field).collect()
}

fn values<T>(facts: &[Fact<T>], subject: Option<&T>) -> Map<String, Value> {
    let entry = |fact: &Fact<T>| (fact.field.name().to_owned(), subject.map_or(Value::Null, fact.value));
    facts.iter().map(entry).collect()
}

fn signal(outcome: Option<&Outcome>) -> Value {
    json!(outcome.and_then(Outcome::signal).map(|signal| signal.to_string()))
}

fn millis(duration: std::time::Duration) -> Value {
    json!(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// What a command waits for, where it waits for input.
pub fn waiting(wait: Option<&InputWait>) -> Value {
    wait.map_or(Value::Null, |wait| json!({"prompt": wait.prompt, "echo": wait.echo, "certain": wait.certain}))
}

/// A failure: its own shape, without an exit code, so that it cannot be taken for a command that failed.
pub fn failure(failure: &Failure) -> Map<String, Value> {
    error(failure.kind.word(), &failure.message)
}

/// An error of this kind.
pub fn error(kind: &str, message: &str) -> Map<String, Value> {
    object(&json!({"error": {"kind": kind, "message": message}}))
}

/// A JSON object as its entries.
pub fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// `a` with the entries of `b` in it.
pub fn with(mut a: Map<String, Value>, b: &Value) -> Map<String, Value> {
    a.extend(object(b));
    a
}
