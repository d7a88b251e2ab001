//! What the suites of ordinary work share: a place to work in, and a server in it, with a sandbox or without.
#![cfg(test)]

pub mod manifest;
pub mod rows;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use chiton_testkit::processes::{MARK, eventually, marked};
use chiton_testkit::wire::Wire;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The profile that is none.
pub const OUTSIDE: &str = "off";

/// A folder with a home and a workspace. Not in a temporary folder: these are writable in every sandbox, so that nothing
/// would be outside of it.
pub struct Ground {
    folder: TempDir,
}

impl Ground {
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("ordinary-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        // Cargo looks for a workspace in the folders above, and this one is in the project's own.
        fs::write(folder.path().join("Cargo.toml"), "[workspace]\n").unwrap();
        Self { folder }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    pub fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    /// Makes both folders empty: the same paths, so that whatever has them in it is the same too.
    pub fn clear(&self) {
        for folder in [self.home(), self.work()] {
            // What ends in this moment may still write something.
            let is_gone = || fs::remove_dir_all(&folder).is_ok() || !folder.exists();
            assert!(eventually(Duration::from_secs(20), is_gone), "{} stays", folder.display());
            fs::create_dir(&folder).unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    /// A program that starts in the workspace, with the same environment every time.
    #[expect(clippy::disallowed_methods, reason = "the tests start the program from outside")]
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", search_path()).env("HOME", self.home()).env("LANG", "C.UTF-8").env("TZ", "UTC");
        let ceiling = self.path();
        command.env("GIT_CEILING_DIRECTORIES", ceiling).envs(ENVIRONMENT.iter().copied());
        command.current_dir(self.work()).stdin(Stdio::null());
        command
    }

    /// A session with a sandbox of this profile.
    pub fn session(&self, profile: &str) -> Session {
        let mut command = self.command(env!("CARGO_BIN_EXE_chiton"));
        command.args(["mcp", "--sandbox", profile, "--guard", "off", "--timeout", "120"]).stderr(Stdio::null());
        let mark = self.mark();
        command.env(MARK, &mark);
        let mut wire = Wire::session(command);
        wire.patience = Duration::from_secs(130);
        Session { wire, mark, sandboxes: self.home().join(".local/state/chiton/sandbox") }
    }

    fn mark(&self) -> String {
        self.folder.path().file_name().unwrap().to_string_lossy().into_owned()
    }
}

/// Settings that keep tools from telling news, asking the network and putting times into what they make.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("CARGO_INCREMENTAL", "0"),
    ("CARGO_TERM_COLOR", "never"),
    ("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z"),
    ("GIT_COMMITTER_DATE", "2001-01-01T00:00:00Z"),
    ("GIT_CONFIG_COUNT", "2"),
    ("GIT_CONFIG_KEY_0", "init.defaultBranch"),
    ("GIT_CONFIG_VALUE_0", "main"),
    ("GIT_CONFIG_KEY_1", "advice.detachedHead"),
    ("GIT_CONFIG_VALUE_1", "false"),
    ("NPM_CONFIG_UPDATE_NOTIFIER", "false"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
];

/// Our own, but first the tool chain that builds this and the python that is meant: what rustup and pyenv have put on the
/// PATH looks for them in a home that is not here, and takes its time.
fn search_path() -> &'static OsStr {
    static PATH: OnceLock<OsString> = OnceLock::new();
    PATH.get_or_init(|| {
        let own = env::var_os("PATH").unwrap_or_default();
        let folder = |program: PathBuf| program.parent().map(Path::to_owned);
        let tool_chain = env::var_os("CARGO").map(PathBuf::from).and_then(folder);
        let python = python().and_then(folder);
        env::join_paths(tool_chain.into_iter().chain(python).chain(env::split_paths(&own))).unwrap_or(own)
    })
}

#[expect(clippy::disallowed_methods, reason = "the tests start programs from outside")]
fn python() -> Option<PathBuf> {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    path.is_absolute().then_some(path)
}

/// Whether a program can be started.
pub fn is_installed(program: &str) -> bool {
    env::split_paths(search_path()).any(|folder| folder.join(program).is_file())
}

/// Why no sandbox can be had on this machine, if so.
pub fn missing_layers() -> Option<String> {
    let ground = Ground::new();
    ground.clear();
    let mut command = ground.command(env!("CARGO_BIN_EXE_chiton"));
    let output = command.args(["run", "--sandbox", "offline", "true"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let said = said.trim_start_matches("chiton: ").split(". ").next().unwrap_or_default().trim().to_owned();
    (!output.status.success()).then_some(said)
}

/// One client's session.
pub struct Session {
    wire: Wire,
    mark: String,
    /// Where what is left of its sandboxes would be.
    sandboxes: PathBuf,
}

impl Session {
    pub fn run(&mut self, command: &str) -> Reply {
        let reply = self.wire.call("Bash", &json!({"command": command}));
        let facts = reply.get("structuredContent").unwrap_or_else(|| panic!("{command}: {reply}"));
        Reply {
            code: facts["exit_code"].clone(),
            output: facts["output"].as_str().unwrap_or_default().to_owned(),
            refused: facts.get("refused").cloned().unwrap_or(Value::Null),
            weaker: facts["protection"]["sandbox"].get("weaker").cloned().unwrap_or(Value::Null),
        }
    }

    /// Ends it, and waits until everything that it started is gone.
    pub fn end(mut self) {
        self.wire.close();
        let is_over = eventually(Duration::from_secs(20), || {
            let is_left = fs::read_dir(&self.sandboxes).is_ok_and(|mut entries| entries.next().is_some());
            !is_left && marked(&self.mark).is_empty()
        });
        assert!(is_over, "something is left: {:?}", marked(&self.mark));
    }
}

/// What came of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub code: Value,
    pub output: String,
    refused: Value,
    weaker: Value,
}

impl Reply {
    /// What is different inside, compared with a reply from outside.
    pub fn differs_from(&self, outside: &Self) -> Vec<String> {
        let is_empty = |list: &Value| list.as_array().is_none_or(Vec::is_empty);
        let mut found = Vec::new();
        if (&self.code, &self.output) != (&outside.code, &outside.output) {
            let (was, is) = ((&outside.code, &outside.output), (&self.code, &self.output));
            found.push(format!("outside: {} {}\ninside: {} {}", was.0, was.1, is.0, is.1));
        }
        if !is_empty(&self.refused) {
            found.push(format!("refused: {}", self.refused));
        }
        if !is_empty(&self.weaker) {
            found.push(format!("weaker: {}", self.weaker));
        }
        found
    }
}
