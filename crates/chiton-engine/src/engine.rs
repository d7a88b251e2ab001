//! The path of one command, from request to response.

mod written_down;

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::UnixStream;

use crate::audit::Journal;
use crate::bytes::ByteString;
use crate::capture::collect::{Collected, collect, release};
use crate::control::RunControl;
use crate::error::{EngineError, RequestError, StartError};
use crate::event::Listener;
use crate::guard::{self, Consents, Decision, Guard, Refusal, Reviewed};
use crate::keeper::protocol::Ending;
use crate::limits::{Limits, RetentionLimits};
use crate::outcome::{Lifetime, Outcome};
use crate::render;
use crate::request::{self, AcceptedRequest, CommandRequest, TaskLifetime};
use crate::response::{self, CommandResponse, Commit, StateReport};
use crate::secrets::insert::Quotes;
use crate::secrets::known::KnownSecrets;
use crate::secrets::{self, ResolvedCommand, SecretStore};
use crate::session::change::Change;
use crate::session::environment::{DEFAULTS, EnvironmentPolicy, RemovedVariable};
use crate::session::login::{self, LoginEnvironment};
use crate::session::state::{ShellState, Variable};
use crate::session::{self, Session, StartingPoint, bash, posix};
use crate::spawn::{self, LaunchSettings, Launched, Shell, ShellKind};
use crate::tasks::folder::{self, RunFolder};
use crate::tasks::record::RequestRecord;
use crate::tasks::sweep::{self, Swept};
use crate::tasks::{Task, Tasks};

mod typing;

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
    /// What people were asked.
    consents: Consents,
    /// What was not taken over from an environment.
    withheld: Mutex<Vec<RemovedVariable>>,
    /// The `PATH` that was taken over: one that a command has changed is its own business.
    inherited_path: Mutex<Option<ByteString>>,
    /// Bytes that finished runs had on disk when that was last looked at.
    spooled: AtomicU64,
    /// Bytes that running ones may still write.
    reserved: AtomicU64,
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
        let (withheld, inherited_path) = (Mutex::default(), Mutex::default());
        let consents = Consents::default();
        let inner = Inner { config, tasks, known, consents, withheld, inherited_path, spooled, reserved };
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
        *self.inner.inherited_path.lock().unwrap_or_else(PoisonError::into_inner) = environment.get("PATH").cloned();
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
        let mut result = self.run_stages(session, request, listener, control).await;
        let unwritten = self.conclude(session, command, result.as_ref());
        if let Ok(response) = &mut result {
            response.notices.extend(unwritten);
        }
        result
    }

    /// The eight stages, in order.
    async fn run_stages(
        &self,
        session: &Session,
        request: CommandRequest,
        listener: &mut dyn Listener,
        control: &RunControl,
    ) -> Result<CommandResponse, EngineError> {
        let Inner { config, .. } = &*self.inner;
        let request = request::accept(request, config.limits.default_timeout)?;
        let mut command = match self.admit(session, request).await {
            Ok(Admitted::Command(command)) => *command,
            Ok(Admitted::DryRun(description)) => return Ok(self.describe(session, description)),
            Err(refusal) => return Ok(self.refuse(session, &refusal)),
        };
        let start = self.begin(session, &mut command).await?;
        let (run, lock) = self.open_run(session, &command, &start, Waiting::Foreground)?;
        let launched = spawn::launch(command, &start, &run.folder, self.launch_settings(session, &run, lock))?;
        let (view, lives) = (launched.command.view.unwrap_or(config.limits.view), Lives::of(&launched));
        let collected = collect(launched, &run.folder, view, listener, control).await?;
        run.keep();
        let commit = self.commit(session, &start, &collected);
        let Collected { pid, ending, captured, waits, connection, .. } = collected;
        lives.hold(session, &run, &ending, connection).await;
        let views = render::present(captured);
        let cwd = session.state().cwd.clone();
        let protection = config.guard.protection();
        let mut response = response::compose(run.folder.id(), (pid, ending), views, start, commit, cwd, protection);
        response.waits = waits;
        self.tidy(response.output_bytes());
        Ok(response)
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
        let mut command = match self.admit(session, request).await {
            Ok(Admitted::Command(command)) => *command,
            Ok(Admitted::DryRun(description)) => {
                return Ok(StartedTask::Refused(Box::new(self.describe(session, description))));
            }
            Err(refusal) => return Ok(StartedTask::Refused(Box::new(self.refuse(session, &refusal)))),
        };
        let start = self.begin(session, &mut command).await?;
        let (run, lock) = self.open_run(session, &command, &start, Waiting::Background)?;
        let launched = spawn::launch(command, &start, &run.folder, self.launch_settings(session, &run, lock))?;
        let lifetime = launched.command.task_lifetime;
        let connection = release(launched, &run.folder).await?;
        run.keep();
        if config.limits.tasks_per_session.is_some() {
            known.push(run.folder.id().to_owned());
        }
        if lifetime == TaskLifetime::Session {
            session.hold(connection);
        }
        self.tidy(0);
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
        let Inner { config, known, consents, .. } = &*self.inner;
        let approved = match guard::review(request, &config.guard, consents, session, &config.environment).await? {
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
        for withheld in self.inner.withheld.lock().unwrap_or_else(PoisonError::into_inner).iter() {
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
        if own != inherited_path.lock().unwrap_or_else(PoisonError::into_inner).as_deref() {
            variables.remove("PATH");
        }
        let mut state = ShellState::clone(&before);
        let removed = login::add(&mut state, variables, &config.environment);
        session.commit(&Change::between(&before, state));
        self.note_withheld(removed);
    }

    fn note_withheld(&self, withheld: Vec<RemovedVariable>) {
        let mut all = self.inner.withheld.lock().unwrap_or_else(PoisonError::into_inner);
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

    fn open_run(
        &self,
        session: &Session,
        command: &ResolvedCommand,
        start: &StartingPoint,
        waiting: Waiting,
    ) -> Result<(OpenRun, File), StartError> {
        let request = command.request();
        let limits = self.inner.config.limits.spool;
        let taken = self.inner.spooled.load(Ordering::Relaxed) + self.inner.reserved.load(Ordering::Relaxed);
        let allowance = limits.in_all.saturating_sub(taken).max(LEAST_ALLOWANCE).min(limits.per_run);
        let runs = self.inner.tasks.folder();
        let (folder, lock) =
            RunFolder::create(runs).map_err(|error| StartError::StateDirectory { path: runs.to_owned(), error })?;
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
        // On a full disk a command that somebody waits for still runs; it only cannot be looked up later. A task that
        // could not be looked up would be lost from its first moment, so it is not started.
        let written =
            folder.write_request(&record).and_then(|()| if record.background { folder.reserve() } else { Ok(()) });
        if let (Err(error), true) = (written, record.background) {
            folder.discard();
            return Err(StartError::StateDirectory { path: runs.to_owned(), error });
        }
        self.write_start(session, command, &record);
        self.inner.reserved.fetch_add(allowance, Ordering::Relaxed);
        let engine = Arc::clone(&self.inner);
        Ok((OpenRun { engine, folder, allowance, started: AtomicBool::new(false) }, lock))
    }

    fn launch_settings<'a>(&'a self, session: &'a Session, run: &OpenRun, lock: File) -> LaunchSettings<'a> {
        let EngineConfig { keeper, shell, limits, .. } = &self.inner.config;
        let (spool_allowance, client, session) = (run.allowance, session.client(), session.name());
        LaunchSettings { keeper, shell, limits, spool_allowance, lock, session, client }
    }

    /// Commits what the command changed, if it ended in a way that lets it.
    fn commit(&self, session: &Session, start: &StartingPoint, collected: &Collected) -> Commit {
        let outcome = &collected.ending.outcome;
        if !outcome.commits() {
            return Commit::discarded(format!("the command {outcome}"));
        }
        let text = collected.state.as_deref().unwrap_or_default();
        let handed_back = match self.inner.config.shell.kind() {
            ShellKind::Bash => bash::dump::read(text, &start.state).map(|back| (back.state, back.pipe_status)),
            ShellKind::Posix => posix::read(text, &start.state).map(|state| (state, Vec::new())),
        };
        let Some((mut state, pipe_status)) = handed_back else {
            return Commit::discarded(
                "the shell handed no state back: it was replaced (exec), it lists what it reads (set -v), its exit trap \
                 was set past ours (command trap, posix mode), or its state is larger than what is carried",
            );
        };
        let mut not_carried = self.inner.config.environment.filter(&mut state.variables);
        let mut withheld = self.inner.known.withhold(&mut state, &start.state);
        let names: Vec<&str> = withheld.iter().map(|removed| removed.name.as_str()).collect();
        let notice = (!names.is_empty()).then(|| {
            format!("not kept for the next command, since the value of a secret is in it: {}", names.join(", "))
        });
        not_carried.append(&mut withheld);
        let change = Change::between(&start.state, state);
        let report = if change.is_empty() { StateReport::Unchanged } else { StateReport::Committed };
        session.commit(&change);
        Commit { report, pipe_status, not_carried, notice }
    }

    /// Old runs go, after the answer is known and before the next command asks for room.
    fn tidy(&self, bytes: u64) {
        let limits = &self.inner.config.limits;
        let runs = self.inner.tasks.folder();
        if let Some(swept) = sweep::tidy(runs, bytes, limits.retention, limits.spool.in_all) {
            self.inner.spooled.store(swept.used, Ordering::Relaxed);
        }
    }
}

/// Even where the sum of all runs is used up, a run may keep this much; the oldest finished ones make room for it.
const LEAST_ALLOWANCE: u64 = 16 << 20;

/// What came of asking whether a command may run.
enum Admitted {
    Command(Box<ResolvedCommand>),
    /// It is only looked at: this is what it would do.
    DryRun(String),
}

/// Whether a call waits for the end of its run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Foreground,
    Background,
}

/// What came of starting a task.
#[derive(Clone, Debug)]
pub enum StartedTask {
    /// It runs.
    Started(Box<Task>),
    /// The guard refused it; nothing was started.
    Refused(Box<CommandResponse>),
}

/// A run while its call lasts. One that never started leaves no folder.
struct OpenRun {
    engine: Arc<Inner>,
    folder: RunFolder,
    allowance: u64,
    started: AtomicBool,
}

impl OpenRun {
    fn keep(&self) {
        self.started.store(true, Ordering::Relaxed);
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

/// What ends a run, before and after its call.
struct Lives {
    lifetime: Lifetime,
    task_lifetime: TaskLifetime,
}

impl Lives {
    fn of(launched: &Launched) -> Self {
        let CommandRequest { lifetime, task_lifetime, .. } = launched.command;
        Self { lifetime, task_lifetime }
    }

    /// Keeps the connection to a run that outlives its call and is to end with the session.
    async fn hold(&self, session: &Session, run: &OpenRun, ending: &Ending, connection: UnixStream) {
        let handed_back = ending.outcome == Outcome::Running;
        if handed_back {
            session.tasks.lock().await.push(run.folder.id().to_owned());
        }
        let task = handed_back && self.task_lifetime == TaskLifetime::Session;
        if task || (self.lifetime == Lifetime::Session && !ending.leftovers.is_empty()) {
            session.hold(connection);
        }
    }
}
