//! `opencode`: results with success, output, error and metadata; stderr in a block of its own; only new output.

use chiton_engine::Outcome;
use chiton_engine::tasks::Part;
use serde_json::{Map, Value, json};

use crate::action::{Action, Done, Keeps, Ran, RunAction};
use crate::bash_like::{self, BASH_OUTPUT, LIMIT, Stream, shares};
use crate::call_error::CallError;
use crate::facts::{self, TaskForm, failure, object, ran, run_facts, task, task_facts, with};
use crate::reply::{Reply, refusal_text};
use crate::shape::{Field, any_of, failed, refused, shape};
use crate::text::{Escapes, command_line, with_leftovers};
use crate::timeouts;
use crate::tool::{Dialect, Surroundings, ToolSpec};

pub(crate) struct Opencode;

/// Characters that a reply needs besides what a command printed: the mark before stderr, and a status.
const MARKS: usize = 200;

/// How it reports a task.
const FORM: TaskForm = TaskForm {
    ids: &["bash_id"],
    fields: &["command", "status", "is_running", "exit_code", "signal", "duration_ms", "protection"],
};

impl Dialect for Opencode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn about(&self) -> &'static str {
        "Bash, BashOutput, KillShell: success, output, error and metadata; only new output is read"
    }

    fn running_tool(&self) -> &'static str {
        "Bash"
    }

    fn tools(&self, around: &Surroundings) -> Vec<ToolSpec> {
        let description = format!("Run a bash command in {}.", around.directory.display());
        let timeout = timeouts::parameter(1);
        let runs =
            results([ran(&[Field::boolean("truncated"), Field::text("description").or_absent()]), task(FORM, &[])]);
        let kills = results([task(FORM, &[Field::text("shell_id"), Field::boolean("already_stopped")])]);
        vec![
            bash_like::bash_tool(description, timeout, runs),
            bash_like::output_tool(
                "What a background command printed since it was read last.",
                "A regular expression; only lines that match are given, and nothing counts as read.",
                results([task(FORM, &[])]),
            ),
            bash_like::kill_tool("KillShell", kills),
        ]
    }

    fn read(&self, tool: &str, values: &Map<String, Value>, around: &Surroundings) -> Result<Action, CallError> {
        if let Some(action) = bash_like::read_other(tool, values, Part::New)? {
            return Ok(action);
        }
        bash_like::read_bash(values, around, |run| run.keeps = Keeps::Nothing, timeouts::strict)
    }

    fn refuse(&self, ran: &Ran) -> Reply {
        no_success("", &refusal_text(ran), &facts::refusal(ran))
    }

    fn write(&self, action: &Action, done: &Done) -> Reply {
        match (action, done) {
            (Action::Run(run), Done::Ran(ran)) => ran_reply(run, ran),
            (_, Done::Started { task, .. }) => {
                let text = format!(
                    "Started background shell: {0}\nCommand: {1}\nUse BashOutput with bash_id='{0}' to read its output.",
                    task.id,
                    command_line(&task.command)
                );
                success(&text, &task_facts(task, FORM))
            }
            (_, Done::Read(read)) => {
                let code = read.task.outcome.as_ref().and_then(Outcome::exit_code);
                let code = code.map(|code| format!(", Exit code: {code}")).unwrap_or_default();
                let status =
                    format!("Status: {}{code}, Duration: {}ms", read.task.status, read.task.duration.as_millis());
                let shares = shares(LIMIT - MARKS, &read.stdout, &read.stderr);
                let stream = |view, room| BASH_OUTPUT.read(action, read, view, room, Escapes::Kept).0;
                let stdout = stream(&read.stdout, shares.0);
                // What is left out is said once.
                let stderr = if read.left_out > 0 && read.stderr.head.is_empty() {
                    String::new()
                } else {
                    stream(&read.stderr, shares.1)
                };
                let block = stderr_block(&stdout, &stderr);
                success(&format!("{block}\n{status}"), &task_facts(&read.task, FORM))
            }
            (_, Done::Killed { task, already }) => {
                let word = if *already {
                    format!("already stopped (status: {})", task.status)
                } else {
                    "terminated".to_owned()
                };
                let facts = json!({"shell_id": task.id, "already_stopped": already});
                success(&format!("Shell {} {word}", task.id), &with(task_facts(task, FORM), &facts))
            }
            (_, Done::Failed(problem)) => no_success("", &problem.message, &failure(problem)),
            (_, done) => Reply::otherwise(done),
        }
    }
}

fn stderr_block(stdout: &str, stderr: &str) -> String {
    if stderr.is_empty() { stdout.to_owned() } else { format!("{stdout}\n[stderr]\n{stderr}") }
}

fn ran_reply(run: &RunAction, ran: &Ran) -> Reply {
    let shares = shares(LIMIT - MARKS, ran.stdout(), ran.stderr());
    let (stdout, stderr) = Stream::both(ran);
    let (stdout, cut) = BASH_OUTPUT.fit(ran, &stdout, shares.0, Escapes::Kept);
    let (stderr, also_cut) = BASH_OUTPUT.fit(ran, &stderr, shares.1, Escapes::Kept);
    let output = with_leftovers(stderr_block(&stdout, &stderr), ran);
    let facts = json!({"truncated": cut || also_cut, "description": run.request.description});
    let metadata = with(run_facts(ran), &facts);
    let error = match ran.outcome() {
        None | Some(Outcome::Exited(0)) => return success(&output, &metadata),
        Some(Outcome::Running) => return success(&format!("The command is still running\n{output}"), &metadata),
        Some(Outcome::Exited(code)) => format!("Command failed with exit code {code}"),
        Some(Outcome::TimedOut) => format!("Command timed out after {}ms", run.limit_ms()),
        Some(other) => format!("The command {other}"),
    };
    no_success(&output, &format!("{error}\n{output}"), &metadata)
}

fn success(output: &str, metadata: &Map<String, Value>) -> Reply {
    let structured = json!({"success": true, "output": output, "error": null, "metadata": metadata});
    let text = if output.is_empty() { "The command has exit code 0 and printed nothing." } else { output };
    Reply::good(text, object(&structured))
}

fn no_success(output: &str, error: &str, metadata: &Map<String, Value>) -> Reply {
    let structured = json!({"success": false, "output": output, "error": error, "metadata": metadata});
    Reply::bad(error, object(&structured))
}

/// The schema of [`success`] and [`no_success`] with one of these as metadata.
fn results(metadata: impl IntoIterator<Item = Value>) -> Value {
    let mut result = shape(&[
        Field::boolean("success"),
        Field::text("output"),
        Field::text("error").or_null(),
        Field::object("metadata"),
    ]);
    let shapes: Vec<Value> = metadata.into_iter().chain([refused(), failed()]).collect();
    result["properties"]["metadata"]["anyOf"] = shapes.into();
    any_of([result])
}
