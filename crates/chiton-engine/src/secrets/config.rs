//! What the human who set up the engine decided about secrets.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::reference::Reference;
use super::source::SecretStore;
use super::sources::command::{CommandConfig, CommandSource};
use super::sources::memory::MemorySource;
use super::value::Secret;

/// Sources of secrets besides the encrypted file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SecretsConfig {
    /// Secrets that are variables of our own environment: the name of each, and of its variable.
    pub environment: BTreeMap<String, String>,
    /// Programs that know secrets.
    pub commands: CommandConfig,
    /// Names of secrets that are not masked: short ones, and values that are not secret.
    pub shown: BTreeSet<String>,
}

/// A name in the settings that no reference could have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a name of a secret: use 1 to 64 letters, digits, '_', '.' or '-'")]
pub struct BadSecretName(pub String);

impl SecretsConfig {
    /// Adds these sources to `store`. `environment` is our own: values come from it, and programs are run with it.
    pub fn add_to(
        &self,
        mut store: SecretStore,
        environment: &[(String, Vec<u8>)],
    ) -> Result<SecretStore, BadSecretName> {
        let reference = |name: &String| Reference::secret(name).ok_or_else(|| BadSecretName(name.clone()));
        let mut memory = MemorySource::new().called("the environment of the server");
        for (name, variable) in &self.environment {
            let reference = reference(name)?;
            memory = match environment.iter().find(|(known, _)| known == variable) {
                Some((_, value)) => memory.with(reference, Secret::masked(value.clone())),
                None => memory.without(reference, format!("its variable {variable} is not set")),
            };
        }

        for name in self.commands.named.keys().chain(&self.shown) {
            reference(name)?;
        }

        if !self.environment.is_empty() {
            store = store.and(memory);
        }
        if self.commands != CommandConfig::default() {
            store = store.and(CommandSource::new(self.commands.clone(), environment.to_vec()));
        }
        Ok(store.showing(self.shown.clone()))
    }
}
