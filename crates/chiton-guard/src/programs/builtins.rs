//! Builtins of the shell that change what comes after them.

use super::row::Program;
use crate::effect::Kind;
use std::rc::Rc;

use crate::machine::command::Call;
use crate::machine::path;
use crate::machine::state::{Value, World, Worlds};
use crate::machine::value::Arg;
use crate::machine::value::{Flow, Labels, Piece, Text, What};
use crate::machine::{Machine, Ran};
use crate::programs::options::{Grammar, Options};

pub(super) const ROWS: &[Program] = &[];

impl Machine<'_> {
    /// Goes through a builtin; none if it is none.
    #[expect(clippy::too_many_lines, reason = "a table of what programs do")]
    pub(crate) fn builtin(&mut self, call: &Call, world: &World) -> Option<Ran> {
        let mut world = world.clone();
        let flow = match call.name.as_str() {
            "cd" | "chdir" | "pushd" | "popd" => return Some(self.change_directory(call, world)),
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                self.declare(call, &mut world);
                let lists =
                    call.args.iter().all(|arg| matches!(arg.text.known_start().as_str(), "-p" | "-x" | "-px" | "-xp"));
                if lists { Flow::labelled(Labels::SECRET) } else { Flow::empty() }
            }
            "unset" => {
                self.unset(call, &mut world);
                Flow::empty()
            }
            "set" => {
                self.set(call, &mut world);
                Flow::labelled(if call.args.is_empty() { Labels::SECRET } else { Labels::PLAIN })
            }
            "shift" => {
                let count =
                    call.args.first().map_or(Some(1), |arg| arg.text.as_known().and_then(|text| text.parse().ok()));
                world.positional = match (world.positional.take(), count) {
                    (Some(all), Some(count)) => Some(Rc::new(all.iter().skip(count).cloned().collect())),
                    _ => None,
                };
                Flow::empty()
            }
            "read" | "mapfile" | "readarray" => return Some(self.read_variables(call, world)),
            "getopts" => {
                if let Some(name) = call.args.get(1).and_then(|arg| arg.text.as_known()) {
                    world.set_text(&name, Text::unknown(What::Plain, true));
                }
                Flow::empty()
            }
            "exit" | "logout" | "return" | "break" | "continue" => {
                world.ended = true;
                Flow::empty()
            }
            "true" | ":" | "false" | "test" | "[" | "wait" | "jobs" | "fg" | "bg" | "disown" | "ulimit" | "umask"
            | "times" | "help" | "suspend" | "caller" | "dirs" | "compgen" | "shopt" => Flow::empty(),
            "let" => {
                for arg in &call.args {
                    if let Some((name, _)) = arg.text.known_start().split_once('=') {
                        world.set_text(name.trim_end_matches(['+', '-', '*', '/']), Text::unknown(What::Plain, true));
                    }
                }
                Flow::empty()
            }
            "alias" => {
                self.alias(call, &mut world);
                Flow::empty()
            }
            "unalias" => {
                world.aliases = Rc::default();
                Flow::empty()
            }
            "trap" => {
                self.trap(call, &world);
                Flow::empty()
            }
            "eval" => return Some(self.eval(call, world)),
            "source" | "." => return Some(self.source(call, world)),
            "enable" if call.args.iter().any(|arg| arg.text.known_start().starts_with("-f")) => {
                self.state(Kind::RunHidden, "This loads code into the shell.".to_owned(), call.span, None);
                Flow::empty()
            }
            "hash" if call.args.iter().any(|arg| arg.text.known_start().starts_with("-p")) => {
                self.state(
                    Kind::RunHidden,
                    "This puts another program in the place of a command.".to_owned(),
                    call.span,
                    None,
                );
                Flow::empty()
            }
            "complete" | "bind" => {
                let options = Options::read(&call.args, &Grammar { short: "CxFAGWPSXomuqrf", ..Grammar::default() });
                for text in options.values(&["C", "x"]) {
                    let command = text
                        .text
                        .as_known()
                        .map(|known| known.split_once(':').map_or(known.clone(), |(_, command)| command.to_owned()));
                    let arg = Arg::new(command.map_or_else(|| text.text.clone(), Text::known), text.span);
                    self.run_text(&arg, world.clone(), &call.input);
                }
                Flow::empty()
            }
            "history" => {
                if call.args.iter().any(|arg| matches!(arg.text.known_start().as_str(), start if start.starts_with('-') && start.contains(['c', 'd', 'w']))) {
                    self.state(Kind::EraseLog, "This wipes the history of the shell.".to_owned(), call.span, None);
                }
                Flow::labelled(Labels::UNKNOWN)
            }
            _ => return None,
        };
        Some(match call.name.as_str() {
            "true" | ":" | "export" | "set" | "alias" | "trap" | "shopt" | "umask" => Ran::succeeded(world, flow),
            "false" => Ran { success: Worlds::default(), failure: Worlds::one(world), flow },
            _ => Ran::same(world, flow),
        })
    }

    fn change_directory(&mut self, call: &Call, world: World) -> Ran {
        let options = Options::read(&call.args, &Grammar { short: "", stops: true, ..Grammar::default() });
        let mut moved = world.clone();
        let target = options.operands.first().map(|arg| arg.text.clone());
        match (call.name.as_str(), target) {
            ("popd", _) => {
                let directory = Rc::make_mut(&mut moved.stack).pop();
                moved.enter(directory.flatten());
            }
            ("pushd", target) => {
                let cwd = moved.cwd.clone();
                Rc::make_mut(&mut moved.stack).push(cwd);
                let directory = target.and_then(|text| directory(&text, &world));
                moved.enter(directory);
            }
            (_, None) if call.args.first().is_some_and(|arg| arg.text.is("-")) => {
                let previous = moved.previous.clone();
                moved.enter(previous);
            }
            (_, None) => {
                let home = match world.get("HOME", self.context) {
                    Value::Scalar(text) => text.as_known(),
                    _ => None,
                };
                moved.enter(home);
            }
            (_, Some(text)) if text.is("-") => {
                let previous = moved.previous.clone();
                moved.enter(previous);
            }
            (_, Some(text)) => {
                // `cd ""` stays where it is.
                if !text.is("") {
                    let directory = directory(&text, &world);
                    moved.enter(directory);
                }
            }
        }
        let mut stayed = world;
        stayed.stayed = true;
        Ran { success: Worlds::one(moved), failure: Worlds::one(stayed), flow: Flow::empty() }
    }

    fn declare(&mut self, call: &Call, world: &mut World) {
        let reference =
            call.args.iter().any(|arg| arg.text.known_start().starts_with('-') && arg.text.known_start().contains('n'))
                && call.name != "export";
        for arg in &call.args {
            let start = arg.text.known_start();
            if start.starts_with(['-', '+']) {
                continue;
            }
            let Some(equals) = start.find('=') else {
                if call.name == "local" || call.name == "declare" {
                    let known = start.clone();
                    if !known.is_empty() && !world.has_set(&known) && call.name == "local" {
                        world.set(&known, Value::Unset);
                    }
                }
                continue;
            };
            let (name, append) = match start[..equals].strip_suffix('+') {
                Some(name) => (name.to_owned(), true),
                None => (start[..equals].to_owned(), false),
            };
            let value = arg.text.skip(equals + 1);
            self.judge_variable(&name, &value, arg.span, crate::machine::Lasting::Stays);
            if reference {
                let other = value.as_known().unwrap_or_default();
                world.set(&name, Value::Reference(other));
            } else {
                let (name, index) = match name.split_once('[') {
                    Some((name, index)) => (name.to_owned(), Some(Text::known(index.trim_end_matches(']')))),
                    None => (name, None),
                };
                self.store(&name, index, append, value, world);
            }
        }
    }

    fn unset(&mut self, call: &Call, world: &mut World) {
        for arg in &call.args {
            match arg.text.as_known() {
                Some(name) if name.starts_with('-') => {}
                Some(name) => {
                    if matches!(name.as_str(), "HISTFILE" | "HISTSIZE") {
                        self.state(
                            Kind::EraseLog,
                            format!("Without {name} the shell keeps no history."),
                            arg.span,
                            Some(name.clone()),
                        );
                    }
                    if call.args.iter().any(|arg| arg.text.is("-f")) {
                        world.undefine(&name);
                    } else {
                        world.set(&name, Value::Unset);
                    }
                }
                None => {}
            }
        }
    }

    fn set(&mut self, call: &Call, world: &mut World) {
        let mut rest = call.args.iter();
        while let Some(arg) = rest.next() {
            if arg.text.is("--") {
                world.positional = Some(Rc::new(rest.map(|arg| arg.text.clone()).collect()));
                return;
            }
            let start = arg.text.known_start();
            if start.starts_with(['-', '+']) {
                if start.ends_with('o')
                    && rest.next().is_some_and(|name| name.text.is("history"))
                    && start.starts_with('+')
                {
                    self.state(
                        Kind::EraseLog,
                        "This switches the history of the shell off.".to_owned(),
                        call.span,
                        None,
                    );
                }
                continue;
            }
            let mut all = vec![arg.text.clone()];
            all.extend(rest.map(|arg| arg.text.clone()));
            world.positional = Some(Rc::new(all));
            return;
        }
    }

    fn read_variables(&mut self, call: &Call, mut world: World) -> Ran {
        let grammar = if call.name == "read" {
            Grammar { short: "adinNptu", ..Grammar::default() }
        } else {
            Grammar { short: "dnOsucC", ..Grammar::default() }
        };
        let options = Options::read(&call.args, &grammar);
        if let Some(callback) = options.value(&["C"]).filter(|_| call.name != "read") {
            self.run_text(callback, world.clone(), &call.input);
        }
        if call.name == "read" && *call.input == Flow::empty() && options.has(&["p"]) {
            self.waits_for_a_person(
                "read",
                "it waits for a line that nobody types; give the value in the command",
                call.span,
            );
        }
        let mut names: Vec<String> = options.operands.iter().filter_map(|arg| arg.text.as_known()).collect();
        let array = options.value(&["a"]).and_then(|arg| arg.text.as_known()).filter(|_| call.name == "read");
        if names.is_empty() {
            names.push(if call.name == "read" { "REPLY".to_owned() } else { "MAPFILE".to_owned() });
        }
        let lines: Option<Vec<String>> = call.input.text.as_ref().map(|text| text.lines().map(str::to_owned).collect());
        let unknown = || Text::of_flow(&Flow { text: None, ..(*call.input).clone() });
        if call.name != "read" || array.is_some() {
            let name = array.unwrap_or_else(|| names.remove(0));
            let value = match lines {
                Some(lines) if call.name == "read" => {
                    let words = lines
                        .first()
                        .map(|line| line.split_whitespace().map(str::to_owned).collect())
                        .unwrap_or_default();
                    array_of(words)
                }
                Some(lines) => array_of(lines),
                None => Value::Array(vec![("0".to_owned(), unknown())]),
            };
            world.set(&name, value);
            return Ran::same(world, Flow::empty());
        }
        let Some(lines) = lines.filter(|lines| lines.len() <= 32) else {
            for name in &names {
                world.set_text(name, unknown());
            }
            return Ran::same(world, Flow::empty());
        };
        // In a loop any of the lines may be the one.
        let mut worlds = Worlds::default();
        for line in lines.iter().map(String::as_str).chain(lines.is_empty().then_some("")) {
            let mut world = world.clone();
            let line = line.trim();
            let mut rest = line;
            for (index, name) in names.iter().enumerate() {
                let (first, after) = if index + 1 == names.len() {
                    (rest, "")
                } else {
                    rest.split_once(char::is_whitespace).unwrap_or((rest, ""))
                };
                world.set_text(name, Text::known(first));
                rest = after.trim_start();
            }
            worlds.add(world);
        }
        Ran { success: worlds.clone(), failure: worlds, flow: Flow::empty() }
    }

    fn alias(&mut self, call: &Call, world: &mut World) {
        for arg in &call.args {
            let start = arg.text.known_start();
            let Some((name, _)) = start.split_once('=') else { continue };
            let value = arg.text.skip(name.len() + 1);
            let reserved = ["sudo", "su", "ssh", "passwd", "login"].contains(&name);
            if let Some(text) = value.as_known() {
                let first = text.split_whitespace().next().unwrap_or_default().to_owned();
                if reserved && first.contains('/') {
                    let reason = format!("`{name}` would be another program from now on.");
                    self.state(Kind::RunHidden, reason, arg.span, Some(first));
                }
                Rc::make_mut(&mut world.aliases).insert(name.to_owned(), text);
            }
        }
    }

    fn trap(&mut self, call: &Call, world: &World) {
        let operands: Vec<&Arg> = call.args.iter().skip_while(|arg| arg.text.is("--")).collect();
        if operands.len() < 2 || operands[0].text.is("-") || operands[0].text.known_start().starts_with("-p") {
            return;
        }
        let action = operands[0].clone();
        if action.text.is("") {
            return;
        }
        self.run_text(&action, world.clone(), &Rc::new(Flow::empty()));
    }

    fn eval(&mut self, call: &Call, world: World) -> Ran {
        let mut text = Text::default();
        for (index, arg) in call.args.iter().filter(|arg| !arg.text.is("--")).enumerate() {
            if index > 0 {
                text.push(Piece::Known(" ".to_owned()));
            }
            text.append(&arg.text);
        }
        let span = call.args.first().map_or(call.span, |arg| arg.span);
        self.run_text(&Arg::new(text, span), world, &call.input)
    }

    fn source(&mut self, call: &Call, mut world: World) -> Ran {
        let Some((file, rest)) = call.args.split_first() else { return Ran::same(world, Flow::empty()) };
        if !rest.is_empty() {
            world.positional = Some(Rc::new(rest.iter().map(|arg| arg.text.clone()).collect()));
        }
        let flow = if is_standard_input(&file.text) { (*call.input).clone() } else { self.read(&file.text, &world) };
        self.run_flow(&flow, world, &call.input, file)
    }
}

/// Whether a file name is another name of standard input.
pub(crate) fn is_standard_input(text: &Text) -> bool {
    ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "-"].iter().any(|name| text.is(name))
}

fn array_of(items: Vec<String>) -> Value {
    Value::Array(items.into_iter().enumerate().map(|(index, item)| (index.to_string(), Text::known(item))).collect())
}

fn directory(text: &Text, world: &World) -> Option<String> {
    if let Some(known) = text.as_known() {
        return path::absolute(&known, world.cwd.as_deref());
    }
    // A path just made, or one with an end of its own below a known start, is still a place of its own.
    if let [Piece::Unknown(unknown)] = text.0.as_slice()
        && unknown.what == What::Temporary
    {
        return Some("/tmp/\u{1}".to_owned());
    }
    let start = text.known_start();
    let below = start.rsplit_once('/').map(|(directory, _)| directory).filter(|directory| directory.len() > 1);
    below.and_then(|directory| path::absolute(&format!("{directory}/\u{1}"), world.cwd.as_deref()))
}
