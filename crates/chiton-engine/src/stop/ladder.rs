//! The ladder terminate → grace → kill → verify, as a value that a loop drives.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::descendants::{kill_children, signal_all};
use crate::limits::{StopLimits, later};

/// How often the force step looks again within one go, for families that fork faster than one look.
const SWEEPS: usize = 50;
/// How often the direct children alone are looked for in between, which is much quicker.
const QUICK_SWEEPS: usize = 20;
/// The first pause between two goes of the force step, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(100));

/// One tree on its way out.
pub(crate) struct Ladder {
    phase: Phase,
    limits: StopLimits,
}

enum Phase {
    /// SIGTERM is out; SIGKILL follows at this time.
    Asked(Instant),
    /// SIGKILL is out since this time; look again at that one.
    Forced { since: Instant, again: Instant, pause: Duration },
}

impl Ladder {
    /// Asks every descendant to end. `leader` is the group of the command while it is not reaped.
    pub(crate) fn start(leader: Option<i32>, limits: StopLimits, now: Instant) -> Self {
        signal_tree(leader, Signal::TERM);
        signal_tree(leader, Signal::CONT);
        Self { phase: Phase::Asked(later(now, limits.grace)), limits }
    }

    /// When [`Ladder::step`] has something to do next, if nothing ends before.
    pub(crate) fn wake_at(&self) -> Instant {
        match self.phase {
            Phase::Asked(until) => until,
            Phase::Forced { again, .. } => again,
        }
    }

    /// Shortens the grace, never lengthens it: a second, more urgent request to stop.
    pub(crate) fn hurry(&mut self, grace: Duration, now: Instant) {
        if let Phase::Asked(until) = &mut self.phase {
            *until = (*until).min(later(now, grace));
        }
    }

    /// Does what is due.
    pub(crate) fn step(&mut self, leader: Option<i32>, now: Instant) {
        if now < self.wake_at() {
            return;
        }
        let (since, pause) = match self.phase {
            Phase::Asked(_) => (now, PAUSES.0),
            Phase::Forced { since, pause, .. } => (since, (pause * 2).min(PAUSES.1)),
        };
        signal_group(leader, Signal::KILL);
        for _ in 0..SWEEPS {
            if signal_all(Signal::KILL, |_| true) == 0 {
                break;
            }
            (0..QUICK_SWEEPS).for_each(|_| kill_children());
        }
        self.phase = Phase::Forced { since, again: now + pause, pause };
    }

    /// Whether something has survived SIGKILL for longer than can be waited for.
    pub(crate) fn overdue(&self, now: Instant) -> bool {
        matches!(self.phase, Phase::Forced { since, .. } if now.duration_since(since) > self.limits.verify)
    }
}

/// To the group in one go, so that nothing in it can fork away from the signal, and to everybody outside it.
fn signal_tree(leader: Option<i32>, signal: Signal) {
    signal_group(leader, signal);
    signal_all(signal, |pid| leader.is_none_or(|leader| !is_in_group(pid, leader)));
}

fn signal_group(leader: Option<i32>, signal: Signal) {
    // The leader is our own child and not reaped, so its number cannot belong to another group.
    if let Some(group) = leader.and_then(Pid::from_raw) {
        let _ = kill_process_group(group, signal);
    }
}

fn is_in_group(pid: i32, group: i32) -> bool {
    let found = rustix::process::getpgid(Pid::from_raw(pid));
    found.is_ok_and(|found| found.as_raw_nonzero().get() == group)
}
