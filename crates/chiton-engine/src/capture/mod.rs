//! Stage 6: bytes from the command become counted, bounded, findable output.
//!
//! 1. The keeper reads the pipes and appends to the [`spool`], which holds everything up to its quota, and beyond it
//!    the beginning and the end.
//! 2. The engine receives the same bytes over the keeper's socket ([`collect`]), or, where there are many, learns where
//!    they are in the spool. It keeps the first and last of each stream in memory ([`intake`], [`head_tail`]); a listener
//!    that wants to receives all of them.
//! 3. Every byte that is in neither is counted.
//!
//! What bytes *look like* (text, escapes, screens) is left to `render`.

pub(crate) mod collect;
pub(crate) mod head_tail;
pub(crate) mod intake;
pub mod spool;
pub(crate) mod times;

pub use head_tail::HeadTail;
