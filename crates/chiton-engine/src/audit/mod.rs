//! A record of every call, in a journal in which nothing can be changed unnoticed.
//!
//! Each line is one JSON object and carries the hash of the line before it. [`journal`] writes, [`read`] reads and
//! verifies, [`outbox`] knows what was sent elsewhere. Commands stand in it as they were written, with their tokens; values never do.
//!
//! A chain of hashes shows that somebody changed, removed or inserted a line. Where the chain ends is noted beside it and
//! at a second place, the witness, so that a journal that was removed as a whole is missed. Somebody who may write both
//! places can still write everything anew; whoever needs more sends the lines to another machine.
//!
//! The engine writes the end of a command that a call waits for. The end of every other one is written by its keeper,
//! which is the only one that is certain to see it; that of a run whose keeper was killed by whoever notices it ([`lost`]).

pub mod journal;
pub mod lost;
pub mod outbox;
pub mod read;

use serde::{Deserialize, Serialize};

use crate::run::Ending;
pub use journal::Journal;

/// How the journal is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuditConfig {
    /// Whether there is one.
    pub enabled: bool,
    /// Bytes after which a new file is begun.
    pub file_bytes: u64,
    /// Files that are kept; the oldest go.
    pub files: usize,
    /// Whether a command that cannot be written down is not run.
    pub required: bool,
}

impl Default for AuditConfig {
    /// Some hundred thousand calls.
    fn default() -> Self {
        Self { enabled: true, file_bytes: 16 << 20, files: 8, required: false }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditEvent {
    /// A command was allowed, and is started now.
    Run,
    /// A command has ended, or was handed back alive; then another such line follows.
    End,
    /// A command was refused.
    Refused,
    /// A command could not be started.
    Failed,
    /// Something was done to a task: it was read, killed, sent a signal.
    Task,
    /// Text was given to a task, or refused.
    Input,
    /// A call about a run was answered. That of the call that waited for a command is noted with its end, where it can be.
    Reply,
}

/// One line of the journal, without what the journal itself adds. What does not apply is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// What happened.
    pub event: AuditEvent,
    /// Who asked: the program, its surface, its user.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub who: String,
    /// The name of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The machine it is about, by the name that the person has for it, where that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// The run it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The command as it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// How many bytes of the command are not here.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub command_cut: u64,
    /// Where it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Whether nobody waits for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// What the guard said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// The rule by which it objected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The text that a task was to be given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// How many bytes of the text are not here.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub text_cut: u64,
    /// The tokens of the secrets that it got.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// What protection was in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protection: Option<String>,
    /// How it ended, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Its exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Bytes it printed, as far as is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// Bytes of the text that the call was answered with, where it was answered with a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_bytes: Option<u64>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

impl AuditEntry {
    /// An entry about this and nothing else yet.
    pub fn new(event: AuditEvent) -> Self {
        Self {
            event,
            who: String::new(),
            session: None,
            on: None,
            run: None,
            command: None,
            command_cut: 0,
            directory: None,
            background: false,
            verdict: None,
            rule: None,
            text: None,
            text_cut: 0,
            secrets: Vec::new(),
            protection: None,
            outcome: None,
            exit_code: None,
            output_bytes: None,
            reply_bytes: None,
            duration_ms: None,
        }
    }

    /// The same about this command. A very long one is cut.
    #[must_use]
    pub(crate) fn with_command(mut self, command: &[u8]) -> Self {
        let kept = command.len().min(COMMAND_BYTES);
        self.command = Some(String::from_utf8_lossy(&command[..kept]).into_owned());
        self.command_cut = (command.len() - kept) as u64;
        self
    }

    /// The same about this text for a task. A long one is cut.
    #[must_use]
    pub(crate) fn with_text(mut self, text: &[u8]) -> Self {
        let kept = text.len().min(TEXT_BYTES);
        self.text = Some(String::from_utf8_lossy(&text[..kept]).into_owned());
        self.text_cut = (text.len() - kept) as u64;
        self
    }

    /// The end of a run, which printed this many bytes.
    pub(crate) fn end_of(run_id: &str, ending: &Ending, output_bytes: u64) -> Self {
        Self {
            run: Some(run_id.to_owned()),
            outcome: Some(ending.outcome.word().to_owned()),
            exit_code: ending.outcome.exit_code(),
            output_bytes: Some(output_bytes),
            duration_ms: Some(ending.wall_us / 1000),
            ..Self::new(AuditEvent::End)
        }
    }
}

/// What of a command is written down: more than anybody reads, and a line stays a line.
const COMMAND_BYTES: usize = 256 << 10;
/// What of a text for a task is written down: it is a line or a few, as a rule; a file that somebody pastes is not.
const TEXT_BYTES: usize = 16 << 10;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde takes")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A line as it stands in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditLine {
    /// Its number, counted from 1.
    pub number: u64,
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// The SHA-256 hash of the line before it, as it stands in the file; of nothing for the first.
    pub previous: String,
    /// What it says.
    #[serde(flatten)]
    pub entry: AuditEntry,
}
