//! What the tests of undoing share: a workspace in a sandbox that keeps what commands change, a look at everything in a
//! tree, and a program that does anything to it.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::cast_possible_wrap, reason = "small numbers for system calls")]

pub mod actor;
pub mod calls;
pub mod manifest;
pub mod paths;
pub mod place;
