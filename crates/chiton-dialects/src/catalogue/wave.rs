//! `wave`: plain combined text without escapes, variables that persist, background output that accumulates.

use chiton_engine::tasks::Part;
use chiton_engine::{Outcome, Streams};
use serde_json::{Map, Value, json};

use crate::action::{Action, Done, Keeps, RunAction};
use crate::bash_like::{self, BASH_OUTPUT, FILES, LIMIT, Stream};
use crate::call_error::CallError;
use crate::facts::{TaskForm, run_facts, task, task_facts, with};
use crate::reply::Reply;
use crate::shape::{Field, any_of};
use crate::text::{Escapes, with_leftovers};
use crate::timeouts;
use crate::tool::{Dialect, Surroundings, ToolSpec};

pub(crate) struct Wave;

/// How it reports a task.
const FORM: TaskForm = TaskForm {
    ids: &["bash_id"],
    fields: &["status", "is_running", "exit_code", "signal", "duration_ms", "protection"],
};

impl Dialect for Wave {
    fn name(&self) -> &'static str {
        "wave"
    }

    fn about(&self) -> &'static str {
        "Bash, BashOutput, KillBash: combined text without escapes, variables persist"
    }

    // A read gives the output alone.
    fn says_how_a_task_ended(&self, done: &Done) -> bool {
        !matches!(done, Done::Read(_) | Done::Started { .. })
    }

    fn running_tool(&self) -> &'static str {
        "Bash"
    }

    fn tools(&self, around: &Surroundings) -> Vec<ToolSpec> {
        let description = format!(
            "Run a bash command. Exported variables and the working directory carry over to the next call; it starts \
             in {}. {FILES}",
            around.directory.display()
        );
        let timeout = timeouts::parameter(0);
        vec![
            bash_like::bash_tool(description, timeout, bash_like::bash_replies(FORM)),
            bash_like::output_tool(
                "All output so far of a background command.",
                "A regular expression; only lines that match are given.",
                any_of([task(FORM, &[Field::text("output"), Field::boolean("truncated")])]),
            ),
            bash_like::kill_tool("KillBash", bash_like::kill_replies(FORM)),
        ]
    }

    fn read(&self, tool: &str, values: &Map<String, Value>, around: &Surroundings) -> Result<Action, CallError> {
        if let Some(action) = bash_like::read_other(tool, values, Part::All)? {
            return Ok(action);
        }
        let adjust = |run: &mut RunAction| (run.request.streams, run.keeps) = (Streams::Merged, Keeps::Environment);
        bash_like::read_bash(values, around, adjust, timeouts::strict)
    }

    fn write(&self, action: &Action, done: &Done) -> Reply {
        match (action, done) {
            (Action::Run(run), Done::Ran(ran)) => {
                let (output, cut) = BASH_OUTPUT.fit(ran, &Stream::merged(ran), LIMIT, Escapes::Removed);
                let facts = with(
                    run_facts(ran),
                    &json!({"output": output, "truncated": cut, "description": run.request.description}),
                );
                let output = with_leftovers(output, ran);
                match ran.outcome() {
                    Some(Outcome::Exited(0)) if output.is_empty() => {
                        Reply::good("The command has exit code 0 and printed nothing.", facts)
                    }
                    None | Some(Outcome::Exited(0)) => Reply::good(output, facts),
                    Some(Outcome::Exited(code)) => {
                        Reply::bad(format!("Command failed with exit code: {code}\n{output}"), facts)
                    }
                    Some(Outcome::TimedOut) => {
                        Reply::bad(format!("Command timed out after {}ms\n{output}", run.limit_ms()), facts)
                    }
                    Some(Outcome::Running) => Reply::good(format!("The command is still running\n{output}"), facts),
                    Some(other) => Reply::bad(format!("The command {other}\n{output}"), facts),
                }
            }
            (_, Done::Started { task, .. }) => {
                let text = format!(
                    "Command started in background with ID: {0}. Read it with BashOutput, bash_id=\"{0}\".",
                    task.id
                );
                Reply::good(text, task_facts(task, FORM))
            }
            (_, Done::Read(read)) => {
                let (output, cut) = BASH_OUTPUT.read(action, read, &read.output, LIMIT, Escapes::Removed);
                let facts = with(task_facts(&read.task, FORM), &json!({"output": output, "truncated": cut}));
                let text = if output.is_empty() { "No output so far.".to_owned() } else { output };
                Reply::good(text, facts)
            }
            (_, Done::Killed { task, already }) => {
                let text = if *already {
                    format!("Background shell {} was already stopped ({})", task.id, task.status)
                } else {
                    format!("Background shell {} has been killed", task.id)
                };
                Reply::good(text, with(task_facts(task, FORM), &json!({"already_stopped": already})))
            }
            (_, done) => Reply::otherwise(done),
        }
    }
}
