//! Commands that are tried first: on an overlay of what they may change, so that nothing has changed when they have ended.
//!
//! 1. [`open`] makes room for what will be written and says what the command is to see; the engine runs it in a sandbox
//!    that shows it so (`enclosure/prepare/overlay.rs`).
//! 2. [`walk`] finds out what was written, [`list`] says it, and what others have changed meanwhile.
//! 3. [`commit`] makes it real; dropping it removes what was written.
//! 4. [`store`] is where all of that is.
//!
//! What is not held back: what is written to caches, and what goes over the network.

mod commit;
mod list;
mod open;
mod store;
mod walk;

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use thiserror::Error;

use crate::changes::{self, ChangeLogs, Recorder};
use crate::run::ChangedFiles;
pub use list::{Conflict, PreviewedFile};
pub(crate) use open::{NoPreview, OpenPreview};
pub use store::PreviewedState;
pub(crate) use store::sweep;
use store::{PreviewFolder, Record};
pub use walk::Aspect;

/// The previews of a state directory.
#[derive(Clone, Debug)]
pub struct Previews {
    state_directory: PathBuf,
}

/// One preview.
#[derive(Clone, Debug, Serialize)]
pub struct Preview {
    /// Its id.
    pub id: String,
    /// What was run.
    pub command: String,
    /// Where.
    pub directory: PathBuf,
    /// When, in milliseconds since 1970.
    pub began_ms: u64,
    /// The id of the run, whose output can be read by it.
    pub run: Option<String>,
    /// What can be done with it.
    pub status: PreviewStatus,
    /// What it would change; of one that is committed, nothing any more.
    pub changed: ChangedFiles,
    /// What others have changed since, so that it is not committed.
    pub conflicts: Vec<Conflict>,
}

/// What can be done with a preview.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum PreviewStatus {
    /// Its command still runs.
    Running,
    /// It can be committed or dropped.
    Ready,
    /// Somebody was killed while committing it: it can be finished or undone.
    HalfCommitted {
        /// Steps that were taken.
        done: usize,
        /// Of so many.
        of: usize,
    },
    /// It was committed.
    Committed,
}

/// Why nothing can be done with a preview.
#[derive(Debug, Error)]
pub enum PreviewError {
    /// There is no such preview.
    #[error(
        "there is no preview '{0}': it changed nothing, was dropped, or was too long ago; `chiton preview list` has those that there are"
    )]
    Unknown(String),
    /// Its command still runs.
    #[error("the command of {0} still runs, and may change more; `chiton kill {1}` ends it")]
    Running(String, String),
    /// It was committed before.
    #[error("{0} was committed already; `chiton undo {0}` undoes that")]
    Committed(String),
    /// It was committed half-way, and that was undone.
    #[error("{0} was undone; what it would have changed is gone with that. `chiton preview drop {0}` removes the rest")]
    Undone(String),
    /// It was committed half-way.
    #[error(
        "{0} is half committed: `chiton preview commit {0}` finishes that, `chiton undo {0}` undoes it. Then it can be dropped"
    )]
    HalfCommitted(String),
    /// Others have changed what it would change.
    #[error(
        "{id} is not committed, because others have changed since what it would change:\n{}\n--force commits it all the same, and `chiton undo {id}` puts back what it replaces",
        in_lines(conflicts)
    )]
    Conflicts {
        /// Which preview.
        id: String,
        /// What they have changed.
        conflicts: Vec<Conflict>,
    },
    /// Somebody else is at it.
    #[error("somebody else commits or drops {0} just now")]
    Busy(String),
    /// Something went wrong half-way.
    #[error("{id} is half committed: {error}. `chiton preview commit {id}` goes on, `chiton undo {id}` takes it back")]
    Interrupted {
        /// Which preview.
        id: String,
        /// What went wrong.
        error: io::Error,
    },
    /// Something else went wrong.
    #[error("{id}: {error}")]
    Failed {
        /// Which preview.
        id: String,
        /// What went wrong.
        error: io::Error,
    },
}

fn in_lines(conflicts: &[Conflict]) -> String {
    let lines: Vec<String> = conflicts.iter().map(|it| format!("  {}: {}", it.path.display(), it.why)).collect();
    lines.join("\n")
}

/// How a preview is committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitOptions {
    /// Also over what others have changed since.
    pub force: bool,
    /// Stops in the middle, after so many steps: as if it had been killed.
    pub stop_after: Option<usize>,
}

/// What committing came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Committed {
    /// Which preview.
    pub id: String,
    /// What was changed, and the id by which that is undone.
    pub changed: ChangedFiles,
    /// What became of the state of its session.
    pub state: CommittedState,
}

/// What became of what the command changed in its shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "result", content = "why")]
pub enum CommittedState {
    /// It is there for the next command of the session.
    Committed,
    /// Nothing is known that would have to be committed here. A session that a server holds takes it over with its next
    /// command.
    Nothing,
    /// It is not kept, for this reason.
    Discarded(String),
}

impl Previews {
    /// Those of a state directory.
    pub fn new(state_directory: &Path) -> Self {
        Self { state_directory: state_directory.to_owned() }
    }

    /// All of them, the newest first.
    pub fn all(&self) -> Vec<Preview> {
        let ids = PreviewFolder::ids(&self.state_directory);
        let mut all: Vec<Preview> = ids.iter().filter_map(|id| self.one(id).ok()).collect();
        all.sort_by_key(|preview| std::cmp::Reverse(preview.began_ms));
        all
    }

    /// One of them.
    pub fn one(&self, id: &str) -> Result<Preview, PreviewError> {
        let (folder, record) = self.find(id)?;
        let status = self.status(&folder, &record);
        let (mut changed, mut conflicts) = (ChangedFiles::default(), Vec::new());
        if matches!(status, PreviewStatus::Ready | PreviewStatus::Running) {
            let found = list::look(&record).map_err(failed(id))?;
            changed = list::count(&record, &list::files(&found).map_err(failed(id))?);
            conflicts = list::conflicts(&found, folder.listed().as_ref());
        }
        Ok(Preview {
            id: id.to_owned(),
            command: record.command.to_text(),
            directory: record.directory,
            began_ms: record.began_ms,
            run: record.run,
            status,
            changed,
            conflicts,
        })
    }

    /// Every file that it would change, with where the two contents are.
    pub fn files(&self, id: &str) -> Result<Vec<PreviewedFile>, PreviewError> {
        let (folder, record) = self.find(id)?;
        match self.status(&folder, &record) {
            PreviewStatus::Committed => Err(PreviewError::Committed(id.to_owned())),
            PreviewStatus::HalfCommitted { .. } => Err(PreviewError::HalfCommitted(id.to_owned())),
            PreviewStatus::Running | PreviewStatus::Ready => {
                list::look(&record).and_then(|found| list::files(&found)).map_err(failed(id))
            }
        }
    }

    /// Makes it real, or goes on with that. `save` is given what the command changed in a named session, once the files are
    /// in place.
    pub fn commit(
        &self,
        id: &str,
        options: CommitOptions,
        save: &mut dyn FnMut(&PreviewedState) -> CommittedState,
    ) -> Result<Committed, PreviewError> {
        let (folder, record) = self.find(id)?;
        let _lock = folder.lock().map_err(|_| PreviewError::Busy(id.to_owned()))?;
        let logs = self.state_directory.join(changes::FOLDER);
        match self.status(&folder, &record) {
            PreviewStatus::Running => return Err(running(id, &record)),
            PreviewStatus::Committed => return Err(PreviewError::Committed(id.to_owned())),
            PreviewStatus::HalfCommitted { .. } if changes::is_undone(&logs, id) => {
                return Err(PreviewError::Undone(id.to_owned()));
            }
            PreviewStatus::HalfCommitted { .. } => {}
            PreviewStatus::Ready => {
                let found = list::look(&record).map_err(failed(id))?;
                let conflicts = list::conflicts(&found, folder.listed().as_ref());
                if !conflicts.is_empty() && !options.force {
                    return Err(PreviewError::Conflicts { id: id.to_owned(), conflicts });
                }
                let steps = commit::plan(&found).map_err(failed(id))?;
                folder.write_plan(&steps).map_err(failed(id))?;
            }
        }
        let interrupted = |error| PreviewError::Interrupted { id: id.to_owned(), error };
        let steps: Vec<commit::Step> =
            folder.plan().ok_or_else(|| interrupted(io::Error::other("its plan cannot be read")))?;
        let roots: Vec<PathBuf> = record.roots.iter().map(|root| root.path.clone()).collect();
        let keep = ChangeLogs::new(&self.state_directory).keep_plan(&roots);
        let command = format!("chiton preview commit {id}: {}", record.command.to_text());
        let about = serde_json::json!({ "command": command }).to_string();
        let mut recorder = Recorder::resume(keep, id, about.into_bytes()).map_err(interrupted)?;
        commit::carry_out(&folder, &steps, &record.roots, &mut recorder, options.stop_after).map_err(interrupted)?;

        let changed = changes::sum_up(&recorder, None).unwrap_or_default();
        let state = folder.state().map_or(CommittedState::Nothing, |state| save(&state));
        folder.write_committed(changed.undo.as_deref().unwrap_or_default()).map_err(interrupted)?;
        store::remove_written(&record).map_err(failed(id))?;
        Ok(Committed { id: id.to_owned(), changed, state })
    }

    /// Forgets it.
    pub fn drop(&self, id: &str) -> Result<(), PreviewError> {
        let (folder, record) = self.find(id)?;
        let _lock = folder.lock().map_err(|_| PreviewError::Busy(id.to_owned()))?;
        let is_undone = changes::is_undone(&self.state_directory.join(changes::FOLDER), id);
        match self.status(&folder, &record) {
            PreviewStatus::Running => Err(running(id, &record)),
            PreviewStatus::HalfCommitted { .. } if !is_undone => Err(PreviewError::HalfCommitted(id.to_owned())),
            _ => folder.remove().map_err(failed(id)),
        }
    }

    /// Whether it was committed; `None` where it is gone.
    pub(crate) fn is_committed(&self, id: &str) -> Option<bool> {
        PreviewFolder::find(&self.state_directory, id).map(|folder| folder.committed().is_some())
    }

    fn find(&self, id: &str) -> Result<(PreviewFolder, Record), PreviewError> {
        let folder = PreviewFolder::find(&self.state_directory, id);
        let folder = folder.ok_or_else(|| PreviewError::Unknown(id.to_owned()))?;
        let record = folder.record().map_err(failed(id))?;
        Ok((folder, record))
    }

    fn status(&self, folder: &PreviewFolder, record: &Record) -> PreviewStatus {
        if folder.committed().is_some() {
            PreviewStatus::Committed
        } else if let Some(steps) = folder.plan::<Vec<commit::Step>>() {
            PreviewStatus::HalfCommitted { done: commit::progress(folder), of: steps.len() }
        } else if store::is_running(&self.state_directory, folder, record) {
            PreviewStatus::Running
        } else {
            PreviewStatus::Ready
        }
    }
}

fn failed(id: &str) -> impl Fn(io::Error) -> PreviewError {
    move |error| PreviewError::Failed { id: id.to_owned(), error }
}

fn running(id: &str, record: &Record) -> PreviewError {
    PreviewError::Running(id.to_owned(), record.run.clone().unwrap_or_default())
}
