//! What others ask of a run, and what they are answered.
//!
//! 1. [`KeptRun::obey`] carries out one request and sends its answer on the connection it came over.
//! 2. Some requests change what the connection is to the run: a holder, a watcher, a window.
//!
//! Whoever can reach the socket is the same user, so nothing is asked about permission here.

use std::time::Instant;

use super::connection::{ClientRole, Watched, WindowUse};
use super::run::KeptRun;
use crate::protocol::{Control, Denial, HandedBack, Report};
use crate::run::Lifetime;
use crate::stop;

impl KeptRun {
    /// Carries out a request that came over connection `index`, and answers it.
    pub(super) fn obey(&mut self, index: usize, control: Control) {
        let answer = match control {
            // Answered by the ending, when that has come.
            Control::Stop { cause, grace } => return self.stop(cause, grace),
            Control::Taken(bytes) => return self.acknowledge(index, bytes),
            Control::HandOver { lifetime } => self.hand_over(index, lifetime),
            Control::Watch => self.watch(index, Watched::Output),
            Control::WatchInput => self.watch(index, Watched::OutputAndInput),
            Control::Attend => self.watch(index, Watched::Input),
            Control::Input(bytes) => Report::Answer(self.while_running().and_then(|()| self.console.write(&bytes))),
            Control::Reader => {
                let leader = self.family.lifecycle.unreaped_leader();
                Report::Reader(Box::new(self.console.report_reader(leader)))
            }
            Control::After { writes, .. } if writes != self.console.writes() => Report::Answer(Err(Denial::Overtaken)),
            Control::After { then, .. } => return self.obey(index, *then),
            Control::EndInput => Report::Answer(self.while_running().and_then(|()| self.console.end_input())),
            Control::Signal(number) => Report::Answer(self.signal(number)),
            Control::Look => self.look().unwrap_or_else(no_terminal),
            Control::Type { what, typist, masks } => {
                // Before anything is typed: a program may print what it reads at once.
                self.output.mask(masks);
                Report::Answer(self.while_running().and_then(|()| self.console.type_in(&what, typist)))
            }
            Control::Resize(size) => Report::Answer(self.console.resize(size)),
            Control::Attach { typist } => {
                let use_of_it = if typist.is_some() { WindowUse::Types } else { WindowUse::LooksOn };
                self.set_role(index, ClientRole::Window(use_of_it));
                self.look().unwrap_or_else(no_terminal)
            }
            Control::Release => Report::Answer(self.release()),
            Control::AwaitRelease => return self.await_release(index),
            Control::AddWatch { task, pattern, since } => self.add_watch(&task, &pattern, since),
            Control::RemoveWatches { task, pattern } => self.remove_watches(&task, pattern.as_deref()),
            Control::Follow { pattern, since } => self.follow(index, &pattern, since),
        };
        if let Some(connection) = self.audience.get_mut(index) {
            // One that is gone is noticed in the next round.
            let _ = connection.send(&answer);
        }
    }

    /// The terminal as it is now; `None` where there is none.
    pub(super) fn look(&mut self) -> Option<Report> {
        let mut look = self.console.look(self.audience.people())?;
        self.output.mask_screen(&mut look.screen);
        if let Some(wait) = &mut look.waits {
            wait.prompt =
                String::from_utf8_lossy(&self.output.masked_text(wait.prompt.clone().into_bytes())).into_owned();
        }
        Some(Report::Look(Box::new(look)))
    }

    fn acknowledge(&mut self, index: usize, bytes: u64) {
        if let Some(connection) = self.audience.get_mut(index) {
            connection.acknowledge(bytes);
        }
    }

    /// Makes the run a task. The records are written before the answer goes out: whoever receives that can look the task
    /// up at once.
    fn hand_over(&mut self, index: usize, lifetime: Lifetime) -> Report {
        // The last report of output on this connection, so nothing may be left over.
        self.report_spooled();
        self.make_known();
        (self.plan.lifetime, self.plan.background) = (lifetime, true);
        self.set_role(index, ClientRole::Holder);
        if let Some(mut record) = self.folder.request().ok().filter(|record| !record.background) {
            record.background = true;
            record.lifetime = lifetime;
            let _ = self.folder.write_request(&record);
        }
        if self.tells_person() {
            // It may wait for somebody to type already: then a person is told now.
            self.console.check_soon(Instant::now());
        }
        Report::HandedOver
    }

    /// Makes a connection a watcher. It is answered with how things stand, so that nothing that happened before it came
    /// is missed.
    fn watch(&mut self, index: usize, watched: Watched) -> Report {
        self.set_role(index, ClientRole::Watcher(watched));
        if watched.wants_input() {
            self.console.check_soon(Instant::now());
        }
        match &self.ending {
            Some(ending) => Report::Ended { ending: Box::new(ending.clone()), state: HandedBack::Nothing },
            None => self.growth(),
        }
    }

    /// Has the calls that wait for the run return while it goes on. The time limit of such a call does not hold for what
    /// goes on without it: a person has decided otherwise.
    fn release(&mut self) -> Result<(), Denial> {
        self.while_running()?;
        let is_awaited = self.audience.has_caller();
        if self.audience.release_calls() == 0 {
            return Err(Denial::Because("no call waits for it: it runs in the background already".to_owned()));
        }
        if is_awaited {
            self.clock.lift_limits();
        }
        Ok(())
    }

    fn await_release(&mut self, index: usize) {
        if let Some(connection) = self.audience.get_mut(index) {
            connection.await_release();
        }
    }

    fn set_role(&mut self, index: usize, role: ClientRole) {
        if let Some(connection) = self.audience.get_mut(index) {
            connection.set_role(role);
        }
    }

    fn while_running(&self) -> Result<(), Denial> {
        self.family.lifecycle.unreaped_leader().map(|_| ()).ok_or(Denial::Ended)
    }

    fn signal(&self, number: i32) -> Result<(), Denial> {
        stop::signal_run(self.family.group(), number)
    }
}

fn no_terminal() -> Report {
    Report::Answer(Err(Denial::NoTerminal))
}
