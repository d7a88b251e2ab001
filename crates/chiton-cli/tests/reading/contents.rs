//! The table of contents of the book.

use std::fs;
use std::path::Path;

use super::links::is_page;

/// Pages that `docs/SUMMARY.md` does not list.
pub fn missing(root: &Path) -> Vec<String> {
    let contents = fs::read_to_string(root.join("docs/SUMMARY.md")).unwrap();
    let pages = fs::read_dir(root.join("docs")).unwrap().flatten();
    let names =
        pages.filter(|entry| is_page(&entry.path())).map(|entry| entry.file_name().to_string_lossy().into_owned());
    let missing = names.filter(|name| name != "SUMMARY.md").filter(|name| !contents.contains(&format!("]({name})")));
    missing.map(|name| format!("docs/SUMMARY.md does not list {name}")).collect()
}
