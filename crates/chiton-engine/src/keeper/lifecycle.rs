//! The one ending of a run, whatever happens at the same time.
//!
//! A pure state machine: the keeper tells it what happened and asks what follows. The rules:
//! - The first of "the leader ended" and "stop" decides how the run is said to have ended.
//! - A run that is being stopped is over when no descendant is left; one that ended by itself also when the time for
//!   helpers that are just finishing is over.
//! - The ending is announced once.
//! - A shell may say that its command has run through before it ends itself; then that is the ending.

use crate::run::StopCause;
use crate::run::{Outcome, Signal};
use crate::sys::process::WaitStatus;

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lifecycle {
    leader: Leader,
    leader_id: i32,
    /// Decided by whatever came first; `None` while it runs undisturbed.
    outcome: Option<Outcome>,
    stopping: bool,
    childless: bool,
    announced: bool,
    /// The shell has told its end.
    told: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leader {
    Running(i32),
    Ended,
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

impl Lifecycle {
    pub(super) fn new(leader_id: i32) -> Self {
        let leader = Leader::Running(leader_id);
        Self { leader, leader_id, outcome: None, stopping: false, childless: false, announced: false, told: false }
    }

    /// A child was reaped; `true` if it was the leader.
    pub(super) fn reaped(&mut self, pid: i32, status: WaitStatus) -> bool {
        if self.leader != Leader::Running(pid) {
            return false;
        }
        self.leader = Leader::Ended;
        self.outcome.get_or_insert_with(|| ended_by_itself(status));
        true
    }

    /// The shell says that its command ran through, and nobody else is left of it; `false` if that is not news.
    pub(super) fn ran_through(&mut self, code: i32) -> bool {
        let news = matches!(self.leader, Leader::Running(_)) && self.outcome.is_none();
        if news {
            self.outcome = Some(Outcome::Exited(code));
            self.told = true;
        }
        news
    }

    /// No descendant is left.
    pub(super) fn childless(&mut self) {
        self.childless = true;
    }

    /// Somebody wants it stopped.
    pub(super) fn stop(&mut self, cause: StopCause) -> StopEffect {
        if self.childless {
            return StopEffect::Nothing;
        }
        if self.stopping {
            return StopEffect::Hurry;
        }
        self.stopping = true;
        self.outcome.get_or_insert_with(|| cause.into());
        StopEffect::Begin
    }

    /// Whether the ending can be announced now.
    pub(super) fn is_over(&self, settled: bool, overdue: bool) -> bool {
        match self.leader {
            _ if self.announced => false,
            _ if self.childless || self.told => true,
            Leader::Running(_) => overdue,
            Leader::Ended => {
                if self.stopping {
                    overdue
                } else {
                    settled
                }
            }
        }
    }

    /// The ending, once.
    pub(super) fn announce(&mut self) -> Option<Outcome> {
        if std::mem::replace(&mut self.announced, true) {
            return None;
        }
        Some(self.outcome.clone().unwrap_or(Outcome::Lost))
    }

    pub(super) fn unreaped_leader(&self) -> Option<i32> {
        if let Leader::Running(pid) = self.leader { Some(pid) } else { None }
    }

    /// The shell, whether it is still there or not.
    pub(super) fn leader(&self) -> i32 {
        self.leader_id
    }

    pub(super) fn is_childless(&self) -> bool {
        self.childless
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping
    }

    pub(super) fn is_announced(&self) -> bool {
        self.announced
    }
}

fn ended_by_itself(status: WaitStatus) -> Outcome {
    match status {
        WaitStatus::Exited(code) => Outcome::Exited(code),
        WaitStatus::Signaled(number) => Signal::from_number(number).map_or(Outcome::Lost, Outcome::Signaled),
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
                        assert!(run.reaped(7, WaitStatus::Exited(3)));
                    }
                    Event::OtherChildEnds => assert!(!run.reaped(8, WaitStatus::Exited(0))),
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
