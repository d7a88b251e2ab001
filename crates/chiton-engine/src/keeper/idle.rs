//! Between two runs: orders are taken, and where the engine wants it, a shell waits here for its command.
//!
//! It is certain whether a shell that waited has run anything. The engine says [`BEGIN`], then writes the command into a
//! pipe and closes that; the shell runs it when it has read to the end. If it is gone and there is something left in the
//! pipe, it has run nothing, and another one can be given the command.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::Post;
use super::client::Client;
use super::owner::{self, Owned};
use super::shell::{self, Shell};
use crate::folder::Unreadable;
use crate::folder::record::StartRecord;
use crate::protocol;
use crate::protocol::{BEGIN, FrameBuffer, GivenFiles, ORDER, Order, Report, RunPlan, encode};
use crate::sys::messages;
use crate::sys::process::{Reap, Reaped, reap};

/// A shell that waits for its command.
struct Spare {
    shell: Shell,
    number: u64,
    /// How it ended, where it has.
    ended: Option<Reaped>,
}

/// Serves until the engine, or whoever sends a signal, has had enough.
pub(super) fn serve(mut socket: UnixStream, mut post: Post) -> io::Result<()> {
    let mut spare = None;
    loop {
        let Some((kind, mut inbox, descriptors)) = next_order(&socket, &post, &mut spare)? else {
            dismiss(spare);
            return Ok(());
        };
        let (plan, shell, ended) = match kind {
            ORDER => match GivenFiles::read(descriptors)? {
                (Order::Prepare(mut plan, number), given) => {
                    dismiss(spare.take());
                    post.shared.clear();
                    let report = match Shell::start(&mut plan, given, true) {
                        Ok(shell) => {
                            let pid = shell.pid;
                            spare = Some(Spare { shell, number, ended: None });
                            Report::Ready { number, pid }
                        }
                        Err(_) => Report::NotReady { number },
                    };
                    tell(&socket, &report);
                    continue;
                }
                (Order::Run(mut plan, run), given) => {
                    dismiss(spare.take());
                    post.shared.clear();
                    match Shell::start(&mut plan, given, false) {
                        Ok(shell) => {
                            write_start(&shell);
                            tell(&socket, &Report::Started { pid: shell.pid });
                            (*run, shell, None)
                        }
                        Err(reason) => {
                            tell(&socket, &Report::FailedToStart { reason });
                            return Ok(());
                        }
                    }
                }
            },
            BEGIN => {
                let plan = read_plan(&socket, &mut inbox)?;
                match spare.take() {
                    Some(spare) if spare.ended.is_none() || spare.has_begun() => {
                        // Where the request is ours to write down, so is this, and there is time.
                        if plan.request.is_none() {
                            write_start(&spare.shell);
                        }
                        (plan, spare.shell, spare.ended)
                    }
                    gone => {
                        let number = gone.as_ref().map_or(0, |spare| spare.number);
                        dismiss(gone);
                        tell(&socket, &Report::NotReady { number });
                        continue;
                    }
                }
            }
            _ => return Err(io::Error::other("engine and keeper are of different versions")),
        };
        match owner::own(plan, (shell, ended), Client::caller(socket, inbox)?, post) {
            Owned::Free(caller, again) => {
                caller.set_nonblocking(false)?;
                tell(&caller, &Report::Free);
                (socket, post) = (caller, again);
            }
            Owned::Over => return Ok(()),
        }
    }
}

/// Says something to the engine. That it is gone is noticed when the next order is waited for; a run goes on.
fn tell(mut socket: &UnixStream, report: &Report) {
    let _ = encode(report).map(|frame| socket.write_all(&frame));
}

fn write_start(shell: &Shell) {
    let _ = shell.folder.write_start(StartRecord::of(shell.pid));
}

/// The byte, what came after it, and descriptors. `None` when nothing more will come.
type Received = (u8, FrameBuffer, Vec<OwnedFd>);

/// Sleeps until an order comes. That a shell ends meanwhile is noted, and told.
fn next_order(socket: &UnixStream, post: &Post, spare: &mut Option<Spare>) -> io::Result<Option<Received>> {
    loop {
        let mut polled = [PollFd::new(&socket, PollFlags::IN), PollFd::new(post.signals.descriptor(), PollFlags::IN)];
        match poll(&mut polled, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let (asked, signalled) = (!polled[0].revents().is_empty(), !polled[1].revents().is_empty());
        if signalled {
            while let Some(signal) = post.signals.next() {
                if signal != libc::SIGCHLD {
                    return Ok(None);
                }
            }
            while let Reap::Ended(child) = reap() {
                if let Some(spare) = spare.as_mut().filter(|spare| spare.shell.pid == child.pid) {
                    spare.ended = Some(child);
                    if spare.is_untouched() {
                        tell(socket, &Report::NotReady { number: spare.number });
                    }
                }
            }
        }
        if asked {
            let mut bytes = [0; 4096];
            // Who leaves without having read everything resets the connection; that is no other way of being gone.
            let Ok(Some((count, descriptors))) = messages::receive(socket, &mut bytes) else { return Ok(None) };
            let mut inbox = FrameBuffer::default();
            inbox.extend(&bytes[1..count]);
            return Ok(Some((bytes[0], inbox, descriptors)));
        }
    }
}

fn read_plan(mut socket: &UnixStream, inbox: &mut FrameBuffer) -> io::Result<RunPlan> {
    let unreadable = |_: protocol::BadFrame| io::Error::other("the plan cannot be read");
    loop {
        if let Some(plan) = inbox.next().map_err(unreadable)? {
            return Ok(plan);
        }
        let mut bytes = [0; 4096];
        match io::Read::read(&mut socket, &mut bytes)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => inbox.extend(&bytes[..count]),
        }
    }
}

/// Ends a shell that nobody gave a command. Its folder goes with it, unless it says already what was to run: a task that
/// somebody may have seen does not vanish, it is lost.
fn dismiss(spare: Option<Spare>) {
    let Some(Spare { shell, ended, .. }) = spare else { return };
    if ended.is_none() {
        shell::end(shell.pid);
    }
    if matches!(shell.folder.request(), Err(Unreadable::Missing)) {
        shell.folder.discard();
    } else {
        shell.folder.close_door();
    }
}

impl Spare {
    /// Whether nobody has given it anything, nor let go of it.
    fn is_untouched(&self) -> bool {
        self.script_comes(Some(&Timespec::default())).is_empty()
    }

    /// Whether it has read its command. Waits until that was written, or never will be.
    fn has_begun(&self) -> bool {
        let seen = self.script_comes(None);
        seen.contains(PollFlags::HUP) && !seen.contains(PollFlags::IN)
    }

    /// What is to be seen at the end where it reads: something that was not read, or that nothing more will come.
    fn script_comes(&self, timeout: Option<&Timespec>) -> PollFlags {
        let Some(script) = &self.shell.script else { return PollFlags::empty() };
        let mut polled = [PollFd::new(script, PollFlags::IN)];
        while poll(&mut polled, timeout) == Err(Errno::INTR) {}
        polled[0].revents()
    }
}
