//! Asking the kernel what it can do, without doing it.

use std::io;
use std::ptr;

/// Closes no descriptor: none can have the largest number there is.
pub(crate) fn close_range() -> io::Result<()> {
    // SAFETY: the range holds no descriptor; no memory is touched.
    let answer = unsafe { libc::syscall(libc::SYS_close_range, u32::MAX, u32::MAX, 0u32) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The version of Landlock that this kernel speaks.
pub(crate) fn landlock() -> io::Result<u32> {
    const ASK_FOR_VERSION: u32 = 1;
    // SAFETY: with this flag the kernel takes no ruleset, so the pointer has to be null and the size zero.
    let answer =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<u8>(), 0usize, ASK_FOR_VERSION) };
    u32::try_from(answer).map_err(|_| io::Error::last_os_error())
}
