//! Simple commands: assignments, redirections, and finding out which program it is.

use std::borrow::Cow;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

use chiton_shell as syntax;
use chiton_shell::tree::{AssignedValue, Assignment, Command, CommandKind, Operator, Simple, Span, Word};

use crate::effect::Kind;
use crate::machine::plumbing::Plumbing;
use crate::machine::state::{Attributes, Value, World, Worlds};
use crate::machine::{DEEPEST_CALLS, Lasting, Machine, Ran};
use crate::value::Arg;
use crate::value::glob;
use crate::value::path;
use crate::value::{Flow, Labels, Piece, Text, Unknown};
use crate::verdict::SeenCommand;

/// What changing an array costs for each of its elements, in bytes: all of them are copied.
pub(crate) const ELEMENT: usize = 12;
/// What a command costs for each variable that is set, in bytes: ways that part copy them all.
const VARIABLE: usize = 2;

/// Whether a name may be that of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Functions {
    Count,
    DoNotCount,
}

/// A program that is about to run.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The name of the program, without directories.
    pub(crate) name: String,
    /// How it was named.
    pub(crate) path: Text,
    /// Its arguments.
    pub(crate) args: Vec<Arg>,
    /// What it reads.
    pub(crate) input: Rc<Flow>,
    pub(crate) span: Span,
}

/// The elements of an array as an assignment lists them.
struct Elements {
    items: Vec<(String, Text)>,
    keys: HashSet<String>,
    /// The index of the next one without a subscript, where that is known.
    next: Option<i64>,
}

impl Elements {
    fn after(items: Vec<(String, Text)>) -> Self {
        let keys = items.iter().map(|(key, _)| key.clone()).collect();
        Self { next: Some(next_index(&items)), items, keys }
    }

    fn push(&mut self, text: Text) {
        self.put(self.next.map(|next| next.to_string()), text);
        self.next = self.next.and_then(|next| next.checked_add(1));
    }

    /// Gives an element its value; without a key any of them may be this.
    fn put(&mut self, key: Option<String>, text: Text) {
        let Some(key) = key else { return self.items.push(("?".to_owned(), text)) };
        if !self.keys.insert(key.clone()) {
            self.items.retain(|(known, _)| *known != key);
        }
        self.items.push((key, text));
    }
}

impl Machine<'_> {
    /// Goes through a simple command; where a variable may or may not be set, both ways.
    pub(crate) fn simple(&mut self, command: &Command, simple: &Simple, world: World) -> Ran {
        let outer = std::mem::take(&mut self.undecided);
        let mut ran = self.simple_once(command, simple, world.clone());
        if !self.undecided.is_empty() {
            let mut unset = world;
            for name in std::mem::take(&mut self.undecided) {
                unset.set(&name, Value::Unset);
            }
            let other = self.simple_once(command, simple, unset);
            ran.merge_first(other);
        }
        self.undecided = outer;
        ran
    }

    fn simple_once(&mut self, command: &Command, simple: &Simple, world: World) -> Ran {
        if !self.step(command.span) || !self.created(world.count_of_variables() * VARIABLE) {
            return Ran::same(world, Flow::unknown());
        }
        if let Some(ran) = self.aliased(command, simple, &world) {
            // Whether aliases are expanded depends on the shell; so the plain meaning counts, too.
            let plain = self.unaliased(command, simple, world);
            let mut both = plain;
            both.merge_first(ran);
            return both;
        }
        self.unaliased(command, simple, world)
    }

    fn unaliased(&mut self, command: &Command, simple: &Simple, mut world: World) -> Ran {
        let args = if simple.declared.is_empty() {
            self.expanding(&mut world).args(&simple.words)
        } else {
            let is_array = |at: usize| simple.declared.iter().any(|(index, _)| *index == at);
            let words = simple.words.iter().enumerate().filter(|(at, _)| !is_array(*at));
            let words: Vec<Word> = words.map(|(_, word)| word.clone()).collect();
            self.expanding(&mut world).args(&words)
        };
        let plumbing = self.redirections(&command.redirections, &mut world);
        let before = world.clone();
        let mut assigned = Vec::new();
        let lasting = if args.is_empty() { Lasting::Stays } else { Lasting::OneCommand };
        for assignment in &simple.assignments {
            let text = self.assign(assignment, &mut world);
            self.judge_variable(&assignment.name, &text, assignment.span, lasting);
            if lasting == Lasting::OneCommand {
                let attributes = world.attributes(&assignment.name);
                world.declare(&assignment.name, attributes.with(Attributes::EXPORTED));
            }
            assigned.push((assignment.name.clone(), text));
        }
        self.note_seen(&args, &assigned, &plumbing, command.span);
        if args.is_empty() {
            // `$(< file)` prints the file, and only that.
            let flow = match command.redirections.as_slice() {
                [only] if only.operator == Operator::Read && only.descriptor.is_none() && assigned.is_empty() => {
                    (*world.input).clone()
                }
                _ => Flow::empty(),
            };
            self.reveals_input("<", &flow, command.span);
            return self.closed(plumbing, Ran::succeeded(world, flow));
        }

        if !simple.declared.is_empty() {
            self.declares(simple, &args, &mut world);
        }
        let input = Rc::clone(&world.input);
        let mut ran = self.invoke(&args, world, &input, command.span);
        self.created(ran.flow.text.as_ref().map_or(0, String::len));
        if plumbing.connected && ran.flow.labels.has(Labels::SHELL) {
            self.remote_shell(command.span);
        }
        // Variables before a command are its own.
        for (name, _) in &assigned {
            let old = before.get(name, self.context);
            for world in ran.success.0.iter_mut().chain(ran.failure.0.iter_mut()) {
                world.set(name, old.clone());
                world.declare(name, before.attributes(name));
            }
        }
        if matches!(args.as_slice(), [only] if only.text.is("exec")) {
            for world in ran.success.0.iter_mut().chain(ran.failure.0.iter_mut()) {
                plumbing.stays_in(world);
            }
            return ran;
        }
        self.closed(plumbing, ran)
    }

    /// Arrays among the words of `declare` and its like.
    fn declares(&mut self, simple: &Simple, args: &[Arg], world: &mut World) {
        let (given, taken) = declared_attributes(args);
        for (_, assignment) in &simple.declared {
            let name = assignment.name.as_str();
            if args.first().is_none_or(|program| !program.text.is("export")) {
                world.localise(name);
            }
            let attributes = world.attributes(name).with(given).without(taken);
            world.declare(name, attributes);
            let text = self.assign(assignment, world);
            self.judge_variable(name, &text, assignment.span, Lasting::Stays);
        }
    }

    /// Notes a command that another one runs.
    pub(crate) fn note_inner(&mut self, args: &[Arg], span: Span) {
        self.note_seen(args, &[], &Plumbing::default(), span);
    }

    fn note_seen(&mut self, args: &[Arg], assigned: &[(String, Text)], plumbing: &Plumbing, span: Span) {
        let seen = SeenCommand {
            words: args.iter().map(|arg| arg.text.display()).collect(),
            assignments: assigned.iter().map(|(name, text)| (name.clone(), text.display())).collect(),
            redirections: plumbing.seen.clone(),
            span,
            decided: args.iter().all(|arg| arg.text.is_decided()),
        };
        if self.seen.len() < 2000 && !self.seen.contains(&seen) {
            self.seen.push(seen);
        }
    }

    /// Walks through the alias that the first word is.
    fn aliased(&mut self, command: &Command, simple: &Simple, world: &World) -> Option<Ran> {
        let name = simple.words.first().and_then(Word::as_plain)?;
        let context = self.context;
        let value = if let Some(value) = world.aliases.get(name) {
            Cow::Owned(value.to_string())
        } else {
            let value = context.alias(name)?;
            self.rests_on.functions.insert(name.to_owned());
            value
        };
        let mark = format!("alias {name}");
        if self.frames.iter().any(|frame| frame.name == mark) || self.frames.len() >= DEEPEST_CALLS {
            return None;
        }
        let (first, rest) = simple.words.split_first()?;
        let mut world = world.clone();
        let text = if first.span.end < command.span.end || rest.is_empty() {
            let rest = self.source.get(first.span.end..command.span.end).unwrap_or_default();
            format!("{value}{}", String::from_utf8_lossy(rest))
        } else {
            // In text that another command handed to a shell, words have no places of their own.
            let words = self.expanding(&mut world).args(rest).into_iter().enumerate();
            let words = words.map(|(at, arg)| (at.to_string(), arg.text)).collect();
            world.set("__unknown_words", Value::Array(words));
            format!("{value} \"${{__unknown_words[@]}}\"")
        };
        let frame = self.frame(&mark);
        self.frames.push(frame);
        let input = Rc::clone(&world.input);
        let ran = self.script(&text, world, &input, command.span);
        self.frames.pop();
        Some(ran)
    }

    fn assign(&mut self, assignment: &Assignment, world: &mut World) -> Text {
        let name = assignment.name.as_str();
        let index = assignment.index.as_ref().map(|index| self.expanding(world).single(index));
        match &assignment.value {
            AssignedValue::Scalar(word) => {
                let text = self.expanding(world).assigned(word);
                self.store(name, index, assignment.append, text.clone(), world);
                text
            }
            AssignedValue::Array(elements) => {
                let items = match world.get(name, self.context) {
                    Value::Array(items) if assignment.append => items,
                    Value::Scalar(text) if assignment.append => vec![("0".to_owned(), text)],
                    _ => Vec::new(),
                };
                let mut listed = Elements::after(items);
                self.list_elements(elements, world.attributes(name), &mut listed, world);
                let shown = listed.items.first().map(|(_, text)| text.clone()).unwrap_or_default();
                world.set(name, Value::Array(listed.items));
                shown
            }
        }
    }

    /// Adds what stands between the parentheses of an array.
    fn list_elements(
        &mut self,
        elements: &[(Option<Word>, Word)],
        attributes: Attributes,
        listed: &mut Elements,
        world: &mut World,
    ) {
        let by_text = attributes.has(Attributes::ASSOCIATIVE);
        // `declare -A h=(key value …)`: bash looks at the first word to find out.
        if by_text && elements.first().is_some_and(|(index, _)| index.is_none()) {
            let texts: Vec<Text> = elements.iter().map(|(_, word)| self.expanding(world).single(word)).collect();
            for pair in texts.chunks(2) {
                let text = self.shaped(pair.get(1).cloned().unwrap_or_default(), attributes, world);
                listed.put(pair[0].as_known(), text);
            }
            return;
        }
        for (index, word) in elements {
            let Some(index) = index else {
                for text in self.expanding(world).fields(word) {
                    let text = self.shaped(text, attributes, world);
                    listed.push(text);
                }
                continue;
            };
            let written = self.expanding(world).single(index);
            let key = if by_text { written.clone() } else { self.expanding(world).calculated(&written) };
            let text = self.expanding(world).single(word);
            let text = self.shaped(text, attributes, world);
            // Bash leaves out an element without a subscript.
            let key = key.as_known().filter(|_| !written.is_empty());
            listed.next = key.as_ref().and_then(|key| key.parse::<i64>().ok()?.checked_add(1));
            listed.put(key, text);
        }
    }

    /// Text as a variable with these attributes takes it.
    fn shaped(&mut self, text: Text, attributes: Attributes, world: &mut World) -> Text {
        if attributes.has(Attributes::INTEGER) {
            return self.expanding(world).calculated(&text);
        }
        let change = |text: &str| {
            if attributes.has(Attributes::LOWER) { text.to_lowercase() } else { text.to_uppercase() }
        };
        if !attributes.has(Attributes::LOWER) && !attributes.has(Attributes::UPPER) {
            return text;
        }
        let pieces = text.0.into_iter().map(|piece| match piece {
            Piece::Known(known) => Piece::Known(change(&known)),
            other => other,
        });
        Text(pieces.collect())
    }

    /// Gives a variable, or an element of one, a new value.
    pub(crate) fn store(&mut self, name: &str, index: Option<Text>, append: bool, text: Text, world: &mut World) {
        // Bash calculates with what is assigned to these.
        const INTEGERS: [&str; 4] = ["OPTIND", "RANDOM", "SECONDS", "HISTCMD"];

        if let Some((array, subscript)) = world.element_behind(name) {
            if world.element_behind(&array).is_some() {
                return;
            }
            return self.store(&array, Some(Text::known(subscript)), append, text, world);
        }
        let mut attributes = world.attributes(name);
        if INTEGERS.contains(&name) {
            attributes = attributes.with(Attributes::INTEGER);
        }
        let text = if attributes == Attributes::default() { text } else { self.shaped(text, attributes, world) };
        // A plain assignment does not depend on what was there, unless that is an array of this command.
        let needs_old = append || index.is_some() || world.has_set(name);
        let old = if needs_old { world.get(name, self.context) } else { Value::Unset };
        let Some(key) = index else {
            let value = match (old, append) {
                (Value::Scalar(mut before), true) => {
                    before.append(&text);
                    before
                }
                (Value::Array(mut items), _) => {
                    match items.iter_mut().find(|(key, _)| key == "0") {
                        Some((_, first)) if append => first.append(&text),
                        Some((_, first)) => *first = text,
                        None => items.insert(0, ("0".to_owned(), text)),
                    }
                    world.set(name, Value::Array(items));
                    return;
                }
                _ => text,
            };
            if self.created(value.length()) {
                world.set_text(name, value);
            }
            return;
        };
        let mut items = match old {
            Value::Array(items) if self.created(items.len() * ELEMENT) => items,
            Value::Scalar(text) if text.is_decided() => vec![("0".to_owned(), text)],
            _ => Vec::new(),
        };
        let by_text = attributes.has(Attributes::ASSOCIATIVE) || matches!(name, "BASH_ALIASES" | "BASH_CMDS");
        let key = if by_text { key } else { self.expanding(world).calculated(&key) };
        if let ("BASH_ALIASES", Some(key), Some(value)) = (name, key.as_known(), text.as_known()) {
            world.aliases.change().insert(key, value.into());
        }
        if name == "BASH_CMDS" {
            let reason = "This puts another program in the place of a command.";
            self.state(Kind::RunHidden, reason, self.here(), Some(text.display()));
        }
        let Some(key) = key.as_known() else {
            // Any of its elements may be this from now on.
            items.push(("?".to_owned(), text));
            world.set(name, Value::Array(items));
            return;
        };
        let key = match key.parse::<i64>() {
            Ok(back) if back < 0 && !attributes.has(Attributes::ASSOCIATIVE) => (next_index(&items) + back).to_string(),
            _ => key,
        };
        match items.iter_mut().find(|(known, _)| *known == key) {
            Some((_, item)) if append => item.append(&text),
            Some((_, item)) => *item = text,
            None => {
                let place = |key: &str| key.parse::<i64>().ok();
                let at = items.iter().position(|(known, _)| place(known).zip(place(&key)).is_some_and(|(a, b)| a > b));
                items.insert(at.unwrap_or(items.len()), (key, text));
            }
        }
        world.set(name, Value::Array(items));
    }

    /// Finds out which program or function `args` starts, and goes through it.
    pub(crate) fn invoke(&mut self, args: &[Arg], world: World, input: &Rc<Flow>, span: Span) -> Ran {
        self.invoke_one(args, world, input, span, Functions::Count)
    }

    /// The same where functions do not count: whoever starts a program does not know them.
    pub(crate) fn invoke_program(&mut self, args: &[Arg], world: World, input: &Rc<Flow>, span: Span) -> Ran {
        self.invoke_one(args, world, input, span, Functions::DoNotCount)
    }

    fn invoke_one(&mut self, args: &[Arg], world: World, input: &Rc<Flow>, span: Span, functions: Functions) -> Ran {
        if self.frames.len() >= DEEPEST_CALLS {
            let reason = "Commands call commands too deeply to be examined.".to_owned();
            self.state(Kind::Unexamined, reason, span, None);
            return Ran::same(world, Flow::unknown());
        }
        let Some((first, rest)) = args.split_first() else { return Ran::same(world, Flow::empty()) };
        if first.text.has_glob() {
            return self.globbed(first, rest, &world, input, span);
        }
        let Some(name) = program_name(&first.text) else {
            return self.undecided_program(first, rest, world, input, span);
        };
        let call = Call { name, path: first.text.clone(), args: rest.to_vec(), input: Rc::clone(input), span };
        if functions == Functions::Count
            && !first.text.known_start().contains('/')
            && let Some(body) = self.function(&call.name, &world)
        {
            return self.call_function(&call, &body, world);
        }
        let call = self.under_its_own_name(call, &world);
        let mut ran = (self.knowledge.program)(self, &call, world);
        if ran.flow.text.is_some() && is_elsewhere(&call.path) {
            // `./echo` need not be what its name says, nor be there at all.
            ran.flow.text = None;
            ran.flow.labels = ran.flow.labels.with(Labels::UNKNOWN);
        }
        ran
    }

    /// A link to a program, or a copy of one, is that program.
    fn under_its_own_name(&self, call: Call, world: &World) -> Call {
        if self.links.is_empty() {
            return call;
        }
        let path = call.path.known_start();
        let original = if path.contains('/') {
            path::absolute(&path, world.cwd.as_deref()).and_then(|path| self.original_of(&path))
        } else {
            self.original_of_name(&path)
        };
        match original.as_deref().and_then(|original| original.rsplit('/').next()) {
            Some(name) if !name.is_empty() => {
                let name = plain_name(name).to_owned();
                Call { name, ..call }
            }
            _ => call,
        }
    }

    /// A pattern as a program: whichever of the programs that matter it may match.
    fn globbed(&mut self, first: &Arg, rest: &[Arg], world: &World, input: &Rc<Flow>, span: Span) -> Ran {
        const NOTABLE: [&str; 24] = [
            "rm", "dd", "mkfs", "sh", "bash", "chmod", "chown", "kill", "killall", "pkill", "reboot", "shutdown",
            "halt", "poweroff", "mv", "cp", "tee", "find", "curl", "wget", "nc", "python3", "perl", "shred",
        ];
        let literal = first.text.as_literal().unwrap_or_else(|| "*".to_owned());
        let last = literal.rsplit('/').next().unwrap_or_default().to_owned();
        let mut all = Ran::same(world.clone(), Flow::unknown());
        for name in NOTABLE.iter().filter(|name| glob::matches(&last, name)) {
            let reason =
                format!("Which program `{literal}` is depends on the files that match it; `{name}` may be one.");
            self.state(Kind::RunUnknown, reason, first.span, Some(literal.clone()));
            let mut args = vec![Arg::known(*name, first.span)];
            args.extend_from_slice(rest);
            let ran = self.invoke(&args, world.clone(), input, span);
            all.merge_first(ran);
        }
        all
    }

    fn undecided_program(&mut self, first: &Arg, rest: &[Arg], world: World, input: &Rc<Flow>, span: Span) -> Ran {
        let name = first.text.display();
        let labels = first.text.labels();
        // `$SUDO apt install`: empty or sudo, and what follows is the command.
        if name.to_ascii_lowercase().contains("sudo") && !rest.is_empty() {
            return self.invoke(rest, world, input, span);
        }
        let (kind, reason) = if labels.has(Labels::DOWNLOADED) {
            (Kind::RunDownloaded, format!("The program {name} comes from the network."))
        } else {
            (Kind::RunUnknown, format!("The text does not decide which program {name} is."))
        };
        self.state(kind, reason, first.span, Some(name));
        if let Some(Unknown { filled: false, .. }) = first.text.unknowns().next()
            && !rest.is_empty()
        {
            return self.invoke(rest, world, input, span);
        }
        Ran::same(world, Flow::unknown())
    }

    /// The function of that name, of the command or of the session.
    fn function(&mut self, name: &str, world: &World) -> Option<Arc<Command>> {
        if let Some(body) = world.function(name) {
            return Some(body);
        }
        if world.has_removed_function(name) {
            return None;
        }
        let text = self.context.function(name)?;
        self.rests_on.functions.insert(name.to_owned());
        let script = syntax::parse_at(text.as_bytes(), self.here());
        let Ok(script) = script else {
            let reason = format!("The function `{name}` of the session cannot be parsed.");
            self.state(Kind::Unexamined, reason, self.here(), None);
            return None;
        };
        script.list.items.into_iter().flat_map(|item| item.first.stages).find_map(|stage| match stage.kind {
            CommandKind::Function { body, .. } => Some(body),
            _ => None,
        })
    }

    fn call_function(&mut self, call: &Call, body: &Arc<Command>, mut world: World) -> Ran {
        if let Some(entry) = self.defined.iter_mut().find(|(_, known, _)| Arc::ptr_eq(known, body)) {
            entry.2 = true;
        }
        // By its body: a function of the same name may be defined anew inside itself.
        let mark = format!("function {} {:p}", call.name, Arc::as_ptr(body));
        if let Some(at) = self.frames.iter().rposition(|frame| frame.name == mark) {
            self.recursion(at, &call.name, call.span);
            return Ran::same(world, Flow::unknown());
        }
        let positional = world.positional.replace(Rc::new(call.args.iter().map(|arg| arg.text.clone()).collect()));
        let frame = self.frame(&mark);
        self.frames.push(frame);
        let outer = world.enter_function();
        let mut ran = self.command(body, Worlds::one(world.reading(&call.input)));
        self.frames.pop();
        for world in ran.success.0.iter_mut().chain(ran.failure.0.iter_mut()) {
            world.leave_function(&outer);
            world.positional.clone_from(&positional);
            world.ended = false;
        }
        ran
    }
}

/// The name of the program that `text` is, without directories; versions are left out.
pub(crate) fn program_name(text: &Text) -> Option<String> {
    let whole = if text.is_decided() && !text.has_glob() {
        text.shown()
    } else {
        // `$DIR/bin/rm` is decided by its end.
        let end = text.known_end();
        let (_, name) = end.rsplit_once('/')?;
        Cow::Owned(name.to_owned())
    };
    let name = whole.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if name.is_empty() && !whole.is_empty() {
        return Some(whole.into_owned());
    }
    Some(plain_name(name).to_owned())
}

/// Whether a program is given by a path outside of the directories in which programs lie.
fn is_elsewhere(path: &Text) -> bool {
    let shown = path.shown();
    let Some((directory, _)) = shown.rsplit_once('/') else { return false };
    !matches!(directory.rsplit('/').next(), Some("bin" | "sbin" | ".bin"))
}

/// `python3.12` is python, `gcc-13` stays what it is.
fn plain_name(name: &str) -> &str {
    if !name.ends_with(|last: char| last.is_ascii_digit() || matches!(last, '.' | '-')) {
        return name;
    }
    for family in ["python", "ipython", "pypy", "perl", "ruby", "lua", "php", "node", "pip", "tclsh", "gawk"] {
        if let Some(version) = name.strip_prefix(family)
            && version.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'))
        {
            return family;
        }
    }
    name
}

/// The index that the next element of an array gets.
pub(crate) fn next_index(items: &[(String, Text)]) -> i64 {
    items.iter().filter_map(|(key, _)| key.parse::<i64>().ok()).max().map_or(0, |last| last.saturating_add(1))
}

/// The attributes that the options of `declare` give and take away.
pub(crate) fn declared_attributes(args: &[Arg]) -> (Attributes, Attributes) {
    let (mut given, mut taken) = (Attributes::default(), Attributes::default());
    for arg in args {
        let text = arg.text.known_start();
        let Some(sign) = text.chars().next().filter(|sign| matches!(sign, '-' | '+')) else { continue };
        for letter in text.chars().skip(1) {
            let attribute = match letter {
                'i' => Attributes::INTEGER,
                'l' => Attributes::LOWER,
                'u' => Attributes::UPPER,
                'A' => Attributes::ASSOCIATIVE,
                'x' => Attributes::EXPORTED,
                _ => continue,
            };
            if sign == '-' {
                given = given.with(attribute);
            } else {
                taken = taken.with(attribute);
            }
        }
    }
    (given, taken)
}
