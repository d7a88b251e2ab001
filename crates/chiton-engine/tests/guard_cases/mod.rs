//! The corpus: tab-separated files of commands and the verdicts they must get.

#![allow(dead_code, reason = "each test uses its part")]

use std::fs;
use std::path::Path;

use chiton_engine::guard::Decision;

/// What a case expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Allow,
    Ask,
    Deny,
    AskOrDeny,
    Any,
}

impl Expected {
    pub fn accepts(self, decision: Decision) -> bool {
        match self {
            Self::Allow => decision == Decision::Allow,
            Self::Ask => decision == Decision::Ask,
            Self::Deny => decision == Decision::Deny,
            Self::AskOrDeny => decision != Decision::Allow,
            Self::Any => true,
        }
    }
}

/// One command of the corpus. It is text for a function; nothing runs it.
#[derive(Clone, Debug)]
pub struct Case {
    pub id: String,
    pub class: String,
    pub command: String,
    pub expected: Expected,
}

/// All cases of all files.
pub fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/guard");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .expect("the corpus is there")
        .map(|entry| entry.expect("a readable folder").path())
        .collect();
    files.sort();
    files.iter().flat_map(|file| read(file)).collect()
}

fn read(file: &Path) -> Vec<Case> {
    let text = fs::read_to_string(file).expect("the corpus is text");
    let rows = text.lines().skip(1).filter(|line| !line.is_empty());
    rows.map(|line| row(line).unwrap_or_else(|| panic!("{}: {line}", file.display()))).collect()
}

fn row(line: &str) -> Option<Case> {
    let mut columns = line.split('\t');
    let (id, class, command, expected) = (columns.next()?, columns.next()?, columns.next()?, columns.next()?);
    let expected = match expected {
        "allow" => Expected::Allow,
        "ask" => Expected::Ask,
        "deny" => Expected::Deny,
        "ask-or-deny" => Expected::AskOrDeny,
        "any" => Expected::Any,
        _ => return None,
    };
    Some(Case { id: id.to_owned(), class: class.to_owned(), command: unescape(command), expected })
}

/// `\n`, `\t` and `\\`; every other backslash is one.
fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let replaced = match (character, characters.peek()) {
            ('\\', Some('n')) => '\n',
            ('\\', Some('t')) => '\t',
            ('\\', Some('\\')) => '\\',
            _ => {
                out.push(character);
                continue;
            }
        };
        characters.next();
        out.push(replaced);
    }
    out
}
