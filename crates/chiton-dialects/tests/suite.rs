//! The suites of the dialects. They are one program, as each more would be linked once more; each file is a module:
//! `cargo test -p chiton-dialects --test suite schemas::`.
#![cfg(test)]

mod calls;
mod outputs;
mod schemas;
