//! The pages of `docs` as a book.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::{bench, cargo, quiet, root};

/// Builds it with mdBook, which is installed where it is missing.
pub(crate) fn build() -> Result<()> {
    if !quiet("mdbook", &["--version"]) {
        let install = ["install", "--locked", "mdbook"];
        cargo(&install, "mdbook is missing and could not be installed: run `cargo install --locked mdbook`")?;
    }
    let folder = bench::target().join("book");
    let mut mdbook = Command::new("mdbook");
    mdbook.arg("build").arg(root()).arg("--dest-dir").arg(std::path::absolute(&folder)?);
    ensure!(mdbook.status()?.success(), "the book does not build");
    eprintln!("the book is {}", folder.join("index.html").display());
    Ok(())
}
