//! Text that is written to a command while that runs.

use std::path::Path;
use std::sync::Arc;

use chiton_guard::Verdict;

use super::Guard;
use crate::request::EnvironmentChange;
use crate::state::ShellState;

/// Programs that run what they read, and how they are given the same as an argument.
const READERS: &[(&[&str], Option<&str>)] = &[
    (&["bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "fish", "busybox", "su", "ssh", "sudo", "doas"], None),
    (&["python", "python2", "python3", "ipython", "pypy3"], Some("python3 -c")),
    (&["node", "nodejs", "deno", "bun"], Some("node -e")),
    (&["perl"], Some("perl -e")),
    (&["ruby", "irb"], Some("ruby -e")),
    (&["php"], Some("php -r")),
];

impl Guard {
    /// What it says about text that is written to a command while that runs: judged where the command is one that runs
    /// what it reads.
    pub fn judge_input(&self, text: &str, command: &str, state: &Arc<ShellState>, directory: &Path) -> Option<Verdict> {
        let change = EnvironmentChange::default();
        let running = self.judge(command.as_bytes(), state, directory, &change);
        let mut names = running.commands.iter().filter_map(|seen| seen.words.first()?.rsplit('/').next());
        let reader = names.find_map(|name| READERS.iter().find(|(names, _)| names.contains(&name)))?;
        let text = match reader.1 {
            None => text.to_owned(),
            Some(program) => format!("{program} '{}'", text.replace('\'', "'\\''")),
        };
        Some(self.judge(text.as_bytes(), state, directory, &change))
    }
}
