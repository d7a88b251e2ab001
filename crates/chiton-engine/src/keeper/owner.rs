//! The life of one command, driven by events: signals, pipes, the engine's messages, deadlines.
//!
//! A loop without ticks: it sleeps until something happens or something is due. The order within one round matters
//! only in this: children are reaped before deadlines are looked at, so that a command that ended in time is never
//! called timed out.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::client::Client;
use super::protocol::{Control, Ending, KeeperPlan, Report, StopCause, Streams};
use super::{GivenFiles, SharedFiles};
use crate::capture::spool::SpoolWriter;
use crate::event::Stream;
use crate::limits::READ_BYTES;
use crate::outcome::{Lifetime, Outcome, Signal, Usage};
use crate::spawn::start_shell;
use crate::stop::{self, Ladder};
use crate::sys::memory::release_code;
use crate::sys::process::{Reap, WaitStatus, children_usage, reap};
use crate::sys::signals::SignalInbox;

/// More than a pipe can hold: what the leader wrote before it ended is read with certainty, a chatty leftover is not
/// followed for ever.
const DRAIN_BYTES: usize = 2 << 20;

/// A command that takes longer than this is not about latency any more.
const LONG_RUN: Duration = Duration::from_millis(250);

struct Keeper {
    plan: KeeperPlan,
    engine: Option<Client>,
    signals: SignalInbox,
    shared: SharedFiles,
    pipes: [Option<OwnedFd>; 2],
    spool: SpoolWriter,
    buffer: Vec<u8>,
    leader: Leader,
    childless: bool,
    started: Instant,
    deadline: Option<Instant>,
    stopping: Option<(StopCause, Ladder)>,
    announced: bool,
    /// When a command turns out to take long, and its keeper makes itself small.
    slims_at: Option<Instant>,
}

enum Leader {
    Running(i32),
    Ended { status: WaitStatus, at: Instant },
}

pub(super) fn own(
    plan: KeeperPlan,
    given: GivenFiles,
    socket: UnixStream,
    signals: SignalInbox,
    shared: SharedFiles,
) -> io::Result<()> {
    let mut engine = Client::new(socket)?;
    let (pid, pipes) = match start(&plan, given) {
        Ok(started) => started,
        Err(error) => {
            engine.tell(&Report::FailedToStart { reason: explain(&plan, &error) });
            return Ok(());
        }
    };
    let started = Instant::now();
    engine.tell(&Report::Started { pid });
    let keeper = Keeper {
        spool: SpoolWriter::new(&plan.folder, plan.spool),
        engine: Some(engine),
        signals,
        shared,
        pipes,
        buffer: vec![0; READ_BYTES],
        leader: Leader::Running(pid),
        childless: false,
        started,
        deadline: plan.timeout.and_then(|timeout| started.checked_add(timeout)),
        stopping: None,
        announced: false,
        slims_at: Some(started + LONG_RUN),
        plan,
    };
    keeper.run();
    Ok(())
}

fn start(plan: &KeeperPlan, given: GivenFiles) -> io::Result<(i32, [Option<OwnedFd>; 2])> {
    let (stdout, stdout_end) = output_pipe()?;
    let (stderr, stderr_end) = match plan.streams {
        Streams::Separate => output_pipe().map(|(read, write)| (Some(read), write))?,
        Streams::Merged => (None, stdout_end.try_clone()?),
    };
    let pid = start_shell(plan, given, &stdout_end, &stderr_end)?;
    Ok((pid, [Some(stdout), stderr]))
}

fn output_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    // Only our end must not block: a program that finds its output non-blocking fails in ways nobody expects.
    rustix::io::ioctl_fionbio(&read, true)?;
    Ok((read, write))
}

fn explain(plan: &KeeperPlan, error: &io::Error) -> String {
    let directory = plan.directory.to_text();
    if !fs::metadata(&directory).is_ok_and(|data| data.is_dir()) {
        return format!("the working directory {directory} cannot be entered: {error}");
    }
    format!("{} in {directory}: {error}", plan.program.to_text())
}

impl Keeper {
    fn run(mut self) {
        loop {
            let now = Instant::now();
            self.step_ladder(now);
            if !self.announced && self.is_over(now) {
                self.announce(now);
            }
            if self.is_done() {
                return;
            }
            self.wait(now);
        }
    }

    /// Whether the call can be answered.
    fn is_over(&self, now: Instant) -> bool {
        match (&self.stopping, &self.leader) {
            (Some((_, ladder)), _) => self.childless || ladder.overdue(now),
            (None, Leader::Ended { at, .. }) => self.childless || now >= *at + self.plan.stop.settle,
            (None, Leader::Running(_)) => false,
        }
    }

    fn is_done(&self) -> bool {
        self.announced && self.childless && !self.engine.as_ref().is_some_and(Client::has_unsent)
    }

    /// Sleeps until an event or the next time something is due, and handles what happened.
    fn wait(&mut self, now: Instant) {
        let due = self.next_due();
        let timeout = due.map(|due| timespec(due.saturating_duration_since(now)));
        let ready = self.poll(timeout.as_ref());
        for (source, flags) in ready {
            match source {
                Source::Signals => self.take_signals(),
                Source::Engine => self.serve_engine(flags),
                Source::Pipe(stream) => {
                    self.pump(stream, READ_BYTES);
                }
            }
        }
        if self.slims_at.is_some_and(|time| Instant::now() >= time) {
            self.slims_at = None;
            release_code();
        }
        let timed_out = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if timed_out && self.stopping.is_none() && matches!(self.leader, Leader::Running(_)) {
            self.stop(StopCause::TimedOut, None);
        }
    }

    fn next_due(&self) -> Option<Instant> {
        let ladder = self.stopping.as_ref().map(|(_, ladder)| ladder.wake_at());
        let ending = match (&self.stopping, &self.leader) {
            (Some(_), _) => None,
            (None, Leader::Running(_)) => self.deadline,
            (None, Leader::Ended { at, .. }) => (!self.announced).then(|| *at + self.plan.stop.settle),
        };
        ladder.into_iter().chain(ending).chain(self.slims_at).min()
    }

    fn poll(&self, timeout: Option<&Timespec>) -> Vec<(Source, PollFlags)> {
        let mut sources = vec![Source::Signals];
        let mut polled = vec![PollFd::new(self.signals.descriptor(), PollFlags::IN)];
        let mut reading = true;
        if let Some(engine) = &self.engine {
            let wanted = if engine.has_unsent() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
            polled.push(PollFd::from_borrowed_fd(engine.descriptor(), wanted));
            sources.push(Source::Engine);
            // The pipe is the back-pressure: while the engine is behind, the command waits.
            reading = self.announced || !engine.is_full();
        }
        for stream in [Stream::Stdout, Stream::Stderr] {
            if let (true, Some(pipe)) = (reading, &self.pipes[usize::from(stream == Stream::Stderr)]) {
                polled.push(PollFd::new(pipe, PollFlags::IN));
                sources.push(Source::Pipe(stream));
            }
        }
        match poll(&mut polled, timeout) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return Vec::new(),
        }
        let flags = polled.iter().map(PollFd::revents);
        sources.into_iter().zip(flags).filter(|(_, flags)| !flags.is_empty()).collect()
    }

    fn take_signals(&mut self) {
        while let Some(signal) = self.signals.next() {
            if signal != libc::SIGCHLD {
                self.stop(StopCause::Killed, None);
            }
        }
        self.reap();
    }

    fn reap(&mut self) {
        loop {
            match reap() {
                Reap::Ended(child) => {
                    if matches!(self.leader, Leader::Running(pid) if pid == child.pid) {
                        self.leader = Leader::Ended { status: child.status, at: Instant::now() };
                    }
                }
                Reap::NothingYet => return,
                Reap::NoChildren => {
                    self.childless = true;
                    return;
                }
            }
        }
    }

    fn serve_engine(&mut self, flags: PollFlags) {
        let Some(engine) = &mut self.engine else { return };
        let alive = !flags.contains(PollFlags::OUT) || engine.flush();
        let controls = if flags.contains(PollFlags::OUT) && !flags.intersects(PollFlags::IN | PollFlags::HUP) {
            Some(Vec::new())
        } else {
            engine.listen()
        };
        match controls {
            Some(controls) if alive => {
                for Control::Stop { cause, grace } in controls {
                    self.stop(cause, grace);
                }
            }
            _ => self.engine_is_gone(),
        }
    }

    fn engine_is_gone(&mut self) {
        self.engine = None;
        let stop = match self.plan.lifetime {
            Lifetime::Call => !self.announced,
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
        if let Some((_, ladder)) = &mut self.stopping {
            ladder.hurry(grace.unwrap_or(self.plan.stop.grace), now);
            return;
        }
        let mut limits = self.plan.stop;
        limits.grace = grace.unwrap_or(limits.grace);
        self.stopping = Some((cause, Ladder::start(self.unreaped_leader(), limits, now)));
        self.reap();
    }

    fn step_ladder(&mut self, now: Instant) {
        let leader = self.unreaped_leader();
        if let (Some((_, ladder)), false) = (&mut self.stopping, self.childless) {
            ladder.step(leader, now);
            self.reap();
        }
    }

    fn unreaped_leader(&self) -> Option<i32> {
        if let Leader::Running(pid) = self.leader { Some(pid) } else { None }
    }

    /// Moves up to `max` bytes of `stream` to the spool and the engine; tells how many came.
    fn pump(&mut self, stream: Stream, max: usize) -> usize {
        let slot = usize::from(stream == Stream::Stderr);
        let Some(pipe) = &self.pipes[slot] else { return 0 };
        match rustix::io::read(pipe.as_fd(), &mut self.buffer[..max.min(READ_BYTES)]) {
            Ok(0) => self.pipes[slot] = None,
            Ok(count) => {
                self.deliver(stream, count);
                return count;
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.pipes[slot] = None,
        }
        0
    }

    fn deliver(&mut self, stream: Stream, count: usize) {
        let bytes = &self.buffer[..count];
        self.spool.append(stream, bytes);
        if self.announced {
            return;
        }
        if let Some(engine) = &mut self.engine {
            let report = Report::Output { stream, bytes: bytes.into() };
            if !engine.tell(&report) {
                self.engine_is_gone();
            }
        }
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
        }
        let ending = self.ending(now);
        let state = if matches!(ending.outcome, Outcome::Exited(_)) { self.read_state() } else { None };
        // From here on only the spool is left to serve; the engine may take its time or be gone.
        self.announced = true;
        self.record(&ending);
        if let Some(engine) = &mut self.engine {
            engine.tell(&Report::Ended { ending, state });
        }
    }

    fn ending(&self, now: Instant) -> Ending {
        let (user, system, peak_memory) = children_usage();
        let alive = if self.childless { Vec::new() } else { stop::alive() };
        let (leftovers, survivors) = if self.stopping.is_some() { (Vec::new(), alive) } else { (alive, Vec::new()) };
        let outcome = match (&self.stopping, &self.leader) {
            (Some((cause, _)), _) => (*cause).into(),
            (None, Leader::Ended { status: WaitStatus::Exited(code), .. }) => Outcome::Exited(*code),
            (None, Leader::Ended { status: WaitStatus::Signaled(number), .. }) => {
                Signal::from_number(*number).map_or(Outcome::Killed, Outcome::Signaled)
            }
            (None, Leader::Running(_)) => Outcome::Running,
        };
        let end = if let Leader::Ended { at, .. } = self.leader { at } else { now };
        Ending {
            outcome,
            leftovers,
            survivors,
            usage: Usage { user_us: micros(user), system_us: micros(system), peak_memory },
            wall_us: micros(end.duration_since(self.started)),
            stdout: self.spool.totals(Stream::Stdout),
            stderr: self.spool.totals(Stream::Stderr),
        }
    }

    fn read_state(&self) -> Option<crate::ByteString> {
        let length = self.shared.state.metadata().ok()?.len();
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        self.shared.state.read_exact_at(&mut bytes, 0).ok()?;
        (!bytes.is_empty()).then(|| bytes.into())
    }

    /// Old or new, never half: written beside and moved into place.
    fn record(&self, ending: &Ending) {
        let (beside, place) = (self.plan.folder.join("ending.new"), self.plan.folder.join("ending.json"));
        let Ok(text) = serde_json::to_vec_pretty(ending) else { return };
        if fs::write(&beside, text).is_ok() {
            let _ = fs::rename(&beside, &place);
        }
    }
}

#[derive(Clone, Copy)]
enum Source {
    Signals,
    Engine,
    Pipe(Stream),
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
