//! The limits of a sandboxed run that the kernel does not keep by itself, and the names of those that it does.
//!
//! 1. Each process has limits of its own from its start (`setrlimit`).
//! 2. What all of them use together is added up every so often, the sooner the less is left.
//! 3. A signal that only a limit sends, or the kernel's killer of processes, is told by its name in the ending.

use std::fs;
use std::time::{Duration, Instant};

use crate::run::Outcome;
use crate::sandbox::policy::SandboxLimits;
use crate::sandbox::report::{Exhausted, Resource};
use crate::stop;

/// How fast a machine can fill memory: within this time of now, so much can be used up.
const BYTES_PER_MILLISECOND: u64 = 4 << 20;
const SHORTEST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(1);

pub(super) struct Rationing {
    limits: SandboxLimits,
    next: Option<Instant>,
    exhausted: Option<Exhausted>,
    killed_before: Option<u64>,
}

/// Whether a run may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allowance {
    Enough,
    UsedUp,
}

impl Rationing {
    pub(super) fn new(limits: SandboxLimits) -> Self {
        let next = (limits.memory.is_some() || limits.processes.is_some()).then(|| Instant::now() + SHORTEST);
        Self { limits, next, exhausted: None, killed_before: killed_for_memory() }
    }

    pub(super) fn next_check(&self) -> Option<Instant> {
        self.next
    }

    /// Adds up, if it is time to.
    pub(super) fn check(&mut self, now: Instant) -> Allowance {
        if self.next.is_none_or(|next| now < next) {
            return Allowance::Enough;
        }
        let members: Vec<(i32, u64)> = stop::descendants().into_iter().map(|pid| (pid, resident(pid))).collect();
        if let Some(limit) = self.limits.processes.filter(|limit| members.len() as u64 + 1 >= *limit) {
            self.exhausted.get_or_insert(Exhausted { what: Resource::Processes, limit: Some(limit), by: None });
        }

        let used: u64 = members.iter().map(|(_, bytes)| bytes).sum();
        let Some(limit) = self.limits.memory else {
            self.next = Some(now + LONGEST);
            return Allowance::Enough;
        };
        if used > limit {
            let largest = members.iter().max_by_key(|(_, bytes)| *bytes).map(|(pid, _)| super::boundary::program(*pid));
            self.exhausted = Some(Exhausted { what: Resource::Memory, limit: Some(limit), by: largest });
            self.next = None;
            return Allowance::UsedUp;
        }
        let pause = Duration::from_millis((limit - used) / BYTES_PER_MILLISECOND);
        self.next = Some(now + pause.clamp(SHORTEST, LONGEST));
        Allowance::Enough
    }

    /// Notes what an ending says of limits: signals that nothing else sends.
    pub(super) fn note_end(&mut self, outcome: &Outcome) {
        let signal = match outcome {
            Outcome::Signaled(signal) => signal.number(),
            Outcome::Exited(code) if *code > 128 => code - 128,
            _ => return,
        };
        let found = match signal {
            libc::SIGXCPU => self.limits.cpu_seconds.map(|limit| (Resource::Cpu, Some(limit))),
            libc::SIGXFSZ => self.limits.file.map(|limit| (Resource::File, Some(limit))),
            // Somebody else may have been killed for it in the same moment, but this one was killed, too.
            libc::SIGKILL if killed_for_memory() > self.killed_before => Some((Resource::Memory, None)),
            _ => None,
        };
        if let (None, Some((what, limit))) = (&self.exhausted, found) {
            self.exhausted = Some(Exhausted { what, limit, by: None });
        }
    }

    pub(super) fn exhausted(&self) -> Option<Exhausted> {
        self.exhausted.clone()
    }
}

/// Bytes of memory that a process has.
fn resident(pid: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages: u64 = text.split_ascii_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    pages * rustix::param::page_size() as u64
}

/// How many processes the kernel has killed because it had no memory left.
fn killed_for_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/vmstat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("oom_kill "))?.trim().parse().ok()
}
