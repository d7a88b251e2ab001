//! What the first command of a session needs, ready before there is such a session.
//!
//! 1. A command that nothing waited for was run: another one may follow, in another session. Behind its answer a keeper is
//!    started, a sandbox is prepared, and in it a shell that waits for a command like that one ([`Engine::tend_nursery`]).
//! 2. The next one that nothing waits for takes them. The first of a session that begins like the last one finds its shell;
//!    another one makes do with the sandbox and the keeper.
//! 3. What nobody takes goes after the time after which shells that wait go, or as soon as somebody says that no command will
//!    come ([`Engine::stand_down`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use super::Engine;
use crate::enclosure::Enclosure;
use crate::lock::Lock;
use crate::process::delivery::{self, HandsBack};
use crate::process::keeper_process::Keeper;
use crate::request::{AnswerMode, CommandInput, CommandRequest, EnvironmentChange, PreviewMode};
use crate::sandbox::policy::NetworkPolicy;
use crate::session::{self, Session};
use crate::spawn;
use crate::state::bash;
use crate::warm::spare::{self, Requirements, Spare};

/// How long a keeper waits for a command that is about to come, where nothing waits otherwise.
const FOR_THIS_ONE: Duration = Duration::from_secs(10);

/// A longer command takes so long to read that its shell need not start before it is judged.
const LONGEST_EXPECTED: usize = 4 << 10;

/// What is ready for the next session.
#[derive(Debug, Default)]
pub(super) struct Nursery {
    keeper: Lock<Option<Keeper>>,
    enclosure: Lock<Option<Arc<Enclosure>>>,
    /// A shell, with a keeper of its own.
    spare: Lock<Option<Spare>>,
    /// What the last first command of a session required, but for its sandbox, which was its session's.
    expected: Lock<Option<Requirements>>,
    /// Commands so far that nothing waited for. A server with one session has one.
    cold: AtomicUsize,
    /// When it was last filled.
    filled: Lock<Option<Instant>>,
    /// Whether somebody said that no command will come, and none has come since.
    rests: AtomicBool,
}

impl Nursery {
    /// A keeper that can take an order: also that of a shell that waits for one command, where another one has come.
    pub(super) fn take_keeper(&self) -> Option<Keeper> {
        self.take_free_keeper().or_else(|| self.spare.lock().take_if(|spare| spare.passes()).map(Spare::into_keeper))
    }

    /// A keeper that has nothing to do.
    fn take_free_keeper(&self) -> Option<Keeper> {
        let mut keeper = self.keeper.lock().take()?;
        keeper.is_there().then_some(keeper)
    }

    /// A shell that waits for just such a command. One that does not is of no use any more, since the sandbox that it is in was
    /// taken before it; its keeper is.
    pub(super) fn take_spare(&self, wanted: &Requirements) -> Option<Spare> {
        if wanted.hands_back == HandsBack::State {
            *self.expected.lock() = Some(Requirements { enclosure: None, ..wanted.clone() });
        }
        let spare = self.spare.lock().take()?;
        if spare.satisfies(wanted) {
            return Some(spare);
        }
        self.keeper.lock().get_or_insert(spare.into_keeper());
        None
    }

    /// A sandbox by the policy of the engine that nobody is in, and that covers what it should.
    pub(super) fn take_enclosure(&self) -> Option<Arc<Enclosure>> {
        self.enclosure.lock().take().filter(|enclosure| !enclosure.is_outdated())
    }

    /// Lets go of everything, if it was filled at that time and not since.
    fn empty(&self, filled: Instant) {
        if self.filled.lock().take_if(|last| *last == filled).is_some() {
            self.let_go();
        }
    }

    fn let_go(&self) {
        drop((self.keeper.lock().take(), self.enclosure.lock().take()));
        drop((self.spare.lock().take(), self.expected.lock().take()));
    }
}

impl Engine {
    /// A command was run that nothing waited for.
    pub(super) fn note_cold(&self) {
        self.inner.nursery.cold.fetch_add(1, Ordering::Relaxed);
    }

    /// No command will come for a while: lets go of what is ready for the next session. The first command after that has it
    /// made again.
    pub fn stand_down(&self) {
        self.inner.nursery.rests.store(true, Ordering::SeqCst);
        self.inner.nursery.let_go();
    }

    /// A command has come.
    pub(super) fn wake(&self) {
        self.inner.nursery.rests.store(false, Ordering::SeqCst);
    }

    /// A command will come in a moment. Its keeper starts meanwhile, on another processor, where nothing waits for it.
    pub fn expect_command(&self) {
        self.start_keeper_ahead();
    }

    /// This request will come in a moment, once, if nothing is against it. Where nobody wants the state, its shell starts
    /// meanwhile as well. A shell that nothing is given ends, and has run nothing.
    pub fn expect(&self, session: &Session, request: &CommandRequest) {
        self.start_keeper_ahead();
        if let Some(wanted) = self.shell_for(session, request)
            && let Some(keeper) = self.inner.nursery.take_free_keeper()
        {
            let spare = Spare::prepare(keeper.into(), self.inner.tasks.folder(), &self.inner.config.shell, wanted);
            *self.inner.nursery.spare.lock() = spare.ok();
        }
    }

    /// What a request requires of a shell that is started before it is judged; `None` where that is not known yet, or its shell
    /// cannot wait.
    fn shell_for(&self, session: &Session, request: &CommandRequest) -> Option<Requirements> {
        let config = &self.inner.config;
        let is_usual = request.answer == AnswerMode::WithoutState
            && request.shell.as_ref().is_none_or(|shell| *shell == config.shell)
            && matches!(request.input, CommandInput::Nothing)
            && request.terminal.is_none()
            && request.environment == EnvironmentChange::default()
            && request.preview == PreviewMode::Off
            && request.command.len() <= LONGEST_EXPECTED;
        // A sandbox is not there yet, and a login shell may add to the state.
        if !is_usual || config.sandbox.is_some() || config.login.is_some() || !spare::can_wait(&config.shell) {
            return None;
        }
        let policy = &config.environment;
        let start = session::begin_next(session, request.directory.as_deref(), &request.environment, policy)?;
        let script = chiton_shell::parse(&request.command).ok()?;
        delivery::choose(&request.command, || Some(&script), config.shell.kind(), &start.state).waits()?;
        let can_wait = bash::load::can_wait(&start.state) && bash::load::reads_whole(&request.command, &start.state);
        can_wait.then(|| Requirements {
            state: start.state,
            streams: request.streams,
            called_as: request.called_as.clone(),
            masks: self.inner.known.masks(),
            directory_id: start.directory_id,
            enclosure: None,
            hands_back: HandsBack::Nothing,
        })
    }

    /// Starts a keeper for what comes next, unless one is ready.
    pub(super) fn start_keeper_ahead(&self) {
        // Somebody who only asks what is in force may have no runtime, and has no use for a keeper.
        let has_runtime = Handle::try_current().is_ok();
        let mut keeper = self.inner.nursery.keeper.lock();
        if has_runtime && keeper.is_none() {
            *keeper = spawn::start_keeper(&self.inner.config.keeper, self.inner.floor.as_deref()).ok();
            drop(keeper);
            self.empty_nursery_later();
        }
    }

    /// Has ready what the next such command needs, where there was more than one.
    pub(super) fn tend_nursery(&self) {
        let nursery = &self.inner.nursery;
        let rests = || nursery.rests.load(Ordering::SeqCst);
        if !self.is_warm() || nursery.cold.load(Ordering::Relaxed) < 2 || rests() {
            return;
        }
        let has_enclosure = nursery.enclosure.lock().is_some();
        let config = &self.inner.config;
        self.start_keeper_ahead();
        // One with a network of its own has a process of its own as well, which is too much to have for nobody.
        let policy = config.sandbox.as_ref().filter(|policy| !matches!(policy.network, NetworkPolicy::Named(_)));
        if let (false, Some(policy)) = (has_enclosure, policy) {
            // Here and not on a thread of its own: a server that ends meanwhile would leave half of it behind.
            *nursery.enclosure.lock() = self.make_enclosure(policy, None, None).ok();
            self.empty_nursery_later();
        }
        self.start_shell_ahead();
        // Somebody may have said so meanwhile.
        if rests() {
            nursery.let_go();
        }
    }

    /// Has a shell wait in the sandbox that is ready, for a command like the last one that nothing waited for.
    fn start_shell_ahead(&self) {
        let (config, nursery) = (&self.inner.config, &self.inner.nursery);
        let enclosure = nursery.enclosure.lock().clone();
        let is_held = enclosure.is_some() == config.sandbox.is_some();
        let mut ready = nursery.spare.lock();
        if ready.is_some() || !is_held || !spare::can_wait(&config.shell) {
            return;
        }
        let expected = nursery.expected.lock().clone().filter(|expected| bash::load::can_wait(&expected.state));
        let Some(wanted) = expected.map(|expected| Requirements { enclosure, ..expected }) else { return };
        let Some(keeper) = nursery.take_free_keeper() else { return };
        *ready = Spare::prepare(keeper.into(), self.inner.tasks.folder(), &config.shell, wanted).ok();
    }

    fn empty_nursery_later(&self) {
        let filled = Instant::now();
        let idle = if self.is_warm() { self.inner.config.limits.warm.idle } else { FOR_THIS_ONE };
        *self.inner.nursery.filled.lock() = Some(filled);
        // Not to keep the engine, which ends with whoever uses it.
        let inner = Arc::downgrade(&self.inner);
        tokio::spawn(async move {
            tokio::time::sleep(idle).await;
            if let Some(inner) = inner.upgrade() {
                inner.nursery.empty(filled);
            }
        });
    }
}
