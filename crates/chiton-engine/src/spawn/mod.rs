//! Stage 5: from a command that may run to one that does.
//!
//! 1. [`launch`] decides how the command reaches its shell ([`crate::process::delivery`]), and who runs it: a shell
//!    that waits for just such a command ([`crate::warm`]), or a keeper that starts one.
//! 2. [`open_run`] gives the run its folder, its record and its share of the disk.
//! 3. [`hand_over`] gives the command to that shell or keeper. The order, the loader and the script are files in
//!    memory.
//!
//! Starting processes is left to [`crate::process`]. After the run its keeper is free again, if nothing is left of the
//! command; the engine has it wait for the session's next one.

mod hand_over;
mod open_run;

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::audit::Journal;
use crate::enclosure::Enclosure;
use crate::error::{EngineError, StartError};
use crate::folder::RunFolder;
use crate::folder::record::RequestRecord;
use crate::limits::Limits;
use crate::owner::Owner;
use crate::process::Shell;
use crate::process::delivery::{self, Delivery, HandsBack};
use crate::process::keeper_process::Keeper;
use crate::request::{AnswerMode, CommandInput};
use crate::review::{Protection, UseOfText};
use crate::run::{Notify, RunId};
use crate::secrets::ResolvedCommand;
use crate::secrets::known::KnownSecrets;
use crate::session::{Session, StartingPoint};
use crate::state::bash;
use crate::warm::pool::{CallProfile, Place};
use crate::warm::spare::{HeldShell, Requirements, Spare};

pub(crate) use open_run::{OpenRun, SpoolQuota};

/// A command that was handed to its keeper.
#[derive(Debug)]
pub(crate) struct Launched {
    pub(crate) keeper: Keeper,
    pub(crate) program: PathBuf,
    /// The shell, where it was there before.
    pub(crate) pid: Option<i32>,
    /// The stem, where a branch of it runs the command.
    pub(crate) held: Option<HeldShell>,
    /// Among the shells that are being started, until this one is.
    pub(crate) place: Option<Place>,
}

/// Whether a call waits for the end of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attendance {
    Foreground,
    Background,
}

/// Which shell may run a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShellChoice {
    /// One that waits for it, or a new one.
    WaitingOrNew,
    /// A new one, with a new keeper: what waited turned out to be gone.
    New,
}

/// Everything that stage 5 needs besides the command.
pub(crate) struct LaunchSettings<'a> {
    /// The executable that becomes the keeper.
    pub(crate) keeper: &'a Path,
    /// What its arguments say of the policy.
    pub(crate) floor: Option<&'a OsStr>,
    /// The shell of the engine, for which others wait.
    pub(crate) usual_shell: &'a Shell,
    pub(crate) limits: &'a Limits,
    /// The folder of all runs.
    pub(crate) runs: &'a Path,
    pub(crate) quota: &'a Arc<SpoolQuota>,
    pub(crate) known: &'a KnownSecrets,
    pub(crate) session: &'a Session,
    /// Whose the run is.
    pub(crate) owner: Option<&'a Owner>,
    pub(crate) protection: Protection,
    /// The sandbox of the session.
    pub(crate) enclosure: Option<&'a Arc<Enclosure>>,
    pub(crate) attendance: Attendance,
    pub(crate) choice: ShellChoice,
    /// The run that was to be this one, and came to nothing.
    pub(crate) failed: Option<&'a RunFolder>,
    /// A shell that waits for the first command of a session, and for just this one.
    pub(crate) ready_spare: &'a (dyn Fn(&Requirements) -> Option<Spare> + Sync),
    /// A keeper that no session has, if one is ready.
    pub(crate) ready_keeper: &'a (dyn Fn() -> Option<Keeper> + Sync),
    /// Told what is about to be started, before it is. Where that fails, it is not started.
    pub(crate) announce: &'a (dyn Fn(&ResolvedCommand, &RequestRecord) -> Result<(), StartError> + Sync),
    /// Where the keeper writes down the end of a task.
    pub(crate) journal: Option<&'a Journal>,
    /// What tells a person of a task.
    pub(crate) notify: Option<&'a Notify>,
}

/// Who is to run a command.
enum Runner {
    /// A shell that waits for it.
    Spare(Box<Spare>),
    /// A keeper that has to start one, in a folder that is locked: from its first moment the run counts as alive.
    Keeper(Keeper, File),
}

/// Whether a shell waits for a command.
enum Found {
    /// It has a folder of the id that the run is to have.
    Spare(Box<Spare>),
    /// None does. Where one might have, this is the command's place among those for which shells are started.
    Nothing(Option<Place>),
}

/// Hands the command to a shell that waits for just such a one, or else to one that is started for it.
pub(crate) async fn launch(
    command: &mut ResolvedCommand,
    start: &StartingPoint,
    settings: LaunchSettings<'_>,
) -> Result<(OpenRun, Launched), EngineError> {
    let shell = command.request().shell.as_ref().unwrap_or(settings.usual_shell);
    let delivery = choose_delivery(command, shell, start);
    let run_id = command.request().run_id.as_ref();
    let (folder, runner, place) = match take_spare(command, delivery, start, &settings).await? {
        Found::Spare(spare) => (spare.folder.clone(), Runner::Spare(spare), None),
        Found::Nothing(place) => {
            let (folder, runner) = new_runner(run_id, &settings)?;
            (folder, runner, place)
        }
    };

    let (run, record) = OpenRun::new(command, start, folder, &runner, &settings)?;
    let announce = || (settings.announce)(command, &record);
    let launched = hand_over::hand_over(command, delivery, start, &run, runner, &settings, announce)?;
    command.give_input_away();
    Ok((run, Launched { place, ..launched }))
}

fn choose_delivery(command: &ResolvedCommand, shell: &Shell, start: &StartingPoint) -> Delivery {
    let script = || command.parsed().as_ref().ok();
    let chosen = match command.grounds().use_of_text {
        UseOfText::Run => delivery::choose(&command.request().command, script, shell.kind(), &start.state),
        UseOfText::Read => Delivery::only_read(),
    };
    let chosen = if command.holds_values() { chosen.with_secret() } else { chosen };
    if command.request().answer == AnswerMode::WithoutState { chosen.without_state() } else { chosen }
}

/// Looks for a shell that waits for just such a command.
async fn take_spare(
    command: &ResolvedCommand,
    delivery: Delivery,
    start: &StartingPoint,
    settings: &LaunchSettings<'_>,
) -> Result<Found, EngineError> {
    let Some(hands_back) = delivery.waits().filter(|_| settings.choice != ShellChoice::New) else {
        return Ok(Found::Nothing(None));
    };
    if hands_back == HandsBack::State && settings.limits.warm.per_session == 0 {
        return Ok(Found::Nothing(None));
    }
    let Some(profile) = profile_of(command, settings.usual_shell) else { return Ok(Found::Nothing(None)) };
    if !bash::load::reads_whole(command.script(), &start.state) {
        return Ok(Found::Nothing(None));
    }

    let pool = settings.session.pool();
    let requirements = Requirements {
        state: Arc::clone(&start.state),
        streams: profile.streams,
        called_as: profile.called_as.clone(),
        masks: Arc::clone(command.masks()),
        directory_id: start.directory_id,
        enclosure: settings.enclosure.cloned(),
        hands_back,
    };
    if hands_back == HandsBack::Nothing {
        // Nothing waits for those but what was started for this one.
        return match (settings.ready_spare)(&requirements) {
            Some(spare) => Ok(ready(spare, command, settings).await?.map_or(Found::Nothing(None), Found::Spare)),
            None => Ok(Found::Nothing(None)),
        };
    }
    pool.note_profile(&profile);
    // What waits for the first command of a session knows nothing of a single call.
    let is_first = pool.commands() == 0 && profile.adds_nothing();
    let mut place = None;
    loop {
        let for_the_first = || if is_first { (settings.ready_spare)(&requirements) } else { None };
        let found = pool.take(&requirements).or_else(for_the_first);
        let Some(spare) = found else {
            if place.is_none() {
                // What waits by the time that it is this command's turn is better than one more shell.
                place = Some(pool.line_up().await);
                continue;
            }
            if pool.returned().await {
                continue;
            }
            return Ok(Found::Nothing(place));
        };
        if let Some(spare) = ready(spare, command, settings).await? {
            return Ok(Found::Spare(spare));
        }
    }
}

/// Waits until a shell is ready for the command, in a folder of the id that its run is to have. `None` where it is gone, or
/// cannot take the command at once.
async fn ready(
    mut spare: Spare,
    command: &ResolvedCommand,
    settings: &LaunchSettings<'_>,
) -> Result<Option<Box<Spare>>, EngineError> {
    let fits = spare.has_room(command.script().len());
    if spare.ready().await.is_none() || !fits {
        return Ok(None);
    }
    // Somebody may have removed its folder; a new run then finds out why.
    match &command.request().run_id {
        None => Ok(spare.folder.path().is_dir().then(|| Box::new(spare))),
        Some(id) => match spare.folder.rename(id) {
            Ok(folder) => {
                spare.folder = folder;
                Ok(Some(Box::new(spare)))
            }
            Err(error) if is_taken(&error) => {
                settings.session.pool().put(spare);
                Err(EngineError::RunExists { id: id.clone() })
            }
            Err(_) => Ok(None),
        },
    }
}

/// Whether somebody has the name that a folder was to get. A file system that cannot tell has put something in it.
fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty)
}

/// What a command adds to the state of its session. `None` where no shell can wait for such a one: its shell or its
/// input is its own, it has a terminal, or a variable of it holds the value of a secret.
fn profile_of(command: &ResolvedCommand, usual_shell: &Shell) -> Option<CallProfile> {
    let request = command.request();
    let is_usual = request.shell.as_ref().is_none_or(|shell| shell == usual_shell)
        && matches!(request.input, CommandInput::Nothing)
        && request.terminal.is_none()
        && !command.has_resolved_variables();
    is_usual.then(|| CallProfile {
        directory: request.directory.clone(),
        environment: request.environment.clone(),
        streams: request.streams,
        called_as: request.called_as.clone(),
    })
}

/// A keeper that is free, or a new one, and a folder for its run.
fn new_runner(run_id: Option<&RunId>, settings: &LaunchSettings<'_>) -> Result<(RunFolder, Runner), EngineError> {
    let runs = settings.runs;
    let made = match (run_id, settings.failed) {
        (None, _) => RunFolder::create(runs),
        (Some(_), Some(failed)) => failed.renew(),
        (Some(id), None) => RunFolder::create_as(runs, id),
    };
    let (folder, lock) = made.map_err(|error| match run_id {
        Some(id) if is_taken(&error) => EngineError::RunExists { id: id.clone() },
        _ => StartError::StateDirectory { path: runs.to_owned(), error }.into(),
    })?;
    let free = match settings.choice {
        ShellChoice::WaitingOrNew => settings.session.pool().take_keeper().or_else(settings.ready_keeper),
        ShellChoice::New => None,
    };
    match free.map_or_else(|| start_keeper(settings.keeper, settings.floor), Ok) {
        Ok(keeper) => Ok((folder, Runner::Keeper(keeper, lock))),
        Err(error) => {
            folder.discard();
            Err(error.into())
        }
    }
}

/// A new keeper.
pub(crate) fn start_keeper(program: &Path, floor: Option<&OsStr>) -> Result<Keeper, StartError> {
    Keeper::start(program, floor).map_err(|error| StartError::Keeper { path: program.to_owned(), error })
}
