//! Writing the journal: under a lock, one line at a time, by any number of processes.
//!
//! Nothing here follows a symbolic link: the folder is held by a descriptor, and its files are opened relative to that.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::{AuditConfig, AuditEntry, AuditLine};
use crate::bytes::{ByteString, encode_hex};
use crate::folder::make_own;
use crate::lock::Lock;
use crate::protocol::JournalPlan;

pub(super) const CURRENT: &str = "journal.jsonl";
/// The number and the hash of the last line, and the number of the first that is kept: without it, lines missing at
/// either end would not be noticed.
pub(super) const HEAD: &str = "head";
const LOCK: &str = ".lock";

/// How long a line waits for another process that is writing one. Only one that was stopped in the middle takes longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A journal in a folder. Clones write the same one.
#[derive(Clone, Debug)]
pub struct Journal {
    folder: PathBuf,
    /// Where the end of the chain is noted a second time, far from the folder.
    witness: Option<PathBuf>,
    config: AuditConfig,
    who: String,
    /// What was open for the last line that this process wrote.
    last: Arc<Lock<Option<OpenJournal>>>,
}

#[derive(Debug)]
struct OpenJournal {
    folder: OwnedFd,
    lock: File,
    file: File,
    head: File,
    witness: Option<File>,
    length: u64,
    /// Which folder and which file these are.
    folder_id: FileId,
    file_id: FileId,
    /// Where the last line that this process wrote ended, and the chain there, so that it need not be read again.
    end: Option<(u64, ChainHead)>,
}

/// The file system and the number of a file, which no other has while it is open.
type FileId = (u64, u64);

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
    /// When the first line of all was written, and the last; milliseconds since 1970, 0 where nobody knows.
    pub(super) created_ms: u64,
    pub(super) at_ms: u64,
}

impl ChainHead {
    pub(super) fn none() -> Self {
        Self { number: 0, hash: hash(b""), first: 1, created_ms: 0, at_ms: 0 }
    }

    /// Always of the same length, so that the file need not be truncated.
    fn text(&self) -> String {
        let Self { number, hash, first, created_ms, at_ms } = self;
        format!("{number:020} {hash} {first:020} {created_ms:020} {at_ms:020}\n")
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let (number, hash, first) = (words.next()?, words.next()?, words.next()?);
        // Journals of version 0.1 have no times.
        let mut time = || words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        Some(Self {
            number: number.parse().ok()?,
            hash: hash.to_owned(),
            first: first.parse().ok()?,
            created_ms: time(),
            at_ms: time(),
        })
    }

    /// The note in the file `path`, which is not followed where it is a symbolic link.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let file = rustix::fs::open(path, OFlags::RDONLY | NOT_FOLLOWED, Mode::empty()).ok()?;
        Self::of(&File::from(file))
    }

    fn of(file: &File) -> Option<Self> {
        let mut text = [0; 256];
        let count = file.read_at(&mut text, 0).ok()?;
        Self::parse(std::str::from_utf8(&text[..count]).ok()?)
    }
}

pub(super) fn hash(line: &[u8]) -> String {
    encode_hex(&Sha256::digest(line))
}

impl Journal {
    /// The journal in `folder`, which is made with the first line. Every line names `who`.
    pub fn new(folder: impl Into<PathBuf>, config: AuditConfig, who: impl Into<String>) -> Self {
        Self { folder: folder.into(), witness: None, config, who: who.into(), last: Arc::default() }
    }

    /// The same, with a file in `folder` that notes where the journal ends, so that somebody who removes the whole
    /// journal does not remove the knowledge that there was one. Many journals can have theirs in one folder.
    #[must_use]
    pub fn with_witness_in(self, folder: &Path) -> Self {
        let mut name = hash(self.folder.as_os_str().as_bytes());
        name.truncate(16);
        Self { witness: Some(folder.join(name)), ..self }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where its end is noted a second time.
    pub fn witness(&self) -> Option<&Path> {
        self.witness.as_deref()
    }

    /// Whether a command that cannot be written down is not run.
    pub fn is_required(&self) -> bool {
        self.config.required
    }

    /// What a keeper needs to write into it.
    pub(crate) fn plan(&self) -> JournalPlan {
        JournalPlan {
            folder: self.folder.as_os_str().as_bytes().into(),
            witness: self.witness.as_ref().map(|path| path.as_os_str().as_bytes().into()),
            file_bytes: self.config.file_bytes,
            files: self.config.files as u64,
            who: self.who.clone(),
        }
    }

    /// The journal that an engine writes, for its keeper.
    pub(crate) fn planned(plan: &JournalPlan) -> Self {
        let JournalPlan { folder, witness, file_bytes, files, who } = plan.clone();
        let files = usize::try_from(files).unwrap_or(usize::MAX);
        let config = AuditConfig { file_bytes, files, ..AuditConfig::default() };
        Self { witness: witness.map(ByteString::into_path), ..Self::new(folder.into_path(), config, who) }
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

    /// Whether a line could be added, and noted everywhere: everything is opened as for one.
    ///
    /// # Errors
    /// Why not.
    pub fn try_open(&self) -> io::Result<()> {
        let open = self.open(self.last.lock().take())?;
        rustix::fs::flock(&open.lock, FlockOperation::Unlock)?;
        self.witness.as_deref().map_or(Ok(()), |path| open_witness(path).map(drop))
    }

    fn add(&self, mut entry: AuditEntry, mut note: HeadNote) -> io::Result<()> {
        entry.who.clone_from(&self.who);
        let mut last = self.last.lock();
        let mut open = self.open(last.take())?;
        let head = match open.end.take() {
            Some((end, head)) if end == open.length && end > 0 => head,
            _ => open.find_head()?,
        };
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at_ms = u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX);
        let line = AuditLine { number: head.number + 1, at_ms, previous: head.hash, entry };
        let mut text = serde_json::to_vec(&line)?;
        let created_ms = if head.number == 0 { at_ms } else { head.created_ms };
        let mut head = ChainHead { number: line.number, hash: hash(&text), first: head.first, created_ms, at_ms };
        text.push(b'\n');
        if open.length > 0 && open.length + text.len() as u64 > self.config.file_bytes {
            open.begin_new_file(line.number - 1)?;
            note = HeadNote::Now;
            if let Some(dropped) = self.drop_oldest(&open.folder) {
                head.first = dropped + 1;
            }
        }
        open.write_line(&text)?;
        if note == HeadNote::Now {
            open.head.write_all_at(head.text().as_bytes(), 0)?;
            if let Some(witness) = &open.witness {
                witness.write_all_at(head.text().as_bytes(), 0)?;
            }
        }
        open.end = Some((open.length + text.len() as u64, head));
        rustix::fs::flock(&open.lock, FlockOperation::Unlock)?;
        *last = Some(open);
        Ok(())
    }

    /// The files, locked: those of the last time, if they are still the journal's.
    fn open(&self, last: Option<OpenJournal>) -> io::Result<OpenJournal> {
        if let Some(mut open) = last {
            lock(&open.lock)?;
            // Another process may have begun a new file, or somebody may have removed everything.
            let folder = rustix::fs::lstat(&self.folder).ok().map(|found| file_id(&found));
            let file = rustix::fs::statat(&open.folder, CURRENT, AtFlags::SYMLINK_NOFOLLOW).ok();
            if let Some(there) = file.filter(|there| file_id(there) == open.file_id)
                && folder == Some(open.folder_id)
            {
                open.length = there.st_size.unsigned_abs();
                return Ok(open);
            }
        }

        make_own(&self.folder)?;
        let folder = rustix::fs::open(&self.folder, OFlags::DIRECTORY | NOT_FOLLOWED, Mode::empty())?;
        let folder_id = file_id(&rustix::fs::fstat(&folder)?);
        let lock_file = open_own(&folder, LOCK, OFlags::RDWR)?;
        lock(&lock_file)?;
        let file = open_own(&folder, CURRENT, OFlags::RDWR | OFlags::APPEND)?;
        let data = rustix::fs::fstat(&file)?;
        Ok(OpenJournal {
            head: open_own(&folder, HEAD, OFlags::RDWR)?,
            witness: self.open_witness()?,
            lock: lock_file,
            file,
            length: data.st_size.unsigned_abs(),
            folder,
            folder_id,
            file_id: file_id(&data),
            end: None,
        })
    }

    /// The second note. A home directory that cannot be written is no reason to write nothing at all, unless somebody has
    /// said that everything has to be in order.
    fn open_witness(&self) -> io::Result<Option<File>> {
        match self.witness.as_deref().map(open_witness) {
            Some(Err(error)) if self.config.required => Err(error),
            opened => Ok(opened.and_then(Result::ok)),
        }
    }

    /// Lets files go of which there are too many; gives the number of the last line that went.
    fn drop_oldest(&self, folder: &OwnedFd) -> Option<u64> {
        let mut old = old_files(&self.folder);
        let surplus = (old.len() + 1).saturating_sub(self.config.files.max(1));
        old.truncate(surplus);
        for name in old.iter().filter_map(|path| path.file_name()) {
            let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
        }
        let name = old.last()?.file_name()?.to_str()?;
        name.split('.').nth(1)?.parse().ok()
    }
}

impl OpenJournal {
    /// The end of the chain, as the files have it and as it was noted. Where a note is ahead of the file, lines are
    /// gone, and the chain goes on from the note: so the gap stays to be seen.
    fn find_head(&mut self) -> io::Result<ChainHead> {
        let noted = [ChainHead::of(&self.head), self.witness.as_ref().and_then(ChainHead::of)];
        let noted = noted.into_iter().flatten().max_by_key(|head| head.number).unwrap_or_else(ChainHead::none);
        if self.length == 0 {
            // A file that was just begun goes on from the one before it.
            return Ok(noted);
        }

        let line = last_line(&mut self.file, self.length)?;
        let bytes = line.strip_suffix(b"\n");
        if bytes.is_none() {
            // Torn by a crash: it ends here, and `verify` will name it.
            self.file.write_all(b"\n")?;
            self.length += 1;
        }
        let bytes = bytes.unwrap_or(&line);
        let number = serde_json::from_slice::<AuditLine>(bytes).ok().map(|line| line.number);
        let number = number.unwrap_or(noted.number + 1);
        let last = ChainHead { number, hash: hash(bytes), ..noted.clone() };
        let is_replaced = number == noted.number && last.hash != noted.hash;
        Ok(if number < noted.number || is_replaced { noted } else { last })
    }

    /// The file is full: it is put aside under the number of its last line.
    fn begin_new_file(&mut self, last: u64) -> io::Result<()> {
        rustix::fs::renameat(&self.folder, CURRENT, &self.folder, format!("journal.{last:020}.jsonl"))?;
        self.file = open_own(&self.folder, CURRENT, OFlags::RDWR | OFlags::APPEND)?;
        let data = rustix::fs::fstat(&self.file)?;
        (self.length, self.file_id) = (data.st_size.unsigned_abs(), file_id(&data));
        Ok(())
    }

    /// Writes a whole line, or nothing: half a line on a full disk would break the chain for ever.
    fn write_line(&mut self, text: &[u8]) -> io::Result<()> {
        self.file.write_all(text).inspect_err(|_| {
            let _ = self.file.set_len(self.length);
        })
    }
}

/// No symbolic link is followed, and no child inherits it.
pub(super) const NOT_FOLLOWED: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);

/// Opens a file of the journal, or makes it.
fn open_own(folder: impl AsFd, name: &str, how: OFlags) -> io::Result<File> {
    let flags = how | OFlags::CREATE | OFlags::NONBLOCK | NOT_FOLLOWED;
    let file = rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR);
    let file = file.map_err(|error| match error {
        Errno::LOOP => io::Error::other(format!("{name} is a symbolic link, which is not followed")),
        error => io::Error::new(io::Error::from(error).kind(), format!("{name}: {}", io::Error::from(error))),
    })?;
    if FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::other(format!("{name} is not a file")));
    }
    Ok(file.into())
}

/// Opens the witness, whose folder is made where it does not exist.
fn open_witness(path: &Path) -> io::Result<File> {
    let about = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Err(about(io::ErrorKind::InvalidInput.into()));
    };
    make_own(folder).map_err(about)?;
    let folder = rustix::fs::open(folder, OFlags::DIRECTORY | NOT_FOLLOWED, Mode::empty());
    open_own(folder.map_err(|error| about(error.into()))?, name, OFlags::RDWR).map_err(about)
}

/// Locks the journal. Whoever holds it holds it for one line; one that was stopped in the middle of that must not stop
/// everybody else.
fn lock(file: &File) -> io::Result<()> {
    let started = Instant::now();
    loop {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) if started.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_micros(200));
            }
            Err(Errno::WOULDBLOCK) => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "another process holds it"));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn file_id(data: &Stat) -> FileId {
    (data.st_dev, data.st_ino)
}

/// Files that are full, oldest first.
pub(super) fn old_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
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
