//! The one ending of a run, whatever happens at the same time.
//!
//! A pure state machine without a clock: the keeper reports what happened and asks what follows. The rules:
//! 1. The first of "the leader ended", "the command ran through" and "stop" decides how the run ended.
//! 2. A run that is being stopped is over when no descendant is left; one that ended by itself is over then too, or when
//!    the time for helpers that are just finishing has passed.
//! 3. A shell may report that its command ran through before it ends itself; then the run is over at once.
//! 4. The ending is announced once. After that only what the command left running can still be stopped.

use crate::run::StopCause;
use crate::run::{Outcome, Signal};
use crate::sys::process::WaitStatus;

/// Where a run stands, and the shell that leads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lifecycle {
    phase: Phase,
}

/// Each phase holds what is known in it and nothing else: there is no outcome before something has decided it, no
/// process id of a leader that was reaped, and no second announcement.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// The leader runs, and nothing has decided the ending.
    Running { leader: i32 },
    /// The leader ended by itself. Helpers may still be bringing their output.
    Settling { outcome: Outcome, others: Others },
    /// The shell reported that its command ran through, which decides the ending; the shell itself may live on for a
    /// moment, and somebody may ask to stop in that moment.
    RanThrough { code: i32, alive: Alive, stopped: Option<StopCause> },
    /// Everything was told to end. The outcome is that of this cause, or of the leader that had ended before.
    Stopping { cause: StopCause, outcome: Outcome, alive: Alive },
    /// The ending is out. What is still alive are leftovers, or survivors of a stop.
    Announced { alive: Alive, stopped: Option<StopCause> },
}

/// Which processes of the run are alive, as far as they were reaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alive {
    /// The leader, and maybe others.
    Leader(i32),
    /// The leader was reaped.
    Only(Others),
}

/// Which processes besides the leader are alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Others {
    /// There may be some.
    Possible,
    /// The kernel says that we have no child, so nobody descends from us.
    Gone,
}

/// What a request to stop has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopEffect {
    /// Start asking everybody to end.
    Begin,
    /// That has begun already.
    Hurry,
    /// There is nobody to stop.
    Nothing,
}

/// Whether a child that was reaped led the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReapedChild {
    Leader,
    Other,
}

impl Lifecycle {
    pub(super) fn new(leader: i32) -> Self {
        Self { phase: Phase::Running { leader } }
    }

    /// A child was reaped.
    pub(super) fn reaped(&mut self, pid: i32, status: WaitStatus) -> ReapedChild {
        // From now on the kernel may give the leader's number to anybody, so every phase forgets it here.
        if self.unreaped_leader() != Some(pid) {
            return ReapedChild::Other;
        }
        match &mut self.phase {
            Phase::Running { .. } => {
                self.phase = Phase::Settling { outcome: Outcome::from(status), others: Others::Possible };
            }
            Phase::Settling { .. } => {}
            Phase::RanThrough { alive, .. } | Phase::Stopping { alive, .. } | Phase::Announced { alive, .. } => {
                *alive = Alive::Only(Others::Possible);
            }
        }
        ReapedChild::Leader
    }

    /// The shell reports that its command ran through, and nobody else is left of it; `false` if something else has
    /// decided the ending before.
    pub(super) fn ran_through(&mut self, code: i32) -> bool {
        let Phase::Running { leader } = self.phase else { return false };
        self.phase = Phase::RanThrough { code, alive: Alive::Leader(leader), stopped: None };
        true
    }

    /// No descendant is left.
    pub(super) fn childless(&mut self) {
        match &mut self.phase {
            // The kernel lets nobody lose a child without reaping it. Were it to happen, nobody could say how it ended.
            Phase::Running { .. } => {
                self.phase = Phase::Settling { outcome: Outcome::Lost, others: Others::Gone };
            }
            Phase::Settling { others, .. } => *others = Others::Gone,
            Phase::RanThrough { alive, .. } | Phase::Stopping { alive, .. } | Phase::Announced { alive, .. } => {
                *alive = Alive::Only(Others::Gone);
            }
        }
    }

    /// Somebody wants it stopped. The first cause stays the cause.
    pub(super) fn stop(&mut self, cause: StopCause) -> StopEffect {
        if self.is_childless() {
            return StopEffect::Nothing;
        }
        match &mut self.phase {
            Phase::Running { leader } => {
                let alive = Alive::Leader(*leader);
                self.phase = Phase::Stopping { cause, outcome: cause.into(), alive };
            }
            // The leader's own end came first, so that remains the outcome.
            Phase::Settling { outcome, others } => {
                let (outcome, alive) = (outcome.clone(), Alive::Only(*others));
                self.phase = Phase::Stopping { cause, outcome, alive };
            }
            Phase::RanThrough { stopped: stopped @ None, .. } | Phase::Announced { stopped: stopped @ None, .. } => {
                *stopped = Some(cause);
            }
            Phase::RanThrough { .. } | Phase::Stopping { .. } | Phase::Announced { .. } => return StopEffect::Hurry,
        }
        StopEffect::Begin
    }

    /// Whether the ending can be announced now. `settled`: the time for helpers has passed. `overdue`: something has
    /// survived being killed for longer than anybody waits.
    pub(super) fn is_over(&self, settled: bool, overdue: bool) -> bool {
        match &self.phase {
            Phase::Announced { .. } => false,
            _ if self.is_childless() => true,
            Phase::Running { .. } => false,
            Phase::RanThrough { .. } => true,
            Phase::Settling { .. } => settled,
            Phase::Stopping { .. } => overdue,
        }
    }

    /// The ending, once; `None` while nothing has decided it, and after it was given.
    pub(super) fn announce(&mut self) -> Option<Outcome> {
        let (outcome, alive, stopped) = match &self.phase {
            Phase::Running { .. } | Phase::Announced { .. } => return None,
            Phase::Settling { outcome, others } => (outcome.clone(), Alive::Only(*others), None),
            Phase::RanThrough { code, alive, stopped } => (Outcome::Exited(*code), *alive, *stopped),
            Phase::Stopping { cause, outcome, alive } => (outcome.clone(), *alive, Some(*cause)),
        };
        self.phase = Phase::Announced { alive, stopped };
        Some(outcome)
    }

    /// The leader, while its number is certainly its own.
    pub(super) fn unreaped_leader(&self) -> Option<i32> {
        if let Alive::Leader(pid) = self.alive() { Some(pid) } else { None }
    }

    pub(super) fn is_childless(&self) -> bool {
        self.alive() == Alive::Only(Others::Gone)
    }

    /// Why it was told to stop, before its ending was announced or after.
    pub(super) fn stop_cause(&self) -> Option<StopCause> {
        match &self.phase {
            Phase::Running { .. } | Phase::Settling { .. } => None,
            Phase::RanThrough { stopped, .. } | Phase::Announced { stopped, .. } => *stopped,
            Phase::Stopping { cause, .. } => Some(*cause),
        }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stop_cause().is_some()
    }

    pub(super) fn is_announced(&self) -> bool {
        matches!(self.phase, Phase::Announced { .. })
    }

    fn alive(&self) -> Alive {
        match self.phase {
            Phase::Running { leader } => Alive::Leader(leader),
            Phase::Settling { others, .. } => Alive::Only(others),
            Phase::RanThrough { alive, .. } | Phase::Stopping { alive, .. } | Phase::Announced { alive, .. } => alive,
        }
    }
}

impl From<WaitStatus> for Outcome {
    /// How a process ended that nobody here stopped.
    fn from(status: WaitStatus) -> Self {
        match status {
            WaitStatus::Exited(code) => Self::Exited(code),
            WaitStatus::Signaled(number) => Signal::from_number(number).map_or(Self::Lost, Self::Signaled),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::TimeLimit;

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Event {
        RunsThrough,
        LeaderEnds,
        OtherChildEnds,
        TimesOut,
        Cancel,
        Kill,
        LastChildGone,
        SettleOver,
        Overdue,
    }

    const EVENTS: [Event; 9] = [
        Event::RunsThrough,
        Event::LeaderEnds,
        Event::OtherChildEnds,
        Event::TimesOut,
        Event::Cancel,
        Event::Kill,
        Event::LastChildGone,
        Event::SettleOver,
        Event::Overdue,
    ];

    /// Every order of every subset of what can happen, each at most once, as far as the kernel allows it.
    fn orders(prefix: &mut Vec<Event>, check: &mut impl FnMut(&[Event])) {
        check(prefix);
        for event in EVENTS {
            let happened = |event| prefix.contains(&event);
            let possible = !happened(event)
                && (event != Event::RunsThrough || !happened(Event::LeaderEnds))
                && (event != Event::LastChildGone || happened(Event::LeaderEnds))
                && !(happened(Event::LastChildGone) && matches!(event, Event::LeaderEnds | Event::OtherChildEnds));
            if possible {
                prefix.push(event);
                orders(prefix, check);
                prefix.pop();
            }
        }
    }

    #[test]
    fn in_every_interleaving_there_is_exactly_one_ending_and_the_first_cause_wins() {
        let mut seen = 0;
        orders(&mut Vec::new(), &mut |events| {
            seen += 1;
            let mut run = Lifecycle::new(7);
            let (mut settled, mut overdue) = (false, false);
            let mut endings = Vec::new();
            let mut first = None;
            for event in events {
                match event {
                    Event::RunsThrough => {
                        assert_eq!(run.ran_through(3), first.is_none());
                        first = first.or(Some(Outcome::Exited(3)));
                    }
                    Event::LeaderEnds => {
                        first = first.or(Some(Outcome::Exited(3)));
                        assert_eq!(run.reaped(7, WaitStatus::Exited(3)), ReapedChild::Leader);
                    }
                    Event::OtherChildEnds => assert_eq!(run.reaped(8, WaitStatus::Exited(0)), ReapedChild::Other),
                    Event::TimesOut | Event::Cancel | Event::Kill => {
                        let cause = match event {
                            Event::TimesOut => StopCause::TimedOut(TimeLimit::Timeout),
                            Event::Cancel => StopCause::Cancelled,
                            _ => StopCause::Killed,
                        };
                        let childless = run.is_childless();
                        let effect = run.stop(cause);
                        assert_eq!(effect == StopEffect::Nothing, childless);
                        if !childless {
                            first = first.or(Some(cause.into()));
                        }
                    }
                    Event::LastChildGone => run.childless(),
                    Event::SettleOver => settled = true,
                    Event::Overdue => overdue = true,
                }
                if run.is_over(settled, overdue) {
                    endings.extend(run.announce());
                    assert_eq!(run.announce(), None, "{events:?}");
                }
            }
            assert!(endings.len() <= 1, "{events:?}: {endings:?}");
            if let Some(ending) = endings.first().filter(|ending| **ending != Outcome::Lost) {
                assert_eq!(Some(ending), first.as_ref(), "{events:?}");
            }
            if events.contains(&Event::LastChildGone) {
                assert_eq!(endings.len(), 1, "{events:?}: a run of which nobody is left has ended");
            }
        });
        assert!(seen > 20_000, "only {seen} interleavings");
    }
}
