//! Stage 2: from a request to a command that may run: the policy, the permission manager, a person's consent.

mod bash_check;
mod bound;
mod dry_run;
mod input;
mod protection;
mod scope;
mod surroundings;
mod verdicts;

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use crate::consent::{Answer, Bound, Consents, Question};
pub use bash_check::is_rejected_by_bash;
use chiton_guard::{CheckedPolicy, Context, Decision, GuardPolicy, Mode, Scope, Verdict, judge_script, unparsed};
pub use protection::Protection;
pub use surroundings::MachineSurroundings;
use verdicts::Judgement;
pub(crate) use verdicts::Verdicts;

use crate::bytes::ByteString;
use crate::request::{AcceptedRequest, CommandParse, CommandRequest, EnvironmentChange, ParsedCommand};
use crate::session::Session;
use crate::state::ShellState;
use crate::state::environment::{EnvironmentPolicy, Origin};

/// What stands between a request and its run.
#[derive(Clone, Debug)]
pub struct Guard {
    /// What the human decided.
    pub policy: CheckedPolicy,
    /// Where commands run: home, user, workspace, our own processes, mounts. The state is that of each session.
    pub around: Context,
    /// Asked before every command.
    pub manager: Option<Arc<dyn PermissionManager>>,
    /// Whether commands are only looked at.
    pub dry_run: bool,
}

impl Guard {
    /// One that judges by `policy`.
    pub fn new(policy: CheckedPolicy, around: Context) -> Self {
        Self { policy, around, manager: None, dry_run: false }
    }

    /// One that lets everything pass.
    pub fn off() -> Self {
        let policy = GuardPolicy { mode: Mode::Off, ..GuardPolicy::default() };
        Self::new(policy.check(&Context::default()).unwrap_or_default(), Context::default())
    }

    /// What protection is in force, for the response.
    pub fn protection(&self) -> Protection {
        Protection::of(self.policy.mode())
    }

    /// What it says about a command of `session`.
    pub fn judge(
        &self,
        command: &[u8],
        state: &Arc<ShellState>,
        directory: &Path,
        change: &EnvironmentChange,
    ) -> Verdict {
        self.judge_parsed(&chiton_shell::parse(command), command, state, directory, change)
    }

    /// As [`Guard::judge`], with the parse of `command`.
    fn judge_parsed(
        &self,
        parsed: &ParsedCommand,
        command: &[u8],
        state: &Arc<ShellState>,
        directory: &Path,
        change: &EnvironmentChange,
    ) -> Verdict {
        let scope: Arc<dyn Scope> = Arc::clone(state) as _;
        let mut context = self.around.clone().within(scope);
        directory.clone_into(&mut context.cwd);
        context.replaces_variables = matches!(change, EnvironmentChange::Replace(_));
        let set: Vec<(String, String)> =
            change.variables().iter().map(|(name, value)| (name.clone(), value.to_text())).collect();
        context.variables.extend(set.iter().cloned());

        let verdict = match parsed {
            Ok(script) => judge_script(script, command, &set, &context),
            Err(error) => unparsed(error),
        };
        self.policy.refine(verdict, &context)
    }
}

/// An answer of a permission manager that is being waited for.
pub type Permitting<'a> = Pin<Box<dyn Future<Output = Result<Permission, Box<dyn Error + Send + Sync>>> + Send + 'a>>;

/// Asked before every command, foreground and background. An error in it is a denial.
pub trait PermissionManager: fmt::Debug + Send + Sync {
    /// Whether this command may run.
    fn check<'a>(&'a self, question: &'a Question) -> Permitting<'a>;
}

/// What a permission manager says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// It may run. Where the guard asks, this is the consent; what the guard denies stays denied.
    Allow,
    /// It may run as far as this manager is concerned; where the guard asks, a person is asked.
    NoObjection,
    /// It may not, for this reason.
    Deny(String),
}

/// A command that may run. Only [`review`] makes one.
#[derive(Debug)]
pub(crate) struct ApprovedCommand {
    pub(crate) request: CommandRequest,
    pub(crate) parse: CommandParse,
    /// What to say with the response.
    pub(crate) notices: Vec<String>,
    /// Where its session was when a person agreed.
    pub(crate) agreed: Option<PathBuf>,
    /// Keeps everybody else from making one.
    _reviewed: (),
}

impl ApprovedCommand {
    fn new(request: CommandRequest, parse: CommandParse) -> Self {
        Self { request, parse, notices: Vec::new(), agreed: None, _reviewed: () }
    }
}

/// Why a command may not run.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// In one sentence.
    pub reason: String,
    /// What a person could still agree to.
    pub question: Option<Box<Question>>,
}

impl Refusal {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), question: None }
    }
}

/// What came of a review.
pub(crate) enum Reviewed {
    /// It may run.
    Approved(Box<ApprovedCommand>),
    /// It would; this is what it would do.
    DryRun(String),
}

/// Judges a request.
pub(crate) async fn review(
    request: AcceptedRequest,
    guard: &Guard,
    verdicts: &Verdicts,
    consents: &Consents,
    session: &Session,
    environment: &EnvironmentPolicy,
) -> Result<Reviewed, Refusal> {
    let request = request.into_inner();
    let only_judged = guard.manager.is_none() && !guard.dry_run;
    if guard.policy.mode() == Mode::Off && only_judged {
        return Ok(Reviewed::Approved(Box::new(ApprovedCommand::new(request, CommandParse::default()))));
    }

    let state = session.state();
    let directory = request.directory.as_ref().map_or_else(|| state.cwd.clone(), |given| state.cwd.join(given));
    let change = reaching(&request.environment, environment);
    let Judgement { parsed, verdict } = verdicts.recall(guard, &request.command, &state, &directory, &change);
    if verdict.decision == Decision::Deny {
        return Err(Refusal::new(verdict.refusal()));
    }
    if verdict.decision == Decision::Allow && only_judged {
        let approved = ApprovedCommand { notices: hints(&verdict), ..ApprovedCommand::new(request, parsed.into()) };
        return Ok(Reviewed::Approved(Box::new(approved)));
    }

    let question = Question {
        id: String::new(),
        command: request.command.to_text(),
        directory: directory.clone(),
        environment: request
            .environment
            .variables()
            .iter()
            .map(|(name, value)| (name.clone(), value.to_text()))
            .collect(),
        verdict: Verdict::clone(&verdict),
    };
    let is_permitted = match &guard.manager {
        Some(manager) => permission(&**manager, &question).await?,
        None => false,
    };
    if guard.dry_run {
        return Ok(Reviewed::DryRun(dry_run::describe(&request, &question)));
    }

    let notices = hints(&verdict);
    let is_asked = question.verdict.decision == Decision::Ask && !is_permitted;
    if is_asked {
        consent(&request, question, consents, session).await?;
    }
    let agreed = is_asked.then(|| state.cwd.clone());
    let approved = ApprovedCommand { notices, agreed, ..ApprovedCommand::new(request, parsed.into()) };
    Ok(Reviewed::Approved(Box::new(approved)))
}

fn hints(verdict: &Verdict) -> Vec<String> {
    let waits = verdict.waits.iter();
    waits.map(|waiting| format!("{} waits for a person: {}", waiting.program, waiting.hint)).collect()
}

/// The variables of a call without those that will be kept from the command anyway.
fn reaching(change: &EnvironmentChange, policy: &EnvironmentPolicy) -> EnvironmentChange {
    let reaches = |(name, value): &(&String, &ByteString)| policy.objection(name, value, Origin::Call).is_none();
    let variables = change.variables().iter().filter(reaches);
    let variables = variables.map(|(name, value)| (name.clone(), value.clone())).collect();
    match change {
        EnvironmentChange::Merge(_) => EnvironmentChange::Merge(variables),
        EnvironmentChange::Replace(_) => EnvironmentChange::Replace(variables),
    }
}

/// Whether the manager gives its consent.
async fn permission(manager: &dyn PermissionManager, question: &Question) -> Result<bool, Refusal> {
    match manager.check(question).await {
        Ok(Permission::Allow) => Ok(true),
        Ok(Permission::NoObjection) => Ok(false),
        Ok(Permission::Deny(reason)) => Err(Refusal::new(format!("operation denied, reason: {reason}"))),
        Err(error) => Err(Refusal::new(format!("operation denied, reason: the permission check failed: {error}"))),
    }
}

async fn consent(
    request: &CommandRequest,
    mut question: Question,
    consents: &Consents,
    session: &Session,
) -> Result<(), Refusal> {
    let bound = bound::bound_to(request, &question.directory);
    if session.has_agreed(bound) {
        return Ok(());
    }
    if let Some((id, answer)) = &request.consent {
        if !consents.redeem(id, bound) {
            let why = "the consent is not for this command in this place, was used before, or has expired";
            return Err(Refusal::new(why));
        }
        return accept(*answer, bound, &question, session);
    }
    let Some(approver) = &request.approver else {
        question.id = consents.offer(bound);
        let reason =
            format!("{} There is nobody here who could be asked, so it was not run.", question.verdict.refusal());
        return Err(Refusal { reason, question: Some(Box::new(question)) });
    };
    match approver.ask(&question).await {
        Ok(answer) => accept(answer, bound, &question, session),
        Err(why) => Err(Refusal::new(format!(
            "{} Nobody could be asked ({why}), so it was not run.",
            question.verdict.refusal()
        ))),
    }
}

fn accept(answer: Answer, bound: Bound, question: &Question, session: &Session) -> Result<(), Refusal> {
    match answer {
        Answer::Once => {}
        Answer::Session => session.agree(bound),
        Answer::No => return Err(Refusal::new(format!("a person said no. {}", question.verdict.refusal()))),
    }
    Ok(())
}
