//! The table of contents of the book.

use std::fs;
use std::path::Path;

/// Pages that `docs/SUMMARY.md` does not list.
pub fn missing(root: &Path) -> Vec<String> {
    let contents = fs::read_to_string(root.join("docs/SUMMARY.md")).unwrap();
    let pages = fs::read_dir(root.join("docs")).unwrap().flatten();
    let names = pages.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let missing = names.filter(|name| name.ends_with(".md") && name != "SUMMARY.md");
    let missing = missing.filter(|name| !contents.contains(&format!("]({name})")));
    missing.map(|name| format!("docs/SUMMARY.md does not list {name}")).collect()
}
