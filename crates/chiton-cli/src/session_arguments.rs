//! What `chiton mcp` and `chiton call` share: an operator set up from the command line and the settings.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use chiton_dialects::Dialect;
use chiton_engine::machine;
use chiton_engine::review::Guard;
use chiton_engine::sandbox::policy::SandboxPolicy;
use chiton_engine::secrets::UnknownReference;
use chiton_engine::session::login::LoginConfig;
use chiton_engine::{Engine, EngineConfig, WarmLimits, WarmRoom};
use chiton_mcp::{ClientPlace, StartDirectory};
use chiton_operator::Operator;
use clap::Args;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};

use crate::env;
use crate::passphrase::PassphraseSource;
use crate::protection_arguments::ProtectionArguments;
use crate::sandbox::Asker;
use crate::session::known_sessions;
use crate::settings::{CompactMode, RetentionSettings, Settings};
use crate::surroundings;

/// How the shell looks and where it starts.
#[derive(Args)]
pub(crate) struct SessionArguments {
    /// The tool surface; `chiton dialects` lists them [default: native]
    #[arg(long, value_name = "NAME", value_parser = dialect, add = ArgValueCandidates::new(known_dialects))]
    dialect: Option<&'static dyn Dialect>,
    /// Limit for a command that a call gives none, in seconds
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Where commands start [default: the current directory, or a root that an MCP client names]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Go on where the session of this name was left, and leave it as commands leave it
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(known_sessions))]
    session: Option<String>,
    /// How many background commands may run at once
    #[arg(long, value_name = "COUNT")]
    max_tasks: Option<usize>,
    /// Leave out lines of long output that are like those around them, or not [default: runs in native, else off]
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "runs")]
    compact: Option<CompactMode>,
    #[command(flatten)]
    protection: ProtectionArguments,
    /// Ask the login shell for its environment, in the background, and add what is missing
    #[arg(long)]
    login_env: bool,
}

/// What both say: everything that an operator is made from.
pub(crate) struct SessionSetup {
    dialect: &'static dyn Dialect,
    timeout: Option<Duration>,
    directory: PathBuf,
    /// Whether a person chose the directory, or a session that was left in one.
    chosen: bool,
    session: Option<String>,
    max_tasks: Option<usize>,
    retention: RetentionSettings,
    protection: ProtectionArguments,
    guard: Guard,
    sandbox: Option<SandboxPolicy>,
    login: bool,
    compact: Option<CompactMode>,
    purpose: Purpose,
    /// The shells of all clients that wait for commands.
    room: WarmRoom,
}

/// What an operator is made for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// `chiton mcp`: commands will follow one another, so shells may wait for them.
    Server,
    /// `chiton call`: nothing follows the one call.
    OneCall,
    /// `chiton mcp --on`: commands are judged here, and run elsewhere.
    Judge,
}

impl Purpose {
    /// What the journal says of it.
    fn verb(self) -> &'static str {
        match self {
            Self::Server | Self::Judge => "mcp",
            Self::OneCall => "call",
        }
    }
}

/// Tool surfaces, for the completion of the command line.
pub(crate) fn known_dialects() -> Vec<CompletionCandidate> {
    let all = chiton_dialects::catalogue::all().iter();
    all.map(|dialect| CompletionCandidate::new(dialect.name()).help(Some(dialect.about().into()))).collect()
}

pub(crate) fn dialect(name: &str) -> Result<&'static dyn Dialect> {
    let names = || chiton_dialects::names().join(", ");
    chiton_dialects::find(name)
        .with_context(|| format!("there is no dialect of the name '{name}'; there are: {}", names()))
}

impl SessionArguments {
    /// What the flags say, and the settings where a flag does not.
    pub(crate) fn resolve(&self, settings: &Settings, purpose: Purpose, state: &Path) -> Result<SessionSetup> {
        let given = &settings.mcp;
        let directory = match self.dir.as_ref().or(given.dir.as_ref()) {
            Some(path) => {
                let path = std::path::absolute(path)?;
                let is_here = purpose != Purpose::Judge;
                anyhow::ensure!(!is_here || path.is_dir(), "--dir {}: not a directory", path.display());
                path
            }
            None => surroundings::working_directory()?,
        };
        let dialect = match self.dialect {
            Some(dialect) => dialect,
            None => dialect(given.dialect.as_deref().unwrap_or("native"))?,
        };
        let guard = self.protection.guard(settings, &directory, state)?;
        let asker = Asker::Dialect(dialect.name());
        let sandbox = match purpose {
            Purpose::Server | Purpose::OneCall => {
                self.protection.sandbox(settings, asker, &directory, &[], state, &[])?
            }
            Purpose::Judge => None,
        };
        let session = self.session.clone().or_else(|| given.session.clone());
        Ok(SessionSetup {
            dialect,
            guard,
            sandbox,
            timeout: self.timeout.or(given.timeout).map(Duration::from_secs),
            directory,
            chosen: self.dir.is_some() || given.dir.is_some() || session.is_some(),
            session,
            max_tasks: self.max_tasks.or(given.max_tasks),
            retention: settings.retention,
            protection: self.protection.with(settings)?,
            login: self.login_env || settings.environment.login,
            compact: self.compact.or(settings.output.compact),
            purpose,
            room: WarmRoom::default(),
        })
    }
}

impl SessionSetup {
    /// Where commands start, as far as it is for a client to say.
    pub(crate) fn start(&self) -> StartDirectory {
        if self.chosen { StartDirectory::Chosen } else { StartDirectory::Open { home: surroundings::home() } }
    }

    /// An operator that works in `place` instead, by the rules that hold there.
    pub(crate) fn operator_in(&self, place: &ClientPlace, settings: &Settings, state: &Path) -> Result<Operator> {
        let ClientPlace { directory, roots } = place;
        let guard = self.protection.guard(settings, directory, state)?;
        let asker = Asker::Dialect(self.dialect.name());
        let sandbox = self.protection.sandbox(settings, asker, directory, roots, state, &[])?;
        let there = Self {
            directory: directory.to_owned(),
            guard,
            sandbox,
            session: self.session.clone(),
            protection: self.protection.clone(),
            room: self.room.clone(),
            ..*self
        };
        there.operator(state)
    }

    pub(crate) fn operator(&self, state: &Path) -> Result<Operator> {
        let mut config = EngineConfig::new(state)?;
        config.room = self.room.clone();
        self.retention.apply(&mut config.limits);
        if self.purpose != Purpose::Server {
            config.limits.warm = WarmLimits::none();
        }
        let who = format!("{} {}", self.purpose.verb(), self.dialect.name());
        self.protection.apply(&mut config, PassphraseSource::FromEnvironment, &who, state)?;
        config.environment.careful = self.dialect.is_careful();
        if self.dialect.keeps_unknown_references() {
            config.unknown_references = UnknownReference::Keep;
        }
        config.guard = self.guard.clone();
        config.sandbox.clone_from(&self.sandbox);
        config.login = self.login.then(|| env::ask_login_shell(&LoginConfig::default()));
        config.limits.tasks_per_session = self.max_tasks.or(self.dialect.task_limit());
        let engine = Engine::new(config)?;
        let start = engine.fresh_state(&self.directory, surroundings::environment(), machine::umask());
        let mut operator = Operator::new(engine, self.dialect, start, self.timeout);
        if let Some(mode) = self.compact {
            operator = operator.with_like_lines(mode.into());
        }
        match &self.session {
            Some(name) if self.purpose != Purpose::Judge => Ok(operator.named(name)?),
            _ => Ok(operator),
        }
    }
}
