//! Undoing what a command did to files, for a client that a person lets do that.

use std::path::Path;
use std::time::Duration;

use chiton_dialects::Done;
use chiton_dialects::action::{Failure, FailureKind, TaskRef};
use chiton_engine::changes::{ChangeLogs, ChangesError, UndoOptions};

use crate::failure::{not_possible, system};
use crate::tasks::ClientTasks;

/// How long the keeper of a command that has ended may take to let go of it.
const LETTING_GO: Duration = Duration::from_secs(2);
/// How often that is looked at.
const PAUSE: Duration = Duration::from_millis(20);

/// Undoes what a command of this client did.
pub(crate) async fn undo(state_directory: &Path, id: &str, tasks: &ClientTasks) -> Result<Done, Failure> {
    let logs = ChangeLogs::new(state_directory);
    let id = logs.find(id).unwrap_or_else(|| id.to_owned());
    is_own(&logs, &id, tasks)?;

    let mut left = LETTING_GO;
    loop {
        let (logs, id) = (logs.clone(), id.clone());
        let undone =
            tokio::task::spawn_blocking(move || logs.undo(&id, UndoOptions::default())).await.map_err(system)?;
        match undone {
            Ok(undone) => return Ok(Done::Undone(Box::new(undone))),
            Err(ChangesError::Running(id)) if !left.is_zero() && is_answered(&id, tasks) => {
                left = left.saturating_sub(PAUSE);
                tokio::time::sleep(PAUSE).await;
            }
            Err(error @ ChangesError::Unknown(_)) => return Err(Failure::new(FailureKind::NotFound, in_words(&error))),
            Err(error) => return Err(not_possible(in_words(&error))),
        }
    }
}

/// Whether a call waited for it: then its answer may have come before its records.
fn is_answered(id: &str, tasks: &ClientTasks) -> bool {
    tasks.all().get(id).map_or(true, |task| !task.background)
}

/// What others have started, they undo.
fn is_own(logs: &ChangeLogs, id: &str, tasks: &ClientTasks) -> Result<(), Failure> {
    let mut id = id.to_owned();
    while let Some(undoes) = logs.one(&id).ok().and_then(|log| log.undoes) {
        id = undoes;
    }
    match tasks.known(&TaskRef::Id(id)) {
        Err(failure) if failure.kind == FailureKind::OfAnother => Err(failure),
        // Its run may be gone while its changes can still be undone.
        _ => Ok(()),
    }
}

/// The error as a model can use it: it has no command line of ours.
fn in_words(error: &ChangesError) -> String {
    match error {
        ChangesError::Unknown(id) => format!(
            "nothing is known of changes by '{id}': it changed no file of the workspace, or was too long ago; the reply of a \
             command that can be undone has its id"
        ),
        ChangesError::Undone { id, by } => format!("{id} was undone already, by {by}; undo: {by} takes that back"),
        ChangesError::TakenBack { id, by } => {
            format!("the undoing of {id} was taken back by {by}; undo: {by} undoes it once more")
        }
        ChangesError::Running(id) => format!("{id} still runs, and may change more; KillShell ends it"),
        ChangesError::Busy(_) | ChangesError::Failed { .. } => error.to_string(),
    }
}
