//! What surfaces with `Bash`, `BashOutput` and a tool to kill have in common.

use std::time::Duration;

use chiton_engine::Outcome;
use chiton_engine::render::TextView;
use chiton_engine::tasks::Part;
use serde_json::{Map, Value, json};

use crate::action::{Action, Ran, ReadAction, RunAction, TaskOutput, TaskRef, WhenLong};
use crate::arguments::Arguments;
use crate::call_error::CallError;
use crate::facts::{TaskForm, ran, task};
use crate::shape::{Field, any_of};
use crate::text::{Escapes, Gap, Room, fitted};
use crate::timeouts::DEFAULT_TIMEOUT;
use crate::tool::{Surroundings, ToolEffect, ToolSpec, boolean, integer, string};

/// Characters of output that a reply gives.
pub(crate) const LIMIT: usize = 30_000;
/// Bytes that a read from a place on gives, so that there is room for the line that says where to go on.
const PIECE: u64 = LIMIT as u64 - 500;

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

/// `BashOutput` with an id, a filter, and a place to read from.
pub(crate) fn output_tool(description: &str, filter: &str, reads: Value) -> ToolSpec {
    ToolSpec {
        name: "BashOutput",
        description: description.to_owned(),
        parameters: vec![("bash_id", string("The id that Bash gave.")), ("filter", string(filter)), since()],
        required: &["bash_id"],
        effect: ToolEffect::Looks,
        output_schema: reads,
    }
}

/// The parameter with which what was left out of a reply is read.
pub(crate) fn since() -> (&'static str, Value) {
    ("since", integer(0, "From this byte on: for what a reply left out. 0 is the beginning."))
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
            let arguments = Arguments::new(values, &["bash_id", "filter", "since"])?;
            let task = TaskRef::Id(arguments.required("bash_id")?);
            let filter = arguments.text("filter")?;
            let mut read = reading(&arguments, task, part)?;
            if filter.is_some() {
                read.limit = Some(PIECE);
            }
            Ok(Some(Action::Read(ReadAction { filter, ..read })))
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

/// Reads a call that reads `part` of a task, or what stands behind the place that the call names.
pub(crate) fn reading(arguments: &Arguments<'_>, task: TaskRef, part: Part) -> Result<ReadAction, CallError> {
    Ok(match arguments.number("since")? {
        Some(since) => ReadAction { limit: Some(PIECE), ..ReadAction::new(task, Part::Bytes(since..u64::MAX)) },
        None => ReadAction { limit: Some(LIMIT as u64), when_long: WhenLong::BothEnds, ..ReadAction::new(task, part) },
    })
}

/// The tool that reads what a reply left out, and how it names a task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    pub(crate) tool: &'static str,
    pub(crate) id: &'static str,
}

/// `BashOutput`.
pub(crate) const BASH_OUTPUT: Reader = Reader { tool: "BashOutput", id: "bash_id" };

impl Reader {
    /// What a command printed to one stream, no longer than `room`, and whether something is missing.
    pub(crate) fn fit(self, ran: &Ran, stream: &Stream<'_>, room: usize, escapes: Escapes) -> (String, bool) {
        let said = format!("[Output truncated: {} characters; ", stream.characters);
        self.fit_saying(&said, ran.run_id(), (stream.view, 0, stream.alone), room, escapes)
    }

    /// What a read of a task gives of one stream, no longer than `room`, and whether something is missing.
    pub(crate) fn read(
        self,
        action: &Action,
        read: &TaskOutput,
        stream: &TextView,
        room: usize,
        escapes: Escapes,
    ) -> (String, bool) {
        if stream.tail.is_some() || read.left_out == 0 {
            let start = read.end.saturating_sub(read.output.head.len() as u64);
            let view = (stream, start, stream == &read.output);
            return self.fit_saying("[Output truncated: ", &read.task.id, view, room, escapes);
        }
        let (text, Self { tool, id }) = (escapes.of(&stream.head), self);
        let line_end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let (left_out, task, rest) = (read.left_out, &read.task.id, read.rest);
        let (more, filter) = match action {
            Action::Read(ReadAction { filter: Some(_), .. }) => ("more bytes that match", ", the same filter"),
            _ => ("more bytes", ""),
        };
        let more =
            format!("[Output truncated: {left_out} {more}; {tool} with {id} {task}{filter} and since {rest} reads on]");
        (format!("{text}{line_end}{more}\n"), true)
    }

    /// Places count in both streams together. With another stream beside this one they are not known, and the call
    /// that reads on begins where this does.
    fn fit_saying(
        self,
        said: &str,
        task: &str,
        (view, start, alone): (&TextView, u64, bool),
        room: usize,
        escapes: Escapes,
    ) -> (String, bool) {
        let Self { tool, id } = self;
        let note = |gap: &Gap| {
            let since = if alone { start + gap.at } else { start };
            let bytes = gap.bytes;
            format!("{said}{bytes} bytes left out here: {tool} with {id} {task} and since {since} reads on]")
        };
        fitted(view, Room::of(room), escapes, note)
    }
}

/// A stream of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream<'a> {
    pub(crate) view: &'a TextView,
    /// How many characters it has in all.
    pub(crate) characters: u64,
    /// Whether there is no other stream beside it.
    pub(crate) alone: bool,
}

impl<'a> Stream<'a> {
    /// All output of a command whose streams share a pipe.
    pub(crate) fn merged(ran: &'a Ran) -> Self {
        Self { view: ran.output(), characters: ran.stdout_characters, alone: true }
    }

    /// Standard output and standard error of a command.
    pub(crate) fn both(ran: &'a Ran) -> (Self, Self) {
        let (stdout, stderr) = (ran.stdout(), ran.stderr());
        (
            Self { view: stdout, characters: ran.stdout_characters, alone: stderr.head.is_empty() },
            Self { view: stderr, characters: ran.stderr_characters, alone: stdout.head.is_empty() },
        )
    }
}

/// How many characters each of two streams may have where there is room for `limit` of both: one that is short is given
/// whole.
pub(crate) fn shares(limit: usize, first: &TextView, second: &TextView) -> (usize, usize) {
    let length = |view: &TextView| {
        let shown = view.head.chars().count() + view.tail.as_ref().map_or(0, |tail| tail.chars().count());
        shown.saturating_add(usize::try_from(view.omitted).unwrap_or(usize::MAX))
    };
    let (first, second, half) = (length(first), length(second), limit / 2);
    if second <= half {
        (limit - second, second)
    } else if first <= half {
        (first, limit - first)
    } else {
        (half, limit - half)
    }
}

/// Whether a command that ended like this ended by itself, which is data in dialects that do not fail for a code. One
/// that was only looked at has not failed either, nor has one that goes on.
pub(crate) fn ended_by_itself(outcome: Option<&Outcome>) -> bool {
    matches!(outcome, None | Some(Outcome::Exited(_) | Outcome::Signaled(_) | Outcome::Running))
}
