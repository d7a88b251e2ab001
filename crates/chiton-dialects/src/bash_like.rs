//! What surfaces with `Bash`, `BashOutput` and a tool to kill have in common.

use std::time::Duration;

use chiton_engine::Outcome;
use chiton_engine::tasks::Part;
use serde_json::{Map, Value, json};

use crate::action::{Action, Ran, ReadAction, RunAction, TaskRef};
use crate::arguments::Arguments;
use crate::call_error::CallError;
use crate::facts::{TaskForm, ran, task};
use crate::shape::{Field, any_of};
use crate::text::first_characters;
use crate::timeouts::DEFAULT_TIMEOUT;
use crate::tool::{Surroundings, ToolEffect, ToolSpec, boolean, string};

/// Characters of output that a reply gives.
pub(crate) const LIMIT: usize = 30_000;

/// For which commands other tools are better, in every description of a shell that comes with such tools.
pub(crate) const FILES: &str = "Prefer the tools for reading, writing, editing and finding files, where there are such, over cat, sed, find and grep.";

/// `Bash` with a command, a timeout, a description, and whether to come back at once.
pub(crate) fn bash_tool(description: String, timeout: Value, runs: Value) -> ToolSpec {
    ToolSpec {
        name: "Bash",
        description,
        parameters: vec![
            ("command", json!({"type": "string", "minLength": 1, "description": "The command."})),
            ("timeout", timeout),
            ("description", string("What it does, in 5 to 10 words.")),
            ("run_in_background", boolean("Come back at once with its id, for BashOutput.")),
        ],
        required: &["command"],
        effect: ToolEffect::Runs,
        output_schema: runs,
    }
}

/// `BashOutput` with an id and a filter.
pub(crate) fn output_tool(description: &str, filter: &str, reads: Value) -> ToolSpec {
    ToolSpec {
        name: "BashOutput",
        description: description.to_owned(),
        parameters: vec![("bash_id", string("The id that Bash gave.")), ("filter", string(filter))],
        required: &["bash_id"],
        effect: ToolEffect::Looks,
        output_schema: reads,
    }
}

/// The tool that stops a background command.
pub(crate) fn kill_tool(name: &'static str, kills: Value) -> ToolSpec {
    ToolSpec {
        name,
        description: "Stop a background command with everything it started.".to_owned(),
        parameters: vec![("shell_id", string("The id that Bash gave."))],
        required: &["shell_id"],
        effect: ToolEffect::Stops,
        output_schema: kills,
    }
}

/// What `Bash` gives: a command that ran with its output, or a task.
pub(crate) fn bash_replies(form: TaskForm) -> Value {
    any_of([
        ran(&[Field::text("output"), Field::boolean("truncated"), Field::text("description").or_absent()]),
        task(form, &[]),
    ])
}

/// What a tool that kills gives.
pub(crate) fn kill_replies(form: TaskForm) -> Value {
    any_of([task(form, &[Field::boolean("already_stopped")])])
}

/// Reads a call of `BashOutput` or of the tool that kills; `None` for any other tool.
pub(crate) fn read_other(tool: &str, values: &Map<String, Value>, part: Part) -> Result<Option<Action>, CallError> {
    match tool {
        "BashOutput" => {
            let arguments = Arguments::new(values, &["bash_id", "filter"])?;
            let task = TaskRef::Id(arguments.required("bash_id")?);
            let filter = arguments.text("filter")?;
            Ok(Some(Action::Read(ReadAction { filter, ..ReadAction::new(task, part) })))
        }
        "KillBash" | "KillShell" => {
            let arguments = Arguments::new(values, &["shell_id"])?;
            Ok(Some(Action::Kill { task: TaskRef::Id(arguments.required("shell_id")?) }))
        }
        _ => Ok(None),
    }
}

/// Reads a call of `Bash`. `adjust` sets what the dialect decides, `timeout` reads the limit of a command that is
/// waited for.
pub(crate) fn read_bash(
    values: &Map<String, Value>,
    around: &Surroundings,
    adjust: impl FnOnce(&mut RunAction),
    timeout: impl FnOnce(&Arguments<'_>, &mut RunAction) -> Result<Option<Duration>, CallError>,
) -> Result<Action, CallError> {
    let arguments = Arguments::new(values, &["command", "timeout", "description", "run_in_background"])?;
    let mut run = RunAction::new(&arguments.required("command")?);
    run.request.description = arguments.text("description")?;
    adjust(&mut run);
    let given = timeout(&arguments, &mut run)?;
    if arguments.flag("run_in_background")? {
        return Ok(Action::Start(Box::new(run)));
    }
    run.request.timeout = given.or(around.timeout).or(Some(DEFAULT_TIMEOUT));
    Ok(Action::Run(Box::new(run)))
}

/// Both streams, each cut to its first characters, and whether anything was cut.
pub(crate) fn both_streams(ran: &Ran) -> (String, String, bool) {
    let (stdout, cut) = first_characters(&ran.stdout().head, ran.stdout_characters, LIMIT);
    let (stderr, also_cut) = first_characters(&ran.stderr().head, ran.stderr_characters, LIMIT);
    (stdout, stderr, cut || also_cut)
}

/// Whether a command that ended like this ended by itself, which is data in dialects that do not fail for a code. One
/// that was only looked at has not failed either.
pub(crate) fn ended_by_itself(outcome: Option<&Outcome>) -> bool {
    matches!(outcome, None | Some(Outcome::Exited(_) | Outcome::Signaled(_)))
}
