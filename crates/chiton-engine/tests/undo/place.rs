//! A workspace in a sandbox that keeps what commands change.

use std::fs;
use std::path::{Path, PathBuf};

use chiton_engine::changes::{ChangeLogs, ChangesError, UndoOptions, Undone};
use chiton_engine::sandbox::Without;
use chiton_engine::sandbox::policy::{SandboxPolicy, UndoPolicy};
use chiton_engine::{EngineConfig, Outcome, RunReport, Session};

use super::manifest::Manifest;
use crate::harness::{Harness, enclosed};

/// The workspace is `work`; `scratch` beside it can be written to as well, and is nobody's to put back.
pub struct Place {
    pub harness: Harness,
    pub session: Session,
    pub root: PathBuf,
    work: PathBuf,
    state: PathBuf,
    folder: Option<tempfile::TempDir>,
}

pub fn policy(root: &Path) -> SandboxPolicy {
    SandboxPolicy { write: vec![root.to_owned()], undo: UndoPolicy::Keep, ..enclosed(&root.join("work")) }
}

impl Place {
    pub fn new() -> Self {
        Self::with(Without::default(), |_, _| {})
    }

    pub fn with(without: Without, adjust: impl FnOnce(&mut EngineConfig, &Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        Self { folder: Some(folder), ..Self::at(root, without, adjust) }
    }

    /// In a folder that is somebody else's to remove.
    pub fn at(root: PathBuf, without: Without, adjust: impl FnOnce(&mut EngineConfig, &Path)) -> Self {
        fs::create_dir(root.join("work")).unwrap();
        fs::create_dir(root.join("scratch")).unwrap();
        let policy = policy(&root);
        Self::under(policy, root, without, adjust)
    }

    /// The workspace is this very folder.
    pub fn at_work(work: PathBuf) -> Self {
        let workspace = vec![work.clone()];
        let policy = SandboxPolicy { workspace: workspace.clone(), write: workspace, ..policy(&work) };
        Self::under(policy, work, Without::default(), |_, _| {})
    }

    fn under(
        policy: SandboxPolicy,
        root: PathBuf,
        without: Without,
        adjust: impl FnOnce(&mut EngineConfig, &Path),
    ) -> Self {
        let work = policy.workspace[0].clone();
        let mut state = PathBuf::new();
        let harness = Harness::with(|config| {
            config.sandbox = Some(policy);
            config.sandbox_without = without;
            adjust(config, &root);
            state.clone_from(&config.state_directory);
        });
        let session = harness.session_in(&work);
        Self { harness, session, root, work, state, folder: None }
    }

    pub fn work(&self) -> PathBuf {
        self.work.clone()
    }

    pub fn state(&self) -> PathBuf {
        self.state.clone()
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
