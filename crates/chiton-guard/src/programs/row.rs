//! A program as a row: its names, how it reads options, what it does and when, what it prints, whether it waits for a
//! person, and calls of it with their verdicts, which are its test.
//!
//! What a row cannot say, a function beside it does ([`Program::custom`]).

use std::borrow::Cow;
use std::cell::OnceCell;

use crate::effect::{Depth, Effect, Kind, Writing};
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::value::{Arg, Flow, Labels};
use crate::machine::{Machine, Ran};
use crate::programs::options::{Grammar, Options};
use crate::verdict::Decision;

/// One program, or several that behave alike.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    /// Its names; a trailing `*` stands for any rest.
    pub(crate) names: &'static [&'static str],
    /// How it reads its options.
    pub(crate) grammar: Grammar,
    /// What it does, and when. Everything whose condition holds counts.
    pub(crate) effects: &'static [On],
    /// Which command its arguments are, where it runs one and is as good as that.
    pub(crate) runs: Runs,
    /// What it prints, where it does not run one.
    pub(crate) prints: Prints,
    /// When it waits for a person, and what to do instead. The first that holds is told.
    pub(crate) prompts: &'static [(When, &'static str)],
    /// What none of this can say. It comes first; where it gives nothing, the row goes on.
    pub(crate) custom: Option<Custom>,
    /// Calls of it and their verdicts.
    pub(crate) examples: &'static [Example],
}

/// A row that says nothing: `Program { names: …, ..PROGRAM }`.
pub(crate) const PROGRAM: Program = Program {
    names: &[],
    grammar: Grammar::PLAIN,
    effects: &[],
    runs: Runs::Nothing,
    prints: Prints::Unknown,
    prompts: &[],
    custom: None,
    examples: &[],
};

/// What a program does that a row cannot say.
pub(crate) type Custom = fn(&mut Machine<'_>, &Call, &mut World) -> Option<Ran>;

/// An effect, and when it happens.
#[derive(Clone, Copy)]
pub(crate) struct On(pub(crate) When, pub(crate) Does);

/// A condition on a call.
#[derive(Clone, Copy)]
pub(crate) enum When {
    /// It always holds.
    Always,
    /// One of these words is an argument.
    Has(&'static [&'static str]),
    /// The first argument that is not an option is one of these words.
    Verb(&'static [&'static str]),
    /// The first argument of all is one of these words.
    First(&'static [&'static str]),
    /// An argument begins like this.
    Starts(&'static [&'static str]),
    /// An argument contains this.
    Contains(&'static [&'static str]),
    /// One of these options is given, read by the row's grammar.
    Given(&'static [&'static str]),
    /// One of these options has one of these values.
    Value(&'static [&'static str], &'static [&'static str]),
    /// It has no arguments.
    Bare,
    /// It has at least this many operands.
    Operands(usize),
    /// Something is on its standard input.
    Fed,
    /// It was called by one of these names.
    Called(&'static [&'static str]),
    /// All of these hold.
    All(&'static [When]),
    /// One of these holds.
    Any(&'static [When]),
    /// This does not hold.
    Not(&'static When),
}

/// An effect as a row names it.
#[derive(Clone, Copy)]
pub(crate) enum Does {
    /// This kind of thing, for this reason.
    Is(Kind, &'static str),
    /// This kind of thing, for each of these arguments, which are named.
    IsOn(Which, Kind, &'static str),
    /// They are deleted; how the objection begins.
    Delete(Which, Depth, &'static str),
    /// They are written; how the objection begins.
    Write(Which, Writing, &'static str),
    /// Their permissions or owner change.
    Rights(Which, Depth),
    /// They are disks that change; how the objection begins.
    Device(Which, &'static str),
    /// They are printed, and may be credentials.
    Print(Which),
    /// They leave the machine.
    Send(Which),
    /// They are the words of a command that runs.
    Run(Which),
    /// Each is text that a shell runs.
    RunText(Which),
    /// Each is a program that this one runs as its helper.
    RunHelper(Which),
    /// Of these, only the first whose condition holds.
    OneOf(&'static [On]),
    /// Nothing: for the head of a [`Does::OneOf`].
    Nothing,
}

/// Which arguments of a call.
#[derive(Clone, Copy)]
pub(crate) enum Which {
    /// All, options included.
    Arguments,
    /// Those that are not options.
    Operands,
    /// Operands from this one on.
    OperandsFrom(usize),
    /// The first operand.
    FirstOperand,
    /// The last operand, where there is more than one.
    LastOperand,
    /// The values of these options.
    Values(&'static [&'static str]),
    /// Everything behind the first of these words.
    Behind(&'static [&'static str]),
}

/// The command that the arguments of a program are.
#[derive(Clone, Copy)]
pub(crate) enum Runs {
    /// None.
    Nothing,
    /// Nobody knows: it may run what its words say, like any program without a row.
    Perhaps,
    /// The operands behind this many.
    Operands(usize),
    /// The same, and `NAME=value` words before it are taken off.
    OperandsAfterAssignments,
    /// What stands behind one of these words, where only options stand before it.
    Behind(&'static [&'static str]),
}

/// What a program prints.
#[derive(Clone, Copy)]
pub(crate) enum Prints {
    /// Nothing is known about it.
    Unknown,
    /// Nothing.
    Nothing,
    /// Numbers, names, dates: never a path and never code.
    Plain,
    /// Text with these properties.
    Labelled(Labels),
    /// Shell settings, made for `eval`.
    Settings,
    /// What comes in.
    Input,
}

/// A call and its verdict.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The call.
    pub command: &'static str,
    /// Its verdict.
    pub decision: Decision,
    /// The rule that decides, where it is not allowed.
    pub rule: Option<&'static str>,
}

/// A call that may run.
pub(crate) const fn allows(command: &'static str) -> Example {
    Example { command, decision: Decision::Allow, rule: None }
}

/// A call about which a person is asked.
pub(crate) const fn asks(command: &'static str, rule: &'static str) -> Example {
    Example { command, decision: Decision::Ask, rule: Some(rule) }
}

/// A call that does not run.
pub(crate) const fn denies(command: &'static str, rule: &'static str) -> Example {
    Example { command, decision: Decision::Deny, rule: Some(rule) }
}

impl Program {
    /// Whether this row is about a program of that name.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.names.iter().any(|own| match own.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => *own == name,
        })
    }

    /// What comes of calling it.
    pub(crate) fn run(&self, machine: &mut Machine<'_>, call: &Call, mut world: World) -> Ran {
        let reading = Reading::new(call, &self.grammar);
        if let Some((_, hint)) = self.prompts.iter().find(|(when, _)| reading.holds(when)) {
            machine.waits_for_a_person(&call.name, hint, call.span);
        }

        if let Some(ran) = self.custom.and_then(|custom| custom(machine, call, &mut world)) {
            return ran;
        }

        for On(when, does) in self.effects {
            if reading.holds(when) {
                reading.apply(does, machine, &world);
            }
        }
        match reading.runs(self.runs) {
            Some(words) => machine.run_words(call, words, world),
            None if matches!(self.runs, Runs::Perhaps) => {
                let flow = super::unknown_program(machine, call, &world);
                Ran::same(world, flow)
            }
            None => Ran::same(world, self.prints.flow(call)),
        }
    }
}

impl Prints {
    pub(crate) fn flow(self, call: &Call) -> Flow {
        match self {
            Self::Unknown => Flow::unknown(),
            Self::Nothing => Flow::empty(),
            Self::Plain => Flow::labelled(Labels::PLAIN),
            Self::Labelled(labels) => Flow::labelled(labels),
            Self::Settings => Flow::labelled(Labels::SETTINGS),
            Self::Input => (*call.input).clone(),
        }
    }
}

/// A call, read by the grammar of its row.
struct Reading<'c> {
    call: &'c Call,
    grammar: &'c Grammar,
    words: OnceCell<Vec<Cow<'c, str>>>,
    options: OnceCell<Options>,
}

impl<'c> Reading<'c> {
    fn new(call: &'c Call, grammar: &'c Grammar) -> Self {
        Self { call, grammar, words: OnceCell::new(), options: OnceCell::new() }
    }

    fn words(&self) -> &[Cow<'c, str>] {
        self.words.get_or_init(|| self.call.args.iter().map(|arg| arg.text.shown()).collect())
    }

    fn options(&self) -> &Options {
        self.options.get_or_init(|| Options::read(&self.call.args, self.grammar))
    }

    fn has(&self, words: &[&str]) -> bool {
        self.words().iter().any(|word| words.contains(&&**word))
    }

    fn holds(&self, when: &When) -> bool {
        match when {
            When::Always => true,
            When::Has(words) => self.has(words),
            When::Verb(words) => {
                let verb = self.words().iter().find(|word| !word.starts_with('-'));
                verb.is_some_and(|verb| words.contains(&&**verb))
            }
            When::First(words) => self.words().first().is_some_and(|first| words.contains(&&**first)),
            When::Starts(starts) => self.words().iter().any(|word| starts.iter().any(|start| word.starts_with(start))),
            When::Contains(parts) => self.words().iter().any(|word| parts.iter().any(|part| word.contains(part))),
            When::Given(names) => self.options().has(names),
            When::Value(names, values) => {
                self.options().values(names).any(|given| values.iter().any(|value| given.text.is(value)))
            }
            When::Bare => self.call.args.is_empty(),
            When::Operands(least) => self.options().operands.len() >= *least,
            When::Fed => *self.call.input != Flow::empty(),
            When::Called(names) => names.contains(&self.call.name.as_str()),
            When::All(all) => all.iter().all(|when| self.holds(when)),
            When::Any(any) => any.iter().any(|when| self.holds(when)),
            When::Not(when) => !self.holds(when),
        }
    }

    fn chosen(&self, which: Which) -> Vec<Arg> {
        let operands = || &self.options().operands;
        match which {
            Which::Arguments => self.call.args.clone(),
            Which::Operands => operands().clone(),
            Which::OperandsFrom(first) => operands().iter().skip(first).cloned().collect(),
            Which::FirstOperand => operands().first().cloned().into_iter().collect(),
            Which::LastOperand => operands().iter().skip(1).next_back().cloned().into_iter().collect(),
            Which::Values(names) => self.options().values(names).cloned().collect(),
            Which::Behind(words) => {
                let at = self.words().iter().position(|word| words.contains(&&**word));
                at.map(|at| self.call.args[at + 1..].to_vec()).unwrap_or_default()
            }
        }
    }

    /// The command that its arguments are.
    fn runs(&self, runs: Runs) -> Option<Vec<Arg>> {
        match runs {
            Runs::Nothing | Runs::Perhaps => None,
            Runs::Operands(skip) => Some(self.options().operands.iter().skip(skip).cloned().collect()),
            Runs::OperandsAfterAssignments => {
                let operands = self.options().operands.iter();
                Some(operands.skip_while(|arg| arg.text.known_start().contains('=')).cloned().collect())
            }
            Runs::Behind(words) => {
                let at = self.words().iter().position(|word| words.contains(&&**word))?;
                let only_options = self.words()[..at].iter().all(|word| word.starts_with('-'));
                only_options.then(|| Options::read(&self.call.args[at + 1..], self.grammar).operands)
            }
        }
    }

    fn apply(&self, does: &Does, machine: &mut Machine<'_>, world: &World) {
        let call = self.call;
        match *does {
            Does::Nothing => {}
            Does::OneOf(choices) => {
                if let Some(On(_, does)) = choices.iter().find(|On(when, _)| self.holds(when)) {
                    self.apply(does, machine, world);
                }
            }
            Does::Is(kind, reason) => machine.state(kind, reason, call.span, None),
            Does::Send(which) => super::network::sends(machine, &self.chosen(which), world, call),
            Does::Run(which) => drop(machine.run_words(call, self.chosen(which), world.clone())),
            Does::IsOn(which, ..)
            | Does::Delete(which, ..)
            | Does::Write(which, ..)
            | Does::Rights(which, _)
            | Does::Device(which, _)
            | Does::Print(which)
            | Does::RunText(which)
            | Does::RunHelper(which) => {
                for arg in self.chosen(which) {
                    self.apply_to(does, &arg, machine, world);
                }
            }
        }
    }

    /// The effects that happen to one argument at a time.
    fn apply_to(&self, does: &Does, arg: &Arg, machine: &mut Machine<'_>, world: &World) {
        let what = &arg.text;
        match *does {
            Does::IsOn(_, kind, reason) => machine.state(kind, reason, arg.span, Some(what.display())),
            Does::Delete(_, depth, doing) => machine.deletes(doing, what, depth, world, arg.span),
            Does::Write(_, writing, doing) => machine.writes(doing, what, writing, world, arg.span),
            Does::Rights(_, depth) => {
                let doing = "This would change the rights of";
                machine.does(Effect::Rights { what, depth, doing }, world, arg.span);
            }
            Does::Device(_, doing) => machine.does(Effect::Device { what, doing }, world, arg.span),
            Does::Print(_) => {
                machine.does(Effect::Print { what, program: &self.call.name }, world, arg.span);
            }
            Does::RunText(_) => drop(machine.run_text(arg, world.clone(), &self.call.input)),
            Does::RunHelper(_) => super::run_helper(machine, arg, world),
            _ => {}
        }
    }
}
