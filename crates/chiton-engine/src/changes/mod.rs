//! What commands do to files: written down before it happens, told in the reply, and undone on request.
//!
//! 1. The keeper of a command is asked about every call that changes a file (`keeper/boundary.rs`), and has a [`Recorder`]
//!    write down what is there before it lets the call go on.
//! 2. [`list`] says what came of it; [`put_back`] undoes it, with a log of its own, and leaves alone what others have
//!    changed since ([`conflicts`]).
//! 3. [`store`] is where all of that is.
//!
//! What is not covered: what lies outside of the workspace, what went over the network, what a process keeps in memory.

mod clean;
mod conflicts;
mod files;
mod in_flight;
mod list;
mod origins;
mod put_back;
mod record;
mod recorder;
mod renumbered;
mod store;
mod whole;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::bytes::ByteString;
use crate::clock;
use crate::folder::RunFolder;
use crate::run::{ChangedFiles, FirstNames, NotKept};
pub use crate::sandbox::KeepLimits;
use crate::sandbox::keeping::KeepPlan;
pub use clean::{CleanLogs, SweptLogs};
use conflicts::Conflicts;
pub(crate) use files::copy_content;
pub use list::{FileChange, FormerContent};
pub(crate) use record::{attributes, set_attributes};
pub(crate) use recorder::{Coming, Recorder};
pub(crate) use store::{FOLDER, beside, swept_ms, tidy};

/// Sums up what a command has done so far, and writes down what is there now. `about` is what was asked.
pub(crate) fn sum_up(recorder: &Recorder, about: Option<&[u8]>) -> Option<ChangedFiles> {
    if !recorder.has_begun() {
        return None;
    }
    let folder = recorder.folder();
    if let Some(about) = about {
        let _ = store::write_whole(&store::about(folder), about);
    }
    let mut changed = ChangedFiles::default();
    if let Ok((counted, files)) = list::sum_up(folder) {
        changed = counted;
        changed.not_kept = files.lost(recorder.not_kept());
        changed.undo = folder.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    }
    if let Some((path, why)) = recorder.failed() {
        let path = list::name(recorder.roots(), path, false);
        changed.not_kept.push(NotKept { path, why: format!("{why}; nothing that came after it can be undone") });
    }
    (!changed.is_empty()).then_some(changed)
}

/// Whether somebody has undone what a log holds, or has begun to.
pub(crate) fn is_undone(store: &Path, id: &str) -> bool {
    let folder = store.join(id);
    store::undone(&folder).exists() || store::undoing(&folder).exists()
}
/// A beginning of the number of an id with fewer digits than this is too likely to be something else.
const FEWEST_DIGITS: usize = 4;

/// The logs of a state directory.
#[derive(Clone, Debug)]
pub struct ChangeLogs {
    store: PathBuf,
    /// The folder of all runs, which says what still goes on.
    runs: PathBuf,
    state_directory: PathBuf,
}

/// The changes of one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangeLog {
    /// The id of the command, or of an undoing.
    pub id: String,
    /// When it made its first change, in milliseconds since 1970.
    pub began_ms: u64,
    /// When it made its last one.
    pub last_ms: u64,
    /// The folders that counted as its workspace.
    #[serde(skip)]
    pub roots: Vec<PathBuf>,
    /// Whether it still runs, and may change more.
    pub is_running: bool,
    /// The command, where it is known.
    pub command: Option<String>,
    /// The session that it ran in, where it is known.
    pub session: Option<String>,
    /// What it changed, as it left it.
    pub changed: ChangedFiles,
    /// By what it was undone.
    pub undone: Option<String>,
    /// By what it is being undone, where that was interrupted.
    pub undoing: Option<String>,
    /// What it undoes, where it is an undoing.
    pub undoes: Option<String>,
}

/// Why something cannot be undone, or told.
#[derive(Debug, Error)]
pub enum ChangesError {
    /// There is no such log.
    #[error(
        "nothing is known of changes by '{0}': it changed no file of a workspace, ran without a sandbox that watches, or \
         was too long ago; `chiton changes` lists what can be undone"
    )]
    Unknown(String),
    /// It has been undone.
    #[error("{id} was undone already, by {by}; `chiton undo {by}` takes that back")]
    Undone {
        /// Which one.
        id: String,
        /// By what.
        by: String,
    },
    /// It was undone, and that was taken back.
    #[error("the undoing of {id} was taken back by {by}; `chiton undo {by}` undoes it once more")]
    TakenBack {
        /// Which one.
        id: String,
        /// By what.
        by: String,
    },
    /// It still runs.
    #[error("{0} still runs, and may change more; `chiton kill {0}` ends it")]
    Running(String),
    /// Somebody else is at it.
    #[error("{0} is being undone by another process just now")]
    Busy(String),
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
    /// How many steps it takes.
    #[serde(skip)]
    pub steps: usize,
}

/// A file that is not put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Untouched {
    /// Which one.
    pub path: String,
    /// Why.
    pub why: String,
}

impl Undone {
    /// What it comes to, in a few words for people: what is removed, put back and brought back.
    pub fn in_words(&self) -> String {
        let kinds = [
            ("removed", self.changed.removed, &self.changed.names.removed),
            ("put back", self.changed.changed, &self.changed.names.changed),
            ("brought back", self.changed.made, &self.changed.names.made),
        ];
        let said = kinds.into_iter().filter(|(_, count, _)| *count > 0).map(|(word, count, names)| {
            let more = if count > names.len() as u64 { ", …" } else { "" };
            format!("{word} {count} ({}{more})", FirstNames::shown(names))
        });
        let said: Vec<String> = said.collect();
        if said.is_empty() { "nothing".to_owned() } else { said.join(", ") }
    }
}

impl Untouched {
    /// Whether it is left alone because this command has changed it since. Whoever undoes both, that one first, need not
    /// care.
    pub fn is_because_of(&self, id: &str) -> bool {
        self.why.strip_prefix(id).is_some_and(|rest| rest.starts_with(conflicts::CHANGED_SINCE))
    }
}

/// What is written down about a command that changes files: of a run its request, which says more than this.
#[derive(Debug, Default, Serialize, Deserialize)]
struct About {
    command: Option<String>,
    #[serde(default)]
    session: Option<String>,
    /// What it undoes.
    #[serde(default)]
    undoes: Option<String>,
}

/// An undoing that has begun.
#[derive(Debug, Serialize, Deserialize)]
struct Undoing {
    id: String,
    left_alone: Vec<(ByteString, String)>,
}

impl ChangeLogs {
    /// Those of a state directory.
    pub fn new(state_directory: &Path) -> Self {
        Self {
            store: state_directory.join(FOLDER),
            runs: state_directory.join("runs"),
            state_directory: state_directory.to_owned(),
        }
    }

    fn folder(&self, id: &str) -> Result<PathBuf, ChangesError> {
        let is_name = id.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
        let folder = self.store.join(id);
        let is_there = is_name && !id.is_empty() && store::log(&folder).exists();
        is_there.then_some(folder).ok_or_else(|| ChangesError::Unknown(id.to_owned()))
    }

    fn is_running(&self, id: &str) -> bool {
        RunFolder::at(&self.runs.join(id)).is_ok_and(|run| run.is_held())
    }

    /// The id that is meant by this beginning of one, where no other begins so. What is in front of its number may be left
    /// out, where enough of that is given: `c` is more likely to be the name of a file.
    pub fn find(&self, beginning: &str) -> Option<String> {
        if self.folder(beginning).is_ok() {
            return Some(beginning.to_owned());
        }
        let is_long_enough = match beginning.split_once('_') {
            Some((_, number)) => !number.is_empty(),
            None => beginning.len() >= FEWEST_DIGITS,
        };
        let number = |id: &str| id.split_once('_').map(|(_, number)| number.to_owned());
        let is_meant =
            |id: &String| id.starts_with(beginning) || number(id).is_some_and(|it| it.starts_with(beginning));
        let mut matching = self.ids().filter(is_meant).filter(|id| self.folder(id).is_ok());
        let found = matching.next().filter(|_| is_long_enough)?;
        matching.next().is_none().then_some(found)
    }

    /// Keeps with a log what else its command has changed: that of its session, in whichever form.
    pub fn keep_state(&self, id: &str, state: &[u8]) -> Result<(), ChangesError> {
        let failed = |error| ChangesError::Failed { id: id.to_owned(), error };
        store::write_whole(&store::state(&self.folder(id)?), state).map_err(failed)
    }

    /// What was kept so.
    pub fn state(&self, id: &str) -> Option<Vec<u8>> {
        fs::read(store::state(&self.folder(id).ok()?)).ok()
    }

    fn ids(&self) -> impl Iterator<Item = String> {
        let folders = fs::read_dir(&self.store).into_iter().flatten().flatten();
        folders.filter_map(|entry| entry.file_name().into_string().ok())
    }

    /// All of them, the newest first.
    pub fn all(&self) -> Vec<ChangeLog> {
        let mut logs: Vec<ChangeLog> = self.ids().filter_map(|id| self.one(&id).ok()).collect();
        logs.sort_by(|one, other| (other.began_ms, &other.id).cmp(&(one.began_ms, &one.id)));
        logs
    }

    /// One of them.
    pub fn one(&self, id: &str) -> Result<ChangeLog, ChangesError> {
        let folder = self.folder(id)?;
        let failed = |error| ChangesError::Failed { id: id.to_owned(), error };
        let (header, _) = record::LogReader::open(&store::log(&folder)).map_err(failed)?;
        let about = about(&folder);
        let undone = undone_by(&folder);
        let (roots, changes) = as_left(&folder).map_err(failed)?;
        let mut changed = list::count(&roots, &changes);
        changed.undo = undone.is_none().then(|| id.to_owned());
        Ok(ChangeLog {
            id: id.to_owned(),
            began_ms: header.began_ms,
            last_ms: store::last_written_ms(&folder),
            roots,
            is_running: self.is_running(id),
            command: about.command,
            session: about.session,
            changed,
            undone,
            undoing: undoing(&folder).map(|undoing| undoing.id),
            undoes: about.undoes,
        })
    }

    /// Every file that a command changed, with where its former content is, and the folders that count as the workspace.
    pub fn files(&self, id: &str) -> Result<(Vec<PathBuf>, Vec<FileChange>), ChangesError> {
        as_left(&self.folder(id)?).map_err(|error| ChangesError::Failed { id: id.to_owned(), error })
    }

    /// Undoes what a command did, or says what that would come to.
    pub fn undo(&self, id: &str, options: UndoOptions) -> Result<Undone, ChangesError> {
        let folder = self.folder(id)?;
        let failed = |error| ChangesError::Failed { id: id.to_owned(), error };
        if let Some(by) = undone_by(&folder) {
            return Err(self.undone_already(id, by));
        }
        if RunFolder::at(&self.runs.join(id)).is_ok_and(|run| goes_on(&run)) {
            return Err(ChangesError::Running(id.to_owned()));
        }
        let _alone = store::lock(&folder).map_err(failed)?.ok_or_else(|| ChangesError::Busy(id.to_owned()))?;
        self.undo_in(&folder, id, options).map_err(failed)
    }

    /// Why something cannot be undone that was: it is so still, or not any more.
    fn undone_already(&self, id: &str, by: String) -> ChangesError {
        let (mut last, mut is_undone) = (by, true);
        while let Some(next) = self.folder(&last).ok().and_then(|folder| undone_by(&folder)) {
            (last, is_undone) = (next, !is_undone);
        }
        let (id, by) = (id.to_owned(), last);
        if is_undone { ChangesError::Undone { id, by } } else { ChangesError::TakenBack { id, by } }
    }

    fn undo_in(&self, folder: &Path, id: &str, options: UndoOptions) -> io::Result<Undone> {
        let begun = undoing(folder);
        let plan = put_back::plan(folder, |steps| match &begun {
            // Once it has begun, what is there is half of what it will be.
            Some(begun) => Ok(Conflicts::from_list(&begun.left_alone)),
            None if options.force => Ok(Conflicts::default()),
            None => Conflicts::find(folder, steps, &self.changed_by_others(folder, id)?),
        })?;
        let (roots, changes) = as_left(folder)?;
        let taken_back = changes.into_iter().filter(|change| !plan.conflicts.has(&change.path));
        let taken_back: Vec<FileChange> = taken_back.map(FileChange::reversed).collect();
        let untouched = |paths: &BTreeMap<PathBuf, String>| -> Vec<Untouched> {
            let one = |(path, why): (&PathBuf, &String)| Untouched {
                path: list::name(&roots, path, false),
                why: why.clone(),
            };
            paths.iter().map(one).collect()
        };
        let mut undone = Undone {
            id: id.to_owned(),
            undo: None,
            changed: list::count(&roots, &taken_back),
            left_alone: untouched(&plan.conflicts.0),
            failed: Vec::new(),
            steps: plan.steps(),
        };
        if options.dry_run {
            return Ok(undone);
        }

        let undo_id = match begun {
            Some(begun) => begun.id,
            None => begin_undoing(folder, &plan.conflicts)?,
        };
        let about = About { command: Some(format!("chiton undo {id}")), session: None, undoes: Some(id.to_owned()) };
        let mut recorder =
            Recorder::resume(self.keep_plan(&roots), &undo_id, serde_json::to_vec(&about).map_err(io::Error::other)?)?;
        let failed = plan.put_back(&mut recorder, options.stop_after)?;
        sum_up(&recorder, None);
        undone.undo = recorder.has_begun().then(|| undo_id.clone());
        undone.failed = untouched(&failed);
        self.conclude(folder, &undo_id, undone.left_alone.is_empty() && undone.failed.is_empty())?;
        Ok(undone)
    }

    /// Writes down what somebody changes who is no command; gives the id by which that can be undone as well.
    pub(crate) fn recorder(&self, roots: &[PathBuf], command: &str) -> io::Result<(String, Recorder)> {
        let id = new_id()?;
        let about = About { command: Some(command.to_owned()), session: None, undoes: None };
        let about = serde_json::to_vec(&about).map_err(io::Error::other)?;
        Ok((id.clone(), Recorder::resume(self.keep_plan(roots), &id, about)?))
    }

    /// Where what an undoing changes is kept.
    pub(crate) fn keep_plan(&self, roots: &[PathBuf]) -> KeepPlan {
        let kept = roots.first().and_then(|root| beside(root, &self.state_directory));
        KeepPlan {
            roots: roots.to_vec(),
            logs: self.store.clone(),
            kept: kept.unwrap_or_else(|| self.store.clone()),
            limits: KeepLimits::default(),
        }
    }

    /// Notes that something was undone, wholly or not.
    fn conclude(&self, folder: &Path, undo_id: &str, is_whole: bool) -> io::Result<()> {
        if is_whole {
            store::write_whole(&store::undone(folder), undo_id.as_bytes())?;
        }
        // Where something was left alone, it can be tried again, with `force` for one.
        forget_undoing(folder);
        if is_whole {
            store::remove_kept(folder)?;
        }
        // Whoever takes an undoing back that was interrupted need not go on with it.
        let undoes = about(folder).undoes.and_then(|id| self.folder(&id).ok());
        if let Some(original) = undoes.filter(|original| undone_by(original).is_none()) {
            forget_undoing(&original);
        }
        Ok(())
    }

    /// The paths that other commands have changed since this one began, and who.
    fn changed_by_others(&self, folder: &Path, id: &str) -> io::Result<BTreeMap<PathBuf, String>> {
        let (header, _) = record::LogReader::open(&store::log(folder))?;
        let mut found = BTreeMap::new();
        for other in self.ids().filter(|other| other != id) {
            let Ok(place) = self.folder(&other) else { continue };
            if self.is_of_no_effect(&place, &other, id) || store::last_change_ms(&place) < header.began_ms {
                continue;
            }
            let Ok(changes) = list::Changes::read(&place) else { continue };
            let after = list::read_after(&place).unwrap_or_else(|| changes.now());
            found.extend(changes.compare(&place, &after).into_iter().map(|change| (change.path, other.clone())));
        }
        Ok(found)
    }

    /// Whether a log does not count: what it says was undone, or it is that undoing, or one of the very command.
    fn is_of_no_effect(&self, place: &Path, other: &str, id: &str) -> bool {
        if undone_by(place).is_some() {
            return true;
        }
        let Some(undoes) = about(place).undoes else { return false };
        let is_done = || self.folder(&undoes).is_ok_and(|folder| undone_by(&folder).as_deref() == Some(other));
        undoes == id || is_done()
    }

    /// Those that began with or after this one and were not undone, the newest first.
    pub fn since(&self, id: &str) -> Result<Vec<String>, ChangesError> {
        let first = self.one(id)?;
        Ok(self.since_ms(first.began_ms))
    }

    /// Those that began then or later and were not undone, the newest first. What undoes one that is not among them is left
    /// out: the two come to nothing.
    pub fn since_ms(&self, began_ms: u64) -> Vec<String> {
        let all = self.all();
        let is_undone = |id: &String| all.iter().any(|log| log.id == *id && log.undone.is_some());
        let later = all.iter().filter(|log| log.undone.is_none() && log.began_ms >= began_ms);
        later.filter(|log| !log.undoes.as_ref().is_some_and(is_undone)).map(|log| log.id.clone()).collect()
    }
}

/// Whether anything of a run is left. Its answer comes a moment before its keeper is done with it.
fn goes_on(run: &RunFolder) -> bool {
    const MOMENT: Duration = Duration::from_secs(1);
    const STEP: Duration = Duration::from_millis(2);
    let since = Instant::now();
    while run.is_held() {
        if !run.has_ending() && since.elapsed() > 10 * STEP || since.elapsed() > MOMENT {
            return true;
        }
        std::thread::sleep(STEP);
    }
    false
}

/// The files that a command changed, as it left them.
fn as_left(folder: &Path) -> io::Result<(Vec<PathBuf>, Vec<FileChange>)> {
    let changes = list::Changes::read(folder)?;
    let after = list::read_after(folder).unwrap_or_else(|| changes.now());
    let compared = changes.compare(folder, &after);
    Ok((changes.roots, compared))
}

fn about(folder: &Path) -> About {
    let bytes = fs::read(store::about(folder)).ok();
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn undone_by(folder: &Path) -> Option<String> {
    fs::read_to_string(store::undone(folder)).ok()
}

fn undoing(folder: &Path) -> Option<Undoing> {
    postcard::from_bytes(&fs::read(store::undoing(folder)).ok()?).ok()
}

/// Writes down that something is being undone, and what is left alone meanwhile: whoever is killed is continued so.
fn begin_undoing(folder: &Path, conflicts: &Conflicts) -> io::Result<String> {
    let undoing = Undoing { id: new_id()?, left_alone: conflicts.to_list() };
    store::write_whole(&store::undoing(folder), &postcard::to_stdvec(&undoing).map_err(io::Error::other)?)?;
    Ok(undoing.id)
}

fn forget_undoing(folder: &Path) {
    // In this order: how far it has come says nothing about another one.
    let _ = fs::remove_file(store::progress(folder));
    let _ = fs::remove_file(store::undoing(folder));
}

fn new_id() -> io::Result<String> {
    let mut random = [0; 4];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    Ok(format!("undo_{:08x}", u32::from_ne_bytes(random)))
}

/// How long ago something was that is said in milliseconds since 1970.
pub fn age(began_ms: u64) -> Duration {
    Duration::from_millis(clock::now_ms().saturating_sub(began_ms))
}
