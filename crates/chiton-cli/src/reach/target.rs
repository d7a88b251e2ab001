//! `chiton target`: the other machines that the settings name, and what is left on them.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use chiton_reach::Target;
use chiton_reach::near::clean;
use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCandidates;
use serde_json::json;

use crate::messages::{complain, remark, say};
use crate::settings::Settings;
use crate::table::lay_out;

/// Other machines, for --on
#[derive(Args)]
#[command(after_help = "\
A target is a program that gives standard input and output of a shell on another machine. In the settings:
  [target.build]
  connect = [\"ssh\", \"build.example\"]   # or \"ssh:build.example\", \"docker:web\", \"kube:prod/web-0\", \"slurm:17\"
  directory = \"/srv/app\"               # where commands start there
  lease = 600                          # seconds that a command is waited for, when the connection is lost
  on = \"build\" at the top of the file is the default of --on.

Chiton carries itself there, into a cache by the hash of its bytes; nothing has to be installed.

Examples:
  chiton target list                   the targets of the settings
  chiton target clean build            remove chiton's program from build again
  chiton doctor --on build             what works there and what does not")]
pub(crate) struct TargetArguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List the targets of the settings
    List {
        /// One JSON object for each, one a line
        #[arg(long)]
        json: bool,
    },
    /// Remove chiton's program from a target, and end its host; tasks go on, and records stay
    Clean {
        /// The targets
        #[arg(required = true, add = ArgValueCandidates::new(crate::on_arguments::known_targets))]
        targets: Vec<String>,
    },
}

pub(crate) fn target(arguments: &TargetArguments, settings: &Settings) -> Result<ExitCode> {
    match &arguments.what {
        What::List { json } => list(settings, *json),
        What::Clean { targets } => crate::on_runtime(clean_all(targets, settings)),
    }
}

fn list(settings: &Settings, as_json: bool) -> Result<ExitCode> {
    let mut rows = Vec::new();
    for (name, given) in &settings.target {
        let target = Target::named(name, &settings.target)?;
        if as_json {
            let is_default = settings.on.as_ref() == Some(name);
            let (directory, lease) = (&given.directory, target.lease.as_secs());
            say!(
                "{}",
                json!({"name": name, "connect": target.words, "directory": directory, "lease": lease, "default": is_default})
            );
            continue;
        }
        let directory = given.directory.as_ref().map_or_else(|| "-".to_owned(), |path| path.display().to_string());
        rows.push(vec![name.clone(), target.words.join(" "), directory]);
    }
    if as_json {
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        remark(
            "the settings name no target; `chiton target --help` shows how, and --on also takes ssh:HOST, docker:NAME …",
        );
        return Ok(ExitCode::SUCCESS);
    }
    crate::messages::put(format_args!("{}", lay_out(&["NAME", "CONNECT", "DIRECTORY"], &rows)));
    Ok(ExitCode::SUCCESS)
}

async fn clean_all(names: &[String], settings: &Settings) -> Result<ExitCode> {
    let options = super::options(settings, Arc::new(|_| {}))?;
    let mut code = ExitCode::SUCCESS;
    for name in names {
        let target = Target::named(name, &settings.target)?;
        match clean(&target, &options).await {
            Ok(removed) if removed.is_empty() => remark(&format!("nothing of chiton was found on {name}")),
            Ok(removed) => removed.iter().for_each(|path| say!("{path}")),
            Err(error) => {
                complain(&error.to_string());
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}
