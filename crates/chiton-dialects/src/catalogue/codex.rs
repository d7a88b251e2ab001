//! `codex`: the surface that Codex's models know. A command is given back after a while, ended or not; what goes on is a
//! session with a number, and writing nothing to it is how one reads it again. Nothing carries over from call to call.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use chiton_engine::render::TextView;
use chiton_engine::terminal::TerminalSize;
use chiton_engine::{EnvironmentChange, Outcome, Protection, Streams, TaskLifetime};
use serde_json::{Map, Value, json};

use crate::action::{Action, Amount, Done, Exchange, Failure, FailureKind, Keeps, Message, RunAction, TaskRef};
use crate::arguments::{Arguments, short};
use crate::call_error::CallError;
use crate::facts::{failure, unusual, with};
use crate::reply::Reply;
use crate::shape::{Field, any_of, shape};
use crate::text::both_ends;
use crate::tool::{
    Dialect, Structured, Surroundings, TaskNames, ToolEffect, ToolSpec, arguments_of, boolean, choice, string,
};

pub(crate) struct Codex;

/// How long a call waits, in milliseconds: if it does not say, at least, at most.
struct Yield(u64, u64, u64);

const EXEC: Yield = Yield(10_000, 250, 30_000);
const WRITE: Yield = Yield(250, 250, 30_000);
/// To read again is to wait: a model that polls pays for every call.
const POLL: Yield = Yield(5_000, 5_000, 300_000);

/// Tokens of output that a reply gives at most, and bytes that are taken for one.
const TOKENS: u64 = 10_000;
const TOKEN_BYTES: u64 = 4;

/// What Ctrl-C is on a terminal.
const INTERRUPT: &str = "\u{3}";
/// Against escapes in the output, which is given as it is.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("NO_COLOR", "1"),
    ("TERM", "dumb"),
    ("COLORTERM", ""),
    ("LANG", "C.UTF-8"),
    ("LC_CTYPE", "C.UTF-8"),
    ("LC_ALL", "C.UTF-8"),
];

impl Dialect for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn about(&self) -> &'static str {
        "exec_command, write_stdin as Codex has them: a command that takes long is handed back as a session"
    }

    fn task_names(&self) -> TaskNames {
        TaskNames::Number
    }

    fn structured(&self) -> Structured {
        Structured::OnRequest
    }

    fn running_tool(&self) -> &'static str {
        "exec_command"
    }

    fn tools(&self, around: &Surroundings) -> Vec<ToolSpec> {
        let number = |description: &str| json!({"type": "number", "minimum": 0, "description": description});
        let tokens =
            ("max_output_tokens", number("Output beyond this is cut in the middle; 10000 if left out, and at most."));
        vec![
            ToolSpec {
                name: "exec_command",
                description: "Run a shell command. Gives its output and exit code, or, if it takes longer than \
                              yield_time_ms, the output so far and a session_id for write_stdin; the command goes on. \
                              Each call starts anew: cd and export do not carry over."
                    .to_owned(),
                parameters: vec![
                    ("cmd", string("The command.")),
                    ("workdir", string(&format!("Where to run it; without it {}.", around.directory.display()))),
                    (
                        "tty",
                        boolean("A terminal for it, into which write_stdin types; without it, its input is closed."),
                    ),
                    ("yield_time_ms", number("How long to wait for its end; 10000 if left out, from 250 to 30000.")),
                    tokens.clone(),
                    ("shell", string("bash (if left out), sh or dash, by name or path.")),
                    ("login", boolean("No effect: profile files are not read.")),
                    ("sandbox_permissions", choice(&PERMISSIONS, "No effect: no parameter leaves the sandbox.")),
                    ("justification", string("With require_escalated: why.")),
                    (
                        "prefix_rule",
                        json!({"type": "array", "items": {"type": "string"}, "description": "With require_escalated: what to allow from now on. No effect."}),
                    ),
                ],
                required: &["cmd"],
                effect: ToolEffect::Runs,
                output_schema: replies(),
            },
            ToolSpec {
                name: "write_stdin",
                description: "Write to a session, wait, and get what it printed since. With no chars: just that. \
                              \\u0003 interrupts its command."
                    .to_owned(),
                parameters: vec![
                    ("session_id", number("The number that exec_command gave.")),
                    ("chars", string("What to write; nothing if left out.")),
                    (
                        "yield_time_ms",
                        number(
                            "How long to wait for its end: 250 if left out, from 250 to 30000; with no chars 5000 if \
                             left out, from 5000 to 300000.",
                        ),
                    ),
                    tokens,
                ],
                required: &["session_id"],
                effect: ToolEffect::Runs,
                output_schema: replies(),
            },
        ]
    }

    fn read(&self, tool: &str, values: &Map<String, Value>, around: &Surroundings) -> Result<Action, CallError> {
        // Only their names count here, which are the same everywhere.
        static TOOLS: OnceLock<Vec<ToolSpec>> = OnceLock::new();
        let arguments = arguments_of(TOOLS.get_or_init(|| self.tools(around)), tool, values)?;
        let mut notes = Vec::new();
        let room = room(&arguments, &mut notes)?;
        if tool == "write_stdin" {
            let task = TaskRef::Number(arguments.number("session_id")?.ok_or(CallError::Missing("session_id"))?);
            let message = match arguments.text("chars")?.as_deref() {
                None | Some("") => None,
                Some(INTERRUPT) => Some(Message::Interrupt),
                Some(text) => Some(Message::Text(text.to_owned())),
            };
            let wait = waits(&arguments, if message.is_none() { &POLL } else { &WRITE }, &mut notes)?;
            return Ok(Action::Exchange(Exchange { task, message, wait, room, notes }));
        }
        let tty = arguments.flag("tty")?;
        let mut run = RunAction::new(&arguments.required("cmd")?);
        (run.request.streams, run.keeps, run.request.task_lifetime) =
            (Streams::Merged, Keeps::Nothing, TaskLifetime::Session);
        run.request.terminal = tty.then_some(TerminalSize::USUAL);
        // A terminal says itself what kind it is.
        let variables = ENVIRONMENT.iter().filter(|(name, _)| !tty || *name != "TERM");
        run.request.environment =
            EnvironmentChange::Merge(variables.map(|(name, value)| ((*name).to_owned(), (*value).into())).collect());
        run.request.unasked = ENVIRONMENT.map(|(name, _)| name.to_owned()).into();
        run.request.directory = arguments.text("workdir")?.filter(|path| !path.is_empty()).map(Into::into);
        run.shell = shell(&arguments)?;
        run.request.timeout = around.timeout;
        run.request.wait = Some(waits(&arguments, &EXEC, &mut notes)?);
        permissions(&arguments, &mut notes)?;
        if arguments.flag("login")? {
            notes.push("login has no effect: profile files are not read".to_owned());
        }
        (run.room, run.notes) = (room, notes);
        Ok(Action::Run(Box::new(run)))
    }

    fn write(&self, action: &Action, done: &Done) -> Reply {
        match (action, done) {
            (Action::Run(run), Done::Ran(ran)) => {
                let left = ran.leftover_task().and(ran.number).map(|session| (session, ran.leftovers().len()));
                ChunkReply {
                    id: ran.run_id(),
                    session: ran.number,
                    outcome: ran.outcome(),
                    took: ran.duration(),
                    output: ran.stdout(),
                    amount: ran.amount,
                    not_kept: 0,
                    room: run.room,
                    left,
                    notes: &[&run.notes[..], &ran.notices[..]].concat(),
                    protection: Some(ran.response.protection().clone()),
                }
                .reply()
            }
            (Action::Exchange(exchange), Done::Exchanged(answer)) => ChunkReply {
                id: &answer.task.id,
                session: Some(answer.number),
                outcome: Some(answer.task.outcome.clone().unwrap_or(Outcome::Running)),
                took: answer.took,
                output: &answer.output,
                amount: answer.amount,
                not_kept: answer.not_kept,
                room: exchange.room,
                left: None,
                notes: &exchange.notes,
                protection: answer.task.protection.clone(),
            }
            .reply(),
            (Action::Run(run), Done::Failed(problem)) => {
                let text = format!("exec_command failed for `{}`: {}", run.request.command.to_text(), problem.message);
                Reply::bad(text, failure(problem))
            }
            (Action::Exchange(exchange), Done::Failed(problem)) => write_failed(exchange, problem),
            (_, done) => Reply::otherwise(done),
        }
    }
}

/// What a reply is made of.
struct ChunkReply<'a> {
    id: &'a str,
    /// The number of the command, where it goes on.
    session: Option<u32>,
    /// None where the command was only looked at.
    outcome: Option<Outcome>,
    took: Duration,
    output: &'a TextView,
    amount: Amount,
    not_kept: u64,
    room: usize,
    /// The session of what the command left running, and how many processes that is.
    left: Option<(u32, usize)>,
    notes: &'a [String],
    protection: Option<Protection>,
}

impl ChunkReply<'_> {
    fn reply(&self) -> Reply {
        let tokens = self.amount.bytes.div_ceil(TOKEN_BYTES);
        let (seconds, session) = (self.took.as_secs_f64(), self.session.unwrap_or_default());
        let (ending, code) = match &self.outcome {
            None => ("Process was not run".to_owned(), None),
            Some(Outcome::Running) => (format!("Process running with session ID {session}"), None),
            Some(Outcome::Exited(code)) => (format!("Process exited with code {code}"), Some(*code)),
            // As `$?` would have it.
            Some(Outcome::Signaled(signal)) => {
                let code = 128 + signal.number();
                (format!("Process exited with code {code} (ended by {signal})"), Some(code))
            }
            Some(other) => (format!("Process {other}"), None),
        };
        let chunk = chunk_id(self.id, self.took);
        let mut lines = vec![format!("Chunk ID: {chunk}"), format!("Wall time: {seconds:.4} seconds"), ending];
        lines.push(format!("Original token count: {tokens}"));
        if let Some((session, count)) = self.left {
            let processes = if count == 1 { "1 process".to_owned() } else { format!("{count} processes") };
            lines.push(format!("Left running with session ID {session}: {processes}"));
        }
        lines.extend(self.notes.iter().map(|note| format!("Note: {note}")));
        let output = self.body(tokens);
        let notes = Some(self.notes).filter(|notes| !notes.is_empty());
        let mut facts = with(
            Map::new(),
            &json!({
                "chunk_id": chunk,
                "wall_time_seconds": seconds,
                "original_token_count": tokens,
                "output": output,
                "outcome": self.outcome.as_ref().map_or("described", Outcome::word),
                "notes": notes,
                "protection": self.protection.as_ref().map(unusual),
            }),
        );
        if self.outcome == Some(Outcome::Running) {
            facts.insert("session_id".to_owned(), session.into());
        }
        facts.extend(code.map(|code| ("exit_code".to_owned(), code.into())));
        facts.extend(
            self.outcome
                .as_ref()
                .and_then(Outcome::signal)
                .map(|signal| ("signal".to_owned(), signal.to_string().into())),
        );
        facts.extend(self.left.map(|(session, _)| ("left_session_id".to_owned(), session.into())));
        lines.extend(["Output:".to_owned(), output]);
        if self.amount.bytes > self.room as u64 {
            lines.push(format!("Note: chiton logs {} prints all of it", self.id));
        }
        Reply::good(lines.join("\n"), facts)
    }

    /// All of the output, or as much as there is room for from both of its ends.
    fn body(&self, tokens: u64) -> String {
        if self.amount.bytes <= self.room as u64 {
            return self.output.to_text();
        }
        let room = self.room as u64 / TOKEN_BYTES;
        let lost =
            if self.not_kept > 0 { format!("\n... {} bytes omitted ...\n", self.not_kept) } else { String::new() };
        let cut = both_ends(self.output, self.room / 2, &format!("…{} tokens truncated…{lost}", tokens - room));
        let lines = self.amount.lines;
        format!("Warning: truncated output (original token count: {tokens})\nTotal output lines: {lines}\n\n{cut}")
    }
}

/// The structured form of every reply.
fn replies() -> Value {
    any_of([shape(&[
        Field::text("chunk_id"),
        Field::number("wall_time_seconds"),
        Field::integer("exit_code").or_absent(),
        Field::integer("session_id").or_absent(),
        Field::integer("original_token_count"),
        Field::text("output"),
        Field::text("outcome"),
        Field::text("signal").or_absent(),
        Field::integer("left_session_id").or_absent(),
        Field::texts("notes").or_absent(),
        Field::object("protection").or_absent(),
    ])])
}

fn write_failed(exchange: &Exchange, problem: &Failure) -> Reply {
    let reason = match (problem.kind, &exchange.task) {
        (FailureKind::NotFound, TaskRef::Number(number)) => format!("Unknown process id {number}"),
        (FailureKind::Removed, TaskRef::Number(number)) => format!("Unknown process id {number}: {}", problem.message),
        (FailureKind::InputClosed, _) => {
            "stdin is closed for this session; rerun exec_command with tty=true to keep stdin open".to_owned()
        }
        _ => problem.message.clone(),
    };
    let text = format!("write_stdin failed: {reason}");
    Reply::bad(text.clone(), failure(&Failure { message: text, ..problem.clone() }))
}

const SHELLS: [&str; 3] = ["bash", "sh", "dash"];
const PERMISSIONS: [&str; 2] = ["use_default", "require_escalated"];

/// A shell by its name; a path to one of these means the same.
fn shell(arguments: &Arguments<'_>) -> Result<Option<std::path::PathBuf>, CallError> {
    let Some(given) = arguments.text("shell")?.filter(|shell| !shell.is_empty()) else { return Ok(None) };
    let name = Path::new(&given).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if SHELLS.contains(&name) {
        return Ok(Some(given.into()));
    }
    let problem = format!("is {}, by name or path, not '{}'", SHELLS.join(" or "), short(&given));
    Err(CallError::BadValue { name: "shell", problem })
}

/// There is nothing to escalate from. What is asked is checked, so that a mistake in it is not learned.
fn permissions(arguments: &Arguments<'_>, notes: &mut Vec<String>) -> Result<(), CallError> {
    let escalates = arguments.choice("sandbox_permissions", &PERMISSIONS)? == Some("require_escalated");
    let with_it = [
        ("justification", arguments.text("justification")?.is_some()),
        ("prefix_rule", arguments.list("prefix_rule")?.is_some()),
    ];
    if let Some((name, _)) = with_it.into_iter().find(|(_, given)| *given && !escalates) {
        let problem = "goes with sandbox_permissions 'require_escalated' only".to_owned();
        return Err(CallError::BadValue { name, problem });
    }
    if escalates {
        notes.push(
            "sandbox_permissions has no effect: no parameter leaves the sandbox; a person allows more".to_owned(),
        );
    }
    Ok(())
}

/// Reads how long to wait; what is out of range counts as the nearest that is in it, and is noted.
fn waits(arguments: &Arguments<'_>, range: &Yield, notes: &mut Vec<String>) -> Result<Duration, CallError> {
    let Yield(usual, least, most) = *range;
    let given = arguments.number("yield_time_ms")?.unwrap_or(usual);
    let used = given.clamp(least, most);
    if given < least {
        notes.push(format!("yield_time_ms {given} is less than the minimum; {used} was used"));
    } else if given > most {
        notes.push(format!("yield_time_ms {given} is more than the maximum; {used} was used"));
    }
    Ok(Duration::from_millis(used))
}

/// Reads how many bytes of output there is room for.
fn room(arguments: &Arguments<'_>, notes: &mut Vec<String>) -> Result<usize, CallError> {
    let given = arguments.number("max_output_tokens")?.unwrap_or(TOKENS);
    if given > TOKENS {
        notes.push(format!("max_output_tokens {given} is more than the maximum; {TOKENS} was used"));
    }
    Ok(usize::try_from(given.min(TOKENS) * TOKEN_BYTES).unwrap_or(usize::MAX))
}

/// Six hex digits of the task and the moment: a name for this piece of output.
fn chunk_id(id: &str, took: Duration) -> String {
    let moment = took.as_nanos().to_le_bytes();
    let hash =
        id.bytes().chain(moment).fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{:06x}", (hash >> 8) ^ (hash & 0xff))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_is_counted_to_the_token() {
        let text = "0123456789\n".repeat(1000);
        let view = TextView { head: text.clone(), tail: None, omitted: 0 };
        let chunk = |room: usize| ChunkReply {
            id: "shell_00000001",
            session: None,
            outcome: Some(Outcome::Exited(0)),
            took: Duration::from_secs(1),
            output: &view,
            amount: Amount { bytes: text.len() as u64, lines: 1000 },
            not_kept: 0,
            room,
            left: None,
            notes: &[],
            protection: None,
        };
        assert_eq!(chunk(text.len()).reply().structured["output"], text);
        let cut = chunk(400).reply().text;
        let expected = "Original token count: 2750\nOutput:\nWarning: truncated output (original token count: 2750)\nTotal \
                        output lines: 1000\n\n0123456789\n";
        assert!(cut.contains(expected), "{cut}");
        assert!(cut.contains("…2650 tokens truncated…"), "{cut}");
        assert!(cut.ends_with("\nNote: chiton logs shell_00000001 prints all of it"), "{cut}");
        let output = chunk(400).reply().structured["output"].as_str().unwrap().to_owned();
        assert_eq!(output.split("\n\n").nth(1).unwrap().len(), 400 + "…2650 tokens truncated…".len());
    }
}
