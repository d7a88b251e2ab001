//! `anthropic`: the bash tool that Anthropic's models have built in, with a session that really lasts.

use chiton_engine::Outcome;
use serde_json::{Map, Value, json};

use crate::action::{Action, Done, Ran, RunAction};
use crate::arguments::Arguments;
use crate::bash_like::{LIMIT, ended_by_itself};
use crate::call_error::CallError;
use crate::facts::{object, ran, run_facts, with};
use crate::reply::Reply;
use crate::shape::{Field, any_of, shape};
use crate::text::{Escapes, Gap, Room, all_output, fitted, leftover_lines};
use crate::timeouts::DEFAULT_TIMEOUT;
use crate::tool::{Dialect, Structured, Surroundings, ToolEffect, ToolSpec, boolean, string};

pub(crate) struct Anthropic;

impl Dialect for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn about(&self) -> &'static str {
        "bash with command and restart, as Anthropic's models have it built in"
    }

    fn restart_words(&self) -> Option<&'static str> {
        Some("restart: true")
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
                "Run a command in a bash session that lasts from call to call; it starts in {}.",
                around.directory.display()
            ),
            parameters: vec![
                ("command", string("The command; required unless restart is set.")),
                ("restart", boolean("Start the session afresh.")),
            ],
            required: &[],
            effect: ToolEffect::Runs,
            output_schema: any_of([
                ran(&[Field::text("stdout"), Field::text("stderr"), Field::boolean("truncated")]),
                shape(&[Field::boolean("restarted")]),
            ]),
        }]
    }

    fn read(&self, _: &str, values: &Map<String, Value>, around: &Surroundings) -> Result<Action, CallError> {
        let arguments = Arguments::new(values, &["command", "restart"])?;
        if arguments.flag("restart")? {
            return Ok(Action::Restart);
        }
        let mut run = RunAction::new(&arguments.required("command")?);
        run.request.transcript = true;
        run.request.timeout = around.timeout.or(Some(DEFAULT_TIMEOUT));
        Ok(Action::Run(Box::new(run)))
    }

    fn write(&self, action: &Action, done: &Done) -> Reply {
        match (action, done) {
            (Action::Run(run), Done::Ran(ran)) => ran_reply(run, ran),
            (_, Done::Restarted) => Reply::good("tool has been restarted.", object(&json!({"restarted": true}))),
            (_, done) => Reply::otherwise(done),
        }
    }
}

fn ran_reply(run: &RunAction, ran: &Ran) -> Reply {
    let file = all_output(ran);
    let note = |gap: &Gap| format!("[… {} bytes left out; all output is in {file} …]", gap.bytes);
    let shown = |view| fitted(view, Room::of(LIMIT), Escapes::Removed, note);
    let (stdout, stdout_cut) = shown(ran.stdout());
    let (stderr, stderr_cut) = shown(ran.stderr());

    let outcome = ran.outcome();
    let ending = match &outcome {
        Some(Outcome::Exited(0)) if stdout.is_empty() && stderr.is_empty() => {
            Some("[exited with code 0, no output]".to_owned())
        }
        None | Some(Outcome::Exited(0)) => None,
        Some(Outcome::TimedOut) => {
            let limit = run.request.timeout.map_or(0, |timeout| timeout.as_secs());
            Some(format!("[timed out after {limit} seconds; the session goes on]"))
        }
        Some(other) => Some(format!("[{other}]")),
    };

    let mut text = String::new();
    let notices = ran.notices.iter().map(|notice| format!("[{notice}]"));
    let remarks = leftover_lines(ran).into_iter().chain(notices);
    for part in ending.into_iter().chain([stdout.clone(), stderr.clone()]).chain(remarks) {
        if !text.is_empty() && !part.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text += &part;
    }
    let facts = json!({"stdout": stdout, "stderr": stderr, "truncated": stdout_cut || stderr_cut});
    let failed = !ended_by_itself(outcome.as_ref());
    Reply { text, structured: with(run_facts(ran), &facts), is_error: failed }
}
