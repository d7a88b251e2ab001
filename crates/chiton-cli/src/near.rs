//! What the machine that a verb was asked for from has decided about it: it comes through an inherited descriptor, since it
//! may hold secrets.

use std::fs::File;
use std::io::Read;

use anyhow::{Context, Result, anyhow};
use chiton_engine::{FromNear, machine};
use clap::Args;
use zeroize::Zeroizing;

/// More than a call names.
const MOST_BYTES: u64 = 16 << 20;

#[derive(Args, Default)]
pub(crate) struct NearArguments {
    /// The descriptor with what another machine has decided about this, as JSON: only for `chiton host`
    #[arg(long, hide = true, value_name = "FD")]
    near: Option<i32>,
}

impl NearArguments {
    /// Reads it up to its end, and closes the descriptor. Before anything else is opened.
    pub(crate) fn read(&self) -> Result<Option<FromNear>> {
        let Some(number) = self.near else { return Ok(None) };
        let about = || format!("--near {number}");
        let file = File::from(machine::take_inherited(number).with_context(about)?);
        let mut text = Zeroizing::new(Vec::new());
        file.take(MOST_BYTES).read_to_end(&mut text).with_context(about)?;
        // The words of the error are not passed on: they may repeat what is secret.
        let near = serde_json::from_slice(&text).map_err(|error| {
            anyhow!("--near {number}: this is not what a link of ours sends, at byte {}", error.column())
        })?;
        Ok(Some(near))
    }
}
