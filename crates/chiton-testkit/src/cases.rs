//! Commands as data: a file of `=== name` lines, each followed by a command.

use std::fs;
use std::path::Path;

/// One case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its name, a promise in a few words.
    pub name: String,
    /// The command, byte for byte.
    pub command: Vec<u8>,
}

/// Reads all cases of a file; a name line that ends with ` [newline]` keeps the last newline of its command.
///
/// # Panics
/// When the file cannot be read or two cases have one name: both are mistakes in the tests themselves.
pub fn read(path: &Path) -> Vec<Case> {
    let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut cases: Vec<Case> = Vec::new();
    let mut keeps_newline = false;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        if let Some(name) = line.strip_prefix(b"=== ") {
            finish(cases.last_mut(), keeps_newline);
            let name = String::from_utf8_lossy(name).trim_end().to_owned();
            keeps_newline = name.ends_with(" [newline]");
            let name = name.trim_end_matches(" [newline]").to_owned();
            assert!(cases.iter().all(|case| case.name != name), "two cases are named {name}");
            cases.push(Case { name, command: Vec::new() });
        } else if let Some(case) = cases.last_mut() {
            case.command.extend_from_slice(line);
        }
    }
    finish(cases.last_mut(), keeps_newline);
    cases
}

fn finish(case: Option<&mut Case>, keeps_newline: bool) {
    if let Some(case) = case.filter(|case| !keeps_newline && case.command.ends_with(b"\n")) {
        case.command.pop();
    }
}
