//! Where what a program starts would run: as a child of the command, with its files, or anywhere else.
//!
//! A sandbox holds what runs in it, and keeps what that changes. So a program counts as one that runs others here only if
//! its table is listed; whatever nobody thought of runs elsewhere, and is asked about.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::row::Program;
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
    let is_like = |own: &&str| own.strip_suffix('*').is_some_and(|start| name.starts_with(start));
    let is_here = NAMES.contains(name) || NAMES_WITH_ENDINGS.iter().any(is_like);
    if is_here { Place::Here } else { Place::Elsewhere }
}

/// The names of programs that run others here.
static NAMES: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let names = HERE.iter().copied().flatten().flat_map(|row| row.names.iter().copied());
    names.filter(|name| !ELSEWHERE.contains(name)).collect()
});

/// Those that stand for more than one: `python*`.
static NAMES_WITH_ENDINGS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| NAMES.iter().copied().filter(|name| name.ends_with('*')).collect());

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
