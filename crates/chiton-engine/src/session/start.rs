//! What one command starts from: the session's state with what its call alone adds to it.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::Session;
use crate::error::SessionError;
use crate::request::EnvironmentChange;
use crate::state::environment::{self, EnvironmentPolicy, Origin, RemovedVariable};
use crate::state::{DirectoryId, ShellState, Value, Variable};

/// What one command starts from.
#[derive(Clone, Debug)]
pub(crate) struct StartingPoint {
    pub(crate) state: Arc<ShellState>,
    /// The directory it is in, whatever has that name by now.
    pub(crate) directory_id: Option<DirectoryId>,
    pub(crate) removed: Vec<RemovedVariable>,
    pub(crate) notices: Vec<String>,
}

/// A state, and what a command started from that was made of it.
pub(super) type Begun = (Arc<ShellState>, StartingPoint);

/// Prepares the start: directory, environment and filters, in this order of precedence: the call, the session.
pub(crate) fn begin(
    session: &Session,
    directory: Option<&Path>,
    change: &EnvironmentChange,
    policy: &EnvironmentPolicy,
) -> Result<StartingPoint, SessionError> {
    let mut start = begin_from(session.state(), session, directory, change, policy)?;
    for withheld in &session.inner.shared.inherited.lock().withheld {
        if !start.state.variables.contains_key(&withheld.name) && !start.removed.contains(withheld) {
            start.removed.push(withheld.clone());
        }
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
    begin_from(session.next_state(), session, directory, change, policy).ok()
}

/// The start from `base`, which is what the last one was where that began from the same state and adds nothing.
fn begin_from(
    base: Arc<ShellState>,
    session: &Session,
    directory: Option<&Path>,
    change: &EnvironmentChange,
    policy: &EnvironmentPolicy,
) -> Result<StartingPoint, SessionError> {
    let adds_nothing = directory.is_none() && *change == EnvironmentChange::default();
    let last = &session.inner.shared.begun;
    if adds_nothing && let Some(start) = like_last(last.lock().as_ref(), &base) {
        return Ok(start);
    }

    let own = session.inner.shared.inherited.lock().own.clone();
    let start = prepare(&base, directory, change, policy, &own)?;
    if adds_nothing && start.notices.is_empty() {
        *last.lock() = Some((base, start.clone()));
    }
    Ok(start)
}

/// The last start, where this one is from the very same state.
fn like_last(last: Option<&Begun>, base: &Arc<ShellState>) -> Option<StartingPoint> {
    let (_, start) = last.filter(|(last, _)| Arc::ptr_eq(last, base))?;
    id_of(&start.state.cwd).map(|id| StartingPoint { directory_id: Some(id), ..start.clone() })
}

fn prepare(
    base: &ShellState,
    directory: Option<&Path>,
    change: &EnvironmentChange,
    policy: &EnvironmentPolicy,
    own: &BTreeMap<String, Variable>,
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
            notices.push(format!("{name} was kept from the command: it {why}"));
            removed.push(RemovedVariable { name: name.clone(), why: why.into_owned() });
            // What the call may not change stays as it is, also where it wants to start from nothing.
            if let Some(own) = base.variables.get(name) {
                state.variables.insert(name.clone(), own.clone());
            }
            continue;
        }
        state.variables.insert(name.clone(), Variable::exported(Value::Scalar(value.clone())));
    }

    removed.append(&mut policy.filter(&mut state.variables, own));
    removed.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(StartingPoint { directory_id: id_of(&state.cwd), state: Arc::new(state), removed, notices })
}

fn id_of(directory: &Path) -> Option<DirectoryId> {
    let data = std::fs::metadata(directory).ok().filter(std::fs::Metadata::is_dir)?;
    Some((data.dev(), data.ino()))
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
