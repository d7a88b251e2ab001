//! What the guard knows about the place where a command would run. It looks at nothing by itself.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

/// What a variable of a [`Scope`] holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held<'a> {
    /// Declared, and never assigned.
    Unset,
    /// One string.
    Scalar(Cow<'a, str>),
    /// An array, by key; an indexed array has numbers as keys.
    Array(Vec<(String, String)>),
    /// Another variable, by its name.
    Reference(Cow<'a, str>),
}

/// The shell in which a command would run: what its names mean.
///
/// The guard asks for a name when a command uses it, so whoever implements this copies nothing.
pub trait Scope: fmt::Debug + Send + Sync {
    /// What the variable `name` holds; none where there is no such variable.
    fn variable(&self, name: &str) -> Option<Held<'_>>;
    /// The text that defines the function `name`, as bash prints it.
    fn function(&self, name: &str) -> Option<Cow<'_, str>>;
    /// What the alias `name` stands for.
    fn alias(&self, name: &str) -> Option<Cow<'_, str>>;
}

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
    /// The shell's variables, functions and aliases. With one, its variables are all there are; without one, a variable
    /// that is not in [`Context::variables`] may hold anything.
    pub scope: Option<Arc<dyn Scope>>,
    /// Variables of the call itself. They hide those of the scope.
    pub variables: BTreeMap<String, String>,
    /// Whether the call replaces the environment: none of the scope's variables are there.
    pub replaces_variables: bool,
    /// Our own process and its ancestors: nothing in a command may end them.
    pub own_processes: Found<OwnProcess>,
    /// Process groups of our own.
    pub own_groups: Found<u32>,
    /// Where file systems are mounted.
    pub mounts: Found<PathBuf>,
    /// What is on the standard input of the command.
    pub input: Input,
    /// Where Chiton keeps what a command must not touch.
    pub own_places: Arc<OwnPlaces>,
    /// What can be asked about the files of the machine; without one, nothing is known about them.
    pub surroundings: Option<Arc<dyn Surroundings>>,
}

/// A list that whoever looks at it first may have to wait for: what it holds is found out then, and only once.
pub struct Found<T>(Arc<LazyLock<Vec<T>, Finding<T>>>);

/// How it is found out.
type Finding<T> = Box<dyn FnOnce() -> Vec<T> + Send>;

impl<T: 'static> Found<T> {
    /// What `find` will find.
    pub fn later(find: impl FnOnce() -> Vec<T> + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(find))))
    }
}

impl<T> Deref for Found<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0.as_slice()
    }
}

impl<T> Clone for Found<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Send + 'static> From<Vec<T>> for Found<T> {
    fn from(list: Vec<T>) -> Self {
        Self::later(move || list)
    }
}

impl<T: Send + 'static, const N: usize> From<[T; N]> for Found<T> {
    fn from(list: [T; N]) -> Self {
        Vec::from(list).into()
    }
}

impl<T: Send + 'static> FromIterator<T> for Found<T> {
    fn from_iter<I: IntoIterator<Item = T>>(list: I) -> Self {
        list.into_iter().collect::<Vec<T>>().into()
    }
}

impl<T: Send + 'static> Default for Found<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T: fmt::Debug> fmt::Debug for Found<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// What a command finds on its standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Input {
    /// Nothing: it ends at once.
    #[default]
    Nothing,
    /// This text.
    Text(Arc<str>),
    /// What somebody will write while it runs. Each line is judged when it comes.
    Later,
}

/// The files and directories of Chiton itself. Empty paths stand for places that nobody knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnPlaces {
    /// The settings file, and everything else that decides how commands are judged.
    pub settings: Vec<PathBuf>,
    /// The secrets store and its key, and the token of the HTTP server: not even to be read.
    pub secrets: Vec<PathBuf>,
    /// The state directory: runs, sessions, the journal.
    pub state: Vec<PathBuf>,
}

/// What can be asked about the files of the machine. The guard asks when a verdict depends on it.
pub trait Surroundings: fmt::Debug + Send + Sync {
    /// What is in the file at `path`, where it was written since the session began; none where it is older, is not a
    /// file, cannot be read or is too large to be judged.
    fn recent_file(&self, path: &Path) -> Option<Arc<[u8]>>;
    /// Where `path` leads if it is a symbolic link.
    fn link(&self, path: &Path) -> Option<PathBuf>;
    /// Whether somebody other than the user and root may put files into the directory `path`, or into one above it
    /// that decides; none where there is no such directory.
    fn others_may_write(&self, path: &Path) -> Option<bool>;
    /// Whether `path` is the top of a git worktree or holds a repository.
    fn is_worktree(&self, path: &Path) -> bool;
    /// Work in the worktree around `path` that no commit holds; none where there is none, or no worktree.
    fn uncommitted(&self, path: &Path) -> Option<Uncommitted>;
}

/// Work that no commit holds. Paths are as seen from the top of the worktree; files that were deleted are left out,
/// because a commit holds them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uncommitted {
    /// The top of the worktree.
    pub root: PathBuf,
    /// Where git keeps its index, branches and stashes: in one directory, or in two for a worktree beside its repository.
    /// Empty where that is not known.
    pub git_directories: Vec<PathBuf>,
    /// Files that git knows and that were changed, in order.
    pub changed: Vec<String>,
    /// Those of them whose index holds every change.
    pub staged: Vec<String>,
    /// Files that git does not know and does not ignore. A directory in which git knows nothing stands for all in it,
    /// and ends with a slash.
    pub untracked: Vec<String>,
    /// Whether there is stashed work.
    pub has_stash: bool,
    /// Whether git could not say: then there may be any.
    pub is_unknown: bool,
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
    /// A context with the essentials alone.
    pub fn new(home: impl Into<PathBuf>, user: impl Into<String>, cwd: impl Into<PathBuf>) -> Self {
        Self { home: home.into(), user: user.into(), cwd: cwd.into(), ..Self::default() }
    }

    /// The context of a command that runs in this shell.
    #[must_use]
    pub fn within(mut self, scope: Arc<dyn Scope>) -> Self {
        self.scope = Some(scope);
        self
    }

    /// Adds a variable, as a call's environment does.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Whether a variable that nobody knows is one that is not set.
    pub(crate) fn knows_all_variables(&self) -> bool {
        self.scope.is_some()
    }

    /// A variable of the call or of the shell.
    pub(crate) fn variable(&self, name: &str) -> Option<Held<'_>> {
        let of_call = self.variables.get(name).map(|value| Held::Scalar(value.as_str().into()));
        of_call.or_else(|| self.scope.as_ref().filter(|_| !self.replaces_variables)?.variable(name))
    }

    /// The text that defines a function of the shell.
    pub(crate) fn function(&self, name: &str) -> Option<Cow<'_, str>> {
        self.scope.as_ref()?.function(name)
    }

    /// What an alias of the shell stands for.
    pub(crate) fn alias(&self, name: &str) -> Option<Cow<'_, str>> {
        self.scope.as_ref()?.alias(name)
    }

    pub(crate) fn workspace(&self) -> &Path {
        self.workspace.as_deref().unwrap_or(&self.cwd)
    }
}
