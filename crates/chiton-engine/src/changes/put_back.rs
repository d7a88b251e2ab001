//! Undoing: what a log says was there is there again.
//!
//! 1. [`plan`] finds out what others have changed since: what is not as the command left it. Those files are left alone.
//! 2. [`put_back`] goes through the log from its end. Each step is done in such a way that doing it twice does no harm,
//!    and how far it has come is written down behind each: whoever is killed meanwhile is continued.
//! 3. What undoing changes is written down in a log of its own, by which it can be undone again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, RenameFlags, Timespec, Timestamps, Uid};

use super::list::{self, Changes};
use super::record::{self, FileFacts, FileId, FileKind, Former, Kept, LogReader, Step, as_path};
use super::recorder::{Coming, Recorder, copy_content};
use super::store;

/// What undoing a command comes to.
#[derive(Debug)]
pub(super) struct UndoPlan {
    folder: PathBuf,
    steps: Vec<Step>,
    /// What others have changed since, and why that is known.
    pub(super) conflicts: BTreeMap<PathBuf, String>,
    /// How many steps have been done, from the end, by somebody who was killed.
    done: usize,
}

/// What came of undoing.
#[derive(Debug, Default)]
pub(super) struct PutBack {
    /// What could not be put back, and why.
    pub(super) failed: Vec<(PathBuf, String)>,
}

/// Looks at what undoing would come to. With `force`, what others have changed is put back as well.
pub(super) fn plan(folder: &Path, force: bool) -> io::Result<UndoPlan> {
    let (_, steps) = LogReader::open(&store::log(folder))?;
    let steps: Vec<Step> = steps.collect();
    let done =
        fs::read(store::progress(folder)).ok().and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
    let done = usize::try_from(done).unwrap_or(usize::MAX).min(steps.len());
    // Once it has begun, what is there is half of what it will be.
    let conflicts = if force || done > 0 { BTreeMap::new() } else { conflicts(folder)? };
    Ok(UndoPlan { folder: folder.to_owned(), steps, conflicts, done })
}

fn conflicts(folder: &Path) -> io::Result<BTreeMap<PathBuf, String>> {
    let changes = Changes::read(folder)?;
    let now = changes.now();
    let Some(after) = list::read_after(folder) else { return Ok(newer_than_log(folder, &now)) };
    let mut found = BTreeMap::new();
    for (path, left) in &after {
        let why = match (left, now.get(path).cloned().unwrap_or_else(|| FileFacts::at(path))) {
            (None, None) => continue,
            (Some(left), Some(is)) if left.looks_like(&is) => continue,
            (None, Some(_)) => "it was made since",
            (Some(_), None) => "it was removed since",
            (Some(_), Some(_)) => "it was changed since",
        };
        found.insert(path.clone(), why.to_owned());
    }
    for path in now.keys().filter(|path| !after.contains_key(*path) && now[*path].is_some()) {
        found.insert(path.clone(), "it was made since".to_owned());
    }
    Ok(found)
}

/// Where nobody wrote down what was there at the end: what is newer than the log.
fn newer_than_log(folder: &Path, now: &BTreeMap<PathBuf, Option<FileFacts>>) -> BTreeMap<PathBuf, String> {
    use std::os::unix::fs::MetadataExt;

    let Ok(end) = fs::metadata(store::log(folder)).map(|log| log.mtime()) else { return BTreeMap::new() };
    let is_newer = |facts: &&FileFacts| facts.kind != FileKind::Folder && facts.modified.0 > end + 1;
    let newer = now.iter().filter(|(_, facts)| facts.as_ref().is_some_and(|facts| is_newer(&facts)));
    newer.map(|(path, _)| (path.clone(), "it was changed after the command".to_owned())).collect()
}

impl UndoPlan {
    /// The paths that will be touched, but for those that are left alone.
    pub(super) fn touched(&self) -> BTreeSet<PathBuf> {
        let paths = self.steps.iter().flat_map(Step::paths);
        paths.filter(|path| !self.is_left_alone(path)).collect()
    }

    fn is_left_alone(&self, path: &Path) -> bool {
        !self.conflicts.is_empty() && path.ancestors().any(|above| self.conflicts.contains_key(above))
    }

    /// Does it. `stop_after` is how many steps are done at most, for whoever wants to see what happens then.
    pub(super) fn put_back(&self, recorder: &mut Recorder, stop_after: Option<usize>) -> io::Result<PutBack> {
        let mut putting =
            Putting { recorder, folder: &self.folder, renumbered: HashMap::new(), result: PutBack::default() };
        let progress = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(store::progress(&self.folder))?;
        let left = self.steps.iter().rev().enumerate().skip(self.done);
        for (count, (place, step)) in left.enumerate() {
            if stop_after == Some(count) {
                return Err(io::Error::other("stopped"));
            }
            if !step.paths().any(|path| self.is_left_alone(&path))
                && let Err(error) = putting.undo(step)
                && let Some(path) = step.paths().next()
            {
                putting.result.failed.push((path, error.to_string()));
            }
            progress.write_all_at(&(place as u64 + 1).to_le_bytes(), 0)?;
        }
        Ok(putting.result)
    }
}

struct Putting<'a> {
    recorder: &'a mut Recorder,
    folder: &'a Path,
    /// What had to be made anew, by the numbers of what it stands for.
    renumbered: HashMap<FileId, FileId>,
    result: PutBack,
}

impl Putting<'_> {
    fn undo(&mut self, step: &Step) -> io::Result<()> {
        match step {
            Step::Absent { at } => self.remove(&as_path(at)),
            Step::Gone { at, was } => self.restore(&as_path(at), was),
            Step::Written { at, was } => self.write_back(&as_path(at), was),
            Step::Attributes { at, was } => self.set_attributes(&as_path(at), was),
            Step::Moved { from, to, was } => self.move_back(&as_path(from), &as_path(to), was),
            Step::Exchanged { one, other, first } => self.exchange(&as_path(one), &as_path(other), *first),
        }
    }

    /// Whether this is at a path, or what was made in its place.
    fn is_at(&self, path: &Path, was: &FileFacts) -> bool {
        let wanted = self.renumbered.get(&was.id).copied().unwrap_or(was.id);
        FileFacts::at(path).is_some_and(|is| is.kind == was.kind && is.id == wanted)
    }

    /// Removes what the command made, with everything in it.
    fn remove(&mut self, path: &Path) -> io::Result<()> {
        let Some(facts) = FileFacts::at(path) else { return Ok(()) };
        if facts.kind != FileKind::Folder {
            self.recorder.before(Coming::Removed(path));
            return fs::remove_file(path);
        }
        let entries: Vec<PathBuf> = fs::read_dir(path)?.flatten().map(|entry| entry.path()).collect();
        for entry in entries {
            self.remove(&entry)?;
        }
        self.recorder.before(Coming::Removed(path));
        fs::remove_dir(path)
    }

    fn restore(&mut self, path: &Path, was: &Former) -> io::Result<()> {
        if self.is_at(path, &was.facts) {
            return Ok(());
        }
        if let Kept::Nothing(why) = &was.kept {
            return Err(io::Error::other(format!("it was not kept: {why}")));
        }
        // Only what the command made can be there: everything else was found before.
        self.remove(path)?;
        self.recorder.before(Coming::Made(path));
        match (&was.kept, was.facts.kind) {
            (Kept::Itself(number), _) => {
                let kept = store::kept(self.folder, *number);
                rustix::fs::linkat(CWD, &kept, CWD, path, AtFlags::empty()).or_else(|_| copy_whole(&kept, path))?;
            }
            (Kept::Copy(number), _) => copy_whole(&store::kept(self.folder, *number), path)?,
            (Kept::Target(target), _) => symlink(OsStr::from_bytes(target), path)?,
            (_, FileKind::Folder) => fs::create_dir(path)?,
            (_, FileKind::File) => drop(OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?),
            _ => {
                let kind = FileType::from_raw_mode(was.facts.mode);
                rustix::fs::mknodat(CWD, path, kind, Mode::from_raw_mode(was.facts.mode), was.facts.device)?;
            }
        }
        let Some(is) = FileFacts::at(path) else { return Ok(()) };
        if is.id != was.facts.id {
            self.renumbered.insert(was.facts.id, is.id);
            apply(path, was, &is)?;
        }
        Ok(())
    }

    fn write_back(&mut self, path: &Path, was: &Former) -> io::Result<()> {
        if !self.is_at(path, &was.facts) {
            return Ok(());
        }
        let kept = match &was.kept {
            Kept::Nothing(why) => return Err(io::Error::other(format!("its content was not kept: {why}"))),
            Kept::Copy(number) => Some(File::open(store::kept(self.folder, *number))?),
            _ => None,
        };
        self.recorder.before(Coming::Opened { path, makes: false });
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
        if !self.is_at(to, was) {
            // It never got there, or is back already.
            return Ok(());
        }
        self.remove(from)?;
        self.recorder.before(Coming::Moved { from: to, to: from });
        fs::rename(to, from)
    }

    fn exchange(&mut self, one: &Path, other: &Path, first: FileId) -> io::Result<()> {
        let first = self.renumbered.get(&first).copied().unwrap_or(first);
        if FileFacts::at(other).is_none_or(|is| is.id != first) {
            // They never changed places, or are back already.
            return Ok(());
        }
        self.recorder.before(Coming::Exchanged { one, other });
        Ok(rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
    }
}

/// Opens a file that its owner may have made read-only.
fn open_to_write(path: &Path) -> io::Result<File> {
    let open = || OpenOptions::new().write(true).custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(path);
    open().or_else(|error| {
        let mode = fs::symlink_metadata(path)?.permissions().mode();
        fs::set_permissions(path, fs::Permissions::from_mode(mode | 0o200)).map_err(|_| error)?;
        open()
    })
}

fn copy_whole(kept: &Path, path: &Path) -> io::Result<()> {
    let data = fs::symlink_metadata(kept)?;
    if data.file_type().is_symlink() {
        return symlink(fs::read_link(kept)?, path);
    }
    let from = File::open(kept)?;
    let to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    copy_content(&from, &to, data.len())?;
    let former = Former {
        facts: FileFacts::at(kept).ok_or(io::ErrorKind::NotFound)?,
        attributes: record::attributes(kept),
        kept: Kept::Facts,
    };
    drop(to);
    FileFacts::at(path).map_or(Ok(()), |is| apply(path, &former, &is))
}

/// Gives what is at a path the owner, the mode, the attributes and the times of what was there.
fn apply(path: &Path, was: &Former, is: &FileFacts) -> io::Result<()> {
    let wanted = &was.facts;
    let is_link = wanted.kind == FileKind::Link;
    if (is.user, is.group) != (wanted.user, wanted.group) {
        let (user, group) = (Uid::from_raw(wanted.user), Gid::from_raw(wanted.group));
        rustix::fs::chownat(CWD, path, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)?;
    }
    if !list::has_attributes(path, &was.attributes) {
        record::set_attributes(path, &was.attributes);
    }
    // Behind the others: a new owner takes bits of it away.
    if !is_link && FileFacts::at(path).is_some_and(|now| now.mode != wanted.mode) {
        rustix::fs::chmod(path, Mode::from_raw_mode(wanted.mode))?;
    }
    let time = |(seconds, nanoseconds): (i64, u32)| Timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() };
    let times = Timestamps { last_access: time(wanted.accessed), last_modification: time(wanted.modified) };
    Ok(rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}
