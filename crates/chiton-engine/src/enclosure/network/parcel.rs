//! Messages with descriptors between the process inside, the engine and the broker.
//!
//! A parcel is one byte that says how many batches of descriptors come, the batches, each with a byte of its own, and then
//! the message as a frame: four bytes of length, little end first, and what was encoded.

use std::io::{self, Read, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::sys::messages::{self, MAX_DESCRIPTORS};

/// The longest message. A policy of a thousand names has 30 KiB.
const FRAME_BYTES: usize = 4 * 1024 * 1024;
const LENGTH_BYTES: usize = 4;

/// One message as a frame.
pub(super) fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut frame = postcard::to_extend(message, vec![0; LENGTH_BYTES]).map_err(io::Error::other)?;
    let length = u32::try_from(frame.len() - LENGTH_BYTES).ok().filter(|length| *length as usize <= FRAME_BYTES);
    let length = length.ok_or_else(|| io::Error::other("a message to the broker is too long"))?;
    frame[..LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
    Ok(frame)
}

/// Bytes on their way to messages.
#[derive(Debug, Default)]
pub(super) struct Frames(Vec<u8>);

impl Frames {
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The next message, if all of it has arrived.
    pub(super) fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let Some((length, rest)) = self.0.split_first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > FRAME_BYTES {
            return Err(unreadable());
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let message = postcard::from_bytes(body).map_err(|_| unreadable())?;
        self.0.drain(..LENGTH_BYTES + length);
        Ok(Some(message))
    }
}

fn unreadable() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a message between the engine and its broker could not be read")
}

/// Sends a message with descriptors over a socket that waits.
pub(super) fn send(
    mut socket: &UnixStream,
    message: &impl Serialize,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let frame = encode(message)?;
    let batches: Vec<_> = descriptors.chunks(MAX_DESCRIPTORS).collect();
    let count = u8::try_from(batches.len()).map_err(|_| io::Error::other("too many descriptors for one message"))?;

    socket.write_all(&[count])?;
    for batch in batches {
        messages::send(socket, &[0], batch)?;
    }
    socket.write_all(&frame)
}

/// Receives a message and the descriptors that came with it, from a socket that waits.
pub(super) fn receive<T: DeserializeOwned>(mut socket: &UnixStream) -> io::Result<(T, Vec<OwnedFd>)> {
    let mut count = [0];
    socket.read_exact(&mut count)?;
    let mut descriptors = Vec::new();
    for _ in 0..count[0] {
        let (_, batch) = messages::receive(socket, &mut [0])?.ok_or(io::ErrorKind::UnexpectedEof)?;
        descriptors.extend(batch);
    }

    let mut length = [0; LENGTH_BYTES];
    socket.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > FRAME_BYTES {
        return Err(unreadable());
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body)?;
    Ok((postcard::from_bytes(&body).map_err(|_| unreadable())?, descriptors))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn any_number_of_descriptors_arrives_in_its_order() {
        for count in [0, 1, 7, 8, 9, 30] {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let pipes: Vec<_> = (0..count).map(|_| rustix::pipe::pipe().unwrap()).collect();
            let ends: Vec<_> = pipes.iter().map(|(_, writer)| writer.as_fd()).collect();
            send(&ours, &format!("{count} of them"), &ends).unwrap();

            let (message, received): (String, _) = receive(&theirs).unwrap();
            assert_eq!((message, received.len()), (format!("{count} of them"), count));
            for (number, writer) in received.iter().enumerate() {
                rustix::io::write(writer, &[1]).unwrap();
                assert_eq!(rustix::io::read(&pipes[number].0, &mut [0; 2][..]).unwrap(), 1);
            }
        }
    }
}
