//! The life of one command, driven by events: signals, pipes, messages, times.
//!
//! 1. [`keep`] takes over a shell that was started, and loops: it sleeps until something happens or is due, and calls
//!    one function for each event. Nothing ticks.
//! 2. Output is moved in [`super::output`], requests are answered in [`super::requests`], times kept in
//!    [`super::clock`], children reaped in [`super::family`].
//! 3. When the run is over, its ending is announced ([`super::ending`]); the loop goes on until nobody is left.
//!
//! Within a round only one order matters: children are reaped before deadlines are checked, so that a command that
//! ended in time is never reported as timed out. Which ending counts is decided in [`super::lifecycle`].

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::Equipment;
use super::audience::Audience;
use super::boundary::Boundary;
use super::clock::{Clock, timespec};
use super::connection::{ClientRole, Peer, RunConnection};
use super::console::Console;
use super::deadlines::OutputFlow;
use super::family::Family;
use super::lifecycle::StopEffect;
use super::notices::Told;
use super::output::OutputPump;
use super::rationing::{Allowance, Rationing};
use super::started_shell::{Enclosed, StartedShell, Stem};
use super::state::{StateInbox, Tells};
use super::terminal::HeldTerminal;
use super::unattended::Unattended;
use super::watches::Watches;
use crate::folder::RunFolder;
use crate::protocol::{FrameBuffer, Report, RunPlan};
use crate::run::{Ending, Lifetime, StopCause, Stream};
use crate::stop::LeaderAlone;
use crate::sys::memory::release_files;
use crate::sys::process::Reaped;

/// A run and everything its keeper holds of it.
pub(super) struct KeptRun {
    pub(super) plan: RunPlan,
    pub(super) folder: RunFolder,
    pub(super) equipment: Equipment,
    pub(super) output: OutputPump,
    pub(super) console: Console,
    /// Looks for programs that wait for keys, where there is no terminal.
    pub(super) unattended: Option<Unattended>,
    pub(super) audience: Audience,
    pub(super) clock: Clock,
    pub(super) family: Family,
    /// What the shell has reported of its state so far.
    pub(super) state: StateInbox,
    /// Answers calls of a sandboxed run.
    pub(super) boundary: Option<Boundary>,
    /// Nobody is left who could make calls.
    boundary_over: bool,
    /// While it is open, names lead out of its network.
    network: Option<OwnedFd>,
    /// What the leader branched from.
    pub(super) stem: Option<Stem>,
    /// Keeps the limits of a sandboxed run.
    pub(super) rationing: Option<Rationing>,
    /// Where somebody watches for lines.
    pub(super) watches: Option<Box<Watches>>,
    /// What a person was told of it.
    pub(super) told: Told,
    /// Once it is announced.
    pub(super) ending: Option<Ending>,
}

/// What a keeper can do after a run.
pub(super) enum AfterRun {
    /// Nothing is left of the run, and the engine is still there: another order can come. There may be a stem of which a
    /// branch waits.
    Free((UnixStream, FrameBuffer), Equipment, Option<Box<FreeStem>>),
    /// That was the last one.
    Over,
}

/// A stem between two runs, and what holds it.
pub(super) type FreeStem = (Stem, Option<Enclosed>);

/// What an event is about.
#[derive(Clone, Copy)]
enum EventSource {
    Signals,
    State,
    Boundary,
    Door,
    Connection(usize),
    Input,
    Pipe(Stream),
}

/// Keeps a run whose shell was started, and may have ended already, until nothing of it is left. `started` is when its
/// command could begin.
pub(super) fn keep(
    plan: RunPlan,
    (shell, ended): (StartedShell, Option<Reaped>),
    started: Instant,
    caller: RunConnection,
    equipment: Equipment,
) -> AfterRun {
    let StartedShell {
        pid, leader_alone, folder, alive, door, masking, pipes, input, terminal, enclosed, stem, ..
    } = shell;
    let branch = stem.as_ref().and_then(|stem| stem.branch).filter(|_| plan.in_branch);
    let family = match branch {
        Some(branch) => Family::branched(branch, pid, leader_alone),
        None if stem.is_none() => Family::new(pid, leader_alone),
        // A stem that runs the command itself is a shell like any other.
        None => Family::new(pid, LeaderAlone::of(pid)),
    };
    let stem = stem.filter(|_| branch.is_some());
    let tells = if plan.changes_nothing { Tells::Ending } else { Tells::Part };
    let (boundary, rationing, network) = match enclosed {
        Some(mut enclosed) => {
            enclosed.rationing.begin();
            if let Some(boundary) = &mut enclosed.boundary {
                boundary.begin(folder.id());
            }
            (enclosed.boundary, Some(enclosed.rationing), enclosed.network)
        }
        None => (None, None, None),
    };
    let terminal = terminal.map(|(ends, size)| HeldTerminal::new(ends, size, &plan.folder, started));
    let output = OutputPump::new(&plan, pipes, masking);
    let unattended = terminal.is_none().then(|| Unattended::new(&output, started));
    let mut run = KeptRun {
        console: Console::new(input, terminal),
        output,
        unattended,
        audience: Audience::new(caller, door),
        clock: Clock::new(started, &plan),
        family,
        state: if stem.is_some() { StateInbox::of_branch(tells) } else { StateInbox::default() },
        boundary,
        boundary_over: false,
        network,
        stem,
        rationing,
        watches: None,
        told: Told::default(),
        ending: None,
        equipment,
        folder,
        plan,
    };

    if run.plan.request.is_none() {
        run.open_door();
    }
    // Where the answer does not go first, the shell need not wait for us between its first report and the rest.
    if !run.plan.answer_first {
        run.equipment.shared.release_shell();
    }
    // Requests that arrived in one piece with the order are in the inbox already, so no event will announce them.
    for control in run.audience.get_mut(0).and_then(RunConnection::received).unwrap_or_default() {
        run.obey(0, control);
    }
    // A shell that ended while it waited was reaped there, and its signal was taken.
    if let Some(child) = ended {
        run.hear_stem();
        run.family.note_end(&child);
        run.reap();
    }
    run.run(alive)
}

impl KeptRun {
    fn run(mut self, alive: OwnedFd) -> AfterRun {
        loop {
            let now = Instant::now();
            self.step_ladder(now);
            if self.is_over(now) {
                self.announce(now);
            }
            if self.is_done() {
                break;
            }
            self.wait(now);
        }
        self.conclude(alive)
    }

    fn is_over(&self, now: Instant) -> bool {
        let settled = self.family.settles_at(self.plan.stop.settle).is_some_and(|time| now >= time);
        self.family.lifecycle.is_over(settled, self.clock.is_overdue(now))
    }

    /// Whether nobody is left of the run, nor of what we started for it, and its caller has received everything.
    fn is_done(&self) -> bool {
        let lifecycle = &self.family.lifecycle;
        let is_alone = lifecycle.is_childless() && self.family.outsiders.is_empty();
        lifecycle.is_announced() && is_alone && !self.audience.has_unsent_for_caller()
    }

    /// Nobody is left: what remains is written down and sent, and everything is closed, in this order.
    fn conclude(mut self, alive: OwnedFd) -> AfterRun {
        let left = self.record_leftovers();
        // What it left running may have gone on changing files.
        if left.is_some() {
            self.sum_up_changes();
        }
        if self.state.rest_follows() && !self.plan.changes_nothing && self.stem.is_none() {
            let state = self.state.take(&self.equipment.shared);
            self.audience.send_caller_and_wait(&Report::State(state));
        }

        // The locks before the connections: whoever sees a connection end may count on the run not being alive any
        // more. And the socket's name before the locks: a run that is not alive has none.
        if self.audience.door().is_some() {
            self.folder.close_door();
        }
        drop(self.family.leftover_task.take());
        drop(alive);
        if let Some((id, ending)) = left {
            self.tell_leftovers_end(&id, &ending);
        }

        // A keeper that has a terminal led its session, and cannot lead another: that was its last run.
        let is_last = self.console.has_terminal();
        let stem = self.free_stem();
        match self.audience.into_caller().filter(|_| !is_last) {
            Some(caller) => AfterRun::Free(caller, self.equipment, stem),
            None => AfterRun::Over,
        }
    }

    /// The stem, if it is there and has another branch.
    fn free_stem(&mut self) -> Option<Box<FreeStem>> {
        let mut stem = self.stem.take()?;
        stem.branch = Some(self.family.waiting_branch()?);
        let (boundary, network) = (self.boundary.take().filter(|_| !self.boundary_over), self.network.take());
        let enclosed = self.rationing.take().map(|rationing| Enclosed { boundary, rationing, network });
        Some(Box::new((stem, enclosed)))
    }

    /// Sleeps until an event or the next time something is due, and handles what happened.
    fn wait(&mut self, now: Instant) {
        let flow = self.output_flow();
        let timeout = self.next_due().map(|due| timespec(due.saturating_duration_since(now)));
        let events = self.poll(timeout.as_ref());

        // Connections last and backwards, since one that is gone leaves the list and the last one takes its number.
        let (connections, others): (Vec<_>, Vec<_>) =
            events.into_iter().partition(|(source, _)| matches!(source, EventSource::Connection(_)));
        for (source, flags) in others.into_iter().chain(connections.into_iter().rev()) {
            match source {
                EventSource::Signals => self.take_signals(),
                EventSource::State => self.receive_state(),
                EventSource::Boundary => self.answer_calls(flags),
                EventSource::Door => self.audience.accept(),
                EventSource::Connection(index) => self.serve_connection(index, flags),
                EventSource::Input => self.console.push(),
                EventSource::Pipe(stream) => self.pump_some(stream),
            }
        }

        self.report_spooled();
        self.do_what_is_due(Instant::now(), flow);
    }

    /// Everything that waits for a time and not for an event. `flow` is how it was while we slept.
    fn do_what_is_due(&mut self, now: Instant, flow: OutputFlow) {
        if self.clock.is_time_to_record(now) {
            self.make_known();
        }
        if self.clock.take_time_to_slim(now) {
            release_files();
        }
        // A command whose output nobody read could not print. Its silence begins now.
        if flow == OutputFlow::HeldUp {
            self.clock.note_output(now);
        }
        if self.output.take_time_to_reveal(now) {
            // Only a terminal holds back for a time, and all its output is one stream.
            self.reveal(Stream::Stdout);
        }
        self.tell_matches(now);
        self.look_after_notices(now);
        self.check_for_wait(now);
        if let Some(unattended) = self.unattended.as_mut().filter(|_| self.audience.has_caller()) {
            unattended.check(now);
        }
        self.state.receive_if_due(now, &self.equipment.shared);

        if self.rationing.as_mut().is_some_and(|rationing| rationing.check(now) == Allowance::UsedUp) {
            // A grace would be time in which more is used.
            self.stop(StopCause::Killed, Some(Duration::ZERO));
        }

        // After the signals of this round: a leader that was reaped in time cannot time out.
        if let Some(limit) = self.clock.take_reached_limit(now)
            && self.family.lifecycle.unreaped_leader().is_some()
        {
            self.stop(StopCause::TimedOut(limit), None);
        }
    }

    /// When to wake up if nothing happens. Only what can still matter counts, so that a run that merely waits sleeps.
    fn next_due(&self) -> Option<Instant> {
        let lifecycle = &self.family.lifecycle;
        let leader = lifecycle.unreaped_leader();

        let ladder = self.clock.ladder_due().filter(|_| !lifecycle.is_childless());
        let is_settling = !lifecycle.is_announced() && !lifecycle.is_stopping();
        let settle = self.family.settles_at(self.plan.stop.settle).filter(|_| is_settling);
        let deadline = leader.and_then(|_| self.clock.deadline(self.output_flow()));
        let check = leader.and_then(|_| self.console.next_check()).filter(|_| self.wants_input_waits());

        let unattended = self.unattended.as_ref().filter(|_| leader.is_some() && self.audience.has_caller());

        let matches = self.watches.as_ref().and_then(|watches| watches.due());
        let notices = self.family.outsiders.due();
        let others = [self.output.reveal_at(), self.state.next_read(), self.clock.put_off_until(), matches, notices];
        let look = unattended.map(Unattended::next_check);
        let rations = self.rationing.as_ref().and_then(Rationing::next_check).filter(|_| !lifecycle.is_childless());
        [ladder, settle, deadline, check, look, rations].into_iter().chain(others).flatten().min()
    }

    fn poll(&self, timeout: Option<&Timespec>) -> Vec<(EventSource, PollFlags)> {
        let mut sources = vec![EventSource::Signals];
        let mut polled = vec![PollFd::new(self.equipment.signals.descriptor(), PollFlags::IN)];
        if self.state.is_awaited() {
            sources.push(EventSource::State);
            polled.push(PollFd::new(&self.equipment.shared.state, PollFlags::IN));
        }
        if let Some(boundary) = self.boundary.as_ref().filter(|_| !self.boundary_over) {
            sources.push(EventSource::Boundary);
            polled.push(PollFd::from_borrowed_fd(boundary.descriptor(), PollFlags::IN));
        }
        if let Some(door) = self.audience.door() {
            sources.push(EventSource::Door);
            polled.push(PollFd::new(door, PollFlags::IN));
        }
        for (index, connection) in self.audience.connections().iter().enumerate() {
            let wanted = if connection.has_unsent() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
            sources.push(EventSource::Connection(index));
            polled.push(PollFd::from_borrowed_fd(connection.descriptor(), wanted));
        }
        if let Some(input) = self.console.wants_to_write() {
            sources.push(EventSource::Input);
            polled.push(PollFd::from_borrowed_fd(input, PollFlags::OUT));
        }
        // A pipe that is not to be read must not be polled either: it would wake us up at once, for ever.
        if self.reads_output() {
            for stream in [Stream::Stdout, Stream::Stderr] {
                if let Some(pipe) = self.output.pipe(stream) {
                    sources.push(EventSource::Pipe(stream));
                    polled.push(PollFd::new(pipe, PollFlags::IN));
                }
            }
        }

        match poll(&mut polled, timeout) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return Vec::new(),
        }
        let flags = polled.iter().map(PollFd::revents);
        sources.into_iter().zip(flags).filter(|(_, flags)| !flags.is_empty()).collect()
    }

    fn output_flow(&self) -> OutputFlow {
        if self.reads_output() { OutputFlow::Read } else { OutputFlow::HeldUp }
    }

    /// Whether anybody wants to know when the command waits for input.
    fn wants_input_waits(&self) -> bool {
        self.audience.wants_input_waits(self.plan.tells_waiting) || self.tells_person()
    }

    /// Reports that the command waits for input, where it does and somebody wants to know.
    fn check_for_wait(&mut self, now: Instant) {
        if self.family.lifecycle.unreaped_leader().is_none() || !self.wants_input_waits() {
            return;
        }
        let Some(wait) = self.console.check_for_wait(now) else { return };
        self.tell_wait(&wait);
        let wanted = |role| match role {
            ClientRole::Watcher(watched) => watched.wants_input(),
            role => role == ClientRole::Caller,
        };
        self.audience.send_to(wanted, &Report::Waits(wait));
    }

    /// Answers the calls that wait. A listener whose processes are all gone would wake us up for ever.
    fn answer_calls(&mut self, flags: PollFlags) {
        if let Some(boundary) = self.boundary.as_mut().filter(|_| flags.contains(PollFlags::IN)) {
            boundary.serve();
        } else if flags.intersects(PollFlags::HUP | PollFlags::ERR) {
            self.boundary_over = true;
        }
    }

    fn take_signals(&mut self) {
        while let Some(signal) = self.equipment.signals.next() {
            if signal != libc::SIGCHLD {
                self.stop(StopCause::Killed, None);
            } else if let (true, Some(leader)) = (self.console.has_terminal(), self.family.lifecycle.unreaped_leader())
            {
                HeldTerminal::continue_stopped(leader);
            }
        }
        // Always, and until none is left: one SIGCHLD may stand for any number of children.
        self.reap();
    }

    /// Reaps everybody who has ended. What a branch and its stem have said of an end counts, whatever their own status.
    fn reap(&mut self) {
        self.hear_stem();
        while let Some(stem) = self.family.reap() {
            self.hear_stem();
            self.family.note_end(&stem);
        }
    }

    /// Takes what the stem has said, where there is one.
    fn hear_stem(&mut self) {
        if self.stem.is_some() {
            self.hear_state();
        }
    }

    /// The shell reports something of its state, or a stem something of its branches.
    fn receive_state(&mut self) {
        self.hear_state();
        if self.stem.is_some() && !self.family.lifecycle.is_childless() {
            self.reap();
        }
    }

    /// Takes what was said. Where the shell begins by saying that the command ran through, that is the end, unless something
    /// else of the command is alive and may not be done.
    fn hear_state(&mut self) {
        self.state.receive(&self.equipment.shared);
        if self.stem.is_some()
            && let Some(status) = self.state.status()
        {
            self.family.leader_reports(status);
        }
        self.take_first_words();
        if let Some(news) = self.state.stem_news() {
            self.family.hear(news);
        }
    }

    fn take_first_words(&mut self) {
        let is_answer = !self.state.rest_follows() && self.plan.answer_first;
        if self.family.lifecycle.unreaped_leader().is_none() || !is_answer {
            return;
        }
        let Some(code) = self.state.ran_through() else { return };
        if self.family.ran_through(code) {
            // The shell waits for our word. It gets that once the answer is out, so that it does not take the processor
            // from whoever waits for the answer.
            self.state.answer_goes_first();
        } else if self.stem.is_none() {
            self.equipment.shared.release_shell();
        }
    }

    fn serve_connection(&mut self, index: usize, flags: PollFlags) {
        // Somebody may have left the list since it was polled, and another one have taken the number. That one is
        // served instead, which does no harm: nothing here waits.
        let Some(connection) = self.audience.get_mut(index) else { return };
        let mut peer = if flags.contains(PollFlags::OUT) { connection.flush() } else { Peer::Present };
        if flags.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            match connection.receive() {
                None => peer = Peer::Gone,
                Some(controls) => controls.into_iter().for_each(|control| self.obey(index, control)),
            }
        }
        if peer == Peer::Present {
            peer = self.send_owed_news(index);
        }
        if peer == Peer::Gone {
            self.disconnect(index);
        }
    }

    /// Sends what a connection missed while it was behind: a window the whole screen, a watcher how much there is.
    fn send_owed_news(&mut self, index: usize) -> Peer {
        let Some(connection) = self.audience.get_mut(index) else { return Peer::Present };
        if !connection.take_owed_news() {
            return Peer::Present;
        }
        let is_window = matches!(connection.role(), ClientRole::Window(_));
        let screen = if is_window { self.look() } else { None };
        let growth = self.growth();
        match (self.audience.get_mut(index), screen) {
            (Some(connection), Some(screen)) => connection.send(&screen),
            (Some(connection), None) => connection.send_growth(&growth),
            (None, _) => Peer::Present,
        }
    }

    /// Takes a connection that is gone off the list. Where it held the run, that may be the end of it.
    pub(super) fn disconnect(&mut self, index: usize) {
        let gone = self.audience.remove(index);
        self.unfollow(gone.descriptor().as_raw_fd());
        let role = gone.role();
        if !matches!(role, ClientRole::Caller | ClientRole::Holder) {
            return;
        }
        let stop = match self.plan.lifetime {
            // What a command that has ended left running goes on, as after any shell.
            Lifetime::Call => !self.family.lifecycle.is_announced(),
            Lifetime::Session => true,
            Lifetime::Durable => false,
        };
        if stop {
            self.stop(StopCause::Cancelled, None);
        }
    }

    /// Starts the ladder, or hurries the one that runs. The first cause stays the cause.
    pub(super) fn stop(&mut self, cause: StopCause, grace: Option<Duration>) {
        let now = Instant::now();
        let mut limits = self.plan.stop;
        limits.grace = grace.unwrap_or(limits.grace);
        match self.family.lifecycle.stop(cause) {
            StopEffect::Nothing => {}
            StopEffect::Hurry => self.clock.hurry_ladder(limits.grace, now),
            StopEffect::Begin => {
                self.clock.start_ladder(self.family.group(), limits, now);
                self.reap();
            }
        }
    }

    fn step_ladder(&mut self, now: Instant) {
        if let (Some(ladder), false) = (self.clock.ladder_mut(), self.family.lifecycle.is_childless()) {
            ladder.step(self.family.group(), now);
            self.reap();
        }
    }
}
