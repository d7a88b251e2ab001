//! The boundary beneath the guard: what a command may touch, whatever its text says.

pub mod policy;
