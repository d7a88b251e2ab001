//! Sends what waits, batch by batch, and remembers how far it came.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use chiton_engine::audit::outbox::{Batch, BatchLimits, Outbox};
use chiton_engine::clock::now_ms;
use serde_json::Value;

use super::post::{Answer, post};
use super::target::Target;
use super::{lost_in_words, record};
use crate::messages::remark;

/// As much at once as receivers take with their usual settings.
const BATCH: BatchLimits = BatchLimits { lines: 512, bytes: 1 << 20 };
/// The pause after a failure, which doubles with each one, and its limit.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Whether the pause after a failure is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pauses {
    /// A command must not wait for a receiver that is known not to answer.
    Kept,
    /// Somebody asks for it now.
    Ignored,
}

/// How it went.
#[derive(Debug)]
pub(super) enum Ended {
    /// Nothing waits any more.
    AllSent,
    /// Another process is sending.
    Elsewhere,
    /// It is worth trying again after this time.
    Failed { reason: String, pause: Duration },
}

/// Sends the lines of one journal to one receiver.
pub(super) struct Sender {
    pub(super) target: Target,
    /// Where the journal is.
    pub(super) folder: PathBuf,
    resource: Value,
    /// Records that were sent.
    pub(super) sent: u64,
}

impl Sender {
    pub(super) fn new(target: Target, folder: PathBuf) -> Self {
        Self { target, folder, resource: record::resource(), sent: 0 }
    }

    /// Sends everything that waits; stops in the middle as soon as `over` is ready.
    pub(super) async fn send(&mut self, pauses: Pauses, over: impl Future<Output = ()>) -> Result<Ended> {
        let outbox = Outbox::open(&self.folder);
        let outbox = outbox.with_context(|| format!("{} cannot be used", self.folder.display()))?;
        let Some(mut outbox) = outbox else { return Ok(Ended::Elsewhere) };
        let remaining = outbox.cursor().retry_ms.saturating_sub(now_ms());
        if remaining > 0 && pauses == Pauses::Kept {
            return Ok(Ended::Failed {
                reason: "it failed a moment ago".to_owned(),
                pause: Duration::from_millis(remaining).min(LONGEST_PAUSE * 5),
            });
        }

        let ended = {
            let sending = self.send_all(&mut outbox);
            tokio::select! {
                ended = sending => Some(ended?),
                () = over => None,
            }
        };
        let (reason, asked) = match ended {
            None => ("there was no answer in time".to_owned(), None),
            Some(None) => return Ok(Ended::AllSent),
            Some(Some(failed)) => failed,
        };
        let doubled = FIRST_PAUSE * (1 << outbox.cursor().failures.min(6));
        let pause = asked.unwrap_or_default().max(doubled.min(LONGEST_PAUSE));
        outbox.failed(now_ms() + u64::try_from(pause.as_millis()).unwrap_or(0))?;
        Ok(Ended::Failed { reason, pause })
    }

    /// Gives why it did not come to the end, where it did not, and the pause that the receiver asks for.
    async fn send_all(&mut self, outbox: &mut Outbox) -> Result<Option<(String, Option<Duration>)>> {
        let mut limits = BATCH;
        let mut headers = None;
        loop {
            let batch = outbox.next(limits)?;
            if batch.lines.is_empty() {
                return Ok(None);
            }
            let headers = match &headers {
                Some(headers) => headers,
                None => headers.insert(self.target.headers()?),
            };
            let body = record::request(&self.resource, outbox.unreported(&batch), now_ms(), &batch.lines);
            match post(&self.target, headers, body).await {
                Answer::Taken { rejected } => {
                    let rejected = rejected.min(batch.lines.len() as u64);
                    outbox.sent(&batch, rejected)?;
                    self.sent += batch.lines.len() as u64 - rejected;
                    say_lost(batch.missing + rejected);
                    limits = BATCH;
                }
                Answer::Unwanted(_) if batch.lines.len() > 1 => limits.lines = batch.lines.len() / 2,
                Answer::Unwanted(reason) => {
                    // One record is left, and not even that is taken. A receiver that takes nothing is no receiver of
                    // logs, and the records wait for a better one.
                    let Answer::Taken { .. } = post(&self.target, headers, record::empty_request()).await else {
                        return Ok(Some((reason, None)));
                    };
                    skip(outbox, &batch)?;
                }
                Answer::Later { reason, pause } => return Ok(Some((reason, pause))),
            }
        }
    }
}

fn skip(outbox: &mut Outbox, batch: &Batch) -> Result<()> {
    outbox.skip(batch)?;
    say_lost(batch.missing + batch.lines.len() as u64);
    Ok(())
}

/// Says so once: what is counted in the cursor is not found again.
fn say_lost(lost: u64) {
    if lost > 0 {
        remark(&lost_in_words(lost));
    }
}
