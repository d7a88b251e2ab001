//! Signals as readable events instead of handlers.
//!
//! The signals are blocked before the descriptor is opened, and stay pending from then on: none can be lost, and none
//! interrupts anything.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Makes a write beyond a file-size limit an error instead of the end of this process. What it starts is not affected.
pub(crate) fn survive_file_size_limit() {
    // SAFETY: sets a disposition; no handler is involved.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Sends any signal, also one without a name, to the process of a handle. Number 0 only asks whether it is there.
pub(crate) fn send(process: &OwnedFd, signal: libc::c_int) -> io::Result<()> {
    let information = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: plain numbers; without information the kernel fills it in itself.
    let sent = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, process.as_raw_fd(), signal, information, 0) };
    if sent == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The signals a keeper listens to, delivered through a descriptor.
pub(crate) struct SignalInbox(OwnedFd);

impl SignalInbox {
    /// Blocks `signals` for this thread and opens the descriptor that brings them.
    pub(crate) fn open(signals: &[libc::c_int]) -> io::Result<Self> {
        // SAFETY: `set` is plain data, filled in by the calls right below; all pointers live across the calls.
        let fd = unsafe {
            let mut set: libc::sigset_t = mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in signals {
                libc::sigaddset(&raw mut set, *signal);
            }
            if libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
            libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just made this descriptor for us.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The next pending signal, if there is one.
    pub(crate) fn next(&self) -> Option<libc::c_int> {
        // SAFETY: `info` is plain data of exactly the size the kernel fills in.
        unsafe {
            let mut info: libc::signalfd_siginfo = mem::zeroed();
            let size = size_of::<libc::signalfd_siginfo>();
            let read = libc::read(self.0.as_raw_fd(), (&raw mut info).cast(), size);
            (read == isize::try_from(size).unwrap_or(0)).then(|| info.ssi_signo.cast_signed())
        }
    }

    pub(crate) fn descriptor(&self) -> &OwnedFd {
        &self.0
    }
}
