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

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::Equipment;
use super::boundary::Boundary;
use super::connection::RunConnection;
use super::run::{self, AfterRun};
use super::shared_files::Reached;
use super::started_shell::{self, CommandArrives, StartedShell};
use crate::folder::record::StartRecord;
use crate::folder::{RunFolder, Unreadable};
use crate::protocol;
use crate::protocol::{BEGIN, FrameBuffer, GivenFiles, ORDER, Order, Report, RunPlan, encode};
use crate::sys::messages;
use crate::sys::process::{Reap, Reaped, reap};

/// A shell that waits for its command.
struct WaitingShell {
    shell: StartedShell,
    /// The number that the engine gave it, by which reports name it.
    number: u64,
    /// How it ended, where it has.
    ended: Option<Reaped>,
}

/// A run that begins: its plan, its shell, and how that ended, where it has already.
type BegunRun = (RunPlan, StartedShell, Option<Reaped>);

/// Serves until the engine is gone, or a signal says that it is enough.
pub(super) fn serve(mut socket: UnixStream, mut equipment: Equipment) -> io::Result<()> {
    let mut waiting = None;
    loop {
        let Some((kind, mut inbox, descriptors)) = next_order(&socket, &equipment, &mut waiting)? else {
            dismiss(waiting);
            return Ok(());
        };
        let next = match kind {
            ORDER => carry_out(GivenFiles::read(descriptors)?, &socket, &mut equipment, &mut waiting),
            BEGIN => ControlFlow::Continue(begin(read_plan(&socket, &mut inbox)?, &socket, waiting.take())),
            _ => return Err(io::Error::other("engine and keeper are of different versions")),
        };
        let (plan, shell, ended) = match next {
            ControlFlow::Continue(Some(begun)) => begun,
            ControlFlow::Continue(None) => continue,
            ControlFlow::Break(()) => return Ok(()),
        };

        match run::keep(plan, (shell, ended), RunConnection::to_caller(socket, inbox)?, equipment) {
            AfterRun::Free(caller, again) => {
                caller.set_nonblocking(false)?;
                report(&caller, &Report::Free);
                (socket, equipment) = (caller, again);
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
                    let pid = shell.pid;
                    *waiting = Some(WaitingShell { shell, number, ended: None });
                    Report::Ready { number, pid }
                }
                Err(_) => Report::NotReady { number },
            };
            report(socket, &news);
            ControlFlow::Continue(None)
        }
        Order::Run(mut plan, run) => {
            match StartedShell::start(&mut plan, given, &equipment.shared, CommandArrives::WithTheOrder) {
                Ok(shell) => {
                    // The record before the report: a command may kill its keeper at once, and then the record is the only
                    // proof that it ran.
                    write_start(&shell);
                    report(socket, &Report::Started { pid: shell.pid });
                    ControlFlow::Continue(Some((*run, shell, None)))
                }
                Err(reason) => {
                    report(socket, &Report::FailedToStart { reason });
                    ControlFlow::Break(())
                }
            }
        }
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
            Some((plan, waiting.shell, waiting.ended))
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

/// The first byte, what came after it, and descriptors.
type Received = (u8, FrameBuffer, Vec<OwnedFd>);

/// Sleeps until an order comes; `None` when none will. A shell that ends meanwhile is reported.
fn next_order(
    socket: &UnixStream,
    equipment: &Equipment,
    waiting: &mut Option<WaitingShell>,
) -> io::Result<Option<Received>> {
    loop {
        let signals = equipment.signals.descriptor();
        let mut polled = vec![PollFd::new(&socket, PollFlags::IN), PollFd::new(signals, PollFlags::IN)];
        let boundary = waiting.as_ref().and_then(WaitingShell::boundary);
        polled.extend(boundary.map(|boundary| PollFd::from_borrowed_fd(boundary.descriptor(), PollFlags::IN)));
        match poll(&mut polled, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }

        // Signals first: whether the shell has ended is known before an order for it is taken.
        let (asked, signalled) = (!polled[0].revents().is_empty(), !polled[1].revents().is_empty());
        let calls = polled.get(2).map(PollFd::revents);
        if let Some(waiting) = waiting.as_mut().filter(|_| calls.is_some_and(|flags| !flags.is_empty())) {
            waiting.answer_calls(calls.unwrap_or(PollFlags::empty()));
        }
        if signalled {
            while let Some(signal) = equipment.signals.next() {
                if signal != libc::SIGCHLD {
                    return Ok(None);
                }
            }
            note_ends(socket, waiting.as_mut());
        }
        if asked {
            let mut bytes = [0; 4096];
            // An engine that leaves without having read everything resets the connection, which is an error here. It
            // is gone all the same.
            let Ok(Some((count, descriptors))) = messages::receive(socket, &mut bytes) else { return Ok(None) };
            let mut inbox = FrameBuffer::default();
            inbox.extend(&bytes[1..count]);
            return Ok(Some((bytes[0], inbox, descriptors)));
        }
    }
}

/// Reaps what has ended, and reports the shell that waits if it is among that and nobody has given it anything. One that
/// was given something may have run it: that is found out when [`BEGIN`] arrives, which is on its way then.
fn note_ends(socket: &UnixStream, mut waiting: Option<&mut WaitingShell>) {
    while let Reap::Ended(child) = reap() {
        if let Some(waiting) = waiting.as_mut().filter(|waiting| waiting.shell.pid == child.pid) {
            waiting.ended = Some(child);
            if waiting.is_untouched() {
                report(socket, &Report::NotReady { number: waiting.number });
            }
        }
    }
}

fn read_plan(mut socket: &UnixStream, inbox: &mut FrameBuffer) -> io::Result<RunPlan> {
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
    if matches!(shell.folder.request(), Err(Unreadable::Missing)) {
        shell.folder.discard();
    } else {
        shell.folder.close_door();
    }
}

impl WaitingShell {
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

    /// Whether nobody has written to its pipe, nor closed that.
    fn is_untouched(&self) -> bool {
        self.script_events(Some(&Timespec::default())).is_empty()
    }

    /// Whether it has read its command. Waits until that was written, or never will be: the engine closes its end of
    /// the pipe right after it has written, and the kernel does when the engine dies.
    fn has_begun(&self) -> bool {
        let seen = self.script_events(None);
        seen.contains(PollFlags::HUP) && !seen.contains(PollFlags::IN)
    }

    /// What can be seen at our copy of the reading end: that something was not read, or that nothing more will come.
    fn script_events(&self, timeout: Option<&Timespec>) -> PollFlags {
        let Some(script) = &self.shell.script else { return PollFlags::empty() };
        let mut polled = [PollFd::new(script, PollFlags::IN)];
        while poll(&mut polled, timeout) == Err(Errno::INTR) {}
        polled[0].revents()
    }
}
