//! Stage 2: from a request to a command that may run: the policy, the permission manager, a person's consent.

mod bound;
mod case;
mod dry_run;
mod elsewhere;
mod input;
mod kept;
mod leaving;
mod scope;
mod surroundings;
mod syntax;
mod verdicts;
pub(crate) mod would_wait;

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use crate::consent::{self, Answer, Bound, Consents, Desk, Question, QuestionKind, Whose};
pub use crate::run::Protection;
use case::Case;
use chiton_guard::{
    Boundary, CheckedPolicy, Context, Decision, Finding, GuardPolicy, Input, Mode, Verdict, WaitingCommand,
};
use chiton_shell::tree::Span;
pub(crate) use elsewhere::{ReviewedElsewhere, review_elsewhere};
pub use kept::MachineFiles;
pub(crate) use leaving::leaves_for;
use serde::Serialize;
pub use surroundings::MachineSurroundings;
pub use syntax::is_rejected;
use verdicts::Judgement;
pub(crate) use verdicts::Verdicts;

use crate::bytes::ByteString;
use crate::error::SessionError;
use crate::process::Shell;
use crate::request::{AcceptedRequest, CommandInput, CommandParse, CommandRequest, EnvironmentChange};
use crate::sandbox::policy::Widening;
use crate::session::{Session, Standing};
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

    /// What it says about `command` in a shell in this state.
    pub fn judge(
        &self,
        command: &[u8],
        state: &Arc<ShellState>,
        directory: &Path,
        change: &EnvironmentChange,
    ) -> Verdict {
        let case = Case {
            command,
            state,
            directory,
            real_directory: directory,
            change,
            input: &Input::Nothing,
            origin: None,
            boundary: None,
        };
        self.judge_case(&chiton_shell::parse(command), &case).0
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
    /// Programs in it that would wait for a person.
    pub(crate) waits: Vec<WaitingCommand>,
    /// What was judged, so that nothing else is run.
    pub(crate) grounds: Grounds,
    /// Keeps everybody else from making one.
    _reviewed: (),
}

/// What the approval of a command rests on.
#[derive(Clone, Debug)]
pub(crate) struct Grounds {
    /// The state it was judged for.
    state: Arc<ShellState>,
    /// The directory it was judged for, held open.
    pub(crate) standing: Standing,
    /// Its input as it was asked for: values take the place of references later.
    input: CommandInput,
    /// What a person agreed to.
    agreed: Option<Bound>,
    /// What becomes of it.
    pub(crate) use_of_text: UseOfText,
    /// What a person has just allowed it beyond its sandbox's profile.
    pub(crate) widened: Arc<[Widening]>,
    /// What it would do that need not be asked about, because the sandbox holds it, it can be undone, or a person has
    /// agreed where the command comes from.
    pub(crate) held: Option<String>,
}

impl Grounds {
    /// Whether a person was asked.
    pub(crate) fn is_agreed(&self) -> bool {
        self.agreed.is_some()
    }
}

/// What a shell does with an approved text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UseOfText {
    /// It runs it.
    Run,
    /// It reads it, runs nothing of it and says what is wrong: bash rejects it.
    Read,
}

/// Why a command may not run.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// In words.
    pub reason: String,
    /// What the guard objected to, where it was the guard.
    pub finding: Option<Box<Finding>>,
    /// What a person could still agree to.
    pub question: Option<Box<Question>>,
}

impl Refusal {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), finding: None, question: None }
    }

    /// The same for machines.
    pub fn facts(&self) -> RefusalFacts<'_> {
        let finding = self.finding.as_deref();
        RefusalFacts {
            reason: &self.reason,
            decision: finding.map(|finding| finding.decision),
            rule: finding.map(|finding| finding.rule.as_str()),
            place: finding.map(|finding| finding.span),
            target: finding.and_then(|finding| finding.target.as_deref()),
            alternative: finding.and_then(|finding| finding.alternative.as_deref()),
            permit: finding.and_then(|finding| finding.permit.as_deref()),
        }
    }

    /// What the guard says, with `more` behind it.
    pub(crate) fn by(verdict: &Verdict, more: &str) -> Self {
        let reason = format!("{}{more}", verdict.refusal());
        Self { reason, finding: verdict.findings.first().cloned().map(Box::new), question: None }
    }
}

/// Why a command may not run, part by part. Only what the guard refused has a rule.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RefusalFacts<'a> {
    /// In words, all of it.
    pub reason: &'a str,
    /// Whether a person could have agreed.
    pub decision: Option<Decision>,
    /// The rule that decided.
    pub rule: Option<&'a str>,
    /// The bytes of the command that decided.
    pub place: Option<Span>,
    /// What it would have acted upon.
    pub target: Option<&'a str>,
    /// What would be allowed instead.
    pub alternative: Option<&'a str>,
    /// How a person allows it.
    pub permit: Option<&'a str>,
}

/// What came of a review.
pub(crate) enum Reviewed {
    /// It may run.
    Approved(Box<ApprovedCommand>),
    /// It would; this is what it would do.
    DryRun(String),
}

/// Who decides, and from what.
pub(crate) struct Reviewers<'a> {
    pub(crate) guard: &'a Guard,
    pub(crate) verdicts: &'a Verdicts,
    pub(crate) consents: &'a Consents,
    /// Where people look who can be asked.
    pub(crate) desk: &'a Desk,
    /// The client of the engine.
    pub(crate) owner: Option<&'a str>,
    pub(crate) environment: &'a EnvironmentPolicy,
    /// The shell of the engine.
    pub(crate) shell: &'a Shell,
    /// What commands cannot reach anyway.
    pub(crate) boundary: Option<Arc<Boundary>>,
}

impl Reviewers<'_> {
    fn judge(&self, request: &CommandRequest, session: &Session, grounds: &Grounds) -> Judgement {
        let Grounds { state, standing: at, input, .. } = grounds;
        let change = reaching(&request.environment, self.environment);
        let input = case::input_of(input);
        let case = Case {
            origin: Some(session.origin()),
            boundary: self.boundary.as_ref(),
            ..Case::new(&request.command, state, at, &change, &input)
        };
        self.verdicts.recall(self.guard, &case)
    }
}

/// Judges a request that would run in `standing`.
pub(crate) async fn review(
    request: AcceptedRequest,
    reviewers: Reviewers<'_>,
    session: &Session,
    state: Arc<ShellState>,
    standing: Standing,
    widened: Arc<[Widening]>,
) -> Result<Reviewed, Refusal> {
    let guard = reviewers.guard;
    let request = request.into_inner();
    let input = request.input.clone();
    let mut grounds =
        Grounds { state, standing, input, agreed: None, use_of_text: UseOfText::Run, widened, held: None };
    let only_judged = guard.manager.is_none() && !guard.dry_run;
    let approve = |request, parse, waits, grounds| {
        Ok(Reviewed::Approved(Box::new(ApprovedCommand { request, parse, waits, grounds, _reviewed: () })))
    };
    if guard.policy.mode() == Mode::Off && only_judged {
        return approve(request, CommandParse::default(), Vec::new(), grounds);
    }

    let Judgement { parsed, verdict } = reviewers.judge(&request, session, &grounds);
    if parsed.is_err()
        && syntax::is_rejected_meanwhile(request.shell.as_ref().unwrap_or(reviewers.shell), &request.command).await
    {
        // Nothing of it can run, so there is nothing to decide: the shell says what is wrong.
        grounds.use_of_text = UseOfText::Read;
        return approve(request, parsed.into(), Vec::new(), grounds);
    }
    if verdict.decision == Decision::Deny {
        return Err(Refusal::by(&verdict, ""));
    }
    if verdict.decision == Decision::Allow && verdict.rule.is_some() {
        grounds.held = Some(verdict.reason.clone());
    }
    if let Some(reason) = would_wait::for_certain(&verdict, &request, &grounds.state).filter(|_| !guard.dry_run) {
        return Err(Refusal::new(reason));
    }
    if verdict.decision == Decision::Allow && only_judged {
        return approve(request, parsed.into(), verdict.waits.clone(), grounds);
    }

    let question = question(&request, &grounds.standing, &verdict);
    let is_permitted = match &guard.manager {
        Some(manager) => permission(&**manager, &question).await?,
        None => false,
    };
    if guard.dry_run {
        return Ok(Reviewed::DryRun(dry_run::describe(&request, &question)));
    }

    if question.verdict.decision == Decision::Ask && request.agreed {
        grounds.held = Some(format!("{} Agreed to where the command comes from.", verdict.reason));
    } else if question.verdict.decision == Decision::Ask && !is_permitted {
        let bound = bound::bound_to(&request, &grounds, &verdict);
        consent(&request, question, bound, &reviewers, session).await?;
        grounds.agreed = Some(bound);
    }
    approve(request, parsed.into(), verdict.waits.clone(), grounds)
}

/// Judges an approved command once more where it was a person who agreed, or where the session has moved on since: it
/// runs only if what was approved is still what it would do. Gives the state and the directory to start from.
pub(crate) fn recheck(
    request: &CommandRequest,
    grounds: &Grounds,
    reviewers: &Reviewers<'_>,
    session: &Session,
) -> Result<(Arc<ShellState>, Standing), NotAsJudged> {
    let state = session.state();
    let is_same = Arc::ptr_eq(&state, &grounds.state);
    if is_same && grounds.agreed.is_none() {
        return Ok((state, grounds.standing.clone()));
    }

    let lost = |error| session.leave_lost_directory(error);
    // A session that has left a directory because that is gone takes no command along that was meant for it.
    Standing::of_call(&grounds.state, request.directory.as_deref()).map_err(lost)?;
    let standing = Standing::of_call(&state, request.directory.as_deref()).map_err(lost)?;
    let now = Grounds { state, standing, ..grounds.clone() };
    let is_judged = reviewers.guard.policy.mode() != Mode::Off && grounds.use_of_text == UseOfText::Run;
    if is_judged {
        let Judgement { verdict, .. } = reviewers.judge(request, session, &now);
        let is_agreed = |agreed| agreed == bound::bound_to(request, &now, &verdict);
        match (verdict.decision, grounds.agreed) {
            (_, Some(agreed)) if !is_agreed(agreed) => {
                let why = "what this command would do has changed since a person agreed to it (its directory, a variable, \
                           a function or a script), so it was not run; send it again to ask about it as it is now";
                return Err(Refusal::new(why).into());
            }
            (Decision::Allow, _) | (Decision::Ask, Some(_)) => {}
            // A permission manager may have agreed to it for the state of a moment ago; or somebody did whom this session's
            // state did not matter to.
            (Decision::Ask, None) if reviewers.guard.manager.is_some() || request.agreed => {}
            (Decision::Ask | Decision::Deny, _) => {
                return Err(Refusal::by(&verdict, " The session has changed since the command was judged.").into());
            }
        }
    }
    Ok((now.state, now.standing))
}

/// Why an approved command is not run after all.
pub(crate) enum NotAsJudged {
    Refused(Refusal),
    Nowhere(SessionError),
}

impl From<Refusal> for NotAsJudged {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<SessionError> for NotAsJudged {
    fn from(error: SessionError) -> Self {
        Self::Nowhere(error)
    }
}

fn question(request: &CommandRequest, standing: &Standing, verdict: &Verdict) -> Question {
    Question {
        kind: QuestionKind::Run,
        id: String::new(),
        on: None,
        command: request.command.to_text(),
        directory: standing.path.clone(),
        real_directory: standing.real.clone(),
        environment: asked_variables(request),
        input: asked_input(request),
        verdict: verdict.clone(),
    }
}

/// The variables of a call that a question shows.
fn asked_variables(request: &CommandRequest) -> Vec<(String, String)> {
    let asked = |(name, _): &(&String, &ByteString)| !request.unasked.contains(*name);
    let shown = |(name, value): (&String, &ByteString)| (name.clone(), value.to_text());
    request.environment.variables().iter().filter(asked).map(shown).collect()
}

/// The input that a question shows.
fn asked_input(request: &CommandRequest) -> Option<String> {
    if let CommandInput::Text(text) = &request.input { Some(text.to_text()) } else { None }
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
    bound: Bound,
    reviewers: &Reviewers<'_>,
    session: &Session,
) -> Result<(), Refusal> {
    let consents = reviewers.consents;
    if session.has_agreed(bound) {
        return Ok(());
    }
    if let Some((id, answer)) = &request.consent {
        if !consents.redeem(id, bound) {
            let why = "the consent is not for this command as it would run now, was used before, or has expired";
            return Err(Refusal::new(why));
        }
        return accept(*answer, bound, &question, session);
    }
    let whose = Whose { session: session.name(), owner: reviewers.owner };
    let asked = if request.asks_later {
        None
    } else {
        consent::ask(reviewers.desk, request.approver.as_ref(), &question, whose).await
    };
    let Some(answer) = asked else {
        question.id = consents.offer(bound);
        let refusal = Refusal::by(&question.verdict, " There is nobody here who could be asked, so it was not run.");
        return Err(Refusal { question: Some(Box::new(question)), ..refusal });
    };
    match answer {
        Ok(answer) => accept(answer, bound, &question, session),
        Err(why) => Err(undecided(&question, &format!("the question could not be answered: {why}"))),
    }
}

/// The refusal of a command about which nobody decided. The one who asks for it can still do something.
fn undecided(question: &Question, why: &str) -> Refusal {
    let refusal = Refusal::by(&question.verdict, "");
    let reason = format!(
        "nobody decided ({why}), so it was not run. {}\nThis is not a refusal by a person: tell them what you want to run \
         and why, and call again once they agree, or find a way that needs no consent.",
        refusal.reason
    );
    Refusal { reason, ..refusal }
}

fn accept(answer: Answer, bound: Bound, question: &Question, session: &Session) -> Result<(), Refusal> {
    match answer {
        Answer::Once => {}
        Answer::Session => session.agree(bound),
        Answer::No => {
            let refusal = Refusal::by(&question.verdict, "");
            return Err(Refusal { reason: format!("a person said no. {}", refusal.reason), ..refusal });
        }
        Answer::Undecided => return Err(undecided(question, "the question was closed without an answer")),
    }
    Ok(())
}
