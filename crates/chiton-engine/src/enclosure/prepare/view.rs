//! The mounts that a sandboxed command sees: everything as it is and read-only, writable places writable, hidden ones
//! empty.
//!
//! 1. Copies of the mounts of writable places are taken while they still can be written.
//! 2. Everything is made read-only.
//! 3. From the root down, the copies are put over the writable places, and empty folders over the hidden ones. Hidden
//!    files are covered by one that nobody may read.
//! 4. What is kept inside of a writable place is made read-only.
//!
//! For a preview, overlays take the places of the writable ones that are no caches ([`overlay`]).
//!
//! A command cannot take any of it away: changing mounts needs rights that it does not have, and Landlock and the filter
//! refuse it as well.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change, move_mount, open_tree,
};

use super::{PreviewView, open_place, overlay};
use crate::sandbox::policy::SandboxPolicy;
use crate::sys::namespaces::{Depth, make_read_only};

/// What came of it.
pub(super) struct View {
    /// Places of the policy that do not exist.
    pub(super) absent: Vec<PathBuf>,
}

/// Something that is put over a place.
enum Layer {
    /// The mounts that were there, as they were before everything was made read-only; or what stands for them.
    Writable(OwnedFd),
    /// An empty folder.
    Empty,
}

/// Builds the view, in a mount namespace of this process's own. `covered` are files that are hidden besides those of the
/// policy, as they are now.
pub(super) fn build(
    policy: &SandboxPolicy,
    hand_back: &Path,
    covered: &[PathBuf],
    preview: Option<&PreviewView>,
) -> io::Result<View> {
    // What is mounted outside later appears here too; what is mounted here stays here.
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;

    let mut absent = Vec::new();
    let own = preview.into_iter().flat_map(|preview| &preview.own);
    let hidden: Vec<PathBuf> = policy.hide.iter().chain(own).filter_map(|path| real(path, &mut absent)).collect();
    let mut writable: Vec<PathBuf> = policy.write.iter().filter_map(|path| real(path, &mut absent)).collect();
    writable.push(hand_back.to_owned());
    let kept: Vec<PathBuf> = policy.keep.iter().filter_map(|path| real(path, &mut absent)).collect();
    let (files, folders): (Vec<PathBuf>, Vec<PathBuf>) = hidden.into_iter().partition(|path| !path.is_dir());

    // Sorted by their paths, so that a place comes after those above it. One that is given twice is writable.
    let mut places: BTreeMap<PathBuf, Layer> = folders.iter().map(|path| (path.clone(), Layer::Empty)).collect();
    // What a preview shows in place of a folder does not let anything through that is inside.
    let private = preview.map_or(&[][..], |preview| &preview.private);
    let plain: Vec<PathBuf> = writable.into_iter().filter(|path| !private.contains(path)).collect();
    for path in plain.iter().filter(|path| !is_writable_anyway(path, &plain, &folders)) {
        places.insert(path.clone(), Layer::Writable(copy(path)?));
    }
    for (path, tree) in preview.map(stand_ins).transpose()?.into_iter().flatten() {
        places.insert(path, Layer::Writable(tree));
    }
    make_read_only(open_place(Path::new("/"))?.as_fd(), Depth::All)?;

    let mut covers = Vec::new();
    for (path, layer) in &places {
        make_room(path, preview)?;
        match layer {
            Layer::Writable(tree) => put(tree.as_fd(), path)?,
            Layer::Empty => covers.push(cover(path, &places)?),
        }
    }
    for cover in covers {
        make_read_only(cover.as_fd(), Depth::One)?;
    }
    cover_files(files.iter().chain(covered).filter(|file| file.exists()))?;
    for path in kept.iter().filter(|path| path.exists()) {
        let tree = copy(path)?;
        make_read_only(tree.as_fd(), Depth::All)?;
        put(tree.as_fd(), path)?;
    }
    Ok(View { absent })
}

/// What a preview puts in place of writable folders.
fn stand_ins(preview: &PreviewView) -> io::Result<Vec<(PathBuf, OwnedFd)>> {
    let mut made = Vec::new();
    for overlay in &preview.overlays {
        made.push((overlay.root.clone(), overlay::make(overlay)?));
    }
    for folder in &preview.private {
        made.push((folder.clone(), overlay::make_private(folder)?));
    }
    Ok(made)
}

/// Makes a place for a mount, where a folder for temporary files turned out to be empty.
fn make_room(path: &Path, preview: Option<&PreviewView>) -> io::Result<()> {
    let private = preview.into_iter().flat_map(|preview| &preview.private);
    let is_inside = private.into_iter().any(|folder| path.starts_with(folder) && path != folder);
    if is_inside && !path.exists() { fs::create_dir_all(path) } else { Ok(()) }
}

/// Whether a place is in a writable one, with nothing hidden in between.
fn is_writable_anyway(path: &Path, writable: &[PathBuf], hidden: &[PathBuf]) -> bool {
    let mut above = writable.iter().filter(|above| *above != path && path.starts_with(above));
    above.any(|above| !hidden.iter().any(|hidden| hidden.starts_with(above) && path.starts_with(hidden)))
}

/// The path without links, where there is something.
fn real(path: &Path, absent: &mut Vec<PathBuf>) -> Option<PathBuf> {
    let found = fs::canonicalize(path).ok();
    if found.is_none() {
        absent.push(path.to_owned());
    }
    found
}

/// The mounts at a place and below it, to be put somewhere.
fn copy(path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    Ok(open_tree(CWD, path, flags)?)
}

fn put(tree: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(tree, "", CWD, path, flags).map_err(io::Error::from)
}

/// Puts an empty folder over a folder, with room for what is to be put below it.
fn cover(folder: &Path, places: &BTreeMap<PathBuf, Layer>) -> io::Result<OwnedFd> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tmpfs", folder, "tmpfs", flags, Some(c"mode=0555,size=64k"))?;
    for path in places.keys().filter(|path| path.starts_with(folder) && *path != folder) {
        fs::create_dir_all(path)?;
    }
    open_place(folder)
}

/// Puts a file over each that cannot be read: its owner, too, has no right to.
fn cover_files<'a>(files: impl Iterator<Item = &'a PathBuf>) -> io::Result<()> {
    let files: Vec<&PathBuf> = files.collect();
    if files.is_empty() {
        return Ok(());
    }
    // A tree that is mounted nowhere: its one file is what covers the others.
    let source = rustix::mount::fsopen("tmpfs", rustix::mount::FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_set_string(source.as_fd(), "size", "64k")?;
    rustix::mount::fsconfig_create(source.as_fd())?;
    let tree = rustix::mount::fsmount(
        source.as_fd(),
        rustix::mount::FsMountFlags::FSMOUNT_CLOEXEC,
        rustix::mount::MountAttrFlags::MOUNT_ATTR_NOSUID | rustix::mount::MountAttrFlags::MOUNT_ATTR_NODEV,
    )?;
    let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::CLOEXEC;
    rustix::fs::openat(&tree, "hidden", flags, rustix::fs::Mode::empty())?;
    for file in files {
        let copy = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        let hidden = open_tree(&tree, "hidden", copy)?;
        make_read_only(hidden.as_fd(), Depth::One)?;
        put(hidden.as_fd(), file)?;
    }
    Ok(())
}
