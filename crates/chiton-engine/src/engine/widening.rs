//! A person's answer to what a sandbox refused: once, for the session, or not at all.
//!
//! 1. A command fails, and its sandbox has refused something that the profile could allow.
//! 2. Where somebody can be asked, they are shown the command, what was refused and the line for their settings.
//! 3. Where they agree, the command is run again with that allowed, and with nothing else: its answer is that of the second
//!    run, and says so. No call can ask for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chiton_guard::{Decision, Verdict};

use super::Engine;
use crate::consent::{self, Answer, Question, QuestionKind, Whose};
use crate::control::RunControl;
use crate::error::EngineError;
use crate::request::{CommandInput, CommandRequest};
use crate::response::{Response, RunReport};
use crate::run::{Listener, Outcome};
use crate::sandbox::policy::{HostRule, Widening};
use crate::sandbox::report::{RefusedAccess, RefusedAction};
use crate::session::Session;

/// How many things one question is about.
const MOST_AT_ONCE: usize = 8;

impl Engine {
    /// The request, where it could be run a second time with the consent of a person.
    pub(super) fn repeatable(&self, request: &CommandRequest) -> Option<CommandRequest> {
        let is_given_once = matches!(request.input, CommandInput::Descriptor(_) | CommandInput::Open);
        let can_be_asked = self.inner.config.sandbox.is_some() && (request.approver.is_some() || !request.asks_later);
        (can_be_asked && !is_given_once).then(|| request.clone())
    }

    /// Asks a person about what the sandbox refused, and runs the command again where they agree.
    pub(super) async fn widen(
        &self,
        session: &Session,
        mut request: CommandRequest,
        response: Response,
        listener: &mut dyn Listener,
        control: &RunControl,
    ) -> Result<Response, EngineError> {
        let refused = response.ran().map(|report| wanted(session, report)).unwrap_or_default();
        let (Some(policy), false) = (&self.inner.config.sandbox, refused.is_empty()) else { return Ok(response) };
        let question = question(session, &request, &policy.profile, &refused);
        let whose = Whose { session: session.name(), owner: self.owner_name() };
        let answer = consent::ask(&self.inner.desk, request.approver.as_ref(), &question, whose).await;
        let wideners: Vec<Widening> = refused.into_iter().map(|(widening, _)| widening).collect();
        let once: Arc<[Widening]> = match answer {
            Some(Ok(Answer::Once)) => wideners.clone().into(),
            Some(Ok(Answer::Session)) => {
                session.widen(&wideners);
                Arc::default()
            }
            Some(Ok(Answer::No)) => {
                session.leave_unwidened(&wideners);
                return Ok(response);
            }
            Some(Ok(Answer::Undecided) | Err(_)) | None => return Ok(response),
        };
        let span = if once.is_empty() { "for this session" } else { "once" };
        let allowed: Vec<String> = wideners.iter().map(ToString::to_string).collect();
        let said = format!("a person allowed it {span} to {}, so it was run again", allowed.join(", "));
        self.note_widening(session, &said);
        request.run_id = request.run_id.and_then(|first| self.inner.tasks.make_successor(&first));
        let mut again = self.run_with(session, request, once, listener, control).await?;
        if let Response::Ran(report) = &mut again {
            report.notices.push(said);
        }
        Ok(again)
    }
}

/// What the sandbox refused to a command that failed, and a person could still allow.
fn wanted(session: &Session, report: &RunReport) -> Vec<(Widening, RefusedAccess)> {
    if matches!(report.outcome, Outcome::Exited(0) | Outcome::Running) {
        return Vec::new();
    }
    let mut wanted: Vec<(Widening, RefusedAccess)> = Vec::new();
    for access in &report.refused {
        let Some(widening) = widening(access).filter(|widening| session.may_be_widened(widening)) else { continue };
        if !wanted.iter().any(|(known, _)| *known == widening) && wanted.len() < MOST_AT_ONCE {
            wanted.push((widening, access.clone()));
        }
    }
    wanted
}

/// What would have to be allowed for an access that was refused; `None` where no profile could allow it.
fn widening(access: &RefusedAccess) -> Option<Widening> {
    access.ask.as_ref()?;
    match access.what {
        RefusedAction::Write => writable(Path::new(&access.path)).map(Widening::Write),
        RefusedAction::Socket => Some(Widening::Socket(PathBuf::from(&access.path))),
        RefusedAction::Network => {
            let (host, port) = match access.path.rsplit_once(':') {
                Some((host, port)) => (host, Some(port.parse().ok()?)),
                None => (access.path.as_str(), None),
            };
            Some(Widening::Host(HostRule { host: host.to_owned(), port }))
        }
        RefusedAction::WriteKept | RefusedAction::Signal | RefusedAction::Process => None,
    }
}

/// What has to be writable for `path` to be written: itself, or the folder in which it is to be made. That is not widened
/// to a folder which holds more than such files: the home directory, or what lies directly below `/`.
fn writable(path: &Path) -> Option<PathBuf> {
    if path.symlink_metadata().is_ok() {
        return Some(path.to_owned());
    }
    let folder = path.ancestors().skip(1).find(|folder| folder.is_dir())?;
    let home = std::env::home_dir().unwrap_or_default();
    let is_wide = folder.components().count() <= 2 || home.starts_with(folder);
    (!is_wide).then(|| folder.to_owned())
}

fn question(
    session: &Session,
    request: &CommandRequest,
    profile: &str,
    refused: &[(Widening, RefusedAccess)],
) -> Question {
    let state = session.state();
    let directory = request.directory.clone().map_or_else(|| state.cwd.clone(), |given| state.cwd.join(given));
    let wanted: Vec<String> = refused.iter().map(|(widening, access)| format!("{widening} ({})", access.by)).collect();
    let lines: Vec<String> = refused.iter().filter_map(|(_, access)| access.ask.clone()).collect();
    let verdict = Verdict {
        decision: Decision::Ask,
        rule: Some(format!("sandbox {profile}")),
        reason: format!("The sandbox {profile} did not let this command {}.", wanted.join(", ")),
        permit: Some(lines.join("; ")),
        ..Verdict::default()
    };
    Question {
        kind: QuestionKind::Widen,
        id: String::new(),
        on: None,
        command: request.command.to_text(),
        real_directory: directory.canonicalize().unwrap_or_else(|_| directory.clone()),
        directory,
        environment: Vec::new(),
        input: match &request.input {
            CommandInput::Text(text) => Some(text.to_text()),
            _ => None,
        },
        verdict,
    }
}
