//! Every row of the guard's corpus is a test, `class::id`, and so is every disguise over all rows that are not allowed.
//! Nothing here runs a command of the corpus.
//!
//! 1. Each test judges its command, notes the result in the tally and compares verdict and rule.
//! 2. A run of all tests ends with the tally: misses and false alarms by class. It is also in [`TALLY`], for
//!    `cargo xtask test` to show at its end.

mod guard_cases;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use chiton_guard::{Context, Decision, Verdict, judge};
use guard_cases::{Case, cases};
use libtest_mimic::{Arguments, Failed, Trial};

/// Where the tally of the last run of all tests is.
const TALLY: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/guard-corpus.txt");

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    let runs_all = arguments.filter.is_none() && arguments.skip.is_empty() && !arguments.ignored;
    // Thousands of lines that say `ok` would bury what the other tests print.
    if runs_all && !arguments.list && arguments.format.is_none() {
        arguments.quiet = true;
    }

    let tally = Arc::new(Mutex::new(Tally::default()));
    let cases: Arc<[Case]> = cases().into();
    let rows = (0..cases.len()).map(|index| row(index, &cases, &tally));
    let disguises = DISGUISES.iter().map(|disguise| disguise_test(disguise, &cases));
    let conclusion = libtest_mimic::run(&arguments, rows.chain(disguises).collect());

    if runs_all && !arguments.list && arguments.logfile.is_none() {
        let report = tally.lock().unwrap_or_else(PoisonError::into_inner).report();
        print!("{report}");
        if let Err(error) = fs::write(TALLY, report) {
            eprintln!("{TALLY}: {error}");
        }
    }
    conclusion.exit_code()
}

fn context() -> Context {
    Context::new("/home/dev", "dev", "/home/dev/project")
}

/// The test of one row.
fn row(index: usize, cases: &Arc<[Case]>, tally: &Arc<Mutex<Tally>>) -> Trial {
    let (cases, tally) = (Arc::clone(cases), Arc::clone(tally));
    let name = format!("{}::{}", cases[index].class, cases[index].id);
    Trial::test(name, move || {
        let case = &cases[index];
        let verdict = judge(&case.command, &context());
        let outcome = Outcome::of(case, &verdict);
        tally.lock().unwrap_or_else(PoisonError::into_inner).note(&case.class, outcome);

        match outcome {
            Outcome::Right => Ok(()),
            _ => Err(difference(case, &verdict).into()),
        }
    })
}

/// How a verdict compares with what is expected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Right,
    /// Milder than expected.
    Missed,
    /// Sterner than expected.
    FalseAlarm,
    /// As stern as expected, by another rule.
    WrongRule,
}

impl Outcome {
    fn of(case: &Case, verdict: &Verdict) -> Self {
        match verdict.decision.cmp(&case.expected) {
            Ordering::Less => Self::Missed,
            Ordering::Greater => Self::FalseAlarm,
            Ordering::Equal if verdict.rule != case.rule => Self::WrongRule,
            Ordering::Equal => Self::Right,
        }
    }
}

fn difference(case: &Case, verdict: &Verdict) -> String {
    format!(
        "command:  {:?}\nexpected: {}\nactual:   {}: {}",
        case.command,
        said(case.expected, case.rule.as_deref()),
        said(verdict.decision, verdict.rule.as_deref()),
        verdict.reason
    )
}

fn said(decision: Decision, rule: Option<&str>) -> String {
    let rule = rule.map(|rule| format!(" by {rule}")).unwrap_or_default();
    format!("{}{rule}", decision.as_str())
}

/// How many rows of each class there were, and how many went wrong in which way.
#[derive(Default)]
struct Tally(BTreeMap<String, Counts>);

#[derive(Default)]
struct Counts {
    cases: usize,
    missed: usize,
    alarmed: usize,
    misnamed: usize,
}

impl Tally {
    fn note(&mut self, class: &str, outcome: Outcome) {
        let counts = self.0.entry(class.to_owned()).or_default();
        counts.cases += 1;
        match outcome {
            Outcome::Right => {}
            Outcome::Missed => counts.missed += 1,
            Outcome::FalseAlarm => counts.alarmed += 1,
            Outcome::WrongRule => counts.misnamed += 1,
        }
    }

    fn report(&self) -> String {
        let mut report =
            format!("{:<17} {:>5} {:>6} {:>12} {:>11}\n", "class", "cases", "misses", "false alarms", "wrong rules");
        for (class, Counts { cases, missed, alarmed, misnamed }) in &self.0 {
            report += &format!("{class:<17} {cases:>5} {missed:>6} {alarmed:>12} {misnamed:>11}\n");
        }
        report
    }
}

/// A way to wrap a command that must not weaken its verdict.
struct Disguise {
    name: &'static str,
    wrap: fn(&str) -> String,
}

const DISGUISES: [Disguise; 8] = [
    Disguise { name: "at_the_end_of_200_commands", wrap: |command| format!("{}\n{command}", "echo one; ".repeat(200)) },
    Disguise { name: "inside_bash_c", wrap: |command| format!("bash -c {}", quoted(command)) },
    Disguise {
        name: "behind_sudo_env_and_bash_c",
        wrap: |command| format!("sudo -u dev env A=1 bash -c {}", quoted(command)),
    },
    Disguise { name: "in_a_function", wrap: |command| format!("f() {{\n{command}\n}}\nf") },
    Disguise { name: "in_a_substitution", wrap: |command| format!("echo \"$(\n{command}\n)\"") },
    Disguise { name: "in_a_subshell_in_a_condition", wrap: |command| format!("if true; then (\n{command}\n); fi") },
    Disguise { name: "through_eval", wrap: |command| format!("eval {}", quoted(command)) },
    Disguise { name: "through_a_here_string", wrap: |command| format!("sh <<< {}", quoted(command)) },
];

/// Text in single quotes.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The test of one disguise over all rows that are not allowed.
fn disguise_test(disguise: &'static Disguise, cases: &Arc<[Case]>) -> Trial {
    let cases = Arc::clone(cases);
    Trial::test(format!("disguise::{}", disguise.name), move || {
        let suspicious = cases.iter().filter(|case| case.expected != Decision::Allow);
        let weaker: Vec<String> = suspicious.filter_map(|case| weakened(case, disguise)).collect();
        if weaker.is_empty() {
            return Ok(());
        }

        Err(Failed::from(format!("{} weaker verdicts:\n{}", weaker.len(), weaker.join("\n"))))
    })
}

/// Says so when the verdict on a disguised command is milder than that on the plain one.
fn weakened(case: &Case, disguise: &Disguise) -> Option<String> {
    let verdict = judge((disguise.wrap)(&case.command), &context());
    // A command that ends a disguise early leaves text that does not parse, which is never allowed.
    let unparsed = verdict.rule.as_deref() == Some("syntax") && verdict.decision == Decision::Ask;
    if verdict.decision >= case.expected || unparsed {
        return None;
    }

    let (said, expected) = (verdict.decision.as_str(), case.expected.as_str());
    Some(format!("{}::{} {:?}: {said} instead of {expected}", case.class, case.id, case.command))
}
