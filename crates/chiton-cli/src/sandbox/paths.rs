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

/// Whether a name is like a pattern: letters, and at most one `*`.
pub(crate) fn is_like(name: &OsStr, pattern: &str) -> bool {
    Pattern::new(pattern).fits(name)
}

/// The same for many names.
pub(crate) struct Pattern<'a> {
    start: &'a str,
    /// What follows the `*`, where there is one.
    end: Option<&'a str>,
}

impl<'a> Pattern<'a> {
    pub(crate) fn new(pattern: &'a str) -> Self {
        match pattern.split_once('*') {
            Some((start, end)) => Self { start, end: Some(end) },
            None => Self { start: pattern, end: None },
        }
    }

    pub(crate) fn fits(&self, name: &OsStr) -> bool {
        let Some(end) = self.end else { return name == self.start };
        let bytes = name.as_encoded_bytes();
        let fits = bytes.len() >= self.start.len() + end.len()
            && bytes.starts_with(self.start.as_bytes())
            && bytes.ends_with(end.as_bytes());
        fits && (self.start.is_empty() && end.is_empty() || name.to_str().is_some())
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
