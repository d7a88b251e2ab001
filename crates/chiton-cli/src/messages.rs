//! What is said: words for people on standard error, with colour where somebody sees it, and lines on standard output.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};

/// Prints `chiton: MESSAGE`.
pub(crate) fn complain(message: &str) {
    let mut stderr = io::stderr().lock();
    let style = if stderr.is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        AnsiColor::Red.on_default().bold()
    } else {
        Style::new()
    };
    let _ = writeln!(stderr, "{style}chiton:{style:#} {message}");
}

/// Prints a remark that is neither output nor an error.
pub(crate) fn remark(message: &str) {
    let _ = writeln!(io::stderr().lock(), "chiton: {message}");
}

/// Prints to standard output. Where nobody reads that any more, this process ends without a word, as others do.
pub(crate) fn put(text: fmt::Arguments<'_>) {
    let mut stdout = io::stdout().lock();
    match stdout.write_fmt(text).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(PIPE_CLOSED.into()),
        // There is nobody else to tell.
        _ => {}
    }
}

/// A line on standard output.
macro_rules! say {
    ($($part:tt)*) => { $crate::messages::put(format_args!("{}\n", format_args!($($part)*))) };
}
pub(crate) use say;

/// The exit code of a program that SIGPIPE ended, as shells have it.
pub(crate) const PIPE_CLOSED: u8 = 141;

/// Whether an error says that nobody reads our output any more.
pub(crate) fn is_pipe_closed(error: &anyhow::Error) -> bool {
    let kind = match (error.downcast_ref::<io::Error>(), error.downcast_ref::<serde_json::Error>()) {
        (Some(error), _) => Some(error.kind()),
        (None, Some(error)) => error.io_error_kind(),
        (None, None) => None,
    };
    kind == Some(io::ErrorKind::BrokenPipe)
}
