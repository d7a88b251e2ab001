//! Everything about a run that is due at a time.
//!
//! 1. The [`Deadlines`] of the command, until it is told to stop.
//! 2. The [`Ladder`] that a stop goes down, from then on.
//! 3. Two things that a keeper puts off because most commands have ended by then: writing down that the command began,
//!    and giving back memory.
//!
//! Nothing here ticks: the loop asks what is due next, sleeps until then, and does it.

use std::time::{Duration, Instant};

use rustix::event::Timespec;

use super::deadlines::{Deadlines, OutputFlow};
use crate::limits::StopLimits;
use crate::protocol::RunPlan;
use crate::run::TimeLimit;
use crate::stop::Ladder;

/// For a command that takes longer than this, latency is not what matters any more.
const LONG_RUN: Duration = Duration::from_millis(250);
/// A command that has ended by then is answered before anything is written down about it: the record of its start
/// then comes together with that of its end.
const SHORT_RUN: Duration = Duration::from_millis(1);

pub(super) struct Clock {
    started: Instant,
    deadlines: Deadlines,
    /// From the moment that somebody wants the run stopped.
    ladder: Option<Ladder>,
    slim_at: Option<Instant>,
    /// Where writing down the start was left to this keeper.
    record_at: Option<Instant>,
}

impl Clock {
    pub(super) fn new(started: Instant, plan: &RunPlan) -> Self {
        Self {
            started,
            deadlines: Deadlines::new(started, plan.timeout, plan.silence),
            ladder: None,
            slim_at: Some(started + LONG_RUN),
            record_at: plan.request.is_some().then(|| started + SHORT_RUN),
        }
    }

    pub(super) fn started(&self) -> Instant {
        self.started
    }

    /// The command has printed something, or could not have.
    pub(super) fn note_output(&mut self, now: Instant) {
        self.deadlines.note_output(now);
    }

    /// When the command's time is over, if nothing happens before.
    pub(super) fn deadline(&self, flow: OutputFlow) -> Option<Instant> {
        self.deadlines.next(flow).map(|(time, _)| time)
    }

    /// The limit that was reached, once: a command is stopped for one reason.
    pub(super) fn take_reached_limit(&mut self, now: Instant) -> Option<TimeLimit> {
        self.deadlines.reached(now).inspect(|_| self.deadlines.clear())
    }

    /// The command may take as long as it wants.
    pub(super) fn lift_limits(&mut self) {
        self.deadlines.clear();
    }

    /// When the ladder has its next step to do.
    pub(super) fn ladder_due(&self) -> Option<Instant> {
        self.ladder.as_ref().map(Ladder::wake_at)
    }

    /// Whether something has survived being killed for longer than anybody waits.
    pub(super) fn is_overdue(&self, now: Instant) -> bool {
        self.ladder.as_ref().is_some_and(|ladder| ladder.overdue(now))
    }

    /// Asks everybody to end. `leader` is the command's group while it is not reaped.
    pub(super) fn start_ladder(&mut self, leader: Option<i32>, limits: StopLimits, now: Instant) {
        self.ladder = Some(Ladder::start(leader, limits, now));
    }

    /// Shortens the grace of a ladder that is on its way.
    pub(super) fn hurry_ladder(&mut self, grace: Duration, now: Instant) {
        if let Some(ladder) = &mut self.ladder {
            ladder.hurry(grace, now);
        }
    }

    pub(super) fn ladder_mut(&mut self) -> Option<&mut Ladder> {
        self.ladder.as_mut()
    }

    /// The nearer of the two things that were put off.
    pub(super) fn put_off_until(&self) -> Option<Instant> {
        self.slim_at.into_iter().chain(self.record_at).min()
    }

    /// Whether it is time to write down that the command began.
    pub(super) fn is_time_to_record(&self, now: Instant) -> bool {
        self.record_at.is_some_and(|time| now >= time)
    }

    /// The start was written down.
    pub(super) fn start_is_recorded(&mut self) {
        self.record_at = None;
    }

    /// Whether the command turns out to take long, so that its keeper gives back memory. Once.
    pub(super) fn take_time_to_slim(&mut self, now: Instant) -> bool {
        self.slim_at.take_if(|time| now >= *time).is_some()
    }
}

/// Rounded up to the microsecond: a wait must never end just before what it waits for is due, since the loop would then
/// find nothing to do and wait again, over and over.
pub(super) fn timespec(duration: Duration) -> Timespec {
    let rounded = duration + Duration::from_micros(1);
    Timespec {
        tv_sec: i64::try_from(rounded.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(rounded.subsec_nanos()),
    }
}
