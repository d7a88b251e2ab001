//! What a shell and its keeper share: files that the shell opens by the path of the keeper's descriptor, so that it
//! never inherits one and nothing it starts can find it.
//!
//! 1. The shell writes its state into a pipe ([`STATE_FD`]) and lists that it reads again itself into a file in memory
//!    ([`SCRATCH_FD`]).
//! 2. Between its first report and the rest it waits for a byte from a second pipe ([`GO_FD`]), which lets it go on.
//!
//! To a shell that cannot look into us because of its sandbox we give them as it opens them ([`super::boundary`]); or,
//! where we are not asked about that, the files have paths in a folder.
//!
//! What the shell writes is read in [`super::state`].

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags};

use super::boundary::GivenToShell;
use crate::enclosure::hand_back;
use crate::protocol::{GO_FD, SCRATCH_FD, STATE_FD};

/// More than the state of a usual shell.
const STATE_PIPE_BYTES: usize = 256 << 10;

pub(super) struct SharedFiles {
    /// Where the state arrives. A pipe, since no limit on the size of files holds for it.
    pub(super) state: OwnedFd,
    /// The end that the shell opens anew. Open here too, so that our end never reads as closed between two shells.
    state_end: OwnedFd,
    scratch: OwnedFd,
    /// Where the shell waits before it reports more than how its command ended.
    go: OwnedFd,
    go_end: OwnedFd,
    reached: Reached,
}

/// How a shell reaches the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// By the paths of our descriptors.
    LookingIn,
    /// We give them to it.
    Given,
    /// By the paths that they have in a folder.
    Folder(PathBuf),
}

impl Drop for SharedFiles {
    fn drop(&mut self) {
        if let Reached::Folder(folder) = &self.reached {
            let _ = fs::remove_dir_all(folder);
            // The folder of all keepers of a sandbox goes with the last one.
            folder.parent().into_iter().for_each(hand_back::leave_at_the_end);
        }
    }
}

impl SharedFiles {
    pub(super) fn create() -> io::Result<Self> {
        let above = |descriptor: OwnedFd| rustix::io::fcntl_dupfd_cloexec(&descriptor, GO_FD + 1);
        let pipe = || -> io::Result<(OwnedFd, OwnedFd)> {
            let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
            rustix::io::ioctl_fionbio(&read, true)?;
            Ok((above(read)?, above(write)?))
        };
        let (state, end) = pipe()?;
        let (go, go_end) = pipe()?;
        // Room for all of a usual state, so that the shell is not held up by us. Where that is too much, less will do.
        let _ = rustix::pipe::fcntl_setpipe_size(&state, STATE_PIPE_BYTES);
        let scratch = above(rustix::fs::memfd_create("chiton", rustix::fs::MemfdFlags::CLOEXEC)?)?;

        // The loader names these by number. Everything was moved above the three numbers first, so they are free now.
        let place = |descriptor: OwnedFd, number: i32| {
            let placed = rustix::io::fcntl_dupfd_cloexec(&descriptor, number)?;
            if placed.as_raw_fd() == number { Ok(placed) } else { Err(io::Error::other("descriptors are short")) }
        };
        let (state_end, scratch) = (place(end, STATE_FD)?, place(scratch, SCRATCH_FD)?);
        Ok(Self { state, state_end, scratch, go: place(go, GO_FD)?, go_end, reached: Reached::LookingIn })
    }

    /// The same with paths of their own, for a shell in a sandbox, from where nobody can look into us.
    fn in_folder(folder: &Path) -> io::Result<Self> {
        rustix::fs::mkdir(folder, Mode::RWXU)?;
        let path = |number: i32| folder.join(number.to_string());
        let pipe = |number: i32| -> io::Result<(OwnedFd, OwnedFd)> {
            let path = path(number);
            rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
            // Opened for both, a pipe with a name waits for nobody and never reads as closed.
            let open = |flags| rustix::fs::open(&path, OFlags::RDWR | OFlags::CLOEXEC | flags, Mode::empty());
            Ok((open(OFlags::NONBLOCK)?, open(OFlags::empty())?))
        };
        let (state, end) = pipe(STATE_FD)?;
        let (go, go_end) = pipe(GO_FD)?;
        let _ = rustix::pipe::fcntl_setpipe_size(&state, STATE_PIPE_BYTES);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let scratch = rustix::fs::open(path(SCRATCH_FD), flags, Mode::RUSR | Mode::WUSR)?;
        let reached = Reached::Folder(folder.to_owned());
        Ok(Self { state, state_end: end, scratch, go, go_end, reached })
    }

    /// Makes these the ones for a shell that reaches them so.
    pub(super) fn fit(&mut self, wanted: &Reached) -> io::Result<()> {
        match (&self.reached, wanted) {
            (now, wanted) if now == wanted => {}
            (_, Reached::Folder(folder)) => *self = Self::in_folder(folder)?,
            (Reached::Folder(_), wanted) => {
                *self = Self::create()?;
                self.reached = wanted.clone();
            }
            // The same files.
            (_, wanted) => self.reached = wanted.clone(),
        }
        Ok(())
    }

    /// Where they have paths, if they have.
    pub(super) fn folder(&self) -> Option<&Path> {
        if let Reached::Folder(folder) = &self.reached { Some(folder) } else { None }
    }

    /// What a shell is to be given as it opens them.
    pub(super) fn given(&self) -> io::Result<Option<GivenToShell>> {
        let is_given = self.reached == Reached::Given;
        let give = || -> io::Result<GivenToShell> {
            // Anew, since what we read from it must not wait, and the shell has to.
            let path = format!("/proc/self/fd/{}", self.go.as_raw_fd());
            let go = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
            Ok(GivenToShell { state: self.state_end.try_clone()?, go, scratch: self.scratch.try_clone()? })
        };
        is_given.then(give).transpose()
    }

    /// Lets the shell report the rest. Written before the shell asks, it stays in the pipe until then.
    pub(super) fn release_shell(&self) {
        let _ = rustix::io::write(&self.go_end, b"!");
    }

    /// Forgets what the last shell left here. Only once that one is gone: it would lose what it waits for.
    pub(super) fn clear(&self) {
        let mut passed_over = [0; 8192];
        while rustix::io::read(&self.state, &mut passed_over).is_ok_and(|count| count > 0) {}
        while rustix::io::read(&self.go, &mut passed_over).is_ok_and(|count| count > 0) {}
        let _ = rustix::fs::ftruncate(&self.scratch, 0);
    }
}
