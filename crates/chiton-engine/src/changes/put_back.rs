//! Undoing: what a log says was there is there again.
//!
//! 1. [`plan`] finds out what others have changed since: what is not as the command left it. Those files are left alone.
//! 2. [`UndoPlan::put_back`] goes through the log from its end, so that before each step everything is as it was right after
//!    that change. Each step is done in such a way that doing it twice does no harm, and how far it has come is written down
//!    behind each: whoever is killed meanwhile is continued.
//! 3. What undoing changes is written down in a log of its own, by which it can be undone again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, RenameFlags};

use super::conflicts::Conflicts;
use super::files::{apply, copy_content, copy_whole, has_content, open_to_write};
use super::record::{FileFacts, FileId, FileKind, Former, Kept, LogReader, Step, as_path};
use super::recorder::{Coming, Recorder};
use super::renumbered::Renumbered;
use super::store;

/// What undoing a command comes to.
#[derive(Debug)]
pub(super) struct UndoPlan {
    folder: PathBuf,
    steps: Vec<Step>,
    /// What others have changed since.
    pub(super) conflicts: Conflicts,
    /// How many steps have been done, from the end, by somebody who was killed.
    done: usize,
}

/// What could not be put back, and why.
pub(super) type Failed = BTreeMap<PathBuf, String>;

/// Looks at what undoing would come to. Of an undoing that was begun, what is left alone was settled then.
pub(super) fn plan(folder: &Path, find: impl FnOnce(&[Step]) -> io::Result<Conflicts>) -> io::Result<UndoPlan> {
    let (_, steps) = LogReader::open(&store::log(folder))?;
    let steps: Vec<Step> = steps.collect();
    let progress = fs::read(store::progress(folder)).ok().and_then(|bytes| bytes.try_into().ok());
    let done = progress.map_or(0, |bytes| usize::try_from(u64::from_le_bytes(bytes)).unwrap_or(usize::MAX));
    let conflicts = find(&steps)?;
    Ok(UndoPlan { folder: folder.to_owned(), done: done.min(steps.len()), steps, conflicts })
}

impl UndoPlan {
    /// How many steps there are.
    pub(super) fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Does it. `stop_after` is how many steps are done at most, for whoever wants to see what happens then.
    pub(super) fn put_back(&self, recorder: &mut Recorder, stop_after: Option<usize>) -> io::Result<Failed> {
        let mut putting = Putting {
            recorder,
            folder: &self.folder,
            conflicts: &self.conflicts,
            renumbered: Renumbered::read(&self.folder),
            names: names(&self.steps),
        };
        let mut failed = Failed::new();
        let mut options = OpenOptions::new();
        let progress =
            options.write(true).create(true).truncate(false).mode(0o600).open(store::progress(&self.folder))?;
        let left = self.steps.iter().rev().enumerate().skip(self.done);
        for (count, (place, step)) in left.enumerate() {
            if stop_after == Some(count) {
                return Err(io::Error::other("it was stopped in the middle, as it was asked to be"));
            }
            if !step.paths().any(|path| self.conflicts.has(&path))
                && let Err(error) = putting.undo(step)
                && let Some(path) = step.paths().next()
            {
                if let Some((_, why)) = putting.recorder.failed() {
                    // It can be gone on with, once there is room.
                    return Err(io::Error::other(why.to_owned()));
                }
                failed.insert(path, error.to_string());
            }
            progress.write_all_at(&(place as u64 + 1).to_le_bytes(), 0)?;
        }
        Ok(failed)
    }
}

struct Putting<'a> {
    recorder: &'a mut Recorder,
    folder: &'a Path,
    conflicts: &'a Conflicts,
    renumbered: Renumbered,
    /// The names that the log knows of files that had several.
    names: HashMap<FileId, BTreeSet<PathBuf>>,
}

fn names(steps: &[Step]) -> HashMap<FileId, BTreeSet<PathBuf>> {
    let mut names: HashMap<FileId, BTreeSet<PathBuf>> = HashMap::new();
    let mut add = |path: PathBuf, facts: &FileFacts| {
        if facts.links > 1 && facts.kind != FileKind::Folder {
            names.entry(facts.id).or_default().insert(path);
        }
    };
    for step in steps {
        match step {
            Step::Absent { .. } => {}
            Step::Gone { at, was } | Step::Written { at, was } | Step::Attributes { at, was } => {
                add(as_path(at), &was.facts);
            }
            Step::Moved { from, was, .. } => add(as_path(from), was),
            Step::Exchanged { one, other, first, second } => {
                add(as_path(one), first);
                add(as_path(other), second);
            }
        }
    }
    names
}

impl Putting<'_> {
    fn undo(&mut self, step: &Step) -> io::Result<()> {
        match step {
            Step::Absent { at } => self.remove(&as_path(at)),
            Step::Gone { at, was } => self.restore(&as_path(at), was),
            Step::Written { at, was } => self.write_back(&as_path(at), was),
            Step::Attributes { at, was } => self.set_attributes(&as_path(at), was),
            Step::Moved { from, to, was } => self.move_back(&as_path(from), &as_path(to), was),
            Step::Exchanged { one, other, first, second } => {
                self.exchange(&as_path(one), &as_path(other), (first, second))
            }
        }
    }

    /// Whether this is at a path, or what was made in its place.
    fn is_at(&mut self, path: &Path, was: &FileFacts) -> bool {
        let Some(is) = FileFacts::at(path).filter(|is| is.kind == was.kind) else { return false };
        self.renumbered.is_same(was.id, is.id)
    }

    /// Writes down what is there. What is in the store of this log is a file that has lost a name.
    fn before(&mut self, coming: Coming<'_>) -> io::Result<()> {
        let coming = match coming {
            Coming::Opened { path, .. } | Coming::Attributes(path) if path.starts_with(self.folder) => {
                Coming::Unnamed(path)
            }
            other => other,
        };
        self.recorder.before_own(coming)
    }

    /// Removes what the command made, with everything in it but for what others have changed.
    fn remove(&mut self, path: &Path) -> io::Result<()> {
        let Some(facts) = FileFacts::at(path).filter(|_| !self.conflicts.has(path)) else { return Ok(()) };
        if facts.kind != FileKind::Folder {
            self.before(Coming::Removed(path))?;
            return fs::remove_file(path);
        }
        let entries: Vec<PathBuf> = fs::read_dir(path)?.flatten().map(|entry| entry.path()).collect();
        for entry in entries {
            self.remove(&entry)?;
        }
        if self.conflicts.is_above(path) {
            return Ok(());
        }
        self.before(Coming::Removed(path))?;
        fs::remove_dir(path)
    }

    fn restore(&mut self, path: &Path, was: &Former) -> io::Result<()> {
        let is = FileFacts::at(path);
        let is_it = self.is_at(path, &was.facts);
        if let Some(is) = is.filter(|is| is_it || is.kind == FileKind::Folder && is.kind == was.facts.kind) {
            // It was not removed after all, or is back already. A folder that was made anew may have been all that was done.
            self.renumbered.add(was.facts.id, is.id)?;
            return match was.kept {
                Kept::Copy(_) => self.write_back(path, was),
                _ => self.set_attributes(path, was),
            };
        }
        if let Kept::Nothing(why) = &was.kept {
            return Err(io::Error::other(format!("it was not kept: {why}")));
        }
        // Only what the command made can be there: everything else was found before.
        self.remove(path)?;
        self.before(Coming::Made(path))?;
        self.make(path, was)?;
        let Some(is) = FileFacts::at(path) else { return Ok(()) };
        self.renumbered.add(was.facts.id, is.id)?;
        // What is linked to again may have been changed by somebody who had it open, or by another name that it has.
        self.set_attributes(path, was)
    }

    fn make(&mut self, path: &Path, was: &Former) -> io::Result<()> {
        if self.link_to_other_name(path, was) {
            return Ok(());
        }
        match (&was.kept, was.facts.kind) {
            (Kept::Itself(number), _) => {
                let kept = store::kept(self.folder, *number);
                rustix::fs::linkat(CWD, &kept, CWD, path, AtFlags::empty()).or_else(|_| copy_whole(&kept, path))
            }
            (Kept::Copy(number), _) => copy_whole(&store::kept(self.folder, *number), path),
            (Kept::Target(target), _) => symlink(OsStr::from_bytes(target), path),
            (_, FileKind::Folder) => fs::create_dir(path),
            (_, FileKind::File) => OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map(drop),
            _ => {
                let kind = FileType::from_raw_mode(was.facts.mode);
                let mode = Mode::from_raw_mode(was.facts.mode);
                Ok(rustix::fs::mknodat(CWD, path, kind, mode, was.facts.device)?)
            }
        }
    }

    /// Several names of one file are so again, also where it had to be made anew.
    fn link_to_other_name(&mut self, path: &Path, was: &Former) -> bool {
        if matches!(was.kept, Kept::Itself(_)) {
            return false;
        }
        let others = self.names.get(&was.facts.id).cloned().unwrap_or_default();
        others.iter().any(|other| {
            self.is_at(other, &was.facts) && rustix::fs::linkat(CWD, other, CWD, path, AtFlags::empty()).is_ok()
        })
    }

    fn write_back(&mut self, path: &Path, was: &Former) -> io::Result<()> {
        let Some(is) = FileFacts::at(path).filter(|is| is.kind == FileKind::File) else { return Ok(()) };
        let kept = match &was.kept {
            // It was opened to be written to, and nobody wrote, as far as can be told.
            _ if is.id == was.facts.id && is.changed == was.facts.changed => return self.set_attributes(path, was),
            Kept::Nothing(_) if is.id == was.facts.id && is.looks_like(&was.facts) => {
                return self.set_attributes(path, was);
            }
            Kept::Nothing(why) => return Err(io::Error::other(format!("its content was not kept: {why}"))),
            Kept::Copy(number) => Some(File::open(store::kept(self.folder, *number))?),
            _ => None,
        };
        let is_same = is.bytes == was.facts.bytes
            && match &kept {
                Some(kept) => has_content(path, kept).unwrap_or(false),
                None => is.bytes == 0,
            };
        if is_same {
            return self.set_attributes(path, was);
        }
        self.before(Coming::Opened { path, makes: false, writes: true })?;
        let file = open_to_write(path)?;
        match kept {
            Some(kept) if rustix::fs::ioctl_ficlone(&file, &kept).is_ok() => {
                rustix::fs::ftruncate(&file, was.facts.bytes)?;
            }
            Some(kept) => {
                // Where the copy has holes, the file must not have anything.
                rustix::fs::ftruncate(&file, 0)?;
                copy_content(&kept, &file, was.facts.bytes)?;
            }
            None => rustix::fs::ftruncate(&file, was.facts.bytes)?,
        }
        drop(file);
        self.set_attributes(path, was)
    }

    fn set_attributes(&mut self, path: &Path, was: &Former) -> io::Result<()> {
        let Some(is) = FileFacts::at(path).filter(|is| is.kind == was.facts.kind) else { return Ok(()) };
        self.before(Coming::Attributes(path))?;
        apply(path, was, &is)
    }

    fn move_back(&mut self, from: &Path, to: &Path, was: &FileFacts) -> io::Result<()> {
        if !self.is_at(to, was) {
            // It never got there, or is back already.
            return Ok(());
        }
        self.remove(from)?;
        self.before(Coming::Moved { from: to, to: from })?;
        fs::rename(to, from)
    }

    fn exchange(&mut self, one: &Path, other: &Path, (first, second): (&FileFacts, &FileFacts)) -> io::Result<()> {
        let (is_first, is_second) = (self.is_at(other, first), self.is_at(one, second));
        if !is_first && !is_second {
            // They never changed places, or are back already.
            return Ok(());
        }
        // One of the two was the command's own, which nobody keeps.
        if !is_first && FileFacts::at(other).is_none() {
            self.before(Coming::Moved { from: one, to: other })?;
            return fs::rename(one, other);
        }
        if !is_second && FileFacts::at(one).is_none() {
            self.before(Coming::Moved { from: other, to: one })?;
            return fs::rename(other, one);
        }
        self.before(Coming::Exchanged { one, other })?;
        Ok(rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
    }
}
