//! `chiton run --on`: one command elsewhere.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use chiton_reach::Target;

use super::There;
use super::forward::{self, Streams};
use crate::run::RunArguments;
use crate::settings::Settings;

pub(super) fn run(there: &There, arguments: &RunArguments, settings: &Settings, _state: &Path) -> Result<ExitCode> {
    let _ = arguments;
    let target = Target::named(&there.names[0], &settings.target)?;
    crate::on_runtime(forward::verb(target, settings, Streams::Output, None))
}
