//! The yardstick: bash started by hand, its output in pipes, waited for.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};

use crate::measure::timed;

/// Runs `command` in a bash of its own, which is started with `posix_spawn` (so the standard library does it where
/// nothing has to happen between fork and exec).
#[expect(clippy::disallowed_methods, reason = "the yardstick is a shell that nobody looks after")]
pub(crate) fn run(command: &str, directory: Option<&Path>) -> Result<Output> {
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noprofile", "-c", command]).stdin(Stdio::null());
    if let Some(directory) = directory {
        bash.current_dir(directory);
    }
    let output = bash.output().context("bash cannot be started")?;
    ensure!(output.status.success(), "bash says: {}", String::from_utf8_lossy(&output.stderr));
    Ok(output)
}

/// Seconds that `bash -c true` takes: this is B.
pub(crate) fn bare() -> Result<f64> {
    Ok(timed(|| run("true", None))?.0)
}
