//! What is on disk, each thing looked at once. A policy names hundreds of places, and most of them have the same folders
//! above them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::paths::{Pattern, real};

/// The disk as it was when each thing was first looked at.
#[derive(Debug, Default)]
pub(super) struct Disk {
    // By their bytes: to find the parts of a path takes longer than to find the path.
    /// Where paths lead.
    known: RefCell<HashMap<OsString, Place>>,
    /// The names in folders.
    folders: RefCell<HashMap<OsString, Vec<OsString>>>,
}

/// Where a path leads.
#[derive(Clone, Debug)]
struct Place {
    real: PathBuf,
    exists: bool,
}

impl Disk {
    /// The path with every link in it followed, as far as it exists: what [`real`] gives.
    pub(super) fn real(&self, path: &Path) -> PathBuf {
        self.place(path).real
    }

    /// The same for a name that is meant itself, also where it is a link.
    pub(super) fn real_name(&self, path: &Path) -> PathBuf {
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => self.real(parent).join(name),
            _ => path.to_owned(),
        }
    }

    fn place(&self, path: &Path) -> Place {
        if let Some(known) = self.known.borrow().get(path.as_os_str()) {
            return known.clone();
        }
        let found = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) if path.is_absolute() => step(&self.place(parent), name),
            // The root, or a path that ends in `..`.
            _ => Place { real: real(path), exists: true },
        };
        self.known.borrow_mut().insert(path.into(), found.clone());
        found
    }

    /// What is in a folder, by names that `wanted` takes, in order.
    pub(super) fn listed(&self, folder: &Path, wanted: impl Fn(&OsStr) -> bool) -> Vec<PathBuf> {
        let mut folders = self.folders.borrow_mut();
        if !folders.contains_key(folder.as_os_str()) {
            folders.insert(folder.into(), names_in(folder));
        }
        let names = folders.get(folder.as_os_str()).into_iter().flatten();
        let mut found: Vec<PathBuf> = names.filter(|name| wanted(name)).map(|name| folder.join(name)).collect();
        found.sort();
        found
    }

    /// The path, or what is there by a pattern in its last part.
    pub(super) fn matching(&self, path: &Path) -> Vec<PathBuf> {
        let name = path.file_name().unwrap_or_default();
        match (name.to_str(), path.parent()) {
            (Some(pattern), Some(folder)) if pattern.contains('*') => {
                let pattern = Pattern::new(pattern);
                self.listed(folder, |name| pattern.fits(name))
            }
            _ => vec![path.to_owned()],
        }
    }
}

/// One name further.
fn step(above: &Place, name: &OsStr) -> Place {
    let here = above.real.join(name);
    if !above.exists {
        return Place { real: here, exists: false };
    }
    match fs::read_link(&here) {
        Ok(_) => Place { exists: here.exists(), real: real(&here) },
        Err(error) => Place { exists: error.kind() == io::ErrorKind::InvalidInput, real: here },
    }
}

fn names_in(folder: &Path) -> Vec<OsString> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().map(|entry| entry.file_name()).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_leads_where_it_leads_without_it() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        fs::create_dir_all(base.join("a/b")).unwrap();
        fs::write(base.join("a/file"), "").unwrap();
        symlink("a", base.join("link")).unwrap();
        symlink("../link/b", base.join("a/around")).unwrap();
        symlink("nowhere", base.join("broken")).unwrap();
        symlink("circle", base.join("circle")).unwrap();
        let disk = Disk::default();
        for name in [
            "", "a", "a/b", "a/b/", "a/./b", "a/../a", "a/..", "link", "link/b", "link/b/c/d", "link/around/x",
            "a/file", "a/file/below", "broken", "broken/below", "circle", "circle/below", "none", "none/of/it",
            "link/../x",
        ] {
            let path = base.join(name);
            // Twice: what is known is the same as what was found.
            for _ in 0..2 {
                assert_eq!(disk.real(&path), real(&path), "{name}");
            }
        }
        assert_eq!(disk.real(Path::new("/")), Path::new("/"));
        assert_eq!(disk.real_name(&base.join("link")), real(base).join("link"));
    }

    #[test]
    fn a_folder_is_listed_by_names_and_patterns() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.txt", "a.txt", "c.md"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let disk = Disk::default();
        let at = |name: &str| folder.path().join(name);
        for _ in 0..2 {
            assert_eq!(disk.matching(&at("*.txt")), [at("a.txt"), at("b.txt")]);
        }
        assert_eq!(disk.matching(&at("d.txt")), [at("d.txt")]);
        assert_eq!(disk.listed(&at("none"), |_| true), Vec::<PathBuf>::new());
    }
}
