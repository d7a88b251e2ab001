//! Commands that run on another machine: judged here, by the human's policy and by people who can be asked here, with secrets
//! from the store that is here. The journal here has them under the same id as the one there.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Engine, EngineInner};
use crate::audit::{AuditEntry, AuditEvent};
use crate::elsewhere::{Elsewhere, FarFacts};
use crate::near::FromNear;
use crate::render::TextView;
use crate::request::CommandRequest;
use crate::response::{DryRun, RefusedCommand, Response};
use crate::review::{Refusal, ReviewedElsewhere, review_elsewhere};
use crate::run::RunId;
use crate::secrets::{self, GivenSecret, Resolver};
use crate::session::Session;

/// A command that may run on another machine.
#[derive(Clone, Debug, Default)]
pub struct Approval {
    /// Whether a person agreed to it, or a rule of the human's policy allows what would be asked about. Where the guard there
    /// asks, that is the answer.
    pub agreed: bool,
    /// The secrets that it names, with their values.
    pub secrets: Vec<GivenSecret>,
}

impl Approval {
    /// What travels with the call.
    pub fn into_near(self, run_id: Option<RunId>, caller: Option<String>) -> FromNear {
        FromNear { run_id, agreed: self.agreed, secrets: self.secrets, caller, ..FromNear::default() }
    }
}

/// How a command on another machine ended, as far as that is known here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndElsewhere {
    /// One word, as [`crate::Outcome::word`] has it; without it, nobody knows.
    pub outcome: Option<String>,
    /// Its exit code.
    pub exit_code: Option<i32>,
    /// Bytes that it printed.
    pub output_bytes: Option<u64>,
    /// How long it took.
    pub duration: Option<Duration>,
}

impl Engine {
    /// What this machine tells of itself, so that commands that start as those of `session` do can be judged elsewhere.
    pub fn far_facts(&self, session: &Session) -> FarFacts {
        FarFacts::of(&self.inner.config.guard.around, &session.state(), self.boundary(session, &[]).as_deref())
    }

    /// Whether a command may run on another machine. It is judged by the policy that is in force here, with what is known of
    /// that machine; people are asked as for a command that runs here. Writes down that it is sent, or why it is not.
    ///
    /// # Errors
    /// A refusal, or what a dry run says, for a dialect to write.
    pub async fn approve_elsewhere(
        &self,
        session: &Session,
        request: &CommandRequest,
        there: &Elsewhere,
    ) -> Result<Approval, Response> {
        let reviewers = self.reviewers(session, &[]);
        let (agreed, verdict) = match review_elsewhere(request, &reviewers, session, there).await {
            Ok(ReviewedElsewhere::Approved { agreed, verdict }) => (agreed, verdict),
            Ok(ReviewedElsewhere::DryRun(text)) => return Err(self.described_elsewhere(there, text)),
            Err(refusal) => return Err(self.refused_elsewhere(session, request, there, refusal)),
        };
        let secrets = self.secrets_for(session, request).await;
        let secrets = secrets.map_err(|refusal| self.refused_elsewhere(session, request, there, refusal))?;

        let mut entry = self.entry_elsewhere(AuditEvent::Run, request, there);
        (entry.background, entry.verdict) = (there.background, Some(self.masked_text(&verdict)));
        entry.protection = Some(self.inner.config.guard.protection().to_string());
        entry.secrets = secrets::references_in(request).iter().map(ToString::to_string).collect();
        if let Some(problem) = self.write_line(session, entry) {
            if self.is_journal_required() {
                let refusal = Refusal::new(super::audit::not_run(&problem));
                return Err(self.refused(there, refusal, Vec::new()).into());
            }
            session.say_later(problem);
        }
        Ok(Approval { agreed, secrets })
    }

    /// The values of the secrets that a request names in its command, its variables and its input.
    ///
    /// # Errors
    /// When it names one that nobody knows, or one whose value cannot be had.
    pub async fn secrets_for(&self, session: &Session, request: &CommandRequest) -> Result<Vec<GivenSecret>, Refusal> {
        self.given_secrets(session, secrets::references_in(request)).await
    }

    /// The same for a text that is typed into a task.
    ///
    /// # Errors
    /// As for [`Engine::secrets_for`].
    pub async fn secrets_for_text(&self, session: &Session, text: &[u8]) -> Result<Vec<GivenSecret>, Refusal> {
        let named = secrets::reference::find(text).into_iter().map(|(_, reference)| reference).collect();
        self.given_secrets(session, named).await
    }

    async fn given_secrets(
        &self,
        session: &Session,
        named: BTreeSet<secrets::Reference>,
    ) -> Result<Vec<GivenSecret>, Refusal> {
        let EngineInner { config, known, .. } = &*self.inner;
        let resolver = Resolver { store: &config.secrets, known, unknown: config.unknown_references };
        secrets::give(named, resolver, session).await
    }

    /// Writes down how a command on another machine ended.
    pub fn note_end_elsewhere(&self, session: &Session, target: &str, run: &RunId, end: &EndElsewhere) {
        let mut entry = AuditEntry::new(AuditEvent::End);
        (entry.on, entry.run) = (Some(target.to_owned()), Some(run.to_string()));
        entry.outcome = Some(end.outcome.clone().unwrap_or_else(|| UNKNOWN.to_owned()));
        (entry.exit_code, entry.output_bytes) = (end.exit_code, end.output_bytes);
        entry.duration_ms = end.duration.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        if let Some(problem) = self.write_line(session, entry) {
            session.say_later(problem);
        }
    }

    fn entry_elsewhere(&self, event: AuditEvent, request: &CommandRequest, there: &Elsewhere) -> AuditEntry {
        let mut entry = AuditEntry::new(event).with_command(&self.inner.known.masked(&request.command));
        entry.on = Some(there.target.clone());
        entry.run = request.run_id.as_ref().map(ToString::to_string);
        let directory = request.directory.as_ref().map(|directory| there.facts.directory.join(directory));
        let directory = directory.unwrap_or_else(|| there.facts.directory.clone());
        entry.directory = Some(self.masked_text(&directory.to_string_lossy()));
        entry
    }

    fn masked_text(&self, text: &str) -> String {
        self.inner.known.masked(text.as_bytes()).to_text()
    }

    fn refused_elsewhere(
        &self,
        session: &Session,
        request: &CommandRequest,
        there: &Elsewhere,
        refusal: Refusal,
    ) -> Response {
        let mut entry = self.entry_elsewhere(AuditEvent::Refused, request, there);
        entry.verdict = Some(refusal.reason.clone());
        let notices = self.write_line(session, entry).into_iter().collect();
        self.refused(there, refusal, notices).into()
    }

    fn refused(&self, there: &Elsewhere, refusal: Refusal, notices: Vec<String>) -> RefusedCommand {
        let protection = self.inner.config.guard.protection();
        RefusedCommand { refusal, cwd: there.facts.directory.clone(), notices, protection }
    }

    fn described_elsewhere(&self, there: &Elsewhere, text: String) -> Response {
        let protection = self.inner.config.guard.protection();
        let description = TextView { head: text, ..TextView::default() };
        DryRun { description, cwd: there.facts.directory.clone(), notices: Vec::new(), protection }.into()
    }
}

/// The outcome of a command of whose end nobody here knows.
const UNKNOWN: &str = "unknown";
