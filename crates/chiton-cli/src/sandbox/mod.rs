//! The policy side of the sandbox: from the settings of a person to what the engine is to hold.
//!
//! 1. `sandbox_settings.rs` is what a person writes, `profiles.rs` what is built in; together they make a profile.
//! 2. `workspace.rs` finds out where the work is, `groups.rs` says what `@caches` and its like stand for.
//! 3. `settle.rs` makes a policy of both, in which nothing is left to look up.
//!
//! `arguments.rs` does this for `run`, `call` and `mcp`. The verb `chiton sandbox` shows it and changes the settings.

mod arguments;
mod change;
mod defaults;
mod disk;
mod entry;
mod git;
mod groups;
mod hosts;
mod limits;
mod paths;
mod profiles;
mod settle;
mod show;
mod undo;
mod upstream;
mod workspace;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::settings::Settings;

pub(crate) use arguments::SandboxArguments;
pub(crate) use defaults::Asker;
pub(crate) use limits::{Amount, LimitName, argument as limit_argument};
pub(crate) use profiles::check;
pub(crate) use upstream::upstream;

/// The folders of the workspace that commands here would have.
pub(crate) fn workspace_here() -> Result<Vec<PathBuf>> {
    let home = crate::surroundings::home();
    let found = workspace::Workspace::find(&crate::surroundings::working_directory()?, &[], &[], home.as_deref())?;
    anyhow::ensure!(!found.roots.is_empty(), "{}", found.notes.join("; "));
    Ok(found.roots)
}

/// Show what commands may touch, and allow more or less
#[derive(Args)]
#[command(after_help = "\
A profile says what commands may do, whatever their text says: which files they change, which look empty to them,
which hosts they reach, how much they use. `--sandbox PROFILE` of `chiton run`, `call` and `mcp` names one, and
`profile = \"work\"` in [sandbox] of the settings does so for all of them.

Examples:
  chiton sandbox list                                     the profiles
  chiton sandbox show work                                what one allows here, and where each entry comes from
  chiton sandbox allow write ~/data                       let commands change a folder outside of the workspace
  chiton sandbox allow network db.example.org:5432        let them reach a host, where the network is by name
  chiton sandbox allow read ~/.aws                        no longer hide something
  chiton sandbox allow socket /run/docker.sock            let them connect to a socket
  chiton sandbox deny write ~/data                        take it back
  chiton run --sandbox read-only --limit memory=2G 'make check'

In the settings:
  [sandbox]
  profile = \"ci\"
  [sandbox.profiles.ci]
  extends = \"offline\"             # without it: work
  write = [\"~/data\", \"!@caches\"]  # adds to what is extended; ! takes away, !* everything; [] means nothing
  limits = { memory = \"8G\", processes = 2000, cpu = \"10m\", file = \"10G\", open_files = 4096, free = \"1G\" }
  missing = \"refuse\"              # where the kernel lacks something; or say
  undo = \"ask\"                    # what commands destroy in the workspace: keep it (keep), keep it and let the guard
                                  # ask all the same (ask), or off; without it: keep")]
pub(crate) struct SandboxVerbArguments {
    #[command(subcommand)]
    verb: SandboxVerb,
}

#[derive(Subcommand)]
enum SandboxVerb {
    /// List the profiles, and the groups that can stand in them
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a profile allows in this directory, and where each entry comes from
    Show {
        /// The profile [default: the one that the settings name, or work]
        profile: Option<String>,
        /// Count this directory to the workspace
        #[arg(long, value_name = "DIR")]
        add_dir: Vec<PathBuf>,
        /// Also show what is not there yet
        #[arg(long)]
        all: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        /// Print the policy itself, for a program that holds commands to it with the library
        #[arg(long, hide = true, conflicts_with_all = ["json", "all"])]
        policy: bool,
    },
    /// Allow more: adds a line to the settings
    Allow(change::ChangeArguments),
    /// Take back what `allow` gave
    Deny(change::ChangeArguments),
}

pub(crate) fn sandbox(arguments: &SandboxVerbArguments, settings: &Settings, state: &Path) -> Result<ExitCode> {
    match &arguments.verb {
        SandboxVerb::List { json } => show::list(&settings.sandbox, *json),
        SandboxVerb::Show { profile, add_dir, all, json, policy } => {
            let form = match (policy, json) {
                (true, _) => show::Form::Policy,
                (false, true) => show::Form::Json,
                (false, false) => show::Form::Text { all: *all },
            };
            show::show(profile.as_deref(), add_dir, form, settings, state)?;
        }
        SandboxVerb::Allow(wanted) => change::change(wanted, change::Direction::Allow, settings, state)?,
        SandboxVerb::Deny(wanted) => change::change(wanted, change::Direction::Deny, settings, state)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The name that was probably meant.
fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let nearness = |one: &&str| strsim::jaro_winkler(one, name);
    names.max_by(|one, other| nearness(one).total_cmp(&nearness(other))).filter(|one| nearness(one) > 0.7)
}
