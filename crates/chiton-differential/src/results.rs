//! What bash ran in the texts of one seed, kept in a file: after the guard has changed, only the guard has to be asked again.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::judged::Markers;

/// The results of earlier runs, and a file to which those of this one are added.
pub struct Results {
    known: HashMap<u64, Markers>,
    file: BufWriter<File>,
}

impl Results {
    /// Opens the file at `path`, which must be of the same seed where there is one.
    pub fn open(path: &Path, seed: u64) -> Result<Self> {
        let head = format!("seed {seed}");
        let before = match fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            read => Some(read.with_context(|| format!("cannot read {}", path.display()))?),
        };
        let mut lines = before.iter().flat_map(|text| text.lines());
        let first = lines.next();
        ensure!(
            first.is_none_or(|first| first == head),
            "{} holds the results of another seed: {}",
            path.display(),
            first.unwrap_or_default()
        );

        // A run that was stopped may have left half a line.
        let known = lines.filter_map(|line| {
            let (number, letters) = line.strip_suffix('.')?.split_once(' ')?;
            Some((number.parse().ok()?, letters.chars().collect()))
        });
        let known = known.collect();
        let file = OpenOptions::new().create(true).append(true).open(path);
        let mut file = BufWriter::new(file.with_context(|| format!("cannot write to {}", path.display()))?);
        if first.is_none() {
            writeln!(file, "{head}")?;
        }
        Ok(Self { known, file })
    }

    /// What bash ran in the text of this number, where that is known.
    pub fn of(&self, number: u64) -> Option<Markers> {
        self.known.get(&number).copied()
    }

    /// Adds what bash ran in a text.
    pub fn add(&mut self, number: u64, ran: Markers) -> Result<()> {
        let letters: String = ('a'..='z').filter(|letter| ran.has(*letter)).collect();
        Ok(writeln!(self.file, "{number} {letters}.")?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_back_for_the_same_seed_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results");
        let ran: Markers = "ac".chars().collect();
        Results::open(&path, 7).unwrap().add(3, ran).unwrap();

        let again = Results::open(&path, 7).unwrap();
        assert_eq!((again.of(3), again.of(4)), (Some(ran), None));
        assert!(Results::open(&path, 8).is_err());
    }
}
