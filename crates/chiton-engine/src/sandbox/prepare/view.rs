//! The mounts that a sandboxed command sees: everything as it is and read-only, writable places writable, hidden ones
//! empty.
//!
//! 1. Copies of the mounts of writable places are taken while they still can be written.
//! 2. Everything is made read-only.
//! 3. Hidden folders are covered by an empty one, hidden files by an unreadable one.
//! 4. The copies are put over the writable places, and read-only ones over what is kept inside of them.
//!
//! A command cannot take any of it away: changing mounts needs rights that it does not have, and Landlock and the filter
//! refuse it as well.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change, move_mount, open_tree,
};

use super::open_place;
use crate::sandbox::policy::SandboxPolicy;
use crate::sys::namespaces::{Depth, Writing, set_writing};

/// What came of it.
pub(super) struct View {
    pub(super) absent: Vec<PathBuf>,
    pub(super) weaker: Vec<String>,
}

/// Builds the view, in a mount namespace of this process's own.
pub(super) fn build(policy: &SandboxPolicy, hand_back: &Path) -> io::Result<View> {
    // What is mounted outside later appears here too; what is mounted here stays here.
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;

    let mut absent = Vec::new();
    let writable = outermost(policy.write.iter().filter_map(|path| real(path, &mut absent)));
    let hidden = outermost(policy.hide.iter().filter_map(|path| real(path, &mut absent)));
    let kept: Vec<PathBuf> = policy.keep.iter().filter_map(|path| real(path, &mut absent)).collect();
    let (files, folders): (Vec<PathBuf>, Vec<PathBuf>) = hidden.into_iter().partition(|path| !path.is_dir());

    let mut copies = writable.iter().map(|path| Ok((path.clone(), copy(path)?))).collect::<io::Result<Vec<_>>>()?;
    copies.push((hand_back.to_owned(), copy(hand_back)?));
    set_writing(open_place(Path::new("/"))?.as_fd(), Writing::Refused, Depth::All)?;

    // A place below a hidden folder needs something to be put on, so these are covered first and closed last.
    let covers = folders.iter().map(|folder| cover(folder, &copies)).collect::<io::Result<Vec<_>>>()?;
    for (path, tree) in &copies {
        // A hidden folder inside of a writable place is covered again below.
        put(tree.as_fd(), path)?;
    }
    for folder in folders.iter().filter(|folder| is_inside(folder, &copies)) {
        cover(folder, &[])?;
    }
    for cover in covers {
        set_writing(cover.as_fd(), Writing::Refused, Depth::One)?;
    }
    cover_files(&files)?;
    for path in kept.iter().filter(|path| is_inside(path, &copies)) {
        let tree = copy(path)?;
        set_writing(tree.as_fd(), Writing::Refused, Depth::All)?;
        put(tree.as_fd(), path)?;
    }
    Ok(View { absent, weaker: Vec::new() })
}

/// The path without links, where there is something.
fn real(path: &Path, absent: &mut Vec<PathBuf>) -> Option<PathBuf> {
    let found = fs::canonicalize(path).ok();
    if found.is_none() {
        absent.push(path.to_owned());
    }
    found
}

/// Those that are not below another one, the shortest first.
fn outermost(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut chosen: Vec<PathBuf> = Vec::new();
    for path in paths.collect::<BTreeSet<_>>() {
        if !chosen.iter().any(|above| path.starts_with(above)) {
            chosen.push(path);
        }
    }
    chosen
}

fn is_inside(path: &Path, copies: &[(PathBuf, OwnedFd)]) -> bool {
    copies.iter().any(|(above, _)| path.starts_with(above))
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
fn cover(folder: &Path, copies: &[(PathBuf, OwnedFd)]) -> io::Result<OwnedFd> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tmpfs", folder, "tmpfs", flags, Some(c"mode=0555,size=64k"))?;
    for (path, _) in copies.iter().filter(|(path, _)| path.starts_with(folder) && path != folder) {
        // Those of the folders in between can be read by anybody who can enter the place itself.
        fs::create_dir_all(path)?;
    }
    open_place(folder)
}

/// Puts a file over each that cannot be read: its owner, too, has no right to.
fn cover_files(files: &[PathBuf]) -> io::Result<()> {
    let Some(first) = files.first() else { return Ok(()) };
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
    let _ = first;
    for file in files {
        let copy = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        let hidden = open_tree(&tree, "hidden", copy)?;
        set_writing(hidden.as_fd(), Writing::Refused, Depth::One)?;
        put(hidden.as_fd(), file)?;
    }
    Ok(())
}
