//! Places that programs make by themselves, like `~/.npm`. The folder above them is not writable in a sandbox, so they are
//! made beforehand.
//!
//! 1. [`make`] makes what is missing, as its program would, before a sandbox is prepared. A record beside the folder in
//!    which its shells hand their state back says what was made.
//! 2. Whoever leaves the sandbox last removes what stayed empty ([`leave`]), but for what is in the record of another
//!    sandbox: that one relies on it.
//!
//! Nothing here fails a command: what cannot be made stays missing.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, DirEntry, File};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::sandbox::policy::MadePlace;

/// How the name of a record ends.
const RECORD: &str = "made";

/// Makes what is missing of `places`, with the folders above it.
pub(super) fn make(places: &[MadePlace], hand_back: &Path) {
    let others = recorded_by_others(hand_back);
    let mut relied_on = Vec::new();
    let mut missing = Vec::new();
    for place in places {
        let above: Vec<&Path> = place.path().ancestors().collect();
        for path in above.into_iter().rev() {
            if path.symlink_metadata().is_ok() {
                if others.contains(path) && !relied_on.iter().any(|known| known == path) {
                    relied_on.push(path.to_owned());
                }
            } else if !missing.iter().any(|known: &MadePlace| known.path() == path) {
                let is_file = matches!(place, MadePlace::File(file) if file == path);
                let path = path.to_owned();
                missing.push(if is_file { MadePlace::File(path) } else { MadePlace::Folder(path) });
            }
        }
    }
    if relied_on.is_empty() && missing.is_empty() {
        return;
    }

    // Written first: what we are killed in the middle of is still known to be ours.
    let paths = relied_on.iter().map(PathBuf::as_path).chain(missing.iter().map(MadePlace::path));
    let text: Vec<u8> = paths.flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
    if fs::write(record(hand_back), text).is_err() {
        return;
    }
    for place in &missing {
        let _ = match place {
            MadePlace::Folder(path) => fs::create_dir(path),
            MadePlace::File(path) => File::create_new(path).map(drop),
        };
    }
}

/// Removes the folder in which shells hand their state back. With the last one who leaves goes what stayed empty.
pub(crate) fn leave(hand_back: &Path) {
    if fs::remove_dir(hand_back).is_err() {
        return;
    }
    let (record, others) = (record(hand_back), recorded_by_others(hand_back));
    let made = read(&record);
    // What is below comes after what is above it.
    for path in made.iter().rev().filter(|path| !others.contains(*path)) {
        remove_if_empty(path, &made);
    }
    let _ = fs::remove_file(record);
}

/// Removes a folder with nothing in it but empty files that were made with it. Files go with their folder only: beside
/// something else, they are locks that somebody may hold.
fn remove_if_empty(folder: &Path, made: &[PathBuf]) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let entries: Vec<DirEntry> = entries.flatten().collect();
    let is_ours = |entry: &DirEntry| {
        let is_empty_file = entry.metadata().is_ok_and(|data| data.is_file() && data.len() == 0);
        is_empty_file && made.contains(&entry.path())
    };
    if entries.iter().all(is_ours) {
        for entry in entries {
            let _ = fs::remove_file(entry.path());
        }
        let _ = fs::remove_dir(folder);
    }
}

fn record(hand_back: &Path) -> PathBuf {
    hand_back.with_extension(RECORD)
}

fn read(record: &Path) -> Vec<PathBuf> {
    let text = fs::read(record).unwrap_or_default();
    let paths = text.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    paths.map(|path| OsString::from_vec(path.to_owned()).into()).collect()
}

/// What other sandboxes have made or rely on. Their folders are there as long as they are.
fn recorded_by_others(hand_back: &Path) -> HashSet<PathBuf> {
    let own = record(hand_back);
    let Some(entries) = hand_back.parent().and_then(|folder| fs::read_dir(folder).ok()) else { return HashSet::new() };
    let records = entries.flatten().map(|entry| entry.path());
    let others = records.filter(|path| {
        path.extension().is_some_and(|ending| ending == RECORD) && *path != own && path.with_extension("").is_dir()
    });
    others.flat_map(|path| read(&path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir_all(folder.path().join("home")).unwrap();
            Self(folder)
        }

        fn home(&self, path: &str) -> PathBuf {
            self.0.path().join("home").join(path)
        }

        fn sandbox(&self, name: &str) -> PathBuf {
            let folder = self.0.path().join("state").join(name);
            fs::create_dir_all(&folder).unwrap();
            folder
        }

        fn places(&self) -> Vec<MadePlace> {
            vec![
                MadePlace::Folder(self.home(".npm")),
                MadePlace::Folder(self.home(".cargo/registry")),
                MadePlace::File(self.home(".cargo/.package-cache")),
            ]
        }

        fn left(&self) -> Vec<String> {
            let names = fs::read_dir(self.home("")).unwrap().map(|entry| entry.unwrap().file_name().into_string());
            let mut names: Vec<String> = names.map(Result::unwrap).collect();
            names.sort();
            names
        }
    }

    #[test]
    fn what_is_missing_is_made_and_goes_again_if_it_stays_empty() {
        let place = Place::new();
        let sandbox = place.sandbox("a");
        make(&place.places(), &sandbox);
        assert!(place.home(".cargo/registry").is_dir() && place.home(".cargo/.package-cache").is_file());

        fs::write(place.home(".npm/package"), "x").unwrap();
        leave(&sandbox);
        assert_eq!(place.left(), [".npm"]);
        assert_eq!(
            fs::read_dir(place.0.path().join("state")).unwrap().count(),
            0,
            "nor is anything left of the record"
        );
    }

    #[test]
    fn what_was_there_stays_also_where_it_is_empty() {
        let place = Place::new();
        fs::create_dir_all(place.home(".npm")).unwrap();
        fs::create_dir_all(place.home(".cargo")).unwrap();
        fs::write(place.home(".cargo/config.toml"), "").unwrap();
        let sandbox = place.sandbox("a");
        make(&place.places(), &sandbox);
        leave(&sandbox);
        assert_eq!(place.left(), [".cargo", ".npm"]);
        assert!(!place.home(".cargo/registry").exists());
    }

    #[test]
    fn the_last_of_two_sandboxes_removes_what_both_rely_on() {
        let place = Place::new();
        let (first, second) = (place.sandbox("a"), place.sandbox("b"));
        make(&place.places(), &first);
        make(&place.places(), &second);
        leave(&first);
        assert_eq!(place.left(), [".cargo", ".npm"]);
        leave(&second);
        assert!(place.left().is_empty());
    }

    #[test]
    fn nothing_goes_while_somebody_is_still_in_the_sandbox() {
        let place = Place::new();
        let sandbox = place.sandbox("a");
        make(&place.places(), &sandbox);
        fs::create_dir(sandbox.join("keeper")).unwrap();
        leave(&sandbox);
        assert_eq!(place.left(), [".cargo", ".npm"]);
        fs::remove_dir(sandbox.join("keeper")).unwrap();
        leave(&sandbox);
        assert!(place.left().is_empty());
    }
}
