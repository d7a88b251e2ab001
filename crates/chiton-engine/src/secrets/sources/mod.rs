//! The sources that come with the engine.

#[cfg(feature = "age")]
mod age;
#[cfg(feature = "age")]
pub mod age_file;
pub mod command;
pub mod given;
pub mod memory;
