//! What the journal gets to know of each call.
//!
//! A command has two lines: one before it starts, one when it has ended. Where the answer leaves early, the second is
//! deferred: it is written with what follows the answer, and before any other line.

use super::Engine;
use super::stages::NotRun;
use crate::audit::{AuditEntry, AuditEvent};
use crate::bytes::ByteString;
use crate::folder::record::RequestRecord;
use crate::run::Ending;
use crate::secrets::ResolvedCommand;
use crate::session::Session;

/// A line that is still to be written, and the session that it is about.
pub(super) type DeferredLine = (Session, AuditEntry);

impl Engine {
    /// Writes down that something was done to a task: `what`, in one word.
    pub fn note_task(&self, session: &Session, what: &str, id: &str) {
        let mut entry = AuditEntry::new(AuditEvent::Task);
        (entry.run, entry.outcome) = (Some(id.to_owned()), Some(what.to_owned()));
        let _ = self.write_line(session, entry);
    }

    /// Writes down that a command is started now.
    pub(super) fn write_start(&self, session: &Session, command: &ResolvedCommand, record: &RequestRecord) {
        let mut entry = AuditEntry::new(AuditEvent::Run).with_command(&record.command);
        (entry.run, entry.directory) = (Some(record.id.clone()), Some(record.directory.to_text()));
        (entry.background, entry.verdict) = (record.background, Some("allowed".to_owned()));
        entry.secrets = command.used().iter().map(ToString::to_string).collect();
        entry.protection.clone_from(&record.protection);
        // The line about the end says that it could not be written.
        drop(self.write_line(session, entry));
    }

    /// Writes down that a call ran nothing, and why. Gives what to say where that could not be done.
    pub(super) fn write_not_run(&self, session: &Session, command: &ByteString, why: &NotRun) -> Option<String> {
        self.inner.config.audit.as_ref()?;
        let command = self.inner.known.masked(command);
        let entry = match why {
            NotRun::Refused(refusal) => {
                let mut entry = AuditEntry::new(AuditEvent::Refused).with_command(&command);
                entry.verdict = Some(refusal.reason.clone());
                entry
            }
            NotRun::Described(_) => {
                let mut entry = AuditEntry::new(AuditEvent::End).with_command(&command);
                entry.outcome = Some("described".to_owned());
                entry
            }
            NotRun::Failed(error) => {
                let mut entry = AuditEntry::new(AuditEvent::Failed).with_command(&command);
                entry.verdict = Some(self.inner.known.masked(error.to_string().as_bytes()).to_text());
                entry
            }
        };
        self.write_line(session, entry)
    }

    /// Writes a line, after those that were deferred. Gives what to say where that could not be done.
    pub(super) fn write_line(&self, session: &Session, entry: AuditEntry) -> Option<String> {
        self.write_deferred();
        self.append(session, entry)
    }

    /// Has a line written later: see [`Engine::write_deferred`].
    pub(super) fn defer_line(&self, session: &Session, entry: AuditEntry) {
        if self.inner.config.audit.is_some() {
            self.inner.deferred.lock().push((session.clone(), entry));
        }
    }

    /// Writes the lines that were deferred. Where that fails, the session's next answer says so.
    pub(super) fn write_deferred(&self) {
        let deferred = std::mem::take(&mut *self.inner.deferred.lock());
        for (session, entry) in deferred {
            if let Some(problem) = self.append(&session, entry) {
                session.say_later(problem);
            }
        }
    }

    fn append(&self, session: &Session, mut entry: AuditEntry) -> Option<String> {
        let journal = self.inner.config.audit.as_ref()?;
        entry.session = session.name().map(str::to_owned);
        // The end of a command that somebody waits for follows soon.
        let is_followed = entry.event == AuditEvent::Run && !entry.background;
        let written = if is_followed { journal.append_first(entry) } else { journal.append(entry) };
        written.err().map(|error| format!("this call is not in the audit journal, which cannot be written: {error}"))
    }
}

/// The line about the end of a run.
pub(super) fn end_of(run_id: &str, ending: &Ending, output_bytes: u64) -> AuditEntry {
    let mut entry = AuditEntry::new(AuditEvent::End);
    entry.run = Some(run_id.to_owned());
    entry.outcome = Some(ending.outcome.word().to_owned());
    entry.exit_code = ending.outcome.exit_code();
    entry.output_bytes = Some(output_bytes);
    entry.duration_ms = Some(ending.wall_us / 1000);
    entry
}
