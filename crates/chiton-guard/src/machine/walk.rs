//! Going through a command as the shell would, on every way that it may take.
//!
//! Where the text leaves a choice (conditions, `||`, a variable that may be unset), every way is followed, as [`Worlds`].

use std::rc::Rc;

use chiton_shell::tree::{Command, CommandKind, Connector, Item, List, Pipeline, Span};

use super::state::{World, Worlds};
use super::{DEEPEST_LISTS, Frame, Machine, Ran, forks};
use crate::effect::Kind;
use crate::value::{Flow, Labels, Text};

impl Machine<'_> {
    pub(crate) fn list(&mut self, list: &List, worlds: Worlds, input: &Rc<Flow>) -> Ran {
        if self.depth >= DEEPEST_LISTS {
            let reason = "Constructs in functions in constructs nest too deeply to be examined.".to_owned();
            self.state(Kind::Unexamined, reason, self.here(), None);
            return Ran { success: worlds, ..Ran::default() };
        }
        self.depth += 1;
        let ran = self.each(list, worlds, input);
        self.depth -= 1;
        ran
    }

    fn each(&mut self, list: &List, worlds: Worlds, input: &Rc<Flow>) -> Ran {
        let mut ran = Ran { success: worlds, ..Ran::default() };
        let mut flow = Flow::empty();
        for item in &list.items {
            if self.exhausted {
                break;
            }
            let worlds = ran.remaining().going_on().having_moved();
            ran = self.item(item, worlds, input);
            flow = flow.then(&ran.flow);
        }
        ran.flow = flow;
        ran
    }

    fn item(&mut self, item: &Item, worlds: Worlds, input: &Rc<Flow>) -> Ran {
        if item.background {
            self.nesting.background += 1;
            let flow = self.chain(item, worlds.clone(), input).flow;
            self.nesting.background -= 1;
            return Ran { success: worlds, failure: Worlds::default(), flow };
        }
        self.chain(item, worlds, input)
    }

    fn chain(&mut self, item: &Item, worlds: Worlds, input: &Rc<Flow>) -> Ran {
        let mut ran = self.pipeline(&item.first, worlds, input);
        for (connector, pipeline) in &item.rest {
            self.nesting.conditional += 1;
            let taken = if *connector == Connector::And { &ran.success } else { &ran.failure };
            if taken.is_empty() {
                // The shell never reaches it, but it is judged all the same.
                self.pipeline(pipeline, ran.clone().all().going_on().settled(), input);
                self.nesting.conditional -= 1;
                continue;
            }
            let next = self.pipeline(pipeline, taken.clone().going_on().settled(), input);
            self.nesting.conditional -= 1;
            match connector {
                Connector::And => ran.success = next.success,
                Connector::Or => {
                    ran.success.merge(next.success);
                    ran.failure = Worlds::default();
                }
            }
            ran.failure.merge(next.failure);
            ran.flow = ran.flow.then(&next.flow);
        }
        ran
    }

    fn pipeline(&mut self, pipeline: &Pipeline, worlds: Worlds, input: &Rc<Flow>) -> Ran {
        let mut ran = match pipeline.stages.as_slice() {
            [] => Ran { success: worlds, ..Ran::default() },
            [only] => self.command(only, worlds, input),
            stages => self.piped(stages, worlds, input),
        };
        if pipeline.negated {
            std::mem::swap(&mut ran.success, &mut ran.failure);
        }
        ran
    }

    fn piped(&mut self, stages: &[Command], worlds: Worlds, input: &Rc<Flow>) -> Ran {
        self.nesting.pipes += 1;
        let mut all = Ran::default();
        for world in worlds.0 {
            let mut flow = Rc::clone(input);
            for stage in stages {
                flow = Rc::new(self.command(stage, Worlds::one(world.clone()), &flow).flow);
            }
            all.merge_first(Ran::same(world, (*flow).clone()));
        }
        self.nesting.pipes -= 1;
        all
    }

    pub(crate) fn command(&mut self, command: &Command, worlds: Worlds, input: &Rc<Flow>) -> Ran {
        let mut all = Ran::default();
        for world in worlds.0 {
            let ran = self.command_in(command, world, input);
            all.merge_first(ran);
        }
        all
    }

    fn command_in(&mut self, command: &Command, mut world: World, input: &Rc<Flow>) -> Ran {
        if let CommandKind::Simple(simple) = &command.kind {
            return self.simple(command, simple, world, input);
        }
        if !self.step(command.span) {
            return Ran::same(world, Flow::unknown());
        }
        let plumbing = self.redirections(&command.redirections, &mut world, input);
        let input = plumbing.input(input);
        let mut ran = self.compound(&command.kind, world, &input, command.span);
        ran.flow = self.pour(&plumbing, ran.flow);
        ran
    }

    fn compound(&mut self, kind: &CommandKind, mut world: World, input: &Rc<Flow>, span: Span) -> Ran {
        match kind {
            CommandKind::Simple(_) => Ran::same(world, Flow::empty()),
            CommandKind::Subshell(list) => {
                self.nesting.substitutions += 1;
                let flow = self.list(list, Worlds::one(world.clone()), input).flow;
                self.nesting.substitutions -= 1;
                Ran::same(world, flow)
            }
            CommandKind::Group(list) => self.list(list, Worlds::one(world), input),
            CommandKind::If { clauses, otherwise } => self.branches(clauses, otherwise.as_ref(), world, input),
            CommandKind::Loop { until, condition, body } => {
                if forks::is_endless(condition, *until) {
                    self.endless(body, span);
                }
                self.looped(condition, body, world, input)
            }
            CommandKind::For { name, words, body, select } => {
                let values = match words {
                    Some(words) => self.expanding(&mut world).args(words).into_iter().map(|arg| arg.text).collect(),
                    None => world.positional.as_ref().map_or_else(|| vec![Text::variable("@")], |all| all.to_vec()),
                };
                if *select {
                    self.waits_for_a_person("select", "it asks for a choice; set the variable instead", span);
                }
                self.over(name, &values, body, world, input)
            }
            CommandKind::ArithmeticFor { expressions, body } => {
                for expression in expressions {
                    self.expanding(&mut world).arithmetic(expression);
                }
                if expressions.get(1).is_some_and(|condition| {
                    condition.parts.is_empty()
                        || condition.as_plain().is_some_and(|text| matches!(text.trim(), "" | "1"))
                }) {
                    self.endless(body, span);
                }
                self.looped(&List::default(), body, world, input)
            }
            CommandKind::Case { subject, arms } => {
                self.expanding(&mut world).single(subject);
                let mut all = Ran::same(world.clone(), Flow::empty());
                self.nesting.conditional += 1;
                for arm in arms {
                    for pattern in &arm.patterns {
                        self.expanding(&mut world).pattern(pattern);
                    }
                    let ran = self.list(&arm.body, Worlds::one(world.clone()), input);
                    all.alternative(ran);
                }
                self.nesting.conditional -= 1;
                all
            }
            CommandKind::Arithmetic(expression) => {
                self.expanding(&mut world).arithmetic(expression);
                Ran::same(world, Flow::empty())
            }
            CommandKind::Condition(words) => {
                for word in words {
                    self.expanding(&mut world).single(word);
                }
                Ran::same(world, Flow::empty())
            }
            CommandKind::Function { name, body } => {
                world.define(name, std::sync::Arc::clone(body));
                if !self.defined.iter().any(|(known, _, _)| known == name) {
                    self.defined.push((name.clone(), std::sync::Arc::clone(body), false));
                }
                Ran::same(world, Flow::empty())
            }
            CommandKind::Coprocess { command, .. } => {
                self.nesting.background += 1;
                self.command(command, Worlds::one(world.clone()), input);
                self.nesting.background -= 1;
                Ran::same(world, Flow::empty())
            }
        }
    }

    fn branches(&mut self, clauses: &[(List, List)], otherwise: Option<&List>, world: World, input: &Rc<Flow>) -> Ran {
        let mut all = Ran::default();
        let mut reaching = Worlds::one(world);
        // Once a condition always holds, what follows is judged but changes nothing.
        let mut decided = false;
        self.nesting.conditional += 1;
        for (condition, body) in clauses {
            let tested = self.list(condition, reaching.clone(), input);
            let skipped = tested.success.is_empty();
            let entered = if skipped { tested.failure.clone() } else { tested.success.clone() };
            let ran = self.list(body, entered.going_on().having_moved(), input);
            if !skipped && !decided {
                all.alternative(ran);
            }
            decided |= tested.failure.is_empty();
            reaching = if tested.failure.is_empty() { tested.success } else { tested.failure }.going_on().settled();
        }
        let ran = match otherwise {
            Some(list) => self.list(list, reaching, input),
            None => Ran { success: reaching, ..Ran::default() },
        };
        if !decided {
            all.alternative(ran);
        }
        self.nesting.conditional -= 1;
        all
    }

    fn looped(&mut self, condition: &List, body: &List, world: World, input: &Rc<Flow>) -> Ran {
        self.nesting.conditional += 1;
        let mut all = Ran::same(world.clone(), Flow::empty());
        let mut worlds = Worlds::one(world);
        // A second time only if the first changed something that the body could see.
        for _ in 0..2 {
            let tested = self.list(condition, worlds.clone(), input);
            let entered = tested.all().going_on().settled();
            let ran = self.list(body, entered, input);
            all.flow = std::mem::take(&mut all.flow).then(&ran.flow);
            let after = ran.all().going_on().settled();
            if after.0 == worlds.0 {
                break;
            }
            worlds = after;
        }
        all.success.merge(worlds);
        self.nesting.conditional -= 1;
        all
    }

    /// `for` over these values: each of the first ones by itself.
    fn over(&mut self, name: &str, values: &[Text], body: &List, world: World, input: &Rc<Flow>) -> Ran {
        const MOST_VALUES: usize = 24;
        self.nesting.conditional += 1;
        let mut worlds = Worlds::one(world);
        let mut flow = Flow::empty();
        // A dangerous value may stand anywhere, so all values that look unusual are followed, up to a limit.
        let chosen: Vec<&Text> = if values.len() <= MOST_VALUES {
            values.iter().collect()
        } else {
            let mut chosen: Vec<&Text> = values
                .iter()
                .filter(|value| !value.display().bytes().all(|byte| byte.is_ascii_alphanumeric()))
                .take(MOST_VALUES * 8)
                .collect();
            chosen.extend(values.iter().take(2));
            chosen
        };
        for value in chosen {
            let mut entered = Worlds::default();
            for mut world in worlds.0 {
                world.set_text(name, value.clone());
                entered.add(world);
            }
            let ran = self.list(body, entered, input);
            flow = flow.then(&ran.flow);
            worlds = ran.all().going_on().settled();
        }
        self.nesting.conditional -= 1;
        let mut ran = Ran { success: worlds, failure: Worlds::default(), flow };
        ran.failure = ran.success.clone();
        ran
    }

    fn endless(&mut self, body: &List, span: Span) {
        if forks::starts_without_waiting(body) {
            let reason = "A loop without end starts processes and never waits for them.".to_owned();
            self.state(Kind::ForkBomb, reason, span, None);
        }
    }

    /// What a list prints when it runs in a shell of its own.
    pub(crate) fn captured(&mut self, list: &List, world: &World) -> Flow {
        self.captured_with(list, world, &Rc::new(Flow::empty()))
    }

    pub(crate) fn captured_with(&mut self, list: &List, world: &World, input: &Rc<Flow>) -> Flow {
        self.nesting.substitutions += 1;
        let flow = self.list(list, Worlds::one(world.clone()), input).flow;
        self.nesting.substitutions -= 1;
        flow
    }

    /// `>(…)`: what will be written to it is not known here.
    pub(crate) fn process_sink(&mut self, list: &List, world: &World) {
        self.captured_with(list, world, &Rc::new(Flow::labelled(Labels::FILE)));
    }

    /// Where we are, for findings that have no place of their own.
    pub(crate) fn here(&self) -> Span {
        self.seen.last().map_or_else(|| Span::new(0, self.source.len()), |seen| seen.span)
    }

    pub(crate) fn frame(&self, name: &str) -> Frame {
        Frame { name: name.to_owned(), nesting: self.nesting, again: 0 }
    }

    /// A function or script calls itself: whether processes multiply without end.
    pub(crate) fn recursion(&mut self, at: usize, name: &str, span: Span) {
        let now = self.nesting;
        let Some(frame) = self.frames.get_mut(at) else { return };
        frame.again += 1;
        let (spawned, piped) = (now.background > frame.nesting.background, now.pipes > frame.nesting.pipes);
        let forked = now.substitutions > frame.nesting.substitutions;
        let always = now.conditional == frame.nesting.conditional;
        let multiplies = spawned || piped || (always && forked && frame.again > 1);
        if !multiplies {
            return;
        }
        let kind = if always || (spawned && piped) { Kind::ForkBomb } else { Kind::MayFork };
        let reason = format!("`{name}` starts itself again and again, each time in more processes.");
        self.state(kind, reason, span, Some(name.to_owned()));
    }
}

impl Ran {
    /// Like [`Ran::merge`], but the first flow stays what it is.
    pub(crate) fn merge_first(&mut self, other: Self) {
        if self.success.is_empty() && self.failure.is_empty() {
            *self = other;
        } else {
            self.merge(other);
        }
    }

    /// Another way to go on; what is printed may come from either.
    fn alternative(&mut self, other: Self) {
        self.success.merge(other.success);
        self.failure.merge(other.failure);
        let flow = std::mem::take(&mut self.flow);
        let nothing = flow == Flow::empty() || flow == Flow::default();
        self.flow = if nothing {
            other.flow
        } else if other.flow == Flow::empty() {
            flow
        } else {
            flow.or(&other.flow)
        };
    }
}
