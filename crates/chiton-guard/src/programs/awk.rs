//! Awk: a program that may run others and write files.

use std::rc::Rc;

use super::options::{Grammar, Options};
use super::row::{PROGRAM, Program, allows, asks, denies};
use super::text_tools::filtered;
use crate::effect::{Effect, Kind, Writing};
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Machine, Ran};
use crate::snippet::Language;
use crate::snippet::lexer::{Token, tokens};
use crate::value::{Arg, Flow, Labels, Text};

pub(super) const ROWS: &[Program] = &[Program {
    names: &["awk", "gawk", "mawk", "nawk", "original-awk"],
    custom: Some(|machine, call, world| Some(awk(machine, call, world))),
    examples: &[
        denies("awk 'BEGIN { system(\"rm -rf /\") }'", "delete-root"),
        denies("awk 'BEGIN { print \"rm -rf /\" | \"sh\" }'", "delete-root"),
        denies("awk 'BEGIN { \"rm -rf /\" | getline }'", "delete-root"),
        asks("awk '{ system($1) }' list", "unknown-run"),
        asks("awk 'BEGIN { print 1 > \"/etc/hosts\" }'", "system-write"),
        asks("awk 'BEGIN { s = \"/inet/tcp/0/host/4444\"; s |& getline }'", "remote-shell"),
        asks("awk '{ print }' ~/.ssh/id_rsa", "credentials"),
        allows("awk -F: '{ print $1 }' list"),
    ],
    ..PROGRAM
}];

const AWK: Grammar = Grammar {
    short: "FvfEile",
    long: &["field-separator", "assign", "file", "source", "include", "load"],
    flags: &["in-place"],
    stops: true,
    ..Grammar::PLAIN
};

fn awk(machine: &mut Machine<'_>, call: &Call, world: &World) -> Ran {
    let options = Options::read(&call.args, &AWK);
    let mut programs: Vec<Arg> = options.values(&["e", "source"]).cloned().collect();
    let mut files = options.operands.clone();
    if programs.is_empty() && !options.has(&["f", "file", "E"]) && !files.is_empty() {
        programs.push(files.remove(0));
    }

    for program in &programs {
        run_program(machine, program, world, call);
    }
    for file in options.values(&["f", "file", "E"]) {
        if let Some(text) = machine.read_given(&file.text, call, world).text {
            run_program(machine, &Arg::known(text, file.span), world, call);
        }
    }

    for file in &files {
        machine.does(Effect::Print { what: &file.text, program: "awk" }, world, file.span);
    }
    let flow = if files.is_empty() {
        filtered(call)
    } else {
        Flow::labelled(machine.labels_of(&files, world).with(Labels::UNKNOWN))
    };
    Ran::same(world.clone(), flow)
}

/// Goes through `system("…")`, `"…" | getline`, `print | "…"` and `print > "…"`.
fn run_program(machine: &mut Machine<'_>, program: &Arg, world: &World, call: &Call) {
    let Some(text) = program.text.as_literal() else { return };
    if text.contains("/inet/tcp") || text.contains("/inet/udp") {
        machine.state(Kind::OpenMachine, "This lets awk talk to another machine.", program.span, None);
    }

    let tokens = tokens(&text, Language::Awk);
    for (at, token) in tokens.iter().enumerate() {
        if runs_unknown(&tokens, at) {
            let reason = "The text does not decide what awk would run here.";
            machine.state(Kind::RunUnknown, reason, program.span, None);
        }
        let Token::Text(string) = token else { continue };

        let before = at.checked_sub(1).map(|at| &tokens[at]);
        let before_that = at.checked_sub(2).map(|at| &tokens[at]);
        let printed_into = is_sign(before, '|') && !is_sign(before_that, '|');
        let read_from = is_sign(tokens.get(at + 1), '|') && is_name(tokens.get(at + 2), "getline");
        let called = is_sign(before, '(') && is_name(before_that, "system");
        if printed_into || read_from || called {
            let input = match before_that {
                Some(Token::Text(printed)) if printed_into => Rc::new(printed.to_flow()),
                _ => Rc::clone(&call.input),
            };
            let command = Arg::new(command_at(&tokens, at, string), program.span);
            machine.run_text(&command, world.clone(), &input);
        } else if is_sign(before, '>') {
            machine.writes("This would write to", string, Writing::Replaces, world, program.span);
        }
    }
}

/// Whether what runs at a token is not a string: `system($1)`, `print | command`.
fn runs_unknown(tokens: &[Token], at: usize) -> bool {
    let token = tokens.get(at);
    let next = tokens.get(at + 1);
    let calls = is_name(token, "system") && is_sign(next, '(') && !matches!(tokens.get(at + 2), Some(Token::Text(_)));
    let is_second = at > 0 && is_sign(tokens.get(at - 1), '|');
    let pipes = is_sign(token, '|') && matches!(next, Some(Token::Name(_))) && !is_name(next, "getline") && !is_second;
    calls || pipes
}

/// The command that begins with a string. Where that goes on with a value, only its start is known.
fn command_at(tokens: &[Token], at: usize, string: &Text) -> Text {
    let mut command = string.clone();
    if let Some(Token::Name(_) | Token::Text(_) | Token::Sign('$')) = tokens.get(at + 1) {
        command.append(&Text::variable("field"));
    }
    command
}

fn is_sign(token: Option<&Token>, sign: char) -> bool {
    matches!(token, Some(Token::Sign(other)) if *other == sign)
}

fn is_name(token: Option<&Token>, name: &str) -> bool {
    token.and_then(Token::as_name) == Some(name)
}
