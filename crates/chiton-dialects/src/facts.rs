//! What replies say to machines.
//!
//! A structured reply is one of a few shapes: a command that ran, a task, an error, and what a dialect adds to them.
//! Each row of a table here is a field and its value, so that what a reply says and the schema of it are one list. A
//! tool's output schema is the list of the shapes that it may give ([`crate::shape::any_of`]).

use std::ops::RangeInclusive;

use chiton_engine::review::Refusal;
use chiton_engine::{InputWait, Look, Outcome, Protection, RunReport, Task};
use serde_json::{Map, Value, json};

use crate::action::{Failure, Ran, Shorter};
use crate::compact::Compacted;
use crate::shape::{Field, shape};

/// One fact: the field that reports it, and where it comes from.
struct Fact<T: 'static> {
    field: Field,
    value: fn(&T) -> Value,
}

const fn fact<T>(field: Field, value: fn(&T) -> Value) -> Fact<T> {
    Fact { field, value }
}

/// The facts of a command that ran, which most dialects report. What is as usual is left out: a reader knows it anyway.
const RUN: &[Fact<Ran>] = &[
    fact(Field::text("outcome"), |ran| json!(ran.response.word())),
    fact(Field::integer("exit_code").or_absent(), |ran| json!(ran.outcome().as_ref().and_then(Outcome::exit_code))),
    fact(Field::text("signal").or_absent(), |ran| signal(ran.outcome().as_ref())),
    fact(Field::boolean("timed_out").or_absent(), |ran| json!(ran.outcome() == Some(Outcome::TimedOut))),
    fact(Field::text("limit").or_absent(), |ran| json!(ran.limit_word())),
    fact(Field::text("run_id").or_absent(), |ran| json!(ran.run_id())),
    fact(Field::boolean("released").or_absent(), |ran| json!(ran.is_released())),
    fact(Field::text("cwd"), |ran| json!(ran.cwd.to_string_lossy())),
    fact(Field::processes("leftovers").or_absent(), |ran| json!(ran.leftovers())),
    fact(Field::text("leftover_task").or_absent(), |ran| json!(ran.leftover_task())),
    fact(Field::integer("omitted_bytes").or_absent(), omitted),
    fact(Field::object("compacted").or_absent(), |ran| compacted(gaps_of(ran))),
    fact(Field::integer("duration_ms"), |ran| millis(ran.duration())),
    fact(Field::texts("notices").or_absent(), |ran| json!(ran.notices)),
    fact(Field::list("refused").or_absent(), |ran| json!(ran.refused())),
    fact(Field::object("changed").or_absent(), |ran| json!(ran.changed())),
    fact(Field::object("protection").or_absent(), |ran| unusual(ran.response.protection())),
];

/// The same for a surface of our own: one id, and nothing that another field says.
const LEAN_RUN: &[Fact<Ran>] = &[
    fact(Field::text("outcome").or_absent(), |ran| match ran.outcome() {
        Some(Outcome::Exited(_)) => Value::Null,
        _ => json!(ran.response.word()),
    }),
    fact(Field::integer("exit_code").or_absent(), |ran| json!(ran.outcome().as_ref().and_then(Outcome::exit_code))),
    fact(Field::text("signal").or_absent(), |ran| signal(ran.outcome().as_ref())),
    fact(Field::text("limit").or_absent(), |ran| json!(ran.limit_word())),
    fact(Field::text("bash_id").or_absent(), |ran| json!(ran.run_id())),
    fact(Field::boolean("released").or_absent(), |ran| json!(ran.is_released())),
    fact(Field::text("cwd").or_absent(), |ran| if ran.moved { json!(ran.cwd.to_string_lossy()) } else { Value::Null }),
    fact(Field::processes("leftovers").or_absent(), |ran| json!(ran.leftovers())),
    fact(Field::integer("duration_ms"), |ran| millis(ran.duration())),
    fact(Field::object("waiting").or_absent(), |ran| waiting(ran.waits())),
    fact(Field::object("compacted").or_absent(), |ran| compacted(gaps_of(ran))),
    fact(Field::text("same_as").or_absent(), |ran| match ran.shorter.as_deref() {
        Some(Shorter::Same { id, .. }) => json!(id),
        _ => Value::Null,
    }),
    fact(Field::list("refused").or_absent(), |ran| json!(ran.refused())),
    fact(Field::object("changed").or_absent(), |ran| json!(ran.changed())),
    fact(Field::object("protection").or_absent(), |ran| unusual(ran.response.protection())),
];

/// The facts of a task, besides its id, which each surface calls by its own name.
const TASK: &[Fact<Task>] = &[
    fact(Field::text("command"), |task| json!(task.command)),
    fact(Field::text("status"), |task| json!(task.status)),
    fact(Field::boolean("is_running"), |task| json!(task.status.is_running())),
    fact(Field::integer("exit_code").or_absent(), |task| json!(task.outcome.as_ref().and_then(Outcome::exit_code))),
    fact(Field::text("signal").or_absent(), |task| signal(task.outcome.as_ref())),
    fact(Field::integer("pid").or_absent(), |task| json!(task.pid)),
    fact(Field::integer("pgid").or_absent(), |task| json!(task.pid)),
    fact(Field::integer("duration_ms"), |task| millis(task.duration)),
    fact(Field::object("protection").or_absent(), |task| task.protection.as_ref().map_or(Value::Null, unusual)),
];

/// How a surface reports a task.
#[derive(Clone, Copy, Debug)]
pub struct TaskForm {
    /// What it calls the id.
    pub ids: &'static [&'static str],
    /// What it reports, of all that is known.
    pub fields: &'static [&'static str],
}

/// The facts of a look at a terminal. Without a terminal there are none.
const LOOK: &[Fact<Look>] = &[
    fact(Field::text("screen").or_absent(), |look| json!(look.screen.to_text())),
    fact(Field::object("cursor").or_absent(), |look| {
        let cursor = &look.screen.cursor;
        json!({"row": cursor.row, "column": cursor.column, "visible": cursor.visible})
    }),
    fact(
        Field::object("size").or_absent(),
        |look| json!({"columns": look.screen.size.columns, "rows": look.screen.size.rows}),
    ),
    fact(Field::boolean("alternate_screen").or_absent(), |look| json!(look.screen.alternate)),
    fact(Field::text("title").or_absent(), |look| json!(look.screen.title)),
    fact(Field::integer("bells").or_absent(), |look| count(look.screen.bells)),
    fact(Field::object("waiting").or_absent(), |look| waiting(look.waits.as_ref())),
    fact(Field::integer("people_attached").or_absent(), |look| count(look.people as u64)),
    fact(Field::integer("typed_by_people").or_absent(), |look| count(look.typed_by_people)),
];

/// The facts of a run that most dialects report.
pub fn run_facts(ran: &Ran) -> Map<String, Value> {
    values(RUN, Some(ran))
}

/// The facts of a run that a surface of our own reports.
pub fn lean_run_facts(ran: &Ran) -> Map<String, Value> {
    values(LEAN_RUN, Some(ran))
}

/// The facts of a task, as a surface reports them.
pub fn task_facts(task: &Task, form: TaskForm) -> Map<String, Value> {
    let ids = form.ids.iter().map(|name| ((*name).to_owned(), json!(task.id)));
    let facts = values(TASK, Some(task)).into_iter().filter(|(name, _)| form.fields.contains(&name.as_str()));
    ids.chain(facts).collect()
}

/// The facts of a look at a terminal, where there is one.
pub fn look_facts(look: Option<&Look>) -> Map<String, Value> {
    values(LOOK, look)
}

/// The schema of [`run_facts`] with these fields in addition.
pub fn ran(more: &[Field]) -> Value {
    shape(&[&fields(RUN)[..], more].concat())
}

/// The schema of [`lean_run_facts`] with these fields in addition.
pub fn lean_ran(more: &[Field]) -> Value {
    shape(&[&fields(LEAN_RUN)[..], more].concat())
}

/// The schema of [`task_facts`] with these fields in addition.
pub fn task(form: TaskForm, more: &[Field]) -> Value {
    let ids: Vec<Field> = form.ids.iter().map(|name| Field::text(name)).collect();
    let facts: Vec<Field> = fields(TASK).into_iter().filter(|field| form.fields.contains(&field.name())).collect();
    shape(&[&ids[..], &facts, more].concat())
}

/// The fields of [`look_facts`].
pub fn look_fields() -> Vec<Field> {
    fields(LOOK)
}

fn fields<T>(facts: &[Fact<T>]) -> Vec<Field> {
    facts.iter().map(|fact| fact.field).collect()
}

fn values<T>(facts: &[Fact<T>], subject: Option<&T>) -> Map<String, Value> {
    let entry = |fact: &Fact<T>| {
        let value = subject.map_or(Value::Null, fact.value);
        fact.field.has(&value).then(|| (fact.field.name().to_owned(), value))
    };
    facts.iter().filter_map(entry).collect()
}

/// A number, where there is something to count.
fn count(number: u64) -> Value {
    if number == 0 { Value::Null } else { number.into() }
}

fn omitted(ran: &Ran) -> Value {
    count(ran.response.ran().map_or(0, RunReport::omitted_bytes))
}

/// Why a command may not run, part by part.
fn refused(refusal: Option<&Refusal>) -> Value {
    let mut facts = json!(refusal.map(Refusal::facts));
    if let Value::Object(parts) = &mut facts {
        parts.retain(|_, value| !value.is_null());
    }
    facts
}

/// A protection that is not the usual one.
pub(crate) fn unusual(protection: &Protection) -> Value {
    if protection.is_usual() { Value::Null } else { json!(protection) }
}

fn signal(outcome: Option<&Outcome>) -> Value {
    json!(outcome.and_then(Outcome::signal).map(|signal| signal.to_string()))
}

fn millis(duration: std::time::Duration) -> Value {
    json!(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

fn gaps_of(ran: &Ran) -> Option<&Compacted> {
    match ran.shorter.as_deref() {
        Some(Shorter::Gaps(compacted)) => Some(compacted),
        _ => None,
    }
}

/// How much is left out of output, and which lines.
pub(crate) fn compacted(compacted: Option<&Compacted>) -> Value {
    let range = |range: &RangeInclusive<u64>| format!("lines {}-{}", range.start(), range.end());
    compacted.map_or(Value::Null, |compacted| {
        let ranges: Vec<String> = compacted.gaps.iter().map(range).collect();
        json!({"lines": compacted.lines, "bytes": compacted.bytes, "ranges": ranges})
    })
}

/// What a command waits for, where it waits for input.
pub fn waiting(wait: Option<&InputWait>) -> Value {
    wait.map_or(Value::Null, |wait| json!({"prompt": wait.prompt, "echo": wait.echo, "certain": wait.certain}))
}

/// A failure: its own shape, without an exit code, so that it cannot be taken for a command that failed.
pub fn failure(failure: &Failure) -> Map<String, Value> {
    let refused = json!({"refused": refused(failure.refusal.as_deref())});
    with(error(failure.kind.word(), &failure.message), &refused)
}

/// A command that may not run: why, by which rule, at which place, and what would be allowed.
pub fn refusal(ran: &Ran) -> Map<String, Value> {
    let facts = json!({"outcome": ran.response.word(), "refused": refused(ran.response.refusal())});
    with(object(&facts), &json!({"protection": unusual(ran.response.protection())}))
}

/// An error of this kind.
pub fn error(kind: &str, message: &str) -> Map<String, Value> {
    object(&json!({"error": {"kind": kind, "message": message}}))
}

/// A JSON object as its entries.
pub fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// `a` with the entries of `b` in it, except for those that are null.
pub fn with(mut a: Map<String, Value>, b: &Value) -> Map<String, Value> {
    let given = b.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    a.extend(given.map(|(name, value)| (name.clone(), value.clone())));
    a
}
