//! A preview while its command runs: what it is to see, and where what it writes goes.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps};

use super::list;
use super::store::{self, PreviewFolder, PreviewedState, Record, Root, Time, changed_at};
use crate::bytes::ByteString;
use crate::changes;
use crate::clock;
use crate::enclosure;
use crate::enclosure::prepare::{Overlay, PreviewView};
use crate::folder::make_own;
use crate::run::{ChangedFiles, DirectoryId};
use crate::sandbox::policy::{SandboxPolicy, UndoPolicy};

/// Why something cannot be previewed.
#[derive(Debug)]
pub(crate) enum NoPreview {
    /// For this reason.
    Because(String),
    /// Something went wrong.
    Failed(io::Error),
}

impl From<io::Error> for NoPreview {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

fn because<T>(why: String) -> Result<T, NoPreview> {
    Err(NoPreview::Because(why))
}

/// A preview whose command has not ended. Dropped before that, it is forgotten.
#[derive(Debug)]
pub(crate) struct OpenPreview {
    folder: PreviewFolder,
    record: Record,
    is_kept: bool,
}

impl OpenPreview {
    /// Makes room for what a command will write, and gives the policy that holds for it and what it is to see.
    pub(crate) fn new(
        policy: &SandboxPolicy,
        state_directory: &Path,
        command: ByteString,
        directory: (PathBuf, DirectoryId),
    ) -> Result<(Self, SandboxPolicy, PreviewView), NoPreview> {
        let mut policy = enclosure::settled(policy);
        // What is written is not where it seems to be, and nothing is lost that would have to be kept.
        policy.undo = UndoPolicy::Off;
        let roots = roots(&policy)?;
        // A single file cannot be overlaid: it stays as it is.
        let can_be_seen = |path: &PathBuf| !is_previewed(&policy, path) || path.is_dir();
        policy.write = policy.write.iter().filter(|path| can_be_seen(path)).cloned().collect();
        let mounts = fs::read("/proc/self/mountinfo")?;
        roots.iter().try_for_each(|root| check(root, state_directory, &mounts))?;

        let (id, folder) = PreviewFolder::create(state_directory)?;
        let record = Record {
            id,
            command,
            directory: directory.0.clone(),
            began_ms: clock::now_ms(),
            roots: Vec::new(),
            run: None,
        };
        let mut preview = Self { folder, record, is_kept: false };
        for (number, root) in roots.iter().enumerate() {
            preview.add(root, number, state_directory)?;
        }
        preview.folder.write_record(&preview.record)?;
        let view = preview.view(&policy, directory);
        Ok((preview, policy, view))
    }

    fn add(&mut self, root: &Path, number: usize, state_directory: &Path) -> Result<(), NoPreview> {
        let Some(beside) = changes::beside(root, state_directory) else {
            return because(format!(
                "nothing can be written on the file system of {} but in that folder itself",
                root.display()
            ));
        };
        make_own(&beside)?;
        let folder = beside.join(store::FOLDER).join(&self.record.id).join(number.to_string());
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let data = fs::metadata(root)?;
        // Roots on one file system have one clock.
        let known = self.record.roots.iter().find(|root| root.id.0 == data.dev()).map(|root| root.mark);
        let mark = known.map_or_else(|| mark_in(&beside), Ok)?;
        let made = Root { path: root.to_owned(), id: (data.dev(), data.ino()), folder, mark };
        // Where the state directory seems to be on the same file system and is not.
        if fs::metadata(&made.folder)?.dev() != data.dev() {
            store::remove_whole(&made.folder)?;
            return because(format!("{} is on another file system than {}", beside.display(), root.display()));
        }
        for folder in [made.upper(), made.work()] {
            DirBuilder::new().mode(0o700).create(&folder)?;
        }
        look_like(root, &data, &made.upper())?;
        self.record.roots.push(made);
        Ok(())
    }

    fn view(&self, policy: &SandboxPolicy, directory: (PathBuf, DirectoryId)) -> PreviewView {
        let overlay = |root: &Root| Overlay { root: root.path.clone(), upper: root.upper(), work: root.work() };
        let is_overlaid = |path: &PathBuf| self.record.roots.iter().any(|root| root.path == *path);
        let private = policy.temporary.iter().filter(|path| path.is_dir() && !is_overlaid(path)).cloned();
        let own = self.record.roots.iter().filter_map(|root| root.folder.parent()?.parent()).map(Path::to_owned);
        PreviewView {
            overlays: self.record.roots.iter().map(overlay).collect(),
            private: private.collect(),
            own: own.collect(),
            directory,
        }
    }

    /// The run of its command is this one.
    pub(crate) fn runs_as(&mut self, run: &str) -> io::Result<()> {
        self.record.run = Some(run.to_owned());
        self.folder.write_record(&self.record)?;
        self.is_kept = true;
        Ok(())
    }

    pub(crate) fn id(&self) -> &str {
        &self.record.id
    }

    /// Its command has ended: what it would change. Of one that would change nothing, nothing is left, and `None` is given.
    pub(crate) fn finish(
        mut self,
        state: Option<&PreviewedState>,
        changes_state: bool,
    ) -> io::Result<Option<ChangedFiles>> {
        let found = list::look(&self.record)?;
        let files = list::files(&found)?;
        let has_steps = found.iter().any(|(_, found)| !found.is_empty());
        if !has_steps && !changes_state {
            self.is_kept = false;
            return Ok(None);
        }
        if let Some(state) = state {
            self.folder.write_state(state)?;
        }
        self.folder.write_listed(&list::listed(&files))?;
        Ok(Some(list::count(&self.record, &files)))
    }
}

impl Drop for OpenPreview {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = self.folder.remove();
            let _ = store::remove_written(&self.record);
        }
    }
}

/// Whether changes at a writable place are held back.
fn is_previewed(policy: &SandboxPolicy, path: &Path) -> bool {
    !policy.temporary.iter().any(|place| place == path) && !policy.caches.iter().any(|place| place == path)
}

/// The folders that are overlaid: every writable one that is neither for temporary files nor a cache.
fn roots(policy: &SandboxPolicy) -> Result<Vec<PathBuf>, NoPreview> {
    let mut roots: Vec<PathBuf> =
        policy.write.iter().filter(|path| is_previewed(policy, path) && path.is_dir()).cloned().collect();
    roots.sort();
    // What is in another one comes with it.
    roots.dedup_by(|inner, outer| inner.starts_with(&*outer));
    match roots.iter().find(|root| root.parent().is_none()) {
        Some(_) => because("the sandbox lets commands write everywhere".to_owned()),
        None => Ok(roots),
    }
}

/// Whether a folder can be overlaid, as far as that is known before.
fn check(root: &Path, state_directory: &Path, mounts: &[u8]) -> Result<(), NoPreview> {
    const OVERLAY: rustix::fs::FsWord = 0x794c_7630;
    let shown = root.display();
    if let Some(inside) = mounts_below(root, mounts).next() {
        return because(format!("{} is mounted inside of {shown}", inside.display()));
    }
    let state = fs::canonicalize(state_directory)?;
    if state.starts_with(root) {
        return because(format!("what Chiton keeps, {}, is inside of {shown}", state.display()));
    }
    if rustix::fs::statfs(root).map_err(io::Error::from)?.f_type == OVERLAY {
        return because(format!("{shown} is on an overlay itself, as in a container; a volume can be previewed"));
    }
    Ok(())
}

/// The places below a folder where something is mounted.
fn mounts_below<'a>(root: &'a Path, mounts: &'a [u8]) -> impl Iterator<Item = PathBuf> + 'a {
    let places = mounts.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    let places = places.map(|place| PathBuf::from(std::ffi::OsStr::from_bytes(&unescaped(place))));
    places.filter(move |place| place.starts_with(root) && place != root)
}

/// Spaces and their like are written as a backslash and three digits.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, behind @ ..] = rest {
        let digits = behind.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| *first == b'\\');
        plain.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &behind[3..] } else { behind };
    }
    plain
}

/// A time of this file system: what is changed from now on has a later one. The clock of a file system goes in steps of
/// some milliseconds, so this waits for the next one.
fn mark_in(folder: &Path) -> io::Result<Time> {
    const STEP: Duration = Duration::from_micros(500);
    const LONGEST: usize = 100;
    let path = folder.join(format!(".mark-{}", std::process::id()));
    let file = File::create(&path)?;
    let touched = || -> io::Result<Time> {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
        Ok(changed_at(&file.metadata()?))
    };
    let mark = touched();
    for _ in 0..LONGEST {
        if touched()? > *mark.as_ref().unwrap_or(&(0, 0)) {
            break;
        }
        std::thread::sleep(STEP);
    }
    fs::remove_file(path)?;
    mark
}

/// Gives the folder that stands for a root the looks of that: an overlay shows them.
fn look_like(root: &Path, data: &fs::Metadata, upper: &Path) -> io::Result<()> {
    // A folder of another user is ours in there; nobody but root could make it theirs.
    let owner = (rustix::fs::Uid::from_raw(data.uid()), rustix::fs::Gid::from_raw(data.gid()));
    let _ = rustix::fs::chown(upper, Some(owner.0), Some(owner.1));
    changes::set_attributes(upper, &changes::attributes(root));
    fs::set_permissions(upper, data.permissions())?;
    let time = |tv_sec, tv_nsec| Timespec { tv_sec, tv_nsec };
    let times = Timestamps {
        last_access: time(data.atime(), data.atime_nsec()),
        last_modification: time(data.mtime(), data.mtime_nsec()),
    };
    Ok(rustix::fs::utimensat(CWD, upper, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mounted_inside_is_found_by_its_real_name() {
        let table = b"1 0 8:1 / / rw - ext4 /dev/x rw\n2 1 8:1 / /w rw - ext4 /dev/x rw\n3 2 0:9 / /w/a\\040b rw - tmpfs t rw\n4 1 0:9 / /wide rw - tmpfs t rw\n";
        let found: Vec<PathBuf> = mounts_below(Path::new("/w"), table).collect();
        assert_eq!(found, [PathBuf::from("/w/a b")]);
    }
}
