//! Waiting for a task: for its end, a line, silence, some output, or its wait for input.
//!
//! 1. The keeper is asked to report whatever happens; nothing is polled.
//! 2. After each report the task is looked up anew, and what is new in the spool is searched.
//! 3. The first condition that holds ends the wait, the end of the task always does.

use std::time::Duration;

use regex::bytes::Regex;
use tokio::time::Instant;

use super::link::{SendError, TaskLink};
use super::list::Task;
use super::read::{Cursor, ReadError};
use crate::limits::LONGEST;
use crate::protocol::{Control, Denial, Report, reached};
use crate::run::InputWait;
use crate::run::Stream;
use chiton_terminal::Snapshot;

/// What a wait is for. Whatever comes first ends it; the end of the task always does.
#[derive(Clone, Debug, Default)]
pub struct WaitFor {
    /// A line of output that matches, also one that is there already.
    pub pattern: Option<Regex>,
    /// No output for this long.
    pub idle: Option<Duration>,
    /// This many bytes of output beyond `from`.
    pub bytes: Option<u64>,
    /// A line on the screen of its terminal that matches, also one that is there already.
    pub screen: Option<Regex>,
    /// That it waits for somebody to type into its terminal.
    pub input: bool,
    /// How long to wait at most.
    pub timeout: Option<Duration>,
    /// Where the waiting reader is: output before this is neither searched nor counted.
    pub from: Cursor,
}

/// Why a wait is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// The task has ended.
    Ended,
    /// This line matched.
    Matched(String),
    /// It was silent for long enough.
    Idle,
    /// Enough output has come.
    Bytes,
    /// It waits for input.
    Input(InputWait),
    /// The time is over.
    TimedOut,
}

/// The result of a wait.
#[derive(Clone, Debug)]
pub struct Waited {
    /// Why it is over.
    pub reason: WaitReason,
    /// The task as it is now.
    pub task: Task,
}

impl TaskLink {
    /// Waits for the first of several things. Nothing wakes up in between.
    ///
    /// May be dropped at any await: it consumes nothing of the task, and what it sends is too small to be cut off.
    pub async fn wait(&mut self, wanted: WaitFor) -> Result<Waited, SendError> {
        let deadline = wanted.timeout.map(|timeout| Instant::now() + timeout.min(LONGEST));
        self.watch(&wanted).await?;
        let mut progress = WaitProgress::from(wanted.from);

        loop {
            // In this order: what was printed before the task ended is in the spool once the task reads as ended, so a
            // match in its last words wins over its end.
            let task = self.task()?;
            if let Some(line) = progress.search(&task, wanted.pattern.as_ref())? {
                return Ok(Waited { reason: WaitReason::Matched(line), task });
            }
            let running = task.status.is_running();
            if !running || self.link.is_none() {
                return Ok(Waited { reason: WaitReason::Ended, task });
            }

            let silent_at = wanted.idle.map(|idle| progress.last_output + idle.min(LONGEST));
            let reason = tokio::select! {
                report = self.receive() => self.consider(report, &task, &wanted, &mut progress).await?,
                () = reached(silent_at) => Some(WaitReason::Idle),
                () = reached(deadline) => Some(WaitReason::TimedOut),
            };
            if let Some(reason) = reason {
                return Ok(Waited { reason, task: self.task()? });
            }
        }
    }

    /// Asks the keeper to report what this wait is about. It reports at once where the run stands.
    async fn watch(&mut self, wanted: &WaitFor) -> Result<(), SendError> {
        let watch = if wanted.input { Control::WatchInput } else { Control::Watch };
        self.send(&watch).await?;
        if wanted.screen.is_some() {
            self.request_look().await?;
        }
        Ok(())
    }

    /// Whether a report ends the wait.
    async fn consider(
        &mut self,
        report: Option<Report>,
        task: &Task,
        wanted: &WaitFor,
        progress: &mut WaitProgress,
    ) -> Result<Option<WaitReason>, SendError> {
        match report {
            Some(Report::Waits(wait)) => Ok(Some(WaitReason::Input(wait))),
            Some(Report::Look(look)) => Ok(matching_line(&look.screen, wanted.screen.as_ref())),
            Some(Report::Answer(Err(Denial::NoTerminal))) => Err(self.no_terminal()),
            Some(Report::Grew { stdout, stderr }) => {
                if wanted.screen.is_some() {
                    self.request_look().await?;
                }
                Ok(progress.note_growth(stdout + stderr, task, wanted.bytes))
            }
            Some(_) => Ok(None),
            // The end of the keeper is the end of the task; the loop finds out how it ended.
            None if !self.after_its_keeper().await?.status.is_running() => Ok(None),
            None => {
                let reason = "its keeper does not answer; is it of another version?".to_owned();
                Err(SendError::Refused { id: task.id.clone(), reason })
            }
        }
    }
}

/// The first line on a screen that matches.
fn matching_line(screen: &Snapshot, pattern: Option<&Regex>) -> Option<WaitReason> {
    let text = screen.to_text();
    let line = text.lines().find(|line| pattern.is_some_and(|pattern| pattern.is_match(line.as_bytes())));
    line.map(|line| WaitReason::Matched(line.to_owned()))
}

/// How far a wait has come.
struct WaitProgress {
    last_output: Instant,
    /// Where counting begins, in bytes of both streams.
    from: u64,
    /// The total that was reported last.
    total: Option<u64>,
    /// What was searched of each stream.
    searched: Cursor,
}

impl WaitProgress {
    fn from(cursor: Cursor) -> Self {
        let from = cursor.stdout + cursor.stderr;
        Self { last_output: Instant::now(), from, total: None, searched: cursor }
    }

    /// So many bytes are in the spool now. Gives the reason where that is enough.
    fn note_growth(&mut self, spooled: u64, task: &Task, wanted: Option<u64>) -> Option<WaitReason> {
        // A leftover shares its spool with the command that left it, whose bytes do not count.
        let total = spooled.saturating_sub(task.source.stdout + task.source.stderr);
        // The first report says where the run stands, only later ones that it moved.
        if self.total.replace(total).is_some_and(|last| last != total) {
            self.last_output = Instant::now();
        }
        wanted.filter(|bytes| total.saturating_sub(self.from) >= *bytes).map(|_| WaitReason::Bytes)
    }

    /// The first line that matches and was not searched before. An unfinished line is searched again when it has grown.
    fn search(&mut self, task: &Task, pattern: Option<&Regex>) -> Result<Option<String>, ReadError> {
        let Some(pattern) = pattern else { return Ok(None) };
        for (stream, place) in
            [(Stream::Stdout, &mut self.searched.stdout), (Stream::Stderr, &mut self.searched.stderr)]
        {
            loop {
                let piece = task.bytes_from(stream, *place, SEARCH_STEP)?;
                let lines = piece.bytes.split(|byte| *byte == b'\n');
                if let Some(line) = lines.into_iter().find(|line| !line.is_empty() && pattern.is_match(line)) {
                    return Ok(Some(String::from_utf8_lossy(line).into_owned()));
                }
                let full = piece.bytes.len() == SEARCH_STEP;
                let finished = memchr::memrchr(b'\n', &piece.bytes).map_or(0, |newline| newline + 1);
                *place = piece.offset + if finished == 0 && full { SEARCH_STEP } else { finished } as u64;
                if !full {
                    break;
                }
            }
        }
        Ok(None)
    }
}

/// How much is searched at once; a line longer than this is searched in pieces.
const SEARCH_STEP: usize = 1 << 20;
