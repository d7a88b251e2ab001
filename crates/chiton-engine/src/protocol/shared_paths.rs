//! Where a shell finds what it shares with its keeper.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use chiton_shell::quote::append_quoted;

use super::{GO_FD, HELD_STATE_FD, SCRATCH_FD, STATE_FD};

/// The files that a shell and its keeper share, by the paths at which the shell opens them, quoted for a shell.
///
/// They are the keeper's own descriptors as a rule. Inside a sandbox nobody can look into a keeper: there it gives them to
/// its shell as that opens them, or, where it is not asked about that, they are files of the same names in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedPaths {
    prefix: String,
    /// How a file is opened to be read: the keeper is asked only about those that could be written as well.
    reads: &'static str,
}

impl SharedPaths {
    /// The descriptors of a keeper.
    pub(crate) fn of_keeper(pid: i32) -> Self {
        Self { prefix: own_descriptors(pid), reads: "<" }
    }

    /// The descriptors of a keeper that gives them to its shell.
    pub(crate) fn given_by_keeper(pid: i32) -> Self {
        Self { prefix: own_descriptors(pid), reads: "<>" }
    }

    /// Files in a folder.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        let mut quoted = Vec::new();
        append_quoted(&mut quoted, folder.as_os_str().as_bytes());
        Self { prefix: String::from_utf8_lossy(&quoted).into_owned(), reads: "<" }
    }

    /// Where the state goes.
    pub(crate) fn state(&self) -> String {
        self.at(STATE_FD)
    }

    /// Where lists go that the shell reads again.
    pub(crate) fn scratch(&self) -> String {
        self.at(SCRATCH_FD)
    }

    /// The redirection by which it reads them.
    pub(crate) fn reading_scratch(&self) -> String {
        format!("{}{}", self.reads, self.scratch())
    }

    /// The redirection by which it reads the byte that lets it go on.
    pub(crate) fn reading_go(&self) -> String {
        format!("{}{}", self.reads, self.at(GO_FD))
    }

    /// What has a keeper give its pipes, if it gives them and the shell does not have them.
    pub(crate) fn opening_pipes(&self) -> Option<String> {
        let (number, state, quiet) = (HELD_STATE_FD, self.state(), self.quiet());
        let opens = || format!("[[ -p /dev/fd/{number} ]]||{{ command exec {number}<>{state};}} {quiet};");
        (self.reads == "<>").then(opens)
    }

    /// The redirection that keeps builtins from saying anything. A keeper that is asked about what is opened need not be
    /// asked about this.
    pub(crate) fn quiet(&self) -> &'static str {
        if self.reads == "<>" { "2>&-" } else { "2>/dev/null" }
    }

    fn at(&self, number: i32) -> String {
        format!("{}/{number}", self.prefix)
    }
}

/// Where a process has its descriptors.
pub(crate) fn own_descriptors(pid: i32) -> String {
    format!("/proc/{pid}/fd")
}
