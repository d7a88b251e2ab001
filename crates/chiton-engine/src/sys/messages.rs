//! Unix sockets: descriptors along with a few bytes, and how to wait for them.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// How many descriptors one message may carry.
pub(crate) const MAX_DESCRIPTORS: usize = 16;

/// Sends `bytes` with `descriptors`; few enough never to block on a fresh socket, and to arrive in one piece.
pub(crate) fn send(socket: impl AsFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("more descriptors than one message can carry"));
    }
    sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives what has arrived, as far as `bytes` has room, and the descriptors that came with it; `None` when the other
/// side is gone.
pub(crate) fn receive(socket: impl AsFd, bytes: &mut [u8]) -> io::Result<Option<(usize, Vec<OwnedFd>)>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    if received.bytes == 0 {
        return Ok(None);
    }
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    Ok(Some((received.bytes, descriptors)))
}

/// Registers a connection for one question alone: whether there is something to read. A registration for writing too
/// would wake us up each time the other end takes a message.
pub(crate) fn register_for_reading(connection: UnixStream) -> io::Result<AsyncFd<UnixStream>> {
    // SAFETY: `UnixStream` owns its descriptor, which stays open and the same until the `AsyncFd` gives it back.
    Ok(unsafe { AsyncFd::register_with_interest(connection, Interest::READABLE) }?)
}
