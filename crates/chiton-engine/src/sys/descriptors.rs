//! Descriptors at the border of the process: the one that was inherited, and all the others that must not be.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Takes ownership of standard input, replacing it by `/dev/null` so that the number 0 is never reused by accident.
pub(crate) fn take_stdin() -> io::Result<OwnedFd> {
    // SAFETY: duplicates a descriptor number; no memory is touched.
    let copy = unsafe { libc::fcntl(0, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    let null = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    // SAFETY: `copy` was just made by the kernel for us and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Takes ownership of a descriptor that this process was started with, other than those for input, output and errors.
///
/// Only for the first moments of a process, before anything owns a descriptor of that number.
pub(crate) fn take(number: RawFd) -> io::Result<OwnedFd> {
    if number < 3 {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // SAFETY: asks about a descriptor number, and marks it; no memory is touched.
    if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is open, and no object of this process owns it yet.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Closes every descriptor from `first` upwards, whoever left it open.
///
/// Only for the first moments of a process, before anything owns a descriptor in that range.
pub(crate) fn close_from(first: RawFd) {
    let first = u32::try_from(first).unwrap_or(3);
    // SAFETY: closing descriptors that no object of this process owns yet.
    unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0u32) };
}
