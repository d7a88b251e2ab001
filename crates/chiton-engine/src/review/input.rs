//! Text that is written to a program while that runs.

use std::path::Path;
use std::sync::Arc;

use chiton_guard::{Decision, Finding, Input, Mode, Verdict};

use super::Guard;
use super::case::Case;
use crate::request::EnvironmentChange;
use crate::state::ShellState;

impl Guard {
    /// What it says about `text` on the standard input of `program`, which runs already: what speaks against the program
    /// itself does not count. `None` where nothing is judged.
    pub fn judge_input(
        &self,
        text: &str,
        program: &[u8],
        state: &Arc<ShellState>,
        directory: &Path,
    ) -> Option<Verdict> {
        if self.policy.mode() == Mode::Off {
            return None;
        }
        let parsed = chiton_shell::parse(program);
        let change = EnvironmentChange::default();
        let judge = |input: &Input| {
            let case = Case {
                command: program,
                state,
                directory,
                real_directory: directory,
                change: &change,
                input,
                surroundings: None,
            };
            self.judge_case(&parsed, &case).0
        };

        let before = judge(&Input::Later);
        let is_new = |finding: &&Finding| !before.findings.iter().any(|known| is_same(known, finding));
        let verdict = judge(&Input::Text(text.into()));
        let Some(worst) = verdict.findings.iter().find(is_new).cloned() else {
            return Some(Verdict { decision: Decision::Allow, findings: Vec::new(), ..verdict });
        };
        Some(Verdict {
            decision: worst.decision,
            rule: Some(worst.rule.clone()),
            reason: worst.reason.clone(),
            // The place is one in the text, which is not what the caller sees as the command.
            span: None,
            target: worst.target.clone(),
            alternative: worst.alternative.clone(),
            permit: worst.permit.clone(),
            findings: verdict.findings.iter().filter(is_new).cloned().collect(),
            ..verdict
        })
    }
}

fn is_same(one: &Finding, other: &Finding) -> bool {
    (&one.rule, &one.reason, &one.target) == (&other.rule, &other.reason, &other.target)
}
