//! `wave`: plain combined text without escapes, variables that persist, background output that accumulates.

use std::time::Duration;

use chiton_engine::{Outcome, Streams};
use serde_json::{Map, Value, json};

use crate::action::{Action, Done, Keeps, ReadAction, RunAction};
use crate::arguments::{Arguments, CallError};
use crate::reply::{Reply, failure, run_facts, task_facts, with};
use crate::text::{first_characters, without_escapes};
use crate::tool::{Dialect, Surroundings, ToolSpec, boolean, string};

pub(crate) struct Wave;

const DEFAULT: Duration = Duration::from_mins(2);
const MOST_MS: u64 = 600_000;
const LIMIT: usize = 30_000;

impl Dialect for Wave {
    fn name(&self) -> &'static str {
        "wave"
    }

    fn about(&self) -> &'static str {
        "Bash, BashOutput, KillBash: combined text without escapes, variables persist"
    }

    fn tools(&self, around: &Surroundings) -> Vec<ToolSpec> {
        vec![
            ToolSpec {
                name: "Bash",
                description: format!(
                    "Run a bash command. Exported variables and the working directory carry over to the next call; it \
                     starts in {}. Prefer the tools for reading, writing, editing and finding files over cat, sed, \
                     find and grep.",
                    around.directory.display()
                ),
                parameters: vec![
                    ("command", string("The command.")),
                    (
                        "timeout",
                        json!({"type": "integer", "minimum": 0, "maximum": MOST_MS, "description": "Milliseconds; 120000 if left out."}),
                    ),
                    ("description", string("What it does, in a few words.")),
                    ("run_in_background", boolean("Come back at once with a bash_id.")),
                ],
                required: &["command"],
                read_only: false,
            },
            ToolSpec {
                name: "BashOutput",
                description: "All output so far of a background command.".to_owned(),
                parameters: vec![
                    ("bash_id", string("The id that Bash gave.")),
                    ("filter", string("A regular expression; only lines that match are given.")),
                ],
                required: &["bash_id"],
                read_only: true,
            },
            ToolSpec {
                name: "KillBash",
                description: "Stop a background command with everything it started.".to_owned(),
                parameters: vec![("shell_id", string("The id that Bash gave."))],
                required: &["shell_id"],
                read_only: false,
            },
        ]
    }

    fn read(&self, tool: &str, values: &Map<String, Value>, around: &Surroundings) -> Result<Action, CallError> {
        match tool {
            "BashOutput" => {
                let arguments = Arguments::new(values, &["bash_id", "filter"])?;
                let filter = arguments.text("filter")?;
                return Ok(Action::Read(ReadAction { filter, ..ReadAction::all(arguments.required("bash_id")?) }));
            }
            "KillBash" => {
                let arguments = Arguments::new(values, &["shell_id"])?;
                return Ok(Action::Kill { id: arguments.required("shell_id")? });
            }
            _ => {}
        }
        let arguments = Arguments::new(values, &["command", "timeout", "description", "run_in_background"])?;
        let mut run = RunAction::new(arguments.required("command")?);
        (run.streams, run.keeps) = (Streams::Merged, Keeps::Environment);
        run.description = arguments.text("description")?;
        if arguments.flag("run_in_background")? {
            return Ok(Action::Start(Box::new(run)));
        }
        run.timeout = match arguments.number("timeout")? {
            Some(given) if given == 0 || given > MOST_MS => {
                let problem = format!("is a number of milliseconds from 1 to {MOST_MS}, not {given}");
                return Err(CallError::BadValue { name: "timeout", problem });
            }
            Some(given) => Some(Duration::from_millis(given)),
            None => around.timeout.or(Some(DEFAULT)),
        };
        Ok(Action::Run(Box::new(run)))
    }

    fn write(&self, action: &Action, done: &Done) -> Reply {
        match (action, done) {
            (Action::Run(run), Done::Ran(ran)) => {
                let response = &ran.response;
                let plain = without_escapes(&response.output.head);
                let (output, cut) = first_characters(&plain, ran.stdout_characters, LIMIT);
                let facts =
                    with(run_facts(ran), &json!({"output": output, "truncated": cut, "description": run.description}));
                match &response.outcome {
                    Outcome::Exited(0) if output.is_empty() => {
                        Reply::good("The command has exit code 0 and printed nothing.", facts)
                    }
                    Outcome::Exited(0) => Reply::good(output, facts),
                    Outcome::Exited(code) => {
                        Reply::bad(format!("Command failed with exit code: {code}\n{output}"), facts)
                    }
                    Outcome::TimedOut => {
                        let limit = run.timeout.map_or(0, |timeout| timeout.as_millis());
                        Reply::bad(format!("Command timed out after {limit}ms\n{output}"), facts)
                    }
                    other => Reply::bad(format!("The command {other}\n{output}"), facts),
                }
            }
            (_, Done::Started { task, .. }) => {
                let text = format!(
                    "Command started in background with ID: {0}. Read it with BashOutput, bash_id=\"{0}\".",
                    task.id
                );
                Reply::good(text, task_facts(task))
            }
            (_, Done::Read(read)) => {
                let output = without_escapes(&read.output);
                let facts = with(task_facts(&read.task), &json!({"output": output}));
                let text = if output.is_empty() { "No output so far.".to_owned() } else { output };
                Reply::good(text, facts)
            }
            (_, Done::Killed { task, already: false }) => {
                Reply::good(format!("Background shell {} has been killed", task.id), task_facts(task))
            }
            (_, Done::Killed { task, already: true }) => {
                let text = format!("Background shell {} was already stopped ({})", task.id, task.status);
                Reply::good(text, with(task_facts(task), &json!({"already_stopped": true})))
            }
            (_, Done::Failed(problem)) => Reply::bad(problem.message.clone(), failure(problem)),
            _ => Reply::good(String::new(), Map::new()),
        }
    }
}
