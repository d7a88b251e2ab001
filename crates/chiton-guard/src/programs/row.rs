//! A program as a row: its names, how it reads options, what it does and when, what it prints, whether it waits for a
//! person, and calls of it with their verdicts, which are its test.
//!
//! What a row cannot say, a function beside it does ([`Program::custom`]).

use std::borrow::Cow;
use std::cell::OnceCell;

use crate::effect::{Depth, Effect, Kind, Writing};
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Machine, Ran};
use crate::needs::Needs;
use crate::programs::builtins::is_standard_input;
use crate::programs::options::{Grammar, Options};
use crate::value::{Arg, Flow, Labels};
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
    /// Options with which it only shows what it would do, such as [`DRY`]: none of its effects happens then.
    pub(crate) spares: &'static [&'static str],
    /// What none of this can say. It comes first; where it gives nothing, the row goes on.
    pub(crate) custom: Option<Custom>,
    /// Calls of it and their verdicts.
    pub(crate) examples: &'static [Example],
}

/// The names of these rows, each with its row.
pub(crate) fn named(
    rows: impl IntoIterator<Item = &'static Program>,
) -> impl Iterator<Item = (&'static str, &'static Program)> {
    rows.into_iter().flat_map(|row| row.names.iter().map(move |name| (*name, row)))
}

/// A row that says nothing: `Program { names: …, ..PROGRAM }`.
pub(crate) const PROGRAM: Program = Program {
    names: &[],
    grammar: Grammar::PLAIN,
    effects: &[],
    runs: Runs::Nothing,
    prints: Prints::Unknown,
    prompts: &[],
    spares: &[],
    custom: None,
    examples: &[],
};

/// The row of a tool that may, besides its effects, do what any program without a row may do.
pub(crate) const TOOL: Program = Program { runs: Runs::Perhaps, ..PROGRAM };

/// Options with which most tools only show what they would do.
pub(crate) const DRY: &[&str] = &["--help", "--dry-run", "--dryrun", "--dry", "-h"];

/// Those of tools for which `-h` is a host.
pub(crate) const DRY_LONG: &[&str] = &["--help", "--dry-run"];

/// What a program does that a row cannot say.
pub(crate) type Custom = fn(&mut Machine<'_>, &Call, &mut World) -> Option<Ran>;

/// What a program prints that a row cannot say.
pub(crate) type Printed = fn(&mut Machine<'_>, &Call, &World) -> Flow;

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
    /// The operands begin like one of these patterns: words with blanks between them, `|` between alternatives. One `*`
    /// in a word stands for anything: `release delete*`, `repo|project delete`, `*:destroy`.
    Says(&'static [&'static str]),
    /// The first operand that is a verb at all, one of these or one that only looks ([`LOOKS`]), is one of these. Tools
    /// with a tree of nouns are like that: `gcloud compute instances delete`. A `*` as in [`When::Says`].
    Tree(&'static [&'static str]),
    /// No argument is a verb: all are options, or the text does not decide the first that is not one.
    NoVerb,
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
    /// The operand at this place, counted from 0, is one of these words.
    Operand(usize, &'static [&'static str]),
    /// One of the operands is one of these words.
    AnyOperand(&'static [&'static str]),
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
    /// This kind of thing, for this reason. `{program}` in it is the name that the program was called by, `{names}` the
    /// operands behind the words of [`When::Says`] or [`When::Tree`], `{what}` the same or "something", `{where}` the machine or account that options name.
    Is(Kind, &'static str),
    /// The same, by rights over the whole machine, or by a service that has them.
    OnMachine(Kind, &'static str),
    /// They are statements for a database, which may drop data or run something.
    Query(Which),
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
    /// They are files that leave the machine.
    Send(Which),
    /// They leave the machine as they stand.
    SendText(Which),
    /// They are the words of a command that runs.
    Run(Which),
    /// Each is text that a shell runs.
    RunText(Which),
    /// Each is a program that this one runs as its helper.
    RunHelper(Which),
    /// Of these, only the first whose condition holds.
    OneOf(&'static [On]),
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
    /// The values of these options.
    Values(&'static [&'static str]),
    /// Everything behind the first of these words.
    Behind(&'static [&'static str]),
    /// Those that contain this.
    Containing(&'static [&'static str]),
    /// Those that are not options and name a place, with a slash or a pattern; without one, all operands.
    Places,
}

/// The command that the arguments of a program are.
#[derive(Clone, Copy)]
pub(crate) enum Runs {
    /// None.
    Nothing,
    /// Nobody knows, unless one of its effects happens: it may run what its words say, like any program without a row.
    Perhaps,
    /// The operands behind this many.
    Operands(usize),
    /// The same, and `NAME=value` words before it are taken off.
    OperandsAfterAssignments,
    /// What stands behind one of these words, where only options stand before it.
    Behind(&'static [&'static str]),
    /// These arguments, options included.
    Words(Which),
    /// The last of these, which is text for a shell.
    Text(Which),
    /// The operands, which are joined with blanks and are text for a shell then.
    Joined,
    /// What comes in, which is text for a shell.
    Input,
    /// This, where the condition holds.
    If(When, &'static Runs),
    /// The first of these that is there.
    FirstOf(&'static [Runs]),
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
    /// What is in these files, or what comes in where there are none.
    Contents(Which),
    /// Some of what is in these files, or of what comes in where there are none.
    SomeOf(Which),
    /// What this function says, which may report effects, too.
    By(Printed),
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

        let mut is_known = false;
        for On(when, does) in self.effects {
            if reading.holds(when) && !reading.is_spared(self.spares) {
                reading.apply(when, does, machine, &world);
                is_known = true;
            }
        }

        // A call whose effect is known does not run its words besides.
        let runs = if is_known && matches!(self.runs, Runs::Perhaps) { &Runs::Nothing } else { &self.runs };
        if let Some(ran) = reading.run(runs, machine, &world) {
            return ran;
        }

        let flow = reading.prints(self.prints, machine, &world);
        Ran::same(world, flow)
    }
}

impl Program {
    /// Reports what the row says, for a program that has a row of its own elsewhere.
    pub(super) fn report(&self, machine: &mut Machine<'_>, call: &Call, world: &World) {
        let reading = Reading::new(call, &self.grammar);
        if let Some(custom) = self.custom {
            custom(machine, call, &mut world.clone());
        }
        for On(when, does) in self.effects {
            if reading.holds(when) {
                reading.apply(when, does, machine, world);
            }
        }
    }
}

/// Whether a condition holds for a call whose options nobody has to read.
pub(super) fn holds(call: &Call, when: &When) -> bool {
    Reading::new(call, &Grammar::PLAIN).holds(when)
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
            When::Says(_) | When::Tree(_) => self.said(when).is_some(),
            When::NoVerb => {
                let mut args = self.call.args.iter();
                let verb = args.find(|arg| !arg.text.known_start().starts_with('-'));
                verb.is_none_or(|verb| verb.text.as_known().is_none_or(|known| known.is_empty()))
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
            When::Operand(at, words) => {
                let operand = self.options().operands.get(*at);
                operand.is_some_and(|operand| words.iter().any(|word| operand.text.is(word)))
            }
            When::AnyOperand(words) => {
                self.options().operands.iter().any(|operand| words.iter().any(|word| operand.text.is(word)))
            }
            When::Fed => *self.call.input != Flow::empty(),
            When::Called(names) => names.contains(&self.call.name.as_str()),
            When::All(all) => all.iter().all(|when| self.holds(when)),
            When::Any(any) => any.iter().any(|when| self.holds(when)),
            When::Not(when) => !self.holds(when),
        }
    }

    /// How many operands a condition on them is about.
    fn said(&self, when: &When) -> Option<usize> {
        let operands = &self.options().operands;
        match when {
            When::Says(patterns) => patterns.iter().find_map(|pattern| begins_like(operands, pattern)),
            When::Tree(verbs) => {
                let is_verb = |word: &Arg| fits_one(&word.text.shown(), verbs);
                let is_looking = |word: &Arg| LOOKS.iter().any(|verb| word.text.is(verb));
                let at = operands.iter().position(|word| is_verb(word) || is_looking(word))?;
                is_verb(&operands[at]).then_some(at + 1)
            }
            When::All(all) | When::Any(all) => all.iter().find_map(|when| self.said(when)),
            _ => None,
        }
    }

    /// Whether one of these options is given, with a value that does not switch it off.
    fn is_spared(&self, spares: &[&str]) -> bool {
        const OFF: [&str; 4] = ["=none", "=false", "=no", "=0"];
        let own = self.words().iter().take_while(|word| *word != "--");
        let is_one = |word: &str| {
            spares.iter().any(|spare| {
                word.strip_prefix(spare)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('=') && !OFF.contains(&rest))
            })
        };
        !spares.is_empty() && own.into_iter().any(|word| is_one(word))
    }

    /// A reason with what it is about filled in, and that.
    fn reason(&self, when: &When, reason: &str) -> (String, Option<String>) {
        let mut full = reason.replace("{program}", &self.call.name);
        let mut names = Vec::new();
        if full.contains("{names}") || full.contains("{what}") {
            let behind = self.options().operands.iter().skip(self.said(when).unwrap_or(0));
            names.extend(behind.map(|name| name.text.display()).filter(|name| !name.is_empty()));
            let shown = quoted(&names);
            full = full.replace("{what}", if names.is_empty() { " something" } else { &shown });
            full = full.replace(":{names}", &if names.is_empty() { String::new() } else { format!(":{shown}") });
            full = full.replace("{names}", &shown);
        }
        if full.contains("{where}") {
            full = full.replace("{where}", &place(self.options(), self.grammar));
        }
        (full, names.into_iter().next())
    }

    fn chosen(&self, which: Which) -> Vec<Arg> {
        let operands = || &self.options().operands;
        match which {
            Which::Arguments => self.call.args.clone(),
            Which::Operands => operands().clone(),
            Which::OperandsFrom(first) => operands().iter().skip(first).cloned().collect(),
            Which::FirstOperand => operands().first().cloned().into_iter().collect(),
            Which::Values(names) => self.options().values(names).cloned().collect(),
            Which::Behind(words) => {
                let at = self.words().iter().position(|word| words.contains(&&**word));
                at.map(|at| self.call.args[at + 1..].to_vec()).unwrap_or_default()
            }
            Which::Containing(parts) => {
                let contains = |arg: &&Arg| parts.iter().any(|part| arg.text.shown().contains(part));
                self.call.args.iter().filter(contains).cloned().collect()
            }
            Which::Places => {
                let names_place = |arg: &&Arg| {
                    let start = arg.text.known_start();
                    !start.starts_with('-')
                        && (start.contains('/') || arg.text.known_end().contains('/') || arg.text.has_glob())
                };
                let places: Vec<Arg> = self.call.args.iter().filter(names_place).cloned().collect();
                if places.is_empty() { operands().clone() } else { places }
            }
        }
    }

    /// What comes of the command that its arguments are, where they are one.
    fn run(&self, runs: &Runs, machine: &mut Machine<'_>, world: &World) -> Option<Ran> {
        let (call, world) = (self.call, world.clone());
        Some(match *runs {
            Runs::Nothing => return None,
            Runs::Perhaps => {
                let flow = super::unknown_program(machine, call, &world);
                Ran::same(world, flow)
            }
            Runs::If(ref when, runs) => {
                let holds = self.holds(when);
                return holds.then(|| self.run(runs, machine, &world)).flatten();
            }
            Runs::FirstOf(all) => return all.iter().find_map(|runs| self.run(runs, machine, &world)),
            Runs::Text(which) => machine.run_text(self.chosen(which).last()?, world, &call.input),
            Runs::Joined => super::shells::run_joined(machine, &self.options().operands, call, world),
            Runs::Input => super::shells::reading_input(machine, call, world),
            Runs::Words(_) | Runs::Operands(_) | Runs::OperandsAfterAssignments | Runs::Behind(_) => {
                machine.run_words(call, &self.words_to_run(runs)?, world)
            }
        })
    }

    fn words_to_run(&self, runs: &Runs) -> Option<Vec<Arg>> {
        match *runs {
            Runs::Words(which) => Some(self.chosen(which)),
            Runs::Operands(skip) => Some(self.chosen(Which::OperandsFrom(skip))),
            Runs::OperandsAfterAssignments => {
                let operands = self.options().operands.iter();
                Some(operands.skip_while(|arg| arg.text.known_start().contains('=')).cloned().collect())
            }
            Runs::Behind(words) => {
                let at = self.words().iter().position(|word| words.contains(&&**word))?;
                let only_options = self.words()[..at].iter().all(|word| word.starts_with('-'));
                only_options.then(|| Options::read(&self.call.args[at + 1..], self.grammar).operands)
            }
            _ => None,
        }
    }

    /// What it prints.
    fn prints(&self, prints: Prints, machine: &mut Machine<'_>, world: &World) -> Flow {
        match prints {
            Prints::Unknown => Flow::unknown(),
            Prints::Nothing => Flow::empty(),
            Prints::Plain => Flow::labelled(Labels::PLAIN),
            Prints::Labelled(labels) => Flow::labelled(labels),
            Prints::Settings => Flow::labelled(Labels::SETTINGS),
            Prints::Input => (*self.call.input).clone(),
            Prints::Contents(which) => {
                let files = self.chosen(which);
                if files.iter().all(|file| is_standard_input(&file.text)) {
                    return (*self.call.input).clone();
                }
                let mut flow = Flow::empty();
                for file in &files {
                    let is_input = is_standard_input(&file.text);
                    let next = if is_input { (*self.call.input).clone() } else { machine.read(&file.text, world) };
                    flow = flow.then(&next);
                }
                flow
            }
            Prints::SomeOf(which) => {
                let files = self.chosen(which);
                if files.is_empty() {
                    return super::text_tools::filtered(self.call);
                }
                Flow::labelled(machine.labels_of(&files, world).with(Labels::UNKNOWN))
            }
            Prints::By(printed) => printed(machine, self.call, world),
        }
    }

    fn apply(&self, when: &When, does: &Does, machine: &mut Machine<'_>, world: &World) {
        let call = self.call;
        match *does {
            Does::OneOf(choices) => {
                if let Some(On(inner, does)) = choices.iter().find(|On(when, _)| self.holds(when)) {
                    let names = if self.said(inner).is_some() { inner } else { when };
                    self.apply(names, does, machine, world);
                }
            }
            Does::Is(kind, reason) => {
                let (reason, target) = self.reason(when, reason);
                machine.state(kind, reason, call.span, target);
            }
            Does::OnMachine(kind, reason) => {
                let (reason, target) = self.reason(when, reason);
                // Some of these programs do it on another machine.
                let is_elsewhere = ["-H", "--host", "-M", "--machine"]
                    .iter()
                    .any(|option| call.args.iter().any(|arg| arg.text.known_start().starts_with(option)));
                let needs = (!is_elsewhere).then_some(Needs::Machine);
                machine.state_where(needs, kind, reason, call.span, target);
            }
            Does::Query(which) => {
                let place = place(self.options(), self.grammar);
                for arg in self.chosen(which) {
                    super::sql::statements(machine, &arg, &super::sql::Database::named(&call.name, &place), world);
                }
            }
            Does::Send(which) => super::network::sends(machine, &self.chosen(which), world, call),
            Does::SendText(which) => super::network::sends_text(machine, &self.chosen(which)),
            Does::Run(which) => drop(machine.run_words(call, &self.chosen(which), world.clone())),
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
            Does::Write(_, writing, doing) => {
                machine.writes(doing, what, writing, world, arg.span);
                machine.blur(what, world);
            }
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

/// Verbs of tools with a tree of nouns that only look, or that lose nothing. Words that are a noun somewhere are missing.
const LOOKS: &[&str] = &[
    "list", "ls", "get", "show", "describe", "inspect", "validate", "wait", "help", "download", "create", "add",
    "update", "set", "edit", "cp", "copy", "upload",
];

/// How many of `operands` the words of `pattern` are, where they begin like it.
fn begins_like(operands: &[Arg], pattern: &str) -> Option<usize> {
    let mut count = 0;
    for part in pattern.split(' ') {
        let word = operands.get(count)?.text.shown();
        if !part.split('|').any(|alternative| fits(&word, alternative)) {
            return None;
        }
        count += 1;
    }
    Some(count)
}

fn fits_one(word: &str, patterns: &[&str]) -> bool {
    patterns.iter().any(|pattern| fits(word, pattern))
}

/// Whether a word is `pattern`, in which one `*` stands for anything.
fn fits(word: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => word.len() >= start.len() + end.len() && word.starts_with(start) && word.ends_with(end),
        None => word == pattern,
    }
}

/// Names as a sentence has them, with a blank before them: ` `a`, `b` and 3 more`.
fn quoted(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let mut all = String::new();
    for (index, name) in names.iter().take(SHOWN).enumerate() {
        all.push_str(if index == 0 { " `" } else { ", `" });
        all.extend(name.chars().take(80));
        all.push('`');
    }
    if names.len() > SHOWN {
        all.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    all
}

/// Where something happens, by the options that name it, with a blank before it.
fn place(options: &Options, grammar: &Grammar) -> String {
    const PLACES: &[(&[&str], &str)] = &[
        (&["host", "hostname", "server", "endpoint", "endpoints", "endpoint-url", "bootstrap-server"], "on"),
        (&["context", "kube-context"], "in the context"),
        (&["namespace"], "in the namespace"),
        (&["project", "project-id"], "in the project"),
        (&["profile"], "with the profile"),
        (&["resource-group"], "in the group"),
        (&["cluster"], "in the cluster"),
        (&["app"], "in the app"),
        (&["repo"], "in"),
        (&["region"], "in the region"),
    ];
    // `-n` is a namespace where `--namespace` is an option, and `-h` a host.
    let short = |names: &[&str]| match names[0] {
        "namespace" if grammar.long.contains(&"namespace") => options.value(&["n"]),
        "host" if grammar.long.contains(&"host") => options.value(&["h"]),
        _ => None,
    };
    let value = |names: &'static [&'static str]| options.value(names).or_else(|| short(names));
    let named = PLACES.iter().filter_map(|(names, phrase)| Some((phrase, value(names)?)));
    let mut all = String::new();
    for (phrase, value) in named.take(2) {
        all.extend([" ", phrase, " `", &value.text.shown(), "`"]);
    }
    all
}
