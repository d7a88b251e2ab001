//! Removing finished runs: the oldest first, when there are too many, they are too old, or too large together.
//!
//! Every engine on the same state directory sweeps, at any time, without asking the others. The lock on a run's folder
//! keeps them from removing what runs; a folder that somebody else removes first is not an error.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::audit::Journal;
use crate::audit::lost::note_if_lost;
use crate::folder::{ENDING, RunFolder, is_id};
use crate::limits::RetentionLimits;

/// A run with this much output on disk, or more, is reason enough to add up all of them.
pub(crate) const LARGE_RUN: u64 = 1 << 20;
/// How often old runs are searched for.
const AGE_CHECK: Duration = Duration::from_mins(10);

/// What a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Runs that were removed.
    pub removed: usize,
    /// Bytes that are left, running ones included.
    pub used: u64,
}

/// Sweeps if there is reason to: a full folder, a large run, or a while since the last time.
pub(crate) fn tidy(
    runs: &Path,
    kept_bytes: u64,
    retention: RetentionLimits,
    in_all: u64,
    journal: Option<&Journal>,
) -> Option<Swept> {
    let is_run = |name: &OsStr| name.to_str().is_some_and(is_id);
    let count =
        fs::read_dir(runs).map_or(0, |entries| entries.flatten().filter(|entry| is_run(&entry.file_name())).count());
    let marker = runs.join(".tidied");
    let recent = fs::metadata(&marker)
        .and_then(|data| data.modified())
        .is_ok_and(|time| time.elapsed().is_ok_and(|age| age < AGE_CHECK));
    if count <= retention.finished && kept_bytes < LARGE_RUN && recent {
        return None;
    }
    let _ = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&marker);
    let mut goal = retention;
    if count > retention.finished {
        // A tenth more than necessary is removed, so that a full folder is not swept again after every run.
        goal.finished -= goal.finished / 10;
    }
    Some(sweep(runs, goal, in_all, journal))
}

/// Removes what is beyond the limits, oldest first. Running ones are never removed. Those that were lost are noted in the
/// journal before they can go.
pub(crate) fn sweep(runs: &Path, retention: RetentionLimits, in_all: u64, journal: Option<&Journal>) -> Swept {
    let Ok(entries) = fs::read_dir(runs) else { return Swept::default() };
    let mut found: Vec<Measured> = entries.flatten().filter_map(|entry| Measured::of(&entry.path())).collect();
    let mut used: u64 = found.iter().map(|run| run.bytes).sum();
    // Asked now to know how many finished ones there are, and once more by `remove`: a run may begin in between.
    found.retain(|run| !run.folder.is_held());
    if let Some(journal) = journal {
        found.iter().filter(|run| !run.has_ending).for_each(|run| note_if_lost(&run.folder, journal));
    }
    found.sort_by_key(|run| run.changed);
    let mut left = found.len();
    let mut removed = 0;
    for run in found {
        let old = run.changed.elapsed().is_ok_and(|age| age > retention.age);
        if !(old || left > retention.finished || used > in_all) {
            break;
        }
        if run.folder.remove() {
            used -= run.bytes;
            left -= 1;
            removed += 1;
        }
    }
    Swept { removed, used }
}

struct Measured {
    folder: RunFolder,
    bytes: u64,
    changed: SystemTime,
    has_ending: bool,
}

impl Measured {
    /// Bytes in a folder, and when something in it changed last. `None` for what is not the folder of a run.
    fn of(path: &Path) -> Option<Self> {
        let folder = RunFolder::at(path).ok()?;
        let (mut bytes, mut has_ending) = (0, false);
        let mut changed =
            fs::symlink_metadata(path).ok().filter(fs::Metadata::is_dir)?.modified().unwrap_or(UNIX_EPOCH);
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            has_ending |= entry.file_name() == ENDING;
            if let Ok(data) = entry.metadata() {
                bytes += data.len();
                changed = changed.max(data.modified().unwrap_or(UNIX_EPOCH));
            }
        }
        Some(Self { folder, bytes, changed, has_ending })
    }
}
