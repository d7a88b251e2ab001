//! Programs that build by recipes, and run tasks on many machines.

use super::frameworks::{RUBY_TASKS, in_tests};
use super::options::{Grammar, Options};
use super::row::{PROGRAM, Prints, Program, allows, asks, denies};
use crate::effect::Kind;
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Machine, Ran};
use crate::value::{Arg, Flow, Labels, Text};

const MAKE: Grammar = Grammar { short: "fCIojW", long: &["file", "makefile", "directory", "eval"], ..Grammar::PLAIN };

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["make", "gmake", "ninja"],
        custom: Some(recipes),
        examples: examples![
            denies("printf 'all:\\n\\trm -rf /\\n' > Makefile; make", "delete-root"),
            denies("make --eval='x:;rm -rf /' x", "delete-root"),
            denies("printf 'x := $(shell rm -rf /)\\nall:\\n' > Makefile; make", "delete-root"),
            denies("printf 'D = /\\nall:\\n\\trm -rf $(D)\\n' > Makefile; make", "delete-root"),
            asks("make SHELL=/tmp/x", "hidden-run"),
            allows("make -j4 test"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["just"],
        custom: Some(recipes),
        prints: Prints::Settings,
        examples: examples![allows("just test"), asks("just SHELL=/tmp/x", "hidden-run")],
        ..PROGRAM
    },
    Program {
        names: &["rake"],
        custom: Some(tasks),
        effects: RUBY_TASKS,
        examples: examples![
            asks("rake db:drop RAILS_ENV=production", "remote-data"),
            asks("rake db:drop db:create db:migrate", "remote-data"),
            asks("bundle exec rake db:schema:load", "remote-data"),
            asks("rake release", "publish"),
            allows("RAILS_ENV=test rake db:drop"),
            allows("rake test"),
            allows("rake -T"),
        ],
        ..PROGRAM
    },
];

/// Recipes whose text this command shows, and settings that name programs.
fn recipes(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    for arg in &call.args {
        if arg.text.known_start().starts_with("SHELL=") {
            super::run_helper(machine, &Arg::new(arg.text.skip(6), arg.span), world);
        }
    }

    let options = Options::read(&call.args, &MAKE);
    if let Some(arg) = options.value(&["eval"]).cloned()
        && let Some(text) = arg.text.as_known()
    {
        evaluated(machine, &text, &arg, call, world);
    }

    match options.value(&["f", "file", "makefile"]).cloned() {
        Some(file) if file.text.is("-") || file.text.is("/dev/stdin") => {
            makefile(machine, &call.input.clone(), world, call);
        }
        Some(file) => {
            let flow = machine.read(&file.text, world);
            makefile(machine, &flow, world, call);
        }
        None => {
            for name in ["Makefile", "makefile", "GNUmakefile"] {
                let flow = machine.read(&Text::known(name), world);
                makefile(machine, &flow, world, call);
            }
        }
    }
    None
}

/// `x:;command` and `$(shell command)`.
fn evaluated(machine: &mut Machine<'_>, text: &str, arg: &Arg, call: &Call, world: &World) {
    for part in text.split([';', '\n']).skip(1) {
        machine.script(part.trim().trim_start_matches('@'), world.clone(), &call.input, arg.span);
    }
    if let Some(at) = text.find("$(shell ") {
        machine.script(text[at + 8..].trim_end_matches(')'), world.clone(), &call.input, arg.span);
    }
}

/// The recipes of a makefile whose text is known.
fn makefile(machine: &mut Machine<'_>, flow: &Flow, world: &World, call: &Call) {
    let Some(text) = &flow.text else {
        let known = Flow::labelled(flow.labels.without(Labels::UNKNOWN));
        machine.object_to_flow(&known, &Arg::known("makefile", call.span));
        return;
    };
    let mut variables: Vec<(String, String)> = Vec::new();
    for line in text.clone().lines() {
        // `$(shell command)` runs wherever it stands.
        for part in line.split("$(shell ").skip(1) {
            let end = part.rfind(')').unwrap_or(part.len());
            if chiton_shell::parse(&part.as_bytes()[..end]).is_ok() {
                machine.script(&part[..end], world.clone(), &call.input, call.span);
            }
        }
        if let Some((name, value)) = line.split_once('=').filter(|_| !line.starts_with('\t')) {
            let name = name.trim_end_matches([':', '?', '+', ' ']).trim();
            variables.push((name.to_owned(), value.trim().to_owned()));
        }
        let recipe = line.strip_prefix('\t').or_else(|| line.split_once(';').map(|(_, recipe)| recipe));
        if let Some(recipe) = recipe {
            let mut recipe = recipe.trim_start_matches(['@', '-', '+', ' ']).to_owned();
            for (name, value) in variables.iter().take(100) {
                recipe = recipe.replace(&format!("$({name})"), value).replace(&format!("${{{name}}}"), value);
            }
            let recipe = recipe.replace("$$", "$");
            machine.script(&recipe, world.clone(), &call.input, call.span);
        }
    }
}

/// Tasks of Ruby: what releases a gem, and what a test environment may do.
fn tasks(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    if call.args.iter().any(|arg| arg.text.is("release") || arg.text.is("release:rubygem_push")) {
        machine.state(Kind::Publish, "This would publish the gem of the project.", call.span, None);
    }
    recipes(machine, call, world);
    in_tests(machine, call, world)
}
