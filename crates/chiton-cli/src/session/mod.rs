//! `chiton session`: sessions as values, and moments of the work to go back to.

mod checkpoints;
pub(crate) mod values;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use chiton_engine::checkpoints::Checkpoints;
use chiton_engine::limits::Limits;
use chiton_operator::NamedSessions;
use clap::{Args, Subcommand};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};

use crate::settings::Settings;
use crate::{person, surroundings};
use checkpoints::{BackArguments, CheckpointArguments};

/// Look at sessions, step back, branch off, carry away; remember a moment and go back to it
#[derive(Args)]
#[command(after_help = "\
A session is what `chiton run --session NAME` and agents go on with: a directory, variables, functions, aliases, options. Each
command that changes it is a step. `undo` steps back and leaves files alone; `chiton undo ID --state` takes back both.

  chiton session list                                 which there are
  chiton session show api                             what it is, and what each command changed
  chiton session diff api                             what the last step changed; two names: what differs
  chiton session undo api                             step back; --redo forward again
  chiton session fork api api-2                       go on from here twice
  chiton session export api > api.json                carry it away; `import` takes it in
  chiton session move api --on build                  have it go on on another machine; --on local brings it back
  source <(chiton session export api --bash)          go on by hand in your own shell

A checkpoint is a moment. Going back to it undoes, the newest first, what commands in a sandbox have changed since in the
files of this workspace, and makes the session what it was then. That can be undone itself, and files that others have
changed since are left alone, as with `chiton undo`. Checkpoints last as long as what can be undone: a day, unless
[retention] undo_age says otherwise. Where the workspace is a subvolume of btrfs, there is a snapshot of it as well: --whole
puts back everything from it, whoever has changed it.

  chiton session checkpoint start --session api       this moment, with the state of a session
  chiton session back start --dry-run                 what going back would do")]
pub(crate) struct SessionVerbArguments {
    #[command(subcommand)]
    verb: SessionVerb,
}

#[derive(Subcommand)]
enum SessionVerb {
    /// List the sessions
    #[command(visible_alias = "ls")]
    List {
        /// One JSON object for each, one a line
        #[arg(long)]
        json: bool,
    },
    /// Show what a session is, and what each of its commands changed
    Show {
        /// Which one
        #[arg(add = ArgValueCandidates::new(known_sessions))]
        name: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show what a step changed, or what differs between two sessions
    Diff {
        /// Which one
        #[arg(add = ArgValueCandidates::new(known_sessions))]
        name: String,
        /// What is different in this one
        #[arg(add = ArgValueCandidates::new(known_sessions), conflicts_with = "step")]
        other: Option<String>,
        /// This step, by its number in `show` [default: the last one]
        #[arg(long, value_name = "NUMBER")]
        step: Option<u64>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Step back: take back what the last commands changed in a session, without their files
    Undo {
        /// Which one
        #[arg(add = ArgValueCandidates::new(known_sessions))]
        name: String,
        /// How many steps
        #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
        steps: u64,
        /// Forward instead: do again what was taken back last
        #[arg(long)]
        redo: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Begin a session that starts as another one is now
    Fork {
        /// From which one
        #[arg(add = ArgValueCandidates::new(known_sessions))]
        name: String,
        /// What it is to be called
        new: String,
    },
    /// Write a session to standard output: for `import`, or as a script for bash
    Export {
        /// Which one
        #[arg(add = ArgValueCandidates::new(known_sessions))]
        name: String,
        /// As a script to be sourced
        #[arg(long)]
        bash: bool,
        /// For another machine: without what belongs to this one, which is listed under `left_behind`
        #[arg(long, conflicts_with = "bash")]
        to_move: bool,
    },
    /// Take in a session that `export` has written
    Import {
        /// The file, or - for standard input
        file: PathBuf,
        /// What it is to be called [default: as it was]
        name: Option<String>,
        /// It comes from another machine, by `export --to-move`: it starts in its directory as far as that is here
        #[arg(long)]
        moved: bool,
        /// Print one JSON object
        #[arg(long, requires = "moved")]
        json: bool,
    },
    /// Have a session go on on another machine, or here again: its state goes over, less what belongs to a machine
    Move {
        /// Which one
        #[arg(add = ArgValueCandidates::new(known_sessions))]
        name: String,
        /// Where it is to live: a target, as for `chiton run --on`; local brings it back
        #[arg(long, value_name = "TARGET")]
        on: String,
    },
    /// Forget sessions
    Rm {
        /// Which ones
        #[arg(required = true, add = ArgValueCandidates::new(known_sessions))]
        names: Vec<String>,
    },
    /// Remember this moment
    Checkpoint(CheckpointArguments),
    /// Go back to a moment: what commands have changed since is undone
    Back(BackArguments),
    /// List the moments that can be gone back to
    Checkpoints {
        /// One JSON object for each, one a line
        #[arg(long)]
        json: bool,
    },
    /// No longer keep a checkpoint
    Forget {
        /// Which one
        #[arg(add = ArgValueCandidates::new(checkpoints::known_names))]
        name: String,
    },
}

impl SessionVerbArguments {
    /// The session that is to live elsewhere, and where.
    pub(crate) fn moving(&self) -> Option<(&str, &str)> {
        if let SessionVerb::Move { name, on } = &self.verb { Some((name, on)) } else { None }
    }
}

pub(crate) fn session(arguments: &SessionVerbArguments, settings: &Settings, state: &Path) -> Result<ExitCode> {
    let all = Checkpoints::new(state);
    let mut limits = Limits::default();
    settings.retention.apply(&mut limits);
    all.sweep(limits.undo.age);
    let named = NamedSessions::new(state);
    let store = named.store();
    match &arguments.verb {
        SessionVerb::List { json } => values::list(store, *json)?,
        SessionVerb::Show { name, json } => values::show(store, name, *json)?,
        SessionVerb::Diff { name, other, step, json } => {
            values::diff(store, name, other.as_deref(), *step, *json)?;
        }
        SessionVerb::Undo { name, steps, redo, json } => {
            person::required("steps back in a session")?;
            return values::undo(store, name, *steps, *redo, *json);
        }
        SessionVerb::Fork { name, new } => values::fork(store, name, new)?,
        SessionVerb::Export { name, to_move: true, .. } => values::export_to_move(store, name)?,
        SessionVerb::Export { name, bash, .. } => values::export(store, name, *bash)?,
        SessionVerb::Import { file, name, moved, json } => {
            person::required("takes in a session")?;
            let name = name.as_deref();
            if *moved { values::import_moved(store, file, name, *json)? } else { values::import(store, file, name)? }
        }
        // It needs a way to other machines; see `moving`.
        SessionVerb::Move { .. } => {}
        SessionVerb::Rm { names } => {
            person::required("forgets a session")?;
            return values::remove(store, names);
        }
        SessionVerb::Checkpoint(wanted) => checkpoints::checkpoint(wanted, &all, state)?,
        SessionVerb::Back(wanted) => return checkpoints::back(wanted, &all, state),
        SessionVerb::Checkpoints { json } => checkpoints::list(*json, &all)?,
        SessionVerb::Forget { name } => {
            person::required("forgets a checkpoint")?;
            all.remove(name)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Sessions, for the completion of the command line.
pub(crate) fn known_sessions() -> Vec<CompletionCandidate> {
    let Ok(state) = surroundings::state_directory() else { return Vec::new() };
    NamedSessions::new(&state).store().names().into_iter().map(CompletionCandidate::new).collect()
}
