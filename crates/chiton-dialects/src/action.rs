//! What a call asks for and what came of it, in words that all dialects share.

use std::path::PathBuf;
use std::time::Duration;

use chiton_engine::{CommandResponse, EnvironmentChange, OnTimeout, Streams, Task, TaskLifetime};

/// What a call asks for.
#[derive(Clone, Debug)]
pub enum Action {
    /// Run a command and wait for it.
    Run(Box<RunAction>),
    /// Start a command as a task.
    Start(Box<RunAction>),
    /// Read the output of a task.
    Read(ReadAction),
    /// Write to a task, end its input.
    Input {
        /// The task.
        id: String,
        /// What to write.
        text: String,
        /// Whether nothing will follow.
        end: bool,
    },
    /// Stop a task.
    Kill {
        /// The task.
        id: String,
    },
    /// List tasks.
    List,
    /// Start the session afresh.
    Restart,
}

/// A command with everything that a dialect decides about it.
#[derive(Clone, Debug)]
pub struct RunAction {
    /// The command.
    pub command: String,
    /// What it is for.
    pub description: Option<String>,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// How long the call waits before the command is handed back alive.
    pub wait: Option<Duration>,
    /// What happens when its time is over.
    pub on_timeout: OnTimeout,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
    /// Where to run it.
    pub directory: Option<PathBuf>,
    /// Variables for this call.
    pub environment: EnvironmentChange,
    /// What it reads.
    pub stdin: Option<String>,
    /// Whether its input stays open for later.
    pub open_input: bool,
    /// One pipe or two.
    pub streams: Streams,
    /// What of the shell's state is there for the next call.
    pub keeps: Keeps,
    /// What ends a task.
    pub lifetime: TaskLifetime,
    /// Whether a plain file gets the output of a task as well.
    pub transcript: bool,
    /// What `$0` is.
    pub called_as: Option<String>,
    /// What the reply has to say besides the result: a value that was clamped.
    pub notes: Vec<String>,
}

impl RunAction {
    /// A command with the values most dialects have.
    pub fn new(command: String) -> Self {
        Self {
            command,
            description: None,
            timeout: None,
            wait: None,
            on_timeout: OnTimeout::Stop,
            grace: Duration::from_secs(5),
            directory: None,
            environment: EnvironmentChange::default(),
            stdin: None,
            open_input: false,
            streams: Streams::Separate,
            keeps: Keeps::Everything,
            lifetime: TaskLifetime::Session,
            transcript: false,
            called_as: None,
            notes: Vec::new(),
        }
    }
}

/// What of the shell's state is there for the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// All of it.
    Everything,
    /// The working directory.
    Directory,
    /// Exported variables and the working directory.
    Environment,
    /// Nothing: every call starts where the server was started.
    Nothing,
}

/// A wish to read a task's output.
#[derive(Clone, Debug)]
pub struct ReadAction {
    /// The task.
    pub id: String,
    /// Only what was not read before.
    pub only_new: bool,
    /// Only lines that match.
    pub filter: Option<String>,
    /// Only the last lines.
    pub tail: Option<u64>,
    /// Wait until a line matches, it ends, or the time is over.
    pub wait_for: Option<String>,
    /// How long to wait.
    pub wait: Option<Duration>,
    /// Whether a task that has ended is forgotten once it was read.
    pub forgets: bool,
}

impl ReadAction {
    /// Everything there is.
    pub fn all(id: String) -> Self {
        Self { id, only_new: false, filter: None, tail: None, wait_for: None, wait: None, forgets: false }
    }
}

/// What came of an action.
#[derive(Clone, Debug)]
pub enum Done {
    /// A command ran, or was handed back alive.
    Ran(Box<Ran>),
    /// A task runs.
    Started {
        /// The task.
        task: Box<Task>,
        /// The plain file with its output.
        transcript: Option<PathBuf>,
    },
    /// Output of a task.
    Read(Box<TaskOutput>),
    /// Something was written to a task.
    Written {
        /// The task.
        id: String,
    },
    /// A task was stopped, or had ended before.
    Killed {
        /// The task.
        task: Box<Task>,
        /// Whether it had ended before.
        already: bool,
    },
    /// Tasks.
    Listed(Vec<Task>),
    /// The session is as it was at its start.
    Restarted,
    /// It could not be done; nothing was started.
    Failed(Failure),
}

/// A command that ran.
#[derive(Clone, Debug)]
pub struct Ran {
    /// What the engine says.
    pub response: CommandResponse,
    /// Characters on stdout, or on the one pipe, shown or not.
    pub stdout_characters: u64,
    /// Characters on stderr.
    pub stderr_characters: u64,
    /// Bytes on both.
    pub bytes: u64,
}

/// Output of a task.
#[derive(Clone, Debug)]
pub struct TaskOutput {
    /// The task.
    pub task: Task,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// Both in the order of arrival.
    pub output: String,
    /// Bytes that were left out.
    pub left_out: u64,
    /// Why a wait ended, in words, where there was one.
    pub waited: Option<String>,
}

/// Why nothing came of an action.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What kind of failure.
    pub kind: FailureKind,
    /// What went wrong and what to do.
    pub message: String,
}

/// Kinds of failure, for machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// There is no task of this id.
    NotFound,
    /// The system could not do it.
    System,
    /// As many tasks run as may.
    TaskLimit,
    /// The filter is no regular expression.
    BadFilter,
    /// The task has ended, or cannot take input.
    NotPossible,
}

impl FailureKind {
    /// One word.
    pub fn word(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::System => "system_error",
            Self::TaskLimit => "task_limit",
            Self::BadFilter => "bad_filter",
            Self::NotPossible => "not_possible",
        }
    }
}
