//! The frames of WebSocket (RFC 6455), as a server reads and writes them.

use std::io::{self, Read, Write};

use data_encoding::BASE64;
use sha1::{Digest, Sha1};

/// The largest message a client may send.
const LARGEST: u64 = 16 * 1024 * 1024;

/// What a frame is about, as its number.
pub(super) const CONTINUED: u8 = 0;
pub(super) const BINARY: u8 = 2;
pub(super) const CLOSE: u8 = 8;
pub(super) const PING: u8 = 9;
pub(super) const PONG: u8 = 10;

/// What proves to a client that the server speaks WebSocket.
pub(super) fn accepted(key: &str) -> String {
    let digest = Sha1::digest(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
    BASE64.encode(&digest)
}

/// A frame that a client has sent.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) kind: u8,
    /// Whether the message ends with it.
    pub(super) is_last: bool,
    pub(super) payload: Vec<u8>,
}

/// The next message: frames that belong together are put together, others may come in between.
pub(super) fn read_message(reader: &mut impl Read, unfinished: &mut Option<Frame>) -> io::Result<Frame> {
    loop {
        let frame = read_frame(reader)?;
        let whole = match unfinished.take() {
            Some(mut begun) if frame.kind == CONTINUED => {
                begun.payload.extend(frame.payload);
                begun.is_last = frame.is_last;
                begun
            }
            begun => {
                *unfinished = begun;
                frame
            }
        };
        if whole.is_last {
            return Ok(whole);
        }
        *unfinished = Some(whole);
    }
}

fn read_frame(reader: &mut impl Read) -> io::Result<Frame> {
    let mut head = [0; 2];
    reader.read_exact(&mut head)?;
    let length = match head[1] & 0x7f {
        126 => u64::from(u16::from_be_bytes(read_array(reader)?)),
        127 => u64::from_be_bytes(read_array(reader)?),
        short => u64::from(short),
    };
    // A client hides what it sends from proxies that might take it for something else.
    let mask: [u8; 4] = if head[1] & 0x80 == 0 { [0; 4] } else { read_array(reader)? };
    let length = usize::try_from(length.min(LARGEST + 1)).unwrap_or(usize::MAX);
    if u64::try_from(length).unwrap_or(u64::MAX) > LARGEST {
        return Err(io::Error::other("a message is too long"));
    }
    let mut payload = vec![0; length];
    reader.read_exact(&mut payload)?;
    for (byte, mask) in payload.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
    Ok(Frame { kind: head[0] & 0x0f, is_last: head[0] & 0x80 != 0, payload })
}

fn read_array<const N: usize>(reader: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Sends a message of one frame.
pub(super) fn write_message(writer: &mut impl Write, kind: u8, payload: &[u8]) -> io::Result<()> {
    let mut frame = vec![0x80 | kind];
    match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(length @ 0..126), _) => frame.push(length),
        (_, Ok(length)) => {
            frame.push(126);
            frame.extend(length.to_be_bytes());
        }
        _ => {
            frame.push(127);
            frame.extend(u64::try_from(payload.len()).unwrap_or(u64::MAX).to_be_bytes());
        }
    }
    frame.extend(payload);
    writer.write_all(&frame)
}

#[cfg(test)]
mod tests {
    use super::{BINARY, PING, accepted, read_message, write_message};

    #[test]
    fn the_example_of_the_standard_is_accepted() {
        assert_eq!(accepted("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn messages_of_all_lengths_come_back() {
        for length in [0, 1, 125, 126, 65_535, 65_536, 200_000] {
            let mut wire = Vec::new();
            write_message(&mut wire, BINARY, &vec![3; length]).expect("memory takes it");
            let message = read_message(&mut wire.as_slice(), &mut None).expect("it is whole");
            assert_eq!((message.kind, message.payload.len()), (BINARY, length));
        }
    }

    #[test]
    fn a_message_in_parts_is_put_together_around_others() {
        // "Hel", masked; a ping; "lo".
        let wire = [
            &[0x02, 0x83, 1, 2, 3, 4, b'H' ^ 1, b'e' ^ 2, b'l' ^ 3][..],
            &[0x89, 0x80, 0, 0, 0, 0],
            &[0x80, 0x82, 0, 0, 0, 0, b'l', b'o'],
        ]
        .concat();
        let (mut wire, mut unfinished) = (wire.as_slice(), None);
        let ping = read_message(&mut wire, &mut unfinished).expect("it is whole");
        assert_eq!(ping.kind, PING);
        let text = read_message(&mut wire, &mut unfinished).expect("it is whole");
        assert_eq!((text.kind, text.payload.as_slice()), (BINARY, &b"Hello"[..]));
    }
}
