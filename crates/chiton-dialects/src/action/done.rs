//! What came of an action.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use chiton_engine::changes::Undone;
use chiton_engine::machine::MachineSize;
use chiton_engine::render::TextView;
use chiton_engine::review::Refusal;
use chiton_engine::sandbox::report::RefusedAccess;
use chiton_engine::tasks::{Listening, Watch};
use chiton_engine::{ChangedFiles, InputWait, Leftover, Look, Outcome, Response, RunReport, Task, TimeLimit};

use super::OutputView;
use crate::compact::Compacted;
use crate::select::Selected;

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
    /// What a command did to files was undone, as far as that could be.
    Undone(Box<Undone>),
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
            Self::Listed(_) | Self::Undone(_) | Self::Restarted | Self::Failed(_) => "",
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

    /// The limit that it was stopped at or ran into, whatever that limits.
    pub fn limit_word(&self) -> Option<&'static str> {
        self.response.ran().and_then(RunReport::limit_word)
    }

    /// What its sandbox refused.
    pub fn refused(&self) -> &[RefusedAccess] {
        self.response.ran().map_or(&[], |report| &report.refused)
    }

    /// What it did to files.
    pub fn changed(&self) -> Option<&ChangedFiles> {
        self.response.ran()?.changed.as_ref()
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

/// What came of a change of watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchChanged {
    /// This one stays on it.
    Added(Watch),
    /// These stay on it no longer.
    Ended(Vec<Watch>),
}
