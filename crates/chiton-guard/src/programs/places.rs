//! Where what a program starts would run: as a child of the command, with its files, or anywhere else.
//!
//! A sandbox holds what runs in it, and keeps what that changes. So a program counts as one that runs others here only if
//! its table is listed; whatever nobody thought of runs elsewhere, and is asked about.

use std::sync::LazyLock;

use chiton_shell::names::NameIndex;

use super::row::{self, Program};
use super::{
    archives, awk, builders, builtins, editors, files, finders, git, interpreters, packages, sed, shells, starters,
    text_tools, wrappers,
};
use crate::machine::Place;

/// Tables of programs that run others as their children.
const HERE: &[&[Program]] = &[
    archives::ROWS,
    awk::ROWS,
    builders::ROWS,
    builtins::ROWS,
    editors::ROWS,
    files::ROWS,
    finders::ROWS,
    git::ROWS,
    interpreters::ROWS,
    packages::ROWS,
    sed::ROWS,
    shells::ROWS,
    starters::ROWS,
    text_tools::ROWS,
    wrappers::ROWS,
];

/// Programs of these tables that do not: they show other files under the same names, or leave it to a service.
const ELSEWHERE: [&str; 34] = [
    "arch-chroot", "at", "batch", "bwrap", "byobu", "capsh", "chroot", "crun", "distcc", "distrobox", "emacsclient",
    "fakechroot", "firejail", "guix", "kitten", "kitty", "machinectl", "minijail0", "nsenter", "nsjail", "osascript",
    "powershell.exe", "proot", "run0", "runsc", "schroot", "screen", "systemd-run", "tmux", "toolbox", "turbo",
    "unshare", "wezterm", "zellij",
];

/// Where what the program of this name starts would run.
pub(super) fn of(name: &str) -> Place {
    let is_exact = BY_NAME.exact(name).next().is_some() && !ELSEWHERE.contains(&name);
    let is_here = is_exact || BY_NAME.by_start(name).next().is_some();
    if is_here { Place::Here } else { Place::Elsewhere }
}

/// The names of programs that run others here, and of those that are exceptions.
static BY_NAME: LazyLock<NameIndex<Program>> =
    LazyLock::new(|| NameIndex::new(row::named(HERE.iter().copied().flatten())));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::row_of;

    #[test]
    fn every_exception_is_a_program_that_the_guard_knows() {
        let unknown: Vec<&str> = ELSEWHERE.into_iter().filter(|name| row_of(name).is_none()).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
