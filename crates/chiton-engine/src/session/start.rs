//! What one command starts from: the session's state with what its call alone adds to it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use chiton_guard::WaitingCommand;

use super::Session;
use super::proxies::ProxyVariables;
use super::standing::Standing;
use crate::error::SessionError;
use crate::request::EnvironmentChange;
use crate::run::DirectoryId;
use crate::state::environment::{self, EnvironmentPolicy, Origin, RemovedVariable};
use crate::state::{ShellState, Value, Variable};

/// What one command starts from.
#[derive(Clone, Debug)]
pub(crate) struct StartingPoint {
    pub(crate) state: Arc<ShellState>,
    /// The directory it is in, whatever has that name by now.
    pub(crate) directory_id: DirectoryId,
    pub(crate) removed: Vec<RemovedVariable>,
    pub(crate) notices: Vec<String>,
    /// Programs in the command that would wait for a person.
    pub(crate) waits: Vec<WaitingCommand>,
}

/// A state, and what a command started from that was made of it.
pub(super) type Begun = (Arc<ShellState>, StartingPoint);

/// Prepares the start from `base` in the directory that was found for it: directory, environment and filters, in this
/// order of precedence: the call, the session.
pub(crate) fn begin(
    session: &Session,
    base: Arc<ShellState>,
    standing: &Standing,
    change: &EnvironmentChange,
    policy: &EnvironmentPolicy,
) -> Result<StartingPoint, SessionError> {
    let mut start = begin_from(base, session, standing, change, policy)?;
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
    let base = session.next_state();
    let standing = Standing::of_call(&base, directory).ok()?;
    begin_from(base, session, &standing, change, policy).ok()
}

/// The start from `base`, which is what the last one was where that began from the same state and adds nothing.
fn begin_from(
    base: Arc<ShellState>,
    session: &Session,
    standing: &Standing,
    change: &EnvironmentChange,
    policy: &EnvironmentPolicy,
) -> Result<StartingPoint, SessionError> {
    let adds_nothing = standing.path == base.cwd && *change == EnvironmentChange::default();
    let last = &session.inner.shared.begun;
    if adds_nothing && let Some(start) = like_last(last.lock().as_ref(), &base, standing) {
        return Ok(start);
    }

    let own = session.inner.shared.inherited.lock().own.clone();
    let proxies = session.inner.shared.proxies.lock().clone();
    let start = prepare(&base, standing, change, policy, (&own, &proxies))?;
    if adds_nothing && start.notices.is_empty() {
        *last.lock() = Some((base, start.clone()));
    }
    Ok(start)
}

/// The last start, where this one is from the very same state in the same place.
fn like_last(last: Option<&Begun>, base: &Arc<ShellState>, standing: &Standing) -> Option<StartingPoint> {
    let (_, start) = last.filter(|(last, start)| Arc::ptr_eq(last, base) && start.state.real_cwd == standing.real)?;
    Some(StartingPoint { directory_id: standing.id, ..start.clone() })
}

fn prepare(
    base: &ShellState,
    standing: &Standing,
    change: &EnvironmentChange,
    policy: &EnvironmentPolicy,
    (own, proxies): (&BTreeMap<String, Variable>, &ProxyVariables),
) -> Result<StartingPoint, SessionError> {
    let mut state = base.clone();
    let (mut notices, mut removed) = (Vec::new(), Vec::new());
    state.cwd.clone_from(&standing.path);
    state.real_cwd.clone_from(&standing.real);

    if let EnvironmentChange::Replace(_) = change {
        state.variables.retain(|_, variable| !variable.is_exported() && !variable.is_removed());
        // A call that says what its command sees means it.
        let unset = Variable { attributes: String::new(), value: Value::Unset };
        state.variables.insert(environment::IS_OURS.0.to_owned(), unset);
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
    proxies.apply(&mut state.variables);
    removed.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(StartingPoint { directory_id: standing.id, state: Arc::new(state), removed, notices, waits: Vec::new() })
}
