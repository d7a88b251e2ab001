//! This machine, as a user of `--on` has it: settings, a state directory, the program.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use chiton_testkit::carried_program;
use tempfile::TempDir;

pub(crate) struct NearSide {
    folder: TempDir,
    environment: BTreeMap<String, String>,
}

impl NearSide {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("near-").tempdir().unwrap();
        for name in ["home", "state", "work", "config"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let side = Self { folder, environment: BTreeMap::new() };
        side.write_settings("");
        side
    }

    pub(crate) fn with_target(name: &str, words: &[String]) -> Self {
        let side = Self::new();
        side.write_target(name, words);
        side
    }

    /// With a folder that is first on PATH.
    pub(crate) fn with_program_folder(folder: &Path) -> Self {
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        Self::with_environment([("PATH".to_owned(), path)].into())
    }

    pub(crate) fn with_environment(environment: BTreeMap<String, String>) -> Self {
        Self { environment, ..Self::new() }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write_target(&self, name: &str, words: &[String]) {
        let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        self.write_settings(&format!("[target.{name}]\nconnect = [{}]\n", words.join(", ")));
    }

    pub(crate) fn write_settings(&self, text: &str) {
        let carried = carried_program();
        let carry = format!("carry = {:?}\n", carried.parent().unwrap());
        fs::write(self.settings(), format!("{carry}{text}")).unwrap();
    }

    pub(crate) fn settings(&self) -> PathBuf {
        self.folder.path().join("config/config.toml")
    }

    /// A program of a few lines for `sh`.
    pub(crate) fn program(folder: &Path, name: &str, script: &str) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.command_of(Path::new(env!("CARGO_BIN_EXE_chiton")));
        command.args(words);
        command
    }

    /// Another program, in the environment in which the user has ours.
    pub(crate) fn command_of(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path().join("work"));
        command.env("HOME", self.folder.path().join("home"));
        command.env("CHITON_CONFIG", self.settings());
        command.env("XDG_STATE_HOME", self.folder.path().join("state"));
        for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"] {
            command.env_remove(name);
        }
        command.envs(&self.environment);
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    pub(crate) fn run_with_input(&self, words: &[&str], input: &[u8]) -> Output {
        let mut command = self.command(words);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let writing = std::thread::spawn(move || stdin.write_all(&input));
        let output = child.wait_with_output().unwrap();
        let _ = writing.join().unwrap();
        output
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
