//! Who reads what is written to a run now, and what it was given before.
//!
//! 1. In a terminal that is the foreground group; with a pipe, the youngest process that has it as standard input. All of
//!    it is read from `/proc`, so a program may begin to read a moment later.
//! 2. What each reader was given is kept, as lines: a command may come in several writes, and rest on earlier ones.
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

/// What readers were given.
#[derive(Default)]
pub(super) struct Given {
    lines: VecDeque<(ReaderId, Lines)>,
    /// Counts writes, so that nobody writes after a verdict that knew of fewer.
    writes: u64,
}

/// A process: its number, and when it started.
type ReaderId = (i32, u64);

impl Given {
    /// How many writes there were.
    pub(super) fn writes(&self) -> u64 {
        self.writes
    }

    /// Notes that the reader, where there is one, was given these bytes.
    pub(super) fn note(&mut self, reader: Option<i32>, bytes: &[u8]) {
        self.writes += 1;
        let Some(id) = reader.and_then(|pid| Some((pid, started(pid)?))) else { return };
        let known = self.lines.iter().position(|(known, _)| *known == id);
        let at = known.unwrap_or_else(|| {
            self.lines.truncate(MOST_READERS - 1);
            self.lines.push_front((id, Lines::default()));
            0
        });
        self.lines[at].1.add(bytes);
    }

    /// What a reader was given so far.
    fn to(&self, pid: i32) -> Vec<u8> {
        let id = started(pid).map(|start| (pid, start));
        let found = self.lines.iter().find(|(known, _)| Some(*known) == id);
        found.map(|(_, lines)| lines.as_bytes().to_vec()).unwrap_or_default()
    }

    /// Who reads now, and what it was given.
    pub(super) fn report(&self, reader: Option<i32>, leader: Option<i32>) -> ReaderReport {
        let Some(pid) = reader else { return ReaderReport { writes: self.writes, ..ReaderReport::default() } };
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = words.strip_suffix(b"\0").unwrap_or(&words);
        let directory = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        ReaderReport {
            words: words.split(|byte| *byte == 0).map(Into::into).collect(),
            directory: ByteString::from(directory.as_os_str().as_bytes()),
            is_leader: Some(pid) == leader,
            given: self.to(pid).into(),
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
