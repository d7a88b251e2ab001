//! Everything there is to know about a place in a command before something is put there.
//!
//! 1. [`Survey::of`] walks the tree once and notes each word, each here document, and what flows into a program that
//!    reads its input as code.
//! 2. [`Survey::at`] answers for one position: how the byte is quoted and what it is part of ([`Place`]), and who reads
//!    it as code, directly or after the commands around it have printed it.
//!
//! A value that is first kept in a variable or a file and read as code later is not followed.

use std::collections::HashSet;

use crate::place::{Enclosure, Place, Places, Quoting, Role};
use crate::reader::{self, Before, Braces, Language, NamedReader, Words};
use crate::span::Span;
use crate::tree::{
    Assignment, Command, CommandKind, HereDocument, Operator, Pipeline, Redirection, Script, Simple, Word,
};
use crate::walk::{self, Visited};

/// How many braces of a word are looked up.
const MOST_BRACES: usize = 64;

/// How many calls of functions are looked at. With more, each is taken to be read as code.
const MOST_CALLS: usize = 256;

/// What stands directly before a place and would change what is put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preceding {
    /// A backslash that is not itself escaped.
    Backslash,
    /// `$`.
    Dollar,
}

/// All that is known about a place.
#[derive(Clone, Debug)]
pub struct Site<'a> {
    /// How the byte is quoted, and what it is part of.
    pub place: Place,
    /// What stands directly before it. `None` where quotes make that mean nothing.
    pub preceding: Option<Preceding>,
    /// The here document in whose body it lies, also inside a substitution there.
    pub here: Option<&'a HereDocument>,
    /// Whether it is part of what decides the name of a command.
    pub names_command: bool,
    /// Whether it lies behind `>&` or `<&`, where bash expands the word twice.
    pub is_descriptor: bool,
    /// Whether `declare` or another declarer assigns it, which may take a value in parentheses for a list.
    pub is_declared: bool,
    /// Who reads it as code.
    pub reader: Option<NamedReader>,
}

/// The places of one command.
///
/// ```
/// let command = b"echo one | sudo bash -c 'echo two'";
/// let script = chiton_shell::parse(command)?;
/// let survey = chiton_shell::Survey::of(&script, command);
///
/// assert_eq!(survey.at(5).reader, None);
/// assert_eq!(survey.at(30).reader.map(|reader| reader.name), Some("bash -c".to_owned()));
/// # Ok::<(), chiton_shell::SyntaxError>(())
/// ```
#[derive(Debug)]
pub struct Survey<'a> {
    source: &'a [u8],
    places: &'a Places,
    slots: Vec<(Span, Slot<'a>)>,
    here_documents: Vec<(Span, &'a HereDocument)>,
    /// What is written here reaches a program that reads its input as code.
    flows: Vec<(Span, NamedReader)>,
    /// The extents of the bodies of functions.
    function_bodies: Vec<Span>,
    /// Who reads what a call of some function here prints.
    function_reader: Option<NamedReader>,
    /// A program that reads its input as code and can be written to from anywhere: `exec > >(bash)`, `coproc bash`.
    anywhere: Option<NamedReader>,
    /// Whether a variable becomes an integer or a reference, and each later assignment to it code.
    changes_attributes: bool,
}

/// A word, and what it is to its command.
#[derive(Clone, Copy, Debug)]
enum Slot<'a> {
    Word(&'a Simple, usize),
    Assignment(&'a Assignment),
    /// A word that a loop gives to this variable.
    Loop(&'a str),
    Condition(&'a [Word]),
    Descriptor,
    /// The input of these words.
    Input(&'a Simple),
}

impl<'a> Survey<'a> {
    /// Surveys `script`, which [`crate::parse`] made from `source`.
    pub fn of(script: &'a Script, source: &'a [u8]) -> Self {
        let mut survey = Self {
            source,
            places: &script.places,
            slots: Vec::new(),
            here_documents: Vec::new(),
            flows: Vec::new(),
            function_bodies: Vec::new(),
            function_reader: None,
            anywhere: None,
            changes_attributes: false,
        };

        let mut nodes = Vec::new();
        walk::list(&script.list, &mut |node| nodes.push(node));
        let functions = Functions::among(&nodes);
        for node in &nodes {
            match node {
                Visited::Pipeline(pipeline) => survey.note_pipeline(pipeline, &functions),
                Visited::Command(command) => survey.note_command(command, &functions),
                Visited::Output(list) => {
                    let mut found = None;
                    walk::list(list, &mut |node| found = found.take().or_else(|| functions.input_reader(&node)));
                    survey.anywhere = survey.anywhere.take().or(found);
                }
            }
        }

        let calls: Vec<usize> = nodes.iter().filter_map(|node| functions.call(node)).collect();
        survey.function_reader = if calls.len() > MOST_CALLS {
            Some(NamedReader { name: "some function".to_owned(), language: Language::Other })
        } else {
            calls.into_iter().find_map(|call| survey.reader_at(call))
        };
        survey
    }

    /// What is known about the byte at `position`.
    pub fn at(&self, position: usize) -> Site<'a> {
        let place = self.place(position);
        let mut site = Site {
            place,
            preceding: self.preceding(position, place),
            here: self.here_documents.iter().rfind(|(span, _)| span.contains(position)).map(|(_, document)| *document),
            names_command: place.role == Role::CommandName,
            is_descriptor: false,
            is_declared: false,
            reader: self.reader_at(position),
        };

        for (span, slot) in self.slots.iter().filter(|(span, _)| span.contains(position)) {
            match slot {
                Slot::Word(_, 0) => site.names_command = true,
                Slot::Word(simple, index) => {
                    let before = self.before(*span, position);
                    let declares = |braces| Words::before(simple, *index, before, braces).declarer().is_some();
                    site.is_declared |= Braces::BOTH.into_iter().any(declares) && !self.is_array(*span, position);
                }
                Slot::Descriptor => site.is_descriptor = true,
                _ => {}
            }
        }
        site
    }

    /// The place by its regions. `{name[…]}>file` is an index too, which no region tells.
    fn place(&self, position: usize) -> Place {
        let mut place = self.places.at(position);
        let names_descriptor = |(span, _): &(Span, Slot<'_>)| {
            let inside = &self.source[span.start..span.end];
            inside.starts_with(b"{")
                && inside.contains(&b'[')
                && matches!(self.source.get(span.end), Some(b'<' | b'>'))
                && span.contains(position)
        };
        if self.slots.iter().any(names_descriptor) {
            place.enclosure = place.enclosure.or(Some(Enclosure::Index));
        }
        place
    }

    fn preceding(&self, position: usize, place: Place) -> Option<Preceding> {
        let before = &self.source[..position.min(self.source.len())];
        let backslashes = before.iter().rev().take_while(|byte| **byte == b'\\').count();
        // Each pair of backticks takes off a layer, so that no number of backslashes is harmless there.
        let escaped = backslashes % 2 == 1 || (backslashes > 0 && place.backticks > 0);
        let literal = matches!(place.quoting, Quoting::Single | Quoting::HereLiteral) || place.role == Role::Comment;
        if literal && place.backticks == 0 {
            None
        } else if escaped {
            Some(Preceding::Backslash)
        } else {
            (before.ends_with(b"$") && !literal && place.quoting != Quoting::Ansi).then_some(Preceding::Dollar)
        }
    }

    /// Whether `position` lies in the parentheses of a word like `name=(…)`.
    fn is_array(&self, word: Span, position: usize) -> bool {
        let before = &self.source[word.start..position];
        let name = before.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        name > 0 && (before[name..].starts_with(b"=(") || before[name..].starts_with(b"+=("))
    }

    /// What stands in the word before `position`.
    fn before(&self, word: Span, position: usize) -> Before<'a> {
        let text = &self.source[word.start..position];
        let mut braces = memchr::memchr_iter(b'{', text);
        let is_bare = |at: usize| self.places.at(word.start + at).quoting == Quoting::Bare;
        // Each brace is looked up in the whole text; where there are very many, the rest counts as bare.
        let has_bare_brace = braces.by_ref().take(MOST_BRACES).any(is_bare) || braces.next().is_some();
        Before { text, has_bare_brace }
    }

    fn reader_at(&self, position: usize) -> Option<NamedReader> {
        let flows = self.flows.iter().find(|(span, _)| span.contains(position)).map(|(_, reader)| reader);
        let slots = || {
            let mut around = self.slots.iter().filter(|(span, _)| span.contains(position));
            around.find_map(|(span, slot)| self.reader_of(*span, *slot, position))
        };
        let in_function = || self.function_bodies.iter().any(|span| span.contains(position));
        let called = || self.function_reader.clone().filter(|_| in_function());
        self.anywhere.as_ref().or(flows).cloned().or_else(slots).or_else(called)
    }

    fn reader_of(&self, span: Span, slot: Slot<'_>, position: usize) -> Option<NamedReader> {
        let evaluated = || self.changes_attributes.then(|| NamedReader::shell("declare"));
        match slot {
            Slot::Word(simple, index) => {
                let (array, before) = (self.is_array(span, position), self.before(span, position));
                Braces::BOTH.into_iter().find_map(|braces| {
                    let words = Words::before(simple, index, before, braces);
                    let declares = words.declarer().is_some();
                    let found = if array && declares { words.array_reader() } else { words.reader() };
                    found.or_else(|| evaluated().filter(|_| declares))
                })
            }
            Slot::Assignment(assignment) => reader::of_variable(&assignment.name).or_else(evaluated),
            Slot::Loop(name) => reader::of_variable(name).or_else(evaluated),
            Slot::Condition(words) => reader::of_condition(words),
            Slot::Input(simple) => evaluated().filter(|_| Words::all(simple, Braces::Split).reads_into_variables()),
            Slot::Descriptor => None,
        }
    }

    /// What a stage prints may pass every later one, so that any of them that reads code counts.
    fn note_pipeline(&mut self, pipeline: &Pipeline, functions: &Functions<'_>) {
        let mut later: Option<NamedReader> = None;
        for stage in pipeline.stages.iter().rev() {
            if let Some(reader) = &later {
                self.flows.extend(extent(stage).into_iter().map(|span| (span, reader.clone())));
            }
            later = later.or_else(|| functions.input_reader_in(stage));
        }
    }

    fn note_command(&mut self, command: &'a Command, functions: &Functions<'_>) {
        match &command.kind {
            CommandKind::Simple(simple) => self.note_simple(simple),
            CommandKind::For { name, words, .. } => {
                self.slots.extend(words.iter().flatten().map(|word| (word.span, Slot::Loop(name))));
            }
            CommandKind::Condition(words) => {
                self.slots.extend(words.iter().map(|word| (word.span, Slot::Condition(words))));
            }
            CommandKind::Function { body, .. } => self.function_bodies.extend(extent(body)),
            CommandKind::Coprocess { command: inner, .. } => {
                self.anywhere = self.anywhere.take().or_else(|| functions.input_reader_in(inner));
            }
            _ => {}
        }
        for redirection in &command.redirections {
            self.note_redirection(command, redirection, functions);
        }
    }

    fn note_simple(&mut self, simple: &'a Simple) {
        self.slots.extend(simple.assignments.iter().map(|one| (one.span, Slot::Assignment(one))));
        self.slots.extend(simple.words.iter().enumerate().map(|(at, word)| (word.span, Slot::Word(simple, at))));
        self.changes_attributes |=
            Braces::BOTH.into_iter().any(|braces| Words::all(simple, braces).changes_attributes());
    }

    fn note_redirection(&mut self, command: &'a Command, redirection: &'a Redirection, functions: &Functions<'_>) {
        let span = walk::target(redirection).span;
        if let Some(document) = walk::here(redirection) {
            self.here_documents.push((span, document));
        }
        match redirection.operator {
            Operator::DuplicateInput | Operator::DuplicateOutput => self.slots.push((span, Slot::Descriptor)),
            Operator::Read | Operator::ReadWrite | Operator::HereString | Operator::HereDocument => {
                self.flows.extend(functions.input_reader_in(command).map(|reader| (span, reader)));
                if let CommandKind::Simple(simple) = &command.kind {
                    self.slots.push((span, Slot::Input(simple)));
                }
            }
            _ => {}
        }
    }
}

/// The functions that a script defines.
struct Functions<'a> {
    names: HashSet<&'a str>,
    /// Who reads standard input as code in the body of one of them. A call of any then counts as reading it: which of
    /// them calls which is not followed.
    reader: Option<NamedReader>,
}

impl<'a> Functions<'a> {
    fn among(nodes: &[Visited<'a>]) -> Self {
        let mut functions = Self { names: HashSet::new(), reader: None };
        for node in nodes {
            if let Visited::Command(Command { kind: CommandKind::Function { name, body }, .. }) = node {
                functions.names.insert(name);
                functions.reader = functions.reader.take().or_else(|| functions.input_reader_in(body));
            }
        }
        functions
    }

    /// Where `node` calls one of them.
    fn call(&self, node: &Visited<'_>) -> Option<usize> {
        let Visited::Command(Command { kind: CommandKind::Simple(simple), .. }) = node else { return None };
        let first = simple.words.first()?;
        self.names.contains(first.as_plain()?).then_some(first.span.start)
    }

    /// Who reads the standard input of `command` as code: itself, or anything that it runs.
    fn input_reader_in(&self, command: &Command) -> Option<NamedReader> {
        let mut found = None;
        walk::command(command, &mut |node| found = found.take().or_else(|| self.input_reader(&node)));
        found
    }

    fn input_reader(&self, node: &Visited<'_>) -> Option<NamedReader> {
        let Visited::Command(Command { kind: CommandKind::Simple(simple), .. }) = node else { return None };
        if self.call(node).is_some() { self.reader.clone() } else { Words::input_reader_of(simple) }
    }
}

/// The span of `command`, and those of the here documents in it, whose bodies stand further below.
fn extent(command: &Command) -> Vec<Span> {
    let mut spans = vec![command.span];
    walk::command(command, &mut |node| {
        if let Visited::Command(command) = node {
            spans.extend(command.redirections.iter().filter_map(walk::here).map(|document| document.body.span));
        }
    });
    spans
}

impl NamedReader {
    fn shell(name: &str) -> Self {
        Self { name: name.to_owned(), language: Language::Shell }
    }
}
