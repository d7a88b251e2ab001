//! Simple commands: assignments, redirections, and finding out which program it is.

use crate::effect::{Effect, Kind, Writing};
use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use crate::machine::address;
use crate::machine::state::{Value, World, Worlds};
use crate::machine::{DEEPEST_CALLS, Lasting, Machine, Ran};
use crate::value::Arg;
use crate::value::glob;
use crate::value::path::{self};
use crate::value::{Flow, Labels, Piece, Text, Unknown};
use crate::verdict::{Access, SeenCommand, SeenRedirection, TouchedFile};
use chiton_shell as syntax;
use chiton_shell::tree::{
    AssignedValue, Assignment, Command, CommandKind, Descriptor, Operator, Redirection, Simple, Span,
    Target as RedirectionTarget, Word,
};

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

/// Where a command reads from and writes to.
#[derive(Default)]
pub(crate) struct Plumbing {
    input: Option<Rc<Flow>>,
    /// The file that gets its output, and whether it is added to it.
    output: Option<(Option<String>, bool)>,
    seen: Vec<SeenRedirection>,
    /// Whether input or output is a connection to another machine.
    pub(crate) connected: bool,
}

impl Plumbing {
    pub(crate) fn input(&self, outer: &Rc<Flow>) -> Rc<Flow> {
        self.input.clone().unwrap_or_else(|| Rc::clone(outer))
    }
}

impl Machine<'_> {
    /// Goes through a simple command; where a variable may or may not be set, both ways.
    pub(crate) fn simple(&mut self, command: &Command, simple: &Simple, world: World, input: &Rc<Flow>) -> Ran {
        let outer = std::mem::take(&mut self.undecided);
        let mut ran = self.simple_once(command, simple, world.clone(), input);
        if !self.undecided.is_empty() {
            let mut unset = world;
            for name in std::mem::take(&mut self.undecided) {
                unset.set(&name, Value::Unset);
            }
            let other = self.simple_once(command, simple, unset, input);
            ran.merge_first(other);
        }
        self.undecided = outer;
        ran
    }

    fn simple_once(&mut self, command: &Command, simple: &Simple, world: World, input: &Rc<Flow>) -> Ran {
        if !self.step(command.span) {
            return Ran::same(world, Flow::unknown());
        }
        if let Some(ran) = self.aliased(command, simple, &world, input) {
            // Whether aliases are expanded depends on the shell; so the plain meaning counts, too.
            let plain = self.unaliased(command, simple, world, input);
            let mut both = plain;
            both.merge_first(ran);
            return both;
        }
        self.unaliased(command, simple, world, input)
    }

    fn unaliased(&mut self, command: &Command, simple: &Simple, mut world: World, input: &Rc<Flow>) -> Ran {
        let args = self.expanding(&mut world).args(&simple.words);
        let plumbing = self.redirections(&command.redirections, &mut world, input);
        let before = world.clone();
        let mut assigned = Vec::new();
        for assignment in &simple.assignments {
            let text = self.assign(assignment, &mut world);
            let lasting = if args.is_empty() { Lasting::Stays } else { Lasting::OneCommand };
            self.judge_variable(&assignment.name, &text, assignment.span, lasting);
            assigned.push((assignment.name.clone(), text));
        }
        self.note_seen(&args, &assigned, &plumbing, command.span);
        let input = plumbing.input(input);
        if args.is_empty() {
            // `$(< file)` prints the file.
            let printed = match &plumbing.input {
                Some(read) if assigned.is_empty() => (**read).clone(),
                _ => Flow::empty(),
            };
            self.reveals_input("<", &printed, command.span);
            let flow = self.pour(&plumbing, printed);
            return Ran::succeeded(world, flow);
        }
        let mut ran = self.invoke(&args, world, &input, command.span);
        if plumbing.connected && ran.flow.labels.has(Labels::SHELL) {
            self.remote_shell(command.span);
        }
        // Variables before a command are its own.
        for (name, _) in &assigned {
            let old = before.get(name, self.context);
            for world in ran.success.0.iter_mut().chain(ran.failure.0.iter_mut()) {
                world.set(name, old.clone());
            }
        }
        ran.flow = self.pour(&plumbing, ran.flow);
        ran
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
    fn aliased(&mut self, command: &Command, simple: &Simple, world: &World, input: &Rc<Flow>) -> Option<Ran> {
        let name = simple.words.first().and_then(Word::as_plain)?;
        let context = self.context;
        let value = world.aliases.get(name).map(Cow::from).or_else(|| context.alias(name))?;
        let mark = format!("alias {name}");
        if self.frames.iter().any(|frame| frame.name == mark) || self.frames.len() >= DEEPEST_CALLS {
            return None;
        }
        let first = simple.words.first()?;
        let rest = self.source.get(first.span.end..command.span.end).unwrap_or_default();
        let text = format!("{value}{}", String::from_utf8_lossy(rest));
        let frame = self.frame(&mark);
        self.frames.push(frame);
        let ran = self.script(&text, world.clone(), input, command.span);
        self.frames.pop();
        Some(ran)
    }

    fn assign(&mut self, assignment: &Assignment, world: &mut World) -> Text {
        let index = assignment.index.as_ref().map(|index| self.expanding(world).single(index));
        match &assignment.value {
            AssignedValue::Scalar(word) => {
                let text = self.expanding(world).assigned(word);
                self.store(&assignment.name, index, assignment.append, text.clone(), world);
                text
            }
            AssignedValue::Array(elements) => {
                let mut items = match world.get(&assignment.name, self.context) {
                    Value::Array(items) if assignment.append => items,
                    Value::Scalar(text) if assignment.append => vec![("0".to_owned(), text)],
                    _ => Vec::new(),
                };
                for (index, word) in elements {
                    let key = index.as_ref().map(|index| self.expanding(world).single(index).display());
                    for text in self.expanding(world).fields(word) {
                        let key = key.clone().unwrap_or_else(|| items.len().to_string());
                        items.push((key, text));
                    }
                }
                let shown = items.first().map(|(_, text)| text.clone()).unwrap_or_default();
                world.set(&assignment.name, Value::Array(items));
                shown
            }
        }
    }

    pub(crate) fn store(&mut self, name: &str, index: Option<Text>, append: bool, text: Text, world: &mut World) {
        let old = world.get(name, self.context);
        let Some(key) = index else {
            let value = match (old, append) {
                (Value::Scalar(mut before), true) => {
                    before.append(&text);
                    before
                }
                _ => text,
            };
            world.set_text(name, value);
            return;
        };
        let mut items = match old {
            Value::Array(items) => items,
            Value::Scalar(text) if text.is_decided() => vec![("0".to_owned(), text)],
            _ => Vec::new(),
        };
        let Some(key) = key.as_known() else {
            world.set_text(name, Text::variable(name));
            return;
        };
        items.retain(|(known, _)| *known != key);
        items.push((key, text));
        world.set(name, Value::Array(items));
    }

    /// Opens redirections: what is read from where, and what speaks against writing there.
    pub(crate) fn redirections(
        &mut self,
        redirections: &[Redirection],
        world: &mut World,
        outer: &Rc<Flow>,
    ) -> Plumbing {
        let mut plumbing = Plumbing::default();
        for redirection in redirections {
            self.redirection(redirection, world, &mut plumbing, outer);
        }
        plumbing
    }

    fn redirection(&mut self, redirection: &Redirection, world: &mut World, plumbing: &mut Plumbing, outer: &Rc<Flow>) {
        let text = match &redirection.target {
            RedirectionTarget::Here(document) => {
                let Some(document) = document.get() else { return };
                let body = self.expanding(world).joined(&document.body.parts);
                plumbing.seen.push(SeenRedirection { operator: "<<", target: "here document".to_owned() });
                if reads_input(redirection) {
                    plumbing.input = Some(Rc::new(body.to_flow()));
                } else {
                    self.files.insert(descriptor_path(redirection), body.to_flow());
                }
                return;
            }
            RedirectionTarget::Word(word) if redirection.operator == Operator::HereString => {
                let mut text = self.expanding(world).single(word);
                text.push(Piece::Known("\n".to_owned()));
                plumbing.seen.push(SeenRedirection { operator: "<<<", target: text.display() });
                let flow = text.to_flow();
                if reads_input(redirection) {
                    plumbing.input = Some(Rc::new(flow));
                } else {
                    self.files.insert(descriptor_path(redirection), flow);
                }
                return;
            }
            RedirectionTarget::Word(word) => {
                let mut fields = self.expanding(world).fields(word);
                if fields.len() == 1 { fields.remove(0) } else { self.expanding(world).single(word) }
            }
        };
        plumbing.seen.push(SeenRedirection { operator: sign(redirection.operator), target: text.display() });
        if let Some(connection) = connection_to(&text) {
            plumbing.connected |= !connection;
            if let (false, Some(Descriptor::Number(number))) = (connection, &redirection.descriptor) {
                self.files.insert(format!("/dev/fd/{number}"), Flow::labelled(Labels::DOWNLOADED));
            }
            if !connection && outer.labels.has(Labels::SECRET) {
                self.exfiltrates(redirection.span);
            }
        }
        self.open_file(redirection, &text, world, plumbing);
    }

    fn open_file(&mut self, redirection: &Redirection, text: &Text, world: &World, plumbing: &mut Plumbing) {
        let duplicates = matches!(redirection.operator, Operator::DuplicateInput | Operator::DuplicateOutput);
        if duplicates
            && text.as_known().is_none_or(|known| known.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit()))
        {
            self.duplicate(redirection, text, plumbing);
            return;
        }
        let path = text.as_known().and_then(|known| path::absolute(&known, world.cwd.as_deref()));
        let shown = path.clone().unwrap_or_else(|| text.display());
        if matches!(redirection.operator, Operator::Read | Operator::DuplicateInput) {
            self.touched.push(TouchedFile { path: shown, access: Access::Read, span: redirection.span });
            self.does(Effect::Read { what: text }, world, redirection.span);
            let flow = self.read(text, world);
            if reads_input(redirection) {
                plumbing.input = Some(Rc::new(flow));
            }
            return;
        }
        let append = matches!(redirection.operator, Operator::Append | Operator::AppendBoth | Operator::ReadWrite);
        let access = if append { Access::Append } else { Access::Write };
        if !shown.starts_with("/dev/") {
            self.touched.push(TouchedFile { path: shown, access, span: redirection.span });
        }
        self.writes("This would write to", text, Writing::adding_if(append), world, redirection.span);
        let of_output = match &redirection.descriptor {
            None | Some(Descriptor::Number(1)) => redirection.operator != Operator::ReadWrite,
            Some(_) => false,
        };
        if of_output {
            plumbing.output = Some((path, append));
        }
    }

    /// `<&3`: what was opened as 3 before.
    fn duplicate(&mut self, redirection: &Redirection, text: &Text, plumbing: &mut Plumbing) {
        let Some(number) = text.as_known() else { return };
        let Some(flow) = self.files.get(&format!("/dev/fd/{number}")).cloned() else { return };
        plumbing.connected |= flow.labels.has(Labels::DOWNLOADED);
        if redirection.operator == Operator::DuplicateInput && reads_input(redirection) {
            plumbing.input = Some(Rc::new(flow));
        }
    }

    /// Sends output where redirections point; what is left is what the next command reads.
    pub(crate) fn pour(&mut self, plumbing: &Plumbing, flow: Flow) -> Flow {
        let Some((path, append)) = &plumbing.output else { return flow };
        if plumbing.connected && flow.labels.has(Labels::SECRET) {
            self.exfiltrates(self.here());
        }
        let Some(path) = path else { return Flow::empty() };
        if matches!(path.as_str(), "/dev/stdout" | "/dev/stderr" | "/dev/tty") {
            return flow;
        }
        if !path.starts_with("/dev/") {
            let content = match self.files.get(path) {
                Some(before) if *append => before.clone().then(&flow),
                None if *append => Flow::labelled(Labels::FILE).then(&flow),
                _ => flow,
            };
            self.files.insert(path.clone(), content);
        }
        Flow::empty()
    }

    /// Finds out which program `args` starts, and goes through it.
    pub(crate) fn invoke(&mut self, args: &[Arg], world: World, input: &Rc<Flow>, span: Span) -> Ran {
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
        if !first.text.known_start().contains('/')
            && let Some(body) = self.function(&call.name, &world)
        {
            return self.call_function(&call, &body, world);
        }
        (self.knowledge.program)(self, &call, world)
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
        let text = self.context.function(name)?;
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
        if let Some(entry) = self.defined.iter_mut().find(|(name, _, _)| *name == call.name) {
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
        let mut ran = self.command(body, Worlds::one(world), &call.input);
        self.frames.pop();
        for world in ran.success.0.iter_mut().chain(ran.failure.0.iter_mut()) {
            world.positional.clone_from(&positional);
            world.ended = false;
        }
        ran
    }
}

/// The name of the program that `text` is, without directories; versions are left out.
pub(crate) fn program_name(text: &Text) -> Option<String> {
    let whole = if let Some(known) = text.as_known() {
        known
    } else {
        // `$DIR/bin/rm` is decided by its end.
        let end = text.known_end();
        let (_, name) = end.rsplit_once('/')?;
        name.to_owned()
    };
    let name = whole.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if name.is_empty() && !whole.is_empty() {
        return Some(whole);
    }
    Some(plain_name(name).to_owned())
}

/// `python3.12` is python, `gcc-13` stays what it is.
fn plain_name(name: &str) -> &str {
    for family in ["python", "pypy", "perl", "ruby", "lua", "php", "node", "pip", "tclsh", "gawk"] {
        if let Some(version) = name.strip_prefix(family)
            && version.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'))
        {
            return family;
        }
    }
    name
}

fn reads_input(redirection: &Redirection) -> bool {
    matches!(redirection.descriptor, None | Some(Descriptor::Number(0)))
}

fn descriptor_path(redirection: &Redirection) -> String {
    match &redirection.descriptor {
        Some(Descriptor::Number(number)) => format!("/dev/fd/{number}"),
        _ => "/dev/fd/0".to_owned(),
    }
}

/// Whether `text` is a connection: true if to this machine, false if to another one.
fn connection_to(text: &Text) -> Option<bool> {
    let start = text.known_start();
    let host = start.strip_prefix("/dev/tcp/").or_else(|| start.strip_prefix("/dev/udp/"))?;
    let host = host.split('/').next().unwrap_or_default();
    Some(address::is_local(host))
}

fn sign(operator: Operator) -> &'static str {
    match operator {
        Operator::Read => "<",
        Operator::Write => ">",
        Operator::Clobber => ">|",
        Operator::Append => ">>",
        Operator::ReadWrite => "<>",
        Operator::DuplicateInput => "<&",
        Operator::DuplicateOutput => ">&",
        Operator::WriteBoth => "&>",
        Operator::AppendBoth => "&>>",
        Operator::HereString => "<<<",
        Operator::HereDocument => "<<",
    }
}
