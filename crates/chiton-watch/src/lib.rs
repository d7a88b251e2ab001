//! Everything under a state directory, as a person sees it.
//!
//! - [`overview`]: all runs with what they do at the moment, those that need a person first.
//! - [`top`]: the same in a terminal.
//! - [`approvals`]: the questions that wait for a person's answer.
//! - [`page`]: the same as a web page on this machine.
//!
//! Nothing here runs a command. What a person does to a run goes through [`chiton_engine::Engine`], as from the command
//! line.

pub mod approvals;
mod near;
pub mod overview;
pub mod page;
mod shown;
pub mod top;

pub use near::{Near, near};
