//! Which runs there are, and in what state.
//!
//! 1. A run is a folder; its id is the folder's name.
//! 2. Its state follows from three records and a lock, read in an order that no keeper can fool ([`read`]).
//!
//! Nothing is cached: another process may start or end a run at any time.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::removed::{RemovedRun, RemovedRuns};
use crate::folder::record::{LeftoverOf, RequestRecord, VERSION};
use crate::folder::{RunFolder, RunMark, Unreadable};
use crate::owner::Owner;
use crate::run::ChangedFiles;
use crate::run::Ending;
use crate::run::Protection;
use crate::run::RunId;
use crate::run::StreamTotals;
use crate::run::id::is_id;
use crate::run::{Leftover, Lifetime, Outcome, Signal, TimeLimit};
use chiton_terminal::TerminalSize;

/// All runs under one state directory.
#[derive(Clone, Debug)]
pub struct Tasks {
    runs: PathBuf,
}

/// One run, as it is at this moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Task {
    /// Its id.
    pub id: String,
    /// The command as it was asked for.
    pub command: String,
    /// Where it runs.
    pub directory: PathBuf,
    /// The session it belongs to, where that has a name.
    pub session: Option<String>,
    /// The client whose task it is, where it is bound to one.
    pub client: Option<String>,
    /// Whose it is; `None` where a person started it.
    pub owner: Option<Owner>,
    /// What it is for, in the words of whoever asked.
    pub description: Option<String>,
    /// Its state.
    pub status: TaskStatus,
    /// How it ended, once it has.
    pub outcome: Option<Outcome>,
    /// The limit it was stopped at, where it timed out.
    pub limit: Option<TimeLimit>,
    /// The size of its terminal at the start, where it has one.
    pub terminal: Option<TerminalSize>,
    /// Process id of its shell, which is also the id of its process group.
    pub pid: Option<i32>,
    /// What ends it besides its own end.
    pub lifetime: Lifetime,
    /// Whether its call did not wait for it.
    pub background: bool,
    /// What protection was in force when it started.
    pub protection: Option<Protection>,
    /// When it started.
    pub started_at: SystemTime,
    /// How long it took, or has taken so far.
    pub duration: Duration,
    /// The run that left it behind, where it is a leftover.
    pub leftover_of: Option<String>,
    /// What it left running.
    pub leftovers: Vec<Leftover>,
    /// The ports that its command named ([`crate::CommandRequest::ports`]), and their numbers.
    pub ports: BTreeMap<String, u16>,
    /// What it did to files, once it has ended, where somebody watched.
    pub changed: Option<ChangedFiles>,
    /// Its output in numbers, once it has ended.
    pub totals: Option<(StreamTotals, StreamTotals)>,
    pub(crate) folder: PathBuf,
    /// Where its output is.
    pub(crate) source: OutputSource,
}

/// Where the output of a task is: a folder, and from where on it is the task's.
#[derive(Clone, Debug)]
pub(crate) struct OutputSource {
    pub(crate) folder: PathBuf,
    pub(crate) stdout: u64,
    pub(crate) stderr: u64,
}

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskStatus {
    /// Asked for, not yet started.
    Pending,
    /// Running.
    Running,
    /// Ended by itself with exit code 0.
    Completed,
    /// Ended by itself with another code, or by a signal other than SIGKILL.
    Failed,
    /// Stopped because its time was over.
    #[serde(rename = "timeout")]
    TimedOut,
    /// Stopped because somebody wanted it, or ended by SIGKILL.
    Killed,
    /// Its keeper was killed, so nobody knows.
    Lost,
}

impl TaskStatus {
    /// Whether it has not ended.
    pub fn is_running(self) -> bool {
        matches!(self, Self::Pending | Self::Running)
    }

    fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Exited(0) => Self::Completed,
            Outcome::Signaled(Signal::KILL) | Outcome::Killed | Outcome::Cancelled => Self::Killed,
            Outcome::Exited(_) | Outcome::Signaled(_) | Outcome::Refused(_) => Self::Failed,
            Outcome::TimedOut => Self::TimedOut,
            Outcome::Lost => Self::Lost,
            Outcome::Running => Self::Running,
        }
    }
}

impl fmt::Display for TaskStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::TimedOut => "timeout",
            Self::Killed => "killed",
            Self::Lost => "lost",
        })
    }
}

impl Task {
    /// What its owner calls itself; `None` where a person started it.
    pub fn owner_name(&self) -> Option<&str> {
        self.owner.as_ref().map(|owner| owner.client.as_str()).or(self.client.as_deref())
    }

    /// The process of its keeper, from which everything that it started descends; `None` where it does not run.
    pub fn keeper(&self) -> Option<i32> {
        let folder = RunFolder::at(&self.folder).ok().filter(|folder| self.status.is_running() && folder.is_held())?;
        let keeper = folder.start().ok()?.keeper;
        // A keeper that is gone by now has given its number back.
        folder.is_held().then_some(keeper)
    }

    /// The folder with its records and output.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// An id that no run has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("task {id} {}", self.hint())]
pub struct NotFound {
    /// The id asked for.
    pub id: String,
    /// The nearest ids that exist.
    pub nearest: Vec<String>,
    /// Why it cannot be used although there is one.
    pub reason: Option<String>,
    /// The run that had it, where that was removed.
    pub removed: Option<Box<RemovedRun>>,
}

impl NotFound {
    fn hint(&self) -> String {
        if let Some(removed) = &self.removed {
            return removed.to_string();
        }
        match (&self.reason, self.nearest.as_slice()) {
            (Some(reason), _) => reason.clone(),
            (None, []) => "not found".to_owned(),
            (None, nearest) => format!("not found; did you mean {}?", nearest.join(" or ")),
        }
    }
}

/// A run whose records cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// Its id.
    pub id: String,
    /// What is wrong with it.
    pub reason: String,
}

/// How many ids are suggested for one that does not exist.
const SUGGESTIONS: usize = 3;
/// By how many letters an id may differ to be suggested: more than a typing mistake is another id.
const MOST_CHANGES: usize = 3;

/// How many runs may have been made in place of one.
const MOST_SUCCESSORS: usize = 8;

impl Tasks {
    /// The runs under `state_directory`, also where there is none yet.
    pub fn new(state_directory: &Path) -> Self {
        Self { runs: state_directory.join("runs") }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.runs
    }

    /// All of them, the newest first, and those whose records cannot be read.
    pub fn list(&self) -> io::Result<(Vec<Task>, Vec<Damaged>)> {
        let (mut tasks, mut damaged) = (Vec::new(), Vec::new());
        for folder in self.folders()? {
            match read(&folder) {
                Ok(Some(task)) => tasks.push(task),
                Ok(None) => {}
                Err(reason) => damaged.push(Damaged { id: folder.id().to_owned(), reason }),
            }
        }
        tasks.sort_by(|one, other| other.started_at.cmp(&one.started_at).then_with(|| one.id.cmp(&other.id)));
        Ok((tasks, damaged))
    }

    /// Those that have not ended.
    pub fn running(&self) -> io::Result<Vec<Task>> {
        let mut running = Vec::new();
        for folder in self.folders()?.into_iter().filter(RunFolder::is_held) {
            running.extend(read(&folder).ok().flatten().filter(|task| task.status.is_running()));
        }
        running.sort_by(|one, other| other.started_at.cmp(&one.started_at).then_with(|| one.id.cmp(&other.id)));
        Ok(running)
    }

    /// The one with this id. A unique beginning of an id is enough.
    pub fn get(&self, id: &str) -> Result<Task, NotFound> {
        let folder = self.find(id).ok_or_else(|| self.not_found(id))?;
        match read(&folder) {
            Ok(Some(task)) => Ok(task),
            Ok(None) => Err(self.not_found(id)),
            Err(reason) => {
                let reason = Some(format!("cannot be read: {reason}"));
                Err(NotFound { id: folder.id().to_owned(), nearest: Vec::new(), reason, removed: None })
            }
        }
    }

    /// The one in this folder; `None` where nothing was started in it so far, or its records cannot be read.
    pub(crate) fn in_folder(folder: &RunFolder) -> Option<Task> {
        read(folder).ok().flatten()
    }

    /// Leaves a mark at the run with this id, which says what it is kept for.
    pub fn mark(&self, id: &str, mark: RunMark) {
        if let Some(folder) = self.find(id) {
            folder.mark(mark);
        }
    }

    /// Whether there is a run of this id, or one that is just being started.
    pub fn has(&self, id: &RunId) -> bool {
        self.runs.join(id.as_str()).is_dir()
    }

    /// The run that answers a call which was to have this id: the run itself, or the one that was made in its place after
    /// a person had widened its sandbox.
    pub fn answering(&self, id: &RunId) -> RunId {
        let mut last = id.clone();
        // Each is made after the one before, so this ends; but a file may say anything.
        for _ in 0..MOST_SUCCESSORS {
            let folder = RunFolder::at(&self.runs.join(last.as_str())).ok();
            match folder.and_then(|folder| folder.successor()).filter(|next| self.runs.join(next.as_str()).is_dir()) {
                Some(next) => last = next,
                None => break,
            }
        }
        last
    }

    /// An id for the run that is made in place of this one.
    pub(crate) fn make_successor(&self, id: &RunId) -> Option<RunId> {
        let next = RunId::random().ok()?;
        RunFolder::at(&self.runs.join(id.as_str())).ok()?.write_successor(&next).ok()?;
        Some(next)
    }

    /// All ids.
    pub fn ids(&self) -> Vec<String> {
        self.folders().unwrap_or_default().into_iter().map(|folder| folder.id().to_owned()).collect()
    }

    pub(crate) fn find(&self, id: &str) -> Option<RunFolder> {
        if is_id(id) {
            return RunFolder::at(&self.runs.join(id)).ok().filter(|folder| folder.path().is_dir());
        }
        let beginning = if id.starts_with("shell_") { id.to_owned() } else { format!("shell_{id}") };
        let mut matching = self.folders().ok()?.into_iter().filter(|folder| folder.id().starts_with(&beginning));
        let found = matching.next().filter(|_| beginning.len() > "shell_".len())?;
        matching.next().is_none().then_some(found)
    }

    pub(crate) fn not_found(&self, id: &str) -> NotFound {
        let known: BTreeSet<(usize, String)> =
            self.ids().into_iter().map(|candidate| (strsim::levenshtein(id, &candidate), candidate)).collect();
        let near = known.into_iter().filter(|(distance, _)| *distance <= MOST_CHANGES).take(SUGGESTIONS);
        let nearest = near.map(|(_, id)| id).collect();
        let beginning = if id.starts_with("shell_") { id.to_owned() } else { format!("shell_{id}") };
        let same = self.ids().into_iter().filter(|known| known.starts_with(&beginning)).count();
        let reason = (same > 1).then(|| format!("not found: {same} ids begin like this; give more of it"));
        let removed = if reason.is_none() { RemovedRuns::of(&self.runs).find(id).map(Box::new) } else { None };
        // An id is short. Whatever is longer was not meant as one, and is no reason for a long message.
        let id = removed.as_ref().map_or_else(|| id.chars().take(64).collect(), |removed| removed.id.clone());
        NotFound { id, nearest, reason, removed }
    }

    fn folders(&self) -> io::Result<Vec<RunFolder>> {
        match fs::read_dir(&self.runs) {
            Ok(entries) => Ok(entries.flatten().filter_map(|entry| RunFolder::at(&entry.path()).ok()).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

/// One run from its folder. `None` where nothing was ever started in it.
fn read(folder: &RunFolder) -> Result<Option<Task>, String> {
    // The lock before the records. A keeper writes its ending and then lets go of the lock; asked for in the other order,
    // a run that ends in between would have neither an ending nor a lock, and read as lost.
    let held = folder.is_held();
    let request = match folder.request() {
        Ok(request) if request.version == VERSION => request,
        Ok(request) => return Err(format!("it is of version {}, this program reads {VERSION}", request.version)),
        // Just being made, just being removed, or given up before anything was asked of it: nothing ran.
        Err(Unreadable::Missing) if held || matches!(folder.start(), Err(Unreadable::Missing)) => return Ok(None),
        Err(Unreadable::Missing) => return Err("request.json is missing".to_owned()),
        Err(Unreadable::Damaged(reason)) => return Err(reason),
    };
    let ending = match folder.ending() {
        Ok(ending) => Some(ending),
        Err(Unreadable::Missing) => None,
        Err(Unreadable::Damaged(reason)) => return Err(reason),
    };
    let pid = folder.start().ok().map(|start| start.pid);
    let status = match &ending {
        Some(ending) => TaskStatus::of(&ending.outcome),
        None if !held => TaskStatus::Lost,
        None if pid.is_none() => TaskStatus::Pending,
        None => TaskStatus::Running,
    };
    Ok(Some(task(folder, request, ending, status, pid)))
}

fn task(
    folder: &RunFolder,
    request: RequestRecord,
    ending: Option<Ending>,
    status: TaskStatus,
    pid: Option<i32>,
) -> Task {
    let duration = match &ending {
        Some(ending) => Duration::from_micros(ending.wall_us),
        None => request.age(),
    };
    let source = match &request.leftover_of {
        Some(LeftoverOf { run, stdout, stderr }) => {
            OutputSource { folder: folder.path().with_file_name(run), stdout: *stdout, stderr: *stderr }
        }
        None => OutputSource { folder: folder.path().to_owned(), stdout: 0, stderr: 0 },
    };
    Task {
        id: request.id,
        command: request.command.to_text(),
        directory: request.directory.to_text().into(),
        session: request.session,
        client: request.client,
        owner: request.owner,
        description: request.description,
        status,
        pid,
        terminal: request.terminal,
        lifetime: request.lifetime,
        background: request.background,
        protection: request.protection,
        started_at: UNIX_EPOCH + Duration::from_millis(request.started_at),
        duration,
        leftover_of: request.leftover_of.map(|from| from.run),
        leftovers: ending.as_ref().map(|ending| ending.leftovers.clone()).unwrap_or_default(),
        ports: request.ports,
        limit: ending.as_ref().and_then(|ending| ending.limit),
        changed: ending.as_ref().and_then(|ending| ending.changed.clone()),
        totals: ending.as_ref().map(|ending| (ending.stdout, ending.stderr)),
        outcome: ending.map(|ending| ending.outcome).or((status == TaskStatus::Lost).then_some(Outcome::Lost)),
        folder: folder.path().to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_has_its_status() {
        let cases = [
            (Outcome::Exited(0), TaskStatus::Completed),
            (Outcome::Exited(1), TaskStatus::Failed),
            (Outcome::Signaled(Signal::TERM), TaskStatus::Failed),
            (Outcome::Signaled(Signal::KILL), TaskStatus::Killed),
            (Outcome::TimedOut, TaskStatus::TimedOut),
            (Outcome::Cancelled, TaskStatus::Killed),
            (Outcome::Killed, TaskStatus::Killed),
            (Outcome::Lost, TaskStatus::Lost),
        ];
        for (outcome, status) in cases {
            assert_eq!(TaskStatus::of(&outcome), status);
        }
    }
}
