//! Stage 8: what comes back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use crate::consent::Question;
use crate::render::{TextView, Views};
use crate::review::{Protection, Refusal};
use crate::run::{ChangedFiles, Ending, InputWait, Leftover, Outcome, StreamTotals, TimeLimit, Usage};
use crate::sandbox::report::{self, Exhausted, RefusedAccess};
use crate::session::Session;
use crate::state::change::Change;
use crate::state::environment::RemovedVariable;

/// What comes back from a call.
#[derive(Clone, Debug)]
pub enum Response {
    /// The command ran, or still runs.
    Ran(Box<RunReport>),
    /// It may not run.
    Refused(Box<RefusedCommand>),
    /// It was only looked at.
    Described(Box<DryRun>),
}

/// A command that may not run. Nothing was started.
#[derive(Clone, Debug)]
pub struct RefusedCommand {
    /// Why, and what a person could still agree to.
    pub refusal: Refusal,
    /// The session's working directory.
    pub cwd: PathBuf,
    /// What else the caller should know.
    pub notices: Vec<String>,
    /// What protection is in force.
    pub protection: Protection,
}

/// A command that was only looked at. Nothing was started.
#[derive(Clone, Debug)]
pub struct DryRun {
    /// What it would do, in words.
    pub description: TextView,
    /// The session's working directory.
    pub cwd: PathBuf,
    /// What else the caller should know.
    pub notices: Vec<String>,
    /// What protection is in force.
    pub protection: Protection,
}

/// Everything there is to say about one run.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// The id under which the run can be found again.
    pub run_id: String,
    /// Whether it was run for this call, or for an earlier one with the same id.
    pub occurrence: Occurrence,
    /// How it ended.
    pub outcome: Outcome,
    /// The limit it was stopped at, where it timed out.
    pub limit: Option<TimeLimit>,
    /// Process id of its shell, which is also the id of its process group.
    pub pid: i32,
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
    /// Whether it was handed back because a person wanted that (`chiton release`).
    pub released: bool,
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
    pub protection: Protection,
    /// What its sandbox refused.
    pub refused: Vec<RefusedAccess>,
    /// The limit of it that the command ran into.
    pub exhausted: Option<Exhausted>,
    /// What it did to files, where somebody watched.
    pub changed: Option<ChangedFiles>,
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
    /// All that the command changed, where nothing of that was held back.
    pub(crate) told: Option<Change>,
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
        let cwd = session.directory();
        Self { report, told: None, cwd, pipe_status: Vec::new(), not_carried: Vec::new(), notice: None }
    }
}

/// What is said of a command that goes on because a person handed its call back.
pub const RELEASED: &str = "a person handed it back with `chiton release`";

/// Whether a call was made before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurrence {
    /// It was not: its command was started now.
    First,
    /// It was, and its command was started then.
    Again,
}

/// What is said where a call was made a second time.
pub const SENT_TWICE: &str = "this call was sent twice; it ran once";

/// Everything that is known about a run.
pub(crate) struct RunParts<'a> {
    pub(crate) run_id: &'a str,
    pub(crate) occurrence: Occurrence,
    pub(crate) pid: i32,
    pub(crate) warm: bool,
    pub(crate) ending: Ending,
    pub(crate) waits: Option<InputWait>,
    pub(crate) released: bool,
    pub(crate) views: Views,
    /// Variables that were kept from it.
    pub(crate) removed: Vec<RemovedVariable>,
    /// What came up before it ran.
    pub(crate) notices: Vec<String>,
    pub(crate) commit: Commit,
    /// What the command may have lacked.
    pub(crate) mention: Option<String>,
    /// That a program in it waited for a person in vain.
    pub(crate) hint: Option<String>,
    /// What to say where the journal could not be written.
    pub(crate) unwritten: Option<String>,
    pub(crate) protection: Protection,
}

/// Puts together everything that is known about a run.
pub(crate) fn compose(parts: RunParts<'_>) -> RunReport {
    let RunParts { run_id, occurrence, pid, warm, ending, waits, released, views, .. } = parts;
    let RunParts { removed, notices, commit, mention, hint, unwritten, protection, .. } = parts;
    let handed_back = released.then(|| format!("{RELEASED}; it goes on as {run_id}, without a time limit"));
    let lost = |totals: StreamTotals| totals.written - totals.kept;
    let mut removed_variables = removed;
    for not_carried in commit.not_carried {
        if !removed_variables.contains(&not_carried) {
            removed_variables.push(not_carried);
        }
    }

    RunReport {
        run_id: run_id.to_owned(),
        occurrence,
        outcome: ending.outcome,
        limit: ending.limit,
        pid,
        pipe_status: commit.pipe_status,
        stdout: views.stdout,
        stderr: views.stderr,
        output: views.output,
        lost_bytes: lost(ending.stdout) + lost(ending.stderr),
        cwd: commit.cwd,
        state: commit.report,
        waits,
        released,
        leftovers: ending.leftovers,
        leftover_task: ending.leftover_task,
        survivors: ending.survivors,
        usage: ending.usage,
        duration: Duration::from_micros(ending.wall_us),
        warm,
        removed_variables,
        notices: handed_back
            .into_iter()
            .chain(notices)
            .chain(commit.notice)
            .chain(mention)
            .chain(hint)
            .chain(unwritten)
            .chain(ending.exhausted.as_ref().map(ToString::to_string))
            .chain(report::in_lines(&ending.refused))
            .chain(ending.changed.as_ref().filter(|changed| !changed.is_empty()).map(ToString::to_string))
            .collect(),
        protection,
        refused: ending.refused,
        exhausted: ending.exhausted,
        changed: ending.changed.filter(|changed| !changed.is_empty() || changed.preview.is_some()),
    }
}

impl RunReport {
    /// The limit that it was stopped at or ran into, by one word.
    pub fn limit_word(&self) -> Option<&'static str> {
        let exhausted = self.exhausted.as_ref().map(|exhausted| exhausted.what.word());
        exhausted.or(self.limit.map(TimeLimit::word))
    }

    /// Whether any output is not in this report.
    pub fn is_truncated(&self) -> bool {
        self.omitted_bytes() > 0
    }

    /// Bytes of output that are not in `stdout` and `stderr` here.
    pub fn omitted_bytes(&self) -> u64 {
        self.stdout.omitted + self.stderr.omitted
    }
}

impl From<RunReport> for Response {
    fn from(report: RunReport) -> Self {
        Self::Ran(Box::new(report))
    }
}

impl From<RefusedCommand> for Response {
    fn from(refused: RefusedCommand) -> Self {
        Self::Refused(Box::new(refused))
    }
}

impl From<DryRun> for Response {
    fn from(dry_run: DryRun) -> Self {
        Self::Described(Box::new(dry_run))
    }
}

/// What all responses have, for whoever writes a reply.
impl Response {
    /// The run, where there was one.
    pub fn ran(&self) -> Option<&RunReport> {
        if let Self::Ran(report) = self { Some(report) } else { None }
    }

    /// The run alone, where there was one.
    pub fn into_ran(self) -> Option<RunReport> {
        if let Self::Ran(report) = self { Some(*report) } else { None }
    }

    /// How the command ended; none where it was only looked at.
    pub fn outcome(&self) -> Option<Outcome> {
        match self {
            Self::Ran(report) => Some(report.outcome.clone()),
            Self::Refused(refused) => Some(Outcome::Refused(refused.refusal.reason.clone())),
            Self::Described(_) => None,
        }
    }

    /// Its exit code, where it has exited by itself.
    pub fn exit_code(&self) -> Option<i32> {
        self.outcome().and_then(|outcome| outcome.exit_code())
    }

    /// How the command ended, or that it was only looked at: one word for machines.
    pub fn word(&self) -> &'static str {
        self.outcome().map_or("described", |outcome| outcome.word())
    }

    /// What there is to read: the output of the command, or what it would do.
    pub fn output(&self) -> Option<&TextView> {
        match self {
            Self::Ran(report) => Some(&report.output),
            Self::Refused(_) => None,
            Self::Described(dry_run) => Some(&dry_run.description),
        }
    }

    /// The same as text; empty where there is nothing.
    pub fn text(&self) -> String {
        self.output().map(TextView::to_text).unwrap_or_default()
    }

    /// What happened to the session's state.
    pub fn state(&self) -> StateReport {
        match self {
            Self::Ran(report) => report.state.clone(),
            Self::Refused(_) => StateReport::Discarded("the command was refused".to_owned()),
            Self::Described(_) => StateReport::Discarded("this was a dry run".to_owned()),
        }
    }

    /// The session's working directory from now on.
    pub fn cwd(&self) -> &Path {
        match self {
            Self::Ran(report) => &report.cwd,
            Self::Refused(refused) => &refused.cwd,
            Self::Described(dry_run) => &dry_run.cwd,
        }
    }

    /// What else the caller should know.
    pub fn notices(&self) -> &[String] {
        match self {
            Self::Ran(report) => &report.notices,
            Self::Refused(refused) => &refused.notices,
            Self::Described(dry_run) => &dry_run.notices,
        }
    }

    /// What protection was in force.
    pub fn protection(&self) -> &Protection {
        match self {
            Self::Ran(report) => &report.protection,
            Self::Refused(refused) => &refused.protection,
            Self::Described(dry_run) => &dry_run.protection,
        }
    }

    /// Why the command may not run, where it may not.
    pub fn refusal(&self) -> Option<&Refusal> {
        if let Self::Refused(refused) = self { Some(&refused.refusal) } else { None }
    }

    /// What a person could agree to, where the command was not run for want of that.
    pub fn question(&self) -> Option<&Question> {
        if let Self::Refused(refused) = self { refused.refusal.question.as_deref() } else { None }
    }
}
