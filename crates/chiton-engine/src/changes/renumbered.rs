//! What was made anew in place of something that is gone has another number than that.
//!
//! Numbers are written down as they are given, beside the log that is being put back, so that an undoing that goes on after
//! it was interrupted knows them, and one of an earlier command too.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::record::{FileId, append, entries};
use super::store;

/// Which numbers stand for which.
#[derive(Debug)]
pub(super) struct Renumbered {
    folder: PathBuf,
    file: Option<File>,
    /// What this undoing has made.
    own: HashMap<FileId, FileId>,
    /// What others have made; read where it is needed.
    all: Option<HashMap<FileId, HashSet<FileId>>>,
}

impl Renumbered {
    /// With what an undoing of this log has made that was interrupted.
    pub(super) fn read(folder: &Path) -> Self {
        let own = entries::<(FileId, FileId)>(&store::renumbered(folder)).collect();
        Self { folder: folder.to_owned(), file: None, own, all: None }
    }

    /// Says that the one is made anew as the other.
    pub(super) fn add(&mut self, was: FileId, is: FileId) -> io::Result<()> {
        if was == is || self.own.insert(was, is) == Some(is) {
            return Ok(());
        }
        if self.file.is_none() {
            let path = store::renumbered(&self.folder);
            self.file = Some(OpenOptions::new().append(true).create(true).mode(0o600).open(path)?);
        }
        self.file.as_mut().map_or(Ok(()), |file| append(file, &(was, is)))
    }

    /// Whether something is what had this number.
    pub(super) fn is_same(&mut self, was: FileId, is: FileId) -> bool {
        was == is || self.own.get(&was) == Some(&is) || self.was_made_anew(was, is)
    }

    /// Whether it was made anew by an undoing of another log, or by several.
    fn was_made_anew(&mut self, was: FileId, is: FileId) -> bool {
        let all = self.all.get_or_insert_with(|| all_of(&self.folder));
        let (mut left, mut seen) = (vec![was], HashSet::new());
        while let Some(number) = left.pop() {
            if number == is {
                return true;
            }
            if seen.insert(number) {
                left.extend(all.get(&number).into_iter().flatten());
            }
        }
        false
    }
}

fn all_of(folder: &Path) -> HashMap<FileId, HashSet<FileId>> {
    let mut all: HashMap<FileId, HashSet<FileId>> = HashMap::new();
    let logs = folder.parent().and_then(|store| fs::read_dir(store).ok());
    for log in logs.into_iter().flatten().flatten() {
        for (was, is) in entries::<(FileId, FileId)>(&store::renumbered(&log.path())) {
            all.entry(was).or_default().insert(is);
        }
    }
    all
}
