//! What only a person does.

use std::env;
use std::io::{self, IsTerminal, Write};

use anyhow::{Result, ensure};
use chiton_engine::ancestry;

/// Refuses what an agent's command wants to do in the name of a person. `what` goes on from "a person".
pub(crate) fn required(what: &str) -> Result<()> {
    let marked = env::var_os("CHITON").is_some_and(|value| value == "1") && !io::stdin().is_terminal();
    let inside = marked || ancestry::floor().map_or(true, |floor| floor.is_some());
    ensure!(!inside, "this runs inside a command of Chiton: a person {what}, in a terminal of their own");
    Ok(())
}

/// Whether somebody sits there who can be asked.
pub(crate) fn can_be_asked() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Whether that person agrees.
pub(crate) fn agrees(question: &str) -> io::Result<bool> {
    let mut stderr = io::stderr().lock();
    write!(stderr, "{question} [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
