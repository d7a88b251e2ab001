//! The output of a run, from its end on.
//!
//! 1. A viewer is sent the last part of what was printed, and how much lies before that.
//! 2. What follows is sent as it comes, but only so fast ([`super::pace`]). A viewer that falls behind is taken to the end,
//!    and told how much it has not seen.
//! 3. What lies before can be asked for, part by part.

use chiton_engine::tasks::{Cursor, Output, Part, ReadError, ReadRequest, SendError, WaitFor};
use chiton_engine::{Stream, Task, Tasks};
use hyper::body::Bytes;
use serde::Serialize;
use serde_json::json;
use tokio::sync::mpsc;

use super::answer::{Answer, event, events};
use super::pace::{BURST, Pace};

/// Bytes that are sent at first, and of each earlier part.
const PART: u64 = 64 << 10;
/// How far a viewer may be behind before it is taken to the end.
const BEHIND: u64 = 4 * BURST;

/// A stretch of one stream.
#[derive(Serialize)]
pub(super) struct Stretch {
    /// Whether it is standard error.
    error: bool,
    text: String,
}

/// A part of the output from before.
#[derive(Serialize)]
pub(super) struct Earlier {
    /// Where it begins: so many bytes lie before it.
    from: u64,
    /// Bytes of it that are not kept.
    not_kept: u64,
    stretches: Vec<Stretch>,
}

/// The stream of a viewer of this run.
pub(super) fn view(tasks: Tasks, task: Task) -> Answer {
    let (sender, receiver) = mpsc::channel(2);
    tokio::spawn(async move {
        if let Err(error) = follow(&tasks, task, &sender).await {
            let _ = sender.send(event("failed", &json!({"error": error.to_string()}))).await;
        }
    });
    events(receiver)
}

/// Nobody looks any more.
struct Left;

async fn follow(tasks: &Tasks, mut task: Task, viewer: &mpsc::Sender<Bytes>) -> Result<(), SendError> {
    let first = beginning_of_line(&task, task.printed()?.saturating_sub(PART))?;
    let mut cursor = task.cursor_at(first)?;
    let mut pace = Pace::new();
    if send(viewer, event("begin", &json!({"before": first}))).await.is_err() {
        return Ok(());
    }
    loop {
        let is_running = task.status.is_running();
        if send_new(&task, &mut cursor, &mut pace, viewer).await?.is_err() {
            return Ok(());
        }
        if !is_running {
            let _ = send(viewer, event("end", &json!({"status": task.status}))).await;
            return Ok(());
        }
        let wanted = WaitFor { bytes: Some(1), from: cursor, ..WaitFor::default() };
        let waited = tokio::select! {
            waited = tasks.wait(&task.id, wanted) => waited?,
            () = viewer.closed() => return Ok(()),
        };
        task = waited.task;
    }
}

/// Sends what is new, as fast as a viewer may be sent anything.
async fn send_new(
    task: &Task,
    cursor: &mut Cursor,
    pace: &mut Pace,
    viewer: &mpsc::Sender<Bytes>,
) -> Result<Result<(), Left>, ReadError> {
    loop {
        pace.wait().await;
        let request = ReadRequest { part: Part::New, limit: BURST, ..ReadRequest::default() };
        let output = task.read(cursor, &request)?;
        let (left_out, not_kept) = (output.left_out, output.not_kept);
        let stretches = stretches(output);
        if not_kept > 0 && send(viewer, event("gap", &json!({"bytes": not_kept, "kept": false}))).await.is_err() {
            return Ok(Err(Left));
        }
        if !stretches.is_empty() {
            let message = event("text", &stretches);
            pace.note(message.len());
            if send(viewer, message).await.is_err() {
                return Ok(Err(Left));
            }
        }
        if left_out == 0 {
            return Ok(Ok(()));
        }
        if left_out > BEHIND {
            let skipped = left_out - BURST;
            *cursor = task.cursor_at(cursor.stdout + cursor.stderr + skipped)?;
            if send(viewer, event("gap", &json!({"bytes": skipped, "kept": true}))).await.is_err() {
                return Ok(Err(Left));
            }
        }
    }
}

/// The part of the output that ends at `before`.
pub(super) fn earlier(task: &Task, before: u64) -> Result<Earlier, ReadError> {
    let from = beginning_of_line(task, before.saturating_sub(PART))?.min(before);
    let output = read(task, from, before)?;
    Ok(Earlier { from, not_kept: output.not_kept, stretches: stretches(output) })
}

/// Where the line after a place begins, so that no line is shown in two halves; the place itself where the line is long.
fn beginning_of_line(task: &Task, place: u64) -> Result<u64, ReadError> {
    if place == 0 {
        return Ok(0);
    }
    let text = read(task, place, place + PART / 4)?.to_text();
    // Where a character was damaged by the cut, or before, its bytes can no longer be counted.
    let end = text.find('\n').filter(|end| !text[..*end].contains(char::REPLACEMENT_CHARACTER));
    Ok(place + end.map_or(0, |end| end as u64 + 1))
}

fn read(task: &Task, from: u64, to: u64) -> Result<Output, ReadError> {
    task.read(&mut Cursor::default(), &ReadRequest { part: Part::Bytes(from..to), ..ReadRequest::default() })
}

fn stretches(output: Output) -> Vec<Stretch> {
    let chunks = output.chunks.into_iter();
    chunks.map(|chunk| Stretch { error: chunk.stream == Stream::Stderr, text: chunk.text }).collect()
}

async fn send(viewer: &mpsc::Sender<Bytes>, message: Bytes) -> Result<(), Left> {
    viewer.send(message).await.map_err(|_| Left)
}
