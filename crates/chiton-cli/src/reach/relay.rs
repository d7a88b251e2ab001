//! `chiton relay`: joins the pipe of a connection to the host.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use chiton_engine::secrets::forbid_looking_in;
use chiton_reach::relay::{Relay, verify};
use clap::Args;

use super::facts::Facts;
use crate::mcp::McpArguments;
use crate::settings::Settings;

/// Join a connection to the host
#[derive(Args)]
pub(crate) struct RelayArguments {
    /// The word by which the near side knows us
    #[arg(required_unless_present = "verify")]
    nonce: Option<String>,
    /// Where this program was put
    place: Option<PathBuf>,
    /// Only say whether this program is the one of that hash
    #[arg(long, value_name = "HASH")]
    verify: Option<String>,
}

pub(crate) fn relay(arguments: &RelayArguments, settings: &Settings, state: Result<PathBuf>) -> Result<ExitCode> {
    if let Some(hash) = &arguments.verify {
        return Ok(if verify(hash)? { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    forbid_looking_in()?;
    let nonce = arguments.nonce.as_deref().context("a relay has a word")?;
    let state = usable(state, arguments.place.as_deref())?;
    // Before anybody waits for it: what is wrong with the settings here is said by the verbs.
    let judged =
        McpArguments::usual().and_then(|usual| Ok(usual.serve(settings, &state)?.far_facts())).unwrap_or_default();
    let facts = |host| serde_json::to_vec(&Facts::here(&state, judged, host)).unwrap_or_default();
    Relay { nonce, state: &state }.run(facts)?;
    Ok(ExitCode::SUCCESS)
}

/// The state directory, or one beside the program where there is no home to write to.
fn usable(state: Result<PathBuf>, place: Option<&Path>) -> Result<PathBuf> {
    let beside = place.map(|place| place.join("state"));
    match (state, beside) {
        (Ok(state), Some(beside)) => Ok(if fs::create_dir_all(&state).is_ok() { state } else { beside }),
        (Ok(state), None) => Ok(state),
        (Err(_), Some(beside)) => Ok(beside),
        (Err(error), None) => Err(error),
    }
}
