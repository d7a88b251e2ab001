//! The end of a command that was only tried: what it would have changed is told, and nothing else happens.

use std::path::PathBuf;
use std::sync::Arc;

use super::Engine;
use crate::preview::{OpenPreview, PreviewedState, Previews};
use crate::process::ShellKind;
use crate::protocol::HandedBack;
use crate::response::{Commit, StateReport};
use crate::run::{Ending, Outcome};
use crate::session::{IsCommitted, PendingState, Session, StartingPoint};
use crate::state::bash::dump::FirstWords;
use crate::state::change::Change;

/// What there is at the end of a command besides its preview.
pub(super) struct PreviewEnd<'a> {
    pub(super) session: &'a Session,
    pub(super) start: &'a StartingPoint,
    pub(super) shell: ShellKind,
    /// The id of the run.
    pub(super) run: &'a str,
}

impl Engine {
    /// Stops what the command has left running, finds out what it would change, and puts that into its ending.
    pub(super) async fn end_preview(
        &self,
        preview: OpenPreview,
        ended: PreviewEnd<'_>,
        ending: &mut Ending,
        state: HandedBack,
    ) -> Commit {
        let id = preview.id().to_owned();
        let session = ended.session;
        if ending.outcome == Outcome::Running {
            let notice = format!("what it changes is held back in {id}, which can be committed once it has ended");
            let why = "it goes on as a preview".to_owned();
            return Commit { notice: Some(notice), ..Commit::new(StateReport::Discarded(why), session) };
        }
        let stopped = self.stop_leftovers(&ended, ending).await;
        let before = session.state();
        let (change, mut commit) = self.previewed_state(&ended, ending, state);
        let written = change.as_ref().and_then(|change| {
            let (from, to) = change.without_former_values();
            Some(PreviewedState { session: session.name()?.to_owned(), mark: session.stored_mark(), from, to })
        });
        let mut notices: Vec<String> = commit.notice.take().into_iter().chain(stopped).collect();
        match preview.finish(written.as_ref(), change.is_some()) {
            Ok(Some(changed)) => {
                if let Some(change) = change {
                    let why = format!("this was a preview; it is committed with {id}");
                    commit.report = StateReport::Discarded(why);
                    session.await_commit(self.pending(&id, before, change));
                }
                if changed.is_empty() {
                    notices.push(format!(
                        "no file would be made, changed or removed; `chiton preview commit {id}` keeps what it set"
                    ));
                }
                ending.changed = Some(changed);
            }
            Ok(None) => notices.push("this was a preview: nothing would be changed".to_owned()),
            Err(error) => {
                notices.push(format!("what it would change is held back in {id}, and cannot be told: {error}"));
            }
        }
        commit.notice = (!notices.is_empty()).then(|| notices.join("; "));
        commit
    }

    /// A preview is what there is at the end, so everything has to end.
    async fn stop_leftovers(&self, ended: &PreviewEnd<'_>, ending: &mut Ending) -> Option<String> {
        if ending.leftovers.is_empty() {
            return None;
        }
        let task = ending.leftover_task.take().unwrap_or_else(|| ended.run.to_owned());
        let killed = self.inner.tasks.kill(&task, None).await;
        let names: Vec<String> = ending.leftovers.iter().map(|it| format!("{} {}", it.pid, it.command)).collect();
        match killed {
            Ok(_) => {
                ending.leftovers.clear();
                Some(format!(
                    "it left running, which was stopped, since a preview ends with its command: {}",
                    names.join(", ")
                ))
            }
            Err(error) => Some(format!("what it left running could not be stopped: {error}")),
        }
    }

    /// What the command changed in its shell, which is not committed.
    fn previewed_state(&self, ended: &PreviewEnd<'_>, ending: &Ending, state: HandedBack) -> (Option<Change>, Commit) {
        let PreviewEnd { session, start, shell, .. } = ended;
        let text = match state {
            HandedBack::Unchanged { statuses } => {
                let words = FirstWords { ran_through: true, statuses, cwd: PathBuf::new() };
                let commit = Commit::new(StateReport::Unchanged, session);
                return (None, Commit { pipe_status: words.pipe_status(), ..commit });
            }
            _ if !ending.outcome.commits() => {
                let why = format!("the command {}", ending.outcome);
                return (None, Commit::new(StateReport::Discarded(why), session));
            }
            HandedBack::State(text) => text.to_vec(),
            HandedBack::Nothing | HandedBack::Follows { .. } => Vec::new(),
        };
        match self.read_state(session, start, *shell, &text) {
            Ok((change, commit)) => ((!change.is_empty()).then_some(change), commit),
            Err(discarded) => (None, *discarded),
        }
    }

    fn pending(&self, id: &str, before: Arc<crate::state::ShellState>, change: Change) -> PendingState {
        let (previews, preview) = (Previews::new(&self.inner.config.state_directory), id.to_owned());
        let is_committed = move || previews.is_committed(&preview);
        PendingState { preview: id.to_owned(), is_committed: IsCommitted(Box::new(is_committed)), before, change }
    }
}
