//! Which shell runs commands.

use std::path::{Path, PathBuf};

use crate::error::StartError;

/// A shell on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell {
    path: PathBuf,
    kind: ShellKind,
}

/// What a shell can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShellKind {
    /// Bash: the whole state is carried.
    Bash,
    /// Any other: working directory, exported variables and umask are carried.
    Posix,
}

/// Where shells are, in the order they are looked for.
const PLACES: [&str; 6] =
    ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/run/current-system/sw/bin/bash", "/bin/sh", "/usr/bin/sh"];

impl Shell {
    /// The shell of this machine: bash where there is one, else `sh`.
    pub fn find() -> Result<Self, StartError> {
        Self::find_in(PLACES.iter().map(Path::new))
    }

    /// The first of `places` that is a file.
    pub fn find_in<'a>(places: impl Iterator<Item = &'a Path> + Clone) -> Result<Self, StartError> {
        let found = places.clone().find(|path| path.is_file());
        found.map(Self::at).ok_or_else(|| {
            let looked: Vec<_> = places.map(|path| path.display().to_string()).collect();
            StartError::NoShell(looked.join(", "))
        })
    }

    /// The shell at `path`: bash if that is its name.
    pub fn at(path: &Path) -> Self {
        let is_bash = path.file_name().is_some_and(|name| name == "bash");
        Self { path: path.to_owned(), kind: if is_bash { ShellKind::Bash } else { ShellKind::Posix } }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn kind(&self) -> ShellKind {
        self.kind
    }

    /// The options with which it reads a text and runs nothing of it.
    pub(crate) fn options_to_read(&self) -> &'static [&'static str] {
        match self.kind {
            ShellKind::Bash => &["--norc", "--noprofile", "-n"],
            ShellKind::Posix => &["-n"],
        }
    }

    /// What `$0` is, and error messages begin with, where nobody asks for something else.
    pub(crate) fn usual_name(&self) -> &'static [u8] {
        match self.kind {
            ShellKind::Bash => b"bash",
            ShellKind::Posix => b"sh",
        }
    }
}
