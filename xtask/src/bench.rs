//! `cargo xtask bench`: builds the program as people get it and what measures it, and runs that. `crates/chiton-bench` does
//! the rest.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::dist::{TARGETS, whole};
use crate::{cargo, cargo_command, root};

/// Runs the benchmark with these arguments: the parts to measure, `--save`, `--check`.
pub(crate) fn run(arguments: impl Iterator<Item = String>) -> Result<()> {
    let target = target();
    let release = build()?;
    let mut bench = Command::new(release.join("chiton-bench"));
    bench.args(arguments).current_dir(root());
    bench.arg("--program").arg(release.join("chiton")).arg("--results").arg(target.join("bench"));
    // What cargo adds would be a part of every session, and of no user's.
    for (name, _) in env::vars_os() {
        let added = name
            .to_str()
            .is_some_and(|name| ["CARGO", "RUST", "LD_LIBRARY_PATH"].iter().any(|it| name.starts_with(it)));
        if added {
            bench.env_remove(name);
        }
    }
    ensure!(bench.status()?.success(), "the benchmark failed");
    Ok(())
}

/// Builds the program as [`crate::dist::Target::build`] does, but in the profile whose parts are there as a rule. Gives the folder.
fn build() -> Result<PathBuf> {
    let here =
        TARGETS.iter().find(|it| it.is_this_machine()).context("nobody has said how to build for this machine")?;
    here.make_ready()?;
    let mut cargo = cargo_command(&["build", "--release", "-p", "chiton-cli", "-p", "chiton-bench"]);
    cargo.args(["--target", here.triple]).env("CARGO_ENCODED_RUSTFLAGS", whole().join("\u{1f}"));
    ensure!(cargo.status()?.success(), "it does not build");
    Ok(target().join(here.triple).join("release"))
}

/// Counts instructions in the build that is tested, and compares them with those that are checked in, or saves them.
pub(crate) fn counts(wish: &str) -> Result<()> {
    cargo(&["build", "--quiet", "-p", "chiton-bench"], "it does not build")?;
    let mut bench = Command::new(target().join("debug/chiton-bench"));
    bench.args(["counts", wish, "--program", "none", "--results"]).arg(target().join("bench")).current_dir(root());
    ensure!(bench.status()?.success(), "instruction counts have changed");
    Ok(())
}

pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}
