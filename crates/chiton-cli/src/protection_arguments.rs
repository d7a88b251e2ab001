//! What `chiton run`, `chiton mcp` and `chiton call` share: what commands may see, and what is written down about them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use chiton_engine::EngineConfig;
use chiton_engine::review::Guard;
use chiton_engine::sandbox::policy::SandboxPolicy;
use chiton_engine::secrets::forbid_looking_in;
use clap::Args;

use crate::audit::{self, JournalNeed};
use crate::env::EnvironmentArguments;
use crate::guard_arguments::GuardArguments;
use crate::passphrase::PassphraseSource;
use crate::sandbox::{self, Amount, Asker, LimitName, SandboxArguments};
use crate::secret_sources::SecretSourceArguments;
use crate::settings::Settings;
use crate::surroundings;

/// Secrets, environment and journal.
#[derive(Args, Clone)]
pub(crate) struct ProtectionArguments {
    #[command(flatten)]
    secrets: SecretSourceArguments,
    #[command(flatten)]
    environment: EnvironmentArguments,
    #[command(flatten)]
    guard: GuardArguments,
    #[command(flatten)]
    sandbox: SandboxArguments,
    /// Write nothing into the audit journal
    #[arg(long)]
    no_audit: bool,
    /// Run nothing that cannot be written into the audit journal first
    #[arg(long)]
    audit_required: bool,
    /// What the settings say about telling a person.
    #[arg(skip)]
    notify: Vec<String>,
    /// What the settings say about the machine's own proxy.
    #[arg(skip)]
    upstream: Option<String>,
}

impl ProtectionArguments {
    /// The same, with what the settings say where a flag does not.
    pub(crate) fn with(&self, settings: &Settings) -> Result<Self> {
        let (no_audit, audit_required) =
            (self.no_audit || settings.audit.off, self.audit_required || settings.audit.required);
        ensure!(
            !(no_audit && audit_required),
            "the audit journal is required (audit.required or --audit-required), so it cannot be switched off"
        );
        Ok(Self {
            secrets: self.secrets.with(&settings.secrets),
            environment: self.environment.with(&settings.environment),
            guard: self.guard.clone(),
            sandbox: self.sandbox.clone(),
            no_audit,
            audit_required,
            notify: settings.notify.clone(),
            upstream: settings.sandbox.upstream.clone(),
        })
    }

    /// The guard for commands that start in `directory`.
    pub(crate) fn guard(&self, settings: &Settings, directory: &Path, state: &Path) -> Result<Guard> {
        self.guard.guard(settings, directory, state)
    }

    /// What commands that start in `directory` may touch; `roots` are those of the client.
    pub(crate) fn sandbox(
        &self,
        settings: &Settings,
        asker: Asker<'_>,
        directory: &Path,
        roots: &[PathBuf],
        state: &Path,
        limits: &[(LimitName, Amount)],
    ) -> Result<Option<SandboxPolicy>> {
        self.sandbox.policy(settings, asker, directory, roots, state, limits)
    }

    /// Puts it into the configuration of an engine. `who` names the caller in the journal.
    pub(crate) fn apply(
        &self,
        config: &mut EngineConfig,
        passphrase: PassphraseSource,
        who: &str,
        state: &Path,
    ) -> Result<()> {
        self.environment.apply(&mut config.environment);
        config.secrets = self.secrets.store(passphrase)?;
        self.secrets.keep_back(&mut config.environment)?;
        let needed = if self.audit_required { JournalNeed::Required } else { JournalNeed::Wanted };
        config.audit = (!self.no_audit).then(|| audit::journal(state, who, needed));
        config.notify = surroundings::notify(&self.notify);
        config.sandbox_upstream = sandbox::upstream(self.upstream.as_deref(), |name| std::env::var(name).ok())?;
        forbid_looking_in().context("this process could not be closed to others")
    }
}
