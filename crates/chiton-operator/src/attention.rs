//! Waiting for what there is to tell a client, while it calls nothing.
//!
//! 1. Each task that is followed ([`crate::news`]) has a connection to its keeper, which reports the end, a wait for input
//!    and a match of a standing watch. Nothing wakes up in between.
//! 2. What happened is described against what was described here before. It does not count as told: whoever can tell it to
//!    the client takes it with [`Operator::news`].

use std::collections::{BTreeMap, HashMap, HashSet};

use chiton_dialects::{Change, What};
use chiton_engine::tasks::{Attendance, TaskEvent};
use tokio::task::JoinSet;

use crate::operator::Operator;

/// The tasks of a client, as somebody waits for what happens to them.
#[derive(Default)]
pub struct Attention {
    events: JoinSet<Event>,
    /// Those that have a connection, or had one until their end.
    attended: HashSet<String>,
    /// How many matches of each watch were described.
    described: HashMap<String, BTreeMap<u32, u64>>,
}

struct Event {
    id: String,
    /// The connection, where the task goes on.
    attendance: Option<Attendance>,
    what: TaskEvent,
}

impl Attention {
    /// What happens next to a task of the client of `operator`. Loses nothing if it is dropped while it waits.
    pub async fn next(&mut self, operator: &Operator) -> Vec<Change> {
        loop {
            self.attend(operator);
            tokio::select! {
                () = operator.news_of_tasks().more.notified() => {}
                Some(Ok(event)) = self.events.join_next() => return self.describe(operator, event),
            }
        }
    }

    /// Connects to tasks that are new.
    fn attend(&mut self, operator: &Operator) {
        let ids = operator.news_of_tasks().ids();
        self.attended.retain(|id| ids.contains(id));
        self.described.retain(|id, _| ids.contains(id));
        for id in ids {
            if self.attended.insert(id.clone()) {
                let tasks = operator.tasks().clone();
                self.events.spawn(async move {
                    match tasks.attend(&id).await {
                        Ok(attendance) => wait(id, attendance).await,
                        Err(_) => Event { id, attendance: None, what: TaskEvent::Ended },
                    }
                });
            }
        }
    }

    fn describe(&mut self, operator: &Operator, event: Event) -> Vec<Change> {
        let Event { id, attendance, what } = event;
        if let Some(attendance) = attendance {
            self.events.spawn(wait(id.clone(), attendance));
        }
        let Ok(task) = operator.tasks().get(&id) else { return Vec::new() };
        let changes = match what {
            TaskEvent::Waits(wait) => vec![What::Waits { prompt: wait.prompt }],
            TaskEvent::Matched => {
                let described = self.described.entry(id).or_default();
                let watches = operator.tasks().watches(&task.id).into_iter();
                let new = watches.filter_map(|watch| {
                    let before = described.insert(watch.number, watch.matches).unwrap_or(0);
                    let line = watch.last.last().map(|line| line.text.clone()).unwrap_or_default();
                    let matches = watch.matches.saturating_sub(before);
                    (matches > 0).then_some(What::Matched { pattern: watch.pattern, matches, line })
                });
                new.collect()
            }
            TaskEvent::Ended => What::ended(&task).into_iter().collect(),
        };
        changes.into_iter().map(|what| operator.change(&task, what)).collect()
    }
}

/// Waits for the next event of a task.
async fn wait(id: String, mut attendance: Attendance) -> Event {
    let what = attendance.next().await;
    let attendance = if what == TaskEvent::Ended { None } else { Some(attendance) };
    Event { id, attendance, what }
}
