//! What an engine and a keeper say to each other: [`messages`], sent as [`frames`].

mod frames;
mod given;
mod messages;

pub(crate) use frames::{BadFrame, FrameBuffer, encode};
pub(crate) use given::GivenFiles;
pub(crate) use messages::*;
