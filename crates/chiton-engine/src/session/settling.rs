//! Answers that came before the state did.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::watch;

use crate::lock::Lock;

/// What is on its way to a session.
#[derive(Debug, Default)]
pub(super) struct Settling {
    /// The numbers of those that are not there yet, and the next one.
    open: watch::Sender<(BTreeSet<u64>, u64)>,
    pub(super) notices: Lock<Vec<String>>,
}

impl Settling {
    pub(super) fn begin(self: &Arc<Self>) -> Unsettled {
        let mut number = 0;
        self.open.send_modify(|(open, next)| {
            number = *next;
            *next += 1;
            open.insert(number);
        });
        Unsettled { settling: Arc::clone(self), number }
    }

    /// Waits for those that are on their way now; not for those that begin meanwhile.
    pub(super) async fn wait(&self) {
        let next = self.open.borrow().1;
        if self.open.borrow().0.is_empty() {
            return;
        }
        let mut watched = self.open.subscribe();
        // Not the guard of the value itself: it must not live across a wait.
        let _ = watched.wait_for(|(open, _)| open.first().is_none_or(|first| *first >= next)).await.map(|_| ());
    }
}

/// A state that is on its way. Dropping it says that it has come, or never will.
#[derive(Debug)]
pub(crate) struct Unsettled {
    settling: Arc<Settling>,
    number: u64,
}

impl Drop for Unsettled {
    fn drop(&mut self) {
        self.settling.open.send_modify(|(open, _)| {
            open.remove(&self.number);
        });
    }
}
