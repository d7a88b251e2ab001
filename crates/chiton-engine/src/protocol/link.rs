//! The engine's end of a connection to a keeper: the one client that runs and tasks both use.
//!
//! 1. [`Link::to_started`] takes over the socket that a keeper was started with; [`Link::greet`] begins a connection to
//!    the socket in a run's folder.
//! 2. [`Link::send`] sends a [`Control`]; [`Link::receive`] gives the [`Report`]s, in order.
//!
//! What the reports mean, and when to stop waiting for them, is left to the callers.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;

use rustix::buffer::spare_capacity;
use tokio::io::AsyncWriteExt;
use tokio::io::unix::AsyncFd;
use tokio::time::Instant;

use super::frames::{BadFrame, FrameBuffer, Unsendable, encode};
use super::messages::{Control, Report, VERSION};
use crate::sys::messages::register_for_reading;

/// A connection to a keeper.
pub(crate) struct Link {
    connection: AsyncFd<UnixStream>,
    /// What has arrived and was not received yet. It lives here rather than in a future, so that a receiver that is
    /// dropped half-way loses nothing.
    inbox: FrameBuffer,
}

/// Whether more can come over a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Something came.
    More,
    /// The keeper is gone.
    Closed,
}

impl Link {
    /// The connection to a keeper that this process started, with what has arrived on it so far. The socket must not
    /// block.
    pub(crate) fn to_started(connection: UnixStream, inbox: FrameBuffer) -> io::Result<Self> {
        Ok(Self { connection: register_for_reading(connection)?, inbox })
    }

    /// A new connection to a keeper that anybody started. It begins with the version it speaks; a keeper of another
    /// version closes it.
    pub(crate) async fn greet(connection: UnixStream) -> io::Result<Self> {
        connection.set_nonblocking(true)?;
        let mut link = Self { connection: register_for_reading(connection)?, inbox: FrameBuffer::default() };

        // The first byte on a fresh socket always fits, so this does not wait.
        link.write(&[VERSION]).await?;
        Ok(link)
    }

    /// The socket, and what has arrived on it and was not received.
    pub(crate) fn into_parts(self) -> (UnixStream, FrameBuffer) {
        (self.connection.into_inner(), self.inbox)
    }

    /// Sends `control`. A keeper that is gone is noticed by the next receive, so that is not an error here.
    ///
    /// Not cancel-safe: dropped half-way it leaves half a frame behind, after which the connection is of no use. Callers
    /// therefore never race it against anything; they drop it only together with the link.
    pub(crate) async fn send(&mut self, control: &Control) -> Result<(), Unsendable> {
        let frame = encode(control)?;
        let _ = self.write(&frame).await;
        Ok(())
    }

    async fn write(&mut self, mut rest: &[u8]) -> io::Result<()> {
        while !rest.is_empty() {
            match self.connection.get_ref().write(rest) {
                Ok(count) => rest = &rest[count..],
                // The keeper does not read: as a rule it is waiting for us to read. The connection is registered for
                // reading alone, since otherwise every message the keeper takes would wake us up. So only now, when it
                // is needed, a copy of the descriptor is registered for writing.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let copy = self.connection.get_ref().try_clone()?;
                    return tokio::net::UnixStream::from_std(copy)?.write_all(rest).await;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The next report; `None` when the keeper is gone or sends what cannot be read.
    ///
    /// Cancel-safe: what was read stays in the inbox.
    pub(crate) async fn receive(&mut self) -> Option<Report> {
        loop {
            if let Some(report) = self.received().ok()? {
                return Some(report);
            }
            if self.arrival().await == Arrival::Closed {
                return None;
            }
        }
    }

    /// A report that has arrived already. Never waits.
    pub(crate) fn received(&mut self) -> Result<Option<Report>, BadFrame> {
        self.inbox.next()
    }

    /// Waits until more has arrived, and takes it in.
    ///
    /// Cancel-safe: between the read, which does not wait, and the return there is no await.
    pub(crate) async fn arrival(&mut self) -> Arrival {
        loop {
            let Ok(mut ready) = self.connection.readable().await else { return Arrival::Closed };
            let space = self.inbox.space();
            let room = space.capacity() - space.len();

            match ready.try_io(|connection| Ok(rustix::io::read(connection.get_ref(), spare_capacity(space))?)) {
                Ok(Ok(0)) => return Arrival::Closed,
                Ok(Ok(count)) => {
                    if count < room {
                        // The socket is empty now. Saying so here saves the read that would only find that out.
                        ready.clear_ready();
                    }
                    return Arrival::More;
                }
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(_)) => return Arrival::Closed,
                Err(_would_block) => {}
            }
        }
    }
}

/// Sleeps until `time`; without one, for ever.
pub(crate) async fn reached(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
