//! The state that a session is in, and those before it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use crate::state::ShellState;
use crate::state::change::Change;

/// How many earlier states are kept for [`super::Session::undo`].
const MOST_EARLIER: usize = 16;

/// A state, what a command has changed in it, and what it was before.
///
/// The next state is a copy of this one with the changes made, and takes as long to make as it is large. So it is made when
/// somebody asks for it: an answer does not wait for that.
#[derive(Debug)]
pub(super) struct Current {
    state: Arc<ShellState>,
    change: Option<Change>,
    /// What it was before the last commands that changed it, the oldest first.
    earlier: VecDeque<Arc<ShellState>>,
}

impl Current {
    pub(super) fn new(state: Arc<ShellState>) -> Self {
        Self { state, change: None, earlier: VecDeque::new() }
    }

    pub(super) fn state(&mut self) -> Arc<ShellState> {
        if let Some(change) = self.change.take() {
            let next = Arc::new(change.apply(&self.state));
            self.earlier.push_back(std::mem::replace(&mut self.state, next));
            if self.earlier.len() > MOST_EARLIER {
                self.earlier.pop_front();
            }
        }
        Arc::clone(&self.state)
    }

    /// Its directory.
    pub(super) fn directory(&self) -> PathBuf {
        let moved = self.change.as_ref().and_then(Change::directory);
        moved.unwrap_or(&self.state.cwd).to_owned()
    }

    /// Sets it, whatever it was.
    pub(super) fn set(&mut self, state: Arc<ShellState>) {
        self.state();
        self.state = state;
    }

    /// A command has changed this.
    pub(super) fn commit(&mut self, change: Change) {
        self.state();
        self.change = Some(change);
    }

    /// The state before the last change, which is forgotten.
    pub(super) fn take_earlier(&mut self) -> Option<Arc<ShellState>> {
        self.state();
        self.earlier.pop_back()
    }
}
