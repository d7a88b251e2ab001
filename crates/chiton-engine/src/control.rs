//! The caller's hand on a running command.

use std::time::Duration;

use tokio::sync::watch;

use crate::protocol::Control;
use crate::run::StopCause;

/// Stops a run from outside while another task waits for it. Clones hold the same run.
#[derive(Clone, Debug)]
pub struct RunControl {
    requests: watch::Sender<Option<StopRequest>>,
}

#[derive(Clone, Copy, Debug)]
struct StopRequest {
    cause: StopCause,
    grace: Option<Duration>,
}

impl RunControl {
    /// For one run.
    pub fn new() -> Self {
        Self { requests: watch::Sender::new(None) }
    }

    /// Withdraws the call: the run ends as [`crate::Outcome::Cancelled`], after the usual grace.
    pub fn cancel(&self) {
        self.request(StopCause::Cancelled, None);
    }

    /// Withdraws the call, with this grace. A later request can shorten the grace, not change the cause.
    pub fn cancel_within(&self, grace: Duration) {
        self.request(StopCause::Cancelled, Some(grace));
    }

    /// Ends the run as [`crate::Outcome::Killed`], after the usual grace.
    pub fn kill(&self) {
        self.request(StopCause::Killed, None);
    }

    /// Comes back once somebody has asked to stop, for calls that only wait.
    pub async fn stopped(&self) {
        let mut requests = self.requests.subscribe();
        // Not the guard of the value itself: it must not live across a wait.
        let _ = requests.wait_for(Option::is_some).await.map(|_| ());
    }

    fn request(&self, cause: StopCause, grace: Option<Duration>) {
        self.requests.send_replace(Some(StopRequest { cause, grace }));
    }

    pub(crate) fn watch(&self) -> StopWatch {
        let mut requests = self.requests.subscribe();
        // A request made before the run began counts as well.
        requests.mark_changed();
        StopWatch { requests, _control: self.clone() }
    }
}

impl Default for RunControl {
    fn default() -> Self {
        Self::new()
    }
}

/// The run's side of a [`RunControl`].
pub(crate) struct StopWatch {
    requests: watch::Receiver<Option<StopRequest>>,
    /// Keeps the channel open, so that waiting on it never ends by itself.
    _control: RunControl,
}

impl StopWatch {
    /// The next request to stop. Cancel-safe: a request that is not returned is seen by the next call.
    pub(crate) async fn next(&mut self) -> Control {
        loop {
            if self.requests.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            if let Some(StopRequest { cause, grace }) = *self.requests.borrow_and_update() {
                return Control::Stop { cause, grace };
            }
        }
    }
}
