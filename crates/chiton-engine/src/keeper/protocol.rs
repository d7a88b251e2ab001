//! What an engine and a keeper say to each other.
//!
//! Between two runs a keeper takes orders: one byte, [`ORDER`], with descriptors, the first of which is a file with an
//! [`Order`]; or [`BEGIN`] and a frame with a [`RunPlan`]. During a run, and from the keeper always, frames: four bytes
//! of length, little end first, and one encoded message. A frame longer than [`FRAME_BYTES`], or one that cannot be
//! read, ends the connection.

use std::path::PathBuf;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::bytes::ByteString;
use crate::capture::spool::{InSpool, StreamTotals};
use crate::event::Stream;
use crate::limits::{FRAME_BYTES, READ_BYTES, SpoolLimits, StopLimits};
use crate::outcome::{Leftover, Lifetime, Outcome, TimeLimit, Usage};
use crate::terminal::{Snapshot, TerminalSize};

/// Raised with every change of a message; the two sides are the same executable unless it was replaced meanwhile.
pub(crate) const VERSION: u8 = 8;

/// The byte that comes with an [`Order`].
pub(crate) const ORDER: u8 = VERSION;
/// The byte before the plan of a run for the shell that waits.
pub(crate) const BEGIN: u8 = 0x80 | VERSION;

/// The name of the socket in a run's folder, where anybody who may enter the folder can talk to the keeper. A
/// connection begins with one byte, the version.
pub(crate) const SOCKET: &str = "keeper.sock";

/// The number of the descriptor in the keeper through which the shell hands its state back, opened by path.
pub(crate) const STATE_FD: i32 = 10;
/// The number of a second one, where the shell puts lists that it reads again itself.
pub(crate) const SCRATCH_FD: i32 = 11;
/// The number of the one from which the shell reads that it may go on.
pub(crate) const GO_FD: i32 = 12;

/// What a keeper without a run is to do. The descriptors that travel with it, in this order: the order itself, the
/// loader, the script, and what it says.
#[derive(Serialize, Deserialize)]
pub(crate) enum Order {
    /// Start a shell and own its run. With the run's folder, locked, and standard input where it is [`Input::Given`].
    Run(Box<ShellPlan>, Box<RunPlan>),
    /// Start a shell that waits for its command, in place of the one that may wait already, and make the folder. With
    /// the pipe that brings the byte it waits for, and a number that answers name. Answered by [`Report::Ready`].
    Prepare(Box<ShellPlan>, u64),
}

/// A shell to start.
#[derive(Serialize, Deserialize)]
pub(crate) struct ShellPlan {
    pub(crate) folder: PathBuf,
    pub(crate) program: ByteString,
    pub(crate) forms: Forms,
    pub(crate) environment: Vec<ByteString>,
    pub(crate) directory: ByteString,
    pub(crate) input: Input,
    pub(crate) streams: Streams,
    /// A terminal of this size in place of all three streams.
    pub(crate) terminal: Option<TerminalSize>,
    /// Values that its output is searched for, and what is shown for each. Taken out before anything else is done.
    pub(crate) masks: Vec<(String, ByteString)>,
}

/// The run a keeper is to own.
#[derive(Serialize, Deserialize)]
pub(crate) struct RunPlan {
    pub(crate) folder: PathBuf,
    pub(crate) directory: ByteString,
    /// Whether the caller is told when the command waits for input.
    pub(crate) tells_waiting: bool,
    pub(crate) timeout: Option<Duration>,
    /// How long it may print nothing.
    pub(crate) silence: Option<Duration>,
    pub(crate) lifetime: Lifetime,
    pub(crate) stop: StopLimits,
    pub(crate) spool: SpoolLimits,
    /// The name of the session it belongs to.
    pub(crate) session: Option<String>,
    /// The client whose task it is.
    pub(crate) client: Option<String>,
    /// A plain file that gets all output as well, and a last line that says how it ended.
    pub(crate) transcript: Option<PathBuf>,
    /// What was asked, to be written down; not where that was done before.
    pub(crate) request: Option<ByteString>,
    /// Whether the end is told as soon as the shell says that the command ran through, before the shell has handed its
    /// state back.
    pub(crate) answer_first: bool,
    /// Whether it is known that the command leaves its shell as it was: then that has nothing to hand back.
    pub(crate) changes_nothing: bool,
}

/// The arguments of the shell. With both, the keeper asks the shell whether the script is well-formed: if so it is
/// evaluated, else it is an argument.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Forms {
    pub(crate) evaluated: Option<Vec<ByteString>>,
    pub(crate) argument: Option<Vec<ByteString>>,
    /// A script that is not well-formed is not run at all.
    pub(crate) only_well_formed: bool,
}

/// Where standard input comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Input {
    /// `/dev/null`.
    Nothing,
    /// The descriptor that came along.
    Given,
    /// A pipe that the keeper holds: what is written to the run later arrives there.
    Open,
}

/// How the two output streams are captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Streams {
    /// Two pipes: each stream is exact, their order to each other is that of arrival.
    #[default]
    Separate,
    /// One pipe for both: the order is exactly that of writing, what was stderr cannot be told any more.
    Merged,
}

/// To a keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Control {
    /// Stop everything, for this reason. Answered by [`Report::Ended`].
    Stop { cause: StopCause, grace: Option<Duration> },
    /// From now on this run lives as long as that, and this connection wants no more output. Answered by
    /// [`Report::HandedOver`].
    HandOver { lifetime: Lifetime },
    /// So many bytes were read from the spool.
    Taken(u64),
    /// Write to its standard input. Answered.
    Input(ByteString),
    /// Close its standard input. Answered.
    EndInput,
    /// Send a signal to its group. Answered.
    Signal(i32),
    /// Tell whenever there is more output, and the end.
    Watch,
    /// The same, and tell whenever it waits for input.
    WatchInput,
    /// Answered by [`Report::Look`].
    Look,
    /// Type into its terminal; values of secrets in it are masked in all output from then on. Answered.
    Type { what: Typing, typist: Typist, masks: Vec<(String, ByteString)> },
    /// Give its terminal another size. Answered.
    Resize(TerminalSize),
    /// From now on this connection is somebody's window on its terminal. Answered by [`Report::Look`], then by all
    /// output as it comes.
    Attach { typist: Option<Typist> },
}

/// What is typed into a terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Typing {
    /// Text; the end of a line is the enter key.
    Text(String),
    /// Keys by their names, separated by blanks.
    Keys(String),
    /// A paste, marked as one where the program asked for that.
    Paste(String),
    /// Bytes as they are.
    Raw(ByteString),
}

/// Who types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Typist {
    /// Whoever runs the command.
    Caller,
    /// A person who took over.
    Person,
}

/// What is to be seen of a terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// The screen.
    pub screen: Snapshot,
    /// What the command waits for, where it waits for input and does nothing else.
    pub waits: Option<InputWait>,
    /// People who have their own terminal on it now and can type.
    pub people: usize,
    /// How often a person has typed.
    pub typed_by_people: u64,
}

/// A command that waits for somebody to type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputWait {
    /// The last line: what it asks, as a rule.
    pub prompt: String,
    /// Whether what is typed is shown. Where it is not, a line is read and nothing shown, it asks for a password.
    pub echo: bool,
    /// Whether it is seen to wait, or only taken to: another user's process does not show what it does.
    pub certain: bool,
}

/// Why a run is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StopCause {
    TimedOut(TimeLimit),
    Cancelled,
    Killed,
}

impl From<StopCause> for Outcome {
    fn from(cause: StopCause) -> Self {
        match cause {
            StopCause::TimedOut(_) => Self::TimedOut,
            StopCause::Cancelled => Self::Cancelled,
            StopCause::Killed => Self::Killed,
        }
    }
}

/// From a keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    Started {
        pid: i32,
    },
    FailedToStart {
        reason: String,
    },
    /// The last report of output on a connection that handed its run over.
    HandedOver,
    /// A request was done, or could not be.
    Answer(Result<(), Denial>),
    /// So many bytes are in the spool now.
    Grew {
        stdout: u64,
        stderr: u64,
    },
    /// What the terminal shows.
    Look(Box<Look>),
    /// It waits for input.
    Waits(InputWait),
    Output {
        stream: Stream,
        bytes: ByteString,
    },
    /// Output that is not told here: it is in the spool. Answered by [`Control::Taken`], sooner or later.
    Spooled(Stream, InSpool),
    /// The end.
    Ended {
        ending: Ending,
        state: HandedBack,
    },
    /// What [`HandedBack::Follows`] announced.
    State(Option<ByteString>),
    /// A shell waits for its command.
    Ready {
        number: u64,
        pid: i32,
    },
    /// The shell that waited is gone, and has run nothing.
    NotReady {
        number: u64,
    },
    /// Nothing is left of the last run; the next order can come.
    Free,
}

/// What the shell said of its state as it ended, undigested.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum HandedBack {
    /// Nothing, or it does not count.
    Nothing,
    /// All of it.
    State(ByteString),
    /// It has nothing to say but the status of each part of the last pipeline, after that of the whole.
    Unchanged { statuses: Vec<i32> },
    /// It is still at it: the status of each part of the last pipeline, after that of the whole, and where it is.
    Follows { statuses: Vec<i32>, directory: ByteString },
}

/// Why a keeper did not do what it was asked.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Denial {
    /// The command has ended.
    Ended,
    /// Its standard input is closed, or was never open.
    InputClosed,
    /// It has no terminal.
    NoTerminal,
    /// In words.
    Because(String),
}

/// How a run ended; also what is written down about it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ending {
    /// How.
    pub outcome: Outcome,
    /// At which limit, where it was stopped at one.
    #[serde(default)]
    pub limit: Option<TimeLimit>,
    /// What is still running and will go on.
    pub leftovers: Vec<Leftover>,
    /// The id under which the leftovers are a task of their own.
    pub leftover_task: Option<String>,
    /// What could not be killed; empty unless the kernel itself holds a process.
    pub survivors: Vec<Leftover>,
    /// What the tree used; not known where the end was told before the shell had ended.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// From start to end, by the monotonic clock, in microseconds.
    pub wall_us: u64,
    /// Output on stdout, or on the one pipe.
    pub stdout: StreamTotals,
    /// Output on stderr.
    pub stderr: StreamTotals,
}

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
