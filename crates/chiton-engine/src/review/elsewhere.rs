//! Whether a command may be sent to another machine: the same policy, the same people, what that machine told of itself.

use chiton_guard::{Context, Decision, Files, Loss, Mode, Verdict, judge_script, unparsed};
use chiton_terminal::keys::TERM;

use super::{Guard, Refusal, Reviewers, bound, case, consent, dry_run, permission, reaching, syntax};
use crate::consent::{Bound, Question, QuestionKind};
use crate::elsewhere::{Elsewhere, FarFacts, Paths};
use crate::request::{CommandRequest, EnvironmentChange, ParsedCommand};
use crate::session::Session;

/// What came of it.
pub(crate) enum ReviewedElsewhere {
    /// It may be sent.
    Approved {
        /// Whether a person agreed, or a rule of theirs allows what would be asked about.
        agreed: bool,
        /// What the journal says of that.
        verdict: String,
    },
    /// It is only looked at; this is what it would do.
    DryRun(String),
}

/// What the guard says about a command for another machine.
struct JudgedElsewhere {
    verdict: Verdict,
    /// Whether it is a rule of the human that allows what would be asked about otherwise.
    by_rule: bool,
}

impl Guard {
    /// What it says about `command` on another machine, of whose session and files nothing is known but what the machine
    /// told of itself.
    pub fn judge_elsewhere(&self, command: &[u8], change: &EnvironmentChange, facts: &FarFacts) -> Verdict {
        let request = CommandRequest { environment: change.clone(), ..CommandRequest::new(command) };
        self.judged_elsewhere(&chiton_shell::parse(command), &request, change, facts).verdict
    }

    fn judged_elsewhere(
        &self,
        parsed: &ParsedCommand,
        request: &CommandRequest,
        change: &EnvironmentChange,
        facts: &FarFacts,
    ) -> JudgedElsewhere {
        let named = self.judged_by(parsed, request, change, facts, Paths::Named);
        if facts.real_directory == facts.directory {
            return named;
        }
        // A path through a link is what the text says; where it leads is what the command would do.
        let real = self.judged_by(parsed, request, change, facts, Paths::Real);
        if real.verdict.decision > named.verdict.decision { real } else { named }
    }

    fn judged_by(
        &self,
        parsed: &ParsedCommand,
        request: &CommandRequest,
        change: &EnvironmentChange,
        facts: &FarFacts,
        paths: Paths,
    ) -> JudgedElsewhere {
        let set: Vec<(String, String)> =
            change.variables().iter().map(|(name, value)| (name.clone(), value.to_text())).collect();
        let mut context = Context { input: case::input_of(&request.input), ..facts.context(paths) };
        if matches!(change, EnvironmentChange::Replace(_)) {
            context.variables.clear();
            context.replaces_variables = true;
        }
        if request.terminal.is_some() {
            context.variables.insert("TERM".to_owned(), TERM.to_owned());
        }
        context.variables.extend(set.iter().cloned());

        let plain = match parsed {
            Ok(script) => judge_script(script, &request.command, &set, &context),
            Err(error) => unparsed(error),
        };
        let verdict = self.policy.refine(plain.clone(), &context);
        let is_on = self.policy.mode() != Mode::Off;
        let by_rule = is_on && plain.decision == Decision::Ask && verdict.decision == Decision::Allow;
        let verdict = match &facts.boundary {
            Some(boundary) => boundary.lift(verdict, &Unseen),
            None => verdict,
        };
        JudgedElsewhere { verdict, by_rule }
    }
}

/// Files that nobody here can look at. The machine itself looks: where a path leads elsewhere, or is too large to be kept, its
/// guard asks.
struct Unseen;

impl Files for Unseen {
    fn leads_to(&self, path: &str) -> String {
        path.to_owned()
    }

    fn cannot_be_kept(&self, _: &[Loss]) -> Option<String> {
        None
    }
}

/// Judges a request for another machine.
pub(crate) async fn review_elsewhere(
    request: &CommandRequest,
    reviewers: &Reviewers<'_>,
    session: &Session,
    there: &Elsewhere,
) -> Result<ReviewedElsewhere, Refusal> {
    let guard = reviewers.guard;
    let approved = |agreed, verdict: &str| Ok(ReviewedElsewhere::Approved { agreed, verdict: verdict.to_owned() });
    if guard.policy.mode() == Mode::Off && guard.manager.is_none() && !guard.dry_run {
        return approved(false, ALLOWED);
    }

    let facts = match &request.directory {
        Some(directory) => there.facts.clone().in_directory(directory),
        None => there.facts.clone(),
    };
    let change = reaching(&request.environment, reviewers.environment);
    let parsed = chiton_shell::parse(&request.command);
    let JudgedElsewhere { verdict, by_rule } = guard.judged_elsewhere(&parsed, request, &change, &facts);
    if parsed.is_err()
        && syntax::is_rejected_meanwhile(request.shell.as_ref().unwrap_or(reviewers.shell), &request.command).await
    {
        // Nothing of it can run, so there is nothing to decide: the shell there says what is wrong.
        return approved(false, ALLOWED);
    }
    if verdict.decision == Decision::Deny {
        return Err(Refusal::by(&verdict, ""));
    }

    let question = question(request, &facts, there, &verdict);
    let is_permitted = match &guard.manager {
        Some(manager) => permission(&**manager, &question).await?,
        None => false,
    };
    if guard.dry_run {
        return Ok(ReviewedElsewhere::DryRun(dry_run::describe(request, &question)));
    }
    if verdict.decision == Decision::Allow {
        let held = verdict.rule.as_ref().map(|_| format!("{ALLOWED}: {}", verdict.reason));
        return approved(by_rule, held.as_deref().unwrap_or(if by_rule { BY_RULE } else { ALLOWED }));
    }
    if !is_permitted {
        consent(request, question, bound_to(request, &facts, there, &verdict), reviewers, session).await?;
    }
    approved(true, &format!("{ALLOWED}: {} {}", verdict.reason, if is_permitted { PERMITTED } else { AGREED }))
}

const ALLOWED: &str = "allowed";
const BY_RULE: &str = "allowed: by a rule of the settings";
const AGREED: &str = "A person agreed.";
const PERMITTED: &str = "The permission manager agreed.";

fn question(request: &CommandRequest, facts: &FarFacts, there: &Elsewhere, verdict: &Verdict) -> Question {
    Question {
        kind: QuestionKind::Run,
        id: String::new(),
        on: Some(there.target.clone()),
        command: request.command.to_text(),
        directory: facts.directory.clone(),
        real_directory: facts.real_directory.clone(),
        environment: super::asked_variables(request),
        input: super::asked_input(request),
        verdict: verdict.clone(),
    }
}

/// What a consent is bound to: the machine, the command with everything that its call adds, and what the guard made of it.
fn bound_to(request: &CommandRequest, facts: &FarFacts, there: &Elsewhere, verdict: &Verdict) -> Bound {
    bound::bound_elsewhere(request, &there.target, &facts.directory, verdict)
}
