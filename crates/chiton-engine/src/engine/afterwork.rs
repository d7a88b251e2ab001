//! What the engine does behind an answer, in the order that [`crate::warm::afterwork`] states.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Engine;
use crate::capture::collect::Reports;
use crate::changes;
use crate::checkpoints::Checkpoints;
use crate::preview;
use crate::process::ShellKind;
use crate::process::delivery::HandsBack;
use crate::protocol::Report;
use crate::request::AnswerMode;
use crate::response::StateReport;
use crate::session::{self, Session, StartingPoint};
use crate::spawn;
use crate::state::bash;
use crate::state::change::Change;
use crate::tasks::sweep;
use crate::warm::afterwork::OwedWork;
use crate::warm::pool::RunningCommand;
use crate::warm::spare::{self, FreeKeeper, Requirements, Spare};

/// How long the refill waits where many commands run at once: those that end together are followed by others, and what
/// the next ones need goes before what later ones will.
const CALM: Duration = Duration::from_millis(10);

/// How many runs pass at most between two sweeps.
pub(super) const UNSWEPT_RUNS: usize = 32;

/// What one answer leaves to do.
pub(super) struct FollowUp {
    pub(super) session: Session,
    /// What its command started from, and in which kind of shell.
    pub(super) start: StartingPoint,
    pub(super) shell: ShellKind,
    pub(super) running: Option<RunningCommand>,
    pub(super) reports: Reports,
    /// All that its command changed, where that is known.
    pub(super) told: Option<Change>,
    /// What the answer did not wait for.
    pub(super) owed: Option<OwedWork>,
}

/// Whether keepers are started where those that are there do not suffice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewKeepers {
    AsNeeded,
    /// Something else goes first.
    Later,
}

/// What an answer owes, and who pays. Dropped when that has come, or never will: also where a runtime is taken down.
struct Debt {
    engine: Engine,
    entry: Option<OwedWork>,
}

impl Debt {
    fn owes_state(&self) -> bool {
        self.entry.as_ref().is_some_and(OwedWork::owes_state)
    }

    /// The journal's line goes first, then whoever waits goes on.
    fn pay(&mut self) {
        if let Some(entry) = self.entry.take() {
            self.engine.write_deferred();
            drop(entry);
        }
    }
}

impl Drop for Debt {
    fn drop(&mut self) {
        self.pay();
    }
}

impl Engine {
    /// Does what an answer leaves to do, behind it.
    pub(super) fn follow_up(&self, follow_up: FollowUp) {
        if follow_up.owed.is_none() && !self.is_warm() {
            return;
        }
        let FollowUp { session, start, shell, running, reports, told, owed } = follow_up;
        let engine = self.clone();
        let mut debt = Debt { engine: self.clone(), entry: owed };
        let returning = reports.has_stem().then(|| session.pool().expect());
        tokio::spawn(async move {
            let Some(keeper) = engine.see_off(&session, (&start, shell), (reports, told), &mut debt).await else {
                return;
            };
            debt.pay();
            drop(running);
            // A stem is there already; only a new shell would take time from those that others need now.
            if returning.is_none() && !session.pool().is_nearly_empty() {
                tokio::time::sleep(CALM).await;
            }
            // First what waits again at once, then what another session's first command lacks, then one more for this one.
            engine.refill(&session, Some(keeper), NewKeepers::Later);
            drop(returning);
            engine.tend_nursery();
            // A session may have no more than one command.
            if session.pool().commands() > 1 && session.pool().is_nearly_empty() {
                engine.refill(&session, None, NewKeepers::AsNeeded);
            }
        });
    }

    /// Waits until nothing is left of a run; gives its keeper.
    async fn see_off(
        &self,
        session: &Session,
        (start, shell): (&StartingPoint, ShellKind),
        (mut reports, told): (Reports, Option<Change>),
        debt: &mut Debt,
    ) -> Option<FreeKeeper> {
        loop {
            match reports.next().await {
                Some(Report::State(state)) => {
                    let commit = self.commit_state(session, start, shell, state.as_deref().unwrap_or_default());
                    if let StateReport::Discarded(why) = &commit.report {
                        session.say_later(format!("what the command before changed is not kept: {why}"));
                    }
                    for removed in &commit.not_carried {
                        session.say_later(format!("the command before set {}, which {}", removed.name, removed.why));
                    }
                    debt.pay();
                }
                Some(Report::Free { branch }) => return Some(reports.into_keeper(branch, &start.state, told.as_ref())),
                Some(_) => {}
                None => {
                    if debt.owes_state() {
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
        self.refill(session, None, NewKeepers::AsNeeded);
        let around = &self.inner.config.guard.around;
        let _found = (around.mounts.len(), around.own_processes.len(), around.own_groups.len());
    }

    /// Whether shells wait for commands here.
    pub(super) fn is_warm(&self) -> bool {
        self.inner.config.limits.warm.per_session > 0
    }

    /// Has shells wait for the session's next commands, with this keeper, with those whose shells wait for something
    /// else by now, and perhaps with new ones.
    pub(super) fn refill(&self, session: &Session, keeper: Option<FreeKeeper>, more: NewKeepers) {
        let (config, pool) = (&self.inner.config, session.pool());
        if !self.is_warm() || !spare::can_wait(&config.shell) {
            return;
        }
        let Some(wanted) = self.next_requirements(session) else { return };

        pool.drop_gone();
        let mut keepers = pool.take_stale(&wanted);
        keepers.extend(keeper);
        while pool.has_room(&wanted, config.limits.warm) {
            let keeper = match keepers.pop() {
                Some(keeper) => keeper,
                None if more == NewKeepers::AsNeeded && pool.is_short(&wanted) => {
                    let ready = self.inner.nursery.take_keeper().map(Ok);
                    match ready.unwrap_or_else(|| spawn::start_keeper(&config.keeper, self.inner.floor.as_deref())) {
                        Ok(keeper) => keeper.into(),
                        // The next command says what is wrong.
                        Err(_) => break,
                    }
                }
                None => break,
            };
            match Spare::prepare(keeper, self.inner.tasks.folder(), &config.shell, wanted.clone()) {
                Ok(spare) => pool.put(spare),
                Err(_) => break,
            }
        }
        config.room.note(pool, config.limits.warm);
    }

    /// What the session's next command will require, if it is like the last.
    fn next_requirements(&self, session: &Session) -> Option<Requirements> {
        let profile = session.pool().profile();
        // The next command says what is wrong with it. Before the start, since it may set variables.
        let enclosure = self.renewed_enclosure(session).ok()?;
        let policy = &self.inner.config.environment;
        let start = session::begin_next(session, profile.directory.as_deref(), &profile.environment, policy)?;
        if !bash::load::can_wait(&start.state) {
            return None;
        }
        let directory_id = start.directory_id;
        let masks = self.inner.known.masks();
        let (streams, called_as) = (profile.streams, profile.called_as);
        let hands_back = HandsBack::State;
        Some(Requirements { state: start.state, streams, called_as, masks, directory_id, enclosure, hands_back })
    }

    /// Old runs go, every so often: behind the answer, where that leaves early.
    pub(super) fn sweep_after(&self, bytes: u64, answer: AnswerMode) {
        let limits = &self.inner.config.limits;
        let keeps_few = limits.retention.finished <= UNSWEPT_RUNS || !self.is_warm();
        let unswept = self.inner.unswept.fetch_add(1, Ordering::Relaxed);
        let is_urgent = keeps_few || bytes >= sweep::LARGE_RUN;
        if !is_urgent && (unswept < UNSWEPT_RUNS || self.inner.sweeping.load(Ordering::Relaxed)) {
            return;
        }

        self.inner.unswept.store(0, Ordering::Relaxed);
        let engine = self.clone();
        let sweep = move || {
            let limits = &engine.inner.config.limits;
            let runs = engine.inner.tasks.folder();
            let journal = engine.inner.config.audit.as_ref();
            preview::sweep(&engine.inner.config.state_directory);
            if let Some(swept) = sweep::tidy(runs, bytes, limits.retention, limits.spool.in_all, journal) {
                engine.inner.quota.measured(swept.used);
            }
            let state_directory = &engine.inner.config.state_directory;
            changes::tidy(state_directory, limits.undo);
            Checkpoints::new(state_directory).sweep(limits.undo.age);
        };
        match answer {
            AnswerMode::WithState | AnswerMode::WithoutState => sweep(),
            AnswerMode::BeforeState => {
                self.inner.sweeping.store(true, Ordering::Relaxed);
                let engine = self.clone();
                drop(tokio::task::spawn_blocking(move || {
                    behind_others(sweep);
                    engine.inner.sweeping.store(false, Ordering::Relaxed);
                }));
            }
        }
    }
}

/// Does something that nobody waits for, so that commands which come meanwhile go first. In a thread of its own: one that
/// gave way to others may not be allowed to stop doing so.
fn behind_others(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().name("sweep".to_owned()).spawn(|| {
        // On Linux this is about the thread.
        let _ = rustix::process::setpriority_process(None, GIVES_WAY);
        work();
    });
    // Whoever takes the runtime down waits for this.
    let _ = thread.map(std::thread::JoinHandle::join);
}

/// How much a sweep gives way: a third of what a command gets, where both want a processor.
const GIVES_WAY: i32 = 5;
