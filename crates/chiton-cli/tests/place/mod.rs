//! A place of its own for each test: own home, own state, the real program.
#![cfg(test)]
#![allow(dead_code, reason = "each test file uses its own part")]

pub mod web;

use std::process::{Child, Command, Output, Stdio};

use chiton_testkit::processes::MARK;
use chiton_testkit::wire::Wire;
use serde_json::Value;
use tempfile::TempDir;

pub struct Place {
    pub folder: TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chiton"));
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.folder.path())
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    pub fn command_of(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("HOME", self.folder.path()).current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    pub fn call(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).output().unwrap()
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.call(&[&["run"], arguments].concat())
    }

    pub fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[&["--json"], arguments].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stdout)))
    }

    pub fn start(&self, mark: &str, arguments: &[&str]) -> Child {
        let mut command = self.command();
        command.env(MARK, mark).arg("run").args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The server, with nobody to read what it says on standard error.
    pub fn server(&self, arguments: &[&str]) -> Command {
        let mut command = self.command();
        command.arg("mcp").args(arguments).stderr(Stdio::null());
        command
    }

    /// A server that nobody has spoken to.
    pub fn wire(&self, arguments: &[&str]) -> Wire {
        Wire::start(self.server(arguments))
    }

    /// A server with a session of the revision that most clients speak.
    pub fn session(&self, arguments: &[&str]) -> Wire {
        Wire::session(self.server(arguments))
    }

    /// Starts a background command; gives its id.
    pub fn background(&self, arguments: &[&str]) -> String {
        let output = self.run(&[&["--background"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout).trim().to_owned()
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The text of a reply.
pub fn said(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
}

/// A command that goes on until there is a file of this name where the test works.
pub fn until(name: &str) -> String {
    format!("until [ -e {name} ]; do sleep 0.02; done")
}

/// Makes that file.
pub fn allow(place: &Place, name: &str) {
    std::fs::write(place.folder.path().join(name), "").unwrap();
}
