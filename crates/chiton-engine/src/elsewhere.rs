//! Another machine, as far as a command for it is judged here.
//!
//! The machine itself tells what it knows of itself, once ([`crate::Engine::far_facts`]). What its session is in, nobody here
//! knows: a variable that is not among the facts may hold anything, and no file is looked at. It has a guard of its own,
//! which knows better; so what is allowed here may still be refused there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chiton_guard::{Boundary, Context, OwnPlaces, OwnProcess};
use serde::{Deserialize, Serialize};

use crate::state::{ShellState, Value};

/// What a machine tells of itself, so that commands for it can be judged elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FarFacts {
    /// The name of the user that commands run as.
    pub user: String,
    /// Its number.
    pub uid: u32,
    /// Its home directory.
    pub home: PathBuf,
    /// Where commands start. Whoever learns that a session has moved puts its directory here.
    pub directory: PathBuf,
    /// Where that really is, without symbolic links.
    pub real_directory: PathBuf,
    /// The directory that the work is about.
    pub workspace: Option<PathBuf>,
    /// Where that really is.
    pub real_workspace: Option<PathBuf>,
    /// Where file systems are mounted.
    pub mounts: Vec<PathBuf>,
    /// Where Chiton keeps runs, sessions and its journal there.
    pub state: Vec<PathBuf>,
    /// What decides there how commands are judged.
    pub settings: Vec<PathBuf>,
    /// Where it keeps secrets there.
    pub secrets: Vec<PathBuf>,
    /// Chiton's processes there and their ancestors, which no command may end: their numbers and names.
    pub own_processes: Vec<(u32, String)>,
    /// Their process groups.
    pub own_groups: Vec<u32>,
    /// Variables of the environment that commands start with: those of [`FarFacts::TOLD`], as far as they are set.
    pub variables: BTreeMap<String, String>,
    /// What commands there cannot reach, or can be undone, where they are held in a sandbox.
    pub boundary: Option<Boundary>,
}

/// A longer value is not told.
const LONGEST_VALUE: usize = 4096;

impl FarFacts {
    /// The variables whose values are told: names of people, of this machine and of directories, and the language. None of
    /// them holds what grants access to anything. A trailing `*` stands for any rest. `TERM` is not among them: it says that
    /// somebody could answer a program.
    pub const TOLD: &'static [&'static str] = &[
        "HOME", "USER", "LOGNAME", "HOSTNAME", "SHELL", "PATH", "TMPDIR", "TMP", "TEMP", "TZ", "LANG", "LANGUAGE",
        "LC_*", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_DATA_DIRS",
        "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "CARGO_HOME", "CARGO_TARGET_DIR", "RUSTUP_HOME", "GOPATH", "GOROOT",
        "GOBIN", "GOCACHE", "JAVA_HOME", "M2_HOME", "GRADLE_USER_HOME", "ANDROID_HOME", "NVM_DIR", "NVM_BIN",
        "PNPM_HOME", "BUN_INSTALL", "DENO_DIR", "VOLTA_HOME", "PYENV_ROOT", "VIRTUAL_ENV", "CONDA_PREFIX", "PIPX_HOME",
        "GEM_HOME", "RBENV_ROOT", "CI", "CI_PROJECT_DIR", "GITHUB_WORKSPACE", "RUNNER_TEMP", "WORKSPACE", "SCRATCH",
        "SLURM_TMPDIR", "SLURM_SUBMIT_DIR",
    ];

    /// What is known of this machine: by the guard, and by the state that commands start from.
    pub(crate) fn of(around: &Context, state: &ShellState, boundary: Option<&Boundary>) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_text = |path: &&PathBuf| path.to_str().is_some();
        let OwnPlaces { settings, secrets, state: places } = (*around.own_places).clone();
        let workspace = around.workspace.clone();
        Self {
            user: around.user.clone(),
            uid: rustix::process::geteuid().as_raw(),
            home: around.home.clone(),
            real_directory: real(&state.cwd),
            directory: state.cwd.clone(),
            real_workspace: workspace.as_deref().map(real),
            workspace,
            mounts: around.mounts.iter().filter(is_text).cloned().collect(),
            state: places,
            settings,
            secrets,
            own_processes: around.own_processes.iter().map(|own| (own.id, own.name.clone())).collect(),
            own_groups: around.own_groups.to_vec(),
            variables: told(state),
            boundary: boundary.cloned(),
        }
    }

    /// The same in another directory, which a call names or its session has gone to.
    #[must_use]
    pub fn in_directory(mut self, directory: &Path) -> Self {
        let joined = self.directory.join(directory);
        // Where that leads nobody knows here, unless it is where it was.
        if joined != self.directory {
            self.real_directory.clone_from(&joined);
            self.directory = joined;
        }
        self
    }

    /// What the guard has to know: of the machine as its paths are named, or as they really are.
    pub(crate) fn context(&self, paths: Paths) -> Context {
        let (directory, workspace) = match paths {
            Paths::Named => (&self.directory, &self.workspace),
            Paths::Real => (&self.real_directory, &self.real_workspace),
        };
        let own_processes = self.own_processes.iter().map(|(id, name)| OwnProcess { id: *id, name: name.clone() });
        let mut variables = self.variables.clone();
        variables.insert("PWD".to_owned(), self.directory.to_string_lossy().into_owned());
        Context {
            workspace: workspace.clone(),
            variables,
            own_processes: own_processes.collect(),
            own_groups: self.own_groups.clone().into(),
            mounts: self.mounts.clone().into(),
            own_places: OwnPlaces {
                settings: self.settings.clone(),
                secrets: self.secrets.clone(),
                state: self.state.clone(),
            }
            .into(),
            ..Context::new(&self.home, &self.user, directory)
        }
    }
}

/// Which paths are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paths {
    /// As the shell names them.
    Named,
    /// Without symbolic links.
    Real,
}

/// The variables of a state that are told.
fn told(state: &ShellState) -> BTreeMap<String, String> {
    let is_told = |name: &str| {
        let fits = |told: &&str| told.strip_suffix('*').map_or(*told == name, |start| name.starts_with(start));
        FarFacts::TOLD.iter().any(fits)
    };
    let value = |value: &Value| match value {
        Value::Scalar(text) => {
            std::str::from_utf8(text).ok().filter(|text| text.len() <= LONGEST_VALUE).map(str::to_owned)
        }
        Value::Unset | Value::Indexed(_) | Value::Associative(_) => None,
    };
    let exported = state.variables.iter().filter(|(name, variable)| variable.is_exported() && is_told(name));
    exported.filter_map(|(name, variable)| Some((name.clone(), value(&variable.value)?))).collect()
}

/// Where a command goes, and what is known of that.
#[derive(Clone, Debug, Default)]
pub struct Elsewhere {
    /// The machine, by the name that the person has for it.
    pub target: String,
    /// What it told of itself.
    pub facts: FarFacts,
    /// Whether nobody waits for the command there.
    pub background: bool,
}

impl Elsewhere {
    /// The machine of this name, which told this of itself, for a command that is waited for.
    pub fn new(target: impl Into<String>, facts: FarFacts) -> Self {
        Self { target: target.into(), facts, background: false }
    }
}
