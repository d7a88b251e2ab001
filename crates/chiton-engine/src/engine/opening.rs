//! From a command that may run to one that does.

use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Engine, EngineConfig, Inner};
use crate::bytes::ByteString;
use crate::error::StartError;
use crate::folder::record::RequestRecord;
use crate::folder::{RunFolder, Unreadable};
use crate::process::delivery::Delivery;
use crate::process::keeper_process::Keeper;
use crate::request::CommandInput;
use crate::secrets::ResolvedCommand;
use crate::session::{Session, StartingPoint};
use crate::spawn::{self, LaunchSettings, Launched, Runner};
use crate::state::bash;
use crate::warm::pool::Shape;
use crate::warm::spare::{Fit, Spare};

impl Engine {
    /// Hands the command to a shell that waits for just such a one, or else to one that is started for it.
    pub(super) async fn launch(
        &self,
        session: &Session,
        command: &mut ResolvedCommand,
        start: &StartingPoint,
        waiting: Waiting,
        warm: Warm,
    ) -> Result<(OpenRun, Launched), StartError> {
        let delivery = spawn::delivery(command, &self.inner.config.shell, start);
        let is_readable = |_: &Shape| bash::load::reads_whole(command.script(), &start.state);
        let shape =
            shape_of(command).filter(|_| self.is_warm() && matches!(delivery, Delivery::Warm(_))).filter(is_readable);
        let spare = match shape.filter(|_| warm == Warm::Welcome) {
            Some(shape) => self.take_spare(session, &shape, start, command).await,
            None => None,
        };
        let (folder, runner) = match spare {
            Some(spare) => (spare.folder.clone(), Runner::Spare(Box::new(spare))),
            None => self.new_runner(session, warm)?,
        };
        let is_warm = matches!(runner, Runner::Spare(_));
        let run = self.open_run(session, command, start, waiting, folder, is_warm)?;
        let settings = LaunchSettings { request: run.request.clone(), ..self.launch_settings(session, &run) };
        let launched = spawn::launch(command, delivery, start, &run.folder, runner, settings)?;
        if is_warm {
            // Its keeper looks after the folder, also where nothing is run in it.
            run.keep();
        }
        command.give_input_away();
        Ok((run, launched))
    }

    /// A shell that waits for just such a command.
    async fn take_spare(
        &self,
        session: &Session,
        shape: &Shape,
        start: &StartingPoint,
        command: &ResolvedCommand,
    ) -> Option<Spare> {
        session.pool.note_shape(shape);
        let fit = Self::fit(shape, start, command)?;
        loop {
            let mut spare = session.pool.take(&fit)?;
            // Somebody may have removed what was made ahead; then it has to be found out why.
            let fits = spare.has_room(command.script().len());
            if spare.ready().await.is_some() && fits && spare.folder.path().is_dir() {
                return Some(spare);
            }
        }
    }

    /// A keeper that is free, or a new one, and a folder for its run.
    fn new_runner(&self, session: &Session, warm: Warm) -> Result<(RunFolder, Runner), StartError> {
        let runs = self.inner.tasks.folder();
        let (folder, lock) =
            RunFolder::create(runs).map_err(|error| StartError::StateDirectory { path: runs.to_owned(), error })?;
        let free = if warm == Warm::Welcome { session.pool.take_keeper() } else { None };
        let keeper = free.map_or_else(|| self.new_keeper(), Ok);
        match keeper {
            Ok(keeper) => Ok((folder, Runner::Keeper(keeper, lock))),
            Err(error) => {
                folder.discard();
                Err(error)
            }
        }
    }

    pub(super) fn new_keeper(&self) -> Result<Keeper, StartError> {
        let program = &self.inner.config.keeper;
        Keeper::start(program).map_err(|error| StartError::Keeper { path: program.clone(), error })
    }

    /// Whether shells wait for commands here.
    pub(super) fn is_warm(&self) -> bool {
        self.inner.config.limits.warm.per_session > 0
    }

    /// What a shell has to be for this command.
    fn fit(shape: &Shape, start: &StartingPoint, command: &ResolvedCommand) -> Option<Fit> {
        Some(Fit {
            state: Arc::clone(&start.state),
            streams: shape.streams,
            called_as: shape.called_as.clone(),
            masks: Arc::clone(command.masks()),
            place: start.place?,
        })
    }

    /// Opens a run in a folder of its own.
    fn open_run(
        &self,
        session: &Session,
        command: &ResolvedCommand,
        start: &StartingPoint,
        waiting: Waiting,
        folder: RunFolder,
        warm: bool,
    ) -> Result<OpenRun, StartError> {
        let request = command.request();
        let limits = self.inner.config.limits.spool;
        let taken = self.inner.spooled.load(Ordering::Relaxed) + self.inner.reserved.load(Ordering::Relaxed);
        let allowance = limits.in_all.saturating_sub(taken).max(LEAST_ALLOWANCE).min(limits.per_run);
        let runs = self.inner.tasks.folder();
        let known = &self.inner.known;
        let directory = known.masked(start.state.cwd.as_os_str().as_bytes());
        let mut record = RequestRecord::new(folder.id(), known.masked(&request.command), directory);
        record.session = session.name().map(str::to_owned);
        record.client = session.client().map(str::to_owned);
        record.description = request.description.as_ref().map(|text| known.masked(text.as_bytes()).to_text());
        let millis = |time: Option<Duration>| time.and_then(|time| u64::try_from(time.as_millis()).ok());
        (record.timeout_ms, record.silence_ms) = (millis(request.timeout), millis(request.silence));
        record.background = waiting == Waiting::Background;
        record.lifetime = request.lifetime;
        (record.streams, record.terminal) = (request.streams, request.terminal);
        let text = serde_json::to_vec(&record).unwrap_or_default();
        // The keeper has time to write it down while its shell wakes up; but a task is not started before it was.
        let by_keeper = warm && !record.background && text.len() < MOST_HANDED_OVER;
        let request = by_keeper.then(|| ByteString::from(&text[..]));
        if !by_keeper {
            // On a full disk a command that somebody waits for still runs; it only cannot be looked up later. A task
            // that could not be looked up would be lost from its first moment, so it is not started.
            let reserve = || if record.background { folder.reserve() } else { Ok(()) };
            let written = folder.write_request_text(&text).and_then(|()| reserve());
            if let (Err(error), true) = (written, record.background) {
                folder.discard();
                return Err(StartError::StateDirectory { path: runs.to_owned(), error });
            }
        }
        self.write_start(session, command, &record);
        self.inner.reserved.fetch_add(allowance, Ordering::Relaxed);
        let engine = Arc::clone(&self.inner);
        Ok(OpenRun { engine, folder, request, allowance, started: AtomicBool::new(false) })
    }

    fn launch_settings<'a>(&'a self, session: &'a Session, run: &OpenRun) -> LaunchSettings<'a> {
        let EngineConfig { keeper, shell, limits, .. } = &self.inner.config;
        let (spool_allowance, client, session) = (run.allowance, session.client(), session.name());
        LaunchSettings { keeper, shell, limits, spool_allowance, session, client, request: None }
    }
}

/// What a command adds to the state of its session. `None` where no shell can wait for such a one: its input is
/// its own, it has a terminal, or a variable of it holds the value of a secret.
fn shape_of(command: &ResolvedCommand) -> Option<Shape> {
    let request = command.request();
    let usual = matches!(request.input, CommandInput::Nothing) && request.terminal.is_none();
    (usual && !command.has_resolved_variables()).then(|| Shape {
        directory: request.directory.clone(),
        environment: request.environment.clone(),
        streams: request.streams,
        called_as: request.called_as.clone(),
    })
}

/// Whether a shell may be used that was there before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Warm {
    Welcome,
    /// What was there is gone.
    Not,
}

/// A longer text does not fit into one message.
const MOST_HANDED_OVER: usize = 16 << 10;

/// Even where the sum of all runs is used up, a run may keep this much; the oldest finished ones make room for it.
const LEAST_ALLOWANCE: u64 = 16 << 20;

/// Whether a call waits for the end of its run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiting {
    Foreground,
    Background,
}

/// A run while its call lasts. One that never started leaves no folder.
pub(super) struct OpenRun {
    engine: Arc<Inner>,
    pub(super) folder: RunFolder,
    /// What its keeper was given to write down.
    request: Option<ByteString>,
    allowance: u64,
    started: AtomicBool,
}

impl OpenRun {
    pub(super) fn keep(&self) {
        self.started.store(true, Ordering::Relaxed);
    }

    /// Writes down what was to be run, where a keeper that should have done so is gone.
    pub(super) fn write_down(&self) {
        if let (Some(request), Err(Unreadable::Missing)) = (&self.request, self.folder.request()) {
            let _ = self.folder.write_request_text(request);
        }
    }
}

impl Drop for OpenRun {
    fn drop(&mut self) {
        self.engine.reserved.fetch_sub(self.allowance, Ordering::Relaxed);
        // A call that was dropped while its command ran has left a run behind, unless it never came to that.
        if !self.started.load(Ordering::Relaxed) && self.folder.start().is_err() {
            self.folder.discard();
        }
    }
}
