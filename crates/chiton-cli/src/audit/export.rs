//! `chiton audit export`: the journal as other programs take it, one row for each command.

use std::collections::HashMap;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use chiton_engine::audit::read;
use chiton_engine::audit::{AuditEvent, AuditLine};
use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{outcome, span, time};
use crate::messages::{is_pipe_closed, remark};

/// Write one row for each command, for other programs
#[derive(Args)]
#[command(after_help = "\
Commands stand there as they were written, with the tokens of their secrets.

Examples:
  chiton audit export --format csv > commands.csv
  chiton audit export --format atuin > commands.json && HISTFILE=$PWD/commands.json atuin import resh")]
pub(super) struct ExportArguments {
    /// How it is written
    #[arg(long, value_enum)]
    format: ExportFormat,
    /// Of this session only
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Not older than this: 10m, 2h, 3d
    #[arg(long, value_name = "TIME", value_parser = span)]
    since: Option<Duration>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// One JSON object per line
    Json,
    /// Values with commas between them, with a line of names first
    Csv,
    /// What `atuin import resh` takes; commands that have ended
    Atuin,
}

/// One command, as far as the journal knows it.
#[derive(Clone, Debug, Serialize)]
struct Row {
    started_at: String,
    #[serde(skip)]
    started_ms: u64,
    run: Option<String>,
    session: Option<String>,
    client: String,
    directory: Option<String>,
    command: String,
    /// Bytes of the command that the journal does not have.
    command_cut: u64,
    /// `running` where its end is not in the journal.
    outcome: String,
    exit_code: Option<i32>,
    duration_ms: Option<u64>,
    output_bytes: Option<u64>,
    verdict: Option<String>,
    rule: Option<String>,
    /// The machine that it ran on, where that is another one.
    on: Option<String>,
}

/// The outcome of a command whose end is not in the journal.
const RUNNING: &str = "running";

/// Commands in the order in which they began.
#[derive(Default)]
struct Rows {
    rows: Vec<Row>,
    /// Where the row of a run is.
    runs: HashMap<String, usize>,
}

impl Rows {
    fn take(&mut self, line: &AuditLine) {
        let entry = &line.entry;
        match entry.event {
            AuditEvent::Run | AuditEvent::Refused | AuditEvent::Failed => {
                let Some(command) = &entry.command else { return };
                let begun = entry.event == AuditEvent::Run;
                if let Some(run) = entry.run.as_ref().filter(|_| begun) {
                    self.runs.insert(run.clone(), self.rows.len());
                }
                self.rows.push(Row {
                    started_at: time(line.at_ms),
                    started_ms: line.at_ms,
                    run: entry.run.clone(),
                    session: entry.session.clone(),
                    client: entry.who.clone(),
                    directory: entry.directory.clone(),
                    command: command.clone(),
                    command_cut: entry.command_cut,
                    outcome: if begun { RUNNING } else { outcome(line) }.to_owned(),
                    exit_code: entry.exit_code,
                    duration_ms: entry.duration_ms,
                    output_bytes: entry.output_bytes,
                    verdict: entry.verdict.clone(),
                    rule: entry.rule.clone(),
                    on: entry.on.clone(),
                });
            }
            AuditEvent::End => {
                let row = entry.run.as_ref().and_then(|run| self.runs.get(run));
                let Some(row) = row.and_then(|place| self.rows.get_mut(*place)) else { return };
                // A command that was handed back has two ends; the second is the real one.
                outcome(line).clone_into(&mut row.outcome);
                row.exit_code = entry.exit_code;
                row.duration_ms = entry.duration_ms.or(row.duration_ms);
                row.output_bytes = entry.output_bytes.or(row.output_bytes);
            }
            AuditEvent::Task | AuditEvent::Input | AuditEvent::Reply => {}
        }
    }
}

pub(super) fn export(arguments: &ExportArguments, folder: &Path) -> Result<ExitCode> {
    let mut found = Rows::default();
    read::lines(folder, |_, line| found.take(line))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let oldest = arguments.since.map_or(0, |since| now.saturating_sub(since).as_millis());
    let wanted = |row: &&Row| {
        let named = arguments.session.as_ref().is_none_or(|name| row.session.as_ref() == Some(name));
        named && u128::from(row.started_ms) >= oldest
    };
    let rows = found.rows.iter().filter(wanted);
    let mut output = BufWriter::new(std::io::stdout().lock());
    let written = match arguments.format {
        ExportFormat::Json => write_json(rows, &mut output),
        ExportFormat::Csv => write_csv(rows, &mut output),
        ExportFormat::Atuin => write_atuin(rows, &mut output),
    };
    match written.and_then(|()| Ok(output.flush()?)) {
        // A reader that wants no more of it is not a problem.
        Err(error) if !is_pipe_closed(&error) => Err(error),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn write_json<'a>(rows: impl Iterator<Item = &'a Row>, output: &mut impl Write) -> Result<()> {
    for row in rows {
        serde_json::to_writer(&mut *output, row)?;
        writeln!(output)?;
    }
    Ok(())
}

/// The names of the columns, in their order.
const COLUMNS: [&str; 14] = [
    "started_at", "run", "session", "client", "directory", "command", "command_cut", "outcome", "exit_code",
    "duration_ms", "output_bytes", "verdict", "rule", "on",
];

fn write_csv<'a>(rows: impl Iterator<Item = &'a Row>, output: &mut impl Write) -> Result<()> {
    // Lines end as RFC 4180 has it.
    write!(output, "{}\r\n", COLUMNS.join(","))?;
    for row in rows {
        let row = serde_json::to_value(row)?;
        let cells: Vec<String> = COLUMNS.iter().map(|name| cell(&row[*name])).collect();
        write!(output, "{}\r\n", cells.join(","))?;
    }
    Ok(())
}

fn cell(value: &Value) -> String {
    let text = match value {
        Value::Null => return String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// The history of resh, a JSON object per line: of what atuin imports, a single file that has exit codes, durations,
/// directories and commands of several lines.
fn write_atuin<'a>(rows: impl Iterator<Item = &'a Row>, output: &mut impl Write) -> Result<()> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let (mut cut, mut running) = (0, 0);
    for row in rows {
        match row.outcome.as_str() {
            // Nothing ran.
            "refused" | "failed" | "described" => continue,
            // atuin takes a command once, so its end would never get there.
            RUNNING => {
                running += 1;
                continue;
            }
            _ => {}
        }
        if row.command_cut > 0 {
            cut += 1;
            continue;
        }
        writeln!(output, "{}", resh(row, host.trim()))?;
    }
    if running > 0 {
        remark(&format!("{running} left out, because they still run; the next export has them"));
    }
    if cut > 0 {
        remark(&format!("{cut} left out, because the journal does not have all of so long a command"));
    }
    Ok(())
}

/// Names that atuin wants to be there, of which it takes nothing.
const EMPTY_TEXTS: [&str; 32] = [
    "uname", "home", "lang", "lcAll", "login", "shellEnv", "term", "hosttype", "ostype", "machtype", "timezoneBefore",
    "timezoneAfter", "gitDir", "gitRealDir", "gitOriginRemote", "gitDirAfter", "gitRealDirAfter",
    "gitOriginRemoteAfter", "machineId", "osReleaseId", "osReleaseVersionId", "osReleaseIdLike", "osReleaseName",
    "osReleasePrettyName", "reshUuid", "reshVersion", "reshRevision", "recallLastCmdLine", "cols", "lines", "pwdAfter",
    "realPwdAfter",
];
const ZEROS: [&str; 3] = ["pid", "sessionPid", "shlvl"];
const ZERO_TIMES: [&str; 2] = ["realtimeSinceSessionStart", "realtimeSinceBoot"];

/// An exit code that no command has: it did not end by itself, or nobody saw it.
const NO_EXIT_CODE: i32 = -1;

#[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 need 41 bits")]
fn resh(row: &Row, host: &str) -> Value {
    let directory = row.directory.as_deref().unwrap_or_default();
    let duration = row.duration_ms.unwrap_or(0);
    let before = row.started_ms as f64 / 1000.0;
    let after = (row.started_ms + duration) as f64 / 1000.0;
    let mut entry = Map::new();
    let mut put = |name: &str, value: Value| drop(entry.insert(name.to_owned(), value));
    put("cmdLine", json!(row.command));
    put("exitCode", json!(row.exit_code.unwrap_or(NO_EXIT_CODE)));
    put("shell", json!("bash"));
    put("sessionId", json!(row.session.as_deref().unwrap_or_default()));
    put("host", json!(row.on.as_deref().unwrap_or(host)));
    put("pwd", json!(directory));
    put("realPwd", json!(directory));
    put("realtimeBefore", json!(before));
    put("realtimeAfter", json!(after));
    put("realtimeBeforeLocal", json!(before));
    put("realtimeAfterLocal", json!(after));
    put("realtimeDuration", json!(duration as f64 / 1000.0));
    put("partsMerged", json!(true));
    put("recalled", json!(false));
    let unused = EMPTY_TEXTS.iter().map(|name| (*name, json!("")));
    let unused = unused.chain(ZEROS.iter().map(|name| (*name, json!(0))));
    for (name, value) in unused.chain(ZERO_TIMES.iter().map(|name| (*name, json!(0.0)))) {
        put(name, value);
    }
    Value::Object(entry)
}
