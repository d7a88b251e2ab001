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
                origin: None,
                boundary: None,
            };
            self.judge_case(&parsed, &case).0
        };

        let before = judge(&Input::Later);
        let is_new = |finding: &&Finding| !before.findings.iter().any(|known| is_same(known, finding));
        let mut verdict = judge(&Input::Text(text.into()));
        if verdict.findings.iter().filter(is_new).any(|finding| finding.rule == SYNTAX) {
            // A shell reads line after line: it waits where a command is not finished, and goes on behind a mistake.
            verdict = judge(&Input::Text(finished_commands(text).into()));
        }
        // No rule of the settings names a text that is typed, so none can be offered.
        verdict.findings.iter_mut().for_each(|finding| finding.permit = None);
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
            permit: None,
            findings: verdict.findings.iter().filter(is_new).cloned().collect(),
            ..verdict
        })
    }
}

/// The rule about texts that cannot be read.
const SYNTAX: &str = "syntax";
/// How many lines are tried as the beginning of a command.
const MOST_LINES: usize = 400;

/// The commands in lines that a shell reads one by one, without those that it rejects and the one that goes on. Nobody
/// knows for certain where a shell begins anew behind a mistake, so every line may be a beginning.
fn finished_commands(text: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let lines = &lines[lines.len().saturating_sub(MOST_LINES)..];
    let mut commands = String::new();
    let mut first = 0;
    while first < lines.len() {
        let is_command = |last: &usize| chiton_shell::parse(lines[first..=*last].concat().as_bytes()).is_ok();
        match (first..lines.len()).find(is_command) {
            Some(last) => {
                commands.push_str(&lines[first..=last].concat());
                first = last + 1;
            }
            None => first += 1,
        }
    }
    commands
}

fn is_same(one: &Finding, other: &Finding) -> bool {
    (&one.rule, &one.reason, &one.target) == (&other.rule, &other.reason, &other.target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_that_reads_lines_runs_those_that_are_commands() {
        let cases = [
            ("a\nfor x in 1; do\n", "a\n"),
            ("a\nfor x in 1; do\nb\ndone\n", "a\nfor x in 1; do\nb\ndone\n"),
            ("fi\na\n", "a\n"),
            ("a )\nb 'c\nd'\ne", "b 'c\nd'\ne"),
            ("cat <<E\nx\nE\nf() {\n", "cat <<E\nx\nE\n"),
        ];
        for (typed, run) in cases {
            assert_eq!(finished_commands(typed), run, "{typed}");
        }
    }
}
