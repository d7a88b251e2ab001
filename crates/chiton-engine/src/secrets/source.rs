//! Where values come from: several sources behind one small trait.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::reference::{Reference, ReferenceKind};
use super::sources::given::GivenSecrets;
use super::value::{Masking, Secret, ValueError, check};

/// Knows some secrets.
///
/// The engine asks it at the last moment, for each command that names one. It may take its time: the engine never asks on
/// a thread that others wait for.
pub trait SecretSource: fmt::Debug + Send + Sync {
    /// What it is, in a few words, for messages.
    fn title(&self) -> String;

    /// The secret, or `None` if this source does not know it.
    fn get(&self, reference: &Reference) -> Result<Option<Secret>, SourceError>;

    /// Why it does not know a secret that it was meant to know, in a few words.
    fn why_unknown(&self, _reference: &Reference) -> Option<String> {
        None
    }

    /// What it knows, as far as it can say so: for whoever mistypes a name.
    fn names(&self) -> Vec<Reference> {
        Vec::new()
    }
}

/// A source that could not say what it knows. The message names no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(pub String);

/// Sources in the order in which they are asked. The first that knows a name decides.
#[derive(Clone, Debug, Default)]
pub struct SecretStore {
    /// What calls have brought along. It is asked first.
    given: GivenSecrets,
    sources: Vec<Arc<dyn SecretSource>>,
    shown: BTreeSet<String>,
}

/// Why a reference could not be looked up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// Its source failed.
    #[error("{reference} could not be looked up in {source_title}: {reason}")]
    Source {
        /// The reference.
        reference: Reference,
        /// Which one.
        source_title: String,
        /// Why.
        reason: SourceError,
    },
    /// Its value cannot be used.
    #[error("{reference} cannot be used: {reason}")]
    Value {
        /// The reference.
        reference: Reference,
        /// Why.
        reason: ValueError,
    },
}

impl SecretStore {
    /// A store without any secret.
    pub fn empty() -> Self {
        Self::default()
    }

    /// The same store that also asks `source`, after the others.
    #[must_use]
    pub fn and(mut self, source: impl SecretSource + 'static) -> Self {
        self.sources.push(Arc::new(source));
        self
    }

    /// The same store, where secrets of these names are not masked.
    #[must_use]
    pub fn showing(mut self, names: BTreeSet<String>) -> Self {
        self.shown = names;
        self
    }

    /// The secrets that calls bring along.
    pub fn given(&self) -> &GivenSecrets {
        &self.given
    }

    /// Whether it knows of no secret: nobody has given it one, and it has no source.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty() && self.given.is_empty()
    }

    /// That nobody knows a reference: why, and what was perhaps meant.
    pub(crate) fn explain_unknown(&self, reference: &Reference) -> String {
        let kind = match reference.kind {
            ReferenceKind::Secret => "secret",
            ReferenceKind::Decrypt => "encrypted text",
        };
        let mut text = format!("there is no {kind} named '{}'", reference.name);
        for reason in self.sources.iter().filter_map(|source| source.why_unknown(reference)) {
            text.push_str(&format!("; {reason}"));
        }

        let names: Vec<Reference> = self.sources.iter().flat_map(|source| source.names()).collect();
        let near = |known: &&Reference| {
            let (wanted, known) = (reference.name.to_ascii_lowercase(), known.name.to_ascii_lowercase());
            let distance = strsim::damerau_levenshtein(&wanted, &known);
            distance <= 1 + wanted.len() / 4
                || (wanted.len() >= 3 && (known.contains(&wanted) || wanted.contains(&known)))
        };
        let distance = |known: &&Reference| strsim::damerau_levenshtein(&reference.name, &known.name);
        if let Some(nearest) = names.iter().filter(near).min_by_key(distance) {
            text.push_str(&format!("; did you mean {nearest}?"));
        }
        text
    }

    /// Asks the sources in turn.
    pub fn look_up(&self, reference: &Reference) -> Result<Option<Secret>, LookupError> {
        let sources = self.sources.iter().map(AsRef::as_ref);
        for source in std::iter::once::<&dyn SecretSource>(&self.given).chain(sources) {
            let found = source.get(reference).map_err(|reason| LookupError::Source {
                reference: reference.clone(),
                source_title: source.title(),
                reason,
            })?;
            if let Some(mut secret) = found {
                if self.shown.contains(&reference.name) {
                    secret.masking = Masking::Shown;
                }
                let wrong = |reason| LookupError::Value { reference: reference.clone(), reason };
                check(&reference.name, &secret).map_err(wrong)?;
                return Ok(Some(secret));
            }
        }
        Ok(None)
    }
}
