//! The page of all verbs, with the listings that programs read.
#![expect(clippy::disallowed_methods, reason = "the tests start the program from outside")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// Verbs that `docs/verbs.md` does not describe, and those that have `--json` without a word about what it gives.
pub fn missing(root: &Path) -> Vec<String> {
    let page = fs::read_to_string(root.join("docs/verbs.md")).unwrap();
    let (_, listings) = page.split_once("\n## JSON\n").unwrap();
    let verbs = verbs_of(&[]);
    assert!(verbs.len() > 20, "the help lists few verbs: {verbs:?}");

    let mut problems = Vec::new();
    for verb in verbs {
        if !page.contains(&format!("`chiton {verb}")) {
            problems.push(format!("docs/verbs.md does not describe `chiton {verb}`"));
        }
        let inner = verbs_of(&[&verb]).into_iter().map(|inner| format!("{verb} {inner}"));
        for path in [verb.clone()].into_iter().chain(inner) {
            let words: Vec<&str> = path.split(' ').collect();
            if help(&words).contains(" --json") && !listings.contains(&format!("`chiton {path} --json")) {
                problems.push(format!("docs/verbs.md does not say what `chiton {path} --json` gives"));
            }
        }
    }
    problems
}

/// The verbs below this one, but for that which explains the others.
fn verbs_of(path: &[&str]) -> Vec<String> {
    let help = help(path);
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // A line that is indented further goes on with what the verb above does.
    let lines = lines.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    let verbs = lines.filter_map(|line| line.split(' ').next()).filter(|verb| *verb != "help" || path.is_empty());
    verbs.map(str::to_owned).collect()
}

fn help(path: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_chiton")).args(path).arg("--help").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}
