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
use crate::run::{Outcome, Usage};
use crate::stop::LeaderAlone;
use crate::sys::process::{Reap, Reaped, reap};

pub(super) struct Family {
    pub(super) lifecycle: Lifecycle,
    leader_alone: LeaderAlone,
    leader_ended: Option<Instant>,
    /// What those used that were reaped so far.
    usage: Usage,
    pub(super) leftover_task: Option<LeftoverTask>,
    /// Our children that are none of the command's.
    pub(super) outsiders: Outsiders,
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
        }
    }

    /// Reaps everybody who has ended.
    pub(super) fn reap(&mut self) {
        loop {
            match reap() {
                Reap::Ended(child) => self.note_end(&child),
                Reap::NothingYet => return,
                Reap::NoChildren => return self.lifecycle.childless(),
            }
        }
    }

    /// Notes how a child ended.
    pub(super) fn note_end(&mut self, child: &Reaped) {
        if self.outsiders.note_end(child.pid, child.status) {
            return;
        }
        self.usage.add(child.usage);
        if self.lifecycle.reaped(child.pid, child.status) == ReapedChild::Leader {
            self.leader_ended = Some(Instant::now());
        } else if let Some(task) = &mut self.leftover_task {
            task.last = Outcome::from(child.status);
        }
    }

    /// Takes the shell's word that its command ran through, where nothing else of the command is alive; `false` where
    /// that is not certain, or something else has decided the ending before.
    pub(super) fn ran_through(&mut self, code: i32) -> bool {
        self.leader_alone.is_certain() && self.lifecycle.ran_through(code)
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
