//! What commands do to files, and undoing it: `cargo test -p chiton-engine --test changes 'seeds 0'`. One program, which also
//! plays those that change files, and those that are killed while they undo.
#![cfg(test)]

mod harness;
mod undo;
mod undo_commands;
mod undo_interrupted;
mod undo_limits;
mod undo_random;

use std::process::ExitCode;

use chiton_testkit::trials::{self, Threads};

fn main() -> ExitCode {
    let part = undo::actor::act_if_asked().or_else(undo_interrupted::undo_if_asked).or_else(undo_limits::try_if_asked);
    if let Some(done) = part {
        return done;
    }
    if let Some(chosen) = undo_random::chosen() {
        return trials::run(Threads::Processors, vec![chosen], Vec::new());
    }

    let trials = [undo_random::trials(), undo_commands::trials(), undo_interrupted::trials(), undo_limits::trials()];
    trials::run(Threads::Processors, trials.into_iter().flatten().collect(), Vec::new())
}
