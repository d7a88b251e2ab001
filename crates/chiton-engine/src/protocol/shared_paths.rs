//! Where a shell finds what it shares with its keeper.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use chiton_shell::quote::append_quoted;

use super::{GO_FD, SCRATCH_FD, STATE_FD};

/// The files that a shell and its keeper share, by the paths at which the shell opens them, quoted for a shell.
///
/// They are the keeper's own descriptors as a rule. Inside a sandbox nobody can look into a keeper, so there they are
/// files of the same names in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedPaths {
    prefix: String,
}

impl SharedPaths {
    /// The descriptors of a keeper.
    pub(crate) fn of_keeper(pid: i32) -> Self {
        Self { prefix: format!("/proc/{pid}/fd") }
    }

    /// Files in a folder.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        let mut quoted = Vec::new();
        append_quoted(&mut quoted, folder.as_os_str().as_bytes());
        Self { prefix: String::from_utf8_lossy(&quoted).into_owned() }
    }

    /// Where the state goes.
    pub(crate) fn state(&self) -> String {
        self.at(STATE_FD)
    }

    /// Where lists go that the shell reads again.
    pub(crate) fn scratch(&self) -> String {
        self.at(SCRATCH_FD)
    }

    /// Where the byte comes from that lets the shell go on.
    pub(crate) fn go(&self) -> String {
        self.at(GO_FD)
    }

    fn at(&self, number: i32) -> String {
        format!("{}/{number}", self.prefix)
    }
}
