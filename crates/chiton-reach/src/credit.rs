//! How many bytes of a stream the other side still takes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Notify;

/// Room on the other side.
#[derive(Debug)]
pub(crate) struct Credit {
    left: AtomicU64,
    closed: AtomicBool,
    more: Notify,
}

impl Credit {
    pub(crate) fn new(bytes: u64) -> Self {
        Self { left: AtomicU64::new(bytes), closed: AtomicBool::new(false), more: Notify::new() }
    }

    /// Waits until there is room, and says how much; none means that there will never be any.
    pub(crate) async fn room(&self) -> usize {
        loop {
            if self.closed.load(Ordering::Acquire) {
                return 0;
            }
            match self.left.load(Ordering::Acquire) {
                0 => self.more.notified().await,
                left => return usize::try_from(left).unwrap_or(usize::MAX),
            }
        }
    }

    pub(crate) fn spend(&self, bytes: usize) {
        self.left.fetch_sub(bytes as u64, Ordering::AcqRel);
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.more.notify_one();
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.left.fetch_add(bytes, Ordering::AcqRel);
        self.more.notify_one();
    }
}
