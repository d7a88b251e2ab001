//! Shells that wait for commands: [`spare`] is one, [`pool`] are those of a session.

pub(crate) mod pool;
pub(crate) mod spare;

pub use pool::WarmRoom;
