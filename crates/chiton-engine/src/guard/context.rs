//! What the guard is told about where a command would run. It looks at nothing by itself.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::session::state::{ShellState, Value, Variable};

/// Where a command would run, as far as that decides what it would do.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The home directory of the user.
    pub home: PathBuf,
    /// The name of the user.
    pub user: String,
    /// The working directory.
    pub cwd: PathBuf,
    /// The directory that the work is about; the working directory where nobody says otherwise.
    pub workspace: Option<PathBuf>,
    /// The state of the session: its variables, functions and aliases.
    pub state: Option<Arc<ShellState>>,
    /// Variables of the call itself. They hide those of the state.
    pub variables: BTreeMap<String, Variable>,
    /// Whether the call replaces the environment: none of the state's variables are there.
    pub replaces_variables: bool,
    /// Whether these variables are all there are. If not, one that is not among them may hold anything.
    pub variables_complete: bool,
    /// Our own process and its ancestors: nothing in a command may end them.
    pub own_processes: Arc<[OwnProcess]>,
    /// Process groups of our own.
    pub own_groups: Arc<[u32]>,
    /// Where file systems are mounted.
    pub mounts: Arc<[PathBuf]>,
}

/// A process that a command must not end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnProcess {
    /// Its id.
    pub id: u32,
    /// The name of its executable.
    pub name: String,
}

impl Context {
    /// A context of which only the essentials are known.
    pub fn new(home: impl Into<PathBuf>, user: impl Into<String>, cwd: impl Into<PathBuf>) -> Self {
        Self { home: home.into(), user: user.into(), cwd: cwd.into(), ..Self::default() }
    }

    /// The context of a command that starts from `state`: its variables are all there are.
    #[must_use]
    pub fn with_state(mut self, state: Arc<ShellState>) -> Self {
        self.cwd.clone_from(&state.cwd);
        self.state = Some(state);
        self.variables_complete = true;
        self
    }

    /// Adds a variable, as a call's environment does.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        let value = Variable::exported(Value::Scalar(value.into().into()));
        self.variables.insert(name.into(), value);
        self
    }

    /// A variable of the call or of the session.
    pub(crate) fn variable(&self, name: &str) -> Option<&Variable> {
        let of_state = || self.state.as_ref().filter(|_| !self.replaces_variables)?.variables.get(name);
        self.variables.get(name).or_else(of_state)
    }

    /// The text that defines a function of the session.
    pub(crate) fn function(&self, name: &str) -> Option<Cow<'_, str>> {
        let function = self.state.as_ref()?.functions.get(name.as_bytes())?;
        Some(String::from_utf8_lossy(&function.text))
    }

    /// What an alias of the session stands for.
    pub(crate) fn alias(&self, name: &str) -> Option<Cow<'_, str>> {
        self.state.as_ref()?.aliases.get(name.as_bytes()).map(|value| String::from_utf8_lossy(value))
    }

    pub(crate) fn workspace(&self) -> &Path {
        self.workspace.as_deref().unwrap_or(&self.cwd)
    }
}
