//! Times on the command line.

use std::time::Duration;

use anyhow::{Result, anyhow};

/// A time with its unit.
pub(crate) fn duration(text: &str) -> Result<Duration> {
    let wrong = || anyhow!("write a number with a unit, like 500ms, 30s, 5m or 1h30m");
    if text.parse::<f64>().is_ok() {
        return Err(wrong());
    }
    let signed: jiff::SignedDuration = text.parse().map_err(|_| wrong())?;
    Duration::try_from(signed).map_err(|_| wrong())
}
