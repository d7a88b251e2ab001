//! `chiton clean`: removes what finished commands left on disk.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use chiton_engine::limits::RetentionLimits;
use chiton_engine::{Engine, EngineConfig};
use clap::Args;

use crate::audit::{self, JournalNeed};
use crate::duration::duration;
use crate::messages::say;
use crate::settings::Settings;

/// Remove the output and records of commands that have ended
#[derive(Args)]
#[command(after_help = "Commands that run are never removed.")]
pub(crate) struct CleanArguments {
    /// Only those that ended longer ago than this
    #[arg(long, value_name = "TIME", value_parser = duration)]
    older_than: Option<Duration>,
    /// Only as many as it takes until no more than this many are left
    #[arg(long, value_name = "COUNT")]
    keep: Option<usize>,
}

pub(crate) fn clean(arguments: &CleanArguments, settings: &Settings, state: &Path) -> Result<ExitCode> {
    let mut config = EngineConfig::new(state)?;
    config.audit = (!settings.audit.off).then(|| audit::journal(state, "clean", JournalNeed::Wanted));
    let engine = Engine::new(config)?;
    let limits = RetentionLimits {
        age: arguments.older_than.unwrap_or(if arguments.keep.is_some() { Duration::MAX } else { Duration::ZERO }),
        finished: arguments.keep.unwrap_or(usize::MAX),
    };
    let swept = engine.clean(limits, u64::MAX);
    say!("{} removed, {} bytes left", swept.removed, swept.used);
    Ok(ExitCode::SUCCESS)
}
