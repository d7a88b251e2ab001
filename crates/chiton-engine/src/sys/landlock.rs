//! Landlock: rules about files that a process lays on itself and on whatever it starts, without any right.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

/// What may be done to files: one bit each, as the kernel numbers them.
pub(crate) mod right {
    pub(crate) const EXECUTE: u64 = 1;
    pub(crate) const WRITE_FILE: u64 = 1 << 1;
    pub(crate) const READ_FILE: u64 = 1 << 2;
    pub(crate) const READ_DIR: u64 = 1 << 3;
    const REMOVE_DIR: u64 = 1 << 4;
    const REMOVE_FILE: u64 = 1 << 5;
    const MAKE_CHAR: u64 = 1 << 6;
    const MAKE_DIR: u64 = 1 << 7;
    const MAKE_REG: u64 = 1 << 8;
    const MAKE_SOCK: u64 = 1 << 9;
    const MAKE_FIFO: u64 = 1 << 10;
    const MAKE_BLOCK: u64 = 1 << 11;
    const MAKE_SYM: u64 = 1 << 12;
    /// To move and link between folders; without it, that is refused everywhere.
    const REFER: u64 = 1 << 13;
    const TRUNCATE: u64 = 1 << 14;
    /// To connect and to send to a Unix socket by its path, where somebody outside has made it.
    pub(crate) const USE_SOCKET: u64 = 1 << 16;

    /// Every way to read.
    pub(crate) const READ: u64 = EXECUTE | READ_FILE | READ_DIR;
    /// What a rule about a single file can hold.
    pub(crate) const OF_A_FILE: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | USE_SOCKET;

    /// Every way to change something, as far as this version knows them.
    pub(crate) fn change(version: u32) -> u64 {
        let first = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_CHAR | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO;
        let later = if version >= 3 { TRUNCATE } else { 0 };
        first | MAKE_BLOCK | MAKE_SYM | REFER | later
    }
}

/// The version below which moving a file between two folders is always refused: such a sandbox would break work.
pub(crate) const FIRST_USEFUL: u32 = 2;
/// The version that can keep signals and abstract sockets inside.
pub(crate) const FIRST_WITH_SCOPES: u32 = 6;

/// The version that can hold Unix sockets by their paths.
pub(crate) const FIRST_WITH_SOCKETS: u32 = 9;

/// What cannot be reached outside of the sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scopes {
    /// Sockets that have no path.
    pub(crate) abstract_sockets: bool,
    /// Processes, with signals.
    pub(crate) signals: bool,
}

/// Rules that were made and not laid on anybody yet.
#[derive(Debug)]
pub(crate) struct Ruleset(OwnedFd);

#[repr(C)]
struct RulesetAttributes {
    files: u64,
    network: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

/// The numbers of fields that a kernel of an older version does not know are left out by the size.
fn known_size(version: u32) -> usize {
    match version {
        0..=3 => size_of::<u64>(),
        4..=5 => 2 * size_of::<u64>(),
        _ => size_of::<RulesetAttributes>(),
    }
}

impl Ruleset {
    /// Rules that forbid `handled` everywhere but where [`Ruleset::allow`] allows it.
    pub(crate) fn new(version: u32, handled: u64, scopes: Scopes) -> io::Result<Self> {
        let scoped = u64::from(scopes.abstract_sockets) | (u64::from(scopes.signals) << 1);
        let attributes = RulesetAttributes { files: handled, network: 0, scoped };
        // SAFETY: the structure lives across the call, and the size is at most its own.
        let answer = unsafe {
            libc::syscall(libc::SYS_landlock_create_ruleset, &raw const attributes, known_size(version), 0u32)
        };
        let descriptor = RawFd::try_from(answer).ok().filter(|number| *number >= 0);
        // SAFETY: the kernel has just made this descriptor for us alone.
        descriptor.map(|number| Self(unsafe { OwnedFd::from_raw_fd(number) })).ok_or_else(io::Error::last_os_error)
    }

    /// Allows this for a file, or for a folder and everything in it.
    pub(crate) fn allow(&self, place: BorrowedFd<'_>, allowed: u64) -> io::Result<()> {
        const PATH_BENEATH: u32 = 1;
        let rule = PathBeneath { allowed, parent: place.as_raw_fd() };
        // SAFETY: the rule lives across the call.
        let answer = unsafe {
            libc::syscall(libc::SYS_landlock_add_rule, self.0.as_raw_fd(), PATH_BENEATH, &raw const rule, 0u32)
        };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    pub(crate) fn into_descriptor(self) -> OwnedFd {
        self.0
    }
}

/// Lays the rules on this process, for good. It can gain no rights any more by then (`no_new_privs`).
pub(crate) fn restrict_self(ruleset: RawFd) -> io::Result<()> {
    // SAFETY: plain numbers.
    let answer = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0u32) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The version that this kernel speaks.
pub(crate) fn version() -> io::Result<u32> {
    const ASK_FOR_VERSION: u32 = 1;
    // SAFETY: with this flag the kernel takes no ruleset, so the pointer has to be null and the size zero.
    let answer =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<u8>(), 0usize, ASK_FOR_VERSION) };
    u32::try_from(answer).map_err(|_| io::Error::last_os_error())
}
