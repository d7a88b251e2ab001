//! What the kernel of this machine offers. Asked for by whoever wants to know; the engine itself just uses it.

use std::fs;
use std::io;
use std::ops::RangeInclusive;

use rustix::fs::MemfdFlags;
use rustix::process::{PidfdFlags, child_subreaper, getpid, pidfd_open};

use crate::sys::probe;

/// Something that the engine cannot work without.
#[derive(Debug)]
pub struct Need {
    /// Its name, as manuals have it.
    pub name: &'static str,
    /// What it is for.
    pub purpose: &'static str,
    /// Whether it is there, or what the kernel says instead.
    pub answer: io::Result<()>,
}

/// All that the engine needs from the kernel, each asked for.
pub fn needs() -> [Need; 4] {
    [
        Need {
            name: "child subreaper",
            purpose: "a keeper gets every process that its command leaves behind",
            answer: child_subreaper().map(|_| ()).map_err(io::Error::from),
        },
        Need {
            name: "pidfd_open",
            purpose: "a signal reaches the process that is meant, and an end is an event",
            answer: pidfd_open(getpid(), PidfdFlags::empty()).map(|_| ()).map_err(io::Error::from),
        },
        Need {
            name: "close_range",
            purpose: "a command inherits no descriptor that is not meant for it",
            answer: probe::close_range(),
        },
        Need {
            name: "memfd_create",
            purpose: "a command reaches its shell without being in an argument list or on disk",
            answer: rustix::fs::memfd_create("chiton", MemfdFlags::CLOEXEC).map(|_| ()).map_err(io::Error::from),
        },
    ]
}

/// The version of Landlock, which can keep a process from files and ports without any right.
pub fn landlock_version() -> io::Result<u32> {
    probe::landlock()
}

/// The ports that the kernel gives to whoever asks for any.
pub(crate) fn ephemeral_ports() -> RangeInclusive<u16> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut numbers = text.split_ascii_whitespace().filter_map(|word| word.parse().ok());
    match (numbers.next(), numbers.next()) {
        (Some(first), Some(last)) => first..=last,
        // What it is unless somebody changed it.
        _ => 32768..=60999,
    }
}
