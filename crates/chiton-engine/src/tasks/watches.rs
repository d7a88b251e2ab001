//! Standing watches: regular expressions that stay on a task, and being told of each line that matches.
//!
//! 1. [`Tasks::watch`] puts one on a task. The task's keeper matches complete lines as they come in, so a watch lives as
//!    long as its task, whatever becomes of the server that asked for it.
//! 2. What it has matched is in the folder of the task: [`Tasks::watches`] reads it, also after the end. A wait can be for
//!    that ([`super::WaitFor::watched_beyond`]).
//! 3. [`TaskLink::follow`] is for somebody who looks on: the lines come over the connection and are not kept.

use super::link::{SendError, TaskLink};
use super::list::{NotFound, Task, Tasks};
use crate::protocol::{Control, Denial, Report};
use crate::run::{MatchedLine, Watch, compile_watch};

/// What did not happen where the task has ended.
const NOTHING: &str = "there is nothing to watch for";

impl Tasks {
    /// Puts a standing watch on a task: every line that it completes from now on and that matches `pattern` counts. A line
    /// of more than 64 KiB is matched on its beginning. One that is there with the same pattern stays as it is, and is
    /// given.
    ///
    /// # Errors
    /// When there is no such task, it has ended, the pattern is not a regular expression, or it has too many watches.
    pub async fn watch(&self, id: &str, pattern: &str) -> Result<Watch, SendError> {
        self.open(id).await?.watch_lines(pattern, None).await
    }

    /// The same, and lines count too that ended after the first `since` bytes of all its output.
    ///
    /// # Errors
    /// As [`Tasks::watch`].
    pub async fn watch_since(&self, id: &str, pattern: &str, since: u64) -> Result<Watch, SendError> {
        self.open(id).await?.watch_lines(pattern, Some(since)).await
    }

    /// Takes the watch with this pattern off a task, or all of them. Gives those as they were.
    ///
    /// # Errors
    /// When there is no such task, or it has ended.
    pub async fn unwatch(&self, id: &str, pattern: Option<&str>) -> Result<Vec<Watch>, SendError> {
        self.open(id).await?.unwatch(pattern).await
    }

    /// The standing watches on a task, as they were written down last; also after its end. None for an unknown one.
    pub fn watches(&self, id: &str) -> Vec<Watch> {
        self.find(id).map(|folder| folder.watches()).unwrap_or_default()
    }
}

impl TaskLink {
    async fn watch_lines(&mut self, pattern: &str, since: Option<u64>) -> Result<Watch, SendError> {
        Watch::check(pattern)?;
        let task = self.folder.id().to_owned();
        let added = self.request_watches(Control::AddWatch { task, pattern: pattern.to_owned(), since }).await?;
        let reason = "its keeper does not know watches".to_owned();
        added.into_iter().next().ok_or_else(|| SendError::Refused { id: self.folder.id().to_owned(), reason })
    }

    async fn unwatch(&mut self, pattern: Option<&str>) -> Result<Vec<Watch>, SendError> {
        let task = self.folder.id().to_owned();
        self.request_watches(Control::RemoveWatches { task, pattern: pattern.map(str::to_owned) }).await
    }

    async fn request_watches(&mut self, control: Control) -> Result<Vec<Watch>, SendError> {
        if self.link.is_some() {
            self.send(&control).await?;
            while let Some(report) = self.receive().await {
                match report {
                    Report::Watches(watches) => return Ok(watches),
                    Report::Answer(Err(Denial::Because(reason))) => {
                        return Err(SendError::Refused { id: self.folder.id().to_owned(), reason });
                    }
                    Report::Answer(Err(_)) => break,
                    _ => {}
                }
            }
        }
        Err(self.ended().await?)
    }

    async fn ended(&self) -> Result<SendError, NotFound> {
        let task = self.after_its_keeper().await?;
        Ok(SendError::Ended { id: task.id, status: task.status.to_string(), what: NOTHING })
    }

    /// Makes this link one that receives each line that matches, until the task ends. With `since`, lines count too that
    /// ended after so many bytes of all output.
    ///
    /// # Errors
    /// When the pattern is not a regular expression, or the task has too many watches.
    pub async fn follow(mut self, pattern: &str, since: Option<u64>) -> Result<Follow, SendError> {
        Watch::check(pattern)?;
        self.send(&Control::Follow { pattern: pattern.to_owned(), since }).await?;
        Ok(Follow { link: self, told: 0 })
    }
}

/// A pattern that is followed on a task.
pub struct Follow {
    link: TaskLink,
    /// How many matches were given, or counted as passed over.
    told: u64,
}

/// What happens to somebody who follows.
#[derive(Debug)]
pub enum Followed {
    /// Lines have matched.
    Matched {
        /// How many matched before these and are not shown, since they came too fast.
        passed: u64,
        /// The latest ones.
        lines: Vec<MatchedLine>,
    },
    /// The task has ended.
    Ended(Box<Task>),
}

impl Follow {
    /// The next lines, or the end. Cancel-safe, as [`crate::protocol::Link::receive`] is.
    ///
    /// # Errors
    /// When the task cannot be followed.
    pub async fn next(&mut self) -> Result<Followed, SendError> {
        loop {
            match self.link.receive().await {
                Some(Report::Followed(watch)) => {
                    let new = watch.matches.saturating_sub(self.told);
                    self.told = watch.matches;
                    if new > 0 {
                        let passed = new.saturating_sub(watch.last.len() as u64);
                        return Ok(Followed::Matched { passed, lines: watch.last });
                    }
                }
                Some(Report::Answer(Err(Denial::Because(reason)))) => {
                    return Err(SendError::Refused { id: self.link.folder.id().to_owned(), reason });
                }
                None | Some(Report::Ended { .. }) => {
                    return Ok(Followed::Ended(Box::new(self.link.after_its_keeper().await?)));
                }
                Some(_) => {}
            }
        }
    }
}

impl Watch {
    /// Whether a task can be watched for this.
    ///
    /// # Errors
    /// When it is not a regular expression, or too long.
    pub fn check(pattern: &str) -> Result<(), SendError> {
        let bad = |reason| SendError::BadPattern { pattern: pattern.chars().take(200).collect(), reason };
        compile_watch(pattern).map(drop).map_err(bad)
    }
}
