//! Overlays: folders that look as if they were written to, while what is written goes elsewhere.
//!
//! The kernel is given descriptors by their paths in `/proc`, not the paths themselves: those may have colons, commas and
//! more bytes than it takes. All of this happens while everything can still be written to; the overlays are put into
//! their places later, with the other mounts.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::StatVfsMountFlags;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, UnmountFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen, mount, unmount,
};

use super::{Overlay, open_place};

/// Makes an overlay of a folder, to be put somewhere.
pub(super) fn make(overlay: &Overlay) -> io::Result<OwnedFd> {
    let explain = |error: io::Error| {
        let root = overlay.root.display();
        io::Error::other(format!("{root} cannot be previewed: its file system takes no overlay ({error})"))
    };
    let [lower, upper, work] = [&overlay.root, &overlay.upper, &overlay.work].map(|path| open_place(path));
    layered(lower?.as_fd(), upper?.as_fd(), work?.as_fd()).map_err(explain)
}

/// Makes a folder in which everything can be seen as it is, and whatever is written is kept in memory until nobody looks
/// any more. Where no overlay is possible, as where something is mounted inside, it is an empty folder.
pub(super) fn make_private(folder: &Path) -> io::Result<OwnedFd> {
    let below = open_place(folder)?;
    // For a moment it has to be mounted somewhere: older kernels take no layer that is not.
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", folder, "tmpfs", flags, Some(c"mode=0700"))?;
    let made = in_memory(below.as_fd(), folder);
    unmount(folder, UnmountFlags::DETACH)?;
    made.or_else(|_| empty())
}

fn in_memory(below: BorrowedFd<'_>, memory: &Path) -> io::Result<OwnedFd> {
    let (upper, work) = (memory.join("upper"), memory.join("work"));
    fs::create_dir(&upper)?;
    fs::create_dir(&work)?;
    let data = rustix::fs::fstat(below)?;
    rustix::fs::chmod(&upper, rustix::fs::Mode::from_raw_mode(data.st_mode))?;
    // A folder of another user stays theirs as far as we may say so.
    let owner = (rustix::fs::Uid::from_raw(data.st_uid), rustix::fs::Gid::from_raw(data.st_gid));
    let _ = rustix::fs::chown(&upper, Some(owner.0), Some(owner.1));
    let _ = rustix::fs::chmod(&upper, rustix::fs::Mode::from_raw_mode(data.st_mode));
    layered(below, open_place(&upper)?.as_fd(), open_place(&work)?.as_fd())
}

fn empty() -> io::Result<OwnedFd> {
    let source = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(source.as_fd(), "mode", "1777")?;
    fsconfig_create(source.as_fd())?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(source.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, flags)?)
}

fn layered(lower: BorrowedFd<'_>, upper: BorrowedFd<'_>, work: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let source = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let by_number = |file: BorrowedFd<'_>| format!("/proc/self/fd/{}", file.as_raw_fd());
    for (name, folder) in [("lowerdir", lower), ("upperdir", upper), ("workdir", work)] {
        fsconfig_set_string(source.as_fd(), name, by_number(folder)).map_err(|error| explained(&source, error))?;
    }
    // Marks that need no rights, and no waiting for the disk: a preview need not outlive a power cut.
    for name in ["userxattr", "volatile"] {
        fsconfig_set_flag(source.as_fd(), name).map_err(|error| explained(&source, error))?;
    }
    fsconfig_create(source.as_fd()).map_err(|error| explained(&source, error))?;
    Ok(fsmount(source.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, flags_of(lower)?)?)
}

/// What holds for the folder below holds for what is put over it.
fn flags_of(lower: BorrowedFd<'_>) -> io::Result<MountAttrFlags> {
    let below = rustix::fs::fstatvfs(lower)?.f_flag;
    let mut flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    if below.contains(StatVfsMountFlags::NOEXEC) {
        flags |= MountAttrFlags::MOUNT_ATTR_NOEXEC;
    }
    Ok(flags)
}

/// The error, in the words of the file system where it has any.
fn explained(source: &OwnedFd, error: rustix::io::Errno) -> io::Error {
    let mut words = [0; 1024];
    match rustix::io::read(source, &mut words) {
        // The first letter says how bad it is.
        Ok(count) if count > 2 => io::Error::other(String::from_utf8_lossy(&words[2..count]).trim().to_owned()),
        _ => error.into(),
    }
}
