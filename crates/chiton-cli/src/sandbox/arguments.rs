//! `--sandbox` and `--add-dir`, and the policy that comes of them, the settings and what is around this process.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chiton_engine::sandbox::policy::{MissingLayer, SandboxLimits, SandboxPolicy};
use clap::Args;

use super::defaults::{Asker, default_profile};
use super::limits::{Amount, Capacity, LimitName};
use super::profiles::{self, Composed};
use super::settle::{Around, limits_alone, settle};
use super::workspace::Workspace;
use crate::guard_arguments::own_places;
use crate::messages::remark;
use crate::sandbox_settings::SandboxSettings;
use crate::settings::Settings;
use crate::surroundings;

/// What commands may touch, whatever their text says.
#[derive(Args, Clone, Default)]
pub(crate) struct SandboxArguments {
    /// Run commands in this sandbox profile; `chiton sandbox list` shows what there is, off is none
    #[arg(long, value_name = "PROFILE")]
    sandbox: Option<String>,
    /// Count this directory to the workspace, which commands in the sandbox may change; may be given several times
    #[arg(long, value_name = "DIR")]
    add_dir: Vec<PathBuf>,
}

/// Who chose a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChosenBy {
    /// A flag, the settings or a variable.
    Person,
    /// Nobody did.
    Default,
}

/// The profile that holds, by name.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) name: String,
    pub(crate) by: ChosenBy,
}

impl Choice {
    pub(crate) fn new(flag: Option<&str>, settings: &SandboxSettings, asker: Asker<'_>) -> Self {
        match flag.or(settings.profile.as_deref()) {
            Some(name) => Self { name: name.to_owned(), by: ChosenBy::Person },
            None => Self { name: default_profile(asker).to_owned(), by: ChosenBy::Default },
        }
    }

    /// A person who names a profile relies on it; the default is better than nothing where a layer is missing.
    pub(crate) fn missing(&self, profile: &Composed) -> MissingLayer {
        profile.missing.unwrap_or(match self.by {
            ChosenBy::Person => MissingLayer::Refuse,
            ChosenBy::Default => MissingLayer::Say,
        })
    }
}

impl SandboxArguments {
    /// The policy for commands that start in `directory`; `None` where nothing holds them. `roots` are the client's.
    pub(crate) fn policy(
        &self,
        settings: &Settings,
        asker: Asker<'_>,
        directory: &Path,
        roots: &[PathBuf],
        state: &Path,
        limits: &[(LimitName, Amount)],
    ) -> Result<Option<SandboxPolicy>> {
        let mut choice = Choice::new(self.sandbox.as_deref(), &settings.sandbox, asker);
        if let Some(company) = &settings.company {
            choice.name = company.profile(&choice.name, choice.by == ChosenBy::Person)?;
        }
        let profile = profiles::compose(&settings.sandbox, &choice.name).context("--sandbox")?;
        let home = surroundings::home();
        let workspace = Workspace::find(directory, roots, &self.add_dir, home.as_deref())?;
        let around = around(settings, state, &workspace);
        let mut policy = match profile {
            Some(profile) => {
                let settled = settle(&profile, choice.missing(&profile), &workspace, &around)?;
                settled.notes.iter().for_each(|note| remark(note));
                settled.policy
            }
            None if limits.is_empty() => return Ok(None),
            None => limits_alone(SandboxLimits::default(), &workspace),
        };
        for (name, amount) in limits {
            name.put(&mut policy.limits, *amount, around.capacity);
        }
        Ok(Some(policy))
    }
}

/// What is around this process.
pub(crate) fn around(settings: &Settings, state: &Path, workspace: &Workspace) -> Around<'static> {
    let places = own_places(settings, state);
    let data = surroundings::data_directory();
    let disk = workspace.roots.first().map_or(state, PathBuf::as_path);
    Around {
        root: PathBuf::from("/"),
        home: surroundings::home(),
        variable: &|name| env::var_os(name),
        user: rustix::process::getuid().as_raw(),
        capacity: Capacity { memory: memory(), disk: size_of_disk(disk) },
        own: places.settings.into_iter().chain(places.secrets).chain(places.state).chain(data).collect(),
    }
}

fn memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn size_of_disk(path: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(path).ok()?;
    found.f_blocks.checked_mul(found.f_frsize)
}
