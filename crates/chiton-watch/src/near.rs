//! One run from near: its screen where it has a terminal, otherwise its last lines.

use std::time::Duration;

use chiton_engine::Tasks;
use chiton_engine::tasks::{Cursor, Part, ReadRequest};
use chiton_engine::terminal::snapshot::Snapshot;
use chiton_engine::terminal::text::plain;

use crate::overview::SeenRun;
use crate::shown::harmless;

/// Lines of output that are held.
const LINES: u64 = 2_000;
/// Bytes of output that are read.
const BYTES: u64 = 512 << 10;
/// How long a keeper may take to say what its terminal shows.
const LOOK: Duration = Duration::from_millis(300);

/// What is seen of one run from near.
#[derive(Clone, Debug)]
pub enum Near {
    /// Its output, the last lines of it.
    Output(Vec<String>),
    /// Its terminal as it is.
    Screen(Box<Snapshot>),
}

/// What there is to see of a run; `None` where nothing can be read at the moment.
pub async fn near(tasks: &Tasks, run: &SeenRun) -> Option<Near> {
    if run.terminal
        && let Ok(Ok(look)) = tokio::time::timeout(LOOK, tasks.look(&run.id)).await
    {
        return Some(Near::Screen(Box::new(look.screen)));
    }
    let task = tasks.get(&run.id).ok()?;
    let end = run.printed;
    let part = if end > BYTES { Part::Bytes(end - BYTES..u64::MAX) } else { Part::Tail(LINES) };
    let request = ReadRequest { part, limit: BYTES, ..ReadRequest::default() };
    let output = task.read(&mut Cursor::default(), &request).ok()?;
    let text: String = output.chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    let text = plain(text.as_bytes());
    let text = String::from_utf8_lossy(&text);
    let mut lines: Vec<String> = text.lines().map(|line| harmless(&line.replace('\t', "    "))).collect();
    let surplus = lines.len().saturating_sub(usize::try_from(LINES).unwrap_or(usize::MAX));
    lines.drain(..surplus);
    Some(Near::Output(lines))
}
