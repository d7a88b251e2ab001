//! `modes`: one tool, one enum. Both streams as one text; a background command is a file and a process group.

use std::time::Duration;

use chiton_engine::{Outcome, Streams, TaskLifetime};
use serde_json::{Map, Value, json};

use crate::action::{Action, Done, Keeps, RunAction};
use crate::arguments::Arguments;
use crate::bash_like::ended_by_itself;
use crate::call_error::CallError;
use crate::facts::{TaskForm, failure, ran, run_facts, task, task_facts, with};
use crate::reply::Reply;
use crate::shape::{Field, any_of};
use crate::text::{both_ends, with_leftovers};
use crate::tool::{Dialect, Surroundings, TaskNames, ToolEffect, ToolSpec, choice, string};

pub(crate) struct Modes;

/// How it reports a task.
const FORM: TaskForm = TaskForm {
    ids: &["task_id"],
    fields: &["status", "exit_code", "signal", "pid", "pgid", "duration_ms", "protection"],
};

const MODES: [&str; 3] = ["default", "slow", "background"];
const DEFAULT: Duration = Duration::from_secs(30);
const SLOW: Duration = Duration::from_mins(15);
const GRACE: Duration = Duration::from_secs(15);
/// Bytes that are given whole, and bytes of each end beyond that.
const WHOLE: u64 = 128 << 10;
const ENDS: usize = 4 << 10;

impl Dialect for Modes {
    fn name(&self) -> &'static str {
        "modes"
    }

    fn about(&self) -> &'static str {
        "bash with mode default, slow or background: one combined text"
    }

    fn is_careful(&self) -> bool {
        true
    }

    fn task_names(&self) -> TaskNames {
        TaskNames::Pid
    }

    // Its schema is one choice, so that no combination can contradict itself.
    fn ignores_unknown(&self) -> bool {
        false
    }

    fn running_tool(&self) -> &'static str {
        "bash"
    }

    fn tools(&self, around: &Surroundings) -> Vec<ToolSpec> {
        let description = format!(
            "Run a bash command. mode: default (30 s limit), slow (15 min limit), background (comes back at once with \
             the process group and a file that gets the output). Nothing is kept between calls: each starts in the \
             working directory. No terminal, no input.\n<pwd>{}</pwd>",
            around.directory.display()
        );
        vec![ToolSpec {
            name: "bash",
            description,
            parameters: vec![
                ("command", string("The command.")),
                ("mode", choice(&MODES, "How it is run; default if left out.")),
            ],
            required: &["command"],
            effect: ToolEffect::Runs,
            output_schema: any_of([
                ran(&[Field::text("output"), Field::boolean("truncated")]),
                task(FORM, &[Field::text("output_file")]),
            ]),
        }]
    }

    fn read(&self, _: &str, values: &Map<String, Value>, _: &Surroundings) -> Result<Action, CallError> {
        let arguments = Arguments::new(values, &["command", "mode"])?;
        let mut run = RunAction::new(&arguments.required("command")?);
        (run.request.streams, run.keeps, run.request.grace) = (Streams::Merged, Keeps::Nothing, Some(GRACE));
        (run.request.task_lifetime, run.request.transcript) = (TaskLifetime::Durable, true);
        run.request.timeout = match arguments.choice("mode", &MODES)? {
            Some("background") => return Ok(Action::Start(Box::new(run))),
            Some("slow") => Some(SLOW),
            _ => Some(DEFAULT),
        };
        run.request.transcript = false;
        Ok(Action::Run(Box::new(run)))
    }

    fn write(&self, action: &Action, done: &Done) -> Reply {
        match (action, done) {
            (Action::Run(run), Done::Ran(ran)) => {
                let outcome = ran.outcome();
                let cut = ran.amount.bytes > WHOLE;
                let output = if cut {
                    let note = format!(
                        "\n[output truncated in the middle: {} bytes in all, at most {WHOLE} are given whole; chiton logs \
                         {} prints all of it]\n[snip]\n",
                        ran.amount.bytes,
                        ran.run_id()
                    );
                    both_ends(ran.stdout(), ENDS, &note)
                } else {
                    ran.stdout().to_text()
                };
                let shown = with_leftovers(output.clone(), ran);
                let status = match &outcome {
                    Some(Outcome::Exited(0)) if shown.is_empty() => "[command completed with no output]".to_owned(),
                    None | Some(Outcome::Exited(0)) => String::new(),
                    Some(Outcome::Exited(code)) => format!("[command failed with exit code {code}]\n"),
                    Some(Outcome::TimedOut) => {
                        format!(
                            "[command timed out after {}s]\n",
                            run.request.timeout.map_or(0, |timeout| timeout.as_secs())
                        )
                    }
                    Some(Outcome::Cancelled) => "[command cancelled]\n".to_owned(),
                    Some(other) => format!("[command {other}]\n"),
                };
                let facts = with(run_facts(ran), &json!({"output": output, "truncated": cut}));
                let failed = !ended_by_itself(outcome.as_ref());
                Reply { text: format!("{status}{shown}"), structured: facts, is_error: failed }
            }
            (_, Done::Started { task, transcript }) => {
                let group = task.pid.unwrap_or_default();
                let file = transcript.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
                let text = format!(
                    "<pid>{group}</pid>\n<output_file>{file}</output_file>\n<reminder>Read the file for its output; \
                     its last line says how it ended. To stop it: kill -9 -{group}</reminder>"
                );
                Reply::good(text, with(task_facts(task, FORM), &json!({"output_file": file})))
            }
            (_, Done::Failed(problem)) => Reply::bad(format!("[system error] {}", problem.message), failure(problem)),
            (_, done) => Reply::otherwise(done),
        }
    }
}
