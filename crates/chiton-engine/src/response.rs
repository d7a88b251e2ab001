//! Stage 8: what comes back.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::consent::Question;
use crate::render::{TextView, Views};
use crate::review::Refusal;
use crate::run::StreamTotals;
use crate::run::{Ending, InputWait};
use crate::run::{Leftover, Outcome, TimeLimit, Usage};
use crate::session::{Session, StartingPoint};
use crate::state::environment::RemovedVariable;

/// Everything there is to say about one run.
#[derive(Clone, Debug)]
pub struct CommandResponse {
    /// The id under which the run can be found again.
    pub run_id: String,
    /// How it ended.
    pub outcome: Outcome,
    /// The limit it was stopped at, where it timed out.
    pub limit: Option<TimeLimit>,
    /// Process id of its shell, which is also the id of its process group; none where nothing was started.
    pub pid: Option<i32>,
    /// The status of each part of the last pipeline, where the shell could say it.
    pub pipe_status: Vec<i32>,
    /// Standard output; with one pipe for both streams, all output.
    pub stdout: TextView,
    /// Standard error.
    pub stderr: TextView,
    /// Both in the order of arrival.
    pub output: TextView,
    /// Bytes the command wrote that are not even in the spool, because of its quota or a full disk.
    pub lost_bytes: u64,
    /// The session's working directory from now on.
    pub cwd: PathBuf,
    /// What happened to the session's state.
    pub state: StateReport,
    /// What it waits for, where it was handed back because it waits for input.
    pub waits: Option<InputWait>,
    /// What the command left running.
    pub leftovers: Vec<Leftover>,
    /// The id under which that is a task of its own.
    pub leftover_task: Option<String>,
    /// What was to be stopped and could not be: held by the kernel.
    pub survivors: Vec<Leftover>,
    /// What it used; not known where the answer was wanted first, or nobody saw the end.
    pub usage: Option<Usage>,
    /// From start to end.
    pub duration: Duration,
    /// Whether its shell was there before it came.
    pub warm: bool,
    /// Variables that were kept from the command.
    pub removed_variables: Vec<RemovedVariable>,
    /// What else the caller should know.
    pub notices: Vec<String>,
    /// What protection was in force.
    pub protection: &'static str,
    /// What a person could agree to, where the command was not run for want of that.
    pub question: Option<Box<Question>>,
}

/// What happened to the session's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "result", content = "why")]
pub enum StateReport {
    /// What the command changed is there for the next one.
    Committed,
    /// The command changed nothing.
    Unchanged,
    /// Whatever the command changed is not kept, for this reason.
    Discarded(String),
    /// The answer was wanted first; what the command changed will be there for the next one.
    Follows,
}

impl StateReport {
    /// One word for machines.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Committed => "committed",
            Self::Follows => "follows",
            Self::Unchanged | Self::Discarded(_) => "unchanged",
        }
    }

    /// Why the state is as it was before.
    pub fn why(&self) -> &str {
        match self {
            Self::Committed | Self::Follows => "",
            Self::Unchanged => "the command changed nothing",
            Self::Discarded(why) => why,
        }
    }
}

/// What a command left in its session.
pub(crate) struct Commit {
    pub(crate) report: StateReport,
    /// Where the session is from now on.
    pub(crate) cwd: PathBuf,
    pub(crate) pipe_status: Vec<i32>,
    /// Variables that are not there for the next command.
    pub(crate) not_carried: Vec<RemovedVariable>,
    /// What to say about it.
    pub(crate) notice: Option<String>,
}

impl Commit {
    /// This, with the session where it is.
    pub(crate) fn new(report: StateReport, session: &Session) -> Self {
        let cwd = session.state().cwd.clone();
        Self { report, cwd, pipe_status: Vec::new(), not_carried: Vec::new(), notice: None }
    }
}

/// Everything that is known about a run.
pub(crate) struct RunParts<'a> {
    pub(crate) run_id: &'a str,
    pub(crate) pid: i32,
    pub(crate) warm: bool,
    pub(crate) ending: Ending,
    pub(crate) waits: Option<InputWait>,
    pub(crate) views: Views,
    pub(crate) start: StartingPoint,
    pub(crate) commit: Commit,
    /// What to say where the journal could not be written.
    pub(crate) unwritten: Option<String>,
    pub(crate) protection: &'static str,
}

/// Puts together everything that is known about a run.
pub(crate) fn compose(parts: RunParts<'_>) -> CommandResponse {
    let RunParts { run_id, pid, warm, ending, waits, views, start, commit, unwritten, protection } = parts;
    let lost = |totals: StreamTotals| totals.written - totals.kept;
    let mut removed_variables = start.removed;
    for not_carried in commit.not_carried {
        if !removed_variables.contains(&not_carried) {
            removed_variables.push(not_carried);
        }
    }

    CommandResponse {
        run_id: run_id.to_owned(),
        outcome: ending.outcome,
        limit: ending.limit,
        pid: Some(pid),
        pipe_status: commit.pipe_status,
        stdout: views.stdout,
        stderr: views.stderr,
        output: views.output,
        lost_bytes: lost(ending.stdout) + lost(ending.stderr),
        cwd: commit.cwd,
        state: commit.report,
        waits,
        leftovers: ending.leftovers,
        leftover_task: ending.leftover_task,
        survivors: ending.survivors,
        usage: ending.usage,
        duration: Duration::from_micros(ending.wall_us),
        warm,
        removed_variables,
        notices: start.notices.into_iter().chain(commit.notice).chain(unwritten).collect(),
        protection,
        question: None,
    }
}

/// The response to a command that was only looked at.
pub(crate) fn describe(description: String, cwd: PathBuf, protection: &'static str) -> CommandResponse {
    let text = TextView { head: description, tail: None, omitted: 0 };
    let unrun = refuse(&Refusal::new(String::new()), cwd, protection);
    let state = StateReport::Discarded("this was a dry run".to_owned());
    CommandResponse { outcome: Outcome::Exited(0), stdout: text.clone(), output: text, state, ..unrun }
}

/// The response to a command that may not run.
pub(crate) fn refuse(refusal: &Refusal, cwd: PathBuf, protection: &'static str) -> CommandResponse {
    CommandResponse {
        run_id: String::new(),
        outcome: Outcome::Refused(refusal.reason.clone()),
        limit: None,
        pid: None,
        pipe_status: Vec::new(),
        stdout: TextView::default(),
        stderr: TextView::default(),
        output: TextView::default(),
        lost_bytes: 0,
        cwd,
        state: StateReport::Discarded("the command was refused".to_owned()),
        waits: None,
        leftovers: Vec::new(),
        leftover_task: None,
        survivors: Vec::new(),
        usage: None,
        duration: Duration::ZERO,
        warm: false,
        removed_variables: Vec::new(),
        notices: Vec::new(),
        protection,
        question: refusal.question.clone(),
    }
}

impl CommandResponse {
    /// Whether any output is not in this response.
    pub fn is_truncated(&self) -> bool {
        self.omitted_bytes() > 0
    }

    /// Bytes of output that are not in `stdout` and `stderr` here.
    pub fn omitted_bytes(&self) -> u64 {
        self.stdout.omitted + self.stderr.omitted
    }
}
