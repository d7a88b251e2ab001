//! Bytes from one socket to another, by way of a pipe and without being copied to us.
//!
//! A pipe is borrowed only while it holds something, so connections that rest have none and memory is bounded by what the
//! kernel lets a pipe hold.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

/// As much as is moved at once, and what a pipe is asked to hold.
const CHUNK: usize = 512 * 1024;
/// How much one connection may move before the others have their turn.
const TURN: usize = 4 * CHUNK;
/// How many empty pipes are kept.
const SPARE: usize = 16;

pub(super) struct Pipe {
    reader: OwnedFd,
    writer: OwnedFd,
}

/// Pipes that are empty.
#[derive(Default)]
pub(super) struct Pipes(Vec<Pipe>);

impl Pipes {
    fn take(&mut self) -> io::Result<Pipe> {
        if let Some(pipe) = self.0.pop() {
            return Ok(pipe);
        }
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // One of the usual size does as well, where a user may have no larger ones.
        let _ = fcntl_setpipe_size(&writer, CHUNK);
        Ok(Pipe { reader, writer })
    }

    fn give_back(&mut self, pipe: Pipe) {
        if self.0.len() < SPARE {
            self.0.push(pipe);
        }
    }
}

/// One end of a connection, as far as is known without asking.
pub(super) struct End {
    pub(super) socket: OwnedFd,
    pub(super) readable: bool,
    pub(super) writable: bool,
}

impl End {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self { socket, readable: true, writable: true }
    }
}

/// One way of a connection.
#[derive(Default)]
pub(super) struct Direction {
    /// What was read and not written yet.
    held: Option<(Pipe, usize)>,
    progress: Progress,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Progress {
    #[default]
    Open,
    /// Nothing more comes.
    Ended,
    /// The other side was told so.
    Closed,
}

/// How far [`Direction::pump`] came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pumped {
    /// One of the ends has to be ready first.
    Waits,
    /// There may be more, but it is the turn of others.
    MayGoOn,
    /// All was moved, and the end of it passed on.
    Finished,
}

impl Direction {
    /// Moves what can be moved.
    pub(super) fn pump(&mut self, from: &mut End, to: &mut End, pipes: &mut Pipes) -> io::Result<Pumped> {
        let mut moved = 0;
        loop {
            if self.held.is_some() {
                if !self.write(to, pipes)? {
                    return Ok(Pumped::Waits);
                }
            } else if self.progress == Progress::Ended {
                // An error means that the other side is gone, which its own direction finds out.
                let _ = shutdown(&to.socket, Shutdown::Write);
                self.progress = Progress::Closed;
            } else if self.progress == Progress::Closed {
                return Ok(Pumped::Finished);
            } else if !from.readable {
                return Ok(Pumped::Waits);
            } else if moved >= TURN {
                return Ok(Pumped::MayGoOn);
            } else {
                moved += self.read(from, pipes)?;
            }
        }
    }

    fn read(&mut self, from: &mut End, pipes: &mut Pipes) -> io::Result<usize> {
        let pipe = pipes.take()?;
        match move_bytes(&from.socket, &pipe.writer, CHUNK) {
            Ok(0) => self.progress = Progress::Ended,
            Ok(count) => {
                self.held = Some((pipe, count));
                return Ok(count);
            }
            Err(Errno::AGAIN) => from.readable = false,
            Err(error) => return Err(error.into()),
        }
        pipes.give_back(pipe);
        Ok(0)
    }

    /// Writes what is held; whether nothing is any more.
    fn write(&mut self, to: &mut End, pipes: &mut Pipes) -> io::Result<bool> {
        while let Some((pipe, count)) = &mut self.held {
            if !to.writable {
                return Ok(false);
            }
            match move_bytes(&pipe.reader, &to.socket, *count) {
                Ok(written) => *count -= written.min(*count),
                Err(Errno::AGAIN) => to.writable = false,
                Err(error) => return Err(error.into()),
            }
            if *count == 0
                && let Some((pipe, _)) = self.held.take()
            {
                pipes.give_back(pipe);
            }
        }
        Ok(true)
    }
}

fn move_bytes(from: impl AsFd, to: impl AsFd, count: usize) -> rustix::io::Result<usize> {
    loop {
        match splice(&from, None, &to, None, count, SpliceFlags::MOVE | SpliceFlags::NONBLOCK) {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}
