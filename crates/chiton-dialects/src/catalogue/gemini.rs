//! `gemini`: the surface that Gemini's models know. A command may take as long as it prints; one that is silent for too
//! long is stopped. Background processes are known by their process id. Nothing carries over from call to call.

use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use chiton_engine::tasks::Part;
use chiton_engine::{Outcome, Streams, Task, TaskLifetime, TimeLimit};
use serde_json::{Map, Value, json};

use crate::action::{Action, Done, FailureKind, Keeps, ListAction, Ran, ReadAction, RunAction, TaskOutput, TaskRef};
use crate::arguments::{Arguments, short};
use crate::bash_like::ended_by_itself;
use crate::call_error::CallError;
use crate::facts::{TaskForm, failure, object, ran, run_facts, task, task_facts, with};
use crate::reply::Reply;
use crate::shape::{Field, any_of, shape};
use crate::text::{beginning, command_line, ending, without_escapes};
use crate::tool::{
    Dialect, Structured, Surroundings, TaskNames, ToolEffect, ToolSpec, arguments_of, boolean, integer, string,
};

pub(crate) struct Gemini;

/// How long a command may print nothing, where the server does not say otherwise.
const SILENCE: Duration = Duration::from_mins(5);
/// How long a background command is watched for its first output, where the call does not say.
const FIRST_OUTPUT: Duration = Duration::from_millis(200);
/// Characters of output that are given whole; beyond that a fifth of them from the beginning, the rest from the end.
const LIMIT: usize = 40_000;
/// Lines of a background process that are read, where the call does not say.
const LINES: u64 = 100;

/// How it reports a task.
const FORM: TaskForm = TaskForm {
    ids: &["task_id"],
    fields: &["command", "status", "exit_code", "signal", "pid", "duration_ms", "protection"],
};

impl Dialect for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn about(&self) -> &'static str {
        "run_shell_command, list_background_processes, read_background_output: stopped only when silent"
    }

    fn task_names(&self) -> TaskNames {
        TaskNames::Pid
    }

    fn listing_tool(&self) -> Option<&'static str> {
        Some("list_background_processes")
    }

    // A read gives lines of output alone.
    fn says_how_a_task_ended(&self, done: &Done) -> bool {
        !matches!(done, Done::Read(_) | Done::Started { .. })
    }

    fn structured(&self) -> Structured {
        Structured::OnRequest
    }

    fn running_tool(&self) -> &'static str {
        "run_shell_command"
    }

    fn tools(&self, around: &Surroundings) -> Vec<ToolSpec> {
        let fields = [
            Field::text("output"),
            Field::boolean("truncated"),
            Field::integer("pid").or_absent(),
            Field::texts("notes"),
        ];
        let process = shape(&[
            Field::integer("pid").or_absent(),
            Field::text("command"),
            Field::text("status"),
            Field::integer("exit_code").or_absent(),
            Field::text("signal").or_absent(),
        ]);
        let mut list = shape(&[Field::list("processes")]);
        list["properties"]["processes"]["items"] = process;
        vec![
            ToolSpec {
                name: "run_shell_command",
                description: format!(
                    "Run a command with bash -c in {}. Each call starts anew there. A command that prints nothing for \
                     5 minutes is stopped. What it leaves running is named by its process id.",
                    around.directory.display()
                ),
                parameters: vec![
                    ("command", string("The command.")),
                    ("description", string("What it does, in a sentence for the user.")),
                    ("dir_path", string("Where to run it: a directory inside the working directory.")),
                    ("is_background", boolean("Come back after a moment with its process id and let it go on.")),
                    (
                        "delay_ms",
                        integer(
                            0,
                            "With is_background: how long that moment is, for its first output; 200 if left out.",
                        ),
                    ),
                ],
                required: &["command"],
                effect: ToolEffect::Runs,
                output_schema: any_of([ran(&fields)]),
            },
            ToolSpec {
                name: "list_background_processes",
                description: "Background processes that run, and those that have ended.".to_owned(),
                parameters: Vec::new(),
                required: &[],
                effect: ToolEffect::Looks,
                output_schema: any_of([list]),
            },
            ToolSpec {
                name: "read_background_output",
                description: "The last lines that a background process printed.".to_owned(),
                parameters: vec![
                    ("pid", integer(1, "Its process id.")),
                    ("lines", json!({"type": "integer", "minimum": 1, "description": "How many; 100 if left out."})),
                    ("delay_ms", integer(0, "How long to wait first, unless it ends before.")),
                ],
                required: &["pid"],
                effect: ToolEffect::Looks,
                output_schema: any_of([task(FORM, &[Field::text("output"), Field::integer("left_out_bytes")])]),
            },
        ]
    }

    fn read(&self, tool: &str, values: &Map<String, Value>, around: &Surroundings) -> Result<Action, CallError> {
        // Only their names count here, which are the same everywhere.
        static TOOLS: OnceLock<Vec<ToolSpec>> = OnceLock::new();
        let arguments = arguments_of(TOOLS.get_or_init(|| self.tools(around)), tool, values)?;
        match tool {
            "list_background_processes" => return Ok(Action::List(ListAction::default())),
            "read_background_output" => {
                let pid = arguments.number("pid")?.ok_or(CallError::Missing("pid"))?;
                let lines = arguments.number("lines")?.unwrap_or(LINES);
                if lines == 0 {
                    return Err(CallError::BadValue { name: "lines", problem: "is at least 1".to_owned() });
                }
                let mut read = ReadAction::new(TaskRef::Pid(pid), Part::Tail(lines));
                (read.wait, read.limit) = (arguments.millis("delay_ms")?, Some(LIMIT as u64));
                return Ok(Action::Read(read));
            }
            _ => {}
        }
        let mut run = RunAction::new(&arguments.required("command")?);
        (run.request.streams, run.keeps, run.request.task_lifetime) =
            (Streams::Merged, Keeps::Nothing, TaskLifetime::Durable);
        run.request.description = arguments.text("description")?;
        run.request.directory = directory(&arguments, &around.directory)?;
        let delay = arguments.millis("delay_ms")?;
        if arguments.flag("is_background")? {
            run.request.wait = Some(delay.unwrap_or(FIRST_OUTPUT));
            return Ok(Action::Run(Box::new(run)));
        }
        if delay.is_some() {
            run.notes.push("delay_ms has no effect without is_background".to_owned());
        }
        run.request.silence = around.timeout.or(Some(SILENCE));
        Ok(Action::Run(Box::new(run)))
    }

    fn write(&self, action: &Action, done: &Done) -> Reply {
        match (action, done) {
            (Action::Run(run), Done::Ran(ran)) => ran_reply(run, ran),
            (Action::Run(_), Done::Failed(problem)) => {
                Reply::bad(format!("Error: {}", problem.message), failure(problem))
            }
            (_, Done::Listed(listed)) => list_reply(&listed.own),
            (_, Done::Read(read)) => read_reply(read),
            (Action::Read(ReadAction { task: TaskRef::Pid(pid), .. }), Done::Failed(problem))
                if problem.kind == FailureKind::NotFound =>
            {
                let text = format!("No background process has PID {pid}; list_background_processes lists them.");
                Reply::bad(text, failure(problem))
            }
            (_, done) => Reply::otherwise(done),
        }
    }
}

fn ran_reply(run: &RunAction, ran: &Ran) -> Reply {
    let outcome = ran.outcome();
    let pid = ran.pid().unwrap_or_default();
    let (output, cut) = shown(ran);
    let mut lines: Vec<String> = run.notes.iter().chain(&ran.notices).map(|note| format!("Note: {note}")).collect();
    if outcome == Some(Outcome::Running) {
        lines.push(format!("Command is running in background. PID: {pid}. Initial output:\n{}", or_empty(&output)));
    } else {
        lines.extend(why_stopped(run, ran.limit(), outcome.as_ref()));
        lines.push(format!("Output: {}", or_empty(&output)));
        let code = outcome.as_ref().and_then(Outcome::exit_code);
        lines.extend(code.filter(|code| *code != 0).map(|code| format!("Exit Code: {code}")));
        lines.extend(outcome.as_ref().and_then(Outcome::signal).map(|signal| format!("Signal: {signal}")));
    }
    let left: Vec<String> = ran.leftovers().iter().map(|leftover| leftover.pid.to_string()).collect();
    if !left.is_empty() {
        lines.push(format!("Background PIDs: {}", left.join(", ")));
    }
    lines.extend(ran.pid().map(|pid| format!("Process Group PGID: {pid}")));
    let facts = json!({"output": output, "truncated": cut, "pid": ran.pid(), "notes": run.notes});
    let failed = !ended_by_itself(outcome.as_ref()) && outcome != Some(Outcome::Running);
    Reply { text: lines.join("\n"), structured: with(run_facts(ran), &facts), is_error: failed }
}

fn why_stopped(run: &RunAction, limit: Option<TimeLimit>, outcome: Option<&Outcome>) -> Option<String> {
    match (limit, outcome) {
        _ if ended_by_itself(outcome) => None,
        (Some(TimeLimit::Silence), _) => {
            let seconds = run.request.silence.unwrap_or_default().as_secs();
            Some(format!("Command was stopped with everything it started: it printed nothing for {seconds} seconds."))
        }
        (_, outcome) => outcome.map(|outcome| format!("Command {}.", outcome.to_string().trim_end_matches('.'))),
    }
}

/// The output as it is given, and whether something is missing in it.
fn shown(ran: &Ran) -> (String, bool) {
    let view = ran.stdout();
    if view.tail.is_none() {
        let plain = without_escapes(&view.head);
        if plain.chars().count() <= LIMIT {
            return (plain, false);
        }
    }
    let note = format!(
        "... [{} characters in all; read_background_output with pid {} and more lines reads the last {LIMIT} of them, chiton \
         logs {} all] ...\n",
        ran.stdout_characters,
        ran.pid().unwrap_or_default(),
        ran.run_id()
    );
    let left = LIMIT - note.len() - 1;
    let first = beginning(&view.head, left / 5, usize::MAX);
    let last = ending(view.tail.as_ref().unwrap_or(&view.head), left - left / 5, usize::MAX);
    let line_end = if first.ends_with('\n') { "" } else { "\n" };
    (format!("{}{line_end}{note}{}", without_escapes(first), without_escapes(last)), true)
}

fn list_reply(tasks: &[Task]) -> Reply {
    let background: Vec<&Task> = tasks.iter().filter(|task| task.background).collect();
    let lines = background.iter().map(|task| {
        let (status, ending) = match &task.outcome {
            None => ("RUNNING", String::new()),
            Some(Outcome::Exited(code)) => ("EXITED", format!(" (Exit Code: {code})")),
            Some(Outcome::Signaled(signal)) => ("EXITED", format!(" (Signal: {signal})")),
            Some(outcome) => ("EXITED", format!(" ({outcome})")),
        };
        format!("- [PID {}] {status}: `{}`{ending}", task.pid.unwrap_or_default(), command_line(&task.command))
    });
    let text = if background.is_empty() {
        "No background processes.".to_owned()
    } else {
        lines.collect::<Vec<_>>().join("\n")
    };
    let facts = background.iter().map(|task| {
        let all = task_facts(task, FORM);
        let wanted = ["pid", "command", "status", "exit_code", "signal"];
        Value::Object(all.into_iter().filter(|(name, _)| wanted.contains(&name.as_str())).collect())
    });
    Reply::good(text, object(&json!({"processes": facts.collect::<Vec<_>>()})))
}

fn read_reply(read: &TaskOutput) -> Reply {
    let output = without_escapes(&read.output.head);
    let cut = if read.left_out > 0 {
        format!(" ({} bytes before them are left out; chiton logs {} prints all)", read.left_out, read.task.id)
    } else {
        String::new()
    };
    let text = if output.is_empty() {
        "It has printed nothing so far.".to_owned()
    } else {
        format!("Showing the last {} lines{cut}:\n{}", output.lines().count(), output.trim_end_matches('\n'))
    };
    let facts = json!({"output": output, "left_out_bytes": read.left_out});
    Reply::good(text, with(task_facts(&read.task, FORM), &facts))
}

fn or_empty(output: &str) -> &str {
    if output.is_empty() { "(empty)" } else { output.strip_suffix('\n').unwrap_or(output) }
}

/// The directory of a call, which is inside the working directory.
fn directory(arguments: &Arguments<'_>, base: &Path) -> Result<Option<PathBuf>, CallError> {
    let Some(given) = arguments.text("dir_path")?.filter(|path| !path.is_empty()) else { return Ok(None) };
    let mut path = PathBuf::new();
    for component in base.join(&given).components() {
        match component {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    if path.starts_with(base) {
        return Ok(Some(path));
    }
    let problem = format!("is inside the working directory {}, not '{}'", base.display(), short(&given));
    Err(CallError::BadValue { name: "dir_path", problem })
}
