//! What the guard is told about where a command would run. It looks at nothing by itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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
    /// The session's variables.
    pub variables: BTreeMap<String, Variable>,
    /// Whether [`Context::variables`] are all there are. If not, a variable that is not among them may hold anything.
    pub variables_complete: bool,
    /// The session's functions, by name, as text that defines them.
    pub functions: BTreeMap<String, String>,
    /// The session's aliases.
    pub aliases: BTreeMap<String, String>,
    /// Our own process and its ancestors: nothing in a command may end them.
    pub own_processes: Vec<OwnProcess>,
    /// Process groups of our own.
    pub own_groups: Vec<u32>,
    /// Where file systems are mounted.
    pub mounts: Vec<PathBuf>,
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
    pub fn with_state(mut self, state: &ShellState) -> Self {
        self.cwd.clone_from(&state.cwd);
        self.variables.clone_from(&state.variables);
        self.variables_complete = true;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        self.functions = state.functions.iter().map(|(name, function)| (text(name), text(&function.text))).collect();
        self.aliases = state.aliases.iter().map(|(name, value)| (text(name), text(value))).collect();
        self
    }

    /// Adds a variable, as a call's environment does.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        let value = Variable::exported(Value::Scalar(value.into().into()));
        self.variables.insert(name.into(), value);
        self
    }

    pub(crate) fn workspace(&self) -> &Path {
        self.workspace.as_deref().unwrap_or(&self.cwd)
    }
}
