//! How far the journal was sent to another machine.
//!
//! The journal itself is the queue: a cursor beside it names the last line that was sent, and whoever sends next goes on
//! from there. One process sends at a time; it holds the lock of the cursor. Lines have numbers without gaps, so what was
//! let go before it could be sent is counted by its numbers.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::AuditLine;
use super::journal::{CURRENT, ChainHead, HEAD, NOT_FOLLOWED, old_files};
use super::read::open;
use crate::folder::make_own;

const CURSOR: &str = "otlp.cursor";

/// What was sent, and what has to be known to go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The last line that was sent.
    pub number: u64,
    /// The file it stands in and where it ends there: only a hint, so that the file need not be read from its beginning.
    file: (u64, u64),
    offset: u64,
    /// Lines that will never be sent: the journal let them go before, or the receiver does not take them.
    pub lost: u64,
    /// How many of these the receiver was told about.
    pub reported: u64,
    /// How often in a row sending failed.
    pub failures: u64,
    /// When it is worth trying again; milliseconds since 1970.
    pub retry_ms: u64,
}

impl Cursor {
    /// The cursor of the journal in `folder`, where anything was ever to be sent from there.
    pub fn read(folder: &Path) -> Option<Self> {
        Self::of(&open(&folder.join(CURSOR)).ok()?)
    }

    fn of(file: &File) -> Option<Self> {
        let mut text = [0; 256];
        let count = file.read_at(&mut text, 0).ok()?;
        let words = std::str::from_utf8(&text[..count]).ok()?.split_ascii_whitespace();
        let numbers: Vec<u64> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
        let [number, device, inode, offset, lost, reported, failures, retry_ms] = numbers.try_into().ok()?;
        Some(Self { number, file: (device, inode), offset, lost, reported, failures, retry_ms })
    }

    /// Always of the same length, so that one write replaces all of it.
    fn write(&self, file: &File) -> io::Result<()> {
        let Self { number, file: (device, inode), offset, lost, reported, failures, retry_ms } = self;
        let words = [number, device, inode, offset, lost, reported, failures, retry_ms];
        let text = words.map(|word| format!("{word:020}")).join(" ") + "\n";
        file.write_all_at(text.as_bytes(), 0)
    }

    /// Where sending begins: with the oldest line that is kept.
    fn first(folder: &Path) -> Self {
        let first = ChainHead::read(&folder.join(HEAD)).map_or(1, |head| head.first);
        Self { number: first.saturating_sub(1), ..Self::default() }
    }
}

/// How many lines of the journal in `folder` wait to be sent, those that are gone already among them.
pub fn waiting(folder: &Path) -> u64 {
    let cursor = Cursor::read(folder).unwrap_or_else(|| Cursor::first(folder));
    ChainHead::read(&folder.join(HEAD)).map_or(0, |head| head.number.saturating_sub(cursor.number))
}

/// How many of those that wait are gone already.
pub fn gone(folder: &Path) -> u64 {
    let cursor = Cursor::read(folder).unwrap_or_else(|| Cursor::first(folder));
    ChainHead::read(&folder.join(HEAD)).map_or(0, |head| head.first.saturating_sub(cursor.number.saturating_add(1)))
}

/// How much is sent at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Lines.
    pub lines: usize,
    /// Bytes of them in the journal; one line that is longer is a batch by itself.
    pub bytes: usize,
}

/// Lines to be sent, in order.
#[derive(Debug)]
pub struct Batch {
    /// These.
    pub lines: Vec<AuditLine>,
    /// How many are missing among them and before them.
    pub missing: u64,
    bytes: usize,
    end: Cursor,
}

/// The right to send lines of a journal.
#[derive(Debug)]
pub struct Outbox {
    folder: PathBuf,
    /// Locked as long as this lives.
    file: File,
    cursor: Cursor,
}

impl Outbox {
    /// The lines of the journal in `folder`, which is made where there is none; nothing where another process sends them.
    pub fn open(folder: &Path) -> io::Result<Option<Self>> {
        make_own(folder)?;
        let flags = OFlags::RDWR | OFlags::CREATE | NOT_FOLLOWED;
        let file = File::from(rustix::fs::open(folder.join(CURSOR), flags, Mode::RUSR | Mode::WUSR)?);
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let known = Cursor::of(&file);
        let cursor = known.unwrap_or_else(|| Cursor::first(folder));
        if known.is_none() {
            // From now on, what the journal lets go is lost.
            cursor.write(&file)?;
        }
        Ok(Some(Self { folder: folder.to_owned(), file, cursor }))
    }

    /// How far the journal was sent.
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// How many lost lines the receiver is to be told of with these.
    pub fn unreported(&self, batch: &Batch) -> u64 {
        self.cursor.lost.saturating_sub(self.cursor.reported).saturating_add(batch.missing)
    }

    /// The next lines to be sent; none where all were.
    pub fn next(&self, limits: BatchLimits) -> io::Result<Batch> {
        let (batch, newest) = self.read(self.cursor, limits)?;
        // Somebody began the journal anew, and its numbers with it.
        if batch.lines.is_empty() && newest.is_some_and(|newest| newest < self.cursor.number) {
            let anew = Cursor { number: 0, file: (0, 0), offset: 0, ..self.cursor };
            return Ok(self.read(anew, limits)?.0);
        }
        Ok(batch)
    }

    /// Lines after `from`, and the highest number in the newest file where that was read from its beginning.
    fn read(&self, from: Cursor, limits: BatchLimits) -> io::Result<(Batch, Option<u64>)> {
        let mut batch = Batch { lines: Vec::new(), missing: 0, bytes: 0, end: from };
        // The newest file is opened before the others are listed. Where it is full in between, it is among them as well,
        // and its lines are not taken twice; the other way round, they would be taken for lost.
        let current = match open(&self.folder.join(CURRENT)) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        for path in old_files(&self.folder) {
            if last_number(&path).is_some_and(|last| last <= batch.end.number) {
                continue;
            }
            match open(&path) {
                Ok(file) => drop(batch.read(file, limits)?),
                // Let go in this moment.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let newest = current.map(|file| batch.read(file, limits)).transpose()?.flatten();
        Ok((batch, newest))
    }

    /// These lines were sent, and with them how many were missing until then. The receiver did not take `rejected` of them.
    pub fn sent(&mut self, batch: &Batch, rejected: u64) -> io::Result<()> {
        let reported = self.cursor.lost.saturating_add(batch.missing);
        let lost = reported.saturating_add(rejected);
        self.save(Cursor { lost, reported, failures: 0, retry_ms: 0, ..batch.end })
    }

    /// The receiver will never take these lines.
    pub fn skip(&mut self, batch: &Batch) -> io::Result<()> {
        let lost = self.cursor.lost.saturating_add(batch.missing + batch.lines.len() as u64);
        self.save(Cursor { lost, reported: self.cursor.reported, failures: 0, retry_ms: 0, ..batch.end })
    }

    /// Nothing could be sent; it is worth trying again at `retry_ms`.
    pub fn failed(&mut self, retry_ms: u64) -> io::Result<()> {
        self.save(Cursor { failures: self.cursor.failures.saturating_add(1), retry_ms, ..self.cursor })
    }

    fn save(&mut self, cursor: Cursor) -> io::Result<()> {
        self.cursor = cursor;
        cursor.write(&self.file)
    }
}

impl Batch {
    fn is_full(&self, limits: BatchLimits) -> bool {
        self.lines.len() >= limits.lines || (self.bytes >= limits.bytes && !self.lines.is_empty())
    }

    /// Takes lines of a file. Gives the highest number in it, where it was read from its beginning.
    fn read(&mut self, file: File, limits: BatchLimits) -> io::Result<Option<u64>> {
        let data = file.metadata()?;
        let id = (data.dev(), data.ino());
        let start = if id == self.end.file && is_line_end(&file, self.end.offset) { self.end.offset } else { 0 };
        let mut highest = None;
        let mut offset = start;
        let mut reader = BufReader::new(file);
        reader.seek(SeekFrom::Start(start))?;
        let mut text = Vec::new();
        while !self.is_full(limits) {
            text.clear();
            reader.read_until(b'\n', &mut text)?;
            // A line without an end is being written.
            let Some(line) = text.strip_suffix(b"\n") else { break };
            offset += text.len() as u64;
            // What is not a line is missed by its number.
            let Ok(line) = serde_json::from_slice::<AuditLine>(line) else { continue };
            highest = highest.max(Some(line.number));
            if line.number <= self.end.number {
                continue;
            }
            self.missing += line.number - self.end.number - 1;
            self.bytes += text.len();
            (self.end.number, self.end.file, self.end.offset) = (line.number, id, offset);
            self.lines.push(line);
        }
        Ok(highest.filter(|_| start == 0))
    }
}

/// The number of the last line in a file that is full, which is part of its name.
fn last_number(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.split('.').nth(1)?.parse().ok()
}

/// Whether a line of the file ends there.
fn is_line_end(file: &File, offset: u64) -> bool {
    let mut byte = [0];
    offset > 0 && file.read_exact_at(&mut byte, offset - 1).is_ok() && byte == *b"\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{AuditConfig, AuditEntry, AuditEvent, Journal};

    const FEW: BatchLimits = BatchLimits { lines: 7, bytes: 1 << 20 };

    fn write(folder: &Path, config: AuditConfig, count: usize) {
        let journal = Journal::new(folder, config, "test");
        for number in 0..count {
            journal.append(AuditEntry::new(AuditEvent::Run).with_command(format!("echo {number}").as_bytes())).unwrap();
        }
    }

    /// Sends everything; gives the numbers, and how many were missing.
    fn send(folder: &Path, limits: BatchLimits) -> (Vec<u64>, u64) {
        let mut outbox = Outbox::open(folder).unwrap().unwrap();
        let (mut numbers, mut missing) = (Vec::new(), 0);
        loop {
            let batch = outbox.next(limits).unwrap();
            if batch.lines.is_empty() {
                return (numbers, missing);
            }
            numbers.extend(batch.lines.iter().map(|line| line.number));
            missing += batch.missing;
            outbox.sent(&batch, 0).unwrap();
        }
    }

    #[test]
    fn every_line_is_given_once_and_in_order_also_across_files() {
        let folder = tempfile::tempdir().unwrap();
        let config = AuditConfig { file_bytes: 2000, files: 100, ..AuditConfig::default() };
        let mut all = Vec::new();
        for count in [1, 0, 30, 3, 50, 16] {
            write(folder.path(), config, count);
            let (numbers, missing) = send(folder.path(), FEW);
            assert_eq!((numbers.len(), missing), (count, 0));
            all.extend(numbers);
        }
        assert_eq!(all, (1..=100).collect::<Vec<_>>());
        assert_eq!(waiting(folder.path()), 0);
    }

    #[test]
    fn a_writer_beside_the_sender_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let config = AuditConfig { file_bytes: 1500, files: 1000, ..AuditConfig::default() };
        let mut all = Vec::new();
        std::thread::scope(|scope| {
            let writers = [(); 2].map(|()| scope.spawn(|| write(folder.path(), config, 200)));
            while writers.iter().any(|writer| !writer.is_finished()) {
                let (numbers, missing) = send(folder.path(), FEW);
                assert_eq!(missing, 0);
                all.extend(numbers);
            }
        });
        all.extend(send(folder.path(), FEW).0);
        assert_eq!(all, (1..=400).collect::<Vec<_>>());
    }

    #[test]
    fn what_the_journal_let_go_is_counted_and_what_was_gone_before_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let config = AuditConfig { file_bytes: 2000, files: 2, ..AuditConfig::default() };
        write(folder.path(), config, 60);
        // Lines that were let go before anything was to be sent are nobody's loss.
        let (numbers, missing) = send(folder.path(), FEW);
        assert_eq!((numbers.last(), missing), (Some(&60), 0));

        write(folder.path(), config, 60);
        let (waits, gone) = (waiting(folder.path()), gone(folder.path()));
        let (numbers, missing) = send(folder.path(), FEW);
        assert!(missing > 0 && gone == missing, "{missing} {gone}");
        assert_eq!((waits, numbers.len() as u64 + missing), (60, 60));
        let cursor = Cursor::read(folder.path()).unwrap();
        assert_eq!((cursor.number, cursor.lost, cursor.reported), (120, missing, missing));
    }

    #[test]
    fn one_process_sends_at_a_time_and_a_failure_changes_nothing_but_the_time() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), AuditConfig::default(), 3);
        let mut outbox = Outbox::open(folder.path()).unwrap().unwrap();
        assert!(Outbox::open(folder.path()).unwrap().is_none());
        outbox.failed(5).unwrap();
        outbox.failed(9).unwrap();
        drop(outbox);
        let cursor = Cursor::read(folder.path()).unwrap();
        assert_eq!((cursor.number, cursor.failures, cursor.retry_ms), (0, 2, 9));
        assert_eq!(send(folder.path(), FEW), (vec![1, 2, 3], 0));
        assert_eq!(Cursor::read(folder.path()).unwrap().failures, 0);
    }

    #[test]
    fn lines_that_nobody_takes_are_lost_and_told_later() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), AuditConfig::default(), 3);
        let mut outbox = Outbox::open(folder.path()).unwrap().unwrap();
        let batch = outbox.next(BatchLimits { lines: 1, bytes: 1 }).unwrap();
        assert_eq!(batch.lines.len(), 1);
        outbox.skip(&batch).unwrap();
        assert_eq!((outbox.cursor().lost, outbox.cursor().reported), (1, 0));
        let batch = outbox.next(FEW).unwrap();
        outbox.sent(&batch, 2).unwrap();
        assert_eq!((outbox.cursor().lost, outbox.cursor().reported, outbox.cursor().number), (3, 1, 3));
    }

    #[test]
    fn a_journal_that_was_begun_anew_is_sent_from_its_beginning() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), AuditConfig::default(), 9);
        send(folder.path(), FEW);
        for name in [CURRENT, HEAD] {
            std::fs::remove_file(folder.path().join(name)).unwrap();
        }
        write(folder.path(), AuditConfig::default(), 2);
        assert_eq!(send(folder.path(), FEW), (vec![1, 2], 0));
    }
}
