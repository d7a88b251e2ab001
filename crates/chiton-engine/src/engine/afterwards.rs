//! What is done when the command has ended: the commit, and, behind the answer, getting ready for the next one.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::written_down::Conclusion;
use super::{Engine, UNTIDIED};
use crate::capture::collect::Reports;
use crate::process::ShellKind;
use crate::process::keeper_process::Keeper;
use crate::protocol::{HandedBack, Report};
use crate::response::{Commit, StateReport};
use crate::run::Ending;
use crate::session::{self, Session, StartingPoint, Unsettled};
use crate::state::bash::dump::FirstWords;
use crate::state::change::Change;
use crate::state::{bash, posix};
use crate::tasks::sweep;
use crate::warm::pool::Running;
use crate::warm::spare::{self, Fit, Spare};

/// What comes behind an answer that went first. Dropped, in this order, when it has come, or never will.
#[derive(Default)]
pub(super) struct Behind {
    /// The line about it in the journal.
    pub(super) _conclusion: Option<Conclusion>,
    /// What its keeper writes down.
    pub(super) _unrecorded: Option<Unsettled>,
    /// What its shell hands back.
    pub(super) unsettled: Option<Unsettled>,
}

/// The time in which commands that end together are followed by others.
const CALM: Duration = Duration::from_millis(10);

impl Engine {
    /// Commits what the command changed, if it ended in a way that lets it. Gives the directory the session is in from
    /// now on, and what holds up the session's next command where the state is still on its way.
    pub(super) fn commit(
        &self,
        session: &Session,
        start: &StartingPoint,
        ending: &Ending,
        state: HandedBack,
    ) -> (Commit, PathBuf, Option<Unsettled>) {
        let outcome = &ending.outcome;
        let pipe_status = |statuses| FirstWords { ran_through: true, statuses, cwd: PathBuf::new() }.pipe_status();
        if let HandedBack::Unchanged { statuses } = state {
            let commit =
                Commit { report: StateReport::Unchanged, pipe_status: pipe_status(statuses), ..Commit::follows() };
            return (commit, session.state().cwd.clone(), None);
        }
        if let HandedBack::Follows { statuses, directory } = state {
            let commit = Commit { pipe_status: pipe_status(statuses), ..Commit::follows() };
            // A directory that is named after a secret is not kept, nor is one that only this call was given.
            let moved = directory[..] != *start.state.cwd.as_os_str().as_encoded_bytes();
            let kept = moved && self.inner.known.masked(&directory) == directory;
            let cwd = if kept { directory.into_path() } else { session.state().cwd.clone() };
            return (commit, cwd, Some(session.settle_later()));
        }
        let commit = match state {
            _ if !outcome.commits() => Commit::discarded(format!("the command {outcome}")),
            HandedBack::State(text) => self.commit_state(session, start, &text),
            _ => self.commit_state(session, start, b""),
        };
        (commit, session.state().cwd.clone(), None)
    }

    fn commit_state(&self, session: &Session, start: &StartingPoint, text: &[u8]) -> Commit {
        let handed_back = match self.inner.config.shell.kind() {
            ShellKind::Bash => bash::dump::read(text, &start.state).map(|back| (back.state, back.pipe_status)),
            ShellKind::Posix => posix::read(text, &start.state).map(|state| (state, Vec::new())),
        };
        let Some((mut state, pipe_status)) = handed_back else {
            return Commit::discarded(
                "the shell handed no state back: it was replaced (exec), it lists what it reads (set -v), its exit trap \
                 was set past ours (command trap, posix mode), or its state is larger than what is carried",
            );
        };
        let policy = &self.inner.config.environment;
        let mut not_carried = policy.filter_new(&mut state.variables, &start.state.variables);
        let mut withheld = self.inner.known.withhold(&mut state, &start.state);
        let names: Vec<&str> = withheld.iter().map(|removed| removed.name.as_str()).collect();
        let notice = (!names.is_empty()).then(|| {
            format!("not kept for the next command, since the value of a secret is in it: {}", names.join(", "))
        });
        not_carried.append(&mut withheld);
        let change = Change::between(&start.state, state);
        let report = if change.is_empty() { StateReport::Unchanged } else { StateReport::Committed };
        session.commit(&change);
        Commit { report, pipe_status, not_carried, notice }
    }

    /// Behind the answer: takes the state that follows it, and has the keeper wait for the next command.
    pub(super) fn follow_up(
        &self,
        session: &Session,
        start: StartingPoint,
        running: Running,
        reports: Reports,
        behind: Behind,
    ) {
        if behind.unsettled.is_some() || self.is_warm() {
            let (engine, session) = (self.clone(), session.clone());
            tokio::spawn(async move {
                if let Some(keeper) = engine.see_off(&session, &start, reports, behind).await {
                    drop(running);
                    if !session.pool.is_nearly_empty() {
                        // Many run at once: what the next ones of them need goes before what later ones will.
                        tokio::time::sleep(CALM).await;
                    }
                    engine.keep_warm(&session, Some(keeper));
                }
            });
        }
    }

    /// Waits until nothing is left of a run; gives its keeper.
    async fn see_off(
        &self,
        session: &Session,
        start: &StartingPoint,
        mut reports: Reports,
        mut behind: Behind,
    ) -> Option<Keeper> {
        loop {
            match reports.next().await {
                Some(Report::State(state)) => {
                    let commit = self.commit_state(session, start, state.as_deref().unwrap_or_default());
                    if let StateReport::Discarded(why) = &commit.report {
                        session.say_later(format!("what the command before changed is not kept: {why}"));
                    }
                    for removed in &commit.not_carried {
                        session.say_later(format!("the command before set {}, which {}", removed.name, removed.why));
                    }
                    behind = Behind::default();
                }
                Some(Report::Free) => return Some(reports.into_keeper()),
                Some(_) => {}
                None => {
                    if behind.unsettled.is_some() {
                        let why = "its keeper was killed before it had handed its state back";
                        session.say_later(format!("what the command before changed is not kept: {why}"));
                    }
                    return None;
                }
            }
        }
    }

    /// Starts what its next command will need, so that it does not have to wait for that. Without it that happens with
    /// the first command.
    pub fn warm(&self, session: &Session) {
        self.replenish(session);
    }

    /// Has as many shells wait as are wanted.
    pub(super) fn replenish(&self, session: &Session) {
        if self.is_warm() {
            self.keep_warm(session, None);
        }
    }

    /// Has shells wait for the session's next commands, with this keeper, with those whose shells wait for something
    /// else by now, and with new ones.
    fn keep_warm(&self, session: &Session, keeper: Option<Keeper>) {
        let config = &self.inner.config;
        let Some(fit) = self.next_fit(session).filter(|_| self.is_warm() && spare::can_wait(&config.shell)) else {
            return;
        };
        session.pool.look_over();
        let mut keepers = session.pool.take_stale(&fit);
        keepers.extend(keeper);
        loop {
            if !session.pool.has_room(&fit, config.limits.warm) {
                break;
            }
            let keeper = match keepers.pop() {
                Some(keeper) => keeper,
                None if session.pool.is_short(&fit) => match self.new_keeper() {
                    Ok(keeper) => keeper,
                    // The next command says what is wrong.
                    Err(_) => break,
                },
                None => break,
            };
            match Spare::prepare(keeper, self.inner.tasks.folder(), &config.shell, fit.clone()) {
                Ok(spare) => session.pool.put(spare),
                Err(_) => break,
            }
        }
        config.room.note(&session.pool, config.limits.warm);
    }

    /// What the session's next command will need, if it is like the last.
    fn next_fit(&self, session: &Session) -> Option<Fit> {
        let shape = session.pool.shape();
        let policy = &self.inner.config.environment;
        let start = session::begin_next(session, shape.directory.as_deref(), &shape.environment, policy)?;
        let place = start.place.filter(|_| bash::load::can_wait(&start.state))?;
        let masks = self.inner.known.masks();
        Some(Fit { state: start.state, streams: shape.streams, called_as: shape.called_as, masks, place })
    }

    /// Old runs go, every so often: behind the answer, where that was wanted first.
    pub(super) fn tidy(&self, bytes: u64, behind: bool) {
        let limits = &self.inner.config.limits;
        let few = limits.retention.finished <= UNTIDIED || !self.is_warm();
        let count = self.inner.untidied.fetch_add(1, Ordering::Relaxed);
        if !few && count < UNTIDIED && bytes < sweep::LARGE_RUN {
            return;
        }
        self.inner.untidied.store(0, Ordering::Relaxed);
        let engine = self.clone();
        let work = move || {
            let limits = &engine.inner.config.limits;
            let runs = engine.inner.tasks.folder();
            if let Some(swept) = sweep::tidy(runs, bytes, limits.retention, limits.spool.in_all) {
                engine.inner.spooled.store(swept.used, Ordering::Relaxed);
            }
        };
        if behind {
            drop(tokio::task::spawn_blocking(work));
        } else {
            work();
        }
    }
}
