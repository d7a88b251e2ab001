//! `boris`: streams apart, a working directory that follows `cd`, background tasks that are read once when they ended.

use chiton_engine::Outcome;
use chiton_engine::render::TextView;
use chiton_engine::tasks::Part;
use serde_json::{Map, Value, json};

use crate::action::{Action, Done, FailureKind, Keeps, ReadAction, RunAction, TaskRef, WhenLong};
use crate::arguments::Arguments;
use crate::bash_like::{LIMIT, ended_by_itself};
use crate::call_error::CallError;
use crate::facts::{TaskForm, failure, ran, run_facts, task, task_facts, with};
use crate::reply::Reply;
use crate::shape::{Field, any_of};
use crate::text::{ending, first_characters, with_leftovers};
use crate::timeouts::{self, DEFAULT_TIMEOUT, MAXIMUM_MS};
use crate::tool::{Dialect, Surroundings, ToolEffect, ToolSpec, string};

pub(crate) struct Boris;

const TASKS: usize = 10;
/// Characters from the end of a stream that was cut.
const END: usize = 2_000;

/// How it reports a task.
const FORM: TaskForm =
    TaskForm { ids: &["task_id"], fields: &["status", "exit_code", "signal", "duration_ms", "protection"] };

impl Dialect for Boris {
    fn name(&self) -> &'static str {
        "boris"
    }

    fn about(&self) -> &'static str {
        "bash, task_output: the directory follows cd, stdout and stderr apart"
    }

    fn task_limit(&self) -> Option<usize> {
        Some(TASKS)
    }

    fn running_tool(&self) -> &'static str {
        "bash"
    }

    fn tools(&self, around: &Surroundings) -> Vec<ToolSpec> {
        let default = u64::try_from(around.timeout.unwrap_or(DEFAULT_TIMEOUT).as_millis()).unwrap_or(MAXIMUM_MS);
        let streams = [Field::text("stdout"), Field::text("stderr"), Field::boolean("truncated")];
        vec![
            ToolSpec {
                name: "bash",
                description: format!(
                    "Run a shell command. The working directory follows cd from call to call; it starts in {}.",
                    around.directory.display()
                ),
                parameters: vec![
                    ("command", string("The command.")),
                    (
                        "timeout",
                        json!({"type": "integer", "minimum": 1, "default": default, "maximum": MAXIMUM_MS, "description": "Milliseconds; more than the maximum counts as the maximum."}),
                    ),
                    (
                        "run_in_background",
                        json!({"type": "boolean", "default": false, "description": "Come back at once with a task_id; read it with task_output."}),
                    ),
                ],
                required: &["command"],
                effect: ToolEffect::Runs,
                output_schema: any_of([
                    ran(&[&streams[..], &[Field::integer("timeout_ms").or_absent()]].concat()),
                    task(FORM, &[]),
                ]),
            },
            ToolSpec {
                name: "task_output",
                description: "Output and status of a background task. A task that has completed can be read once."
                    .to_owned(),
                parameters: vec![("task_id", string("The id that bash gave."))],
                required: &["task_id"],
                effect: ToolEffect::Runs,
                output_schema: any_of([task(FORM, &streams)]),
            },
        ]
    }

    fn read(&self, tool: &str, values: &Map<String, Value>, around: &Surroundings) -> Result<Action, CallError> {
        if tool == "task_output" {
            let id = Arguments::new(values, &["task_id"])?.required("task_id")?;
            let read = ReadAction::new(TaskRef::Id(id), Part::All);
            return Ok(Action::Read(ReadAction { forgets: true, when_long: WhenLong::BothEnds, ..read }));
        }
        let arguments = Arguments::new(values, &["command", "timeout", "run_in_background"])?;
        let mut run = RunAction::new(&arguments.required("command")?);
        run.keeps = Keeps::Directory;
        run.request.called_as = Some("/bin/bash".into());
        if arguments.flag("run_in_background")? {
            return Ok(Action::Start(Box::new(run)));
        }
        run.request.timeout = timeouts::clamped(&arguments, &mut run)?.or(around.timeout).or(Some(DEFAULT_TIMEOUT));
        Ok(Action::Run(Box::new(run)))
    }

    fn write(&self, action: &Action, done: &Done) -> Reply {
        match (action, done) {
            (Action::Run(run), Done::Ran(ran)) => {
                let outcome = ran.outcome();
                let stdout = Cut::of(ran.run_id(), ran.stdout(), Some(ran.stdout_characters));
                let stderr = Cut::of(ran.run_id(), ran.stderr(), Some(ran.stderr_characters));
                let limit = run.request.timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
                let ending = match &outcome {
                    None => "The command was not run".to_owned(),
                    Some(Outcome::Exited(code)) => format!("exit_code: {code}"),
                    Some(Outcome::TimedOut) => {
                        format!("Command timed out after {}ms and was killed", limit.unwrap_or(0))
                    }
                    Some(other) => format!("The command {other}"),
                };
                let head = run.notes.iter().cloned().chain([ending]).collect::<Vec<_>>().join("\n");
                let facts = json!({
                    "stdout": stdout.text, "stderr": stderr.text, "truncated": stdout.truncated || stderr.truncated,
                    "timeout_ms": limit,
                });
                Reply {
                    text: with_leftovers(format!("{head}\n\n{}", streams(&stdout, &stderr)), ran),
                    structured: with(run_facts(ran), &facts),
                    is_error: !ended_by_itself(outcome.as_ref()),
                }
            }
            (_, Done::Started { task, .. }) => {
                Reply::good(format!("task_id: {}\nCommand started in background.", task.id), task_facts(task, FORM))
            }
            (_, Done::Read(read)) => {
                let status = if read.task.status.is_running() { "running" } else { "completed" };
                let stdout = Cut::of(&read.task.id, &read.stdout, None);
                let stderr = Cut::of(&read.task.id, &read.stderr, None);
                let code = read.task.outcome.as_ref().and_then(Outcome::exit_code);
                let ending = match (&read.task.outcome, code) {
                    (_, Some(code)) => format!("\nexit_code: {code}"),
                    (Some(outcome), None) => format!("\nthe command {outcome}"),
                    (None, None) => String::new(),
                };
                let facts = json!({
                    "status": status, "stdout": stdout.text, "stderr": stderr.text,
                    "truncated": stdout.truncated || stderr.truncated,
                });
                let text = format!("status: {status}{ending}\n\n{}", streams(&stdout, &stderr));
                Reply::good(text, with(task_facts(&read.task, FORM), &facts))
            }
            (_, Done::Failed(problem)) => {
                let code = match problem.kind {
                    FailureKind::NotFound | FailureKind::Removed | FailureKind::OfAnother => "BASH_TASK_NOT_FOUND",
                    FailureKind::TaskLimit => "BASH_TASK_LIMIT",
                    _ => "BASH_START_FAILED",
                };
                Reply::bad(format!("[{code}] {}", problem.message), failure(problem))
            }
            (_, done) => Reply::otherwise(done),
        }
    }
}

/// A stream as it is given: its first characters, and apart from them its end where it has more.
struct Cut {
    text: String,
    truncated: bool,
    end: String,
}

impl Cut {
    fn of(id: &str, view: &TextView, characters: Option<u64>) -> Self {
        let shown = view.head.chars().count() + view.tail.as_ref().map_or(0, |tail| tail.chars().count());
        let total = characters.unwrap_or(shown as u64 + view.omitted);
        let (text, truncated) = first_characters(&view.head, total, LIMIT);
        if !truncated {
            return Self { text, truncated, end: String::new() };
        }
        let last = ending(view.tail.as_deref().unwrap_or(&view.head), END, usize::MAX);
        Self { text: format!("{text}\n[all of it: chiton logs {id}]"), truncated, end: last.to_owned() }
    }
}

/// Both streams for a model.
fn streams(stdout: &Cut, stderr: &Cut) -> String {
    let mut text = format!("stdout:\n{}\nstderr:\n{}", stdout.text, stderr.text);
    for (name, stream) in [("stdout", stdout), ("stderr", stderr)] {
        if stream.truncated {
            text += &format!("\nend of {name}:\n{}", stream.end);
        }
    }
    text
}
