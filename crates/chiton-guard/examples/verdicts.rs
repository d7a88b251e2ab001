//! Judges each line of standard input as a command, and prints verdict, rule, reason and the line, with tabs between
//! them. Nothing is run.

use std::io::{BufRead, Write};

use chiton_guard::{Context, judge};

fn main() -> std::io::Result<()> {
    let context = Context::new("/home/dev", "dev", "/home/dev/project");
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().split(b'\n') {
        let line = line?;
        let verdict = judge(&line, &context);
        let rule = verdict.rule.as_deref().unwrap_or("-");
        let line = String::from_utf8_lossy(&line);
        writeln!(output, "{}\t{rule}\t{}\t{line}", verdict.decision.as_str(), verdict.reason)?;
    }
    Ok(())
}
