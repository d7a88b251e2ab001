//! Named sessions that live on another machine: they are carried there and back, and what is here of them is not used meanwhile.
//!
//! A session that lives elsewhere has a file `NAME.home` beside its own, with the name that the person has for that machine.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::store::{
    CarriedSession, SessionStore, SessionValue, StoredSession, check_version, read_own, write_in_place,
};
use crate::bytes::ByteString;
use crate::error::StoreError;
use crate::state::moving::{FoundDirectory, directory_there};

/// Where a session that has moved here goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedIn {
    /// The directory.
    pub directory: PathBuf,
    /// How that was found.
    pub found: FoundDirectory,
}

impl SessionStore {
    /// The session `name`, to be carried to another machine: without what belongs to this one, where `home` is the home
    /// directory.
    pub fn carry_to_move(&self, name: &str, home: &Path) -> Result<CarriedSession, StoreError> {
        let carried = self.carry(name)?;
        let (value, left_behind) = carried.value.without_machine(home);
        let home = Some(home.as_os_str().as_encoded_bytes().into());
        Ok(CarriedSession { value, left_behind, home, ..carried })
    }

    /// Makes a session of one that has moved here from another machine. It goes on in its directory as far as that is here, or
    /// in `start`; `home` is the home directory here. Where there is one of that name that had moved away, it has come back:
    /// what belongs to this machine is there again.
    ///
    /// # Errors
    /// As for [`SessionStore::take_in`].
    pub fn take_in_moved(
        &self,
        name: &str,
        mut carried: CarriedSession,
        home: &Path,
        start: &Path,
    ) -> Result<MovedIn, StoreError> {
        let old_home = carried.home.take().map(ByteString::into_path).unwrap_or_default();
        let state = &mut carried.value.state;
        let (directory, found) = directory_there(&state.cwd, &old_home, home, start);
        state.cwd.clone_from(&directory);
        state.real_cwd = directory.canonicalize().unwrap_or_default();
        let returned = if self.home(name)?.is_some() { self.read(name)? } else { None };
        match returned {
            None => self.take_in(name, carried)?,
            Some(before) => self.take_back_in(name, &before, carried)?,
        }
        self.clear_home(name)?;
        Ok(MovedIn { directory, found })
    }

    /// A session comes back: what of it was left behind when it went is taken up again.
    fn take_back_in(&self, name: &str, before: &StoredSession, carried: CarriedSession) -> Result<(), StoreError> {
        check_version(&self.path(name)?, carried.chiton_session)?;
        let SessionValue { mut state, removed } = carried.value;
        let (went, _) = before.value().without_machine(Path::new("/"));
        let stayed = before.state.variables.iter().filter(|(name, _)| !went.state.variables.contains_key(*name));
        state.variables.extend(stayed.map(|(name, variable)| (name.clone(), variable.clone())));
        let stayed = before.removed.difference(&went.removed).cloned();
        let removed: BTreeSet<String> = removed.into_iter().chain(stayed).collect();
        self.change(name, &before.state, |written| {
            (written.state, written.removed) = (state, removed);
            written.secrets.extend(carried.secrets);
        })
    }

    /// The machine that the session `name` lives on, by the name that the person has for it, where that is another one.
    pub fn home(&self, name: &str) -> Result<Option<String>, StoreError> {
        let path = self.home_path(name)?;
        match read_own(&path) {
            Ok(text) => {
                let target = String::from_utf8_lossy(&text).trim_end_matches('\n').to_owned();
                if !is_target(&target) {
                    return Err(StoreError::Damaged { path, reason: "it holds no name of a machine".to_owned() });
                }
                Ok(Some(target))
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(StoreError::Unreadable { path, error }),
        }
    }

    /// Whether the session `name` lives here.
    ///
    /// # Errors
    /// When it lives on another machine.
    pub fn check_is_here(&self, name: &str) -> Result<(), StoreError> {
        match self.home(name)? {
            Some(target) => Err(StoreError::LivesElsewhere { name: name.to_owned(), target }),
            None => Ok(()),
        }
    }

    /// From now on the session `name` lives on another machine, and is not used here.
    ///
    /// # Errors
    /// When there is no such session here.
    pub fn set_home(&self, name: &str, target: &str) -> Result<(), StoreError> {
        if !is_target(target) {
            return Err(StoreError::BadTarget(target.chars().take(128).collect()));
        }
        let path = self.home_path(name)?;
        if self.read(name)?.is_none() {
            return Err(StoreError::Missing(name.to_owned()));
        }
        let unwritable = |error| StoreError::Unwritable { path: path.clone(), error };
        let _lock = self.lock(name).map_err(unwritable)?;
        write_in_place(&path, format!("{target}\n").as_bytes()).map_err(unwritable)
    }

    /// From now on the session `name` lives here. False where it did.
    pub fn clear_home(&self, name: &str) -> Result<bool, StoreError> {
        let path = self.home_path(name)?;
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
            Err(error) => Err(StoreError::Unwritable { path, error }),
        }
    }

    pub(super) fn home_path(&self, name: &str) -> Result<PathBuf, StoreError> {
        Ok(self.path(name)?.with_file_name(format!("{name}.home")))
    }
}

/// Whether a text can be the name of a machine.
fn is_target(text: &str) -> bool {
    (1..=128).contains(&text.chars().count()) && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{ShellState, Value, Variable};
    use chiton_redact::Reference;

    fn state(pairs: &[(&str, &str)]) -> ShellState {
        let environment = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).into()));
        ShellState::fresh("/", environment, 0o022)
    }

    #[test]
    fn a_session_lives_where_it_was_said_to_and_is_used_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let store = SessionStore::new(folder.path().join("sessions"));
        assert_eq!(store.home("s").unwrap(), None, "nobody has ever written one");
        assert!(matches!(store.set_home("s", "build"), Err(StoreError::Missing(_))));
        store.save("s", &state(&[]), &state(&[("A", "1")])).unwrap();
        for bad in ["", "two\nlines", &"x".repeat(129)] {
            assert!(matches!(store.set_home("s", bad), Err(StoreError::BadTarget(_))), "{bad}");
        }
        store.set_home("s", "build").unwrap();
        assert_eq!(store.home("s").unwrap().as_deref(), Some("build"));
        assert_eq!(store.names(), ["s"]);
        let why = store.check_is_here("s").unwrap_err().to_string();
        let wanted =
            "the session s lives on build: give --on build, or bring it back with `chiton session move s --on local`";
        assert_eq!(why, wanted);
        assert!(store.clear_home("s").unwrap() && !store.clear_home("s").unwrap());
        store.check_is_here("s").unwrap();
        store.set_home("s", "build").unwrap();
        store.remove("s").unwrap();
        assert_eq!(store.home("s").unwrap(), None, "it goes with its session");
    }

    #[test]
    fn a_session_moves_there_and_back_and_each_machine_keeps_what_is_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let [here, there] = ["here", "there"].map(|name| SessionStore::new(folder.path().join(name)));
        let (home, far_home) = (folder.path().join("me"), folder.path().join("dev"));
        for path in [home.join("work"), far_home.join("work")] {
            fs::create_dir_all(path).unwrap();
        }
        let base = state(&[("PATH", "/bin"), ("HOME", "/home/me"), ("GONE", "1")]);
        let mut to = state(&[("PATH", "/bin:/mine"), ("HOME", "/home/me"), ("A", "1")]);
        to.cwd = home.join("work");
        here.save("s", &base, &to).unwrap();
        let secrets = BTreeSet::from([Reference::secret("TOKEN").unwrap()]);
        here.note_secrets("s", &base, &secrets).unwrap();

        let carried = here.carry_to_move("s", &home).unwrap();
        assert_eq!(carried.left_behind().iter().map(|left| left.name.as_str()).collect::<Vec<_>>(), ["PATH"]);
        here.set_home("s", "build").unwrap();
        let text = serde_json::to_string(&carried).unwrap();
        let carried: CarriedSession = serde_json::from_str(&text).unwrap();
        let moved = there.take_in_moved("s", carried.clone(), &far_home, Path::new("/")).unwrap();
        assert_eq!(moved, MovedIn { directory: far_home.join("work"), found: FoundDirectory::BelowHome });
        assert!(matches!(there.take_in_moved("s", carried, &far_home, Path::new("/")), Err(StoreError::Taken(_))));

        // It begins with what that machine has, and with what it brought.
        let far_base = state(&[("PATH", "/far/bin"), ("HOME", "/home/dev"), ("GONE", "2")]);
        let loaded = there.load("s", &far_base).unwrap();
        let expected = state(&[("PATH", "/far/bin"), ("HOME", "/home/dev"), ("A", "1")]);
        assert_eq!((&loaded.variables, &loaded.cwd), (&expected.variables, &far_home.join("work")));
        assert_eq!(there.secrets("s").unwrap(), secrets);

        let mut changed = loaded.clone();
        changed.variables.insert("B".to_owned(), Variable::exported(Value::Scalar("2".into())));
        changed.variables.insert("PATH".to_owned(), Variable::exported(Value::Scalar("/far/only".into())));
        there.save("s", &loaded, &changed).unwrap();
        let back = there.carry_to_move("s", &far_home).unwrap();
        let returned = here.take_in_moved("s", back, &home, Path::new("/")).unwrap();
        assert_eq!(returned.directory, home.join("work"));
        here.check_is_here("s").unwrap();
        let loaded = here.load("s", &base).unwrap();
        let expected = state(&[("PATH", "/bin:/mine"), ("HOME", "/home/me"), ("A", "1"), ("B", "2")]);
        assert_eq!(loaded.variables, expected.variables, "its own PATH is there again");
    }
}
