//! The stages as the engine calls them: each with what the engine has for it.

use std::sync::Arc;

use tokio::sync::MutexGuard;

use super::afterwork::{FollowUp, NewKeepers};
use super::previewing::PreviewEnd;
use super::{Engine, EngineInner, StartedTask};
use crate::audit::AuditEntry;
use crate::bytes::ByteString;
use crate::capture::collect::{Collected, Reports, collect, release};
use crate::capture::intake::Captured;
use crate::control::RunControl;
use crate::enclosure::Enclosure;
use crate::error::{EngineError, PortError, RequestError, SessionError, StartError};
use crate::folder::RunFolder;
use crate::folder::record::RequestRecord;
use crate::preview::OpenPreview;
use crate::process::{Shell, ShellKind};
use crate::protocol::HandedBack;
use crate::render::{Completeness, TextView, Views};
use crate::request::{AcceptedRequest, AnswerMode, CommandInput, CommandRequest, PreviewMode, TaskLifetime};
use crate::response::{self, Commit, DryRun, Occurrence, RefusedCommand, RunParts, RunReport, StateReport};
use crate::review::would_wait::Printed;
use crate::review::{self, ApprovedCommand, NotAsJudged, Refusal, Reviewed, Reviewers};
use crate::run::{Ending, InputWait, Lifetime, Listener, Outcome};
use crate::sandbox::policy::Widening;
use crate::secrets::{self, ResolvedCommand, Resolver};
use crate::session::{self, Session, Standing, StartingPoint};
use crate::spawn::{self, Attendance, LaunchSettings, Launched, OpenRun, ShellChoice};
use crate::state::ShellState;
use crate::state::environment::mention;
use crate::tasks::Task;
use crate::warm::afterwork::OwedWork;
use chiton_redact::insert::Quotes;

/// Why a call ran nothing.
pub(super) enum NotRun {
    Refused(Refusal),
    /// The command is only looked at: this is what it would do.
    Described(String),
    Failed(EngineError),
}

impl From<Refusal> for NotRun {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<EngineError> for NotRun {
    fn from(error: EngineError) -> Self {
        Self::Failed(error)
    }
}

impl From<RequestError> for NotRun {
    fn from(error: RequestError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<PortError> for NotRun {
    fn from(error: PortError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<SessionError> for NotRun {
    fn from(error: SessionError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<NotAsJudged> for NotRun {
    fn from(why: NotAsJudged) -> Self {
        match why {
            NotAsJudged::Refused(refusal) => Self::Refused(refusal),
            NotAsJudged::Nowhere(error) => error.into(),
        }
    }
}

impl From<StartError> for NotRun {
    fn from(error: StartError) -> Self {
        Self::Failed(error.into())
    }
}

/// One call, as far as it matters where nothing comes of it.
pub(super) struct UnansweredCall<'a> {
    engine: &'a Engine,
    session: &'a Session,
    /// The command, where a journal has to name it.
    command: Option<ByteString>,
}

impl UnansweredCall<'_> {
    /// The response to a call that ran nothing.
    pub(super) fn not_run<R: From<RefusedCommand> + From<DryRun>>(&self, why: NotRun) -> Result<R, EngineError> {
        let (engine, session) = (self.engine, self.session);
        let unwritten = self.command.as_ref().and_then(|command| engine.write_not_run(session, command, &why));
        let cwd = session.state().cwd.clone();
        let notices = unwritten.into_iter().collect();
        let protection = engine.inner.config.guard.protection();
        match why {
            NotRun::Refused(refusal) => Ok(RefusedCommand { refusal, cwd, notices, protection }.into()),
            NotRun::Described(description) => {
                let description = TextView { head: description, ..TextView::default() };
                Ok(DryRun { description, cwd, notices, protection }.into())
            }
            NotRun::Failed(error) => Err(error),
        }
    }
}

/// A run that was handed to its keeper.
pub(super) struct Attempt {
    run: OpenRun,
    launched: Launched,
    /// Whether it can be launched once more, where its keeper turns out to be gone: a keeper that was there before may
    /// have been killed a moment ago. Input that was given away cannot be given again.
    can_repeat: bool,
    /// What it is held in.
    enclosure: Option<Arc<Enclosure>>,
    /// What becomes of what it writes, where it is only tried.
    preview: Option<OpenPreview>,
}

/// A run whose end was reported, or that was handed back alive.
pub(super) struct Ended {
    run: OpenRun,
    pid: i32,
    warm: bool,
    ending: Ending,
    state: HandedBack,
    waits: Option<InputWait>,
    released: bool,
    reports: Reports,
    enclosure: Option<Arc<Enclosure>>,
    preview: Option<OpenPreview>,
}

impl Ended {
    /// Whether more may come after what was captured.
    pub(super) fn completeness(&self) -> Completeness {
        if self.ending.outcome == Outcome::Running { Completeness::SoFar } else { Completeness::Whole }
    }
}

impl Engine {
    pub(super) fn call<'a>(&'a self, session: &'a Session, request: &CommandRequest) -> UnansweredCall<'a> {
        self.wake();
        let command = self.inner.config.audit.is_some().then(|| request.command.clone());
        UnansweredCall { engine: self, session, command }
    }

    /// Whether there is no run yet of the id that a request gives its own. What counts is whether its folder can be made;
    /// but nobody need be asked about a command that has been run.
    pub(super) fn check_is_new(&self, request: &CommandRequest) -> Result<(), EngineError> {
        match &request.run_id {
            Some(id) if self.inner.tasks.has(id) => Err(EngineError::RunExists { id: id.clone() }),
            _ => Ok(()),
        }
    }

    /// The shell that runs a request.
    fn shell_of<'a>(&'a self, request: &'a CommandRequest) -> &'a Shell {
        request.shell.as_ref().unwrap_or(&self.inner.config.shell)
    }

    /// Stage 2: whether it may run, in the state that commands answered so far have left.
    pub(super) async fn review(
        &self,
        session: &Session,
        request: AcceptedRequest,
        widened: Arc<[Widening]>,
    ) -> Result<ApprovedCommand, NotRun> {
        session.ready().await;
        session.take_over_committed();
        if let Some(login) = &self.inner.config.login {
            self.inner.known.learn(session.log_in(login, &self.inner.config.environment).await);
        }
        let (state, standing) = standing(session, &request)?;
        let reviewers = self.reviewers(session, &widened);
        match review::review(request, reviewers, session, state, standing, widened).await? {
            Reviewed::Approved(approved) => Ok(*approved),
            Reviewed::DryRun(description) => Err(NotRun::Described(description)),
        }
    }

    pub(super) fn reviewers(&self, session: &Session, widened: &[Widening]) -> Reviewers<'_> {
        let EngineInner { config, verdicts, consents, desk, .. } = &*self.inner;
        let (guard, environment, shell) = (&config.guard, &config.environment, &config.shell);
        let boundary = if guard.policy.is_off() { None } else { self.boundary(session, widened) };
        Reviewers { guard, verdicts, consents, desk, owner: self.owner_name(), environment, shell, boundary }
    }

    /// Stage 3: with what values.
    pub(super) async fn resolve(
        &self,
        session: &Session,
        approved: ApprovedCommand,
    ) -> Result<ResolvedCommand, Refusal> {
        let EngineInner { config, known, .. } = &*self.inner;
        let quotes = match self.shell_of(&approved.request).kind() {
            ShellKind::Bash => Quotes::Bash,
            ShellKind::Posix => Quotes::Posix,
        };
        let resolver = Resolver { store: &config.secrets, known, unknown: config.unknown_references };
        secrets::resolve(approved, resolver, session, quotes).await
    }

    /// Stage 4: from which state.
    pub(super) async fn begin(
        &self,
        session: &Session,
        command: &mut ResolvedCommand,
    ) -> Result<StartingPoint, NotRun> {
        if command.grounds().is_agreed() {
            // A person took their time; commands that were answered meanwhile count.
            session.ready().await;
        }
        let reviewers = self.reviewers(session, &command.grounds().widened);
        let (state, standing) = review::recheck(command.request(), command.grounds(), &reviewers, session)?;
        // The sandbox may say by which proxy names are reached. What is wrong with it is said when the command is launched.
        let _ = self.enclosure(session);
        let policy = &self.inner.config.environment;
        let mut start = session::begin(session, state, &standing, command.environment(), policy)?;
        start.notices.append(&mut command.take_notices());
        start.waits = command.take_waits();
        start.notices.append(&mut session.take_late_notices());
        Ok(start)
    }

    /// Stage 5: the command goes to a shell.
    pub(super) async fn launch(
        &self,
        session: &Session,
        command: &mut ResolvedCommand,
        start: &StartingPoint,
        attendance: Attendance,
    ) -> Result<Attempt, EngineError> {
        let is_preview = command.request().preview == PreviewMode::On;
        let may_wait = self.is_warm() || command.request().answer == AnswerMode::WithoutState;
        let can_repeat = may_wait && !is_preview && matches!(command.request().input, CommandInput::Nothing);
        let choice = if is_preview { ShellChoice::New } else { ShellChoice::WaitingOrNew };
        let attempt = self.launch_in(session, command, start, attendance, (choice, None)).await?;
        Ok(Attempt { can_repeat, ..attempt })
    }

    /// Stage 5 once more, with a keeper and a shell that are started for it: what waited for the command was gone.
    async fn launch_again(
        &self,
        session: &Session,
        command: &mut ResolvedCommand,
        start: &StartingPoint,
        attendance: Attendance,
        gone: OpenRun,
    ) -> Result<Attempt, EngineError> {
        self.note_task(session, "not started", gone.folder.id());
        let failed = gone.folder.clone();
        if command.request().run_id.is_some() {
            // It becomes that of the next attempt: in between nobody else may get the id.
            gone.keep();
        }
        drop(gone);
        self.launch_in(session, command, start, attendance, (ShellChoice::New, Some(&failed))).await
    }

    async fn launch_in(
        &self,
        session: &Session,
        command: &mut ResolvedCommand,
        start: &StartingPoint,
        attendance: Attendance,
        (choice, failed): (ShellChoice, Option<&RunFolder>),
    ) -> Result<Attempt, EngineError> {
        let EngineInner { config, tasks, known, quota, .. } = &*self.inner;
        let announce = |command: &ResolvedCommand, record: &RequestRecord| self.write_start(session, command, record);
        let (mut preview, enclosure) = match command.request().preview {
            PreviewMode::Off => (None, self.enclosure_for(session, &command.grounds().widened)?),
            PreviewMode::On => {
                let (preview, enclosure) = self.preview_for(session, command, start)?;
                (Some(preview), Some(enclosure))
            }
        };
        let settings = LaunchSettings {
            keeper: &config.keeper,
            floor: self.inner.floor.as_deref(),
            usual_shell: &config.shell,
            limits: &config.limits,
            runs: tasks.folder(),
            quota,
            known,
            session,
            owner: self.inner.owner.get(),
            protection: self.protection(session),
            enclosure: enclosure.as_ref(),
            attendance,
            choice,
            failed,
            ready_spare: &|wanted| self.inner.nursery.take_spare(wanted),
            ready_keeper: &|| self.inner.nursery.take_keeper(),
            announce: &announce,
            journal: config.audit.as_ref(),
            notify: config.notify.as_ref(),
        };
        let (run, launched) = spawn::launch(command, start, settings).await?;
        if let Some(preview) = &mut preview {
            preview.runs_as(run.folder.id()).map_err(|error| StartError::Preview(error.to_string()))?;
        }
        Ok(Attempt { run, launched, can_repeat: false, enclosure, preview })
    }

    /// Stage 6: the command runs, and what it prints is taken.
    pub(super) async fn collect(
        &self,
        session: &Session,
        command: &mut ResolvedCommand,
        start: &StartingPoint,
        mut attempt: Attempt,
        listener: &mut dyn Listener,
        control: &RunControl,
    ) -> Result<(Ended, Captured), EngineError> {
        let view = command.request().view.unwrap_or(self.inner.config.limits.view);
        loop {
            let Attempt { run, launched, can_repeat, enclosure, preview } = attempt;
            match collect(launched, command.request(), &run.folder, view, listener, control).await {
                Ok(Some(collected)) => {
                    let Collected { pid, warm, ending, state, captured, waits, released, reports } = collected;
                    if ending.outcome == Outcome::Lost {
                        run.write_record();
                    }
                    let ended = Ended { run, pid, warm, ending, state, waits, released, reports, enclosure, preview };
                    return Ok((ended, captured));
                }
                Ok(None) => {}
                Err(StartError::KeeperVanished(_)) if can_repeat => {}
                Err(error) => return Err(error.into()),
            }
            attempt = self.launch_again(session, command, start, Attendance::Foreground, run).await?;
        }
    }

    /// Stage 8: what there is to say about the run, and what is left to do behind that.
    pub(super) async fn respond(
        &self,
        session: &Session,
        request: &CommandRequest,
        start: StartingPoint,
        ended: Ended,
        views: Views,
    ) -> RunReport {
        let Ended { mut run, pid, warm, mut ending, state, waits, released, reports, enclosure, preview } = ended;
        run.keep();
        let shell = self.shell_of(request).kind();
        if let Some(enclosure) = &enclosure {
            ending.refused.extend(enclosure.refused_names(ending.connected.as_deref()));
        }
        let (mut commit, reports) = match preview {
            None => {
                let commit = match request.answer {
                    AnswerMode::WithoutState => {
                        Commit::new(StateReport::Discarded("nobody goes on from it".to_owned()), session)
                    }
                    _ => self.commit(session, &start, shell, &ending, state),
                };
                (commit, hold(session, request, &run, &ending, reports).await)
            }
            Some(preview) => {
                // Its keeper goes as well: nothing waits in a sandbox that was made for one command.
                drop((reports, enclosure));
                let ended = PreviewEnd { session, start: &start, shell, run: run.folder.id() };
                (self.end_preview(preview, ended, &mut ending, state).await, None)
            }
        };
        if !warm {
            self.note_cold();
        }
        let owed = owed_by(session, request, &commit, warm);
        let owed = owed.filter(|_| reports.is_some());

        let mention = mention_missed(session, request, &start, &ending, &views);
        let (stdout, stderr) = (&views.stdout, &views.stderr);
        let texts = [Some(&stdout.head[..]), stdout.tail.as_deref(), Some(&stderr.head[..]), stderr.tail.as_deref()];
        let printed = Printed { texts, bytes: views.output_bytes() };
        let hint = review::would_wait::hint(&start.waits, request, &ending, &printed);
        let output_bytes = views.output_bytes();
        let line = AuditEntry::end_of(run.folder.id(), &ending, output_bytes);
        let unwritten = if ending.outcome == Outcome::Lost && !run.folder.claim_lost() {
            // Somebody else noticed it first.
            None
        } else if owed.is_some() {
            self.defer_line(session, line);
            None
        } else {
            self.write_line(session, line)
        };

        let told = commit.told.take();
        let follow_up = reports.map(|reports| {
            let (session, start, running) = (session.clone(), start.clone(), run.running.take());
            FollowUp { session, start, shell, running, reports, told, owed }
        });
        let response = response::compose(RunParts {
            run_id: run.folder.id(),
            occurrence: Occurrence::First,
            pid,
            warm,
            ending,
            waits,
            released,
            views,
            removed: start.removed,
            notices: start.notices,
            commit,
            mention,
            hint,
            unwritten,
            protection: self.protection(session),
        });
        if let Some(follow_up) = follow_up {
            self.follow_up(follow_up);
        }
        self.sweep_after(output_bytes, request.answer);
        response
    }

    /// Waits until the session's tasks are known, and refuses one more where enough of them run. They stay locked.
    pub(super) async fn room_for_task<'a>(
        &self,
        session: &'a Session,
    ) -> Result<MutexGuard<'a, Vec<String>>, EngineError> {
        session.settled().await;
        let mut started = session.tasks().lock().await;
        let Some(limit) = self.inner.config.limits.tasks_per_session else { return Ok(started) };
        let tasks = &self.inner.tasks;
        started.retain(|id| tasks.get(id).is_ok_and(|task| task.status.is_running()));
        let mut running = started.len();
        if let Some(name) = session.name() {
            let all = tasks.running().unwrap_or_default();
            let same = |task: &&Task| task.session.as_deref() == Some(name) && task.background;
            running = all.iter().filter(same).count();
        }
        if running >= limit { Err(EngineError::TaskLimit(limit)) } else { Ok(started) }
    }

    /// Stages 6 to 8 of a task: nobody waits for its output, and its id is the response.
    pub(super) async fn release(
        &self,
        session: &Session,
        command: &mut ResolvedCommand,
        start: &StartingPoint,
        mut attempt: Attempt,
        started: &mut Vec<String>,
    ) -> Result<StartedTask, NotRun> {
        let EngineInner { config, tasks, .. } = &*self.inner;
        let (run, connection) = loop {
            let Attempt { run, launched, .. } = attempt;
            if let Some(connection) = release(launched, command.request(), &run.folder).await? {
                break (run, connection);
            }
            attempt = self.launch_again(session, command, start, Attendance::Background, run).await?;
        };
        run.keep();

        if config.limits.tasks_per_session.is_some() {
            started.push(run.folder.id().to_owned());
        }
        if command.request().task_lifetime == TaskLifetime::Session {
            session.hold(connection);
        }
        self.refill(session, None, NewKeepers::AsNeeded);
        self.sweep_after(0, AnswerMode::WithState);
        let task = tasks.get(run.folder.id()).map_err(|_| StartError::KeeperVanished(config.keeper.clone()))?;
        Ok(StartedTask::Started(Box::new(task)))
    }
}

/// The state that a command starts from, and its directory. Where the session's own is gone, nothing is run unless the
/// command itself begins by going elsewhere; but the next one is run in the nearest directory that is left.
fn standing(session: &Session, request: &AcceptedRequest) -> Result<(Arc<ShellState>, Standing), SessionError> {
    let (state, request) = (session.state(), request.get());
    let found = Standing::of_call(&state, request.directory.as_deref());
    let lost = matches!(found, Err(SessionError::DirectoryGone { .. } | SessionError::DirectorySwapped { .. }));
    let leaves = || review::leaves_for(&request.command);
    if lost && let Some(standing) = leaves().and_then(|there| Standing::of_call(&state, Some(&there)).ok()) {
        session.move_to(&standing);
        return Ok((session.state(), standing));
    }
    let standing = found.map_err(|error| session.leave_lost_directory(error))?;
    Ok((state, standing))
}

/// What the answer does not wait for.
fn owed_by(session: &Session, request: &CommandRequest, commit: &Commit, warm: bool) -> Option<OwedWork> {
    match (&commit.report, request.answer) {
        (StateReport::Follows, _) => Some(session.owe_state()),
        (_, AnswerMode::BeforeState) if warm => Some(session.owe_record()),
        _ => None,
    }
}

/// Keeps the connection to a run that outlives its call and is to end with the session. Gives it back where nothing of
/// the run is left.
async fn hold(
    session: &Session,
    request: &CommandRequest,
    run: &OpenRun,
    ending: &Ending,
    reports: Reports,
) -> Option<Reports> {
    let is_handed_back = ending.outcome == Outcome::Running;
    if is_handed_back {
        session.tasks().lock().await.push(run.folder.id().to_owned());
    }
    let is_task = is_handed_back && request.task_lifetime == TaskLifetime::Session;
    if is_task || (request.lifetime == Lifetime::Session && !ending.leftovers.is_empty()) {
        session.hold(reports.into_connection());
        return None;
    }
    (!is_handed_back && ending.leftovers.is_empty()).then_some(reports)
}

/// What a command that failed may have lacked, said once in a session.
fn mention_missed(
    session: &Session,
    request: &CommandRequest,
    start: &StartingPoint,
    ending: &Ending,
    views: &Views,
) -> Option<String> {
    let failed = matches!(ending.outcome, Outcome::Exited(code) if code != 0);
    if !failed || start.removed.is_empty() {
        return None;
    }
    let texts = [&views.stdout, &views.stderr].map(|view| [Some(view.head.as_str()), view.tail.as_deref()]);
    let texts: Vec<&str> = texts.into_iter().flatten().flatten().collect();
    let missed = mention::missed(&start.removed, &request.command, &texts);
    // What the call itself set was told already.
    let own = request.environment.variables();
    let missed = missed.into_iter().filter(|variable| !own.contains_key(&variable.name)).collect();
    mention::notice(&session.tell(missed))
}
