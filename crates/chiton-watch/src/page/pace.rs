//! How fast a viewer is sent what a run prints.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Bytes a second for one viewer. A person reads a thousandth of it.
const BYTES_PER_SECOND: u32 = 256 << 10;
/// What may be sent at once after a pause.
pub(super) const BURST: u64 = 64 << 10;

/// Lets so many bytes a second pass.
pub(super) struct Pace {
    /// When what was sent so far has been paid for.
    paid_at: Instant,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { paid_at: Instant::now() }
    }

    /// Waits until what was sent before leaves room for more.
    pub(super) async fn wait(&self) {
        let credit = Duration::from_secs(1) * u32::try_from(BURST).unwrap_or(u32::MAX) / BYTES_PER_SECOND;
        if let Some(due) = self.paid_at.checked_sub(credit) {
            sleep_until(due).await;
        }
    }

    /// So many bytes were sent.
    pub(super) fn note(&mut self, bytes: usize) {
        let cost = Duration::from_secs(1) * u32::try_from(bytes).unwrap_or(u32::MAX) / BYTES_PER_SECOND;
        self.paid_at = self.paid_at.max(Instant::now()) + cost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_flood_takes_its_time_and_a_trickle_none() {
        let began = Instant::now();
        let mut pace = Pace::new();
        for _ in 0..100 {
            pace.wait().await;
            pace.note(10);
        }
        assert!(began.elapsed() < Duration::from_millis(200), "{:?}", began.elapsed());
        for _ in 0..8 {
            pace.wait().await;
            pace.note(64 << 10);
        }
        pace.wait().await;
        assert!(began.elapsed() > Duration::from_millis(1500), "{:?}", began.elapsed());
    }
}
