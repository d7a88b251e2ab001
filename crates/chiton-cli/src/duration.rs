//! Times on the command line.

use std::time::Duration;

use anyhow::{Result, anyhow};

/// A time with its unit.
pub(crate) fn duration(text: &str) -> Result<Duration> {
    let wrong = || anyhow!("write a number with a unit, like 500ms, 30s, 5m, 1h30m or 2d");
    if text.parse::<f64>().is_ok() {
        return Err(wrong());
    }
    // The parser leaves days out, since some have 23 hours. Here nobody means those.
    let with_days = text.split_once('d').and_then(|(days, rest)| Some((days.trim().parse::<u32>().ok()?, rest.trim())));
    let (days, rest) = with_days.unwrap_or((0, text));
    let days = Duration::from_hours(24).saturating_mul(days);
    if with_days.is_some() && rest.is_empty() {
        return Ok(days);
    }
    let signed: jiff::SignedDuration = rest.parse().map_err(|_| wrong())?;
    let rest = Duration::try_from(signed).map_err(|_| wrong())?;
    Ok(days.saturating_add(rest))
}

/// A time as one writes it here: `500ms`, `1m30s`.
pub(crate) fn written(time: Duration) -> String {
    let seconds = time.as_secs();
    let units = [(seconds / 86400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    let millis = (u64::from(time.subsec_millis()), "ms");
    let parts = units.into_iter().chain([millis]).filter(|(count, _)| *count > 0);
    let text = parts.map(|(count, unit)| format!("{count}{unit}")).collect::<Vec<_>>().concat();
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_as_it_is_written() {
        let cases = [
            (Duration::from_millis(500), "500ms"),
            (Duration::from_secs(1), "1s"),
            (Duration::from_millis(1500), "1s500ms"),
            (Duration::from_secs(90), "1m30s"),
            (Duration::from_mins(90), "1h30m"),
            (Duration::from_hours(48), "2d"),
            (Duration::from_hours(36), "1d12h"),
        ];
        for (time, text) in cases {
            assert_eq!(written(time), text);
            assert_eq!(duration(text).unwrap(), time, "{text}");
        }
        assert_eq!(duration("0s").unwrap(), Duration::ZERO);
        assert_eq!(duration("30 seconds").unwrap(), Duration::from_secs(30));
        for wrong in ["", "d", "5", "1.5", "-1s", "xd", "1d x", "99999999999d", "1dd", "soon"] {
            let error = duration(wrong).expect_err(wrong).to_string();
            assert!(error.contains("2d"), "{wrong}: {error}");
        }
    }
}
