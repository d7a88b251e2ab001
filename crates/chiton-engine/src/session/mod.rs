//! Stage 4: what a session is, what a command starts from, and what it leaves behind.
//!
//! 1. A [`Session`] holds the current [`ShellState`], an immutable value; a command starts from the one that is
//!    current at its start.
//! 2. [`start`] adds to it what the call alone brings: directory, variables, and the filters on them.
//! 3. After the command, what it changed is applied to whatever is current by then ([`Session::commit`]).
//!
//! [`login`] asks the user's login shell for its environment, [`store`] keeps sessions with a name, [`steps`] what each
//! command changed in them. How a shell gets
//! into a state is left to [`crate::state`], running it to `spawn`.

mod current;
pub mod difference;
mod inherited;
pub mod login;
pub mod moving;
mod proxies;
mod standing;
mod start;
pub mod steps;
pub mod store;
mod value;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use crate::consent::Bound;
use crate::enclosure::Enclosure;
use crate::error::SessionError;
use crate::lock::Lock;
use crate::ports::HeldPort;
use crate::sandbox::policy::Widening;
use crate::state::change::Change;
use crate::state::environment::{EnvironmentPolicy, RemovedVariable};
use crate::state::{ShellState, Variable};
use crate::warm::afterwork::{Afterwork, BranchNumber, Owed, OwedWork};
use crate::warm::pool::Pool;
use chiton_redact::{Reference, SecretValue};
use current::Current;
pub(crate) use inherited::Origin;
pub use inherited::{FreshState, Inherited};
use login::LoginEnvironment;
pub(crate) use proxies::ProxyVariables;
pub(crate) use standing::Standing;
use start::Begun;
pub(crate) use start::{StartingPoint, begin, begin_next};
use store::SessionStore;

/// One shell as an agent knows it: what a command changes is there for the next one.
///
/// Cheap to clone; clones are the same session. [`Session::fork`] makes another one.
#[derive(Clone, Debug)]
pub struct Session {
    inner: Arc<SessionInner>,
}

#[derive(Clone, Debug)]
struct SessionInner {
    name: Option<Arc<str>>,
    client: Option<Arc<str>>,
    branch: Arc<Branch>,
    /// The branch that this one left, where it did: the next command starts from there.
    trunk: Option<Arc<Branch>>,
    shared: Arc<Shared>,
    /// Shells that wait for its next commands.
    pool: Arc<Pool>,
    origin: Origin,
    /// Where it is written down, where it has a name.
    store: Option<SessionStore>,
}

/// A state that goes its own way.
#[derive(Debug)]
struct Branch {
    number: BranchNumber,
    current: Lock<Current>,
    /// What belongs to answers that have left already.
    late_notices: Lock<Vec<String>>,
    /// What commands would have changed that were only tried.
    previewed: Lock<Vec<PendingState>>,
}

/// What a command would change in its session, once a person has committed what it did to files.
#[derive(Debug)]
pub(crate) struct PendingState {
    /// The preview, and whether that was committed.
    pub(crate) preview: String,
    pub(crate) is_committed: IsCommitted,
    /// What the state was when the command began.
    pub(crate) before: Arc<ShellState>,
    pub(crate) change: Change,
}

/// Tells whether a preview was committed, or that it is gone.
pub(crate) struct IsCommitted(pub(crate) Box<dyn Fn() -> Option<bool> + Send>);

impl std::fmt::Debug for IsCommitted {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("IsCommitted")
    }
}

impl Branch {
    fn state(&self) -> Arc<ShellState> {
        self.current.lock().state()
    }
}

/// What the branches of one session have in common.
#[derive(Debug, Default)]
struct Shared {
    /// Connections to keepers whose runs end with this session.
    held: Lock<Vec<UnixStream>>,
    /// What a person has agreed to for as long as it lasts.
    agreed: Lock<HashSet<Bound>>,
    /// Tasks this session started. Locked while one more is started, so that a limit is never overrun.
    tasks: tokio::sync::Mutex<Vec<String>>,
    /// What its commands have named: masked in all that follow.
    secrets: Lock<BTreeSet<Reference>>,
    /// The ports that its commands have named.
    ports: Lock<BTreeMap<String, HeldPort>>,
    /// What became of the environment that its first state was made from.
    inherited: Lock<Inherited>,
    /// What its commands are held in.
    enclosure: Lock<Option<Arc<Enclosure>>>,
    /// What they were held in before, until the next one is made.
    former_enclosure: Lock<Option<Arc<Enclosure>>>,
    /// What a person has allowed its commands beyond their sandbox's profile.
    widened: Lock<Vec<Widening>>,
    /// What a person did not want to allow them: nobody asks again.
    unwidened: Lock<HashSet<Widening>>,
    /// What its sandbox makes of the variables that name a proxy.
    proxies: Lock<ProxyVariables>,
    /// Variables whose absence was told.
    told: Lock<BTreeSet<String>>,
    /// Whether the state has what the login shell says.
    is_logged_in: AtomicBool,
    afterwork: Arc<Afterwork>,
    /// What the last command started from, and from which state that was made.
    begun: Lock<Option<Begun>>,
}

impl Session {
    /// A session that starts from this state.
    pub fn new(start: impl Into<FreshState>) -> Self {
        let FreshState { state, inherited } = start.into();
        let branch = Branch {
            number: BranchNumber::default(),
            current: Lock::new(Current::new(Arc::new(state))),
            late_notices: Lock::default(),
            previewed: Lock::default(),
        };
        let inner = SessionInner {
            origin: Origin::of(&inherited),
            name: None,
            client: None,
            branch: Arc::new(branch),
            trunk: None,
            shared: Arc::new(Shared { inherited: Lock::new(inherited), ..Shared::default() }),
            pool: Arc::default(),
            store: None,
        };
        Self { inner: Arc::new(inner) }
    }

    fn with(self, change: impl FnOnce(&mut SessionInner)) -> Self {
        let mut inner = Arc::unwrap_or_clone(self.inner);
        change(&mut inner);
        Self { inner: Arc::new(inner) }
    }

    /// The same with a name, under which its tasks are known to others.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.with(|inner| inner.name = Some(name.into()))
    }

    /// The same, which is written down here under its name.
    #[must_use]
    pub fn stored_in(self, store: &SessionStore) -> Self {
        self.with(|inner| inner.store = Some(store.clone()))
    }

    /// What is written down of it, as one word that changes with that.
    pub(crate) fn stored_mark(&self) -> Option<String> {
        self.inner.store.as_ref()?.mark(self.name()?)
    }

    /// The same, begun at an earlier time by another process.
    #[must_use]
    pub fn begun_at(self, time: SystemTime) -> Self {
        self.with(|inner| inner.origin.began = time)
    }

    /// The same for a client, whose tasks are its own.
    #[must_use]
    pub fn of_client(self, client: &str) -> Self {
        self.with(|inner| inner.client = Some(client.into()))
    }

    /// The same with what waits for its commands already: for a session that is made anew for each call.
    #[must_use]
    pub fn with_warmth(self, warmth: &Warmth) -> Self {
        self.with(|inner| inner.pool = Arc::clone(&warmth.0))
    }

    /// A copy of its state that goes its own way. What runs in it still belongs to this session: its tasks are counted
    /// and ended with it.
    #[must_use]
    pub fn branch(&self) -> Self {
        let number = self.inner.shared.afterwork.branch();
        let branch = Branch {
            number,
            current: Lock::new(Current::new(self.state())),
            late_notices: Lock::default(),
            previewed: Lock::default(),
        };
        self.clone().with(|inner| {
            let left = std::mem::replace(&mut inner.branch, Arc::new(branch));
            inner.trunk.get_or_insert(left);
        })
    }

    /// Its name.
    pub fn name(&self) -> Option<&str> {
        self.inner.name.as_deref()
    }

    /// The client it belongs to.
    pub fn client(&self) -> Option<&str> {
        self.inner.client.as_deref()
    }

    /// The shells that wait for its commands.
    pub(crate) fn pool(&self) -> &Arc<Pool> {
        &self.inner.pool
    }

    /// What its commands are held in.
    pub(crate) fn enclosure(&self) -> &Lock<Option<Arc<Enclosure>>> {
        &self.inner.shared.enclosure
    }

    /// What its commands were held in before that has to be made anew.
    pub(crate) fn former_enclosure(&self) -> &Lock<Option<Arc<Enclosure>>> {
        &self.inner.shared.former_enclosure
    }

    /// Says what becomes of the variables that name a proxy, for the commands that follow.
    pub(crate) fn set_proxies(&self, proxies: ProxyVariables) {
        let shared = &self.inner.shared;
        let mut held = shared.proxies.lock();
        if *held != proxies {
            *held = proxies;
            // It was made with others.
            *shared.begun.lock() = None;
        }
    }

    /// The tasks that it has started.
    pub(crate) fn tasks(&self) -> &tokio::sync::Mutex<Vec<String>> {
        &self.inner.shared.tasks
    }
}

/// The state.
impl Session {
    /// The state right now. After an answer that was wanted first, see [`Session::settled`].
    pub fn state(&self) -> Arc<ShellState> {
        self.inner.branch.state()
    }

    /// The directory that it is in right now.
    pub(crate) fn directory(&self) -> PathBuf {
        self.inner.branch.current.lock().directory()
    }

    /// The state that its next command is likely to start from.
    pub(crate) fn next_state(&self) -> Arc<ShellState> {
        self.inner.trunk.as_ref().unwrap_or(&self.inner.branch).state()
    }

    /// Takes over a state that came out of this session.
    pub fn take_over(&self, state: ShellState) {
        self.inner.branch.current.lock().set(Arc::new(state));
    }

    /// Sets the state, for instance back to an earlier one.
    pub fn restore(&self, state: Arc<ShellState>) {
        self.inner.branch.current.lock().set(state);
        self.inner.shared.is_logged_in.store(false, Ordering::Relaxed);
    }

    /// Applies what a command changed to the state as it is now, which another command may have moved on meanwhile.
    pub(crate) fn commit(&self, change: &Change) {
        if !change.is_empty() {
            self.inner.branch.current.lock().commit(change.clone());
        }
    }

    /// Takes back what the last command changed that changed anything, of the last sixteen; false where there is none. Files
    /// stay as they are.
    pub fn undo(&self) -> bool {
        let earlier = self.inner.branch.current.lock().take_earlier();
        earlier.is_some_and(|state| {
            self.restore(state);
            true
        })
    }

    /// Another session that starts as this one is now, and has nothing else to do with it.
    #[must_use]
    pub fn fork(&self) -> Self {
        let inherited = self.inner.shared.inherited.lock().clone();
        Self::new(FreshState { state: ShellState::clone(&self.state()), inherited })
    }

    /// Has what a command changed taken over when its preview is committed.
    pub(crate) fn await_commit(&self, pending: PendingState) {
        self.inner.branch.previewed.lock().push(pending);
    }

    /// Takes over what was changed by commands whose previews a person has committed meanwhile, if nothing else has changed
    /// the state since.
    pub(crate) fn take_over_committed(&self) {
        let mut waiting = self.inner.branch.previewed.lock();
        if waiting.is_empty() {
            return;
        }
        let (decided, undecided) = waiting.drain(..).partition(|pending| (pending.is_committed.0)() != Some(false));
        *waiting = undecided;
        let committed = Vec::into_iter(decided).filter(|pending| (pending.is_committed.0)() == Some(true));
        for PendingState { preview, before, mut change, .. } in committed {
            if *self.state() == *before {
                change.find_directory();
                self.commit(&change);
                self.say_later(format!("{preview} was committed, and with it what it changed in this session"));
            } else {
                let why = "which has changed since";
                self.say_later(format!("{preview} was committed, but not what it changed in this session, {why}"));
            }
        }
    }

    /// Goes to another directory: the own one is gone, and the next command begins by going there.
    pub(crate) fn move_to(&self, standing: &Standing) {
        let before = self.state();
        let (cwd, real_cwd) = (standing.path.clone(), standing.real.clone());
        self.inner.branch.current.lock().set(Arc::new(ShellState { cwd, real_cwd, ..ShellState::clone(&before) }));
    }

    /// Goes on in the nearest directory where the own one is lost, so that this is told once. Gives the error as it is to
    /// be told: with the place where the session is now.
    pub(crate) fn leave_lost_directory(&self, mut error: SessionError) -> SessionError {
        let (SessionError::DirectoryGone { path, nearest, .. } | SessionError::DirectorySwapped { path, nearest, .. }) =
            &mut error
        else {
            return error;
        };
        if let Ok(standing) = Standing::at(nearest.clone()) {
            for branch in self.inner.trunk.iter().chain([&self.inner.branch]) {
                let mut current = branch.current.lock();
                // Another command may have gone elsewhere meanwhile, or have been told the same.
                let state = current.state();
                if state.cwd == *path {
                    let (cwd, real_cwd) = (standing.path.clone(), standing.real.clone());
                    current.set(Arc::new(ShellState { cwd, real_cwd, ..ShellState::clone(&state) }));
                }
            }
        }
        nearest.clone_from(&self.state().cwd);
        error
    }

    /// Adds what the login shell says, once. Gives the passwords of its proxies, which are to be masked.
    pub(crate) async fn log_in(
        &self,
        login: &LoginEnvironment,
        policy: &EnvironmentPolicy,
    ) -> Vec<(Reference, SecretValue)> {
        let Shared { is_logged_in, inherited, .. } = &*self.inner.shared;
        if is_logged_in.load(Ordering::Relaxed) {
            return Vec::new();
        }
        // A login shell that says nothing keeps no command from running; `chiton env` reports it.
        let Ok(mut variables) = login.answer().await else { return Vec::new() };
        if is_logged_in.swap(true, Ordering::Relaxed) {
            return Vec::new();
        }

        let before = self.state();
        let own = before.variables.get("PATH").and_then(Variable::scalar);
        let mut inherited = inherited.lock();
        if own != inherited.path.as_deref() {
            variables.remove("PATH");
        }
        let mut state = ShellState::clone(&before);
        let taken = login::add(&mut state, variables, policy);
        inherited.withhold(taken.removed);
        inherited.own.extend(taken.own);
        self.commit(&Change::between(&before, state));
        taken.masked
    }
}

/// What follows answers.
impl Session {
    /// Waits until nothing is on its way any more of commands answered so far: the state has what they have changed, and
    /// they are found among the runs. See [`crate::AnswerMode::BeforeState`].
    pub async fn settled(&self) {
        self.inner.shared.afterwork.settled().await;
    }

    /// Waits until the state has what commands answered so far have changed. Every command does so.
    pub async fn ready(&self) {
        self.inner.shared.afterwork.ready(self.inner.branch.number).await;
    }

    /// An answer leaves before the state has come.
    pub(crate) fn owe_state(&self) -> OwedWork {
        self.inner.shared.afterwork.owe(Owed::State(self.inner.branch.number))
    }

    /// An answer leaves before its record is written.
    pub(crate) fn owe_record(&self) -> OwedWork {
        self.inner.shared.afterwork.owe(Owed::Record)
    }

    /// Has something said with the next answer, since the one that it belongs to has left.
    pub(crate) fn say_later(&self, notice: String) {
        self.inner.branch.late_notices.lock().push(notice);
    }

    /// What is to be said with the next answer.
    pub(crate) fn take_late_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.inner.branch.late_notices.lock())
    }
}

/// What lasts as long as the session.
impl Session {
    /// Those of `missed` that it was not told about yet; from now on it was.
    pub(crate) fn tell<'a>(&self, missed: Vec<&'a RemovedVariable>) -> Vec<&'a RemovedVariable> {
        let mut told = self.inner.shared.told.lock();
        missed.into_iter().filter(|variable| told.insert(variable.name.clone())).collect()
    }

    /// What its commands may do beyond their sandbox's profile.
    pub(crate) fn widened(&self) -> Vec<Widening> {
        self.inner.shared.widened.lock().clone()
    }

    /// Lets its commands do more from now on; what they are held in is made anew.
    pub(crate) fn widen(&self, by: &[Widening]) {
        self.inner.shared.widened.lock().extend_from_slice(by);
        let former = self.enclosure().lock().take();
        *self.former_enclosure().lock() = former;
    }

    /// Whether a person may be asked to allow its commands this.
    pub(crate) fn may_be_widened(&self, by: &Widening) -> bool {
        !self.inner.shared.unwidened.lock().contains(by)
    }

    /// Notes that a person did not want to allow its commands this.
    pub(crate) fn leave_unwidened(&self, by: &[Widening]) {
        self.inner.shared.unwidened.lock().extend(by.iter().cloned());
    }

    pub(crate) fn agree(&self, bound: Bound) {
        self.inner.shared.agreed.lock().insert(bound);
    }

    pub(crate) fn has_agreed(&self, bound: Bound) -> bool {
        self.inner.shared.agreed.lock().contains(&bound)
    }

    /// Since when it is there, and what it came with.
    pub(crate) fn origin(&self) -> &Origin {
        &self.inner.origin
    }

    /// The secrets that its commands have named so far.
    pub fn secrets(&self) -> BTreeSet<Reference> {
        self.inner.shared.secrets.lock().clone()
    }

    /// Its commands have named these, perhaps in another process.
    pub fn uses<'a>(&self, references: impl IntoIterator<Item = &'a Reference>) {
        self.inner.shared.secrets.lock().extend(references.into_iter().cloned());
    }

    /// The number of the port that its commands call by this name.
    pub(crate) fn port(&self, name: &str) -> Option<u16> {
        self.inner.shared.ports.lock().get(name).map(|held| held.number)
    }

    /// Its commands call a port by this name from now on.
    pub(crate) fn hold_port(&self, name: &str, port: HeldPort) {
        self.inner.shared.ports.lock().insert(name.to_owned(), port);
    }

    /// Keeps a keeper's run alive as long as this session lives.
    pub(crate) fn hold(&self, connection: UnixStream) {
        let mut held = self.inner.shared.held.lock();
        held.retain(is_open);
        held.push(connection);
    }

    /// Ends what this session's commands left running with [`crate::Lifetime::Session`].
    pub fn close(&self) {
        self.inner.pool.close();
        self.inner.shared.held.lock().clear();
        self.inner.shared.ports.lock().clear();
    }
}

/// Shells that wait for the next commands of a session.
#[derive(Clone, Debug, Default)]
pub struct Warmth(Arc<Pool>);

/// Whether the keeper at the other end is still there. What it reports meanwhile is in its records as well.
fn is_open(connection: &UnixStream) -> bool {
    let mut passed_over = [0; 4096];
    loop {
        match (&mut &*connection).read(&mut passed_over) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::WouldBlock,
        }
    }
}
