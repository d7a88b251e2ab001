//! Tool surfaces: how the shell looks to an agent.
//!
//! A [`Dialect`] is one file of [`catalogue`]: its tools and their schemas, how a call is read into an [`Action`], how
//! what came of it ([`Done`]) is written into a [`Reply`]. Pure translation: nothing here runs, reads or writes
//! anything.
//!
//! What differs between dialects is a choice of values in an action, not a code path in the engine.

pub mod action;
pub mod arguments;
mod bash_like;
mod call_error;
pub mod catalogue;
pub mod facts;
pub mod registry;
pub mod reply;
pub mod schema;
pub mod shape;
pub mod text;
pub mod timeouts;
pub mod tool;

pub use action::{Action, Done, Keeps, ReadAction, RunAction};
pub use arguments::Arguments;
pub use call_error::CallError;
pub use catalogue::{find, names};
pub use reply::Reply;
pub use tool::{Dialect, Surroundings, ToolSpec};
