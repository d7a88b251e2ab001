//! What a session starts from, and what it did not take over from the environment of its process.

use std::collections::BTreeMap;

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
