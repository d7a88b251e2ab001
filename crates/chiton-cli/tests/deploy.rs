//! What is in `deploy/` is what it says: files are read field by field, and all that can be started here is started.

mod feature;
mod kubernetes;
mod played;
mod rules;
mod slurm;
mod yaml;

use std::fs;
use std::path::{Path, PathBuf};

/// A file of `deploy/`.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name)
}

fn text_of(name: &str) -> String {
    fs::read_to_string(file(name)).unwrap_or_else(|error| panic!("deploy/{name}: {error}"))
}

#[test]
fn the_page_tells_of_every_file() {
    let page = text_of("README.md");
    let mut left = vec![file("")];
    while let Some(folder) = left.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.strip_prefix(file("")).unwrap().display().to_string();
            if path.is_dir() {
                left.push(path);
            } else {
                assert!(name == "README.md" || page.contains(&format!("({name})")), "it lacks {name}");
            }
        }
    }
}
