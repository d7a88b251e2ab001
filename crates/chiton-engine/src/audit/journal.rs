//! Writing the journal: under a lock, one line at a time, by any number of processes.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::FlockOperation;
use sha2::{Digest, Sha256};

use super::{AuditConfig, AuditEntry, AuditLine};
use crate::bytes::encode_hex;
use crate::folder::make_own;
use crate::lock::Lock;

pub(super) const CURRENT: &str = "journal.jsonl";
/// The number and the hash of the last line, and the number of the first that is kept: without it, lines missing at
/// either end would not be noticed.
pub(super) const HEAD: &str = "head";

/// A journal in a folder. Clones write the same one.
#[derive(Clone, Debug)]
pub struct Journal {
    folder: PathBuf,
    config: AuditConfig,
    who: String,
    /// What was open for the last line that this process wrote.
    last: Arc<Lock<Option<OpenJournal>>>,
}

#[derive(Debug)]
struct OpenJournal {
    lock: File,
    file: File,
    head: File,
    length: u64,
    /// Which file it is.
    file_id: (u64, u64),
    /// Where the last line that this process wrote ended, and the chain there, so that it need not be read again.
    end: Option<(u64, ChainHead)>,
}

/// When it is noted where the journal ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HeadNote {
    Now,
    WithNextLine,
}

/// The end of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChainHead {
    pub(super) number: u64,
    pub(super) hash: String,
    /// The oldest line that is kept.
    pub(super) first: u64,
}

impl ChainHead {
    pub(super) fn none() -> Self {
        Self { number: 0, hash: hash(b""), first: 1 }
    }

    fn text(&self) -> String {
        format!("{:020} {} {:020}\n", self.number, self.hash, self.first)
    }

    pub(super) fn read(folder: &Path) -> Option<Self> {
        let text = fs::read_to_string(folder.join(HEAD)).ok()?;
        let mut words = text.split_ascii_whitespace();
        let (number, hash, first) = (words.next()?, words.next()?, words.next()?);
        Some(Self { number: number.parse().ok()?, hash: hash.to_owned(), first: first.parse().ok()? })
    }
}

pub(super) fn hash(line: &[u8]) -> String {
    encode_hex(&Sha256::digest(line))
}

impl Journal {
    /// The journal in `folder`, which is made with the first line. Every line names `who`.
    pub fn new(folder: impl Into<PathBuf>, config: AuditConfig, who: impl Into<String>) -> Self {
        Self { folder: folder.into(), config, who: who.into(), last: Arc::default() }
    }

    /// Adds a line.
    pub fn append(&self, entry: AuditEntry) -> io::Result<()> {
        self.add(entry, HeadNote::Now)
    }

    /// Adds a line that another one about the same will soon follow. Where the journal ends is noted only with that one;
    /// a line beyond the note is no less part of the chain.
    pub(crate) fn append_first(&self, entry: AuditEntry) -> io::Result<()> {
        self.add(entry, HeadNote::WithNextLine)
    }

    fn add(&self, mut entry: AuditEntry, mut note: HeadNote) -> io::Result<()> {
        entry.who.clone_from(&self.who);
        let mut last = self.last.lock();
        let mut open = self.open(last.take())?;
        let head = match open.end.take() {
            Some((end, head)) if end == open.length && end > 0 => head,
            _ => self.find_head(&mut open.file, open.length)?,
        };
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let line = AuditLine {
            number: head.number + 1,
            at_ms: u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX),
            previous: head.hash,
            entry,
        };
        let mut text = serde_json::to_vec(&line)?;
        let mut head = ChainHead { number: line.number, hash: hash(&text), first: head.first };
        text.push(b'\n');
        if open.length > 0 && open.length + text.len() as u64 > self.config.file_bytes {
            let full = self.folder.join(format!("journal.{:020}.jsonl", line.number - 1));
            fs::rename(self.folder.join(CURRENT), full)?;
            (open.file, open.length) = (self.current()?, 0);
            (open.file_id, note) = (file_id(&open.file.metadata()?), HeadNote::Now);
            if let Some(dropped) = self.drop_oldest() {
                head.first = dropped + 1;
            }
        }
        open.file.write_all(&text)?;
        if note == HeadNote::Now {
            open.head.write_all_at(head.text().as_bytes(), 0)?;
        }
        open.end = Some((open.length + text.len() as u64, head));
        rustix::fs::flock(&open.lock, FlockOperation::Unlock)?;
        *last = Some(open);
        Ok(())
    }

    /// The files, locked: those of the last time, if they are still the journal's.
    fn open(&self, last: Option<OpenJournal>) -> io::Result<OpenJournal> {
        if let Some(mut open) = last {
            rustix::fs::flock(&open.lock, FlockOperation::LockExclusive)?;
            // Another process may have begun a new file, or somebody may have removed everything.
            if let Ok(there) = fs::symlink_metadata(self.folder.join(CURRENT))
                && file_id(&there) == open.file_id
            {
                open.length = there.len();
                return Ok(open);
            }
        }
        make_own(&self.folder)?;
        let writable = |name: &str| {
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(self.folder.join(name))
        };
        let lock = writable(".lock")?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
        let file = self.current()?;
        let data = file.metadata()?;
        Ok(OpenJournal { lock, file, head: writable(HEAD)?, length: data.len(), file_id: file_id(&data), end: None })
    }

    fn current(&self) -> io::Result<File> {
        OpenOptions::new().append(true).read(true).create(true).mode(0o600).open(self.folder.join(CURRENT))
    }

    /// The end of the chain as the files have it.
    fn find_head(&self, file: &mut File, length: u64) -> io::Result<ChainHead> {
        if length == 0 {
            // A file that was just begun goes on from the one before it.
            return Ok(ChainHead::read(&self.folder).unwrap_or_else(ChainHead::none));
        }
        let line = last_line(file, length)?;
        let bytes = line.strip_suffix(b"\n");
        if bytes.is_none() {
            // Torn by a crash: it ends here, and `verify` will name it.
            file.write_all(b"\n")?;
        }
        let bytes = bytes.unwrap_or(&line);
        let number = serde_json::from_slice::<AuditLine>(bytes).ok().map(|line| line.number);
        let written = ChainHead::read(&self.folder).unwrap_or_else(ChainHead::none);
        Ok(ChainHead { number: number.unwrap_or(written.number + 1), hash: hash(bytes), first: written.first })
    }

    /// Lets files go of which there are too many; gives the number of the last line that went.
    fn drop_oldest(&self) -> Option<u64> {
        let mut old = old_files(&self.folder);
        let surplus = (old.len() + 1).saturating_sub(self.config.files.max(1));
        old.truncate(surplus);
        for path in &old {
            let _ = fs::remove_file(path);
        }
        let name = old.last()?.file_name()?.to_str()?;
        name.split('.').nth(1)?.parse().ok()
    }
}

/// The file system and the number of a file, which no other has while it is open.
fn file_id(data: &Metadata) -> (u64, u64) {
    (data.dev(), data.ino())
}

/// Files that are full, oldest first.
pub(super) fn old_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_old = |name: &str| {
        let number = name.strip_prefix("journal.").and_then(|rest| rest.strip_suffix(".jsonl"));
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_old));
    let mut old: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    old.sort();
    old
}

fn last_line(file: &mut File, length: u64) -> io::Result<Vec<u8>> {
    let mut size = 4096u64;
    loop {
        let start = length.saturating_sub(size);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        Read::by_ref(file).take(length - start).read_to_end(&mut bytes)?;
        let body = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        if let Some(newline) = memchr::memrchr(b'\n', body) {
            return Ok(bytes.split_off(newline + 1));
        }
        if start == 0 {
            return Ok(bytes);
        }
        size *= 8;
    }
}
