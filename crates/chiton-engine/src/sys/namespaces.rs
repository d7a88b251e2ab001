//! Namespaces: a process's own view of mounts, users and the network. What `rustix` has not, or not safely.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::thread::UnshareFlags;

/// How far a change of a mount goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// That mount.
    One,
    /// And all mounts below it.
    All,
}

/// Makes namespaces of these kinds, and puts this process into them. It has one thread.
pub(crate) fn unshare(kinds: UnshareFlags) -> io::Result<()> {
    assert!(!kinds.contains(UnshareFlags::FILES), "descriptors are not unshared here");
    // SAFETY: what makes the call unsafe is unsharing the table of descriptors, which was ruled out.
    Ok(unsafe { rustix::thread::unshare_unsafe(kinds) }?)
}

/// From now on nothing can be written through the mount that `place` is the root of.
pub(crate) fn make_read_only(place: BorrowedFd<'_>, depth: Depth) -> io::Result<()> {
    let set = libc::MOUNT_ATTR_RDONLY;
    let attributes = libc::mount_attr { attr_set: set, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let recursive = if depth == Depth::All { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is empty and ends with NUL, the structure lives across the call, and the size is its own.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            place.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | recursive,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Who goes on after [`fork`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forked {
    /// The new process.
    Child,
    /// The one that was there, with the number of the new one.
    Parent(i32),
}

/// Makes a copy of this process. It has one thread, so the copy can do all that it could.
#[expect(clippy::disallowed_methods, reason = "a process that enters namespaces first has to be there first")]
pub(crate) fn fork() -> io::Result<Forked> {
    // SAFETY: keepers and those that prepare a sandbox have one thread, so no lock is held by another.
    match unsafe { libc::fork() } {
        0 => Ok(Forked::Child),
        pid if pid > 0 => Ok(Forked::Parent(pid)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends this process at once: nothing of what it was copied from is run.
pub(crate) fn leave(status: i32) -> ! {
    // SAFETY: the call does not return.
    unsafe { libc::_exit(status) }
}
