//! Where what commands change in the workspace is kept, and how much of it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepLimits {
    /// Bytes of one file that is written to, and so has to be copied. Where the file system shares blocks between files,
    /// there is no limit.
    pub copied_file: u64,
    /// Bytes of what one command removes and changes.
    pub in_all: u64,
    /// How many changes of one command are written down: each takes memory of its keeper.
    pub changes: u64,
}

impl Default for KeepLimits {
    fn default() -> Self {
        Self { copied_file: 128 << 20, in_all: 4 << 30, changes: 1_000_000 }
    }
}

/// What is written down where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeepPlan {
    /// Below which folders; without links.
    pub(crate) roots: Vec<PathBuf>,
    /// The folder of all logs.
    pub(crate) logs: PathBuf,
    /// The folder in which each command has one for what is kept: on the file system of the workspace, where there is such
    /// a place.
    pub(crate) kept: PathBuf,
    pub(crate) limits: KeepLimits,
}
