//! What a command leaves in its session, once it has ended.

use std::path::PathBuf;

use super::Engine;
use crate::process::ShellKind;
use crate::protocol::HandedBack;
use crate::response::{Commit, StateReport};
use crate::run::Ending;
use crate::session::{Session, StartingPoint};
use crate::state::bash::dump::{FirstWords, Reported};
use crate::state::change::{Change, PartOfState};
use crate::state::{bash, posix};

impl Engine {
    /// Commits what the command changed, if it ended in a way that lets it.
    pub(super) fn commit(
        &self,
        session: &Session,
        start: &StartingPoint,
        shell: ShellKind,
        ending: &Ending,
        state: HandedBack,
    ) -> Commit {
        let pipe_status = |statuses| FirstWords { ran_through: true, statuses, cwd: PathBuf::new() }.pipe_status();
        match state {
            HandedBack::Unchanged { statuses } => {
                let commit = Commit::new(StateReport::Unchanged, session);
                Commit { told: Some(Change::default()), pipe_status: pipe_status(statuses), ..commit }
            }
            HandedBack::Follows { statuses, directory } => {
                let commit = Commit::new(StateReport::Follows, session);
                // A directory that is named after a secret is not kept, nor is one that only this call was given.
                let has_moved = directory[..] != *start.state.cwd.as_os_str().as_encoded_bytes();
                let is_kept = has_moved && self.inner.known.masked(&directory) == directory;
                let cwd = if is_kept { directory.into_path() } else { commit.cwd };
                Commit { pipe_status: pipe_status(statuses), cwd, ..commit }
            }
            _ if !ending.outcome.commits() => {
                let why = format!("the command {}", ending.outcome);
                Commit::new(StateReport::Discarded(why), session)
            }
            HandedBack::State(text) => self.commit_state(session, start, shell, &text),
            HandedBack::Nothing => self.commit_state(session, start, shell, b""),
        }
    }

    /// Commits the state that the shell printed as `text`.
    pub(super) fn commit_state(
        &self,
        session: &Session,
        start: &StartingPoint,
        shell: ShellKind,
        text: &[u8],
    ) -> Commit {
        match self.read_state(session, start, shell, text) {
            Ok((change, commit)) => {
                session.commit(&change);
                let told = commit.not_carried.is_empty().then_some(change);
                Commit { told, cwd: session.directory(), ..commit }
            }
            Err(discarded) => *discarded,
        }
    }

    /// What the shell changed, as it printed that as `text`, and what is said of it. It is not committed yet.
    pub(super) fn read_state(
        &self,
        session: &Session,
        start: &StartingPoint,
        shell: ShellKind,
        text: &[u8],
    ) -> Result<(Change, Commit), Box<Commit>> {
        let handed_back = match shell {
            ShellKind::Bash => bash::dump::read(text, &start.state).map(|back| (back.state, back.pipe_status)),
            ShellKind::Posix => posix::read(text, &start.state).map(|state| (Reported::Whole(state), Vec::new())),
        };
        let Some((mut reported, pipe_status)) = handed_back else {
            let why = "the shell handed no state back: it was replaced (exec), it lists what it reads (set -v), its \
                       exit trap was set past ours (command trap, posix mode), or its state is larger than what is \
                       carried";
            return Err(Box::new(Commit::new(StateReport::Discarded(why.to_owned()), session)));
        };

        let (Reported::Whole(state) | Reported::Part(PartOfState { now: state, .. })) = &mut reported;
        state.real_cwd = if state.cwd == start.state.cwd {
            start.state.real_cwd.clone()
        } else {
            state.cwd.canonicalize().unwrap_or_default()
        };
        let policy = &self.inner.config.environment;
        let mut not_carried = policy.filter(&mut state.variables, &start.state.variables);
        let mut withheld = self.inner.known.withhold(state, &start.state);
        let names: Vec<&str> = withheld.iter().map(|removed| removed.name.as_str()).collect();
        let notice = (!names.is_empty()).then(|| {
            format!("not kept for the next command, since the value of a secret is in it: {}", names.join(", "))
        });
        not_carried.append(&mut withheld);

        let change = match reported {
            Reported::Whole(state) => Change::between(&start.state, state),
            Reported::Part(part) => Change::of_part(&start.state, part),
        };
        let report = if change.is_empty() { StateReport::Unchanged } else { StateReport::Committed };
        let commit = Commit { pipe_status, not_carried, notice, ..Commit::new(report, session) };
        Ok((change, commit))
    }
}
