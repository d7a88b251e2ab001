//! Waiting for what a client is told of a task: its end, its wait for input, a match of a standing watch.
//!
//! 1. [`Tasks::attend`] connects to the task's keeper, once.
//! 2. [`Attendance::next`] sleeps until one of the three happens. Output by itself wakes nobody.

use super::link::TaskLink;
use super::list::{NotFound, Tasks};
use super::told::Pulse;
use crate::protocol::{Control, Report};
use crate::run::InputWait;

/// A task whose events are waited for.
pub struct Attendance {
    link: TaskLink,
}

/// What happened to a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEvent {
    /// It has ended, or is not there any more.
    Ended,
    /// It waits for input.
    Waits(InputWait),
    /// A standing watch has matched.
    Matched,
}

impl Tasks {
    /// Begins to wait for the events of a task.
    ///
    /// # Errors
    /// When there is no such task.
    pub async fn attend(&self, id: &str) -> Result<Attendance, NotFound> {
        let mut link = self.open(id).await?;
        // A keeper that is gone, or of another version, reads as the end of the connection.
        let _ = link.send(&Control::Attend).await;
        Ok(Attendance { link })
    }
}

impl Attendance {
    /// The id of the task.
    pub fn id(&self) -> &str {
        self.link.folder.id()
    }

    /// The next event. Cancel-safe, as [`crate::protocol::Link::receive`] is.
    pub async fn next(&mut self) -> TaskEvent {
        loop {
            match self.link.receive().await {
                Some(Report::Waits(wait)) => return TaskEvent::Waits(wait),
                Some(Report::WatchMatched) => return TaskEvent::Matched,
                // A leftover has the keeper of the command that left it, which reports the end of that one.
                Some(Report::Ended { .. }) if self.link.tasks.pulse(self.id()) == Pulse::Alive => {}
                Some(Report::Ended { .. }) => return TaskEvent::Ended,
                Some(_) => {}
                None => {
                    let _ = self.link.after_its_keeper().await;
                    return TaskEvent::Ended;
                }
            }
        }
    }
}
