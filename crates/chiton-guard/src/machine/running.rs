//! What programs make the shell do besides their own work: run words, run text, read and write files.

use std::rc::Rc;

use chiton_shell as syntax;
use chiton_shell::tree::Span;

use super::command::Call;
use super::plumbing::{Sink, descriptor_of, key_of_undecided};
use super::state::{World, Worlds};
use super::{DEEPEST_CALLS, Machine, Place, Ran};
use crate::effect::Kind;
use crate::needs::Needs;
use crate::protected::credentials::{self, Secrecy};
use crate::value::path::{self, Target};
use crate::value::{Arg, Flow, Labels, Piece, Text, Unknown, What};
use crate::verdict::{Finding, WaitingCommand};

impl Machine<'_> {
    /// Goes through the command that `words` are.
    pub(crate) fn run_words(&mut self, call: &Call, words: &[Arg], world: World) -> Ran {
        if words.is_empty() {
            return Ran::same(world, Flow::empty());
        }
        self.note_inner(words, call.span);

        let frame = self.frame(&format!("wrapper {}", call.name));
        self.frames.push(frame);
        let ran = self.started(|machine| machine.invoke_program(words, world, &call.input, call.span));
        self.frames.pop();
        ran
    }

    /// Text that some program hands to a shell.
    pub(crate) fn run_text(&mut self, text: &Arg, world: World, input: &Rc<Flow>) -> Ran {
        match text.text.as_literal() {
            Some(known) => self.script(&known, world, input, text.span),
            None => self.undecided_text(text, world, input),
        }
    }

    /// Runs text that is partly unknown: the known parts are judged, and the unknown parts count as data.
    pub(crate) fn undecided_text(&mut self, text: &Arg, mut world: World, input: &Rc<Flow>) -> Ran {
        if let [Piece::Unknown(only)] = text.text.0.as_slice() {
            let flow = match &only.what {
                What::Output(flow) | What::Stream(flow) => (**flow).clone(),
                _ => Flow::unknown(),
            };
            return self.run_flow(&Flow { text: None, ..flow }, world, input, text);
        }
        let labels = text.text.labels();
        if labels.has(Labels::DOWNLOADED) || labels.has(Labels::DECODED) {
            self.object_to_flow(&Flow::labelled(labels), text);
        }
        let mut script = String::new();
        for (index, piece) in text.text.0.iter().enumerate() {
            match piece {
                Piece::Known(known) | Piece::Glob(known) => script.push_str(known),
                // Parsing turns it into something unknown again, whatever quotes it stands in.
                Piece::Unknown(Unknown { what: What::Secret(reference), .. }) => script.push_str(reference),
                Piece::Unknown(unknown) => {
                    // A backslash before it protects a character of what it stands for, not the dollar sign here.
                    let backslashes = script.bytes().rev().take_while(|byte| *byte == b'\\').count();
                    script.truncate(script.len() - backslashes % 2);
                    let name = format!("__unknown_{index}");
                    script.push_str(&format!("${{{name}}}"));
                    world.set_text(&name, Text(vec![Piece::Unknown(unknown.clone())]));
                }
            }
        }
        self.script(&script, world, input, text.span)
    }

    /// Text that a shell takes as commands.
    pub(crate) fn run_flow(&mut self, flow: &Flow, world: World, input: &Rc<Flow>, from: &Arg) -> Ran {
        if let Some(text) = &flow.text {
            let text = text.clone();
            if flow.labels.has(Labels::RECENT) {
                let mut ran = Ran::default();
                self.as_an_older_file(|machine| ran = machine.script(&text, world, input, from.span));
                return ran;
            }
            return self.script(&text, world, input, from.span);
        }
        self.object_to_flow(flow, from);
        if !flow.stretches.is_empty() {
            // What stands between them is a file as it was, or has been objected to.
            self.script(&flow.stretches.join("\n"), world.clone(), input, from.span);
        }
        Ran::same(world, Flow::labelled(Labels::UNKNOWN))
    }

    /// Objects to running text if nothing but its origin is known.
    pub(crate) fn object_to_flow(&mut self, flow: &Flow, from: &Arg) {
        let labels = flow.labels;
        let shown = from.text.display();
        if labels.has(Labels::DOWNLOADED) {
            let reason = "What came over the network would be run without anybody having read it.".to_owned();
            self.state(Kind::RunDownloaded, reason, from.span, Some(shown));
        } else if labels.has(Labels::DECODED) {
            let reason =
                "Text that was decoded or put together would be run; what it says cannot be seen here.".to_owned();
            self.state(Kind::RunDecoded, reason, from.span, Some(shown));
        } else if !labels.has(Labels::SETTINGS) && (labels.has(Labels::UNKNOWN) || !flow.roots.is_empty()) {
            let reason = "The output of a command would be run; what it says cannot be seen here.".to_owned();
            self.state(Kind::RunUnknown, reason, from.span, Some(shown));
        }
    }

    /// Does `what` to a file that an earlier command wrote. What it does by itself counts; that its text leaves open
    /// what it deletes or runs does not, as with every script that is older.
    pub(crate) fn as_an_older_file(&mut self, what: impl FnOnce(&mut Self)) {
        let before = self.findings.len();
        what(self);
        let mut index = 0;
        self.findings.retain(|finding| {
            index += 1;
            index <= before || finding.counts_in_a_script()
        });
    }

    /// Goes through `text` as a script of its own that stands at `span`.
    pub(crate) fn script(&mut self, text: &str, world: World, input: &Rc<Flow>, span: Span) -> Ran {
        // Parsing makes several times the text.
        if self.frames.len() >= DEEPEST_CALLS || !self.step(span) || !self.created(text.len() * 4) {
            let reason = "Shells call shells too deeply to be examined.".to_owned();
            self.state(Kind::Unexamined, reason, span, None);
            return Ran::same(world, Flow::unknown());
        }
        match syntax::parse_at(text.as_bytes(), span) {
            Ok(script) => {
                self.state_what_is_uncertain(&script);
                let frame = self.frame("");
                self.frames.push(frame);
                let outer = Rc::clone(&world.input);
                let mut ran = self.started(|machine| machine.list(&script.list, Worlds::one(world.reading(input))));
                if !Rc::ptr_eq(&outer, input) {
                    for world in ran.success.0.iter_mut().chain(ran.failure.0.iter_mut()) {
                        world.input = Rc::clone(&outer);
                    }
                }
                self.frames.pop();
                ran
            }
            Err(error) => {
                let reason = format!("The inner command cannot be parsed: {error}.");
                self.state(Kind::Unexamined, reason, span, None);
                Ran::same(world, Flow::unknown())
            }
        }
    }

    /// Goes through the substitutions in a text that the shell expands once more.
    pub(crate) fn expanded_again(&mut self, text: &str, world: &World) {
        if !text.contains(['$', '`']) || !self.step(self.here()) || !self.created(text.len()) {
            return;
        }
        let mut end = "__END__".to_owned();
        while text.contains(&end) {
            end.push('_');
        }
        let document = format!(": <<{end}\n{text}\n{end}\n");
        match syntax::parse_at(document.as_bytes(), self.here()) {
            Ok(script) if self.frames.len() < DEEPEST_CALLS => {
                let frame = self.frame("again");
                self.frames.push(frame);
                self.state_what_is_uncertain(&script);
                self.captured(&script.list, world);
                self.frames.pop();
            }
            _ if text.contains("$(") || text.contains('`') => {
                let reason = "A text is expanded a second time and cannot be parsed.".to_owned();
                self.state(Kind::Unexamined, reason, self.here(), None);
            }
            _ => {}
        }
    }

    /// Whether reading a file may give its text, or has to be noted.
    pub(crate) fn may_know_files(&self) -> bool {
        !self.files.is_empty()
            || self.context.surroundings.is_some()
            || !self.pipes.is_empty()
            || self.nesting.background > 0
    }

    /// What is in the file that `text` names.
    pub(crate) fn read(&mut self, text: &Text, world: &World) -> Flow {
        if let [Piece::Unknown(Unknown { what: What::Stream(flow), .. })] = text.0.as_slice() {
            return (**flow).clone();
        }
        if let Some(written) = self.written_to(text, world) {
            return written;
        }
        let mut flow = Flow::labelled(Labels::FILE);
        for target in path::targets(text, world.cwd.as_deref()) {
            let Target::At { path, .. } = &target else { continue };
            let real = self.physical(path);
            let path = real.as_ref().unwrap_or(path);
            if self.nesting.background > 0 || self.pipes.contains(path) {
                self.awaited.insert(path.clone());
            }
            if let Some(known) = self.files.get(path) {
                return known.clone();
            }
            if let Some(read) = descriptor_of(path).and_then(|number| self.read_descriptor(number, world)) {
                return (*read).clone();
            }
            if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") {
                flow.labels = flow.labels.with(Labels::DOWNLOADED);
            }
            let secrecy = credentials::secrecy(path, &self.places());
            if secrecy.is_some() {
                self.secret_files.insert(self.path_here(path));
            }
            match secrecy {
                Some(Secrecy::Kept) => flow.labels = flow.labels.with(Labels::SECRET).with(Labels::KEPT),
                Some(Secrecy::Handled) => flow.labels = flow.labels.with(Labels::SECRET),
                None => {}
            }
            match path.as_str() {
                "/dev/null" => return Flow::empty(),
                "/dev/zero" | "/dev/urandom" | "/dev/random" | "/dev/full" => {
                    flow.labels = flow.labels.with(Labels::ENDLESS);
                }
                _ => {}
            }
            if text.is_decided() && !text.has_glob() && is_among_programs(path) {
                flow.program = Some(path.clone());
            }
            if text.is_decided()
                && !text.has_glob()
                && let Some(recent) = self.file_on_disk(path)
            {
                return Flow { labels: recent.labels.with(flow.labels), ..recent };
            }
        }
        flow
    }

    /// A path as far as it says something about this machine: of another one, any file may be meant.
    fn path_here(&self, path: &str) -> String {
        if self.at == Place::Elsewhere { "/".to_owned() } else { path.to_owned() }
    }

    /// What the command wrote to files that `text` may name without saying so: by a pattern, as what a search finds, or by
    /// a name that nobody knows.
    fn written_to(&self, text: &Text, world: &World) -> Option<Flow> {
        if self.files.is_empty() || text.is_decided() && !text.has_glob() {
            return None;
        }
        if let Some(content) = key_of_undecided(text).and_then(|key| self.files.get(&key)) {
            return Some(content.clone());
        }
        let pattern = text.as_literal().and_then(|pattern| path::absolute(&pattern, world.cwd.as_deref()));
        let found = text.unknowns().find_map(|unknown| match &unknown.what {
            What::Found(roots) => Some(Rc::clone(roots)),
            _ => None,
        });
        let is_meant = |file: &String| match (&pattern, &found) {
            (Some(pattern), _) => path::matches_path(pattern, file),
            (None, Some(roots)) => roots.iter().any(|root| path::is_within(file, root.directory())),
            (None, None) => false,
        };
        let mut meant: Vec<&String> = self.files.keys().filter(|file| is_meant(file)).collect();
        if meant.is_empty() {
            return None;
        }
        meant.sort();
        let all = meant.into_iter().fold(Flow::empty(), |all, file| all.then(&self.files[file]));
        // There may be others that were there before.
        Some(if pattern.is_some() { all } else { Flow::added_to_a_file(&all) })
    }

    /// What is in the file that a program was given by its name, which may be standard input.
    pub(crate) fn read_given(&mut self, file: &Text, call: &Call, world: &World) -> Flow {
        let is_input = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].iter().any(|name| file.is(name));
        if is_input { (*call.input).clone() } else { self.read(file, world) }
    }

    /// Remembers what a file holds from now on.
    pub(crate) fn remember(&mut self, text: &Text, flow: Flow, append: bool, world: &World) {
        if let [Piece::Unknown(Unknown { what: What::Sink(process), .. })] = text.0.as_slice() {
            self.sent_to(*process, &flow);
            return;
        }
        let path = text.as_known().and_then(|known| path::absolute(&known, world.cwd.as_deref()));
        let append = append || !text.is_decided();
        let Some(path) = path.or_else(|| key_of_undecided(text)) else { return };
        if let Some(number) = descriptor_of(&path) {
            let sink = world.descriptors.get(&number).and_then(|opened| opened.writes.clone());
            match sink {
                Some(Sink::Process(process)) => drop(self.sent_to(process, &flow)),
                Some(Sink::File { path: Some(path), append }) => self.pour(&path, flow, append),
                _ => {}
            }
            return;
        }
        self.pour(&path, flow, append);
    }

    /// Notes that a file which the command wrote is changed in a way that nobody follows.
    pub(crate) fn blur(&mut self, text: &Text, world: &World) {
        let path = text.as_known().and_then(|known| path::absolute(&known, world.cwd.as_deref()));
        if let Some(content) = path.and_then(|path| self.files.get_mut(&path)) {
            let labels = content.labels.with(Labels::UNKNOWN).with(Labels::DECODED);
            *content = Flow::labelled(labels);
        }
    }

    /// What is known of the files that `args` name.
    pub(crate) fn labels_of(&mut self, args: &[Arg], world: &World) -> Labels {
        args.iter().fold(Labels::default(), |labels, arg| labels.with(self.read(&arg.text, world).labels))
    }

    /// Notes that a program waits for a person, and what to do instead.
    pub(crate) fn waits_for_a_person(&mut self, program: &str, hint: &str, span: Span) {
        let waiting = WaitingCommand { program: program.to_owned(), hint: hint.to_owned(), span };
        if !self.waits.contains(&waiting) && self.waits.len() < 50 {
            self.waits.push(waiting);
        }
    }

    /// Notes that a program shows or takes along what comes in, where that proves who somebody is.
    pub(crate) fn reveals_input(&mut self, program: &str, input: &Flow, span: Span) {
        if input.labels.has(Labels::KEPT) {
            let reason = format!("`{program}` would print what it reads, which proves who somebody is.");
            self.reveals(reason, input.labels, span);
        }
    }

    /// Notes that what is printed is shown or kept in a file, where that proves who somebody is.
    pub(crate) fn reveals_output(&mut self, output: &Flow, span: Span) {
        if !output.labels.has(Labels::KEPT) {
            return;
        }
        let (reason, span) = match &self.kept {
            Some((program, span)) => (format!("What `{program}` prints proves who somebody is."), *span),
            None => ("What this prints proves who somebody is.".to_owned(), span),
        };
        self.reveals(reason, output.labels, span);
    }

    /// What one program of a pipeline shows, the next need not be told about.
    fn reveals(&mut self, reason: String, labels: Labels, span: Span) {
        let needs = self.files_behind(labels);
        let is_told = |finding: &Finding| {
            matches!(finding.rule.as_str(), "credentials" | "exfiltration")
                && (needs.is_some() || finding.needs.is_none())
        };
        if !self.findings.iter().any(is_told) {
            self.state_where(needs, Kind::Reveal, reason, span, None);
        }
    }

    /// Notes that credentials with these labels leave the machine.
    pub(crate) fn exfiltrates(&mut self, labels: Labels, span: Span) {
        let reason = "Credentials would be sent over the network.".to_owned();
        self.state_where(self.files_behind(labels), Kind::Exfiltrate, reason, span, None);
    }

    /// What has to be read for credentials with these labels to be there, where they can come from files alone.
    fn files_behind(&self, labels: Labels) -> Option<Needs> {
        let files = || self.secret_files.iter().cloned().collect();
        (!labels.has(Labels::TOLD) && !self.secret_files.is_empty()).then(|| Needs::Read(files()))
    }

    /// Notes that a shell takes its commands from another machine.
    pub(crate) fn remote_shell(&mut self, span: Span) {
        let reason = "A shell would take its commands from another machine.".to_owned();
        self.state(Kind::RemoteShell, reason, span, None);
    }
}

/// Whether the file at `path` lies in a directory of programs.
fn is_among_programs(path: &str) -> bool {
    path.rsplit_once('/').is_some_and(|(directory, _)| matches!(directory.rsplit('/').next(), Some("bin" | "sbin")))
}
