//! The ending of a run: announced once, written down, and summed up.
//!
//! 1. What the leader printed is drained, so that the ending comes after all of it.
//! 2. What the command left running becomes a task of its own.
//! 3. The ending is written down and reported. Where the answer goes first, it is reported first.
//!
//! When a run is over is decided in [`super::lifecycle`].

use std::borrow::Cow;
use std::time::{Duration, Instant};

use super::boundary::Boundary;
use super::connection::{ClientRole, Peer};
use super::leftover_task::LeftoverTask;
use super::rationing::Rationing;
use super::run::KeptRun;
use super::started_shell;
use super::unattended::Unattended;
use crate::changes;
use crate::folder::Durability;
use crate::folder::record::StartRecord;
use crate::protocol::{HandedBack, Report};
use crate::run::{ChangedFiles, Ending, Lifetime, Outcome, Received, StopCause, Stream};
use crate::stop;

impl KeptRun {
    /// Reports the ending to everybody, and writes it down.
    pub(super) fn announce(&mut self, now: Instant) {
        self.drain();
        self.finish_watches();
        let Some(outcome) = self.family.lifecycle.announce() else { return };
        if self.state.is_without_command(&self.equipment.shared) {
            // The engine was gone before it could give the waiting shell its command. Nothing ran, so nothing is
            // reported to have run.
            return;
        }

        if let Some(rationing) = &mut self.rationing {
            rationing.note_end(&outcome);
        }
        let mut ending = self.summary(outcome, now);
        ending.changed = self.sum_up_changes();
        if !self.family.lifecycle.is_stopping() {
            if !ending.leftovers.is_empty() {
                self.open_door();
            }
            // Before the ending is written down, since that names the task.
            let task = LeftoverTask::create(&self.plan, &ending.leftovers, self.output.spool());
            ending.leftover_task = task.as_ref().map(|task| task.id().to_owned());
            if let Some(task) = &task {
                self.journal_leftovers(task, &ending.leftovers);
            }
            self.family.leftover_task = task;
        }
        ending.received = self.received(&ending);
        self.output.finish_transcript(&ending.outcome);
        if let Some(mut screen) = self.console.last_screen() {
            self.output.mask_screen(&mut screen);
            let _ = self.folder.write_screen(&screen);
        }

        // Written down first, as a rule: whoever receives the ending may look the run up at once.
        if !self.state.rest_follows() {
            self.record(&ending);
        }
        let caller = self.report_ending(&ending);
        if caller == Peer::Gone && ending.received == Received::All {
            ending.received = Received::Unknown;
            if !self.state.rest_follows() {
                let _ = self.folder.write_ending(&ending, self.durability());
            }
        }
        if self.state.rest_follows() {
            // Here the answer was wanted first, and whoever waits for it may be on the processor that we are on. By the
            // time anybody can ask for the records, they are there.
            rustix::thread::sched_yield();
            self.dismiss_shell();
            self.record(&ending);
        }
        self.tell_end(&ending);
        if !self.family.outsiders.is_empty() {
            self.open_door();
        }
        self.ending = Some(ending);
    }

    /// What it did to files so far, where somebody watched; written down for whoever wants to undo it.
    pub(super) fn sum_up_changes(&mut self) -> Option<ChangedFiles> {
        let recorder = self.boundary.as_mut()?.recorder()?;
        let request = self.plan.request.as_deref().map(Cow::Borrowed);
        let request = request.or_else(|| self.folder.request_text().ok().map(Cow::Owned));
        let mut changed = changes::sum_up(recorder, request.as_deref())?;
        changed.mask(|text| self.output.masked_text(text));
        Some(changed)
    }

    /// What the caller receives of the output. In doubt nothing, so that the run is kept.
    fn received(&self, ending: &Ending) -> Received {
        // A background command may end before its caller has let go of it.
        let is_awaited = self.audience.has_caller() && !self.plan.background;
        let is_shown = is_awaited && ending.stdout.written + ending.stderr.written <= self.plan.shown_whole;
        // A call that was withdrawn has no reply. What a command left running prints more.
        let is_last = ending.outcome != Outcome::Cancelled && ending.leftover_task.is_none();
        if is_shown && is_last { Received::All } else { Received::Unknown }
    }

    /// Sends everybody the ending; the caller also receives what the shell handed back. Gives whether there is still a
    /// caller.
    fn report_ending(&mut self, ending: &Ending) -> Peer {
        let mut state = if matches!(ending.outcome, Outcome::Exited(_)) {
            self.state.hand_back(self.plan.changes_nothing, &self.equipment.shared)
        } else {
            self.state.stop_reading();
            HandedBack::Nothing
        };
        self.audience.send_each(|role| {
            let nothing = HandedBack::Nothing;
            let state = if role == ClientRole::Caller { std::mem::replace(&mut state, nothing) } else { nothing };
            Report::Ended { ending: Box::new(ending.clone()), state }
        })
    }

    /// Its command has run through and is answered. All that is left for the shell is to hand back its state, if it has
    /// any to hand back.
    fn dismiss_shell(&self) {
        match self.family.lifecycle.unreaped_leader() {
            // A branch ends by itself.
            _ if self.stem.is_some() => {}
            Some(pid) if self.plan.changes_nothing => started_shell::kill(pid),
            _ => self.equipment.shared.release_shell(),
        }
    }

    /// Whoever learns of the run can come. A command that has ended before anybody does needs no door, and to make one takes
    /// as long as the command.
    pub(super) fn open_door(&mut self) {
        let folder = &self.folder;
        self.audience.open(|| folder.open_door().ok());
    }

    /// Lets others know of the run.
    pub(super) fn make_known(&mut self) {
        self.open_door();
        self.record_start();
    }

    /// Writes down what was asked for and who runs it, unless that was done. On a full disk the command still runs; it
    /// only cannot be looked up later.
    fn record_start(&mut self) {
        if let Some(request) = self.plan.request.take() {
            self.clock.start_is_recorded();
            let _ = self.folder.write_request_text(&request);
            let _ = self.folder.write_start(StartRecord::of(self.family.shell()));
        }
    }

    fn record(&mut self, ending: &Ending) {
        // In this order: an ending without a request reads as damaged.
        self.record_start();
        // Before the record of the ending: whoever sees that may look into the journal at once.
        self.journal_end(ending);
        let _ = self.folder.write_ending(ending, self.durability());
    }

    fn durability(&self) -> Durability {
        if self.plan.lifetime == Lifetime::Durable { Durability::Synced } else { Durability::Cached }
    }

    /// Writes down how the leftovers ended, where there were any; gives their id and that.
    pub(super) fn record_leftovers(&self) -> Option<(String, Ending)> {
        let task = self.family.leftover_task.as_ref()?;
        // There is such a task only where nobody had stopped the run before its end, so a stop was about it alone.
        let stopped = self.family.lifecycle.stop_cause().map(Outcome::from);
        let ending = task.sum_up(self.summary(Outcome::Lost, Instant::now()), stopped);
        self.journal_leftovers_end(task, &ending);
        task.record(&ending);
        Some((task.id().to_owned(), ending))
    }

    fn summary(&self, outcome: Outcome, now: Instant) -> Ending {
        let lifecycle = &self.family.lifecycle;
        // Where the shell reported the end, it was certain that nobody but itself was left.
        let nobody = lifecycle.is_childless() || self.state.rest_follows();
        let is_own = |pid| self.family.is_own(pid);
        let alive = if nobody { Vec::new() } else { stop::alive(is_own, |line| self.output.masked_text(line)) };

        // What is alive after a stop has survived it; after any other end it was left running.
        let cause = lifecycle.stop_cause();
        let (leftovers, survivors) = if cause.is_some() { (Vec::new(), alive) } else { (alive, Vec::new()) };
        let end = if cause.is_some() { now } else { self.family.leader_ended().unwrap_or(now) };
        Ending {
            outcome,
            limit: if let Some(StopCause::TimedOut(limit)) = cause { Some(limit) } else { None },
            leftovers,
            leftover_task: None,
            survivors,
            hung_up: self.unattended.as_ref().and_then(Unattended::program).map(str::to_owned),
            refused: self.boundary.as_ref().map(|boundary| boundary.refused().to_vec()).unwrap_or_default(),
            connected: self.boundary.as_ref().and_then(Boundary::connected),
            exhausted: self.rationing.as_ref().and_then(Rationing::exhausted),
            changed: None,
            // The shell itself has not been reaped then.
            usage: (!self.state.rest_follows() && self.stem.is_none()).then(|| self.family.usage()),
            wall_us: micros(end.duration_since(self.clock.started())),
            stdout: self.output.totals(Stream::Stdout),
            stderr: self.output.totals(Stream::Stderr),
            received: Received::Unknown,
        }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
