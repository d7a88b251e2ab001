//! The path of one command, from request to response.

mod afterwork;
mod audit;
mod commit;
mod elsewhere;
mod enclosing;
mod nursery;
mod ports;
mod previewing;
mod rejoining;
mod stages;
mod typing;
mod widening;

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, OnceLock};

use nursery::Nursery;

use crate::ancestry;
use crate::audit::Journal;
use crate::bytes::ByteString;
use crate::consent::{Consents, Desk};
use crate::control::RunControl;
use crate::error::{EngineError, RequestError, StartError};
use crate::folder;
use crate::keeper;
use crate::limits::Limits;
use crate::lock::Lock;
use crate::owner::Owner;
use crate::process::Shell;
use crate::render;
use crate::request::{self, CommandRequest, PreviewMode};
use crate::response::{DryRun, RefusedCommand, Response};
use crate::review::{Guard, Verdicts};
use crate::run::{Listener, Notify};
use crate::sandbox::policy::{SandboxPolicy, Widening};
use crate::sandbox::{Upstream, Without};
use crate::secrets::known::KnownSecrets;
use crate::secrets::{GivenSecret, Masking, SecretStore, UnknownReference, value};
use crate::session::login::LoginEnvironment;
use crate::session::{FreshState, Inherited, Session};
use crate::spawn::{Attendance, SpoolQuota};
use crate::state::ShellState;
use crate::state::environment::{DEFAULTS, EnvironmentPolicy, TakenOver};
use crate::tasks::sweep;
use crate::tasks::{CleanUp, Swept};
use crate::tasks::{Task, Tasks};
use crate::warm::pool::WarmRoom;

use afterwork::UNSWEPT_RUNS;
pub use elsewhere::{Approval, EndElsewhere};

/// What an engine is given. It looks at nothing by itself: no home directory, no environment, no settings file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EngineConfig {
    /// Where runs are kept. Made with mode 0700 where it does not exist.
    pub state_directory: PathBuf,
    /// The executable that is a keeper when asked, see [`crate::serve_if_asked`]. The program itself, as a rule.
    pub keeper: PathBuf,
    /// The shell, where a request names no other.
    pub shell: Shell,
    /// Numbers.
    pub limits: Limits,
    /// Decides what may run.
    pub guard: Guard,
    /// What may be in an environment.
    pub environment: EnvironmentPolicy,
    /// Where the values of secrets come from.
    pub secrets: SecretStore,
    /// What becomes of a command that names a secret nobody knows.
    pub unknown_references: UnknownReference,
    /// Where every call is written down.
    pub audit: Option<Journal>,
    /// The program that tells a person when a task ends or waits for somebody to type.
    pub notify: Option<Notify>,
    /// What the user's login shell adds to an environment.
    pub login: Option<LoginEnvironment>,
    /// Counts the shells that wait for commands.
    pub room: WarmRoom,
    /// What commands are held in; nothing unless somebody says so.
    pub sandbox: Option<SandboxPolicy>,
    /// Where names lead that a sandbox allows, in place of what the machine's resolver says.
    pub sandbox_hosts: Option<Vec<(String, Vec<IpAddr>)>>,
    /// The proxy that the machine has to use, through which allowed names are dialled.
    pub sandbox_upstream: Option<Upstream>,
    /// Layers of it to do without, as if the kernel had none.
    pub sandbox_without: Without,
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
            unknown_references: UnknownReference::default(),
            audit: None,
            notify: None,
            login: None,
            room: WarmRoom::default(),
            sandbox: None,
            sandbox_hosts: None,
            sandbox_upstream: None,
            sandbox_without: Without::default(),
        })
    }
}

/// Runs commands. Cheap to clone; clones are the same engine.
#[derive(Clone, Debug)]
pub struct Engine {
    inner: Arc<EngineInner>,
}

#[derive(Debug)]
struct EngineInner {
    config: EngineConfig,
    tasks: Tasks,
    /// Values that have come up: masked in everything from then on.
    known: KnownSecrets,
    /// What the guard has said.
    verdicts: Verdicts,
    /// Whose its runs are.
    owner: OnceLock<Owner>,
    /// What people were asked.
    consents: Consents,
    desk: Desk,
    /// Lines that are still to be written into the journal.
    deferred: Lock<Vec<audit::DeferredLine>>,
    quota: Arc<SpoolQuota>,
    /// By which policy commands are judged, for a Chiton that one of them starts.
    floor: Option<OsString>,
    /// Runs since the last sweep.
    unswept: AtomicUsize,
    /// Whether one goes on.
    sweeping: AtomicBool,
    /// What is ready for the next session.
    nursery: Nursery,
}

impl Engine {
    /// An engine with this configuration.
    pub fn new(config: EngineConfig) -> Result<Self, EngineError> {
        if keeper::is_asked() {
            // Whoever started this process waits for a keeper. Going on would start another one, and so on for ever.
            return Err(StartError::NotServed.into());
        }
        let tasks = Tasks::new(&config.state_directory);
        for path in [&config.state_directory, tasks.folder()] {
            let path = path.to_owned();
            folder::make_own(&path).map_err(|error| StartError::StateDirectory { path, error })?;
        }
        let floor = ancestry::publish(&config.guard.policy, &config.state_directory);
        let inner = EngineInner {
            desk: Desk::new(&config.state_directory),
            config,
            floor,
            tasks,
            known: KnownSecrets::none(),
            verdicts: Verdicts::default(),
            owner: OnceLock::new(),
            consents: Consents::default(),
            deferred: Lock::default(),
            quota: Arc::default(),
            unswept: AtomicUsize::new(UNSWEPT_RUNS),
            sweeping: AtomicBool::new(false),
            nursery: Nursery::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The configuration.
    pub fn config(&self) -> &EngineConfig {
        &self.inner.config
    }

    /// Whether a person was asked the question `id`, and it can still be answered.
    pub fn is_open_question(&self, id: &str) -> bool {
        self.inner.consents.is_open(id)
    }

    /// The tasks of this engine's state directory, whoever started them.
    pub fn tasks(&self) -> &Tasks {
        &self.inner.tasks
    }

    /// From now on its runs belong to `owner`. The first one counts: an engine serves one client.
    pub fn set_owner(&self, owner: Owner) {
        let _ = self.inner.owner.set(owner);
    }

    /// Whose its runs are; nobody's unless somebody said so.
    pub fn owner(&self) -> Option<&Owner> {
        self.inner.owner.get()
    }

    fn owner_name(&self) -> Option<&str> {
        self.owner().map(|owner| owner.client.as_str())
    }

    /// Runs one command in `session`, and writes down that it did.
    ///
    /// # Errors
    /// When nothing was started. A refusal, a failing command, a timeout are responses.
    pub async fn run(
        &self,
        session: &Session,
        request: CommandRequest,
        listener: &mut dyn Listener,
        control: &RunControl,
    ) -> Result<Response, EngineError> {
        let again = self.repeatable(&request);
        let response = self.run_with(session, request, Arc::default(), listener, control).await?;
        match again {
            Some(request) => self.widen(session, request, response, listener, control).await,
            None => Ok(response),
        }
    }

    /// All stages of one command, which may do a little more than its sandbox's profile says.
    async fn run_with(
        &self,
        session: &Session,
        request: CommandRequest,
        widened: Arc<[Widening]>,
        listener: &mut dyn Listener,
        control: &RunControl,
    ) -> Result<Response, EngineError> {
        let call = self.call(session, &request);
        let stages = async {
            self.check_is_new(&request)?;
            let request = self.assign_ports(session, request).await?;
            let request = request::accept(request, self.inner.config.limits.default_timeout)?;
            let approved = self.review(session, request, widened).await?;
            let mut command = self.resolve(session, approved).await?;
            let start = self.begin(session, &mut command).await?;
            let launched = self.launch(session, &mut command, &start, Attendance::Foreground).await?;
            let (ended, captured) = self.collect(session, &mut command, &start, launched, listener, control).await?;
            let views = render::present(captured, ended.completeness(), &self.inner.known);
            Ok(self.respond(session, command.request(), start, ended, views).await.into())
        };
        stages.await.or_else(|why| call.not_run(why))
    }

    /// Starts one command as a task of `session` and comes back at once. What it changes in its shell is not
    /// committed: a session's state is that of the commands it waited for.
    ///
    /// # Errors
    /// As for [`Engine::run`], and when the session has as many tasks as it may have. Nothing is started then. A
    /// refusal by the guard is a response, so it comes as one.
    pub async fn start(&self, session: &Session, mut request: CommandRequest) -> Result<StartedTask, EngineError> {
        if request.preview == PreviewMode::On {
            return Err(RequestError::PreviewGoesOn("running in the background").into());
        }
        let call = self.call(session, &request);
        // From its first moment: this process may be gone in the next one.
        request.lifetime = request.task_lifetime.into();
        let stages = async {
            self.check_is_new(&request)?;
            let mut started = self.room_for_task(session).await?;
            let request = self.assign_ports(session, request).await?;
            let request = request::accept(request, None)?;
            let approved = self.review(session, request, Arc::default()).await?;
            let mut command = self.resolve(session, approved).await?;
            let start = self.begin(session, &mut command).await?;
            let launched = self.launch(session, &mut command, &start, Attendance::Background).await?;
            self.release(session, &mut command, &start, launched, &mut started).await
        };
        stages.await.or_else(|why| call.not_run(why))
    }
}

impl Engine {
    /// What its commands are held in; `None` where nothing is to hold them.
    pub fn sandbox(&self) -> Option<&SandboxPolicy> {
        self.inner.config.sandbox.as_ref()
    }

    /// The state of a shell that was just started with this environment, and with what keeps programs from waiting
    /// for a person where the environment does not say otherwise. What looks like a secret is not taken over; dangerous
    /// variables are kept from every command. Each response names both.
    pub fn fresh_state(
        &self,
        directory: impl Into<PathBuf>,
        environment: impl IntoIterator<Item = (String, ByteString)>,
        umask: u32,
    ) -> FreshState {
        let TakenOver { variables, functions, removed, own, masked } =
            self.inner.config.environment.inherit(environment);
        self.inner.known.learn(masked);
        let of_environment = |name| variables.get(name).cloned();
        let (path, home) = (of_environment("PATH"), of_environment("HOME"));
        let inherited = Inherited { withheld: removed, own, path, home };
        let defaults = DEFAULTS.iter().map(|(name, value)| ((*name).to_owned(), (*value).into()));
        let mut state = ShellState { functions, ..ShellState::fresh(directory, defaults.chain(variables), umask) };
        state.real_cwd = state.cwd.canonicalize().unwrap_or_default();
        FreshState { state, inherited }
    }

    /// From now on its commands may name these secrets, and their values are masked in everything. They are kept in memory.
    pub fn give_secrets(&self, secrets: impl IntoIterator<Item = GivenSecret>) {
        for given in secrets {
            // A value that cannot be masked is refused when a command names it.
            let is_usable = value::check(&given.reference.name, &given.secret).is_ok();
            if is_usable && given.secret.masking == Masking::Masked {
                self.inner.known.learn([(given.reference.clone(), given.secret.value.clone())]);
            }
            self.inner.config.secrets.given().add([given]);
        }
    }

    /// Output of a task as it may be shown: whoever takes its escape sequences out finds no value.
    pub fn masked_view(&self, text: String) -> String {
        self.inner.known.masked_view(text)
    }

    /// Removes finished runs.
    pub fn clean(&self, wanted: &CleanUp) -> Swept {
        sweep::clean(self.inner.tasks.folder(), wanted, self.inner.config.audit.as_ref())
    }
}

/// What came of starting a task.
#[derive(Clone, Debug)]
pub enum StartedTask {
    /// It runs.
    Started(Box<Task>),
    /// It may not run; nothing was started.
    Refused(Box<RefusedCommand>),
    /// It was only looked at.
    Described(Box<DryRun>),
}

impl From<RefusedCommand> for StartedTask {
    fn from(refused: RefusedCommand) -> Self {
        Self::Refused(Box::new(refused))
    }
}

impl From<DryRun> for StartedTask {
    fn from(dry_run: DryRun) -> Self {
        Self::Described(Box::new(dry_run))
    }
}
