//! Log messages for a client that asks for them.

use std::sync::atomic::{AtomicU8, Ordering};

use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::Value;

/// The level that the client asked for; it receives nothing before that.
pub(crate) struct Log {
    level: AtomicU8,
}

const OFF: u8 = u8::MAX;

impl Log {
    pub(crate) fn new() -> Self {
        Self { level: AtomicU8::new(OFF) }
    }

    pub(crate) fn set(&self, level: LoggingLevel) {
        self.level.store(rank(level), Ordering::Relaxed);
    }

    /// Whether the session asked for this level.
    pub(crate) fn is_wanted(&self, level: LoggingLevel) -> bool {
        rank(level) >= self.level.load(Ordering::Relaxed)
    }

    /// Sends `data`, which no request is about, if the session asked for this level.
    pub(crate) async fn send_unasked(&self, peer: &Peer<RoleServer>, level: LoggingLevel, data: Value) {
        if self.is_wanted(level) {
            let message = LoggingMessageNotificationParam::new(level, data).with_logger("chiton");
            let _ = peer.notify_logging_message(message).await;
        }
    }

    /// Sends `data` if the session or the request itself asked for this level.
    pub(crate) async fn send(
        &self,
        context: &RequestContext<RoleServer>,
        level: LoggingLevel,
        data: impl FnOnce() -> Value + Send,
    ) {
        let asked = self.level.load(Ordering::Relaxed).min(context.meta.log_level().map_or(OFF, rank));
        if rank(level) >= asked {
            let message = LoggingMessageNotificationParam::new(level, data()).with_logger("chiton");
            let _ = context.peer.notify_logging_message(message).await;
        }
    }
}

fn rank(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}
