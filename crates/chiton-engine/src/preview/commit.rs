//! Making a preview real.
//!
//! 1. [`plan`] writes down every step, before the first one is taken.
//! 2. [`carry_out`] takes them in order. Each can be taken twice without harm, and how far it has come is written down
//!    behind each: whoever is killed meanwhile is continued.
//! 3. What it changes is written down in a log, as what a command changes is: it can be undone, also half-way.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, ResolveFlags, Timespec, Timestamps, Uid};
use serde::{Deserialize, Serialize};

use super::store::{PreviewFolder, Root, Time};
use super::walk::{Found, attributes, clean, is_closed, names, written_names};
use crate::bytes::{ByteString, path_as_bytes};
use crate::changes::{self, Coming, Recorder};
use crate::run::DirectoryId;

/// One step towards the tree that the preview showed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Step {
    /// This goes, if it is still there.
    Remove {
        #[serde(with = "path_as_bytes")]
        at: PathBuf,
        id: DirectoryId,
    },
    /// This comes, unless it has come already.
    Put {
        #[serde(with = "path_as_bytes")]
        from: PathBuf,
        #[serde(with = "path_as_bytes")]
        at: PathBuf,
    },
    /// This gets its mode, owner, attributes and times.
    Settle {
        #[serde(with = "path_as_bytes")]
        at: PathBuf,
        looks: Looks,
    },
}

/// Everything about a file that is not its content.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Looks {
    mode: u32,
    owner: (u32, u32),
    attributes: Vec<(ByteString, ByteString)>,
    accessed: Time,
    /// `None` where others have been there, too: then it was changed just now.
    modified: Option<Time>,
}

impl Looks {
    fn of(path: &Path, data: &fs::Metadata) -> Self {
        Self {
            mode: data.mode() & 0o7777,
            owner: (data.uid(), data.gid()),
            attributes: attributes(path),
            accessed: (data.atime(), data.atime_nsec()),
            modified: Some((data.mtime(), data.mtime_nsec())),
        }
    }
}

/// The steps that make a preview real.
pub(super) fn plan(found: &[(Root, Vec<Found>)]) -> io::Result<Vec<Step>> {
    let (mut steps, mut last) = (Vec::new(), Vec::new());
    for (root, found) in found {
        for found in found {
            match found {
                Found::Removed { at, was } => {
                    steps.push(Step::Remove { at: at.clone(), id: (was.dev(), was.ino()) });
                }
                Found::Put { at, from, is, .. } => {
                    steps.push(Step::Put { from: from.clone(), at: at.clone() });
                    settle_closed(at, from, is, &mut last)?;
                }
                Found::Folder { at, from, is, was, .. } => {
                    let mut looks = Looks::of(from, is);
                    if (was.mtime(), was.mtime_nsec()) > root.mark {
                        looks.modified = None;
                    }
                    last.push(Step::Settle { at: at.clone(), looks });
                }
                Found::Gone { .. } => {}
            }
        }
    }
    // What is in a folder changes its time, so folders come last, each after those in it.
    steps.append(&mut last);
    Ok(steps)
}

/// What is closed to its owner has to be opened to be put into place, and so is closed again.
fn settle_closed(at: &Path, from: &Path, is: &fs::Metadata, steps: &mut Vec<Step>) -> io::Result<()> {
    if is.is_dir() {
        for name in written_names(from, is)? {
            if let Ok(inside) = fs::symlink_metadata(from.join(&name)) {
                settle_closed(&at.join(&name), &from.join(&name), &inside, steps)?;
            }
        }
    }
    if is_closed(is) {
        steps.push(Step::Settle { at: at.to_owned(), looks: Looks::of(from, is) });
    }
    Ok(())
}

/// How many steps have been taken.
pub(super) fn progress(folder: &PreviewFolder) -> usize {
    let bytes = fs::read(folder.progress()).ok().and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, |bytes| usize::try_from(u64::from_le_bytes(bytes)).unwrap_or(usize::MAX))
}

/// Takes the steps that are left. `stop_after` is how many are taken at most, for whoever wants to see what happens then.
pub(super) fn carry_out(
    folder: &PreviewFolder,
    steps: &[Step],
    roots: &[Root],
    recorder: &mut Recorder,
    stop_after: Option<usize>,
) -> io::Result<()> {
    let progress_file =
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(folder.progress())?;
    for (count, (place, step)) in steps.iter().enumerate().skip(progress(folder)).enumerate() {
        if stop_after == Some(count) {
            return Err(io::Error::other("stopped"));
        }
        let mut taking = Taking { recorder, roots };
        let explain = |error: io::Error| {
            let path = step.path().display();
            io::Error::other(format!("{path}: {error}"))
        };
        taking.take(step).map_err(explain)?;
        progress_file.write_all_at(&(place as u64 + 1).to_le_bytes(), 0)?;
    }
    Ok(())
}

impl Step {
    fn path(&self) -> &Path {
        let (Self::Remove { at, .. } | Self::Put { at, .. } | Self::Settle { at, .. }) = self;
        at
    }
}

struct Taking<'a> {
    recorder: &'a mut Recorder,
    roots: &'a [Root],
}

impl Taking<'_> {
    fn take(&mut self, step: &Step) -> io::Result<()> {
        match step {
            Step::Remove { at, id } => self.remove(at, *id),
            Step::Put { from, at } => self.put(from, at),
            Step::Settle { at, looks } => self.settle(at, looks),
        }
    }

    fn remove(&mut self, at: &Path, id: DirectoryId) -> io::Result<()> {
        let Ok(data) = fs::symlink_metadata(at) else { return Ok(()) };
        if (data.dev(), data.ino()) != id {
            // It is gone, and what is to come is there.
            return Ok(());
        }
        let (folder, name) = self.open_parent(at)?;
        self.recorder.before_own(Coming::Removed(at))?;
        let flags = if data.is_dir() { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        Ok(rustix::fs::unlinkat(&folder, name, flags)?)
    }

    fn put(&mut self, from: &Path, at: &Path) -> io::Result<()> {
        if fs::symlink_metadata(from).is_err() {
            // It has come already.
            return Ok(());
        }
        clean(from)?;
        let (folder, name) = self.open_parent(at)?;
        match fs::symlink_metadata(at) {
            Ok(_) => self.recorder.before_own(Coming::Removed(at))?,
            Err(_) => self.recorder.before_own(Coming::Made(at))?,
        }
        match rustix::fs::renameat(CWD, from, &folder, name) {
            Err(rustix::io::Errno::XDEV) => {
                // The same file system, mounted twice: renamed within the mount that it has to be in.
                let beside = format!(".chiton-{}.new", std::process::id());
                let near = at.with_file_name(&beside);
                super::store::remove_whole(&near)?;
                copy(from, &near)?;
                rustix::fs::renameat(&folder, beside, &folder, name)?;
                super::store::remove_whole(from)
            }
            renamed => Ok(renamed?),
        }
    }

    fn settle(&mut self, at: &Path, looks: &Looks) -> io::Result<()> {
        let Ok(data) = fs::symlink_metadata(at) else { return Ok(()) };
        // A link in its place is somebody else's.
        if !(data.is_dir() || data.is_file()) {
            return Ok(());
        }
        self.recorder.before_own(Coming::Attributes(at))?;
        apply(at, looks)
    }

    /// The folder in which something is to change, which is reached without following any link: nobody can lead us elsewhere
    /// meanwhile. It is opened to its owner where it is closed; its own step closes it again.
    fn open_parent<'p>(&mut self, at: &'p Path) -> io::Result<(OwnedFd, &'p std::ffi::OsStr)> {
        let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else {
            return Err(io::Error::other("it is no file in a folder"));
        };
        let root = self.roots.iter().find(|root| parent.starts_with(&root.path));
        let root = root.ok_or_else(|| io::Error::other("it is in no folder of the preview"))?;
        let inside = parent.strip_prefix(&root.path).unwrap_or(parent);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let top = rustix::fs::open(&root.path, flags, Mode::empty())?;
        let folder = if inside.as_os_str().is_empty() {
            top
        } else {
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            rustix::fs::openat2(&top, inside, flags, Mode::empty(), resolve)?
        };
        let data = fs::symlink_metadata(parent)?;
        if is_closed(&data) {
            self.recorder.before_own(Coming::Attributes(parent))?;
            fs::set_permissions(parent, Permissions::from_mode(data.mode() | 0o700))?;
        }
        Ok((folder, name))
    }
}

fn apply(path: &Path, looks: &Looks) -> io::Result<()> {
    let now = fs::symlink_metadata(path)?;
    if (now.uid(), now.gid()) != looks.owner {
        let (user, group) = (Uid::from_raw(looks.owner.0), Gid::from_raw(looks.owner.1));
        rustix::fs::chownat(CWD, path, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)?;
    }
    if attributes(path) != looks.attributes {
        changes::set_attributes(path, &looks.attributes);
    }
    let time = |(tv_sec, tv_nsec): Time| Timespec { tv_sec, tv_nsec };
    let modified = looks.modified.unwrap_or((now.mtime(), now.mtime_nsec()));
    let times = Timestamps { last_access: time(looks.accessed), last_modification: time(modified) };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?;
    // Behind the others: a new owner takes bits of it away, and without the right bits nothing else can be set.
    if !now.is_symlink() {
        rustix::fs::chmod(path, Mode::from_raw_mode(looks.mode))?;
    }
    Ok(())
}

/// Copies something with everything in it and about it.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let data = fs::symlink_metadata(from)?;
    let kind = data.file_type();
    if kind.is_dir() {
        fs::create_dir(to)?;
        for name in names(from)? {
            copy(&from.join(&name), &to.join(&name))?;
        }
    } else if kind.is_symlink() {
        symlink(fs::read_link(from)?, to)?;
    } else if kind.is_file() {
        let target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
        changes::copy_content(&File::open(from)?, &target, data.len())?;
    } else {
        let mode = Mode::from_raw_mode(data.mode());
        rustix::fs::mknodat(CWD, to, FileType::from_raw_mode(data.mode()), mode, data.rdev())?;
    }
    apply(to, &Looks::of(from, &data))
}
