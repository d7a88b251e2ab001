//! What in the state of a session makes its commands fail, where a failure shows that.

use std::path::{Path, PathBuf};

use chiton_engine::render::TextView;
use chiton_engine::{EnvironmentChange, Outcome, RunReport, ShellState};

/// The exit code of a command that was not found.
const NOT_FOUND: i32 = 127;

/// What in the state that a command started from made it fail, in words. `beginning` is what its session started from,
/// `change` what its call added.
pub fn broken_state(
    before: &ShellState,
    beginning: &ShellState,
    change: &EnvironmentChange,
    report: &RunReport,
) -> Option<String> {
    let Outcome::Exited(code @ 1..) = report.outcome else { return None };
    if code == NOT_FOUND && lost_path(before, beginning, change) {
        let problem = match directories(before).len() {
            0 => "PATH is empty in this session",
            _ => "PATH of this session has none of the directories that it had at the start",
        };
        return Some(format!("{problem}, so programs are not found"));
    }
    let name = readonly(before).find(|name| complains(report, name))?;
    Some(format!("{name} was made readonly earlier in this session"))
}

/// Whether nothing is left of the PATH that the session had at its start.
fn lost_path(before: &ShellState, beginning: &ShellState, change: &EnvironmentChange) -> bool {
    let is_of_call = matches!(change, EnvironmentChange::Replace(_)) || change.variables().contains_key("PATH");
    let (now, first) = (directories(before), directories(beginning));
    !is_of_call && !first.is_empty() && !first.iter().any(|directory| now.contains(directory))
}

fn directories(state: &ShellState) -> Vec<PathBuf> {
    use std::os::unix::ffi::OsStrExt;

    let path = state.variables.get("PATH").and_then(|path| path.scalar()).unwrap_or_default();
    let entries = path.split(|byte| *byte == b':').filter(|entry| !entry.is_empty());
    entries.map(|entry| Path::new(std::ffi::OsStr::from_bytes(entry)).to_owned()).collect()
}

/// The names of variables and functions that nobody can change any more.
fn readonly(state: &ShellState) -> impl Iterator<Item = String> {
    let variables = state.variables.iter().filter(|(_, variable)| variable.attributes.contains('r'));
    let functions = state.functions.iter().filter(|(_, function)| function.attributes.contains('r'));
    variables.map(|(name, _)| name.clone()).chain(functions.map(|(name, _)| name.to_text()))
}

/// Whether bash says that this name is readonly.
fn complains(report: &RunReport, name: &str) -> bool {
    let views = [&report.stdout, &report.stderr];
    let texts = views.into_iter().flat_map(|TextView { head, tail, .. }| [Some(head), tail.as_ref()]).flatten();
    let mut lines = texts.flat_map(|text| text.lines());
    lines.any(|line| {
        let says = |what: &str| line.contains(&format!(" {name}: {what}"));
        line.contains("readonly") && (says("readonly ") || says("cannot unset: readonly "))
    })
}
