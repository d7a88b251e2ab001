//! What of each call is written down in the journal.

use std::sync::MutexGuard;

use super::Engine;
use crate::audit::{AuditEntry, AuditEvent};
use crate::bytes::ByteString;
use crate::error::EngineError;
use crate::folder::record::RequestRecord;
use crate::response::CommandResponse;
use crate::run::Outcome;
use crate::secrets::ResolvedCommand;
use crate::session::Session;

impl Engine {
    /// Writes down that something was done to a task: `what`, in one word.
    pub fn note_task(&self, session: &Session, what: &str, id: &str) {
        let mut entry = AuditEntry::new(AuditEvent::Task);
        (entry.run, entry.outcome) = (Some(id.to_owned()), Some(what.to_owned()));
        let _ = self.write_down(session, entry);
    }

    /// Writes down how a call ended. Gives what to say where that could not be done.
    pub(super) fn conclude(
        &self,
        session: &Session,
        command: Option<ByteString>,
        result: Result<&CommandResponse, &EngineError>,
    ) -> Option<String> {
        let command = self.inner.known.masked(&command?);
        let entry = match result {
            Ok(response) => match &response.outcome {
                Outcome::Refused(reason) => {
                    let mut entry = AuditEntry::new(AuditEvent::Refused).with_command(&command);
                    entry.verdict = Some(reason.clone());
                    entry
                }
                _ => end_of(response),
            },
            Err(error) => {
                let mut entry = AuditEntry::new(AuditEvent::Failed).with_command(&command);
                entry.verdict = Some(self.inner.known.masked(error.to_string().as_bytes()).to_text());
                entry
            }
        };
        self.write_down(session, entry)
    }

    /// Writes down how a run ended when its answer is out: with what follows it, before the next line, or when this is
    /// dropped.
    pub(super) fn conclude_later(&self, session: &Session, response: &CommandResponse) -> Option<Conclusion> {
        self.inner.config.audit.as_ref()?;
        self.unwritten().push((session.clone(), end_of(response)));
        Some(Conclusion(self.clone()))
    }

    fn unwritten(&self) -> MutexGuard<'_, Vec<(Session, AuditEntry)>> {
        self.inner.unwritten.lock()
    }

    /// Writes what was put off.
    fn catch_up(&self) {
        let unwritten = std::mem::take(&mut *self.unwritten());
        for (session, entry) in unwritten {
            if let Some(problem) = self.append(&session, entry) {
                session.say_later(problem);
            }
        }
    }

    fn write_down(&self, session: &Session, entry: AuditEntry) -> Option<String> {
        self.catch_up();
        self.append(session, entry)
    }

    fn append(&self, session: &Session, mut entry: AuditEntry) -> Option<String> {
        let journal = self.inner.config.audit.as_ref()?;
        entry.session = session.name().map(str::to_owned);
        // The end of a command that is waited for follows.
        let first = entry.event == AuditEvent::Run && !entry.background;
        let written = if first { journal.append_first(entry) } else { journal.append(entry) };
        written.err().map(|error| format!("this call is not in the audit journal, which cannot be written: {error}"))
    }

    /// Writes down that a command is started now.
    pub(super) fn write_start(&self, session: &Session, command: &ResolvedCommand, record: &RequestRecord) {
        let mut entry = AuditEntry::new(AuditEvent::Run).with_command(&record.command);
        (entry.run, entry.directory) = (Some(record.id.clone()), Some(record.directory.to_text()));
        (entry.background, entry.verdict) = (record.background, Some("allowed".to_owned()));
        entry.secrets = command.used().iter().map(ToString::to_string).collect();
        entry.protection = Some(self.inner.config.guard.protection().to_owned());
        // That it could not be written down is said with the ending.
        drop(self.write_down(session, entry));
    }
}

fn end_of(response: &CommandResponse) -> AuditEntry {
    let mut entry = AuditEntry::new(AuditEvent::End);
    entry.run = Some(response.run_id.clone());
    entry.outcome = Some(response.outcome.word().to_owned());
    entry.exit_code = response.outcome.exit_code();
    entry.output_bytes = Some(response.output_bytes());
    entry.duration_ms = u64::try_from(response.duration.as_millis()).ok();
    entry
}

/// Sees to it that what was put off is written when this is dropped. That happens also where a runtime is taken down.
pub(super) struct Conclusion(Engine);

impl Drop for Conclusion {
    fn drop(&mut self) {
        self.0.catch_up();
    }
}
