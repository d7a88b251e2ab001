//! Variables that a command sets: what their values make programs do.

use std::rc::Rc;

use chiton_shell::tree::Span;

use super::network::suspicious_helper;
use crate::effect::Kind;
use crate::machine::state::World;
use crate::machine::{Lasting, Machine};
use crate::value::{Flow, Text};
use crate::variables::{self, Check};

/// Judges a variable that a command sets.
pub(crate) fn judge(machine: &mut Machine<'_>, name: &str, value: &Text, span: Span, lasting: Lasting) {
    if matches!(name, "HISTFILE" | "HISTSIZE" | "HISTFILESIZE") && lasting == Lasting::Stays {
        let off = value.is("/dev/null") || value.is("0") || value.is("");
        if off {
            machine.state(
                Kind::EraseLog,
                format!("With this {name} the shell keeps no history."),
                span,
                Some(name.to_owned()),
            );
        }
        return;
    }
    if name.starts_with("CHITON_") {
        super::chiton::judge_variable(machine, name, value, span);
        return;
    }
    let is_function = value.known_start().starts_with("() {");
    let check = match variables::check_of(name) {
        Some(check) => check,
        None if is_function => Check::Code(&[""]),
        None => return,
    };

    let object = |machine: &mut Machine<'_>, why: String| {
        machine.state(Kind::Environment, why, span, Some(format!("{name}={}", value.display())));
    };
    let text = value.as_known();
    match check {
        Check::Nothing => {}
        Check::Code(harmless) => {
            if !text.is_some_and(|text| harmless.contains(&text.as_str())) {
                object(machine, format!("{name} makes programs load or run code."));
            }
        }
        Check::Options(risky) => {
            let shown = value.display();
            if risky.iter().any(|option| shown.contains(option)) {
                object(machine, format!("{name} makes a program load or run code."));
            }
            if name.starts_with("PS") {
                machine.expanded_again(&shown, &World::new(machine.context));
            }
        }
        Check::File => {
            if value.display().contains('/') && !value.is("/dev/null") {
                object(machine, format!("{name} names a file that a program runs when it starts."));
            }
        }
        Check::Search => search_path(machine, name, value, span),
        Check::Command => command_variable(machine, name, value, span),
    }
}

fn search_path(machine: &mut Machine<'_>, name: &str, value: &Text, span: Span) {
    let shown = value.display();
    let mut before_own = true;
    for directory in shown.split(':') {
        before_own &= !directory.starts_with("${") && !directory.starts_with("/usr") && !directory.starts_with("/bin");
        let writable = machine.places().is_open_to_others(directory);
        let here = name == "PATH" && (directory == "." || directory.is_empty() && shown.len() > 1 && before_own);
        if writable || here {
            let reason = format!("{name} would look for programs or code in {directory}, where anybody can put some.");
            machine.state(Kind::Environment, reason, span, Some(shown.clone()));
            return;
        }
    }
}

fn command_variable(machine: &mut Machine<'_>, name: &str, value: &Text, span: Span) {
    let Some(text) = value.as_literal() else { return };
    if text.trim().is_empty() {
        return;
    }
    let text = text.trim_start_matches('|').trim().to_owned();
    if name == "PROMPT_COMMAND" {
        let reason = format!("{name} runs a command again and again.");
        machine.state(Kind::Environment, reason, span, Some(text.clone()));
    }
    machine.script(&text, World::new(machine.context), &Rc::new(Flow::empty()), span);
    let relative = text.starts_with("./") || text.starts_with("node_modules/");
    let compiler = matches!(name, "CC" | "CXX" | "LD" | "AR") || name.contains("LINKER");
    if let Some(why) = suspicious_helper(&text).filter(|_| !relative && (!compiler || text.starts_with("/tmp"))) {
        let reason = format!("{name} makes other programs run this one: {why}");
        machine.state(Kind::Environment, reason, span, Some(text));
    }
}
