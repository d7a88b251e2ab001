//! What a preview would change, for people, and what others have changed meanwhile.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::store::{Listed, Record, Root, changed_at};
use super::walk::{self, Aspect, Found, walk, written_names};
use crate::bytes::ByteString;
use crate::run::{ChangeKind, ChangedFiles};

/// One file that would not be what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PreviewedFile {
    /// Where it is, or would be.
    pub path: PathBuf,
    /// What would become of it.
    pub kind: ChangeKind,
    /// Whether it is a folder, or would be one.
    pub is_folder: bool,
    /// In what it differs, where it is there now and would stay.
    pub aspects: Vec<Aspect>,
    /// Where it is now, if it is.
    #[serde(skip)]
    pub before: Option<PathBuf>,
    /// Where what it would be is kept, if it would be there.
    #[serde(skip)]
    pub after: Option<PathBuf>,
}

/// Something that others have changed since the preview began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// Where.
    pub path: PathBuf,
    /// What has become of it.
    pub why: String,
}

/// What was found below each root.
pub(super) fn look(record: &Record) -> io::Result<Vec<(Root, Vec<Found>)>> {
    record.roots.iter().map(|root| Ok((root.clone(), walk(&root.upper(), &root.path)?))).collect()
}

/// Every file that would be another, sorted by path.
pub(super) fn files(found: &[(Root, Vec<Found>)]) -> io::Result<Vec<PreviewedFile>> {
    let mut files: BTreeMap<PathBuf, PreviewedFile> = BTreeMap::new();
    for found in found.iter().flat_map(|(_, found)| found) {
        match found {
            Found::Removed { at, was } => {
                let file = file(at, ChangeKind::Removed, was.is_dir(), Vec::new(), Some(at.clone()), None);
                files.insert(at.clone(), file);
            }
            Found::Put { at, from, is, was, aspects } => {
                // What takes the place of another kind of thing changes it.
                let takes_place = was.is_some() || files.contains_key(at);
                let kind = if takes_place { ChangeKind::Changed } else { ChangeKind::Made };
                let before = takes_place.then(|| at.clone());
                files.insert(at.clone(), file(at, kind, is.is_dir(), aspects.clone(), before, Some(from.clone())));
                if is.is_dir() {
                    add_inside(at, from, is, &mut files)?;
                }
            }
            Found::Folder { at, from, aspects, .. } => {
                // The time of a folder is that of what is in it.
                let aspects: Vec<Aspect> = aspects.iter().copied().filter(|it| *it != Aspect::Time).collect();
                if !aspects.is_empty() {
                    let sides = (Some(at.clone()), Some(from.clone()));
                    files.insert(at.clone(), file(at, ChangeKind::Changed, true, aspects, sides.0, sides.1));
                }
            }
            Found::Gone { .. } => {}
        }
    }
    Ok(without_said(files.into_values().collect()))
}

fn file(
    path: &Path,
    kind: ChangeKind,
    is_folder: bool,
    aspects: Vec<Aspect>,
    before: Option<PathBuf>,
    after: Option<PathBuf>,
) -> PreviewedFile {
    PreviewedFile { path: path.to_owned(), kind, is_folder, aspects, before, after }
}

/// What is in a folder that would be made.
fn add_inside(
    at: &Path,
    from: &Path,
    is: &fs::Metadata,
    files: &mut BTreeMap<PathBuf, PreviewedFile>,
) -> io::Result<()> {
    for name in written_names(from, is)? {
        let (at, from) = (at.join(&name), from.join(&name));
        // A folder that nobody may enter keeps to itself what is in it.
        let Ok(is) = fs::symlink_metadata(&from) else { continue };
        if walk::is_whiteout(&is) {
            continue;
        }
        // It may take the place of something in a folder that is removed.
        let before = files.contains_key(&at).then(|| at.clone());
        let kind = if before.is_some() { ChangeKind::Changed } else { ChangeKind::Made };
        files.insert(at.clone(), file(&at, kind, is.is_dir(), Vec::new(), before, Some(from.clone())));
        if is.is_dir() {
            add_inside(&at, &from, &is, files)?;
        }
    }
    Ok(())
}

/// A folder is worth a word only where nothing in it is: its files say where they are.
fn without_said(files: Vec<PreviewedFile>) -> Vec<PreviewedFile> {
    let is_said = |place: usize, file: &PreviewedFile| {
        let next = files.get(place + 1);
        file.is_folder
            && file.kind != ChangeKind::Changed
            && next.is_some_and(|next| next.kind == file.kind && next.path.starts_with(&file.path))
    };
    let worth: Vec<bool> = files.iter().enumerate().map(|(place, file)| !is_said(place, file)).collect();
    files.into_iter().zip(worth).filter_map(|(file, is_worth)| is_worth.then_some(file)).collect()
}

/// Counts them, with the first names of each kind.
pub(super) fn count(record: &Record, files: &[PreviewedFile]) -> ChangedFiles {
    let mut counted = ChangedFiles { preview: Some(record.id.clone()), ..ChangedFiles::default() };
    for file in files {
        counted.add(file.kind, || name(record, &file.path, file.is_folder));
    }
    counted
}

/// A name for people: relative to the workspace, and with a slash at the end of a folder's.
fn name(record: &Record, path: &Path, is_folder: bool) -> String {
    let inside = record.roots.iter().find_map(|root| path.strip_prefix(&root.path).ok());
    let shown = inside.filter(|path| !path.as_os_str().is_empty()).unwrap_or(path).display();
    if is_folder { format!("{shown}/") } else { shown.to_string() }
}

/// What became of each path, as it is written down at the end of the command.
pub(super) fn listed(files: &[PreviewedFile]) -> Listed {
    files.iter().map(|file| (file.path.as_os_str().as_encoded_bytes().into(), file.kind)).collect()
}

/// What others have changed since the preview began, of what it would change.
pub(super) fn conflicts(found: &[(Root, Vec<Found>)], listed: Option<&Listed>) -> Vec<Conflict> {
    let listed: HashMap<&ByteString, ChangeKind> =
        listed.into_iter().flatten().map(|(path, kind)| (path, *kind)).collect();
    let mut conflicts = BTreeMap::new();
    for (root, found) in found {
        if fs::metadata(&root.path).is_ok_and(|data| (data.dev(), data.ino()) != root.id) {
            conflicts.insert(root.path.clone(), "another folder has taken its place since".to_owned());
        }
        let is_newer = |data: &fs::Metadata| changed_at(data) > root.mark;
        for found in found {
            let (at, why) = match found {
                Found::Removed { at, was } if is_newer(was) && was.is_dir() => {
                    (at, "it would be removed, and something in it was made, removed or changed since")
                }
                Found::Removed { at, was } if is_newer(was) => (at, "it would be removed, and was changed since"),
                Found::Gone { at } => (at, "it would be removed, and was removed since"),
                Found::Put { at, was: Some(was), .. } if is_newer(was) => {
                    let bytes = ByteString::from(at.as_os_str().as_encoded_bytes());
                    let was_made = listed.get(&bytes) == Some(&ChangeKind::Made);
                    (at, if was_made { "it would be made, and was made since" } else { "it was changed since" })
                }
                Found::Put { at, from, is, was: None, .. } => {
                    let bytes = ByteString::from(at.as_os_str().as_encoded_bytes());
                    // A file that was copied up may have been moved here; a folder cannot be.
                    let was_there =
                        is.is_dir() && walk::was_copied(from) || listed.get(&bytes) == Some(&ChangeKind::Changed);
                    // What takes the place of a folder is among those that are removed.
                    if !was_there || fs::symlink_metadata(at).is_ok() {
                        continue;
                    }
                    (at, "it would be changed, and was removed since")
                }
                Found::Folder { at, was, aspects, .. }
                    if is_newer(was) && aspects.iter().any(|aspect| *aspect != Aspect::Time) =>
                {
                    (at, "its mode, owner or attributes would be changed, and it was changed since")
                }
                _ => continue,
            };
            conflicts.insert(at.clone(), why.to_owned());
        }
    }
    conflicts.into_iter().map(|(path, why)| Conflict { path, why }).collect()
}
