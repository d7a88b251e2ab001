//! Where logs are: a folder for each command, by its id, in one folder for all.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{Access, AtFlags, CWD, FlockOperation, accessat};

use crate::clock::ms_since_1970;
use crate::folder::{RunFolder, make_own};
use crate::limits::UndoLimits;

/// The folder of all logs in a state directory.
pub(crate) const FOLDER: &str = "changes";

/// The folder for what is kept on a file system where no state directory is; behind it comes the number of the user.
const ELSEWHERE: &str = ".chiton-";

/// How long it takes at least from one look at what is too old to the next.
const PAUSE: Duration = Duration::from_mins(1);
/// Says when the last one was.
const MARKER: &str = ".tidied";

const LOG: &str = "log";
const KEPT: &str = "kept";
const AFTER: &str = "after";
const PROGRESS: &str = "progress";
const RENUMBERED: &str = "renumbered";
const UNDONE: &str = "undone";
const UNDOING: &str = "undoing";
const ABOUT: &str = "about.json";
const STATE: &str = "state.json";
/// Says how new the newest log was that is gone.
const SWEPT: &str = ".swept";

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

/// Makes the folder of a log, and that of what is kept, below `kept`: on another file system, if need be.
pub(super) fn make(folder: &Path, kept: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder)?;
    let place = kept_folder(folder);
    match folder.file_name() {
        Some(name) if folder.parent() != Some(kept) => {
            let elsewhere = kept.join(name);
            builder.create(&elsewhere)?;
            match symlink(elsewhere, place) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                _ => Ok(()),
            }
        }
        _ => builder.create(place),
    }
}

/// Removes what is kept.
pub(super) fn remove_kept(folder: &Path) -> io::Result<()> {
    let place = kept_folder(folder);
    if let Ok(elsewhere) = fs::read_link(&place) {
        let _ = fs::remove_dir_all(&elsewhere);
        // The folder of all, where that was the last one.
        elsewhere.parent().map(fs::remove_dir);
        return fs::remove_file(place);
    }
    match fs::remove_dir_all(place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What was there when the command had ended.
pub(super) fn after(folder: &Path) -> PathBuf {
    folder.join(AFTER)
}

/// How far an undoing has come.
pub(super) fn progress(folder: &Path) -> PathBuf {
    folder.join(PROGRESS)
}

/// What an undoing had to make anew.
pub(super) fn renumbered(folder: &Path) -> PathBuf {
    folder.join(RENUMBERED)
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

/// What it changed that is not a file.
pub(super) fn state(folder: &Path) -> PathBuf {
    folder.join(STATE)
}

/// Keeps others from undoing the same; `None` where somebody else does it. A process that another one of ours is just starting
/// has our files open for a moment, and the lock with them, so it is tried more than once.
pub(super) fn lock(folder: &Path) -> io::Result<Option<File>> {
    const MOMENT: Duration = Duration::from_millis(200);
    const STEP: Duration = Duration::from_millis(5);
    let handle = File::open(folder)?;
    let begun = Instant::now();
    loop {
        match rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Some(handle)),
            Err(rustix::io::Errno::WOULDBLOCK) if begun.elapsed() < MOMENT => std::thread::sleep(STEP),
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}

/// When the last change was made, as far as anybody knows: what a command has open it may write to until it ends, and then what
/// is there is written down.
pub(super) fn last_change_ms(folder: &Path) -> u64 {
    let changed = |path: PathBuf| fs::metadata(path).and_then(|data| data.modified()).unwrap_or(UNIX_EPOCH);
    ms_since_1970(changed(log(folder)).max(changed(after(folder))))
}

/// When the last change was written down.
pub(super) fn last_written_ms(folder: &Path) -> u64 {
    ms_since_1970(fs::metadata(log(folder)).and_then(|data| data.modified()).unwrap_or(UNIX_EPOCH))
}

/// Writes a file beside its place and renames it into it.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let written = fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, path));
    written.inspect_err(|_| drop(fs::remove_file(beside)))
}

/// Removes the logs that are too old, and the oldest where all of them are too large together; how many. Now and then: whoever
/// asks more often is not heard.
pub(crate) fn tidy(state_directory: &Path, limits: UndoLimits) -> usize {
    let store = state_directory.join(FOLDER);
    let marker = store.join(MARKER);
    let age = fs::metadata(&marker).and_then(|data| data.modified()).ok().and_then(|time| time.elapsed().ok());
    if !store.exists() || age.is_some_and(|age| age < PAUSE) {
        return 0;
    }
    let _ = fs::write(&marker, "");
    sweep(state_directory, limits)
}

/// The same at once.
pub(crate) fn sweep(state_directory: &Path, limits: UndoLimits) -> usize {
    let Ok(entries) = fs::read_dir(state_directory.join(FOLDER)) else { return 0 };
    let mut logs: Vec<(SystemTime, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| Some((fs::metadata(log(&entry.path())).ok()?.modified().ok()?, entry.path())))
        .collect();
    logs.sort();
    logs.reverse();
    let runs = state_directory.join("runs");
    let is_running = |folder: &Path| {
        let run = folder.file_name().and_then(|name| RunFolder::at(&runs.join(name)).ok());
        run.is_some_and(|run| run.is_held())
    };
    let (now, mut bytes, mut removed) = (SystemTime::now(), 0u64, 0);
    for (place, (changed, folder)) in logs.into_iter().enumerate() {
        let is_old = now.duration_since(changed).is_ok_and(|age| age > limits.age);
        bytes = bytes.saturating_add(bytes_in(&kept_folder(&folder)));
        // The newest stays, however large: it may be what somebody is about to undo.
        let is_too_much = place > 0 && bytes > limits.in_all;
        if (is_old || is_too_much) && !is_running(&folder) {
            removed += usize::from(remove(&folder, changed));
        }
    }
    removed
}

/// Removes a log with everything that is kept for it. Notes how new it was: whoever wants to go back further than that
/// cannot.
pub(super) fn remove(folder: &Path, changed: SystemTime) -> bool {
    let is_gone = remove_kept(folder).is_ok() && fs::remove_dir_all(folder).is_ok();
    if let Some(store) = folder.parent().filter(|store| is_gone && swept_ms(store) < ms_since_1970(changed)) {
        let _ = write_whole(&store.join(SWEPT), &ms_since_1970(changed).to_le_bytes());
    }
    is_gone
}

/// How new the newest log was that is gone, in milliseconds since 1970.
pub(crate) fn swept_ms(store: &Path) -> u64 {
    let bytes = fs::read(store.join(SWEPT)).ok().and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u64::from_le_bytes)
}

/// Bytes on the disk that only the store holds.
pub(super) fn bytes_in(kept: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;

    const BLOCK: u64 = 512;
    let Ok(entries) = fs::read_dir(kept) else { return 0 };
    let sizes = entries.flatten().filter_map(|entry| entry.metadata().ok());
    sizes.filter(|data| data.nlink() == 1).map(|data| data.blocks() * BLOCK).sum()
}
