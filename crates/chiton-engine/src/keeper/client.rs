//! One connection to a keeper: whole messages in, whole messages out, never waiting.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use crate::limits::{BEHIND_BYTES, QUEUE_BYTES, READ_BYTES};
use crate::protocol::{Control, FrameBuffer, Report, VERSION, encode};

pub(super) struct Client {
    socket: UnixStream,
    inbox: FrameBuffer,
    outbox: Vec<u8>,
    sent: usize,
    role: Role,
    greeted: bool,
    /// There was more output while an earlier word of it was still unsent.
    owes_growth: bool,
    /// What it was told to be in the spool, and has not read yet.
    behind: u64,
}

/// What a connection is to the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The call that waits for it: gets all output, and holds up the command when it does not read.
    Caller,
    /// Holds a run that was handed over: says by being there that its session lives.
    Holder,
    /// Told when there is something new, and, where it wants that, when the command waits for input.
    Watcher { input: bool },
    /// Somebody's window on the terminal: gets all output, as far as it can follow.
    Window { types: bool },
    /// Asks and is answered.
    Visitor,
}

impl Client {
    /// The engine that started this keeper, and what it has said already.
    pub(super) fn caller(socket: UnixStream, inbox: FrameBuffer) -> io::Result<Self> {
        Ok(Self { inbox, ..Self::new(socket, Role::Caller, true)? })
    }

    /// Its socket, for whatever comes after this run.
    pub(super) fn into_socket(self) -> UnixStream {
        self.socket
    }

    /// Somebody who connected later.
    pub(super) fn visitor(socket: UnixStream) -> io::Result<Self> {
        Self::new(socket, Role::Visitor, false)
    }

    fn new(socket: UnixStream, role: Role, greeted: bool) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let inbox = FrameBuffer::default();
        Ok(Self { socket, inbox, outbox: Vec::new(), sent: 0, role, greeted, owes_growth: false, behind: 0 })
    }

    pub(super) fn role(&self) -> Role {
        self.role
    }

    pub(super) fn become_role(&mut self, role: Role) {
        self.role = role;
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Queues a report and sends what can be sent now. `false` when the other side is gone.
    pub(super) fn tell(&mut self, report: &Report) -> bool {
        // A report that cannot be sent would never arrive, and the other side would wait for it: closed, it does not.
        let Ok(frame) = encode(report) else { return false };
        self.outbox.extend_from_slice(&frame);
        self.flush()
    }

    /// Tells a watcher of new output, once until it has read that.
    pub(super) fn tell_growth(&mut self, growth: &Report) -> bool {
        self.owes_growth = self.has_unsent();
        self.owes_growth || self.tell(growth)
    }

    /// Passes output on to a window. One that cannot follow is shown the screen once it has caught up.
    pub(super) fn tell_window(&mut self, output: &Report) -> bool {
        self.owes_growth |= self.is_full();
        self.owes_growth || self.tell(output)
    }

    /// Whether a watcher that has caught up should be told again.
    pub(super) fn takes_growth(&mut self) -> bool {
        !self.has_unsent() && std::mem::take(&mut self.owes_growth)
    }

    /// Whether more should wait: the other side reads slower than the command writes.
    pub(super) fn is_full(&self) -> bool {
        self.outbox.len() - self.sent > QUEUE_BYTES || self.behind > BEHIND_BYTES
    }

    /// More for it is in the spool.
    pub(super) fn fall_behind(&mut self, bytes: u64) {
        self.behind += bytes;
    }

    /// It has read so much of that.
    pub(super) fn catch_up(&mut self, bytes: u64) {
        self.behind = self.behind.saturating_sub(bytes);
    }

    pub(super) fn has_unsent(&self) -> bool {
        self.sent < self.outbox.len()
    }

    /// Sends what is queued, as far as the socket takes it. `false` when the other side is gone.
    pub(super) fn flush(&mut self) -> bool {
        while self.has_unsent() {
            match self.socket.write(&self.outbox[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        if self.has_unsent() {
            // Sent bytes are let go once they are the larger part, so that the queue is not moved for every write.
            if self.sent > self.outbox.len() / 2 {
                self.outbox.drain(..self.sent);
                self.sent = 0;
            }
        } else {
            self.outbox.clear();
            self.outbox.shrink_to(READ_BYTES);
            self.sent = 0;
        }
        true
    }

    /// Reads what has arrived. `None` when the other side is gone or talks nonsense.
    pub(super) fn listen(&mut self) -> Option<Vec<Control>> {
        let mut chunk = [0u8; 4096];
        let mut controls = Vec::new();
        loop {
            match self.socket.read(&mut chunk) {
                // What was asked before going away is still done.
                Ok(0) => return (!controls.is_empty()).then_some(controls),
                Ok(count) => {
                    let bytes = self.greet(&chunk[..count])?;
                    self.inbox.extend(bytes);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Some(controls),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
            controls.append(&mut self.heard()?);
        }
    }

    /// Whole messages among what was read. `None` when the other side talks nonsense.
    pub(super) fn heard(&mut self) -> Option<Vec<Control>> {
        let mut controls = Vec::new();
        while let Some(control) = self.inbox.next().ok()? {
            controls.push(control);
        }
        Some(controls)
    }

    /// The first byte of a connection is the version it speaks.
    fn greet<'a>(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        if std::mem::replace(&mut self.greeted, true) {
            return Some(bytes);
        }
        bytes.split_first().filter(|(version, _)| **version == VERSION).map(|(_, rest)| rest)
    }
}
