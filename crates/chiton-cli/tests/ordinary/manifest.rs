//! What is in a folder: every path with its kind, its mode, its size and what it holds.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::Ground;
use super::rows::Row;

/// Each path with what it is.
pub type Manifest = BTreeMap<String, String>;

/// What differs from run to run whatever is done: git and python write times and numbers of files into these.
const ALWAYS_LOOSE: &[&str] = &["*.git/index", "*.git/*/index", "*.pyc"];

/// What Chiton keeps itself, and npm's journal, which has the time in its name.
const ALWAYS_FLEETING: &[&str] =
    &["home/.local", "home/.local/share", "home/.local/share/chiton*", "home/.local/state*", "home/.npm/_logs/*"];

/// Both folders of a ground.
pub fn of(ground: &Ground, row: &Row) -> Manifest {
    let mut found = Manifest::new();
    let root = ground.path();
    for folder in ["home", "work"] {
        add(&root, &root.join(folder), row, &mut found);
    }
    found
}

fn add(root: &Path, folder: &Path, row: &Row, found: &mut Manifest) {
    // What Chiton keeps may go in the very moment.
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        let Ok(data) = entry.metadata() else { continue };
        if data.is_dir() {
            add(root, &path, row, found);
        }
        if is_one_of(&name, &row.fleeting, ALWAYS_FLEETING) {
            continue;
        }
        let mode = format!("{:o}", data.mode());
        let is_loose = is_one_of(&name, &row.loose, ALWAYS_LOOSE);
        let holds = if data.is_symlink() {
            format!("leads to {}", fs::read_link(&path).unwrap().display())
        } else if data.is_file() && !is_loose {
            let mut hasher = DefaultHasher::new();
            fs::read(&path).unwrap().hash(&mut hasher);
            format!("{} bytes, {:016x}", data.len(), hasher.finish())
        } else {
            String::new()
        };
        found.insert(name, format!("{mode} {holds}"));
    }
}

/// Whether a path is like one of these: from the workspace on, or from the folder above it where a pattern begins there.
fn is_one_of(path: &str, own: &[String], always: &[&str]) -> bool {
    let in_work = path.strip_prefix("work/");
    let is_like = |pattern: &str| is_like(path, pattern) || in_work.is_some_and(|path| is_like(path, pattern));
    own.iter().map(String::as_str).chain(always.iter().copied()).any(is_like)
}

/// A `*` stands for anything, slashes too.
fn is_like(text: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => text == pattern,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            let places = text.char_indices().map(|(place, _)| place).chain([text.len()]);
            places.into_iter().any(|place| is_like(&text[place..], rest))
        }),
    }
}

/// What is in one and not, or not so, in the other.
pub fn differences(outside: &Manifest, inside: &Manifest) -> Vec<String> {
    let paths: std::collections::BTreeSet<&String> = outside.keys().chain(inside.keys()).collect();
    let shown = |entry: Option<&String>| entry.map_or("nothing", String::as_str).to_owned();
    let different = paths.into_iter().filter(|path| outside.get(*path) != inside.get(*path));
    different
        .map(|path| format!("{path}\noutside: {}\ninside: {}", shown(outside.get(path)), shown(inside.get(path))))
        .collect()
}
