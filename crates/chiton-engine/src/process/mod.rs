//! Processes: the only module that starts any.
//!
//! - [`shell`] knows which shell runs commands, and [`delivery`] how a command reaches it unchanged.
//! - [`keeper_process`] starts a keeper, from the engine; [`shell_process`] starts the shell, from its keeper.
//! - [`helper`] asks a program something on behalf of the engine itself.

pub(crate) mod delivery;
pub(crate) mod helper;
pub(crate) mod keeper_process;
pub(crate) mod order;
pub(crate) mod sandbox_process;
mod shell;
mod shell_process;

pub use shell::Shell;
pub(crate) use shell::ShellKind;
pub(crate) use shell_process::{ShellProcess, start_shell};
