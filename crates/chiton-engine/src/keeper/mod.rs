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

use crate::protocol::{KEEPER_ARGUMENT, Report, encode};
use crate::sandbox::network::broker;
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
    if is_asked() {
        std::process::exit(i32::from(serve().is_err()));
    }
}

/// Whether this process was started to be a keeper, or the broker of a session's network.
pub(crate) fn is_asked() -> bool {
    broker::is_asked() || std::env::args_os().nth(1).as_deref() == Some(OsStr::new(KEEPER_ARGUMENT))
}

/// As [`serve_if_asked`], for an executable that is nothing but a keeper.
pub fn serve_always() -> ExitCode {
    if serve().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn serve() -> io::Result<()> {
    if broker::is_asked() {
        return broker::serve();
    }
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
