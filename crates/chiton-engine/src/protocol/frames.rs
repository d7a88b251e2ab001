//! Messages as frames: four bytes of length, little end first, then one encoded message.
//!
//! A message that does not fit into a frame is an error on the side that sends it. The receiver could only close the
//! connection, and nobody would learn why.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::limits::{FRAME_BYTES, READ_BYTES};

/// The bytes before a message that say how long it is.
const LENGTH_BYTES: usize = 4;

/// A message that cannot be sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unsendable {
    /// A path in it is not UTF-8, which is the only way in which one of our messages can fail to encode.
    #[error("it cannot be encoded ({0})")]
    Unencodable(#[from] postcard::Error),
    /// The receiver would close the connection.
    #[error("it has {0} bytes, more than the {FRAME_BYTES} that fit into one message")]
    TooLong(usize),
}

impl From<Unsendable> for io::Error {
    fn from(error: Unsendable) -> Self {
        Self::new(io::ErrorKind::InvalidData, error.to_string())
    }
}

/// What announces an order to a keeper: an empty frame, which no message is, and a byte that says what kind of order it is.
pub(crate) fn announcement(kind: u8) -> [u8; LENGTH_BYTES + 1] {
    [0, 0, 0, 0, kind]
}

/// One message as a frame.
pub(crate) fn encode(message: &impl Serialize) -> Result<Vec<u8>, Unsendable> {
    let mut frame = postcard::to_extend(message, vec![0; LENGTH_BYTES])?;
    let length = frame.len() - LENGTH_BYTES;

    match u32::try_from(length) {
        Ok(written) if length <= FRAME_BYTES => frame[..LENGTH_BYTES].copy_from_slice(&written.to_le_bytes()),
        _ => return Err(Unsendable::TooLong(length)),
    }
    Ok(frame)
}

/// Bytes from a socket on their way to messages.
#[derive(Default)]
pub(crate) struct FrameBuffer {
    bytes: Vec<u8>,
    /// Everything before this was given out as messages.
    start: usize,
}

/// A frame that is too long or does not hold a message of this version.
#[derive(Debug, thiserror::Error)]
#[error("a message on the keeper's socket could not be read")]
pub(crate) struct BadFrame;

impl FrameBuffer {
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.space().extend_from_slice(bytes);
    }

    /// The buffer to append the next bytes to, with room for one read.
    pub(crate) fn space(&mut self) -> &mut Vec<u8> {
        if self.start > 0 && self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        }
        self.bytes.reserve(READ_BYTES);
        &mut self.bytes
    }

    /// The next message, if all of it has arrived.
    pub(crate) fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, BadFrame> {
        let waiting = &self.bytes[self.start..];
        let Some((length, rest)) = waiting.split_first_chunk::<LENGTH_BYTES>() else { return Ok(None) };

        // Checked before the body is awaited: a length made of garbage must not make us read for ever.
        let length = u32::from_le_bytes(*length) as usize;
        if length > FRAME_BYTES {
            return Err(BadFrame);
        }

        let Some(body) = rest.get(..length) else {
            // Only now, when more has to be read anyway, are the messages given out before this one dropped.
            self.bytes.drain(..self.start);
            self.start = 0;
            return Ok(None);
        };
        let message = postcard::from_bytes(body).map_err(|_| BadFrame)?;
        self.start += LENGTH_BYTES + length;
        Ok(Some(message))
    }

    /// The kind of the next order, if its announcement has arrived. Messages before it are dropped: whoever sent them had
    /// not learnt yet that the run was over which they were for.
    pub(crate) fn next_order(&mut self) -> Result<Option<u8>, BadFrame> {
        loop {
            let waiting = &self.bytes[self.start..];
            let Some((length, rest)) = waiting.split_first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
            let taken = match (u32::from_le_bytes(*length) as usize, rest) {
                (0, []) => return Ok(None),
                (0, [kind, ..]) => {
                    self.start += LENGTH_BYTES + 1;
                    return Ok(Some(*kind));
                }
                (length, _) if length > FRAME_BYTES => return Err(BadFrame),
                (length, rest) if rest.len() < length => return Ok(None),
                (length, _) => LENGTH_BYTES + length,
            };
            self.start += taken;
        }
    }

    /// Whether everything that has arrived was given out or dropped.
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Control, Report};
    use crate::run::event::Stream;

    #[test]
    fn an_order_is_found_behind_messages_for_a_run_that_is_over_whatever_the_pieces_they_come_in() {
        let late = [Control::Taken(1 << 40), Control::Taken(0), Control::Taken(7)];
        let mut wire: Vec<u8> = late.iter().flat_map(|control| encode(control).unwrap()).collect();
        wire.extend(announcement(0x91));
        wire.extend(encode(&Control::Taken(3)).unwrap());
        wire.extend(announcement(0x11));
        for piece in [1, 2, 5, wire.len()] {
            let mut buffer = FrameBuffer::default();
            let mut found = Vec::new();
            for part in wire.chunks(piece) {
                buffer.extend(part);
                while let Some(kind) = buffer.next_order().unwrap() {
                    found.push(kind);
                }
            }
            assert_eq!((found.as_slice(), buffer.is_empty()), (&[0x91, 0x11][..], true), "{piece}");
        }
    }

    #[test]
    fn frames_are_found_whatever_the_pieces_they_come_in() {
        let reports: Vec<Report> = (0..20)
            .map(|number| Report::Output { stream: Stream::Stderr, bytes: vec![b'x'; number * 13].into() })
            .collect();
        let wire: Vec<u8> = reports.iter().flat_map(|report| encode(report).unwrap()).collect();
        for piece in [1, 2, 5, 64, wire.len()] {
            let mut buffer = FrameBuffer::default();
            let mut found = 0;
            for part in wire.chunks(piece) {
                buffer.extend(part);
                while let Some(report) = buffer.next::<Report>().unwrap() {
                    assert!(matches!(report, Report::Output { bytes, .. } if bytes.len() == found * 13));
                    found += 1;
                }
            }
            assert_eq!(found, 20, "pieces of {piece}");
        }
    }

    #[test]
    fn a_frame_that_is_too_long_or_garbage_is_an_error_at_once() {
        for wire in [vec![0xff; 8], [3u32.to_le_bytes().as_slice(), &[0xee; 3]].concat()] {
            let mut buffer = FrameBuffer::default();
            buffer.extend(&wire);
            assert!(buffer.next::<Report>().is_err());
        }
    }

    #[test]
    fn a_message_that_cannot_be_sent_is_an_error_and_never_an_empty_frame() {
        use std::os::unix::ffi::OsStringExt;

        let path = std::path::PathBuf::from(std::ffi::OsString::from_vec(vec![b'/', 0xff]));
        assert!(matches!(encode(&path), Err(Unsendable::Unencodable(_))));

        let long = Control::Input(vec![b'x'; FRAME_BYTES].into());
        assert!(matches!(encode(&long), Err(Unsendable::TooLong(_))));
    }
}
