//! One run as a person sees it.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use chiton_engine::{Outcome, Task, TaskStatus};
use serde::Serialize;

use crate::shown::{cut, harmless};

/// Characters of a command that are held. The whole of it is in its record.
const COMMAND: usize = 2_000;
/// The same for what is shorter as a rule.
const WORDS: usize = 300;

/// One run as it is at the moment. All its text is safe to show: nothing in it is hidden or moves what is seen.
#[derive(Clone, Debug, Serialize)]
pub struct SeenRun {
    /// Its id.
    pub id: String,
    /// The command, or the beginning of a long one.
    pub command: String,
    /// What it is for, in the words of whoever asked.
    pub description: Option<String>,
    /// Where it runs.
    pub directory: PathBuf,
    /// The session it belongs to, where that has a name.
    pub session: Option<String>,
    /// The client that started it; `None` where a person did.
    pub owner: Option<String>,
    /// Its state.
    pub status: TaskStatus,
    /// Its exit code, where it has exited.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<String>,
    /// When it started, in milliseconds since 1970.
    pub started_ms: u64,
    /// How long it took, in milliseconds; `None` while it runs.
    pub took_ms: Option<u64>,
    /// What it asks, where it waits for somebody to type.
    pub wait: Option<SeenWait>,
    /// The last line that it printed, without escape codes.
    pub last_line: String,
    /// Bytes that it has printed.
    pub printed: u64,
    /// Bytes a second that it prints at the moment.
    pub rate: u64,
    /// The share of one processor that its processes take, in per cent; above 100 where they use several.
    pub cpu: Option<u32>,
    /// Bytes of memory that they take. What they share is counted for each of them.
    pub memory: Option<u64>,
    /// How many processes it has.
    pub processes: usize,
    /// Where it takes connections.
    pub listening: Vec<String>,
    /// Why that is not the whole truth.
    pub ports_unknown: Option<String>,
    /// Whether it has a terminal.
    pub terminal: bool,
    /// Whether no call waits for it.
    pub background: bool,
    /// The run that left it behind.
    pub leftover_of: Option<String>,
    /// What it did to files, where somebody watched and it did anything.
    pub changed: Option<FileChanges>,
    /// The number of its last change.
    pub revision: u64,
}

/// A command that waits for somebody to type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeenWait {
    /// What it asks.
    pub prompt: String,
    /// Whether what is typed is shown. Where it is not, the command asks for a password.
    pub echo: bool,
}

/// What a run did to files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileChanges {
    /// Files that are new.
    pub made: u64,
    /// Files that are not what they were.
    pub changed: u64,
    /// Files that are gone.
    pub removed: u64,
    /// The id by which it can be undone, where it can.
    pub undo: Option<String>,
}

impl PartialEq for SeenRun {
    /// Whether there is nothing new to see.
    fn eq(&self, other: &Self) -> bool {
        // Everything that can change while a run lives.
        (self.status, self.exit_code, &self.signal, self.took_ms)
            == (other.status, other.exit_code, &other.signal, other.took_ms)
            && (&self.wait, &self.last_line, self.printed, self.rate)
                == (&other.wait, &other.last_line, other.printed, other.rate)
            && (self.cpu, self.memory, self.processes) == (other.cpu, other.memory, other.processes)
            && (&self.listening, &self.ports_unknown, &self.changed)
                == (&other.listening, &other.ports_unknown, &other.changed)
    }
}

impl SeenRun {
    pub(super) fn of(task: &Task) -> Self {
        let outcome = task.outcome.as_ref();
        let words = |text: &Option<String>| text.as_ref().map(|text| cut(&harmless(text), WORDS));
        Self {
            id: task.id.clone(),
            command: cut(&harmless(task.command.trim()), COMMAND),
            description: words(&task.description),
            directory: harmless(&task.directory.to_string_lossy()).into(),
            session: words(&task.session),
            owner: task.owner_name().map(|name| cut(&harmless(name), WORDS)),
            status: task.status,
            exit_code: outcome.and_then(Outcome::exit_code),
            signal: outcome.and_then(Outcome::signal).map(|signal| signal.to_string()),
            started_ms: task.started_at.duration_since(UNIX_EPOCH).map_or(0, milliseconds),
            took_ms: (!task.status.is_running()).then(|| milliseconds(task.duration)),
            wait: None,
            last_line: String::new(),
            printed: 0,
            rate: 0,
            cpu: None,
            memory: None,
            processes: 0,
            listening: Vec::new(),
            ports_unknown: None,
            terminal: task.terminal.is_some(),
            background: task.background,
            leftover_of: task.leftover_of.clone(),
            changed: changes(task),
            revision: 0,
        }
    }

    /// Takes over what the record of a run does not say.
    pub(super) fn continue_from(&mut self, before: &Self, has_ended: bool) {
        self.last_line.clone_from(&before.last_line);
        self.revision = before.revision;
        if has_ended {
            return;
        }
        self.wait.clone_from(&before.wait);
        (self.rate, self.cpu, self.memory, self.processes) = (before.rate, before.cpu, before.memory, before.processes);
        self.listening.clone_from(&before.listening);
        self.ports_unknown.clone_from(&before.ports_unknown);
    }

    /// Whether it has not ended.
    pub fn is_running(&self) -> bool {
        self.status.is_running()
    }

    /// How long it took, or has taken by `now_ms`, in milliseconds.
    pub fn duration_ms(&self, now_ms: u64) -> u64 {
        self.took_ms.unwrap_or_else(|| now_ms.saturating_sub(self.started_ms))
    }

    /// What it is sorted by: what needs a person, what runs, what has ended; the newest of each first.
    pub(super) fn rank(&self) -> (u8, Reverse<u64>) {
        match (&self.wait, self.took_ms) {
            (Some(_), _) => (0, Reverse(self.started_ms)),
            (None, None) => (1, Reverse(self.started_ms)),
            (None, Some(took)) => (2, Reverse(self.started_ms + took)),
        }
    }
}

fn changes(task: &Task) -> Option<FileChanges> {
    let changed = task.changed.as_ref()?;
    let seen = FileChanges {
        made: changed.made,
        changed: changed.changed,
        removed: changed.removed,
        undo: changed.undo.clone(),
    };
    (seen.made + seen.changed + seen.removed > 0).then_some(seen)
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
