//! A shell that runs nothing: it goes through a command as bash would and reports what the command would do.
//!
//! It knows syntax and effects, and no program by its name. [`walk`] follows lists and compound commands, [`command`]
//! simple ones; [`expand`], [`parameter`], [`arithmetic`] and [`brace`] make words of them. What a program does is asked
//! of whoever made the machine ([`Machine::new`]); what speaks against an effect is asked of [`crate::protected`].

pub(crate) mod address;
pub(crate) mod arithmetic;
pub(crate) mod brace;
pub(crate) mod command;
pub(crate) mod expand;
pub(crate) mod forks;
pub(crate) mod parameter;
mod running;
pub(crate) mod state;
mod walk;

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use chiton_shell::tree::{Command, Span};

use crate::context::Context;
use crate::effect::{Certainty, Depth, Effect, Kind, Writing};
use crate::machine::command::Call;
use crate::machine::state::{World, Worlds};
use crate::protected::{self, Places};
use crate::value::path;
use crate::value::{Flow, Text};
use crate::verdict::{Decision, Finding, SeenCommand, TouchedFile, WaitingCommand};

/// How many simple commands one verdict examines, counted each time they are reached. Everyday commands need ten.
const MOST_STEPS: usize = 20_000;
/// Findings that are kept. Whoever reads the first ten has seen enough.
const MOST_FINDINGS: usize = 200;
/// How deep functions, nested shells and wrappers may call each other.
pub(crate) const DEEPEST_CALLS: usize = 24;

/// How deep lists may nest in all, through functions and nested shells too. The stack of a thread is two megabytes.
const DEEPEST_LISTS: usize = 90;

/// What came of running something.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ran {
    pub(crate) success: Worlds,
    pub(crate) failure: Worlds,
    pub(crate) flow: Flow,
}

impl Ran {
    /// It may succeed or fail, and either way things stand like this.
    pub(crate) fn same(world: World, flow: Flow) -> Self {
        Self { success: Worlds::one(world.clone()), failure: Worlds::one(world), flow }
    }

    /// It succeeds, and then things stand like this.
    pub(crate) fn succeeded(world: World, flow: Flow) -> Self {
        Self { success: Worlds::one(world), failure: Worlds::default(), flow }
    }

    fn all(self) -> Worlds {
        let mut worlds = self.success;
        worlds.merge(self.failure);
        worlds
    }

    /// How things may stand when the next command is reached. A way on which something failed counts only if it
    /// knows something that the others do not: `mkdir x && D=x; rm -r $D` is about the D that was set.
    fn remaining(self) -> Worlds {
        let mut worlds = self.success;
        for world in self.failure.0 {
            if !worlds.0.iter().any(|other| world.says_less_than(other)) {
                worlds.add(world);
            }
        }
        worlds
    }

    fn merge(&mut self, other: Self) {
        self.success.merge(other.success);
        self.failure.merge(other.failure);
        self.flow = std::mem::take(&mut self.flow).or(&other.flow);
    }
}

/// A function or script that the machine is in.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) name: String,
    /// Where it was called.
    nesting: Nesting,
    /// How often it has called itself.
    again: usize,
}

/// What surrounds the command that the machine is at: how many of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Nesting {
    background: usize,
    pipes: usize,
    substitutions: usize,
    conditional: usize,
}

/// What the machine does not know itself.
#[derive(Clone, Copy)]
pub(crate) struct Knowledge {
    /// What comes of calling a program.
    pub(crate) program: fn(&mut Machine<'_>, &Call, World) -> Ran,
    /// What setting a variable does to the programs after it.
    pub(crate) variable: fn(&mut Machine<'_>, &str, &Text, Span, Lasting),
}

/// How long a variable stays set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lasting {
    /// For the commands after it.
    Stays,
    /// For one command.
    OneCommand,
}

pub(crate) struct Machine<'a> {
    pub(crate) context: &'a Context,
    knowledge: Knowledge,
    places: OnceCell<Rc<Places>>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) seen: Vec<SeenCommand>,
    pub(crate) touched: Vec<TouchedFile>,
    pub(crate) waits: Vec<WaitingCommand>,
    /// What the command itself has written to files.
    pub(crate) files: HashMap<String, Flow>,
    /// Variables that may or may not be set, where that made a difference.
    pub(crate) undecided: BTreeSet<String>,
    pub(crate) frames: Vec<Frame>,
    /// Functions that were defined, and whether they were called.
    pub(crate) defined: Vec<(String, std::sync::Arc<Command>, bool)>,
    /// The outermost text, for aliases.
    pub(crate) source: &'a [u8],
    steps: usize,
    depth: usize,
    nesting: Nesting,
    pub(crate) exhausted: bool,
}

impl<'a> Machine<'a> {
    /// A machine that asks `knowledge` what programs and variables do.
    pub(crate) fn new(context: &'a Context, source: &'a [u8], knowledge: Knowledge) -> Self {
        Self {
            context,
            knowledge,
            places: OnceCell::new(),
            findings: Vec::new(),
            seen: Vec::new(),
            touched: Vec::new(),
            waits: Vec::new(),
            files: HashMap::new(),
            undecided: BTreeSet::new(),
            frames: Vec::new(),
            defined: Vec::new(),
            source,
            steps: 0,
            depth: 0,
            nesting: Nesting::default(),
            exhausted: false,
        }
    }

    /// The places that matter.
    pub(crate) fn places(&self) -> Rc<Places> {
        Rc::clone(self.places.get_or_init(|| Rc::new(Places::new(self.context))))
    }

    /// Notes what the command would do, and with it whatever speaks against that.
    pub(crate) fn does(&mut self, effect: Effect<'_>, world: &World, span: Span) {
        let places = self.places();
        let is_written = |path: &str| self.files.contains_key(path);
        let found = protected::findings(effect, &places, world.cwd.as_deref(), &is_written, span);

        for finding in found {
            if !self.findings.contains(&finding) && self.findings.len() < MOST_FINDINGS {
                self.findings.push(finding);
            }
        }
    }

    /// Notes an effect that needs no file to be judged.
    pub(crate) fn state(&mut self, kind: Kind, reason: impl Into<String>, span: Span, target: Option<String>) {
        let effect = Effect::Of { kind, reason: reason.into(), target };
        let places = self.places();

        for finding in protected::findings(effect, &places, None, &|_| false, span) {
            if !self.findings.contains(&finding) && self.findings.len() < MOST_FINDINGS {
                self.findings.push(finding);
            }
        }
    }

    /// Does `what`; whatever speaks against it is asked about at most.
    pub(crate) fn asking_at_most(&mut self, what: impl FnOnce(&mut Self)) {
        let before = self.findings.len();
        what(self);
        for finding in self.findings.iter_mut().skip(before) {
            finding.decision = finding.decision.min(Decision::Ask);
        }
    }

    /// Does `what`, which asks on the terminal before each step: nobody has to be asked twice.
    pub(crate) fn confirming(&mut self, what: impl FnOnce(&mut Self)) {
        let before = self.findings.len();
        what(self);
        let found = self.findings.split_off(before);
        self.findings.extend(found.into_iter().filter(|finding| finding.decision == Decision::Deny));
    }

    /// Notes that `what` would be deleted.
    pub(crate) fn deletes(&mut self, doing: &str, what: &Text, depth: Depth, world: &World, span: Span) {
        self.does(Effect::Delete { what, depth, certainty: Certainty::Would, doing }, world, span);
        if let Some(path) = what.as_known().and_then(|known| path::absolute(&known, world.cwd.as_deref())) {
            self.files.remove(&path);
        }
    }

    /// Notes that `what` would go to another place.
    pub(crate) fn moves(&mut self, doing: &str, what: &Text, world: &World, span: Span) {
        self.does(Effect::Move { what, doing }, world, span);
        if let Some(path) = what.as_known().and_then(|known| path::absolute(&known, world.cwd.as_deref())) {
            self.files.remove(&path);
        }
    }

    /// Notes that `what` would be written.
    pub(crate) fn writes(&mut self, doing: &str, what: &Text, writing: Writing, world: &World, span: Span) {
        self.does(Effect::Write { what, writing, certainty: Certainty::Would, doing }, world, span);
    }

    /// Judges a variable that is set.
    pub(crate) fn judge_variable(&mut self, name: &str, value: &Text, span: Span, lasting: Lasting) {
        (self.knowledge.variable)(self, name, value, span, lasting);
    }

    /// Counts one more command; false when there were too many.
    pub(crate) fn step(&mut self, span: Span) -> bool {
        self.steps += 1;
        if self.steps > MOST_STEPS && !self.exhausted {
            self.exhausted = true;
            let reason = "The command runs through more steps than are examined.".to_owned();
            self.state(Kind::Unexamined, reason, span, None);
        }
        !self.exhausted
    }
}
