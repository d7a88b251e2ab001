//! `chiton kill`: ends commands, and comes back when nothing of them is left.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use chiton_engine::tasks::link::Killed;
use chiton_engine::{TaskStatus, Tasks};
use clap::Args;
use clap_complete::engine::ArgValueCandidates;

use crate::audit;
use crate::duration::duration;
use crate::messages::{complain, say};
use crate::on_arguments::OnArguments;
use crate::settings::Settings;

/// End commands with everything they started
#[derive(Args)]
#[command(after_help = "\
SIGTERM first, SIGKILL after the grace; `chiton kill` returns when no process of the command is left, wherever it went.")]
pub(crate) struct KillArguments {
    /// Ids, or beginnings of them that no other has
    #[arg(required_unless_present = "all", add = ArgValueCandidates::new(crate::running_ids))]
    ids: Vec<String>,
    /// Every command that runs
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// How long a command may clean up before it is killed [default: the one it was started with]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    grace: Option<Duration>,
    #[command(flatten)]
    pub(crate) on: OnArguments,
}

pub(crate) async fn kill(arguments: KillArguments, settings: &Settings, state: &Path) -> Result<ExitCode> {
    let tasks = Tasks::new(state);
    let note = |id: &str| audit::note_task(settings, state, "kill", "kill", id);
    if arguments.all {
        let running = tasks.running()?;
        for task in &running {
            note(&task.id);
            say!("{} {}", task.id, task.command.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        say!("{} terminated", tasks.kill_all(arguments.grace).await?);
        return Ok(ExitCode::SUCCESS);
    }
    let mut code = ExitCode::SUCCESS;
    for id in &arguments.ids {
        // Before it is killed: its end follows in the journal.
        if let Some(task) = tasks.get(id).ok().filter(|task| task.status.is_running()) {
            note(&task.id);
        }
        match tasks.kill(id, arguments.grace).await {
            Ok(Killed::Stopped(task)) => say!("{} terminated", task.id),
            Ok(Killed::AlreadyStopped(task)) if task.status == TaskStatus::Lost => {
                let pid = task.pid.map(|pid| format!(" (its shell was process {pid})")).unwrap_or_default();
                complain(&format!(
                    "{} was lost with its keeper; what is left of it has to be ended by hand{pid}",
                    task.id
                ));
                code = ExitCode::FAILURE;
            }
            Ok(Killed::AlreadyStopped(task)) => say!("{} already stopped ({})", task.id, task.status),
            Ok(Killed::Survived(task)) => {
                complain(&format!("{} was asked to end and is still there", task.id));
                code = ExitCode::FAILURE;
            }
            Err(error) => {
                complain(&error.to_string());
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}
