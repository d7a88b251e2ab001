//! Stage 5: processes. The only module that starts any.
//!
//! 1. [`shell`] knows which shell runs commands, and [`delivery`] how a command reaches it unchanged.
//! 2. [`launch`] starts a keeper ([`keeper_process`]) and hands it the plan, the loader and the script as files in
//!    memory.
//! 3. The keeper, in its own process, starts the shell ([`shell_process`]) in its own session, with nothing inherited
//!    but three streams.

mod delivery;
pub(crate) mod helper;
mod keeper_process;
mod shell;
mod shell_process;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tokio::net::UnixStream;
use zeroize::{Zeroize, Zeroizing};

use crate::error::StartError;
use crate::keeper::protocol::{Input, KeeperPlan, VERSION};
use crate::limits::Limits;
use crate::request::{CommandInput, CommandRequest, OnTimeout};
use crate::secrets::ResolvedCommand;
use crate::session::bash::load::{self, LoadOptions};
use crate::session::{StartingPoint, posix};
use crate::sys::messages;
use crate::tasks::folder::RunFolder;

pub use shell::Shell;
pub(crate) use shell::ShellKind;
pub(crate) use shell_process::start_shell;

/// A command that was handed to its keeper.
#[derive(Debug)]
pub(crate) struct Launched {
    pub(crate) connection: UnixStream,
    pub(crate) keeper: PathBuf,
    /// What was asked, its input given away.
    pub(crate) command: CommandRequest,
}

/// Everything `launch` needs besides the command.
pub(crate) struct LaunchSettings<'a> {
    pub(crate) keeper: &'a Path,
    pub(crate) shell: &'a Shell,
    pub(crate) limits: &'a Limits,
    pub(crate) spool_allowance: u64,
    /// The run's folder, locked: from its first moment the run counts as alive. Held until the keeper has it.
    pub(crate) lock: File,
    pub(crate) session: Option<&'a str>,
    pub(crate) client: Option<&'a str>,
}

/// Starts a keeper and hands it the command.
pub(crate) fn launch(
    command: ResolvedCommand,
    start: &StartingPoint,
    folder: &RunFolder,
    settings: LaunchSettings<'_>,
) -> Result<Launched, StartError> {
    let (socket, pid) = keeper_process::start(settings.keeper, folder.id())
        .map_err(|error| StartError::Keeper { path: settings.keeper.to_owned(), error })?;
    let handed_over = hand_over(&socket, pid, &command, start, folder, &settings);
    let keeper = settings.keeper.to_owned();
    drop(settings);
    let mut command = command.into_request();
    // The descriptor is the command's now; were it open here too, whoever writes to it would never see it closed.
    command.input = CommandInput::Nothing;
    match handed_over.and_then(|()| into_async(socket)) {
        Ok(connection) => Ok(Launched { connection, keeper, command }),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(StartError::KeeperVanished(keeper)),
        Err(error) => Err(StartError::HandOver(error)),
    }
}

fn into_async(socket: std::os::unix::net::UnixStream) -> io::Result<UnixStream> {
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

fn hand_over(
    socket: impl AsFd,
    keeper: i32,
    command: &ResolvedCommand,
    start: &StartingPoint,
    folder: &RunFolder,
    settings: &LaunchSettings<'_>,
) -> io::Result<()> {
    let request = command.request();
    let called_as = request.called_as.as_deref().unwrap_or(settings.shell.usual_name());
    let kind = settings.shell.kind();
    let chosen = delivery::choose(&request.command, kind);
    let delivery = if command.holds_values() { chosen.out_of_sight(&request.command, kind) } else { chosen };
    let options = LoadOptions { keeper, sets_exit_trap: delivery.sets_exit_trap, hands_back: delivery.hands_back };
    let (loader, script) = match settings.shell.kind() {
        ShellKind::Bash => (load::loader(&start.state, called_as, options), command.script().to_vec()),
        ShellKind::Posix => (posix::loader(&start.state, keeper), delivery::posix_script(command.script())),
    };
    let (loader, script) = (Zeroizing::new(loader), Zeroizing::new(script));
    let mut plan = plan(command, start, folder, settings, called_as, delivery);
    let encoded = postcard::to_stdvec(&plan).map_err(|error| io::Error::other(error.to_string()))?;
    for (_, value) in plan.masks.drain(..) {
        value.into_vec().zeroize();
    }
    let encoded = Zeroizing::new(encoded);
    let (plan, loader, script) = (memory_file(&encoded)?, memory_file(&loader)?, memory_file(&script)?);
    let text_input;
    let input: Option<BorrowedFd<'_>> = match &request.input {
        CommandInput::Nothing | CommandInput::Open => None,
        CommandInput::Descriptor(descriptor) => Some(descriptor.as_fd()),
        CommandInput::Text(text) => {
            text_input = memory_file(text)?;
            Some(text_input.as_fd())
        }
    };
    let files = [plan.as_fd(), settings.lock.as_fd(), loader.as_fd(), script.as_fd()];
    let descriptors: Vec<BorrowedFd<'_>> = files.into_iter().chain(input).collect();
    messages::send(socket, VERSION, &descriptors)
}

fn plan(
    command: &ResolvedCommand,
    start: &StartingPoint,
    folder: &RunFolder,
    settings: &LaunchSettings<'_>,
    called_as: &[u8],
    delivery: delivery::Delivery,
) -> KeeperPlan {
    let request = command.request();
    let mut stop = settings.limits.stop;
    stop.grace = request.grace.unwrap_or(stop.grace);
    let mut spool = settings.limits.spool;
    spool.per_run = settings.spool_allowance;
    KeeperPlan {
        folder: folder.path().to_owned(),
        program: settings.shell.path().as_os_str().as_bytes().into(),
        forms: delivery::forms(settings.shell.kind(), called_as, &request.command, delivery),
        environment: load::environment(&start.state).into_iter().map(Into::into).collect(),
        directory: OsStr::as_bytes(start.state.cwd.as_os_str()).into(),
        input: match request.input {
            CommandInput::Nothing => Input::Nothing,
            CommandInput::Text(_) | CommandInput::Descriptor(_) => Input::Given,
            CommandInput::Open => Input::Open,
        },
        streams: request.streams,
        terminal: request.terminal,
        tells_waiting: request.until_input && request.terminal.is_some(),
        timeout: request.timeout.filter(|_| request.on_timeout == OnTimeout::Stop),
        silence: request.silence,
        lifetime: request.lifetime,
        session: settings.session.map(str::to_owned),
        client: settings.client.map(str::to_owned),
        transcript: request.transcript.then(|| folder.path().join("output.log")),
        masks: command.masks().iter().map(|(mask, value)| (mask.clone(), value.expose().into())).collect(),
        stop,
        spool,
    }
}

/// A file in memory with `content`, to be read from its beginning.
fn memory_file(content: &[u8]) -> io::Result<OwnedFd> {
    let descriptor = rustix::fs::memfd_create("chiton", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = File::from(descriptor);
    file.write_all(content)?;
    let descriptor = OwnedFd::from(file);
    rustix::fs::seek(&descriptor, rustix::fs::SeekFrom::Start(0))?;
    Ok(descriptor)
}
