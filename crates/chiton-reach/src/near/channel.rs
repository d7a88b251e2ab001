//! One verb on the far side, as the near side has it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc::UnboundedReceiver;

use super::{Gone, Shared};
use crate::credit::Credit;
use crate::frame::{Ending, Message, PIECE, Size, Stream};

/// What comes of a verb.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Out {
    /// What it prints.
    Bytes(Stream, Vec<u8>),
    /// It has ended, and this is the last that comes.
    Ended(Ending),
    /// Nothing more will come, and nobody knows how it ends.
    Gone(Gone),
}

/// A verb with its streams.
#[derive(Debug)]
pub struct Channel {
    /// What it reads.
    pub input: ChannelInput,
    /// What it prints, and how it ends.
    pub output: ChannelOutput,
}

impl Channel {
    pub(super) fn new(
        number: u32,
        shared: Arc<Shared>,
        credit: Arc<Credit>,
        untaken: Arc<AtomicU64>,
        came: UnboundedReceiver<Out>,
    ) -> Self {
        let input = ChannelInput { number, shared: Arc::clone(&shared), credit };
        Self { input, output: ChannelOutput { number, shared, untaken, came } }
    }
}

/// The input of a verb. Clones are the same input.
#[derive(Clone, Debug)]
pub struct ChannelInput {
    number: u32,
    shared: Arc<Shared>,
    credit: Arc<Credit>,
}

impl ChannelInput {
    /// Writes, as fast as the far side takes it. False says that the verb has ended.
    pub async fn write(&self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            let room = self.credit.room().await.min(PIECE);
            if room == 0 {
                return false;
            }
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.credit.spend(now.len());
            let (channel, stream) = (self.number, Stream::Input);
            self.shared.line.post(&Message::Bytes { channel, stream, bytes: now.to_vec() });
            bytes = later;
        }
        true
    }

    /// There is no more to read.
    pub fn end(&self) {
        self.shared.line.post(&Message::End { channel: self.number, stream: Stream::Input });
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: i32) {
        self.shared.line.post(&Message::Signal { channel: self.number, signal });
    }

    /// Its terminal has another size.
    pub fn resize(&self, size: Size) {
        self.shared.line.post(&Message::Resize { channel: self.number, size });
    }
}

/// What a verb prints, and how it ends.
#[derive(Debug)]
pub struct ChannelOutput {
    number: u32,
    shared: Arc<Shared>,
    untaken: Arc<AtomicU64>,
    came: UnboundedReceiver<Out>,
}

impl ChannelOutput {
    /// What comes next. Whoever does not ask keeps the verb from printing more.
    pub async fn next(&mut self) -> Out {
        let Some(out) = self.came.recv().await else { return Out::Gone(Gone::Closed) };
        if let Out::Bytes(stream, bytes) = &out {
            let bytes = bytes.len() as u64;
            self.untaken.fetch_sub(bytes, Ordering::AcqRel);
            self.shared.line.post(&Message::Taken { channel: self.number, stream: *stream, bytes });
        }
        out
    }
}
