//! Moments to go back to, with files and state.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use chiton_engine::changes::{ChangeLog, Undone};
use chiton_engine::checkpoints::{Checkpoint, Checkpoints, SameName};
use chiton_operator::NamedSessions;
use clap::Args;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use serde_json::{Value, json};

use crate::messages::{complain, remark, say};
use crate::sandbox::workspace_here;
use crate::table::lay_out;
use crate::undo::naming::{Known, overlap};
use crate::undo::show::{self, Told, age};
use crate::undo::work::{self, Step, keep_state};
use crate::{person, shown, surroundings};

#[derive(Args)]
pub(super) struct CheckpointArguments {
    /// What it is to be called
    name: String,
    /// Also remember the state of the session of this name
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(super::known_sessions))]
    session: Option<String>,
    /// Take the place of one of the same name
    #[arg(long)]
    replace: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(super) struct BackArguments {
    /// Which one
    #[arg(add = ArgValueCandidates::new(known_names))]
    name: String,
    /// Also put back files that others than the commands have changed since
    #[arg(long)]
    force: bool,
    /// Put back everything from the snapshot of btrfs, whoever has changed it
    #[arg(long)]
    whole: bool,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn checkpoint(wanted: &CheckpointArguments, all: &Checkpoints, state: &Path) -> Result<()> {
    person::required("says what can be gone back to")?;
    let roots = workspace_here()?;
    let session = wanted.session.as_ref().map(|name| {
        let value = NamedSessions::new(state).store().value(name)?;
        let value =
            value.with_context(|| format!("there is no session '{name}'; `chiton run --session {name}` begins it"))?;
        anyhow::Ok((name.clone(), value))
    });
    let same = if wanted.replace { SameName::Replaced } else { SameName::Refused };
    let made = all.make(&wanted.name, &roots, session.transpose()?, same)?;

    for (root, error) in &made.without_snapshot {
        remark(&format!("{} is a subvolume of btrfs, of which no snapshot can be made: {error}", root.display()));
    }
    if wanted.json {
        say!("{}", as_json(all, &made.checkpoint));
    } else {
        let with =
            made.checkpoint.session.as_ref().map(|(name, _)| format!(" with session {name}")).unwrap_or_default();
        let snapshot = if made.checkpoint.snapshots().is_empty() { "" } else { ", and a snapshot" };
        let name = &wanted.name;
        say!("checkpoint {name} of {}{with}{snapshot}; `chiton session back {name}` goes back", folders(&roots));
    }
    Ok(())
}

fn folders(roots: &[PathBuf]) -> String {
    roots.iter().map(|root| shown::path(&[], root, false)).collect::<Vec<_>>().join(", ")
}

pub(super) fn list(json: bool, all: &Checkpoints) -> Result<()> {
    let found = all.all();
    if json {
        for checkpoint in &found {
            say!("{}", as_json(all, checkpoint));
        }
        return Ok(());
    }
    if found.is_empty() {
        remark("there are no checkpoints; `chiton session checkpoint NAME` makes one");
        return Ok(());
    }
    let row = |checkpoint: &Checkpoint| {
        let session = checkpoint.session.as_ref().map_or("-", |(name, _)| name).to_owned();
        let also = match (all.is_past(checkpoint), checkpoint.snapshots().is_empty()) {
            (true, _) => "incomplete",
            (false, false) => "snapshot",
            (false, true) => "-",
        };
        vec![checkpoint.name.clone(), age(checkpoint.made_ms), session, also.to_owned(), folders(&checkpoint.roots())]
    };
    let rows: Vec<Vec<String>> = found.iter().map(row).collect();
    write!(std::io::stdout().lock(), "{}", lay_out(&["NAME", "MADE", "SESSION", "ALSO", "WORKSPACE"], &rows))?;
    Ok(())
}

fn as_json(all: &Checkpoints, checkpoint: &Checkpoint) -> Value {
    json!({
        "name": checkpoint.name,
        "made_ms": checkpoint.made_ms,
        "workspace": checkpoint.roots().iter().map(|root| root.to_string_lossy()).collect::<Vec<_>>(),
        "session": checkpoint.session.as_ref().map(|(name, _)| name),
        "snapshots": checkpoint.snapshots().len(),
        "is_incomplete": all.is_past(checkpoint),
    })
}

/// What going back comes to.
struct Way<'a> {
    checkpoint: &'a Checkpoint,
    steps: Vec<Step>,
    /// Folders that are put back from their snapshots.
    whole: Vec<Undone>,
    /// What no undoing can reach, in words.
    gaps: Vec<String>,
}

pub(super) fn back(wanted: &BackArguments, all: &Checkpoints, state: &Path) -> Result<ExitCode> {
    if !wanted.dry_run {
        person::required("goes back to a checkpoint")?;
    }
    let checkpoint = all.get(&wanted.name)?;
    ensure!(
        !wanted.whole || !checkpoint.snapshots().is_empty(),
        "the checkpoint {} has no snapshot: its workspace was not a subvolume of btrfs. Without --whole, what commands have \
         changed since is undone",
        wanted.name
    );
    let known = Known::new(state);
    let roots = checkpoint.roots();
    let logs = known.since_ms(checkpoint.made_ms, &roots);
    let gaps = gaps(&known, &checkpoint, all, &roots);
    let steps = work::plan(&known, logs, wanted.force)?;
    let mut way = Way { checkpoint: &checkpoint, steps, whole: Vec::new(), gaps };
    if wanted.dry_run || !wanted.yes && !wanted.json && person::can_be_asked() {
        if wanted.whole {
            way.put_back_whole(&known, Told::Before)?;
        }
        if !wanted.json {
            way.announce(&known);
        }
        if !wanted.dry_run && !person::agrees("Go back?")? {
            remark("nothing was changed");
            return Ok(ExitCode::FAILURE);
        }
    }
    if !wanted.dry_run {
        work::carry_out(&known, &mut way.steps, wanted.force, None)?;
        if wanted.whole {
            way.put_back_whole(&known, Told::After)?;
        }
        way.put_back_session(&known, state)?;
    }
    way.tell(wanted, &known);
    Ok(if way.is_whole() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What commands did since then that cannot be undone, or not by itself.
fn gaps(known: &Known, checkpoint: &Checkpoint, all: &Checkpoints, roots: &[PathBuf]) -> Vec<String> {
    let made = checkpoint.made_ms;
    let spans = |log: &ChangeLog| log.began_ms < made && log.last_ms >= made && log.undone.is_none();
    let spanning = known.logs.all().into_iter().filter(|log| spans(log) && overlap(&log.roots, roots));
    let mut gaps: Vec<String> = spanning
        .map(|log| format!("{} began before the checkpoint and changed files after it; it is not undone", log.id))
        .collect();
    if all.is_past(checkpoint) {
        gaps.push("some of what commands have changed since the checkpoint is not kept any more".to_owned());
    }
    gaps
}

impl Way<'_> {
    fn is_whole(&self) -> bool {
        let is_whole = |undone: &Undone| undone.failed.is_empty();
        self.gaps.is_empty() && self.steps.iter().all(Step::is_whole) && self.whole.iter().all(is_whole)
    }

    fn announce(&self, known: &Known) {
        show::plan(&known.logs, &self.steps);
        for undone in &self.whole {
            say!("from the snapshot: {}", shown::line(&undone.in_words()));
        }
        if let Some((name, _)) = &self.checkpoint.session {
            say!("session {name} becomes what it was");
        }
        if self.steps.is_empty() && self.whole.is_empty() {
            say!("no command has changed files since");
        }
        self.gaps.iter().for_each(|gap| say!("  {gap}"));
        say!("{}", show::NOT_COVERED);
    }

    fn put_back_whole(&mut self, known: &Known, when: Told) -> Result<()> {
        self.whole.clear();
        let command = format!("chiton session back {} --whole", self.checkpoint.name);
        for (root, snapshot) in self.checkpoint.snapshots() {
            self.whole.push(known.logs.put_back_whole(&root, &snapshot, &command, when == Told::Before)?);
        }
        Ok(())
    }

    fn put_back_session(&self, known: &Known, state: &Path) -> Result<()> {
        let Some((name, value)) = &self.checkpoint.session else { return Ok(()) };
        let change = NamedSessions::new(state).store().put_back(name, value)?;
        // With the first that is taken back by whoever undoes this.
        let first = self.steps.iter().find_map(|step| step.done.as_ref()?.undo.as_deref());
        if let Some(id) = first.or_else(|| self.whole.iter().find_map(|undone| undone.undo.as_deref())) {
            keep_state(&known.logs, id, &change);
        }
        Ok(())
    }

    fn tell(&self, wanted: &BackArguments, known: &Known) {
        if wanted.json {
            let undone: Vec<Value> = self.steps.iter().map(Step::as_json).collect();
            say!(
                "{}",
                json!({
                    "checkpoint": self.checkpoint.name,
                    "dry_run": wanted.dry_run,
                    "whole": self.is_whole(),
                    "undone": undone,
                    "from_snapshot": self.whole,
                    "session": self.checkpoint.session.as_ref().map(|(name, _)| name),
                    "gaps": self.gaps,
                })
            );
            return;
        }
        if wanted.dry_run {
            return remark("nothing was changed");
        }
        show::done(&self.steps, &known.tasks);
        for undone in &self.whole {
            let undo =
                undone.undo.as_deref().map(|id| format!("; `chiton undo {id}` takes that back")).unwrap_or_default();
            say!("from the snapshot: {}{undo}", shown::line(&undone.in_words()));
            show::untouched(undone, Told::After);
        }
        if let Some((name, value)) = &self.checkpoint.session {
            say!("session {name} is what it was, in {}", shown::path(&[], value.directory(), false));
        }
        if self.steps.is_empty() && self.whole.is_empty() {
            say!("no command has changed files since {}", self.checkpoint.name);
        }
        self.gaps.iter().for_each(|gap| complain(gap));
        remark(show::NOT_COVERED);
    }
}

/// Checkpoints, for the completion of the command line.
pub(super) fn known_names() -> Vec<CompletionCandidate> {
    let Ok(state) = surroundings::state_directory() else { return Vec::new() };
    Checkpoints::new(&state).all().into_iter().map(|checkpoint| CompletionCandidate::new(checkpoint.name)).collect()
}
