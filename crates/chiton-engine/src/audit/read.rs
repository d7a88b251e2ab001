//! Reading the journal, and finding out whether it is whole.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::AuditLine;
use super::journal::{CURRENT, ChainHead, hash, old_files};

/// All files of the journal in `folder`, oldest first.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = old_files(folder);
    files.push(folder.join(CURRENT));
    files.retain(|path| path.exists());
    files
}

/// Calls `each` for every line that can be read, oldest first, as it stands in the file and what it says.
pub fn lines(folder: &Path, mut each: impl FnMut(&str, &AuditLine)) -> io::Result<()> {
    for path in files(folder) {
        for line in BufReader::new(File::open(path)?).lines() {
            let line = line?;
            if let Ok(read) = serde_json::from_str(&line) {
                each(&line, &read);
            }
        }
    }
    Ok(())
}

/// A journal in which every line follows from the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// How many lines there are.
    pub lines: u64,
    /// The number of the first; more than 1 where old files were let go.
    pub first: u64,
}

/// Where a journal is not what was written.
#[derive(Debug, thiserror::Error)]
pub enum Tampered {
    /// It cannot be read.
    #[error("the journal cannot be read: {}: {error}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A line is not one.
    #[error("{} line {line}: this is not a record", path.display())]
    NoRecord {
        /// Which file.
        path: PathBuf,
        /// Which line of it.
        line: usize,
    },
    /// A line does not follow from the one before it.
    #[error("{} line {line} (record {number}): {reason}", path.display())]
    Broken {
        /// Which file.
        path: PathBuf,
        /// Which line of it.
        line: usize,
        /// Its number in the journal.
        number: u64,
        /// What is wrong.
        reason: &'static str,
    },
    /// Lines at the end are gone.
    #[error("the journal ends with record {last}, but {written} were written: the last ones are missing or changed")]
    Cut {
        /// The last one that is there.
        last: u64,
        /// The last one that was written.
        written: u64,
    },
}

/// Goes through the whole chain.
pub fn verify(folder: &Path) -> Result<Verified, Tampered> {
    let mut head: Option<ChainHead> = None;
    let mut verified = Verified { lines: 0, first: 0 };
    let written = ChainHead::read(folder);
    let mut seen = written.is_none();
    for path in files(folder) {
        let unreadable = |error| Tampered::Unreadable { path: path.clone(), error };
        let reader = BufReader::new(File::open(&path).map_err(unreadable)?);
        for (index, text) in reader.split(b'\n').enumerate() {
            let text = text.map_err(unreadable)?;
            let place = index + 1;
            let line: AuditLine =
                serde_json::from_slice(&text).map_err(|_| Tampered::NoRecord { path: path.clone(), line: place })?;
            let broken = |reason| Tampered::Broken { path: path.clone(), line: place, number: line.number, reason };
            let expected = head.take().or_else(|| (line.number == 1).then(ChainHead::none));
            let first = written.as_ref().map_or(1, |written| written.first);
            if verified.lines == 0 && line.number != first {
                return Err(broken("records before it are missing"));
            }
            if let Some(before) = expected {
                if line.number != before.number + 1 {
                    return Err(broken("a record before it is missing"));
                }
                if line.previous != before.hash {
                    return Err(broken("the record before it was changed"));
                }
            }
            if verified.lines == 0 {
                verified.first = line.number;
            }
            verified.lines += 1;
            let this = ChainHead { number: line.number, hash: hash(&text), first };
            seen |= written.as_ref() == Some(&this);
            head = Some(this);
        }
    }
    let last = head.map_or(0, |head| head.number);
    match written {
        // A crash between a line and the note of it leaves the note behind by one; never ahead.
        Some(written) if !seen => Err(Tampered::Cut { last, written: written.number }),
        _ => Ok(verified),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{AuditConfig, AuditEntry, AuditEvent, Journal};
    use std::fs;

    fn entry(number: usize) -> AuditEntry {
        AuditEntry::new(AuditEvent::Run).with_command(format!("echo {number} \"quoted\" \u{e4}").as_bytes())
    }

    fn journal(folder: &Path, config: AuditConfig, lines: usize) {
        let journal = Journal::new(folder, config, "test");
        (0..lines).for_each(|number| journal.append(entry(number)).unwrap());
    }

    #[test]
    fn every_change_of_any_line_is_found() {
        let folder = tempfile::tempdir().unwrap();
        journal(folder.path(), AuditConfig::default(), 6);
        assert_eq!(verify(folder.path()).unwrap(), Verified { lines: 6, first: 1 });
        let path = folder.path().join(CURRENT);
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let mut tampered: Vec<Vec<String>> = Vec::new();
        for place in 0..lines.len() {
            let with = |line: Option<String>| -> Vec<String> {
                let mut all: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
                match line {
                    Some(line) => all[place] = line,
                    None => drop(all.remove(place)),
                }
                all
            };
            tampered.push(with(None));
            tampered.push(with(Some(lines[place].replace("echo", "true"))));
            tampered.push(with(Some(lines[place][..20].to_owned())));
            let mut doubled = with(Some(lines[place].to_owned()));
            doubled.insert(place, lines[place].to_owned());
            tampered.push(doubled);
        }
        for lines in tampered {
            fs::write(&path, lines.join("\n") + "\n").unwrap();
            assert!(verify(folder.path()).is_err(), "{}", lines.join("\n"));
        }
        for byte in (0..text.len()).step_by(7) {
            let mut bytes = text.clone().into_bytes();
            bytes[byte] ^= 1;
            fs::write(&path, bytes).unwrap();
            assert!(verify(folder.path()).is_err(), "byte {byte}");
        }
    }

    #[test]
    fn several_writers_make_one_chain_and_full_files_follow_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let config = AuditConfig { file_bytes: 2000, files: 100, ..AuditConfig::default() };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| journal(folder.path(), config, 25));
            }
        });
        assert_eq!(verify(folder.path()).unwrap(), Verified { lines: 100, first: 1 });
        assert!(files(folder.path()).len() > 5);
        let mut numbers = Vec::new();
        lines(folder.path(), |_, line| numbers.push(line.number)).unwrap();
        assert_eq!(numbers, (1..=100).collect::<Vec<_>>());
        for path in files(folder.path()) {
            let saved = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            assert!(verify(folder.path()).is_err(), "{}", path.display());
            fs::write(&path, saved).unwrap();
        }
        assert!(verify(folder.path()).is_ok());
    }

    #[test]
    fn old_files_go_and_what_is_left_is_still_a_chain() {
        let folder = tempfile::tempdir().unwrap();
        let config = AuditConfig { file_bytes: 2000, files: 3, ..AuditConfig::default() };
        journal(folder.path(), config, 60);
        assert_eq!(files(folder.path()).len(), 3);
        let verified = verify(folder.path()).unwrap();
        assert_eq!((verified.first + verified.lines, verified.first > 1), (61, true));
    }

    #[test]
    fn a_line_torn_by_a_crash_is_named_and_the_journal_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        journal(folder.path(), AuditConfig::default(), 2);
        let path = folder.path().join(CURRENT);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 10]).unwrap();
        journal(folder.path(), AuditConfig::default(), 1);
        assert!(matches!(verify(folder.path()), Err(Tampered::NoRecord { line: 2, .. })));
        let mut count = 0;
        lines(folder.path(), |_, _| count += 1).unwrap();
        assert_eq!(count, 2);
    }
}
