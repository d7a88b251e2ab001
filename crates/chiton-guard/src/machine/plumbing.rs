//! Descriptors: what a command reads and where it writes to, through files, pipes, `>(…)`, coprocesses and `exec`.
//!
//! Standard input and the descriptors from 3 on are part of the [`World`]. What a command prints comes back as the flow
//! of its [`Ran`]; [`Plumbing`] says where that goes.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use chiton_shell::tree::{Descriptor, List, Operator, Redirection, Span, Target as RedirectionTarget};

use crate::effect::{Effect, Kind, Writing};
use crate::machine::address;
use crate::machine::state::{Shared, World};
use crate::machine::{Machine, Ran};
use crate::value::path;
use crate::value::{Flow, Labels, Piece, Text, Unknown, What};
use crate::verdict::{Access, SeenRedirection, TouchedFile};

/// What a descriptor leads to.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Opened {
    /// What can be read from it.
    pub(crate) reads: Option<Source>,
    /// Where it leads what is written to it.
    pub(crate) writes: Option<Sink>,
}

/// Where something can be read from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    /// This text.
    Flow(Rc<Flow>),
    /// What a process prints, by its place in [`Machine::processes`].
    Process(usize),
}

/// Where what is written goes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sink {
    /// To whoever takes the output of the surrounding commands.
    Output,
    /// To whoever takes their errors.
    Errors,
    /// To a file. One whose name is not known is written to, and that is all.
    File {
        /// Its name.
        path: Option<String>,
        /// Whether it grows.
        append: bool,
    },
    /// To a process, by its place in [`Machine::processes`].
    Process(usize),
    /// To another machine.
    Connection,
}

/// A process that runs beside the shell: `>(…)` or a coprocess.
#[derive(Debug)]
pub(crate) struct Process {
    body: Arc<List>,
    world: World,
    /// What it was sent so far.
    received: Flow,
    /// What it prints for that.
    printed: Flow,
    /// Whether the machine is in it.
    is_running: bool,
}

/// Where a command writes to, and what held before its redirections.
#[derive(Default)]
pub(crate) struct Plumbing {
    output: Option<Sink>,
    errors: Option<Sink>,
    pub(crate) seen: Vec<SeenRedirection>,
    /// Whether input or output is a connection to another machine.
    pub(crate) connected: bool,
    before: Option<Before>,
}

/// What held before the redirections of a command.
struct Before {
    input: Rc<Flow>,
    descriptors: Shared<BTreeMap<u32, Opened>>,
}

impl Plumbing {
    /// `exec` without a command: its redirections stay.
    pub(crate) fn stays_in(&self, world: &mut World) {
        for (number, sink) in [(1, &self.output), (2, &self.errors)] {
            let own = match number {
                1 => Sink::Output,
                _ => Sink::Errors,
            };
            if let Some(sink) = sink.as_ref().filter(|sink| **sink != own) {
                let opened = Opened { reads: None, writes: Some(sink.clone()) };
                world.descriptors.change().insert(number, opened);
            }
        }
    }
}

impl Machine<'_> {
    /// Opens redirections in `world`, and says what speaks against writing there.
    pub(crate) fn redirections(&mut self, redirections: &[Redirection], world: &mut World) -> Plumbing {
        let mut plumbing = Plumbing::default();
        if redirections.is_empty() && world.descriptors.is_empty() {
            return plumbing;
        }
        let (input, descriptors) = (Rc::clone(&world.input), world.descriptors.clone());
        plumbing.before = Some(Before { input, descriptors });
        let moved = |number: u32| world.descriptors.get(&number).and_then(|opened| opened.writes.clone());
        (plumbing.output, plumbing.errors) = (moved(1), moved(2));
        plumbing.connected = plumbing.output == Some(Sink::Connection);
        for redirection in redirections {
            self.redirection(redirection, world, &mut plumbing);
        }
        if world.descriptors.contains_key(&1) || world.descriptors.contains_key(&2) {
            world.descriptors.change().retain(|number, _| *number > 2);
        }
        plumbing
    }

    fn redirection(&mut self, redirection: &Redirection, world: &mut World, plumbing: &mut Plumbing) {
        let text = match &redirection.target {
            RedirectionTarget::Here(document) => {
                let Some(document) = document.get() else { return };
                let body = self.expanding(world).joined(&document.body.parts);
                plumbing.seen.push(SeenRedirection { operator: "<<", target: "here document".to_owned() });
                self.open_for_reading(redirection, Source::Flow(Rc::new(body.to_flow())), world, plumbing);
                return;
            }
            RedirectionTarget::Word(word) if redirection.operator == Operator::HereString => {
                let mut text = self.expanding(world).single(word);
                text.push(Piece::Known("\n".to_owned()));
                plumbing.seen.push(SeenRedirection { operator: "<<<", target: text.display() });
                self.open_for_reading(redirection, Source::Flow(Rc::new(text.to_flow())), world, plumbing);
                return;
            }
            RedirectionTarget::Word(word) => {
                let mut fields = self.expanding(world).fields(word);
                if fields.len() == 1 { fields.remove(0) } else { self.expanding(world).single(word) }
            }
        };
        plumbing.seen.push(SeenRedirection { operator: sign(redirection.operator), target: text.display() });
        if matches!(redirection.operator, Operator::DuplicateInput | Operator::DuplicateOutput) {
            // Bash expands a word there twice.
            let known = text.known_pieces();
            if known.contains(['$', '`', '<', '>']) && self.step(redirection.span) {
                match chiton_shell::parse_word_at(known.as_bytes(), redirection.span) {
                    Ok(word) => drop(self.expanding(world).fields(&word)),
                    Err(_) => self.expanded_again(&known, world),
                }
            }
            if known.contains("<(") || known.contains(">(") {
                self.processes_again(&known, world);
            }
            let number = text.as_known();
            let is_process = text.unknowns().any(|unknown| matches!(unknown.what, What::Sink(_) | What::Stream(_)));
            let is_number = |known: &String| known.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit());
            if !is_process && number.as_ref().is_none_or(is_number) {
                self.duplicate(redirection, number.as_deref(), world, plumbing);
                return;
            }
        }
        if let Some(is_local) = connection_to(&text)
            && !is_local
        {
            self.connect(redirection, world, plumbing);
        }
        self.open_file(redirection, &text, world, plumbing);
    }

    /// Goes through the process substitutions in a text that the shell expands once more as a word.
    fn processes_again(&mut self, text: &str, world: &mut World) {
        match chiton_shell::parse_word_at(text.as_bytes(), self.here()) {
            Ok(word) if self.step(self.here()) => {
                self.expanding(world).single(&word);
            }
            _ => {
                let reason = "A text is expanded a second time and cannot be parsed.".to_owned();
                self.state(Kind::Unexamined, reason, self.here(), None);
            }
        }
    }

    fn connect(&mut self, redirection: &Redirection, world: &mut World, plumbing: &mut Plumbing) {
        plumbing.connected = true;
        if world.input.labels.has(Labels::SECRET) {
            self.exfiltrates(world.input.labels, redirection.span);
        }
        if let Some(Descriptor::Number(number)) = redirection.descriptor
            && number > 2
        {
            let reads = Some(Source::Flow(Rc::new(Flow::labelled(Labels::DOWNLOADED))));
            let opened = Opened { reads, writes: Some(Sink::Connection) };
            world.descriptors.change().insert(number, opened);
        }
    }

    fn open_file(&mut self, redirection: &Redirection, text: &Text, world: &mut World, plumbing: &mut Plumbing) {
        let path = text.as_known().and_then(|known| path::absolute(&known, world.cwd.as_deref()));
        let shown = path.clone().unwrap_or_else(|| text.display());
        if matches!(redirection.operator, Operator::Read | Operator::DuplicateInput) {
            self.touched.push(TouchedFile { path: shown, access: Access::Read, span: redirection.span });
            self.does(Effect::Read { what: text }, world, redirection.span);
            let flow = self.read(text, world);
            self.open_for_reading(redirection, Source::Flow(Rc::new(flow)), world, plumbing);
            return;
        }
        let append = matches!(redirection.operator, Operator::Append | Operator::AppendBoth | Operator::ReadWrite);
        let access = if append { Access::Append } else { Access::Write };
        if !shown.starts_with("/dev/") {
            self.touched.push(TouchedFile { path: shown, access, span: redirection.span });
        }
        self.writes("This would write to", text, Writing::adding_if(append), world, redirection.span);

        if redirection.operator == Operator::ReadWrite {
            let flow = self.read(text, world);
            self.open_for_reading(redirection, Source::Flow(Rc::new(flow)), world, plumbing);
            if reads_input(redirection) {
                // `1>&0` writes there.
                let sink = sink_of(text, path, append, world, plumbing);
                world.descriptors.change().insert(0, Opened { reads: None, writes: Some(sink) });
                return;
            }
        }
        let path = path.or_else(|| key_of_undecided(text));
        let append = append || !text.is_decided();
        let sink = sink_of(text, path, append, world, plumbing);
        let both = matches!(redirection.operator, Operator::WriteBoth | Operator::AppendBoth)
            || redirection.operator == Operator::DuplicateOutput && redirection.descriptor.is_none();
        if both {
            plumbing.errors = Some(sink.clone());
        }
        open_for_writing(redirection, sink, world, plumbing);
    }

    fn open_for_reading(
        &mut self,
        redirection: &Redirection,
        source: Source,
        world: &mut World,
        plumbing: &mut Plumbing,
    ) {
        if reads_input(redirection) {
            world.input = self.received_from(&source);
            return;
        }
        let opened = Opened { reads: Some(source), writes: None };
        open(redirection, opened, world, plumbing);
    }

    /// `<&3`, `>&2`: what another descriptor leads to.
    fn duplicate(
        &mut self,
        redirection: &Redirection,
        number: Option<&str>,
        world: &mut World,
        plumbing: &mut Plumbing,
    ) {
        let number = number.map(|known| known.trim_end_matches('-')).and_then(|known| known.parse::<u32>().ok());
        let Some(number) = number else { return };
        let opened = world.descriptors.get(&number).cloned().unwrap_or_default();
        if opened.writes == Some(Sink::Connection) {
            plumbing.connected = true;
        }
        let reads = if number == 0 { Some(Source::Flow(Rc::clone(&world.input))) } else { opened.reads };
        let writes = sink_at(number, world, plumbing);

        let is_input = redirection.operator == Operator::DuplicateInput;
        match &redirection.descriptor {
            None if is_input => {
                if let Some(source) = reads {
                    world.input = self.received_from(&source);
                }
            }
            Some(Descriptor::Number(0)) => {
                if let Some(source) = reads {
                    world.input = self.received_from(&source);
                }
            }
            None | Some(Descriptor::Number(1)) => plumbing.output = writes,
            Some(Descriptor::Number(2)) => plumbing.errors = writes,
            Some(_) => open(redirection, Opened { reads, writes }, world, plumbing),
        }
    }

    /// What can be read from a source now.
    pub(crate) fn received_from(&self, source: &Source) -> Rc<Flow> {
        match source {
            Source::Flow(flow) => Rc::clone(flow),
            Source::Process(process) => {
                Rc::new(self.processes.get(*process).map_or_else(Flow::unknown, |process| process.printed.clone()))
            }
        }
    }

    /// What can be read from the descriptor `number`.
    pub(crate) fn read_descriptor(&self, number: u32, world: &World) -> Option<Rc<Flow>> {
        if number == 0 {
            return Some(Rc::clone(&world.input));
        }
        world.descriptors.get(&number)?.reads.as_ref().map(|source| self.received_from(source))
    }

    /// Sends what a command printed where its redirections point, and closes what they opened.
    pub(crate) fn closed(&mut self, plumbing: Plumbing, mut ran: Ran) -> Ran {
        let Some(Before { input, descriptors }) = plumbing.before else { return ran };
        for world in ran.success.0.iter_mut().chain(ran.failure.0.iter_mut()) {
            world.input = Rc::clone(&input);
            world.descriptors = descriptors.clone();
        }
        if plumbing.output.is_none() && plumbing.errors.is_none() {
            return ran;
        }
        if plumbing.connected && ran.flow.labels.has(Labels::SECRET) {
            self.exfiltrates(ran.flow.labels, self.here());
        }
        let (flow, errors) = (std::mem::take(&mut ran.flow), ran.errors.take());
        ran.flow = Flow::empty();
        self.send(plumbing.output.as_ref().unwrap_or(&Sink::Output), flow, &mut ran);
        if let Some(errors) = errors {
            self.send(plumbing.errors.as_ref().unwrap_or(&Sink::Errors), *errors, &mut ran);
        }
        ran
    }

    fn send(&mut self, sink: &Sink, flow: Flow, ran: &mut Ran) {
        match sink {
            Sink::Output => ran.flow = std::mem::take(&mut ran.flow).then(&flow),
            Sink::Errors => ran.add_errors(&flow),
            Sink::File { path: None, .. } | Sink::Connection => {}
            Sink::File { path: Some(path), append } => self.pour(path, flow, *append),
            Sink::Process(process) => {
                let printed = self.sent_to(*process, &flow);
                ran.flow = std::mem::take(&mut ran.flow).then(&printed);
            }
        }
    }

    /// Adds `flow` to what is known of a file.
    pub(crate) fn pour(&mut self, path: &str, flow: Flow, append: bool) {
        if path.starts_with("/dev/") && !path.starts_with("/dev/shm/") {
            return;
        }
        let flow = flow.passed_on();
        self.reveals_output(&flow, self.here());
        if flow.labels.has(Labels::ENDLESS) {
            let reason = format!("This would write to {path} until the disk is full.");
            self.state(Kind::FillDisk, reason, self.here(), Some(path.to_owned()));
        }
        let path = self.physical(path).unwrap_or_else(|| path.to_owned());
        let grows = append || self.pipes.contains(&path);
        let content = match self.files.get(&path) {
            Some(before) if grows => before.clone().then(&flow),
            None if append => match self.file_on_disk(&path) {
                Some(before) => before.then(&flow),
                None => Flow::added_to_a_file(&flow),
            },
            _ => flow,
        };
        self.created(content.length());
        self.links.forget_copy(&path);
        if let Some(program) = &content.program {
            let program = program.clone();
            self.note_copy(&path, &program);
        }
        self.files.insert(path, content);
    }

    /// What a process prints when it gets `flow` on top of what it had.
    pub(crate) fn sent_to(&mut self, process: usize, flow: &Flow) -> Flow {
        let Some(running) = self.processes.get_mut(process) else { return Flow::unknown() };
        if running.is_running || *flow == Flow::empty() {
            return Flow::empty();
        }
        running.is_running = true;
        running.received = std::mem::take(&mut running.received).then(flow);
        let (body, world) = (Arc::clone(&running.body), running.world.clone());
        let received = Rc::new(running.received.clone());
        self.created(received.text.as_ref().map_or(0, String::len));

        let printed = self.captured(&body, &world.reading(&received));
        if let Some(running) = self.processes.get_mut(process) {
            running.is_running = false;
            running.printed = printed.clone();
        }
        printed
    }

    /// Starts a process beside the shell. What will be written to it is not known yet.
    pub(crate) fn start_process(&mut self, body: Arc<List>, world: &World) -> usize {
        let at = self.processes.len();
        let silent = Rc::new(Flow::labelled(Labels::FILE));
        let printed = self.captured(&body, &world.clone().reading(&silent));
        let world = world.clone();
        self.processes.push(Process { body, world, received: Flow::empty(), printed, is_running: false });
        at
    }

    /// `coproc`: an array holds the descriptors that lead from and to it.
    pub(crate) fn start_coprocess(&mut self, name: &str, body: Arc<List>, world: &mut World) {
        let process = self.start_process(body, world);
        let (reading, writing) = (free_from(60, world), free_from(60, world) + 1);
        let descriptors = world.descriptors.change();
        descriptors.insert(reading, Opened { reads: Some(Source::Process(process)), writes: None });
        descriptors.insert(writing, Opened { reads: None, writes: Some(Sink::Process(process)) });
        let items = [(0, reading), (1, writing)];
        let items = items.map(|(key, number): (u32, u32)| (key.to_string(), Text::known(number.to_string())));
        world.set(name, super::state::Value::Array(items.into()));
    }
}

/// Under which name the content of a file is kept whose own name the text leaves open: `$(mktemp)`, `/tmp/$$.sh`.
/// Several files may share it, so what is kept there only grows.
pub(crate) fn key_of_undecided(text: &Text) -> Option<String> {
    let names_a_file = |piece: &Piece| match piece {
        Piece::Known(_) => true,
        Piece::Glob(_) => false,
        Piece::Unknown(unknown) => !matches!(unknown.what, What::Stream(_) | What::Sink(_) | What::Found(_)),
    };
    let is_key = !text.is_decided() && text.0.iter().all(names_a_file) && connection_to(text).is_none();
    is_key.then(|| format!("\u{1}{}", text.display()))
}

/// Where the file that `text` names leads.
fn sink_of(text: &Text, path: Option<String>, append: bool, world: &World, plumbing: &Plumbing) -> Sink {
    if let [Piece::Unknown(Unknown { what: What::Sink(process), .. })] = text.0.as_slice() {
        return Sink::Process(*process);
    }
    let known = path.as_deref().unwrap_or_default();
    if let Some(is_local) = connection_to(text) {
        return if is_local { Sink::File { path: None, append } } else { Sink::Connection };
    }
    match known {
        "/dev/stdout" | "/dev/tty" => plumbing.output.clone().unwrap_or(Sink::Output),
        "/dev/stderr" => plumbing.errors.clone().unwrap_or(Sink::Errors),
        known => match descriptor_of(known) {
            Some(number) => sink_at(number, world, plumbing).unwrap_or(Sink::File { path: None, append }),
            None => Sink::File { path, append },
        },
    }
}

fn open_for_writing(redirection: &Redirection, sink: Sink, world: &mut World, plumbing: &mut Plumbing) {
    match redirection.descriptor {
        None | Some(Descriptor::Number(1)) => plumbing.output = Some(sink),
        Some(Descriptor::Number(2)) => plumbing.errors = Some(sink),
        Some(Descriptor::Number(0)) => {}
        _ => open(redirection, Opened { reads: None, writes: Some(sink) }, world, plumbing),
    }
}

/// Opens a descriptor from 3 on. One that a variable names stays open after the command.
fn open(redirection: &Redirection, mut opened: Opened, world: &mut World, plumbing: &mut Plumbing) {
    let number = match &redirection.descriptor {
        Some(Descriptor::Number(number)) => *number,
        Some(Descriptor::Variable(name)) => {
            let number = free_from(10, world);
            world.set_text(name, Text::known(number.to_string()));
            if let Some(before) = &mut plumbing.before {
                before.descriptors.change().insert(number, opened.clone());
            }
            number
        }
        None => return,
    };
    let descriptors = world.descriptors.change();
    if redirection.operator == Operator::ReadWrite
        && let Some(before) = descriptors.get(&number)
    {
        opened.reads = opened.reads.or_else(|| before.reads.clone());
        opened.writes = opened.writes.or_else(|| before.writes.clone());
    }
    descriptors.insert(number, opened);
}

/// Where the descriptor `number` leads.
fn sink_at(number: u32, world: &World, plumbing: &Plumbing) -> Option<Sink> {
    match number {
        1 => Some(plumbing.output.clone().unwrap_or(Sink::Output)),
        2 => Some(plumbing.errors.clone().unwrap_or(Sink::Errors)),
        number => world.descriptors.get(&number).and_then(|opened| opened.writes.clone()),
    }
}

/// A descriptor that is not open, from `number` on.
fn free_from(number: u32, world: &World) -> u32 {
    let mut number = number;
    while world.descriptors.contains_key(&number) {
        number += 1;
    }
    number
}

/// The descriptor that a path stands for.
pub(crate) fn descriptor_of(path: &str) -> Option<u32> {
    if path == "/dev/stdin" {
        return Some(0);
    }
    let number = path.strip_prefix("/dev/fd/").or_else(|| {
        let (_, rest) = path.strip_prefix("/proc/")?.split_once('/')?;
        rest.strip_prefix("fd/")
    });
    number?.parse().ok()
}

fn reads_input(redirection: &Redirection) -> bool {
    matches!(redirection.descriptor, None | Some(Descriptor::Number(0)))
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

/// The one command as a list.
pub(crate) fn as_list(command: &chiton_shell::tree::Command, span: Span) -> Arc<List> {
    use chiton_shell::tree::{Item, Pipeline};
    let first = Pipeline { negated: false, stages: vec![command.clone()], span };
    Arc::new(List { items: vec![Item { first, rest: Vec::new(), background: false }] })
}
