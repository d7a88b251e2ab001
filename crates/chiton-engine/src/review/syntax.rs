//! Whether a shell itself rejects a text that the parser cannot read.

use std::time::Duration;

use crate::limits::ARGUMENT_BYTES;
use crate::process::Shell;
use crate::process::helper::{Helper, ask};

/// How long a shell may take to read a command.
const LIMIT: Duration = Duration::from_secs(5);

/// Whether `shell` says that `command` is malformed; it runs nothing of it. A text that is too long to be asked about
/// counts as one that it would take.
pub(super) async fn is_rejected(shell: &Shell, command: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(command) else { return false };
    if text.len() > ARGUMENT_BYTES {
        return false;
    }
    let mut words = vec![shell.path().to_string_lossy().into_owned()];
    words.extend(shell.options_to_read().iter().chain(&["-c", text]).map(|word| (*word).to_owned()));

    let asked = tokio::task::spawn_blocking(move || {
        ask(&Helper { words: &words, environment: &[], directory: "/", limit: LIMIT })
    });
    matches!(asked.await, Ok(Ok(answer)) if answer.code.is_some_and(|code| code != 0))
}
