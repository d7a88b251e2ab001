//! A settings file on disk: read whole, replaced in one step, with its link, mode and owner kept.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use rustix::fs::{FlockOperation, Gid, Uid};

use super::format::position;

/// A settings file as it was when it was read.
pub(crate) struct SettingsFile {
    /// Where it really is: links are followed.
    target: PathBuf,
    /// Its text; `None` where there was no file.
    text: Option<String>,
}

/// Says in the place of a copy that there was no file. No settings that we edit can read like this.
const NO_FILE: &str = "there was no file before chiton setup\n";

/// What was there before us.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Copied {
    /// Nobody wrote it down.
    Nothing,
    /// There was no file.
    NoFile,
    Text(String),
}

/// How a write ended.
#[derive(PartialEq, Eq)]
pub(crate) enum WriteResult {
    Done,
    /// Somebody else wrote it meanwhile, so nothing was written.
    Changed,
}

impl SettingsFile {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        if fs::symlink_metadata(path).is_err_and(|error| is_missing(&error)) {
            return Ok(Self { target: path.to_owned(), text: None });
        }
        let target = fs::canonicalize(path).with_context(|| match fs::read_link(path) {
            Ok(end) => format!("{shown} is a link to {}, which cannot be reached", end.display()),
            Err(_) => format!("{shown} cannot be reached"),
        })?;
        ensure!(target.is_file(), "{shown} is not a file");
        let bytes = fs::read(&target).with_context(|| format!("{shown} cannot be read"))?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { target, text: Some(text) }),
            Err(error) => {
                let good = error.utf8_error().valid_up_to();
                let bytes = error.into_bytes();
                let (line, column) = position(&String::from_utf8_lossy(&bytes[..good]), good);
                bail!("{shown} is not UTF-8 text: line {line}, column {column}; nothing was changed")
            }
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Where a copy of what was there before us is kept.
    pub(crate) fn backup(&self) -> PathBuf {
        let mut name = self.target.file_name().unwrap_or_default().to_owned();
        name.push(".before-chiton");
        self.target.with_file_name(name)
    }

    /// What was there before us, as far as it was written down.
    pub(crate) fn before_us(&self) -> Result<Copied> {
        Ok(match Self::read(&self.backup())?.text {
            None => Copied::Nothing,
            Some(text) if text == NO_FILE => Copied::NoFile,
            Some(text) => Copied::Text(text),
        })
    }

    /// Keeps a copy of what is there now.
    pub(crate) fn write_backup(&self) -> Result<()> {
        self.text.as_ref().map_or(Ok(()), |text| self.keep(text))
    }

    /// The same, and where there is no file, that there was none.
    pub(crate) fn write_backup_or_mark(&self) -> Result<()> {
        self.keep(self.text.as_deref().unwrap_or(NO_FILE))
    }

    fn keep(&self, text: &str) -> Result<()> {
        let backup = self.backup();
        self.put(&backup, text).with_context(|| format!("no copy could be kept in {}", backup.display()))
    }

    /// Whether others than its owner can read it.
    pub(crate) fn is_open_to_others(&self) -> bool {
        fs::metadata(&self.target).is_ok_and(|found| found.mode() & 0o077 != 0)
    }

    /// Puts new text in its place, unless it is no longer what was read.
    pub(crate) fn replace(&self, text: &str) -> Result<WriteResult> {
        let shown = self.target.display();
        if !self.is_unchanged() {
            return Ok(WriteResult::Changed);
        }
        self.put(&self.target, text).with_context(|| format!("{shown} cannot be written; nothing was changed"))?;
        Ok(WriteResult::Done)
    }

    /// Removes it, unless it is no longer what was read.
    pub(crate) fn remove(&self) -> Result<WriteResult> {
        if !self.is_unchanged() {
            return Ok(WriteResult::Changed);
        }
        fs::remove_file(&self.target).with_context(|| format!("{} cannot be removed", self.target.display()))?;
        Ok(WriteResult::Done)
    }

    fn is_unchanged(&self) -> bool {
        match (fs::read(&self.target), &self.text) {
            (Ok(now), Some(before)) => now == before.as_bytes(),
            (Err(error), None) => is_missing(&error),
            _ => false,
        }
    }

    /// Old or new, never half: a file beside it takes its place. Mode and owner are those of the settings.
    fn put(&self, path: &Path, text: &str) -> io::Result<()> {
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".chiton-{}", std::process::id()));
        let beside = path.with_file_name(name);
        let done = self.fill(&beside, text).and_then(|()| fs::rename(&beside, path));
        if done.is_err() {
            let _ = fs::remove_file(&beside);
        }
        done
    }

    fn fill(&self, path: &Path, text: &str) -> io::Result<()> {
        // Settings may hold keys and tokens: a new file is for its owner alone.
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        if let Ok(like) = fs::metadata(&self.target) {
            keep_owner(&file, &like)?;
            file.set_permissions(Permissions::from_mode(like.mode() & 0o7777))?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }
}

fn keep_owner(file: &File, like: &fs::Metadata) -> io::Result<()> {
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
        rustix::fs::fchown(file, Some(Uid::from_raw(like.uid())), Some(Gid::from_raw(like.gid())))?;
    }
    Ok(())
}

/// Keeps other calls of setup away from the folders of these files until it is dropped. Where no lock is possible,
/// setup goes on without: it notices a change meanwhile anyway, except for an instant.
pub(crate) fn keep_others_out(paths: &[&Path]) -> Vec<File> {
    let folder = |path: &&Path| {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        fs::canonicalize(target.parent()?).ok()
    };
    // Each once, as a second lock would wait for the first; and all calls in one order, as they would wait for each other.
    let folders: BTreeSet<PathBuf> = paths.iter().filter_map(folder).collect();
    let lock = |folder: PathBuf| {
        let folder = File::open(folder).ok()?;
        rustix::fs::flock(&folder, FlockOperation::LockExclusive).ok()?;
        Some(folder)
    };
    folders.into_iter().filter_map(lock).collect()
}

fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_else_wrote_meanwhile_is_not_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("settings");
        for before in [None, Some("old")] {
            if let Some(before) = before {
                fs::write(&path, before).expect("a file");
            }
            let read = SettingsFile::read(&path).expect("a file or none");
            fs::write(&path, "theirs").expect("a file");
            assert!(read.replace("ours").expect("no error") == WriteResult::Changed);
            assert!(read.remove().expect("no error") == WriteResult::Changed);
            assert_eq!(fs::read_to_string(&path).expect("a file"), "theirs");
            fs::remove_file(&path).expect("a file");
        }
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0, "nothing is left beside it");
    }
}
