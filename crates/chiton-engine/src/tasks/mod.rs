//! Runs that can be found again: read, waited for, written to, stopped, by any process of the same user.
//!
//! The file system is the registry; there is no daemon. Each run has a [`crate::folder`] named by its id with records of
//! what was asked, that it started and how it ended, beside its spool and the socket of its keeper. Its keeper holds a
//! lock on the folder as long as it lives, which tells a run whose keeper is gone from one that runs.
//!
//! - [`list`]: which runs there are, and in what state ([`Task`], [`TaskStatus`]).
//! - [`read`]: their output, whole, in parts, or what is new.
//! - [`link`]: requests to a running one; [`wait`]: waiting for it, or for a line of it ([`search`]); [`window`]: its terminal, for a person.
//! - [`listening`]: the ports and Unix sockets that a running one listens on.
//! - [`watches`]: regular expressions that stay on it, and what they have matched.
//! - [`recording`]: what a terminal showed, with its times.
//! - [`told`]: what the client of a task was told of it; [`attend`]: waiting for what there is to tell.
//! - [`kept_for`]: what a finished one is kept for; [`sweep`]: which are removed, and when; [`removed`]: which were.

mod attend;
mod kept_for;
pub mod link;
pub mod list;
mod listening;
pub mod read;
mod recording;
mod removed;
mod search;
pub(crate) mod sweep;
mod told;
mod wait;
mod watches;
mod window;

pub use crate::folder::RunMark;
pub use crate::run::{MatchedLine, Watch};
pub use attend::{Attendance, TaskEvent};
pub use kept_for::KeptFor;
pub use link::{SendError, TaskLink};
pub use list::{Damaged, NotFound, Task, TaskStatus, Tasks};
pub use listening::{Listening, ListeningSocket, PortLook, SocketName, UnknownPorts, WantedPort};
pub use read::{Cursor, Filter, Marked, Output, Part, ReadError, ReadRequest};
pub use recording::RecordingError;
pub use removed::{RemovalReason, RemovedRun};
pub use sweep::{CleanEffect, CleanUp, Swept, UnreadRuns};
pub use told::{Pulse, Told, ToldWait};
pub use wait::{WaitFor, WaitReason, Waited};
pub use watches::{Follow, Followed};
pub use window::{Window, WindowEvent};
