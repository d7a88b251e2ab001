//! `chiton audit --tokens`: what programs printed, and how much of it was in replies.
//!
//! The journal has a line for each command, how much it printed with its end, and how long the replies about it were. What a
//! reply would have been otherwise is not in it, so nothing here says what was saved.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use chiton_dialects::compact::program_of;
use chiton_engine::audit::read;
use chiton_engine::audit::{AuditEvent, AuditLine};
use serde_json::json;

use super::AuditArguments;

/// Bytes of a token, about: those of English text and code. Digits and other scripts have fewer.
const BYTES_PER_TOKEN: u64 = 4;

/// One run, as far as the journal knows it.
#[derive(Default)]
struct Run {
    program: String,
    printed: u64,
    /// None where no reply is in the journal.
    replied: Option<u64>,
}

/// All runs of a program.
#[derive(Debug, Default, PartialEq, Eq)]
struct Row {
    program: String,
    runs: u64,
    printed: u64,
    replied: u64,
    /// Runs without a reply in the journal.
    unanswered: u64,
}

/// Runs by their id.
#[derive(Default)]
struct Runs(HashMap<String, Run>);

impl Runs {
    fn take(&mut self, line: &AuditLine, is_wanted: bool) {
        let entry = &line.entry;
        let Some(id) = &entry.run else { return };
        if entry.event == AuditEvent::Run && is_wanted {
            let command = entry.command.as_deref().unwrap_or_default();
            let program = program_of(command.as_bytes()).unwrap_or_else(|| "(not known)".to_owned());
            self.0.insert(id.clone(), Run { program, ..Run::default() });
        }
        let Some(run) = self.0.get_mut(id) else { return };
        // A command that was handed back has two ends; the second counts all that it printed.
        run.printed = run.printed.max(entry.output_bytes.unwrap_or(0));
        if let Some(bytes) = entry.reply_bytes {
            *run.replied.get_or_insert(0) += bytes;
        }
    }

    /// By program, the one with the longest replies first.
    fn rows(self) -> Vec<Row> {
        let mut rows: HashMap<String, Row> = HashMap::new();
        for run in self.0.into_values() {
            let row = rows.entry(run.program.clone()).or_insert_with(|| Row { program: run.program, ..Row::default() });
            row.runs += 1;
            row.printed += run.printed;
            row.replied += run.replied.unwrap_or(0);
            row.unanswered += u64::from(run.replied.is_none());
        }
        let mut rows: Vec<Row> = rows.into_values().collect();
        rows.sort_by(|one, other| {
            (other.replied, other.printed, &one.program).cmp(&(one.replied, one.printed, &other.program))
        });
        rows
    }
}

pub(super) fn print(arguments: &AuditArguments, folder: &Path) -> Result<ExitCode> {
    let mut runs = Runs::default();
    read::lines(folder, |_, line| runs.take(line, arguments.wants(line)))?;
    let rows = runs.rows();
    let text = if arguments.json { as_json(&rows) } else { as_table(&rows) };
    // A reader that wants no more of it is not a problem.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    Ok(ExitCode::SUCCESS)
}

fn as_json(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let Row { program, runs, printed, replied, unanswered } = row;
        let tokens = replied / BYTES_PER_TOKEN;
        let line = json!({
            "program": program, "runs": runs, "printed_bytes": printed, "reply_bytes": replied, "reply_tokens_about": tokens,
            "runs_without_reply": unanswered,
        });
        format!("{line}\n")
    };
    rows.iter().map(line).collect()
}

fn as_table(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "the journal has no such runs\n".to_owned();
    }
    let width =
        rows.iter().map(|row| row.program.chars().count()).max().unwrap_or(0).max("all".len()).max("program".len());
    let line = |row: &Row| {
        let Row { program, runs, printed, replied, .. } = row;
        let tokens = replied / BYTES_PER_TOKEN;
        format!("{program:width$}  {runs:>7}  {printed:>13}  {replied:>13}  {tokens:>12}\n")
    };
    let mut all = Row { program: "all".to_owned(), ..Row::default() };
    for row in rows {
        all.runs += row.runs;
        all.printed += row.printed;
        all.replied += row.replied;
        all.unanswered += row.unanswered;
    }

    let mut text = format!(
        "{:width$}  {:>7}  {:>13}  {:>13}  {:>12}\n",
        "program", "runs", "bytes printed", "bytes replied", "tokens about"
    );
    text.extend(rows.iter().map(line));
    text.push_str(&line(&all));
    if all.unanswered > 0 {
        text.push_str(&format!(
            "{} of these runs have no reply in the journal: nobody called for them, or before replies were noted\n",
            all.unanswered
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use chiton_engine::audit::AuditEntry;

    use super::*;

    fn line(
        event: AuditEvent,
        run: &str,
        command: Option<&str>,
        printed: Option<u64>,
        replied: Option<u64>,
    ) -> AuditLine {
        let mut entry = AuditEntry::new(event);
        (entry.run, entry.command) = (Some(run.to_owned()), command.map(str::to_owned));
        (entry.output_bytes, entry.reply_bytes) = (printed, replied);
        AuditLine { number: 1, at_ms: 0, previous: String::new(), entry }
    }

    #[test]
    fn runs_are_counted_by_program_and_unknown_replies_are_said_to_be() {
        let lines = [
            line(AuditEvent::Run, "a", Some("cd x && timeout 60 cargo build"), None, None),
            line(AuditEvent::End, "a", None, Some(9000), Some(500)),
            line(AuditEvent::Run, "b", Some("cargo test | tail -3"), None, None),
            line(AuditEvent::End, "b", None, Some(100), None),
            line(AuditEvent::Reply, "b", None, None, Some(120)),
            line(AuditEvent::End, "b", None, Some(300), None),
            line(AuditEvent::Reply, "b", None, None, Some(80)),
            // An old line, or one of `chiton run`.
            line(AuditEvent::Run, "c", Some("ls"), None, None),
            line(AuditEvent::End, "c", None, Some(40), None),
            // One whose beginning is not wanted any more.
            line(AuditEvent::End, "d", None, Some(7), Some(7)),
        ];
        let mut runs = Runs::default();
        for line in &lines {
            runs.take(line, true);
        }
        let row = |program: &str, runs, printed, replied, unanswered| Row {
            program: program.to_owned(),
            runs,
            printed,
            replied,
            unanswered,
        };
        let rows = runs.rows();
        assert_eq!(rows, [row("cargo", 2, 9300, 700, 0), row("ls", 1, 40, 0, 1)]);
        let table = as_table(&rows);
        assert!(table.contains("1 of these runs have no reply"), "{table}");
        assert_eq!(as_json(&rows).lines().count(), 2);
    }
}
