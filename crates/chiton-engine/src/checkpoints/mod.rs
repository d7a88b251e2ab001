//! Checkpoints: moments that somebody wants to be able to go back to.
//!
//! 1. A checkpoint is a time, the folders of a workspace, and what a session was then. Nothing is copied: what commands have
//!    changed since is in their logs ([`crate::changes`]), and undoing those, the newest first, goes back.
//! 2. Where a folder is a subvolume of btrfs, there is a snapshot of it as well ([`snapshot`]): it also has what others
//!    than commands have changed since.
//! 3. They last as long as the logs do: without these, there is no way back.

mod snapshot;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::bytes::ByteString;
use crate::changes;
use crate::clock;
use crate::folder::make_own;
use crate::session::store::SessionValue;

/// The folder of all checkpoints in a state directory.
const FOLDER: &str = "checkpoints";
const VERSION: u32 = 1;

/// The checkpoints of a state directory.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    folder: PathBuf,
    state_directory: PathBuf,
}

/// One moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    version: u32,
    /// What it is called.
    pub name: String,
    /// When it was, in milliseconds since 1970.
    pub made_ms: u64,
    roots: Vec<ByteString>,
    /// The session whose state it has, and that state.
    pub session: Option<(String, SessionValue)>,
    snapshots: Vec<(ByteString, ByteString)>,
}

impl Checkpoint {
    /// The folders of its workspace.
    pub fn roots(&self) -> Vec<PathBuf> {
        self.roots.iter().map(|root| root.clone().into_path()).collect()
    }

    /// Snapshots of folders of its workspace, where there are any: the folder and its snapshot.
    pub fn snapshots(&self) -> Vec<(PathBuf, PathBuf)> {
        self.snapshots.iter().map(|(root, place)| (root.clone().into_path(), place.clone().into_path())).collect()
    }
}

/// Why there is no such checkpoint.
#[derive(Debug, Error)]
pub enum CheckpointError {
    /// Not a name.
    #[error(
        "'{0}' is not the name of a checkpoint: use up to 64 letters, digits, '_', '-' or '.', not starting with '.'"
    )]
    BadName(String),
    /// There is none of this name.
    #[error("there is no checkpoint '{name}'{}", known(.others))]
    Unknown {
        /// What was asked for.
        name: String,
        /// Those that there are.
        others: Vec<String>,
    },
    /// There is one already.
    #[error("there is a checkpoint '{0}' already: `--replace` puts this one in its place")]
    Exists(String),
    /// It cannot be read or written.
    #[error("the checkpoint file {} cannot be used: {error}", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

fn known(others: &[String]) -> String {
    if others.is_empty() { "; there are none".to_owned() } else { format!("; there are: {}", others.join(", ")) }
}

/// What is done about a checkpoint of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameName {
    /// It stays, and there is no other.
    Refused,
    /// It goes.
    Replaced,
}

/// A checkpoint that was just made.
#[derive(Debug)]
pub struct MadeCheckpoint {
    /// It.
    pub checkpoint: Checkpoint,
    /// Folders that are subvolumes, of which there is no snapshot all the same, and why.
    pub without_snapshot: Vec<(PathBuf, io::Error)>,
}

impl Checkpoints {
    /// Those of a state directory.
    pub fn new(state_directory: &Path) -> Self {
        Self { folder: state_directory.join(FOLDER), state_directory: state_directory.to_owned() }
    }

    /// Makes this moment one that can be gone back to.
    pub fn make(
        &self,
        name: &str,
        roots: &[PathBuf],
        session: Option<(String, SessionValue)>,
        same: SameName,
    ) -> Result<MadeCheckpoint, CheckpointError> {
        let path = self.path(name)?;
        let failed = |error| CheckpointError::Failed { path: path.clone(), error };
        make_own(&self.folder).map_err(failed)?;
        if path.exists() {
            if same == SameName::Refused {
                return Err(CheckpointError::Exists(name.to_owned()));
            }
            self.remove(name)?;
        }

        let (mut snapshots, mut without_snapshot) = (Vec::new(), Vec::new());
        for (place, root) in roots.iter().enumerate() {
            match snapshot::take(root, &self.state_directory, &format!("{name}-{place}-{}", clock::now_ms())) {
                Some(Ok(made)) => snapshots.push((as_bytes(root), as_bytes(&made))),
                Some(Err(error)) => without_snapshot.push((root.clone(), error)),
                None => {}
            }
        }
        let roots = roots.iter().map(|root| as_bytes(root)).collect();
        let made_ms = clock::now_ms();
        let checkpoint = Checkpoint { version: VERSION, name: name.to_owned(), made_ms, roots, session, snapshots };
        let text = serde_json::to_vec_pretty(&checkpoint).map_err(|error| failed(error.into()))?;
        let beside = path.with_extension("new");
        fs::write(&beside, text).and_then(|()| fs::rename(&beside, &path)).map_err(failed)?;
        Ok(MadeCheckpoint { checkpoint, without_snapshot })
    }

    /// All of them, the newest first.
    pub fn all(&self) -> Vec<Checkpoint> {
        let mut all: Vec<Checkpoint> = self.names().iter().filter_map(|name| self.get(name).ok()).collect();
        all.sort_by(|one, other| (other.made_ms, &other.name).cmp(&(one.made_ms, &one.name)));
        all
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter_map(|name| Some(name.strip_suffix(".json")?.to_owned())).collect();
        names.sort();
        names
    }

    /// The one of this name.
    pub fn get(&self, name: &str) -> Result<Checkpoint, CheckpointError> {
        let path = self.path(name)?;
        let read = fs::read(&path).and_then(|text| Ok(serde_json::from_slice::<Checkpoint>(&text)?));
        match read {
            Ok(checkpoint) if checkpoint.version == VERSION => Ok(checkpoint),
            Ok(other) => {
                let error = io::Error::other(format!("it is of version {}", other.version));
                Err(CheckpointError::Failed { path, error })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(CheckpointError::Unknown { name: name.to_owned(), others: self.names() })
            }
            Err(error) => Err(CheckpointError::Failed { path, error }),
        }
    }

    /// Forgets one, with its snapshots.
    pub fn remove(&self, name: &str) -> Result<(), CheckpointError> {
        let (path, checkpoint) = (self.path(name)?, self.get(name)?);
        let failed = |error| CheckpointError::Failed { path: path.clone(), error };
        for (_, place) in checkpoint.snapshots() {
            snapshot::remove(&place).map_err(failed)?;
        }
        fs::remove_file(&path).map_err(failed)
    }

    /// Whether logs that are newer than a checkpoint are gone: then there is no way back by them.
    pub fn is_past(&self, checkpoint: &Checkpoint) -> bool {
        changes::swept_ms(&self.state_directory.join(changes::FOLDER)) >= checkpoint.made_ms
    }

    /// Forgets those that are older than logs can be.
    pub fn sweep(&self, age: Duration) -> usize {
        let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let oldest = clock::now_ms().saturating_sub(age);
        let old = self.all().into_iter().filter(|checkpoint| checkpoint.made_ms < oldest);
        old.filter(|checkpoint| self.remove(&checkpoint.name).is_ok()).count()
    }

    fn path(&self, name: &str) -> Result<PathBuf, CheckpointError> {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        if name.is_empty() || name.len() > 64 || name.starts_with('.') || !name.bytes().all(good) {
            return Err(CheckpointError::BadName(name.to_owned()));
        }
        Ok(self.folder.join(format!("{name}.json")))
    }
}

fn as_bytes(path: &Path) -> ByteString {
    path.as_os_str().as_encoded_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_is_found_by_its_name_until_it_is_too_old() {
        let folder = tempfile::tempdir().unwrap();
        let all = Checkpoints::new(folder.path());
        let roots = [PathBuf::from("/w")];
        let made = all.make("one", &roots, None, SameName::Refused).unwrap();
        assert_eq!(all.get("one").unwrap(), made.checkpoint);
        assert_eq!(made.checkpoint.roots(), roots);
        assert!(matches!(all.make("one", &roots, None, SameName::Refused), Err(CheckpointError::Exists(_))));
        all.make("one", &roots, None, SameName::Replaced).unwrap();
        let unknown = all.get("two").unwrap_err().to_string();
        assert!(unknown.contains("there are: one"), "{unknown}");
        for name in ["", ".x", "a/b", "a b", &"x".repeat(65)] {
            assert!(matches!(all.get(name), Err(CheckpointError::BadName(_))), "{name}");
        }
        assert_eq!(all.sweep(Duration::from_hours(1)), 0);
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(all.sweep(Duration::ZERO), 1);
        assert_eq!(all.all(), []);
    }
}
