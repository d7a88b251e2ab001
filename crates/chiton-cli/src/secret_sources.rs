//! Where a command's secrets come from, set up from the command line.

use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use chiton_engine::secrets::sources::age_file::AgeFile;
use chiton_engine::secrets::sources::command::CommandConfig;
use chiton_engine::secrets::{SecretStore, SecretsConfig};
use chiton_engine::state::environment::EnvironmentPolicy;
use clap::Args;

use crate::passphrase::{self, PassphraseSource};
use crate::settings::SecretSettings;
use crate::surroundings;

/// Sources of secrets for commands.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SecretSourceArguments {
    #[arg(long, value_name = "DIR", help = "Where the encrypted secrets are [default: $XDG_DATA_HOME/chiton/secrets]")]
    secrets_dir: Option<PathBuf>,
    /// A variable of our environment is a secret: commands reach it as {{secret:NAME}}; may be given several times
    #[arg(long, value_name = "NAME[=VARIABLE]")]
    secret_env: Vec<String>,
    /// A program that knows secrets, like 'pass show {name}'; no shell reads it
    #[arg(long, value_name = "WORDS")]
    secret_command: Option<String>,
}

impl SecretSourceArguments {
    /// The same, with what the settings say where a flag does not.
    pub(crate) fn with(&self, settings: &SecretSettings) -> Self {
        Self {
            secrets_dir: self.secrets_dir.clone().or_else(|| settings.dir.clone()),
            secret_env: [settings.env.as_slice(), &self.secret_env].concat(),
            secret_command: self.secret_command.clone().or_else(|| settings.command.clone()),
        }
    }

    fn config(&self) -> Result<SecretsConfig> {
        let mut config = SecretsConfig::default();
        for entry in &self.secret_env {
            let (name, variable) = entry.split_once('=').unwrap_or((entry, entry));
            if name.is_empty() || variable.is_empty() {
                bail!("--secret-env {entry}: write it as NAME, or NAME=VARIABLE");
            }
            config.environment.insert(name.to_owned(), variable.to_owned());
        }
        if let Some(words) = &self.secret_command {
            let any: Vec<String> = words.split_ascii_whitespace().map(str::to_owned).collect();
            if !any.iter().any(|word| word.contains("{name}")) {
                bail!("--secret-command '{words}': write {{name}} where the name of the secret belongs");
            }
            config.commands = CommandConfig { any, ..CommandConfig::default() };
        }
        Ok(config)
    }

    /// The store: variables and programs first, then the encrypted file.
    pub(crate) fn store(&self, passphrase: PassphraseSource) -> Result<SecretStore> {
        let environment: Vec<(String, Vec<u8>)> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_vec())))
            .collect();
        let store = self.config()?.add_to(SecretStore::empty(), &environment)?;
        // Without a home directory there is no file, and commands still run.
        let folder = self.secrets_dir.clone().map_or_else(|| surroundings::secrets_directory().ok(), Some);
        Ok(match folder {
            Some(folder) => store.and(file(folder, passphrase)),
            None => store,
        })
    }

    /// A variable that is a secret does not reach commands as a variable.
    pub(crate) fn keep_back(&self, policy: &mut EnvironmentPolicy) -> Result<()> {
        policy.withhold.extend(self.config()?.environment.into_values());
        policy.withhold.insert(passphrase::VARIABLE.to_owned());
        Ok(())
    }
}

/// The encrypted file in `folder`.
pub(crate) fn file(folder: PathBuf, passphrase: PassphraseSource) -> AgeFile {
    AgeFile::new(folder).with_passphrase(Arc::new(move || passphrase.find()))
}
