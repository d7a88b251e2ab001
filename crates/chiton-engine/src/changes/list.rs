//! What a command did to files, from its log and from what is there.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::record::{self, FileFacts, FileKind, Former, Header, Kept, LogReader, Step, as_bytes, as_path};
use super::store;
use crate::bytes::ByteString;
use crate::run::{ChangeKind, ChangedFiles, NotKept};

/// One file that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Where it is, or was.
    pub path: PathBuf,
    /// What became of it.
    pub kind: ChangeKind,
    /// Whether it is a folder, or was one.
    pub is_folder: bool,
    /// Where its former content is, if it is known.
    pub former: FormerContent,
}

impl FileChange {
    /// What undoing it comes to.
    #[must_use]
    pub(super) fn reversed(self) -> Self {
        let kind = match self.kind {
            ChangeKind::Made => ChangeKind::Removed,
            ChangeKind::Removed => ChangeKind::Made,
            ChangeKind::Changed => ChangeKind::Changed,
        };
        Self { kind, ..self }
    }
}

/// What is known of the content that a file had before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormerContent {
    /// It had none: it was not there.
    Nothing,
    /// It is in this file.
    In(PathBuf),
    /// It was empty, or the same as now.
    Same,
    /// It is not kept, or was no text to begin with.
    Unknown,
}

/// The changes of a command.
#[derive(Debug)]
pub(super) struct Changes {
    pub(super) roots: Vec<PathBuf>,
    /// What was at each path that the log speaks of before it was first touched; `None` where that was nothing.
    first: BTreeMap<PathBuf, Option<Former>>,
    /// Where something is that has only another name now.
    moved: HashSet<PathBuf>,
}

/// The most files that are looked at inside of folders that a command made.
const MOST_FILES: usize = 200_000;

impl Changes {
    pub(super) fn read(folder: &Path) -> io::Result<Self> {
        let (header, steps) = LogReader::open(&store::log(folder))?;
        let mut changes = Self { roots: roots(&header), first: BTreeMap::new(), moved: HashSet::new() };
        steps.for_each(|step| changes.add(step));
        Ok(changes)
    }

    fn add(&mut self, step: Step) {
        match step {
            Step::Absent { at } => drop(self.first.entry(as_path(&at)).or_insert(None)),
            Step::Gone { at, was } | Step::Attributes { at, was } => {
                self.first.entry(as_path(&at)).or_insert(Some(was));
            }
            Step::Written { at, was } => {
                let known = self.first.entry(as_path(&at)).or_insert_with(|| Some(was.clone()));
                // Only its attributes were known.
                if let Some(known) = known.as_mut().filter(|known| known.facts.id == was.facts.id) {
                    known.kept = was.kept;
                }
            }
            Step::Moved { from, to, was } => {
                let former = Former { facts: was, attributes: Vec::new(), kept: Kept::Facts };
                self.first.entry(as_path(&from)).or_insert(Some(former));
                self.moved.insert(as_path(&to));
            }
            Step::Exchanged { one, other, first, second } => {
                for (path, facts) in [(one, first), (other, second)] {
                    let former = Former { facts, attributes: Vec::new(), kept: Kept::Facts };
                    self.first.entry(as_path(&path)).or_insert(Some(former));
                    self.moved.insert(as_path(&path));
                }
            }
        }
    }

    /// The paths that the log speaks of.
    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.first.keys()
    }

    /// Whether what is at a path is what was there before the command.
    pub(super) fn is_as_before(&self, path: &Path, is: Option<&FileFacts>) -> bool {
        match (self.first.get(path), is) {
            (Some(None), None) => true,
            (Some(Some(before)), Some(is)) => before.facts.looks_like(is),
            _ => false,
        }
    }

    /// What is at all these paths now, and in the folders that the command made.
    pub(super) fn now(&self) -> BTreeMap<PathBuf, Option<FileFacts>> {
        let mut found: BTreeMap<PathBuf, Option<FileFacts>> = BTreeMap::new();
        for (path, was) in &self.first {
            let facts = FileFacts::at(path);
            let is_made_folder = was.is_none() && facts.as_ref().is_some_and(|facts| facts.kind == FileKind::Folder);
            if is_made_folder && !self.moved.contains(path) {
                self.look_into(path, &mut found);
            }
            found.insert(path.clone(), facts);
        }
        found
    }

    fn look_into(&self, folder: &Path, found: &mut BTreeMap<PathBuf, Option<FileFacts>>) {
        let mut left = vec![folder.to_owned()];
        while let Some(folder) = left.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if found.len() >= MOST_FILES || self.first.contains_key(&path) || self.moved.contains(&path) {
                    continue;
                }
                let facts = FileFacts::at(&path);
                if facts.as_ref().is_some_and(|facts| facts.kind == FileKind::Folder) {
                    left.push(path.clone());
                }
                found.insert(path, facts);
            }
        }
    }

    /// The differences between what was and `now`.
    pub(super) fn compare(&self, folder: &Path, now: &BTreeMap<PathBuf, Option<FileFacts>>) -> Vec<FileChange> {
        let mut all = Vec::new();
        for (path, after) in now.iter().filter(|(path, _)| self.roots.iter().any(|root| path.starts_with(root))) {
            let before = self.first.get(path).and_then(Option::as_ref);
            let (kind, shown) = match (before, after) {
                (None, Some(after)) => (ChangeKind::Made, after),
                (Some(before), None) => (ChangeKind::Removed, &before.facts),
                (Some(before), Some(after)) if !is_same(path, before, after) => (ChangeKind::Changed, after),
                _ => continue,
            };
            let is_folder = shown.kind == FileKind::Folder;
            all.push(FileChange { path: path.clone(), kind, is_folder, former: content(folder, before) });
        }
        // A folder is worth a word only where nothing in it is: its files say where they are.
        let is_said = |place: usize, change: &FileChange| {
            let next = all.get(place + 1);
            change.is_folder && next.is_some_and(|next| next.kind == change.kind && next.path.starts_with(&change.path))
        };
        let worth: Vec<bool> = all.iter().enumerate().map(|(place, change)| !is_said(place, change)).collect();
        all.into_iter().zip(worth).filter_map(|(change, is_worth)| is_worth.then_some(change)).collect()
    }
}

/// Whether nothing happened to a file that was opened or replaced.
fn is_same(path: &Path, before: &Former, after: &FileFacts) -> bool {
    let is_same_file = before.facts.id == after.id;
    let is_other_file = after.kind == FileKind::File && !is_same_file;
    // Of one that went, they are kept with it.
    let has_attributes = || !is_same_file || before.attributes.is_empty() || has_attributes(path, &before.attributes);
    before.facts.looks_like(after) && !is_other_file && has_attributes()
}

fn content(folder: &Path, before: Option<&Former>) -> FormerContent {
    match before {
        None => FormerContent::Nothing,
        Some(Former { kept: Kept::Itself(number) | Kept::Copy(number), .. }) => {
            FormerContent::In(store::kept(folder, *number))
        }
        Some(Former { facts, kept: Kept::Facts, .. }) if facts.bytes == 0 => FormerContent::Same,
        Some(_) => FormerContent::Unknown,
    }
}

fn roots(header: &Header) -> Vec<PathBuf> {
    header.roots.iter().map(as_path).collect()
}

/// The name of a file for people: relative to the workspace, and with a slash at the end of a folder's.
pub(super) fn name(roots: &[PathBuf], path: &Path, is_folder: bool) -> String {
    let inside = roots.iter().find_map(|root| path.strip_prefix(root).ok()).filter(|path| !path.as_os_str().is_empty());
    let shown = inside.unwrap_or(path).display();
    if is_folder { format!("{shown}/") } else { shown.to_string() }
}

/// Counts what has changed.
pub(super) fn count(roots: &[PathBuf], changes: &[FileChange]) -> ChangedFiles {
    let mut counted = ChangedFiles::default();
    for change in changes {
        counted.add(change.kind, || name(roots, &change.path, change.is_folder));
    }
    counted
}

/// What was there at the end of a command, as it is written down.
type AfterEntry = (ByteString, Option<FileFacts>);

pub(super) fn write_after(folder: &Path, now: &BTreeMap<PathBuf, Option<FileFacts>>) -> io::Result<()> {
    let entries: Vec<AfterEntry> = now.iter().map(|(path, facts)| (as_bytes(path), facts.clone())).collect();
    let bytes = postcard::to_stdvec(&entries).map_err(|error| io::Error::other(error.to_string()))?;
    store::write_whole(&store::after(folder), &bytes)
}

/// `None` where nobody wrote it down: the keeper was killed before its command had ended.
pub(super) fn read_after(folder: &Path) -> Option<BTreeMap<PathBuf, Option<FileFacts>>> {
    let bytes = fs::read(store::after(folder)).ok()?;
    let entries: Vec<AfterEntry> = postcard::from_bytes(&bytes).ok()?;
    Some(entries.into_iter().map(|(path, facts)| (as_path(&path), facts)).collect())
}

/// Sums a command up that has ended, or goes on, and writes down what is there now.
pub(super) fn sum_up(folder: &Path) -> io::Result<(ChangedFiles, Changed)> {
    let changes = Changes::read(folder)?;
    let now = changes.now();
    write_after(folder, &now)?;
    let changed = changes.compare(folder, &now);
    Ok((count(&changes.roots, &changed), Changed { roots: changes.roots, files: changed }))
}

/// What has changed, file by file.
pub(super) struct Changed {
    roots: Vec<PathBuf>,
    files: Vec<FileChange>,
}

impl Changed {
    /// What is lost of what has changed. What was only opened is not lost.
    pub(super) fn lost(&self, not_kept: &[(PathBuf, String)]) -> Vec<NotKept> {
        let is_changed = |path: &Path| self.files.iter().any(|change| change.path == path);
        let lost = not_kept.iter().filter(|(path, _)| is_changed(path));
        lost.map(|(path, why)| NotKept { path: name(&self.roots, path, false), why: why.clone() }).collect()
    }
}

/// Whether two lists of attributes are the same in any order.
fn has_attributes(path: &Path, wanted: &[(ByteString, ByteString)]) -> bool {
    let now = record::attributes(path);
    now.len() == wanted.len() && wanted.iter().all(|entry| now.contains(entry))
}
