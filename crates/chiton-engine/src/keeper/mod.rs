//! The keeper: a small single-threaded process that owns one command at a time.
//!
//! 1. [`serve_if_asked`] recognises the re-executed program and never returns from it.
//! 2. It makes itself the child subreaper and takes orders from the socket ([`idle`]): to start a shell that waits for
//!    its command, or to run one. Shells are started in [`shell`].
//! 3. It owns a run ([`owner`]): masks output ([`masking`]), pumps it into the spool and to the engine, keeps the
//!    deadline, stops ([`crate::stop`]), reaps.
//! 4. It records the ending, and stays as long as anything the command started is alive. If nothing is, it can serve
//!    the next command of its session.
//!
//! No thread, no async runtime, no policy: what to run and for how long is the engine's decision.

mod client;
mod deadlines;
mod idle;
mod input;
mod leftover_task;
mod lifecycle;
mod masking;
mod owner;
mod shell;
mod state;
mod terminal;
mod transcript;
mod waiting;

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use rustix::process::{Resource, Rlimit};

use crate::protocol::{GO_FD, KEEPER_ARGUMENT, Report, SCRATCH_FD, STATE_FD, encode};
use crate::sys::descriptors;
use crate::sys::signals::{SignalInbox, survive_file_size_limit};

/// Call this first thing in `main`.
///
/// The engine starts its keepers by executing the program it is part of once more. In such a process this function
/// does the keeper's work and then exits; in any other it returns at once. A program that cannot call it names
/// another executable that does in [`crate::EngineConfig::keeper`], for instance the `chiton` command.
pub fn serve_if_asked() {
    if std::env::args_os().nth(1).as_deref() == Some(OsStr::new(KEEPER_ARGUMENT)) {
        std::process::exit(i32::from(serve().is_err()));
    }
}

/// As [`serve_if_asked`], for an executable that is nothing but a keeper.
pub fn serve_always() -> ExitCode {
    if serve().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn serve() -> io::Result<()> {
    descriptors::close_from(3);
    let socket = UnixStream::from(descriptors::take_stdin()?);
    let report = socket.try_clone()?;
    take_over(socket).inspect_err(|error| {
        // Whoever waits at the other end is told why, rather than that.
        let reason = format!("its keeper could not take over: {error}");
        let _ = encode(&Report::FailedToStart { reason }).map(|frame| io::Write::write_all(&mut &report, &frame));
    })
}

fn take_over(socket: UnixStream) -> io::Result<()> {
    // A session of our own: the terminal's Ctrl-C is for the engine to judge, not for us to die of.
    let _ = rustix::process::setsid();
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    // No core files by themselves; a command that wants one may still raise its own limit.
    let core = rustix::process::getrlimit(Resource::Core);
    rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), ..core })?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    std::env::set_current_dir("/")?;
    survive_file_size_limit();
    let signals = SignalInbox::open(&[libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP])?;
    let shared = SharedFiles::create()?;
    idle::serve(socket, Post { signals, shared })
}

/// What a keeper has from its start to its end.
struct Post {
    signals: SignalInbox,
    shared: SharedFiles,
}

/// More than the state of a usual shell.
const STATE_PIPE_BYTES: usize = 256 << 10;

/// What the shell opens by the path of our descriptor, so that it never inherits one.
struct SharedFiles {
    /// Where its state arrives. A pipe, since no limit on the size of files holds for it.
    state: OwnedFd,
    /// The other end: held open for the shell.
    _state_end: OwnedFd,
    /// Lists that the shell reads again itself.
    scratch: OwnedFd,
    /// Where it waits before it says more than how it ended.
    go: OwnedFd,
    go_end: OwnedFd,
}

impl SharedFiles {
    fn create() -> io::Result<Self> {
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
        // Everything is above their places now, so these are free.
        let place = |descriptor: OwnedFd, number: i32| {
            let placed = rustix::io::fcntl_dupfd_cloexec(&descriptor, number)?;
            if placed.as_raw_fd() == number { Ok(placed) } else { Err(io::Error::other("descriptors are short")) }
        };
        let (end, scratch) = (place(end, STATE_FD)?, place(scratch, SCRATCH_FD)?);
        Ok(Self { state, _state_end: end, scratch, go: place(go, GO_FD)?, go_end })
    }

    /// Lets the shell say the rest.
    fn let_go_on(&self) {
        let _ = rustix::io::write(&self.go_end, b"!");
    }

    /// Forgets what the last shell left here.
    fn clear(&self) {
        let mut passed_over = [0; 8192];
        while rustix::io::read(&self.state, &mut passed_over).is_ok_and(|count| count > 0) {}
        while rustix::io::read(&self.go, &mut passed_over).is_ok_and(|count| count > 0) {}
        let _ = rustix::fs::ftruncate(&self.scratch, 0);
    }
}
