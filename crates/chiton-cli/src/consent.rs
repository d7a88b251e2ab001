//! Asks the person at the terminal.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use chiton_engine::consent::{Answer, Approver, Asking, Question};

/// Asks on the terminal that this process was started from, whatever its streams are.
#[derive(Debug)]
pub(crate) struct Terminal;

impl Approver for Terminal {
    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a> {
        let text = question.text();
        Box::pin(async move {
            let asked = tokio::task::spawn_blocking(move || ask(&text)).await;
            asked.map_err(|error| error.to_string())?
        })
    }
}

fn ask(text: &str) -> Result<Answer, String> {
    let open = |error: std::io::Error| format!("there is no terminal: {error}");
    let mut terminal = File::options().read(true).write(true).open("/dev/tty").map_err(open)?;
    let mut lines = BufReader::new(terminal.try_clone().map_err(open)?).lines();
    // There is no "always": this process ends with the command, and an agreement in a file could be written by a command.
    let shown = format!("{text}\n\nRun it? [y] yes, this once, [N] no: ");
    terminal.write_all(shown.as_bytes()).map_err(open)?;
    let answer = lines.next().and_then(Result::ok).unwrap_or_default();
    Ok(match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Answer::Once,
        _ => Answer::No,
    })
}
