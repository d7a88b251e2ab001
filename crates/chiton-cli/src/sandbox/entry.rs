//! One entry of a list: a path, a group, a name of a host or a port.

use std::path::{Component, Path};

use anyhow::{Context, Result, bail, ensure};

use super::groups::{self, Group};
use super::hosts;
use super::nearest;
use super::profiles::Change;
use crate::sandbox_settings::{ProfileSettings, Word};

/// The lists of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Key {
    Write,
    Hide,
    Keep,
    Network,
    Sockets,
    Expose,
}

impl Key {
    pub(crate) const ALL: [Self; 6] = [Self::Write, Self::Hide, Self::Keep, Self::Network, Self::Sockets, Self::Expose];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Hide => "hide",
            Self::Keep => "keep",
            Self::Network => "network",
            Self::Sockets => "sockets",
            Self::Expose => "expose",
        }
    }

    /// What a profile of the settings has there.
    pub(crate) fn of(self, profile: &ProfileSettings) -> Option<Vec<String>> {
        match self {
            Self::Write => profile.write.clone(),
            Self::Hide => profile.hide.clone(),
            Self::Keep => profile.keep.clone(),
            Self::Network => profile.network.clone(),
            Self::Sockets => profile.sockets.clone(),
            Self::Expose => profile.expose.as_ref().map(|ports| ports.iter().map(Word::to_string).collect()),
        }
    }
}

/// What an entry does, where it is one that can stand in this list.
pub(crate) fn check(key: Key, text: &str) -> Result<Change> {
    let (removes, entry) = match text.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if removes && entry == "*" {
        return Ok(Change::Clear);
    }
    if entry.starts_with('@') {
        group(key, entry)?;
    } else {
        match key {
            Key::Write | Key::Hide | Key::Keep | Key::Sockets => check_path(entry)?,
            Key::Network if entry == "*" => {}
            Key::Network => drop(hosts::parse(entry)?),
            Key::Expose => drop(port(entry)?),
        }
    }
    Ok(if removes { Change::Remove(entry.to_owned()) } else { Change::Add(entry.to_owned()) })
}

/// The group that an entry names, and what it names in it: `@workspace/build`.
pub(crate) fn group(key: Key, entry: &str) -> Result<(&'static Group, Option<&str>)> {
    let (name, below) = match entry.split_once('/') {
        Some((name, below)) => (name, Some(below)),
        None => (entry, None),
    };
    let fitting = groups::GROUPS.iter().filter(|group| group.keys.contains(&key));
    let names: Vec<&str> = fitting.map(|group| group.name).collect();
    let there_are =
        if names.is_empty() { "there is none".to_owned() } else { format!("there are: {}", names.join(", ")) };
    let Some(group) = groups::find(name) else {
        let near =
            nearest(name, names.iter().copied()).map(|near| format!("did you mean {near}? ")).unwrap_or_default();
        bail!("there is no group {name}; {near}For {} {there_are}", key.name());
    };
    ensure!(
        group.keys.contains(&key),
        "{name} is for {}; for {} {there_are}",
        group.keys.first().map_or("nothing", |key| key.name()),
        key.name()
    );
    if let Some(below) = below {
        ensure!(group.name == groups::WORKSPACE, "only {} has folders: {entry}", groups::WORKSPACE);
        check_plain(Path::new(below), entry)?;
    }
    Ok((group, below))
}

/// An absolute path, or one below the home directory.
fn check_path(entry: &str) -> Result<()> {
    let is_rooted = entry.starts_with('/') || entry == "~" || entry.starts_with("~/");
    ensure!(
        is_rooted,
        "'{entry}' is relative, and nobody can say to what: write {}/{entry}, ~/{entry} or a path from /",
        groups::WORKSPACE
    );
    check_plain(Path::new(entry.trim_start_matches('/')), entry)
}

fn check_plain(path: &Path, entry: &str) -> Result<()> {
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    ensure!(plain, "'{entry}' has '.' or '..' in it: write the path that it leads to");
    ensure!(!entry.contains('*'), "'{entry}' is a pattern: name the folder, and everything in it is meant");
    Ok(())
}

pub(crate) fn port(entry: &str) -> Result<u16> {
    entry.parse().ok().filter(|port| *port > 0).with_context(|| format!("'{entry}' is not a port: 1 to 65535"))
}
