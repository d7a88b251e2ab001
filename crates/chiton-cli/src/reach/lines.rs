//! What a server on another machine says, line by line.

use std::collections::VecDeque;

use chiton_reach::near::ChannelOutput;
use chiton_reach::{Ending, Gone, Out, Stream};

/// The lines of one server.
pub(super) struct Lines {
    output: ChannelOutput,
    whole: VecDeque<Vec<u8>>,
    /// The beginning of the next one.
    begun: Vec<u8>,
}

/// What is heard of it.
pub(super) enum Heard {
    /// A line, without its end.
    Line(Vec<u8>),
    /// Something on its standard error.
    Complaint(Vec<u8>),
    /// It has ended.
    Ended(Ending),
    /// Nothing more will be heard of it.
    Gone(Gone),
}

impl Lines {
    pub(super) fn of(output: ChannelOutput) -> Self {
        Self { output, whole: VecDeque::new(), begun: Vec::new() }
    }

    pub(super) async fn next(&mut self) -> Heard {
        loop {
            if let Some(line) = self.whole.pop_front() {
                return Heard::Line(line);
            }
            match self.output.next().await {
                Out::Bytes(Stream::Errors, bytes) => return Heard::Complaint(bytes),
                Out::Bytes(_, bytes) => self.take(&bytes),
                Out::Ended(ending) => return Heard::Ended(ending),
                Out::Gone(gone) => return Heard::Gone(gone),
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(piece);
            if self.begun.pop_if(|last| *last == b'\n').is_some() {
                self.whole.push_back(std::mem::take(&mut self.begun));
            }
        }
    }
}
