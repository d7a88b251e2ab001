//! The folder of runs: one folder for each, named by its id. The file system is the registry; there is no daemon.
//!
//! A run's folder holds `request.json` (what was asked), its spool, and `ending.json` once it has ended. Its keeper
//! holds a lock on the folder as long as it lives, so that a run whose keeper is gone can be told from one that runs.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use crate::bytes::{ByteString, encode_hex};
use crate::error::StartError;
use crate::limits::RetentionLimits;
use crate::outcome::Lifetime;
use crate::request::CommandRequest;
use crate::session::state::ShellState;

/// A run with this much output on disk, or more, is reason enough to look at the sum.
const LARGE_RUN: u64 = 1 << 20;
/// Old runs are looked for this often.
const AGE_CHECK: Duration = Duration::from_secs(600);

/// All runs under one state directory.
#[derive(Debug)]
pub(crate) struct Runs {
    folder: PathBuf,
}

/// The folder of one run.
#[derive(Clone, Debug)]
pub(crate) struct RunFolder {
    id: String,
    path: PathBuf,
}

/// What was asked, as it is written down.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RequestRecord {
    version: u32,
    id: String,
    command: ByteString,
    directory: ByteString,
    timeout_ms: Option<u64>,
    lifetime: Lifetime,
    /// Milliseconds since 1970.
    started_at: u64,
}

impl Runs {
    /// The runs in `state_directory`, which is made if it is not there, and refused if somebody else could write there.
    pub(crate) fn open(state_directory: &Path) -> Result<Self, StartError> {
        let folder = state_directory.join("runs");
        for path in [state_directory, &folder] {
            own_folder(path).map_err(|error| StartError::StateDirectory { path: path.to_owned(), error })?;
        }
        Ok(Self { folder })
    }

    /// A folder for a new run, under an id that no run on this machine's state directory has.
    pub(crate) fn create(&self, request: &CommandRequest, state: &ShellState) -> Result<RunFolder, StartError> {
        let failed = |error| StartError::StateDirectory { path: self.folder.clone(), error };
        loop {
            let mut random = [0u8; 4];
            rustix::rand::getrandom(&mut random[..], rustix::rand::GetRandomFlags::empty())
                .map_err(|error| failed(error.into()))?;
            let id = format!("shell_{}", encode_hex(&random));
            let path = self.folder.join(&id);
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    let folder = RunFolder { id, path };
                    folder.record(request, state);
                    return Ok(folder);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Removes what is too old, too much or too large, if there is reason to look. Running ones are never removed.
    /// Gives the bytes that are still in use where it looked.
    pub(crate) fn tidy(&self, kept_bytes: u64, retention: RetentionLimits, in_all: u64) -> Option<u64> {
        let count = fs::read_dir(&self.folder).map_or(0, Iterator::count);
        let marker = self.folder.join(".tidied");
        let recent = fs::metadata(&marker)
            .and_then(|data| data.modified())
            .is_ok_and(|time| time.elapsed().is_ok_and(|age| age < AGE_CHECK));
        if count <= retention.finished && kept_bytes < LARGE_RUN && recent {
            return None;
        }
        let _ = File::create(&marker);
        Some(self.sweep(retention, in_all))
    }

    fn sweep(&self, retention: RetentionLimits, in_all: u64) -> u64 {
        let Ok(entries) = fs::read_dir(&self.folder) else { return 0 };
        let mut finished: Vec<Finished> = Vec::new();
        let mut used = 0;
        for entry in entries.flatten() {
            let is_run = entry.file_name().to_str().is_some_and(|name| name.starts_with("shell_"));
            if !is_run {
                continue;
            }
            let (bytes, changed) = measure(&entry.path());
            used += bytes;
            finished.push(Finished { path: entry.path(), bytes, changed });
        }
        finished.sort_by_key(|run| run.changed);
        let mut left = finished.len();
        let now = SystemTime::now();
        // A tenth more than necessary goes, so that a full folder is not looked through again for every run.
        let most = if left > retention.finished { retention.finished - retention.finished / 10 } else { left };
        for run in finished {
            let old = now.duration_since(run.changed).is_ok_and(|age| age > retention.age);
            if !(old || left > most || used > in_all) {
                break;
            }
            if remove_if_ended(&run.path) {
                used -= run.bytes;
                left -= 1;
            }
        }
        used
    }
}

struct Finished {
    path: PathBuf,
    bytes: u64,
    changed: SystemTime,
}

/// Bytes in a folder, and when something in it changed last.
fn measure(folder: &Path) -> (u64, SystemTime) {
    let mut bytes = 0;
    let mut changed = fs::metadata(folder).and_then(|data| data.modified()).unwrap_or(UNIX_EPOCH);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if let Ok(data) = entry.metadata() {
            bytes += data.len();
            changed = changed.max(data.modified().unwrap_or(UNIX_EPOCH));
        }
    }
    (bytes, changed)
}

fn remove_if_ended(folder: &Path) -> bool {
    let Ok(handle) = File::open(folder) else { return false };
    rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive).is_ok() && fs::remove_dir_all(folder).is_ok()
}

/// Says that the run in `folder` is alive, as long as the answer is held.
pub(crate) fn hold(folder: &Path) -> Option<File> {
    let handle = File::open(folder).ok()?;
    rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(handle)
}

/// Makes `path` a folder that only this user can enter, or says why it is not one.
fn own_folder(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match fs::DirBuilder::new().recursive(true).mode(0o700).create(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                made => made,
            };
        }
        Err(error) => return Err(error),
        Ok(data) => {
            let own = rustix::process::geteuid().as_raw();
            if !data.is_dir() {
                return Err(io::Error::other("it is not a directory (a symbolic link is not followed here)"));
            }
            if data.uid() != own {
                return Err(io::Error::other(format!("it belongs to user {}, this process is user {own}", data.uid())));
            }
            if data.mode() & 0o077 != 0 {
                fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
            }
        }
    }
    Ok(())
}

impl RunFolder {
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Best effort: on a full disk the command still runs, it only cannot be looked up later.
    fn record(&self, request: &CommandRequest, state: &ShellState) {
        use std::os::unix::ffi::OsStrExt;
        let record = RequestRecord {
            version: 1,
            id: self.id.clone(),
            command: request.command.clone(),
            directory: state.cwd.as_os_str().as_bytes().into(),
            timeout_ms: request.timeout.and_then(|timeout| u64::try_from(timeout.as_millis()).ok()),
            lifetime: request.lifetime,
            started_at: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
        };
        let Ok(text) = serde_json::to_vec(&record) else { return };
        let path = self.path.join("request.json");
        let file = fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(path);
        let _ = file.and_then(|mut file| io::Write::write_all(&mut file, &text));
    }
}

/// Removes the folder of a run that never started.
pub(crate) fn discard(folder: &RunFolder) {
    let _ = fs::remove_dir_all(&folder.path);
}
