//! The questions that wait for a person's answer. The one place here that knows the desk they lie on.

use std::path::Path;

use chiton_engine::consent::{Answer, Desk};
pub use chiton_engine::consent::{DeskError, Waiting, Watch};

use crate::shown::harmless;

/// The questions under one state directory.
#[derive(Clone, Debug)]
pub struct Approvals {
    desk: Desk,
}

impl Approvals {
    /// Those under `state_directory`.
    pub fn new(state_directory: &Path) -> Self {
        Self { desk: Desk::new(state_directory) }
    }

    /// Those that wait now, the oldest first. All but the command itself is safe to show.
    pub fn waiting(&self) -> Vec<Waiting> {
        let safe = |question: Waiting| Waiting {
            directory: harmless(&question.directory.to_string_lossy()).into(),
            session: question.session.as_deref().map(harmless),
            owner: question.owner.as_deref().map(harmless),
            ..question
        };
        self.desk.waiting().into_iter().map(safe).collect()
    }

    /// From now on there is a person who looks and can answer: whoever wants to know something asks here and waits. `None`
    /// where nobody can be told so.
    pub fn watch(&self) -> Option<Watch> {
        self.desk.watch().ok()
    }

    /// Answers one of them.
    ///
    /// # Errors
    /// When nobody waits for this answer any more.
    pub async fn answer(&self, id: &str, answer: Answer) -> Result<(), DeskError> {
        self.desk.answer(id, answer).await
    }
}
