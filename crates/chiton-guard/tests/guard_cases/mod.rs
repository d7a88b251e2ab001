//! The corpus: tab-separated files of commands, each with the one verdict that it must get and the rule that the verdict
//! must name.
//!
//! A row is text for a function; nothing runs it. Its note says what is special about the command. A note that says
//! `gap:` marks a verdict that should be another, `rule:` one that is right for a reason that should be another; both
//! are what the guard says today, so that a change to them is seen.

#![allow(dead_code, reason = "each test uses its part")]

use std::fs;
use std::path::Path;

use chiton_guard::Decision;

const HEADER: &str = "id\tclass\tcommand\texpected\trule\tnote";

/// One command of the corpus.
#[derive(Clone, Debug)]
pub struct Case {
    pub id: String,
    pub class: String,
    pub command: String,
    pub expected: Decision,
    /// The rule that the verdict names; a command that is allowed has none.
    pub rule: Option<String>,
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
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(HEADER), "{}", file.display());

    lines.map(|line| row(line).unwrap_or_else(|| panic!("{}: {line}", file.display()))).collect()
}

fn row(line: &str) -> Option<Case> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [id, class, command, expected, rule, _note] = columns[..] else { return None };
    let (expected, rule) = match (expected, rule) {
        ("allow", "-") => (Decision::Allow, None),
        (_, "-" | "") => return None,
        ("ask", rule) => (Decision::Ask, Some(rule.to_owned())),
        ("deny", rule) => (Decision::Deny, Some(rule.to_owned())),
        _ => return None,
    };

    Some(Case { id: id.to_owned(), class: class.to_owned(), command: unescape(command), expected, rule })
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
