//! Secrets that somebody hands over: for programs that use the library, and for variables of the server's environment.

use std::collections::BTreeMap;

use crate::secrets::source::{SecretSource, SourceError};
use chiton_redact::reference::Reference;
use chiton_redact::value::Secret;

/// Secrets in memory.
#[derive(Debug, Default)]
pub struct MemorySource {
    title: Option<String>,
    secrets: BTreeMap<Reference, Secret>,
    /// Secrets that it should know, and why it does not.
    missing: BTreeMap<Reference, String>,
}

impl MemorySource {
    /// A source without secrets.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same under another title, which says where the values came from.
    #[must_use]
    pub fn called(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// The same with one more secret.
    #[must_use]
    pub fn with(mut self, reference: Reference, secret: Secret) -> Self {
        self.secrets.insert(reference, secret);
        self
    }

    /// The same, where a secret is missing for this reason.
    #[must_use]
    pub fn without(mut self, reference: Reference, why: impl Into<String>) -> Self {
        self.missing.insert(reference, why.into());
        self
    }
}

impl SecretSource for MemorySource {
    fn title(&self) -> String {
        self.title.clone().unwrap_or_else(|| "memory".to_owned())
    }

    fn get(&self, reference: &Reference) -> Result<Option<Secret>, SourceError> {
        Ok(self.secrets.get(reference).cloned())
    }

    fn why_unknown(&self, reference: &Reference) -> Option<String> {
        self.missing.get(reference).cloned()
    }

    fn names(&self) -> Vec<Reference> {
        self.secrets.keys().cloned().collect()
    }
}
