//! The keeper: a small single-threaded process that owns one command at a time.
//!
//! 1. [`serve_if_asked`] recognises the re-executed program and never returns from it.
//! 2. It makes itself the child subreaper and takes orders from the socket ([`idle`]): to start a shell that waits for
//!    its command, or to run one. Shells are started in [`started_shell`].
//! 3. It keeps the run ([`run`]): moves its output ([`output`]), answers requests ([`requests`]), keeps its times
//!    ([`clock`]), stops it ([`crate::stop`]), reaps its processes ([`family`]).
//! 4. It reports and records the ending ([`ending`]), in the journal where nobody waits for it ([`journal`]), and stays as long as anything the command started is alive. When
//!    nothing is, it can serve the next command of its session.
//!
//! No thread, no async runtime, no policy: what to run and for how long is the engine's decision.

mod audience;
mod blocked_call;
mod blocked_on_tty;
mod boundary;
mod clock;
mod connection;
mod console;
mod deadlines;
mod ending;
mod family;
mod idle;
mod input;
mod journal;
mod leftover_task;
mod lifecycle;
mod lines;
mod masking;
mod notices;
mod output;
mod rationing;
mod reader;
mod requests;
mod run;
mod shared_files;
mod started_shell;
mod state;
mod terminal;
mod transcript;
mod unattended;
mod watches;

use std::ffi::OsStr;
use std::io;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use rustix::process::{Resource, Rlimit};

use crate::enclosure::network::broker::{self, BROKER_ARGUMENT};
use crate::enclosure::prepare;
use crate::protocol::{KEEPER_ARGUMENT, Report, SANDBOX_ARGUMENT, encode};
use crate::sys::descriptors;
use crate::sys::signals::{SignalInbox, survive_file_size_limit};
use shared_files::SharedFiles;

/// Call this first thing in `main`.
///
/// The engine starts its keepers by executing the program it is part of once more. In such a process this function
/// does the keeper's work and then exits; in any other it returns at once. A program that cannot call it names
/// another executable that does in [`crate::EngineConfig::keeper`], for instance the `chiton` command.
///
/// A program that forgets it fails: [`crate::Engine::new`] gives an error in such a process, and the call that wanted a
/// keeper gives one that names this function.
pub fn serve_if_asked() {
    if let Some(role) = role() {
        std::process::exit(i32::from(role.serve().is_err()));
    }
}

/// What a program that was executed once more is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Keeper,
    /// Prepares a sandbox.
    Preparer,
    /// Leads the names of a sandbox out of its network.
    Broker,
}

impl Role {
    fn serve(self) -> io::Result<()> {
        match self {
            Self::Keeper => serve(),
            Self::Preparer => prepare::serve(),
            Self::Broker => broker::serve(),
        }
    }
}

fn role() -> Option<Role> {
    let argument = std::env::args_os().nth(1)?;
    let known = [(KEEPER_ARGUMENT, Role::Keeper), (SANDBOX_ARGUMENT, Role::Preparer), (BROKER_ARGUMENT, Role::Broker)];
    known.into_iter().find(|(name, _)| argument == OsStr::new(name)).map(|(_, role)| role)
}

/// Whether this process was started to serve an engine.
pub(crate) fn is_asked() -> bool {
    role().is_some()
}

/// As [`serve_if_asked`], for an executable that is nothing else.
pub fn serve_always() -> ExitCode {
    let served = role().unwrap_or(Role::Keeper).serve();
    if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn serve() -> io::Result<()> {
    // Before anything is opened: a descriptor that the engine's program leaked must not reach a command, nor hold a
    // file or a pipe open for as long as this keeper lives.
    descriptors::close_from(3);
    let socket = UnixStream::from(descriptors::take_stdin()?);
    let report = socket.try_clone()?;

    take_over(socket).inspect_err(|error| {
        // Without this the engine would learn only that its keeper is gone, not why.
        let reason = format!("its keeper could not take over: {error}");
        let _ = encode(&Report::FailedToStart { reason }).map(|frame| io::Write::write_all(&mut &report, &frame));
    })
}

fn take_over(socket: UnixStream) -> io::Result<()> {
    // A session of our own: the terminal's Ctrl-C is for the engine to judge, not for us to die of.
    let _ = rustix::process::setsid();
    // Before the first shell: a process that is orphaned earlier would go to init, out of our sight.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    // No core files: they would hold the values of secrets. The hard limit too, so that no command can undo that.
    rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    // A keeper may live for days and must not keep a file system busy.
    std::env::set_current_dir("/")?;
    survive_file_size_limit();

    // The signals are blocked here, before the first shell is started. A SIGCHLD that came between the start and the
    // opening of the inbox would be lost, and the end of a quick command never noticed.
    let signals = SignalInbox::open(&[libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP])?;
    let shared = SharedFiles::create()?;
    idle::serve(socket, Equipment { signals, shared })
}

/// What a keeper has from its start to its end, whatever it runs.
struct Equipment {
    signals: SignalInbox,
    shared: SharedFiles,
}
