//! What a client is told about the ports of its tasks: all of it to programs, and in words only what it does not know.

use std::collections::HashMap;

use chiton_dialects::Dialect;
use chiton_dialects::action::ReportedPorts;
use chiton_engine::tasks::{Listening, PortLook};
use chiton_engine::{Lock, Task};

use crate::remembered::Remembered;

/// What one client was told about ports. Nothing is looked at where its dialect says nothing about them.
pub(crate) enum PortReports {
    /// The dialect has no place for them.
    Unwanted,
    /// What was said last of each task, in words.
    Told(Lock<Remembered<Option<String>>>),
}

impl PortReports {
    pub(crate) fn in_dialect(dialect: &dyn Dialect) -> Self {
        if dialect.reports_ports() { Self::Told(Lock::default()) } else { Self::Unwanted }
    }

    /// What a task listens on, as a reply about it reports that. `existing` gives the ids of all tasks.
    pub(crate) fn of(&self, task: &Task, existing: impl FnOnce() -> Vec<String>) -> ReportedPorts {
        let Self::Told(told) = self else { return ReportedPorts::default() };
        if !task.status.is_running() {
            return ReportedPorts::default();
        }
        let listening = task.listening();
        let words = listening.in_words();
        let mut told = told.lock();
        let told = told.of(&task.id, existing);
        if *told == words {
            return ReportedPorts { listening, news: None };
        }

        let news = words.clone().unwrap_or_else(|| "listening on nothing any more".to_owned());
        *told = words;
        ReportedPorts { listening, news: Some(news) }
    }

    /// What each of several tasks listens on, by its id. One that listens on nothing is not among them.
    pub(crate) fn of_all<'a>(&self, tasks: impl IntoIterator<Item = &'a Task>) -> HashMap<String, Listening> {
        if matches!(self, Self::Unwanted) {
            return HashMap::new();
        }
        let mut look = PortLook::default();
        let found = tasks.into_iter().map(|task| (task.id.clone(), look.of(task)));
        found.filter(|(_, listening)| !listening.is_empty()).collect()
    }
}
