//! `native`: everything the engine can do, in few words. The default.

use std::time::Duration;

use chiton_engine::{EnvironmentChange, OnTimeout, Outcome, Streams, Task, TaskLifetime};
use serde_json::{Map, Value, json};

use crate::action::{Action, Done, Ran, ReadAction, RunAction};
use crate::arguments::{Arguments, CallError};
use crate::reply::{Reply, failure, run_facts, task_facts, with};
use crate::text::{both_ends, without_escapes};
use crate::tool::{Dialect, Surroundings, ToolSpec, boolean, integer, string};

pub(crate) struct Native;

const DEFAULT: Duration = Duration::from_mins(2);
/// Bytes of output that are given; beyond that, half of it from each end.
const LIMIT: usize = 30_000;

impl Dialect for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn about(&self) -> &'static str {
        "Bash, BashOutput, BashInput, KillShell, ListShells: all that the engine can do"
    }

    fn tools(&self, around: &Surroundings) -> Vec<ToolSpec> {
        let id = || ("bash_id", string("The id of the command."));
        vec![
            ToolSpec {
                name: "Bash",
                description: format!(
                    "Run a bash command. Directory, variables, functions and options carry over to the next call, also \
                     after exit or a timeout; it starts in {}. A command that leaves something running (server &) \
                     returns at once and says what. Prefer the tools for reading, writing, editing and finding files \
                     over cat, sed, find and grep.",
                    around.directory.display()
                ),
                parameters: vec![
                    ("command", string("The command.")),
                    ("timeout", integer("Milliseconds; 120000 if left out.")),
                    ("on_timeout", json!({"type": "string", "enum": ["stop", "background"], "description": "stop (default) it with everything it started, or let it go on and give its id."})),
                    ("wait", integer("Milliseconds to wait; then its id is given and it goes on.")),
                    ("run_in_background", boolean("Come back at once with its id.")),
                    ("workdir", string("Directory for this call alone.")),
                    ("env", json!({"type": "object", "additionalProperties": {"type": "string"}, "description": "Variables for this call alone."})),
                    ("stdin", string("What it reads; without it, nothing.")),
                    ("open_stdin", boolean("In the background: leave its input open for BashInput.")),
                    ("description", string("What it does, in a few words.")),
                ],
                required: &["command"],
                read_only: false,
            },
            ToolSpec {
                name: "BashOutput",
                description: "Output of a command that runs or ran: what is new, or a part of it. Can wait first, so there is no need to poll.".to_owned(),
                parameters: vec![
                    id(),
                    ("all", boolean("From the beginning, not only what is new.")),
                    ("tail", integer("Only the last lines.")),
                    ("filter", string("A regular expression: only lines that match. Nothing counts as read.")),
                    ("wait_for", string("Wait until a line matches this regular expression, or it ends.")),
                    ("wait", integer("Milliseconds to wait at most; alone: until it ends.")),
                ],
                required: &["bash_id"],
                read_only: true,
            },
            ToolSpec {
                name: "BashInput",
                description: "Write to a background command.".to_owned(),
                parameters: vec![id(), ("text", string("What to write; add the newline.")), ("end", boolean("Nothing will follow."))],
                required: &["bash_id"],
                read_only: false,
            },
            ToolSpec {
                name: "KillShell",
                description: "Stop a command with everything it started; returns when nothing of it is left.".to_owned(),
                parameters: vec![id()],
                required: &["bash_id"],
                read_only: false,
            },
            ToolSpec {
                name: "ListShells",
                description: "Commands that run, and those that ended lately.".to_owned(),
                parameters: Vec::new(),
                required: &[],
                read_only: true,
            },
        ]
    }

    fn read(&self, tool: &str, values: &Map<String, Value>, around: &Surroundings) -> Result<Action, CallError> {
        let spec = self.tools(around).into_iter().find(|spec| spec.name == tool);
        let arguments = Arguments::new(values, &spec.map(|spec| spec.names()).unwrap_or_default())?;
        let millis = |name| arguments.number(name).map(|number| number.map(Duration::from_millis));
        match tool {
            "BashOutput" => {
                return Ok(Action::Read(ReadAction {
                    id: arguments.required("bash_id")?,
                    only_new: !arguments.flag("all")?,
                    filter: arguments.text("filter")?,
                    tail: arguments.number("tail")?,
                    wait_for: arguments.text("wait_for")?,
                    wait: millis("wait")?,
                    forgets: false,
                }));
            }
            "BashInput" => {
                let (id, text) = (arguments.required("bash_id")?, arguments.text("text")?.unwrap_or_default());
                return Ok(Action::Input { id, text, end: arguments.flag("end")? });
            }
            "KillShell" => return Ok(Action::Kill { id: arguments.required("bash_id")? }),
            "ListShells" => return Ok(Action::List),
            _ => {}
        }
        let mut run = RunAction::new(arguments.required("command")?);
        (run.streams, run.lifetime) = (Streams::Merged, TaskLifetime::Durable);
        run.description = arguments.text("description")?;
        run.directory = arguments.text("workdir")?.map(Into::into);
        let variables = arguments.map("env")?.into_iter().map(|(name, value)| (name, value.into())).collect();
        run.environment = EnvironmentChange::Merge(variables);
        run.stdin = arguments.text("stdin")?;
        if arguments.flag("run_in_background")? {
            (run.timeout, run.open_input) = (millis("timeout")?, arguments.flag("open_stdin")?);
            return Ok(Action::Start(Box::new(run)));
        }
        run.timeout = millis("timeout")?.or(around.timeout).or(Some(DEFAULT));
        run.wait = millis("wait")?;
        run.on_timeout = match arguments.text("on_timeout")?.as_deref() {
            None | Some("stop") => OnTimeout::Stop,
            Some("background") => OnTimeout::HandBack,
            Some(other) => {
                let problem = format!("is 'stop' or 'background', not '{other}'");
                return Err(CallError::BadValue { name: "on_timeout", problem });
            }
        };
        Ok(Action::Run(Box::new(run)))
    }

    fn write(&self, action: &Action, done: &Done) -> Reply {
        match (action, done) {
            (Action::Run(run), Done::Ran(ran)) => ran_reply(run, ran),
            (_, Done::Started { task, .. }) => {
                let text =
                    format!("Running as {0}. BashOutput with bash_id {0} reads it, and can wait for it.", task.id);
                Reply::good(text, task_facts(task))
            }
            (_, Done::Read(read)) => {
                let waited = read.waited.as_ref().map(|why| format!("[waited: {why}]\n")).unwrap_or_default();
                let cut = if read.left_out > 0 {
                    format!("\n[{} more bytes: read again]", read.left_out)
                } else {
                    String::new()
                };
                let output = without_escapes(&read.output);
                let facts = with(
                    task_facts(&read.task),
                    &json!({"output": output, "left_out": read.left_out, "waited": read.waited}),
                );
                Reply::good(format!("{}\n{waited}{output}{cut}", line(&read.task)), facts)
            }
            (_, Done::Written { id }) => {
                Reply::good(format!("Written to {id}."), with(Map::new(), &json!({"bash_id": id})))
            }
            (_, Done::Killed { task, already }) => {
                let word = if *already { "already stopped" } else { "terminated, with everything it started" };
                Reply::good(format!("{} {word}", task.id), with(task_facts(task), &json!({"already_stopped": already})))
            }
            (_, Done::Listed(tasks)) => {
                let lines: Vec<String> =
                    tasks.iter().map(|task| format!("{}  {}", line(task), first_line(&task.command))).collect();
                let text = if lines.is_empty() { "Nothing runs.".to_owned() } else { lines.join("\n") };
                let facts: Vec<Value> = tasks.iter().map(|task| Value::Object(task_facts(task))).collect();
                Reply::good(text, with(Map::new(), &json!({"shells": facts})))
            }
            (_, Done::Failed(problem)) => Reply::bad(problem.message.clone(), failure(problem)),
            _ => Reply::good(String::new(), Map::new()),
        }
    }
}

fn first_line(command: &str) -> &str {
    command.lines().next().unwrap_or_default()
}

fn line(task: &Task) -> String {
    match &task.outcome {
        Some(outcome) => format!("[{} {outcome}, {} ms]", task.id, task.duration.as_millis()),
        None => format!("[{} is running, {} ms]", task.id, task.duration.as_millis()),
    }
}

/// The outcome first, then the output, then what changed, what is left, what was cut.
fn ran_reply(run: &RunAction, ran: &Ran) -> Reply {
    let response = &ran.response;
    let cut = ran.bytes > LIMIT as u64;
    let output = if cut {
        let note = format!(
            "\n[… {} of {} bytes left out; BashOutput with bash_id {} and all, tail or filter reads them …]\n",
            ran.bytes - LIMIT as u64,
            ran.bytes,
            response.run_id
        );
        both_ends(&response.stdout, LIMIT / 2, &note)
    } else {
        response.stdout.to_text()
    };
    let output = without_escapes(&output);
    let mut text = match &response.outcome {
        Outcome::Exited(0) => String::new(),
        Outcome::TimedOut => {
            let limit = run.timeout.map_or(0, |timeout| timeout.as_millis());
            format!("[timed out after {limit}ms; stopped with everything it started]\n")
        }
        Outcome::Running => format!("[still running as {0}; BashOutput with bash_id {0} reads on]\n", response.run_id),
        other => format!("[{other}]\n"),
    };
    text.push_str(if output.is_empty() && text.is_empty() { "[exited with code 0, no output]" } else { &output });
    for notice in &response.notices {
        text += &format!("\n[{notice}]");
    }
    for leftover in &response.leftovers {
        let task = response.leftover_task.as_deref().unwrap_or_default();
        text += &format!("\n[left running as {task}: pid {} {}]", leftover.pid, leftover.command);
    }
    let facts = with(run_facts(ran), &json!({"output": output, "truncated": cut, "description": run.description}));
    let failed = !matches!(response.outcome, Outcome::Exited(_) | Outcome::Signaled(_) | Outcome::Running);
    Reply { text, structured: facts, is_error: failed }
}
