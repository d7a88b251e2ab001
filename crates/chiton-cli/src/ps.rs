//! `chiton ps`: which commands run, and which have.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result};
use chiton_engine::tasks::{Listening, PortLook};
use chiton_engine::{Task, TaskStatus, Tasks};
use clap::Args;
use serde_json::json;

use crate::messages::complain;
use crate::on_arguments::OnArguments;
use crate::table::{lay_out, leave_out, span};

/// Characters of a directory that a terminal has room for.
const DIRECTORY: usize = 24;

/// Columns that a narrow terminal has no room for, the first first. `--json` has them all.
const SPARE: &[&str] = &["OWNER", "DIRECTORY", "PID", "STARTED", "TIME"];

/// List commands that run, or all that are kept
#[derive(Args)]
#[command(after_help = "\
Status: pending, running, completed (exit code 0), failed (another code, or a signal), timeout, killed (stopped, or by
SIGKILL), lost (its keeper was killed). An id can be shortened to any beginning that no other has.
Owner: the client of a server that started it, by the name that it gives itself; - for what people have started.
Listening: where its processes take connections; shown where any of those listed does. [::] takes IPv4 as well, unless
\"IPv6 only\" follows.")]
pub(crate) struct PsArguments {
    /// Those that have ended as well
    #[arg(long, short)]
    all: bool,
    /// One JSON object for each, one a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) on: OnArguments,
}

pub(crate) fn ps(arguments: &PsArguments, state: &Path) -> Result<ExitCode> {
    let tasks = Tasks::new(state);
    let context = || format!("the runs in {} cannot be listed", state.display());
    let (found, damaged) = if arguments.all {
        tasks.list().with_context(context)?
    } else {
        (tasks.running().with_context(context)?, Vec::new())
    };
    for one in damaged {
        complain(&format!("{} cannot be read: {}", one.id, one.reason));
    }
    let mut look = PortLook::default();
    let found: Vec<(Listening, Task)> = found.into_iter().map(|task| (look.of(&task), task)).collect();

    let mut stdout = std::io::stdout().lock();
    if arguments.json {
        for (listening, task) in &found {
            let mut facts = as_json(task);
            facts["listening"] = json!(listening.sockets);
            facts["listening_unknown"] = json!(listening.unknown.in_words());
            writeln!(stdout, "{facts}")?;
        }
    } else if found.is_empty() {
        let hint = if arguments.all { "" } else { "; `chiton ps --all` lists those that have ended" };
        if stdout.is_terminal() {
            writeln!(stdout, "nothing runs{hint}")?;
        }
    } else {
        let room = if stdout.is_terminal() { DIRECTORY } else { usize::MAX };
        let mut rows: Vec<Vec<String>> = found.iter().map(|(_, task)| row(task, room)).collect();
        let mut heads = vec!["ID", "STATUS", "STARTED", "TIME", "PID", "OWNER", "DIRECTORY", "COMMAND"];
        if found.iter().any(|(listening, _)| !listening.is_empty()) {
            let place = heads.len() - 1;
            heads.insert(place, "LISTENING");
            for (row, (listening, _)) in rows.iter_mut().zip(&found) {
                row.insert(place, listening_column(listening));
            }
        }
        leave_out(SPARE, &mut heads, &mut rows);
        let text = lay_out(&heads, &rows);
        write!(stdout, "{}", if stdout.is_terminal() { coloured(&text) } else { text })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `room` is how much of a directory is shown.
fn row(task: &Task, room: usize) -> Vec<String> {
    let status = match &task.outcome {
        Some(outcome) if task.status == TaskStatus::Failed => outcome.exit_code().map_or_else(
            || outcome.signal().map_or_else(|| "failed".to_owned(), |signal| format!("failed ({signal})")),
            |code| format!("failed ({code})"),
        ),
        _ => task.status.to_string(),
    };
    let age = task.started_at.elapsed().unwrap_or_default();
    let what = task.description.as_ref().map(|text| format!("{text}: ")).unwrap_or_default();
    let command = task.command.split_whitespace().collect::<Vec<_>>().join(" ");
    let pid = task.pid.filter(|_| task.status.is_running()).map(|pid| pid.to_string()).unwrap_or_default();
    let owner = task.owner_name().unwrap_or("-").to_owned();
    let directory = end_of(&task.directory.to_string_lossy(), room);
    let (started, took) = (format!("{} ago", span(age)), span(task.duration));
    vec![task.id.clone(), status, started, took, pid, owner, directory, format!("{what}{command}")]
}

/// Where a task takes connections, in one line.
fn listening_column(listening: &Listening) -> String {
    let unknown = listening.unknown.in_words().map(|unknown| format!("({unknown})"));
    listening.names().into_iter().chain(unknown).collect::<Vec<_>>().join(" ")
}

/// The last characters of a path, which say more than the first.
fn end_of(path: &str, room: usize) -> String {
    let count = path.chars().count();
    if count <= room {
        return path.to_owned();
    }
    ['…'].into_iter().chain(path.chars().skip(count - room.saturating_sub(1))).collect()
}

/// Dims what is not about the moment, brightens what went wrong.
fn coloured(text: &str) -> String {
    let mut lines = text.lines().map(|line| {
        let wrong = ["failed", "timeout", "killed", "lost"].iter().any(|word| line.contains(&format!("  {word}")));
        let style = if wrong {
            "\x1b[31m"
        } else if line.contains("  running") {
            "\x1b[32m"
        } else {
            "\x1b[2m"
        };
        format!("{style}{line}\x1b[0m")
    });
    let head = lines.next().map(|line| line.replace("\x1b[2m", "\x1b[1m"));
    head.into_iter().chain(lines).map(|line| line + "\n").collect()
}

/// A task for machines.
pub(crate) fn as_json(task: &Task) -> serde_json::Value {
    let millis = |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    json!({
        "run_id": task.id,
        "status": task.status,
        "is_running": task.status.is_running(),
        "outcome": task.outcome.as_ref().map(chiton_engine::Outcome::word),
        "limit": task.limit,
        "exit_code": task.outcome.as_ref().and_then(chiton_engine::Outcome::exit_code),
        "signal": task.outcome.as_ref().and_then(chiton_engine::Outcome::signal).map(|signal| signal.to_string()),
        "pid": task.pid,
        "command": task.command,
        "description": task.description,
        "directory": task.directory,
        "session": task.session,
        "owner": task.owner.as_ref().map(|owner| json!({
            "client": owner.client,
            "directory": owner.directory.to_string_lossy(),
            "server_pid": owner.server.pid,
        })),
        "background": task.background,
        "lifetime": task.lifetime,
        "ports": task.ports,
        "leftover_of": task.leftover_of,
        "leftovers": task.leftovers,
        "started_at_ms": task.started_at.duration_since(UNIX_EPOCH).map_or(0, millis),
        "duration_ms": millis(task.duration),
    })
}
