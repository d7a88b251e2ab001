//! Changes that were let go on, and may not have happened yet.
//!
//! Nobody says when a call that goes on has been carried out, nor whether it failed. By the next call of the same thread it
//! has. What another thread does meanwhile is looked at only once it has happened, or will not: a folder that is being moved
//! by one thread is not there yet for another one that writes to it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::record::{FileFacts, FileId};

/// How long anybody waits for a change of another thread at most. It is found out sooner, as a rule, that one has failed: its
/// thread makes another call, or has had time to.
const PATIENCE: Duration = Duration::from_secs(1);
/// Any call is over by then, if its thread runs at all.
const RECENT: Duration = Duration::from_millis(100);
const MOMENT: Duration = Duration::from_micros(20);

/// What will be so once a change has happened.
#[derive(Debug)]
pub(super) enum Expected {
    /// Something is here.
    There(PathBuf),
    /// This is not here any more.
    Gone(PathBuf, FileId),
    /// This is at `to`.
    Moved { from: PathBuf, to: PathBuf, id: FileId },
    /// This is at `one`.
    Exchanged { one: PathBuf, other: PathBuf, second: FileId },
    /// Whatever it comes to, nobody can tell; but these paths must mean until then what they mean now. With none, all must.
    Used(Vec<PathBuf>),
}

impl Expected {
    pub(super) fn is_so(&self) -> bool {
        let id_at = |path: &PathBuf| FileFacts::at(path).map(|facts| facts.id);
        match self {
            Self::There(path) => FileFacts::at(path).is_some(),
            Self::Gone(path, id) => id_at(path) != Some(*id),
            Self::Moved { to, id, .. } => id_at(to) == Some(*id),
            Self::Exchanged { one, second, .. } => id_at(one) == Some(*second),
            Self::Used(_) => false,
        }
    }

    /// Whether another path means something else once this has happened.
    pub(super) fn is_about_names(&self) -> bool {
        !matches!(self, Self::Used(_))
    }

    /// Whether it would be about something else if this path meant something else.
    pub(super) fn depends_on(&self, changed: &Path) -> bool {
        matches!(self, Self::Used(paths) if paths.is_empty() || paths.iter().any(|path| path.starts_with(changed)))
    }
}

/// A change that a thread was let go on with.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) thread: i32,
    pub(super) expected: Expected,
    begun: Instant,
}

impl Flight {
    pub(super) fn new(thread: i32, expected: Expected) -> Self {
        Self { thread, expected, begun: Instant::now() }
    }

    /// Whether it is so long ago that it has happened, if it ever does.
    pub(super) fn is_old(&self) -> bool {
        self.begun.elapsed() > RECENT
    }

    /// Waits until it has happened or will not, and gives which. `has_left` says whether a thread does something else by now.
    pub(super) fn wait(&self, mut has_left: impl FnMut(i32) -> bool) -> bool {
        let at_first = time_on_processor(self.thread);
        loop {
            if self.expected.is_so() {
                return true;
            }
            let has_had_time = || {
                // More than any call takes: a processor that is not real may have stood still meanwhile.
                const ENOUGH: Duration = Duration::from_millis(20);
                time_on_processor(self.thread).is_none_or(|now| at_first.is_none_or(|first| now > first + ENOUGH))
            };
            if has_left(self.thread) || has_had_time() || self.begun.elapsed() > PATIENCE {
                // It may have happened between the two looks.
                return self.expected.is_so();
            }
            std::thread::sleep(MOMENT);
        }
    }
}

/// How long a thread has run so far. `None` where it is gone, or the kernel does not say.
fn time_on_processor(thread: i32) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{thread}/schedstat")).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}
