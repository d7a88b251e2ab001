//! Whether a shell itself rejects a text that the parser cannot read.

use std::time::Duration;

use crate::limits::ARGUMENT_BYTES;
use crate::process::Shell;
use crate::process::helper::{Helper, ask};

/// How long a shell may take to read a command.
const LIMIT: Duration = Duration::from_secs(5);

/// Whether `shell` says that `command` is malformed; it runs nothing of it. A text that it cannot be asked about counts
/// as one that it would take.
pub fn is_rejected(shell: &Shell, command: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(command) else { return false };
    if text.contains('\0') || text.len() > ARGUMENT_BYTES {
        return false;
    }
    let mut words = vec![shell.path().to_string_lossy().into_owned()];
    words.extend(shell.options_to_read().iter().chain(&["-c", text]).map(|word| (*word).to_owned()));
    let asked = ask(&Helper { words: &words, environment: &[], directory: "/", limit: LIMIT });
    asked.is_ok_and(|answer| answer.code.is_some_and(|code| code != 0))
}

/// The same, for whoever must not block.
pub(super) async fn is_rejected_meanwhile(shell: &Shell, command: &[u8]) -> bool {
    let (shell, command) = (shell.clone(), command.to_vec());
    tokio::task::spawn_blocking(move || is_rejected(&shell, &command)).await.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_asked_whether_it_would_read_a_text_and_runs_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("ran");
        for shell in [Shell::find().unwrap(), Shell::at(std::path::Path::new("/bin/sh"))] {
            assert!(!is_rejected(&shell, format!("echo > {}", mark.display()).as_bytes()));
            assert!(!mark.exists());
            for text in ["echo \"open", "if true", "echo )", "for x in"] {
                assert!(is_rejected(&shell, text.as_bytes()), "{text}");
            }
        }
    }
}
