//! `cargo xtask fuzz` and `cargo xtask agree`: build the fuzzer and run it. `crates/chiton-differential` does the rest.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::bench::target;
use crate::{cargo, root};

/// Runs the fuzzer with these arguments, the name of the chore first.
pub(crate) fn run(arguments: impl Iterator<Item = String>) -> Result<()> {
    cargo(&["build", "--release", "-p", "chiton-differential"], "it does not build")?;
    let status =
        Command::new(target().join("release/chiton-differential")).args(arguments).current_dir(root()).status()?;
    ensure!(status.success(), "bash and the guard differ");
    Ok(())
}
