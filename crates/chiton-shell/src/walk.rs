//! Every command of a tree, however deep it stands.

use crate::tree::{
    Arm, AssignedValue, Command, CommandKind, HereDocument, List, Operation, Parameter, Part, Pipeline, Redirection,
    Target, Word,
};

/// What a walk passes, the outer before the inner.
#[derive(Clone, Copy)]
pub(crate) enum Visited<'a> {
    Pipeline(&'a Pipeline),
    Command(&'a Command),
    /// The commands of `>(…)`, which read what is written to it.
    Output(&'a List),
}

pub(crate) type Visit<'v, 'a> = &'v mut dyn FnMut(Visited<'a>);

/// Visits everything in `list`: also what stands in words, here documents and the bodies of functions.
pub(crate) fn list<'a>(list: &'a List, visit: Visit<'_, 'a>) {
    for item in &list.items {
        for one in std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline)) {
            visit(Visited::Pipeline(one));
            for stage in &one.stages {
                command(stage, visit);
            }
        }
    }
}

/// Visits `one` and everything in it.
pub(crate) fn command<'a>(one: &'a Command, visit: Visit<'_, 'a>) {
    visit(Visited::Command(one));
    match &one.kind {
        CommandKind::Simple(_) | CommandKind::Arithmetic(_) | CommandKind::Condition(_) => {}
        CommandKind::Subshell(inner) | CommandKind::Group(inner) => list(inner, visit),
        CommandKind::If { clauses, otherwise } => {
            for (condition, body) in clauses {
                list(condition, visit);
                list(body, visit);
            }
            if let Some(body) = otherwise {
                list(body, visit);
            }
        }
        CommandKind::Loop { condition, body, .. } => {
            list(condition, visit);
            list(body, visit);
        }
        CommandKind::For { body, .. } | CommandKind::ArithmeticFor { body, .. } => list(body, visit),
        CommandKind::Case { arms, .. } => arms.iter().for_each(|arm| list(&arm.body, visit)),
        CommandKind::Function { body, .. } => command(body, visit),
        CommandKind::Coprocess { command: inner, .. } => command(inner, visit),
    }

    each_word(one, &mut |one| word(one, visit));
}

/// Hands every word of `one` itself, redirections and here documents included, to `take`.
fn each_word<'a>(one: &'a Command, take: &mut dyn FnMut(&'a Word)) {
    match &one.kind {
        CommandKind::Simple(simple) => {
            for assignment in &simple.assignments {
                assignment.index.iter().for_each(&mut *take);
                match &assignment.value {
                    AssignedValue::Scalar(value) => take(value),
                    AssignedValue::Array(elements) => {
                        for (index, element) in elements {
                            index.iter().for_each(&mut *take);
                            take(element);
                        }
                    }
                }
            }
            simple.words.iter().for_each(&mut *take);
        }
        CommandKind::For { words, .. } => words.iter().flatten().for_each(&mut *take),
        CommandKind::ArithmeticFor { expressions, .. } => expressions.iter().for_each(&mut *take),
        CommandKind::Case { subject, arms } => {
            take(subject);
            arms.iter().flat_map(|Arm { patterns, .. }| patterns).for_each(&mut *take);
        }
        CommandKind::Arithmetic(expression) => take(expression),
        CommandKind::Condition(words) => words.iter().for_each(&mut *take),
        _ => {}
    }
    one.redirections.iter().for_each(|redirection| take(target(redirection)));
}

/// What a redirection points at: a word, or the body of a here document.
pub(crate) fn target(redirection: &Redirection) -> &Word {
    static EMPTY: Word = Word { parts: Vec::new(), span: crate::span::Span { start: 0, end: 0 } };
    match &redirection.target {
        Target::Word(word) => word,
        Target::Here(_) => here(redirection).map_or(&EMPTY, |document| &document.body),
    }
}

/// The here document of a redirection.
pub(crate) fn here(redirection: &Redirection) -> Option<&HereDocument> {
    match &redirection.target {
        Target::Here(document) => document.get(),
        Target::Word(_) => None,
    }
}

fn word<'a>(one: &'a Word, visit: Visit<'_, 'a>) {
    one.parts.iter().for_each(|one| part(one, visit));
}

fn part<'a>(one: &'a Part, visit: Visit<'_, 'a>) {
    match one {
        Part::Literal(_) | Part::Quoted(_) => {}
        Part::Double(parts) => parts.iter().for_each(|one| part(one, visit)),
        Part::Parameter(parameter) => parameter_words(parameter, &mut |one| word(one, visit)),
        Part::Command(inner) => list(inner, visit),
        Part::Arithmetic(expression) => word(expression, visit),
        Part::Process { reads, list: inner } => {
            if !reads {
                visit(Visited::Output(inner));
            }
            list(inner, visit);
        }
    }
}

fn parameter_words<'a>(parameter: &'a Parameter, take: &mut dyn FnMut(&'a Word)) {
    parameter.index.iter().for_each(&mut *take);
    match &parameter.operation {
        Operation::Plain | Operation::Transform(_) | Operation::Names => {}
        Operation::Alternative { word, .. } => take(word),
        Operation::Trim { pattern, .. } | Operation::Case { pattern, .. } => take(pattern),
        Operation::Replace { pattern, replacement, .. } => {
            take(pattern);
            take(replacement);
        }
        Operation::Slice { offset, length } => {
            take(offset);
            length.iter().for_each(take);
        }
    }
}
