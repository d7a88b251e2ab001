//! The life of one command, driven by events: signals, pipes, messages, deadlines.
//!
//! A loop without ticks: it sleeps until something happens or something is due. The order within one round matters
//! only in this: children are reaped before deadlines are looked at, so that a command that ended in time is never
//! called timed out. Which ending counts is decided in [`super::lifecycle`].

use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::Post;
use super::client::{Client, Role};
use super::deadlines::Deadlines;
use super::input::OpenInput;
use super::leftover_task::LeftoverTask;
use super::lifecycle::{Lifecycle, StopEffect};
use super::masking::Masking;
use super::shell::{self, Shell};
use super::state::StateInbox;
use super::terminal::HeldTerminal;
use super::transcript::Transcript;
use crate::capture::spool::SpoolWriter;
use crate::folder::RunFolder;
use crate::folder::record::StartRecord;
use crate::limits::{BEHIND_BYTES, INLINE_BYTES, READ_BYTES};
use crate::protocol::{Control, Denial, HandedBack, Report, RunPlan};
use crate::run::InSpool;
use crate::run::Stream;
use crate::run::{Ending, StopCause, Typing, Typist};
use crate::run::{Lifetime, Outcome, Signal, TimeLimit, Usage};
use crate::stop::{self, Ladder, Loneliness};
use crate::sys::memory::release_files;
use crate::sys::process::{Reap, Reaped, WaitStatus, reap};

/// More than a pipe can hold: what the leader wrote before it ended is read with certainty, a chatty leftover is not
/// followed for ever.
const DRAIN_BYTES: usize = 2 << 20;
/// How long a terminal may lack what might become a value.
const HOLD: Duration = Duration::from_millis(40);
/// A command that takes longer than this is not about latency any more.
const LONG_RUN: Duration = Duration::from_millis(250);
/// What has ended by then is answered before it is written down that it began: its whole record comes then.
const SHORT_RUN: Duration = Duration::from_millis(1);

struct Keeper {
    plan: RunPlan,
    folder: RunFolder,
    clients: Vec<Client>,
    door: Option<UnixListener>,
    post: Post,
    pipes: [Option<OwnedFd>; 2],
    input: OpenInput,
    terminal: Option<HeldTerminal>,
    spool: SpoolWriter,
    /// Bytes that the caller was told in messages.
    inlined: u64,
    /// What it can read from the spool, and was not told yet.
    untold: Option<(Stream, InSpool)>,
    transcript: Option<Transcript>,
    masking: Masking,
    buffer: Vec<u8>,
    /// What the buffer becomes.
    masked: Vec<u8>,
    /// When a terminal shows what was held back because it might become a value: a prompt is not to lack its end.
    lets_out_at: Option<Instant>,
    /// What the shell has said of its state so far.
    state: StateInbox,
    lifecycle: Lifecycle,
    alone: Loneliness,
    /// What those used that were reaped so far.
    used: Usage,
    ladder: Option<Ladder>,
    stopped_after: Option<Outcome>,
    started: Instant,
    leader_ended: Option<Instant>,
    deadlines: Deadlines,
    /// The limit that it was stopped at.
    limit: Option<TimeLimit>,
    /// When a command turns out to take long, and its keeper makes itself small.
    slims_at: Option<Instant>,
    /// When it is written down that the command began, where that was left to us.
    records_at: Option<Instant>,
    ending: Option<Ending>,
    leftover_task: Option<LeftoverTask>,
}

/// What came of a keeper's run.
pub(super) enum Owned {
    /// Nothing is left of it, and the engine is still there.
    Free(UnixStream, Post),
    /// That was the last one.
    Over,
}

/// Owns a run whose shell was started, and may have ended already.
pub(super) fn own(plan: RunPlan, (shell, ended): (Shell, Option<Reaped>), caller: Client, post: Post) -> Owned {
    let started = Instant::now();
    let Shell { pid, alone, folder, alive, door, masking, pipes, input, terminal, .. } = shell;
    let held = |(ends, size)| HeldTerminal::new(ends, size, &plan.folder, started);
    let mut keeper = Keeper {
        terminal: terminal.map(held),
        clients: vec![caller],
        door,
        post,
        pipes,
        input: OpenInput::new(input),
        spool: SpoolWriter::new(&plan.folder, plan.spool),
        inlined: 0,
        untold: None,
        transcript: plan.transcript.as_ref().and_then(|path| Transcript::create(path, plan.spool.per_run).ok()),
        masking,
        buffer: vec![0; READ_BYTES],
        masked: Vec::new(),
        lets_out_at: None,
        state: StateInbox::default(),
        lifecycle: Lifecycle::new(pid),
        alone,
        used: Usage::default(),
        ladder: None,
        stopped_after: None,
        started,
        leader_ended: None,
        deadlines: Deadlines::new(started, plan.timeout, plan.silence),
        limit: None,
        slims_at: Some(started + LONG_RUN),
        records_at: plan.request.is_some().then(|| started + SHORT_RUN),
        ending: None,
        leftover_task: None,
        folder,
        plan,
    };
    if !keeper.plan.answer_first {
        keeper.post.shared.let_go_on();
    }
    // What came in one piece with the order.
    for control in keeper.clients[0].heard().unwrap_or_default() {
        keeper.obey(0, control);
    }
    if let Some(child) = ended {
        keeper.take_note(&child);
        keeper.reap();
    }
    keeper.run(alive)
}

#[derive(Clone, Copy)]
enum Source {
    Signals,
    Door,
    Client(usize),
    Pipe(Stream),
    Input,
    State,
}

impl Keeper {
    fn run(mut self, alive: OwnedFd) -> Owned {
        loop {
            let now = Instant::now();
            self.step_ladder(now);
            let settled = self.leader_ended.is_some_and(|ended| now >= ended + self.plan.stop.settle);
            let overdue = self.ladder.as_ref().is_some_and(|ladder| ladder.overdue(now));
            if self.lifecycle.is_over(settled, overdue) {
                self.announce(now);
            }
            if self.is_done() {
                break;
            }
            self.wait(now);
        }
        if let Some(task) = &self.leftover_task {
            task.finish(self.summary(Outcome::Lost, Instant::now()), self.stopped_after.take());
        }
        if self.state.follows() && !self.plan.changes_nothing {
            self.hand_state_over();
        }
        self.folder.close_door();
        // Before the connections: whoever sees them end may count on the run not being alive any more.
        drop(self.leftover_task.take());
        drop(alive);
        // A keeper that has a terminal has it to its end.
        let caller = self.clients.into_iter().find(|client| client.role() == Role::Caller);
        match caller.filter(|_| self.terminal.is_none()) {
            Some(caller) => Owned::Free(caller.into_socket(), self.post),
            None => Owned::Over,
        }
    }

    /// What was announced to follow, and what is known now that the shell has ended.
    fn hand_state_over(&mut self) {
        let state = self.state.take(&self.post.shared);
        for client in self.clients.iter_mut().filter(|client| client.role() == Role::Caller) {
            let socket = client.descriptor();
            // Nothing else is left to do, so it may wait for whoever reads.
            let _ = rustix::io::ioctl_fionbio(socket, false);
            client.tell(&Report::State(state.clone()));
        }
    }

    fn is_done(&self) -> bool {
        let unsent = self.clients.iter().any(|client| client.role() == Role::Caller && client.has_unsent());
        self.lifecycle.is_announced() && self.lifecycle.is_childless() && !unsent
    }

    /// Sleeps until an event or the next time something is due, and handles what happened.
    fn wait(&mut self, now: Instant) {
        let listened = self.listens();
        let timeout = self.next_due().map(|due| timespec(due.saturating_duration_since(now)));
        let (clients, others): (Vec<_>, Vec<_>) =
            self.poll(timeout.as_ref()).into_iter().partition(|(source, _)| matches!(source, Source::Client(_)));
        // Clients last and backwards, since one that is gone leaves the list.
        for (source, flags) in others.into_iter().chain(clients.into_iter().rev()) {
            match source {
                Source::Signals => self.take_signals(),
                Source::Door => self.let_in(),
                Source::Client(index) => self.serve_client(index, flags),
                Source::Pipe(stream) => self.pump_some(stream),
                Source::Input => self.input.push(),
                Source::State => self.hear_state(),
            }
        }
        self.tell_spooled();
        let now = Instant::now();
        if self.records_at.is_some_and(|time| now >= time) {
            self.record_start();
        }
        if self.slims_at.is_some_and(|time| now >= time) {
            self.slims_at = None;
            release_files();
        }
        if !listened {
            self.deadlines.hear(now);
        }
        if self.lets_out_at.is_some_and(|time| now >= time) {
            self.lets_out_at = None;
            self.let_out(Stream::Stdout);
        }
        self.look_for_wait(now);
        self.state.look(now, &self.post.shared);
        if let Some(limit) = self.deadlines.reached(now) {
            self.deadlines.clear();
            if self.lifecycle.unreaped_leader().is_some() {
                self.stop(StopCause::TimedOut(limit), None);
            }
        }
    }

    fn next_due(&self) -> Option<Instant> {
        let ladder = if self.lifecycle.is_childless() { None } else { self.ladder.as_ref().map(Ladder::wake_at) };
        let settle = if self.lifecycle.is_announced() || self.lifecycle.is_stopping() {
            None
        } else {
            self.leader_ended.map(|ended| ended + self.plan.stop.settle)
        };
        let leader = self.lifecycle.unreaped_leader();
        let deadline = leader.and_then(|_| self.deadlines.next(self.listens())).map(|(time, _)| time);
        let look = leader.and(self.terminal.as_ref()).filter(|_| self.is_watched_for_input());
        let look = look.and_then(HeldTerminal::look_at).into_iter().chain(self.lets_out_at).min();
        let state = self.state.next_look();
        let later = [self.slims_at, self.records_at, look, state];
        ladder.into_iter().chain(settle).chain(deadline).chain(later.into_iter().flatten()).min()
    }

    fn poll(&self, timeout: Option<&Timespec>) -> Vec<(Source, PollFlags)> {
        let mut sources = vec![Source::Signals];
        let mut polled = vec![PollFd::new(self.post.signals.descriptor(), PollFlags::IN)];
        if self.state.is_awaited() {
            sources.push(Source::State);
            polled.push(PollFd::new(&self.post.shared.state, PollFlags::IN));
        }
        if let Some(door) = &self.door {
            sources.push(Source::Door);
            polled.push(PollFd::new(door, PollFlags::IN));
        }
        for (index, client) in self.clients.iter().enumerate() {
            let wanted = if client.has_unsent() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
            sources.push(Source::Client(index));
            polled.push(PollFd::from_borrowed_fd(client.descriptor(), wanted));
        }
        if let Some(pipe) = self.input.wants_to_write() {
            sources.push(Source::Input);
            polled.push(PollFd::from_borrowed_fd(pipe, PollFlags::OUT));
        }
        let reading = self.listens();
        for stream in [Stream::Stdout, Stream::Stderr] {
            if let (true, Some(pipe)) = (reading, &self.pipes[usize::from(stream == Stream::Stderr)]) {
                sources.push(Source::Pipe(stream));
                polled.push(PollFd::new(pipe, PollFlags::IN));
            }
        }
        match poll(&mut polled, timeout) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return Vec::new(),
        }
        let flags = polled.iter().map(PollFd::revents);
        sources.into_iter().zip(flags).filter(|(_, flags)| !flags.is_empty()).collect()
    }

    /// Whether anybody wants to be told when the command waits for input.
    fn is_watched_for_input(&self) -> bool {
        self.clients.iter().any(|client| match client.role() {
            Role::Caller => self.plan.tells_waiting,
            role => role == Role::Watcher { input: true },
        })
    }

    fn look_for_wait(&mut self, now: Instant) {
        if self.lifecycle.unreaped_leader().is_none() || !self.is_watched_for_input() {
            return;
        }
        let Some(wait) = self.terminal.as_mut().and_then(|terminal| terminal.look_for_wait(now)) else { return };
        let told = |role| matches!(role, Role::Caller | Role::Watcher { input: true });
        for client in self.clients.iter_mut().filter(|client| told(client.role())) {
            // Whoever is gone is noticed in the next round.
            client.tell(&Report::Waits(wait.clone()));
        }
    }

    /// Whether the output of the command is read now. The pipe is the back-pressure: while the caller is behind, the
    /// command waits.
    fn listens(&self) -> bool {
        let behind = |client: &Client| client.role() == Role::Caller && client.is_full();
        self.lifecycle.is_announced() || !self.clients.iter().any(behind)
    }

    fn take_signals(&mut self) {
        while let Some(signal) = self.post.signals.next() {
            if signal != libc::SIGCHLD {
                self.stop(StopCause::Killed, None);
            } else if let (Some(_), Some(leader)) = (&self.terminal, self.lifecycle.unreaped_leader()) {
                HeldTerminal::continue_stopped(leader);
            }
        }
        self.reap();
    }

    fn reap(&mut self) {
        loop {
            match reap() {
                Reap::Ended(child) => self.take_note(&child),
                Reap::NothingYet => return,
                Reap::NoChildren => return self.lifecycle.childless(),
            }
        }
    }

    /// Somebody ended.
    fn take_note(&mut self, child: &Reaped) {
        self.used.add(child.usage);
        if self.lifecycle.reaped(child.pid, child.status) {
            self.leader_ended = Some(Instant::now());
        } else if let Some(task) = &mut self.leftover_task {
            task.last = match child.status {
                WaitStatus::Exited(code) => Outcome::Exited(code),
                WaitStatus::Signaled(number) => Signal::from_number(number).map_or(Outcome::Lost, Outcome::Signaled),
            };
        }
    }

    /// The shell says something of its state. Where it begins by saying that the command ran through, that is the end:
    /// unless somebody is left of it, who may not be done.
    fn hear_state(&mut self) {
        self.state.listen(&self.post.shared);
        if self.lifecycle.unreaped_leader().is_none() || !self.plan.answer_first {
            return;
        }
        let Some(code) = self.state.ran_through() else { return };
        if self.alone.is_certain() && self.lifecycle.ran_through(code) {
            // The rest can wait until the answer is out.
            self.state.announce();
        } else {
            self.post.shared.let_go_on();
        }
    }

    fn let_in(&mut self) {
        let Some(Ok((socket, _))) = self.door.as_ref().map(UnixListener::accept) else { return };
        if let Ok(client) = Client::visitor(socket) {
            self.clients.push(client);
        }
    }

    fn serve_client(&mut self, index: usize, flags: PollFlags) {
        // Somebody may have left the list since it was looked at; whoever is meant is looked at again.
        let Some(client) = self.clients.get_mut(index) else { return };
        let mut alive = !flags.contains(PollFlags::OUT) || client.flush();
        if flags.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            match client.listen() {
                None => alive = false,
                Some(controls) => controls.into_iter().for_each(|control| self.obey(index, control)),
            }
        }
        if alive && self.clients[index].takes_growth() {
            let is_window = matches!(self.clients[index].role(), Role::Window { .. });
            let news = self.look().filter(|_| is_window);
            alive = if let Some(look) = news {
                self.clients[index].tell(&look)
            } else {
                let growth = self.growth();
                self.clients[index].tell_growth(&growth)
            };
        }
        if !alive {
            let gone = self.clients.swap_remove(index);
            self.client_is_gone(gone.role());
        }
    }

    fn obey(&mut self, index: usize, control: Control) {
        let answer = match control {
            Control::Stop { cause, grace } => return self.stop(cause, grace),
            Control::Taken(bytes) => return self.clients[index].catch_up(bytes),
            Control::HandOver { lifetime } => {
                self.tell_spooled();
                self.record_start();
                self.plan.lifetime = lifetime;
                self.clients[index].become_role(Role::Holder);
                if let Some(mut record) = self.folder.request().ok().filter(|record| !record.background) {
                    (record.background, record.lifetime) = (true, lifetime);
                    let _ = self.folder.write_request(&record);
                }
                Report::HandedOver
            }
            Control::Watch => self.watch(index, false),
            Control::WatchInput => self.watch(index, true),
            Control::Input(bytes) => Report::Answer(self.while_running().and_then(|()| self.input.write(&bytes))),
            Control::EndInput => Report::Answer(self.while_running().and_then(|()| self.end_input())),
            Control::Signal(number) => Report::Answer(self.signal(number)),
            Control::Look => self.look().unwrap_or_else(no_terminal),
            Control::Type { what, typist, masks } => {
                self.masking.add(masks);
                Report::Answer(self.while_running().and_then(|()| self.enter(&what, typist)))
            }
            Control::Resize(size) => Report::Answer(match &mut self.terminal {
                Some(terminal) => terminal.resize(size, Instant::now()),
                None => Err(Denial::NoTerminal),
            }),
            Control::Attach { typist } => {
                self.clients[index].become_role(Role::Window { types: typist.is_some() });
                self.look().unwrap_or_else(no_terminal)
            }
        };
        self.clients[index].tell(&answer);
    }

    fn watch(&mut self, index: usize, input: bool) -> Report {
        self.clients[index].become_role(Role::Watcher { input });
        if let (Some(terminal), true) = (&mut self.terminal, input) {
            terminal.look_again(Instant::now());
        }
        match &self.ending {
            Some(ending) => Report::Ended { ending: ending.clone(), state: HandedBack::Nothing },
            None => self.growth(),
        }
    }

    fn look(&self) -> Option<Report> {
        let people = self.clients.iter().filter(|client| client.role() == Role::Window { types: true }).count();
        self.terminal.as_ref().map(|terminal| Report::Look(Box::new(terminal.look(people))))
    }

    /// Types into the terminal.
    fn enter(&mut self, what: &Typing, typist: Typist) -> Result<(), Denial> {
        let terminal = self.terminal.as_mut().ok_or(Denial::NoTerminal)?;
        let bytes = terminal.typed(what, typist, Instant::now())?;
        self.input.write(&bytes)
    }

    /// A terminal has no end; there is a key that says so.
    fn end_input(&mut self) -> Result<(), Denial> {
        match &self.terminal {
            Some(terminal) => self.input.write(&[terminal.end_key()]),
            None => self.input.end(),
        }
    }

    fn while_running(&self) -> Result<(), Denial> {
        self.lifecycle.unreaped_leader().map(|_| ()).ok_or(Denial::Ended)
    }

    fn signal(&self, number: i32) -> Result<(), Denial> {
        stop::signal_run(self.lifecycle.unreaped_leader(), number)
    }

    fn client_is_gone(&mut self, role: Role) {
        if !matches!(role, Role::Caller | Role::Holder) {
            return;
        }
        let stop = match self.plan.lifetime {
            Lifetime::Call => !self.lifecycle.is_announced(),
            Lifetime::Session => true,
            Lifetime::Durable => false,
        };
        if stop {
            self.stop(StopCause::Cancelled, None);
        }
    }

    /// Starts the ladder, or hurries the one that runs. The first cause stays the cause.
    fn stop(&mut self, cause: StopCause, grace: Option<Duration>) {
        let now = Instant::now();
        let mut limits = self.plan.stop;
        limits.grace = grace.unwrap_or(limits.grace);
        match self.lifecycle.stop(cause) {
            StopEffect::Nothing => {}
            StopEffect::Hurry => {
                if let Some(ladder) = &mut self.ladder {
                    ladder.hurry(limits.grace, now);
                }
            }
            StopEffect::Begin => {
                self.stopped_after = Some(cause.into());
                self.limit = if let StopCause::TimedOut(limit) = cause { Some(limit) } else { None };
                self.ladder = Some(Ladder::start(self.lifecycle.unreaped_leader(), limits, now));
                self.reap();
            }
        }
    }

    fn step_ladder(&mut self, now: Instant) {
        let leader = self.lifecycle.unreaped_leader();
        if let (Some(ladder), false) = (&mut self.ladder, self.lifecycle.is_childless()) {
            ladder.step(leader, now);
            self.reap();
        }
    }

    /// Moves what there is of `stream`, up to so much that nobody else has to wait long for their turn.
    fn pump_some(&mut self, stream: Stream) {
        for _ in 0..4 {
            if self.pump(stream, READ_BYTES) < READ_BYTES || !self.listens() {
                return;
            }
        }
    }

    /// Moves up to `max` bytes of `stream` to the spool and the clients; tells how many came.
    fn pump(&mut self, stream: Stream, max: usize) -> usize {
        let slot = usize::from(stream == Stream::Stderr);
        let Some(pipe) = &self.pipes[slot] else { return 0 };
        let room = &mut self.buffer[..max.min(READ_BYTES)];
        let read = if self.terminal.is_some() { read_on(pipe, room) } else { rustix::io::read(pipe, room) };
        match read {
            Ok(count) if count > 0 => {
                self.deadlines.hear(Instant::now());
                self.take_in(stream, count);
                return count;
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            _ => {
                self.pipes[slot] = None;
                self.let_out(stream);
            }
        }
        0
    }

    /// Masks what was read, and delivers it.
    fn take_in(&mut self, stream: Stream, count: usize) {
        let buffer = std::mem::take(&mut self.buffer);
        if self.masking.is_off() {
            self.deliver(stream, &buffer[..count]);
        } else {
            let mut masked = std::mem::take(&mut self.masked);
            masked.clear();
            self.masking.pass(stream, &buffer[..count], &mut masked);
            self.deliver(stream, &masked);
            self.masked = masked;
            let little = self.terminal.is_some() && self.masking.holds_little(stream);
            self.lets_out_at = little.then(|| Instant::now() + HOLD);
        }
        self.buffer = buffer;
    }

    /// Delivers what was held back because it might have become a value.
    fn let_out(&mut self, stream: Stream) {
        let mut rest = Vec::new();
        self.masking.flush(stream, &mut rest);
        self.deliver(stream, &rest);
    }

    fn deliver(&mut self, stream: Stream, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let places = self.spool.append(stream, bytes);
        if let Some(transcript) = &mut self.transcript {
            transcript.append(bytes);
        }
        if let Some(terminal) = &mut self.terminal {
            let answers = terminal.show(bytes, self.spool.totals(stream).written, Instant::now());
            if !answers.is_empty() {
                // A program that asks and does not read goes without.
                let _ = self.input.write(&answers);
            }
        }
        // Little is told in messages. Much is read where it is, unless it is not all there.
        let by_spool = places.filter(|_| self.inlined >= INLINE_BYTES && self.spool.lasts(BEHIND_BYTES));
        for place in by_spool.iter().flatten() {
            self.tell_later(stream, *place);
        }
        if by_spool.is_none() {
            self.inlined += bytes.len() as u64;
            self.tell_spooled();
        }
        let growth = self.growth();
        let announced = self.lifecycle.is_announced();
        for index in (0..self.clients.len()).rev() {
            let client = &mut self.clients[index];
            let alive = match client.role() {
                Role::Caller if !announced && by_spool.is_some() => {
                    client.fall_behind(bytes.len() as u64);
                    true
                }
                Role::Caller if !announced => client.tell(&Report::Output { stream, bytes: bytes.into() }),
                Role::Watcher { .. } => client.tell_growth(&growth),
                Role::Window { .. } => client.tell_window(&Report::Output { stream, bytes: bytes.into() }),
                Role::Caller | Role::Holder | Role::Visitor => true,
            };
            if !alive {
                let gone = self.clients.swap_remove(index);
                self.client_is_gone(gone.role());
            }
        }
    }

    /// The caller can read this from the spool.
    fn tell_later(&mut self, stream: Stream, place: InSpool) {
        if let Some((last, untold)) = &mut self.untold
            && *last == stream
            && untold.grow(place)
        {
            return;
        }
        self.tell_spooled();
        self.untold = Some((stream, place));
    }

    fn tell_spooled(&mut self) {
        let Some((stream, place)) = self.untold.take() else { return };
        for client in self.clients.iter_mut().filter(|client| client.role() == Role::Caller) {
            // Whoever is gone is noticed in the next round.
            client.tell(&Report::Spooled(stream, place));
        }
    }

    fn growth(&self) -> Report {
        let written = |stream| self.spool.totals(stream).written;
        Report::Grew { stdout: written(Stream::Stdout), stderr: written(Stream::Stderr) }
    }

    fn announce(&mut self, now: Instant) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let mut left = DRAIN_BYTES;
            while left > 0 {
                match self.pump(stream, left) {
                    0 => break,
                    count => left -= count,
                }
            }
            self.let_out(stream);
        }
        self.tell_spooled();
        let Some(outcome) = self.lifecycle.announce() else { return };
        if self.state.says_nothing_came(&self.post.shared) {
            // Whoever had the command was gone before it could say so. Nothing ran, and nothing is said to have run.
            return;
        }
        let mut ending = self.summary(outcome, now);
        if !self.lifecycle.is_stopping() {
            self.leftover_task = LeftoverTask::create(&self.plan, &ending.leftovers, &self.spool);
            ending.leftover_task = self.leftover_task.as_ref().map(|task| task.id().to_owned());
            // A later request to stop is about the leftovers alone.
            self.stopped_after = None;
        }
        if let Some(transcript) = &mut self.transcript {
            transcript.finish(&ending.outcome);
        }
        if let Some(terminal) = &mut self.terminal {
            let _ = self.folder.write_screen(&terminal.finish());
        }
        if !self.state.follows() {
            self.record(&ending);
        }
        let mut state = match &ending.outcome {
            Outcome::Exited(_) => self.state.hand_back(self.plan.changes_nothing, &self.post.shared),
            _ => HandedBack::Nothing,
        };
        for client in &mut self.clients {
            let is_caller = client.role() == Role::Caller;
            let state =
                if is_caller { std::mem::replace(&mut state, HandedBack::Nothing) } else { HandedBack::Nothing };
            // Whoever is gone is noticed in the next round.
            client.tell(&Report::Ended { ending: ending.clone(), state });
        }
        if self.state.follows() {
            // The answer was wanted first: whoever waits for it may be on the processor that we are on. By the time
            // that anybody can ask for what is recorded, it is there.
            rustix::thread::sched_yield();
            self.dismiss_shell();
            self.record(&ending);
        }
        self.ending = Some(ending);
    }

    /// Its command has run through, and is answered: what is left for the shell is to say what it leaves, if anything.
    fn dismiss_shell(&self) {
        match self.lifecycle.unreaped_leader() {
            Some(pid) if self.plan.changes_nothing => shell::kill(pid),
            _ => self.post.shared.let_go_on(),
        }
    }

    /// Writes down what was asked for and who runs it, unless that was done. On a full disk the command still runs; it
    /// only cannot be looked up later.
    fn record_start(&mut self) {
        if let Some(request) = self.plan.request.take() {
            self.records_at = None;
            let _ = self.folder.write_request_text(&request);
            let _ = self.folder.write_start(StartRecord::of(self.lifecycle.leader()));
        }
    }

    fn record(&mut self, ending: &Ending) {
        self.record_start();
        let _ = self.folder.write_ending(ending, self.plan.lifetime == Lifetime::Durable);
    }

    fn summary(&self, outcome: Outcome, now: Instant) -> Ending {
        // Where the shell told the end, nobody but itself was left.
        let nobody = self.lifecycle.is_childless() || self.state.follows();
        let alive = if nobody { Vec::new() } else { stop::alive(|line| self.masking.text(line)) };
        let (leftovers, survivors) =
            if self.lifecycle.is_stopping() { (Vec::new(), alive) } else { (alive, Vec::new()) };
        let end = if self.lifecycle.is_stopping() { now } else { self.leader_ended.unwrap_or(now) };
        Ending {
            outcome,
            limit: self.limit,
            leftovers,
            leftover_task: None,
            survivors,
            usage: (!self.state.follows()).then_some(self.used),
            wall_us: micros(end.duration_since(self.started)),
            stdout: self.spool.totals(Stream::Stdout),
            stderr: self.spool.totals(Stream::Stderr),
        }
    }
}

/// Reads until the room is used or nothing is left: a terminal gives no more than 4 KiB at once.
fn read_on(pipe: &OwnedFd, room: &mut [u8]) -> Result<usize, Errno> {
    let mut count = 0;
    while count < room.len() {
        match rustix::io::read(pipe, &mut room[count..]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if count == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(count)
}

fn no_terminal() -> Report {
    Report::Answer(Err(Denial::NoTerminal))
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Rounded up to the microsecond, so that a wait never ends just before what it waits for is due.
fn timespec(duration: Duration) -> Timespec {
    let rounded = duration + Duration::from_micros(1);
    Timespec {
        tv_sec: i64::try_from(rounded.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(rounded.subsec_nanos()),
    }
}
