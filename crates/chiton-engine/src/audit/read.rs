//! Reading the journal, and finding out whether it is whole.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::AuditLine;
use super::journal::{CURRENT, ChainHead, HEAD, NOT_FOLLOWED, hash, old_files};
use crate::folder::RunFolder;

/// All files of the journal in `folder`, oldest first.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = old_files(folder);
    files.push(folder.join(CURRENT));
    files.retain(|path| fs::symlink_metadata(path).is_ok());
    files
}

/// A file of the journal. A symbolic link is not one.
pub(super) fn open(path: &Path) -> io::Result<File> {
    Ok(rustix::fs::open(path, OFlags::RDONLY | NOT_FOLLOWED, Mode::empty())?.into())
}

/// Calls `each` for every line that can be read, oldest first, as it stands in the file and what it says.
pub fn lines(folder: &Path, mut each: impl FnMut(&str, &AuditLine)) -> io::Result<()> {
    for path in files(folder) {
        for line in BufReader::new(open(&path)?).lines() {
            let line = line?;
            if let Ok(read) = serde_json::from_str(&line) {
                each(&line, &read);
            }
        }
    }
    Ok(())
}

/// Calls `each` for lines that can be read, the newest first, until it has enough. One file is in memory at a time.
pub fn newest(folder: &Path, mut each: impl FnMut(&str, &AuditLine) -> ControlFlow<()>) -> io::Result<()> {
    for path in files(folder).into_iter().rev() {
        let mut text = Vec::new();
        open(&path)?.read_to_end(&mut text)?;
        for line in text.rsplit(|byte| *byte == b'\n') {
            let Ok(line) = std::str::from_utf8(line) else { continue };
            let Ok(read) = serde_json::from_str(line) else { continue };
            if each(line, &read).is_break() {
                return Ok(());
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
    /// Lines at the beginning are gone, or all of them.
    #[error("records {first} to {last} of the journal are missing: somebody removed them")]
    Removed {
        /// The first one that is missing.
        first: u64,
        /// The last one that is missing.
        last: u64,
        /// When the oldest line of all was written, and the last one that is known; milliseconds since 1970, 0 where
        /// nobody knows.
        since_ms: u64,
        /// See above.
        until_ms: u64,
    },
    /// There is no journal, but there are runs that were written into one.
    #[error("there is no journal, although commands that ran were written into one: somebody removed it")]
    Gone {
        /// When the oldest of them started; milliseconds since 1970.
        since_ms: u64,
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

/// Goes through the whole chain, and compares its end with what was noted beside it and by the `witness`.
pub fn verify(folder: &Path, witness: Option<&Path>) -> Result<Verified, Tampered> {
    let mut head: Option<ChainHead> = None;
    let mut verified = Verified { lines: 0, first: 0 };
    let mut notes: Vec<ChainHead> = Vec::new();
    notes.extend(ChainHead::read(&folder.join(HEAD)));
    notes.extend(witness.and_then(ChainHead::read));
    let first = notes.iter().map(|note| note.first).max().unwrap_or(1);
    // Lines that old files took with them cannot be compared.
    notes.retain(|note| note.number >= first);
    let newest = notes.iter().max_by_key(|note| note.number).cloned();
    let removed = |last: u64, until: u64| {
        let since_ms = newest.as_ref().map_or(0, |note| note.created_ms);
        Tampered::Removed {
            first,
            last,
            since_ms,
            until_ms: newest.as_ref().map_or(until, |note| note.at_ms.min(until)),
        }
    };

    for path in files(folder) {
        let unreadable = |error| Tampered::Unreadable { path: path.clone(), error };
        let reader = BufReader::new(open(&path).map_err(unreadable)?);
        for (index, text) in reader.split(b'\n').enumerate() {
            let text = text.map_err(unreadable)?;
            let place = index + 1;
            let line: AuditLine =
                serde_json::from_slice(&text).map_err(|_| Tampered::NoRecord { path: path.clone(), line: place })?;
            let broken = |reason| Tampered::Broken { path: path.clone(), line: place, number: line.number, reason };
            let expected = head.take().or_else(|| (line.number == 1).then(ChainHead::none));
            if verified.lines == 0 && line.number > first {
                return Err(removed(line.number - 1, line.at_ms));
            }
            if verified.lines == 0 && line.number != first {
                return Err(broken("it is older than the oldest record that is kept"));
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
            let this = ChainHead { number: line.number, hash: hash(&text), first, created_ms: 0, at_ms: line.at_ms };
            notes.retain(|note| !(note.number == this.number && note.hash == this.hash));
            head = Some(this);
        }
    }

    // A crash between a line and the note of it leaves the note behind by one; never ahead.
    match (notes.iter().max_by_key(|note| note.number), head) {
        (None, _) => Ok(verified),
        (Some(note), None) => Err(removed(note.number, note.at_ms)),
        (Some(note), Some(last)) => Err(Tampered::Cut { last: last.number, written: note.number }),
    }
}

/// Where there is no journal: whether runs under `state_directory` were written into one.
pub fn verify_absence(state_directory: &Path) -> Result<(), Tampered> {
    let entries = fs::read_dir(state_directory.join("runs")).into_iter().flatten().flatten();
    let folders = entries.filter_map(|entry| RunFolder::at(&entry.path()).ok());
    let records = folders.filter_map(|folder| folder.request().ok());
    let oldest = records.filter(|record| record.journaled).map(|record| record.started_at).min();
    oldest.map_or(Ok(()), |since_ms| Err(Tampered::Gone { since_ms }))
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
        assert_eq!(verify(folder.path(), None).unwrap(), Verified { lines: 6, first: 1 });
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
            assert!(verify(folder.path(), None).is_err(), "{}", lines.join("\n"));
        }
        for byte in (0..text.len()).step_by(7) {
            let mut bytes = text.clone().into_bytes();
            bytes[byte] ^= 1;
            fs::write(&path, bytes).unwrap();
            assert!(verify(folder.path(), None).is_err(), "byte {byte}");
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
        assert_eq!(verify(folder.path(), None).unwrap(), Verified { lines: 100, first: 1 });
        assert!(files(folder.path()).len() > 5);
        let mut numbers = Vec::new();
        lines(folder.path(), |_, line| numbers.push(line.number)).unwrap();
        assert_eq!(numbers, (1..=100).collect::<Vec<_>>());
        for path in files(folder.path()) {
            let saved = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            assert!(verify(folder.path(), None).is_err(), "{}", path.display());
            fs::write(&path, saved).unwrap();
        }
        assert!(verify(folder.path(), None).is_ok());
    }

    #[test]
    fn old_files_go_and_what_is_left_is_still_a_chain() {
        let folder = tempfile::tempdir().unwrap();
        let config = AuditConfig { file_bytes: 2000, files: 3, ..AuditConfig::default() };
        journal(folder.path(), config, 60);
        assert_eq!(files(folder.path()).len(), 3);
        let verified = verify(folder.path(), None).unwrap();
        assert_eq!((verified.first + verified.lines, verified.first > 1), (61, true));
    }

    #[test]
    fn a_journal_that_was_removed_is_missed_also_after_a_new_one_was_begun() {
        let place = tempfile::tempdir().unwrap();
        let (folder, elsewhere) = (place.path().join("audit"), place.path().join("elsewhere"));
        let make = || Journal::new(&folder, AuditConfig::default(), "test").with_witness_in(&elsewhere);
        let write = |journal: &Journal, lines| (0..lines).for_each(|number| journal.append(entry(number)).unwrap());
        let verify = || verify(&folder, make().witness());

        let journal = make();
        write(&journal, 5);
        assert_eq!(verify().unwrap(), Verified { lines: 5, first: 1 });
        fs::remove_dir_all(&folder).unwrap();
        assert!(matches!(verify(), Err(Tampered::Removed { first: 1, last: 5, since_ms: 1.., .. })));
        // Both a process that had it open and a new one go on, and neither hides what is gone.
        write(&journal, 2);
        write(&make(), 2);
        assert!(matches!(verify(), Err(Tampered::Removed { first: 1, last: 5, .. })));

        // Only the witness knows that the last lines were cut off, and it is not forgotten with the next line.
        fs::remove_dir_all(&folder).unwrap();
        fs::remove_file(make().witness().unwrap()).unwrap();
        write(&make(), 5);
        let current = folder.join(CURRENT);
        let text = fs::read_to_string(&current).unwrap();
        let shortened: Vec<&str> = text.split_inclusive('\n').take(3).collect();
        fs::write(&current, shortened.concat()).unwrap();
        fs::remove_file(folder.join(HEAD)).unwrap();
        assert!(matches!(verify(), Err(Tampered::Cut { last: 3, written: 5 })));
        write(&make(), 1);
        assert!(matches!(verify(), Err(Tampered::Broken { number: 6, .. })));
    }

    #[test]
    fn no_link_is_followed_and_nothing_is_written_elsewhere() {
        let place = tempfile::tempdir().unwrap();
        let (folder, other) = (place.path().join("audit"), place.path().join("other"));
        fs::create_dir(&other).unwrap();
        std::os::unix::fs::symlink(&other, &folder).unwrap();
        let journal = Journal::new(&folder, AuditConfig::default(), "test");
        assert!(journal.append(entry(1)).is_err());
        fs::remove_file(&folder).unwrap();

        journal.append(entry(1)).unwrap();
        for name in [CURRENT, HEAD, ".lock"] {
            let moved = other.join(name);
            fs::rename(folder.join(name), &moved).unwrap();
            std::os::unix::fs::symlink(&moved, folder.join(name)).unwrap();
            let before = fs::read(&moved).unwrap();
            let fresh = Journal::new(&folder, AuditConfig::default(), "test");
            let problem = fresh.append(entry(2)).unwrap_err().to_string();
            assert!(problem.contains("symbolic link"), "{name}: {problem}");
            assert_eq!(fs::read(&moved).unwrap(), before, "{name}");
            fs::rename(&moved, folder.join(name)).unwrap();
        }

        // One that had everything open notices that the folder is another.
        fs::rename(&folder, other.join("audit")).unwrap();
        std::os::unix::fs::symlink(other.join("audit"), &folder).unwrap();
        assert!(journal.append(entry(3)).is_err());
    }

    #[test]
    fn a_line_torn_by_a_crash_is_named_and_the_journal_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        journal(folder.path(), AuditConfig::default(), 2);
        let path = folder.path().join(CURRENT);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 10]).unwrap();
        journal(folder.path(), AuditConfig::default(), 1);
        assert!(matches!(verify(folder.path(), None), Err(Tampered::NoRecord { line: 2, .. })));
        let mut count = 0;
        lines(folder.path(), |_, _| count += 1).unwrap();
        assert_eq!(count, 2);
        let mut numbers = Vec::new();
        newest(folder.path(), |_, line| {
            numbers.push(line.number);
            ControlFlow::Continue(())
        })
        .unwrap();
        assert!(numbers.len() == 2 && numbers.is_sorted_by(|one, other| one > other), "{numbers:?}");
    }
}
