//! npm packages: one with the program for each kind of machine, and one that finds it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use super::{Carried, Packaging, others, tries};
use crate::dist::{Built, VERSION, answer};
use crate::quiet;

/// Packs the program for one kind of machine.
pub(super) fn make_platform(packaging: &Packaging, built: &Built, carried: &[Carried]) -> Result<()> {
    let folder = packaging.empty_place(&format!("npm-{}", built.target.node))?;
    fs::create_dir_all(folder.join("bin"))?;
    fs::copy(built.folder.join("chiton"), folder.join("bin/chiton"))?;
    for other in others(carried, built) {
        fs::create_dir_all(folder.join("libexec/chiton"))?;
        fs::copy(&other.program, folder.join("libexec/chiton").join(other.name()))?;
    }
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.txt"] {
        fs::copy(built.folder.join(name), folder.join(name))?;
    }
    for name in ["package.json", "README.md"] {
        let text = packaging.filled(&format!("npm/platform/{name}"), &[("@NODE@", built.target.node)])?;
        fs::write(folder.join(name), text)?;
    }
    pack(packaging, &folder)
}

/// Packs what finds the program.
pub(super) fn make_main(packaging: &Packaging) -> Result<()> {
    let folder = packaging.empty_place("npm-main")?;
    fs::create_dir_all(folder.join("bin"))?;
    for name in ["package.json", "README.md", "bin/chiton.js"] {
        fs::write(folder.join(name), packaging.filled(&format!("npm/chiton/{name}"), &[])?)?;
    }
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(packaging.sources.join("..").join(name), folder.join(name))?;
    }
    pack(packaging, &folder)
}

fn pack(packaging: &Packaging, folder: &Path) -> Result<()> {
    if !quiet("npm", &["--version"]) {
        eprintln!("npm is missing: {} was not packed", folder.display());
        return Ok(());
    }
    let mut npm = Command::new("npm");
    npm.args(["pack", "--silent", "--pack-destination"]).arg(&packaging.output).current_dir(folder);
    answer(&mut npm)?;
    Ok(())
}

/// Installs both in an empty folder, without a network.
pub(super) fn try_it(packaging: &Packaging, built: &Built, carried: &[Carried]) -> Result<()> {
    if !quiet("npm", &["--version"]) {
        eprintln!("npm is missing: its packages were not tried");
        return Ok(());
    }
    let place = packaging.empty_place("npm")?;
    let program = packaging.output.join(format!("chiton-shell-linux-{}-{VERSION}.tgz", built.target.node));
    let main = packaging.output.join(format!("chiton-{VERSION}.tgz"));
    fs::write(place.join("package.json"), "{\"private\": true}\n")?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--offline", "--silent", "--no-audit", "--no-fund"]).arg(&program).arg(&main);
    // No package of another installation comes from its cache.
    answer(npm.current_dir(&place).env("npm_config_cache", place.join("cache")))?;
    let words = ["npx".into(), "--offline".into(), "chiton".into()];
    tries::use_once("the npm packages", &place, &words)?;
    tries::carries("the npm packages", &place, &words, carried)?;

    // Without the program's package, the message says what to do.
    fs::remove_dir_all(place.join("node_modules/@chiton-shell"))?;
    let output = Command::new("node").arg("node_modules/chiton/bin/chiton.js").current_dir(&place).output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(
        output.status.code() == Some(125) && said.contains("is not installed") && said.lines().count() == 1,
        "without the program, npm's package says: {said}"
    );
    Ok(())
}
