#![doc = include_str!("../README.md")]
//!
//! ## The way of a verdict
//!
//! 1. The command is parsed once, whole ([`chiton_shell`]). Whoever has the parse already hands it in ([`judge_script`]).
//! 2. `machine` goes through it as the shell would, on every way it may take, and expands words as far as the text
//!    decides them.
//! 3. `programs` reduces each program to effects; `protected` compares an effect with the places that matter.
//! 4. The worst finding is the [`Verdict`]: allow, ask or deny, with the rule, the place and the reason.
//!
//! Nothing here looks at the machine it runs on: [`Context`] says all there is to know. What does not parse is never
//! allowed.

mod boundary;
mod context;
mod decode;
mod effect;
mod machine;
mod needs;
pub mod policy;
mod programs;
mod protected;
pub mod rules;
mod snippet;
mod value;
pub mod variables;
mod verdict;

pub use boundary::{Boundary, Files};
pub use context::{Context, Found, Held, Input, OwnPlaces, OwnProcess, Scope, Surroundings, Uncommitted};
pub use needs::{Loss, LossBy, Needs};
pub use policy::{CheckedPolicy, GuardPolicy, HumanRule, Mode, PolicyError, judge_with};
pub use programs::{Example, KnownProgram, programs};
pub use verdict::{
    Access, Decision, Finding, RestsOn, SeenCommand, SeenRedirection, TouchedFile, Verdict, WaitingCommand,
};

use chiton_shell as syntax;
use chiton_shell::tree::{Script, Span};
use machine::state::{World, Worlds};
use machine::{Knowledge, Lasting, Machine};
use value::Text;

const KNOWLEDGE: Knowledge = Knowledge { program: programs::run, variable: programs::judge_variable };

/// Judges `command` as it would run in `context`.
pub fn judge(command: impl AsRef<[u8]>, context: &Context) -> Verdict {
    judge_call(command, &[], context)
}

/// Judges `command` together with the variables that its call sets; these have an empty span. [`Context`] has to hold
/// them too, so that words which use them are known.
pub fn judge_call(command: impl AsRef<[u8]>, environment: &[(String, String)], context: &Context) -> Verdict {
    let command = command.as_ref();
    match syntax::parse(command) {
        Ok(script) => judge_script(&script, command, environment, context),
        Err(error) => unparsed(&error),
    }
}

/// As [`judge_call`], for whoever has parsed the command already: `script` is the parse of `command`.
pub fn judge_script(script: &Script, command: &[u8], environment: &[(String, String)], context: &Context) -> Verdict {
    let mut verdict = judge_parsed(script, command, environment, context);
    policy::fill_permits(&mut verdict, command, context);
    verdict
}

/// Judges `command` without a word on how a person allows it.
fn judge_plainly(command: &[u8], context: &Context) -> Verdict {
    match syntax::parse(command) {
        Ok(script) => judge_parsed(&script, command, &[], context),
        Err(error) => unparsed(&error),
    }
}

fn judge_parsed(script: &Script, command: &[u8], environment: &[(String, String)], context: &Context) -> Verdict {
    let mut judge = Machine::new(context, command, KNOWLEDGE);
    for (name, value) in environment {
        judge.judge_variable(name, &Text::known(value.clone()), Span::default(), Lasting::OneCommand);
    }
    judge.state_what_is_uncertain(script);
    let world = judge.first_world();
    let shown = judge.list(&script.list, Worlds::one(world.clone())).flow;
    judge.reveals_output(&shown, Span::default());
    judge.awaited_files(script, &world);
    judge.uncalled_functions(&world);
    judge.finish()
}

/// A command that cannot be parsed does not run until somebody has looked at it.
pub fn unparsed(error: &syntax::SyntaxError) -> Verdict {
    let reason = format!("The command cannot be parsed: {error}.");
    let finding = Finding::new(&rules::SYNTAX, Decision::Ask, reason, error.span, None);
    conclude(vec![finding], Vec::new(), Vec::new(), Vec::new())
}

impl Machine<'_> {
    /// Bash may run something that the tree of `script` does not show: then somebody has to look at it.
    pub(crate) fn state_what_is_uncertain(&mut self, script: &Script) {
        if let Some(uncertain) = script.places.uncertain() {
            let reason = format!("The command cannot be read for certain: {}.", uncertain.why);
            self.state(effect::Kind::Unexamined, reason, uncertain.span, None);
        }
    }

    /// A function that is defined and not called may be called by the next command: what it does by itself counts,
    /// what its arguments decide does not.
    fn uncalled_functions(&mut self, world: &World) {
        let uncalled: Vec<_> =
            self.defined.iter().filter(|(_, _, called)| !called).map(|(_, body, _)| body.clone()).collect();
        for body in uncalled {
            let before = self.findings.len();
            let mut inside = world.clone();
            inside.positional = None;
            self.command(&body, Worlds::one(inside));
            let mut index = 0;
            self.findings.retain(|finding| {
                index += 1;
                index <= before || finding.counts_in_a_script()
            });
        }
    }

    /// What was read before it was written, by a process beside the shell or through a named pipe, is known now: the
    /// command is gone through once more with that.
    fn awaited_files(&mut self, script: &Script, world: &World) {
        if self.awaited.is_empty() {
            return;
        }
        let awaited: Vec<String> = std::mem::take(&mut self.awaited).into_iter().collect();
        if !awaited.iter().any(|path| self.files.contains_key(path)) {
            return;
        }
        self.files.retain(|path, _| awaited.contains(path));
        let touched = self.touched.len();
        self.list(&script.list, Worlds::one(world.clone()));
        self.touched.truncate(touched);
    }

    fn finish(mut self) -> Verdict {
        let rests_on = self.rested_on();
        let removes = std::mem::take(&mut self.removes);
        Verdict { rests_on, removes, ..conclude(self.findings, self.seen, self.touched, self.waits) }
    }
}

fn conclude(
    mut findings: Vec<Finding>,
    commands: Vec<SeenCommand>,
    files: Vec<TouchedFile>,
    waits: Vec<WaitingCommand>,
) -> Verdict {
    // Of two that are as grave, what happens to credentials says more than that they are read.
    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.decision), finding.rule == rules::CREDENTIALS.id));
    let worst = findings.first().cloned();
    let mut verdict = Verdict { findings, commands, files, waits, ..Verdict::default() };
    match worst {
        Some(worst) => {
            verdict.decision = worst.decision;
            verdict.rule = Some(worst.rule);
            verdict.reason = worst.reason;
            verdict.span = Some(worst.span);
            verdict.target = worst.target;
            verdict.alternative = worst.alternative;
            verdict.permit = policy::permit_of(&verdict.findings);
        }
        None => "Nothing speaks against it.".clone_into(&mut verdict.reason),
    }
    verdict
}
