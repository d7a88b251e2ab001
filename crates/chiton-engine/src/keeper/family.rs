//! The processes of a run: the leader, everything it started, and what is known of how they ended.
//!
//! 1. [`Family::reap`] takes every child that has ended. The keeper is the child subreaper, so every orphan of the
//!    command becomes its child: to have no child left means that nobody is left at all.
//! 2. What the leader's end means is decided by the [`Lifecycle`]; what others leave is summed up.
//! 3. Processes that outlive the ending are a [`LeftoverTask`].

use std::time::{Duration, Instant};

use super::leftover_task::LeftoverTask;
use super::lifecycle::{Lifecycle, ReapedChild};
use super::notices::Outsiders;
use super::state::StemNews;
use crate::run::{Outcome, Usage};
use crate::stop::{self, LeaderAlone};
use crate::sys::process::{Reap, Reaped, WaitStatus, reap};

pub(super) struct Family {
    pub(super) lifecycle: Lifecycle,
    leader_alone: LeaderAlone,
    leader_ended: Option<Instant>,
    /// What those used that were reaped so far.
    usage: Usage,
    pub(super) leftover_task: Option<LeftoverTask>,
    /// Our children that are none of the command's.
    pub(super) outsiders: Outsiders,
    /// The shell that people are told of: the leader, or the stem that it branched from. It leads the group.
    shell: i32,
    /// What the leader branched from, where it did and that is alive.
    stem: Option<Stem>,
    /// The status that a leader which branched has reported. Its own is another.
    reported: Option<i32>,
    /// Whether it was certain, when the leader reported its end, that nobody else was alive.
    was_alone: bool,
}

/// A shell of which a copy leads the run.
#[derive(Clone, Copy, Debug)]
struct Stem {
    pid: i32,
    /// The branch that waits for the next command. There is none before the leader is gone.
    next: Option<i32>,
}

impl Family {
    pub(super) fn new(leader: i32, leader_alone: LeaderAlone) -> Self {
        Self {
            lifecycle: Lifecycle::new(leader),
            leader_alone,
            leader_ended: None,
            usage: Usage::default(),
            leftover_task: None,
            outsiders: Outsiders::default(),
            shell: leader,
            stem: None,
            reported: None,
            was_alone: false,
        }
    }

    /// The same where the leader is a branch of our child `stem`.
    pub(super) fn branched(leader: i32, stem: i32, leader_alone: LeaderAlone) -> Self {
        Self { shell: stem, stem: Some(Stem { pid: stem, next: None }), ..Self::new(leader, leader_alone) }
    }

    /// Reaps everybody who has ended, up to the stem. How that ended is given: what it said before comes first, and then
    /// [`Family::note_end`].
    pub(super) fn reap(&mut self) -> Option<Reaped> {
        loop {
            match reap() {
                Reap::Ended(child) if self.stem() == Some(child.pid) => return Some(child),
                Reap::Ended(child) => self.note_end(&child),
                // A stem with a branch that waits is not a part of the run.
                Reap::NothingYet => {
                    if matches!(self.stem, Some(Stem { pid, next: Some(_) }) if stop::is_only_child(pid)) {
                        self.lifecycle.childless();
                    }
                    return None;
                }
                Reap::NoChildren => {
                    self.lifecycle.childless();
                    return None;
                }
            }
        }
    }

    /// The stem has said something of its branches. Whether anybody is left may have to be found out ([`Family::reap`]).
    pub(super) fn hear(&mut self, news: StemNews) {
        let Some(leader) = self.lifecycle.unreaped_leader().filter(|_| self.stem.is_some()) else { return };
        let status = match news {
            // It ends with 0 after its report, or waits again itself. Without a report nobody can say how its command ended,
            // as of a signal 0.
            StemNews::Waits(_) if self.reported.is_some() => WaitStatus::Exited(0),
            StemNews::Waits(_) => WaitStatus::Signaled(0),
            StemNews::Ended(status) if status > 128 => WaitStatus::Signaled(status - 128),
            StemNews::Ended(status) => WaitStatus::Exited(status),
        };
        self.note_leader_end(leader, status);
        if let (Some(stem), StemNews::Waits(next)) = (&mut self.stem, news) {
            if next != leader || self.was_alone || self.leader_alone.has_no_child() {
                stem.next = Some(next);
            } else {
                // It may not wait for another command while there is something left of this one, which comes to us then.
                stop::kill_child_of(next, stem.pid);
            }
            if next == leader && self.was_alone {
                self.lifecycle.childless();
            }
        }
    }

    /// The leader, a branch, has reported how its command ended.
    pub(super) fn leader_reports(&mut self, status: i32) {
        self.reported = Some(status);
    }

    /// The branch that waits, and its stem, where they can be used again.
    pub(super) fn waiting_branch(&self) -> Option<i32> {
        self.stem.and_then(|stem| stem.next)
    }

    /// The stem, while it is alive and the leader is a branch of it.
    pub(super) fn stem(&self) -> Option<i32> {
        self.stem.map(|stem| stem.pid)
    }

    /// The number that its shell has or had, only for the record: by now it may be somebody else's.
    pub(super) fn shell(&self) -> i32 {
        self.shell
    }

    /// The group of the run, while its leader is alive. A branch is in the group of its stem, which is our own child and not
    /// reaped, so that the number is certain.
    pub(super) fn group(&self) -> Option<i32> {
        let leader = self.lifecycle.unreaped_leader()?;
        match self.stem {
            Some(stem) => Some(stem.pid),
            None if stop::is_child(leader, stop::own_id()) => Some(leader),
            None => None,
        }
    }

    /// Whether a process is one of the run's: neither one that we started for ourselves, nor a stem or its next branch.
    pub(super) fn is_own(&self, pid: i32) -> bool {
        let is_stem = |stem: Stem| {
            stem.pid == pid || (self.lifecycle.unreaped_leader() != Some(pid) && stop::is_child(pid, stem.pid))
        };
        !self.outsiders.has(pid) && !self.stem.is_some_and(is_stem)
    }

    fn note_leader_end(&mut self, leader: i32, status: WaitStatus) {
        let status = match (status, self.reported) {
            (WaitStatus::Exited(_), Some(reported)) => WaitStatus::Exited(reported),
            (status, _) => status,
        };
        if self.lifecycle.reaped(leader, status) == ReapedChild::Leader {
            self.leader_ended = Some(Instant::now());
        }
    }

    /// The stem is gone. Its branch has come to us, unless it was gone before, of the same, and the stem could not say so.
    fn note_stem_end(&mut self, status: WaitStatus) {
        self.stem = None;
        let Some(leader) = self.lifecycle.unreaped_leader() else { return };
        if stop::is_child(leader, stop::own_id()) {
            self.leader_alone = LeaderAlone::of(leader);
            // The number that people are told is the stem's. Whoever killed that meant the leader.
            if let WaitStatus::Signaled(signal) = status {
                let _ = stop::signal_child(leader, signal);
            }
        } else {
            self.note_leader_end(leader, status);
        }
    }

    /// Notes how a child ended.
    pub(super) fn note_end(&mut self, child: &Reaped) {
        if self.outsiders.note_end(child.pid, child.status) {
            return;
        }
        if self.stem() == Some(child.pid) {
            return self.note_stem_end(child.status);
        }
        self.usage.add(child.usage);
        if self.lifecycle.unreaped_leader() == Some(child.pid) {
            self.note_leader_end(child.pid, child.status);
        } else if let Some(task) = &mut self.leftover_task {
            task.last = Outcome::from(child.status);
        }
    }

    /// Takes the shell's word that its command ran through, where nothing else of the command is alive; `false` where
    /// that is not certain, or something else has decided the ending before.
    pub(super) fn ran_through(&mut self, code: i32) -> bool {
        self.was_alone = self.leader_alone.is_certain();
        self.was_alone && self.lifecycle.ran_through(code)
    }

    /// When helpers that are just finishing have had their time; `None` while the leader runs.
    pub(super) fn settles_at(&self, settle: Duration) -> Option<Instant> {
        self.leader_ended.map(|ended| ended + settle)
    }

    pub(super) fn leader_ended(&self) -> Option<Instant> {
        self.leader_ended
    }

    pub(super) fn usage(&self) -> Usage {
        self.usage
    }
}
