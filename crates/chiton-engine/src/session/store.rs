//! Named sessions written down, so that one process continues where another ended.
//!
//! What is written is the difference to the environment the process came with: values that every process inherits
//! anyway (a token among them, perhaps) stay out of the file, and a fresh terminal brings its fresh values.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use super::change::Change;
use super::state::{ShellState, Value, Variable};
use crate::error::StoreError;

/// A folder of named sessions.
#[derive(Clone, Debug)]
pub struct SessionStore {
    folder: PathBuf,
}

/// The file of one session.
#[derive(Serialize, Deserialize)]
struct Written {
    version: u32,
    /// The state that a process with nothing but its own environment would have had.
    base: ShellState,
    /// The state the session was in.
    state: ShellState,
}

const VERSION: u32 = 1;

impl SessionStore {
    /// The store in `folder`, which is made when the first session is saved.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The session `name` as it was left, or `base` where there is none yet.
    pub fn load(&self, name: &str, base: &ShellState) -> Result<ShellState, StoreError> {
        let path = self.path(name)?;
        match fs::read(&path) {
            Ok(text) => {
                let written = parse(&path, &text)?;
                Ok(written.change().apply(base))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(base.clone()),
            Err(error) => Err(StoreError::Unreadable { path, error }),
        }
    }

    /// Saves what a command changed in the session `name`: applied to what is written there by now, so that two
    /// processes that use one session at the same time keep each other's changes.
    pub fn save(&self, name: &str, base: &ShellState, from: &ShellState, to: &ShellState) -> Result<(), StoreError> {
        let path = self.path(name)?;
        let unwritable = |error| StoreError::Unwritable { path: path.clone(), error };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(unwritable)?;
        let _lock = self.lock(name).map_err(unwritable)?;
        let current = self.load(name, base)?;
        let state = Change::between(from, to.clone()).apply(&current);
        let written = Written { version: VERSION, base: only_removed(base, &state), state: only_changed(&state, base) };
        let text = serde_json::to_vec_pretty(&written).map_err(|error| unwritable(error.into()))?;
        write_in_place(&path, &text).map_err(unwritable)
    }

    fn lock(&self, name: &str) -> io::Result<File> {
        let path = self.folder.join(format!(".{name}.lock"));
        let file = fs::OpenOptions::new().create(true).write(true).truncate(false).mode(0o600).open(path)?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    }

    fn path(&self, name: &str) -> Result<PathBuf, StoreError> {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        if name.is_empty() || name.len() > 64 || name.starts_with('.') || !name.bytes().all(good) {
            return Err(StoreError::BadName(name.to_owned()));
        }
        Ok(self.folder.join(format!("{name}.json")))
    }
}

impl Written {
    fn change(self) -> Change {
        Change::between(&self.base, self.state)
    }
}

fn parse(path: &Path, text: &[u8]) -> Result<Written, StoreError> {
    let damaged = |reason: String| StoreError::Damaged { path: path.to_owned(), reason };
    let written: Written = serde_json::from_slice(text).map_err(|error| damaged(error.to_string()))?;
    if written.version != VERSION {
        return Err(damaged(format!("it is of version {}, this program reads {VERSION}", written.version)));
    }
    Ok(written)
}

/// `state` without the variables that every process with this environment has just the same.
fn only_changed(state: &ShellState, base: &ShellState) -> ShellState {
    let mut changed = state.clone();
    changed.variables.retain(|name, variable| base.variables.get(name) != Some(variable));
    changed
}

/// Of `base`, the names that the session removed, without their values. The directory is always the session's own.
fn only_removed(base: &ShellState, state: &ShellState) -> ShellState {
    let mut removed = ShellState { cwd: PathBuf::new(), variables: BTreeMap::new(), ..base.clone() };
    for name in base.variables.keys().filter(|name| !state.variables.contains_key(*name)) {
        removed.variables.insert(name.clone(), Variable { attributes: String::new(), value: Value::Unset });
    }
    removed
}

/// Old or new, never half: written beside, brought to disk, moved into place.
fn write_in_place(path: &Path, text: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file = fs::OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&beside)?;
    io::Write::write_all(&mut file, text)?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        store.save("s", &base, &base, &to).unwrap();
        let text = fs::read_to_string(folder.path().join("s.json")).unwrap();
        assert!(!text.contains("secret"), "{text}");
        let tomorrow = state(&[("TOKEN", "renewed"), ("GONE", "1"), ("PATH", "/bin:/usr/bin")]);
        let loaded = store.load("s", &tomorrow).unwrap();
        assert_eq!(loaded, state(&[("TOKEN", "renewed"), ("PATH", "/bin:/usr/bin"), ("MINE", "1")]));
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
        store.save("s", &state(&[]), &state(&[]), &good).unwrap();
        let path = folder.path().join("s.json");
        let text = fs::read(&path).unwrap();
        for length in 0..text.len() - 1 {
            fs::write(&path, &text[..length]).unwrap();
            let error = store.load("s", &state(&[])).unwrap_err().to_string();
            assert!(error.contains("s.json"), "{error}");
            assert!(store.save("s", &state(&[]), &state(&[]), &good).is_err());
        }
    }
}
