//! The face for programs that think in shells. One test, since there is one manager per process.
#![cfg(test)]

mod harness;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use chiton_engine::TaskStatus;
use chiton_operator::shell_manager::ShellManager;
use chiton_testkit::processes::eventually;
use harness::{Harness, runtime, seconds};

fn main() -> ExitCode {
    harness::run(&[(
        "shells_are_created_found_read_cleaned_up_killed_and_reset",
        shells_are_created_found_read_cleaned_up_killed_and_reset,
    )])
}

fn shells_are_created_found_read_cleaned_up_killed_and_reset(harness: &Harness) {
    let make = || Ok((harness.engine.clone(), harness.state()));
    runtime().block_on(async {
        let manager = ShellManager::instance(make).unwrap();
        assert!(Arc::ptr_eq(&manager, &ShellManager::instance(|| panic!("there is one")).unwrap()));

        let shell =
            manager.create_shell("printf 'line1\\nline2\\nline3\\n'; echo oops >&2", "/tmp", None).await.unwrap();
        assert!(shell.id.starts_with("shell_"));
        assert!(Arc::ptr_eq(&manager.get_shell(&shell.id).unwrap(), &shell));
        assert!(manager.get_shell("shell_xyz").is_none());
        assert!(eventually(seconds(10), || shell.status() == TaskStatus::Completed), "without anybody waiting for it");
        assert_eq!(shell.exit_code(), Some(0));
        shell.set_last_read_stdout(6);
        assert_eq!(shell.get_new_output(false).unwrap(), "line2\nline3\n");
        assert_eq!(shell.last_read_stdout(), 18);
        assert_eq!(shell.get_new_output(true).unwrap(), "[stderr]\noops\n");
        assert_eq!(shell.get_new_output(true).unwrap(), "");
        let duration = shell.duration_ms();
        assert_eq!(shell.duration_ms(), duration);

        let failed = manager.create_shell("exit 2", "/tmp", None).await.unwrap();
        let late = manager.create_shell("sleep 300", "/tmp", Some(Duration::from_millis(100))).await.unwrap();
        assert!(eventually(seconds(10), || failed.status() == TaskStatus::Failed));
        assert!(eventually(seconds(10), || late.status() == TaskStatus::TimedOut));

        let first = manager.create_shell("sleep 300", "/tmp", None).await.unwrap();
        let second = manager.create_shell("sleep 300", "/tmp", None).await.unwrap();
        assert_eq!(manager.list_shells().len(), 5);
        let running = manager.list_running();
        assert!(running.len() == 2 && running.iter().all(|shell| shell.is_running()));
        assert_eq!(manager.cleanup_completed(seconds(3600)), 0, "recent ones stay");
        assert_eq!(manager.cleanup_completed(Duration::ZERO), 3);
        assert_eq!(manager.list_shells().len(), 2, "running ones stay");
        assert!(first.kill().await);
        assert_eq!(first.status(), TaskStatus::Killed);
        assert!(!first.kill().await, "it was stopped before");
        assert_eq!(manager.kill_all().await, 1);
        assert_eq!(second.status(), TaskStatus::Killed, "and it stays so");

        manager.create_shell("sleep 300", "/tmp", None).await.unwrap();
        assert_eq!(ShellManager::reset().await, 1);
        let fresh = ShellManager::instance(make).unwrap();
        assert!(!Arc::ptr_eq(&manager, &fresh));
        assert_eq!(fresh.list_shells().len(), 0);
    });
}
