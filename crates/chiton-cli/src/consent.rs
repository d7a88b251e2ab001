//! Asks the person at the terminal.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use chiton_engine::consent::{Answer, Approver, Asking, Question};
use rustix::io::Errno;
use tokio::signal::unix::{SignalKind, signal};

use crate::surroundings;

/// Asks on the terminal that this process was started from, whatever its streams are.
#[derive(Debug)]
pub(crate) struct Terminal;

impl Approver for Terminal {
    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a> {
        let text = format!("{}\n\n{}", question.text(), question.kind.short());
        Box::pin(async move {
            // The read itself goes on after Ctrl-C; nobody waits for it then.
            tokio::select! {
                asked = tokio::task::spawn_blocking(move || ask(&text)) => asked.map_err(|error| error.to_string())?,
                () = interrupted() => Ok(Answer::Undecided),
            }
        })
    }
}

/// Waits for Ctrl-C, unless whoever started this process wants it ignored.
async fn interrupted() {
    let kind = SignalKind::interrupt();
    // A handler takes the place of "ignore", so this comes first.
    let is_ignored = surroundings::is_ignored(kind.as_raw_value());
    match signal(kind) {
        Ok(mut interrupts) if !is_ignored => drop(interrupts.recv().await),
        _ => std::future::pending().await,
    }
}

fn ask(text: &str) -> Result<Answer, String> {
    let open = |error: std::io::Error| match Errno::from_io_error(&error) {
        // What `/dev/tty` says where a process has no terminal.
        Some(Errno::NXIO | Errno::NOENT) => "there is no terminal".to_owned(),
        _ => format!("the terminal cannot be used: {error}"),
    };
    let mut terminal = File::options().read(true).write(true).open("/dev/tty").map_err(open)?;
    let mut lines = BufReader::new(terminal.try_clone().map_err(open)?).lines();
    // There is no "always": this process ends with the command, and an agreement in a file could be written by a command.
    let shown = format!("{text} [y] yes, this once, [N] no: ");
    terminal.write_all(shown.as_bytes()).map_err(open)?;
    // The end of the input is no answer: the person has closed the terminal, or pressed Ctrl-D.
    let Some(Ok(answer)) = lines.next() else { return Ok(Answer::Undecided) };
    Ok(match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Answer::Once,
        // A terminal in raw mode passes Ctrl-C and Ctrl-D on.
        keys if keys.contains(['\u{3}', '\u{4}']) => Answer::Undecided,
        _ => Answer::No,
    })
}
