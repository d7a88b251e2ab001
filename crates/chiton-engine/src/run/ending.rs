//! How a run ended, what stops one, and what became of its output.

use serde::{Deserialize, Serialize};

use super::changed::ChangedFiles;
use super::outcome::{Leftover, Outcome, TimeLimit, Usage};
use crate::sandbox::report::{Exhausted, RefusedAccess};

/// Why a run is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StopCause {
    TimedOut(TimeLimit),
    Cancelled,
    Killed,
}

impl From<StopCause> for Outcome {
    fn from(cause: StopCause) -> Self {
        match cause {
            StopCause::TimedOut(_) => Self::TimedOut,
            StopCause::Cancelled => Self::Cancelled,
            StopCause::Killed => Self::Killed,
        }
    }
}

/// How a run ended; also what is written down about it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ending {
    /// How it ended.
    pub outcome: Outcome,
    /// The limit it was stopped at, where it was.
    #[serde(default)]
    pub limit: Option<TimeLimit>,
    /// What is still running, and goes on.
    pub leftovers: Vec<Leftover>,
    /// The id under which the leftovers are a task of their own.
    pub leftover_task: Option<String>,
    /// What could not be killed; empty unless the kernel itself holds a process.
    pub survivors: Vec<Leftover>,
    /// A program in it that waited for keys without a terminal, and got a hang-up.
    #[serde(default)]
    pub hung_up: Option<String>,
    /// What its sandbox refused.
    #[serde(default)]
    pub refused: Vec<RefusedAccess>,
    /// The programs in it that went to the network, where it was in a sandbox, in words.
    #[serde(default)]
    pub connected: Option<String>,
    /// The limit of its sandbox that it was stopped at, or ran into.
    #[serde(default)]
    pub exhausted: Option<Exhausted>,
    /// What it did to files, where somebody watched.
    #[serde(default)]
    pub changed: Option<ChangedFiles>,
    /// What the tree used; not known where the end was reported before the shell had ended.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// From start to end, by the monotonic clock, in microseconds.
    pub wall_us: u64,
    /// Output on stdout, or on the one pipe.
    pub stdout: StreamTotals,
    /// Output on stderr.
    pub stderr: StreamTotals,
    /// What its caller received of its output. Not known of runs that an older version recorded.
    #[serde(default)]
    pub received: Received,
}

/// What the caller that waited for a run received of its output, as far as its keeper can know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Received {
    /// Perhaps nothing: nobody waited for it, the caller went away, or there is more than a reply surely shows.
    #[default]
    Unknown,
    /// All of it: the caller waited until the end, and there is no more than its reply shows in any case.
    All,
}

/// What became of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamTotals {
    /// Bytes the command wrote.
    pub written: u64,
    /// Bytes of them that are in the spool.
    pub kept: u64,
}

/// Where bytes of a stream are in the spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InSpool {
    /// The offset by which their segment is named.
    pub(crate) segment: u64,
    /// The offset of the first of them in the stream.
    pub(crate) from: u64,
    pub(crate) count: u64,
    /// Ends of lines among them.
    pub(crate) lines: u64,
    /// Characters that begin there.
    pub(crate) characters: u64,
}

impl InSpool {
    /// Takes `next` in, if it follows without a gap in the same segment.
    pub(crate) fn grow(&mut self, next: Self) -> bool {
        let follows = self.segment == next.segment && self.from + self.count == next.from;
        if follows {
            self.count += next.count;
            self.lines += next.lines;
            self.characters += next.characters;
        }
        follows
    }
}
