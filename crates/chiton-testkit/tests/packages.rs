//! How many packages the program is made of: each is code that somebody has to trust, to build and to keep up to date.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "cargo knows what it would build")]

use std::collections::BTreeSet;
use std::env;
use std::path::Path;
use std::process::Command;

/// Our own ones included, and those that only run while it is built.
const MOST: usize = 180;

#[test]
fn the_program_is_made_of_few_packages() {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["tree", "--locked", "--offline", "--package", "chiton-cli", "--target", "x86_64-unknown-linux-gnu"]);
    cargo.args(["--edges", "normal,build", "--prefix", "none", "--no-dedupe", "--format", "{p}"]);
    let said = cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR"))).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));

    // A package is its name and its version; where it comes from, and what it is, stands behind.
    let text = String::from_utf8(said.stdout).unwrap();
    let packages: BTreeSet<String> =
        text.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
    assert!(packages.len() > 50 && packages.iter().any(|name| name.starts_with("tokio v")), "{packages:#?}");
    assert!(
        packages.len() <= MOST,
        "there are {} packages, and at most {MOST} were agreed: does the new one give enough?\n{}",
        packages.len(),
        packages.into_iter().collect::<Vec<_>>().join("\n")
    );
}
