//! Links the program to a fixed address.
//!
//! Its tables hold 50,000 addresses. In a program that may be loaded anywhere, the loader writes each of them anew at every
//! start: a millisecond, and nearly a megabyte that no two processes share. Every command has a process of this program that
//! keeps it. The stack, the heap and all libraries are still placed at random; see `SECURITY.md`. With `CHITON_PIE` in the
//! environment the program is, too.

use std::env;

fn main() {
    println!("cargo:rerun-if-env-changed=CHITON_PIE");
    let has = |name: &str, word: &str| env::var(name).is_ok_and(|value| value.split(',').any(|it| it == word));
    if has("CARGO_CFG_TARGET_OS", "linux") && env::var_os("CHITON_PIE").is_none() {
        println!("cargo:rustc-link-arg-bins=-no-pie");
        if has("CARGO_CFG_TARGET_FEATURE", "crt-static") {
            // The option above takes back what rustc says of both.
            println!("cargo:rustc-link-arg-bins=-static");
        }
    }
}
