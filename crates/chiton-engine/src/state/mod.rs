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

/// How states get into shells and back, for who counts what that takes.
#[doc(hidden)]
pub mod counted {
    use super::ShellState;
    use super::bash::{dump, load};
    use super::change::Change;
    use crate::protocol::SharedPaths;

    /// The script that brings a new bash into a state.
    pub fn loader(state: &ShellState) -> Vec<u8> {
        let options = load::LoadOptions { shared: SharedPaths::of_keeper(1), exit_trap: load::ExitTrap::Alone };
        load::loader(state, b"bash", &options)
    }

    /// The script that brings a bash from one state into another.
    pub fn change(from: &ShellState, to: &ShellState) -> Option<Vec<u8>> {
        load::change(from, to, false)
    }

    /// The state that a session of state `start` comes to have by what a bash has printed.
    pub fn read(text: &[u8], start: &ShellState) -> Option<ShellState> {
        let change = match dump::read(text, start)?.state {
            dump::Reported::Whole(state) => Change::between(start, state),
            dump::Reported::Part(part) => Change::of_part(start, part),
        };
        Some(change.apply(start))
    }
}
