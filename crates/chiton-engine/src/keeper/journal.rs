//! The lines of the journal that a keeper writes: what nobody else is certain to see.
//!
//! 1. The end of a run that no call waits for: it was started as a task, was handed over, or its caller is gone. Where a
//!    caller is there, the caller writes that line.
//! 2. What a command left running, and its end.

use super::connection::ClientRole;
use super::leftover_task::LeftoverTask;
use super::run::KeptRun;
use crate::audit::{AuditEntry, AuditEvent, Journal};
use crate::run::{Ending, Leftover};

impl KeptRun {
    /// Writes down the end of the run, unless somebody waits for it and does that.
    pub(super) fn journal_end(&self, ending: &Ending) {
        let is_awaited = self.audience.connections().iter().any(|one| one.role() == ClientRole::Caller);
        if self.plan.background || !is_awaited {
            self.append(AuditEntry::end_of(self.folder.id(), ending, bytes_of(ending)));
        }
    }

    /// Writes down that the command left these running.
    pub(super) fn journal_leftovers(&self, task: &LeftoverTask, leftovers: &[Leftover]) {
        let commands: Vec<&str> = leftovers.iter().map(|leftover| leftover.command.as_str()).collect();
        let mut entry = AuditEntry::new(AuditEvent::Run).with_command(commands.join(" & ").as_bytes());
        (entry.run, entry.directory) = (Some(task.id().to_owned()), Some(self.plan.directory.to_text()));
        (entry.background, entry.verdict) = (true, Some(format!("left running by {}", self.folder.id())));
        self.append(entry);
    }

    /// Writes down how what the command left running ended.
    pub(super) fn journal_leftovers_end(&self, task: &LeftoverTask, ending: &Ending) {
        self.append(AuditEntry::end_of(task.id(), ending, bytes_of(ending)));
    }

    /// Writes down that something was done about the task.
    pub(super) fn journal_task(&self, what: &str) {
        let mut entry = AuditEntry::new(AuditEvent::Task);
        (entry.run, entry.outcome) = (Some(self.folder.id().to_owned()), Some(what.to_owned()));
        self.append(entry);
    }

    /// A journal that cannot be written is no reason to lose the run; the next call says so.
    fn append(&self, mut entry: AuditEntry) {
        if let Some(plan) = &self.plan.journal {
            entry.session.clone_from(&self.plan.session);
            let _ = Journal::planned(plan).append(entry);
        }
    }
}

fn bytes_of(ending: &Ending) -> u64 {
    ending.stdout.written + ending.stderr.written
}
