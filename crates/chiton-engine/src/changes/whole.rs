//! Making a workspace what a snapshot of it is, whoever has changed it since.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode};

use super::files::{apply, copy_whole};
use super::record::{self, FileFacts, FileKind, Former, Kept};
use super::recorder::{Coming, Recorder};
use super::{ChangeLogs, ChangesError, FileChange, FormerContent, Undone, Untouched, list, sum_up};
use crate::run::ChangeKind;

/// How a folder differs from its snapshot.
struct Comparison {
    root: PathBuf,
    /// Folders on other file systems, and other subvolumes, are not part of a snapshot.
    device: u64,
    found: Vec<(PathBuf, PathBuf, ChangeKind)>,
}

impl ChangeLogs {
    /// Makes a folder what its snapshot is, or says what that would come to. It can be undone, like everything else.
    pub fn put_back_whole(
        &self,
        root: &Path,
        snapshot: &Path,
        command: &str,
        dry_run: bool,
    ) -> Result<Undone, ChangesError> {
        let failed = |error| ChangesError::Failed { id: root.display().to_string(), error };
        let facts = FileFacts::at(root).ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        let mut comparison = Comparison { root: root.to_owned(), device: facts.id.device, found: Vec::new() };
        comparison.compare(snapshot, root).map_err(failed)?;

        let roots = [root.to_owned()];
        let one = |(_, path, kind): &(PathBuf, PathBuf, ChangeKind)| FileChange {
            path: path.clone(),
            kind: *kind,
            is_folder: FileFacts::at(path).is_some_and(|facts| facts.kind == FileKind::Folder),
            former: FormerContent::Unknown,
        };
        let changes: Vec<FileChange> = comparison.found.iter().map(one).collect();
        let mut undone = Undone {
            id: command.to_owned(),
            undo: None,
            changed: list::count(&roots, &changes),
            left_alone: Vec::new(),
            failed: Vec::new(),
            steps: comparison.found.len(),
        };
        if dry_run || comparison.found.is_empty() {
            return Ok(undone);
        }

        let (id, mut recorder) = self.recorder(&roots, command).map_err(failed)?;
        let lost = comparison.put_back(&mut recorder);
        undone.undo = sum_up(&recorder, None).map(|_| id);
        let name = |path: &Path| list::name(&roots, path, false);
        undone.failed = lost.iter().map(|(path, why)| Untouched { path: name(path), why: why.clone() }).collect();
        Ok(undone)
    }
}

fn entries(folder: &Path) -> io::Result<BTreeMap<OsString, PathBuf>> {
    Ok(fs::read_dir(folder)?.flatten().map(|entry| (entry.file_name(), entry.path())).collect())
}

impl Comparison {
    fn compare(&mut self, snapshot: &Path, live: &Path) -> io::Result<()> {
        let (then, now) = (entries(snapshot)?, entries(live)?);
        for (name, path) in now.iter().filter(|(name, _)| !then.contains_key(*name)) {
            if FileFacts::at(path).is_some_and(|facts| facts.id.device == self.device) {
                self.found.push((snapshot.join(name), path.clone(), ChangeKind::Removed));
            }
        }
        for (name, before) in then {
            let path = live.join(&name);
            let Some(was) = FileFacts::at(&before) else { continue };
            match FileFacts::at(&path) {
                None => self.found.push((before, path, ChangeKind::Made)),
                // In a snapshot, the place of another subvolume is an empty folder.
                Some(is) if is.id.device != self.device => {}
                Some(is) if is.kind == FileKind::Folder && was.kind == FileKind::Folder => {
                    self.compare(&before, &path)?;
                    if !was.looks_like(&is) {
                        self.found.push((before, path, ChangeKind::Changed));
                    }
                }
                Some(is) if was.looks_like(&is) => {}
                Some(_) => self.found.push((before, path, ChangeKind::Changed)),
            }
        }
        Ok(())
    }

    fn put_back(&self, recorder: &mut Recorder) -> BTreeMap<PathBuf, String> {
        let mut failed = BTreeMap::new();
        for (before, path, kind) in &self.found {
            let done = match kind {
                ChangeKind::Removed => self.remove(path, recorder),
                ChangeKind::Made => make(before, path, recorder),
                ChangeKind::Changed => self.replace(before, path, recorder),
            };
            if let Err(error) = done {
                failed.insert(path.clone(), error.to_string());
            }
        }
        failed
    }

    fn replace(&self, before: &Path, path: &Path, recorder: &mut Recorder) -> io::Result<()> {
        let is_folder = |path: &Path| FileFacts::at(path).filter(|facts| facts.kind == FileKind::Folder);
        if let (Some(was), Some(is)) = (is_folder(before), is_folder(path)) {
            recorder.before_own(Coming::Attributes(path))?;
            return apply(path, &former(before, was), &is);
        }
        self.remove(path, recorder)?;
        make(before, path, recorder)
    }

    fn remove(&self, path: &Path, recorder: &mut Recorder) -> io::Result<()> {
        let Some(facts) = FileFacts::at(path) else { return Ok(()) };
        if facts.kind != FileKind::Folder {
            recorder.before_own(Coming::Removed(path))?;
            return fs::remove_file(path);
        }
        if facts.id.device != self.device {
            return Err(io::Error::other(format!("it is on another file system than {}", self.root.display())));
        }
        for entry in entries(path)?.into_values() {
            self.remove(&entry, recorder)?;
        }
        recorder.before_own(Coming::Removed(path))?;
        fs::remove_dir(path)
    }
}

fn former(path: &Path, facts: FileFacts) -> Former {
    Former { facts, attributes: record::attributes(path), kept: Kept::Facts }
}

fn make(before: &Path, path: &Path, recorder: &mut Recorder) -> io::Result<()> {
    let was = FileFacts::at(before).ok_or(io::ErrorKind::NotFound)?;
    recorder.before_own(Coming::Made(path))?;
    match was.kind {
        FileKind::File => return copy_whole(before, path),
        FileKind::Link => symlink(fs::read_link(before)?, path)?,
        FileKind::Special => {
            let (kind, mode) = (FileType::from_raw_mode(was.mode), Mode::from_raw_mode(was.mode));
            rustix::fs::mknodat(CWD, path, kind, mode, was.device)?;
        }
        FileKind::Folder => {
            fs::create_dir(path)?;
            for (name, inner) in entries(before)? {
                make(&inner, &path.join(name), recorder)?;
            }
        }
    }
    let is = FileFacts::at(path).ok_or(io::ErrorKind::NotFound)?;
    apply(path, &former(before, was), &is)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is in a folder: names, and what is in the files.
    fn content(folder: &Path) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for (name, path) in entries(folder).unwrap() {
            let name = name.into_string().unwrap();
            if path.is_dir() {
                all.push((format!("{name}/"), String::new()));
                all.extend(content(&path).into_iter().map(|(inner, text)| (format!("{name}/{inner}"), text)));
            } else {
                all.push((name, fs::read_to_string(&path).unwrap_or_default()));
            }
        }
        all
    }

    #[test]
    fn a_folder_becomes_what_its_snapshot_is_and_that_can_be_undone() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for (path, text) in [("then/a", "1"), ("then/in/b", "2"), ("then/kind/c", "3"), ("then/gone/d", "4")] {
            fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            fs::write(at(path), text).unwrap();
        }
        for (path, text) in [("now/a", "other"), ("now/in/b", "2"), ("now/in/new/x", "5"), ("now/kind", "a file")] {
            fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            fs::write(at(path), text).unwrap();
        }
        let (wanted, was) = (content(&at("then")), content(&at("now")));
        let logs = ChangeLogs::new(&at("state"));

        let tried = logs.put_back_whole(&at("now"), &at("then"), "back", true).unwrap();
        assert_eq!((tried.undo, content(&at("now"))), (None, was.clone()));
        let done = logs.put_back_whole(&at("now"), &at("then"), "back", false).unwrap();
        assert_eq!((done.failed, content(&at("now"))), (Vec::new(), wanted));
        logs.undo(&done.undo.unwrap(), super::super::UndoOptions::default()).unwrap();
        assert_eq!(content(&at("now")), was);
    }
}
