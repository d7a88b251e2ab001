//! What `chiton mcp` and `chiton call` share: an operator set up from the command line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use chiton_dialects::Dialect;
use chiton_engine::{Engine, EngineConfig};
use chiton_mcp::operator::Operator;
use clap::Args;

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
}

pub(crate) fn dialect(name: &str) -> Result<&'static dyn Dialect> {
    let names = || chiton_dialects::names().join(", ");
    chiton_dialects::find(name).with_context(|| format!("there is no dialect of this name; there are: {}", names()))
}

impl OperatorArguments {
    pub(crate) fn operator(&self, state: &Path) -> Result<Operator> {
        let mut config = EngineConfig::new(state)?;
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
