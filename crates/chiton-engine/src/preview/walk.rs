//! What a command did in a preview, found by going through what was written and what is below it.
//!
//! An overlay has three marks: a device with the number 0 stands for something that was removed, a folder with
//! `user.overlay.opaque` hides everything that is below it, and `user.overlay.origin` is on what was copied up to be
//! changed. What was copied up and is the same all the same is not a change.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::bytes::ByteString;
use crate::changes;

/// One thing that is not as it is below.
#[derive(Debug)]
pub(super) enum Found {
    /// This goes. What is in a folder comes before it.
    Removed { at: PathBuf, was: Metadata },
    /// This was removed, and is not there anyway.
    Gone { at: PathBuf },
    /// This comes, with everything in it, and takes the place of what is there: never of a folder.
    Put { at: PathBuf, from: PathBuf, is: Metadata, was: Option<Metadata>, aspects: Vec<Aspect> },
    /// This folder stays, and something was done in it or to it. It comes after everything in it.
    Folder { at: PathBuf, from: PathBuf, is: Metadata, was: Metadata, aspects: Vec<Aspect> },
}

/// In what something differs from what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// It is another kind of thing.
    Kind,
    /// What is in it, or where a link leads.
    Content,
    /// Who may do what with it.
    Mode,
    /// Whose it is.
    Owner,
    /// Attributes that have names.
    Attributes,
    /// When it was last changed.
    Time,
}

/// The mark of a folder that hides what is below it.
const OPAQUE: &str = "user.overlay.opaque";
/// The mark of what was copied up.
const ORIGIN: &str = "user.overlay.origin";
/// How the names of all marks begin.
const MARKS: &[u8] = b"user.overlay.";

/// Goes through what was written in `upper` of what is in `lower`.
pub(super) fn walk(upper: &Path, lower: &Path) -> io::Result<Vec<Found>> {
    let mut walk = Walk { found: Vec::new() };
    let (is, was) = (fs::symlink_metadata(upper)?, fs::symlink_metadata(lower)?);
    walk.folder(upper, lower, (is, was), false)?;
    Ok(walk.found)
}

struct Walk {
    found: Vec<Found>,
}

impl Walk {
    /// A folder that is in both. Where one above it `is_hidden`, the kernel puts no mark on those inside, although they
    /// hide what is below just the same.
    fn folder(
        &mut self,
        upper: &Path,
        lower: &Path,
        (is, was): (Metadata, Metadata),
        is_hidden: bool,
    ) -> io::Result<()> {
        let written = written_names(upper, &is)?;
        let is_hidden = is_hidden || hides(upper);
        if is_hidden {
            for name in names(lower)?.difference(&written) {
                self.removed(&lower.join(name))?;
            }
        }
        for name in &written {
            self.entry(&upper.join(name), &lower.join(name), is_hidden)?;
        }
        let aspects = differences(upper, lower, &is, &was)?;
        if !aspects.is_empty() || !written.is_empty() {
            self.found.push(Found::Folder { at: lower.to_owned(), from: upper.to_owned(), is, was, aspects });
        }
        Ok(())
    }

    fn entry(&mut self, upper: &Path, lower: &Path, is_hidden: bool) -> io::Result<()> {
        let is = fs::symlink_metadata(upper)?;
        let was = fs::symlink_metadata(lower).ok();
        if is_whiteout(&is) {
            if was.is_some() {
                return self.removed(lower);
            }
            self.found.push(Found::Gone { at: lower.to_owned() });
            return Ok(());
        }
        match was {
            Some(was) if was.is_dir() && is.is_dir() => return self.folder(upper, lower, (is, was), is_hidden),
            Some(was) if was.is_dir() => {
                self.removed(lower)?;
                self.put(upper, lower, is, None, vec![Aspect::Kind]);
            }
            Some(was) if is.is_dir() => {
                self.found.push(Found::Removed { at: lower.to_owned(), was });
                self.put(upper, lower, is, None, vec![Aspect::Kind]);
            }
            Some(was) => {
                let aspects = differences(upper, lower, &is, &was)?;
                if !aspects.is_empty() {
                    self.put(upper, lower, is, Some(was), aspects);
                }
            }
            None => self.put(upper, lower, is, None, Vec::new()),
        }
        Ok(())
    }

    fn put(&mut self, upper: &Path, lower: &Path, is: Metadata, was: Option<Metadata>, aspects: Vec<Aspect>) {
        self.found.push(Found::Put { at: lower.to_owned(), from: upper.to_owned(), is, was, aspects });
    }

    fn removed(&mut self, lower: &Path) -> io::Result<()> {
        let was = fs::symlink_metadata(lower)?;
        if was.is_dir() {
            for name in names(lower)? {
                self.removed(&lower.join(name))?;
            }
        }
        self.found.push(Found::Removed { at: lower.to_owned(), was });
        Ok(())
    }
}

/// The names in a folder, in their order.
pub(super) fn names(folder: &Path) -> io::Result<BTreeSet<OsString>> {
    let explain = |error: io::Error| io::Error::other(format!("{}: {error}", folder.display()));
    fs::read_dir(folder).map_err(explain)?.map(|entry| Ok(entry?.file_name())).collect()
}

/// The same of a folder of ours, which the command may have closed to its owner.
pub(super) fn written_names(folder: &Path, data: &Metadata) -> io::Result<BTreeSet<OsString>> {
    if !is_closed(data) {
        return names(folder);
    }
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    let found = names(folder);
    fs::set_permissions(folder, data.permissions())?;
    found
}

/// Whether its owner has to open it before anything can be done with it. Root has not.
pub(super) fn is_closed(data: &Metadata) -> bool {
    let needed = if data.is_dir() { 0o700 } else { 0o600 };
    let has_bits = data.is_dir() || data.is_file();
    has_bits && data.mode() & needed != needed && !rustix::process::geteuid().is_root()
}

/// Whether this stands for something that was removed.
pub(super) fn is_whiteout(data: &Metadata) -> bool {
    data.file_type().is_char_device() && data.rdev() == 0
}

/// Whether a folder hides what is below it. `x` means that it has marks of another kind in it, and hides nothing.
fn hides(folder: &Path) -> bool {
    let mut value = [0; 8];
    rustix::fs::lgetxattr(folder, OPAQUE, &mut value).is_ok_and(|count| value[..count] == *b"y")
}

/// Whether something was there below, and was copied up to be changed.
pub(super) fn was_copied(path: &Path) -> bool {
    rustix::fs::lgetxattr(path, ORIGIN, &mut [0; 0]).is_ok()
}

/// The attributes of a file without the marks of an overlay.
pub(super) fn attributes(path: &Path) -> Vec<(ByteString, ByteString)> {
    let mut all = changes::attributes(path);
    all.retain(|(name, _)| !name.starts_with(MARKS));
    all.sort();
    all
}

/// In what two things at two paths differ.
fn differences(upper: &Path, lower: &Path, is: &Metadata, was: &Metadata) -> io::Result<Vec<Aspect>> {
    const PERMISSIONS: u32 = 0o7777;
    if is.file_type() != was.file_type() {
        return Ok(vec![Aspect::Kind]);
    }
    let modified = |data: &Metadata| (data.mtime(), data.mtime_nsec());
    let content = match is.file_type() {
        kind if kind.is_file() => is.len() != was.len() || !is_same_content(upper, lower),
        kind if kind.is_symlink() => fs::read_link(upper)? != fs::read_link(lower)?,
        kind if kind.is_dir() => false,
        _ => is.rdev() != was.rdev(),
    };
    let differs = [
        (Aspect::Content, content),
        (Aspect::Mode, is.mode() & PERMISSIONS != was.mode() & PERMISSIONS),
        (Aspect::Owner, (is.uid(), is.gid()) != (was.uid(), was.gid())),
        (Aspect::Attributes, attributes(upper) != attributes(lower)),
        (Aspect::Time, modified(is) != modified(was)),
    ];
    Ok(differs.into_iter().filter_map(|(aspect, differs)| differs.then_some(aspect)).collect())
}

/// What cannot be read may well differ.
fn is_same_content(one: &Path, other: &Path) -> bool {
    let compare = || -> io::Result<bool> {
        let (mut one, mut other) = (File::open(one)?, File::open(other)?);
        let (mut left, mut right) = (vec![0; 64 << 10], vec![0; 64 << 10]);
        loop {
            let count = one.read(&mut left)?;
            if count == 0 {
                return Ok(other.read(&mut right)? == 0);
            }
            if other.read_exact(&mut right[..count]).is_err() || left[..count] != right[..count] {
                return Ok(false);
            }
        }
    };
    compare().unwrap_or(false)
}

/// Takes the marks of an overlay off everything that is to be put into place. What is closed to its owner is open then; the
/// plan closes it again.
pub(super) fn clean(path: &Path) -> io::Result<()> {
    let data = fs::symlink_metadata(path)?;
    if is_closed(&data) {
        fs::set_permissions(path, Permissions::from_mode(data.mode() | 0o700))?;
    }
    if data.is_dir() {
        for name in names(path)? {
            clean(&path.join(name))?;
        }
    }
    if is_whiteout(&data) {
        return fs::remove_file(path);
    }
    for (name, _) in changes::attributes(path).into_iter().filter(|(name, _)| name.starts_with(MARKS)) {
        rustix::fs::lremovexattr(path, &name[..])?;
    }
    Ok(())
}
