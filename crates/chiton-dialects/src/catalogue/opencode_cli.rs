//! `opencode-cli`: the shell tool of opencode, the program. One tool; long output is in a file, and an exit code is data.

use chiton_engine::{Outcome, Streams};
use serde_json::{Map, Value, json};

use crate::action::{Action, Done, Keeps, Ran, RunAction};
use crate::arguments::Arguments;
use crate::bash_like::ended_by_itself;
use crate::call_error::CallError;
use crate::facts::{ran, run_facts, with};
use crate::reply::Reply;
use crate::shape::{Field, any_of};
use crate::text::{Escapes, Gap, Room, all_output, fitted, leftover_lines};
use crate::timeouts::{DEFAULT_MS, DEFAULT_TIMEOUT};
use crate::tool::{Dialect, Structured, Surroundings, ToolEffect, ToolSpec, string};

pub(crate) struct OpencodeCli;

/// What a reply gives; the rest is in the file.
const ROOM: Room = Room { characters: 50 << 10, lines: 2_000 };
/// Characters of it for what stands around the output.
const MARKS: usize = 1_000;

impl Dialect for OpencodeCli {
    fn name(&self) -> &'static str {
        "opencode-cli"
    }

    fn about(&self) -> &'static str {
        "bash as opencode has it: a directory with each call, long output in a file"
    }

    fn structured(&self) -> Structured {
        Structured::OnRequest
    }

    fn running_tool(&self) -> &'static str {
        "bash"
    }

    fn tools(&self, around: &Surroundings) -> Vec<ToolSpec> {
        vec![ToolSpec {
            name: "bash",
            description: format!(
                "Run a bash command. Each call starts anew in {}, or in workdir: use that in place of cd. Of output with \
                 more than {} lines or {} bytes, both ends are given and the name of a file with all of it.",
                around.directory.display(),
                ROOM.lines,
                ROOM.characters
            ),
            parameters: vec![
                ("command", string("The command.")),
                (
                    "timeout",
                    json!({"type": "number", "minimum": 1, "description": format!("Milliseconds; {DEFAULT_MS} if left out.")}),
                ),
                ("workdir", string("Where to run it.")),
                ("description", string("What it does, in 5 to 10 words.")),
            ],
            required: &["command"],
            effect: ToolEffect::Runs,
            output_schema: any_of([ran(&[
                Field::text("output"),
                Field::boolean("truncated"),
                Field::text("output_file").or_absent(),
                Field::text("description").or_absent(),
            ])]),
        }]
    }

    fn read(&self, _: &str, values: &Map<String, Value>, around: &Surroundings) -> Result<Action, CallError> {
        let arguments = Arguments::new(values, &["command", "timeout", "workdir", "description"])?;
        let mut run = RunAction::new(&arguments.required("command")?);
        (run.request.streams, run.keeps, run.request.transcript) = (Streams::Merged, Keeps::Nothing, true);
        run.request.description = arguments.text("description")?;
        let workdir = arguments.text("workdir")?.filter(|path| !path.is_empty());
        run.request.directory = workdir.map(|path| around.directory.join(path));
        let timeout = arguments.millis("timeout")?;
        if timeout.is_some_and(|timeout| timeout.is_zero()) {
            return Err(CallError::BadValue { name: "timeout", problem: "is at least 1".to_owned() });
        }
        run.request.timeout = timeout.or(around.timeout).or(Some(DEFAULT_TIMEOUT));
        Ok(Action::Run(Box::new(run)))
    }

    fn write(&self, action: &Action, done: &Done) -> Reply {
        match (action, done) {
            (Action::Run(run), Done::Ran(ran)) => ran_reply(run, ran),
            (_, done) => Reply::otherwise(done),
        }
    }
}

fn ran_reply(run: &RunAction, ran: &Ran) -> Reply {
    let room = Room { characters: ROOM.characters - MARKS, lines: ROOM.lines - 10 };
    let note = |gap: &Gap| format!("\n...{} bytes truncated...\n", gap.bytes);
    let (output, cut) = fitted_bytes(ran, room, note);
    let file = ran.transcript.as_ref().filter(|_| cut).map(|file| file.to_string_lossy());
    let mut text = if cut {
        format!("...output truncated...\n\nFull output saved to: {}\n\n{output}", all_output(ran))
    } else if output.is_empty() {
        "(no output)".to_owned()
    } else {
        output.clone()
    };

    let outcome = ran.outcome();
    let mut remarks: Vec<String> = match &outcome {
        None | Some(Outcome::Exited(0)) => Vec::new(),
        Some(Outcome::Exited(code)) => vec![format!("exit code {code}")],
        Some(Outcome::TimedOut) => vec![format!(
            "the command was stopped with everything it started: it exceeded its timeout of {} ms. If it needs longer, give \
             a larger timeout.",
            run.limit_ms()
        )],
        Some(other) => vec![format!("the command {other}")],
    };
    remarks.extend(leftover_lines(ran));
    remarks.extend(run.notes.iter().chain(&ran.notices).cloned());
    if !remarks.is_empty() {
        text =
            format!("{}\n\n<shell_metadata>\n{}\n</shell_metadata>", text.trim_end_matches('\n'), remarks.join("\n"));
    }

    let facts =
        json!({"output": output, "truncated": cut, "output_file": file, "description": run.request.description});
    let failed = !ended_by_itself(outcome.as_ref());
    Reply { text, structured: with(run_facts(ran), &facts), is_error: failed }
}

/// The limit is in bytes. Characters of several bytes make the room for characters smaller, once.
fn fitted_bytes(ran: &Ran, room: Room, note: impl Fn(&Gap) -> String + Copy) -> (String, bool) {
    let (output, cut) = fitted(ran.stdout(), room, Escapes::Removed, note);
    if output.len() <= room.characters {
        return (output, cut);
    }
    let characters = output.chars().count() * room.characters / output.len();
    let (narrower, _) = fitted(ran.stdout(), Room { characters, ..room }, Escapes::Removed, note);
    (narrower, true)
}
