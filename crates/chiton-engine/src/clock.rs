//! Moments as they are written down: in milliseconds since 1970.

use std::time::{SystemTime, UNIX_EPOCH};

/// This moment.
pub fn now_ms() -> u64 {
    ms_since_1970(SystemTime::now())
}

/// A moment; 0 where it is before 1970.
pub fn ms_since_1970(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
