//! What a shell is between two commands, as a value.
//!
//! 1. [`shell_state`]: the value itself.
//! 2. [`bash`] (or [`posix`]) writes a loader from it, a script that brings a fresh shell into that state, and reads
//!    back what the shell printed about itself at its end.
//! 3. [`change`] finds what a command changed and applies just that to whatever is current by then.
//! 4. [`environment`] says which variables may exist at all.
//! 5. [`moving`] says what of it means something on another machine.

pub(crate) mod bash;
pub(crate) mod change;
pub mod environment;
pub mod moving;
pub(crate) mod posix;
pub mod shell_state;

pub use moving::{FoundDirectory, LeftBehind};
pub use shell_state::{Function, PER_COMMAND_OPTIONS, ShellState, StateHash, Value, Variable};
