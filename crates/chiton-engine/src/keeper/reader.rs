//! Who reads what is written to a run now, and what it was given before.
//!
//! 1. In a terminal that is the foreground group; with a pipe, the youngest process that has it as standard input. All of
//!    it is read from `/proc`, so a program may begin to read a moment later.
//! 2. What each reader was given is kept, as lines: a command may come in several writes, and rest on earlier ones. What
//!    was written before a reader was seen may have waited for it, so that is kept as well.
//! 3. Whether a text may be written is decided by whoever asks here first ([`crate::protocol::Control::Reader`]).

use std::collections::VecDeque;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use rustix::termios::tcgetpgrp;

use crate::bytes::ByteString;
use crate::folder::record::machine_clock;
use crate::protocol::ReaderReport;
use crate::run::Lines;
use crate::stop::descendants;

/// How many readers are remembered.
const MOST_READERS: usize = 16;

/// How much of what was written last is remembered: more than a pipe holds.
const MOST_RECENT: usize = 128 << 10;

/// What readers were given.
#[derive(Default)]
pub(super) struct Given {
    readers: VecDeque<SeenReader>,
    /// What was written last, whoever read it.
    recent: Vec<u8>,
    /// How much of that nobody is known to have read: whoever begins to read may find it.
    pending: usize,
    /// Counts writes, so that nobody writes after a verdict that knew of fewer.
    writes: u64,
}

/// A process: its number, and when it started.
type ReaderId = (i32, u64);

struct SeenReader {
    id: ReaderId,
    /// What may have waited for it when it was first seen.
    before: Vec<u8>,
    given: Lines,
}

impl Given {
    /// How many writes there were.
    pub(super) fn writes(&self) -> u64 {
        self.writes
    }

    /// Notes that the reader, where there is one, is given these bytes, behind `unread` that wait already.
    pub(super) fn note(&mut self, reader: Option<i32>, unread: usize, bytes: &[u8]) {
        self.writes += 1;
        if let Some(id) = self.look_at(reader, unread) {
            let known = self.readers.iter().position(|seen| seen.id == id);
            let at = known.unwrap_or_else(|| {
                self.readers.truncate(MOST_READERS - 1);
                self.readers.push_front(SeenReader { id, before: self.unread(), given: Lines::default() });
                0
            });
            self.readers[at].given.add(bytes);
        }
        self.recent.extend_from_slice(bytes);
        self.recent.drain(..self.recent.len().saturating_sub(MOST_RECENT));
        self.pending = (self.pending + bytes.len()).min(self.recent.len());
    }

    /// Looks at who reads and how much waits. As long as that is somebody known, what does not wait any more was theirs,
    /// except for a line that is not complete, which a terminal keeps for whoever reads when it is. A new reader may have
    /// taken all of it, so then nothing is concluded.
    fn look_at(&mut self, reader: Option<i32>, unread: usize) -> Option<ReaderId> {
        let id = reader.and_then(|pid| Some((pid, started(pid)?)))?;
        if self.readers.iter().any(|seen| seen.id == id) {
            let line = self.recent.iter().rposition(|byte| matches!(byte, b'\r' | b'\n')).map_or(0, |end| end + 1);
            self.pending = self.pending.min(unread.max(self.recent.len() - line));
        }
        Some(id)
    }

    fn unread(&self) -> Vec<u8> {
        self.recent[self.recent.len() - self.pending..].to_vec()
    }

    /// Who reads now, and what it was given; `unread` bytes wait.
    pub(super) fn report(&mut self, reader: Option<i32>, unread: usize, leader: Option<i32>) -> ReaderReport {
        let id = self.look_at(reader, unread);
        let Some(pid) = reader else { return ReaderReport { writes: self.writes, ..ReaderReport::default() } };
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = words.strip_suffix(b"\0").unwrap_or(&words);
        let directory = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        let seen = self.readers.iter().find(|seen| Some(seen.id) == id);
        let (before, given) = match seen {
            Some(seen) => (seen.before.clone(), seen.given.as_bytes().to_vec()),
            None => (self.unread(), Vec::new()),
        };
        ReaderReport {
            words: words.split(|byte| *byte == 0).map(Into::into).collect(),
            directory: ByteString::from(directory.as_os_str().as_bytes()),
            is_leader: Some(pid) == leader,
            before: before.into(),
            given: given.into(),
            writes: self.writes,
        }
    }
}

/// The process in the foreground of a terminal: of its group, the youngest that reads from it.
pub(super) fn in_foreground(terminal: BorrowedFd<'_>) -> Option<i32> {
    let group = tcgetpgrp(terminal).ok()?.as_raw_nonzero().get();
    youngest(|pid| Stat::of(pid).is_some_and(|stat| stat.group == group))
}

/// The youngest process whose standard input is this pipe.
pub(super) fn of_pipe(pipe: impl AsFd) -> Option<i32> {
    let inode = rustix::fs::fstat(pipe).ok()?.st_ino;
    let name = format!("pipe:[{inode}]");
    youngest(|pid| fs::read_link(format!("/proc/{pid}/fd/0")).is_ok_and(|link| link.as_os_str() == name.as_str()))
}

fn youngest(fits: impl Fn(i32) -> bool) -> Option<i32> {
    let fitting = descendants().into_iter().filter(|pid| fits(*pid));
    fitting.filter_map(|pid| Some((started(pid)?, pid))).max().map(|(_, pid)| pid)
}

fn started(pid: i32) -> Option<u64> {
    Stat::of(pid).map(|stat| stat.started)
}

/// How long ago a process started.
pub(super) fn age(pid: i32) -> Option<Duration> {
    let started = Duration::from_millis(started(pid)? * TICK_MS);
    Some(Duration::from_micros(machine_clock()).saturating_sub(started))
}

/// The kernel tells times of processes in hundredths of a second, on every architecture but Alpha and Itanium.
const TICK_MS: u64 = 10;

/// What `/proc/PID/stat` says.
struct Stat {
    group: i32,
    started: u64,
}

impl Stat {
    fn of(pid: i32) -> Option<Self> {
        let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The name is in parentheses and may hold anything, so the fields are counted from its end.
        let end = text.iter().rposition(|byte| *byte == b')')?;
        let fields: Vec<&str> = std::str::from_utf8(&text[end + 1..]).ok()?.split_ascii_whitespace().collect();
        let is_dead = matches!(fields.first(), Some(&"Z" | &"X"));
        (!is_dead).then_some(())?;
        Some(Self { group: fields.get(2)?.parse().ok()?, started: fields.get(19)?.parse().ok()? })
    }
}
