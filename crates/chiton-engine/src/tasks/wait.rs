//! Waiting for a task: for its end, a line, silence, some output, a port, or its wait for input.
//!
//! 1. The keeper is asked to report whatever happens; nothing is polled.
//! 2. After each report the task is looked up anew, and what is new in the spool is searched ([`super::search`]).
//! 3. The first condition that holds ends the wait, the end of the task always does.
//!
//! One thing is polled, since the kernel tells nobody of it: whether the task listens on a port ([`PortWatch`]).

use std::time::Duration;

use regex::bytes::Regex;
use tokio::time::Instant;

use super::link::{SendError, TaskLink};
use super::list::Task;
use super::listening::{ListeningSocket, PortLook, WantedPort};
use super::read::Cursor;
use super::search::LineSearch;
use crate::limits::LONGEST;
use crate::protocol::{Control, Denial, Report, reached};
use crate::run::InputWait;
use chiton_terminal::Snapshot;

/// What a wait is for. Whatever comes first ends it; the end of the task always does.
#[derive(Clone, Debug, Default)]
pub struct WaitFor {
    /// A line of output beyond `from` that matches, also one that is there already.
    pub pattern: Option<Regex>,
    /// No output for this long.
    pub idle: Option<Duration>,
    /// This many bytes of output beyond `from`.
    pub bytes: Option<u64>,
    /// A line on the screen of its terminal that matches, also one that is there already.
    pub screen: Option<Regex>,
    /// The same while a full-screen program has the terminal: what it draws are not lines of output.
    pub full_screen: Option<Regex>,
    /// That it waits for somebody to type into its terminal.
    pub input: bool,
    /// That it listens on a port, also where it does so already.
    pub port: Option<WantedPort>,
    /// That its standing watches ([`super::Tasks::watches`]) have matched more lines in all than this.
    pub watched_beyond: Option<u64>,
    /// Whether a person may end the wait (`chiton release`): it is that of a call.
    pub releasable: bool,
    /// How long to wait at most.
    pub timeout: Option<Duration>,
    /// Where the waiting reader is: output before this is neither searched nor counted.
    pub from: Cursor,
}

impl WaitFor {
    fn wants_screen(&self) -> bool {
        self.screen.is_some() || self.full_screen.is_some()
    }

    /// The first line on a screen that matches.
    fn line_on(&self, screen: &Snapshot) -> Option<WaitReason> {
        let patterns = [self.screen.as_ref(), self.full_screen.as_ref().filter(|_| screen.alternate)];
        let matches = |line: &&str| patterns.into_iter().flatten().any(|pattern| pattern.is_match(line.as_bytes()));
        screen.to_text().lines().find(matches).map(|line| WaitReason::Matched(line.to_owned()))
    }
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
    /// It listens on the port.
    Listening(ListeningSocket),
    /// It waits for input.
    Input(InputWait),
    /// A standing watch has matched.
    Watched,
    /// A person has ended the wait.
    Released,
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
    /// The last line before `from` that matches the pattern, where no later one does: a reader may have expected that one.
    pub earlier: Option<String>,
    /// What to know about the port that was waited for in vain: that somebody else has it, or that it could not be seen.
    pub about_port: Option<String>,
}

impl TaskLink {
    /// Waits for the first of several things. Nothing wakes up in between.
    ///
    /// May be dropped at any await: it consumes nothing of the task, and what it sends is too small to be cut off.
    pub async fn wait(&mut self, wanted: WaitFor) -> Result<Waited, SendError> {
        let deadline = wanted.timeout.map(|timeout| Instant::now() + timeout.min(LONGEST));
        self.watch(&wanted).await?;
        let mut progress = WaitProgress::from(wanted.from);
        let mut search = LineSearch::from(wanted.from);
        let mut port = wanted.port.map(PortWatch::new);

        loop {
            // In this order: what was printed before the task ended is in the spool once the task reads as ended, so a
            // match in its last words wins over its end.
            let task = self.task()?;
            if let Some(pattern) = &wanted.pattern
                && let Some(line) = search.next(&task, pattern)?
            {
                return Ok(Waited { reason: WaitReason::Matched(line), task, earlier: None, about_port: None });
            }
            if wanted.watched_beyond.is_some_and(|told| self.matches() > told) {
                return Ok(Waited { reason: WaitReason::Watched, task, earlier: None, about_port: None });
            }
            let running = task.status.is_running();
            if !running || self.link.is_none() {
                return Self::without_match(WaitReason::Ended, task, &wanted);
            }
            if let Some(socket) = port.as_mut().and_then(|port| port.look(&task)) {
                return Self::without_match(WaitReason::Listening(socket), task, &wanted);
            }

            let silent_at = wanted.idle.map(|idle| progress.last_output + idle.min(LONGEST));
            let reason = tokio::select! {
                report = self.receive() => self.consider(report, &task, &wanted, &mut progress).await?,
                () = reached(silent_at) => Some(WaitReason::Idle),
                () = reached(deadline) => Some(WaitReason::TimedOut),
                () = reached(port.as_ref().map(|port| port.next)) => None,
            };
            if let Some(reason) = reason {
                return Self::without_match(reason, self.task()?, &wanted);
            }
        }
    }

    /// How many lines its standing watches have matched.
    fn matches(&self) -> u64 {
        self.folder.watches().iter().map(|watch| watch.matches).sum()
    }

    /// The end of a wait in which no line matched.
    fn without_match(reason: WaitReason, task: Task, wanted: &WaitFor) -> Result<Waited, SendError> {
        let pattern = wanted.pattern.as_ref().filter(|_| matches!(reason, WaitReason::Ended | WaitReason::TimedOut));
        let earlier =
            pattern.map(|pattern| LineSearch::last_before(&task, wanted.from, pattern)).transpose()?.flatten();
        let in_vain = matches!(reason, WaitReason::Ended | WaitReason::TimedOut);
        let about_port = wanted.port.filter(|_| in_vain).and_then(|port| about_port(port, &task));
        Ok(Waited { reason, task, earlier, about_port })
    }

    /// Asks the keeper to report what this wait is about. It reports at once where the run stands.
    async fn watch(&mut self, wanted: &WaitFor) -> Result<(), SendError> {
        if wanted.releasable {
            self.send(&Control::AwaitRelease).await?;
        }
        let watch = if wanted.input { Control::WatchInput } else { Control::Watch };
        self.send(&watch).await?;
        if wanted.wants_screen() {
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
            Some(Report::Released) if wanted.releasable => Ok(Some(WaitReason::Released)),
            Some(Report::Look(look)) => Ok(wanted.line_on(&look.screen)),
            Some(Report::Answer(Err(Denial::NoTerminal))) => Err(self.no_terminal()),
            Some(Report::Grew { stdout, stderr }) => {
                if wanted.wants_screen() {
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

/// How far a wait has come.
struct WaitProgress {
    last_output: Instant,
    /// Where counting begins, in bytes of both streams.
    from: u64,
    /// The total that was reported last.
    total: Option<u64>,
}

impl WaitProgress {
    fn from(cursor: Cursor) -> Self {
        let from = cursor.stdout + cursor.stderr;
        Self { last_output: Instant::now(), from, total: None }
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
}

/// A watch for a port of a task. Nobody reports that, so it looks again and again, less often the longer it takes.
struct PortWatch {
    wanted: WantedPort,
    next: Instant,
    pause: Duration,
}

/// The pauses between two looks at what a task listens on: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

impl PortWatch {
    fn new(wanted: WantedPort) -> Self {
        Self { wanted, next: Instant::now(), pause: FIRST_PAUSE }
    }

    /// Looks whether it listens by now, unless the last look was a moment ago: a task that prints much is not looked at
    /// after every line.
    fn look(&mut self, task: &Task) -> Option<ListeningSocket> {
        if Instant::now() < self.next {
            return None;
        }
        let found = PortLook::default().find(task, self.wanted);
        self.next = Instant::now() + self.pause;
        self.pause = (self.pause * 3 / 2).min(LONGEST_PAUSE);
        found
    }
}

/// Why a wait for a port may have been in vain.
fn about_port(wanted: WantedPort, task: &Task) -> Option<String> {
    let mut look = PortLook::default();
    if let WantedPort::Number(number) = wanted
        && look.is_taken(wanted)
    {
        return Some(format!("somebody listens on port {number}, but not this task"));
    }
    look.of(task).unknown.in_words()
}
