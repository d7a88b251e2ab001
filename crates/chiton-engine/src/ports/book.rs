//! The ports that were given out: one small file for each, named by its number, in the state folder.
//!
//! A port belongs to its session
//!
//! - as long as the session holds a shared lock on the port's file, which also ends when its process is killed;
//! - as long as there is a session of that name, where it has one: another process may continue it.
//!
//! Whatever runs with a port keeps it, too, for which the caller of [`PortBook::give`] knows. All changes are made under one
//! lock, so that several engines can use one book.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use super::free;
use crate::error::PortError;
use crate::folder::make_own;

/// The ports that were given out under one state directory.
#[derive(Clone, Debug)]
pub(crate) struct PortBook {
    folder: PathBuf,
    sessions: PathBuf,
}

/// A port of a session, for as long as this is there.
#[derive(Debug)]
pub(crate) struct HeldPort {
    pub(crate) number: u16,
    /// Its file, with a shared lock.
    _file: File,
}

/// A port that a session asked for.
#[derive(Debug)]
pub(crate) struct GivenPort {
    pub(crate) held: HeldPort,
    /// Whether the session did not have it before.
    pub(crate) is_new: bool,
}

/// What the file of a port says.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PortRecord {
    /// What the session calls it.
    name: String,
    /// The name of the session, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
}

/// A port that was given out, perhaps to somebody who is gone.
struct Entry {
    number: u16,
    path: PathBuf,
    file: File,
    /// `None` where whoever wrote it did not come to the end.
    record: Option<PortRecord>,
}

/// The lock on a book. While it is there, nobody else gives a port out.
pub(crate) struct OpenBook<'a> {
    book: &'a PortBook,
    _lock: File,
}

impl PortBook {
    /// The book in this state directory, which is made when the first port is given out.
    pub(crate) fn new(state_directory: &Path) -> Self {
        Self { folder: state_directory.join("ports"), sessions: state_directory.join("sessions") }
    }

    /// Opens it, once nobody else has it open.
    pub(crate) fn open(&self) -> Result<OpenBook<'_>, PortError> {
        let lock = || {
            make_own(&self.folder)?;
            let file = open_file(&self.folder.join(".lock"))?;
            rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
            Ok(file)
        };
        let lock = lock().map_err(|error| self.unusable(error))?;
        Ok(OpenBook { book: self, _lock: lock })
    }

    fn unusable(&self, error: io::Error) -> PortError {
        PortError::Book { path: self.folder.clone(), error }
    }
}

impl OpenBook<'_> {
    /// The port of this name for a session, whose own name is `session` where it has one. A session with a name gets the
    /// same one again. `taken` are numbers that something still runs with.
    pub(crate) fn give(
        &self,
        session: Option<&str>,
        name: &str,
        taken: &BTreeSet<u16>,
    ) -> Result<GivenPort, PortError> {
        let mut held = BTreeSet::new();
        for entry in self.entries().map_err(|error| self.book.unusable(error))? {
            if session.is_some() && entry.is_of(session, name) {
                let held = self.hold(entry.number, entry.file)?;
                return Ok(GivenPort { held, is_new: false });
            }
            if self.is_held(&entry) {
                held.insert(entry.number);
            } else {
                let _ = fs::remove_file(&entry.path);
            }
        }

        let range = free::range();
        let usable = |number: &u16| !held.contains(number) && !taken.contains(number) && free::is_free(*number);
        let (first, count) = (*range.start(), range.len());
        let start = place(session, name, &self.book.folder) % count;
        let numbers = (0..count).filter_map(|step| u16::try_from((start + step) % count).ok()).map(|at| first + at);
        let Some(number) = numbers.into_iter().find(usable) else {
            return Err(PortError::NoneFree { name: name.to_owned(), first, last: *range.end() });
        };

        let file = self.write(number, session, name).map_err(|error| self.book.unusable(error))?;
        Ok(GivenPort { held: self.hold(number, file)?, is_new: true })
    }

    fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for found in fs::read_dir(&self.book.folder)?.flatten() {
            let Some(number) = found.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let path = found.path();
            let (Ok(file), Ok(text)) = (File::open(&path), fs::read(&path)) else { continue };
            entries.push(Entry { number, path, file, record: serde_json::from_slice(&text).ok() });
        }
        entries.sort_by_key(|entry| entry.number);
        Ok(entries)
    }

    /// Whether a port belongs to a session that is there.
    fn is_held(&self, entry: &Entry) -> bool {
        let is_locked = rustix::fs::flock(&entry.file, FlockOperation::NonBlockingLockExclusive).is_err();
        let session = entry.record.as_ref().and_then(|record| record.session.as_deref());
        is_locked || session.is_some_and(|name| self.book.sessions.join(format!("{name}.json")).exists())
    }

    fn hold(&self, number: u16, file: File) -> Result<HeldPort, PortError> {
        let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared);
        locked.map_err(|error| self.book.unusable(error.into()))?;
        Ok(HeldPort { number, _file: file })
    }

    fn write(&self, number: u16, session: Option<&str>, name: &str) -> io::Result<File> {
        let record = PortRecord { name: name.to_owned(), session: session.map(str::to_owned) };
        let mut file = open_file(&self.book.folder.join(number.to_string()))?;
        file.set_len(0)?;
        file.write_all(&serde_json::to_vec(&record)?)?;
        Ok(file)
    }
}

impl Entry {
    fn is_of(&self, session: Option<&str>, name: &str) -> bool {
        self.record.as_ref().is_some_and(|record| record.session.as_deref() == session && record.name == name)
    }
}

fn open_file(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new().create(true).read(true).write(true).truncate(false).mode(0o600).open(path)
}

/// Where the search for a free number begins: elsewhere for each name, and for each state directory, so that users of one
/// machine seldom get in each other's way.
fn place(session: Option<&str>, name: &str, folder: &Path) -> usize {
    let texts = [session.unwrap_or_default().as_bytes(), name.as_bytes(), folder.as_os_str().as_encoded_bytes()];
    let fold = |sum: u32, byte: &u8| (sum ^ u32::from(*byte)).wrapping_mul(16_777_619);
    let sum = texts.join(&0).iter().fold(2_166_136_261, fold);
    usize::try_from(sum).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Desk {
        folder: tempfile::TempDir,
    }

    impl Desk {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("sessions")).unwrap();
            Self { folder }
        }

        fn give(&self, session: Option<&str>, name: &str, taken: &[u16]) -> GivenPort {
            let taken = taken.iter().copied().collect();
            PortBook::new(self.folder.path()).open().unwrap().give(session, name, &taken).unwrap()
        }

        fn begin(&self, session: &str) -> PathBuf {
            let path = self.folder.path().join("sessions").join(format!("{session}.json"));
            fs::write(&path, "").unwrap();
            path
        }
    }

    #[test]
    fn sessions_get_different_ports_and_give_them_back_when_they_are_gone() {
        let desk = Desk::new();
        let one = desk.give(None, "web", &[]);
        let other = desk.give(None, "web", &[]);
        assert!(one.is_new && other.is_new);
        assert_ne!(one.held.number, other.held.number);
        assert!(free::range().contains(&one.held.number));

        let number = one.held.number;
        drop(one);
        assert_eq!(desk.give(None, "web", &[]).held.number, number, "it is free again");
        let kept = desk.give(None, "web", &[number]);
        assert!(![number, other.held.number].contains(&kept.held.number), "something still runs with it");
    }

    #[test]
    fn a_session_with_a_name_has_its_port_as_long_as_there_is_one_of_that_name() {
        let desk = Desk::new();
        let file = desk.begin("shop");
        let number = desk.give(Some("shop"), "web", &[]).held.number;
        let again = desk.give(Some("shop"), "web", &[number]);
        assert_eq!((again.held.number, again.is_new), (number, false), "its own task runs with it");
        assert_ne!(desk.give(Some("shop"), "api", &[]).held.number, number);
        assert_ne!(desk.give(Some("other"), "web", &[]).held.number, number);
        for _ in 0..3 {
            assert_ne!(desk.give(None, "web", &[]).held.number, number);
        }

        drop(again);
        fs::remove_file(file).unwrap();
        drop(desk.give(None, "anything", &[]));
        assert!(!desk.folder.path().join("ports").join(number.to_string()).exists(), "nobody has it any more");
    }

    #[test]
    fn a_file_that_was_not_written_to_its_end_holds_nothing() {
        let desk = Desk::new();
        let number = desk.give(None, "web", &[]).held.number;
        let path = desk.folder.path().join("ports").join(number.to_string());
        for text in ["", "{\"na", "5"] {
            fs::write(&path, text).unwrap();
            assert_eq!(desk.give(None, "web", &[]).held.number, number, "{text}");
        }
    }

    #[test]
    fn many_at_once_never_share_a_number() {
        let desk = Desk::new();
        let given: Vec<GivenPort> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(|| desk.give(None, "web", &[]))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let numbers: BTreeSet<u16> = given.iter().map(|given| given.held.number).collect();
        assert_eq!(numbers.len(), 16);
    }
}
