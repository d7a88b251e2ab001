//! What an engine and a keeper send each other.
//!
//! 1. [`messages`] are the types: orders and controls to a keeper, reports from it.
//! 2. [`frames`] are how they travel over a socket; [`given`] are the descriptors that travel with an order.
//! 3. [`link`] is the engine's end of a connection. The keeper's end is in its own module, since it never waits.
//!
//! What a message makes either side do is left to `keeper`, `capture` and `tasks`.

mod frames;
mod given;
mod link;
mod messages;
mod shared_paths;

pub(crate) use frames::{BadFrame, FrameBuffer, announcement, encode};
pub(crate) use given::GivenFiles;
pub(crate) use link::{Arrival, Link, reached};
pub(crate) use messages::*;
pub(crate) use shared_paths::{SharedPaths, own_descriptors};
