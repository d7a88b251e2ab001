//! A shell and what a keeper holds of it, from its start on.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;

use super::masking::Masking;
use super::terminal::Ends;
use crate::folder::RunFolder;
use crate::process::start_shell;
use crate::protocol::{GivenFiles, Input, ShellPlan};
use crate::run::Streams;
use crate::stop::Loneliness;
use crate::sys::process::wait_for;
use chiton_terminal::TerminalSize;

/// A shell that was started for a run, and what a keeper needs to own it.
pub(super) struct Shell {
    pub(super) pid: i32,
    pub(super) alone: Loneliness,
    pub(super) folder: RunFolder,
    pub(super) alive: OwnedFd,
    pub(super) door: Option<UnixListener>,
    pub(super) masking: Masking,
    /// What it prints, where we read it.
    pub(super) pipes: [Option<OwnedFd>; 2],
    /// What it reads, where that is left open.
    pub(super) input: Option<File>,
    pub(super) terminal: Option<(Ends, TerminalSize)>,
    /// Where its command arrives, where it waits for that.
    pub(super) script: Option<OwnedFd>,
}

impl Shell {
    /// Starts it. With `waits` it waits until its command has come through the pipe that came along.
    pub(super) fn start(plan: &mut ShellPlan, mut given: GivenFiles, waits: bool) -> Result<Self, String> {
        let masking = Masking::new(std::mem::take(&mut plan.masks));
        // The shell first: it needs longer to start than the folder takes to be made.
        let (pid, pipes, input, ends) = start(plan, &mut given).map_err(|error| explain(plan, &error))?;
        let terminal = ends.zip(plan.terminal);
        let place = match given.folder.take() {
            Some(alive) => RunFolder::at(&plan.folder).map(|folder| (folder, alive)),
            None => RunFolder::make_ready(&plan.folder).map(|(folder, lock)| (folder, lock.into())),
        };
        match place {
            Ok((folder, alive)) => {
                let door = folder.open_door().ok();
                Ok(Self {
                    pid,
                    script: waits.then_some(given.script),
                    alone: Loneliness::of(pid),
                    folder,
                    alive,
                    door,
                    masking,
                    pipes,
                    input,
                    terminal,
                })
            }
            Err(error) => {
                end(pid);
                Err(error.to_string())
            }
        }
    }
}

/// Ends a shell that has run nothing.
pub(super) fn end(pid: i32) {
    kill(pid);
    let _ = wait_for(pid);
}

/// Kills a shell that has nothing more to do.
pub(super) fn kill(pid: i32) {
    // Our own child and not reaped, so the number is its.
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// The shell, what it prints, what it reads, and its terminal.
type Started = (i32, [Option<OwnedFd>; 2], Option<File>, Option<Ends>);

fn start(plan: &ShellPlan, given: &mut GivenFiles) -> io::Result<Started> {
    if let Some(size) = plan.terminal {
        let ends = Ends::open(size)?;
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
    let pid = start_shell(plan, given, &stdout_end, &stderr_end)?;
    Ok((pid, [Some(stdout), stderr], input, None))
}

fn output_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    // Only our end must not block: a program that finds its output non-blocking fails in ways nobody expects.
    rustix::io::ioctl_fionbio(&read, true)?;
    Ok((read, write))
}

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
