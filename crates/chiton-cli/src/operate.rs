//! What `chiton mcp` and `chiton call` share: an operator set up from the command line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use chiton_dialects::Dialect;
use chiton_engine::secrets::forbid_looking_in;
use chiton_engine::session::login::LoginConfig;
use chiton_engine::{Engine, EngineConfig};
use chiton_mcp::operator::Operator;
use clap::Args;

use crate::audit;
use crate::env::{self, EnvironmentArguments};
use crate::secret_sources::{Passphrase, SecretSourceArguments};
use crate::setting;

/// How the shell looks and where it starts.
#[derive(Args)]
pub(crate) struct OperatorArguments {
    /// The tool surface; `chiton dialects` lists them
    #[arg(long, default_value = "native", value_parser = dialect)]
    pub(crate) dialect: &'static dyn Dialect,
    /// Limit for a command that a call gives none, in seconds
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Where commands start [default: the current directory]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// How many background commands may run at once
    #[arg(long, value_name = "COUNT")]
    max_tasks: Option<usize>,
    #[command(flatten)]
    secrets: SecretSourceArguments,
    #[command(flatten)]
    environment: EnvironmentArguments,
    /// Ask the login shell for its environment, in the background, and add what is missing
    #[arg(long)]
    login_env: bool,
    /// Write no audit journal
    #[arg(long)]
    no_audit: bool,
}

pub(crate) fn dialect(name: &str) -> Result<&'static dyn Dialect> {
    let names = || chiton_dialects::names().join(", ");
    chiton_dialects::find(name).with_context(|| format!("there is no dialect of this name; there are: {}", names()))
}

impl OperatorArguments {
    /// `verb` is what the journal says of who asked.
    pub(crate) fn operator(&self, state: &Path, verb: &str) -> Result<Operator> {
        let mut config = EngineConfig::new(state)?;
        self.environment.apply(&mut config.environment);
        config.secrets = self.secrets.store(Passphrase::FromEnvironment)?;
        self.secrets.keep_back(&mut config.environment)?;
        config.login = self.login_env.then(|| env::ask_login_shell(&LoginConfig::default()));
        config.audit = (!self.no_audit).then(|| audit::journal(state, &format!("{verb} {}", self.dialect.name())));
        forbid_looking_in().context("this process could not be closed to others")?;
        config.limits.tasks_per_session = self.max_tasks.or(self.dialect.task_limit());
        let engine = Engine::new(config)?;
        let directory = match &self.dir {
            Some(path) => {
                let path = std::path::absolute(path)?;
                anyhow::ensure!(path.is_dir(), "--dir {}: not a directory", path.display());
                path
            }
            None => setting::working_directory()?,
        };
        let start = engine.fresh_state(directory, setting::environment(), setting::umask());
        Ok(Operator::new(engine, self.dialect, start, self.timeout.map(Duration::from_secs)))
    }
}
