//! Code for an interpreter: which calls in it delete, write, run or multiply.
//!
//! 1. [`lexer`] cuts the code into tokens, with [`strings`] for what stands in quotes.
//! 2. [`functions`] finds the functions that the code defines.
//! 3. [`scan`] goes through it: imports, assignments, loops and calls; [`values`] and [`given`] say what expressions are.
//! 4. [`calls`] has a row for each call that does something, and [`effects`] reports what that is.
//! 5. [`whole`] looks at what only the whole of a code shows.
//!
//! Tcl and PowerShell are made of commands rather than calls: [`commands`] goes through those.

mod calls;
mod commands;
mod effects;
mod functions;
mod given;
mod language;
pub(crate) mod lexer;
mod scan;
mod strings;
mod values;
mod whole;

use std::rc::Rc;

pub(crate) use language::Language;

use crate::machine::state::World;
use crate::machine::{DEEPEST_CALLS, Machine};
use crate::value::{Arg, Flow, Labels, Piece, Text};

/// Goes through code that an interpreter runs. What is unknown in it stands for itself.
pub(crate) fn run_code(machine: &mut Machine<'_>, code: &Arg, language: Language, world: &World, input: &Rc<Flow>) {
    run_code_with(machine, code, language, world, input, &[]);
}

/// The same, with what the code is given as its arguments.
pub(crate) fn run_code_with(
    machine: &mut Machine<'_>,
    code: &Arg,
    language: Language,
    world: &World,
    input: &Rc<Flow>,
    arguments: &[Text],
) {
    let labels = code.text.labels();
    if labels.has(Labels::DOWNLOADED) || labels.has(Labels::DECODED) {
        machine.object_to_flow(&Flow::labelled(labels), code);
    }
    if !machine.step(code.span) || machine.frames.len() >= DEEPEST_CALLS {
        return;
    }

    let known = |piece: &Piece| match piece {
        Piece::Known(text) => text.clone(),
        Piece::Glob(_) | Piece::Unknown(_) => "__unknown__".to_owned(),
    };
    let text = code.text.as_literal().unwrap_or_else(|| code.text.0.iter().map(known).collect());
    if matches!(language, Language::Tcl | Language::PowerShell) {
        commands::run(machine, &text, language, world, input, code.span);
        return;
    }
    let tokens = lexer::read(&text, language);

    scan::scan(machine, &tokens, language, world, input, arguments, code.span);
    whole::look_at(machine, &text, &tokens.all, world, code.span);
}
