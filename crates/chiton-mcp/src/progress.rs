//! What a client is told while a command runs: new output, at most ten times a second, and a sign of life in silence.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use crate::operator::Heard;

/// The least time between two messages.
const PACE: Duration = Duration::from_millis(100);
/// The longest silence.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Output that waits for a client that does not read. Beyond it the oldest goes: the result has all of it anyway.
const MOST_WAITING: usize = 256 << 10;

/// Output on its way to the client.
#[derive(Clone, Default)]
pub(crate) struct Progress {
    waiting: Arc<Mutex<Vec<u8>>>,
    more: Arc<Notify>,
}

impl Progress {
    /// What the operator calls with new output.
    pub(crate) fn ear(&self) -> Heard {
        let progress = self.clone();
        Arc::new(move |bytes| {
            let mut waiting = progress.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.extend_from_slice(bytes);
            let surplus = waiting.len().saturating_sub(MOST_WAITING);
            waiting.drain(..surplus);
            progress.more.notify_one();
        })
    }

    /// Tells the client until the future is dropped. `progress` is the time in milliseconds, so it always increases.
    pub(crate) async fn tell(self, peer: Peer<RoleServer>, token: ProgressToken) {
        let begun = Instant::now();
        loop {
            let message = if timeout(HEARTBEAT, self.more.notified()).await.is_ok() {
                self.take()
            } else {
                Some(format!("running for {} s", begun.elapsed().as_secs()))
            };
            if let Some(message) = message {
                #[expect(clippy::cast_precision_loss, reason = "milliseconds of a command's run")]
                let elapsed = begun.elapsed().as_micros() as f64 / 1000.0;
                let mut report = ProgressNotificationParam::new(token.clone(), elapsed);
                report.message = Some(message);
                if peer.notify_progress(report).await.is_err() {
                    return;
                }
            }
            sleep(PACE).await;
        }
    }

    /// Whole characters that wait.
    fn take(&self) -> Option<String> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let whole = match std::str::from_utf8(&waiting) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => waiting.len(),
        };
        let bytes: Vec<u8> = waiting.drain(..whole).collect();
        (!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }
}
