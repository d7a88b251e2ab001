//! What the guard says about a command.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::needs::{Loss, Needs};
use crate::rules::Rule;
use chiton_shell::tree::Span;

/// The decision about a command, from the mildest to the sternest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It may run.
    #[default]
    Allow,
    /// A person has to agree first.
    Ask,
    /// It does not run.
    Deny,
}

impl Decision {
    /// As one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// Everything the guard has to say about a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The decision: that of the worst finding.
    #[serde(rename = "verdict")]
    pub decision: Decision,
    /// The rule that decided.
    pub rule: Option<String>,
    /// Why, in one sentence.
    pub reason: String,
    /// The place in the command that decided.
    pub span: Option<Span>,
    /// What would be acted upon, after everything is expanded.
    pub target: Option<String>,
    /// What would be allowed instead.
    pub alternative: Option<String>,
    /// How a person allows it, where one can.
    pub permit: Option<String>,
    /// Everything that was found, worst first.
    pub findings: Vec<Finding>,
    /// Every simple command, in the order in which it would be reached.
    pub commands: Vec<SeenCommand>,
    /// Files that redirections would touch.
    pub files: Vec<TouchedFile>,
    /// Commands that are known to wait for a person.
    pub waits: Vec<WaitingCommand>,
    /// What of the session and of the machine it depends on.
    #[serde(skip)]
    pub rests_on: RestsOn,
    /// What it deletes by name, whether anything speaks against that or not.
    #[serde(skip)]
    pub removes: Vec<Loss>,
}

/// What a verdict depends on besides the text: if one of these changes, the command has to be judged again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestsOn {
    /// Variables of the session that were looked up.
    pub variables: BTreeSet<String>,
    /// Functions and aliases of the session that were looked up and exist.
    pub functions: BTreeSet<String>,
    /// Files whose content was judged.
    pub files: BTreeSet<PathBuf>,
}

impl Verdict {
    /// What to say when the command is not run, in two lines: what would happen and by which rule; then how to go on,
    /// and how a person allows it.
    pub fn refusal(&self) -> String {
        let rule = self.rule.as_ref().map(|rule| format!(" [{rule}]")).unwrap_or_default();
        let before = match self.decision {
            Decision::Deny => "This command was blocked as dangerous",
            _ => "This command needs the consent of a person",
        };
        let ways: Vec<String> = self.alternative.iter().cloned().chain(self.way_for_a_person()).collect();
        let second = if ways.is_empty() { String::new() } else { format!("\n{}", ways.join(" ")) };
        format!("{before}: {}{rule}{second}", self.reason)
    }

    /// How a person allows it, in one sentence.
    fn way_for_a_person(&self) -> Option<String> {
        match (self.decision, &self.permit) {
            (Decision::Allow, _) => None,
            (Decision::Deny, _) => {
                Some("No setting allows it; a person can run it in a terminal of their own.".to_owned())
            }
            (Decision::Ask, _) if self.rule.as_deref() == Some("syntax") => None,
            (Decision::Ask, Some(line)) => {
                Some(format!("A person can allow it in a client that can ask, or with {line} in the settings."))
            }
            (Decision::Ask, None) => Some("A person can allow it in a client that can ask.".to_owned()),
        }
    }
}

/// One thing that speaks against a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How grave it is.
    pub decision: Decision,
    /// The rule.
    pub rule: String,
    /// Why, in one sentence.
    pub reason: String,
    /// The place in the command.
    pub span: Span,
    /// What would be acted upon.
    pub target: Option<String>,
    /// What would be allowed instead.
    pub alternative: Option<String>,
    /// How a person allows it, where one can.
    pub permit: Option<String>,
    /// What would have to be reached for it to come true, where a sandbox could keep that away.
    #[serde(skip)]
    pub needs: Option<Needs>,
}

impl Finding {
    pub(crate) fn new(rule: &Rule, decision: Decision, reason: String, span: Span, target: Option<String>) -> Self {
        let alternative = (!rule.instead.is_empty()).then(|| rule.instead.to_owned());
        Self { decision, rule: rule.id.to_owned(), reason, span, target, alternative, permit: None, needs: None }
    }

    /// The same, with another way to go on.
    #[must_use]
    pub(crate) fn with_alternative(mut self, alternative: &str) -> Self {
        self.alternative = Some(alternative.to_owned());
        self
    }

    /// The same, and comes true only where this can be reached.
    #[must_use]
    pub(crate) fn where_reached(mut self, needs: Option<Needs>) -> Self {
        self.needs = needs;
        self
    }

    /// Whether it counts for a script or a function that nobody calls here: not where only its arguments, or what it
    /// finds, decide.
    pub(crate) fn counts_in_a_script(&self) -> bool {
        self.decision == Decision::Deny
            || !matches!(self.rule.as_str(), "delete-unknown" | "unknown-run" | "permissions" | "disk")
    }
}

/// A simple command that was found anywhere in the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeenCommand {
    /// Its words after expansion; what is not known stands as `${NAME}`, `$(…)` and the like.
    pub words: Vec<String>,
    /// Variables that are set for it alone.
    pub assignments: Vec<(String, String)>,
    /// Its redirections.
    pub redirections: Vec<SeenRedirection>,
    /// Where it stands.
    pub span: Span,
    /// Whether every word is known.
    pub decided: bool,
}

/// A redirection of a simple command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeenRedirection {
    /// The operator.
    pub operator: &'static str,
    /// What it points at.
    pub target: String,
}

/// A file that a redirection touches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TouchedFile {
    /// Its path, absolute as far as that is known.
    pub path: String,
    /// What happens to it.
    pub access: Access,
    /// The place of the redirection.
    pub span: Span,
}

/// What a redirection does to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// It is read.
    Read,
    /// It is replaced.
    Write,
    /// It grows.
    Append,
}

/// A command that is known to wait for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitingCommand {
    /// The program.
    pub program: String,
    /// What it waits for, and what to do instead.
    pub hint: String,
    /// Where it stands.
    pub span: Span,
}
