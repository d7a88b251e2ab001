//! Words for people, on standard error, with colour where somebody sees it.

use std::io::{IsTerminal, Write};

use anstyle::{AnsiColor, Style};

/// Prints `chiton: MESSAGE`.
pub(crate) fn complain(message: &str) {
    let mut stderr = std::io::stderr().lock();
    let style = if stderr.is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        AnsiColor::Red.on_default().bold()
    } else {
        Style::new()
    };
    let _ = writeln!(stderr, "{style}chiton:{style:#} {message}");
}

/// Prints a remark that is neither output nor an error.
pub(crate) fn remark(message: &str) {
    let _ = writeln!(std::io::stderr().lock(), "chiton: {message}");
}
