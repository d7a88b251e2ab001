//! Where logs are: a folder for each command, by its id, in one folder for all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{Access, AtFlags, CWD, accessat};

use crate::folder::make_own;

/// The folder of all logs in a state directory.
pub(crate) const FOLDER: &str = "changes";

/// The folder for what is kept on a file system where no state directory is; behind it comes the number of the user.
const ELSEWHERE: &str = ".chiton-";

const LOG: &str = "log";
const KEPT: &str = "kept";
const AFTER: &str = "after";
const PROGRESS: &str = "progress";
const UNDONE: &str = "undone";
const UNDOING: &str = "undoing";
const ABOUT: &str = "about.json";

/// A folder of ours from which `root` can be reached without a copy: in the state directory if that is on the same file
/// system, or else as far up from the workspace as we may write. `None` where there is no such place.
pub(crate) fn beside(root: &Path, state_directory: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt;

    let device = |path: &Path| fs::metadata(path).ok().map(|data| data.dev());
    let wanted = device(root)?;
    let above = state_directory.ancestors().find(|path| path.exists())?;
    if device(above) == Some(wanted) {
        return Some(state_directory.join(FOLDER));
    }
    let can_write = |path: &&Path| accessat(CWD, *path, Access::WRITE_OK, AtFlags::EACCESS).is_ok();
    let near = root.ancestors().skip(1).take_while(|path| device(path) == Some(wanted)).filter(can_write).last()?;
    let folder = near.join(format!("{ELSEWHERE}{}", rustix::process::geteuid().as_raw()));
    make_own(&folder).ok().map(|()| folder)
}

pub(super) fn log(folder: &Path) -> PathBuf {
    folder.join(LOG)
}

pub(super) fn kept_folder(folder: &Path) -> PathBuf {
    folder.join(KEPT)
}

pub(super) fn kept(folder: &Path, number: u64) -> PathBuf {
    kept_folder(folder).join(number.to_string())
}

/// What was there when the command had ended.
pub(super) fn after(folder: &Path) -> PathBuf {
    folder.join(AFTER)
}

/// How far an undoing has come.
pub(super) fn progress(folder: &Path) -> PathBuf {
    folder.join(PROGRESS)
}

/// By what it was undone.
pub(super) fn undone(folder: &Path) -> PathBuf {
    folder.join(UNDONE)
}

/// By what it is being undone.
pub(super) fn undoing(folder: &Path) -> PathBuf {
    folder.join(UNDOING)
}

/// What people want to know about it.
pub(super) fn about(folder: &Path) -> PathBuf {
    folder.join(ABOUT)
}

pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Writes a file beside its place and renames it into it.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    fs::write(&beside, bytes)?;
    fs::rename(beside, path)
}

/// What is kept of changes before it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptChanges {
    /// How long.
    pub age: Duration,
    /// Bytes of all that is kept.
    pub in_all: u64,
}

impl Default for KeptChanges {
    fn default() -> Self {
        Self { age: Duration::from_hours(24), in_all: 4 << 30 }
    }
}

/// Removes the logs that are too old, and the oldest where all of them are too large together; how many.
pub(crate) fn sweep(store: &Path, limits: KeptChanges) -> usize {
    let Ok(entries) = fs::read_dir(store) else { return 0 };
    let mut logs: Vec<(SystemTime, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| Some((fs::metadata(log(&entry.path())).ok()?.modified().ok()?, entry.path())))
        .collect();
    logs.sort();
    logs.reverse();
    let (now, mut bytes, mut removed) = (SystemTime::now(), 0u64, 0);
    for (place, (changed, folder)) in logs.into_iter().enumerate() {
        let is_old = now.duration_since(changed).is_ok_and(|age| age > limits.age);
        bytes = bytes.saturating_add(bytes_in(&kept_folder(&folder)));
        // The newest stays, however large: it may be what somebody is about to undo.
        if is_old || (place > 0 && bytes > limits.in_all) {
            removed += usize::from(fs::remove_dir_all(&folder).is_ok());
        }
    }
    removed
}

/// Bytes on the disk that only the store holds.
fn bytes_in(kept: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;

    const BLOCK: u64 = 512;
    let Ok(entries) = fs::read_dir(kept) else { return 0 };
    let sizes = entries.flatten().filter_map(|entry| entry.metadata().ok());
    sizes.filter(|data| data.nlink() == 1).map(|data| data.blocks() * BLOCK).sum()
}
