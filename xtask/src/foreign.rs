//! Clients and checks that were written elsewhere, against the built program. See `foreign/README.md`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{bench, found, install, quiet, root, steadily};

/// Runs those that can be run here; says which cannot, and what is missing.
pub(crate) fn run() -> Result<()> {
    let folder = copied()?;
    if quiet("python3", &["-c", "import venv, ensurepip"]) {
        python(&folder)?;
    } else {
        eprintln!("python3 with venv is missing: the session of the Python package `mcp` was left out");
    }
    if quiet("npm", &["--version"]) {
        node(&folder)?;
    } else {
        eprintln!("npm is missing: the session of the TypeScript SDK and the conformance suite were left out");
    }
    page()
}

/// The page of `chiton ui` in a real browser.
fn page() -> Result<()> {
    let Some(browser) = browser() else {
        eprintln!(
            "chromium or npm is missing: the page of `chiton ui` was not tried in a browser; install them (Debian: chromium, npm)"
        );
        return Ok(());
    };
    let folder = page_folder()?;
    steadily("the page in a browser", || {
        say(Command::new("node").arg("suite.mjs").arg(program()).arg(&browser), &folder)
    })
}

/// Makes the pictures of the page for the documentation.
pub(crate) fn pictures() -> Result<()> {
    let browser = browser().context("the pictures need chromium and npm; install them (Debian: chromium, npm)")?;
    let (folder, pictures) = (page_folder()?, root().canonicalize()?.join("docs/pictures"));
    fs::create_dir_all(&pictures)?;
    say(Command::new("node").arg("pictures.mjs").arg(program()).arg(browser).arg(pictures), &folder)
}

/// Where the scripts for the page are, with what they need.
fn page_folder() -> Result<PathBuf> {
    let folder = copied()?.join("page");
    once(&folder, "package.json", || say(Command::new("npm").args(INSTALL), &folder))?;
    Ok(folder)
}

/// The browser, installed where that can be done; `None` where it or npm is missing.
fn browser() -> Option<PathBuf> {
    let find = || BROWSERS.into_iter().find_map(found);
    if find().is_none() {
        install(&["chromium"]);
    }
    find().filter(|_| quiet("npm", &["--version"]))
}

/// The names of a browser that the scripts can drive.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// What npm is asked for. Not `ci`: it insists on packages for other systems, which not every registry has. The versions are
/// exact anyway.
const INSTALL: [&str; 6] = ["install", "--no-save", "--ignore-scripts", "--silent", "--no-audit", "--no-fund"];

/// Runs the real agents, from `chiton setup` to what their model saw. `words` are the client and the scenario, if only
/// some of them are wanted.
pub(crate) fn agents(words: &[String]) -> Result<()> {
    let folder = copied()?.join("agents");
    let installed = once(&folder, "package-lock.json", || say(Command::new("npm").args(INSTALL), &folder));
    if let Err(error) = installed {
        eprintln!("the agents cannot be installed here, so none of them was run: {error:#}");
        return Ok(());
    }

    // What the models saw is compared with, and written to, the files that are checked in.
    let sources = root().join("foreign/agents").canonicalize()?;
    let mut run = Command::new("node");
    run.arg("run.mjs").arg(program()).arg(folder.join("homes")).args(words);
    say(run.env("GOLDEN", sources.join("golden")), &folder)
}

/// Plays recorded sessions and counts the tokens of the replies. `words` are `--save`, `--check`, `--before`.
pub(crate) fn tokens(words: &[String]) -> Result<()> {
    let folder = copied()?.join("tokens");
    once(&folder, "package.json", || say(Command::new("npm").args(INSTALL), &folder))?;
    let (sources, place) = (root().canonicalize()?, folder.join("place"));
    fs::create_dir_all(&place)?;
    say(Command::new("node").arg("table.mjs").arg(&place).arg(sources).arg(program()).args(words), &folder)
}

/// Where everything is installed and run: `target/foreign`, with the present files of `foreign`.
fn copied() -> Result<PathBuf> {
    let folder = root().join("target/foreign");
    copy(&root().join("foreign"), &folder)?;
    Ok(folder.canonicalize()?)
}

pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&source, &target)?;
        } else {
            fs::copy(source, target)?;
        }
    }
    Ok(())
}

fn python(folder: &Path) -> Result<()> {
    let python = folder.join("venv/bin/python");
    once(folder, "requirements.txt", || {
        say(Command::new("python3").args(["-m", "venv", "venv"]), folder)?;
        say(Command::new(&python).args(["-m", "pip", "install", "--quiet", "-r", "requirements.txt"]), folder)
    })?;
    session(Command::new(&python).arg("client.py"), folder)
}

fn node(folder: &Path) -> Result<()> {
    once(folder, "package-lock.json", || {
        say(Command::new("npm").args(["ci", "--silent", "--no-audit", "--no-fund"]), folder)
    })?;
    let node = folder.join("node_modules/.bin/node");
    session(Command::new(&node).arg("client.mjs"), folder)?;
    session(Command::new(&node).arg("conformance.mjs"), folder)
}

/// Installs, unless what is in `list` was installed before.
pub(crate) fn once(folder: &Path, list: &str, install: impl FnOnce() -> Result<()>) -> Result<()> {
    let (wanted, stamp) = (fs::read(folder.join(list))?, folder.join(format!("{list}.installed")));
    if fs::read(&stamp).ok().as_ref() != Some(&wanted) {
        install()?;
        fs::write(stamp, wanted)?;
    }
    Ok(())
}

/// One of the scripts, with the program and a fresh state directory.
fn session(command: &mut Command, folder: &Path) -> Result<()> {
    let state = folder.join("state");
    let _ = fs::remove_dir_all(&state);
    say(command.arg(program()).arg(&state), folder)?;
    let _ = fs::remove_dir_all(&state);
    Ok(())
}

fn program() -> PathBuf {
    bench::target().join("debug/chiton")
}

pub(crate) fn say(command: &mut Command, folder: &Path) -> Result<()> {
    let shown = format!("{command:?}").replace('"', "");
    let status = command.current_dir(folder).status().with_context(|| format!("cannot start {shown}"))?;
    ensure!(status.success(), "{shown} failed");
    Ok(())
}
