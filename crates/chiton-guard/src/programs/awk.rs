//! Awk: a program that may run others and write files.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::options::{Grammar, Options};
use super::row::{PROGRAM, Program, allows, asks, denies};
use super::text_tools::{choose, filtered};
use crate::effect::{Effect, Kind, Writing};
use crate::machine::command::Call;
use crate::machine::state::{Value, World};
use crate::machine::{Machine, Ran};
use crate::snippet::Language;
use crate::snippet::lexer::{Token, tokens};
use crate::value::{Arg, Flow, Labels, Text};

pub(super) const ROWS: &[Program] = &[Program {
    names: &["awk", "gawk", "mawk", "nawk", "original-awk"],
    custom: Some(|machine, call, world| Some(awk(machine, call, world))),
    examples: examples![
        denies("awk 'BEGIN { system(\"rm -rf /\") }'", "delete-root"),
        denies("awk 'BEGIN { print \"rm -rf /\" | \"sh\" }'", "delete-root"),
        denies("awk 'BEGIN { \"rm -rf /\" | getline }'", "delete-root"),
        denies("awk -v c='rm -rf /' 'BEGIN { system(c) }'", "delete-root"),
        denies("awk 'BEGIN { c = \"rm -rf /\"; c | getline }'", "delete-root"),
        denies("echo 'rm -rf /' | awk '{ system($0) }'", "delete-root"),
        asks("gawk -l /tmp/x.so 'BEGIN { }'", "hidden-run"),
        asks("awk '{ system($1) }' list", "unknown-run"),
        asks("awk 'BEGIN { print 1 > \"/etc/hosts\" }'", "system-write"),
        asks("awk 'BEGIN { s = \"/inet/tcp/0/host/4444\"; s |& getline }'", "remote-shell"),
        asks("awk '{ print }' ~/.ssh/id_rsa", "credentials"),
        denies("ps aux | awk '{ print $2 }' | xargs kill", "kill-all"),
        denies("ps aux | awk 'NR > 1 { print $2 }' | xargs kill", "kill-all"),
        allows("ps aux | awk '/foo/{print $2}' | xargs kill -15"),
        allows("kill $(ps -eo pid,comm | awk '$2 == \"vite\" { print $1 }')"),
        allows("ls -t | awk 'NR>5' | xargs rm"),
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
        run_program(machine, program, &options, &files, world, call);
    }
    for file in options.values(&["f", "file", "E"]) {
        let flow = machine.read_given(&file.text, call, world);
        match flow.text {
            Some(text) => run_program(machine, &Arg::known(text, file.span), &options, &files, world, call),
            None => machine.object_to_flow(&Flow::labelled(flow.labels.without(Labels::UNKNOWN)), file),
        }
    }
    for library in options.values(&["l", "load", "i", "include", "f", "file"]) {
        let shown = library.text.display();
        let is_open = ["/tmp/", "/var/tmp/", "/dev/shm/"].iter().any(|place| shown.starts_with(place));
        if is_open && machine.read(&library.text, world).text.is_none() {
            let reason = format!("{shown} would be loaded into awk, and anybody could have put it there.");
            machine.state(Kind::RunHidden, reason, library.span, Some(shown));
        }
    }

    for file in &files {
        machine.does(Effect::Print { what: &file.text, program: "awk" }, world, file.span);
    }
    let flow = if files.is_empty() {
        let mut flow = filtered(call);
        if programs.iter().any(|program| program.text.as_literal().is_some_and(|text| chooses(&text))) {
            choose(&mut flow);
        }
        flow
    } else {
        Flow::labelled(machine.labels_of(&files, world).with(Labels::UNKNOWN))
    };
    Ran::same(world.clone(), flow)
}

/// What an awk program finds in its variables.
struct Known<'k> {
    /// Those that `-v` and the program itself give a text.
    variables: BTreeMap<String, Text>,
    files: &'k [Arg],
    call: &'k Call,
}

impl Known<'_> {
    /// The text of the expression that begins at `at`, and where it ends: strings and variables side by side.
    fn text(&self, tokens: &[Token], at: usize) -> Option<Text> {
        let mut text = Text::default();
        let mut next = at;
        while let Some(token) = tokens.get(next) {
            match token {
                Token::Text(string) => text.append(string),
                Token::Name(name) if is_sign(tokens.get(next + 1), '[') => {
                    let key = match tokens.get(next + 2) {
                        Some(Token::Number(key)) => key.clone(),
                        Some(Token::Text(key)) => key.as_known()?,
                        _ => return None,
                    };
                    text.append(&self.entry(name, &key)?);
                    next += 3;
                }
                Token::Name(name) if name == "$" || name == "$0" => text.append(&self.line()?),
                Token::Name(name) => text.append(self.variables.get(name)?),
                Token::Sign('$') if matches!(tokens.get(next + 1), Some(Token::Number(number)) if number == "0") => {
                    text.append(&self.line()?);
                    next += 1;
                }
                _ => break,
            }
            next += 1;
        }
        (next > at).then_some(text)
    }

    /// The lines that come in.
    fn line(&self) -> Option<Text> {
        let text = self.call.input.text.as_ref().filter(|text| !text.is_empty())?;
        Some(Text::known(text.trim_end_matches('\n')))
    }

    fn entry(&self, name: &str, key: &str) -> Option<Text> {
        match name {
            "ARGV" => {
                key.parse::<usize>().ok()?.checked_sub(1).and_then(|at| self.files.get(at)).map(|arg| arg.text.clone())
            }
            "ENVIRON" => self.variables.get(&format!("ENVIRON {key}")).cloned(),
            _ => None,
        }
    }
}

/// Goes through `system("…")`, `"…" | getline`, `print | "…"` and `print > "…"`.
fn run_program(machine: &mut Machine<'_>, program: &Arg, options: &Options, files: &[Arg], world: &World, call: &Call) {
    let Some(text) = program.text.as_literal() else { return };
    if text.contains("/inet/tcp") || text.contains("/inet/udp") {
        // What it hears is run: `while ((c |& getline) > 0)`, `system(c)`.
        let hears = text.contains("getline");
        let runs =
            text.contains("system(") || text.matches("|& getline").count() + text.matches("|&getline").count() > 1;
        if hears && runs {
            machine.remote_shell(program.span);
        } else {
            machine.state(Kind::OpenMachine, "This lets awk talk to another machine.", program.span, None);
        }
    }

    let tokens = tokens(&text, Language::Awk);
    let known = Known { variables: variables(&tokens, options, machine, world), files, call };
    for at in 0..tokens.len() {
        let before = at.checked_sub(1).map(|at| &tokens[at]);
        let before_that = at.checked_sub(2).map(|at| &tokens[at]);
        let starts = matches!(tokens[at], Token::Text(_) | Token::Name(_) | Token::Sign('$'));
        // `|&` lets both speak to each other.
        let is_pipe = is_sign(before, '|') || is_sign(before, '&') && is_sign(before_that, '|');
        let printed_into = is_pipe && !is_sign(before_that, '|') && !is_name(tokens.get(at), "getline")
            || is_sign(before, '&') && is_sign(before_that, '|') && !is_name(tokens.get(at), "getline");
        let called = is_sign(before, '(') && is_name(before_that, "system");
        let behind = tokens.get(at + 1);
        let read_from = is_sign(behind, '|')
            && (is_name(tokens.get(at + 2), "getline")
                || is_sign(tokens.get(at + 2), '&') && is_name(tokens.get(at + 3), "getline"));
        if starts && (printed_into || called || read_from) {
            let input = match before_that {
                Some(Token::Text(printed)) if printed_into => Rc::new(printed.to_flow()),
                _ => Rc::clone(&call.input),
            };
            match known.text(&tokens, at) {
                Some(command) => drop(machine.run_text(&Arg::new(command, program.span), world.clone(), &input)),
                None => match &tokens[at] {
                    Token::Text(start) => {
                        let mut command = start.clone();
                        command.append(&Text::variable("field"));
                        machine.run_text(&Arg::new(command, program.span), world.clone(), &input);
                    }
                    _ if !read_from || !matches!(tokens[at], Token::Sign(_)) => {
                        let reason = "The text does not decide what awk would run here.";
                        machine.state(Kind::RunUnknown, reason, program.span, None);
                    }
                    _ => {}
                },
            }
        } else if is_sign(before, '>')
            && let Token::Text(file) = &tokens[at]
        {
            machine.writes("This would write to", file, Writing::Replaces, world, program.span);
        }
    }
}

/// Whether a program takes only some of the lines: `/x/ { … }`, `$1 == "x"`, `NR > 5`, `{ if (…) … }`.
fn chooses(text: &str) -> bool {
    let text = text.trim();
    let pattern = text.split('{').next().unwrap_or_default().trim();
    let condition = text.split_once("if").map(|(_, rest)| rest.trim_start()).filter(|rest| rest.starts_with('('));
    let is_choice = |test: &str| {
        let regex = test.strip_prefix('/').and_then(|rest| rest.split('/').next());
        let is_sweeping = regex.is_some_and(|regex| regex.bytes().all(|byte| b".*^$+".contains(&byte)));
        let compares = test.contains(['~', '<', '>', '/']) || test.contains("==") || test.contains("!=");
        compares && !is_sweeping && !test.starts_with('!')
    };
    // The first line is only the heading.
    let is_heading = matches!(pattern.replace(' ', "").as_str(), "NR>1" | "NR!=1" | "FNR>1" | "NR>=2");
    is_choice(pattern) && !is_heading || condition.is_some_and(is_choice)
}

/// The variables that `-v` and plain assignments give a text, and those of the environment.
fn variables(tokens: &[Token], options: &Options, machine: &Machine<'_>, world: &World) -> BTreeMap<String, Text> {
    let mut variables = BTreeMap::new();
    for setting in options.values(&["v", "assign"]) {
        let start = setting.text.known_start();
        if let Some((name, _)) = start.split_once('=') {
            variables.insert(name.to_owned(), setting.text.skip(name.len() + 1));
        }
    }
    for at in 0..tokens.len() {
        let Token::Name(name) = &tokens[at] else { continue };
        if name == "ENVIRON"
            && let Some(Token::Text(key)) = tokens.get(at + 2)
            && let Some(key) = key.as_known()
            && let Value::Scalar(value) = world.get(&key, machine.context)
        {
            variables.insert(format!("ENVIRON {key}"), value);
        }
        if is_sign(tokens.get(at + 1), '=') && !is_sign(tokens.get(at + 2), '=') {
            let mut text = Text::default();
            let mut next = at + 2;
            while let Some(Token::Text(part)) = tokens.get(next) {
                text.append(part);
                next += 1;
            }
            if next > at + 2 {
                variables.insert(name.clone(), text);
            }
        }
    }
    variables
}

fn is_sign(token: Option<&Token>, sign: char) -> bool {
    matches!(token, Some(Token::Sign(other)) if *other == sign)
}

fn is_name(token: Option<&Token>, name: &str) -> bool {
    token.and_then(Token::as_name) == Some(name)
}
