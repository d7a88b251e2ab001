//! The sources that come with the engine.

#[cfg(feature = "age")]
pub mod age_file;
pub mod command;
pub mod given;
pub mod memory;
