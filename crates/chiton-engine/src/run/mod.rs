//! The types of a run that everybody shares: how it ended, what it printed, what is typed into it.
//!
//! Plain types that know nothing of processes, files or sockets.

mod changed;
pub(crate) mod ending;
pub mod event;
pub(crate) mod id;
mod lines;
mod notify;
pub mod outcome;
mod protection;
pub(crate) mod typing;
mod watch;

pub use changed::{ChangeKind, ChangedFiles, FirstNames, NotKept};
pub use ending::{Ending, Received, StreamTotals};
pub(crate) use ending::{InSpool, StopCause};
pub use event::{Listener, PassedAmount, RunEvent, Silent, Stream, Streams};
pub use id::{BadRunId, RunId};
pub(crate) use lines::Lines;
pub(crate) use notify::Notice;
pub use notify::Notify;
pub use outcome::{Leftover, Lifetime, Outcome, Signal, TimeLimit, Usage};
pub use protection::Protection;
pub use typing::{InputWait, Look, Typing, Typist};
pub(crate) use watch::compile as compile_watch;
pub use watch::{MatchedLine, Watch};

/// The number of a directory, and of the file system it is on.
pub(crate) type DirectoryId = (u64, u64);
