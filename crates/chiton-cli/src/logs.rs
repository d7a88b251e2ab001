//! `chiton logs`: the output of a command, whole, in part, or as it comes.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use chiton_engine::tasks::{Cursor, Filter, Marked, Output, Part, ReadRequest, RunMark, WaitFor};
use chiton_engine::terminal::text::PlainText;
use chiton_engine::{Stream, Task, Tasks};
use clap::Args;
use clap_complete::engine::ArgValueCandidates;

use crate::messages::{PIPE_CLOSED, remark};
use crate::on_arguments::OnArguments;

/// Show what a command printed, even while it runs
#[derive(Args)]
#[command(after_help = "\
What the command printed to standard error goes to standard error here too, in the order it came.

Examples:
  chiton logs shell_1a2b3c4d                 everything that is kept
  chiton logs -f shell_1a                    everything, and what comes, until it ends
  chiton logs --tail 20 shell_1a             the last 20 lines
  chiton logs --lines 7-103 shell_1a         the lines that a reply left out
  chiton logs --grep 'error|warning' -C 2 shell_1a
  chiton logs --plain shell_1a               without colours, and every progress bar as one line
  chiton logs --screen shell_1a              what its terminal shows, or showed last")]
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
    /// Only these lines, such as 7-103, counted from 1 in what the other options select
    #[arg(long, value_name = "FROM-TO", value_parser = line_range, conflicts_with_all = ["follow", "head", "tail", "grep"])]
    lines: Option<Range<u64>>,
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
    /// As text: no escape sequences, and the last state of what was drawn over itself
    #[arg(long, conflicts_with_all = ["raw", "screen"])]
    plain: bool,
    /// As it was printed, escape sequences and all [default]
    #[arg(long, conflicts_with = "screen")]
    raw: bool,
    /// What its terminal shows, or showed last
    #[arg(long, conflicts_with_all = ["follow", "head", "tail", "lines", "grep", "stdout", "stderr"])]
    screen: bool,
    #[command(flatten)]
    pub(crate) on: OnArguments,
}

/// `7-103` as people count lines, the last one included.
fn line_range(text: &str) -> Result<Range<u64>> {
    let range = text.split_once('-').and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    let range = range.filter(|(first, last)| 1 <= *first && first <= last);
    let (first, last): (u64, u64) = range.with_context(|| format!("lines are like 7-103, not '{text}'"))?;
    Ok(first - 1..last)
}

/// What is read and printed at once.
const STEP: u64 = 1 << 20;

pub(crate) async fn logs(arguments: LogsArguments, state: &Path) -> Result<ExitCode> {
    let tasks = Tasks::new(state);
    let task = tasks.get(&arguments.id)?;
    if arguments.screen {
        let text = tasks.look(&task.id).await?.screen.to_text();
        writeln!(io::stdout().lock(), "{text}")?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut printer = Printer::new(arguments.plain, arguments.follow);
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
        printer.show(&found)?;
        printer.finish()?;
        return Ok(if found.matches > 0 { ExitCode::SUCCESS } else { ExitCode::from(1) });
    }
    if let Some(lines) = arguments.lines {
        let request = ReadRequest { streams, part: Part::Lines(lines), ..ReadRequest::default() };
        printer.show(&task.read(&mut cursor, &request)?)?;
        printer.finish()?;
        return Ok(ExitCode::SUCCESS);
    }
    let part = match (arguments.head, arguments.tail) {
        (Some(lines), _) => Some(Part::Head(lines)),
        (_, Some(lines)) => Some(Part::Tail(lines)),
        _ => None,
    };
    if let Some(part) = part {
        // One read: it shows the lines asked for, and --follow goes on from its end.
        cursor = Cursor::default();
        let mut seen = task.read(&mut cursor, &ReadRequest { streams, part: Part::New, ..ReadRequest::default() })?;
        seen.keep(&part);
        printer.show(&seen)?;
    } else {
        show_new(&task, streams, &mut cursor, &mut printer)?;
    }
    let is_whole = arguments.head.is_none() && arguments.tail.is_none() && streams == Marked::Both;
    let (id, is_persons) = (task.id.clone(), task.owner.is_none() && task.client.is_none());
    let mut has_ended = !task.status.is_running();
    if arguments.follow {
        follow(&tasks, task, streams, cursor, &mut printer).await?;
        has_ended = true;
    }
    printer.finish()?;
    if is_whole && has_ended && is_persons {
        // What belongs to a client is unread until that client reads it, whatever a person looks at.
        tasks.mark(&id, RunMark::Read);
    }
    Ok(ExitCode::SUCCESS)
}

async fn follow(
    tasks: &Tasks,
    mut task: Task,
    streams: Marked,
    mut cursor: Cursor,
    printer: &mut Printer,
) -> Result<()> {
    while task.status.is_running() {
        let wanted = WaitFor { bytes: Some(1), from: cursor, ..WaitFor::default() };
        task = tasks.wait(&task.id, wanted).await?.task;
        show_new(&task, streams, &mut cursor, printer)?;
        let other = match streams {
            Marked::Both => continue,
            Marked::Only(Stream::Stdout) => Stream::Stderr,
            Marked::Only(Stream::Stderr) => Stream::Stdout,
        };
        // Passes over the other stream, and nothing else.
        let passed_over = ReadRequest { streams: Marked::Only(other), part: Part::New, ..ReadRequest::default() };
        task.read(&mut cursor, &passed_over)?;
    }
    show_new(&task, streams, &mut cursor, printer)
}

fn show_new(task: &Task, streams: Marked, cursor: &mut Cursor, printer: &mut Printer) -> Result<()> {
    loop {
        let request = ReadRequest { streams, part: Part::New, filter: None, limit: STEP };
        let output = task.read(cursor, &request)?;
        printer.show(&output)?;
        if output.left_out == 0 {
            return Ok(());
        }
    }
}

/// Prints each stream to its own, as it is or as plain text.
struct Printer {
    plain: Option<[PlainText; 2]>,
    /// Bytes that would belong to what was printed, and are gone.
    not_kept: u64,
}

impl Printer {
    fn new(plain: bool, follows: bool) -> Self {
        let text = || if follows { PlainText::following() } else { PlainText::new() };
        Self { plain: plain.then(|| [text(), text()]), not_kept: 0 }
    }

    fn show(&mut self, output: &Output) -> Result<()> {
        for chunk in &output.chunks {
            match &mut self.plain {
                None => print(chunk.stream, chunk.text.as_bytes())?,
                Some(plain) => {
                    let mut text = Vec::new();
                    plain[usize::from(chunk.stream == Stream::Stderr)].push(chunk.text.as_bytes(), &mut text);
                    print(chunk.stream, &text)?;
                }
            }
        }
        io::stdout().lock().flush()?;
        self.not_kept += output.not_kept;
        Ok(())
    }

    fn finish(self) -> Result<()> {
        for (plain, stream) in self.plain.into_iter().flatten().zip([Stream::Stdout, Stream::Stderr]) {
            let mut text = Vec::new();
            plain.finish(&mut text);
            print(stream, &text)?;
        }
        if self.not_kept > 0 {
            remark(&format!("{} bytes of this are not kept", self.not_kept));
        }
        Ok(())
    }
}

fn print(stream: Stream, bytes: &[u8]) -> Result<()> {
    let written = match stream {
        Stream::Stdout => io::stdout().lock().write_all(bytes),
        Stream::Stderr => io::stdout().lock().flush().and_then(|()| io::stderr().lock().write_all(bytes)),
    };
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(PIPE_CLOSED.into()),
        written => written.context("the output cannot be written"),
    }
}
