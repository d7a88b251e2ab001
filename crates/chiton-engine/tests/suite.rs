//! The suites of the engine that need no process to themselves. They are one program, as each more would be linked to all of
//! the engine; each file is a module: `cargo test -p chiton-engine --test suite state::`.
#![cfg(test)]

mod harness;

mod capture;
mod elsewhere;
mod endings;
mod leftovers;
mod library;
mod listening;
mod network;
mod permission;
mod preview;
mod rejoin;
mod run_ids;
mod sandbox;
mod secrets;
mod silence;
mod state;
mod stopping;
mod tasks;
mod terminal;
mod trust;
mod unattended;
mod warm;
mod watches;
mod widening;
