//! How an engine is set up for Python: the attributes of `chiton._request.Setting`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use chiton_engine::guard::OwnPlaces;
use chiton_engine::guard::policy::{GuardPolicy, Mode};
use chiton_engine::review::Guard;
use chiton_engine::sandbox::policy::SandboxPolicy;
use chiton_engine::{EngineConfig, ancestry, machine};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::failure::Failure;
use crate::request::seconds;

/// What a shell is made with.
#[derive(FromPyObject)]
pub(crate) struct Setting {
    pub(crate) state_dir: PathBuf,
    pub(crate) directory: PathBuf,
    pub(crate) environment: BTreeMap<String, PyBackedBytes>,
    pub(crate) umask: u32,
    pub(crate) name: Option<String>,
    /// The executable that is a keeper when asked.
    program: PathBuf,
    /// Where the settings and the store of secrets are, which no command may touch.
    config_dir: PathBuf,
    data_dir: PathBuf,
    home: PathBuf,
    user: String,
    guard: String,
    /// The policy of a profile, as `chiton sandbox show --policy` prints it.
    sandbox: Option<String>,
    timeout: Option<f64>,
    max_tasks: Option<usize>,
}

impl Setting {
    pub(crate) fn config(&self) -> Result<EngineConfig, Failure> {
        let mut config = EngineConfig::new(&self.state_dir)?;
        config.keeper.clone_from(&self.program);
        config.guard = self.guard()?;
        config.sandbox = self.sandbox.as_deref().map(policy).transpose()?.flatten();
        config.limits.default_timeout = seconds("timeout", self.timeout)?.filter(|timeout| *timeout > Duration::ZERO);
        config.limits.tasks_per_session = self.max_tasks;
        Ok(config)
    }

    fn guard(&self) -> Result<Guard, Failure> {
        let mode = match self.guard.as_str() {
            "default" => Mode::Default,
            "strict" => Mode::Strict,
            "off" => Mode::Off,
            other => {
                return Err(Failure::request(format!(
                    "there is no guard '{other}'; there are default, strict and off"
                )));
            }
        };
        // A program that a command of Chiton runs is under the rules of that Chiton, whatever it asks for.
        let floor = ancestry::floor().map_err(|error| Failure::new("NotStarted", error.to_string()))?;
        if mode == Mode::Off && floor.is_some() {
            return Err(Failure::request(
                "the guard cannot be off here: this process runs inside a command of Chiton, whose rules hold here too",
            ));
        }
        let mut around = machine::guard_context(self.home.clone(), self.user.clone(), self.directory.clone());
        let own = OwnPlaces {
            settings: vec![self.config_dir.clone()],
            secrets: vec![self.data_dir.join("secrets")],
            state: vec![self.state_dir.clone()],
        };
        around.own_places = own.into();
        let policy = GuardPolicy { mode, ..GuardPolicy::default() };
        let policy = policy.check(&around).map_err(|error| Failure::request(error.to_string()))?;
        let policy = match floor {
            Some(floor) => policy.above(floor),
            None => policy,
        };
        Ok(Guard::new(policy, around))
    }
}

fn policy(text: &str) -> Result<Option<SandboxPolicy>, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::new(
            "NotStarted",
            format!("the program beside this library is of another version: its sandbox policy {error}"),
        )
    })
}
