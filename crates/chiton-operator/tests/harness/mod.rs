//! An engine of its own for each test, whose keepers are this very test program.
#![allow(dead_code, clippy::unwrap_used, reason = "each test file uses its own part; a test that cannot go on fails")]

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use chiton_engine::{Engine, EngineConfig, FreshState};
use libtest_mimic::{Arguments, Trial};
use tempfile::TempDir;

pub struct Harness {
    pub engine: Engine,
    pub folder: TempDir,
}

impl Harness {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine_in(folder.path());
        Self { engine, folder }
    }

    pub fn state(&self) -> FreshState {
        let environment = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", "/nonexistent"), ("LANG", "C.UTF-8")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.into()));
        self.engine.fresh_state(self.folder.path(), environment, 0o022)
    }
}

pub fn engine_in(folder: &Path) -> Engine {
    Engine::new(EngineConfig::new(folder.join("state")).unwrap()).unwrap()
}

/// A case: its name, and what it does.
pub type Case = (&'static str, fn(&Harness));

/// The `main` of a test program: a keeper where the engine asks for one, else the cases.
pub fn run(cases: &[Case]) -> ExitCode {
    chiton_engine::serve_if_asked();
    let trial = |&(name, case): &Case| {
        Trial::test(name, move || {
            case(&Harness::new());
            Ok(())
        })
    };
    libtest_mimic::run(&Arguments::from_args(), cases.iter().map(trial).collect()).exit_code()
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

pub fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
