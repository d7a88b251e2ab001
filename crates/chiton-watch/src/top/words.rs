//! Facts in a few characters.

use chiton_engine::TaskStatus;

use crate::overview::SeenRun;

/// How a run is, in one word or two.
pub(super) fn status(run: &SeenRun) -> String {
    match run.status {
        _ if run.wait.is_some() => "waits".to_owned(),
        TaskStatus::Pending | TaskStatus::Running => "runs".to_owned(),
        TaskStatus::Completed => "done".to_owned(),
        TaskStatus::Failed => match (&run.exit_code, &run.signal) {
            (Some(code), _) => format!("exit {code}"),
            (None, Some(signal)) => signal.strip_prefix("SIG").unwrap_or(signal).to_lowercase(),
            (None, None) => "failed".to_owned(),
        },
        other => other.to_string(),
    }
}

/// A time in at most five characters.
pub(super) fn span(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0 => format!("{milliseconds}ms"),
        1..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}", seconds / 60, seconds % 60),
        3600..86400 => format!("{}h{:02}", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d{:02}", seconds / 86400, seconds / 3600 % 24),
    }
}

/// Bytes in at most five characters.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["K", "M", "G", "T", "P"];
    if bytes < 1000 {
        return bytes.to_string();
    }
    let (mut whole, mut rest, mut unit) = (bytes, 0, None);
    for name in UNITS {
        (whole, rest, unit) = (whole / 1024, whole % 1024, Some(name));
        if whole < 1000 {
            break;
        }
    }
    let unit = unit.unwrap_or_default();
    if whole < 10 { format!("{whole}.{}{unit}", rest * 10 / 1024) } else { format!("{whole}{unit}") }
}

/// A text in one line.
pub(super) fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
