//! The writing end of a run's standard input, where it was left open: a pipe, or its terminal.
//!
//! Writing never waits. What the command does not read at once is queued, up to a limit, and goes out when the loop finds
//! the pipe writable.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};

use crate::protocol::Denial;

/// How much is queued for a command that does not read: more than anybody types, less than would matter.
const MOST_WAITING: usize = 1 << 20;

pub(super) struct OpenInput {
    pipe: Option<File>,
    waiting: VecDeque<u8>,
    ends: bool,
}

impl OpenInput {
    pub(super) fn new(pipe: Option<File>) -> Self {
        Self { pipe, waiting: VecDeque::new(), ends: false }
    }

    /// Takes bytes for the command, all or none: half of what somebody typed could be another command.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Denial> {
        if self.pipe.is_none() || self.ends {
            return Err(Denial::InputClosed);
        }
        if self.waiting.len() + bytes.len() > MOST_WAITING {
            let reason = format!("it does not read: {} bytes are waiting already", self.waiting.len());
            return Err(Denial::Because(reason));
        }
        self.waiting.extend(bytes);
        self.push();
        Ok(())
    }

    /// The pipe, while it is open.
    pub(super) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Closes it once everything written has been read.
    pub(super) fn end(&mut self) -> Result<(), Denial> {
        if self.pipe.is_none() {
            return Err(Denial::InputClosed);
        }
        self.ends = true;
        self.push();
        Ok(())
    }

    /// The pipe, while something waits to be written.
    pub(super) fn wants_to_write(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().filter(|_| !self.waiting.is_empty()).map(AsFd::as_fd)
    }

    /// How many bytes wait to be written.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How many bytes are in the pipe and were not read.
    pub(super) fn in_pipe(&self) -> usize {
        let unread = self.pipe.as_ref().and_then(|pipe| rustix::io::ioctl_fionread(pipe).ok());
        unread.and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
    }

    /// Writes as much as the pipe takes.
    pub(super) fn push(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        while !self.waiting.is_empty() {
            match pipe.write(self.waiting.as_slices().0) {
                Ok(count) => drop(self.waiting.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Every reader is gone, so nobody will ever read it.
                Err(_) => {
                    self.waiting.clear();
                    self.ends = true;
                }
            }
        }
        if self.ends {
            self.pipe = None;
        }
    }
}
