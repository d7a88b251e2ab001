//! The questions that wait for a person's answer. The one place that knows the desk they lie on.

use std::path::Path;

use chiton_engine::consent::Answer;

pub use desk::{DeskError, Waiting};

/// The questions under one state directory.
#[derive(Debug)]
pub struct Approvals {
    desk: desk::Desk,
}

impl Approvals {
    /// Those under `state_directory`.
    pub fn new(state_directory: &Path) -> Self {
        Self { desk: desk::Desk::new(state_directory) }
    }

    /// Those that wait now, the oldest first.
    pub fn waiting(&self) -> Vec<Waiting> {
        let mut waiting = self.desk.waiting();
        waiting.sort_by(|one, other| (one.asked_ms, &one.id).cmp(&(other.asked_ms, &other.id)));
        waiting
    }

    /// Answers one of them.
    ///
    /// # Errors
    /// When nobody waits for this answer any more.
    pub async fn answer(&self, id: &str, answer: Answer) -> Result<(), DeskError> {
        self.desk.answer(id, answer).await
    }
}

/// The shape of `chiton_engine::consent::desk`. Once that is there, this module goes and the `use` above names it.
mod desk {
    use std::path::{Path, PathBuf};

    use chiton_engine::consent::Answer;
    use serde::Serialize;

    /// Where questions lie until a person answers them.
    #[derive(Debug)]
    pub(super) struct Desk;

    /// A question that waits for a person's answer.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    pub struct Waiting {
        /// Its name.
        pub id: String,
        /// When it was asked, in milliseconds since 1970.
        pub asked_ms: u64,
        /// The question in one sentence.
        pub heading: String,
        /// The whole question, made safe to show.
        pub text: String,
        /// The command that it is about.
        pub command: String,
        /// Where that would run.
        pub directory: PathBuf,
        /// The session it belongs to, where that has a name.
        pub session: Option<String>,
        /// The client that wants to run it.
        pub owner: Option<String>,
        /// What the answers mean.
        pub answers: String,
    }

    /// Why an answer did not reach anybody.
    #[derive(Debug, thiserror::Error)]
    #[error("nobody waits for an answer to the question {0}")]
    pub struct DeskError(String);

    impl Desk {
        pub(super) fn new(_state_directory: &Path) -> Self {
            Self
        }

        #[expect(clippy::unused_self, reason = "the shape of the real one")]
        pub(super) fn waiting(&self) -> Vec<Waiting> {
            Vec::new()
        }

        #[expect(clippy::unused_async, reason = "the shape of the real one")]
        pub(super) async fn answer(&self, id: &str, _answer: Answer) -> Result<(), DeskError> {
            Err(DeskError(id.to_owned()))
        }
    }
}
