//! The path of one command, from request to response.

mod afterwards;
mod opening;
mod written_down;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::audit::{AuditEntry, Journal};
use crate::bytes::ByteString;
use crate::capture::collect::{Collected, Reports, collect, release};
use crate::consent::Consents;
use crate::control::RunControl;
use crate::error::{EngineError, RequestError, StartError};
use crate::folder;
use crate::limits::{Limits, RetentionLimits};
use crate::lock::Lock;
use crate::process::{Shell, ShellKind};
use crate::render;
use crate::request::{self, AcceptedRequest, CommandInput, CommandRequest, TaskLifetime};
use crate::response::{self, CommandResponse};
use crate::review::{self, Guard, Refusal, Reviewed, Verdicts};
use crate::run::Ending;
use crate::run::Listener;
use crate::run::{Lifetime, Outcome};
use crate::secrets::known::KnownSecrets;
use crate::secrets::{self, ResolvedCommand, SecretStore};
use crate::session::login::{self, LoginEnvironment};
use crate::session::{self, Session, StartingPoint};
use crate::state::change::Change;
use crate::state::environment::{DEFAULTS, EnvironmentPolicy, RemovedVariable};
use crate::state::{ShellState, Variable};
use crate::tasks::sweep::{self, Swept};
use crate::tasks::{Task, Tasks};
use crate::warm::pool::WarmRoom;
use chiton_guard::Decision;
use chiton_redact::insert::Quotes;

mod typing;

use afterwards::Behind;
use opening::{OpenRun, Waiting, Warm};

/// What an engine is given. It looks at nothing by itself: no home directory, no environment, no settings file.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Where runs are kept. Made with mode 0700 where it does not exist.
    pub state_directory: PathBuf,
    /// The executable that is a keeper when asked, see [`crate::serve_if_asked`]. The program itself, as a rule.
    pub keeper: PathBuf,
    /// The shell.
    pub shell: Shell,
    /// Numbers.
    pub limits: Limits,
    /// What may run.
    pub guard: Guard,
    /// What may be in an environment.
    pub environment: EnvironmentPolicy,
    /// Where the values of secrets come from.
    pub secrets: SecretStore,
    /// Where every call is written down.
    pub audit: Option<Journal>,
    /// What the user's login shell adds to an environment.
    pub login: Option<LoginEnvironment>,
    /// Where the shells are counted that wait for commands.
    pub room: WarmRoom,
}

impl EngineConfig {
    /// The defaults, with state in `state_directory`.
    pub fn new(state_directory: impl Into<PathBuf>) -> Result<Self, EngineError> {
        Ok(Self {
            state_directory: state_directory.into(),
            // Not the path of the executable: that one may have been replaced by a newer version meanwhile.
            keeper: "/proc/self/exe".into(),
            shell: Shell::find()?,
            limits: Limits::default(),
            guard: Guard::off(),
            environment: EnvironmentPolicy::default(),
            secrets: SecretStore::empty(),
            audit: None,
            login: None,
            room: WarmRoom::default(),
        })
    }
}

/// Runs commands. Cheap to clone; clones are the same engine.
#[derive(Clone, Debug)]
pub struct Engine {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    config: EngineConfig,
    tasks: Tasks,
    /// Values that have come up: masked in everything from then on.
    known: KnownSecrets,
    /// What the guard has said.
    verdicts: Verdicts,
    /// What people were asked.
    consents: Consents,
    /// What is still to be written into the journal.
    unwritten: Lock<Vec<(Session, AuditEntry)>>,
    /// What was not taken over from an environment.
    withheld: Lock<Vec<RemovedVariable>>,
    /// The `PATH` that was taken over: one that a command has changed is its own business.
    inherited_path: Lock<Option<ByteString>>,
    /// Bytes that finished runs had on disk when that was last looked at.
    spooled: AtomicU64,
    /// Bytes that running ones may still write.
    reserved: AtomicU64,
    /// Runs since it was last looked whether old ones have to go.
    untidied: AtomicUsize,
}

impl Engine {
    /// An engine with this configuration.
    pub fn new(config: EngineConfig) -> Result<Self, EngineError> {
        let tasks = Tasks::new(&config.state_directory);
        for path in [&config.state_directory, tasks.folder()] {
            let path = path.to_owned();
            folder::make_own(&path).map_err(|error| StartError::StateDirectory { path, error })?;
        }
        let known = KnownSecrets::none();
        let (spooled, reserved) = (AtomicU64::new(0), AtomicU64::new(0));
        let (unwritten, withheld, inherited_path) = (Lock::default(), Lock::default(), Lock::default());
        let (verdicts, consents) = (Verdicts::default(), Consents::default());
        let untidied = AtomicUsize::new(UNTIDIED);
        let inner = Inner {
            config,
            tasks,
            known,
            verdicts,
            consents,
            unwritten,
            withheld,
            inherited_path,
            spooled,
            reserved,
            untidied,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The configuration.
    pub fn config(&self) -> &EngineConfig {
        &self.inner.config
    }

    /// The state of a shell that was just started with this environment, and with what keeps programs from waiting
    /// for a person where the environment does not say otherwise. What looks like a secret is not taken over; dangerous
    /// variables are kept from every command. Each response says so, rather than this.
    pub fn fresh_state(
        &self,
        directory: impl Into<PathBuf>,
        environment: impl IntoIterator<Item = (String, ByteString)>,
        umask: u32,
    ) -> ShellState {
        let (environment, withheld) = self.inner.config.environment.inherit(environment);
        self.note_withheld(withheld);
        *self.inner.inherited_path.lock() = environment.get("PATH").cloned();
        let defaults = DEFAULTS.iter().map(|(name, value)| ((*name).to_owned(), (*value).into()));
        ShellState::fresh(directory, defaults.chain(environment), umask)
    }

    /// Runs one command in `session`, and writes down that it did.
    ///
    /// An error means that nothing was started. A refusal, a failing command, a timeout are responses.
    pub async fn run(
        &self,
        session: &Session,
        request: CommandRequest,
        listener: &mut dyn Listener,
        control: &RunControl,
    ) -> Result<CommandResponse, EngineError> {
        let command = self.inner.config.audit.is_some().then(|| request.command.clone());
        let mut concluded_later = false;
        let mut result = self.run_stages(session, request, listener, control, &mut concluded_later).await;
        if !concluded_later {
            let unwritten = self.conclude(session, command, result.as_ref());
            if let Ok(response) = &mut result {
                response.notices.extend(unwritten);
            }
        }
        result
    }

    /// The eight stages, in order. Where the answer goes first, what is written down about it comes behind it.
    async fn run_stages(
        &self,
        session: &Session,
        request: CommandRequest,
        listener: &mut dyn Listener,
        control: &RunControl,
        concluded_later: &mut bool,
    ) -> Result<CommandResponse, EngineError> {
        let Inner { config, .. } = &*self.inner;
        let request = request::accept(request, config.limits.default_timeout)?;
        session.ready().await;
        let mut command = match self.admit(session, request).await {
            Ok(Admitted::Command(command)) => *command,
            Ok(Admitted::DryRun(description)) => return Ok(self.describe(session, description)),
            Err(refusal) => return Ok(self.refuse(session, &refusal)),
        };
        let start = self.begin(session, &mut command).await?;
        let running = session.pool.enter();
        let (run, collected) = self.execute(session, &mut command, &start, listener, control).await?;
        run.keep();
        let Collected { pid, warm, ending, state, captured, waits, reports } = collected;
        let (commit, cwd, unsettled) = self.commit(session, &start, &ending, state);
        let lives = Lives::of(command.request());
        let reports = lives.hold(session, &run, &ending, reports).await;
        let begun = start.clone();
        let views = render::present(captured);
        let protection = config.guard.protection();
        let mut response = response::compose(run.folder.id(), (pid, ending), views, start, commit, cwd, protection);
        (response.waits, response.warm) = (waits, warm);
        if let Some(reports) = reports {
            let first = unsettled.is_some() || (warm && command.request().answer_first);
            let unrecorded = first.then(|| session.record_later());
            let conclusion = if first { self.conclude_later(session, &response) } else { None };
            *concluded_later = conclusion.is_some();
            let behind = Behind { _conclusion: conclusion, _unrecorded: unrecorded, unsettled };
            self.follow_up(session, begun, running, reports, behind);
        }
        self.tidy(response.output_bytes(), command.request().answer_first);
        Ok(response)
    }

    /// Stages 5 and 6: the command runs, and what it prints is taken.
    async fn execute(
        &self,
        session: &Session,
        command: &mut ResolvedCommand,
        start: &StartingPoint,
        listener: &mut dyn Listener,
        control: &RunControl,
    ) -> Result<(OpenRun, Collected), EngineError> {
        let view = command.request().view.unwrap_or(self.inner.config.limits.view);
        let mut warm = Warm::Welcome;
        // Input that was given away cannot be given once more.
        let again = self.is_warm() && matches!(command.request().input, CommandInput::Nothing);
        loop {
            let (run, launched) = self.launch(session, command, start, Waiting::Foreground, warm).await?;
            match collect(launched, command.request(), &run.folder, view, listener, control).await {
                Ok(Some(collected)) => {
                    if collected.ending.outcome == Outcome::Lost {
                        run.write_down();
                    }
                    return Ok((run, collected));
                }
                // A keeper that was there before may have been killed a moment ago.
                Err(StartError::KeeperVanished(_)) if again && warm == Warm::Welcome => {}
                Err(error) => return Err(error.into()),
                Ok(None) => {}
            }
            // Once more, with a keeper and a shell that are started for it.
            self.note_task(session, "not started", run.folder.id());
            warm = Warm::Not;
        }
    }

    /// Starts one command as a task of `session` and comes back at once. What it changes in its shell is not
    /// committed: a session's state is that of the commands it waited for.
    ///
    /// # Errors
    /// As for [`Engine::run`], and when the session has as many tasks as it may have. Nothing is started then. A
    /// refusal by the guard is a response, so it comes as one.
    pub async fn start(&self, session: &Session, request: CommandRequest) -> Result<StartedTask, EngineError> {
        let command = self.inner.config.audit.is_some().then(|| request.command.clone());
        let started = self.start_stages(session, request).await;
        match &started {
            Ok(StartedTask::Started(_)) => {}
            Ok(StartedTask::Refused(response)) => drop(self.conclude(session, command, Ok(response))),
            Err(error) => drop(self.conclude(session, command, Err(error))),
        }
        started
    }

    async fn start_stages(&self, session: &Session, mut request: CommandRequest) -> Result<StartedTask, EngineError> {
        let Inner { config, tasks, .. } = &*self.inner;
        // From its first moment: this process may be gone in the next one.
        request.lifetime = request.task_lifetime.into();
        let mut known = session.tasks.lock().await;
        self.check_limit(session, &mut known)?;
        let request = request::accept(request, None)?;
        session.settled().await;
        let mut command = match self.admit(session, request).await {
            Ok(Admitted::Command(command)) => *command,
            Ok(Admitted::DryRun(description)) => {
                return Ok(StartedTask::Refused(Box::new(self.describe(session, description))));
            }
            Err(refusal) => return Ok(StartedTask::Refused(Box::new(self.refuse(session, &refusal)))),
        };
        let start = self.begin(session, &mut command).await?;
        let lifetime = command.request().task_lifetime;
        let mut warm = Warm::Welcome;
        let (run, connection) = loop {
            let (run, launched) = self.launch(session, &mut command, &start, Waiting::Background, warm).await?;
            if let Some(connection) = release(launched, command.request(), &run.folder).await? {
                break (run, connection);
            }
            self.note_task(session, "not started", run.folder.id());
            warm = Warm::Not;
        };
        run.keep();
        if config.limits.tasks_per_session.is_some() {
            known.push(run.folder.id().to_owned());
        }
        if lifetime == TaskLifetime::Session {
            session.hold(connection);
        }
        self.replenish(session);
        self.tidy(0, false);
        let task = tasks.get(run.folder.id()).map_err(|_| StartError::KeeperVanished(config.keeper.clone()))?;
        Ok(StartedTask::Started(Box::new(task)))
    }

    /// Whether `text` may be written to a task: one that runs a shell or an interpreter runs what it is given.
    ///
    /// # Errors
    /// Why not. Nobody is asked: what would have to be asked about can be given as a command of its own.
    pub fn review_input(&self, session: &Session, task: &Task, text: &str) -> Result<(), Refusal> {
        let guard = &self.inner.config.guard;
        let state = session.state();
        match guard.judge_input(text, &task.command, &state, &task.directory) {
            Some(verdict) if verdict.decision != Decision::Allow => Err(Refusal::new(verdict.refusal())),
            _ => Ok(()),
        }
    }

    /// The tasks of this engine's state directory, whoever started them.
    pub fn tasks(&self) -> &Tasks {
        &self.inner.tasks
    }

    /// Removes finished runs beyond these limits, oldest first.
    pub fn clean(&self, retention: RetentionLimits, in_all: u64) -> Swept {
        sweep::sweep(self.inner.tasks.folder(), retention, in_all)
    }

    /// Stages 2 and 3: whether it may run, and with what values.
    async fn admit(&self, session: &Session, request: AcceptedRequest) -> Result<Admitted, Refusal> {
        let Inner { config, known, verdicts, consents, .. } = &*self.inner;
        let reviewed = review::review(request, &config.guard, verdicts, consents, session, &config.environment);
        let approved = match reviewed.await? {
            Reviewed::Approved(approved) => approved,
            Reviewed::DryRun(description) => return Ok(Admitted::DryRun(description)),
        };
        let quotes = match config.shell.kind() {
            ShellKind::Bash => Quotes::Bash,
            ShellKind::Posix => Quotes::Posix,
        };
        let command = secrets::resolve(*approved, &config.secrets, known, session, quotes).await?;
        Ok(Admitted::Command(Box::new(command)))
    }

    fn refuse(&self, session: &Session, refusal: &Refusal) -> CommandResponse {
        response::refuse(refusal, session.state().cwd.clone(), self.inner.config.guard.protection())
    }

    fn describe(&self, session: &Session, description: String) -> CommandResponse {
        response::describe(description, session.state().cwd.clone(), self.inner.config.guard.protection())
    }

    async fn begin(&self, session: &Session, command: &mut ResolvedCommand) -> Result<StartingPoint, EngineError> {
        let policy = &self.inner.config.environment;
        let (agreed, now) = (command.agreed(), session.state());
        if let Some(agreed) = agreed.filter(|agreed| *agreed != now.cwd) {
            return Err(RequestError::Moved(agreed.to_owned(), now.cwd.clone()).into());
        }
        self.log_in(session).await;
        let directory = command.request().directory.as_deref();
        let mut start = session::begin(session, directory, command.environment(), policy)?;
        start.notices.append(&mut command.take_notices());
        start.notices.append(&mut session.take_late_notices());
        for withheld in self.inner.withheld.lock().iter() {
            if !start.state.variables.contains_key(&withheld.name) && !start.removed.contains(withheld) {
                start.removed.push(withheld.clone());
            }
        }
        Ok(start)
    }

    /// Adds what the login shell says, once.
    async fn log_in(&self, session: &Session) {
        let Inner { config, inherited_path, .. } = &*self.inner;
        let Some(login) = config.login.as_ref().filter(|_| !session.logged_in.load(Ordering::Relaxed)) else { return };
        // One that says nothing is no reason not to run; `chiton env` tells about it.
        let Ok(mut variables) = login.answer().await else { return };
        if session.logged_in.swap(true, Ordering::Relaxed) {
            return;
        }
        let before = session.state();
        let own = before.variables.get("PATH").and_then(Variable::scalar);
        if own != inherited_path.lock().as_deref() {
            variables.remove("PATH");
        }
        let mut state = ShellState::clone(&before);
        let removed = login::add(&mut state, variables, &config.environment);
        session.commit(&Change::between(&before, state));
        self.note_withheld(removed);
    }

    fn note_withheld(&self, withheld: Vec<RemovedVariable>) {
        let mut all = self.inner.withheld.lock();
        for one in withheld {
            if !all.contains(&one) {
                all.push(one);
            }
        }
    }

    /// Refuses one more task where the session has enough of them running.
    fn check_limit(&self, session: &Session, known: &mut Vec<String>) -> Result<(), EngineError> {
        let Some(limit) = self.inner.config.limits.tasks_per_session else { return Ok(()) };
        let tasks = &self.inner.tasks;
        known.retain(|id| tasks.get(id).is_ok_and(|task| task.status.is_running()));
        let mut running = known.len();
        if let Some(name) = session.name() {
            let all = tasks.running().unwrap_or_default();
            let same = |task: &&Task| task.session.as_deref() == Some(name) && task.background;
            running = all.iter().filter(same).count();
        }
        if running >= limit { Err(EngineError::TaskLimit(limit)) } else { Ok(()) }
    }
}

/// So many runs pass at most between two looks at what has to go.
const UNTIDIED: usize = 32;

/// What came of asking whether a command may run.
enum Admitted {
    Command(Box<ResolvedCommand>),
    /// It is only looked at: this is what it would do.
    DryRun(String),
}

/// What came of starting a task.
#[derive(Clone, Debug)]
pub enum StartedTask {
    /// It runs.
    Started(Box<Task>),
    /// The guard refused it; nothing was started.
    Refused(Box<CommandResponse>),
}

/// What ends a run, before and after its call.
struct Lives {
    lifetime: Lifetime,
    task_lifetime: TaskLifetime,
}

impl Lives {
    fn of(request: &CommandRequest) -> Self {
        let CommandRequest { lifetime, task_lifetime, .. } = *request;
        Self { lifetime, task_lifetime }
    }

    /// Keeps the connection to a run that outlives its call and is to end with the session. Gives it back where nothing
    /// of the run is left.
    async fn hold(&self, session: &Session, run: &OpenRun, ending: &Ending, reports: Reports) -> Option<Reports> {
        let handed_back = ending.outcome == Outcome::Running;
        if handed_back {
            session.tasks.lock().await.push(run.folder.id().to_owned());
        }
        let task = handed_back && self.task_lifetime == TaskLifetime::Session;
        if task || (self.lifetime == Lifetime::Session && !ending.leftovers.is_empty()) {
            session.hold(reports.into_connection());
            return None;
        }
        (!handed_back && ending.leftovers.is_empty()).then_some(reports)
    }
}
