//! `chiton undo`: what commands did to files is taken back.
//!
//! 1. `naming.rs` finds out which commands are meant.
//! 2. `work.rs` says what undoing them would come to, and does it, the newest first.
//! 3. `show.rs` tells it.

pub(crate) mod naming;
pub(crate) mod show;
pub(crate) mod work;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use chiton_engine::changes::ChangeLog;
use clap::Args;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use serde_json::json;

use crate::messages::{remark, say};
use crate::{person, surroundings};
use naming::Known;
use work::Step;

/// Undo what commands did to the files of their workspace
#[derive(Args)]
#[command(after_help = "\
What a command in a sandbox changes in its workspace is kept for a day, and its reply names the id that undoes it. Files
that others have changed since are left alone and named; so is everything that is not a file of the workspace: databases
of servers, other folders, what went over the network, and what still runs. An undoing has an id of its own, by which it
is undone again.

In a terminal it shows what it would do and asks; elsewhere it does it.

Exit code: 0, or 1 when something was left alone or could not be put back, or nobody agreed; 125 when nothing was tried.

Examples:
  chiton changes                                     what can be undone
  chiton undo shell_1a2b3c4d --dry-run               what that would do
  chiton undo shell_1a2b                             undo it
  chiton undo --last                                 the last command that changed files here
  chiton undo --last 3                               the last three, the newest first
  chiton undo --since shell_1a2b                     everything from that command to now
  chiton undo shell_1a2b..shell_5e6f                 everything from one to the other
  chiton undo undo_9a8b7c6d                          take an undoing back
  chiton undo --state shell_1a2b                     what it changed in its session as well
  chiton undo --force shell_1a2b                     also files that others have changed since")]
pub(crate) struct UndoArguments {
    /// Commands, by their ids or beginnings of them that no other has, or from one to another: ID..ID
    #[arg(value_name = "ID", add = ArgValueCandidates::new(known_ids), required_unless_present_any = ["since", "last"])]
    ids: Vec<String>,
    /// Everything from this command to now, in its workspace
    #[arg(long, value_name = "ID", add = ArgValueCandidates::new(known_ids), conflicts_with_all = ["ids", "last"])]
    since: Option<String>,
    /// The last commands that changed files of the workspace that the current directory is in [default: 1]
    #[arg(long, value_name = "COUNT", num_args = 0..=1, default_missing_value = "1", conflicts_with = "ids",
          value_parser = clap::value_parser!(u32).range(1..))]
    last: Option<u32>,
    /// Also put back what others have changed since
    #[arg(long)]
    force: bool,
    /// Also take back what the command changed in its session, where that has a name: directory, variables, functions
    #[arg(long)]
    state: bool,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Stop in the middle, as if it had been killed
    #[arg(long, hide = true, value_name = "STEPS")]
    stop_after: Option<usize>,
}

pub(crate) fn undo(arguments: &UndoArguments, state: &Path) -> Result<ExitCode> {
    if !arguments.dry_run {
        person::required("undoes what commands did")?;
    }
    let known = Known::new(state);
    let logs = wanted(arguments, &known)?;
    let mut steps = work::plan(&known, logs, arguments.force)?;
    if !arguments.dry_run && !agrees(arguments, &known, &steps)? {
        remark("nothing was undone");
        return Ok(ExitCode::FAILURE);
    }
    if !arguments.dry_run {
        work::carry_out(&known, &mut steps, arguments.force, arguments.stop_after)?;
        if arguments.state {
            work::take_back_state(&known.logs, &mut steps, state);
        }
    }
    tell(arguments, &known, &steps);
    Ok(if steps.iter().all(Step::is_whole) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn wanted(arguments: &UndoArguments, known: &Known) -> Result<Vec<ChangeLog>> {
    match (&arguments.since, arguments.last) {
        (Some(word), _) => known.since(word),
        (None, Some(count)) => known.last(usize::try_from(count).unwrap_or(usize::MAX)),
        (None, None) => {
            let logs = known.all(&arguments.ids)?;
            ensure!(!logs.is_empty(), "no command is named; `chiton changes` lists what can be undone");
            Ok(logs)
        }
    }
}

fn agrees(arguments: &UndoArguments, known: &Known, steps: &[Step]) -> Result<bool> {
    if arguments.yes || arguments.json || !person::can_be_asked() {
        return Ok(true);
    }
    show::plan(&known.logs, steps);
    say!("{}", show::NOT_COVERED);
    Ok(person::agrees(if steps.len() == 1 { "Undo this?" } else { "Undo all of these?" })?)
}

fn tell(arguments: &UndoArguments, known: &Known, steps: &[Step]) {
    if arguments.json {
        let undone: Vec<_> = steps.iter().map(Step::as_json).collect();
        let whole = steps.iter().all(Step::is_whole);
        say!("{}", json!({"dry_run": arguments.dry_run, "whole": whole, "undone": undone}));
    } else if arguments.dry_run {
        show::plan(&known.logs, steps);
        remark(&format!("nothing was changed; {}", show::NOT_COVERED));
    } else {
        show::done(steps, &known.tasks);
        remark(show::NOT_COVERED);
    }
}

/// What can be undone, for the completion of the command line.
pub(crate) fn known_ids() -> Vec<CompletionCandidate> {
    let Ok(state) = surroundings::state_directory() else { return Vec::new() };
    let logs = Known::new(&state).logs.all().into_iter().filter(|log| log.undone.is_none());
    logs.map(|log| CompletionCandidate::new(log.id).help(log.command.map(Into::into))).collect()
}
