//! What a command did to files, as its reply tells it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How many names of each kind a reply has.
pub(crate) const FIRST_NAMES: usize = 5;

/// The files that a command has made, changed and removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFiles {
    /// How many there are that were not there before.
    pub made: u64,
    /// How many are there still, and are not what they were.
    pub changed: u64,
    /// How many are gone.
    pub removed: u64,
    /// The first of each kind.
    pub names: FirstNames,
    /// The id by which all of it can be undone, where it can.
    #[serde(default)]
    pub undo: Option<String>,
    /// The id of the preview that holds it, where nothing has really changed yet.
    #[serde(default)]
    pub preview: Option<String>,
    /// What cannot be put back, and why.
    #[serde(default)]
    pub not_kept: Vec<NotKept>,
}

/// The first names of each kind: relative to the workspace, where they are in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstNames {
    /// Made.
    pub made: Vec<String>,
    /// Changed.
    pub changed: Vec<String>,
    /// Removed.
    pub removed: Vec<String>,
}

impl FirstNames {
    /// Names in one line, whatever is in them.
    pub(crate) fn shown(names: &[String]) -> String {
        names.iter().map(|name| in_one_line(name)).collect::<Vec<_>>().join(", ")
    }
}

/// A name with what breaks a line, or turns it around, written out.
fn in_one_line(name: &str) -> String {
    let is_plain = |one: char| {
        !one.is_control() && !('\u{2028}'..='\u{202e}').contains(&one) && !('\u{2066}'..='\u{2069}').contains(&one)
    };
    let mut line = String::with_capacity(name.len());
    for one in name.chars() {
        if is_plain(one) {
            line.push(one);
        } else {
            line.extend(one.escape_default());
        }
    }
    line
}

/// A file whose former content is lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotKept {
    /// Which one.
    pub path: String,
    /// Why.
    pub why: String,
}

impl ChangedFiles {
    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.made + self.changed + self.removed == 0 && self.not_kept.is_empty()
    }

    /// Takes out of all names what nobody is to read.
    pub(crate) fn mask(&mut self, masked: impl Fn(Vec<u8>) -> Vec<u8>) {
        let FirstNames { made, changed, removed } = &mut self.names;
        let lost = self.not_kept.iter_mut().map(|lost| &mut lost.path);
        for name in made.iter_mut().chain(changed).chain(removed).chain(lost) {
            *name = String::from_utf8_lossy(&masked(std::mem::take(name).into_bytes())).into_owned();
        }
    }

    /// Counts one more file.
    pub(crate) fn add(&mut self, kind: ChangeKind, name: impl FnOnce() -> String) {
        let (count, names) = match kind {
            ChangeKind::Made => (&mut self.made, &mut self.names.made),
            ChangeKind::Changed => (&mut self.changed, &mut self.names.changed),
            ChangeKind::Removed => (&mut self.removed, &mut self.names.removed),
        };
        *count += 1;
        if names.len() < FIRST_NAMES {
            names.push(name());
        }
    }
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It was not there before.
    Made,
    /// It is there still, and is not what it was.
    Changed,
    /// It is gone.
    Removed,
}

impl ChangeKind {
    /// One word for machines.
    pub fn word(self) -> &'static str {
        match self {
            Self::Made => "made",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }
}

impl fmt::Display for ChangedFiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [
            (ChangeKind::Made, self.made, &self.names.made),
            (ChangeKind::Changed, self.changed, &self.names.changed),
            (ChangeKind::Removed, self.removed, &self.names.removed),
        ];
        let said: Vec<String> = kinds
            .into_iter()
            .filter(|(_, count, _)| *count > 0)
            .map(|(kind, count, names)| {
                let more = if count > names.len() as u64 { ", …" } else { "" };
                format!("{} {count} ({}{more})", kind.word(), FirstNames::shown(names))
            })
            .collect();
        let whose = if self.preview.is_some() { "files that would be" } else { "files" };
        write!(formatter, "{whose} {}", said.join(", "))?;
        if let Some(id) = &self.undo {
            write!(formatter, "; undone by `chiton undo {id}`")?;
        }
        if let Some(id) = &self.preview {
            write!(formatter, "; `chiton preview commit {id}` makes it so, `chiton preview drop {id}` forgets it")?;
        }
        for NotKept { path, why } in self.not_kept.iter().take(FIRST_NAMES) {
            write!(formatter, "; {} cannot be put back: {why}", in_one_line(path))?;
        }
        if self.not_kept.len() > FIRST_NAMES {
            write!(formatter, "; nor can {} more", self.not_kept.len() - FIRST_NAMES)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_line() {
        let cases = [
            ("a b", "a b"),
            ("it's", "it's"),
            ("é", "é"),
            ("a\nb", "a\\nb"),
            ("\x1b[2K", "\\u{1b}[2K"),
            ("\u{202e}x", "\\u{202e}x"),
        ];
        for (name, shown) in cases {
            let names = FirstNames { made: vec![name.to_owned()], ..FirstNames::default() };
            let changed = ChangedFiles { made: 1, names, ..ChangedFiles::default() };
            assert_eq!(changed.to_string(), format!("files made 1 ({shown})"));
        }
    }
}
