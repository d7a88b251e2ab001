//! What a call asks for and what came of it, in words that all dialects share.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use chiton_engine::machine::MachineSize;
use chiton_engine::render::TextView;
use chiton_engine::review::Refusal;
use chiton_engine::tasks::{Listening, Part, WantedPort, Watch};
use chiton_engine::terminal::TerminalSize;
use chiton_engine::{CommandRequest, InputWait, Leftover, Look, Outcome, Response, Signal, Task, TimeLimit, Typing};

use crate::compact::Compacted;
use crate::select::{Selected, Selection};

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StartsFrom {
    /// What the session is by now.
    #[default]
    Session,
    /// What the session was at its start: it begins afresh with this command.
    Beginning,
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

/// What came of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchChanged {
    /// This one stays on it.
    Added(Watch),
    /// These stay on it no longer.
    Ended(Vec<Watch>),
}

/// What a read gives of output for which there is not enough room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenLong {
    /// Its beginning. A read of what is new goes on from there the next time.
    Beginning,
    /// Its beginning and its end. All of it counts as read; what is left out can be asked for by its place.
    BothEnds,
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
    /// Something was sent to a task.
    Sent {
        /// The task.
        id: String,
    },
    /// Something was sent to a task, and this is the answer.
    Exchanged(Box<Exchanged>),
    /// A task was stopped, or had ended before.
    Killed {
        /// The task.
        task: Box<Task>,
        /// Whether it had ended before.
        already: bool,
    },
    /// Tasks.
    Listed(Listed),
    /// The session is as it was at its start.
    Restarted,
    /// It could not be done; nothing was started.
    Failed(Failure),
}

impl Done {
    /// The run that it is about, where it is about one.
    pub fn run_id(&self) -> Option<&str> {
        let id = match self {
            Self::Ran(ran) => ran.run_id(),
            Self::Started { task, .. } | Self::Killed { task, .. } => &task.id,
            Self::Read(read) => &read.task.id,
            Self::Exchanged(exchanged) => &exchanged.task.id,
            Self::Sent { id } => id,
            Self::Listed(_) | Self::Restarted | Self::Failed(_) => "",
        };
        Some(id).filter(|id| !id.is_empty())
    }
}

/// Tasks, the newest first.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// The client's own.
    pub own: Vec<Task>,
    /// Those of other clients and of people, where they were asked for.
    pub others: Vec<Task>,
    /// How much of the machine they may use, where somebody looked.
    pub machine: Option<MachineSize>,
    /// What each that runs listens on, by its id, where the dialect reports that.
    pub listening: HashMap<String, Listening>,
}

/// What a running task listens on, where the dialect reports that.
#[derive(Clone, Debug, Default)]
pub struct ReportedPorts {
    /// All of it.
    pub listening: Listening,
    /// That in words, where the client was not told the same before.
    pub news: Option<String>,
}

/// How much was printed, shown or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Bytes.
    pub bytes: u64,
    /// Lines, an unfinished one included.
    pub lines: u64,
}

/// What came of a command: it ran, or it was refused, or it was only looked at.
#[derive(Clone, Debug)]
pub struct Ran {
    /// What the engine says.
    pub response: Response,
    /// Where the next call starts.
    pub cwd: PathBuf,
    /// What the engine says besides, and what came up after that.
    pub notices: Vec<String>,
    /// Characters on stdout, or on the one pipe, shown or not.
    pub stdout_characters: u64,
    /// Characters on stderr.
    pub stderr_characters: u64,
    /// How much it printed in all.
    pub amount: Amount,
    /// Whether the working directory of the session is another one now.
    pub moved: bool,
    /// What its terminal shows, where it still runs and draws on it: lines of output would say less.
    pub screen: Option<Box<Look>>,
    /// The plain file with its output, where one was asked for.
    pub transcript: Option<PathBuf>,
    /// A short number for what goes on of it, where something does: the command itself, or what it left running.
    pub number: Option<u32>,
    /// Its output in fewer lines, where there is such a form.
    pub shorter: Option<Box<Shorter>>,
    /// What goes on of it listens on this.
    pub ports: ReportedPorts,
}

impl Ran {
    /// A command that was not run: it was refused, or only judged.
    pub fn unrun(response: Response) -> Self {
        let text = response.output().map_or("", |output| &output.head);
        let amount = Amount { bytes: text.len() as u64, lines: text.lines().count() as u64 };
        let characters = text.chars().count() as u64;
        let (cwd, notices) = (response.cwd().to_owned(), response.notices().to_vec());
        Self {
            stdout_characters: characters,
            stderr_characters: 0,
            amount,
            moved: false,
            screen: None,
            response,
            cwd,
            notices,
            transcript: None,
            number: None,
            shorter: None,
            ports: ReportedPorts::default(),
        }
    }

    /// The id of the run; empty where there was none.
    pub fn run_id(&self) -> &str {
        self.response.ran().map_or("", |report| &report.run_id)
    }

    /// Its process, where there was one.
    pub fn pid(&self) -> Option<i32> {
        self.response.ran().map(|report| report.pid)
    }

    /// How it ended; none where it was only looked at.
    pub fn outcome(&self) -> Option<Outcome> {
        self.response.outcome()
    }

    /// How long it took.
    pub fn duration(&self) -> Duration {
        self.response.ran().map(|report| report.duration).unwrap_or_default()
    }

    /// The limit it was stopped at.
    pub fn limit(&self) -> Option<TimeLimit> {
        self.response.ran().and_then(|report| report.limit)
    }

    /// What it waits for.
    pub fn waits(&self) -> Option<&InputWait> {
        self.response.ran().and_then(|report| report.waits.as_ref())
    }

    /// Whether it goes on because a person handed its call back.
    pub fn is_released(&self) -> bool {
        self.response.ran().is_some_and(|report| report.released)
    }

    /// What it left running.
    pub fn leftovers(&self) -> &[Leftover] {
        self.response.ran().map_or(&[], |report| &report.leftovers)
    }

    /// The task that this is.
    pub fn leftover_task(&self) -> Option<&str> {
        self.response.ran().and_then(|report| report.leftover_task.as_deref())
    }

    /// Standard output, or all output where there is one pipe; of a dry run, its description.
    pub fn stdout(&self) -> &TextView {
        match &self.response {
            Response::Ran(report) => &report.stdout,
            Response::Refused(_) => &NO_TEXT,
            Response::Described(dry_run) => &dry_run.description,
        }
    }

    /// Standard error.
    pub fn stderr(&self) -> &TextView {
        self.response.ran().map_or(&NO_TEXT, |report| &report.stderr)
    }

    /// Both in the order of arrival.
    pub fn output(&self) -> &TextView {
        self.response.output().unwrap_or(&NO_TEXT)
    }
}

static NO_TEXT: TextView = TextView { head: String::new(), tail: None, omitted: 0 };

/// Output in fewer lines.
#[derive(Clone, Debug)]
pub enum Shorter {
    /// Without lines that are like those around them.
    Gaps(Compacted),
    /// The lines that the call asks for.
    Selected(Selected),
    /// The same as that of an earlier run, byte for byte.
    Same {
        /// The earlier run.
        id: String,
        /// How many lines both have.
        lines: u64,
    },
}

/// Output of a task.
#[derive(Clone, Debug)]
pub struct TaskOutput {
    /// The task.
    pub task: Task,
    /// Its standard output.
    pub stdout: TextView,
    /// Its standard error.
    pub stderr: TextView,
    /// Both in the order of arrival.
    pub output: TextView,
    /// Bytes that were left out: after this, or between its beginning and its end.
    pub left_out: u64,
    /// Bytes that are not kept any more.
    pub not_kept: u64,
    /// Where this, or its beginning, ends in all of its output: from here a later call reads on.
    pub end: u64,
    /// Where the first of the bytes is that were left out; the same where none were.
    pub rest: u64,
    /// The plain file with all of its output, where there is one.
    pub transcript: Option<PathBuf>,
    /// What came of a change of its standing watches, where there was one.
    pub watch: Option<WatchChanged>,
    /// Why a wait ended, in words, where there was one.
    pub waited: Option<String>,
    /// What its terminal shows, where it has one.
    pub look: Option<Box<Look>>,
    /// How the output is to be shown.
    pub view: OutputView,
    /// Its output with gaps, where it has some.
    pub compacted: Option<Box<Compacted>>,
    /// What it listens on.
    pub ports: ReportedPorts,
}

/// The answer of a task.
#[derive(Clone, Debug)]
pub struct Exchanged {
    /// The task, after the wait.
    pub task: Task,
    /// What it printed since it was read last: its beginning and its end, where it is more than there is room for.
    pub output: TextView,
    /// How much that was in all.
    pub amount: Amount,
    /// Bytes of it that are not kept.
    pub not_kept: u64,
    /// How long it took.
    pub took: Duration,
    /// The short number of the task.
    pub number: u32,
}

/// Why nothing came of an action.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What kind of failure.
    pub kind: FailureKind,
    /// What went wrong and what to do.
    pub message: String,
    /// Why the guard objects, where it does.
    pub refusal: Option<Box<Refusal>>,
}

impl Failure {
    /// A failure that is not an objection of the guard.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), refusal: None }
    }
}

/// Kinds of failure, for machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// There is no task of this name.
    NotFound,
    /// There was one, and it was removed.
    Removed,
    /// The task is another client's.
    OfAnother,
    /// The system could not do it.
    System,
    /// As many tasks run as may.
    TaskLimit,
    /// The filter is not a regular expression.
    BadFilter,
    /// The task takes no input.
    InputClosed,
    /// The task has ended, or cannot do this.
    NotPossible,
    /// The client withdrew the call.
    Withdrawn,
    /// The guard objects.
    Refused,
}

impl FailureKind {
    /// One word.
    pub fn word(self) -> &'static str {
        match self {
            Self::NotFound | Self::Removed | Self::OfAnother => "not_found",
            Self::System => "system_error",
            Self::TaskLimit => "task_limit",
            Self::BadFilter => "bad_filter",
            Self::InputClosed => "input_closed",
            Self::NotPossible => "not_possible",
            Self::Withdrawn => "withdrawn",
            Self::Refused => "refused",
        }
    }
}
