//! The folder of one run: its records, its lock, its socket.
//!
//! 1. Whoever makes the folder locks it at once; the lock goes to the keeper, and ends with it.
//! 2. Each record is written beside its place and renamed into it, so a reader finds the old one or the new one.
//! 3. The socket is where anybody who may enter the folder reaches the keeper.
//!
//! What the records mean together is left to `tasks`.

mod mark;
mod name;
pub(crate) mod record;

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::protocol::SOCKET;
use crate::run::id::is_id;
use crate::run::{Ending, RunId, Stream, Watch};
use chiton_terminal::Snapshot;
pub use mark::RunMark;
use name::{Exchanged, exchange, rename_if_free};
use record::{RequestRecord, StartRecord};

pub(crate) const REQUEST: &str = "request.json";
const START: &str = "start.json";
pub(crate) const ENDING: &str = "ending.json";
const SCREEN: &str = "screen.json";
/// What its client was told of it, while there may be something to tell.
const TOLD: &str = "told.json";
const WATCHES: &str = "watches.json";
/// The run that was made in its place.
const SUCCESSOR: &str = "successor";
/// Says that the journal has it that this run was lost.
const LOST: &str = "lost";
/// The file beside the runs that says why a person could not be told of one.
pub const NOTIFY_FAILED: &str = "notify.failed";
/// More than an ending needs unless it names many leftovers.
const ENDING_BYTES: usize = 4096;

/// The folder of one run; its name is the run's id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunFolder {
    id: String,
    path: PathBuf,
}

/// Whether a record has to survive a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// The kernel writes it to disk when it likes. Costs nothing, and survives the end of every process.
    Cached,
    /// It is on disk before anybody is told of it. Costs a wait for the disk.
    Synced,
}

/// Why a record cannot be used.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// Not there, or not yet.
    Missing,
    /// There, but not what it should be.
    Damaged(String),
}

impl RunFolder {
    /// A new folder in `parent` under an id nobody has, with the lock that says that it is in use.
    pub(crate) fn create(parent: &Path) -> io::Result<(Self, File)> {
        loop {
            match Self::plan(parent)?.make() {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made,
            }
        }
    }

    /// A new folder in `parent` under this id, with its lock. Where there is one already, that is the error.
    pub(crate) fn create_as(parent: &Path, id: &RunId) -> io::Result<(Self, File)> {
        Self::named(parent, id).make()
    }

    fn make(self) -> io::Result<(Self, File)> {
        fs::DirBuilder::new().mode(0o700).create(&self.path)?;
        // For a moment the folder is there without its lock. A sweep that comes just then may remove it: it is empty, and
        // the lock is then one on a folder that is gone, which the first record notices.
        let lock = File::open(&self.path)?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
        Ok((self, lock))
    }

    /// A new folder in the place of this one, in which nothing was run. The id is taken all the while, so nobody else can
    /// run under it meanwhile; and whoever still holds the old folder cannot touch the new one.
    pub(crate) fn renew(&self) -> io::Result<(Self, File)> {
        let parent = self.path.parent().unwrap_or(Path::new("/"));
        let (beside, lock) = Self::create(parent)?;
        let renewed = exchange(&beside.path, &self.path).inspect_err(|_| beside.discard())?;
        if renewed == Exchanged::Both {
            beside.discard();
        }
        Ok((self.clone(), lock))
    }

    /// Gives a folder that was planned another id. Where that is taken, that is the error, and nothing has changed. A lock
    /// stays what it is.
    pub(crate) fn rename(&self, id: &RunId) -> io::Result<Self> {
        let renamed = Self::named(self.path.parent().unwrap_or(Path::new("/")), id);
        rename_if_free(&self.path, &renamed.path)?;
        Ok(renamed)
    }

    /// An id that nobody is likely to have, for a folder that a keeper will make.
    pub(crate) fn plan(parent: &Path) -> io::Result<Self> {
        RunId::random().map(|id| Self::named(parent, &id))
    }

    fn named(parent: &Path, id: &RunId) -> Self {
        Self { id: id.to_string(), path: parent.join(id.as_str()) }
    }

    /// Makes a folder that was planned, with its lock, and with the file in it for what a command prints. Making a file
    /// takes longer than writing it, and here a shell waits for its command, so there is time. Its records are written when
    /// it is answered.
    pub(crate) fn make_ready(path: &Path) -> io::Result<(Self, File)> {
        let folder = Self::at(path)?;
        fs::DirBuilder::new().mode(0o700).create(path)?;
        let lock = File::open(path)?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
        fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(path.join(first_segment()))?;
        Ok((folder, lock))
    }

    /// An existing folder.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        let id = path.file_name().and_then(|name| name.to_str()).filter(|name| is_id(name));
        let id = id.ok_or_else(|| io::Error::other(format!("{} is not the folder of a run", path.display())))?;
        Ok(Self { id: id.to_owned(), path: path.to_owned() })
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a keeper, or an engine that is about to start one, holds it.
    pub(crate) fn is_held(&self) -> bool {
        let Ok(handle) = File::open(&self.path) else { return false };
        rustix::fs::flock(&handle, FlockOperation::NonBlockingLockShared).is_err()
    }

    /// Removes it unless it is in use. The exclusive lock is held while it is removed, so nobody takes it for running.
    pub(crate) fn remove(&self) -> bool {
        let Ok(handle) = File::open(&self.path) else { return false };
        rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive).is_ok()
            && fs::remove_dir_all(&self.path).is_ok()
    }

    /// Removes it, locked or not, since nothing was started in it.
    pub(crate) fn discard(&self) {
        let _ = fs::remove_dir_all(&self.path);
    }

    pub(crate) fn write_request(&self, record: &RequestRecord) -> io::Result<()> {
        self.write(REQUEST, record, Durability::Cached)
    }

    /// Writes the request as a text that the engine has prepared.
    pub(crate) fn write_request_text(&self, text: &[u8]) -> io::Result<()> {
        self.write_text(REQUEST, text, Durability::Cached)
    }

    /// The request as it was written down.
    pub(crate) fn request_text(&self) -> io::Result<Vec<u8>> {
        fs::read(self.path.join(REQUEST))
    }

    pub(crate) fn write_start(&self, record: StartRecord) -> io::Result<()> {
        self.write(START, &record, Durability::Cached)
    }

    pub(crate) fn write_ending(&self, ending: &Ending, durability: Durability) -> io::Result<()> {
        self.write(ENDING, ending, durability)
    }

    /// Whether nothing is written down of it: neither what was asked, nor that it started or ended.
    pub(crate) fn is_blank(&self) -> bool {
        [REQUEST, START, ENDING].iter().all(|name| fs::symlink_metadata(self.path.join(name)).is_err())
    }

    /// What its terminal showed last.
    pub(crate) fn write_screen(&self, screen: &Snapshot) -> io::Result<()> {
        self.write(SCREEN, screen, Durability::Cached)
    }

    pub(crate) fn screen(&self) -> Result<Snapshot, Unreadable> {
        self.read(SCREEN)
    }

    /// What its client was told of it.
    pub(crate) fn write_told(&self, told: &impl Serialize) -> io::Result<()> {
        self.write(TOLD, told, Durability::Cached)
    }

    pub(crate) fn told<T: DeserializeOwned>(&self) -> Result<T, Unreadable> {
        self.read(TOLD)
    }

    /// Whether there was such a record, which is gone now.
    pub(crate) fn remove_told(&self) -> bool {
        fs::remove_file(self.path.join(TOLD)).is_ok()
    }

    /// Whether it says how the run ended.
    pub(crate) fn has_ending(&self) -> bool {
        fs::symlink_metadata(self.path.join(ENDING)).is_ok()
    }

    /// What the standing watches on it have matched.
    pub(crate) fn write_watches(&self, watches: &[&Watch]) -> io::Result<()> {
        self.write(WATCHES, &watches, Durability::Cached)
    }

    /// The standing watches on it, also after its end; none where there never was one.
    pub(crate) fn watches(&self) -> Vec<Watch> {
        self.read(WATCHES).unwrap_or_default()
    }

    /// Whether it falls to the caller to write down that this run was lost: to one of all that notice it.
    pub(crate) fn claim_lost(&self) -> bool {
        fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(self.path.join(LOST)).is_ok()
    }

    /// Notes which run is made in place of this one.
    pub(crate) fn write_successor(&self, id: &RunId) -> io::Result<()> {
        self.write(SUCCESSOR, id, Durability::Cached)
    }

    /// The run that was made in its place.
    pub(crate) fn successor(&self) -> Option<RunId> {
        self.read(SUCCESSOR).ok()
    }

    /// Leaves a mark. In a folder that is gone there is nothing to mark.
    pub(crate) fn mark(&self, mark: RunMark) {
        let _ = fs::OpenOptions::new().create(true).append(true).mode(0o600).open(self.path.join(mark.file()));
    }

    /// Takes the room on disk that the ending will need, so that a disk that fills up meanwhile cannot hide the ending.
    pub(crate) fn reserve(&self) -> io::Result<()> {
        let path = self.path.join(format!("{ENDING}.new"));
        let mut file = fs::OpenOptions::new().create(true).write(true).truncate(false).mode(0o600).open(path)?;
        io::Write::write_all(&mut file, &[b' '; ENDING_BYTES])
    }

    pub(crate) fn request(&self) -> Result<RequestRecord, Unreadable> {
        self.read(REQUEST)
    }

    pub(crate) fn start(&self) -> Result<StartRecord, Unreadable> {
        self.read(START)
    }

    pub(crate) fn ending(&self) -> Result<Ending, Unreadable> {
        self.read(ENDING)
    }

    /// Old or new, never half: written beside its place, brought to disk where it must survive a power cut, renamed.
    fn write(&self, name: &str, record: &impl Serialize, durability: Durability) -> io::Result<()> {
        self.write_text(name, &serde_json::to_vec(record)?, durability)
    }

    fn write_text(&self, name: &str, text: &[u8], durability: Durability) -> io::Result<()> {
        let beside = self.path.join(format!("{name}.new"));
        // Not truncated before it is written: the room may have been reserved, and could be lost to somebody else.
        let mut file = fs::OpenOptions::new().create(true).write(true).truncate(false).mode(0o600).open(&beside)?;
        io::Write::write_all(&mut file, text)?;
        if [ENDING, WATCHES, TOLD].contains(&name) {
            // The room that was reserved may be larger than what it needs; and of what is written again and again, an
            // earlier writing may have failed half-way.
            file.set_len(text.len() as u64)?;
        }
        if durability == Durability::Synced {
            file.sync_data()?;
        }
        fs::rename(beside, self.path.join(name))
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<T, Unreadable> {
        match fs::read(self.path.join(name)) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| Unreadable::Damaged(format!("{name}: {error}"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Unreadable::Missing),
            Err(error) => Err(Unreadable::Damaged(format!("{name}: {error}"))),
        }
    }

    /// Opens the socket through which the keeper can be reached.
    pub(crate) fn open_door(&self) -> io::Result<UnixListener> {
        let listener = through_descriptor(&self.path, |path| UnixListener::bind(path))?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    }

    pub(crate) fn close_door(&self) {
        let _ = fs::remove_file(self.path.join(SOCKET));
    }

    /// Connects to the keeper.
    pub(crate) fn connect(&self) -> io::Result<UnixStream> {
        through_descriptor(&self.path, |path| UnixStream::connect(path))
    }
}

/// The path of a socket may have 107 bytes, that of a folder thousands. So the folder is named by a descriptor.
pub(crate) fn through_descriptor<T>(folder: &Path, act: impl Fn(&Path) -> io::Result<T>) -> io::Result<T> {
    let handle = File::open(folder)?;
    act(Path::new(&format!("/proc/self/fd/{}/{SOCKET}", handle.as_raw_fd())))
}

/// Makes `path` a folder that only this user can enter, or gives the reason why it is not one.
pub(crate) fn make_own(path: &Path) -> io::Result<()> {
    let data = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match fs::DirBuilder::new().recursive(true).mode(0o700).create(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                made => made,
            };
        }
        found => found?,
    };
    let own = rustix::process::geteuid().as_raw();
    if !data.is_dir() {
        return Err(io::Error::other("it is not a directory (a symbolic link is not followed here)"));
    }
    if data.uid() != own {
        return Err(io::Error::other(format!("it belongs to user {}, this process is user {own}", data.uid())));
    }
    if data.mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// The name by which files of a stream begin.
pub(crate) fn stream_name(stream: Stream) -> &'static str {
    if stream == Stream::Stdout { "stdout" } else { "stderr" }
}

/// The file that holds all output of most runs.
fn first_segment() -> String {
    segment_name(Stream::Stdout, 0)
}

/// The file of the spool that holds a stream from `start` on.
pub(crate) fn segment_name(stream: Stream, start: u64) -> String {
    format!("{}.{start:016x}", stream_name(stream))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u32) -> RunId {
        format!("shell_{number:08x}").parse().unwrap()
    }

    #[test]
    fn a_folder_that_takes_the_place_of_another_is_locked_and_new() {
        let parent = tempfile::tempdir().unwrap();
        let (old, held) = RunFolder::create_as(parent.path(), &id(1)).unwrap();
        fs::write(old.path().join("file"), "old").unwrap();
        assert_eq!(RunFolder::create_as(parent.path(), &id(1)).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        let (new, lock) = old.renew().unwrap();
        drop(held);
        assert!(new == old && new.is_held() && !new.path().join("file").exists());
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1, "the old one is gone");
        drop(lock);
        assert!(!new.is_held());
        new.discard();
        let (made, _lock) = new.renew().unwrap();
        assert!(made.is_held(), "also where the old one is gone");
    }

    #[test]
    fn a_lock_stays_with_a_folder_that_gets_another_id() {
        let parent = tempfile::tempdir().unwrap();
        let planned = RunFolder::plan(parent.path()).unwrap();
        let (folder, lock) = RunFolder::make_ready(planned.path()).unwrap();
        let renamed = folder.rename(&id(2)).unwrap();
        assert!(renamed.is_held() && !folder.is_held() && renamed.id() == "shell_00000002");
        drop(lock);
        assert!(!renamed.is_held());
    }
}
