//! Named sessions written down, so that one process continues where another ended.
//!
//! Of variables only those are written that the session's commands set or removed: values that every process inherits
//! anyway (a token among them, perhaps) stay out of the file, and a fresh terminal brings its fresh values.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use crate::bytes::ByteString;
use crate::clock;
use crate::error::StoreError;
use crate::folder::make_own;
use crate::state::ShellState;
use crate::state::change::Change;
use crate::state::moving::LeftBehind;
use chiton_redact::Reference;

use super::steps::{self, Step, StepCause};
pub use super::value::{SessionChange, SessionValue};

/// A folder of named sessions.
#[derive(Clone, Debug)]
pub struct SessionStore {
    folder: PathBuf,
    /// When this was made: before any command that a session may begin with.
    opened: SystemTime,
}

/// A session as it is carried away: to another name, or another machine. Of secrets it has the names that
/// its commands used, not the values.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CarriedSession {
    /// What this is, for whoever finds the file.
    pub(super) chiton_session: u32,
    /// What it was called.
    pub name: String,
    pub(super) value: SessionValue,
    /// Secrets that its commands have named.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) secrets: BTreeSet<Reference>,
    /// What has stayed behind, where it moves to another machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) left_behind: Vec<LeftBehind>,
    /// The home directory where it was, where it moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) home: Option<ByteString>,
}

impl CarriedSession {
    /// What it was.
    pub fn value(&self) -> &SessionValue {
        &self.value
    }

    /// What has stayed behind, and what went along and may mean nothing here.
    pub fn left_behind(&self) -> &[LeftBehind] {
        &self.left_behind
    }
}

/// A session in a list.
#[derive(Clone, Debug)]
pub struct ListedSession {
    /// What it is called.
    pub name: String,
    /// When it began.
    pub began: SystemTime,
    /// When something of it changed last.
    pub changed: SystemTime,
    /// What it is.
    pub value: SessionValue,
}

/// The file of one session.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct StoredSession {
    version: u32,
    /// When it began, in seconds since 1970; 0 where nobody wrote that down.
    #[serde(default)]
    began: u64,
    /// What the session's commands set: of variables only those, of everything else all there is.
    pub(super) state: ShellState,
    /// Variables that its commands removed, without their values.
    pub(super) removed: BTreeSet<String>,
    /// Secrets that its commands have named: their tokens, never their values.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) secrets: BTreeSet<Reference>,
}

const VERSION: u32 = 1;

impl SessionStore {
    /// The store in `folder`, which is made when the first session is saved.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), opened: SystemTime::now() }
    }

    /// The session `name` as it was left, or `base` where there is none yet.
    pub fn load(&self, name: &str, base: &ShellState) -> Result<ShellState, StoreError> {
        Ok(match self.read(name)? {
            Some(written) => written.onto(base),
            None => base.clone(),
        })
    }

    /// When the session `name` began; one that there is not yet is written down from `start`.
    pub fn begin(&self, name: &str, start: &ShellState) -> Result<SystemTime, StoreError> {
        let began = if let Some(written) = self.read(name)? {
            written.began
        } else {
            self.change(name, start, |_| {})?;
            seconds(self.opened)
        };
        Ok(SystemTime::UNIX_EPOCH + Duration::from_secs(began))
    }

    /// The secrets that the commands of the session `name` have named.
    pub fn secrets(&self, name: &str) -> Result<BTreeSet<Reference>, StoreError> {
        Ok(self.read(name)?.map(|written| written.secrets).unwrap_or_default())
    }

    /// Notes that commands of the session `name` have named these secrets.
    pub fn note_secrets(&self, name: &str, from: &ShellState, used: &BTreeSet<Reference>) -> Result<(), StoreError> {
        if used.is_subset(&self.secrets(name)?) {
            return Ok(());
        }
        self.change(name, from, |written| written.secrets.extend(used.iter().cloned()))
    }

    /// What is written down of the session `name`, as one word that changes with that; `None` where there is nothing.
    pub fn mark(&self, name: &str) -> Option<String> {
        let written = self.read(name).ok()??;
        let removed = written.removed.into_iter().map(|name| (name, ByteString::default()));
        let state = written.state.content_hash();
        let removed = ShellState::fresh("/", removed, 0).content_hash();
        Some(format!("{state}{removed}"))
    }

    /// The names of all sessions, in their order.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".json")?.to_owned()));
        let mut names: Vec<String> = names.filter(|name| self.path(name).is_ok()).collect();
        names.sort();
        names
    }

    /// The session `name`, for a list; `None` where there is none.
    pub fn listed(&self, name: &str) -> Result<Option<ListedSession>, StoreError> {
        let path = self.path(name)?;
        let Some(written) = self.read(name)? else { return Ok(None) };
        let changed = fs::metadata(path).and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        let began = SystemTime::UNIX_EPOCH + Duration::from_secs(written.began);
        Ok(Some(ListedSession { name: name.to_owned(), began, changed, value: written.value() }))
    }

    /// What its commands changed, the oldest first, as far as that is kept.
    pub fn steps(&self, name: &str) -> Result<Vec<Step>, StoreError> {
        Ok(steps::read(&self.steps_path(name)?))
    }

    fn steps_path(&self, name: &str) -> Result<PathBuf, StoreError> {
        Ok(self.path(name)?.with_file_name(format!("{name}.steps")))
    }

    /// Notes what a command changed, where it changed something. Where that fails, nobody can step back over it.
    pub fn note_step(&self, cause: StepCause<'_>, change: &SessionChange) {
        if change.is_empty() {
            return;
        }
        if let (Ok(path), Ok(_lock)) = (self.steps_path(&change.session), self.lock(&change.session)) {
            let _ = steps::append(&path, clock::now_ms(), cause, change);
        }
    }

    /// Takes back the newest step that nobody has taken back. What others have changed since stays, unless it is the same
    /// thing. `None` where there is none.
    pub fn step_back(&self, name: &str) -> Result<Option<Step>, StoreError> {
        let newest = |steps: &[Step]| steps.iter().rposition(|step| !step.undone);
        self.step(name, newest, true)
    }

    /// Does again what was taken back last, unless a command has changed the session since.
    pub fn step_forward(&self, name: &str) -> Result<Option<Step>, StoreError> {
        let first_of_the_last = |steps: &[Step]| {
            let place = steps.iter().rposition(|step| !step.undone).map_or(0, |place| place + 1);
            (place < steps.len()).then_some(place)
        };
        self.step(name, first_of_the_last, false)
    }

    fn step(
        &self,
        name: &str,
        which: impl FnOnce(&[Step]) -> Option<usize>,
        back: bool,
    ) -> Result<Option<Step>, StoreError> {
        let path = self.steps_path(name)?;
        let steps = steps::read(&path);
        let Some(mut step) = which(&steps).map(|place| steps[place].clone()) else { return Ok(None) };
        let change = if back { step.change.clone() } else { step.change.reversed() };
        if self.take_back(&change)?.is_none() {
            return Ok(None);
        }
        step.undone = back;
        let unwritable = |error| StoreError::Unwritable { path: path.clone(), error };
        let _lock = self.lock(name).map_err(unwritable)?;
        // A command may have added one meanwhile.
        let mut steps = steps::read(&path);
        for kept in steps.iter_mut().filter(|kept| kept.number == step.number) {
            kept.undone = back;
        }
        steps::write(&path, &steps).map_err(unwritable)?;
        Ok(Some(step))
    }

    /// Makes the session `to` what the session `from` is. Its steps are its own from then on.
    ///
    /// # Errors
    /// When there is a session `to`, or none `from`.
    pub fn fork(&self, from: &str, to: &str) -> Result<(), StoreError> {
        let written = self.read(from)?.ok_or_else(|| StoreError::Missing(from.to_owned()))?;
        self.put_new(to, written)
    }

    /// Begins the session `name` as one that began as `from` and is `to` by now.
    ///
    /// # Errors
    /// When there is a session of that name.
    pub fn begin_as(&self, name: &str, from: &ShellState, to: &ShellState) -> Result<(), StoreError> {
        let mut session = StoredSession::new(from, self.opened);
        session.note(from, to);
        self.put_new(name, session)
    }

    /// The session `name`, to be carried away.
    pub fn carry(&self, name: &str) -> Result<CarriedSession, StoreError> {
        let written = self.read(name)?.ok_or_else(|| StoreError::Missing(name.to_owned()))?;
        let (value, secrets) = (written.value(), written.secrets);
        let name = name.to_owned();
        Ok(CarriedSession { chiton_session: VERSION, name, value, secrets, left_behind: Vec::new(), home: None })
    }

    /// Makes a session of one that was carried here.
    ///
    /// # Errors
    /// When there is one of that name, or what was carried is not of a version that this program reads.
    pub fn take_in(&self, name: &str, carried: CarriedSession) -> Result<(), StoreError> {
        let CarriedSession { chiton_session: version, value, secrets, .. } = carried;
        check_version(&self.path(name)?, version)?;
        let began = seconds(self.opened);
        let SessionValue { state, removed } = value;
        self.put_new(name, StoredSession { version, began, state, removed, secrets })
    }

    fn put_new(&self, name: &str, session: StoredSession) -> Result<(), StoreError> {
        if self.read(name)?.is_some() {
            return Err(StoreError::Taken(name.to_owned()));
        }
        let from = session.state.clone();
        self.change(name, &from, |written| *written = session)
    }

    /// Forgets the session `name` and its steps. False where there is none.
    pub fn remove(&self, name: &str) -> Result<bool, StoreError> {
        let path = self.path(name)?;
        let unwritable = |error| StoreError::Unwritable { path: path.clone(), error };
        if !path.exists() {
            return Ok(false);
        }
        let _lock = self.lock(name).map_err(unwritable)?;
        for gone in [self.steps_path(name)?, self.home_path(name)?, path.clone()] {
            match fs::remove_file(gone) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unwritable(error)),
                _ => {}
            }
        }
        Ok(true)
    }

    /// Saves what a command changed in the session `name`: added to what is written there by now, so that two processes
    /// that use one session at the same time keep each other's changes.
    pub fn save(&self, name: &str, from: &ShellState, to: &ShellState) -> Result<(), StoreError> {
        self.change(name, from, |written| written.note(from, to))
    }

    /// The same, and gives what that came to, for whoever wants to take it back later.
    pub fn save_change(&self, name: &str, from: &ShellState, to: &ShellState) -> Result<SessionChange, StoreError> {
        self.change(name, from, |written| {
            let before = written.value();
            written.note(from, to);
            SessionChange { session: name.to_owned(), before, after: written.value() }
        })
    }

    /// Takes back what a command changed in its session. What others have changed since stays, unless it is the same thing.
    /// Gives what that came to; `None` where there is no such session any more.
    pub fn take_back(&self, change: &SessionChange) -> Result<Option<SessionChange>, StoreError> {
        let name = &change.session;
        if self.read(name)?.is_none() {
            return Ok(None);
        }
        let SessionChange { before, after, .. } = change;
        let done = self.change(name, &before.state, |written| {
            let now = written.value();
            written.state = Change::between(&after.state, before.state.clone()).apply(&written.state);
            written.removed.retain(|name| before.removed.contains(name) || !after.removed.contains(name));
            written.removed.extend(before.removed.difference(&after.removed).cloned());
            SessionChange { session: name.clone(), before: now, after: written.value() }
        })?;
        Ok(Some(done))
    }

    /// What the session `name` is now; `None` where there is none.
    pub fn value(&self, name: &str) -> Result<Option<SessionValue>, StoreError> {
        Ok(self.read(name)?.map(|written| written.value()))
    }

    /// Makes the session `name` what it was. Which secrets it has named since stays: they are masked.
    pub fn put_back(&self, name: &str, value: &SessionValue) -> Result<SessionChange, StoreError> {
        self.change(name, &value.state, |written| {
            let before = written.value();
            (written.state, written.removed) = (value.state.clone(), value.removed.clone());
            SessionChange { session: name.to_owned(), before, after: value.clone() }
        })
    }

    /// Begins the session `name` afresh from `start`. When it first began and which secrets it has named stays: what its
    /// commands have written since then is theirs, and is masked.
    pub fn reset(&self, name: &str, start: &ShellState) -> Result<(), StoreError> {
        self.change(name, start, |written| {
            let fresh = StoredSession::new(start, self.opened);
            (written.state, written.removed) = (fresh.state, fresh.removed);
        })
    }

    pub(super) fn change<Made>(
        &self,
        name: &str,
        from: &ShellState,
        act: impl FnOnce(&mut StoredSession) -> Made,
    ) -> Result<Made, StoreError> {
        let path = self.path(name)?;
        let unwritable = |error| StoreError::Unwritable { path: path.clone(), error };
        make_own(&self.folder).map_err(unwritable)?;
        let _lock = self.lock(name).map_err(unwritable)?;
        let mut written = self.read(name)?.unwrap_or_else(|| StoredSession::new(from, self.opened));
        let made = act(&mut written);
        let text = serde_json::to_vec_pretty(&written).map_err(|error| unwritable(error.into()))?;
        write_in_place(&path, &text).map_err(unwritable)?;
        Ok(made)
    }

    pub(super) fn read(&self, name: &str) -> Result<Option<StoredSession>, StoreError> {
        let path = self.path(name)?;
        if fs::symlink_metadata(&self.folder).is_ok_and(|data| data.is_symlink()) {
            let error =
                io::Error::other(format!("{} is a symbolic link, which is not followed", self.folder.display()));
            return Err(StoreError::Unreadable { path, error });
        }
        match read_own(&path) {
            Ok(text) => parse(&path, &text).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::Unreadable { path, error }),
        }
    }

    pub(super) fn lock(&self, name: &str) -> io::Result<File> {
        let path = self.folder.join(format!(".{name}.lock"));
        let file = fs::OpenOptions::new().create(true).write(true).truncate(false).mode(0o600).open(path)?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    }

    pub(super) fn path(&self, name: &str) -> Result<PathBuf, StoreError> {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        if name.is_empty() || name.len() > 64 || name.starts_with('.') || !name.bytes().all(good) {
            return Err(StoreError::BadName(name.to_owned()));
        }
        Ok(self.folder.join(format!("{name}.json")))
    }
}

pub(super) fn check_version(path: &Path, version: u32) -> Result<(), StoreError> {
    let reason = || format!("it is of version {version}, this program reads {VERSION}");
    if version == VERSION { Ok(()) } else { Err(StoreError::Damaged { path: path.to_owned(), reason: reason() }) }
}

/// The content of a file that is not a symbolic link.
pub(super) fn read_own(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?.read_to_end(&mut text)?;
    Ok(text)
}

impl StoredSession {
    /// A session that starts here; of its variables none is its own yet.
    fn new(start: &ShellState, began: SystemTime) -> Self {
        let state = ShellState { variables: BTreeMap::new(), ..start.clone() };
        Self { version: VERSION, began: seconds(began), state, removed: BTreeSet::new(), secrets: BTreeSet::new() }
    }

    pub(super) fn value(&self) -> SessionValue {
        SessionValue { state: self.state.clone(), removed: self.removed.clone() }
    }

    fn note(&mut self, from: &ShellState, to: &ShellState) {
        self.state = Change::between(from, to.clone()).apply(&self.state);
        self.removed.retain(|name| !to.variables.contains_key(name) || from.variables.contains_key(name));
        self.removed.extend(from.variables.keys().filter(|name| !to.variables.contains_key(*name)).cloned());
        self.removed.retain(|name| !self.state.variables.contains_key(name));
    }

    /// The state of a process with this environment that continues the session.
    fn onto(self, base: &ShellState) -> ShellState {
        let mut state = self.state;
        let own = std::mem::replace(&mut state.variables, base.variables.clone());
        state.variables.retain(|name, _| !self.removed.contains(name));
        state.variables.extend(own);
        state
    }
}

/// Whole seconds: a file that was written in the same one belongs to the session.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn parse(path: &Path, text: &[u8]) -> Result<StoredSession, StoreError> {
    let damaged = |reason: String| StoreError::Damaged { path: path.to_owned(), reason };
    let written: StoredSession = serde_json::from_slice(text).map_err(|error| damaged(error.to_string()))?;
    if written.version != VERSION {
        return Err(damaged(format!("it is of version {}, this program reads {VERSION}", written.version)));
    }
    Ok(written)
}

/// Old or new, never half: written beside, brought to disk, moved into place.
pub(super) fn write_in_place(path: &Path, text: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file = fs::OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&beside)?;
    io::Write::write_all(&mut file, text)?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{Value, Variable};

    fn state(pairs: &[(&str, &str)]) -> ShellState {
        let environment = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).into()));
        ShellState::fresh("/", environment, 0o022)
    }

    #[test]
    fn only_what_the_session_changed_is_written_and_fresh_values_win() {
        let folder = tempfile::tempdir().unwrap();
        let store = SessionStore::new(folder.path());
        let base = state(&[("TOKEN", "very-secret"), ("GONE", "secret-too"), ("PATH", "/bin")]);
        let mut to = base.clone();
        to.variables.remove("GONE");
        to.variables.insert("MINE".to_owned(), Variable::exported(Value::Scalar("1".into())));
        store.save("s", &base, &to).unwrap();
        let text = fs::read_to_string(folder.path().join("s.json")).unwrap();
        assert!(!text.contains("secret"), "{text}");
        let tomorrow = state(&[("TOKEN", "renewed"), ("GONE", "1"), ("PATH", "/bin:/usr/bin")]);
        let loaded = store.load("s", &tomorrow).unwrap();
        assert_eq!(loaded, state(&[("TOKEN", "renewed"), ("PATH", "/bin:/usr/bin"), ("MINE", "1")]));
    }

    #[test]
    fn another_environment_makes_a_session_forget_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = SessionStore::new(folder.path());
        let run = |base: &ShellState, change: &dyn Fn(&mut ShellState)| {
            let from = store.load("s", base).unwrap();
            let mut to = from.clone();
            change(&mut to);
            store.save("s", &from, &to).unwrap();
            to
        };
        let set = |value: &'static str| {
            move |state: &mut ShellState| {
                state.variables.insert("FOO".to_owned(), Variable::exported(Value::Scalar(value.into())));
                state.variables.remove("GONE");
            }
        };
        run(&state(&[("FOO", "1"), ("GONE", "1")]), &set("2"));
        run(&state(&[("FOO", "2")]), &|_| {});
        let later = run(&state(&[("FOO", "1"), ("GONE", "1")]), &|_| {});
        assert_eq!(later, state(&[("FOO", "2")]));
    }

    #[test]
    fn a_session_that_begins_afresh_keeps_its_age_and_its_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let store = SessionStore::new(folder.path());
        let base = state(&[("PATH", "/bin")]);
        let mut to = state(&[("MINE", "1")]);
        to.cwd = "/usr".into();
        store.save("s", &base, &to).unwrap();
        let secrets = BTreeSet::from([Reference::secret("TOKEN").unwrap()]);
        store.note_secrets("s", &base, &secrets).unwrap();
        store.change("s", &base, |written| written.began = 5).unwrap();

        store.reset("s", &base).unwrap();
        assert_eq!(store.load("s", &base).unwrap(), base);
        assert_eq!(store.secrets("s").unwrap(), secrets);
        assert_eq!(store.begin("s", &base).unwrap(), SystemTime::UNIX_EPOCH + Duration::from_secs(5));
    }

    #[test]
    fn names_that_leave_the_folder_are_refused() {
        let store = SessionStore::new("/nowhere");
        for name in ["", ".", "..", "../x", "a/b", ".hidden", "a b", &"x".repeat(65)] {
            assert!(matches!(store.load(name, &state(&[])), Err(StoreError::BadName(_))), "{name}");
        }
    }

    #[test]
    fn a_damaged_file_is_named_and_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let store = SessionStore::new(folder.path());
        let good = state(&[("A", "1")]);
        store.save("s", &state(&[]), &good).unwrap();
        let path = folder.path().join("s.json");
        let text = fs::read(&path).unwrap();
        for length in 0..text.len() - 1 {
            fs::write(&path, &text[..length]).unwrap();
            let error = store.load("s", &state(&[])).unwrap_err().to_string();
            assert!(error.contains("s.json"), "{error}");
            assert!(store.save("s", &state(&[]), &good).is_err());
        }
    }
}
