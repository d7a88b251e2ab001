//! The messages between an engine and a keeper.
//!
//! 1. Between two runs a keeper takes orders: an empty frame and one byte, [`ORDER`], with descriptors, the first of which is
//!    a file with an [`Order`]; or [`BEGIN`] or [`AGAIN`] and a frame.
//! 2. During a run it takes a [`Control`] in each frame. It sends a [`Report`] in each frame, always.
//!
//! A frame longer than [`crate::limits::FRAME_BYTES`], or one that cannot be read, ends the connection.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bytes::{ByteString, path_as_bytes};
use crate::limits::{SpoolLimits, StopLimits};
use crate::owner::Owner;
use crate::run::Stream;
use crate::run::{
    DirectoryId, Ending, InSpool, InputWait, Lifetime, Look, Notify, StopCause, Streams, Typing, Typist, Watch,
};
use crate::sandbox::keeping::KeepPlan;
use crate::sandbox::policy::SandboxPolicy;
use chiton_terminal::TerminalSize;

/// Raised with every change of a message. The two sides are the same executable, unless it was replaced while a task
/// ran.
pub(crate) const VERSION: u8 = 17;

/// The byte that comes with an [`Order`].
pub(crate) const ORDER: u8 = VERSION;
/// The byte before the plan of a run for the shell that waits. Never equal to [`ORDER`], whatever the version.
pub(crate) const BEGIN: u8 = 0x80 | VERSION;
/// The byte before an [`Again`].
pub(crate) const AGAIN: u8 = 0x40 | VERSION;

/// The first argument that makes this executable a keeper. What follows it is not for the keeper: see `ancestry`.
pub(crate) const KEEPER_ARGUMENT: &str = "chiton-keeper";
/// The first argument that makes it prepare a sandbox instead.
pub(crate) const SANDBOX_ARGUMENT: &str = "chiton-sandbox";

/// The name of the socket in a run's folder, where anybody who may enter the folder can reach the keeper. A connection
/// begins with one byte, the version.
pub(crate) const SOCKET: &str = "keeper.sock";

/// The number of the descriptor in the keeper through which the shell hands its state back, opened by path.
pub(crate) const STATE_FD: i32 = 10;
/// The number of a second one, into which the shell writes lists that it reads again itself.
pub(crate) const SCRATCH_FD: i32 = 11;
/// The number of the one from which the shell reads a byte that lets it go on.
pub(crate) const GO_FD: i32 = 12;

/// Where a shell has the pipes to and from its keeper, where that gives it any: above what scripts use, below what bash
/// uses. Nothing that it executes inherits them.
pub(crate) const HELD_STATE_FD: i32 = 253;
pub(crate) const HELD_GO_FD: i32 = 252;

/// What a keeper without a run should do. Descriptors travel with it, in this order: the order itself, the loader, the
/// script, and what the variant names.
#[derive(Serialize, Deserialize)]
pub(crate) enum Order {
    /// Start a shell and own its run. With the run's folder, locked, and standard input where it is [`Input::Given`].
    Run(Box<ShellPlan>, Box<RunPlan>),
    /// Start a shell that waits for its command, in place of one that may wait already, and make the folder. The script
    /// is the pipe that will bring the command; the number is the one by which reports name this shell. Answered by
    /// [`Report::Ready`] or [`Report::NotReady`].
    Prepare(Box<ShellPlan>, u64),
}

/// The stem that a keeper has is to have a branch wait for the next command. Answered as [`Order::Prepare`].
#[derive(Serialize, Deserialize)]
pub(crate) struct Again {
    /// The folder of that command's run, to be made.
    #[serde(with = "path_as_bytes")]
    pub(crate) folder: PathBuf,
    /// The number by which reports name the branch.
    pub(crate) number: u64,
    /// The directory that it has to be in, where it went there.
    pub(crate) directory_id: Option<DirectoryId>,
    /// Whether the stem is given changes of its state first, so that another branch comes.
    pub(crate) changes: bool,
}

/// A shell to start.
#[derive(Serialize, Deserialize)]
pub(crate) struct ShellPlan {
    #[serde(with = "path_as_bytes")]
    pub(crate) folder: PathBuf,
    pub(crate) program: ByteString,
    pub(crate) forms: Forms,
    pub(crate) environment: Vec<ByteString>,
    pub(crate) directory: ByteString,
    /// The directory itself: what the command was judged for. The shell is started nowhere else.
    pub(crate) directory_id: DirectoryId,
    pub(crate) input: Input,
    pub(crate) streams: Streams,
    /// Whether it is a stem: it runs nothing itself as a rule, its branches do.
    pub(crate) stem: bool,
    /// A terminal of this size in place of all three streams.
    pub(crate) terminal: Option<TerminalSize>,
    /// The folder of what it shares with its keeper, where it cannot look into that; see [`super::SharedPaths`].
    pub(crate) shared: Option<ByteString>,
    /// The sandbox it is put into.
    pub(crate) enclosed: Option<Box<EnclosedPlan>>,
    /// Values that its output is searched for, and what is shown for each. The keeper takes them out first of all.
    pub(crate) masks: Vec<(String, ByteString)>,
}

/// What becomes of sockets of the internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum InternetSockets {
    /// They are free: the network is open, or a namespace keeps them inside.
    Free,
    /// There are none.
    Refused,
    /// The keeper makes them, so that they lead no further than to this machine, and connects them: to the proxy at this
    /// port, and to servers of the session.
    Kept { proxy: u16 },
}

/// The sandbox that a shell is put into. Its descriptors come with the order, after all others: one for each namespace, then
/// the rules.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct EnclosedPlan {
    pub(crate) policy: SandboxPolicy,
    pub(crate) namespaces: Vec<NamespaceKind>,
    pub(crate) has_rules: bool,
    /// Whether a process leads names out of its network, which lives as long as anybody holds the last descriptor.
    pub(crate) has_broker: bool,
    /// Whether it is held at all, or only limited.
    pub(crate) confines: bool,
    /// Whether the keeper answers the calls that the filter asks about.
    pub(crate) watched: bool,
    /// What becomes of sockets of the internet.
    pub(crate) internet: InternetSockets,
    /// Where what commands change is kept, if it is.
    pub(crate) keep: Option<KeepPlan>,
    /// Which directory it starts in as seen from inside, where that is another one than outside.
    pub(crate) directory_id: Option<DirectoryId>,
    /// Folders that are not what they are outside: what a command does there is for the kernel to judge.
    pub(crate) previewed: Vec<PathBuf>,
}

impl EnclosedPlan {
    /// How many descriptors come with it.
    pub(crate) fn descriptors(&self) -> usize {
        self.namespaces.len() + usize::from(self.has_rules) + usize::from(self.has_broker)
    }
}

/// What a process has a view of its own of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum NamespaceKind {
    Users,
    Mounts,
    /// Shared memory and queues between processes.
    Messages,
    Network,
}

/// The run a keeper is to keep.
#[derive(Serialize, Deserialize)]
pub(crate) struct RunPlan {
    #[serde(with = "path_as_bytes")]
    pub(crate) folder: PathBuf,
    pub(crate) directory: ByteString,
    /// Whether the caller receives a report when the command waits for input.
    pub(crate) tells_waiting: bool,
    pub(crate) timeout: Option<Duration>,
    /// How long it may go without printing anything.
    pub(crate) silence: Option<Duration>,
    pub(crate) lifetime: Lifetime,
    pub(crate) stop: StopLimits,
    pub(crate) spool: SpoolLimits,
    /// The name of the session it belongs to.
    pub(crate) session: Option<String>,
    /// The client whose task it is.
    pub(crate) client: Option<String>,
    /// Whose it is.
    pub(crate) owner: Option<Owner>,
    /// Whether nobody waits for its end.
    pub(crate) background: bool,
    pub(crate) journal: Option<JournalPlan>,
    /// The program that tells a person of it, where it is a task.
    pub(crate) notify: Option<Notify>,
    /// A plain file that gets all output as well, and a last line that says how it ended.
    pub(crate) transcript: Option<ByteString>,
    /// The request, for the keeper to write down; `None` where the engine has done that.
    pub(crate) request: Option<ByteString>,
    /// Whether the end is reported as soon as the shell reports that the command ran through, before the shell has handed
    /// its state back.
    pub(crate) answer_first: bool,
    /// Whether the command is known to leave its shell as it was, so that the shell has nothing to hand back.
    pub(crate) changes_nothing: bool,
    /// Whether a branch of the stem runs it, rather than the stem.
    pub(crate) in_branch: bool,
    /// Output of up to so many bytes is whole in the reply of the call that waits for it.
    pub(crate) shown_whole: u64,
}

/// The journal into which a keeper writes the end of a run that nobody waits for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct JournalPlan {
    pub(crate) folder: ByteString,
    /// The second place where the end of the chain is noted.
    pub(crate) witness: Option<ByteString>,
    pub(crate) file_bytes: u64,
    pub(crate) files: u64,
    /// Who asked for the run.
    pub(crate) who: String,
}

/// The arguments of the shell, for a script that is evaluated and for one that is an argument. Given both, the keeper
/// asks the shell whether the script is well-formed: if so it is evaluated, else it is an argument.
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
    /// The descriptor that came with the order.
    Given,
    /// A pipe that the keeper holds open for [`Control::Input`].
    Open,
}

/// A request to a keeper.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Control {
    /// Stop everything, for this reason. Answered by [`Report::Ended`].
    Stop { cause: StopCause, grace: Option<Duration> },
    /// From now on this run has that lifetime, and this connection wants no more output. Answered by
    /// [`Report::HandedOver`].
    HandOver { lifetime: Lifetime },
    /// So many bytes more were read from the spool. Not answered.
    Taken(u64),
    /// Write to its standard input. Answered.
    Input(ByteString),
    /// Report who reads what is written now. Answered by [`Report::Reader`].
    Reader,
    /// Carry out a request that writes, unless there were more writes than these. Answered as that one.
    After { writes: u64, then: Box<Control> },
    /// Close its standard input. Answered.
    EndInput,
    /// Send a signal to its group. Answered.
    Signal(i32),
    /// Report whenever there is more output, and the end. Answered by [`Report::Grew`], or by [`Report::Ended`] where that
    /// has come.
    Watch,
    /// The same, and report whenever it waits for input.
    WatchInput,
    /// Report the end, when it waits for input and when a standing watch matches, and nothing about its output. Answered as
    /// [`Control::Watch`].
    Attend,
    /// Report what its terminal shows. Answered by [`Report::Look`].
    Look,
    /// Type into its terminal; values of secrets in it are masked in all output from then on. Answered.
    Type { what: Typing, typist: Typist, masks: Vec<(String, ByteString)> },
    /// Give its terminal another size. Answered.
    Resize(TerminalSize),
    /// From now on this connection is somebody's window on its terminal. Answered by [`Report::Look`], then by all
    /// output as it comes.
    Attach { typist: Option<Typist> },
    /// Put a standing watch on a task of this keeper, or find the one that is there. Lines count that end after so many
    /// bytes of all output, or from now on. Answered by [`Report::Watches`] with that one.
    AddWatch { task: String, pattern: String, since: Option<u64> },
    /// Take the watch with this pattern off a task, or all of them. Answered by [`Report::Watches`] with those.
    RemoveWatches { task: String, pattern: Option<String> },
    /// Hand the calls that wait for it back to whoever made them: a person wants that. Answered.
    Release,
    /// This connection waits for the run on behalf of a call, which a person may hand back. Not answered.
    AwaitRelease,
    /// Report what matches on this connection for as long as it is open, and the end. Answered by [`Report::Followed`].
    Follow { pattern: String, since: Option<u64> },
}

/// What a keeper reports.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    Started {
        pid: i32,
    },
    FailedToStart {
        reason: String,
    },
    /// The run is a task now. No output follows on this connection.
    HandedOver,
    /// A request was carried out, or why it was not.
    Answer(Result<(), Denial>),
    /// So many bytes are in the spool now.
    Grew {
        stdout: u64,
        stderr: u64,
    },
    /// What the terminal shows.
    Look(Box<Look>),
    /// Who reads what is written.
    Reader(Box<ReaderReport>),
    /// It waits for input.
    Waits(InputWait),
    /// A person wants the call that waits here to be handed back.
    Released,
    /// Standing watches as they are now.
    Watches(Vec<Watch>),
    /// A standing watch has matched; the run's folder says which and what.
    WatchMatched,
    /// What matched on a connection that follows: how many lines in all, and the last ones since it was told before.
    Followed(Watch),
    Output {
        stream: Stream,
        bytes: ByteString,
    },
    /// Output that the receiver reads from the spool. Answered by [`Control::Taken`], sooner or later.
    Spooled(Stream, InSpool),
    /// The end of the run, once. Everything that the leader printed was reported before.
    Ended {
        ending: Box<Ending>,
        state: HandedBack,
    },
    /// The state that [`HandedBack::Follows`] promised.
    State(Option<ByteString>),
    /// A shell waits for its command, or a branch of it does.
    Ready {
        number: u64,
        pid: i32,
    },
    /// The shell that waited is gone, and has run nothing.
    NotReady {
        number: u64,
    },
    /// Nothing is left of the last run; the next order can come. The branch that waits, where the stem is left.
    Free {
        branch: Option<NextBranch>,
    },
}

/// Which branch of a stem waits after a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum NextBranch {
    /// The one that ran the command: it is in the state that this has led to.
    Same,
    /// Another one: it is in the state of the stem.
    Another,
}

/// What the shell reported of its state as it ended, as it came.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum HandedBack {
    /// Nothing, or it does not count.
    Nothing,
    /// All of it.
    State(ByteString),
    /// Nothing changed. The exit status of the whole, then that of each part of the last pipeline.
    Unchanged { statuses: Vec<i32> },
    /// The state follows in [`Report::State`]. The exit status of the whole, then that of each part of the last pipeline,
    /// and the directory that the shell is in.
    Follows { statuses: Vec<i32>, directory: ByteString },
}

/// Who reads what is written to a run, and what it was given before.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ReaderReport {
    /// The program and its arguments; empty where nobody is known to read.
    pub(crate) words: Vec<ByteString>,
    /// Its working directory.
    pub(crate) directory: ByteString,
    /// Whether it is the shell of the run itself.
    pub(crate) is_leader: bool,
    /// What was written before it was first seen and may have waited for it.
    pub(crate) before: ByteString,
    /// The lines that it was given.
    pub(crate) given: ByteString,
    /// How many writes there were in all.
    pub(crate) writes: u64,
}

/// Why a keeper did not carry out a request.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Denial {
    /// The command has ended.
    Ended,
    /// Its standard input is closed, or was never open.
    InputClosed,
    /// It has no terminal.
    NoTerminal,
    /// Somebody has written to it meanwhile.
    Overtaken,
    /// Any other reason, in words.
    Because(String),
}
