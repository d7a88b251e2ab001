//! What a session starts from, and what it did not take over from the environment of its process.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use crate::bytes::ByteString;
use crate::state::environment::RemovedVariable;
use crate::state::{ShellState, Variable};

/// The state of a shell that was just started, and where it comes from.
#[derive(Clone, Debug)]
pub struct FreshState {
    /// The state.
    pub state: ShellState,
    /// What became of the environment that it was made from.
    pub inherited: Inherited,
}

/// A state by itself, of which nobody knows where it comes from.
impl From<ShellState> for FreshState {
    fn from(state: ShellState) -> Self {
        Self { state, inherited: Inherited::default() }
    }
}

/// What became of the environment that a state was made from.
#[derive(Clone, Debug, Default)]
pub struct Inherited {
    /// What was not taken over. Every response says so.
    pub(crate) withheld: Vec<RemovedVariable>,
    /// What passes only as it is there.
    pub(crate) own: BTreeMap<String, Variable>,
    /// The `PATH` that was taken over: one that a command has changed is its own business.
    pub(crate) path: Option<ByteString>,
    /// The home directory that was taken over.
    pub(crate) home: Option<ByteString>,
}

/// Since when a session is there, and what programs that the engine itself asks about its files run with.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) began: SystemTime,
    pub(crate) environment: Arc<[(&'static str, Vec<u8>)]>,
}

impl Origin {
    pub(super) fn of(inherited: &Inherited) -> Self {
        let set = [("PATH", &inherited.path), ("HOME", &inherited.home)];
        let set = set.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?.to_vec())));
        Self { began: SystemTime::now(), environment: set.collect() }
    }
}

impl Inherited {
    /// These were not taken over either.
    pub(super) fn withhold(&mut self, variables: Vec<RemovedVariable>) {
        for variable in variables {
            if !self.withheld.contains(&variable) {
                self.withheld.push(variable);
            }
        }
    }
}
