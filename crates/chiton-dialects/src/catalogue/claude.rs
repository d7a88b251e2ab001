//! `claude`: the surface that Claude Code's models know. Failed commands are failed calls; only new output is read.

use chiton_engine::tasks::Part;
use chiton_engine::{Outcome, Streams};
use serde_json::{Map, Value, json};

use crate::action::{Action, Done, Keeps, Ran, RunAction};
use crate::arguments::CallError;
use crate::facts::{any_of, run_facts, task, task_facts, with};
use crate::reply::Reply;
use crate::shells::{self, FILES, LIMIT};
use crate::text::{first_characters, leftover_lines, without_escapes};
use crate::tool::{Dialect, Surroundings, ToolSpec};

pub(crate) struct Claude;

impl Dialect for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn about(&self) -> &'static str {
        "Bash, BashOutput, KillShell as Claude Code has them: the directory follows cd"
    }

    fn tools(&self, around: &Surroundings) -> Vec<ToolSpec> {
        let description = format!(
            "Run a bash command. The working directory carries over to the next call, nothing else; it starts in {}. \
             {FILES}",
            around.directory.display()
        );
        let timeout =
            json!({"type": "number", "minimum": 1, "description": "Milliseconds; 120000 if left out, at most 600000."});
        vec![
            shells::bash_tool(description, timeout, shells::bash_replies()),
            shells::output_tool(
                "What a background command printed since it was read last.",
                "A regular expression: only lines that match. Nothing counts as read.",
                any_of([task(&[("output", "string")])]),
            ),
            shells::kill_tool("KillShell", shells::kill_replies()),
        ]
    }

    fn read(&self, tool: &str, values: &Map<String, Value>, around: &Surroundings) -> Result<Action, CallError> {
        if let Some(action) = shells::read_other(tool, values, Part::New)? {
            return Ok(action);
        }
        let adjust = |run: &mut RunAction| (run.streams, run.keeps) = (Streams::Merged, Keeps::Directory);
        shells::read_bash(values, around, adjust, shells::clamped_timeout)
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
                let facts = with(task_facts(task), &json!({"already_stopped": already}));
                Reply::good(format!("Shell {} {word}", task.id), facts)
            }
            (_, done) => Reply::otherwise(done),
        }
    }
}

fn ran_reply(run: &RunAction, ran: &Ran) -> Reply {
    let plain = without_escapes(&ran.stdout().head);
    let (output, cut) = first_characters(&plain, ran.stdout_characters, LIMIT);
    let facts = with(run_facts(ran), &json!({"output": output, "truncated": cut, "description": run.description}));
    let ending = match ran.outcome() {
        None | Some(Outcome::Exited(0)) => None,
        Some(Outcome::Exited(code)) => Some(format!("Exit code {code}")),
        Some(Outcome::TimedOut) => Some(format!("Command timed out after {}ms", run.limit_ms())),
        Some(other) => Some(format!("The command {other}")),
    };
    let failed = ending.is_some();
    let notes = run.notes.iter().map(|note| format!("[{note}]"));
    let lines: Vec<String> = ending.into_iter().chain(notes).chain([output]).chain(leftover_lines(ran)).collect();
    Reply { text: lines.join("\n"), structured: facts, is_error: failed }
}
