//! A call that is made once more, since its answer was lost: it is answered with the run that the first one started.
//!
//! 1. The id of the run comes with the call. Where there is such a run, nothing is run.
//! 2. The run is followed from its first byte, as a call follows its own, until it ends or the call waits no longer.
//! 3. The report is made from what the run has left on disk, so this works in another process as well.
//!
//! What the command changed in its session is left to the first call.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{Engine, StartedTask};
use crate::capture::collect::without_ending;
use crate::capture::intake::Intake;
use crate::control::RunControl;
use crate::error::EngineError;
use crate::folder::RunFolder;
use crate::limits::{LONGEST, ViewLimits};
use crate::render::{self, Completeness};
use crate::request::{CommandRequest, OnTimeout};
use crate::response::{self, Commit, Occurrence, Response, RunParts, RunReport, SENT_TWICE, StateReport};
use crate::run::{Ending, InputWait, Listener, Outcome, RunEvent, RunId};
use crate::session::Session;
use crate::tasks::{Cursor, SendError, Task, TaskLink, Tasks, WaitFor, WaitReason};

/// How long a run that was just taken may be without a record: keepers write theirs within milliseconds.
const TAKING: Duration = Duration::from_secs(5);
/// The pause between two looks at a run that is just being started: it leaves nothing to wait on but the file system.
const MOMENT: Duration = Duration::from_millis(2);
/// What is read at once.
const STEP: u64 = 1 << 20;

impl Engine {
    /// [`Engine::run`] for a call that may have been made before: where there is a run of its id
    /// ([`CommandRequest::run_id`]), it follows that one instead, and its response says so.
    ///
    /// # Errors
    /// As for [`Engine::run`], and when the output of the run cannot be read.
    pub async fn run_once(
        &self,
        session: &Session,
        request: CommandRequest,
        listener: &mut dyn Listener,
        control: &RunControl,
    ) -> Result<Response, EngineError> {
        let Some(id) = request.run_id.clone() else { return self.run(session, request, listener, control).await };
        let wanted = Wanted::by(&request, self.inner.config.limits.view);
        if let Some(report) = self.rejoin(session, &id, &wanted, listener, control).await? {
            return Ok(report.into());
        }
        match self.run(session, request, listener, control).await {
            // It was made twice at the same time, and this is the second.
            Err(EngineError::RunExists { .. }) => {
                let report = self.rejoin(session, &id, &wanted, listener, control).await?;
                report.map(Into::into).ok_or(EngineError::RunExists { id })
            }
            response => response,
        }
    }

    /// [`Engine::start`] for a call that may have been made before: where there is a run of its id, that is the task.
    ///
    /// # Errors
    /// As for [`Engine::start`].
    pub async fn start_once(
        &self,
        session: &Session,
        request: CommandRequest,
    ) -> Result<(StartedTask, Occurrence), EngineError> {
        let found = |task| (StartedTask::Started(Box::new(task)), Occurrence::Again);
        let id = request.run_id.clone();
        if let Some(id) = &id
            && let Some(task) = self.taken(session, id).await?
        {
            return Ok(found(task));
        }
        match (self.start(session, request).await, id) {
            (Err(EngineError::RunExists { .. }), Some(id)) => {
                self.taken(session, &id).await?.map(found).ok_or(EngineError::RunExists { id })
            }
            (started, _) => started.map(|started| (started, Occurrence::First)),
        }
    }

    /// The run that a call with this id is answered with, once it can be read; `None` where nothing was started under it.
    async fn taken(&self, session: &Session, id: &RunId) -> Result<Option<Task>, EngineError> {
        let tasks = &self.inner.tasks;
        let last_look = Instant::now() + TAKING;
        loop {
            let Ok(folder) = RunFolder::at(&tasks.folder().join(tasks.answering(id).as_str())) else { return Ok(None) };
            if let Some(task) = Tasks::in_folder(&folder) {
                self.note_task(session, "asked for again", &task.id);
                return Ok(Some(task));
            }
            if !folder.path().is_dir() {
                return Ok(None);
            }
            if Instant::now() > last_look {
                // Whoever took it is gone, and has started nothing.
                if !folder.is_held() && folder.is_blank() && folder.remove() {
                    return Ok(None);
                }
                let reason = "its records cannot be read, or were never written".to_owned();
                return Err(EngineError::Unfollowed { id: folder.id().to_owned(), reason });
            }
            sleep(MOMENT).await;
        }
    }

    /// Follows the run `id` as the call that started it would, and reports on it.
    async fn rejoin(
        &self,
        session: &Session,
        id: &RunId,
        wanted: &Wanted,
        listener: &mut dyn Listener,
        control: &RunControl,
    ) -> Result<Option<RunReport>, EngineError> {
        loop {
            let Some(task) = self.taken(session, id).await? else { return Ok(None) };
            match self.follow(session, &task, wanted, listener, control).await {
                // A person has widened its sandbox meanwhile, and it was run again.
                Ok(_) if self.inner.tasks.answering(id).as_str() != task.id => {}
                Ok(report) => return Ok(Some(report)),
                // It could not be started after all.
                Err(SendError::NotFound(error)) if error.removed.is_none() => return Ok(None),
                Err(error) => return Err(EngineError::Unfollowed { id: task.id, reason: error.to_string() }),
            }
        }
    }

    async fn follow(
        &self,
        session: &Session,
        task: &Task,
        wanted: &Wanted,
        listener: &mut dyn Listener,
        control: &RunControl,
    ) -> Result<RunReport, SendError> {
        let mut reader = Reader::open(&self.inner.tasks, task, wanted.view).await?;
        listener.receive(RunEvent::Started { run_id: &task.id, pid: task.pid.unwrap_or_default() });
        let left = reader.follow(task, wanted, listener, control).await?;

        // How it stands now, and then what there is: it may have ended meanwhile.
        let task = reader.link.task()?;
        reader.read(&task, listener)?;
        let ending = ending_of(reader.link.folder(), &task);
        let is_running = ending.outcome == Outcome::Running;
        let completeness = if is_running { Completeness::SoFar } else { Completeness::Whole };
        let why = "an earlier call started this run, and what it changed was that call's to keep";
        Ok(response::compose(RunParts {
            run_id: &task.id,
            occurrence: Occurrence::Again,
            pid: task.pid.unwrap_or_default(),
            warm: false,
            ending,
            waits: left.waits.filter(|_| is_running),
            released: left.released && is_running,
            views: render::present(reader.intake.finish(), completeness, &self.inner.known),
            removed: Vec::new(),
            notices: vec![SENT_TWICE.to_owned()],
            commit: Commit::new(StateReport::Discarded(why.to_owned()), session),
            mention: None,
            hint: None,
            unwritten: None,
            protection: task.protection.unwrap_or_else(|| self.protection(session)),
        }))
    }
}

/// How a run ended, or that it has not.
fn ending_of(folder: &RunFolder, task: &Task) -> Ending {
    let outcome = if task.status.is_running() { Outcome::Running } else { Outcome::Lost };
    let unknown = || without_ending(outcome, task.duration);
    if task.status.is_running() { unknown() } else { folder.ending().unwrap_or_else(|_| unknown()) }
}

/// What of a request matters to a call that only follows. The request itself may hold the command's input open.
struct Wanted {
    view: ViewLimits,
    /// How long the call waits.
    wait: Option<Duration>,
    /// The age at which the run is handed back alive.
    most: Option<Duration>,
    until_input: bool,
}

impl Wanted {
    fn by(request: &CommandRequest, view: ViewLimits) -> Self {
        Self {
            view: request.view.unwrap_or(view),
            wait: request.wait,
            most: request.timeout.filter(|_| request.on_timeout == OnTimeout::HandBack),
            until_input: request.until_input && request.terminal.is_some(),
        }
    }

    /// When the call waits no longer for a task that has run for so long.
    fn deadline(&self, age: Duration) -> Option<Instant> {
        let most = self.most.map(|most| most.saturating_sub(age));
        let wait = self.wait.into_iter().chain(most).min()?;
        Some(Instant::now() + wait.min(LONGEST))
    }
}

/// Why a call waits no longer, where its run goes on.
#[derive(Default)]
struct Left {
    waits: Option<InputWait>,
    released: bool,
}

/// Follows a run on behalf of a call.
struct Reader {
    link: TaskLink,
    cursor: Cursor,
    intake: Intake,
}

impl Reader {
    async fn open(tasks: &Tasks, task: &Task, view: ViewLimits) -> Result<Self, SendError> {
        let link = tasks.open(&task.id).await?;
        let streams = link.folder().request().map(|request| request.streams).unwrap_or_default();
        let intake = Intake::new(link.folder().path(), view, streams);
        Ok(Self { link, cursor: Cursor::default(), intake })
    }

    /// Passes on what it prints until it ends, waits for input, is released, or the call's time is over. Requests to stop
    /// are passed on to it.
    async fn follow(
        &mut self,
        task: &Task,
        wanted: &Wanted,
        listener: &mut dyn Listener,
        control: &RunControl,
    ) -> Result<Left, SendError> {
        let (mut stops, mut deadline) = (control.watch(), wanted.deadline(task.duration));
        let mut is_stopped = false;
        loop {
            self.read(&self.link.task()?, listener)?;
            let wait = WaitFor {
                bytes: Some(1),
                from: self.cursor,
                input: wanted.until_input && !is_stopped,
                releasable: true,
                timeout: deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())),
                ..WaitFor::default()
            };
            let waited = tokio::select! {
                waited = self.link.wait(wait) => waited?,
                stop = stops.next() => {
                    self.link.stop(&stop).await?;
                    (is_stopped, deadline) = (true, None);
                    continue;
                }
            };
            match waited.reason {
                WaitReason::Input(wait) => return Ok(Left { waits: Some(wait), released: false }),
                WaitReason::Released => return Ok(Left { waits: None, released: true }),
                WaitReason::Ended | WaitReason::TimedOut => return Ok(Left::default()),
                _ => {}
            }
        }
    }

    /// Takes what is new.
    fn read(&mut self, task: &Task, listener: &mut dyn Listener) -> Result<(), SendError> {
        loop {
            let (pieces, not_kept) = task.pieces(&mut self.cursor, STEP)?;
            if pieces.is_empty() && not_kept == 0 {
                return Ok(());
            }
            for (stream, bytes) in pieces {
                listener.receive(RunEvent::Output { stream, bytes: &bytes });
                self.intake.push(stream, &bytes);
            }
        }
    }
}
