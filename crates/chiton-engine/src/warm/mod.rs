//! What is ready before a command comes, and what is left to do after its answer.
//!
//! - [`spare`] is a shell that waits for a command; [`pool`] has those of a session.
//! - [`afterwork`] is what follows an answer, and where others wait for it.

pub(crate) mod afterwork;
pub(crate) mod pool;
pub(crate) mod spare;

pub use pool::WarmRoom;
