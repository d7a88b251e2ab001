//! What the guard said about the last commands.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chiton_guard::Verdict;

use super::Guard;
use crate::bytes::ByteString;
use crate::lock::Lock;
use crate::request::{EnvironmentChange, ParsedCommand};
use crate::state::ShellState;

/// The last verdicts of one guard. Each rests on the command, the state it starts from and what its call adds to that, and
/// on nothing else; so it holds for as long as these are the same.
#[derive(Debug, Default)]
pub(crate) struct Verdicts(Lock<VecDeque<Judged>>);

#[derive(Debug)]
struct Judged {
    command: ByteString,
    state: Arc<ShellState>,
    directory: PathBuf,
    change: EnvironmentChange,
    judgement: Judgement,
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
    pub(super) fn recall(
        &self,
        guard: &Guard,
        command: &ByteString,
        state: &Arc<ShellState>,
        directory: &Path,
        change: &EnvironmentChange,
    ) -> Judgement {
        let judged = || self.0.lock();
        let is_same = |it: &&Judged| {
            Arc::ptr_eq(&it.state, state) && it.command == *command && it.directory == directory && it.change == *change
        };
        if let Some(it) = judged().iter().find(is_same) {
            return it.judgement.clone();
        }

        let parsed = Arc::new(chiton_shell::parse(command));
        let verdict = Arc::new(guard.judge_parsed(&parsed, command, state, directory, change));
        let judgement = Judgement { parsed, verdict };
        if command.len() <= REMEMBERED_BYTES {
            let mut judged = judged();
            judged.truncate(REMEMBERED - 1);
            let (command, directory, change) = (command.clone(), directory.to_owned(), change.clone());
            judged.push_front(Judged {
                command,
                state: Arc::clone(state),
                directory,
                change,
                judgement: judgement.clone(),
            });
        }
        judgement
    }
}
