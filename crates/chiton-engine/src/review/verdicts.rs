//! What the guard said about the last commands.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use chiton_guard::{Boundary, Input, Verdict};

use super::Guard;
use super::case::{Case, Looked};
use crate::bytes::ByteString;
use crate::lock::Lock;
use crate::request::{EnvironmentChange, ParsedCommand};
use crate::state::ShellState;

/// The last verdicts of one guard. Each rests on the command, the state it starts from and what its call adds to that;
/// so it holds for as long as these are the same. One for which the machine was looked at is not kept.
#[derive(Debug, Default)]
pub(crate) struct Verdicts(Lock<VecDeque<Judged>>);

#[derive(Debug)]
struct Judged {
    command: ByteString,
    state: Arc<ShellState>,
    directory: PathBuf,
    real_directory: PathBuf,
    change: EnvironmentChange,
    input: Input,
    boundary: Option<Arc<Boundary>>,
    judgement: Judgement,
}

impl Judged {
    fn is_about(&self, case: &Case<'_>) -> bool {
        Arc::ptr_eq(&self.state, case.state)
            && self.command[..] == *case.command
            && self.directory == case.directory
            && self.real_directory == case.real_directory
            && self.change == *case.change
            && self.input == *case.input
            && self.boundary.as_ref().map(Arc::as_ptr) == case.boundary.map(Arc::as_ptr)
    }
}

/// What the guard says about a command, and the parse that this rests on.
#[derive(Clone, Debug)]
pub(super) struct Judgement {
    pub(super) parsed: Arc<ParsedCommand>,
    pub(super) verdict: Arc<Verdict>,
}

/// How many verdicts are remembered, and about how long a command at most.
const REMEMBERED: usize = 16;
const REMEMBERED_BYTES: usize = 4096;

impl Verdicts {
    /// What `guard` says about a command, or has just said.
    pub(super) fn recall(&self, guard: &Guard, case: &Case<'_>) -> Judgement {
        let judged = || self.0.lock();
        if let Some(it) = judged().iter().find(|it| it.is_about(case)) {
            return it.judgement.clone();
        }

        let parsed = Arc::new(chiton_shell::parse(case.command));
        let (verdict, looked) = guard.judge_case(&parsed, case);
        let judgement = Judgement { parsed, verdict: Arc::new(verdict) };
        let is_short = case.command.len() <= REMEMBERED_BYTES && *case.input == Input::Nothing;
        if is_short && looked == Looked::Nowhere {
            let mut judged = judged();
            judged.truncate(REMEMBERED - 1);
            judged.push_front(Judged {
                command: case.command.into(),
                state: Arc::clone(case.state),
                directory: case.directory.to_owned(),
                real_directory: case.real_directory.to_owned(),
                change: case.change.clone(),
                input: case.input.clone(),
                boundary: case.boundary.cloned(),
                judgement: judgement.clone(),
            });
        }
        judgement
    }
}
