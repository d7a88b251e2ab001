//! The ladder terminate → grace → kill → verify, as a value that a loop drives.
//!
//! 1. [`Ladder::start`] asks: SIGTERM, then SIGCONT.
//! 2. [`Ladder::step`], called when [`Ladder::wake_at`] has come, forces: SIGKILL, again and again.
//! 3. The loop reaps after every step. When it has no child left, that is the proof, and the ladder is dropped.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::descendants::{kill_children, signal_all};
use crate::limits::{StopLimits, later};
use crate::sys::process::is_in_group;

/// How often one force step walks the tree, for families that fork faster than one walk.
const SWEEPS: usize = 50;
/// How often it kills the direct children alone in between, which is much quicker.
const QUICK_SWEEPS: usize = 20;
/// The first pause between two force steps, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(100));

/// One tree on its way out.
pub(crate) struct Ladder {
    rung: Rung,
    limits: StopLimits,
}

enum Rung {
    /// SIGTERM is out; SIGKILL follows at this time.
    Asked(Instant),
    /// SIGKILL is out since this time; the next force step comes at that one.
    Forced { since: Instant, again: Instant, pause: Duration },
}

impl Ladder {
    /// Asks every descendant to end. `leader` is the group of the command while it is not reaped.
    pub(crate) fn start(leader: Option<i32>, limits: StopLimits, now: Instant) -> Self {
        // In this order: a stopped process acts on SIGTERM only once it is continued, and one that was continued first
        // could go on working for a moment.
        signal_tree(leader, Signal::TERM);
        signal_tree(leader, Signal::CONT);
        Self { rung: Rung::Asked(later(now, limits.grace)), limits }
    }

    /// When [`Ladder::step`] has something to do next, if nothing ends before.
    pub(crate) fn wake_at(&self) -> Instant {
        match self.rung {
            Rung::Asked(until) => until,
            Rung::Forced { again, .. } => again,
        }
    }

    /// Shortens the grace, never lengthens it: a second, more urgent request to stop.
    pub(crate) fn hurry(&mut self, grace: Duration, now: Instant) {
        if let Rung::Asked(until) = &mut self.rung {
            *until = (*until).min(later(now, grace));
        }
    }

    /// Does what is due.
    pub(crate) fn step(&mut self, leader: Option<i32>, now: Instant) {
        if now < self.wake_at() {
            return;
        }
        let (since, pause) = match self.rung {
            Rung::Asked(_) => (now, PAUSES.0),
            Rung::Forced { since, pause, .. } => (since, (pause * 2).min(PAUSES.1)),
        };

        // The group first, in one call that nothing in it can fork away from. Then everybody, until a walk finds nobody.
        signal_group(leader, Signal::KILL);
        for _ in 0..SWEEPS {
            if signal_all(Signal::KILL, |_| true) == 0 {
                break;
            }
            (0..QUICK_SWEEPS).for_each(|_| kill_children());
        }
        self.rung = Rung::Forced { since, again: now + pause, pause };
    }

    /// Whether something has survived SIGKILL for longer than anybody waits. Only the kernel can hold a process that
    /// long.
    pub(crate) fn overdue(&self, now: Instant) -> bool {
        matches!(self.rung, Rung::Forced { since, .. } if now.duration_since(since) > self.limits.verify)
    }
}

/// To the group in one go, so that nothing in it can fork away from the signal, and to everybody outside it.
fn signal_tree(leader: Option<i32>, signal: Signal) {
    signal_group(leader, signal);
    signal_all(signal, |pid| leader.is_none_or(|leader| !is_in_group(pid, leader)));
}

fn signal_group(leader: Option<i32>, signal: Signal) {
    // The leader is our own child and not reaped, so its number cannot be that of another group.
    if let Some(group) = leader.and_then(Pid::from_raw) {
        let _ = kill_process_group(group, signal);
    }
}
