//! A workspace in a sandbox that keeps what commands change.

use std::fs;
use std::path::{Path, PathBuf};

use chiton_engine::changes::{ChangeLogs, ChangesError, UndoOptions, Undone};
use chiton_engine::sandbox::Without;
use chiton_engine::sandbox::policy::{MissingLayer, NetworkPolicy, SandboxLimits, SandboxPolicy, UndoPolicy};
use chiton_engine::{EngineConfig, Outcome, RunReport, Session};

use super::manifest::Manifest;
use crate::harness::Harness;

/// The workspace is `work`; `scratch` beside it can be written to as well, and is nobody's to put back.
pub struct Place {
    pub harness: Harness,
    pub session: Session,
    pub root: PathBuf,
    _folder: tempfile::TempDir,
}

pub fn policy(root: &Path) -> SandboxPolicy {
    SandboxPolicy {
        profile: "test".to_owned(),
        workspace: vec![root.join("work")],
        write: vec![root.to_owned()],
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
        undo: UndoPolicy::Keep,
    }
}

impl Place {
    pub fn new() -> Self {
        Self::with(Without::default(), |_, _| {})
    }

    pub fn with(without: Without, adjust: impl FnOnce(&mut EngineConfig, &Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("work")).unwrap();
        fs::create_dir(root.join("scratch")).unwrap();
        let harness = Harness::with(|config| {
            config.sandbox = Some(policy(&root));
            config.sandbox_without = without;
            adjust(config, &root);
        });
        let session = harness.session_in(&root.join("work"));
        Self { harness, session, root, _folder: folder }
    }

    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    pub fn state(&self) -> PathBuf {
        self.harness.folder.path().join("state")
    }

    pub fn logs(&self) -> ChangeLogs {
        ChangeLogs::new(&self.state())
    }

    pub fn manifest(&self) -> Manifest {
        Manifest::of(&self.work())
    }

    pub async fn run(&self, command: &str) -> RunReport {
        self.harness.run(&self.session, command).await
    }

    /// Runs a command that has to succeed.
    pub async fn succeed(&self, command: &str) -> RunReport {
        let report = self.run(command).await;
        assert_eq!(report.outcome, Outcome::Exited(0), "{command}: {}", said(&report));
        report
    }

    pub fn undo(&self, id: &str) -> Result<Undone, ChangesError> {
        self.logs().undo(id, UndoOptions::default())
    }

    /// Undoes something that nobody else has touched; gives the id by which that can be undone.
    pub fn undo_whole(&self, id: &str) -> Option<String> {
        let undone = self.undo(id).unwrap_or_else(|error| panic!("{error}"));
        assert!(undone.left_alone.is_empty(), "left alone: {:?}", undone.left_alone);
        assert!(undone.failed.is_empty(), "failed: {:?}", undone.failed);
        undone.undo
    }
}

pub fn said(report: &RunReport) -> String {
    format!(
        "{:?}\n{}{}\nrefused {:?}\nchanged {:?}",
        report.outcome,
        report.stdout.to_text(),
        report.stderr.to_text(),
        report.refused,
        report.changed
    )
}
