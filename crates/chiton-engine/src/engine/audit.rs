//! What the journal gets to know of each call.
//!
//! A command has two lines: one before it starts, one when it has ended. Where the answer leaves early, the second is
//! deferred: it is written with what follows the answer, and before any other line.

use super::Engine;
use super::stages::NotRun;
use crate::audit::{AuditEntry, AuditEvent, Journal};
use crate::bytes::ByteString;
use crate::error::{EngineError, StartError};
use crate::folder::record::RequestRecord;
use crate::review::Refusal;
use crate::secrets::ResolvedCommand;
use crate::session::Session;
use chiton_guard::{Decision, Verdict};

/// A line that is still to be written, and the session that it is about.
pub(super) type DeferredLine = (Session, AuditEntry);

impl Engine {
    /// Writes down that something was done to a task: `what`, in one word.
    pub fn note_task(&self, session: &Session, what: &str, id: &str) {
        let mut entry = AuditEntry::new(AuditEvent::Task);
        (entry.run, entry.outcome) = (Some(id.to_owned()), Some(what.to_owned()));
        let _ = self.write_line(session, entry);
    }

    /// Writes down that a call about the run `id` was answered with a text of so many bytes. As long as the line about the
    /// end of the run is deferred, it says so itself; that is the case behind a quick command, which then costs no line more.
    pub fn note_reply(&self, session: &Session, id: &str, bytes: u64) {
        if self.inner.config.audit.is_none() {
            return;
        }
        let is_end = |entry: &AuditEntry| entry.event == AuditEvent::End && entry.run.as_deref() == Some(id);
        if let Some((_, entry)) = self.inner.deferred.lock().iter_mut().find(|(_, entry)| is_end(entry)) {
            *entry.reply_bytes.get_or_insert(0) += bytes;
            return;
        }

        let mut entry = AuditEntry::new(AuditEvent::Reply);
        (entry.run, entry.reply_bytes) = (Some(id.to_owned()), Some(bytes));
        let _ = self.write_line(session, entry);
    }

    /// Writes down that a text is given to a task, or is refused; `verdict` is what the guard said of it, where it judged.
    ///
    /// # Errors
    /// When nothing may happen that is not written down, and this cannot be.
    pub fn note_input(
        &self,
        session: &Session,
        id: &str,
        text: &[u8],
        verdict: Option<&Verdict>,
    ) -> Result<(), Refusal> {
        if self.inner.config.audit.is_none() {
            return Ok(());
        }
        let mut entry = AuditEntry::new(AuditEvent::Input).with_text(&self.inner.known.masked(text));
        entry.run = Some(id.to_owned());
        let objection = verdict.filter(|verdict| verdict.decision != Decision::Allow);
        entry.outcome = Some(if objection.is_some() { "refused" } else { "written_to" }.to_owned());
        entry.rule = objection.and_then(|verdict| verdict.rule.as_ref()).map(ToString::to_string);
        entry.verdict = Some(match (verdict, objection) {
            (None, _) => "not judged".to_owned(),
            (Some(_), None) => "allowed".to_owned(),
            (Some(_), Some(objection)) => self.inner.known.masked(objection.reason.as_bytes()).to_text(),
        });
        match self.write_line(session, entry) {
            Some(problem) if self.is_journal_required() => Err(Refusal::new(not_run(&problem))),
            Some(problem) => {
                session.say_later(problem);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Writes down what a person allowed beyond a sandbox's profile.
    pub(super) fn note_widening(&self, session: &Session, what: &str) {
        let mut entry = AuditEntry::new(AuditEvent::Task).with_command(&self.inner.known.masked(what.as_bytes()));
        entry.outcome = Some("widened".to_owned());
        let _ = self.write_line(session, entry);
    }

    pub(super) fn is_journal_required(&self) -> bool {
        self.inner.config.audit.as_ref().is_some_and(Journal::is_required)
    }

    /// Writes down that a command is started now.
    ///
    /// # Errors
    /// When nothing may run that is not written down, and this cannot be.
    pub(super) fn write_start(
        &self,
        session: &Session,
        command: &ResolvedCommand,
        record: &RequestRecord,
    ) -> Result<(), StartError> {
        let mut entry = AuditEntry::new(AuditEvent::Run).with_command(&record.command);
        (entry.run, entry.directory) = (Some(record.id.clone()), Some(record.directory.to_text()));
        let verdict = match &command.grounds().held {
            Some(held) => format!("allowed: {}", self.inner.known.masked(held.as_bytes()).to_text()),
            None => "allowed".to_owned(),
        };
        (entry.background, entry.verdict) = (record.background, Some(verdict));
        entry.secrets = command.used().iter().map(ToString::to_string).collect();
        entry.protection = record.protection.as_ref().map(ToString::to_string);
        match self.write_line(session, entry) {
            Some(problem) if self.is_journal_required() => Err(StartError::Journal(not_run(&problem))),
            // For a command that is waited for, the line about its end says so.
            Some(problem) if record.background => {
                session.say_later(problem);
                Ok(())
            }
            _ => Ok(()),
        }
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
            // The run has its lines; this says only that somebody asked for it once more.
            NotRun::Failed(EngineError::RunExists { id }) => {
                let mut entry = AuditEntry::new(AuditEvent::Task);
                (entry.run, entry.outcome) = (Some(id.to_string()), Some("asked for again".to_owned()));
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

/// What is said where a journal is required.
pub(super) fn not_run(problem: &str) -> String {
    format!("{problem}. Nothing was run, since `audit.required` is set: every command has to be written down first")
}
