//! The numbers a user meets, with the reason for each; those in structs are configurable. Numbers that only one file
//! is about stand there.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// How long stopping and settling may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopLimits {
    /// From SIGTERM to SIGKILL. Long enough to write a file and close a port, short enough to wait for.
    pub grace: Duration,
    /// How long a killed tree may take to vanish before the answer names the survivors instead of waiting on.
    /// Only a process stuck in the kernel needs longer than a few milliseconds.
    pub verify: Duration,
    /// After the leader ended: how long a helper that is just finishing (`> >(tee log)`) may still bring its output.
    /// Well below the quarter of a second after which a person feels the wait of `server &`.
    pub settle: Duration,
}

impl Default for StopLimits {
    fn default() -> Self {
        Self { grace: Duration::from_secs(5), verify: Duration::from_secs(5), settle: Duration::from_millis(100) }
    }
}

/// What the output of runs may take on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpoolLimits {
    /// Bytes on disk for one run. Larger than any build log a person would read, small enough for a laptop.
    pub per_run: u64,
    /// Bytes on disk for all kept runs together.
    pub in_all: u64,
    /// Space that is left free on the file system, in bytes; see `free_percent`.
    pub free_bytes: u64,
    /// Space that is left free, as a part of the file system. The smaller of the two floors holds, so that a small
    /// file system can be used at all and a large one does not lose 50 GB to a percentage.
    pub free_percent: u8,
}

impl Default for SpoolLimits {
    fn default() -> Self {
        Self { per_run: 256 << 20, in_all: 4 << 30, free_bytes: 1 << 30, free_percent: 5 }
    }
}

/// How long finished runs are kept. Those whose whole output was in their reply go first, then those that were read,
/// those with something unread last ([`crate::tasks::KeptFor`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionLimits {
    /// A day: an agent comes back to yesterday's build log, hardly to last week's. Holds for all of them.
    pub age: Duration,
    /// Finished runs that are kept at most, of those that hold nothing unread.
    pub finished: usize,
}

/// How long what commands have changed can be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndoLimits {
    /// What is older goes.
    pub age: Duration,
    /// Bytes on the disk that nobody else needs any more. Where there are more, the oldest go; the newest stays.
    pub in_all: u64,
}

impl Default for UndoLimits {
    /// A day, like everything else about a run, and less than a large disk would notice.
    fn default() -> Self {
        Self { age: Duration::from_hours(24), in_all: 4 << 30 }
    }
}

impl Default for RetentionLimits {
    fn default() -> Self {
        Self { age: Duration::from_hours(24), finished: 1000 }
    }
}

/// What one response carries in memory: the first and the last bytes of each stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewLimits {
    /// Bytes kept from the beginning of a stream.
    pub head: usize,
    /// Bytes kept from the end of a stream.
    pub tail: usize,
}

impl ViewLimits {
    /// Half of `bytes` for the beginning, half for the end.
    pub fn split(bytes: usize) -> Self {
        Self { head: bytes.div_ceil(2), tail: bytes / 2 }
    }

    /// How many bytes of output are in a response whole, whichever stream they are on.
    pub(crate) fn whole(self) -> u64 {
        (self.head + self.tail) as u64
    }
}

impl Default for ViewLimits {
    /// 1 MiB a stream: whole for all everyday output, and small beside the engine itself.
    fn default() -> Self {
        Self::split(1 << 20)
    }
}

/// How many shells may wait for commands that have not come yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmLimits {
    /// In one session. As many as it runs at the same time, and two at least; never more than this.
    pub per_session: usize,
    /// In all sessions of an engine: each takes two small processes.
    pub in_all: usize,
    /// How long one waits. An agent that thinks for longer does not mind the millisecond that a new shell takes.
    pub idle: Duration,
}

impl WarmLimits {
    /// None: every command gets its shell when it comes. For programs that run one command and end.
    pub fn none() -> Self {
        Self { per_session: 0, in_all: 0, idle: Duration::ZERO }
    }
}

impl Default for WarmLimits {
    fn default() -> Self {
        Self { per_session: 16, in_all: 32, idle: Duration::from_mins(1) }
    }
}

/// All limits of an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Stopping and settling.
    pub stop: StopLimits,
    /// Output on disk.
    pub spool: SpoolLimits,
    /// Finished runs.
    pub retention: RetentionLimits,
    /// How long what commands have changed can be undone.
    pub undo: UndoLimits,
    /// Output in a response.
    pub view: ViewLimits,
    /// Shells that wait.
    pub warm: WarmLimits,
    /// How long a command may take that its caller waits for without a limit; without this, as long as it wants.
    pub default_timeout: Option<Duration>,
    /// Tasks that one session may have running; without it, any number.
    pub tasks_per_session: Option<usize>,
}

/// The longest command that is accepted. Bash itself copies a script several times while it parses it.
pub const COMMAND_BYTES: usize = 64 << 20;

/// The largest frame on a keeper's socket. Requests to a keeper are small; a state that comes back may be large.
pub const FRAME_BYTES: usize = 64 << 20;

/// The longest wait there is. More than anybody waits, less than a clock can add up.
pub const LONGEST: Duration = Duration::from_hours(24 * 365 * 10);

/// `wait` after `now`, or after the longest wait there is.
pub(crate) fn later(now: Instant, wait: Duration) -> Instant {
    now + wait.min(LONGEST)
}

/// The largest state that is carried from one command to the next: thousands of times what people have, and well
/// below what a frame takes.
pub const STATE_BYTES: u64 = 32 << 20;

/// What a keeper reads from a pipe at once: the default size of a pipe, so one read empties it.
pub const READ_BYTES: usize = 64 << 10;

/// What a keeper queues for a client that reads slowly before it stops reading from the command.
pub const QUEUE_BYTES: usize = 256 << 10;

/// Output goes to the caller in messages up to this size; the caller reads what comes after it from the spool.
pub const INLINE_BYTES: u64 = 128 << 10;

/// How far a reader of the spool may be behind before the keeper stops reading from the command.
pub const BEHIND_BYTES: u64 = 2 << 20;

/// Above this size a text is not put into an argument list: the kernel takes 128 KiB a string, environment aside.
pub const ARGUMENT_BYTES: usize = 96 << 10;
