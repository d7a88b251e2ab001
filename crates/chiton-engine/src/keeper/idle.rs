//! Between two runs: the keeper takes orders, and where the engine wants it, a shell waits here for its command.
//!
//! 1. [`ORDER`] brings an [`Order`] with descriptors: prepare a shell that waits, or run a command at once.
//! 2. [`BEGIN`] brings the plan of a run for the shell that waits. The command itself goes to the shell, not to us.
//! 3. The run is kept until nothing of it is left ([`run::keep`]); then the keeper is free again.
//!
//! It is always certain whether a shell that waited has run anything. The engine sends [`BEGIN`], then writes the
//! command into a pipe and closes that; the shell runs it when it has read to the end. If the shell is gone and
//! something is left in the pipe, it has run nothing, and the command can be given to another one.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde::de::DeserializeOwned;

use super::Equipment;
use super::boundary::Boundary;
use super::connection::RunConnection;
use super::run::{self, AfterRun, FreeStem};
use super::shared_files::Reached;
use super::started_shell::{self, CommandArrives, StartedShell, is_in};
use super::state::StemNews;
use crate::folder::record::StartRecord;
use crate::folder::{RunFolder, Unreadable};
use crate::protocol;
use crate::protocol::{AGAIN, Again, BEGIN, FrameBuffer, GivenFiles, ORDER, Order, Report, RunPlan, encode};
use crate::run::DirectoryId;
use crate::sys::memory::release_files;
use crate::sys::messages;
use crate::sys::process::{Reap, Reaped, reap};

/// How long the engine may take from the plan of a run to its command. Only a shell that was killed in between waits for it.
const IN_WRITING: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// A keeper to which nobody has said anything for so long may have to wait for longer.
const QUIET: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };

/// A shell that waits for its command.
struct WaitingShell {
    shell: StartedShell,
    /// The number that the engine gave it, by which reports name it.
    number: u64,
    /// How it ended, where it has.
    ended: Option<Reaped>,
    /// The directory that a stem has to be in, where it was told to go there.
    directory: Option<DirectoryId>,
}

/// A run that begins: its plan, its shell, how that ended, where it has already, and since when it has a command.
type BegunRun = (RunPlan, StartedShell, Option<Reaped>, Instant);

/// Serves until the engine is gone, or a signal says that it is enough.
pub(super) fn serve(mut socket: UnixStream, mut equipment: Equipment) -> io::Result<()> {
    let (mut waiting, mut free, mut arrived) = (None, None, Arrived::default());
    loop {
        let Some(kind) = next_order(&socket, &mut arrived, &equipment, (&mut waiting, &mut free))? else {
            dismiss(waiting);
            drop_stem(free);
            return Ok(());
        };
        let next = match kind {
            ORDER => {
                drop_stem(free.take());
                carry_out(
                    GivenFiles::read(std::mem::take(&mut arrived.descriptors))?,
                    &socket,
                    &mut equipment,
                    &mut waiting,
                )
            }
            AGAIN => {
                let again = read_message(&socket, &mut arrived.bytes)?;
                let free = free.take().or_else(|| waiting.take().and_then(WaitingShell::into_stem));
                waiting = branch_again(again, &socket, free, &equipment);
                continue;
            }
            BEGIN => {
                let plan = read_message(&socket, &mut arrived.bytes)?;
                ControlFlow::Continue(begin(plan, &socket, waiting.take()))
            }
            _ => return Err(io::Error::other("engine and keeper are of different versions")),
        };
        let (plan, shell, ended, started) = match next {
            ControlFlow::Continue(Some(begun)) => begun,
            ControlFlow::Continue(None) => continue,
            ControlFlow::Break(()) => return Ok(()),
        };

        let ran_in = shell.stem.as_ref().and_then(|stem| stem.branch);
        let caller = RunConnection::to_caller(socket, std::mem::take(&mut arrived.bytes))?;
        match run::keep(plan, (shell, ended), started, caller, equipment) {
            AfterRun::Free((caller, rest), again, stem) => {
                caller.set_nonblocking(false)?;
                let branch = stem.as_ref().map(|free| free.0.next_branch(ran_in));
                report(&caller, &Report::Free { branch });
                (socket, arrived.bytes, equipment, free) = (caller, rest, again, stem);
            }
            AfterRun::Over => return Ok(()),
        }
    }
}

/// Starts a shell: one that waits for its command, or one that runs it at once. Breaks where that one cannot be started:
/// the engine has no further use for this keeper then.
fn carry_out(
    (order, given): (Order, GivenFiles),
    socket: &UnixStream,
    equipment: &mut Equipment,
    waiting: &mut Option<WaitingShell>,
) -> ControlFlow<(), Option<BegunRun>> {
    // The shell that waits would not fit, or it would not have been replaced. It has to be gone before what it shares
    // with us is cleared for the next one.
    dismiss(waiting.take());
    let (Order::Run(shell, _) | Order::Prepare(shell, _)) = &order;
    let is_given = shell.enclosed.as_ref().is_some_and(|enclosed| enclosed.confines && enclosed.watched);
    let reached = match &shell.shared {
        Some(folder) => Reached::Folder(OsStr::from_bytes(folder).into()),
        None if is_given => Reached::Given,
        None => Reached::LookingIn,
    };
    if let Err(error) = equipment.shared.fit(&reached) {
        let reason = format!("what a sandboxed shell hands its state back through cannot be made: {error}");
        report(socket, &Report::FailedToStart { reason });
        return ControlFlow::Break(());
    }
    equipment.shared.clear();

    match order {
        Order::Prepare(mut plan, number) => {
            let news = match StartedShell::start(&mut plan, given, &equipment.shared, CommandArrives::ThroughAPipe) {
                Ok(shell) => {
                    let (pid, is_stem) = (shell.pid, shell.stem.is_some());
                    *waiting = Some(WaitingShell { shell, number, ended: None, directory: None });
                    // A stem is ready when it has a branch.
                    (!is_stem).then_some(Report::Ready { number, pid })
                }
                Err(_) => Some(Report::NotReady { number }),
            };
            if let Some(news) = news {
                report(socket, &news);
            }
            ControlFlow::Continue(None)
        }
        Order::Run(mut plan, run) => {
            let started = Instant::now();
            match StartedShell::start(&mut plan, given, &equipment.shared, CommandArrives::WithTheOrder) {
                Ok(shell) => {
                    // The record before the report: a command may kill its keeper at once, and then the record is the only
                    // proof that it ran.
                    write_start(&shell);
                    report(socket, &Report::Started { pid: shell.pid });
                    ControlFlow::Continue(Some((*run, shell, None, started)))
                }
                Err(reason) => {
                    report(socket, &Report::FailedToStart { reason });
                    ControlFlow::Break(())
                }
            }
        }
    }
}

/// Has the branch of a stem that is there wait in a folder of its own, after the stem was changed where it is to be.
fn branch_again(
    Again { folder, number, directory_id, changes }: Again,
    socket: &UnixStream,
    free: Option<Box<FreeStem>>,
    equipment: &Equipment,
) -> Option<WaitingShell> {
    let again = |free: Box<FreeStem>| {
        let (mut stem, enclosed) = *free;
        if changes {
            stem.branch = None;
        }
        stem.again(&folder, enclosed).ok()
    };
    let Some(shell) = free.and_then(again) else {
        report(socket, &Report::NotReady { number });
        return None;
    };
    let mut waiting = WaitingShell { shell, number, ended: None, directory: directory_id };
    match waiting.branch() {
        Some(branch) if directory_id.is_none_or(|directory| is_in(branch, directory)) => waiting.report_ready(socket),
        Some(_) => waiting.give_up(socket),
        None => waiting.hear_from_stem(socket, equipment),
    }
    Some(waiting)
}

/// Ends a stem that is used no more.
fn drop_stem(free: Option<Box<FreeStem>>) {
    if let Some(free) = free {
        started_shell::end(free.0.pid);
        started_shell::end_orphans();
    }
}

/// Begins the run of the shell that waits, if it is there or has read its command before it ended.
fn begin(plan: RunPlan, socket: &UnixStream, waiting: Option<WaitingShell>) -> Option<BegunRun> {
    match waiting {
        Some(mut waiting) if waiting.ended.is_none() || waiting.has_begun() => {
            // The engine gives a folder another name where whoever asked has chosen the id. Only now is it ours: one in which
            // nothing was run stays the engine's, which uses the id for another attempt.
            if waiting.shell.folder.path() != plan.folder
                && let Ok(folder) = RunFolder::at(&plan.folder)
            {
                waiting.shell.folder = folder;
            }
            // Where the request is ours to write down, this is written with it, later: most commands have ended by
            // then, and nobody can look up what has no request.
            if plan.request.is_none() {
                write_start(&waiting.shell);
            }
            Some((plan, waiting.shell, waiting.ended, Instant::now()))
        }
        gone => {
            let number = gone.as_ref().map_or(0, |waiting| waiting.number);
            dismiss(gone);
            report(socket, &Report::NotReady { number });
            None
        }
    }
}

/// Reports something to the engine. That it is gone is noticed when the next order is awaited; a run goes on.
fn report(mut socket: &UnixStream, report: &Report) {
    let _ = encode(report).map(|frame| socket.write_all(&frame));
}

fn write_start(shell: &StartedShell) {
    let _ = shell.folder.write_start(StartRecord::of(shell.pid));
}

/// What has arrived and was not read yet. Several orders may come in one piece: the engine need not wait for what becomes of
/// one before it gives the next.
#[derive(Default)]
struct Arrived {
    bytes: FrameBuffer,
    /// Those of the first [`ORDER`] among the bytes: nothing is received in one piece with what follows descriptors.
    descriptors: Vec<OwnedFd>,
}

impl Arrived {
    /// The kind of the next order, where it is there.
    fn order(&mut self) -> io::Result<Option<u8>> {
        let other_version = || io::Error::other("engine and keeper are of different versions");
        match self.bytes.next_order() {
            Ok(None) if !self.descriptors.is_empty() => Err(other_version()),
            Ok(kind) => Ok(kind),
            Err(_) => Err(other_version()),
        }
    }
}

/// Sleeps until an order comes; gives its kind, `None` when none will come. A shell that ends meanwhile is reported. Memory
/// that the next order needs is given back once, if that does not come soon.
fn next_order(
    socket: &UnixStream,
    arrived: &mut Arrived,
    equipment: &Equipment,
    (waiting, free): (&mut Option<WaitingShell>, &mut Option<Box<FreeStem>>),
) -> io::Result<Option<u8>> {
    let mut quiet = Some(&QUIET);
    loop {
        if let Some(kind) = arrived.order()? {
            return Ok(Some(kind));
        }
        let signals = equipment.signals.descriptor();
        let mut polled = vec![PollFd::new(&socket, PollFlags::IN), PollFd::new(signals, PollFlags::IN)];
        let awaits_branch = waiting.as_ref().is_some_and(WaitingShell::awaits_branch);
        if awaits_branch {
            polled.push(PollFd::new(&equipment.shared.state, PollFlags::IN));
        }
        let boundary = waiting.as_ref().and_then(WaitingShell::boundary);
        polled.extend(boundary.map(|boundary| PollFd::from_borrowed_fd(boundary.descriptor(), PollFlags::IN)));
        match poll(&mut polled, quiet) {
            Ok(0) => {
                quiet = None;
                release_files();
                continue;
            }
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }

        // Signals first: whether the shell has ended is known before an order for it is taken.
        let (asked, signalled) = (!polled[0].revents().is_empty(), !polled[1].revents().is_empty());
        let calls = polled.get(2 + usize::from(awaits_branch)).map(PollFd::revents);
        let is_told = awaits_branch && !polled[2].revents().is_empty();
        if let Some(waiting) = waiting.as_mut().filter(|_| is_told) {
            waiting.hear_from_stem(socket, equipment);
        }
        if let Some(waiting) = waiting.as_mut().filter(|_| calls.is_some_and(|flags| !flags.is_empty())) {
            waiting.answer_calls(calls.unwrap_or(PollFlags::empty()));
        }
        if signalled {
            while let Some(signal) = equipment.signals.next() {
                if signal != libc::SIGCHLD {
                    return Ok(None);
                }
            }
            note_ends(socket, waiting.as_mut(), free, arrived);
        }
        if asked {
            let mut bytes = [0; 4096];
            // An engine that leaves without having read everything resets the connection, which is an error here. It
            // is gone all the same.
            let Ok(Some((count, descriptors))) = messages::receive(socket, &mut bytes) else { return Ok(None) };
            arrived.bytes.extend(&bytes[..count]);
            arrived.descriptors.extend(descriptors);
        }
    }
}

/// Reaps what has ended, and reports the shell that waits if it is among that and nobody has given it anything. One that
/// was given something may have run it: that is found out when [`BEGIN`] arrives, which is on its way then.
fn note_ends(
    socket: &UnixStream,
    mut waiting: Option<&mut WaitingShell>,
    free: &mut Option<Box<FreeStem>>,
    arrived: &Arrived,
) {
    while let Reap::Ended(child) = reap() {
        // Taken for one that is there, it would be given a command, and nobody would ever say how that ended.
        if let Some((stem, _)) = free.take_if(|free| free.0.pid == child.pid).map(|free| *free) {
            stem.end_branch();
        }
        if let Some(waiting) = waiting.as_mut().filter(|waiting| waiting.shell.pid == child.pid) {
            waiting.ended = Some(child);
            if let Some(stem) = &waiting.shell.stem {
                stem.end_branch();
            }
            let is_untouched = match waiting.shell.stem {
                // The plan of a run is sent before its command, so without one there is no command.
                Some(_) => arrived.bytes.is_empty() && !has_order(socket),
                None => waiting.is_untouched(),
            };
            if is_untouched {
                report(socket, &Report::NotReady { number: waiting.number });
            }
        }
    }
}

/// Whether the engine has sent something.
fn has_order(socket: &UnixStream) -> bool {
    let mut polled = [PollFd::new(socket, PollFlags::IN)];
    poll(&mut polled, Some(&Timespec::default())).is_ok_and(|count| count > 0)
}

fn read_message<T: DeserializeOwned>(mut socket: &UnixStream, inbox: &mut FrameBuffer) -> io::Result<T> {
    let unreadable = |_: protocol::BadFrame| io::Error::other("the plan cannot be read");
    loop {
        if let Some(plan) = inbox.next().map_err(unreadable)? {
            return Ok(plan);
        }
        // The engine sends a plan in one piece, so this waits only for the kernel.
        let mut bytes = [0; 4096];
        match io::Read::read(&mut socket, &mut bytes)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => inbox.extend(&bytes[..count]),
        }
    }
}

/// Ends a shell that nobody gave a command. Its folder is removed too, unless there is a request in it: a task that
/// somebody may have seen does not vanish, it is lost.
fn dismiss(waiting: Option<WaitingShell>) {
    let Some(WaitingShell { shell, ended, .. }) = waiting else { return };
    if ended.is_none() {
        started_shell::end(shell.pid);
    }
    if shell.stem.is_some() {
        started_shell::end_orphans();
    }
    if matches!(shell.folder.request(), Err(Unreadable::Missing)) {
        shell.folder.discard();
    } else {
        shell.folder.close_door();
    }
}

impl WaitingShell {
    /// The branch that waits, where this is a stem that has one.
    fn branch(&self) -> Option<i32> {
        self.shell.stem.as_ref().and_then(|stem| stem.branch)
    }

    /// The stem alone, to have another branch. The folder in which its branch waited goes.
    fn into_stem(self) -> Option<Box<FreeStem>> {
        let StartedShell { folder, stem, enclosed, .. } = self.shell;
        folder.discard();
        let stem = stem?;
        if self.ended.is_some() { None } else { Some(Box::new((stem, enclosed))) }
    }

    /// Whether this is a stem that has yet to say which branch waits.
    fn awaits_branch(&self) -> bool {
        self.shell.stem.is_some() && self.branch().is_none()
    }

    /// Takes what a stem has said: that a branch waits, as a rule, in the directory that it should be in.
    fn hear_from_stem(&mut self, socket: &UnixStream, equipment: &Equipment) {
        let Some(stem) = &mut self.shell.stem else { return };
        let mut text = [0; 256];
        let count = rustix::io::read(&equipment.shared.state, &mut text).unwrap_or(0);
        match StemNews::read(&text[..count]) {
            Some(StemNews::Waits(branch)) if self.directory.is_none_or(|directory| is_in(stem.pid, directory)) => {
                stem.branch = Some(branch);
                self.shell.leader_alone = stem.leader_alone();
                self.report_ready(socket);
            }
            None if count == 0 => {}
            _ => self.give_up(socket),
        }
    }

    /// Ends a stem that cannot be used.
    fn give_up(&self, socket: &UnixStream) {
        started_shell::kill(self.shell.pid);
        report(socket, &Report::NotReady { number: self.number });
    }

    fn report_ready(&self, socket: &UnixStream) {
        report(socket, &Report::Ready { number: self.number, pid: self.shell.pid });
    }

    /// What answers its calls, as long as it can make any.
    fn boundary(&self) -> Option<&Boundary> {
        self.shell.enclosed.as_ref()?.boundary.as_ref()
    }

    /// A shell that waits loads its state, for which it writes lists. Once it was given its command, a call may be that
    /// command's: then [`BEGIN`] is there as well, which says under which id what it changes is written down, so the call
    /// is left to the run. One call at a time, since the next may be the first one of the command.
    fn answer_calls(&mut self, flags: PollFlags) {
        let is_untouched = self.is_untouched();
        let Some(enclosed) = &mut self.shell.enclosed else { return };
        match &mut enclosed.boundary {
            Some(_) if flags.contains(PollFlags::IN) && !is_untouched => {}
            Some(boundary) if flags.contains(PollFlags::IN) => drop(boundary.serve_one()),
            // Nobody is left who could make one; polled again, it would wake us up for ever.
            _ => enclosed.boundary = None,
        }
    }

    /// Whether nobody has written to its pipe, nor closed that. A branch that waits does nothing before it is given
    /// something.
    fn is_untouched(&self) -> bool {
        if self.shell.stem.is_some() {
            return self.awaits_branch();
        }
        self.script_events(Some(&Timespec::default())).is_empty()
    }

    /// Whether it has read its command. Waits until that was written, or never will be: the engine closes its end of
    /// the pipe right after it has written, and the kernel does when the engine dies. The pipe of a stem whose branch was
    /// to run the command stays open; what was written for one that is gone is in it, at once or very soon.
    fn has_begun(&self) -> bool {
        let patience = self.shell.stem.is_some().then_some(&IN_WRITING);
        !self.script_events(patience).contains(PollFlags::IN)
    }

    /// What can be seen at our copy of the reading end: that something was not read, or that nothing more will come.
    fn script_events(&self, timeout: Option<&Timespec>) -> PollFlags {
        let Some(script) = &self.shell.script else { return PollFlags::empty() };
        let mut polled = [PollFd::new(script, PollFlags::IN)];
        while poll(&mut polled, timeout) == Err(Errno::INTR) {}
        polled[0].revents()
    }
}
