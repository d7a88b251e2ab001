//! `chiton doctor --on`
use std::process::ExitCode;

use anyhow::Result;
use chiton_reach::Target;

use crate::doctor::DoctorArguments;
use crate::settings::Settings;

pub(super) async fn doctor(target: Target, _arguments: &DoctorArguments, settings: &Settings) -> Result<ExitCode> {
    super::forward::verb(target, settings, super::forward::Streams::Output, None).await
}
