//! Everything that can be told about a tree, so that two moments can be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// One thing in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub kind: char,
    pub mode: u32,
    pub owner: (u32, u32),
    pub size: u64,
    pub modified: (i64, i64),
    pub content: u64,
    pub target: Option<PathBuf>,
    pub attributes: BTreeMap<Vec<u8>, Vec<u8>>,
    /// All names of the same file in the tree, where there are several.
    pub names: BTreeSet<PathBuf>,
    /// Whether most of it is a hole.
    pub is_sparse: bool,
}

/// A tree by the paths in it, its own root among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest(pub BTreeMap<PathBuf, Entry>);

/// The numbers of what is there: they are not part of a manifest, since something may be made anew.
pub type Numbers = BTreeMap<PathBuf, Number>;

/// The number of a file and when it was made: what is gone leaves its number to others.
type Number = (u64, Option<SystemTime>);

impl Manifest {
    pub fn of(root: &Path) -> Self {
        Self::with_numbers(root).0
    }

    pub fn with_numbers(root: &Path) -> (Self, Numbers) {
        let mut found = BTreeMap::new();
        let mut left = vec![root.to_owned()];
        while let Some(path) = left.pop() {
            let Ok(data) = fs::symlink_metadata(&path) else { continue };
            if data.is_dir() {
                left.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
            }
            let name = path.strip_prefix(root).expect("it is below").to_owned();
            found.insert(name, ((data.ino(), data.created().ok()), entry(&path, &data)));
        }
        let mut groups: BTreeMap<Number, BTreeSet<PathBuf>> = BTreeMap::new();
        for (path, (number, entry)) in &found {
            if entry.kind != 'd' {
                groups.entry(*number).or_default().insert(path.clone());
            }
        }
        let numbers = found.iter().map(|(path, (number, _))| (path.clone(), *number)).collect();
        let with_names = |(path, (number, mut entry)): (PathBuf, (Number, Entry))| {
            if let Some(names) = groups.get(&number).filter(|names| names.len() > 1) {
                entry.names.clone_from(names);
            }
            (path, entry)
        };
        (Self(found.into_iter().map(with_names).collect()), numbers)
    }

    /// What differs, for people; empty where nothing does.
    pub fn difference(&self, other: &Self) -> String {
        let mut text = String::new();
        let paths: BTreeSet<&PathBuf> = self.0.keys().chain(other.0.keys()).collect();
        for path in paths {
            let (one, two) = (self.0.get(path), other.0.get(path));
            if one != two {
                let _ = writeln!(text, "{path:?}\n  wanted {}\n  is     {}", shown(one), shown(two));
            }
        }
        text
    }
}

fn shown(entry: Option<&Entry>) -> String {
    entry.map_or_else(|| "nothing".to_owned(), |entry| format!("{entry:?}"))
}

fn entry(path: &Path, data: &fs::Metadata) -> Entry {
    const SMALL: u64 = 1 << 20;
    let kind = data.file_type();
    let kind = match kind {
        _ if kind.is_dir() => 'd',
        _ if kind.is_file() => 'f',
        _ if kind.is_symlink() => 'l',
        _ if kind.is_fifo() => 'p',
        _ if kind.is_socket() => 's',
        _ => '?',
    };
    let mut hasher = DefaultHasher::new();
    if kind == 'f' {
        fs::read(path).expect("the tests may read it").hash(&mut hasher);
    }
    Entry {
        kind,
        mode: data.mode(),
        owner: (data.uid(), data.gid()),
        size: if kind == 'd' { 0 } else { data.size() },
        modified: (data.mtime(), data.mtime_nsec()),
        content: hasher.finish(),
        target: fs::read_link(path).ok(),
        attributes: attributes(path),
        names: BTreeSet::new(),
        is_sparse: data.size() >= SMALL && data.blocks() * 512 < data.size() / 2,
    }
}

fn attributes(path: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut names = vec![0; 16 << 10];
    let count = rustix::fs::llistxattr(path, &mut names).unwrap_or(0);
    let listed = names[..count].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let value = |name: &[u8]| {
        let mut value = vec![0; 64 << 10];
        let count = rustix::fs::lgetxattr(path, std::ffi::OsStr::from_bytes(name), &mut value).unwrap_or(0);
        value[..count].to_vec()
    };
    listed.map(|name| (name.to_vec(), value(name))).collect()
}

/// What became of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    Made,
    Changed,
    Removed,
}

/// The differences between two moments of a tree as a reply names them: see `Changes::compare` for the rules. Of a file with
/// several names, a reply knows the one by which it was changed; the others are in the second set.
pub fn differences(before: &(Manifest, Numbers), after: &(Manifest, Numbers)) -> [BTreeSet<(PathBuf, Fate)>; 2] {
    let numbers = |(manifest, numbers): &(Manifest, Numbers)| -> BTreeMap<Number, PathBuf> {
        let folders = manifest.0.iter().filter(|(_, entry)| entry.kind == 'd');
        folders.map(|(path, _)| (numbers[path], path.clone())).collect()
    };
    let is_there = |tree: &(Manifest, Numbers), path: &Path| tree.0.0.contains_key(path);
    let (old, new) = (numbers(before), numbers(after));
    // What is made anew can get the number of something that is gone, so both have to be folders, and gone from there.
    let moved: Vec<(&PathBuf, &PathBuf)> = old
        .iter()
        .filter_map(|(number, from)| Some((from, new.get(number)?)))
        .filter(|(from, to)| !is_there(after, from) && !is_there(before, to))
        .collect();
    let is_inside = |path: &Path, folder: &Path| path != folder && path.starts_with(folder);

    let mut found: BTreeSet<(PathBuf, Fate)> = BTreeSet::new();
    let paths: BTreeSet<&PathBuf> = before.0.0.keys().chain(after.0.0.keys()).collect();
    for path in paths {
        let fate = match (before.0.0.get(path), after.0.0.get(path)) {
            (None, Some(_)) if !moved.iter().any(|(_, to)| is_inside(path, to)) => Fate::Made,
            (Some(_), None) if !moved.iter().any(|(from, _)| is_inside(path, from)) => Fate::Removed,
            (Some(was), Some(is)) if was.shown() != is.shown() => Fate::Changed,
            _ => continue,
        };
        found.insert((path.clone(), fate));
    }
    let kind = |path: &PathBuf| after.0.0.get(path).or(before.0.0.get(path)).map(|entry| entry.kind);
    let is_said = |(path, fate): &(PathBuf, Fate)| {
        let says = |(other, same): &(PathBuf, Fate)| same == fate && is_inside(other, path);
        kind(path) == Some('d') && *fate != Fate::Changed && found.iter().any(says)
    };
    let named: BTreeSet<(PathBuf, Fate)> = found.iter().filter(|one| !is_said(one)).cloned().collect();
    let has_others = |(path, fate): &(PathBuf, Fate)| {
        *fate == Fate::Changed && [before, after].iter().any(|tree| !tree.0.0[path].names.is_empty())
    };
    named.into_iter().partition::<BTreeSet<_>, _>(|one| !has_others(one)).into()
}

impl Entry {
    /// What counts as a change of it.
    fn shown(&self) -> Self {
        let modified = if self.kind == 'd' { (0, 0) } else { self.modified };
        Self { modified, names: BTreeSet::new(), is_sparse: false, ..self.clone() }
    }
}
