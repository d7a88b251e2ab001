//! Whether a command is blocked until somebody types.
//!
//! 1. Nothing that the command started is working: a process that runs may be about to print.
//! 2. A thread of the terminal's foreground group is blocked in a call that reads from the terminal, or that waits for
//!    several things with the terminal among them ([`super::blocked_call`]). The kernel shows that for processes of the
//!    same user.
//! 3. For a process of another user (`sudo`) it does not. Such a process is assumed to wait when it sleeps and the
//!    terminal reads a line without showing it, as for a password.
//!
//! The processes are examined one after the other, while they go on. A process may move between two reads, so a wait that
//! has only just begun or ended can be missed or seen once too often; the caller checks again.

use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use rustix::termios::tcgetpgrp;

use super::blocked_call::{BlockedReader, Patience, reader};
use crate::stop::descendants;

/// How it is known that a command waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// The kernel shows the call that it is blocked in.
    Seen,
    /// The kernel shows nothing of that process, and everything else fits.
    Assumed,
}

/// A command that was seen to wait: which thread of it, and how that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sighting {
    pub(super) evidence: Evidence,
    pub(super) reader: BlockedReader,
}

/// What the terminal says about a read from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadMode {
    /// Whether it reads a line without showing it.
    pub(super) asks_for_password: bool,
    /// How long a read waits.
    pub(super) patience: Patience,
}

/// The command as it waits for what is typed into the terminal at `path`; `None` where it does not.
pub(super) fn sighting(terminal: BorrowedFd<'_>, path: &Path, mode: ReadMode) -> Option<Sighting> {
    let group = tcgetpgrp(terminal).ok()?.as_raw_nonzero().get();
    let is_terminal = |target: &PathBuf| target == path || target == Path::new("/dev/tty");
    let (mut seen, mut hidden) = (None, None);
    for pid in descendants() {
        let Some(status) = ProcessStatus::of(pid) else { continue };
        if status.is_working() {
            return None;
        }
        if status.group != group || seen.is_some() {
            continue;
        }
        match reader(pid, mode.patience, |targets| targets.iter().any(is_terminal)) {
            Ok(found) => seen = found,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && status.state == b'S' => hidden = Some(pid),
            Err(_) => {}
        }
    }
    let seen = seen.map(|reader| Sighting { evidence: Evidence::Seen, reader });
    let assumed = hidden.filter(|_| mode.asks_for_password);
    let assumed = assumed.map(|pid| Sighting { evidence: Evidence::Assumed, reader: BlockedReader::hidden(pid) });
    seen.or(assumed)
}

/// What `/proc/PID/stat` says about what a process does.
pub(super) struct ProcessStatus {
    state: u8,
    group: i32,
}

impl ProcessStatus {
    pub(super) fn of(pid: i32) -> Option<Self> {
        let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The name is in parentheses and may hold anything, so the fields are counted from its end.
        let end = text.iter().rposition(|byte| *byte == b')')?;
        let mut fields = std::str::from_utf8(&text[end + 1..]).ok()?.split_ascii_whitespace();
        let state = *fields.next()?.as_bytes().first()?;
        Some(Self { state, group: fields.nth(1)?.parse().ok()? })
    }

    /// Whether it runs, or will in a moment.
    pub(super) fn is_working(&self) -> bool {
        matches!(self.state, b'R' | b'D')
    }
}
