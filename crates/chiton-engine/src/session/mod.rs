//! Stage 4: what a session is, what a command starts from, and what it leaves behind.
//!
//! 1. A [`Session`] holds the current [`ShellState`], an immutable value; a command starts from the one that is
//!    current at its start.
//! 2. [`bash`] (or [`posix`]) writes a loader from it, a script that brings a fresh shell into that state, and reads
//!    back what the shell printed about itself at its end.
//! 3. [`change`] finds what the command changed and applies just that to whatever is current by then.
//!
//! Running the shell is left to `spawn`; which variables may exist at all to [`environment`].

pub mod login;
mod settling;
pub mod store;

use std::collections::{BTreeSet, HashSet};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::consent::Bound;
use crate::error::SessionError;
use crate::lock::Lock;
use crate::request::EnvironmentChange;
use crate::state::change::Change;
use crate::state::environment::{self, EnvironmentPolicy, Origin, RemovedVariable};
use crate::state::{DirectoryId, ShellState, Value, Variable};
use crate::warm::pool::Pool;
use chiton_redact::Reference;
use settling::Settling;
pub(crate) use settling::Unsettled;

/// One shell as an agent knows it: what a command changes is there for the next one.
///
/// Cheap to clone; clones are the same session. To branch, make a new one from [`Session::state`].
#[derive(Clone, Debug)]
pub struct Session {
    current: Arc<Lock<Arc<ShellState>>>,
    /// Connections to keepers whose runs end with this session.
    held: Arc<Lock<Vec<UnixStream>>>,
    name: Option<Arc<str>>,
    client: Option<Arc<str>>,
    /// What a person has agreed to for as long as it lasts.
    agreed: Arc<Lock<HashSet<Bound>>>,
    /// Tasks this session started. Locked while one more is started, so that a limit is never overrun.
    pub(crate) tasks: Arc<tokio::sync::Mutex<Vec<String>>>,
    /// What its commands have named: masked in all that follow.
    secrets: Arc<Lock<BTreeSet<Reference>>>,
    /// Whether the state has what the login shell says.
    pub(crate) logged_in: Arc<AtomicBool>,
    /// Commands that are answered, and whose shells still hand their state back.
    settling: Arc<Settling>,
    /// Commands that are answered, and whose keepers are still writing that down.
    recording: Arc<Settling>,
    /// The state that this one branched off, where it did: the next command starts from there.
    trunk: Option<Arc<Lock<Arc<ShellState>>>>,
    /// Shells that wait for its next commands.
    pub(crate) pool: Arc<Pool>,
    /// What the last command started from, and from which state that was made.
    begun: Arc<Lock<Option<Begun>>>,
}

impl Session {
    /// A session that starts from `state`.
    pub fn new(state: ShellState) -> Self {
        Self {
            current: Arc::new(Lock::new(Arc::new(state))),
            held: Arc::default(),
            name: None,
            client: None,
            agreed: Arc::default(),
            tasks: Arc::default(),
            secrets: Arc::default(),
            logged_in: Arc::default(),
            settling: Arc::default(),
            recording: Arc::default(),
            trunk: None,
            pool: Arc::default(),
            begun: Arc::default(),
        }
    }

    /// The same with a name, under which its tasks are known to others.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The same for a client, whose tasks are its own.
    #[must_use]
    pub fn of_client(mut self, client: &str) -> Self {
        self.client = Some(client.into());
        self
    }

    /// The client it belongs to.
    pub fn client(&self) -> Option<&str> {
        self.client.as_deref()
    }

    /// A copy of its state that goes its own way. What runs in it still belongs to this session: its tasks are counted
    /// and ended with it.
    #[must_use]
    pub fn branch(&self) -> Self {
        let current = Arc::new(Lock::new(self.state()));
        let trunk = Some(self.trunk.clone().unwrap_or_else(|| Arc::clone(&self.current)));
        Self { current, trunk, settling: Arc::default(), ..self.clone() }
    }

    /// The state that its next command is likely to start from.
    pub(crate) fn next_state(&self) -> Arc<ShellState> {
        let current = self.trunk.as_ref().unwrap_or(&self.current);
        Arc::clone(&current.lock())
    }

    /// Waits until nothing is on its way any more of commands answered so far: the state has what they have changed, and
    /// they are found among the runs. See [`crate::CommandRequest::answer_first`].
    pub async fn settled(&self) {
        self.ready().await;
        self.recording.wait().await;
    }

    /// Waits until the state has what commands answered so far have changed. Every command does so.
    pub async fn ready(&self) {
        self.settling.wait().await;
    }

    /// A command is answered, and its record will follow: until this is dropped.
    pub(crate) fn record_later(&self) -> Unsettled {
        self.recording.begin()
    }

    /// A command is answered, and what it changed will follow: until this is dropped.
    pub(crate) fn settle_later(&self) -> Unsettled {
        self.settling.begin()
    }

    /// What is to be said with the next answer, since the answer that it belongs to was given already.
    pub(crate) fn take_late_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.settling.notices.lock())
    }

    pub(crate) fn say_later(&self, notice: String) {
        self.settling.notices.lock().push(notice);
    }

    /// The same with what waits for its commands already: for a session that is made anew for each call.
    #[must_use]
    pub fn with_warmth(mut self, warmth: &Warmth) -> Self {
        self.pool = Arc::clone(&warmth.0);
        self
    }

    /// Its name.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(crate) fn agree(&self, bound: Bound) {
        self.agreed.lock().insert(bound);
    }

    pub(crate) fn has_agreed(&self, bound: Bound) -> bool {
        self.agreed.lock().contains(&bound)
    }

    /// The secrets that its commands have named so far.
    pub fn secrets(&self) -> BTreeSet<Reference> {
        self.secrets.lock().clone()
    }

    /// Its commands have named these, perhaps in another process.
    pub fn uses<'a>(&self, references: impl IntoIterator<Item = &'a Reference>) {
        self.secrets.lock().extend(references.into_iter().cloned());
    }

    /// The state right now. After an answer that was wanted first, see [`Session::settled`].
    pub fn state(&self) -> Arc<ShellState> {
        Arc::clone(&self.current.lock())
    }

    /// Takes over a state that came out of this session.
    pub fn take_over(&self, state: ShellState) {
        *self.current.lock() = Arc::new(state);
    }

    /// Sets the state, for instance back to an earlier one.
    pub fn restore(&self, state: Arc<ShellState>) {
        *self.current.lock() = state;
        self.logged_in.store(false, Ordering::Relaxed);
    }

    /// Ends what this session's commands left running with [`crate::Lifetime::Session`].
    pub fn close(&self) {
        self.pool.close();
        self.held.lock().clear();
    }

    /// Keeps a keeper's run alive as long as this session lives.
    pub(crate) fn hold(&self, connection: UnixStream) {
        let mut held = self.held.lock();
        held.retain(is_open);
        held.push(connection);
    }

    /// What the last command started from, where this one starts from the very same.
    fn begun_like_last(&self, base: &Arc<ShellState>) -> Option<StartingPoint> {
        let begun = self.begun.lock();
        let (_, start) = begun.as_ref().filter(|(last, _)| Arc::ptr_eq(last, base))?;
        place_of(&start.state.cwd).map(|place| StartingPoint { place: Some(place), ..start.clone() })
    }

    /// Applies what a command changed to the state as it is now, which another command may have moved on meanwhile.
    pub(crate) fn commit(&self, change: &Change) {
        if change.is_empty() {
            return;
        }
        let mut current = self.current.lock();
        *current = Arc::new(change.apply(&current));
    }
}

/// A state, and what a command started from that was made of it.
type Begun = (Arc<ShellState>, StartingPoint);

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

/// What one command starts from: the session's state with what this call alone adds to it.
#[derive(Clone, Debug)]
pub(crate) struct StartingPoint {
    pub(crate) state: Arc<ShellState>,
    /// The directory it is in, whatever has that name by now.
    pub(crate) place: Option<DirectoryId>,
    pub(crate) removed: Vec<RemovedVariable>,
    pub(crate) notices: Vec<String>,
}

fn place_of(directory: &Path) -> Option<DirectoryId> {
    let data = std::fs::metadata(directory).ok().filter(std::fs::Metadata::is_dir)?;
    Some((data.dev(), data.ino()))
}

/// Prepares the start: directory, environment and filters, in this order of precedence: the call, the session.
pub(crate) fn begin(
    session: &Session,
    directory: Option<&Path>,
    change: &EnvironmentChange,
    policy: &EnvironmentPolicy,
) -> Result<StartingPoint, SessionError> {
    let base = session.state();
    let usual = directory.is_none() && *change == EnvironmentChange::default();
    if usual && let Some(start) = session.begun_like_last(&base) {
        return Ok(start);
    }
    let start = prepare(session, &base, directory, change, policy)?;
    if usual && start.notices.is_empty() {
        *session.begun.lock() = Some((base, start.clone()));
    }
    Ok(start)
}

/// What the next command will start from, where nothing changes until then.
pub(crate) fn begin_next(
    session: &Session,
    directory: Option<&Path>,
    change: &EnvironmentChange,
    policy: &EnvironmentPolicy,
) -> Option<StartingPoint> {
    let trunk = Session { current: Arc::new(Lock::new(session.next_state())), ..session.clone() };
    begin(&trunk, directory, change, policy).ok()
}

fn prepare(
    session: &Session,
    base: &ShellState,
    directory: Option<&Path>,
    change: &EnvironmentChange,
    policy: &EnvironmentPolicy,
) -> Result<StartingPoint, SessionError> {
    let mut state = base.clone();
    let (mut notices, mut removed) = (Vec::new(), Vec::new());
    match directory {
        Some(given) => state.cwd = enter_given(&state.cwd, given)?,
        None => enter_own(&mut state, &mut notices)?,
    }
    if let EnvironmentChange::Replace(_) = change {
        state.variables.retain(|_, variable| !variable.is_exported() && !variable.is_removed());
    }
    for (name, value) in change.variables() {
        if !environment::is_name(name) {
            return Err(SessionError::BadVariableName(name.clone()));
        }
        if value.contains(&0) {
            return Err(SessionError::NulInVariable(name.clone()));
        }
        if let Some(why) = policy.objection(name, value, Origin::Call) {
            // What no call ever has is no surprise; what only this one may not set is.
            if policy.objection(name, value, Origin::Session).is_none() {
                notices.push(format!("{name} was kept from the command: it {why}"));
            }
            removed.push(RemovedVariable { name: name.clone(), why: why.to_owned() });
            // What the call may not change stays as it is, also where it wants to start from nothing.
            if let Some(own) = session.state().variables.get(name) {
                state.variables.insert(name.clone(), own.clone());
            }
            continue;
        }
        state.variables.insert(name.clone(), Variable::exported(Value::Scalar(value.clone())));
    }
    removed.append(&mut policy.filter(&mut state.variables));
    removed.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(StartingPoint { place: place_of(&state.cwd), state: Arc::new(state), removed, notices })
}

fn enter_given(current: &Path, given: &Path) -> Result<PathBuf, SessionError> {
    let path = as_bash_names_it(&if given.is_absolute() { given.to_owned() } else { current.join(given) });
    match std::fs::metadata(&path) {
        Ok(data) if data.is_dir() => Ok(path),
        Ok(_) => Err(SessionError::NotADirectory(path)),
        Err(reason) => Err(SessionError::NoSuchDirectory { path, reason }),
    }
}

/// A path without `.` and `..`, taken by their names as `cd` does.
fn as_bash_names_it(path: &Path) -> PathBuf {
    let mut named = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(named.pop()),
            other => named.push(other),
        }
    }
    named
}

/// The session's own directory, or its nearest parent that still exists.
fn enter_own(state: &mut ShellState, notices: &mut Vec<String>) -> Result<(), SessionError> {
    let wanted = state.cwd.clone();
    let found = wanted.ancestors().find(|path| path.is_dir());
    let Some(found) = found.map(Path::to_owned) else {
        let reason = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(SessionError::NoSuchDirectory { path: wanted, reason });
    };
    if found != wanted {
        notices.push(format!(
            "the working directory {} is gone; ran in its nearest existing parent {}",
            wanted.display(),
            found.display()
        ));
        state.cwd = found;
    }
    Ok(())
}
