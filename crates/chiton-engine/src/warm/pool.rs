//! The keepers that wait for the next commands of a session, and how many there may be.
//!
//! Two wait as a rule: one for the next command, one for the command after it, which may come before the first keeper
//! is free again. Where a session runs more at the same time, as many wait as it runs. What was not used for a while
//! goes, and where all sessions together have too many, those of the session that was not used for longest.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::spare::{FreeKeeper, Requirements, Spare};
use crate::bytes::ByteString;
use crate::limits::WarmLimits;
use crate::lock::Lock;
use crate::process::keeper_process::Keeper;
use crate::request::EnvironmentChange;
use crate::run::Streams;

/// How many shells wait in a session that runs one command at a time.
const USUAL_SPARES: usize = 2;

/// What a call adds to the state of its session. The next call is expected to be like the last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallProfile {
    pub(crate) directory: Option<std::path::PathBuf>,
    pub(crate) environment: EnvironmentChange,
    pub(crate) streams: Streams,
    pub(crate) called_as: Option<ByteString>,
}

impl CallProfile {
    /// Whether a command starts from the state of its session alone.
    pub(crate) fn adds_nothing(&self) -> bool {
        self.directory.is_none() && self.environment == EnvironmentChange::default()
    }
}

/// What waits in one session.
#[derive(Debug)]
pub(crate) struct Pool {
    waiting: Lock<Vec<Spare>>,
    /// Those for which nothing waited line up here.
    line: Arc<Semaphore>,
    /// Commands that run now.
    running: AtomicUsize,
    /// Commands so far.
    begun: AtomicUsize,
    profile: Lock<CallProfile>,
    is_listed: AtomicBool,
    /// Whether its session was closed and not used again since.
    is_closed: AtomicBool,
    used: Lock<Option<Instant>>,
    /// Stems whose command is answered, and that will wait again in a moment.
    returning: watch::Sender<usize>,
}

impl Default for Pool {
    fn default() -> Self {
        Self {
            waiting: Lock::default(),
            line: Arc::new(Semaphore::new(STARTING)),
            running: AtomicUsize::default(),
            begun: AtomicUsize::default(),
            profile: Lock::default(),
            is_listed: AtomicBool::default(),
            is_closed: AtomicBool::default(),
            used: Lock::default(),
            returning: watch::Sender::default(),
        }
    }
}

/// For how many commands shells are started at the same time. Many more would take the processors from each other, while
/// shells that were there become free faster than any of them.
const STARTING: usize = 4;

/// How long a command waits for its turn: whoever has a place may be held up.
const TURN_WITHIN: Duration = Duration::from_secs(1);

/// A place among the commands for which shells are started. There is none where it did not come in time.
#[derive(Debug)]
pub(crate) struct Place {
    _turn: Option<OwnedSemaphorePermit>,
}

/// A stem whose command is answered, until it waits again or turns out to be gone.
#[derive(Debug)]
pub(crate) struct ReturningStem(Arc<Pool>);

impl Drop for ReturningStem {
    fn drop(&mut self) {
        self.0.returning.send_modify(|count| *count -= 1);
    }
}

/// How long a command waits for a stem that is to return. Another shell takes some milliseconds to start.
const RETURNS_WITHIN: Duration = Duration::from_millis(20);

/// One command of the session, while it runs.
#[derive(Debug)]
pub(crate) struct RunningCommand(Arc<Pool>);

impl Drop for RunningCommand {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Pool {
    /// A command begins.
    pub(crate) fn enter(self: &Arc<Self>) -> RunningCommand {
        self.running.fetch_add(1, Ordering::Relaxed);
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.is_closed.store(false, Ordering::Relaxed);
        *self.used.lock() = Some(Instant::now());
        RunningCommand(Arc::clone(self))
    }

    /// What the last call was like.
    pub(crate) fn profile(&self) -> CallProfile {
        self.profile.lock().clone()
    }

    /// The last call was like this.
    pub(crate) fn note_profile(&self, profile: &CallProfile) {
        let mut last = self.profile.lock();
        if *last != *profile {
            last.clone_from(profile);
        }
    }

    /// A shell that waits for just such a command.
    pub(crate) fn take(&self, wanted: &Requirements) -> Option<Spare> {
        let mut waiting = self.waiting();
        waiting.retain_mut(|spare| !spare.satisfies(wanted) || spare.is_there());
        // The oldest that is ready, else the oldest. With the latest, whose pages are in the processor's caches, calls are faster
        // by a tenth, but the recorder of undo missed more of what threads changed at once; nobody knows yet why.
        let ready = waiting.iter().position(|spare| spare.is_ready() && spare.satisfies(wanted));
        let place = ready.or_else(|| waiting.iter().position(|spare| spare.satisfies(wanted)))?;
        Some(waiting.remove(place))
    }

    /// Waits until it is the turn of a command for which nothing waits. The first comes first.
    pub(crate) async fn line_up(&self) -> Place {
        let turn = tokio::time::timeout(TURN_WITHIN, Arc::clone(&self.line).acquire_owned()).await;
        Place { _turn: turn.ok().and_then(Result::ok) }
    }

    /// A stem has answered, and will wait again.
    pub(crate) fn expect(self: &Arc<Self>) -> ReturningStem {
        self.returning.send_modify(|count| *count += 1);
        ReturningStem(Arc::clone(self))
    }

    /// Waits until one more stem has returned; whether there was one to wait for.
    pub(crate) async fn returned(&self) -> bool {
        let mut returning = self.returning.subscribe();
        let before = *returning.borrow_and_update();
        before > 0 && tokio::time::timeout(RETURNS_WITHIN, returning.wait_for(|count| *count < before)).await.is_ok()
    }

    /// A keeper for a command that no shell waits for. Its own shell goes.
    pub(crate) fn take_keeper(&self) -> Option<Keeper> {
        let mut waiting = self.waiting();
        while !waiting.is_empty() {
            let mut spare = waiting.remove(0);
            if spare.is_there() {
                return Some(spare.into_keeper());
            }
        }
        None
    }

    /// Lets go of those that are gone.
    pub(crate) fn drop_gone(&self) {
        self.waiting().retain_mut(Spare::is_there);
    }

    /// Those that wait for another command than `wanted`, as far as the session needs more that wait for this one.
    pub(crate) fn take_stale(&self, wanted: &Requirements) -> Vec<FreeKeeper> {
        let mut waiting = self.waiting();
        let mut missing =
            self.wanted().min(USUAL_SPARES).saturating_sub(waiting.iter().filter(|it| it.satisfies(wanted)).count());
        let mut stale = Vec::new();
        while missing > 0 {
            let Some(place) = waiting.iter().rposition(|spare| !spare.satisfies(wanted)) else { break };
            let mut spare = waiting.remove(place);
            if spare.is_there() {
                stale.push(spare.into_free());
                missing -= 1;
            }
        }
        stale
    }

    /// Whether one more that waits for `wanted` would be used.
    pub(crate) fn has_room(&self, wanted: &Requirements, limits: WarmLimits) -> bool {
        let waiting = self.waiting();
        !self.is_closed.load(Ordering::Relaxed)
            && waiting.len() < limits.per_session
            && waiting.iter().filter(|spare| spare.satisfies(wanted)).count() < self.wanted()
    }

    /// Whether fewer wait for `wanted` than always should, with those that will in a moment. The shell of a command that has
    /// just begun is one of them: where commands follow each other closely, there is such a one at any time, and one more
    /// would be started only to be let go of.
    pub(crate) fn is_short(&self, wanted: &Requirements) -> bool {
        let waiting = self.waiting().iter().filter(|spare| spare.satisfies(wanted)).count();
        waiting + *self.returning.borrow() + usize::from(self.has_just_begun()) < USUAL_SPARES
    }

    /// Whether a command runs that has begun a moment ago.
    fn has_just_begun(&self) -> bool {
        let is_recent = |begun: Instant| begun.elapsed() < RETURNS_WITHIN;
        self.running.load(Ordering::Relaxed) > 0 && self.used.lock().is_some_and(is_recent)
    }

    /// How many commands its session has begun.
    pub(crate) fn commands(&self) -> usize {
        self.begun.load(Ordering::Relaxed)
    }

    /// Whether hardly any wait, for whatever command.
    pub(crate) fn is_nearly_empty(&self) -> bool {
        self.waiting().len() < USUAL_SPARES
    }

    /// Has this one wait, unless the session was closed.
    pub(crate) fn put(&self, spare: Spare) {
        let mut waiting = self.waiting();
        if !self.is_closed.load(Ordering::Relaxed) {
            waiting.push(spare);
        }
    }

    /// How many should wait.
    fn wanted(&self) -> usize {
        self.running.load(Ordering::Relaxed).max(USUAL_SPARES)
    }

    /// Ends what has waited since before `time`; gives the time since which the oldest of the others waits.
    fn expire(&self, time: Option<Instant>) -> Option<Instant> {
        let mut waiting = self.waiting();
        if let Some(time) = time {
            waiting.retain(|spare| spare.since > time);
        }
        waiting.iter().map(|spare| spare.since).min()
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Vec<Spare>> {
        self.waiting.lock()
    }

    /// Ends everything that waits. Nothing waits again before the next command, not even a keeper that becomes free.
    pub(crate) fn close(&self) {
        let mut waiting = self.waiting();
        self.is_closed.store(true, Ordering::Relaxed);
        waiting.clear();
    }
}

/// All shells that wait, in all sessions of an engine, or of several that have this in common.
#[derive(Clone, Debug, Default)]
pub struct WarmRoom(Arc<Pools>);

impl WarmRoom {
    /// Something was put into `pool`: counts it, sees to it that there are not too many in all, and that it goes in time.
    pub(crate) fn note(&self, pool: &Arc<Pool>, limits: WarmLimits) {
        self.0.note(pool, limits);
    }
}

#[derive(Debug, Default)]
struct Pools {
    known: Lock<Vec<Weak<Pool>>>,
    /// Whether somebody waits for the time at which the oldest goes.
    is_watched: AtomicBool,
}

impl Pools {
    fn note(self: &Arc<Self>, pool: &Arc<Pool>, limits: WarmLimits) {
        let mut known = self.known.lock();
        if !pool.is_listed.swap(true, Ordering::Relaxed) {
            known.push(Arc::downgrade(pool));
        }
        known.retain(|pool| pool.strong_count() > 0);
        let mut alive: Vec<Arc<Pool>> = known.iter().filter_map(Weak::upgrade).collect();
        drop(known);
        let mut count: usize = alive.iter().map(|pool| pool.waiting().len()).sum();
        if count > limits.in_all {
            alive.sort_by_key(|pool| *pool.used.lock());
            for pool in alive {
                let mut waiting = pool.waiting();
                let gone = waiting.len().min(count.saturating_sub(limits.in_all));
                waiting.drain(..gone);
                count -= gone;
            }
        }
        if !self.is_watched.swap(true, Ordering::Relaxed) {
            tokio::spawn(Arc::clone(self).watch(limits.idle));
        }
    }

    /// Ends what nobody has used for the time `idle`, as that passes, until nothing waits any more.
    async fn watch(self: Arc<Self>, idle: Duration) {
        loop {
            let watching = Watching(Arc::clone(&self));
            while let Some(oldest) = self.oldest(Instant::now().checked_sub(idle)) {
                tokio::time::sleep_until((oldest + idle).into()).await;
            }
            drop(watching);
            // Something may have been put in between the check and the end of the watch.
            if self.oldest(None).is_none() || self.is_watched.swap(true, Ordering::Relaxed) {
                return;
            }
        }
    }

    /// Ends what has waited since before `time` in any session; gives the time since which the oldest other waits.
    fn oldest(&self, time: Option<Instant>) -> Option<Instant> {
        let known: Vec<Weak<Pool>> = self.known.lock().clone();
        known.iter().filter_map(|pool| pool.upgrade()?.expire(time)).min()
    }
}

/// Somebody waits for the time at which the oldest goes. Where a runtime takes that task down with it, whoever puts
/// something in next starts another.
struct Watching(Arc<Pools>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.is_watched.store(false, Ordering::Relaxed);
    }
}
