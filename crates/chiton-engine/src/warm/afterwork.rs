//! What follows an answer, and the one place that waits for it.
//!
//! An answer may leave before everything is done that its command asks for. The rest is one entry of this queue until
//! the engine is through with it, in this order:
//!
//! 1. The state that the shell hands back is in the session. The session's next command waits for that
//!    ([`Afterwork::ready`]).
//! 2. The journal has the line about the end, and the keeper has recorded the run. Whoever looks for runs waits for
//!    that ([`Afterwork::settled`]).
//!
//! Nobody waits for what comes then: the keeper gets a shell for the next command, and old runs are swept.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch;

/// What an answer did not wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owed {
    /// The state of this branch, and the record with it.
    State(BranchNumber),
    /// The record alone: the command left its shell as it was.
    Record,
}

/// Tells the branches of one session apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BranchNumber(u64);

/// What follows the answers of one session and its branches.
#[derive(Debug, Default)]
pub(crate) struct Afterwork {
    queue: watch::Sender<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    owed: BTreeMap<u64, Owed>,
    /// The number of the next entry.
    next: u64,
    branches: u64,
}

impl Afterwork {
    /// A number for a new branch.
    pub(crate) fn branch(&self) -> BranchNumber {
        let mut number = 0;
        self.queue.send_modify(|queue| {
            queue.branches += 1;
            number = queue.branches;
        });
        BranchNumber(number)
    }

    /// An answer leaves now and owes this. Whoever waits goes on when the entry is dropped.
    pub(crate) fn owe(self: &Arc<Self>, owed: Owed) -> OwedWork {
        let mut number = 0;
        self.queue.send_modify(|queue| {
            number = queue.next;
            queue.next += 1;
            queue.owed.insert(number, owed);
        });
        OwedWork { afterwork: Arc::clone(self), number, owed }
    }

    /// Waits until the state of `branch` has what commands answered so far have changed.
    pub(crate) async fn ready(&self, branch: BranchNumber) {
        self.wait_for(|owed| owed == Owed::State(branch)).await;
    }

    /// Waits until nothing of this branch and no record is owed by commands answered so far.
    pub(crate) async fn settled(&self) {
        self.wait_for(|_| true).await;
    }

    /// Waits for what is owed now, not for what is added meanwhile.
    async fn wait_for(&self, matters: impl Fn(Owed) -> bool) {
        let next = self.queue.borrow().next;
        let is_done = |queue: &Queue| !queue.owed.range(..next).any(|(_, owed)| matters(*owed));
        if is_done(&self.queue.borrow()) {
            return;
        }

        let mut watched = self.queue.subscribe();
        // Not the guard of the value itself: it must not live across a wait.
        let _ = watched.wait_for(is_done).await.map(|_| ());
    }
}

/// What one answer owes. Dropping it says that this has come, or never will.
#[derive(Debug)]
pub(crate) struct OwedWork {
    afterwork: Arc<Afterwork>,
    number: u64,
    owed: Owed,
}

impl OwedWork {
    /// Whether the state is owed, too.
    pub(crate) fn owes_state(&self) -> bool {
        matches!(self.owed, Owed::State(_))
    }
}

impl Drop for OwedWork {
    fn drop(&mut self) {
        self.afterwork.queue.send_modify(|queue| {
            queue.owed.remove(&self.number);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    fn is_ready(future: impl Future<Output = ()>) -> bool {
        pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn a_branch_s_state_holds_up_its_own_commands_and_every_look_at_the_runs() {
        let afterwork = Arc::new(Afterwork::default());
        let (trunk, branch) = (BranchNumber::default(), afterwork.branch());

        let state = afterwork.owe(Owed::State(branch));
        assert!(is_ready(afterwork.ready(trunk)));
        assert!(!is_ready(afterwork.ready(branch)));
        assert!(!is_ready(afterwork.settled()));

        drop(state);
        assert!(is_ready(afterwork.ready(branch)) && is_ready(afterwork.settled()));
    }

    #[test]
    fn a_record_holds_up_no_command() {
        let afterwork = Arc::new(Afterwork::default());
        let _record = afterwork.owe(Owed::Record);
        assert!(is_ready(afterwork.ready(BranchNumber::default())));
        assert!(!is_ready(afterwork.settled()));
    }

    #[test]
    fn nobody_waits_for_what_is_owed_later() {
        let afterwork = Arc::new(Afterwork::default());
        let first = afterwork.owe(Owed::Record);
        let mut waiting = pin!(afterwork.settled());
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());

        let _second = afterwork.owe(Owed::Record);
        drop(first);
        assert!(waiting.as_mut().poll(&mut context).is_ready());
    }
}
