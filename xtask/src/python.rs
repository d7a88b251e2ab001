//! The tests of the Python package, with a library and a program that were built before.
//!
//! 1. A virtual environment gets pytest, and those of the frameworks in `python/requirements.txt` that can be had here.
//! 2. The package is put together as a wheel would have it, from the present files ([`run`]), or installed from a real wheel
//!    ([`test_installed`]).
//! 3. pytest runs `python/tests`, and says what it left out and why.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{bench, foreign, quiet, root, steadily};

/// What the tests cannot do without; the rest of the list is frameworks.
const NEEDED: &str = "pytest";

/// Runs the tests with what `cargo test` has built.
pub(crate) fn run() -> Result<()> {
    if !is_possible() {
        eprintln!("python3 with venv is missing: the tests of the Python package were left out");
        return Ok(());
    }
    let folder = folder()?;
    let python = environment(&folder)?;
    let site = folder.join("site");
    assemble(&site)?;
    steadily("the Python package", || pytest(Command::new(&python).env("PYTHONPATH", &site)))
}

/// Runs the tests with a wheel, in an environment that has nothing else of ours.
pub(crate) fn test_installed(wheel: &Path) -> Result<()> {
    let folder = folder()?;
    let python = environment(&folder)?;
    let site = folder.join("installed");
    let _ = fs::remove_dir_all(&site);
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target"]).arg(&site).arg(wheel);
    ensure!(install.status()?.success(), "{} cannot be installed", wheel.display());
    pytest(Command::new(&python).env("PYTHONPATH", &site))
}

pub(crate) fn is_possible() -> bool {
    quiet("python3", &["-c", "import venv, ensurepip"])
}

fn folder() -> Result<PathBuf> {
    let folder = bench::target().join("python");
    fs::create_dir_all(&folder)?;
    Ok(folder.canonicalize()?)
}

/// A virtual environment with everything that the tests use, as far as it can be had. Gives its Python.
pub(crate) fn environment(folder: &Path) -> Result<PathBuf> {
    fs::copy(root().join("python/requirements.txt"), folder.join("requirements.txt"))?;
    let python = folder.join("venv/bin/python");
    foreign::once(folder, "requirements.txt", || {
        foreign::say(Command::new("python3").args(["-m", "venv", "venv"]), folder)?;
        let install = ["-m", "pip", "install", "--quiet"];
        if foreign::say(Command::new(&python).args(install).args(["-r", "requirements.txt"]), folder).is_ok() {
            return Ok(());
        }
        // One by one: a framework that cannot be had is no reason to leave out the others.
        for line in fs::read_to_string(folder.join("requirements.txt"))?.lines().filter(|line| !line.starts_with('#')) {
            let installed = foreign::say(Command::new(&python).args(install).arg(line), folder);
            if line.starts_with(NEEDED) {
                installed?;
            } else if let Err(error) = installed {
                eprintln!("{line} cannot be installed here, so what needs it is left out: {error:#}");
            }
        }
        Ok(())
    })?;
    Ok(python)
}

/// Puts the package together: its Python files, the library and the program.
fn assemble(site: &Path) -> Result<()> {
    let package = site.join("chiton");
    let _ = fs::remove_dir_all(&package);
    foreign::copy(&root().join("python/chiton"), &package)?;
    let debug = bench::target().join("debug");
    // A program may be left there from a wheel that was built.
    let _ = fs::remove_dir_all(package.join("_bin"));
    fs::create_dir_all(package.join("_bin"))?;
    for (built, place) in [("deps/libchiton_python.so", "_engine.abi3.so"), ("chiton", "_bin/chiton")] {
        let built = debug.join(built);
        fs::copy(&built, package.join(place)).with_context(|| {
            format!("{} is missing: `cargo test -p chiton-python -p chiton-cli` builds it", built.display())
        })?;
    }
    Ok(())
}

fn pytest(python: &mut Command) -> Result<()> {
    let sources = root().join("python").canonicalize()?;
    // From the folder of the tests: in the one above it, Python would find the package without its library.
    python.args(["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-c"]).arg(sources.join("pyproject.toml"));
    python.arg(".").current_dir(sources.join("tests")).env("PYTHONDONTWRITEBYTECODE", "1");
    ensure!(python.status()?.success(), "the tests of the Python package failed");
    Ok(())
}
