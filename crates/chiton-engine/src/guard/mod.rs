//! Stage 2: whether a command may run.
//!
//! There is one policy so far, and its name says what it does. What is settled is the place: nothing can be resolved,
//! spawned or captured that did not come through [`review`], because only this module makes an [`ApprovedCommand`].

use serde::{Deserialize, Serialize};

use crate::request::{AcceptedRequest, CommandRequest};

/// What the human who set up the engine decided about commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Policy {
    /// Every command runs, with the rights of the user who runs the engine. No protection at all.
    AllowAll,
}

impl Policy {
    /// What protection was in force, for the response.
    pub fn protection(self) -> &'static str {
        match self {
            Self::AllowAll => "none: every command is allowed",
        }
    }
}

/// A command that may run. Only [`review`] makes one.
#[derive(Debug)]
pub(crate) struct ApprovedCommand(CommandRequest);

impl ApprovedCommand {
    pub(crate) fn into_request(self) -> CommandRequest {
        self.0
    }
}

/// Why a command may not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// In one sentence.
    pub reason: String,
}

/// Judges `request` by `policy`.
#[expect(clippy::unnecessary_wraps, reason = "the one policy there is so far never refuses")]
pub(crate) fn review(request: AcceptedRequest, policy: Policy) -> Result<ApprovedCommand, Refusal> {
    match policy {
        Policy::AllowAll => Ok(ApprovedCommand(request.into_inner())),
    }
}
