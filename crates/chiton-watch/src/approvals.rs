//! The questions that wait for a person's answer. The one place that knows the desk they lie on.

use std::io;
use std::path::Path;

use chiton_engine::consent::{Answer, Desk};
pub use chiton_engine::consent::{DeskError, Waiting, Watch};

/// The questions under one state directory.
#[derive(Debug)]
pub struct Approvals {
    desk: Desk,
}

impl Approvals {
    /// Those under `state_directory`.
    pub fn new(state_directory: &Path) -> Self {
        Self { desk: Desk::new(state_directory) }
    }

    /// Those that wait now, the oldest first.
    pub fn waiting(&self) -> Vec<Waiting> {
        self.desk.waiting()
    }

    /// From now on somebody looks, and can be asked, for as long as what this gives lasts.
    pub fn watch(&self) -> io::Result<Watch> {
        self.desk.watch()
    }

    /// Answers one of them.
    ///
    /// # Errors
    /// When nobody waits for this answer any more.
    pub async fn answer(&self, id: &str, answer: Answer) -> Result<(), DeskError> {
        self.desk.answer(id, answer).await
    }
}
