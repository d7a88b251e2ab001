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
pub(crate) mod links;
pub(crate) mod parameter;
pub(crate) mod plumbing;
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
use crate::machine::state::{LookedUp, World, Worlds};
use crate::needs::{Loss, LossBy, Needs};
use crate::protected::{self, Places};
use crate::value::path::{self, Extent, Target};
use crate::value::{Flow, Text};
use crate::verdict::{Decision, Finding, RestsOn, SeenCommand, TouchedFile, WaitingCommand};

/// How many simple commands one verdict examines, counted each time they are reached. Everyday commands need ten.
const MOST_STEPS: usize = 20_000;
/// How many bytes of text one verdict makes: what words become, what commands print, what variables hold. A command
/// with a file in a here document needs a few times its own length, which is at most a megabyte.
const MOST_BYTES: usize = 8 << 20;
/// Findings that are kept. Whoever reads the first ten has seen enough.
pub(crate) const MOST_FINDINGS: usize = 200;
/// How deep functions, nested shells and wrappers may call each other.
pub(crate) const DEEPEST_CALLS: usize = 24;

/// How deep lists may nest in all, through functions and nested shells too. The stack of a thread is two megabytes.
const DEEPEST_LISTS: usize = 90;

/// What came of running something.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ran {
    pub(crate) success: Worlds,
    pub(crate) failure: Worlds,
    /// What it prints.
    pub(crate) flow: Flow,
    /// What it prints on the descriptor for errors, where that is known to be something.
    pub(crate) errors: Option<Box<Flow>>,
}

impl Ran {
    /// It may succeed or fail, and either way things stand like this.
    pub(crate) fn same(world: World, flow: Flow) -> Self {
        Self { success: Worlds::one(world.clone()), failure: Worlds::one(world), flow, errors: None }
    }

    /// It succeeds, and then things stand like this.
    pub(crate) fn succeeded(world: World, flow: Flow) -> Self {
        Self { success: Worlds::one(world), failure: Worlds::default(), flow, errors: None }
    }

    fn add_errors(&mut self, flow: &Flow) {
        let before = self.errors.take().map_or_else(Flow::empty, |errors| *errors);
        let both = before.then(flow);
        self.errors = (both != Flow::empty()).then(|| Box::new(both));
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
        if let Some(errors) = other.errors {
            self.add_errors(&errors);
        }
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
    /// What the command deletes by name.
    pub(crate) removes: Vec<Loss>,
    /// What the command itself has written to files.
    pub(crate) files: HashMap<String, Flow>,
    /// Processes that run beside the shell.
    pub(crate) processes: Vec<plumbing::Process>,
    /// Directories that the command has made.
    pub(crate) directories: BTreeSet<String>,
    /// Named pipes that the command has made.
    pub(crate) pipes: BTreeSet<String>,
    /// Files that were read before anything was known of them, by a process beside the shell or through a named pipe.
    pub(crate) awaited: BTreeSet<String>,
    /// Links, copies and mounts that the command has made.
    pub(crate) links: links::Links,
    /// What the verdict depends on besides the text.
    pub(crate) rests_on: RestsOn,
    looked_up: LookedUp,
    /// Variables that may or may not be set, where that made a difference.
    pub(crate) undecided: BTreeSet<String>,
    /// The last program that printed credentials, and where it stands.
    pub(crate) kept: Option<(String, Span)>,
    /// Files with credentials that it reads.
    secret_files: BTreeSet<String>,
    pub(crate) frames: Vec<Frame>,
    /// Functions that were defined, and whether they were called.
    pub(crate) defined: Vec<(String, std::sync::Arc<Command>, bool)>,
    /// The outermost text, for aliases.
    pub(crate) source: &'a [u8],
    steps: usize,
    bytes: usize,
    depth: usize,
    nesting: Nesting,
    /// Where what the program at hand starts would run.
    runs: Place,
    /// Where the text at hand would run.
    at: Place,
    pub(crate) exhausted: bool,
}

/// Whose files a path means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// Those that the command itself sees.
    #[default]
    Here,
    /// Perhaps those of another machine, of a container, or of a process that is not a child of the command.
    Elsewhere,
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
            removes: Vec::new(),
            files: HashMap::new(),
            processes: Vec::new(),
            directories: BTreeSet::new(),
            pipes: BTreeSet::new(),
            awaited: BTreeSet::new(),
            links: links::Links::default(),
            rests_on: RestsOn::default(),
            looked_up: LookedUp::default(),
            undecided: BTreeSet::new(),
            kept: None,
            secret_files: BTreeSet::new(),
            frames: Vec::new(),
            defined: Vec::new(),
            source,
            steps: 0,
            bytes: 0,
            depth: 0,
            nesting: Nesting::default(),
            runs: Place::Here,
            at: Place::Here,
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
        let resolved = self.through_links(&effect, world);
        let otherwise = self.in_the_other_directory(&effect, world, span);
        let mut found = protected::findings(effect.clone(), &places, world.cwd.as_deref(), &is_written, span);
        if let Some(what) = resolved {
            found.extend(protected::findings(effect.on(&what), &places, None, &is_written, span));
        }
        found.extend(otherwise);

        self.add_findings(found);
    }

    fn add_findings(&mut self, found: Vec<Finding>) {
        for mut finding in found {
            // What is within reach of the command says nothing about another machine.
            if self.at == Place::Elsewhere {
                finding.needs = None;
            }
            if !self.findings.contains(&finding) && self.findings.len() < MOST_FINDINGS {
                self.findings.push(finding);
            }
        }
    }

    /// What speaks against deleting everything here, if here is still where it was because changing the directory failed.
    fn in_the_other_directory(&self, effect: &Effect<'_>, world: &World, span: Span) -> Vec<Finding> {
        let (Some(directory), Effect::Delete { what, depth, .. }) = (&world.otherwise_at, effect) else {
            return Vec::new();
        };
        let sweeps = |target: &Target| match target {
            Target::At { path, extent, doubtful: false } => {
                path == directory && (*extent == Extent::Everything || *depth != Depth::Entry)
            }
            _ => false,
        };
        if !path::targets(what, Some(directory)).iter().any(sweeps) || what.known_start().starts_with('/') {
            return Vec::new();
        }
        let mut found = protected::findings(effect.clone(), &self.places(), Some(directory), &|_| false, span);
        for finding in &mut found {
            finding.decision = finding.decision.min(Decision::Ask);
            finding.reason = format!("If the directory cannot be entered: {}", finding.reason);
        }
        found
    }

    /// Notes an effect that needs no file to be judged.
    pub(crate) fn state(&mut self, kind: Kind, reason: impl Into<String>, span: Span, target: Option<String>) {
        self.state_where(None, kind, reason, span, target);
    }

    /// The same, for what happens only where something can be reached.
    pub(crate) fn state_where(
        &mut self,
        needs: Option<Needs>,
        kind: Kind,
        reason: impl Into<String>,
        span: Span,
        target: Option<String>,
    ) {
        let effect = Effect::Of { kind, reason: reason.into(), target, needs };
        let places = self.places();

        let found = protected::findings(effect, &places, None, &|_| false, span);
        self.add_findings(found);
    }

    /// The same, with the way to go on that fits it.
    pub(crate) fn state_with(&mut self, kind: Kind, reason: impl Into<String>, span: Span, instead: &str) {
        let before = self.findings.len();
        self.state(kind, reason, span, None);
        for finding in self.findings.iter_mut().skip(before) {
            finding.alternative = Some(instead.to_owned());
        }
    }

    /// Does `what` as a program that runs what it is given there.
    pub(crate) fn starting<T>(&mut self, there: Place, what: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.runs, there);
        let done = what(self);
        self.runs = before;
        done
    }

    /// Does `what`, which a program has started.
    pub(crate) fn started<T>(&mut self, what: impl FnOnce(&mut Self) -> T) -> T {
        let (at, runs) = (self.at, self.runs);
        // Whatever is started elsewhere stays there.
        if runs == Place::Elsewhere {
            self.at = Place::Elsewhere;
        }
        self.runs = Place::Here;
        let done = what(self);
        (self.at, self.runs) = (at, runs);
        done
    }

    /// Does `what`; whatever speaks against it is told with this way to go on.
    pub(crate) fn instead(&mut self, instead: &str, what: impl FnOnce(&mut Self)) {
        let before = self.findings.len();
        what(self);
        for finding in self.findings.iter_mut().skip(before) {
            finding.alternative = Some(instead.to_owned());
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
            if self.at == Place::Here && self.removes.len() < MOST_FINDINGS {
                self.removes.push(Loss::removed(path, depth != Depth::Entry));
            }
        }
    }

    /// Does `what`, which overwrites what it is said to delete.
    pub(crate) fn overwriting(&mut self, what: impl FnOnce(&mut Self)) {
        let before = self.findings.len();
        what(self);
        for finding in self.findings.iter_mut().skip(before) {
            if let Some(Needs::Lose(losses)) = &mut finding.needs {
                for loss in losses {
                    loss.by = LossBy::Writing;
                }
            }
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

    /// The world in which the command starts.
    pub(crate) fn first_world(&self) -> World {
        World::first(self.context, Rc::clone(&self.looked_up))
    }

    /// What the verdict depends on besides the text, in all.
    pub(crate) fn rested_on(&mut self) -> RestsOn {
        let mut rests_on = std::mem::take(&mut self.rests_on);
        rests_on.variables = self.looked_up.take();
        rests_on
    }

    /// Counts text that was made; false when there was too much.
    pub(crate) fn created(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MOST_BYTES && !self.exhausted {
            self.exhausted = true;
            let reason = "The command makes more text than is examined.".to_owned();
            self.state(Kind::Unexamined, reason, self.here(), None);
        }
        !self.exhausted
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
