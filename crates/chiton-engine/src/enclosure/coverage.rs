//! Whether a sandbox still covers everything: nothing has appeared that it should hide, and nothing that it made is gone.
//!
//! There are more than a hundred such paths, and it is asked after every command. But nothing appears in a folder, or goes
//! from it, without a new time of change of that folder, which no command can set back (`ctime`). So each path is kept with
//! the folder that it would have to appear in, or to go from, and is looked at when that has changed.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// File systems note times by clocks as coarse as two seconds: what has just changed may change again at the same time.
const COARSE: Duration = Duration::from_secs(3);

/// Those of the usual ones note it by the kernel's own clock, which ticks every hundredth of a second at least.
const FINE: Duration = Duration::from_millis(50);

/// File systems that do, by the numbers that the kernel has for them.
const BY_THE_KERNELS_CLOCK: [(&str, u64); 6] = [
    ("ext4", 0xEF53),
    ("tmpfs", 0x0102_1994),
    ("xfs", 0x5846_5342),
    ("btrfs", 0x9123_683E),
    ("f2fs", 0xF2F5_2010),
    ("ramfs", 0x8584_58F6),
];

/// Paths that are to stay there, or not to be there.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    groups: Vec<Group>,
}

/// Paths with one folder.
#[derive(Debug)]
struct Group {
    folder: PathBuf,
    /// As it was before its paths were last looked at; none where they have to be looked at again.
    seen: Option<Stamp>,
    paths: Vec<Watched>,
}

#[derive(Clone, Debug)]
struct Watched {
    path: PathBuf,
    is_there: bool,
}

impl Watched {
    fn is_unchanged(&self) -> bool {
        is_there(&self.path) == self.is_there
    }

    /// The folder that has to change before this does.
    fn folder(&self) -> &Path {
        let above = self.path.ancestors().skip(1);
        { above }.find(|folder| is_there(folder)).unwrap_or(Path::new("/"))
    }
}

/// Which folder it is, and when it changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    changed: (i64, i64),
}

impl Stamp {
    /// `None` where it tells nothing: what is not a folder, or has just changed.
    fn of(folder: &Path, now: SystemTime) -> Option<Self> {
        let data = folder.metadata().ok().filter(std::fs::Metadata::is_dir)?;
        let since_epoch = now.duration_since(UNIX_EPOCH).ok()?;
        let at = Duration::new(u64::try_from(data.ctime()).ok()?, u32::try_from(data.ctime_nsec()).ok()?);
        let is_older_than = |age| since_epoch.checked_sub(age).is_some_and(|then| at < then);
        let is_old = is_older_than(COARSE) || (is_older_than(FINE) && notes_times_finely(folder));
        let changed = (data.ctime(), data.ctime_nsec());
        is_old.then(|| Self { device: data.dev(), inode: data.ino(), changed })
    }
}

/// Whether the file system of this folder notes times by the kernel's clock.
fn notes_times_finely(folder: &Path) -> bool {
    let kind = rustix::fs::statfs(folder).ok().and_then(|system| u64::try_from(system.f_type).ok());
    kind.is_some_and(|kind| BY_THE_KERNELS_CLOCK.iter().any(|(_, number)| *number == kind))
}

impl Coverage {
    /// Watches over paths that are `absent`, and others that are `there`.
    pub(crate) fn new<'a>(
        absent: impl IntoIterator<Item = &'a PathBuf>,
        there: impl IntoIterator<Item = &'a Path>,
    ) -> Self {
        let mut paths: BTreeMap<&Path, bool> = there.into_iter().map(|path| (path, true)).collect();
        paths.extend(absent.into_iter().map(|path| (path.as_path(), false)));
        let watched = paths.into_iter().map(|(path, is_there)| Watched { path: path.to_owned(), is_there });
        let mut coverage = Self::default();
        coverage.add(watched);
        coverage
    }

    fn add(&mut self, paths: impl IntoIterator<Item = Watched>) {
        for watched in paths {
            let folder = watched.folder();
            match self.groups.iter_mut().find(|group| group.folder == folder) {
                Some(group) => {
                    group.paths.push(watched);
                    group.seen = None;
                }
                None => self.groups.push(Group { folder: folder.to_owned(), seen: None, paths: vec![watched] }),
            }
        }
    }

    /// Whether any of the paths has appeared or gone.
    pub(crate) fn has_changed(&mut self) -> bool {
        self.has_changed_by(SystemTime::now())
    }

    fn has_changed_by(&mut self, now: SystemTime) -> bool {
        let mut moved = Vec::new();
        for group in &mut self.groups {
            // Before its paths: what changes in between is found the next time.
            let stamp = Stamp::of(&group.folder, now);
            if stamp.is_some() && stamp == group.seen {
                continue;
            }
            if !group.paths.iter().all(Watched::is_unchanged) {
                return true;
            }
            group.seen = stamp;
            // A folder on the way to a path may have been made, in which it would appear from now on, or be gone.
            let is_here = is_there(&group.folder);
            let stays = |watched: &Watched| is_here && watched.path.parent() == Some(&group.folder);
            moved.extend(group.paths.extract_if(.., |watched| !stays(watched) && watched.folder() != group.folder));
        }
        self.groups.retain(|group| !group.paths.is_empty());
        self.add(moved);
        false
    }
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// When everything has changed long ago, as nearly everything has.
    fn later() -> SystemTime {
        SystemTime::now() + 4 * COARSE
    }

    #[test]
    fn what_appears_or_goes_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        let at = |name: &str| base.join(name);
        fs::create_dir_all(at("home/made")).unwrap();
        let cases: [(&str, &dyn Fn()); 5] = [
            ("a path appears", &|| fs::write(at("home/secret"), "").unwrap()),
            ("a path below one that was not there appears", &|| fs::create_dir_all(at("home/deep/er/cache")).unwrap()),
            ("a link that leads nowhere appears", &|| {
                std::os::unix::fs::symlink("nowhere", at("home/secret")).unwrap();
            }),
            ("what was made is gone", &|| fs::remove_dir(at("home/made")).unwrap()),
            ("the folder of all is gone", &|| fs::rename(at("home"), at("away")).unwrap()),
        ];
        for (what, change) in cases {
            let made = at("home/made");
            let mut coverage = Coverage::new(&[at("home/secret"), at("home/deep/er/cache")], [made.as_path()]);
            for now in [SystemTime::now(), later(), later()] {
                assert!(!coverage.has_changed_by(now), "nothing has happened yet: {what}");
            }
            assert!(coverage.groups.iter().all(|group| group.seen.is_some()), "nothing is looked at any more");
            // A clock may be as coarse as a tick of the kernel.
            std::thread::sleep(Duration::from_millis(20));
            change();
            assert!(coverage.has_changed_by(later()), "{what}");
            let _ = fs::remove_dir_all(at("home"));
            let _ = fs::remove_dir_all(at("away"));
            fs::create_dir_all(at("home/made")).unwrap();
        }
    }

    #[test]
    fn a_path_is_followed_as_the_folders_on_its_way_appear() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mut coverage = Coverage::new(&[at("a/b/c")], []);
        for made in ["a", "a/b"] {
            assert!(!coverage.has_changed_by(later()), "{made}");
            fs::create_dir(at(made)).unwrap();
            for _ in 0..2 {
                assert!(!coverage.has_changed(), "{made}");
            }
        }
        fs::write(at("a/b/c"), "").unwrap();
        assert!(coverage.has_changed());
    }

    #[test]
    fn what_changes_right_after_a_look_is_found_whenever_that_was() {
        for wait in [0, 1, 5, 9, 10, 11, 20, 40, 49, 50, 51, 60, 100] {
            let folder = tempfile::tempdir().unwrap();
            let mut coverage = Coverage::new(&[folder.path().join("a")], []);
            std::thread::sleep(Duration::from_millis(wait));
            assert!(!coverage.has_changed());
            fs::write(folder.path().join("a"), "").unwrap();
            assert!(coverage.has_changed(), "after {wait} ms");
        }
    }

    #[test]
    fn what_has_just_changed_is_looked_at_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut coverage = Coverage::new(&[folder.path().join("a")], []);
        assert!(!coverage.has_changed());
        assert!(coverage.groups.iter().all(|group| group.seen.is_none()), "it was made a moment ago");
        fs::write(folder.path().join("a"), "").unwrap();
        assert!(coverage.has_changed());
    }
}
