//! What goes over a link: frames, each with a number and with the number of the last one that came.

use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};
use zeroize::Zeroizing;

/// The version of the link. A host serves every program that speaks its version.
pub const VERSION: u16 = 1;

/// How much of a stream goes into one frame: a heartbeat does not wait long behind it, not even on a slow line.
pub(crate) const PIECE: usize = 32 << 10;
/// How much of a stream may be on its way. More is left where it is, so neither side ever holds more.
pub(crate) const WINDOW: u64 = 1 << 20;
/// No frame is larger.
const LARGEST: usize = 64 << 20;
/// Number, and number of the last one that came.
const HEAD: usize = 16;

/// The direction of bytes on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Stream {
    /// What the verb reads.
    Input,
    /// Its standard output.
    Output,
    /// Its standard error.
    Errors,
}

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Columns.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
}

/// A verb of the program on the far side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verb {
    /// Its arguments, without the name of the program.
    pub arguments: Vec<Vec<u8>>,
    /// Where it runs; without it, where the connection arrives.
    pub directory: Option<Vec<u8>>,
    /// Variables over those that the connection finds there.
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
    /// What it reads from a descriptor of its own, whose number takes the place of `{given}` in its arguments.
    pub given: Option<Vec<u8>>,
    /// A terminal for all three streams.
    pub terminal: Option<Size>,
}

/// How a verb ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// With this code.
    Exited(i32),
    /// By this signal.
    Signaled(i32),
    /// It never began, for this reason.
    NotStarted(String),
}

/// What is said about channels. Numbered, so each of these arrives once, in its order, whatever happens to the pipe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Message {
    /// Start this.
    Open { channel: u32, verb: Box<Verb> },
    /// The next bytes of a stream.
    Bytes { channel: u32, stream: Stream, bytes: Vec<u8> },
    /// A stream has no more bytes.
    End { channel: u32, stream: Stream },
    /// So many bytes of a stream were taken away, so that many more may come.
    Taken { channel: u32, stream: Stream, bytes: u64 },
    /// A signal for the verb.
    Signal { channel: u32, signal: i32 },
    /// The terminal has this size now.
    Resize { channel: u32, size: Size },
    /// The verb is over, and so are its streams.
    Ended { channel: u32, ending: Ending },
    /// Nobody will come back to this link.
    Bye,
}

/// What is said about the pipe itself. It has no number and is never sent again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Beat {
    /// Are you there?
    Ping { token: u64 },
    /// Yes, and this late is it here, in milliseconds since 1970.
    Pong { token: u64, clock: i64 },
    /// The number in the head is all there is to say.
    Seen,
}

/// The relay's word to the host, before anything else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Arrival {
    pub(crate) version: u16,
    /// The program that the verbs of this connection are of.
    pub(crate) program: Vec<u8>,
    /// Where the connection arrived.
    pub(crate) directory: Vec<u8>,
    /// What it found there.
    pub(crate) environment: Vec<(Vec<u8>, Vec<u8>)>,
    /// What the near side wants to know, in the words of the program.
    pub(crate) facts: Vec<u8>,
}

/// The near side's first word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) version: u16,
    pub(crate) link: [u8; 16],
    /// Whether the link was there before.
    pub(crate) resumes: bool,
    /// The last number that came from the host.
    pub(crate) received: u64,
    /// How long the host keeps what the near side started, when the pipe is broken.
    pub(crate) lease_ms: u64,
}

/// The host's first word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Welcome {
    pub(crate) version: u16,
    /// Whether the host knows the link.
    pub(crate) resumes: bool,
    /// The last number that came from the near side.
    pub(crate) received: u64,
    /// What the relay said.
    pub(crate) facts: Vec<u8>,
}

/// One frame as it came.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Zero where it has no number.
    pub(crate) number: u64,
    /// The last number that the other side has.
    pub(crate) seen: u64,
    pub(crate) body: Zeroizing<Vec<u8>>,
}

impl Frame {
    /// What is in it.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> io::Result<T> {
        postcard::from_bytes(&self.body).map_err(|_| garbled("a frame says what nobody understands"))
    }
}

/// A body as bytes. What can be sent can be written down, so there is no error to tell.
pub(crate) fn encode(body: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(body).unwrap_or_default()
}

/// Adds a frame to what is about to be written.
pub(crate) fn put(out: &mut Vec<u8>, number: u64, seen: u64, body: &[u8]) {
    let length = u32::try_from(HEAD + body.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(&seen.to_le_bytes());
    out.extend_from_slice(body);
}

/// Takes frames from bytes, however they are cut.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    buffer: Vec<u8>,
    /// What of the buffer was taken.
    taken: usize,
}

impl Frames {
    /// Bytes that came before anybody looked for frames.
    pub(crate) fn starting_with(buffer: Vec<u8>) -> Self {
        Self { buffer, taken: 0 }
    }

    /// The next whole frame, where there is one.
    pub(crate) fn next(&mut self) -> io::Result<Option<Frame>> {
        let rest = &self.buffer[self.taken..];
        let Some((length, rest)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if !(HEAD..=LARGEST).contains(&length) {
            return Err(garbled("a frame has an impossible length"));
        }
        let Some(frame) = rest.get(..length) else { return Ok(None) };
        let (number, rest) = frame.split_first_chunk::<8>().ok_or_else(|| garbled("a frame has no head"))?;
        let (seen, body) = rest.split_first_chunk::<8>().ok_or_else(|| garbled("a frame has no head"))?;
        let frame = Frame {
            number: u64::from_le_bytes(*number),
            seen: u64::from_le_bytes(*seen),
            body: Zeroizing::new(body.to_vec()),
        };
        self.taken += 4 + length;
        Ok(Some(frame))
    }

    /// Reads more.
    pub(crate) async fn fill(&mut self, reader: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
        // What was taken may have held a value that nobody is to find in memory later.
        self.buffer[..self.taken].fill(0);
        self.buffer.drain(..self.taken);
        self.taken = 0;
        if reader.read_buf(&mut self.buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    /// The next frame, however long it takes.
    pub(crate) async fn wait(&mut self, reader: &mut (impl AsyncRead + Unpin)) -> io::Result<Frame> {
        loop {
            if let Some(frame) = self.next()? {
                return Ok(frame);
            }
            self.fill(reader).await?;
        }
    }
}

pub(crate) fn garbled(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_arrive_whole_however_they_are_cut() {
        let bodies = [vec![], vec![7], vec![9; 70_000]];
        let mut sent = Vec::new();
        for (number, body) in bodies.iter().enumerate() {
            put(&mut sent, number as u64, 3, body);
        }
        for cut in [1, 2, 3, 5, 19, 20, 21, 4096, sent.len()] {
            let (mut frames, mut found) = (Frames::default(), Vec::new());
            for piece in sent.chunks(cut) {
                frames.buffer.extend_from_slice(piece);
                while let Some(frame) = frames.next().unwrap() {
                    found.push(frame.body.to_vec());
                }
            }
            assert_eq!(found, bodies, "cut every {cut} bytes");
        }
    }

    #[test]
    fn nonsense_is_no_frame() {
        for nonsense in [&[0, 0, 0, 0][..], &[0xff; 64], b"Last login: Tue Nov 17 from 10.0.0.1\n"] {
            let mut frames = Frames::starting_with(nonsense.to_vec());
            assert!(frames.next().is_err(), "{nonsense:?}");
        }
    }
}
