//! The environment that the user's login shell would give: what is found in a terminal and not in a program that a
//! desktop started.
//!
//! The shell is asked once, in the background, with a deadline. Our own environment wins; `PATH` is put together from
//! both, the login shell's part first, so that the programs of the terminal are found.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::bytes::{ByteString, encode_hex};
use crate::lock::Lock;
use crate::process::helper::{self, Helper};
use crate::state::environment::{EnvironmentPolicy, TakenOver};
use crate::state::{ShellState, Value, Variable};

/// How the login shell is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoginConfig {
    /// Whether it is asked at all.
    pub enabled: bool,
    /// Which shell; without it, the user's own.
    pub shell: Option<PathBuf>,
    /// How long it may take. Commands that come earlier wait at most that long.
    pub timeout_seconds: u64,
}

impl Default for LoginConfig {
    fn default() -> Self {
        Self { enabled: false, shell: None, timeout_seconds: 5 }
    }
}

/// The answer of a login shell, or what is known about it so far.
#[derive(Clone, Debug)]
pub struct LoginEnvironment {
    shared: Arc<(Lock<LoginAnswer>, Condvar)>,
    deadline: Instant,
}

#[derive(Clone, Debug)]
enum LoginAnswer {
    Waiting,
    Given(BTreeMap<String, ByteString>),
    Failed(String),
}

impl LoginEnvironment {
    /// Asks `shell`, in a thread of its own. It starts with `environment`, in `home`.
    pub fn ask(shell: PathBuf, home: PathBuf, environment: Vec<(String, Vec<u8>)>, limit: Duration) -> Self {
        let shared = Arc::new((Lock::new(LoginAnswer::Waiting), Condvar::new()));
        let answer = Self { shared: Arc::clone(&shared), deadline: Instant::now() + limit };
        std::thread::spawn(move || {
            let found = match capture(&shell, &home, &environment, limit) {
                Ok(variables) => LoginAnswer::Given(variables),
                Err(reason) => {
                    LoginAnswer::Failed(format!("{} did not say its environment: {reason}", shell.display()))
                }
            };
            let (place, changed) = &*shared;
            *place.lock() = found;
            changed.notify_all();
        });
        answer
    }

    /// The variables, as soon as they are there; an error in words when they will not be. Blocks until the deadline.
    pub fn wait(&self) -> Result<BTreeMap<String, ByteString>, String> {
        let (place, changed) = &*self.shared;
        let mut answer = place.lock();
        loop {
            match &*answer {
                LoginAnswer::Given(variables) => return Ok(variables.clone()),
                LoginAnswer::Failed(reason) => return Err(reason.clone()),
                LoginAnswer::Waiting => {}
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err("the login shell has not said its environment in time".to_owned());
            }
            answer = Lock::wait(answer, changed, left);
        }
    }

    /// Whether the answer is there.
    fn is_ready(&self) -> bool {
        !matches!(*self.shared.0.lock(), LoginAnswer::Waiting)
    }

    /// As [`LoginEnvironment::wait`], without holding up the thread.
    pub(crate) async fn answer(&self) -> Result<BTreeMap<String, ByteString>, String> {
        if self.is_ready() {
            return self.wait();
        }
        let waiting = self.clone();
        let answer = tokio::task::spawn_blocking(move || waiting.wait()).await;
        answer.unwrap_or_else(|_| Err("this process is ending".to_owned()))
    }
}

/// Runs `shell` as a login shell and takes its environment. A mark separates that from what start-up files print.
fn capture(
    shell: &std::path::Path,
    home: &std::path::Path,
    environment: &[(String, Vec<u8>)],
    limit: Duration,
) -> Result<BTreeMap<String, ByteString>, String> {
    let mut random = [0u8; 8];
    rustix::rand::getrandom(&mut random[..], rustix::rand::GetRandomFlags::empty())
        .map_err(|error| error.to_string())?;
    let mark = format!("__chiton_{}__", encode_hex(&random));
    let script = format!("printf '%s' {mark}; env -0; printf '%s' {mark}");
    let words = [shell.display().to_string(), "-l".to_owned(), "-c".to_owned(), script];
    let directory = if home.is_dir() { home.display().to_string() } else { "/".to_owned() };
    let answer = helper::ask(&Helper { words: &words, environment, directory: &directory, limit });
    let answer = answer.map_err(|error| error.to_string())?;
    let start = memchr::memmem::find(&answer.output, mark.as_bytes()).map(|place| place + mark.len());
    let end = memchr::memmem::rfind(&answer.output, mark.as_bytes());
    let (Some(start), Some(end)) = (start, end.filter(|end| Some(*end) >= start)) else {
        return Err("it ended before it could".to_owned());
    };
    let entries = answer.output[start..end].split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    let pair = |entry: &[u8]| {
        let place = memchr::memchr(b'=', entry)?;
        Some((String::from_utf8(entry[..place].to_vec()).ok()?, ByteString::from(&entry[place + 1..])))
    };
    Ok(entries.filter_map(pair).filter(|(name, _)| !OWN.contains(&name.as_str())).collect())
}

/// Variables that say something about that shell and nothing about the user.
const OWN: [&str; 5] = ["_", "SHLVL", "PWD", "OLDPWD", "BASH_EXECUTION_STRING"];

/// Adds the login shell's variables to a state that lacks them. Gives what became of them.
pub(crate) fn add(
    state: &mut ShellState,
    login: BTreeMap<String, ByteString>,
    policy: &EnvironmentPolicy,
) -> TakenOver {
    let mut taken = policy.inherit(login);
    if let Some(path) = taken.variables.remove("PATH") {
        let own = state.variables.get("PATH").and_then(Variable::scalar).unwrap_or_default();
        let joined = join_paths(&path, own);
        state.variables.insert("PATH".to_owned(), Variable::exported(Value::Scalar(joined.into())));
    }
    for (name, value) in &taken.variables {
        let variable = || Variable::exported(Value::Scalar(value.clone()));
        state.variables.entry(name.clone()).or_insert_with(variable);
    }
    for (name, function) in &taken.functions {
        state.functions.entry(name.clone()).or_insert_with(|| function.clone());
    }
    taken
}

/// The entries of `first`, then those of `second` that are not among them.
pub fn join_paths(first: &[u8], second: &[u8]) -> Vec<u8> {
    let mut entries: Vec<&[u8]> = Vec::new();
    for entry in first.split(|byte| *byte == b':').chain(second.split(|byte| *byte == b':')) {
        if !entry.is_empty() && !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    entries.join(&b':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn ask(profile: &str, limit: Duration) -> Result<BTreeMap<String, ByteString>, String> {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(".profile"), profile).unwrap();
        let environment = vec![
            ("HOME".to_owned(), home.path().display().to_string().into_bytes()),
            ("PATH".to_owned(), b"/usr/bin:/bin".to_vec()),
        ];
        let shell = PathBuf::from("/bin/bash");
        LoginEnvironment::ask(shell, home.path().to_owned(), environment, limit).wait()
    }

    #[test]
    fn what_a_profile_exports_is_found_whatever_it_prints() {
        let profile = "echo noise; export PATH=/opt/tools/bin:$PATH FROM_PROFILE=$'two\\nlines'; plain=1; echo more\n";
        let found = ask(profile, Duration::from_secs(10)).unwrap();
        assert_eq!(found.get("FROM_PROFILE"), Some(&"two\nlines".into()));
        assert!(found["PATH"].starts_with(b"/opt/tools/bin:"));
        assert!(!found.contains_key("plain") && !found.contains_key("SHLVL"));
    }

    #[test]
    fn a_profile_that_hangs_or_exits_is_given_up() {
        for (profile, why) in [("sleep 100\n", "within"), ("exit 3\n", "before it could")] {
            let error = ask(profile, Duration::from_secs(1)).unwrap_err();
            assert!(error.contains(why) || error.contains("in time"), "{error}");
        }
    }

    #[test]
    fn own_values_win_paths_are_joined_and_secrets_stay_out() {
        let pairs = [("PATH", "/usr/bin:/own"), ("LANG", "C")].map(|(name, value)| (name.to_owned(), value.into()));
        let mut state = ShellState::fresh("/", pairs, 0o022);
        let login = [
            ("PATH", "/login:/usr/bin"),
            ("LANG", "de_DE.UTF-8"),
            ("NEW", "1"),
            ("API_TOKEN", "x9y8"),
            ("LD_PRELOAD", "y"),
        ];
        let login = login.map(|(name, value)| (name.to_owned(), value.into())).into();
        let removed = add(&mut state, login, &EnvironmentPolicy::default()).removed;
        let value = |name: &str| state.variables.get(name).and_then(Variable::scalar).map(<[u8]>::to_vec);
        assert_eq!(value("PATH"), Some(b"/login:/usr/bin:/own".to_vec()));
        assert_eq!((value("LANG"), value("NEW"), value("API_TOKEN")), (Some(b"C".to_vec()), Some(b"1".to_vec()), None));
        assert_eq!(removed.len(), 1);
    }
}
