//! Stage 3: references to secrets become values at the last moment.
//!
//! There is no store yet: [`SecretStore`] is empty and every reference stays the text it is. What is settled is the
//! place: only this module makes a [`ResolvedCommand`], and only that can be spawned.

mod encoding;
pub(crate) mod forms;
pub(crate) mod insert;
pub(crate) mod patterns;
mod place;
pub(crate) mod redact;
pub mod reference;

use crate::guard::ApprovedCommand;
use crate::request::CommandRequest;

/// Where values come from. Empty.
#[derive(Clone, Debug, Default)]
pub struct SecretStore {
    _private: (),
}

impl SecretStore {
    /// A store without any secret.
    pub fn empty() -> Self {
        Self::default()
    }
}

/// A command whose references are resolved. Only [`resolve`] makes one.
#[derive(Debug)]
pub(crate) struct ResolvedCommand(CommandRequest);

impl ResolvedCommand {
    pub(crate) fn request(&self) -> &CommandRequest {
        &self.0
    }

    pub(crate) fn into_request(self) -> CommandRequest {
        self.0
    }
}

/// Resolves the references that `store` knows; unknown ones stay as they are.
pub(crate) fn resolve(command: ApprovedCommand, _store: &SecretStore) -> ResolvedCommand {
    ResolvedCommand(command.into_request())
}
