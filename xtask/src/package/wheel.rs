//! A wheel of the program, for pip and uv.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Carried, Packaging, others, tries};
use crate::dist::{Built, VERSION, answer};
use crate::quiet;

pub(super) fn make(packaging: &Packaging, built: &Built, carried: &[Carried]) -> Result<()> {
    let mut python = Command::new("python3");
    python.arg(packaging.sources.join("wheel/build.py")).args([VERSION, built.target.processor]);
    python.arg(&built.folder).arg(&packaging.output).env("SOURCE_DATE_EPOCH", &packaging.time);
    for other in others(carried, built) {
        python.arg(format!("{}={}", other.name(), other.program.display()));
    }
    answer(&mut python)?;
    Ok(())
}

/// Installs it in a fresh virtual environment.
pub(super) fn try_it(packaging: &Packaging, built: &Built, carried: &[Carried]) -> Result<()> {
    if !quiet("python3", &["-c", "import venv, ensurepip"]) {
        eprintln!("python3 with venv is missing: the wheel was not tried");
        return Ok(());
    }
    let place = packaging.empty_place("wheel")?;
    answer(Command::new("python3").args(["-m", "venv", "environment"]).current_dir(&place))?;
    let bin = place.join("environment/bin");
    let wheel = find(packaging, built)?;
    answer(Command::new(bin.join("pip")).args(["install", "--quiet", "--no-index", "--no-deps"]).arg(wheel))?;
    tries::use_once("the wheel", &place, &[bin.join("chiton")])?;
    tries::carries("the wheel", &place, &[bin.join("chiton")], carried)?;
    tries::use_once("the wheel, by the name of its package", &place, &[bin.join("chiton-shell")])?;

    answer(Command::new(bin.join("pip")).args(["uninstall", "--quiet", "--yes", "chiton-shell"]))?;
    ensure!(!bin.join("chiton").exists(), "pip has not removed the program");
    ensure!(!bin.join("../libexec/chiton").exists(), "pip has not removed the programs for other processors");
    Ok(())
}

fn find(packaging: &Packaging, built: &Built) -> Result<PathBuf> {
    let is_it =
        |name: &str| name.starts_with("chiton_shell-") && name.ends_with(&format!("{}.whl", built.target.processor));
    let mut files = fs::read_dir(&packaging.output)?.filter_map(|entry| Some(entry.ok()?.path()));
    let found = files.find(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_it));
    found.with_context(|| format!("there is no wheel for {}", built.target.processor))
}
