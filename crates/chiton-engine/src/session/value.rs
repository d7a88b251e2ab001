//! What a session with a name is at one moment, and what one command changed in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::difference::{self, Difference};
use crate::state::moving::{LeftBehind, stays_unset};
use crate::state::{ShellState, bash};

/// What one command changed in a session that has a name: as it was before, and as it was then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionChange {
    /// The session.
    pub session: String,
    pub(super) before: SessionValue,
    pub(super) after: SessionValue,
}

/// What a session that has a name is at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionValue {
    pub(super) state: ShellState,
    pub(super) removed: BTreeSet<String>,
}

impl SessionValue {
    /// Where its next command starts.
    pub fn directory(&self) -> &Path {
        &self.state.cwd
    }

    /// What its commands have set. Variables that every process inherits are not among it.
    pub fn state(&self) -> &ShellState {
        &self.state
    }

    /// Inherited variables that its commands have unset.
    pub fn removed(&self) -> &BTreeSet<String> {
        &self.removed
    }

    /// What is different in `later`.
    pub fn differences(&self, later: &Self) -> Vec<Difference> {
        difference::between((&self.state, &self.removed), (&later.state, &later.removed))
    }

    /// The same for another machine, and what stays behind: see [`ShellState::without_machine`].
    pub fn without_machine(&self, home: &Path) -> (Self, Vec<LeftBehind>) {
        let (state, left) = self.state.without_machine(home);
        let removed = self.removed.iter().filter(|name| stays_unset(name)).cloned().collect();
        (Self { state, removed }, left)
    }

    /// A script that brings a bash into it: what a person may source to go on by hand.
    pub fn as_script(&self) -> Vec<u8> {
        bash::load::script_for_people(&self.state, &self.removed)
    }
}

impl SessionChange {
    /// What changed, thing by thing.
    pub fn differences(&self) -> Vec<Difference> {
        self.before.differences(&self.after)
    }

    /// The same without all that stayed as it was.
    pub(super) fn reduced(&self) -> Self {
        let (mut before, mut after) = (self.before.clone(), self.after.clone());
        drop_equal(&mut before.state.variables, &mut after.state.variables);
        drop_equal(&mut before.state.functions, &mut after.state.functions);
        drop_equal(&mut before.state.aliases, &mut after.state.aliases);
        drop_equal(&mut before.state.shopt, &mut after.state.shopt);
        drop_equal(&mut before.state.options, &mut after.state.options);
        let both: Vec<String> = before.removed.intersection(&after.removed).cloned().collect();
        for name in both {
            before.removed.remove(&name);
            after.removed.remove(&name);
        }
        Self { session: self.session.clone(), before, after }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.before == self.after
    }

    /// The way back.
    pub(super) fn reversed(&self) -> Self {
        Self { session: self.session.clone(), before: self.after.clone(), after: self.before.clone() }
    }
}

fn drop_equal<Key: Ord + Clone, Kept: PartialEq>(one: &mut BTreeMap<Key, Kept>, other: &mut BTreeMap<Key, Kept>) {
    let equal: Vec<Key> =
        one.iter().filter(|(key, kept)| other.get(*key) == Some(kept)).map(|(key, _)| key.clone()).collect();
    for key in equal {
        one.remove(&key);
        other.remove(&key);
    }
}
