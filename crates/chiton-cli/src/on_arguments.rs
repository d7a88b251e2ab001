//! What verbs share that can do their work on another machine.

use clap::Args;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};

use crate::settings::Settings;

/// Where a verb works.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct OnArguments {
    /// Do it on another machine: a target of the settings, ssh:HOST, docker:NAME, podman:NAME, kube:[NS/]POD[:CONTAINER],
    /// slurm:JOB; or local
    #[arg(long, value_name = "TARGET", add = ArgValueCandidates::new(known_targets))]
    pub(crate) on: Option<String>,
}

/// Where a command is run: in one place or in many.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RunOnArguments {
    /// Run it on another machine: a target of the settings, ssh:HOST, docker:NAME, podman:NAME, kube:[NS/]POD[:CONTAINER],
    /// slurm:JOB; or local. On several at once: given several times, or 'kube:-l SELECTOR'
    #[arg(long, value_name = "TARGET", add = ArgValueCandidates::new(known_targets))]
    pub(crate) on: Vec<String>,
    /// With --on slurm:JOB: on every node of the job by itself
    #[arg(long, requires = "on")]
    pub(crate) each: bool,
    /// With several targets: on so many of them at the same time [default: 32]
    #[arg(long, value_name = "COUNT", requires = "on")]
    pub(crate) at_most: Option<usize>,
}

/// Targets of the settings, for the completion of the command line.
pub(crate) fn known_targets() -> Vec<CompletionCandidate> {
    let Ok(settings) = Settings::load(None, crate::sandbox::check) else { return Vec::new() };
    settings.target.into_keys().map(CompletionCandidate::new).collect()
}
