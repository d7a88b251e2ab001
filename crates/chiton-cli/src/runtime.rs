//! The runtime in which commands and clients are waited for.

use std::fs::File;
use std::io;

use anyhow::{Context, Result};
use tokio::runtime::{Builder, Runtime};

/// At least as many descriptors as a runtime takes for itself: to wait, to be woken, for signals.
const TAKEN: usize = 8;

/// Builds a runtime. The library panics where descriptors are short; this says so.
pub(crate) fn build(builder: &mut Builder) -> Result<Runtime> {
    let spare: io::Result<Vec<File>> = (0..TAKEN).map(|_| File::open("/dev/null")).collect();
    drop(spare.context("there are too few file descriptors to work with (`ulimit -n` says how many there are)")?);
    Ok(builder.enable_all().build()?)
}
