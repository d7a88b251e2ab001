//! A daemon that ends with the test, however the test ends.

use std::fs::File;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use crate::processes::{eventually, parent_of, pids};

/// How long a daemon may take to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(10);

/// Starts the daemon, waits until nobody holds the input any more, and ends the daemon. The shell is there because
/// nothing else is when the test is killed.
const SCRIPT: &str = r#"exec 3<&0 </dev/null; "$@" & cat <&3 >/dev/null; kill "$!" 2>/dev/null; wait "$!""#;

/// A daemon that runs in the foreground. It is asked to end when this goes away, and waited for.
#[derive(Debug)]
pub(super) struct Leash {
    shell: Child,
    hand: Option<ChildStdin>,
}

impl Leash {
    /// Starts it, with everything that it says in `log`.
    #[expect(clippy::disallowed_methods, reason = "daemons are started without the engine")]
    pub(super) fn start(words: &[String], environment: &[(&str, String)], log: &Path) -> Self {
        let log = File::create(log).expect("the folder of a fixture is ours");
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "sh"]).args(words).envs(environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(log.try_clone().expect("it is open")).stderr(log);
        let mut shell = command.spawn().expect("sh starts");
        let hand = shell.stdin.take();
        Self { shell, hand }
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        self.hand = None;
        if eventually(PATIENCE, || matches!(self.shell.try_wait(), Ok(Some(_)))) {
            return;
        }
        // It does not do what it is asked.
        let shell = self.shell.id();
        pids().filter(|pid| parent_of(*pid) == shell).for_each(super::end);
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}
