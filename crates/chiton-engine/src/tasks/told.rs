//! What the client of a task was told of it.
//!
//! 1. A task that a client was given is *followed*: a small record in its folder says what the client was told.
//! 2. Once the client was told that the task ended, nothing is left to tell, and the record goes.
//!
//! So a server that was killed leaves behind what is still to be told, and the next one finds it. The record is removed by
//! exactly one of several that may try, which is the one that tells.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};

use super::list::Tasks;
use crate::folder::RunFolder;
use crate::owner::ServerProcess;

/// What a client was told of a task so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The server that tells.
    pub server: ServerProcess,
    /// The wait for input that was told last, until it is over.
    #[serde(default)]
    pub wait: Option<ToldWait>,
    /// How many matches of each watch, by its number, were told.
    #[serde(default)]
    pub matches: BTreeMap<u32, u64>,
}

/// A wait for input that was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldWait {
    /// What the task asked.
    pub prompt: String,
    /// How often a person had typed by then.
    pub typed_by_people: u64,
}

impl Told {
    /// Nothing yet, by this process.
    pub fn nothing() -> Self {
        Self { server: ServerProcess::this(), wait: None, matches: BTreeMap::new() }
    }
}

/// Whether a task goes on, as far as a glance at its folder says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulse {
    /// It has not ended.
    Alive,
    /// It has ended, or its keeper is gone.
    Over,
    /// There is no such task any more.
    Gone,
}

impl Tasks {
    /// Whether a task goes on. Costs a few system calls, and reads no record.
    pub fn pulse(&self, id: &str) -> Pulse {
        let Ok(folder) = RunFolder::at(&self.folder().join(id)) else { return Pulse::Gone };
        // The ending before the lock: the keeper writes the one and then lets go of the other.
        if !folder.has_ending() && folder.is_held() {
            return Pulse::Alive;
        }
        if folder.path().is_dir() { Pulse::Over } else { Pulse::Gone }
    }

    /// Writes down what the client of a task was told of it.
    pub fn note_told(&self, id: &str, told: &Told) -> io::Result<()> {
        RunFolder::at(&self.folder().join(id))?.write_told(told)
    }

    /// The client is told now that the task has ended. Whether it falls to the caller to tell it: to one of all that
    /// follow the task.
    pub fn claim_end(&self, id: &str) -> bool {
        RunFolder::at(&self.folder().join(id)).is_ok_and(|folder| folder.remove_told())
    }

    /// All tasks of which there may be something to tell, by their ids.
    pub fn followed(&self) -> Vec<(String, Told)> {
        let followed = self.ids().into_iter().filter_map(|id| {
            let folder = RunFolder::at(&self.folder().join(&id)).ok()?;
            Some((id, folder.told().ok()?))
        });
        followed.collect()
    }
}
