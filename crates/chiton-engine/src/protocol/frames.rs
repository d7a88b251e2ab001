//! Messages as frames: four bytes of length, little end first, and one encoded message.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::limits::{FRAME_BYTES, READ_BYTES};

/// One message as a frame.
pub(crate) fn encode(message: &impl Serialize) -> Vec<u8> {
    let mut frame = vec![0; 4];
    frame = postcard::to_extend(message, frame).unwrap_or_default();
    if let Some(length) = frame.len().checked_sub(4).and_then(|length| u32::try_from(length).ok()) {
        frame[..4].copy_from_slice(&length.to_le_bytes());
    }
    frame
}

/// Bytes from a socket on their way to messages.
#[derive(Default)]
pub(crate) struct FrameBuffer {
    bytes: Vec<u8>,
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

    /// Where the next bytes go, with room for some.
    pub(crate) fn space(&mut self) -> &mut Vec<u8> {
        if self.start > 0 && self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        }
        self.bytes.reserve(READ_BYTES);
        &mut self.bytes
    }

    /// The next whole message, if it is there.
    pub(crate) fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, BadFrame> {
        let waiting = &self.bytes[self.start..];
        let Some((length, rest)) = waiting.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > FRAME_BYTES {
            return Err(BadFrame);
        }
        let Some(body) = rest.get(..length) else {
            self.bytes.drain(..self.start);
            self.start = 0;
            return Ok(None);
        };
        let message = postcard::from_bytes(body).map_err(|_| BadFrame)?;
        self.start += 4 + length;
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Report;
    use crate::run::event::Stream;

    #[test]
    fn frames_are_found_whatever_the_pieces_they_come_in() {
        let reports: Vec<Report> = (0..20)
            .map(|number| Report::Output { stream: Stream::Stderr, bytes: vec![b'x'; number * 13].into() })
            .collect();
        let wire: Vec<u8> = reports.iter().flat_map(encode).collect();
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
}
