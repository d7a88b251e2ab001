//! `exec`: three separate items for every command, ids for what runs on. The directory is given with each call.

use std::sync::OnceLock;
use std::time::Duration;

use chiton_engine::tasks::Part;
use chiton_engine::terminal::TerminalSize;
use chiton_engine::{EnvironmentChange, Outcome, Task};
use serde_json::{Map, Value, json};

use crate::action::{Action, Done, Keeps, OutputView, Ran, ReadAction, RunAction, TaskRef};
use crate::arguments::Arguments;
use crate::bash_like::{LIMIT, Reader, Stream, ended_by_itself, kill_replies, reading, since};
use crate::call_error::CallError;
use crate::facts::{TaskForm, ran, run_facts, task, task_facts, with};
use crate::reply::Reply;
use crate::shape::{Field, any_of};
use crate::text::{Escapes, command_line};
use crate::tool::{
    Dialect, Surroundings, ToolEffect, ToolSpec, arguments_of, boolean, choice, integer, string, variables,
};

pub(crate) struct Exec;

/// What a command may take where neither the call nor the server says otherwise.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How it reports a task.
const FORM: TaskForm = TaskForm {
    ids: &["id", "session_id"],
    fields: &["command", "status", "is_running", "exit_code", "signal", "duration_ms", "protection"],
};

const ANSI: [&str; 2] = ["preserve", "strip"];

fn ansi() -> (&'static str, Value) {
    ("ansi", choice(&ANSI, "Escape sequences in the output: preserve (default), or strip for plain text."))
}

fn read_ansi(arguments: &Arguments<'_>) -> Result<OutputView, CallError> {
    Ok(if arguments.choice("ansi", &ANSI)? == Some("strip") { OutputView::Plain } else { OutputView::Raw })
}

fn escapes(view: OutputView) -> Escapes {
    if view == OutputView::Raw { Escapes::Kept } else { Escapes::Removed }
}

const EXEC_STATUS: Reader = Reader { tool: "exec_status", id: "id" };

impl Dialect for Exec {
    fn name(&self) -> &'static str {
        "exec"
    }

    fn about(&self) -> &'static str {
        "exec, exec_bg, exec_status, exec_stop: stdout, stderr and exit code apart"
    }

    fn is_careful(&self) -> bool {
        true
    }

    fn keeps_unknown_references(&self) -> bool {
        true
    }

    fn running_tool(&self) -> &'static str {
        "exec"
    }

    fn tools(&self, around: &Surroundings) -> Vec<ToolSpec> {
        vec![
            ToolSpec {
                name: "exec",
                description: "Run a shell command and wait for it. Gives stdout, stderr and the exit code.".to_owned(),
                parameters: command_parameters(
                    around,
                    vec![("timeout_ms", integer(1, "Stop it after this many milliseconds.")), ansi()],
                ),
                required: &["command"],
                effect: ToolEffect::Runs,
                output_schema: any_of([ran(&[
                    Field::text("stdout"),
                    Field::text("stderr"),
                    Field::boolean("truncated"),
                ])]),
            },
            ToolSpec {
                name: "exec_bg",
                description: "Start a shell command in the background. Gives an id for exec_status and exec_stop."
                    .to_owned(),
                parameters: command_parameters(around, Vec::new()),
                required: &["command"],
                effect: ToolEffect::Runs,
                output_schema: any_of([task(FORM, &[])]),
            },
            ToolSpec {
                name: "exec_status",
                description: "State and all output so far of a background command; of long output both ends."
                    .to_owned(),
                parameters: vec![("id", string("The id that exec_bg gave.")), since(), ansi()],
                required: &["id"],
                effect: ToolEffect::Looks,
                output_schema: any_of([task(
                    FORM,
                    &[
                        Field::text("output"),
                        Field::text("stdout"),
                        Field::text("stderr"),
                        Field::boolean("done"),
                        Field::boolean("truncated"),
                    ],
                )]),
            },
            ToolSpec {
                name: "exec_stop",
                description: "Stop a background command with everything it started.".to_owned(),
                parameters: vec![("id", string("The id that exec_bg gave."))],
                required: &["id"],
                effect: ToolEffect::Stops,
                output_schema: kill_replies(FORM),
            },
        ]
    }

    fn read(&self, tool: &str, values: &Map<String, Value>, around: &Surroundings) -> Result<Action, CallError> {
        // Only their names count here, which are the same everywhere.
        static TOOLS: OnceLock<Vec<ToolSpec>> = OnceLock::new();
        let arguments = arguments_of(TOOLS.get_or_init(|| self.tools(around)), tool, values)?;
        if tool == "exec_status" {
            let read = reading(&arguments, TaskRef::Id(arguments.required("id")?), Part::All)?;
            return Ok(Action::Read(ReadAction { view: Some(read_ansi(&arguments)?), ..read }));
        }
        if tool == "exec_stop" {
            return Ok(Action::Kill { task: TaskRef::Id(arguments.required("id")?) });
        }
        let mut run = RunAction::new(&arguments.required("command")?);
        run.request.directory = arguments.text("workdir")?.map(Into::into);
        let variables = arguments.variables("env")?;
        run.request.environment = match arguments.choice("env_mode", &["merge", "replace"])? {
            Some("replace") => EnvironmentChange::Replace(variables),
            _ => EnvironmentChange::Merge(variables),
        };
        run.keeps = Keeps::Nothing;
        run.request.terminal = arguments.flag("pty")?.then_some(TerminalSize::WIDE);
        if tool == "exec_bg" {
            return Ok(Action::Start(Box::new(run)));
        }
        run.view = read_ansi(&arguments)?;
        run.request.timeout = arguments.millis("timeout_ms")?.or(around.timeout).or(Some(TIMEOUT));
        Ok(Action::Run(Box::new(run)))
    }

    fn write(&self, action: &Action, done: &Done) -> Reply {
        match (action, done) {
            (Action::Run(run), Done::Ran(ran)) => ran_reply(run, ran),
            (_, Done::Started { task, .. }) => {
                let text = format!("Started in the background.\nid: {}", task.id);
                Reply::good(text, task_facts(task, FORM))
            }
            (_, Done::Read(read)) => {
                let [(output, cut), (stdout, _), (stderr, _)] = [&read.output, &read.stdout, &read.stderr]
                    .map(|view| EXEC_STATUS.read(action, read, view, LIMIT, escapes(read.view)));
                let text = format!("{}\n{output}", state(&read.task));
                let done = !read.task.status.is_running();
                let facts =
                    json!({"output": output, "stdout": stdout, "stderr": stderr, "done": done, "truncated": cut});
                Reply::good(text, with(task_facts(&read.task, FORM), &facts))
            }
            (_, Done::Killed { task, already }) => {
                let word = if *already { "had ended before" } else { "stopped" };
                Reply::good(
                    format!("{} {word}", task.id),
                    with(task_facts(task, FORM), &json!({"already_stopped": already})),
                )
            }
            (_, done) => Reply::otherwise(done),
        }
    }
}

/// The parameters of a command, and `more`.
fn command_parameters(around: &Surroundings, more: Vec<(&'static str, Value)>) -> Vec<(&'static str, Value)> {
    let mode = "merge (default): add env to the base; replace: the command sees env only.";
    let pty = "Run it in a terminal, for programs that want one: one stream, stderr is empty.";
    let mut parameters = vec![
        ("command", string("The shell command (bash).")),
        ("workdir", string(&format!("Directory to run in; without it {}.", around.directory.display()))),
        ("env", variables("Variables for this command.")),
        ("env_mode", choice(&["merge", "replace"], mode)),
        ("pty", boolean(pty)),
    ];
    parameters.extend(more);
    parameters
}

fn state(task: &Task) -> String {
    match &task.outcome {
        None => format!("{}: running", task.id),
        Some(outcome) => format!("{}: {outcome}", task.id),
    }
}

fn ran_reply(run: &RunAction, ran: &Ran) -> Reply {
    let outcome = ran.outcome();
    let (stdout, stderr) = Stream::both(ran);
    let [(stdout, cut), (stderr, also_cut)] =
        [stdout, stderr].map(|stream| EXEC_STATUS.fit(ran, &stream, LIMIT, escapes(run.view)));
    let facts = with(run_facts(ran), &json!({"stdout": stdout, "stderr": stderr, "truncated": cut || also_cut}));
    let head = match &outcome {
        None => "The command was not run".to_owned(),
        Some(Outcome::Exited(0)) => "exit code: 0".to_owned(),
        Some(Outcome::Exited(code)) => format!("Command failed with exit code {code}"),
        Some(Outcome::TimedOut) => {
            format!("Command timed out after {}ms; it was stopped with everything it started", run.limit_ms())
        }
        Some(other) => format!("The command {other}"),
    };
    let mut text = format!("{head}\nstdout:\n{stdout}\nstderr:\n{stderr}");
    for leftover in ran.leftovers() {
        text += &format!("\nleft running: {} {}", leftover.pid, command_line(&leftover.command));
    }
    Reply { text, structured: facts, is_error: !ended_by_itself(outcome.as_ref()) }
}
