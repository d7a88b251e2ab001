//! What a command did to files, from its log and from what is there.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use super::files::has_content;
use super::record::{self, FileFacts, FileId, FileKind, Former, Header, Kept, LogReader, Step, as_bytes, as_path};
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
    steps: Vec<Step>,
}

/// What is at paths, as far as anybody knows; `None` where that is nothing.
pub(super) type Found = BTreeMap<PathBuf, Option<FileFacts>>;

/// What was at paths before.
pub(super) type Before = BTreeMap<PathBuf, Former>;

/// The most files that are looked at inside of folders that a command made or moved.
const MOST_FILES: usize = 200_000;

impl Changes {
    pub(super) fn read(folder: &Path) -> io::Result<Self> {
        let (header, steps) = LogReader::open(&store::log(folder))?;
        Ok(Self { roots: roots(&header), steps: steps.collect() })
    }

    /// What is now at all paths that the log speaks of, and in the folders that came to one.
    pub(super) fn now(&self) -> Found {
        let mut found = Found::new();
        let is_inside = |path: &PathBuf| self.roots.iter().any(|root| path.starts_with(root));
        for path in self.steps.iter().flat_map(Step::paths).filter(is_inside) {
            if let Entry::Vacant(place) = found.entry(path) {
                let facts = FileFacts::at(place.key());
                place.insert(facts);
            }
        }
        for step in &self.steps {
            let came: &[&ByteString] = match step {
                Step::Absent { at } => &[at],
                Step::Moved { to, .. } => &[to],
                Step::Exchanged { one, other, .. } => &[one, other],
                _ => &[],
            };
            let is_folder =
                |path: &PathBuf| matches!(found.get(path), Some(Some(FileFacts { kind: FileKind::Folder, .. })));
            let folders: Vec<PathBuf> = came.iter().map(|path| as_path(path)).filter(is_folder).collect();
            for folder in folders {
                look_into(&folder, &mut found);
            }
        }
        found
    }

    /// What was there before, given what was there at the end: the log backwards, on paper.
    pub(super) fn before(&self, after: &Found) -> Before {
        let as_is = |facts: &FileFacts| Former { facts: facts.clone(), attributes: Vec::new(), kept: Kept::Facts };
        let there = after.iter().filter_map(|(path, facts)| Some((path.clone(), as_is(facts.as_ref()?))));
        let mut tree = Tree(there.collect());
        self.steps.iter().rev().for_each(|step| tree.undo(step));
        tree.0
    }

    /// The differences between what was and what is there `after`, path by path:
    ///
    /// - Something is made where nothing was, removed where nothing is, and changed where anything about it differs: what it
    ///   is, its content, its mode, its owner, when its content was modified, or its attributes. The times of a folder do not
    ///   count.
    /// - A folder that was made or removed is named only where nothing in it is: its files say where it is.
    /// - A folder that has another name now is named as removed by its old name, and as made by its new one, and stands for
    ///   everything in it.
    pub(super) fn compare(&self, folder: &Path, after: &Found) -> Vec<FileChange> {
        let before = self.before(after);
        let moved = MovedFolders::find(&before, after);
        let mut all = Vec::new();
        let paths: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
        for path in paths.into_iter().filter(|path| self.roots.iter().any(|root| path.starts_with(root))) {
            let (was, is) = (before.get(path), after.get(path).and_then(Option::as_ref));
            let (kind, shown) = match (was, is) {
                (None, Some(is)) if !moved.is_inside_new(path) => (ChangeKind::Made, is),
                (Some(was), None) if !moved.is_inside_old(path) => (ChangeKind::Removed, &was.facts),
                (Some(was), Some(is)) if !is_same(folder, path, was, is) => (ChangeKind::Changed, is),
                _ => continue,
            };
            let is_folder = shown.kind == FileKind::Folder;
            all.push(FileChange { path: path.clone(), kind, is_folder, former: content(folder, was) });
        }
        let is_said = |place: usize, change: &FileChange| {
            let next: Option<&FileChange> = all.get(place + 1);
            let is_new_or_gone = change.is_folder && change.kind != ChangeKind::Changed;
            is_new_or_gone && next.is_some_and(|next| next.kind == change.kind && next.path.starts_with(&change.path))
        };
        let worth: Vec<bool> = all.iter().enumerate().map(|(place, change)| !is_said(place, change)).collect();
        all.into_iter().zip(worth).filter_map(|(change, is_worth)| is_worth.then_some(change)).collect()
    }
}

fn look_into(folder: &Path, found: &mut Found) {
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_known = found.contains_key(&path);
            if !is_known && found.len() >= MOST_FILES {
                return;
            }
            let facts = found.entry(path.clone()).or_insert_with(|| FileFacts::at(&path));
            if facts.as_ref().is_some_and(|facts| facts.kind == FileKind::Folder) {
                left.push(path);
            }
        }
    }
}

/// What is there, in thought.
struct Tree(Before);

impl Tree {
    fn undo(&mut self, step: &Step) {
        match step {
            Step::Absent { at } => drop(self.take(&as_path(at))),
            // It did not go after all, and what is kept is itself.
            Step::Gone { at, was } if self.has(&as_path(at), &was.facts) => {}
            Step::Gone { at, was } => drop(self.0.insert(as_path(at), was.clone())),
            Step::Written { at, was } => self.set(&as_path(at), was, |_| was.kept.clone()),
            // What it held is known from later on, if it was written to.
            Step::Attributes { at, was } => self.set(&as_path(at), was, |is| is.kept.clone()),
            Step::Moved { from, to, was } => {
                let (from, to) = (as_path(from), as_path(to));
                if self.has(&to, was) {
                    let taken = self.take(&to);
                    self.put(&from, taken);
                }
            }
            Step::Exchanged { one, other, first, second } => {
                let (one, other) = (as_path(one), as_path(other));
                if self.has(&other, first) || self.has(&one, second) {
                    let (at_one, at_other) = (self.take(&one), self.take(&other));
                    self.put(&one, at_other);
                    self.put(&other, at_one);
                }
            }
        }
    }

    /// Makes what is at a path what it was, by all the names that are known of it.
    fn set(&mut self, path: &Path, was: &Former, kept: impl Fn(&Former) -> Kept) {
        let set = |is: &mut Former| *is = Former { kept: kept(is), ..was.clone() };
        if was.facts.links > 1 && was.facts.kind != FileKind::Folder {
            self.0.values_mut().filter(|is| is.facts.id == was.facts.id).for_each(set);
        } else if let Some(is) = self.0.get_mut(path) {
            set(is);
        }
    }

    fn has(&self, path: &Path, facts: &FileFacts) -> bool {
        self.0.get(path).is_some_and(|is| is.facts.id == facts.id)
    }

    /// Takes out what is at a path, with everything in it, by its path there.
    fn take(&mut self, path: &Path) -> Vec<(PathBuf, Former)> {
        let behind = self.0.range::<Path, _>((Bound::Included(path), Bound::Unbounded));
        let inside: Vec<PathBuf> =
            behind.map(|(inside, _)| inside.clone()).take_while(|inside| inside.starts_with(path)).collect();
        let taken = inside.into_iter().filter_map(|inside| {
            let former = self.0.remove(&inside)?;
            Some((inside.strip_prefix(path).ok()?.to_owned(), former))
        });
        taken.collect()
    }

    fn put(&mut self, path: &Path, taken: Vec<(PathBuf, Former)>) {
        let place = |inside: PathBuf| if inside.as_os_str().is_empty() { path.to_owned() } else { path.join(inside) };
        self.0.extend(taken.into_iter().map(|(inside, former)| (place(inside), former)));
    }
}

/// Folders that have another name now.
struct MovedFolders {
    old: BTreeSet<PathBuf>,
    new: BTreeSet<PathBuf>,
}

impl MovedFolders {
    fn find(before: &Before, after: &Found) -> Self {
        let is_folder = |facts: &FileFacts| facts.kind == FileKind::Folder;
        let folders = before.iter().filter(|(_, former)| is_folder(&former.facts));
        let were: HashMap<FileId, &PathBuf> = folders.map(|(path, former)| (former.facts.id, path)).collect();
        let mut found = Self { old: BTreeSet::new(), new: BTreeSet::new() };
        let there =
            after.iter().filter_map(|(path, facts)| Some((path, facts.as_ref().filter(|facts| is_folder(facts))?)));
        for (path, facts) in there {
            let is_new = !before.contains_key(path);
            let old = were.get(&facts.id).filter(|old| after.get(**old).is_none_or(Option::is_none));
            if let Some(old) = old.filter(|_| is_new) {
                found.old.insert((*old).clone());
                found.new.insert(path.clone());
            }
        }
        found
    }

    fn is_inside_old(&self, path: &Path) -> bool {
        path.ancestors().skip(1).any(|above| self.old.contains(above))
    }

    fn is_inside_new(&self, path: &Path) -> bool {
        path.ancestors().skip(1).any(|above| self.new.contains(above))
    }
}

/// Whether nothing happened to something, or it was replaced by what cannot be told apart from it.
fn is_same(folder: &Path, path: &Path, was: &Former, is: &FileFacts) -> bool {
    if !was.facts.looks_like(is) {
        return false;
    }
    let is_same_file = was.facts.id == is.id;
    if is_same_file && was.facts.changed == is.changed {
        return true;
    }
    let has_same_content = || match (was.facts.kind, &was.kept) {
        (FileKind::File, Kept::Itself(number) | Kept::Copy(number)) => {
            let kept = File::open(store::kept(folder, *number));
            kept.and_then(|kept| has_content(path, &kept)).unwrap_or(false)
        }
        (FileKind::Link, Kept::Itself(number)) => {
            fs::read_link(path).ok() == fs::read_link(store::kept(folder, *number)).ok()
        }
        (FileKind::Link, Kept::Target(target)) => fs::read_link(path).is_ok_and(|is| as_bytes(&is) == *target),
        (FileKind::File, Kept::Nothing(_)) => is_same_file,
        (FileKind::File | FileKind::Link, _) => is_same_file || was.facts.bytes == 0,
        (FileKind::Folder | FileKind::Special, _) => true,
    };
    has_attributes(path, &was.attributes) && has_same_content()
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
    // What a version control keeps for itself is named only where there is room.
    let is_git = |change: &&FileChange| change.path.components().any(|part| part.as_os_str() == ".git");
    let (last, first): (Vec<&FileChange>, Vec<&FileChange>) = changes.iter().partition(is_git);
    for change in first.into_iter().chain(last) {
        counted.add(change.kind, || name(roots, &change.path, change.is_folder));
    }
    counted
}

/// What was there at the end of a command, as it is written down.
type AfterEntry = (ByteString, Option<FileFacts>);

pub(super) fn write_after(folder: &Path, now: &Found) -> io::Result<()> {
    let entries: Vec<AfterEntry> = now.iter().map(|(path, facts)| (as_bytes(path), facts.clone())).collect();
    let bytes = postcard::to_stdvec(&entries).map_err(|error| io::Error::other(error.to_string()))?;
    store::write_whole(&store::after(folder), &bytes)
}

/// `None` where nobody wrote it down: the keeper was killed before its command had ended.
pub(super) fn read_after(folder: &Path) -> Option<Found> {
    let bytes = fs::read(store::after(folder)).ok()?;
    let entries: Vec<AfterEntry> = postcard::from_bytes(&bytes).ok()?;
    Some(entries.into_iter().map(|(path, facts)| (as_path(&path), facts)).collect())
}

/// Sums a command up that has ended, or goes on, and writes down what is there now.
pub(super) fn sum_up(folder: &Path) -> io::Result<(ChangedFiles, Changed)> {
    let changes = Changes::read(folder)?;
    let now = changes.now();
    // On a full disk nobody knows later what was there at the end, and what is newer than the log counts as somebody else's.
    if write_after(folder, &now).is_err() {
        let _ = fs::remove_file(store::after(folder));
    }
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
