//! A record of every call, in a journal in which nothing can be changed unnoticed.
//!
//! Each line is one JSON object and carries the hash of the line before it. [`journal`] writes, [`read`] reads and
//! verifies. Commands stand in it as they were written, with their tokens; values never do.
//!
//! A chain of hashes shows that somebody changed, removed or inserted a line. Somebody who may write the folder can
//! still write the whole journal anew; whoever needs more sends the lines to another machine.

pub mod journal;
pub mod read;

use serde::{Deserialize, Serialize};

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
}

impl Default for AuditConfig {
    /// Some hundred thousand calls.
    fn default() -> Self {
        Self { enabled: true, file_bytes: 16 << 20, files: 8 }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditEvent {
    /// A command was allowed, and is started now.
    Run,
    /// A command that was waited for has ended, or was handed back alive.
    End,
    /// A command was refused.
    Refused,
    /// A command could not be started.
    Failed,
    /// Something was done to a task: it was read, written to, killed.
    Task,
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
            run: None,
            command: None,
            command_cut: 0,
            directory: None,
            background: false,
            verdict: None,
            secrets: Vec::new(),
            protection: None,
            outcome: None,
            exit_code: None,
            output_bytes: None,
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
}

/// What of a command is written down: more than anybody reads, and a line stays a line.
const COMMAND_BYTES: usize = 256 << 10;

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
