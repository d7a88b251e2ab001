//! `chiton take-terminal`: makes the terminal that a verb was given the one it is controlled by, and becomes the verb.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use clap::Args;

/// Take over a terminal
#[derive(Args)]
pub(crate) struct TakeTerminalArguments {
    /// The verb
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    words: Vec<OsString>,
}

#[expect(clippy::disallowed_methods, reason = "this process becomes the verb; nothing is started")]
pub(crate) fn take(arguments: &TakeTerminalArguments) -> Result<ExitCode> {
    rustix::process::setsid().context("this process leads a group already")?;
    rustix::process::ioctl_tiocsctty(io::stdin()).context("standard input is no terminal")?;
    Err(Command::new("/proc/self/exe").args(&arguments.words).exec()).context("chiton does not start")
}
