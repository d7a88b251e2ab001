//! Undoing several commands: first what it would come to, then, the newest first, one after the other.

use std::path::Path;

use anyhow::Result;
use chiton_engine::changes::{ChangeLog, ChangeLogs, UndoOptions, Undone, Untouched};
use chiton_engine::session::store::SessionChange;
use chiton_operator::NamedSessions;
use serde_json::{Value, json};

use super::naming::Known;

/// One command that is to be undone.
pub(crate) struct Step {
    pub(crate) log: ChangeLog,
    /// What it would come to.
    pub(crate) plan: Undone,
    /// What was done, once it was.
    pub(crate) done: Option<Undone>,
    /// What became of its session.
    pub(crate) state: StateOutcome,
}

/// What became of the session of a command that was undone.
pub(crate) enum StateOutcome {
    /// Nobody asked for that.
    NotAsked,
    /// Nothing of it was written down.
    Unknown,
    /// It is what it was.
    TakenBack(String),
    /// It could not be.
    Failed(String),
}

impl StateOutcome {
    fn as_json(&self) -> Value {
        match self {
            Self::NotAsked => Value::Null,
            Self::Unknown => json!({"session": null, "taken_back": false}),
            Self::TakenBack(session) => json!({"session": session, "taken_back": true}),
            Self::Failed(why) => json!({"session": null, "taken_back": false, "why": why}),
        }
    }
}

impl Step {
    /// What was done, or would be.
    pub(crate) fn result(&self) -> &Undone {
        self.done.as_ref().unwrap_or(&self.plan)
    }

    /// Whether nothing was left alone or failed.
    pub(crate) fn is_whole(&self) -> bool {
        let result = self.result();
        result.left_alone.is_empty() && result.failed.is_empty() && !matches!(self.state, StateOutcome::Failed(_))
    }

    pub(crate) fn as_json(&self) -> Value {
        let mut facts = json!(self.result());
        facts["command"] = json!(self.log.command);
        facts["began_ms"] = json!(self.log.began_ms);
        facts["continued"] = json!(self.log.undoing);
        facts["state"] = self.state.as_json();
        facts
    }
}

/// Finds out what undoing all of these would come to. Nothing is changed, and one that cannot be undone is an error for all.
pub(crate) fn plan(known: &Known, logs: Vec<ChangeLog>, force: bool) -> Result<Vec<Step>> {
    let all: Vec<(String, Option<String>)> = logs.iter().map(|log| (log.id.clone(), log.undoes.clone())).collect();
    let mut steps = Vec::new();
    for log in logs {
        let options = UndoOptions { dry_run: true, force, ..UndoOptions::default() };
        let mut plan = known.logs.undo(&log.id, options)?;
        // What one of the others has changed since is as it was, once that one is undone. So is all that an undoing of this
        // very command did, of which the engine does not say by whom it was done.
        let is_half_undone = all.iter().any(|(_, undoes)| undoes.as_ref() == Some(&log.id));
        let by_others = |file: &Untouched| all.iter().any(|(id, _)| *id != log.id && file.is_because_of(id));
        let settled = |file: &Untouched| is_half_undone || by_others(file);
        let before = plan.left_alone.len();
        plan.left_alone.retain(|file| !settled(file));
        if plan.left_alone.is_empty() && before > 0 {
            plan = known.logs.undo(&log.id, UndoOptions { force: true, ..options })?;
        }
        steps.push(Step { log, plan, done: None, state: StateOutcome::NotAsked });
    }
    Ok(steps)
}

/// Undoes them. `stop_after` is after how many steps it is interrupted, as if it had been killed.
pub(crate) fn carry_out(known: &Known, steps: &mut [Step], force: bool, stop_after: Option<usize>) -> Result<()> {
    for step in steps {
        let options = UndoOptions { force, stop_after, ..UndoOptions::default() };
        step.done = Some(known.logs.undo(&step.log.id, options)?);
    }
    Ok(())
}

/// Takes back what these commands changed in their sessions, in the same order.
pub(crate) fn take_back_state(logs: &ChangeLogs, steps: &mut [Step], state_directory: &Path) {
    let sessions = NamedSessions::new(state_directory);
    for step in steps.iter_mut().filter(|step| step.done.is_some()) {
        let kept = logs.state(&step.log.id).and_then(|text| serde_json::from_slice::<SessionChange>(&text).ok());
        let Some(change) = kept else {
            step.state = StateOutcome::Unknown;
            continue;
        };
        step.state = match sessions.store().take_back(&change) {
            Ok(Some(done)) => {
                let undo = step.done.as_ref().and_then(|done| done.undo.as_deref());
                if let Some(id) = undo {
                    keep_state(logs, id, &done);
                }
                StateOutcome::TakenBack(change.session)
            }
            Ok(None) => StateOutcome::Failed(format!("there is no session '{}' any more", change.session)),
            Err(error) => StateOutcome::Failed(error.to_string()),
        };
    }
}

/// Keeps what an undoing did to a session, for whoever undoes that.
pub(crate) fn keep_state(logs: &ChangeLogs, id: &str, change: &SessionChange) {
    if let Ok(text) = serde_json::to_vec(change) {
        // Without it the files can still be put back.
        let _ = logs.keep_state(id, &text);
    }
}
