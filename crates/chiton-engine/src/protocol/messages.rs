//! What an engine and a keeper say to each other.
//!
//! Between two runs a keeper takes orders: one byte, [`ORDER`], with descriptors, the first of which is a file with an
//! [`Order`]; or [`BEGIN`] and a frame with a [`RunPlan`]. During a run, and from the keeper always, frames: four bytes
//! of length, little end first, and one encoded message. A frame longer than [`FRAME_BYTES`], or one that cannot be
//! read, ends the connection.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bytes::ByteString;
use crate::limits::{SpoolLimits, StopLimits};
use crate::run::Stream;
use crate::run::{Ending, InSpool, InputWait, Lifetime, Look, StopCause, Streams, Typing, Typist};
use chiton_terminal::TerminalSize;

/// Raised with every change of a message; the two sides are the same executable unless it was replaced meanwhile.
pub(crate) const VERSION: u8 = 8;

/// The byte that comes with an [`Order`].
pub(crate) const ORDER: u8 = VERSION;
/// The byte before the plan of a run for the shell that waits.
pub(crate) const BEGIN: u8 = 0x80 | VERSION;

/// The first argument that makes this executable a keeper. What follows it is only for people who read `ps`.
pub(crate) const KEEPER_ARGUMENT: &str = "chiton-keeper";

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
