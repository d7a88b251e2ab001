//! Whether a command is blocked until somebody types.
//!
//! 1. Nothing that the command started is working: a process that runs may be about to print.
//! 2. A thread of the terminal's foreground group is blocked in a call that reads from the terminal, or that waits for
//!    several things with the terminal among them. The kernel shows that for processes of the same user.
//! 3. For a process of another user (`sudo`) it does not. Such a process is assumed to wait when it sleeps and the
//!    terminal reads a line without showing it, as for a password.
//!
//! All of it is read from `/proc`, one process after the other, while they go on. A process may move between two reads,
//! so a wait that has only just begun or ended can be missed or seen once too often; the caller checks again.

use std::fs::{self, File};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::termios::tcgetpgrp;

use crate::stop::descendants;

/// Threads of one process that are examined.
const MOST_THREADS: usize = 64;
/// Descriptors of one call that are examined.
const MOST_WATCHED: usize = 4096;

/// How it is known that a command waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// The kernel shows the call that it is blocked in.
    Seen,
    /// The kernel shows nothing of that process, and everything else fits.
    Assumed,
}

/// How it is known that the command waits for what is typed into the terminal at `path`; `None` where it does not.
pub(super) fn evidence(terminal: BorrowedFd<'_>, path: &Path, asks_for_password: bool) -> Option<Evidence> {
    let group = tcgetpgrp(terminal).ok()?.as_raw_nonzero().get();
    let (mut seen, mut hidden) = (false, false);
    for pid in descendants() {
        let Some(status) = ProcessStatus::of(pid) else { continue };
        if matches!(status.state, b'R' | b'D') {
            return None;
        }
        if status.group != group || seen {
            continue;
        }
        match reads(pid, path) {
            Ok(reads) => seen |= reads,
            Err(error) => hidden |= error.kind() == io::ErrorKind::PermissionDenied && status.state == b'S',
        }
    }
    if seen {
        return Some(Evidence::Seen);
    }
    (hidden && asks_for_password).then_some(Evidence::Assumed)
}

struct ProcessStatus {
    state: u8,
    group: i32,
}

impl ProcessStatus {
    fn of(pid: i32) -> Option<Self> {
        let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The name is in parentheses and may hold anything, so the fields are counted from its end.
        let end = text.iter().rposition(|byte| *byte == b')')?;
        let mut fields = std::str::from_utf8(&text[end + 1..]).ok()?.split_ascii_whitespace();
        let state = *fields.next()?.as_bytes().first()?;
        Some(Self { state, group: fields.nth(1)?.parse().ok()? })
    }
}

/// Whether a thread of this process is blocked until the terminal has something to read.
fn reads(pid: i32, path: &Path) -> io::Result<bool> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"))?;
    for thread in threads.flatten().take(MOST_THREADS) {
        let call = match fs::read_to_string(thread.path().join("syscall")) {
            Ok(call) => call,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
            Err(_) => continue,
        };
        if SystemCall::parse(&call).is_some_and(|call| call.waits_for(pid, path)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A call into the kernel that has not returned.
struct SystemCall {
    number: i64,
    arguments: [u64; 6],
}

impl SystemCall {
    /// As `/proc/PID/syscall` has it: numbers in a row, or a word where there is none.
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let number = words.next()?.parse().ok()?;
        let mut arguments = [0; 6];
        for argument in &mut arguments {
            *argument = u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok()?;
        }
        Some(Self { number, arguments })
    }

    fn waits_for(&self, pid: i32, path: &Path) -> bool {
        let [first, second, ..] = self.arguments;
        match self.number {
            libc::SYS_read | libc::SYS_readv => is_terminal(pid, first, path),
            libc::SYS_ppoll => polled(pid, first, second, path),
            libc::SYS_pselect6 => selected(pid, first, second, path),
            libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => in_epoll(pid, first, path),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_poll => polled(pid, first, second, path),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_select => selected(pid, first, second, path),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_epoll_wait => in_epoll(pid, first, path),
            _ => false,
        }
    }
}

/// Whether a descriptor of a process is the terminal, by its own name or as the controlling one.
fn is_terminal(pid: i32, descriptor: u64, path: &Path) -> bool {
    fs::read_link(format!("/proc/{pid}/fd/{descriptor}"))
        .is_ok_and(|target| target == path || target == Path::new("/dev/tty"))
}

/// `struct pollfd`: four bytes for the descriptor, two for what is waited for, two for what came.
fn polled(pid: i32, array: u64, count: u64, path: &Path) -> bool {
    let count = usize::try_from(count).unwrap_or(0).min(MOST_WATCHED);
    let Some(entries) = memory(pid, array, count * 8) else { return false };
    entries.chunks_exact(8).any(|entry| {
        let descriptor = i32::from_ne_bytes([entry[0], entry[1], entry[2], entry[3]]);
        let events = i16::from_ne_bytes([entry[4], entry[5]]);
        events & libc::POLLIN != 0 && u64::try_from(descriptor).is_ok_and(|number| is_terminal(pid, number, path))
    })
}

/// A set of descriptors: one bit each.
fn selected(pid: i32, count: u64, set: u64, path: &Path) -> bool {
    let count = usize::try_from(count).unwrap_or(0).min(MOST_WATCHED);
    if set == 0 {
        return false;
    }
    let Some(bits) = memory(pid, set, count.div_ceil(64) * 8) else { return false };
    (0..count).any(|number| bits[number / 8] & (1 << (number % 8)) != 0 && is_terminal(pid, number as u64, path))
}

fn in_epoll(pid: i32, descriptor: u64, path: &Path) -> bool {
    let Ok(text) = fs::read_to_string(format!("/proc/{pid}/fdinfo/{descriptor}")) else { return false };
    text.lines().filter_map(|line| line.strip_prefix("tfd:")).any(|line| {
        let mut words = line.split_ascii_whitespace();
        let number = words.next().and_then(|word| word.parse().ok());
        let events = words.nth(1).and_then(|word| u32::from_str_radix(word, 16).ok()).unwrap_or(0);
        let input = events & u32::try_from(libc::EPOLLIN).unwrap_or(1) != 0;
        input && number.is_some_and(|number| is_terminal(pid, number, path))
    })
}

/// `length` bytes of the memory of a process.
fn memory(pid: i32, address: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    File::open(format!("/proc/{pid}/mem")).ok()?.read_exact_at(&mut bytes, address).ok()?;
    Some(bytes)
}
