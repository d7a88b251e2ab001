//! The guard, set up from the command line, the settings and what is around this process.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use chiton_engine::ancestry;
use chiton_engine::guard::policy::{GuardPolicy, Mode};
use chiton_engine::guard::{Context, OwnPlaces};
use chiton_engine::machine;
use chiton_engine::review::Guard;
use clap::{Args, ValueEnum};

use crate::company;
use crate::messages::remark;
use crate::sandbox_settings::SandboxSettings;
use crate::settings::Settings;
use crate::surroundings;

/// What commands may do.
#[derive(Args, Clone, Default)]
pub(crate) struct GuardArguments {
    /// How commands are judged before they run [default: default]
    #[arg(long, value_enum, value_name = "MODE")]
    guard: Option<GuardMode>,
    /// Only say what a command would do; nothing is run
    #[arg(long)]
    dry_run: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum GuardMode {
    /// What is destructive is refused, what may be is asked about
    Default,
    /// What is not known to be harmless is asked about
    Strict,
    /// Everything is allowed
    Off,
}

impl GuardArguments {
    /// The guard for commands that start in `directory`.
    pub(crate) fn guard(&self, settings: &Settings, directory: &Path, state: &Path) -> Result<Guard> {
        let mut policy: GuardPolicy = settings.guard.clone();
        if let Some(mode) = self.guard {
            policy.mode = match mode {
                GuardMode::Default => Mode::Default,
                GuardMode::Strict => Mode::Strict,
                GuardMode::Off => Mode::Off,
            };
        }
        if let Some(file) = &settings.file {
            not_in_reach(file, settings, directory)?;
        }
        let floor = ancestry::floor()?;
        ensure!(
            floor.is_none() || policy.mode != Mode::Off,
            "the guard cannot be off here: this chiton runs inside a command of another one, whose rules hold here too"
        );
        let company = settings.company.as_ref().filter(|company| company.guard.is_some());
        ensure!(
            company.is_none() || policy.mode != Mode::Off,
            "the guard cannot be off here: {} says so",
            company::FILE
        );
        if policy.mode == Mode::Off {
            remark("THE GUARD IS OFF: every command runs, whatever it does");
        }
        let mut around = around(directory.to_owned());
        around.own_places = own_places(settings, state).into();
        let policy = policy.check(&around).context("the settings")?;
        let policy = match floor {
            Some(floor) => policy.above(floor),
            None => policy,
        };
        let policy = match company {
            Some(company) => company.beneath(policy, &around)?,
            None => policy,
        };
        let mut guard = Guard::new(policy, around);
        guard.dry_run = self.dry_run;
        Ok(guard)
    }
}

/// Settings of the guard and the sandbox must not be in the working directory: commands write there.
fn not_in_reach(file: &Path, settings: &Settings, directory: &Path) -> Result<()> {
    let inside = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let section = match settings {
        Settings { guard, .. } if *guard != GuardPolicy::default() => Some("guard"),
        Settings { sandbox, .. } if *sandbox != SandboxSettings::default() => Some("sandbox"),
        _ => None,
    };
    let reached = inside(file).starts_with(inside(directory)) && section.is_some();
    // A home directory holds the settings of its user, and is not a place of work by itself.
    let home = env::var_os("HOME").map(PathBuf::from);
    let at_home = home.is_some_and(|home| inside(directory) == inside(&home));
    ensure!(
        !reached || at_home,
        "{} has a [{}] section and lies in {}, where commands can change it: keep it elsewhere",
        file.display(),
        section.unwrap_or_default(),
        directory.display()
    );
    Ok(())
}

/// What the guard knows about this machine.
pub(crate) fn around(directory: PathBuf) -> Context {
    let home = env::var_os("HOME").map_or_else(|| PathBuf::from("/root"), PathBuf::from);
    let user = env::var("USER").or_else(|_| env::var("LOGNAME")).unwrap_or_else(|_| "root".to_owned());
    machine::guard_context(home, user, directory)
}

/// Where this Chiton keeps what no command may touch.
pub(crate) fn own_places(settings: &Settings, state: &Path) -> OwnPlaces {
    let folder = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = folder.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".config")));
    let token = settings.http.token_file.clone().unwrap_or_else(|| state.join("http-token"));
    OwnPlaces {
        settings: settings.file.clone().into_iter().chain(folder.map(|folder| folder.join("chiton"))).collect(),
        secrets: surroundings::secrets_directory().into_iter().chain([token]).collect(),
        state: vec![state.to_owned()],
    }
}
