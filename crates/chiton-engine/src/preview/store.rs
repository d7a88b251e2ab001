//! Where previews are: a record of each in the state directory, and what was written in it on the file system of the
//! workspace.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FlockOperation;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::bytes::{ByteString, path_as_bytes};
use crate::folder::{Durability, RunFolder, make_own};
use crate::run::{ChangeKind, DirectoryId};
use crate::state::ShellState;

/// The folder of all previews: of their records in a state directory, and of what was written elsewhere.
pub(super) const FOLDER: &str = "previews";

/// What ids begin with.
const PREFIX: &str = "preview_";

/// How long a preview is kept that nobody has decided on, as runs are.
const KEPT: Duration = Duration::from_hours(24);

const RECORD: &str = "record.json";
const STATE: &str = "state.json";
const LISTED: &str = "listed";
const PLAN: &str = "plan";
const PROGRESS: &str = "progress";
const COMMITTED: &str = "committed";

/// What is known of a preview from its beginning.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) id: String,
    pub(super) command: ByteString,
    #[serde(with = "path_as_bytes")]
    pub(super) directory: PathBuf,
    pub(super) began_ms: u64,
    pub(super) roots: Vec<Root>,
    /// The run of its command, once there is one.
    pub(super) run: Option<String>,
}

/// A folder that was previewed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Root {
    #[serde(with = "path_as_bytes")]
    pub(super) path: PathBuf,
    pub(super) id: DirectoryId,
    /// The folder of what was written, and what the kernel needed besides.
    #[serde(with = "path_as_bytes")]
    pub(super) folder: PathBuf,
    /// What is newer than this has been changed by somebody else: seconds and nanoseconds of its own file system.
    pub(super) mark: Time,
}

impl Root {
    pub(super) fn upper(&self) -> PathBuf {
        self.folder.join("upper")
    }

    pub(super) fn work(&self) -> PathBuf {
        self.folder.join("work")
    }
}

/// Seconds and nanoseconds.
pub(super) type Time = (i64, i64);

/// When something was last changed in any way.
pub(super) fn changed_at(data: &fs::Metadata) -> Time {
    (data.ctime(), data.ctime_nsec())
}

/// What the command changed in its shell, of a session that has a name.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PreviewedState {
    /// The session.
    pub session: String,
    /// What that was when the command began, see [`crate::session::store::SessionStore::mark`].
    pub mark: Option<String>,
    /// What is not there any more, without values.
    pub from: ShellState,
    /// What is there instead.
    pub to: ShellState,
}

/// What was found at the end of the command: what became of each path.
pub(super) type Listed = Vec<(ByteString, ChangeKind)>;

/// The folder of one preview's records.
#[derive(Clone, Debug)]
pub(super) struct PreviewFolder(PathBuf);

impl PreviewFolder {
    /// A new one, with its id.
    pub(super) fn create(state_directory: &Path) -> io::Result<(String, Self)> {
        let all = state_directory.join(FOLDER);
        make_own(&all)?;
        loop {
            let mut random = [0; 4];
            rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
            let id = format!("{PREFIX}{:08x}", u32::from_ne_bytes(random));
            match fs::DirBuilder::new().mode(0o700).create(all.join(&id)) {
                Ok(()) => return Ok((id.clone(), Self(all.join(id)))),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// That of an id, if there is one.
    pub(super) fn find(state_directory: &Path, id: &str) -> Option<Self> {
        let digits = id.strip_prefix(PREFIX)?;
        let is_id = digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let folder = Self(state_directory.join(FOLDER).join(id));
        (is_id && folder.path(RECORD).exists()).then_some(folder)
    }

    /// The ids of all.
    pub(super) fn ids(state_directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(state_directory.join(FOLDER)).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|id| id.starts_with(PREFIX)).collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(super) fn progress(&self) -> PathBuf {
        self.path(PROGRESS)
    }

    pub(super) fn record(&self) -> io::Result<Record> {
        Ok(serde_json::from_slice(&fs::read(self.path(RECORD))?)?)
    }

    pub(super) fn write_record(&self, record: &Record) -> io::Result<()> {
        self.write(RECORD, &serde_json::to_vec_pretty(record)?, Durability::Cached)
    }

    pub(super) fn state(&self) -> Option<PreviewedState> {
        serde_json::from_slice(&fs::read(self.path(STATE)).ok()?).ok()
    }

    pub(super) fn write_state(&self, state: &PreviewedState) -> io::Result<()> {
        self.write(STATE, &serde_json::to_vec_pretty(state)?, Durability::Cached)
    }

    pub(super) fn listed(&self) -> Option<Listed> {
        self.read(LISTED)
    }

    pub(super) fn write_listed(&self, listed: &Listed) -> io::Result<()> {
        self.write(LISTED, &encoded(listed)?, Durability::Cached)
    }

    pub(super) fn plan<Plan: DeserializeOwned>(&self) -> Option<Plan> {
        self.read(PLAN)
    }

    pub(super) fn write_plan(&self, plan: &impl Serialize) -> io::Result<()> {
        self.write(PLAN, &encoded(plan)?, Durability::Synced)
    }

    pub(super) fn is_planned(&self) -> bool {
        self.path(PLAN).exists()
    }

    /// The id by which a commit can be undone, where there was one.
    pub(super) fn committed(&self) -> Option<String> {
        fs::read_to_string(self.path(COMMITTED)).ok()
    }

    pub(super) fn write_committed(&self, undo: &str) -> io::Result<()> {
        self.write(COMMITTED, undo.as_bytes(), Durability::Synced)
    }

    /// Keeps others from deciding on the same preview meanwhile. A process that is just being started holds for a moment
    /// what its parent holds, so somebody who has let go may seem not to have.
    pub(super) fn lock(&self) -> io::Result<File> {
        const TRIES: usize = 100;
        const PAUSE: Duration = Duration::from_millis(5);
        let folder = File::open(&self.0)?;
        for _ in 0..TRIES {
            if rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok() {
                return Ok(folder);
            }
            std::thread::sleep(PAUSE);
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn read<Entry: DeserializeOwned>(&self, name: &str) -> Option<Entry> {
        postcard::from_bytes(&fs::read(self.path(name)).ok()?).ok()
    }

    /// Old or new, never half.
    fn write(&self, name: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        let beside = self.path(&format!("{name}.new"));
        let mut file = File::create(&beside)?;
        file.write_all(bytes)?;
        if durability == Durability::Cached {
            return fs::rename(beside, self.path(name));
        }
        file.sync_data()?;
        fs::rename(beside, self.path(name))?;
        File::open(&self.0)?.sync_all()
    }

    /// Removes it with everything that was written.
    pub(super) fn remove(&self) -> io::Result<()> {
        if let Ok(record) = self.record() {
            remove_written(&record)?;
        }
        remove_whole(&self.0)
    }
}

fn encoded(value: &impl Serialize) -> io::Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(|error| io::Error::other(error.to_string()))
}

/// Removes what was written in a preview, and keeps its record.
pub(super) fn remove_written(record: &Record) -> io::Result<()> {
    for root in &record.roots {
        remove_whole(&root.folder)?;
        // The folder of the preview on that file system goes with the last root in it.
        for above in root.folder.ancestors().skip(1).take(2) {
            if fs::remove_dir(above).is_err() {
                break;
            }
        }
    }
    Ok(())
}

/// Removes something with everything in it, also folders that nobody may enter: the kernel leaves one, and a command may
/// have made others.
pub(super) fn remove_whole(path: &Path) -> io::Result<()> {
    let data = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if !data.is_dir() {
        return fs::remove_file(path);
    }
    if data.mode() & 0o700 != 0o700 {
        fs::set_permissions(path, Permissions::from_mode(0o700))?;
    }
    for entry in fs::read_dir(path)? {
        remove_whole(&entry?.path())?;
    }
    fs::remove_dir(path)
}

/// Whether the command of a preview still runs. Once that was summed up, nothing of it was left.
pub(super) fn is_running(state_directory: &Path, folder: &PreviewFolder, record: &Record) -> bool {
    let Some(run) = record.run.as_ref().filter(|_| !folder.path(LISTED).exists()) else { return false };
    RunFolder::at(&state_directory.join("runs").join(run)).is_ok_and(|run| run.is_held())
}

/// Removes previews that are old. Not those that are half committed: they are to be finished or undone.
pub(crate) fn sweep(state_directory: &Path) -> usize {
    let mut removed = 0;
    for id in PreviewFolder::ids(state_directory) {
        let folder = PreviewFolder(state_directory.join(FOLDER).join(id));
        let age = fs::metadata(&folder.0).and_then(|data| data.modified()).map(|time| time.elapsed());
        let is_old = age.is_ok_and(|age| age.is_ok_and(|age| age > KEPT));
        let is_half = folder.is_planned() && folder.committed().is_none();
        let runs = folder.record().is_ok_and(|record| is_running(state_directory, &folder, &record));
        if is_old && !is_half && !runs && folder.lock().is_ok() {
            removed += usize::from(folder.remove().is_ok());
        }
    }
    removed
}
