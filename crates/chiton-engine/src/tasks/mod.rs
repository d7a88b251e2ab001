//! Runs that can be found again: read, waited for, written to, stopped, by any process of the same user.
//!
//! The file system is the registry; there is no daemon. Each run has a [`folder`] named by its id with [`record`]s of
//! what was asked, that it started and how it ended, beside its spool and the socket of its keeper. Its keeper holds a
//! lock on the folder as long as it lives, so that a run whose keeper is gone can be told from one that runs.
//!
//! - [`list`]: which runs there are, and in what state ([`Task`], [`TaskStatus`]).
//! - [`read`]: their output, whole, in parts, or what is new.
//! - [`link`]: the connection to a running one: wait, write, signal, kill.
//! - [`recording`]: what a terminal showed, with its times.
//! - [`sweep`]: which ones go when.

pub mod link;
pub mod list;
pub mod read;
mod recording;
pub(crate) mod sweep;

pub use link::{SendError, WaitFor, WaitReason, Waited, Window, WindowEvent};
pub use list::{Damaged, NotFound, Task, TaskStatus, Tasks};
pub use read::{Cursor, Filter, Marked, Output, Part, ReadError, ReadRequest};
pub use recording::RecordingError;
