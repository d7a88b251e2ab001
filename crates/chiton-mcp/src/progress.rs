//! What a client receives while a command runs: new output, at most ten times a second, and a sign of life in silence.

use std::sync::Arc;
use std::time::Duration;

use chiton_engine::Lock;
use chiton_engine::terminal::text::whole_characters;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

/// The least time between two messages.
const PACE: Duration = Duration::from_millis(100);
/// The longest silence.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Output that waits for a client that does not read. Beyond this the oldest is dropped: the result has all of it anyway.
const MOST_WAITING: usize = 256 << 10;

/// Output on its way to the client.
#[derive(Clone, Default)]
pub(crate) struct OutputProgress {
    waiting: Arc<Lock<Vec<u8>>>,
    more: Arc<Notify>,
    over: Arc<Notify>,
}

/// The task that sends it.
pub(crate) struct Sending {
    over: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Sending {
    /// Ends it, after the message that is on its way: nothing may follow the answer.
    pub(crate) async fn end(self) {
        self.over.notify_one();
        let _ = self.task.await;
    }
}

impl OutputProgress {
    /// Takes new output.
    pub(crate) fn add(&self, bytes: &[u8]) {
        let mut waiting = self.waiting.lock();
        waiting.extend_from_slice(bytes);
        let surplus = waiting.len().saturating_sub(MOST_WAITING);
        waiting.drain(..surplus);
        self.more.notify_one();
    }

    /// Sends it to the client from now on. `progress` is the time in milliseconds, so it always increases.
    pub(crate) fn send(&self, peer: Peer<RoleServer>, token: ProgressToken) -> Sending {
        let (progress, begun) = (self.clone(), Instant::now());
        let task = tokio::spawn(async move {
            loop {
                let message = tokio::select! {
                    () = progress.over.notified() => return,
                    more = timeout(HEARTBEAT, progress.more.notified()) => match more {
                        Ok(()) => progress.take(),
                        Err(_) => Some(format!("running for {} s", begun.elapsed().as_secs())),
                    },
                };
                if let Some(message) = message {
                    #[expect(clippy::cast_precision_loss, reason = "milliseconds of a command's run")]
                    let elapsed = begun.elapsed().as_micros() as f64 / 1000.0;
                    let report = ProgressNotificationParam::new(token.clone(), elapsed).with_message(message);
                    if peer.notify_progress(report).await.is_err() {
                        return;
                    }
                }
                tokio::select! {
                    () = progress.over.notified() => return,
                    () = sleep(PACE) => {}
                }
            }
        });
        Sending { over: Arc::clone(&self.over), task }
    }

    /// Whole characters that wait.
    fn take(&self) -> Option<String> {
        let mut waiting = self.waiting.lock();
        let whole = whole_characters(&waiting);
        let bytes: Vec<u8> = waiting.drain(..whole).collect();
        (!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }
}
