//! The path of one command, from request to response.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::bytes::ByteString;
use crate::capture::collect::{Collected, collect};
use crate::control::RunControl;
use crate::error::{EngineError, StartError};
use crate::event::Listener;
use crate::guard::{self, Policy, Refusal};
use crate::limits::Limits;
use crate::outcome::{Lifetime, Outcome, Usage};
use crate::render::{TextView, present};
use crate::request::{self, CommandRequest, Streams};
use crate::response::{CommandResponse, StateReport};
use crate::runs::{self, RunFolder, Runs};
use crate::secrets::{self, SecretStore};
use crate::session::change::Change;
use crate::session::environment::{EnvironmentPolicy, PATIENCE, RemovedVariable};
use crate::session::state::ShellState;
use crate::session::{self, Session, StartingPoint, bash, posix};
use crate::spawn::{self, LaunchSettings, Shell, ShellKind};

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
    pub policy: Policy,
    /// What may be in an environment.
    pub environment: EnvironmentPolicy,
    /// Where the values of secrets come from.
    pub secrets: SecretStore,
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
            policy: Policy::AllowAll,
            environment: EnvironmentPolicy::default(),
            secrets: SecretStore::empty(),
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
    runs: Runs,
    /// Bytes that finished runs had on disk when that was last looked at.
    spooled: AtomicU64,
    /// Bytes that running ones may still write.
    reserved: AtomicU64,
}

impl Engine {
    /// An engine with this configuration.
    pub fn new(config: EngineConfig) -> Result<Self, EngineError> {
        let runs = Runs::open(&config.state_directory)?;
        let inner = Inner { config, runs, spooled: AtomicU64::new(0), reserved: AtomicU64::new(0) };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The configuration.
    pub fn config(&self) -> &EngineConfig {
        &self.inner.config
    }

    /// The state of a shell that was just started with this environment, and with what keeps programs from waiting
    /// for a person where the environment does not say otherwise. Dangerous variables are kept from every command, and
    /// each response says so, rather than here.
    pub fn fresh_state(
        &self,
        directory: impl Into<PathBuf>,
        environment: impl IntoIterator<Item = (String, ByteString)>,
        umask: u32,
    ) -> ShellState {
        let defaults = PATIENCE.iter().map(|(name, value)| ((*name).to_owned(), (*value).into()));
        ShellState::fresh(directory, defaults.chain(environment), umask)
    }

    /// Runs one command in `session`: the eight stages, in order.
    ///
    /// An error means that nothing was started. A refusal, a failing command, a timeout are responses.
    pub async fn run(
        &self,
        session: &Session,
        request: CommandRequest,
        listener: &mut dyn Listener,
        control: &RunControl,
    ) -> Result<CommandResponse, EngineError> {
        let Inner { config, .. } = &*self.inner;
        let request = request::accept(request)?;
        let approved = match guard::review(request, config.policy) {
            Ok(approved) => approved,
            Err(refusal) => return Ok(refused(&refusal, session, config.policy)),
        };
        let command = secrets::resolve(approved, &config.secrets);
        let asked = command.request();
        let start = session::begin(session, asked.directory.as_deref(), &asked.environment, &config.environment)?;
        let run = self.open_run(asked, &start)?;
        let launched = spawn::launch(command, &start, &run.folder, &self.launch_settings(&run))?;
        let view = launched.command.view.unwrap_or(config.limits.view);
        let asked = Asked { lifetime: launched.command.lifetime, streams: launched.command.streams };
        let collected = collect(launched, run.folder.id(), view, listener, control).await?;
        run.keep();
        let (state, pipe_status, not_carried) = self.commit(session, &start, &collected);
        let response = respond(&run, session, start, collected, state, &asked, config.policy);
        self.tidy(&response);
        Ok(CommandResponse {
            pipe_status,
            removed_variables: joined(response.removed_variables, not_carried),
            ..response
        })
    }

    fn open_run(&self, request: &CommandRequest, start: &StartingPoint) -> Result<OpenRun, StartError> {
        let limits = self.inner.config.limits.spool;
        let taken = self.inner.spooled.load(Ordering::Relaxed) + self.inner.reserved.load(Ordering::Relaxed);
        let allowance = limits.in_all.saturating_sub(taken).max(LEAST_ALLOWANCE).min(limits.per_run);
        let folder = self.inner.runs.create(request, &start.state)?;
        self.inner.reserved.fetch_add(allowance, Ordering::Relaxed);
        Ok(OpenRun { engine: Arc::clone(&self.inner), folder, allowance, started: false.into() })
    }

    fn launch_settings(&self, run: &OpenRun) -> LaunchSettings<'_> {
        let EngineConfig { keeper, shell, limits, .. } = &self.inner.config;
        LaunchSettings { keeper, shell, limits, spool_allowance: run.allowance }
    }

    /// Commits what the command changed, if it ended in a way that lets it.
    fn commit(
        &self,
        session: &Session,
        start: &StartingPoint,
        collected: &Collected,
    ) -> (StateReport, Vec<i32>, Vec<RemovedVariable>) {
        let outcome = &collected.ending.outcome;
        if !outcome.commits() {
            return (StateReport::Discarded(format!("the command {outcome}")), Vec::new(), Vec::new());
        }
        let text = collected.state.as_deref().unwrap_or_default();
        let handed_back = match self.inner.config.shell.kind() {
            ShellKind::Bash => bash::dump::read(text, &start.state).map(|back| (back.state, back.pipe_status)),
            ShellKind::Posix => posix::read(text, &start.state).map(|state| (state, Vec::new())),
        };
        let Some((mut state, pipe_status)) = handed_back else {
            let why = "the shell ended without handing its state back (exec, or set -v)";
            return (StateReport::Discarded(why.to_owned()), Vec::new(), Vec::new());
        };
        let not_carried = self.inner.config.environment.filter(&mut state.variables);
        let change = Change::between(&start.state, state);
        if change.is_empty() {
            return (StateReport::Unchanged, pipe_status, not_carried);
        }
        session.commit(&change);
        (StateReport::Committed, pipe_status, not_carried)
    }

    /// Old runs go, after the answer is known and before the next command asks for room.
    fn tidy(&self, response: &CommandResponse) {
        let limits = &self.inner.config.limits;
        let shown = response.stdout.head.len() + response.stderr.head.len();
        let bytes = shown as u64 + response.omitted_bytes();
        if let Some(used) = self.inner.runs.tidy(bytes, limits.retention, limits.spool.in_all) {
            self.inner.spooled.store(used, Ordering::Relaxed);
        }
    }
}

/// Even where the sum of all runs is used up, a run may keep this much; the oldest finished ones make room for it.
const LEAST_ALLOWANCE: u64 = 16 << 20;

/// A run while its call lasts. One that never started leaves no folder.
struct OpenRun {
    engine: Arc<Inner>,
    folder: RunFolder,
    allowance: u64,
    started: std::cell::Cell<bool>,
}

impl OpenRun {
    fn keep(&self) {
        self.started.set(true);
    }
}

impl Drop for OpenRun {
    fn drop(&mut self) {
        self.engine.reserved.fetch_sub(self.allowance, Ordering::Relaxed);
        if !self.started.get() {
            runs::discard(&self.folder);
        }
    }
}

/// What the response needs of the request.
struct Asked {
    lifetime: Lifetime,
    streams: Streams,
}

fn respond(
    run: &OpenRun,
    session: &Session,
    start: StartingPoint,
    collected: Collected,
    state: StateReport,
    asked: &Asked,
    policy: Policy,
) -> CommandResponse {
    let Collected { ending, stdout, stderr, output, connection, .. } = collected;
    if asked.lifetime == Lifetime::Session && !ending.leftovers.is_empty() {
        session.hold(connection);
    }
    let lost = |totals: crate::capture::spool::StreamTotals| totals.written - totals.kept;
    let stdout = present(stdout);
    let output = if asked.streams == Streams::Merged { stdout.clone() } else { present(output) };
    CommandResponse {
        run_id: run.folder.id().to_owned(),
        pipe_status: Vec::new(),
        stdout,
        stderr: present(stderr),
        output,
        lost_bytes: lost(ending.stdout) + lost(ending.stderr),
        cwd: session.state().cwd.clone(),
        state,
        outcome: ending.outcome,
        leftovers: ending.leftovers,
        survivors: ending.survivors,
        usage: ending.usage,
        duration: Duration::from_micros(ending.wall_us),
        removed_variables: start.removed,
        notices: start.notices,
        protection: policy.protection(),
    }
}

fn refused(refusal: &Refusal, session: &Session, policy: Policy) -> CommandResponse {
    CommandResponse {
        run_id: String::new(),
        outcome: Outcome::Refused(refusal.reason.clone()),
        pipe_status: Vec::new(),
        stdout: TextView::default(),
        stderr: TextView::default(),
        output: TextView::default(),
        lost_bytes: 0,
        cwd: session.state().cwd.clone(),
        state: StateReport::Discarded("the command was refused".to_owned()),
        leftovers: Vec::new(),
        survivors: Vec::new(),
        usage: Usage::default(),
        duration: Duration::ZERO,
        removed_variables: Vec::new(),
        notices: Vec::new(),
        protection: policy.protection(),
    }
}

fn joined(mut first: Vec<RemovedVariable>, second: Vec<RemovedVariable>) -> Vec<RemovedVariable> {
    let new = second.into_iter().filter(|removed| !first.contains(removed)).collect::<Vec<_>>();
    first.extend(new);
    first
}
