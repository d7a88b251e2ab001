//! A shell that was started, and what its keeper holds of it.
//!
//! 1. The pipes or the terminal are made, and the shell is started with their other ends.
//! 2. Meanwhile the run's folder is made, where the engine has not done that, and its socket opened.
//!
//! How a process is started is left to `process`; what becomes of it to [`super::run`].

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;

use super::boundary::Boundary;
use super::masking::OutputMasking;
use super::rationing::Rationing;
use super::shared_files::SharedFiles;
use super::terminal::TerminalEnds;
use crate::folder::RunFolder;
use crate::process::{ShellProcess, start_shell};
use crate::protocol::{EnclosedPlan, GivenFiles, Input, ShellPlan};
use crate::run::Streams;
use crate::stop::LeaderAlone;
use crate::sys::process::wait_for;
use chiton_terminal::TerminalSize;

/// Everything needed to keep the run of a shell.
pub(super) struct StartedShell {
    pub(super) pid: i32,
    pub(super) leader_alone: LeaderAlone,
    pub(super) folder: RunFolder,
    /// The lock on the folder: while it is open, the run counts as alive.
    pub(super) alive: OwnedFd,
    pub(super) door: Option<UnixListener>,
    pub(super) masking: OutputMasking,
    /// What it prints.
    pub(super) pipes: [Option<OwnedFd>; 2],
    /// What it reads, where that is left open.
    pub(super) input: Option<File>,
    pub(super) terminal: Option<(TerminalEnds, TerminalSize)>,
    /// What holds it, where it is in a sandbox.
    pub(super) enclosed: Option<Enclosed>,
    /// The pipe that will bring its command, where it waits for that.
    pub(super) script: Option<OwnedFd>,
}

/// What holds a shell in a sandbox.
pub(super) struct Enclosed {
    /// Answers its calls, where the filter asks.
    pub(super) boundary: Option<Boundary>,
    pub(super) rationing: Rationing,
    /// While it is open, names lead out of the sandbox's network.
    pub(super) network: Option<OwnedFd>,
}

impl Enclosed {
    fn new(
        plan: &EnclosedPlan,
        started: ShellProcess,
        shared: &SharedFiles,
        mut given: Vec<OwnedFd>,
    ) -> io::Result<Self> {
        let network = if plan.has_broker { given.pop() } else { None };
        let limits = plan.policy.limits;
        let disk = plan.policy.workspace.first().or_else(|| plan.policy.write.first()).cloned();
        let to_shell = shared.given()?;
        let boundary =
            started.listener.map(|listener| Boundary::new(listener, plan, (to_shell, shared.folder()), started.pid));
        Ok(Self { boundary, rationing: Rationing::new(limits, disk), network })
    }
}

/// When a shell has its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandArrives {
    /// It came along: the shell runs it at once.
    WithTheOrder,
    /// Through a pipe, later: the shell waits for it.
    ThroughAPipe,
}

impl StartedShell {
    pub(super) fn start(
        plan: &mut ShellPlan,
        mut given: GivenFiles,
        shared: &SharedFiles,
        arrives: CommandArrives,
    ) -> Result<Self, String> {
        let masking = OutputMasking::new(std::mem::take(&mut plan.masks));
        // The shell first: it needs longer to start than the folder takes to be made.
        let (started, pipes, input, ends) = start(plan, &mut given).map_err(|error| explain(plan, &error))?;
        let pid = started.pid;
        let enclosing = std::mem::take(&mut given.enclosing);
        let enclosed = plan.enclosed.take().map(|enclosed| Enclosed::new(&enclosed, started, shared, enclosing));
        let enclosed = enclosed.transpose().map_err(|error| {
            end(pid);
            error.to_string()
        })?;

        let folder = match given.folder.take() {
            Some(alive) => RunFolder::at(&plan.folder).map(|folder| (folder, alive)),
            None => RunFolder::make_ready(&plan.folder).map(|(folder, lock)| (folder, lock.into())),
        };
        match folder {
            Ok((folder, alive)) => {
                let door = folder.open_door().ok();
                Ok(Self {
                    pid,
                    script: (arrives == CommandArrives::ThroughAPipe).then_some(given.script),
                    leader_alone: LeaderAlone::of(pid),
                    folder,
                    alive,
                    door,
                    masking,
                    pipes,
                    input,
                    terminal: ends.zip(plan.terminal),
                    enclosed,
                })
            }
            Err(error) => {
                end(pid);
                Err(error.to_string())
            }
        }
    }
}

/// Ends a shell that has run nothing, and reaps it.
pub(super) fn end(pid: i32) {
    kill(pid);
    let _ = wait_for(pid);
}

/// Kills a shell that has nothing more to do.
pub(super) fn kill(pid: i32) {
    // It is our own child and not reaped, so the number cannot be anybody else's.
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// The shell, what it prints, what it reads, and its terminal.
type Started = (ShellProcess, [Option<OwnedFd>; 2], Option<File>, Option<TerminalEnds>);

fn start(plan: &ShellPlan, given: &mut GivenFiles) -> io::Result<Started> {
    if let Some(size) = plan.terminal {
        let ends = TerminalEnds::open(size)?;
        given.more = Some(ends.theirs.try_clone()?);
        let pid = start_shell(plan, given, &ends.theirs, &ends.theirs)?;
        let (output, input) = (ends.ours.try_clone()?, ends.ours.try_clone()?);
        return Ok((pid, [Some(output), None], Some(input.into()), Some(ends)));
    }

    let (stdout, stdout_end) = output_pipe()?;
    let (stderr, stderr_end) = match plan.streams {
        Streams::Separate => output_pipe().map(|(read, write)| (Some(read), write))?,
        Streams::Merged => (None, stdout_end.try_clone()?),
    };
    let mut input = None;
    if plan.input == Input::Open {
        let (read, write) = io::pipe()?;
        rustix::io::ioctl_fionbio(&write, true)?;
        given.more = Some(read.into());
        input = Some(File::from(OwnedFd::from(write)));
    }

    // The ends that the shell has are closed here when this returns: otherwise its pipes would never read as closed.
    let pid = start_shell(plan, given, &stdout_end, &stderr_end)?;
    Ok((pid, [Some(stdout), stderr], input, None))
}

fn output_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    // Only our end must not block: a program that finds its output non-blocking fails in ways nobody expects.
    rustix::io::ioctl_fionbio(&read, true)?;
    Ok((read, write))
}

/// Why a shell could not be started. `posix_spawn` gives the same error for a directory that cannot be entered and a
/// program that cannot be executed.
fn explain(plan: &ShellPlan, error: &io::Error) -> String {
    let directory = plan.directory.to_text();
    if !fs::metadata(&directory).is_ok_and(|data| data.is_dir()) {
        return format!("the working directory {directory} cannot be entered: {error}");
    }
    if error.kind() == io::ErrorKind::InvalidInput {
        return error.to_string();
    }
    format!("{} in {directory}: {error}", plan.program.to_text())
}
