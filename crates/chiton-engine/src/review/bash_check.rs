//! Whether bash itself rejects a text: then it would print its own error, and run nothing of it.

use std::time::Duration;

use crate::process::helper::{self, Helper};

/// How long bash may take to read it.
const LIMIT: Duration = Duration::from_secs(1);
/// What an argument can hold.
const LONGEST: usize = 100 << 10;

/// Whether `bash -n` rejects `command`. Where that cannot be found out, it does not.
pub fn is_rejected_by_bash(command: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(command) else { return false };
    if text.contains('\0') || text.len() > LONGEST {
        return false;
    }
    let words = ["bash", "--norc", "--noprofile", "-n", "-c", text].map(str::to_owned);
    let environment =
        [("PATH".to_owned(), b"/usr/local/bin:/usr/bin:/bin".to_vec()), ("LC_ALL".to_owned(), b"C".to_vec())];
    let helper = Helper { words: &words, environment: &environment, directory: "/", limit: LIMIT };
    helper::ask(&helper).is_ok_and(|answer| answer.code.is_some_and(|code| code != 0))
}

#[cfg(test)]
mod tests {
    use super::is_rejected_by_bash;

    #[test]
    fn bash_is_asked_whether_it_would_read_a_text_and_runs_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("ran");
        assert!(!is_rejected_by_bash(format!("touch {}", mark.display()).as_bytes()));
        assert!(!mark.exists());
        for text in ["echo \"open", "if true", "echo )", "for x in"] {
            assert!(is_rejected_by_bash(text.as_bytes()), "{text}");
        }
    }
}
