//! What a call asks for and what came of it ([`done`]), in words that all dialects share.

mod done;

use std::path::PathBuf;
use std::time::Duration;

use chiton_engine::tasks::{Part, WantedPort};
use chiton_engine::terminal::TerminalSize;
use chiton_engine::{CommandRequest, Signal, Typing};

use crate::select::Selection;

pub use done::{
    Amount, Done, Exchanged, Failure, FailureKind, Listed, Ran, ReportedPorts, Shorter, TaskOutput, WatchChanged,
};

/// What a call asks for.
#[derive(Clone, Debug)]
pub enum Action {
    /// Run a command and wait for it.
    Run(Box<RunAction>),
    /// Start a command as a task.
    Start(Box<RunAction>),
    /// Start a command as a task, and read it, after a wait where the read asks for one.
    Watch(Box<RunAction>, Box<ReadAction>),
    /// Read the output of a task.
    Read(ReadAction),
    /// Send something to a task.
    Send {
        /// The task.
        task: TaskRef,
        /// What, in this order.
        messages: Vec<Message>,
        /// What is read after that, where the task has a terminal or the call asks to wait.
        then: Option<Box<ReadAction>>,
    },
    /// Send something to a task, give it time, and read what is new, all in one.
    Exchange(Exchange),
    /// Stop a task.
    Kill {
        /// The task.
        task: TaskRef,
    },
    /// List tasks.
    List(ListAction),
    /// Undo what a command did to files.
    Undo {
        /// The command, or an undoing.
        id: String,
    },
    /// Start the session afresh.
    Restart,
}

/// How a call names a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskRef {
    /// By its id, among the client's own tasks and those that people have started.
    Id(String),
    /// By its id, whoever of this user has started it.
    OfAnybody(String),
    /// By the process id of its shell; of several that had it, the last one.
    Pid(u64),
    /// By the short number that a reply gave it ([`Ran::number`]).
    Number(u64),
}

/// A request to list tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListAction {
    /// Whose.
    pub whose: Whose,
    /// How many that have ended are listed, where the call says so.
    pub ended: Option<u64>,
}

/// Whose tasks are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whose {
    /// The client's own.
    #[default]
    Own,
    /// Also those of other clients of this user, and of people.
    Everybodys,
}

/// What is sent to a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Text for its standard input.
    Text(String),
    /// The end of its standard input.
    End,
    /// A signal for its process group.
    Signal(Signal),
    /// What interrupts: the key on a terminal, else the signal.
    Interrupt,
    /// Something typed into its terminal.
    Typed(Typing),
    /// Another size for its terminal.
    Resize(TerminalSize),
}

/// How output is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputView {
    /// As text: no escapes, what was drawn over itself once.
    Plain,
    /// Byte for byte.
    Raw,
    /// What its terminal shows.
    Screen,
}

/// Input for a task, and a read of its answer.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The task.
    pub task: TaskRef,
    /// What is sent; without it, this only reads.
    pub message: Option<Message>,
    /// How long it may go on before it is read, unless it ends before.
    pub wait: Duration,
    /// How many bytes of new output the reply has room for.
    pub room: usize,
    /// What the reply has to say besides the result, such as that a value was clamped.
    pub notes: Vec<String>,
}

/// A command with everything that a dialect decides about it.
#[derive(Clone, Debug)]
pub struct RunAction {
    /// What the engine is asked for. The operator adds who is asked for consent, and how much output it wants to see.
    pub request: CommandRequest,
    /// The shell that runs it, by name or path, where it is another one than usual.
    pub shell: Option<PathBuf>,
    /// The named session it runs in; without it, the client's own.
    pub session: Option<String>,
    /// What its session starts from.
    pub starts_from: StartsFrom,
    /// What of the shell's state is there for the next call.
    pub keeps: Keeps,
    /// How its output is shown, where the dialect leaves that to the call.
    pub view: OutputView,
    /// How many bytes of output the reply has room for.
    pub room: usize,
    /// Which lines of the output the reply shows, where the call says so.
    pub selection: Option<Selection>,
    /// Whether lines may be left out that are like those around them.
    pub gaps: Gaps,
    /// A regular expression that stays on it, where it is started in the background.
    pub watch: Option<String>,
    /// What the reply has to say besides the result, such as that a value was clamped.
    pub notes: Vec<String>,
}

impl RunAction {
    /// A command with the values most dialects have.
    pub fn new(command: &str) -> Self {
        Self {
            request: CommandRequest::new(command),
            shell: None,
            session: None,
            starts_from: StartsFrom::Session,
            keeps: Keeps::Everything,
            view: OutputView::Raw,
            room: 30_000,
            selection: None,
            gaps: Gaps::AsUsual,
            watch: None,
            notes: Vec::new(),
        }
    }

    /// Its time limit in milliseconds, for words about it.
    pub fn limit_ms(&self) -> u128 {
        self.request.timeout.map_or(0, |timeout| timeout.as_millis())
    }
}

/// Whether lines may be left out of output that are like those around them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gaps {
    /// As the server does it.
    #[default]
    AsUsual,
    /// All lines are shown, whatever they are.
    No,
}

/// What the session of a command starts from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StartsFrom {
    /// What the session is by now.
    #[default]
    Session,
    /// What the session was at its start: it begins afresh with this command.
    Beginning,
    /// What another session is by now, the client's own where it has no name: it branches off with this command.
    CopyOf(Option<String>),
}

/// What of the shell's state is there for the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// All of it.
    Everything,
    /// The working directory.
    Directory,
    /// The working directory of a command that succeeded, as long as it is inside the one the session started in: from
    /// outside, the session goes back there.
    DirectoryInside,
    /// Exported variables and the working directory.
    Environment,
    /// Nothing: every call starts where the server was started.
    Nothing,
}

/// A request to read a task's output.
#[derive(Clone, Debug)]
pub struct ReadAction {
    /// The task.
    pub task: TaskRef,
    /// What of its output.
    pub part: Part,
    /// Only lines that match.
    pub filter: Option<String>,
    /// What to do about its standing watches first.
    pub watch: Option<WatchChange>,
    /// Wait until a line matches, it ends, or the time is over.
    pub wait_for: Option<String>,
    /// Wait until it listens on a port, it ends, or the time is over.
    pub wait_for_port: Option<WantedPort>,
    /// How long to wait.
    pub wait: Option<Duration>,
    /// Whether a wait also ends when the task waits for input.
    pub until_input: bool,
    /// Whether a wait also ends when there is output that this client has not read.
    pub until_output: bool,
    /// How it is shown; without it, the screen of a full-screen program, else text.
    pub view: Option<OutputView>,
    /// How many bytes at most; without it, as many as one read gives.
    pub limit: Option<u64>,
    /// What is given where there is more than that.
    pub when_long: WhenLong,
    /// Whether a task that has ended is forgotten once it was read.
    pub forgets: bool,
}

impl ReadAction {
    /// This part of a task's output, now.
    pub fn new(task: TaskRef, part: Part) -> Self {
        Self {
            task,
            part,
            filter: None,
            watch: None,
            wait_for: None,
            wait_for_port: None,
            wait: None,
            until_input: false,
            until_output: false,
            view: None,
            limit: None,
            when_long: WhenLong::Beginning,
            forgets: false,
        }
    }
}

/// A change of the standing watches on a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchChange {
    /// This regular expression stays on it.
    Add(String),
    /// None stays on it.
    EndAll,
}

/// What a read gives of output for which there is not enough room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenLong {
    /// Its beginning. A read of what is new goes on from there the next time.
    Beginning,
    /// Its beginning and its end. All of it counts as read; what is left out can be asked for by its place.
    BothEnds,
}
