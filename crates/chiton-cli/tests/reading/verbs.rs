//! The page of all verbs.
#![expect(clippy::disallowed_methods, reason = "the tests start the program from outside")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// Verbs of the program that `docs/verbs.md` does not describe.
pub fn missing(root: &Path) -> Vec<String> {
    let page = fs::read_to_string(root.join("docs/verbs.md")).unwrap();
    let help = Command::new(env!("CARGO_BIN_EXE_chiton")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let verbs = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // A line that is indented further goes on with what the verb above does.
    let verbs = verbs.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    let verbs: Vec<&str> = verbs.filter_map(|line| line.split(' ').next()).collect();
    assert!(verbs.len() > 20, "the help lists few verbs: {verbs:?}");
    let missing = verbs.into_iter().filter(|verb| !page.contains(&format!("`chiton {verb}")));
    missing.map(|verb| format!("docs/verbs.md does not describe `chiton {verb}`")).collect()
}
