//! The processes that cannot see the others: those of another machine, and those of a container.

use std::fs;
use std::path::PathBuf;

use crate::processes::{parent_of, pids};

/// A namespace of process ids, seen from this one.
#[derive(Clone, Debug)]
pub(super) struct PidNamespace {
    first: i32,
    link: PathBuf,
}

impl PidNamespace {
    /// The one whose first process has the id `first` here.
    pub(super) fn of(first: i32) -> Option<Self> {
        let link = fs::read_link(format!("/proc/{first}/ns/pid")).ok()?;
        Some(Self { first, link })
    }

    /// The first process, with which all others end.
    pub(super) fn first(&self) -> i32 {
        self.first
    }

    /// All other processes in it, without the one through which the first process waits for the test.
    pub(super) fn processes(&self) -> Vec<i32> {
        let first = u32::try_from(self.first).unwrap_or_default();
        let waits = |pid: i32| parent_of(pid) == first && command_is(pid, b"cat\0");
        pids().filter(|pid| self.has(*pid) && *pid != self.first && !waits(*pid)).collect()
    }

    /// The id here of a process that has the id `there` in it.
    pub(super) fn process_here(&self, there: i32) -> Option<i32> {
        let there = there.to_string();
        pids().find(|pid| {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
            // One id for each namespace from ours down to its own, which may lie deeper than this one.
            ids.split_ascii_whitespace().nth(1) == Some(&there) && self.has_or_holds(*pid)
        })
    }

    fn has(&self, pid: i32) -> bool {
        fs::read_link(format!("/proc/{pid}/ns/pid")).is_ok_and(|link| link == self.link)
    }

    /// Whether a process is in it, or in one that was made in it.
    fn has_or_holds(&self, pid: i32) -> bool {
        let mut pid = pid;
        while pid > 1 {
            if self.has(pid) {
                return true;
            }
            pid = i32::try_from(parent_of(pid)).unwrap_or_default();
        }
        false
    }
}

fn command_is(pid: i32, line: &[u8]) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|found| found == line)
}
