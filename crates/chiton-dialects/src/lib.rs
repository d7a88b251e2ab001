//! Tool surfaces: how the shell looks to an agent.
//!
//! 1. A [`Dialect`] is one file of [`catalogue`] and names its tools with their schemas ([`ToolSpec`]).
//! 2. It reads a call into an [`Action`], in words that all dialects share.
//! 3. Somebody else carries the action out; `chiton-operator` does.
//! 4. It writes what came of it ([`Done`]) into a [`Reply`].
//!
//! This is pure translation: nothing here runs a command, and nothing reads or writes a file.
//!
//! What differs between dialects is a choice of values in an action, not a code path in the engine.
//!
//! ```
//! use chiton_dialects::{Action, Surroundings};
//! use serde_json::json;
//!
//! let around = Surroundings::new("/home/user");
//! let dialect = chiton_dialects::find("native").unwrap();
//! let arguments = json!({"command": "make", "timeout": 5000});
//!
//! let action = dialect.read("Bash", arguments.as_object().unwrap(), &around).unwrap();
//! let Action::Run(run) = action else { panic!("it is a command to wait for") };
//! assert_eq!(run.request.timeout.unwrap().as_secs(), 5);
//! ```

pub mod action;
pub mod arguments;
mod bash_like;
pub mod binary;
mod call_error;
pub mod catalogue;
pub mod compact;
pub mod facts;
pub mod gaps;
pub mod ignored;
pub mod news;
pub mod reading;
pub mod registry;
pub mod reply;
pub mod schema;
pub mod select;
pub mod shape;
mod simple;
pub mod text;
pub mod timeouts;
pub mod title;
pub mod tool;

pub use action::{Action, Done, Gaps, Keeps, ListAction, Listed, ReadAction, RunAction, StartsFrom, Whose};
pub use arguments::Arguments;
pub use call_error::CallError;
pub use catalogue::{find, names};
pub use news::{Change, What};
pub use reply::Reply;
pub use tool::{Dialect, ON, Structured, Surroundings, TaskNames, ToolSpec, UndoOffer};
