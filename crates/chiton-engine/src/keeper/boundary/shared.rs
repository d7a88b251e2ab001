//! What a shell shares with its keeper, given to it as it opens that: nothing of it has a path that a command could use.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::protocol::{GO_FD, HELD_GO_FD, HELD_STATE_FD, SCRATCH_FD, STATE_FD, own_descriptors};
use crate::sys::seccomp::{AskedCall, CallAnswer, Listener, Placed};

/// Which of the shared files a path means, by its number here.
pub(super) fn number(path: &Path) -> Option<i32> {
    let here = own_descriptors(rustix::process::getpid().as_raw_nonzero().get());
    let name = path.strip_prefix(here).ok()?.to_str()?;
    [STATE_FD, SCRATCH_FD, GO_FD].into_iter().find(|number| *name == number.to_string())
}

/// Whether a thread is the shell or a subshell of it: the same program, and started by the same `execve`. Another bash that a
/// command starts has its own vector of start values, with addresses that the kernel drew anew.
pub(super) fn is_the_shell(thread: i32, leader: i32) -> bool {
    let program = |process: i32| fs::read_link(format!("/proc/{process}/exe")).ok();
    let start = |process: i32| fs::read(format!("/proc/{process}/auxv")).ok().filter(|values| !values.is_empty());
    let is_same = || program(leader).is_some() && program(thread) == program(leader) && start(thread) == start(leader);
    thread == leader || (start(leader).is_some() && is_same())
}

/// What a shell is given.
pub(in crate::keeper) struct GivenToShell {
    /// Where its state goes.
    pub(in crate::keeper) state: OwnedFd,
    /// Where it waits to be let go on.
    pub(in crate::keeper) go: OwnedFd,
    /// The file for its lists.
    pub(in crate::keeper) scratch: OwnedFd,
}

impl GivenToShell {
    /// Answers the call by which a shell opens one of them.
    pub(super) fn give(&self, listener: &Listener, call: &AskedCall, number: i32, flags: i32) -> Option<CallAnswer> {
        let asked = OFlags::from_bits_truncate(flags.cast_unsigned());
        if number == SCRATCH_FD {
            // Anew: it begins at its beginning each time.
            let how = asked & (OFlags::RWMODE | OFlags::TRUNC | OFlags::APPEND);
            let path = format!("/proc/self/fd/{}", self.scratch.as_raw_fd());
            return match rustix::fs::open(path, how | OFlags::CLOEXEC, Mode::empty()) {
                Ok(file) => listener.give(call, file.as_fd(), Placed::default()),
                Err(error) => Some(CallAnswer::Fails(error.raw_os_error())),
            };
        }
        if number == GO_FD {
            return listener.give(call, self.go.as_fd(), Placed::default());
        }
        // Opened for both directions, it is to stay open with the other pipe, at places of their own, and no program may
        // inherit them.
        if asked & OFlags::RWMODE != OFlags::RDWR {
            return listener.give(call, self.state.as_fd(), Placed::default());
        }
        let at = |number| Placed { at: Some(number), is_closed_on_exec: true };
        match listener.add(call, self.go.as_fd(), at(HELD_GO_FD)) {
            Ok(_) => listener.give(call, self.state.as_fd(), at(HELD_STATE_FD)),
            Err(error) => Some(CallAnswer::Fails(error)),
        }
    }
}
