//! Plain bash, to compare with.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a command did.
#[derive(Clone, PartialEq, Eq)]
pub struct Observed {
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
    /// Its exit code, or the negative number of the signal that ended it.
    pub status: i32,
}

impl std::fmt::Debug for Observed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(formatter, "status {}", self.status)?;
        writeln!(formatter, "stdout {}", self.stdout.escape_ascii())?;
        write!(formatter, "stderr {}", self.stderr.escape_ascii())
    }
}

/// Runs `command` under `bash --norc --noprofile -c` in `directory`, with this environment only.
///
/// # Panics
/// When bash cannot be started.
#[expect(clippy::disallowed_methods, reason = "the oracle is bash itself, without the engine")]
pub fn bash(command: &[u8], directory: &Path, environment: &[(&str, &str)]) -> Observed {
    let output = Command::new("bash")
        .args(["--norc", "--noprofile", "-c"])
        .arg(OsStr::from_bytes(command))
        .env_clear()
        .envs(environment.iter().copied())
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .expect("bash is installed");
    let status = output.status.code().or_else(|| output.status.signal().map(|signal| -signal)).unwrap_or(-1);
    Observed { stdout: output.stdout, stderr: output.stderr, status }
}
