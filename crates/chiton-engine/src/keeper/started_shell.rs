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
use std::path::Path;

use rustix::fs::OFlags;

use super::boundary::Boundary;
use super::masking::OutputMasking;
use super::rationing::Rationing;
use super::shared_files::SharedFiles;
use super::terminal::TerminalEnds;
use crate::folder::RunFolder;
use crate::process::{ShellProcess, start_shell};
use crate::protocol::{EnclosedPlan, GivenFiles, Input, NextBranch, ShellPlan};
use crate::run::{DirectoryId, Streams};
use crate::stop::{self, LeaderAlone};
use crate::sys::process::wait_for;
use chiton_terminal::TerminalSize;

/// Everything needed to keep the run of a shell.
pub(super) struct StartedShell {
    pub(super) pid: i32,
    pub(super) leader_alone: LeaderAlone,
    pub(super) folder: RunFolder,
    /// The lock on the folder: while it is open, the run counts as alive.
    pub(super) alive: OwnedFd,
    /// Where others knock. One that waits has none yet.
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
    /// What is used again for its next branch, where it is a stem.
    pub(super) stem: Option<Stem>,
}

/// A shell whose copies run commands, and what all of them use one after the other.
pub(super) struct Stem {
    pub(super) pid: i32,
    /// The branch that waits for a command, once it does.
    pub(super) branch: Option<i32>,
    /// What brings it commands.
    script: OwnedFd,
    /// What its branches print, both ends. Programs may change how the end that they write to behaves.
    pipes: [Option<OwnedFd>; 2],
    write_ends: Vec<OwnedFd>,
    masking: OutputMasking,
}

impl Stem {
    /// The shell for its next run, in this folder. `enclosed` is what held the last one.
    pub(super) fn again(self, folder: &Path, enclosed: Option<Enclosed>) -> io::Result<StartedShell> {
        for end in &self.write_ends {
            // A program that finds its output non-blocking fails in ways nobody expects, and others leave it so.
            rustix::fs::fcntl_setfl(end, OFlags::empty())?;
        }
        let (folder, alive) = RunFolder::make_ready(folder)?;
        let (pipes, script) = (both_again(&self.pipes)?, self.script.try_clone()?);
        Ok(StartedShell {
            pid: self.pid,
            leader_alone: self.leader_alone(),
            folder,
            alive: alive.into(),
            door: None,
            masking: self.masking.again(),
            pipes,
            input: None,
            terminal: None,
            enclosed: enclosed.map(Enclosed::again),
            script: Some(script),
            stem: Some(self),
        })
    }

    /// Says whether the branch that waits is alone.
    pub(super) fn leader_alone(&self) -> LeaderAlone {
        match self.branch {
            Some(branch) => LeaderAlone::branched(branch, self.pid),
            None => LeaderAlone::of(self.pid),
        }
    }

    /// Ends the branch of a stem that is gone: it is our own child now, or gone as well.
    pub(super) fn end_branch(&self) {
        if let Some(branch) = self.branch.filter(|branch| stop::is_child(*branch, stop::own_id())) {
            kill(branch);
        }
    }

    /// The branch that waits, after `last` has run a command.
    pub(super) fn next_branch(&self, last: Option<i32>) -> NextBranch {
        if self.branch == last { NextBranch::Same } else { NextBranch::Another }
    }
}

/// Whether this shell is in this directory.
pub(super) fn is_in(pid: i32, directory: DirectoryId) -> bool {
    rustix::fs::stat(format!("/proc/{pid}/cwd")).is_ok_and(|data| (data.st_dev, data.st_ino) == directory)
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
    /// For the next run in it.
    fn again(self) -> Self {
        let Self { boundary, rationing, network } = self;
        Self { boundary: boundary.map(Boundary::again), rationing: rationing.again(), network }
    }

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
        let Started { shell: started, pipes, input, terminal, write_ends } =
            start(plan, &mut given).map_err(|error| explain(plan, &error))?;
        let pid = started.pid;
        let say = |error: io::Error| {
            end(pid);
            error.to_string()
        };
        let enclosing = std::mem::take(&mut given.enclosing);
        let enclosed = plan.enclosed.take().map(|enclosed| Enclosed::new(&enclosed, started, shared, enclosing));
        let enclosed = enclosed.transpose().map_err(say)?;
        let stem = || -> io::Result<Stem> {
            let script = given.script.try_clone()?;
            let pipes = both_again(&pipes)?;
            Ok(Stem { pid, branch: None, script, pipes, write_ends, masking: masking.again() })
        };
        let stem = plan.stem.then(stem).transpose().map_err(say)?;

        let folder = match given.folder.take() {
            Some(alive) => RunFolder::at(&plan.folder).map(|folder| (folder, alive)),
            None => RunFolder::make_ready(&plan.folder).map(|(folder, lock)| (folder, lock.into())),
        };
        match folder {
            Ok((folder, alive)) => {
                let is_known = arrives == CommandArrives::WithTheOrder;
                let door = is_known.then(|| folder.open_door().ok()).flatten();
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
                    terminal: terminal.zip(plan.terminal),
                    enclosed,
                    stem,
                })
            }
            Err(error) => Err(say(error)),
        }
    }
}

/// The same pipes once more.
fn both_again([stdout, stderr]: &[Option<OwnedFd>; 2]) -> io::Result<[Option<OwnedFd>; 2]> {
    let again = |pipe: &Option<OwnedFd>| pipe.as_ref().map(OwnedFd::try_clone).transpose();
    Ok([again(stdout)?, again(stderr)?])
}

/// Ends a shell that has run nothing, and reaps it.
pub(super) fn end(pid: i32) {
    kill(pid);
    let _ = wait_for(pid);
}

/// Ends what is left of a stem that is gone, and reaps it. A branch that nobody has heard of yet would speak up later, and be
/// taken for one of the next stem. Nobody else is a child of a keeper between two runs.
pub(super) fn end_orphans() {
    stop::children().into_iter().for_each(end);
}

/// Kills a shell that has nothing more to do.
pub(super) fn kill(pid: i32) {
    // It is our own child and not reaped, so the number cannot be anybody else's.
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// A shell, what it prints, what it reads, and its terminal.
struct Started {
    shell: ShellProcess,
    pipes: [Option<OwnedFd>; 2],
    input: Option<File>,
    terminal: Option<TerminalEnds>,
    /// The other ends of the pipes, of a stem.
    write_ends: Vec<OwnedFd>,
}

fn start(plan: &ShellPlan, given: &mut GivenFiles) -> io::Result<Started> {
    if let Some(size) = plan.terminal {
        let ends = TerminalEnds::open(size)?;
        given.more = Some(ends.theirs.try_clone()?);
        let shell = start_shell(plan, given, &ends.theirs, &ends.theirs)?;
        let (output, input) = (ends.ours.try_clone()?, ends.ours.try_clone()?);
        let (pipes, input, terminal) = ([Some(output), None], Some(input.into()), Some(ends));
        return Ok(Started { shell, pipes, input, terminal, write_ends: Vec::new() });
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

    // The ends that the shell has are closed here when this returns: otherwise its pipes would never read as closed. Those of
    // a stem are never closed before it is gone.
    let shell = start_shell(plan, given, &stdout_end, &stderr_end)?;
    let write_ends = if plan.stem { vec![stdout_end, stderr_end] } else { Vec::new() };
    Ok(Started { shell, pipes: [Some(stdout), stderr], input, terminal: None, write_ends })
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
