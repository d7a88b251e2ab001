//! What others have changed since a command ended, and undoing it would take away from them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use super::list::{self, Before, Changes, Found};
use super::record::{FileFacts, FileKind, Step, as_bytes, as_path};
use super::store;
use crate::bytes::ByteString;

/// What is said behind the id of a command that has changed a file.
pub(super) const CHANGED_SINCE: &str = " has changed it since; undo that first";

/// Paths that are left alone, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Conflicts(pub(super) BTreeMap<PathBuf, String>);

impl Conflicts {
    /// As they are written down.
    pub(super) fn to_list(&self) -> Vec<(ByteString, String)> {
        self.0.iter().map(|(path, why)| (as_bytes(path), why.clone())).collect()
    }

    pub(super) fn from_list(list: &[(ByteString, String)]) -> Self {
        Self(list.iter().map(|(path, why)| (as_path(path), why.clone())).collect())
    }

    /// Whether a path is left alone: it, or something that it is in.
    pub(super) fn has(&self, path: &Path) -> bool {
        !self.0.is_empty() && path.ancestors().any(|above| self.0.contains_key(above))
    }

    /// Whether something in a folder is left alone.
    pub(super) fn is_above(&self, folder: &Path) -> bool {
        let behind = self.0.range::<Path, _>((Bound::Included(folder), Bound::Unbounded));
        behind.take(1).any(|(path, _)| path.starts_with(folder))
    }

    /// What is not as the command left it, nor as it was before. `others` are the paths that other commands have changed
    /// since it began, and which command that was.
    pub(super) fn find(folder: &Path, steps: &[Step], others: &BTreeMap<PathBuf, String>) -> io::Result<Self> {
        let changes = Changes::read(folder)?;
        let now = changes.now();
        let mut found = match list::read_after(folder) {
            Some(after) => changed_since(&changes.before(&after), &after, &now),
            None => newer_than_log(folder, steps, &now),
        };
        for path in now.keys() {
            if let Some(other) = others.get(path) {
                found.insert(path.clone(), format!("{other}{CHANGED_SINCE}"));
            }
        }
        let mut found = Self(found);
        found.add_folders_that_moved(steps);
        Ok(found)
    }

    /// A folder is moved back with everything in it, or not at all.
    fn add_folders_that_moved(&mut self, steps: &[Step]) {
        let mut places: BTreeSet<PathBuf> = BTreeSet::new();
        for step in steps {
            match step {
                Step::Moved { from, to, was } if was.kind == FileKind::Folder => {
                    places.extend([from, to].map(as_path).into_iter().filter(|_| self.is_above(&as_path(to))));
                }
                Step::Exchanged { one, other, .. } => {
                    let paths = [one, other].map(as_path);
                    if paths.iter().any(|path| self.is_above(path)) {
                        places.extend(paths);
                    }
                }
                _ => {}
            }
        }
        for place in places {
            self.0.entry(place).or_insert_with(|| "something in it was changed since".to_owned());
        }
    }
}

fn changed_since(before: &Before, after: &Found, now: &Found) -> BTreeMap<PathBuf, String> {
    let is_as_before = |path: &Path, is: Option<&FileFacts>| match (before.get(path), is) {
        (None, None) => true,
        (Some(before), Some(is)) => before.facts.looks_like(is),
        _ => false,
    };
    let mut found = BTreeMap::new();
    for (path, left) in after {
        let is = now.get(path).cloned().unwrap_or_else(|| FileFacts::at(path));
        let why = match (left, &is) {
            (None, None) => continue,
            (Some(left), Some(is)) if left.looks_like(is) => continue,
            // Somebody has put it back already, or an undoing has that left other files alone.
            _ if is_as_before(path, is.as_ref()) => continue,
            (None, Some(_)) => "it was made since",
            (Some(_), None) => "it was removed since",
            (Some(_), Some(_)) => "it was changed since",
        };
        found.insert(path.clone(), why.to_owned());
    }
    for path in now.keys().filter(|path| !after.contains_key(*path) && now[*path].is_some()) {
        found.insert(path.clone(), "it was made since".to_owned());
    }
    found
}

/// Where nobody wrote down what was there at the end: what is newer than the log.
fn newer_than_log(folder: &Path, steps: &[Step], now: &Found) -> BTreeMap<PathBuf, String> {
    use std::os::unix::fs::MetadataExt;

    // A command that was killed with its keeper may have written for a moment after the last change that is in the log.
    const MOMENT: i64 = 1;
    let Ok(end) = fs::metadata(store::log(folder)).map(|log| log.mtime()) else { return BTreeMap::new() };
    // An undoing that was killed may have been at its last change for long.
    let last: Vec<PathBuf> = steps.last().into_iter().flat_map(Step::paths).collect();
    let is_newer = |path: &Path, facts: &FileFacts| {
        // Whoever copies a file gives it an older time of modification, and nobody can give it another one of change.
        facts.kind != FileKind::Folder && facts.changed.0 > end + MOMENT && !last.iter().any(|known| known == path)
    };
    let newer = now.iter().filter(|(path, facts)| facts.as_ref().is_some_and(|facts| is_newer(path, facts)));
    newer.map(|(path, _)| (path.clone(), "it was changed after the command had ended".to_owned())).collect()
}
