//! `chiton logs`: the output of a command, whole, in part, or as it comes.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use chiton_engine::tasks::{Cursor, Filter, Marked, Output, Part, ReadRequest, WaitFor};
use chiton_engine::{Stream, Task, Tasks};
use clap::Args;
use clap_complete::engine::ArgValueCandidates;

use crate::terminal::remark;

/// Show what a command printed, also while it runs
#[derive(Args)]
#[command(after_help = "\
What the command printed to standard error goes to standard error here too, in the order it came.

Examples:
  chiton logs shell_1a2b3c4d                 everything that is kept
  chiton logs -f shell_1a                    everything, and what comes, until it ends
  chiton logs --tail 20 shell_1a             the last 20 lines
  chiton logs --grep 'error|warning' -C 2 shell_1a")]
pub(crate) struct LogsArguments {
    /// The command's id, or a beginning of it that no other has
    #[arg(add = ArgValueCandidates::new(crate::known_ids))]
    id: String,
    /// Go on until the command has ended
    #[arg(long, short)]
    follow: bool,
    /// Only the last lines
    #[arg(long, value_name = "LINES")]
    tail: Option<u64>,
    /// Only the first lines
    #[arg(long, value_name = "LINES", conflicts_with_all = ["tail", "follow"])]
    head: Option<u64>,
    /// Only lines that match a regular expression
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["follow", "head", "tail"])]
    grep: Option<String>,
    /// With --grep: this many lines around each match
    #[arg(long, short = 'C', value_name = "LINES", default_value_t = 0, requires = "grep")]
    context: usize,
    /// Only standard output
    #[arg(long, conflicts_with = "stderr")]
    stdout: bool,
    /// Only standard error
    #[arg(long)]
    stderr: bool,
}

/// What is read and printed at once.
const STEP: u64 = 1 << 20;

pub(crate) async fn logs(arguments: LogsArguments, state: &Path) -> Result<ExitCode> {
    let tasks = Tasks::new(state);
    let task = tasks.get(&arguments.id)?;
    let streams = match (arguments.stdout, arguments.stderr) {
        (true, _) => Marked::Only(Stream::Stdout),
        (_, true) => Marked::Only(Stream::Stderr),
        _ => Marked::Both,
    };
    let mut cursor = Cursor::default();
    if let Some(pattern) = &arguments.grep {
        let mut filter = Filter::new(pattern)?;
        (filter.before, filter.after) = (arguments.context, arguments.context);
        let request = ReadRequest { streams, filter: Some(filter), ..ReadRequest::default() };
        let found = task.read(&mut cursor, &request)?;
        show(&found)?;
        return Ok(if found.matches > 0 { ExitCode::SUCCESS } else { ExitCode::from(1) });
    }
    let part = match (arguments.head, arguments.tail) {
        (Some(lines), _) => Some(Part::Head(lines)),
        (_, Some(lines)) => Some(Part::Tail(lines)),
        _ => None,
    };
    if let Some(part) = part {
        // One look, of which the lines asked for are shown, and from whose end on is followed.
        cursor = Cursor::default();
        let mut seen = task.read(&mut cursor, &ReadRequest { streams, part: Part::New, ..ReadRequest::default() })?;
        seen.keep(&part);
        show(&seen)?;
    } else {
        show_new(&task, streams, &mut cursor)?;
    }
    if arguments.follow {
        follow(&tasks, task, streams, cursor).await?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn follow(tasks: &Tasks, mut task: Task, streams: Marked, mut cursor: Cursor) -> Result<()> {
    while task.status.is_running() {
        let wanted = WaitFor { bytes: Some(1), from: cursor, ..WaitFor::default() };
        task = tasks.wait(&task.id, wanted).await?.task;
        show_new(&task, streams, &mut cursor)?;
        let other = match streams {
            Marked::Both => continue,
            Marked::Only(Stream::Stdout) => Stream::Stderr,
            Marked::Only(Stream::Stderr) => Stream::Stdout,
        };
        // What the other stream says is passed over, and it alone.
        let passed_over = ReadRequest { streams: Marked::Only(other), part: Part::New, ..ReadRequest::default() };
        task.read(&mut cursor, &passed_over)?;
    }
    show_new(&task, streams, &mut cursor)
}

fn show_new(task: &Task, streams: Marked, cursor: &mut Cursor) -> Result<()> {
    loop {
        let request = ReadRequest { streams, part: Part::New, filter: None, limit: STEP };
        let output = task.read(cursor, &request)?;
        show(&output)?;
        if output.left_out == 0 {
            return Ok(());
        }
    }
}

fn show(output: &Output) -> Result<()> {
    for chunk in &output.chunks {
        let written = match chunk.stream {
            Stream::Stdout => io::stdout().lock().write_all(chunk.text.as_bytes()),
            Stream::Stderr => {
                io::stdout().lock().flush().and_then(|()| io::stderr().lock().write_all(chunk.text.as_bytes()))
            }
        };
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(141),
            written => written.context("the output cannot be written")?,
        }
    }
    io::stdout().lock().flush()?;
    if output.not_kept > 0 {
        remark(&format!("{} bytes of this are not kept", output.not_kept));
    }
    Ok(())
}
