//! Paths as they really are.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The path with every link in it followed, as far as it exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    for place in path.ancestors() {
        if let Ok(found) = fs::canonicalize(place) {
            let rest = path.strip_prefix(place).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() { found } else { found.join(rest) };
        }
    }
    path.to_owned()
}

/// The same for a name that is meant itself, also where it is a link.
pub(crate) fn real_name(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real(parent).join(name),
        _ => path.to_owned(),
    }
}

/// What is in a folder now, by names that `wanted` takes, in order.
pub(crate) fn listed(folder: &Path, wanted: impl Fn(&OsStr) -> bool) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> =
        entries.flatten().filter(|entry| wanted(&entry.file_name())).map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// Whether a name is like a pattern: letters, and at most one `*`.
pub(crate) fn is_like(name: &OsStr, pattern: &str) -> bool {
    let Some(name) = name.to_str() else { return pattern == "*" };
    match pattern.split_once('*') {
        Some((start, end)) => name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end),
        None => name == pattern,
    }
}

/// `~/…` for what is below the home directory.
pub(crate) fn shown(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}
