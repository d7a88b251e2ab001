//! What of a command's state stays, and where.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chiton_dialects::{Keeps, RunAction, StartsFrom};
use chiton_engine::error::StoreError;
use chiton_engine::state::{Value, Variable};
use chiton_engine::{AnswerMode, FreshState, Lock, Outcome, RunReport, Session, ShellState, StateReport, Warmth};

use crate::broken::broken_state;
use crate::named::NamedSessions;

/// Named sessions for which shells may wait.
const MOST_WARM: usize = 64;
/// The variable in which a shell has the directory before this one.
const PREVIOUS: &str = "OLDPWD";

/// The sessions that a client's commands run in: its own, and those that calls name.
pub(crate) struct Sessions {
    /// The client's own.
    own: Session,
    /// What its own started from.
    beginning: FreshState,
    named: NamedSessions,
    /// What waits for the next commands of named sessions.
    warmth: Lock<HashMap<String, Warmth>>,
    /// Sessions whose client was told that their state is broken.
    told_broken: Lock<HashSet<Option<String>>>,
}

/// The session that one command runs in.
pub(crate) struct Opened {
    pub(crate) session: Session,
    /// Its state before the command.
    pub(crate) before: Arc<ShellState>,
    /// How much of the state after the command the client's own session takes over. A session that the call names takes
    /// over everything itself.
    keeps: Option<Keeps>,
}

impl Sessions {
    pub(crate) fn new(beginning: FreshState, named: NamedSessions) -> Self {
        let own = Session::new(beginning.clone());
        Self { beginning, own, named, warmth: Lock::default(), told_broken: Lock::default() }
    }

    /// The client's own session goes on where the session of this name was left.
    pub(crate) fn continue_named(&mut self, name: &str) -> Result<(), StoreError> {
        self.own = self.for_client(self.named.open(name, &self.beginning)?);
        Ok(())
    }

    /// The client's own session is that of one client of several.
    pub(crate) fn set_client(&mut self, client: &str) {
        self.own = self.own.clone().of_client(client);
    }

    /// The client's own session.
    pub(crate) fn own(&self) -> &Session {
        &self.own
    }

    /// The client's own session as it was at its start.
    pub(crate) fn restart(&self) -> Result<(), StoreError> {
        if let Some(name) = self.own.name() {
            self.named.reset(name, &self.beginning)?;
        }
        self.own.restore(Arc::new(self.beginning.state.clone()));
        self.told_broken.lock().remove(&None);
        Ok(())
    }

    /// Has the session of a command begin afresh, where the call wants that.
    fn restart_for(&self, run: &RunAction) -> Result<(), StoreError> {
        match (&run.starts_from, &run.session) {
            (StartsFrom::Session, _) | (StartsFrom::CopyOf(_), None) => Ok(()),
            (StartsFrom::CopyOf(Some(from)), Some(name)) => {
                self.named.store().check_is_here(from)?;
                self.named.store().fork(from, name)
            }
            (StartsFrom::CopyOf(None), Some(name)) => {
                self.named.store().begin_as(name, &self.beginning.state, &self.own.state())
            }
            (StartsFrom::Beginning, None) => self.restart(),
            (StartsFrom::Beginning, Some(name)) => {
                self.told_broken.lock().remove(&run.session);
                self.named.reset(name, &self.beginning)
            }
        }
    }

    /// Where nothing is kept, every command starts where the client's session began, as soon as that is there again.
    fn go_home(&self, run: &RunAction) {
        let (home, state) = (&self.beginning.state, self.own.state());
        let is_away = run.keeps == Keeps::Nothing && self.own.name().is_none() && state.cwd != home.cwd;
        if is_away && home.cwd.is_dir() {
            let (cwd, real_cwd) = (home.cwd.clone(), home.real_cwd.clone());
            self.own.take_over(ShellState { cwd, real_cwd, ..ShellState::clone(&state) });
        }
    }

    /// What in the state of its session made a command fail; said once for each session.
    pub(crate) fn broken(&self, opened: &Opened, run: &RunAction, report: &RunReport) -> Option<String> {
        let change = &run.request.environment;
        let broken = broken_state(&opened.before, &self.beginning.state, change, report)?;
        self.told_broken.lock().insert(run.session.clone()).then_some(broken)
    }

    /// Writes down where a session is that has lost its directory: nothing ran, but its next command starts there.
    pub(crate) fn keep_place(&self, opened: &Opened) {
        let session = if opened.keeps.is_some() { &self.own } else { &opened.session };
        if session.state().cwd != opened.before.cwd {
            // Where that fails, the next command is told the same.
            let _ = self.named.save(session, &opened.before);
        }
    }

    /// The session for a command that is waited for. A dialect that keeps only part of the state runs it in a copy, of
    /// which that part is taken over; a named session is continued from where anybody left it.
    pub(crate) fn open(&self, run: &RunAction) -> Result<Opened, StoreError> {
        self.restart_for(run)?;
        self.go_home(run);
        if let Some(name) = &run.session {
            return self.open_named(name);
        }
        let before = self.own.state();
        let session = if run.keeps == Keeps::Everything { self.own.clone() } else { self.own.branch() };
        Ok(Opened { session, before, keeps: Some(run.keeps) })
    }

    /// The session for a command that becomes a task, of whose state nothing is kept.
    pub(crate) fn open_for_task(&self, run: &RunAction) -> Result<Opened, StoreError> {
        self.restart_for(run)?;
        self.go_home(run);
        match &run.session {
            Some(name) => self.open_named(name),
            None => Ok(Opened { session: self.own.clone(), before: self.own.state(), keeps: Some(Keeps::Nothing) }),
        }
    }

    fn open_named(&self, name: &str) -> Result<Opened, StoreError> {
        let session = self.for_client(self.named.open(name, &self.beginning)?).with_warmth(&self.warmth_of(name));
        Ok(Opened { before: session.state(), session, keeps: None })
    }

    fn for_client(&self, session: Session) -> Session {
        match self.own.client() {
            Some(client) => session.of_client(client),
            None => session,
        }
    }

    /// What waits for the next command of a named session. The session itself is read again for each command.
    fn warmth_of(&self, name: &str) -> Warmth {
        let mut all = self.warmth.lock();
        if all.len() > MOST_WARM && !all.contains_key(name) {
            all.clear();
        }
        all.entry(name.to_owned()).or_default().clone()
    }

    /// Notes in a named session which secrets its commands used, so that later ones mask them, too.
    pub(crate) fn note_secrets(&self, opened: &Opened) -> Option<String> {
        let noted = self.named.note_secrets(&opened.session, &opened.before);
        noted.err().map(|error| format!("{error}; secrets of this command are not known to the next server"))
    }

    /// Takes over what is kept of a command's state.
    pub(crate) fn keep(&self, opened: &Opened, command: &str, report: &RunReport) -> Kept {
        let before = &opened.before;
        let mut notices = report.notices.clone();
        let cwd = match (&report.state, opened.keeps) {
            (StateReport::Follows, Some(Keeps::Nothing)) => before.cwd.clone(),
            (StateReport::Follows, Some(keeps @ (Keeps::Directory | Keeps::DirectoryInside))) => {
                let cwd = self.next_directory(keeps, before, report);
                if cwd != before.cwd {
                    self.own.take_over(moved(before, &cwd));
                }
                cwd
            }
            (StateReport::Committed, None) => {
                if let Err(error) = self.named.save_after(&opened.session, before, command, report) {
                    notices.push(format!("{error}; the session stays as it was before"));
                }
                report.cwd.clone()
            }
            (StateReport::Committed, Some(keeps)) => {
                let mut after = ShellState::clone(&opened.session.state());
                let cwd = self.next_directory(keeps, before, report);
                if cwd != after.cwd {
                    after = moved(before, &cwd);
                }
                if let Some(state) = kept(keeps, before, &after) {
                    self.own.take_over(state);
                }
                if let Err(error) = self.named.save_after(&self.own, before, command, report) {
                    notices.push(format!("{error}; the session is not written down"));
                }
                self.own.state().cwd.clone()
            }
            (StateReport::Follows, _) | (_, None) => report.cwd.clone(),
            (_, Some(_)) => self.own.state().cwd.clone(),
        };
        Kept { cwd, notices }
    }

    /// Where the next command starts, as far as the directory is kept.
    fn next_directory(&self, keeps: Keeps, before: &ShellState, report: &RunReport) -> PathBuf {
        if keeps != Keeps::DirectoryInside || report.cwd == before.cwd {
            return report.cwd.clone();
        }
        let start = &self.beginning.state;
        let inside = report.cwd.canonicalize().is_ok_and(|real| real.starts_with(&start.real_cwd));
        match report.outcome {
            Outcome::Exited(0) if inside => report.cwd.clone(),
            Outcome::Exited(0) => start.cwd.clone(),
            _ => before.cwd.clone(),
        }
    }
}

/// The state as it is after a command has gone to another directory, and changed nothing else.
fn moved(before: &ShellState, cwd: &Path) -> ShellState {
    let mut state = before.clone();
    (state.cwd, state.real_cwd) = (cwd.to_owned(), cwd.canonicalize().unwrap_or_default());
    let previous = before.cwd.as_os_str().as_encoded_bytes().into();
    state.variables.insert(PREVIOUS.to_owned(), Variable::exported(Value::Scalar(previous)));
    state
}

/// What is left of a command for the next one, and what there is to say about that.
pub(crate) struct Kept {
    /// Where the next command starts.
    pub(crate) cwd: PathBuf,
    pub(crate) notices: Vec<String>,
}

impl Opened {
    /// When a call is answered: before its shell has handed its state back, if the session takes the state over by
    /// itself, or needs no more of it than the answer says.
    pub(crate) fn answer_mode(&self) -> AnswerMode {
        let needs_state = self.session.name().is_some() || self.keeps == Some(Keeps::Environment);
        if needs_state { AnswerMode::WithState } else { AnswerMode::BeforeState }
    }
}

/// The state that is kept from a command, where it is not all of it.
fn kept(keeps: Keeps, before: &ShellState, after: &ShellState) -> Option<ShellState> {
    let mut state = before.clone();
    match keeps {
        Keeps::Everything | Keeps::Nothing => return None,
        Keeps::Directory | Keeps::DirectoryInside => {}
        Keeps::Environment => {
            state.variables.retain(|_, variable| !variable.is_exported());
            let exported = after.variables.iter().filter(|(_, variable)| variable.is_exported());
            state.variables.extend(exported.map(|(name, variable)| (name.clone(), variable.clone())));
        }
    }
    // Belongs to the directory: `cd -` goes there.
    if let Some(previous) = after.variables.get(PREVIOUS) {
        state.variables.insert(PREVIOUS.to_owned(), previous.clone());
    }
    state.cwd.clone_from(&after.cwd);
    state.real_cwd.clone_from(&after.real_cwd);
    Some(state)
}
