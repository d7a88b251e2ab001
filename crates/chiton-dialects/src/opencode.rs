//! `opencode`: results with success, output, error and metadata; stderr in a block of its own; only new output.

use std::time::Duration;

use chiton_engine::Outcome;
use serde_json::{Map, Value, json};

use crate::action::{Action, Done, Keeps, Ran, ReadAction, RunAction};
use crate::arguments::{Arguments, CallError};
use crate::reply::{Reply, failure, run_facts, task_facts, with};
use crate::text::first_characters;
use crate::tool::{Dialect, Surroundings, ToolSpec, boolean, string};

pub(crate) struct Opencode;

const DEFAULT: Duration = Duration::from_mins(2);
const MOST_MS: u64 = 600_000;
const LIMIT: usize = 30_000;

impl Dialect for Opencode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn about(&self) -> &'static str {
        "Bash, BashOutput, KillShell: success, output, error and metadata; only new output is read"
    }

    fn tools(&self, around: &Surroundings) -> Vec<ToolSpec> {
        vec![
            ToolSpec {
                name: "Bash",
                description: format!("Run a bash command in {}.", around.directory.display()),
                parameters: vec![
                    ("command", json!({"type": "string", "minLength": 1, "description": "The command."})),
                    ("description", string("What it does, in a few words.")),
                    (
                        "timeout",
                        json!({"type": "integer", "minimum": 1, "maximum": MOST_MS, "description": "Milliseconds; 120000 if left out."}),
                    ),
                    ("run_in_background", boolean("Come back at once with a bash_id.")),
                ],
                required: &["command"],
                read_only: false,
            },
            ToolSpec {
                name: "BashOutput",
                description: "What a background command printed since it was read last.".to_owned(),
                parameters: vec![
                    ("bash_id", string("The id that Bash gave.")),
                    (
                        "filter",
                        string("A regular expression; only lines that match are given, and nothing counts as read."),
                    ),
                ],
                required: &["bash_id"],
                read_only: true,
            },
            ToolSpec {
                name: "KillShell",
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
                let id = arguments.required("bash_id")?;
                let filter = arguments.text("filter")?;
                return Ok(Action::Read(ReadAction { filter, only_new: true, ..ReadAction::all(id) }));
            }
            "KillShell" => {
                let arguments = Arguments::new(values, &["shell_id"])?;
                return Ok(Action::Kill { id: arguments.required("shell_id")? });
            }
            _ => {}
        }
        let arguments = Arguments::new(values, &["command", "description", "timeout", "run_in_background"])?;
        let mut run = RunAction::new(arguments.required("command")?);
        run.keeps = Keeps::Nothing;
        run.description = arguments.text("description")?;
        if arguments.flag("run_in_background")? {
            return Ok(Action::Start(Box::new(run)));
        }
        run.timeout = match arguments.number("timeout")? {
            Some(given) if given == 0 || given > MOST_MS => {
                let problem = format!("is from 1 to the maximum {MOST_MS}, not {given}");
                return Err(CallError::BadValue { name: "timeout", problem });
            }
            Some(given) => Some(Duration::from_millis(given)),
            None => around.timeout.or(Some(DEFAULT)),
        };
        Ok(Action::Run(Box::new(run)))
    }

    fn write(&self, action: &Action, done: &Done) -> Reply {
        match (action, done) {
            (Action::Run(run), Done::Ran(ran)) => ran_reply(run, ran),
            (_, Done::Started { task, .. }) => {
                let text = format!(
                    "Started background shell: {0}\nCommand: {1}\nUse BashOutput with bash_id='{0}' to read its output.",
                    task.id, task.command
                );
                result(true, &text, None, &task_facts(task))
            }
            (_, Done::Read(read)) => {
                let code = read.task.outcome.as_ref().and_then(Outcome::exit_code);
                let code = code.map(|code| format!(", Exit code: {code}")).unwrap_or_default();
                let status =
                    format!("Status: {}{code}, Duration: {}ms", read.task.status, read.task.duration.as_millis());
                let block = stderr_block(&read.stdout, &read.stderr);
                result(true, &format!("{block}\n{status}"), None, &task_facts(&read.task))
            }
            (_, Done::Killed { task, already }) => {
                let word = if *already {
                    format!("already stopped (status: {})", task.status)
                } else {
                    "terminated".to_owned()
                };
                let facts = json!({"shell_id": task.id, "already_stopped": already});
                result(true, &format!("Shell {} {word}", task.id), None, &with(task_facts(task), &facts))
            }
            (_, Done::Failed(problem)) => result(false, "", Some(&problem.message), &failure(problem)),
            _ => Reply::good(String::new(), Map::new()),
        }
    }
}

fn stderr_block(stdout: &str, stderr: &str) -> String {
    if stderr.is_empty() { stdout.to_owned() } else { format!("{stdout}\n[stderr]\n{stderr}") }
}

fn ran_reply(run: &RunAction, ran: &Ran) -> Reply {
    let response = &ran.response;
    let all = stderr_block(&response.stdout.head, &response.stderr.head);
    let total = ran.stdout_characters + ran.stderr_characters;
    let (output, cut) = first_characters(&all, total, LIMIT);
    let metadata = with(run_facts(ran), &json!({"truncated": cut, "description": run.description}));
    match &response.outcome {
        Outcome::Exited(0) => result(true, &output, None, &metadata),
        Outcome::Exited(code) => {
            let error = format!("Command failed with exit code {code}\n{output}");
            result(false, &output, Some(&error), &metadata)
        }
        Outcome::TimedOut => {
            let limit = run.timeout.map_or(0, |timeout| timeout.as_millis());
            let error = format!("Command timed out after {limit}ms\n{output}");
            result(false, &output, Some(&error), &metadata)
        }
        other => {
            let error = format!("The command {other}\n{output}");
            result(false, &output, Some(&error), &metadata)
        }
    }
}

fn result(success: bool, output: &str, error: Option<&str>, metadata: &Map<String, Value>) -> Reply {
    let text = error.unwrap_or(output).to_owned();
    let structured = json!({"success": success, "output": output, "error": error, "metadata": metadata});
    Reply { text, structured: crate::reply::object(&structured), is_error: !success }
}
