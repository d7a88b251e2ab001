//! The call into the kernel that a thread is blocked in: what it waits to read from, and for how long.
//!
//! All of it is read from `/proc`, which the kernel shows for processes of the same user. A thread may move between two
//! reads, so what is found here is what was there a moment ago.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Threads of one process that are examined.
const MOST_THREADS: usize = 64;
/// Descriptors of one call that are examined.
const MOST_WATCHED: usize = 4096;

/// A thread that is blocked until there is something to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockedReader {
    process: i32,
    thread: i32,
    call: i64,
    pub(super) patience: Patience,
}

impl BlockedReader {
    pub(super) fn process(self) -> i32 {
        self.process
    }

    /// A process that the kernel shows nothing of.
    pub(super) fn hidden(process: i32) -> Self {
        Self { process, thread: 0, call: 0, patience: Patience::Lasting }
    }
}

/// How long a call waits by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// Until there is something to read, or for a second and more.
    Lasting,
    /// For less: it may be a program that has a quick look while it does something else, or leaves.
    Passing,
}

/// The first thread of a process that is blocked until it can read one of the descriptors that `fits` accepts. `read` is
/// how long a plain read waits.
pub(super) fn reader(
    process: i32,
    read: Patience,
    fits: impl Fn(&[PathBuf]) -> bool,
) -> io::Result<Option<BlockedReader>> {
    let threads = fs::read_dir(format!("/proc/{process}/task"))?;
    for thread in threads.flatten().take(MOST_THREADS) {
        let call = match fs::read_to_string(thread.path().join("syscall")) {
            Ok(call) => call,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
            Err(_) => continue,
        };
        let Some(call) = BlockedCall::parse(&call) else { continue };
        if fits(&call.targets(process)) {
            let thread = thread.file_name().to_str().and_then(|name| name.parse().ok()).unwrap_or(process);
            let patience = call.patience(process, read);
            return Ok(Some(BlockedReader { process, thread, call: call.number, patience }));
        }
    }
    Ok(None)
}

/// A call into the kernel that has not returned.
struct BlockedCall {
    number: i64,
    arguments: [u64; 6],
}

impl BlockedCall {
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

    /// What it waits to read from.
    fn targets(&self, process: i32) -> Vec<PathBuf> {
        let [first, second, ..] = self.arguments;
        let descriptors = match self.number {
            libc::SYS_read | libc::SYS_readv => vec![first],
            libc::SYS_ppoll => polled(process, first, second),
            libc::SYS_pselect6 => selected(process, first, second),
            libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => in_epoll(process, first),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_poll => polled(process, first, second),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_select => selected(process, first, second),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_epoll_wait => in_epoll(process, first),
            _ => Vec::new(),
        };
        let target = |number| fs::read_link(format!("/proc/{process}/fd/{number}")).unwrap_or_default();
        descriptors.into_iter().map(target).collect()
    }

    /// How long it waits. Where a time is, depends on the call: in milliseconds, or in memory, the seconds first.
    fn patience(&self, process: i32, read: Patience) -> Patience {
        let [_, _, third, fourth, fifth, _] = self.arguments;
        let lasts = match self.number {
            libc::SYS_ppoll => lasts_by_memory(process, third),
            libc::SYS_pselect6 => lasts_by_memory(process, fifth),
            libc::SYS_epoll_pwait2 => lasts_by_memory(process, fourth),
            libc::SYS_epoll_pwait => lasts_by_milliseconds(fourth),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_poll => lasts_by_milliseconds(third),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_select => lasts_by_memory(process, fifth),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_epoll_wait => lasts_by_milliseconds(fourth),
            _ => return read,
        };
        if lasts { Patience::Lasting } else { Patience::Passing }
    }
}

/// A negative number is no limit. The kernel reads 32 bits of it.
#[expect(clippy::cast_possible_truncation, reason = "the argument of the call is an int")]
fn lasts_by_milliseconds(argument: u64) -> bool {
    !(0..1000).contains(&(argument as u32).cast_signed())
}

/// Both kinds of time in memory begin with the seconds; no address is no limit.
fn lasts_by_memory(process: i32, address: u64) -> bool {
    let seconds = || memory(process, address, 8)?.try_into().ok().map(i64::from_ne_bytes);
    address == 0 || seconds().is_some_and(|seconds| seconds >= 1)
}

/// `struct pollfd`: four bytes for the descriptor, two for what is waited for, two for what came.
fn polled(process: i32, array: u64, count: u64) -> Vec<u64> {
    let count = usize::try_from(count).unwrap_or(0).min(MOST_WATCHED);
    let entries = memory(process, array, count * 8).unwrap_or_default();
    let read = entries.chunks_exact(8).filter_map(|entry| {
        let descriptor = i32::from_ne_bytes([entry[0], entry[1], entry[2], entry[3]]);
        let events = i16::from_ne_bytes([entry[4], entry[5]]);
        u64::try_from(descriptor).ok().filter(|_| events & libc::POLLIN != 0)
    });
    read.collect()
}

/// A set of descriptors: one bit each.
fn selected(process: i32, count: u64, set: u64) -> Vec<u64> {
    let count = usize::try_from(count).unwrap_or(0).min(MOST_WATCHED);
    if set == 0 {
        return Vec::new();
    }
    let Some(bits) = memory(process, set, count.div_ceil(64) * 8) else { return Vec::new() };
    (0..count).filter(|number| bits[number / 8] & (1 << (number % 8)) != 0).map(|number| number as u64).collect()
}

fn in_epoll(process: i32, descriptor: u64) -> Vec<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/fdinfo/{descriptor}")).unwrap_or_default();
    let watched = text.lines().filter_map(|line| line.strip_prefix("tfd:")).filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let number = words.next()?.parse().ok()?;
        let events = u32::from_str_radix(words.nth(1)?, 16).ok()?;
        (events & u32::try_from(libc::EPOLLIN).unwrap_or(1) != 0).then_some(number)
    });
    watched.collect()
}

/// `length` bytes of the memory of a process.
fn memory(process: i32, address: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    File::open(format!("/proc/{process}/mem")).ok()?.read_exact_at(&mut bytes, address).ok()?;
    Some(bytes)
}
