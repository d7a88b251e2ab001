//! `exec`: three separate items for every command, ids for what runs on. The directory is given with each call.

use chiton_engine::{EnvironmentChange, Outcome, Task};
use serde_json::{Map, Value, json};
use std::time::Duration;

use crate::action::{Action, Done, Keeps, Ran, ReadAction, RunAction};
use crate::arguments::{Arguments, CallError};
use crate::reply::{Reply, failure, run_facts, task_facts, with};
use crate::text::first_characters;
use crate::tool::{Dialect, Surroundings, ToolSpec, integer, string};

pub(crate) struct Exec;

/// What a command may take where neither the call nor the server says otherwise.
const TIMEOUT: Duration = Duration::from_secs(30);
const LIMIT: usize = 30_000;

impl Dialect for Exec {
    fn name(&self) -> &'static str {
        "exec"
    }

    fn about(&self) -> &'static str {
        "exec, exec_bg, exec_status, exec_stop: stdout, stderr and exit code apart"
    }

    fn tools(&self, around: &Surroundings) -> Vec<ToolSpec> {
        let run = |extra: Vec<(&'static str, Value)>| {
            let mut parameters = vec![
                ("command", string("The shell command (bash).")),
                ("workdir", string(&format!("Directory to run in; without it {}.", around.directory.display()))),
                (
                    "env",
                    json!({"type": "object", "additionalProperties": {"type": "string"}, "description": "Variables for this command."}),
                ),
                (
                    "env_mode",
                    json!({"type": "string", "enum": ["merge", "replace"], "description": "merge (default): add env to the base; replace: the command sees env only."}),
                ),
            ];
            parameters.extend(extra);
            parameters
        };
        vec![
            ToolSpec {
                name: "exec",
                description: "Run a shell command and wait for it. Gives stdout, stderr and the exit code.".to_owned(),
                parameters: run(vec![("timeout_ms", integer("Stop it after this many milliseconds."))]),
                required: &["command"],
                read_only: false,
            },
            ToolSpec {
                name: "exec_bg",
                description: "Start a shell command in the background. Gives an id for exec_status and exec_stop."
                    .to_owned(),
                parameters: run(Vec::new()),
                required: &["command"],
                read_only: false,
            },
            ToolSpec {
                name: "exec_status",
                description: "State and all output so far of a background command.".to_owned(),
                parameters: vec![("id", string("The id that exec_bg gave."))],
                required: &["id"],
                read_only: true,
            },
            ToolSpec {
                name: "exec_stop",
                description: "Stop a background command with everything it started.".to_owned(),
                parameters: vec![("id", string("The id that exec_bg gave."))],
                required: &["id"],
                read_only: false,
            },
        ]
    }

    fn read(&self, tool: &str, values: &Map<String, Value>, around: &Surroundings) -> Result<Action, CallError> {
        let known = ["command", "workdir", "env", "env_mode", "timeout_ms", "id"];
        let arguments = Arguments::new(values, &known)?;
        if tool == "exec_status" {
            return Ok(Action::Read(ReadAction::all(arguments.required("id")?)));
        }
        if tool == "exec_stop" {
            return Ok(Action::Kill { id: arguments.required("id")? });
        }
        let mut run = RunAction::new(arguments.required("command")?);
        run.directory = arguments.text("workdir")?.map(Into::into);
        let variables = arguments.map("env")?.into_iter().map(|(name, value)| (name, value.into())).collect();
        run.environment = match arguments.text("env_mode")?.as_deref() {
            None | Some("merge") => EnvironmentChange::Merge(variables),
            Some("replace") => EnvironmentChange::Replace(variables),
            Some(other) => {
                let problem = format!("is 'merge' or 'replace', not '{other}'");
                return Err(CallError::BadValue { name: "env_mode", problem });
            }
        };
        run.keeps = Keeps::Nothing;
        if tool == "exec_bg" {
            return Ok(Action::Start(Box::new(run)));
        }
        let given = arguments.number("timeout_ms")?.map(Duration::from_millis);
        run.timeout = given.or(around.timeout).or(Some(TIMEOUT));
        Ok(Action::Run(Box::new(run)))
    }

    fn write(&self, action: &Action, done: &Done) -> Reply {
        match (action, done) {
            (Action::Run(run), Done::Ran(ran)) => ran_reply(run, ran),
            (_, Done::Started { task, .. }) => {
                let text = format!("Started in the background.\nid: {}", task.id);
                Reply::good(text, with(task_facts(task), &json!({"id": task.id})))
            }
            (_, Done::Read(read)) => {
                let facts = json!({"id": read.task.id, "output": read.output, "stdout": read.stdout, "stderr": read.stderr, "done": !read.task.status.is_running()});
                Reply::good(format!("{}\n{}", state(&read.task), read.output), with(task_facts(&read.task), &facts))
            }
            (_, Done::Killed { task, already }) => {
                let word = if *already { "had ended before" } else { "stopped" };
                Reply::good(format!("{} {word}", task.id), with(task_facts(task), &json!({"already_stopped": already})))
            }
            (_, Done::Failed(problem)) => Reply::bad(problem.message.clone(), failure(problem)),
            _ => Reply::good(String::new(), Map::new()),
        }
    }
}

fn state(task: &Task) -> String {
    match &task.outcome {
        None => format!("{}: running", task.id),
        Some(outcome) => format!("{}: {outcome}", task.id),
    }
}

fn ran_reply(run: &RunAction, ran: &Ran) -> Reply {
    let response = &ran.response;
    let (stdout, cut) = first_characters(&response.stdout.head, ran.stdout_characters, LIMIT);
    let (stderr, also_cut) = first_characters(&response.stderr.head, ran.stderr_characters, LIMIT);
    let facts = with(run_facts(ran), &json!({"stdout": stdout, "stderr": stderr, "truncated": cut || also_cut}));
    let head = match &response.outcome {
        Outcome::Exited(0) => "exit code: 0".to_owned(),
        Outcome::Exited(code) => format!("Command failed with exit code {code}"),
        Outcome::TimedOut => {
            let limit = run.timeout.map_or(0, |timeout| timeout.as_millis());
            format!("Command timed out after {limit}ms; it was stopped with everything it started")
        }
        other => format!("The command {other}"),
    };
    let mut text = format!("{head}\nstdout:\n{stdout}\nstderr:\n{stderr}");
    for leftover in &response.leftovers {
        text += &format!("\nleft running: {} {}", leftover.pid, leftover.command);
    }
    let failed = !matches!(response.outcome, Outcome::Exited(_) | Outcome::Signaled(_) | Outcome::Running);
    Reply { text, structured: facts, is_error: failed }
}
