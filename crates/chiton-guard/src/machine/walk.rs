//! Going through a command as the shell would, on every way that it may take.
//!
//! Where the text leaves a choice (conditions, `||`, a variable that may be unset), every way is followed, as [`Worlds`].

use std::rc::Rc;

use chiton_shell::tree::{Command, CommandKind, Connector, Item, List, Pipeline, Span, Word};

use super::plumbing::as_list;
use super::state::{World, Worlds};
use super::{DEEPEST_LISTS, Frame, Machine, Ran, forks};
use crate::effect::Kind;
use crate::value::{Flow, Text};

impl Machine<'_> {
    pub(crate) fn list(&mut self, list: &List, worlds: Worlds) -> Ran {
        if self.depth >= DEEPEST_LISTS {
            let reason = "Constructs in functions in constructs nest too deeply to be examined.".to_owned();
            self.state(Kind::Unexamined, reason, self.here(), None);
            return Ran { success: worlds, ..Ran::default() };
        }
        self.depth += 1;
        let ran = self.each(list, worlds);
        self.depth -= 1;
        ran
    }

    fn each(&mut self, list: &List, worlds: Worlds) -> Ran {
        let mut ran = Ran { success: worlds, ..Ran::default() };
        let mut flow = Flow::empty();
        for item in &list.items {
            if self.exhausted {
                break;
            }
            let errors = ran.errors.take();
            let worlds = ran.remaining().going_on().having_moved();
            ran = self.item(item, worlds);
            flow = flow.then(&ran.flow);
            if let Some(errors) = errors {
                let later = ran.errors.replace(errors);
                ran.add_errors(&later.map_or_else(Flow::empty, |later| *later));
            }
        }
        ran.flow = flow;
        ran
    }

    fn item(&mut self, item: &Item, worlds: Worlds) -> Ran {
        if item.background {
            self.nesting.background += 1;
            let ran = self.chain(item, worlds.clone());
            self.nesting.background -= 1;
            return Ran { success: worlds, failure: Worlds::default(), flow: ran.flow, errors: ran.errors };
        }
        self.chain(item, worlds)
    }

    fn chain(&mut self, item: &Item, worlds: Worlds) -> Ran {
        let mut ran = self.pipeline(&item.first, worlds);
        for (connector, pipeline) in &item.rest {
            self.nesting.conditional += 1;
            let taken = if *connector == Connector::And { &ran.success } else { &ran.failure };
            if taken.is_empty() {
                // The shell never reaches it, but it is judged all the same.
                self.pipeline(pipeline, ran.clone().all().going_on().settled());
                self.nesting.conditional -= 1;
                continue;
            }
            let next = self.pipeline(pipeline, taken.clone().going_on().settled());
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
            if let Some(errors) = next.errors {
                ran.add_errors(&errors);
            }
        }
        ran
    }

    fn pipeline(&mut self, pipeline: &Pipeline, worlds: Worlds) -> Ran {
        let mut ran = match pipeline.stages.as_slice() {
            [] => Ran { success: worlds, ..Ran::default() },
            [only] => self.command(only, worlds),
            stages => self.piped(stages, worlds),
        };
        if pipeline.negated {
            std::mem::swap(&mut ran.success, &mut ran.failure);
        }
        ran
    }

    fn piped(&mut self, stages: &[Command], worlds: Worlds) -> Ran {
        self.nesting.pipes += 1;
        let mut all = Ran::default();
        for world in worlds.0 {
            let mut flow = Rc::clone(&world.input);
            let mut errors = Ran::default();
            for (at, stage) in stages.iter().enumerate() {
                let mut own = world.clone();
                // What `exec` did to the output is undone by the pipe.
                if at + 1 < stages.len() && own.descriptors.contains_key(&1) {
                    own.descriptors.change().remove(&1);
                }
                let printed = self.command(stage, Worlds::one(own.reading(&flow)));
                flow = Rc::new(printed.flow.passed_on());
                if let Some(printed) = printed.errors {
                    errors.add_errors(&printed);
                }
            }
            let mut ran = Ran::same(world, (*flow).clone());
            ran.errors = errors.errors;
            all.merge_first(ran);
        }
        self.nesting.pipes -= 1;
        all
    }

    pub(crate) fn command(&mut self, command: &Command, worlds: Worlds) -> Ran {
        let mut all = Ran::default();
        for world in worlds.0 {
            let ran = self.command_in(command, world);
            all.merge_first(ran);
        }
        all
    }

    fn command_in(&mut self, command: &Command, mut world: World) -> Ran {
        if let CommandKind::Simple(simple) = &command.kind {
            return self.simple(command, simple, world);
        }
        if !self.step(command.span) {
            return Ran::same(world, Flow::unknown());
        }
        let plumbing = self.redirections(&command.redirections, &mut world);
        let ran = self.compound(&command.kind, world, command.span);
        self.closed(plumbing, ran)
    }

    fn compound(&mut self, kind: &CommandKind, mut world: World, span: Span) -> Ran {
        match kind {
            CommandKind::Simple(_) => Ran::same(world, Flow::empty()),
            CommandKind::Subshell(list) => {
                self.nesting.substitutions += 1;
                let inner = self.list(list, Worlds::one(world.clone()));
                self.nesting.substitutions -= 1;
                let mut ran = Ran::same(world, inner.flow);
                ran.errors = inner.errors;
                ran
            }
            CommandKind::Group(list) => self.list(list, Worlds::one(world)),
            CommandKind::If { clauses, otherwise } => self.branches(clauses, otherwise.as_ref(), world),
            CommandKind::Loop { until, condition, body } => {
                if forks::is_endless(condition, *until) {
                    self.endless(body, span);
                }
                self.looped(condition, body, world)
            }
            CommandKind::For { name, words, body, select } => {
                let values = match words {
                    Some(words) => self.expanding(&mut world).args(words).into_iter().map(|arg| arg.text).collect(),
                    None => world.positional.as_ref().map_or_else(|| vec![Text::variable("@")], |all| all.to_vec()),
                };
                if *select {
                    self.waits_for_a_person("select", "it asks for a choice; set the variable instead", span);
                }
                self.over(name, &values, body, world)
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
                self.looped(&List::default(), body, world)
            }
            CommandKind::Case { subject, arms } => {
                self.expanding(&mut world).single(subject);
                let mut all = Ran::same(world.clone(), Flow::empty());
                self.nesting.conditional += 1;
                let mut gone_on = Worlds::default();
                for arm in arms {
                    for pattern in &arm.patterns {
                        self.expanding(&mut world).pattern(pattern);
                    }
                    let mut before = Worlds::one(world.clone());
                    before.merge(gone_on.clone());
                    let ran = self.list(&arm.body, before);
                    if arm.goes_on {
                        gone_on.merge(ran.success.clone());
                        gone_on.merge(ran.failure.clone());
                    }
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
                self.condition(words, &mut world);
                Ran::same(world, Flow::empty())
            }
            CommandKind::Function { name, body } => {
                self.takes_the_name_of(name, body, span);
                world.define(name, std::sync::Arc::clone(body));
                // By its body: on another way through the command an earlier one of the same name may be called.
                if !self.defined.iter().any(|(_, known, _)| std::sync::Arc::ptr_eq(known, body)) {
                    self.defined.push((name.clone(), std::sync::Arc::clone(body), false));
                }
                Ran::same(world, Flow::empty())
            }
            CommandKind::Coprocess { name, command } => {
                self.nesting.background += 1;
                self.start_coprocess(name, as_list(command, span), &mut world);
                self.nesting.background -= 1;
                Ran::same(world, Flow::empty())
            }
        }
    }

    /// A function by the name of a program that asks for passwords, and in it a program from elsewhere.
    fn takes_the_name_of(&mut self, name: &str, body: &Command, span: Span) {
        if !matches!(name, "sudo" | "su" | "ssh" | "passwd" | "login") {
            return;
        }
        let CommandKind::Group(list) = &body.kind else { return };
        let stages = list.items.iter().flat_map(|item| &item.first.stages);
        let mut programs = stages.filter_map(|stage| match &stage.kind {
            CommandKind::Simple(simple) => simple.words.first().and_then(Word::as_plain),
            _ => None,
        });
        let usual = ["/usr/", "/bin/", "/sbin/"];
        if let Some(program) =
            programs.find(|program| program.contains('/') && !usual.iter().any(|place| program.starts_with(place)))
        {
            let reason = format!("`{name}` would be another program from now on.");
            self.state(Kind::RunHidden, reason, span, Some(program.to_owned()));
        }
    }

    /// `[[ … ]]`: the operands of some operators are calculated, or are the names of variables.
    fn condition(&mut self, words: &[Word], world: &mut World) {
        const CALCULATING: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
        let operator = |at: Option<usize>| at.and_then(|at| words.get(at)).and_then(Word::as_plain).unwrap_or_default();
        for (at, word) in words.iter().enumerate() {
            let text = self.expanding(world).single(word);
            let calculates = CALCULATING.contains(&operator(Some(at + 1)))
                || CALCULATING.contains(&operator(at.checked_sub(1)))
                || matches!(operator(at.checked_sub(1)), "-v" | "-R");
            if calculates {
                self.expanding(world).calculated(&text);
            }
        }
    }

    fn branches(&mut self, clauses: &[(List, List)], otherwise: Option<&List>, world: World) -> Ran {
        let mut all = Ran::default();
        let mut reaching = Worlds::one(world);
        // Once a condition always holds, what follows is judged but changes nothing.
        let mut decided = false;
        self.nesting.conditional += 1;
        for (condition, body) in clauses {
            let tested = self.list(condition, reaching.clone());
            let skipped = tested.success.is_empty();
            let entered = if skipped { tested.failure.clone() } else { tested.success.clone() };
            let ran = self.list(body, entered.going_on().having_moved());
            if !skipped && !decided {
                all.alternative(ran);
            }
            decided |= tested.failure.is_empty();
            reaching = if tested.failure.is_empty() { tested.success } else { tested.failure }.going_on().settled();
        }
        let ran = match otherwise {
            Some(list) => self.list(list, reaching),
            None => Ran { success: reaching, ..Ran::default() },
        };
        if !decided {
            all.alternative(ran);
        }
        self.nesting.conditional -= 1;
        all
    }

    fn looped(&mut self, condition: &List, body: &List, world: World) -> Ran {
        self.nesting.conditional += 1;
        let mut all = Ran::same(world.clone(), Flow::empty());
        let mut worlds = Worlds::one(world);
        // A second time only if the first changed something that the body could see.
        for _ in 0..2 {
            let tested = self.list(condition, worlds.clone());
            let entered = tested.all().going_on().settled();
            let ran = self.list(body, entered);
            all.flow = std::mem::take(&mut all.flow).then(&ran.flow);
            if let Some(errors) = &ran.errors {
                all.add_errors(errors);
            }
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
    fn over(&mut self, name: &str, values: &[Text], body: &List, world: World) -> Ran {
        const MOST_VALUES: usize = 24;
        self.nesting.conditional += 1;
        let mut worlds = Worlds::one(world);
        let mut flow = Flow::empty();
        let mut errors = None;
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
        if chosen.is_empty() {
            // The shell never enters it, as far as is known here, but it is judged all the same.
            self.list(body, worlds.clone());
        }
        for value in chosen {
            let mut entered = Worlds::default();
            for mut world in worlds.0 {
                self.store(name, None, false, value.clone(), &mut world);
                entered.add(world);
            }
            let ran = self.list(body, entered);
            flow = flow.then(&ran.flow);
            errors = errors.or_else(|| ran.errors.clone());
            worlds = ran.all().going_on().settled();
            if self.exhausted {
                break;
            }
        }
        self.nesting.conditional -= 1;
        let mut ran = Ran { success: worlds, failure: Worlds::default(), flow, errors };
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
        let mut own = world.clone();
        if own.descriptors.contains_key(&1) {
            own.descriptors.change().remove(&1);
        }
        self.nesting.substitutions += 1;
        let flow = self.list(list, Worlds::one(own)).flow;
        self.nesting.substitutions -= 1;
        flow.passed_on()
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
        if let Some(errors) = other.errors {
            self.add_errors(&errors);
        }
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
