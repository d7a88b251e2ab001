//! Removing logs because a person wants that.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::{ChangeLogs, store};
use crate::tasks::CleanEffect;

/// Which logs a person wants to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanLogs {
    /// Those that are older.
    pub age: Duration,
    /// Those beyond this number, the oldest first.
    pub newest: usize,
    /// Whether anything is removed.
    pub effect: CleanEffect,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweptLogs {
    /// How many were removed.
    pub removed: usize,
    /// How many bytes on the disk only they held.
    pub bytes: u64,
    /// How many are left.
    pub left: usize,
}

impl ChangeLogs {
    /// Removes one, whatever became of its command: it was only a trial.
    pub fn forget(&self, id: &str) {
        if let Ok(folder) = self.folder(id) {
            store::remove(&folder, SystemTime::UNIX_EPOCH);
        }
    }

    /// Removes what can be undone, as far as a person wants that. What runs stays.
    pub fn clean(&self, wanted: CleanLogs) -> SweptLogs {
        let changed = |folder: PathBuf| Some((fs::metadata(store::log(&folder)).ok()?.modified().ok()?, folder));
        let mut logs: Vec<(SystemTime, PathBuf)> =
            self.ids().filter_map(|id| changed(self.folder(&id).ok()?)).collect();
        logs.sort();
        logs.reverse();

        let (now, mut swept) = (SystemTime::now(), SweptLogs::default());
        for (place, (changed, folder)) in logs.into_iter().enumerate() {
            let is_old = now.duration_since(changed).is_ok_and(|age| age > wanted.age);
            let id = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if !is_old && place < wanted.newest || self.is_running(id) {
                swept.left += 1;
                continue;
            }
            let bytes = store::bytes_in(&store::kept_folder(&folder));
            if wanted.effect == CleanEffect::Counts || store::remove(&folder, changed) {
                swept.removed += 1;
                swept.bytes += bytes;
            } else {
                swept.left += 1;
            }
        }
        swept
    }
}
