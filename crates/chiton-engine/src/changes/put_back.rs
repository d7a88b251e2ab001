//! Undoing: what a log says was there is there again.
//!
//! 1. [`plan`] finds out what others have changed since: what is not as the command left it. Those files are left alone.
//! 2. [`UndoPlan::put_back`] goes through the log from its end, so that before each step everything is as it was right after
//!    that change. Each step is done in such a way that doing it twice does no harm, and how far it has come is written down
//!    behind each: whoever is killed meanwhile is continued.
//! 3. What undoing changes is written down in a log of its own, by which it can be undone again.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, RenameFlags};

use super::conflicts::Conflicts;
use super::files::{apply, copy_content, copy_whole, open_to_write};
use super::record::{FileFacts, FileId, FileKind, Former, Kept, LogReader, Step, as_path};
use super::recorder::{Coming, Recorder};
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
        let mut putting =
            Putting { recorder, folder: &self.folder, conflicts: &self.conflicts, renumbered: HashMap::new() };
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
    /// What had to be made anew, by the numbers of what it stands for.
    renumbered: HashMap<FileId, FileId>,
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
    fn is_at(&self, path: &Path, was: &FileFacts) -> bool {
        let wanted = self.renumbered.get(&was.id).copied().unwrap_or(was.id);
        FileFacts::at(path).is_some_and(|is| is.kind == was.kind && is.id == wanted)
    }

    /// Removes what the command made, with everything in it but for what others have changed.
    fn remove(&mut self, path: &Path) -> io::Result<()> {
        let Some(facts) = FileFacts::at(path).filter(|_| !self.conflicts.has(path)) else { return Ok(()) };
        if facts.kind != FileKind::Folder {
            self.recorder.before(Coming::Removed(path));
            return fs::remove_file(path);
        }
        let entries: Vec<PathBuf> = fs::read_dir(path)?.flatten().map(|entry| entry.path()).collect();
        for entry in entries {
            self.remove(&entry)?;
        }
        if self.conflicts.is_above(path) {
            return Ok(());
        }
        self.recorder.before(Coming::Removed(path));
        fs::remove_dir(path)
    }

    fn restore(&mut self, path: &Path, was: &Former) -> io::Result<()> {
        if self.is_at(path, &was.facts) {
            return Ok(());
        }
        let is = FileFacts::at(path);
        if let Some(is) = is.as_ref().filter(|is| is.kind == FileKind::Folder && is.kind == was.facts.kind) {
            // It was not removed after all, since something was in it by then.
            return apply(path, was, is);
        }
        if let Kept::Nothing(why) = &was.kept {
            return Err(io::Error::other(format!("it was not kept: {why}")));
        }
        // Only what the command made can be there: everything else was found before.
        self.remove(path)?;
        self.recorder.before(Coming::Made(path));
        self.make(path, was)?;
        let Some(is) = FileFacts::at(path) else { return Ok(()) };
        if is.id != was.facts.id {
            self.renumbered.insert(was.facts.id, is.id);
            apply(path, was, &is)?;
        }
        Ok(())
    }

    fn make(&self, path: &Path, was: &Former) -> io::Result<()> {
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

    fn write_back(&mut self, path: &Path, was: &Former) -> io::Result<()> {
        let Some(is) = FileFacts::at(path).filter(|is| is.kind == FileKind::File) else { return Ok(()) };
        // It was opened to be written to, and nobody wrote.
        if is.id == was.facts.id && is.looks_like(&was.facts) {
            return self.set_attributes(path, was);
        }
        let kept = match &was.kept {
            Kept::Nothing(why) => return Err(io::Error::other(format!("its content was not kept: {why}"))),
            Kept::Copy(number) => Some(File::open(store::kept(self.folder, *number))?),
            _ => None,
        };
        self.recorder.before(Coming::Opened { path, makes: false, writes: true });
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
        self.recorder.before(Coming::Attributes(path));
        apply(path, was, &is)
    }

    fn move_back(&mut self, from: &Path, to: &Path, was: &FileFacts) -> io::Result<()> {
        // What an undoing of something later has made anew has another number; where nothing is at the old place, it is it.
        let is_it = self.is_at(to, was)
            || FileFacts::at(from).is_none() && FileFacts::at(to).is_some_and(|is| is.kind == was.kind);
        if !is_it {
            // It never got there, or is back already.
            return Ok(());
        }
        self.remove(from)?;
        self.recorder.before(Coming::Moved { from: to, to: from });
        fs::rename(to, from)
    }

    fn exchange(&mut self, one: &Path, other: &Path, (first, second): (&FileFacts, &FileFacts)) -> io::Result<()> {
        if !self.is_at(other, first) && !self.is_at(one, second) {
            // They never changed places, or are back already.
            return Ok(());
        }
        self.recorder.before(Coming::Exchanged { one, other });
        Ok(rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
    }
}
