//! The log of what a command did to files: what was there before each change, in the order of the changes.
//!
//! A log is a file of [`Step`]s, each with its length in front. A step is in the file before what it speaks of happens, so
//! that a log that ends in the middle of a step is still whole: that step's change was not made.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags, StatxTimestamp, XattrFlags, makedev};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::bytes::ByteString;

/// The number of a file, and of the file system it is on. A file system gives the number of a file that is gone to the next
/// one, so the moment at which it was made is a part of it, where the file system knows that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct FileId {
    pub(crate) device: u64,
    pub(crate) number: u64,
    /// Seconds and nanoseconds; nothing where nobody knows.
    pub(crate) born: (i64, u32),
}

/// What a path means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum FileKind {
    File,
    Folder,
    Link,
    /// A pipe, a socket or a device.
    Special,
}

/// Something at a path, without its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileFacts {
    pub(crate) id: FileId,
    pub(crate) kind: FileKind,
    /// With the bits that say what kind it is.
    pub(crate) mode: u32,
    pub(crate) user: u32,
    pub(crate) group: u32,
    pub(crate) bytes: u64,
    /// Seconds and nanoseconds.
    pub(crate) modified: (i64, u32),
    /// When anything about it changed; nobody can set that.
    pub(crate) changed: (i64, u32),
    pub(crate) accessed: (i64, u32),
    /// Which device it stands for.
    pub(crate) device: u64,
    pub(crate) links: u64,
}

impl FileFacts {
    /// What is at a path; a link is meant itself.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        Self::look(path, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// What a link of the kernel leads to.
    pub(crate) fn behind(link: &Path) -> Option<Self> {
        Self::look(link, AtFlags::empty())
    }

    fn look(path: &Path, flags: AtFlags) -> Option<Self> {
        rustix::fs::statx(CWD, path, flags, StatxFlags::BASIC_STATS | StatxFlags::BTIME)
            .ok()
            .map(|found| Self::of(&found))
    }

    fn of(found: &Statx) -> Self {
        let time = |time: StatxTimestamp| (time.tv_sec, time.tv_nsec);
        let knows_birth = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BTIME);
        let mode = u32::from(found.stx_mode);
        Self {
            id: FileId {
                device: makedev(found.stx_dev_major, found.stx_dev_minor),
                number: found.stx_ino,
                born: if knows_birth { time(found.stx_btime) } else { (0, 0) },
            },
            kind: match FileType::from_raw_mode(mode) {
                FileType::RegularFile => FileKind::File,
                FileType::Directory => FileKind::Folder,
                FileType::Symlink => FileKind::Link,
                _ => FileKind::Special,
            },
            mode,
            user: found.stx_uid,
            group: found.stx_gid,
            bytes: found.stx_size,
            modified: time(found.stx_mtime),
            changed: time(found.stx_ctime),
            accessed: time(found.stx_atime),
            device: makedev(found.stx_rdev_major, found.stx_rdev_minor),
            links: u64::from(found.stx_nlink),
        }
    }

    /// Whether two are the same as far as anybody could tell who does not look inside. Of a folder its times do not count:
    /// they are those of what is in it.
    pub(crate) fn looks_like(&self, other: &Self) -> bool {
        let is_folder = self.kind == FileKind::Folder;
        self.kind == other.kind
            && (self.mode, self.user, self.group) == (other.mode, other.user, other.group)
            && (is_folder || (self.bytes, self.modified) == (other.bytes, other.modified))
    }
}

/// Something that was at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Former {
    pub(crate) facts: FileFacts,
    pub(crate) attributes: Vec<(ByteString, ByteString)>,
    pub(crate) kept: Kept,
}

/// What is left of something that goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kept {
    /// What is known of it is enough.
    Facts,
    /// A link leads to this.
    Target(ByteString),
    /// The thing itself, under this number in the store.
    Itself(u64),
    /// A copy of its content, under this number.
    Copy(u64),
    /// Nothing, for this reason.
    Nothing(String),
}

/// What was so before a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Step {
    /// Nothing was here.
    Absent { at: ByteString },
    /// This was here, and goes.
    Gone { at: ByteString, was: Former },
    /// This was here, stays, and its content changes.
    Written { at: ByteString, was: Former },
    /// This was here, stays, and something about it changes that is not its content.
    Attributes { at: ByteString, was: Former },
    /// This had another name.
    Moved { from: ByteString, to: ByteString, was: FileFacts },
    /// These two had each other's name: this was at `one`, and that at `other`.
    Exchanged { one: ByteString, other: ByteString, first: FileFacts, second: FileFacts },
}

impl Step {
    /// The paths that it is about.
    pub(crate) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        let (one, other) = match self {
            Self::Absent { at } | Self::Gone { at, .. } | Self::Written { at, .. } | Self::Attributes { at, .. } => {
                (at, None)
            }
            Self::Moved { from, to, .. } => (from, Some(to)),
            Self::Exchanged { one, other, .. } => (one, Some(other)),
        };
        [Some(one), other].into_iter().flatten().map(as_path)
    }
}

/// The beginning of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) version: u32,
    /// Below which changes are written down.
    pub(crate) roots: Vec<ByteString>,
    /// Milliseconds since 1970.
    pub(crate) began_ms: u64,
}

/// The version of logs that this program writes and reads.
pub(crate) const VERSION: u32 = 3;

pub(crate) fn as_path(bytes: &ByteString) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

pub(crate) fn as_bytes(path: &Path) -> ByteString {
    path.as_os_str().as_bytes().into()
}

/// Adds one entry to a log, in one write.
pub(crate) fn append<Entry: Serialize>(log: &mut File, entry: &Entry) -> io::Result<()> {
    let mut bytes = vec![0; size_of::<u32>()];
    bytes = postcard::to_extend(entry, bytes).map_err(|error| io::Error::other(error.to_string()))?;
    let length = u32::try_from(bytes.len() - size_of::<u32>()).map_err(io::Error::other)?;
    bytes[..size_of::<u32>()].copy_from_slice(&length.to_le_bytes());
    log.write_all(&bytes)
}

/// Reads a log from its beginning, as far as it is whole.
pub(crate) struct LogReader {
    log: BufReader<File>,
    /// How many bytes of it have been read as entries that are whole.
    whole: u64,
}

impl LogReader {
    pub(crate) fn open(path: &Path) -> io::Result<(Header, Self)> {
        let mut reader = Self { log: BufReader::new(File::open(path)?), whole: 0 };
        let header: Header = reader.next_entry().ok_or_else(|| io::Error::other("its log has no beginning"))?;
        if header.version != VERSION {
            let why = format!("its log is of version {}, and this program reads version {VERSION}", header.version);
            return Err(io::Error::other(why));
        }
        Ok((header, reader))
    }

    /// How long the part is that has been read.
    pub(crate) fn whole_bytes(&self) -> u64 {
        self.whole
    }

    fn next_entry<Entry: DeserializeOwned>(&mut self) -> Option<Entry> {
        let mut length = [0; size_of::<u32>()];
        self.log.read_exact(&mut length).ok()?;
        let length = u64::from(u32::from_le_bytes(length));
        let mut bytes = Vec::new();
        (&mut self.log).take(length).read_to_end(&mut bytes).ok()?;
        let entry = postcard::from_bytes(&bytes).ok().filter(|_| bytes.len() as u64 == length)?;
        self.whole += size_of::<u32>() as u64 + length;
        Some(entry)
    }
}

impl Iterator for LogReader {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        self.next_entry()
    }
}

/// The entries of a file of one kind, as far as it is whole.
pub(crate) fn entries<Entry: DeserializeOwned>(path: &Path) -> impl Iterator<Item = Entry> {
    let reader = File::open(path).ok().map(|file| LogReader { log: BufReader::new(file), whole: 0 });
    reader.into_iter().flat_map(|mut reader| std::iter::from_fn(move || reader.next_entry()))
}

/// The attributes of a file that have names; a link is meant itself.
pub(crate) fn attributes(path: &Path) -> Vec<(ByteString, ByteString)> {
    let mut names = vec![0; 1024];
    let count = match rustix::fs::llistxattr(path, &mut names) {
        Ok(count) => count,
        Err(rustix::io::Errno::RANGE) => {
            names.resize(64 << 10, 0);
            rustix::fs::llistxattr(path, &mut names).unwrap_or(0)
        }
        Err(_) => 0,
    };
    let listed = names[..count].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    listed.filter_map(|name| Some((name.into(), attribute(path, name)?))).collect()
}

fn attribute(path: &Path, name: &[u8]) -> Option<ByteString> {
    let mut value = vec![0; 64 << 10];
    let count = rustix::fs::lgetxattr(path, OsStr::from_bytes(name), &mut value).ok()?;
    Some(value[..count].into())
}

/// Makes the attributes of a file these. Those that nobody but the kernel may set stay what they are.
pub(crate) fn set_attributes(path: &Path, wanted: &[(ByteString, ByteString)]) -> bool {
    let now = attributes(path);
    let mut all = true;
    for (name, value) in wanted.iter().filter(|entry| !now.contains(entry)) {
        all &= rustix::fs::lsetxattr(path, OsStr::from_bytes(name), value, XattrFlags::empty()).is_ok();
    }
    for (name, _) in now.iter().filter(|(name, _)| !wanted.iter().any(|(wanted, _)| wanted == name)) {
        all &= rustix::fs::lremovexattr(path, OsStr::from_bytes(name)).is_ok();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_gets_the_number_of_one_that_is_gone_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let made_anew = || {
            let _ = std::fs::remove_file(&path);
            File::create(&path).unwrap();
            FileFacts::at(&path).unwrap().id
        };
        let first = made_anew();
        if first.born == (0, 0) {
            // This file system does not know when it made something.
            return;
        }
        // Until its clock, which is a coarse one, has gone on.
        let later = std::iter::repeat_with(made_anew).find(|id| id.born != first.born).unwrap();
        let same_number = std::iter::once(later).chain(std::iter::repeat_with(made_anew).take(100));
        assert!(same_number.into_iter().all(|id| id != first), "{first:?}");

        // All other names of a file, and another path to it, are the same.
        let other = folder.path().join("other");
        let id = FileFacts::at(&path).unwrap().id;
        std::fs::hard_link(&path, &other).unwrap();
        assert_eq!(FileFacts::at(&other).unwrap().id, id);
        std::fs::rename(&other, folder.path().join("moved")).unwrap();
        assert_eq!(FileFacts::at(&folder.path().join("moved")).unwrap().id, id);
    }

    #[test]
    fn a_log_is_read_as_far_as_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let header = Header { version: VERSION, roots: vec!["/w".into()], began_ms: 7 };
        let facts = FileFacts {
            id: FileId { device: 1, number: 2, born: (3, 4) },
            kind: FileKind::File,
            mode: 0o100_644,
            user: 1,
            group: 2,
            bytes: 3,
            modified: (4, 5),
            changed: (8, 9),
            accessed: (6, 7),
            device: 0,
            links: 1,
        };
        let steps = [
            Step::Absent { at: "/w/a".into() },
            Step::Exchanged { one: "/w/b".into(), other: vec![b'/', 0xff].into(), first: facts.clone(), second: facts },
        ];
        let mut log = File::create(&path).unwrap();
        append(&mut log, &header).unwrap();
        let mut ends = vec![std::fs::metadata(&path).unwrap().len()];
        for step in &steps {
            append(&mut log, step).unwrap();
            ends.push(std::fs::metadata(&path).unwrap().len());
        }
        let whole = std::fs::read(&path).unwrap();
        for length in ends[0]..=ends[2] {
            std::fs::write(&path, &whole[..usize::try_from(length).unwrap()]).unwrap();
            let (read, steps_read) = LogReader::open(&path).unwrap();
            assert_eq!(read, header);
            let count = ends[1..].iter().filter(|end| **end <= length).count();
            assert_eq!(steps_read.collect::<Vec<_>>(), steps[..count], "{length} bytes");
        }
        for length in 0..ends[0] {
            std::fs::write(&path, &whole[..usize::try_from(length).unwrap()]).unwrap();
            assert!(LogReader::open(&path).is_err(), "{length} bytes");
        }
    }
}
