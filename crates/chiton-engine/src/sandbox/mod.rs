//! The boundary beneath the guard: what a command may touch, whatever its text says.

#[cfg_attr(not(test), expect(dead_code, reason = "sessions are joined to it when they have networks of their own"))]
pub(crate) mod network;
pub mod policy;
