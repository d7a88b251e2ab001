//! The limits of a sandboxed run that the kernel does not keep by itself, and the names of those that it does.
//!
//! 1. Each process has limits of its own from its start (`setrlimit`).
//! 2. What all of them use together, and what is free on the disk, is looked at every so often: the sooner, the less is left.
//! 3. While none of them runs, they use up nothing, so we look ever more rarely: an idle server must not wake up a keeper
//!    for each of its tasks every second.
//! 4. A signal that only a limit sends, or the kernel's killer of processes, is told by its name in the ending.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, getpriority_process, setpriority_process};

use super::boundary::program;
use crate::run::Outcome;
use crate::sandbox::policy::SandboxLimits;
use crate::sandbox::report::{Exhausted, Resource};
use crate::stop;
use crate::sys::process::processor_time;

/// How fast a machine can use things up: within this time of now, so much can be gone.
const BYTES_PER_MILLISECOND: u64 = 4 << 20;
const PROCESSES_PER_MILLISECOND: u64 = 10;
const SHORTEST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(1);
/// Each look at processes that have not run since the last one puts off the next so much further.
const LONGER_ASLEEP: u32 = 16;
/// But not beyond this: whoever wakes up and uses up everything is found out within it. Its own memory, and the number of
/// processes of a user, are limited by the kernel all the same.
const LONGEST_ASLEEP: Duration = Duration::from_mins(1);
const GOES_FIRST: i32 = -10;
/// A command with more processes than this gives way to others.
const CROWD: usize = 64;
/// How much: a process of it gets a tenth of the time that another one gets.
const GIVES_WAY: i32 = 10;
/// Of so many processes the programs are looked at, to name the one that there are most of.
const MOST_NAMED: usize = 100;

pub(super) struct Rationing {
    limits: SandboxLimits,
    /// A folder on the disk of which some has to stay free.
    disk: Option<PathBuf>,
    /// The same, also where too little was free from the start.
    place: Option<PathBuf>,
    next: Option<Instant>,
    /// What had run at the last look.
    seen: Activity,
    /// How long the next look was put off.
    put_off: Duration,
    exhausted: Option<Exhausted>,
    /// How many processes the kernel had killed when this was first looked at.
    killed_before: Option<u64>,
    /// How we were scheduled before there was a crowd.
    before_the_crowd: Option<i32>,
}

impl Drop for Rationing {
    fn drop(&mut self) {
        // The next command of this keeper is scheduled as usual.
        if let Some(usual) = self.before_the_crowd {
            let _ = setpriority_process(None, usual);
        }
    }
}

/// Whether a run may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allowance {
    Enough,
    UsedUp,
}

impl Rationing {
    pub(super) fn new(limits: SandboxLimits, disk: Option<PathBuf>) -> Self {
        // Where too little was free before it began, the command is not what used it up.
        let place = disk.clone();
        let disk = disk.filter(|disk| limits.free.is_some_and(|floor| free(disk).is_some_and(|free| free > floor)));
        // Also where nothing is limited: what the kernel kills for want of memory is told.
        let next = Some(Instant::now() + SHORTEST);
        let (seen, put_off) = (Activity::default(), SHORTEST);
        let exhausted = None;
        Self { limits, disk, place, next, seen, put_off, exhausted, killed_before: None, before_the_crowd: None }
    }

    /// The same for another run.
    pub(super) fn again(mut self) -> Self {
        Self::new(self.limits, self.place.take())
    }

    /// The command has come: while its shell waited, there was nothing to look at.
    pub(super) fn begin(&mut self) {
        self.next = self.next.map(|_| Instant::now() + SHORTEST);
    }

    pub(super) fn next_check(&self) -> Option<Instant> {
        self.next
    }

    /// Adds up, if it is time to.
    pub(super) fn check(&mut self, now: Instant) -> Allowance {
        if self.next.is_none_or(|next| now < next) {
            return Allowance::Enough;
        }
        if self.killed_before.is_none() {
            self.killed_before = killed_for_memory();
        }
        let members: Vec<i32> = stop::descendants().into_iter().collect();
        let left = [self.check_processes(&members), self.check_memory(&members), self.check_disk()];
        if left.iter().flatten().any(Result::is_err) {
            self.next = None;
            return Allowance::UsedUp;
        }
        let pause = left.into_iter().flatten().flatten().min();
        self.next = pause.map(|pause| now + self.pause_for(&members, pause.clamp(SHORTEST, LONGEST)));
        Allowance::Enough
    }

    /// How long to wait before the next look: `usual`, or the longer, the longer nothing has run.
    fn pause_for(&mut self, members: &[i32], usual: Duration) -> Duration {
        let now = Activity::of(members);
        let sleeps = now == std::mem::replace(&mut self.seen, now.clone());
        self.put_off = if sleeps { (self.put_off * LONGER_ASLEEP).clamp(usual, LONGEST_ASLEEP) } else { usual };
        self.put_off
    }

    /// The kernel keeps this limit for users, and not for root. At the limit a program fails to start another; beyond it,
    /// the run ends.
    fn check_processes(&mut self, members: &[i32]) -> Option<Left> {
        let (limit, count) = (self.limits.processes?, members.len() as u64);
        if members.len() > CROWD {
            give_way(members);
            self.go_first();
        }
        if count + 1 >= limit {
            let by = Some(commonest(members));
            self.exhausted.get_or_insert(Exhausted { what: Resource::Processes, limit: Some(limit), by });
        }
        Some(if count > limit { Err(Nothing) } else { Ok(milliseconds((limit - count) / PROCESSES_PER_MILLISECOND)) })
    }

    /// The kernel keeps no limit on processes for root, so we do, however many there are.
    fn go_first(&mut self) {
        if self.before_the_crowd.is_some() || !rustix::process::geteuid().is_root() {
            return;
        }
        if let Some(usual) = getpriority_process(None).ok().filter(|usual| *usual > GOES_FIRST) {
            self.before_the_crowd = Some(usual);
            let _ = setpriority_process(None, GOES_FIRST);
        }
    }

    fn check_memory(&mut self, members: &[i32]) -> Option<Left> {
        let limit = self.limits.memory?;
        let sizes: Vec<(i32, u64)> = members.iter().map(|pid| (*pid, resident(*pid))).collect();
        let used: u64 = sizes.iter().map(|(_, bytes)| bytes).sum();
        if used > limit {
            let largest = sizes.iter().max_by_key(|(_, bytes)| *bytes).map(|(pid, _)| program(*pid));
            self.exhausted = Some(Exhausted { what: Resource::Memory, limit: Some(limit), by: largest });
            return Some(Err(Nothing));
        }
        Some(Ok(milliseconds((limit - used) / BYTES_PER_MILLISECOND)))
    }

    fn check_disk(&mut self) -> Option<Left> {
        let (floor, free) = (self.limits.free?, free(self.disk.as_ref()?)?);
        if free < floor {
            self.exhausted = Some(Exhausted { what: Resource::Free, limit: Some(floor), by: None });
            return Some(Err(Nothing));
        }
        Some(Ok(milliseconds((free - floor) / BYTES_PER_MILLISECOND)))
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
            // Somebody else may have been killed for it in the same moment, but this one was killed, too. In its first
            // moments no command can use up the memory of a machine.
            libc::SIGKILL if self.killed_before.is_some() && killed_for_memory() > self.killed_before => {
                Some((Resource::Memory, None))
            }
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

/// Processes, each with the processor time that it has used. Where two of these are the same, nothing has run in between:
/// also to start or to end a process takes time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Activity(BTreeMap<i32, Option<Duration>>);

impl Activity {
    fn of(members: &[i32]) -> Self {
        Self(members.iter().map(|pid| (*pid, processor_time(*pid))).collect())
    }
}

/// Nothing is left.
struct Nothing;

/// How long what is left lasts at least.
type Left = Result<Duration, Nothing>;

fn milliseconds(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Lets others go first, so that they are answered however many processes these are. Not every kernel shares its time
/// between sessions by itself.
fn give_way(members: &[i32]) {
    for pid in members.iter().filter_map(|pid| Pid::from_raw(*pid)) {
        if getpriority_process(Some(pid)).is_ok_and(|now| now < GIVES_WAY) {
            let _ = setpriority_process(Some(pid), GIVES_WAY);
        }
    }
}

/// The program that most of these processes run.
fn commonest(members: &[i32]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for pid in members.iter().take(MOST_NAMED) {
        *counts.entry(program(*pid)).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(name, _)| name).unwrap_or_default()
}

/// Bytes that are free on the disk of `folder`, for whoever is not root.
fn free(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_run_is_looked_at_ever_more_rarely() {
        let mut rationing = Rationing::new(SandboxLimits { memory: Some(1), ..SandboxLimits::default() }, None);
        // No process has such a number, so it never runs.
        let nobody = (1 << 22) + 1;
        let asleep = [nobody];
        let pauses: Vec<Duration> = (0..4).map(|_| rationing.pause_for(&asleep, LONGEST)).collect();
        assert_eq!(pauses, [1, 16, 60, 60].map(Duration::from_secs));

        // This process does.
        let awake = [nobody, i32::try_from(std::process::id()).unwrap()];
        for _ in 0..3 {
            assert_eq!(rationing.pause_for(&awake, LONGEST), LONGEST);
        }
        assert_eq!(rationing.pause_for(&asleep, SHORTEST), SHORTEST, "somebody has ended");
    }

    #[test]
    fn nothing_is_looked_at_where_no_limit_needs_it() {
        let limits = SandboxLimits { cpu_seconds: Some(60), ..SandboxLimits::default() };
        let mut rationing = Rationing::new(limits, None);
        let first = rationing.next_check().unwrap();
        assert_eq!(rationing.check(first), Allowance::Enough);
        assert_eq!(rationing.next_check(), None);
        assert!(rationing.killed_before.is_some(), "what the kernel kills is still told");
    }
}
