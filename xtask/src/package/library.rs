//! A wheel of the Python library, with the program that keeps its commands.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Packaging;
use crate::dist::{Built, Places, VERSION, answer, renamed_paths};
use crate::python;

/// Builds it with maturin, where Python is there.
pub(super) fn make(packaging: &Packaging, places: &Places, built: &Built) -> Result<()> {
    if !python::is_possible() {
        eprintln!("python3 with venv is missing: there is no wheel of the Python library");
        return Ok(());
    }
    let environment = packaging.empty_place("maturin")?;
    answer(Command::new("python3").args(["-m", "venv", "."]).current_dir(&environment))?;
    let install = answer(Command::new(environment.join("bin/pip")).args(["install", "--quiet", "maturin>=1.9,<2"]));
    if let Err(error) = install {
        eprintln!("maturin cannot be installed here, so there is no wheel of the Python library: {error:#}");
        return Ok(());
    }

    let sources = places.sources.join("python");
    let program = sources.join("chiton/_bin/chiton");
    fs::create_dir_all(sources.join("chiton/_bin"))?;
    fs::copy(built.folder.join("chiton"), &program)?;
    let mut maturin = Command::new(environment.join("bin/maturin"));
    maturin.args(["build", "--locked", "--profile", "dist", "--target", built.target.triple, "--out"]);
    maturin.arg(&packaging.output).current_dir(&sources);
    maturin.env("CARGO_TARGET_DIR", places.target.join("python-library")).env("CARGO_INCREMENTAL", "0");
    maturin.env("CARGO_ENCODED_RUSTFLAGS", renamed_paths(places)?.join("\u{1f}"));
    maturin.env("SOURCE_DATE_EPOCH", &packaging.time);
    let status = maturin.status();
    fs::remove_dir_all(sources.join("chiton/_bin"))?;
    ensure!(status?.success(), "the wheel of the Python library does not build");
    Ok(())
}

/// Installs it, and runs all of its tests.
pub(super) fn try_it(packaging: &Packaging) -> Result<()> {
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&format!("chiton-{VERSION}-cp39-abi3"))
    };
    let mut files = fs::read_dir(&packaging.output)?.filter_map(|entry| Some(entry.ok()?.path()));
    if !python::is_possible() {
        return Ok(());
    }
    python::test_installed(&files.find(is_it).context("there is no wheel of the Python library")?)
}
