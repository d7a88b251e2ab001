//! The program that reaches a target: the user's own ssh, docker, kubectl or srun.

use std::io;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::target::Target;

/// How much of what it says is kept.
const KEPT: usize = 4096;

/// Whether somebody is there who could answer a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// A person, at the terminal.
    Attended,
    /// Nobody: it must not ask, and open no window.
    Unattended,
}

/// A running one. It ends with this.
#[derive(Debug)]
pub(super) struct Transport {
    child: Child,
    said: Arc<Mutex<Vec<u8>>>,
    listening: Option<JoinHandle<()>>,
}

impl Transport {
    pub(super) fn start(target: &Target, manner: Manner) -> io::Result<(Self, ChildStdin, ChildStdout)> {
        let mut command = command(target, manner);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let missing = || io::Error::other("a stream of it is missing");
        let (stdin, stdout) = (child.stdin.take().ok_or_else(missing)?, child.stdout.take().ok_or_else(missing)?);
        let said = Arc::<Mutex<Vec<u8>>>::default();
        let listening = child.stderr.take().map(|stderr| tokio::spawn(listen(stderr, Arc::clone(&said))));
        Ok((Self { child, said, listening }, stdin, stdout))
    }

    /// What it has said on standard error, in one line. It has ended, or is about to.
    pub(super) async fn complaint(&mut self) -> String {
        if let Some(listening) = self.listening.take() {
            let _ = timeout(Duration::from_secs(1), listening).await;
        }
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&said);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(4)..];
        last.join("; ")
    }

    /// Its end, which follows when its input was closed; in the end by force.
    pub(super) async fn finish(mut self) {
        if timeout(Duration::from_secs(1), self.child.wait()).await.is_err() {
            let _ = self.child.kill().await;
        }
    }

    /// Its end, now.
    pub(super) async fn kill(mut self) {
        let _ = self.child.kill().await;
    }
}

/// What could open a window or ask for a password.
const WINDOWS: [&str; 3] = ["DISPLAY", "WAYLAND_DISPLAY", "SSH_ASKPASS"];

#[expect(
    clippy::disallowed_methods,
    reason = "the user's own client is run, as the user would; no command goes through it"
)]
fn command(target: &Target, manner: Manner) -> Command {
    let words = if manner == Manner::Attended { target.words.clone() } else { target.unattended() };
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    if manner == Manner::Unattended {
        // In a group of its own: ctrl-c is for us, and we pass it on.
        command.process_group(0).env("SSH_ASKPASS_REQUIRE", "never").env("BROWSER", "false");
        for name in WINDOWS {
            command.env_remove(name);
        }
    }
    command
}

async fn listen(mut stderr: ChildStderr, said: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = [0; 1024];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend_from_slice(&buffer[..count]);
        let surplus = said.len().saturating_sub(KEPT);
        said.drain(..surplus);
    }
}
