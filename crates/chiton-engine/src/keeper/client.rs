//! One connection to a keeper: whole messages in, whole messages out, never waiting.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use super::protocol::{Control, FrameBuffer, Report, encode};
use crate::limits::{QUEUE_BYTES, READ_BYTES};

pub(super) struct Client {
    socket: UnixStream,
    inbox: FrameBuffer,
    outbox: Vec<u8>,
    sent: usize,
}

impl Client {
    pub(super) fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket, inbox: FrameBuffer::default(), outbox: Vec::new(), sent: 0 })
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Queues a report and sends what can be sent now. `false` when the other side is gone.
    pub(super) fn tell(&mut self, report: &Report) -> bool {
        self.outbox.extend_from_slice(&encode(report));
        self.flush()
    }

    /// Whether more should wait: the other side reads slower than the command writes.
    pub(super) fn is_full(&self) -> bool {
        self.outbox.len() - self.sent > QUEUE_BYTES
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
                Ok(0) => return None,
                Ok(count) => self.inbox.extend(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Some(controls),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
            while let Some(control) = self.inbox.next().ok()? {
                controls.push(control);
            }
        }
    }
}
