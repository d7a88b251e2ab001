//! Rows of ordinary work, as the file of cases has them.

use std::fs;
use std::path::Path;

/// One row.
#[derive(Clone, Debug, Default)]
pub struct Row {
    pub name: String,
    /// Programs that it takes.
    pub needs: Vec<String>,
    /// In which profiles it runs.
    pub profiles: Vec<String>,
    /// Patterns of paths of which the contents may differ from run to run.
    pub loose: Vec<String>,
    /// Patterns of paths that may be there or not.
    pub fleeting: Vec<String>,
    pub set_up: String,
    pub commands: Vec<String>,
}

/// Reads all rows; the text above the first one says how they are written.
pub fn read(path: &Path) -> Vec<Row> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let rows: Vec<Row> = text.split("\n=== ").skip(1).map(row).collect();
    for (place, row) in rows.iter().enumerate() {
        assert!(!row.commands.is_empty(), "{} has no command", row.name);
        assert!(rows[..place].iter().all(|other| other.name != row.name), "two rows are named {}", row.name);
    }
    rows
}

fn row(text: &str) -> Row {
    let mut parts = text.split("\n--- ");
    let mut head = parts.next().unwrap_or_default().lines();
    let mut row = Row { name: head.next().unwrap_or_default().to_owned(), ..Row::default() };
    for line in head.filter(|line| !line.is_empty()) {
        let (key, words) = line.split_once(": ").unwrap_or_else(|| panic!("{}: what is '{line}'?", row.name));
        let words = words.split(' ').map(str::to_owned).collect();
        match key {
            "needs" => row.needs = words,
            "profiles" => row.profiles = words,
            "loose" => row.loose = words,
            "fleeting" => row.fleeting = words,
            other => panic!("{}: there is no '{other}'", row.name),
        }
    }
    for part in parts {
        let (kind, text) = part.split_once('\n').unwrap_or((part, ""));
        match kind {
            "set-up" => text.clone_into(&mut row.set_up),
            "command" => row.commands.push(text.trim_end_matches('\n').to_owned()),
            other => panic!("{}: there is no '{other}'", row.name),
        }
    }
    if row.profiles.is_empty() {
        row.profiles.push("work".to_owned());
    }
    row
}
