//! Sessions that have a name, so that another process can continue them.

use std::path::Path;

use chiton_engine::changes::ChangeLogs;
use chiton_engine::error::StoreError;
use chiton_engine::preview::{CommittedState, PreviewedState};
use chiton_engine::session::steps::StepCause;
use chiton_engine::session::store::SessionStore;
use chiton_engine::{FreshState, RunReport, Session, ShellState};

/// The named sessions of a state directory.
///
/// A command in one of them is four calls: [`NamedSessions::open`], the command itself,
/// [`NamedSessions::note_secrets`], and, where its state was committed, [`NamedSessions::save`].
#[derive(Clone, Debug)]
pub struct NamedSessions {
    store: SessionStore,
    logs: ChangeLogs,
}

impl NamedSessions {
    /// Those of the state directory of an engine.
    pub fn new(state_directory: &Path) -> Self {
        Self { store: SessionStore::new(state_directory.join("sessions")), logs: ChangeLogs::new(state_directory) }
    }

    /// Where they are written down.
    pub fn store(&self) -> &SessionStore {
        &self.store
    }

    /// The session `name` as it was left, or one that starts from `base` where there is none yet.
    ///
    /// # Errors
    /// When it cannot be read, or lives on another machine.
    pub fn open(&self, name: &str, base: &FreshState) -> Result<Session, StoreError> {
        self.store.check_is_here(name)?;
        let state = self.store.load(name, &base.state)?;
        let mut session =
            Session::new(FreshState { state, inherited: base.inherited.clone() }).named(name).stored_in(&self.store);
        // A folder that cannot be written is reported when there is something to write.
        if let Ok(began) = self.store.begin(name, &base.state) {
            session = session.begun_at(began);
        }
        session.uses(&self.store.secrets(name)?);
        Ok(session)
    }

    /// The machine that the session `name` lives on, where that is another one.
    pub fn home(&self, name: &str) -> Result<Option<String>, StoreError> {
        self.store.home(name)
    }

    /// From now on the session `name` lives on the machine `target`, and is not used here.
    pub fn set_home(&self, name: &str, target: &str) -> Result<(), StoreError> {
        self.store.set_home(name, target)
    }

    /// From now on the session `name` lives here. False where it did.
    pub fn clear_home(&self, name: &str) -> Result<bool, StoreError> {
        self.store.clear_home(name)
    }

    /// Has the session `name` begin afresh from `base`.
    pub fn reset(&self, name: &str, base: &FreshState) -> Result<(), StoreError> {
        self.store.check_is_here(name)?;
        self.store.reset(name, &base.state)
    }

    /// Notes which secrets the commands of `session` named, so that another process masks them, too. `before` is the
    /// state from which the session started. Does nothing for a session without a name.
    pub fn note_secrets(&self, session: &Session, before: &ShellState) -> Result<(), StoreError> {
        let Some(name) = session.name() else { return Ok(()) };
        self.store.note_secrets(name, before, &session.secrets())
    }

    /// Takes over what a command changed that was only tried, once a person has committed it; not where the session has
    /// changed since.
    pub fn take_over(&self, previewed: &PreviewedState) -> CommittedState {
        let PreviewedState { session, mark, from, to } = previewed;
        if self.store.mark(session) != *mark {
            return CommittedState::Discarded(format!("the session {session} has changed since"));
        }
        let real_cwd = to.cwd.canonicalize().unwrap_or_default();
        match self.store.save(session, from, &ShellState { real_cwd, ..to.clone() }) {
            Ok(()) => CommittedState::Committed,
            Err(error) => CommittedState::Discarded(error.to_string()),
        }
    }

    /// Writes down what changed in `session` since `before`. Does nothing for a session without a name.
    pub fn save(&self, session: &Session, before: &ShellState) -> Result<(), StoreError> {
        let Some(name) = session.name() else { return Ok(()) };
        self.store.check_is_here(name)?;
        self.store.save(name, before, &session.state())
    }

    /// The same after a command. What it changed is kept as a step of the session, and with what it did to files, where it
    /// can be undone: whoever undoes that may want both.
    pub fn save_after(
        &self,
        session: &Session,
        before: &ShellState,
        command: &str,
        report: &RunReport,
    ) -> Result<(), StoreError> {
        let Some(name) = session.name() else { return Ok(()) };
        // It may have moved while the command ran.
        self.store.check_is_here(name)?;
        let change = self.store.save_change(name, before, &session.state())?;
        self.store.note_step(StepCause { run: Some(&report.run_id), command }, &change);
        let undo = report.changed.as_ref().and_then(|changed| changed.undo.as_deref());
        if let (Some(id), Ok(text)) = (undo, serde_json::to_vec(&change)) {
            // Without it the files can still be put back.
            let _ = self.logs.keep_state(id, &text);
        }
        Ok(())
    }
}
