//! Commands for other machines, judged here.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use chiton_engine::state::environment::CallerKind;
use chiton_engine::{
    CommandRequest, EndElsewhere, Engine, EngineConfig, FromNear, RunId, Session, WarmLimits, machine,
};

use super::facts::Facts;
use super::forward::Passing;
use crate::passphrase::PassphraseSource;
use crate::protection_arguments::ProtectionArguments;
use crate::run::report;
use crate::settings::Settings;
use crate::surroundings;

/// Judges commands, looks up their secrets, and writes down that they went elsewhere.
pub(super) struct Judge {
    engine: Engine,
    session: Session,
}

impl Judge {
    pub(super) fn new(protection: &ProtectionArguments, settings: &Settings, state: &Path) -> Result<Self> {
        let mut config = EngineConfig::new(state)?;
        config.limits.warm = WarmLimits::none();
        let protection = protection.with(settings)?;
        protection.apply(&mut config, PassphraseSource::Asked, "run", state)?;
        let directory = surroundings::working_directory()?;
        config.guard = protection.guard(settings, &directory, state)?;
        config.environment.caller = CallerKind::Person;
        let engine = Engine::new(config)?;
        let session = Session::new(engine.fresh_state(directory, surroundings::environment(), machine::umask()));
        Ok(Self { engine, session })
    }

    /// What goes along with a command; the exit code, where it must not go there.
    pub(super) async fn clear(
        &self,
        request: &CommandRequest,
        target: &str,
        facts: &Facts,
    ) -> Result<Result<FromNear, ExitCode>> {
        let request = CommandRequest { run_id: Some(RunId::random()?), ..request.clone() };
        let place = facts.place_of_run(target);
        match self.engine.approve_elsewhere(&self.session, &request, &place).await {
            Ok(approval) => Ok(Ok(approval.into_near(request.run_id, None))),
            Err(response) => Ok(Err(report(&response))),
        }
    }

    /// Writes down how a command ended over there.
    pub(super) fn ended(&self, target: &str, decided: &FromNear, ended: &Passing) {
        let code = match ended {
            Passing::Ended(chiton_reach::Ending::Exited(code)) => Some(*code),
            _ => None,
        };
        self.note_end(target, decided, code);
    }

    /// The same for a command whose exit code is known, or not.
    pub(super) fn note_end(&self, target: &str, decided: &FromNear, exit_code: Option<i32>) {
        let Some(run) = &decided.run_id else { return };
        let outcome = exit_code.map(|_| "exited".to_owned());
        let end = EndElsewhere { outcome, exit_code, ..EndElsewhere::default() };
        self.engine.note_end_elsewhere(&self.session, target, run, &end);
    }
}
