//! The keeper's end of one connection: whole messages in, whole messages out, never waiting.
//!
//! 1. [`RunConnection::receive`] gives the requests that have arrived.
//! 2. [`RunConnection::send`] queues a report and sends as much as the socket takes; the rest goes out when the loop finds
//!    the socket writable ([`RunConnection::flush`]).
//! 3. A connection that falls behind is noticed ([`RunConnection::is_full`], [`RunConnection::take_owed_news`]).
//!
//! What is done about one that is behind or gone is left to the loop.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use crate::limits::{BEHIND_BYTES, QUEUE_BYTES, READ_BYTES};
use crate::protocol::{Control, FrameBuffer, Report, VERSION, encode};

pub(super) struct RunConnection {
    socket: UnixStream,
    inbox: FrameBuffer,
    outbox: Vec<u8>,
    /// How much of the outbox was sent.
    sent: usize,
    role: ClientRole,
    greeting: Greeting,
    /// There was more output while an earlier report of it was still unsent.
    owes_news: bool,
    /// Whether a call waits here that a person may hand back.
    awaits_release: bool,
    /// Bytes that it was referred to the spool for, and has not acknowledged.
    behind: u64,
}

/// What a connection is to the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientRole {
    /// The call that waits for the run: receives all output, and holds up the command when it does not read.
    Caller,
    /// Holds a run that was handed over: its presence says that the session lives.
    Holder,
    /// Receives a report whenever there is something new.
    Watcher(Watched),
    /// Somebody's window on the terminal: receives all output, as far as it can follow.
    Window(WindowUse),
    /// Receives the lines that match its pattern.
    Follower,
    /// Sends requests and receives their answers.
    Visitor,
}

/// What a watcher wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watched {
    /// Whether there is more output, and the end.
    Output,
    /// That, and whether the command waits for input.
    OutputAndInput,
    /// The end, and whether the command waits for input.
    Input,
}

impl Watched {
    pub(super) fn wants_input(self) -> bool {
        matches!(self, Self::OutputAndInput | Self::Input)
    }
}

/// What a person does in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WindowUse {
    LooksOn,
    Types,
}

/// Whether the first byte of a connection, its version, has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Greeting {
    Expected,
    Received,
}

/// Whether the other side is still there, as far as a socket tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Peer {
    Present,
    Gone,
}

impl RunConnection {
    /// The engine that started this keeper, with what it has sent already. It was greeted when it gave its order.
    pub(super) fn to_caller(socket: UnixStream, inbox: FrameBuffer) -> io::Result<Self> {
        Ok(Self { inbox, ..Self::new(socket, ClientRole::Caller, Greeting::Received)? })
    }

    /// Somebody who connected to the socket in the run's folder.
    pub(super) fn to_visitor(socket: UnixStream) -> io::Result<Self> {
        Self::new(socket, ClientRole::Visitor, Greeting::Expected)
    }

    fn new(socket: UnixStream, role: ClientRole, greeting: Greeting) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let inbox = FrameBuffer::default();
        Ok(Self {
            socket,
            inbox,
            outbox: Vec::new(),
            sent: 0,
            role,
            greeting,
            owes_news: false,
            awaits_release: false,
            behind: 0,
        })
    }

    /// The socket, for whatever comes after this run, and what of it has arrived.
    pub(super) fn into_parts(self) -> (UnixStream, FrameBuffer) {
        (self.socket, self.inbox)
    }

    pub(super) fn role(&self) -> ClientRole {
        self.role
    }

    pub(super) fn set_role(&mut self, role: ClientRole) {
        self.role = role;
    }

    /// A call waits here that a person may hand back.
    pub(super) fn await_release(&mut self) {
        self.awaits_release = true;
    }

    /// Whether a call waits here that a person may hand back, which is done then.
    pub(super) fn take_waiting_call(&mut self) -> bool {
        std::mem::take(&mut self.awaits_release) || self.role == ClientRole::Caller
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Queues a report and sends what can be sent now.
    pub(super) fn send(&mut self, report: &Report) -> Peer {
        // A report that cannot be encoded would never arrive, and the other side would wait for it. A connection that
        // is closed says at least that something went wrong.
        let Ok(frame) = encode(report) else { return Peer::Gone };
        self.outbox.extend_from_slice(&frame);
        self.flush()
    }

    /// Reports new output to a watcher. While an earlier report is unsent one more would say nothing new, so there is
    /// never more than one in the queue, however slowly the watcher reads.
    pub(super) fn send_growth(&mut self, growth: &Report) -> Peer {
        self.owes_news = self.has_unsent();
        if self.owes_news { Peer::Present } else { self.send(growth) }
    }

    /// Passes output on to a window. One that cannot follow misses output, and is sent the whole screen once its queue
    /// is empty again.
    pub(super) fn send_to_window(&mut self, output: &Report) -> Peer {
        self.owes_news |= self.is_full();
        if self.owes_news { Peer::Present } else { self.send(output) }
    }

    /// Whether a connection whose queue is empty again missed something. Asked once: the answer settles the debt.
    pub(super) fn take_owed_news(&mut self) -> bool {
        !self.has_unsent() && std::mem::take(&mut self.owes_news)
    }

    /// Whether the other side reads more slowly than the command writes, so that more should wait.
    pub(super) fn is_full(&self) -> bool {
        self.outbox.len() - self.sent > QUEUE_BYTES || self.behind > BEHIND_BYTES
    }

    /// It was referred to the spool for so many bytes more.
    pub(super) fn refer(&mut self, bytes: u64) {
        self.behind += bytes;
    }

    /// It has read so many bytes from the spool.
    pub(super) fn acknowledge(&mut self, bytes: u64) {
        self.behind = self.behind.saturating_sub(bytes);
    }

    pub(super) fn has_unsent(&self) -> bool {
        self.sent < self.outbox.len()
    }

    /// Sends what is queued, as far as the socket takes it.
    pub(super) fn flush(&mut self) -> Peer {
        while self.has_unsent() {
            match self.socket.write(&self.outbox[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Peer::Gone,
            }
        }

        if self.has_unsent() {
            // Sent bytes are dropped once they are the larger part, so that the queue is not moved for every write.
            if self.sent > self.outbox.len() / 2 {
                self.outbox.drain(..self.sent);
                self.sent = 0;
            }
        } else {
            self.outbox.clear();
            self.outbox.shrink_to(READ_BYTES);
            self.sent = 0;
        }
        Peer::Present
    }

    /// The requests that have arrived. `None` when the other side is gone or sends what cannot be read.
    pub(super) fn receive(&mut self) -> Option<Vec<Control>> {
        let mut chunk = [0u8; 4096];
        let mut controls = Vec::new();
        loop {
            match self.socket.read(&mut chunk) {
                // A request that was sent right before the other side went away is still carried out. That it is gone
                // is found by the next read, which gets here with nothing.
                Ok(0) => return (!controls.is_empty()).then_some(controls),
                Ok(count) => {
                    let bytes = self.greet(&chunk[..count])?;
                    self.inbox.extend(bytes);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Some(controls),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
            controls.append(&mut self.received()?);
        }
    }

    /// The whole messages among what was read. `None` when one of them cannot be read.
    pub(super) fn received(&mut self) -> Option<Vec<Control>> {
        let mut controls = Vec::new();
        while let Some(control) = self.inbox.next().ok()? {
            controls.push(control);
        }
        Some(controls)
    }

    /// Takes the version off the beginning of a connection. `None` where it is not ours: messages of another version
    /// could be mistaken for other messages.
    fn greet<'a>(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        if std::mem::replace(&mut self.greeting, Greeting::Received) == Greeting::Received {
            return Some(bytes);
        }
        bytes.split_first().filter(|(version, _)| **version == VERSION).map(|(_, rest)| rest)
    }
}
