//! Cases that are tests: each has a name, can be chosen by it, and fails alone.
//!
//! For targets with `harness = false`. What only the whole set can show, for instance that every tool was called, is
//! checked in a second round, which runs when nothing was left out and everything passed.

use std::process::ExitCode;

pub use libtest_mimic::{Arguments, Failed, Trial};

/// How many trials run at the same time unless the command line says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// As many as the machine has processors: for trials that compute.
    Processors,
    /// This many: for trials that wait most of the time.
    Fixed(usize),
}

/// Runs `trials` with the arguments of the process, and then `closing` if all of them ran and passed.
pub fn run(threads: Threads, trials: Vec<Trial>, closing: Vec<Trial>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    if let Threads::Fixed(count) = threads {
        arguments.test_threads.get_or_insert(count);
    }

    let done = libtest_mimic::run(&arguments, trials);
    let whole = done.num_filtered_out == 0 && done.num_ignored == 0 && !done.has_failed();
    if closing.is_empty() || !whole {
        return done.exit_code();
    }
    libtest_mimic::run(&arguments, closing).exit_code()
}

/// A trial that fails by a panic alone.
pub fn passes(check: impl FnOnce()) -> Result<(), Failed> {
    check();
    Ok(())
}

/// Functions of one type with their names, so that none is listed under another name. One that is left out is dead
/// code, which the compiler reports.
#[macro_export]
macro_rules! named {
    ($type:ty; $($function:ident),* $(,)?) => { [$((stringify!($function), $function as $type)),*] };
}
