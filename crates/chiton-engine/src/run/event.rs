//! What happens while a command runs, sent to whoever listens.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// Which of the two streams bytes came from. With one pipe for both, everything is `Stdout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// Descriptor 1.
    Stdout,
    /// Descriptor 2.
    Stderr,
}

/// How the two output streams are captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Streams {
    /// Two pipes: each stream is exact, their order to each other is that of arrival.
    #[default]
    Separate,
    /// One pipe for both: the order is exactly that of writing, and what was stderr cannot be told apart any more.
    Merged,
}

/// One thing that happened to a run.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// The shell was started; this is its process id, and the id of its process group.
    Started {
        /// The id under which the run can be found later.
        run_id: &'a str,
        /// Process id of the shell.
        pid: i32,
    },
    /// Output arrived, in order, without a gap.
    Output {
        /// Where it came from.
        stream: Stream,
        /// The bytes as they were written.
        bytes: &'a [u8],
    },
    /// Output arrived that this listener does not receive, since it does not want all of it: see
    /// [`Listener::wants_output`].
    Passed {
        /// Where it came from.
        stream: Stream,
        /// How much it was.
        amount: PassedAmount,
        /// The last bytes of it, three at most: enough to see whether it ends within a character.
        end: &'a [u8],
        /// The folder of the run, where a [`SpoolReader`](crate::capture::spool::SpoolReader) finds it. Of a great
        /// deal of output, what is old may be gone by then.
        folder: &'a Path,
        /// Where it begins in its stream.
        from: u64,
    },
}

/// How much output there was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassedAmount {
    /// Bytes.
    pub bytes: u64,
    /// Ends of lines.
    pub lines: u64,
    /// Characters, as far as it is text.
    pub characters: u64,
}

/// Listens to a run.
///
/// A listener that takes its time slows the command down (its pipe fills), it never loses a byte. It runs on the
/// engine's thread, so it should not block for long where several runs share one.
pub trait Listener: Send {
    /// Called for each event, in order.
    fn receive(&mut self, event: RunEvent<'_>);

    /// Whether it wants all output. A listener that does not receives the first of it, and how much the rest was.
    fn wants_output(&self) -> bool {
        true
    }
}

impl<F: FnMut(RunEvent<'_>) + Send> Listener for F {
    fn receive(&mut self, event: RunEvent<'_>) {
        self(event);
    }
}

/// A listener that is interested in nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct Silent;

impl Listener for Silent {
    fn receive(&mut self, _event: RunEvent<'_>) {}

    fn wants_output(&self) -> bool {
        false
    }
}
