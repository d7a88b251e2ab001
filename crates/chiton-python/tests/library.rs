//! The library as an interpreter loads it. The rest of the tests are in `python/tests`, and need Python.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the library is looked at with a program")]

use std::path::PathBuf;
use std::process::Command;

/// Where cargo has put the library for this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().join("libchiton_python.so")
}

#[test]
fn any_interpreter_can_load_it() {
    let output = Command::new("readelf").args(["--wide", "--dynamic", "--dyn-syms"]).arg(library()).output().unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    assert!(listed.contains("PyInit__engine"), "{listed}");
    let needed: Vec<&str> = listed.lines().filter(|line| line.contains("(NEEDED)")).collect();
    assert!(!needed.is_empty() && !needed.iter().any(|line| line.contains("libpython")), "{needed:?}");
}
