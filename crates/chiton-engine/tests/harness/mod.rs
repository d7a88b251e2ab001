//! An engine of its own for each test: own state directory, own marks, the real keeper.
#![cfg(test)]
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chiton_engine::sandbox::policy::{MissingLayer, NetworkPolicy, SandboxLimits, SandboxPolicy, UndoPolicy};
use chiton_engine::{
    ByteString, CommandRequest, Engine, EngineConfig, EnvironmentChange, Outcome, Response, RunControl, RunEvent,
    RunReport, Session, Silent, Stream,
};
use chiton_testkit::oracle::Observed;
use chiton_testkit::processes::MARK;
use tempfile::TempDir;

pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

pub struct Harness {
    pub engine: Engine,
    pub folder: TempDir,
}

impl Harness {
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    pub fn with(adjust: impl FnOnce(&mut EngineConfig)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = EngineConfig::new(folder.path().join("state")).unwrap();
        config.keeper = keeper();
        adjust(&mut config);
        Self { engine: Engine::new(config).unwrap(), folder }
    }

    /// A session in an empty directory with a small environment.
    pub fn session(&self) -> Session {
        self.session_in(self.folder.path())
    }

    pub fn session_in(&self, directory: &Path) -> Session {
        let environment = [("PATH", PATH), ("HOME", "/nonexistent"), ("LANG", "C.UTF-8")];
        let environment = environment.map(|(name, value)| (name.to_owned(), ByteString::from(value)));
        Session::new(self.engine.fresh_state(directory, environment, 0o022))
    }

    pub fn folder_of(&self, run_id: &str) -> PathBuf {
        self.folder.path().join("state/runs").join(run_id)
    }

    /// Runs a command that is neither refused nor only looked at.
    pub async fn run(&self, session: &Session, command: &str) -> RunReport {
        self.request(session, CommandRequest::new(command)).await
    }

    pub async fn request(&self, session: &Session, request: CommandRequest) -> RunReport {
        ran(self.respond(session, request).await)
    }

    pub async fn respond(&self, session: &Session, request: CommandRequest) -> Response {
        self.engine.run(session, request, &mut Silent, &RunControl::new()).await.unwrap()
    }

    /// Runs a command and keeps its output byte for byte.
    pub async fn observe(&self, session: &Session, command: &[u8]) -> (Observed, RunReport) {
        self.observe_request(session, CommandRequest::new(command)).await
    }

    pub async fn observe_request(&self, session: &Session, request: CommandRequest) -> (Observed, RunReport) {
        let command = request.command.clone();
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let mut listener = |event: RunEvent<'_>| {
            if let RunEvent::Output { stream, bytes } = event {
                if stream == Stream::Stdout { &mut stdout } else { &mut stderr }.extend_from_slice(bytes);
            }
        };
        let response = ran(self.engine.run(session, request, &mut listener, &RunControl::new()).await.unwrap());
        let status = match &response.outcome {
            Outcome::Exited(code) => *code,
            Outcome::Signaled(signal) => -signal.number(),
            other => panic!("{}: {other}", command.escape_ascii()),
        };
        (Observed { stdout, stderr, status }, response)
    }
}

fn ran(response: Response) -> RunReport {
    let word = response.word();
    response.into_ran().unwrap_or_else(|| panic!("it was {word}"))
}

pub fn keeper() -> PathBuf {
    env!("CARGO_BIN_EXE_chiton-keeper").into()
}

/// A sandbox in which `work` can be changed and nothing else is forbidden; what a test is about, it says itself.
pub fn enclosed(work: &Path) -> SandboxPolicy {
    SandboxPolicy {
        profile: "test".to_owned(),
        workspace: vec![work.to_owned()],
        write: vec![work.to_owned()],
        made: Vec::new(),
        temporary: Vec::new(),
        caches: Vec::new(),
        hide: Vec::new(),
        keep: Vec::new(),
        network: NetworkPolicy::Open,
        sockets: Vec::new(),
        expose: Vec::new(),
        limits: SandboxLimits::default(),
        missing: MissingLayer::Say,
        undo: UndoPolicy::Off,
    }
}

/// A mark nobody else has.
pub fn mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

pub fn marked_request(command: &str, mark: &str) -> CommandRequest {
    let mut request = CommandRequest::new(command);
    request.environment = EnvironmentChange::Merge(BTreeMap::from([(MARK.to_owned(), mark.into())]));
    request
}

pub fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}
