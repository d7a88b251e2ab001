//! `chiton release`: a person hands a call that waits back to whoever made it.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use chiton_engine::Tasks;
use clap::Args;
use clap_complete::engine::ArgValueCandidates;

use crate::audit;
use crate::messages::{complain, say};
use crate::settings::Settings;

/// Let the call that waits for a command return, while the command goes on
#[derive(Args)]
#[command(after_help = "\
An agent that waits for a command can do nothing else. After this its call returns at once with what was printed so far
and the command's id, and says that a person did it. The command goes on as a background command; the time limit of the
call does not hold for it any more. `chiton ps` lists what runs.")]
pub(crate) struct ReleaseArguments {
    /// Ids, or beginnings of them that no other has
    #[arg(required = true, add = ArgValueCandidates::new(crate::running_ids))]
    ids: Vec<String>,
}

pub(crate) async fn release(arguments: ReleaseArguments, settings: &Settings, state: &Path) -> Result<ExitCode> {
    let tasks = Tasks::new(state);
    let mut code = ExitCode::SUCCESS;
    for id in &arguments.ids {
        match tasks.release(id).await {
            Ok(()) => {
                let id = tasks.get(id).map_or_else(|_| id.clone(), |task| task.id);
                audit::note_task(settings, state, "release", "release", &id);
                say!("{id} goes on; the call that waited for it returns");
            }
            Err(error) => {
                complain(&error.to_string());
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}
