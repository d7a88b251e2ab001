//! The pages of `docs` as a book.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::{bench, cargo, foreign, quiet, root};

/// Where files that are not in the book can be read.
const REPOSITORY: &str = "https://github.com/chiton-shell/chiton/blob/main/";

/// Builds it with mdBook, which is installed where it is missing.
pub(crate) fn build() -> Result<()> {
    if !quiet("mdbook", &["--version"]) {
        let install = ["install", "--locked", "mdbook"];
        cargo(&install, "mdbook is missing and could not be installed: run `cargo install --locked mdbook`")?;
    }

    let target = std::path::absolute(bench::target())?;
    let (source, book) = (target.join("book-source"), target.join("book"));
    gather(&source)?;
    let mut mdbook = Command::new("mdbook");
    mdbook.arg("build").arg(&source).arg("--dest-dir").arg(&book);
    ensure!(mdbook.status()?.success(), "the book does not build");
    eprintln!("the book is {}", book.join("index.html").display());
    Ok(())
}

/// Copies what the book is made of. Links to files outside of `docs` lead to the repository from there.
fn gather(source: &Path) -> Result<()> {
    if source.exists() {
        fs::remove_dir_all(source)?;
    }
    foreign::copy(&root().join("docs"), &source.join("docs"))?;
    fs::copy(root().join("book.toml"), source.join("book.toml"))?;
    for entry in fs::read_dir(source.join("docs"))? {
        let page: PathBuf = entry?.path();
        if page.extension().is_some_and(|it| it == "md") {
            let text = fs::read_to_string(&page)?;
            fs::write(&page, text.replace("](../", &format!("]({REPOSITORY}")))?;
        }
    }
    Ok(())
}
