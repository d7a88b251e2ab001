//! Whether what a command would destroy is kept, so that the guard may leave it to an undo.
//!
//! The keeper of a command keeps what fits [`KeepLimits`]. What does not is lost all the same, so a question about it must not
//! be dropped: everything that would go is counted before.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use chiton_guard::{Files, Loss, LossBy};

use crate::sandbox::KeepLimits;

/// How many files and folders are looked at. A command waits for the answer.
const MOST_ENTRIES: usize = 200_000;

/// The files of this machine, as they are now.
#[derive(Clone, Copy, Debug)]
pub struct MachineFiles;

impl Files for MachineFiles {
    fn leads_to(&self, path: &str) -> String {
        leads_to(path)
    }

    fn cannot_be_kept(&self, losses: &[Loss]) -> Option<String> {
        Counting::new(KeepLimits::default(), MOST_ENTRIES).count_all(losses).err()
    }
}

/// Where a path leads, as far as it exists.
fn leads_to(path: &str) -> String {
    let path = Path::new(path);
    let real = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
    let Some((existing, real)) = real else { return path.to_string_lossy().into_owned() };
    match path.strip_prefix(existing) {
        Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
        _ => real,
    }
    .to_string_lossy()
    .into_owned()
}

/// Adds up what would have to be kept. Its errors are sentences.
struct Counting {
    limits: KeepLimits,
    bytes: u64,
    /// How many entries may still be looked at.
    left: usize,
}

impl Counting {
    fn new(limits: KeepLimits, most_entries: usize) -> Self {
        Self { limits, bytes: 0, left: most_entries }
    }

    fn count_all(&mut self, losses: &[Loss]) -> Result<(), String> {
        let covers = |wide: &Loss, loss: &Loss| wide.below && Path::new(&loss.path).starts_with(&wide.path);
        for (at, loss) in losses.iter().enumerate() {
            let is_counted = |(other_at, other): (usize, &Loss)| {
                let is_same = covers(loss, other);
                other_at != at && other.by == loss.by && covers(other, loss) && (!is_same || other_at < at)
            };
            if !losses.iter().enumerate().any(is_counted) {
                self.count(loss)?;
            }
        }
        Ok(())
    }

    fn count(&mut self, loss: &Loss) -> Result<(), String> {
        let top = PathBuf::from(&loss.path);
        let Some(data) = look(&top)? else { return Ok(()) };
        let device = data.dev();
        let mut ahead = vec![(top, data)];
        while let Some((path, data)) = ahead.pop() {
            self.entry(&path, &data, device, loss.by)?;
            if data.is_dir() && loss.below {
                let entries =
                    fs::read_dir(&path).map_err(|error| format!("{} cannot be read ({error}).", path.display()))?;
                for entry in entries.flatten() {
                    let path = entry.path();
                    ahead.extend(look(&path)?.map(|data| (path, data)));
                    // What is ahead is held in memory as well.
                    if ahead.len() > self.left {
                        return Err(too_many());
                    }
                }
            }
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, data: &Metadata, device: u64, by: LossBy) -> Result<(), String> {
        let shown = path.display();
        self.left = self.left.checked_sub(1).ok_or_else(too_many)?;
        if data.dev() != device {
            return Err(format!("another file system is mounted at {shown}."));
        }
        let kind = data.file_type();
        if kind.is_socket() || kind.is_block_device() || kind.is_char_device() {
            return Err(format!("{shown} is a socket or a device."));
        }
        if !kind.is_file() {
            return Ok(());
        }
        let KeepLimits { copied_file, in_all, .. } = self.limits;
        let counted = match by {
            LossBy::Writing if data.len() > copied_file => {
                let (size, most) = (size(data.len()), size(copied_file));
                return Err(format!(
                    "{shown} has {size}, and of a file that is overwritten at most {most} are copied."
                ));
            }
            // Of a file that has other names as well, nothing is lost with this one.
            LossBy::Removing if data.nlink() > 1 => 0,
            LossBy::Writing | LossBy::Removing => data.len(),
        };
        self.bytes = self.bytes.saturating_add(counted);
        if self.bytes > in_all {
            let most = size(in_all);
            return Err(format!("the command would destroy more than {most}, and no more than that is kept."));
        }
        Ok(())
    }
}

fn too_many() -> String {
    "there are too many files to see beforehand whether all of them can be kept.".to_owned()
}

/// What is at a path; a link is meant itself.
fn look(path: &Path) -> Result<Option<Metadata>, String> {
    match fs::symlink_metadata(path) {
        Ok(data) => Ok(Some(data)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(format!("{} cannot be looked at ({error}).", path.display())),
    }
}

/// A size for people.
fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.into_iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) if bytes.is_multiple_of(unit) => format!("{} {name}", bytes / unit),
        Some((name, unit)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder `tree` with a file of 600 bytes, and one of 300 in a folder below; a link in it leads to 5000 bytes.
    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("tree/below")).unwrap();
        for (name, bytes) in [("tree/large", 600), ("tree/below/small", 300), ("outside", 5000)] {
            fs::write(folder.path().join(name), vec![b'x'; bytes]).unwrap();
        }
        std::os::unix::fs::symlink("../outside", folder.path().join("tree/link")).unwrap();
        folder
    }

    fn loss(folder: &Path, name: &str, below: bool, by: LossBy) -> Loss {
        Loss { path: folder.join(name).to_string_lossy().into_owned(), below, by }
    }

    /// What goes and how, the limits of one copied file and of all, and a part of what is said.
    type Row = (&'static [(&'static str, bool)], LossBy, u64, u64, Option<&'static str>);

    #[test]
    fn only_what_fits_is_said_to_be_kept() {
        use LossBy::{Removing, Writing};
        let folder = tree();
        let rows: [Row; 12] = [
            (&[("tree", true)], Removing, 0, 900, None),
            (&[("tree", true)], Removing, 0, 899, Some("the command would destroy more than 899 bytes, and no")),
            (&[("tree", false)], Removing, 0, 0, None),
            (&[("tree/link", true)], Removing, 0, 0, None),
            (&[("nothing/at/all", true)], Removing, 0, 0, None),
            (&[("tree/large", false)], Removing, 0, 600, None),
            (&[("tree/large", false)], Writing, 600, 600, None),
            (
                &[("tree", true)],
                Writing,
                599,
                4000,
                Some("tree/large has 600 bytes, and of a file that is overwritten"),
            ),
            (&[("tree", true)], Writing, 600, 899, Some("more than 899 bytes")),
            (&[("tree", true), ("tree/large", false), ("tree", true)], Removing, 0, 900, None),
            (&[("tree/large", false), ("outside", false)], Removing, 0, 5600, None),
            (&[("tree/large", false), ("outside", false)], Removing, 0, 5599, Some("more than 5.4 KiB")),
        ];
        for (names, by, copied_file, in_all, expected) in rows {
            let losses: Vec<Loss> = names.iter().map(|(name, below)| loss(folder.path(), name, *below, by)).collect();
            let said = Counting::new(KeepLimits { copied_file, in_all, ..KeepLimits::default() }, 100)
                .count_all(&losses)
                .err();
            match (expected, &said) {
                (None, None) => {}
                (Some(part), Some(said)) if said.contains(part) => {}
                _ => panic!("{names:?} {by:?} {copied_file} {in_all}: {said:?}"),
            }
        }
    }

    #[test]
    fn counting_ends_where_there_are_too_many_files() {
        let folder = tree();
        let losses = [loss(folder.path(), "tree", true, LossBy::Removing)];
        let counted = |most| Counting::new(KeepLimits::default(), most).count_all(&losses);
        assert_eq!(counted(5), Ok(()));
        assert!(counted(4).unwrap_err().contains("too many files"));
    }

    #[test]
    fn a_file_with_another_name_is_not_lost_and_a_socket_is_not_kept() {
        let folder = tree();
        let losses = [loss(folder.path(), "tree", true, LossBy::Removing)];
        let counted = |in_all| {
            Counting::new(KeepLimits { copied_file: 0, in_all, ..KeepLimits::default() }, 100).count_all(&losses)
        };
        fs::hard_link(folder.path().join("tree/large"), folder.path().join("again")).unwrap();
        assert_eq!(counted(300), Ok(()));
        let _listening = std::os::unix::net::UnixListener::bind(folder.path().join("tree/socket")).unwrap();
        assert!(counted(300).unwrap_err().contains("tree/socket is a socket or a device."));
    }
}
