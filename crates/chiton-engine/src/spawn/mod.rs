//! Stage 5: processes. The only module that starts any.
//!
//! 1. [`shell`] knows which shell runs commands, and [`delivery`] how a command reaches it unchanged.
//! 2. [`launch`] gives the command to a shell that waits for it ([`spare`]), where a fitting one does. Else it orders a
//!    keeper ([`keeper_process`]), one that is free or a new one, to start a shell for it. The order, the loader and the
//!    script are files in memory.
//! 3. The keeper, in its own process, starts the shell ([`shell_process`]) in its own session, with nothing inherited
//!    but three streams.
//! 4. After the run its keeper is free again, if nothing is left of the command: [`pool`] keeps it for the session's
//!    next command, with a shell that waits.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::bytes::ByteString;
use crate::error::StartError;
use crate::folder::RunFolder;
use crate::limits::Limits;
use crate::protocol::{Input, Order, RunPlan, ShellPlan};
use crate::request::{CommandInput, OnTimeout};
use crate::secrets::ResolvedCommand;
use crate::session::StartingPoint;
use crate::state::bash::load::{self, LoadOptions};
use crate::state::posix;

use crate::process::delivery::{self, Delivery};
use crate::process::keeper_process::Keeper;
use crate::process::order::{give_order, memory_file};
use crate::process::{Shell, ShellKind};
use crate::warm::spare::Spare;

/// A command that was handed to its keeper.
#[derive(Debug)]
pub(crate) struct Launched {
    pub(crate) keeper: Keeper,
    pub(crate) program: PathBuf,
    /// The shell, where it was there before.
    pub(crate) pid: Option<i32>,
}

/// Everything `launch` needs besides the command.
pub(crate) struct LaunchSettings<'a> {
    pub(crate) keeper: &'a Path,
    pub(crate) shell: &'a Shell,
    pub(crate) limits: &'a Limits,
    pub(crate) spool_allowance: u64,
    pub(crate) session: Option<&'a str>,
    pub(crate) client: Option<&'a str>,
    /// What the keeper is to write down of the request.
    pub(crate) request: Option<ByteString>,
}

/// Who is to run a command.
pub(crate) enum Runner {
    /// A shell that waits for it.
    Spare(Box<Spare>),
    /// A keeper that has to start one, in a folder that is locked: from its first moment the run counts as alive.
    Keeper(Keeper, File),
}

/// How a command has to be given to a shell.
pub(crate) fn delivery(command: &ResolvedCommand, shell: &Shell, start: &StartingPoint) -> Delivery {
    let kind = shell.kind();
    let chosen = delivery::choose(&command.request().command, || command.parsed().as_ref().ok(), kind, &start.state);
    if command.holds_values() { chosen.with_secret() } else { chosen }
}

/// Hands the command to whoever is to run it.
pub(crate) fn launch(
    command: &ResolvedCommand,
    delivery: Delivery,
    start: &StartingPoint,
    folder: &RunFolder,
    runner: Runner,
    mut settings: LaunchSettings<'_>,
) -> Result<Launched, StartError> {
    let program = settings.keeper.to_owned();
    let request = settings.request.take();
    let plan = RunPlan { request, ..run_plan(command, delivery, start, folder, &settings) };
    let handed_over = match runner {
        Runner::Spare(spare) => spare.begin(command.script(), &plan),
        Runner::Keeper(keeper, lock) => {
            order_run(&keeper, &lock, command, delivery, start, plan, &settings).map(|()| (keeper, None))
        }
    };
    match handed_over {
        Ok((keeper, pid)) => Ok(Launched { keeper, program, pid }),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(StartError::KeeperVanished(program)),
        Err(error) => Err(StartError::HandOver(error)),
    }
}

fn order_run(
    keeper: &Keeper,
    lock: &File,
    command: &ResolvedCommand,
    delivery: Delivery,
    start: &StartingPoint,
    plan: RunPlan,
    settings: &LaunchSettings<'_>,
) -> io::Result<()> {
    let request = command.request();
    let called_as = request.called_as.as_deref().unwrap_or(settings.shell.usual_name());
    let options = LoadOptions { keeper: keeper.pid, exit_trap: delivery.exit_trap() };
    let (loader, script) = match settings.shell.kind() {
        ShellKind::Bash => (load::loader(&start.state, called_as, options), command.script().to_vec()),
        ShellKind::Posix => (posix::loader(&start.state, keeper.pid), delivery::posix_script(command.script())),
    };
    let (loader, script) = (Zeroizing::new(loader), Zeroizing::new(script));
    let text_input;
    let input: Option<BorrowedFd<'_>> = match &request.input {
        CommandInput::Nothing | CommandInput::Open => None,
        CommandInput::Descriptor(descriptor) => Some(descriptor.as_fd()),
        CommandInput::Text(text) => {
            text_input = memory_file(text)?;
            Some(text_input.as_fd())
        }
    };
    let shell = ShellPlan {
        folder: plan.folder.clone(),
        program: settings.shell.path().as_os_str().as_encoded_bytes().into(),
        forms: delivery::forms(settings.shell.kind(), called_as, &request.command, delivery, keeper.pid),
        environment: load::environment(&start.state).into_iter().map(Into::into).collect(),
        directory: OsStr::as_encoded_bytes(start.state.cwd.as_os_str()).into(),
        input: match request.input {
            CommandInput::Nothing => Input::Nothing,
            CommandInput::Text(_) | CommandInput::Descriptor(_) => Input::Given,
            CommandInput::Open => Input::Open,
        },
        streams: request.streams,
        terminal: request.terminal,
        masks: command.masks().iter().map(|(mask, value)| (mask.clone(), value.expose().into())).collect(),
    };
    let (loader, script) = (memory_file(&loader)?, memory_file(&script)?);
    let order = Order::Run(Box::new(shell), Box::new(plan));
    let files = [loader.as_fd(), script.as_fd(), lock.as_fd()];
    give_order(keeper, order, &files.into_iter().chain(input).collect::<Vec<_>>())
}

fn run_plan(
    command: &ResolvedCommand,
    delivery: Delivery,
    start: &StartingPoint,
    folder: &RunFolder,
    settings: &LaunchSettings<'_>,
) -> RunPlan {
    let request = command.request();
    let mut stop = settings.limits.stop;
    stop.grace = request.grace.unwrap_or(stop.grace);
    let mut spool = settings.limits.spool;
    spool.per_run = settings.spool_allowance;
    RunPlan {
        folder: folder.path().to_owned(),
        directory: OsStr::as_encoded_bytes(start.state.cwd.as_os_str()).into(),
        tells_waiting: request.until_input && request.terminal.is_some(),
        timeout: request.timeout.filter(|_| request.on_timeout == OnTimeout::Stop),
        silence: request.silence,
        lifetime: request.lifetime,
        session: settings.session.map(str::to_owned),
        client: settings.client.map(str::to_owned),
        transcript: request.transcript.then(|| folder.path().join("output.log")),
        // A value that the command knows may be in what it leaves; that is said with its answer.
        answer_first: request.answer_first && !command.holds_values(),
        changes_nothing: delivery.expected().changes_nothing,
        request: None,
        stop,
        spool,
    }
}
