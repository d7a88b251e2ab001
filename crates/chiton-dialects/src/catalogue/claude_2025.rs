//! `claude-2025`: the surface that Claude Code had in 2025, for agents that were built for it. Failed commands are failed
//! calls; only new output is read.

use chiton_engine::tasks::Part;
use chiton_engine::{Outcome, Streams};
use serde_json::{Map, Value, json};

use crate::action::{Action, Done, Keeps, Ran, RunAction};
use crate::bash_like::{self, BASH_OUTPUT, FILES, LIMIT, Stream};
use crate::call_error::CallError;
use crate::facts::{TaskForm, run_facts, task, task_facts, with};
use crate::reply::Reply;
use crate::shape::{Field, any_of};
use crate::text::{Escapes, leftover_lines};
use crate::timeouts::{self, DEFAULT_MS, MAXIMUM_MS};
use crate::tool::{Dialect, Structured, Surroundings, ToolSpec};

pub(crate) struct Claude2025;

/// What a command that succeeds in silence is answered with.
const NO_OUTPUT: &str = "(Bash completed with no output)";

/// How it reports a task.
const FORM: TaskForm =
    TaskForm { ids: &["bash_id"], fields: &["status", "exit_code", "signal", "duration_ms", "protection"] };

impl Dialect for Claude2025 {
    fn name(&self) -> &'static str {
        "claude-2025"
    }

    fn about(&self) -> &'static str {
        "Bash, BashOutput, KillShell as Claude Code had them in 2025: the directory follows cd"
    }

    fn structured(&self) -> Structured {
        Structured::OnRequest
    }

    fn running_tool(&self) -> &'static str {
        "Bash"
    }

    fn tools(&self, around: &Surroundings) -> Vec<ToolSpec> {
        let description = format!(
            "Run a bash command. The working directory carries over to the next call, nothing else; it starts in {}. \
             {FILES}",
            around.directory.display()
        );
        let most = format!("Milliseconds; {DEFAULT_MS} if left out, at most {MAXIMUM_MS}.");
        let timeout = json!({"type": "number", "minimum": 1, "description": most});
        vec![
            bash_like::bash_tool(description, timeout, bash_like::bash_replies(FORM)),
            bash_like::output_tool(
                "What a background command printed since it was read last.",
                "A regular expression: only lines that match. Nothing counts as read.",
                any_of([task(FORM, &[Field::text("output"), Field::boolean("truncated")])]),
            ),
            bash_like::kill_tool("KillShell", bash_like::kill_replies(FORM)),
        ]
    }

    fn read(&self, tool: &str, values: &Map<String, Value>, around: &Surroundings) -> Result<Action, CallError> {
        if let Some(action) = bash_like::read_other(tool, values, Part::New)? {
            return Ok(action);
        }
        let adjust = |run: &mut RunAction| (run.request.streams, run.keeps) = (Streams::Merged, Keeps::Directory);
        bash_like::read_bash(values, around, adjust, timeouts::clamped)
    }

    fn write(&self, action: &Action, done: &Done) -> Reply {
        match (action, done) {
            (Action::Run(run), Done::Ran(ran)) => ran_reply(run, ran),
            (_, Done::Started { task, .. }) => {
                Reply::good(format!("Command running in background with ID: {}", task.id), task_facts(task, FORM))
            }
            (_, Done::Read(read)) => {
                let (output, cut) = BASH_OUTPUT.read(action, read, &read.output, LIMIT, Escapes::Removed);
                let code = read.task.outcome.as_ref().and_then(Outcome::exit_code);
                let code = code.map(|code| format!("\n<exit_code>{code}</exit_code>")).unwrap_or_default();
                let status = format!("<status>{}</status>{code}", read.task.status);
                let facts = with(task_facts(&read.task, FORM), &json!({"output": output, "truncated": cut}));
                Reply::good(format!("{status}\n<output>\n{output}</output>"), facts)
            }
            (_, Done::Killed { task, already }) => {
                let word = if *already { "had ended before" } else { "was killed" };
                let facts = with(task_facts(task, FORM), &json!({"already_stopped": already}));
                Reply::good(format!("Shell {} {word}", task.id), facts)
            }
            (_, done) => Reply::otherwise(done),
        }
    }
}

fn ran_reply(run: &RunAction, ran: &Ran) -> Reply {
    let (output, cut) = BASH_OUTPUT.fit(ran, &Stream::merged(ran), LIMIT, Escapes::Removed);
    let facts =
        with(run_facts(ran), &json!({"output": output, "truncated": cut, "description": run.request.description}));
    let ending = match ran.outcome() {
        None | Some(Outcome::Exited(0)) => None,
        Some(Outcome::Exited(code)) => Some(format!("Exit code {code}")),
        Some(Outcome::TimedOut) => Some(format!("Command timed out after {}ms", run.limit_ms())),
        Some(other) => Some(format!("The command {other}")),
    };
    let failed = ending.is_some() && ran.outcome() != Some(Outcome::Running);
    let notes = run.notes.iter().map(|note| format!("[{note}]"));
    let output = if output.is_empty() && ending.is_none() { NO_OUTPUT.to_owned() } else { output };
    let lines: Vec<String> = ending.into_iter().chain(notes).chain([output]).chain(leftover_lines(ran)).collect();
    Reply { text: lines.join("\n"), structured: facts, is_error: failed }
}
