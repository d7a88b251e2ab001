//! What commands do to files: written down before it happens, told in the reply, and undone on request.
//!
//! 1. The keeper of a command is asked about every call that changes a file (`keeper/boundary.rs`), and has a [`Recorder`]
//!    write down what is there before it lets the call go on.
//! 2. [`list`] says what came of it; [`put_back`] undoes it, with a log of its own.
//! 3. [`store`] is where all of that is.
//!
//! What is not covered: what lies outside of the workspace, what went over the network, what a process keeps in memory.

mod list;
mod origins;
mod put_back;
mod record;
mod recorder;
mod store;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::folder::RunFolder;
use crate::run::ChangedFiles;
pub use list::{FileChange, FormerContent};
pub(crate) use record::{attributes, set_attributes};
pub use recorder::KeepLimits;
pub(crate) use recorder::{Coming, KeepPlan, Recorder, copy_content};
pub use store::KeptChanges;
pub(crate) use store::{FOLDER, beside, sweep};

/// Sums up what a command has done so far, and writes down what is there now. `about` is what was asked.
pub(crate) fn sum_up(recorder: &Recorder, about: Option<&[u8]>) -> Option<ChangedFiles> {
    if !recorder.has_begun() {
        return None;
    }
    let folder = recorder.folder();
    if let Some(about) = about {
        let _ = store::write_whole(&store::about(folder), about);
    }
    let mut changed = list::sum_up(folder).ok()?;
    changed.not_kept = recorder.not_kept().to_vec();
    if changed.is_empty() {
        return None;
    }
    changed.undo = folder.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    Some(changed)
}

/// Whether somebody has undone what a log holds, or has begun to.
pub(crate) fn is_undone(store: &Path, id: &str) -> bool {
    let folder = store.join(id);
    store::undone(&folder).exists() || store::undoing(&folder).exists()
}

/// The logs of a state directory.
#[derive(Clone, Debug)]
pub struct ChangeLogs {
    store: PathBuf,
    /// The folder of all runs, which says what still goes on.
    runs: PathBuf,
}

/// The changes of one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangeLog {
    /// The id of the command, or of an undoing.
    pub id: String,
    /// When it made its first change, in milliseconds since 1970.
    pub began_ms: u64,
    /// The command, where it is known.
    pub command: Option<String>,
    /// What it changed, as it left it.
    pub changed: ChangedFiles,
    /// By what it was undone.
    pub undone: Option<String>,
}

/// Why something cannot be undone, or told.
#[derive(Debug, Error)]
pub enum ChangesError {
    /// There is no such log.
    #[error(
        "nothing is known of changes by '{0}': it changed nothing, ran without a sandbox that watches, or was too long ago; `chiton changes` lists what can be undone"
    )]
    Unknown(String),
    /// It has been undone.
    #[error("{id} was undone already, by {by}; `chiton undo {by}` undoes that")]
    Undone {
        /// Which one.
        id: String,
        /// By what.
        by: String,
    },
    /// It still runs.
    #[error("{0} still runs, and may change more; `chiton kill {0}` ends it")]
    Running(String),
    /// The log cannot be read, or something else went wrong.
    #[error("{id}: {error}")]
    Failed {
        /// Which one.
        id: String,
        /// Why.
        error: io::Error,
    },
}

/// How something is undone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UndoOptions {
    /// Only says what would be done.
    pub dry_run: bool,
    /// Puts back as well what others have changed since.
    pub force: bool,
    /// Stops in the middle, after so many steps: as if it had been killed.
    pub stop_after: Option<usize>,
}

/// What undoing came to, or would come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Undone {
    /// What was undone.
    pub id: String,
    /// The id by which this can be undone; `None` where nothing was done.
    pub undo: Option<String>,
    /// What it puts back: what the command made is removed, and the other way round.
    pub changed: ChangedFiles,
    /// What was left alone, because others have changed it since.
    pub left_alone: Vec<Untouched>,
    /// What could not be put back.
    pub failed: Vec<Untouched>,
}

/// A file that is not put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Untouched {
    /// Which one.
    pub path: String,
    /// Why.
    pub why: String,
}

/// What is written down about a command that changes files.
#[derive(Deserialize)]
struct About {
    command: Option<String>,
}

impl ChangeLogs {
    /// Those of a state directory.
    pub fn new(state_directory: &Path) -> Self {
        Self { store: state_directory.join(FOLDER), runs: state_directory.join("runs") }
    }

    fn folder(&self, id: &str) -> Result<PathBuf, ChangesError> {
        let is_name = id.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
        let folder = self.store.join(id);
        let is_there = is_name && !id.is_empty() && store::log(&folder).exists();
        is_there.then_some(folder).ok_or_else(|| ChangesError::Unknown(id.to_owned()))
    }

    /// All of them, the newest first.
    pub fn all(&self) -> Vec<ChangeLog> {
        let folders = fs::read_dir(&self.store).into_iter().flatten().flatten();
        let mut logs: Vec<ChangeLog> = folders.filter_map(|entry| self.one(entry.file_name().to_str()?).ok()).collect();
        logs.sort_by(|one, other| (other.began_ms, &other.id).cmp(&(one.began_ms, &one.id)));
        logs
    }

    /// One of them.
    pub fn one(&self, id: &str) -> Result<ChangeLog, ChangesError> {
        let folder = self.folder(id)?;
        let failed = |error| ChangesError::Failed { id: id.to_owned(), error };
        let (header, _) = record::LogReader::open(&store::log(&folder)).map_err(failed)?;
        let about = fs::read(store::about(&folder)).ok();
        let about = about.and_then(|bytes| serde_json::from_slice::<About>(&bytes).ok());
        let undone = undone_by(&folder);
        let (roots, changes) = as_left(&folder).map_err(failed)?;
        let mut changed = list::count(&roots, &changes);
        changed.undo = undone.is_none().then(|| id.to_owned());
        Ok(ChangeLog {
            id: id.to_owned(),
            began_ms: header.began_ms,
            command: about.and_then(|about| about.command),
            changed,
            undone,
        })
    }

    /// Every file that a command changed, with where its former content is.
    pub fn files(&self, id: &str) -> Result<(Vec<PathBuf>, Vec<FileChange>), ChangesError> {
        as_left(&self.folder(id)?).map_err(|error| ChangesError::Failed { id: id.to_owned(), error })
    }

    /// Undoes what a command did, or says what that would come to.
    pub fn undo(&self, id: &str, options: UndoOptions) -> Result<Undone, ChangesError> {
        let folder = self.folder(id)?;
        if let Some(by) = undone_by(&folder) {
            return Err(ChangesError::Undone { id: id.to_owned(), by });
        }
        if RunFolder::at(&self.runs.join(id)).is_ok_and(|run| run.is_held()) {
            return Err(ChangesError::Running(id.to_owned()));
        }
        self.undo_in(&folder, id, options).map_err(|error| ChangesError::Failed { id: id.to_owned(), error })
    }

    fn undo_in(&self, folder: &Path, id: &str, options: UndoOptions) -> io::Result<Undone> {
        let plan = put_back::plan(folder, options.force)?;
        let (roots, changes) = as_left(folder)?;
        let left_alone = |path: &Path| plan.conflicts.keys().any(|conflict| path.starts_with(conflict));
        let taken_back: Vec<FileChange> =
            changes.into_iter().filter(|change| !left_alone(&change.path)).map(FileChange::reversed).collect();
        let untouched =
            |(path, why): (&PathBuf, &String)| Untouched { path: list::name(&roots, path, false), why: why.clone() };
        let mut undone = Undone {
            id: id.to_owned(),
            undo: None,
            changed: list::count(&roots, &taken_back),
            left_alone: plan.conflicts.iter().map(untouched).collect(),
            failed: Vec::new(),
        };
        if options.dry_run {
            return Ok(undone);
        }

        // Whoever is killed meanwhile is continued under the same id.
        let undo_id = match fs::read_to_string(store::undoing(folder)) {
            Ok(id) => id,
            Err(_) => {
                let id = new_id()?;
                store::write_whole(&store::undoing(folder), id.as_bytes())?;
                id
            }
        };
        let keep = KeepPlan { roots: roots.clone(), store: self.store.clone(), limits: KeepLimits::default() };
        let mut recorder = Recorder::resume(keep, &undo_id)?;
        let result = plan.put_back(&mut recorder, options.stop_after)?;
        let about = serde_json::json!({ "command": format!("chiton undo {id}") });
        let begun = sum_up(&recorder, Some(about.to_string().as_bytes()));
        undone.undo = begun.is_some().then(|| undo_id.clone());
        undone.failed = result.failed.iter().map(|(path, why)| untouched((path, why))).collect();
        if undone.left_alone.is_empty() && undone.failed.is_empty() {
            store::write_whole(&store::undone(folder), undo_id.as_bytes())?;
            fs::remove_dir_all(store::kept_folder(folder))?;
        } else {
            // It can be tried again, with --force for one.
            fs::remove_file(store::progress(folder))?;
            let _ = fs::remove_file(store::undoing(folder));
        }
        Ok(undone)
    }

    /// Those that began with or after this one and were not undone, the newest first.
    pub fn since(&self, id: &str) -> Result<Vec<String>, ChangesError> {
        let first = self.one(id)?;
        let all = self.all().into_iter();
        let later = all.filter(|log| log.undone.is_none() && (log.began_ms > first.began_ms || log.id == id));
        Ok(later.map(|log| log.id).collect())
    }
}

/// The files that a command changed, as it left them.
fn as_left(folder: &Path) -> io::Result<(Vec<PathBuf>, Vec<FileChange>)> {
    let changes = list::Changes::read(folder)?;
    let after = list::read_after(folder).unwrap_or_else(|| changes.now());
    let compared = changes.compare(folder, &after);
    Ok((changes.roots, compared))
}

fn undone_by(folder: &Path) -> Option<String> {
    fs::read_to_string(store::undone(folder)).ok()
}

fn new_id() -> io::Result<String> {
    let mut random = [0; 4];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    Ok(format!("undo_{:08x}", u32::from_ne_bytes(random)))
}

/// How long ago something was.
pub fn age(began_ms: u64) -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(Duration::from_millis(began_ms))
}
