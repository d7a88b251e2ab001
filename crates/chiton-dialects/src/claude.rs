//! `claude`: the surface that Claude Code's models know. Failed commands are failed calls; only new output is read.

use std::time::Duration;

use chiton_engine::{Outcome, Streams};
use serde_json::{Map, Value, json};

use crate::action::{Action, Done, Keeps, Ran, ReadAction, RunAction};
use crate::arguments::{Arguments, CallError};
use crate::reply::{Reply, failure, run_facts, task_facts, with};
use crate::text::{first_characters, without_escapes};
use crate::tool::{Dialect, Surroundings, ToolSpec, boolean, string};

pub(crate) struct Claude;

const DEFAULT: Duration = Duration::from_mins(2);
const MOST_MS: u64 = 600_000;
const LIMIT: usize = 30_000;

impl Dialect for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn about(&self) -> &'static str {
        "Bash, BashOutput, KillShell as Claude Code has them: the directory follows cd"
    }

    fn tools(&self, around: &Surroundings) -> Vec<ToolSpec> {
        vec![
            ToolSpec {
                name: "Bash",
                description: format!(
                    "Run a bash command. The working directory carries over to the next call, nothing else; it starts \
                     in {}. Prefer the tools for reading, writing, editing and finding files over cat, sed, find and \
                     grep.",
                    around.directory.display()
                ),
                parameters: vec![
                    ("command", string("The command.")),
                    (
                        "timeout",
                        json!({"type": "number", "minimum": 0, "description": "Milliseconds; 120000 if left out, at most 600000."}),
                    ),
                    ("description", string("What it does, in 5 to 10 words.")),
                    ("run_in_background", boolean("Come back at once; read it with BashOutput.")),
                ],
                required: &["command"],
                read_only: false,
            },
            ToolSpec {
                name: "BashOutput",
                description: "What a background command printed since it was read last.".to_owned(),
                parameters: vec![
                    ("bash_id", string("The id of the background command.")),
                    ("filter", string("A regular expression: only lines that match. Nothing counts as read.")),
                ],
                required: &["bash_id"],
                read_only: true,
            },
            ToolSpec {
                name: "KillShell",
                description: "Stop a background command with everything it started.".to_owned(),
                parameters: vec![("shell_id", string("The id of the background command."))],
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
                let all = ReadAction::all(arguments.required("bash_id")?);
                return Ok(Action::Read(ReadAction { filter, only_new: true, ..all }));
            }
            "KillShell" => {
                let arguments = Arguments::new(values, &["shell_id"])?;
                return Ok(Action::Kill { id: arguments.required("shell_id")? });
            }
            _ => {}
        }
        let arguments = Arguments::new(values, &["command", "timeout", "description", "run_in_background"])?;
        let mut run = RunAction::new(arguments.required("command")?);
        (run.streams, run.keeps) = (Streams::Merged, Keeps::Directory);
        run.description = arguments.text("description")?;
        if arguments.flag("run_in_background")? {
            return Ok(Action::Start(Box::new(run)));
        }
        let given = arguments.number("timeout")?.filter(|given| *given > 0);
        if let Some(above) = given.filter(|given| *given > MOST_MS) {
            run.notes.push(format!("[timeout {above} is more than the maximum; {MOST_MS} was used]"));
        }
        let given = given.map(|given| Duration::from_millis(given.min(MOST_MS)));
        run.timeout = given.or(around.timeout).or(Some(DEFAULT));
        Ok(Action::Run(Box::new(run)))
    }

    fn write(&self, action: &Action, done: &Done) -> Reply {
        match (action, done) {
            (Action::Run(run), Done::Ran(ran)) => ran_reply(run, ran),
            (_, Done::Started { task, .. }) => {
                Reply::good(format!("Command running in background with ID: {}", task.id), task_facts(task))
            }
            (_, Done::Read(read)) => {
                let output = without_escapes(&read.output);
                let code = read.task.outcome.as_ref().and_then(Outcome::exit_code);
                let code = code.map(|code| format!("\n<exit_code>{code}</exit_code>")).unwrap_or_default();
                let status = format!("<status>{}</status>{code}", read.task.status);
                let facts = with(task_facts(&read.task), &json!({"output": output}));
                Reply::good(format!("{status}\n<output>\n{output}</output>"), facts)
            }
            (_, Done::Killed { task, already }) => {
                let word = if *already { "had ended before" } else { "was killed" };
                Reply::good(
                    format!("Shell {} {word}", task.id),
                    with(task_facts(task), &json!({"already_stopped": already})),
                )
            }
            (_, Done::Failed(problem)) => Reply::bad(problem.message.clone(), failure(problem)),
            _ => Reply::good(String::new(), Map::new()),
        }
    }
}

fn ran_reply(run: &RunAction, ran: &Ran) -> Reply {
    let response = &ran.response;
    let plain = without_escapes(&response.stdout.head);
    let (output, cut) = first_characters(&plain, ran.stdout_characters, LIMIT);
    let facts = with(run_facts(ran), &json!({"output": output, "truncated": cut, "description": run.description}));
    let ending = match &response.outcome {
        Outcome::Exited(0) => None,
        Outcome::Exited(code) => Some(format!("Exit code {code}")),
        Outcome::TimedOut => {
            Some(format!("Command timed out after {}ms", run.timeout.map_or(0, |timeout| timeout.as_millis())))
        }
        other => Some(format!("The command {other}")),
    };
    let left =
        response.leftovers.iter().map(|leftover| format!("[left running: {} {}]", leftover.pid, leftover.command));
    let failed = ending.is_some();
    let lines: Vec<String> = ending.into_iter().chain(run.notes.iter().cloned()).chain([output]).chain(left).collect();
    Reply { text: lines.join("\n"), structured: facts, is_error: failed }
}
