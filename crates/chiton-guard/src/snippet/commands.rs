//! Languages that are made of commands, one a line: Tcl and PowerShell. Their words are read as far as they are plain,
//! and what they would run or delete is judged like a command of the shell.

use std::collections::BTreeMap;
use std::rc::Rc;

use chiton_shell::tree::Span;

use super::Language;
use crate::effect::{Depth, Kind, Writing};
use crate::machine::state::World;
use crate::machine::{DEEPEST_CALLS, Machine};
use crate::value::{Arg, Flow, Labels, Text, What};

/// Commands beyond this are left out.
const MOST: usize = 500;

/// Goes through the commands of `text`.
pub(super) fn run(
    machine: &mut Machine<'_>,
    text: &str,
    language: Language,
    world: &World,
    input: &Rc<Flow>,
    span: Span,
) {
    let mut commands =
        Commands { machine, language, world, input, span, variables: BTreeMap::new(), feeds_shell: false };
    commands.all(text);
}

/// Whether a program is a shell that takes what is written to it.
pub(super) fn is_shell(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    matches!(name, "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "fish")
}

struct Commands<'c, 'm> {
    machine: &'c mut Machine<'m>,
    language: Language,
    world: &'c World,
    input: &'c Rc<Flow>,
    span: Span,
    variables: BTreeMap<String, Text>,
    feeds_shell: bool,
}

impl Commands<'_, '_> {
    fn all(&mut self, text: &str) {
        if self.machine.frames.len() >= DEEPEST_CALLS || !self.machine.step(self.span) {
            return;
        }
        let mut piped: Vec<Text> = Vec::new();
        for command in Reader::new(text, self.language, &self.variables).take(MOST).collect::<Vec<_>>() {
            if let Some(inner) = &command.inner {
                let inner = inner.clone();
                let frame = self.machine.frame("code");
                self.machine.frames.push(frame);
                for text in inner {
                    self.all(&text);
                }
                self.machine.frames.pop();
            }
            // A variable that an earlier command has set is put in now.
            let words: Vec<Text> = command.words.iter().map(|word| self.filled(word)).collect();
            if !words.is_empty() {
                let words =
                    if self.language == Language::Tcl { self.tcl(words) } else { self.power_shell(words, &piped) };
                piped = if command.goes_on { words } else { Vec::new() };
            }
        }
    }

    fn filled(&self, word: &Text) -> Text {
        let mut filled = Text::default();
        for piece in &word.0 {
            match piece {
                crate::value::Piece::Unknown(unknown) => match &unknown.what {
                    What::Variable(name) if self.variables.contains_key(&name.to_lowercase()) => {
                        filled.append(&self.variables[&name.to_lowercase()]);
                    }
                    _ => filled.push(piece.clone()),
                },
                known => filled.push(known.clone()),
            }
        }
        filled
    }

    fn invoke(&mut self, words: Vec<Text>) {
        if words.is_empty() || self.machine.frames.len() >= DEEPEST_CALLS {
            return;
        }
        self.feeds_shell |= words[0].as_known().is_some_and(|program| is_shell(&program)) && words.len() == 1;
        let args: Vec<Arg> = words.into_iter().map(|word| Arg::new(word, self.span)).collect();
        let frame = self.machine.frame("code");
        self.machine.frames.push(frame);
        self.machine.invoke(&args, self.world.clone(), self.input, self.span);
        self.machine.frames.pop();
    }

    fn run_text(&mut self, text: &Text) {
        let arg = Arg::new(text.clone(), self.span);
        self.machine.run_text(&arg, self.world.clone(), self.input);
    }

    fn code(&mut self, text: &Text) {
        if let Some(known) = text.as_known() {
            let frame = self.machine.frame("code");
            self.machine.frames.push(frame);
            self.all(&known);
            self.machine.frames.pop();
        } else {
            let labels = text.labels();
            if labels.has(Labels::DOWNLOADED) {
                self.machine.object_to_flow(&Flow::labelled(labels), &Arg::new(text.clone(), self.span));
            } else {
                let reason = format!("The text does not decide what this {} code runs.", self.language.name());
                self.machine.state(Kind::Code, reason, self.span, Some(text.display()));
            }
        }
    }

    /// A command of Tcl or Expect.
    fn tcl(&mut self, words: Vec<Text>) -> Vec<Text> {
        let name = words[0].as_known().unwrap_or_default();
        let rest: Vec<Text> = words[1..].to_vec();
        match name.as_str() {
            "set" => {
                if let [variable, value, ..] = rest.as_slice()
                    && let Some(variable) = variable.as_known()
                {
                    self.variables.insert(variable.to_lowercase(), value.clone());
                }
            }
            "exec" | "spawn" => {
                let options = rest.iter().take_while(|word| word.known_start().starts_with('-')).count();
                self.invoke(rest[options..].to_vec());
            }
            "system" => self.run_text(&super::values::joined(rest.into_iter(), " ")),
            "eval" | "uplevel" | "subst" | "after" => {
                self.code(&super::values::joined(rest.into_iter(), " "));
            }
            "open" => {
                if let Some(command) =
                    rest.first().and_then(Text::as_known).and_then(|text| text.strip_prefix('|').map(str::to_owned))
                {
                    self.run_text(&Text::known(command));
                }
            }
            "send" | "puts" | "exp_send" if self.feeds_shell => {
                if let Some(text) = rest.last().and_then(Text::as_known) {
                    self.run_text(&Text::known(text.replace('\r', "\n")));
                }
            }
            "file" if rest.first().is_some_and(|verb| verb.is("delete")) => {
                let depth = Depth::tree_if(rest.iter().any(|word| word.is("-force")));
                for path in rest.iter().skip(1).filter(|word| !word.known_start().starts_with('-')) {
                    self.machine.deletes("This code would delete", path, depth, self.world, self.span);
                }
            }
            "if" | "while" | "foreach" | "for" | "proc" | "catch" | "try" | "switch" => {
                for body in rest.iter().filter(|word| word.as_known().is_some_and(|known| known.contains([' ', '\n'])))
                {
                    self.code(body);
                }
            }
            _ => {}
        }
        words
    }

    /// A command of PowerShell, with what the command before it in a pipe says.
    fn power_shell(&mut self, words: Vec<Text>, piped: &[Text]) -> Vec<Text> {
        let name = words[0].as_known().unwrap_or_default().to_ascii_lowercase();
        let rest: Vec<Text> = words[1..].to_vec();
        // Options may be cut short, and their values follow them.
        let is_switch = |word: &Text, long: &str| {
            let start = word.known_start().to_ascii_lowercase();
            start.len() > 1
                && start.strip_prefix('-').is_some_and(|option| long.starts_with(option.trim_end_matches(':')))
        };
        let operands = || {
            let mut skip_next = false;
            rest.iter().filter(move |word| {
                let is_value = std::mem::take(&mut skip_next);
                let start = word.known_start().to_ascii_lowercase();
                skip_next = ["-exclude", "-include", "-filter", "-value", "-erroraction", "-ea", "-encoding"]
                    .contains(&start.as_str());
                !is_value && !start.starts_with('-') && start != ","
            })
        };
        match name.as_str() {
            "remove-item" | "ri" | "rm" | "del" | "erase" | "rd" | "rmdir" | "clear-item" => {
                let is_unix = rest.iter().any(|word| word.is("-rf") || word.is("-fr"));
                let recursive = is_unix || rest.iter().any(|word| is_switch(word, "recurse"));
                let mut paths: Vec<Text> = operands().cloned().collect();
                let mut depth = Depth::tree_if(recursive);
                if paths.is_empty() {
                    // What the listing before it finds.
                    let listed = piped.iter().skip(1).find(|word| !word.known_start().starts_with('-'));
                    paths.extend(listed.cloned());
                    depth = Depth::Contents;
                }
                for path in paths {
                    let path = self.plain_path(&path);
                    self.machine.deletes("This code would delete", &path, depth, self.world, self.span);
                }
            }
            "clear-content" | "set-content" | "sc" | "clc" | "out-file" | "add-content" | "ac" | "new-item"
            | "tee-object" => {
                let writing = Writing::adding_if(matches!(name.as_str(), "add-content" | "ac" | "new-item"));
                if let Some(path) = operands().next().cloned() {
                    let path = self.plain_path(&path);
                    self.machine.writes("This code would write to", &path, writing, self.world, self.span);
                }
            }
            "move-item" | "mi" | "mv" | "move" => {
                if let Some(path) = operands().next().cloned() {
                    let path = self.plain_path(&path);
                    self.machine.deletes("This code would move away", &path, Depth::Tree, self.world, self.span);
                }
            }
            "invoke-expression" | "iex" => {
                let text = operands()
                    .next()
                    .cloned()
                    .or_else(|| piped.iter().find(|word| !word.is_decided()).cloned())
                    .or_else(|| piped.first().cloned());
                if let Some(text) = text {
                    self.code(&text);
                }
            }
            "start-process" | "saps" | "start" | "start-job" | "invoke-command" | "icm" => {
                let words: Vec<Text> = rest
                    .iter()
                    .filter(|word| {
                        !is_switch(word, "argumentlist")
                            && !is_switch(word, "filepath")
                            && !is_switch(word, "wait")
                            && !is_switch(word, "nonewwindow")
                            && !is_switch(word, "scriptblock")
                    })
                    .filter(|word| !word.is(","))
                    .flat_map(|word| match word.as_known() {
                        Some(known) => known.split_whitespace().map(Text::known).collect(),
                        None => vec![word.clone()],
                    })
                    .collect();
                self.invoke(words);
            }
            "stop-computer" | "restart-computer" => {
                self.machine.state(Kind::Power, "This would stop or restart the machine.", self.span, None);
            }
            "&" | "." => self.invoke(rest),
            _ if name.starts_with('$') && rest.first().is_some_and(|word| word.known_start().starts_with('=')) => {
                let value = if rest[0].is("=") { rest.get(1).cloned() } else { Some(rest[0].skip(1)) };
                self.variables.insert(name[1..].to_owned(), value.unwrap_or_default());
            }
            _ if name.starts_with('[') => self.power_shell_call(&words),
            _ if name.starts_with('$') || name.contains(['-', '(', '{', '=']) => {}
            "" => {}
            _ => self.invoke(words.clone()),
        }
        // What comes over the network and goes on is not known.
        if matches!(name.as_str(), "iwr" | "irm" | "invoke-webrequest" | "invoke-restmethod" | "curl" | "wget") {
            let flow = Flow::labelled(Labels::DOWNLOADED);
            return vec![Text::unknown(What::Output(Rc::new(flow)), false)];
        }
        words
    }

    fn plain_path(&self, path: &Text) -> Text {
        match path.as_known() {
            Some(known) if known.starts_with('~') => Text::known(known.replacen('~', &self.machine.places().home, 1)),
            Some(known) if known.contains('*') => {
                let mut pattern = Text::default();
                crate::machine::expand::patterned(&known, &mut pattern);
                pattern
            }
            _ => path.clone(),
        }
    }

    /// `[IO.Directory]::Delete("/", $true)`, `[Diagnostics.Process]::Start("rm", "-rf /")`.
    fn power_shell_call(&mut self, words: &[Text]) {
        let all = super::values::joined(words.iter().cloned(), " ").display();
        let Some((class, call)) = all.split_once("::") else { return };
        let Some((method, arguments)) = call.split_once('(') else { return };
        let arguments: Vec<Text> = arguments
            .trim_end_matches(')')
            .split(',')
            .map(|argument| Text::known(argument.trim().trim_matches(['"', '\''])))
            .collect();
        match (class.to_ascii_lowercase(), method) {
            (class, "Delete") if class.contains("directory") || class.contains("file") => {
                if let Some(path) = arguments.first() {
                    let depth = Depth::tree_if(class.contains("directory"));
                    self.machine.deletes("This code would delete", path, depth, self.world, self.span);
                }
            }
            (class, "Start") if class.contains("process") => {
                self.run_text(&super::values::joined(arguments.into_iter(), " "));
            }
            _ => {}
        }
    }
}

/// A command as its words.
#[derive(Default)]
struct OneCommand {
    words: Vec<Text>,
    /// Code in brackets inside it.
    inner: Option<Vec<String>>,
    /// Whether its output goes on to the next one.
    goes_on: bool,
}

/// Cuts text into commands.
struct Reader<'r> {
    text: Vec<char>,
    at: usize,
    language: Language,
    known: &'r BTreeMap<String, Text>,
}

impl<'r> Reader<'r> {
    fn new(text: &str, language: Language, known: &'r BTreeMap<String, Text>) -> Self {
        Self { text: text.chars().collect(), at: 0, language, known }
    }

    fn peek(&self) -> char {
        self.text.get(self.at).copied().unwrap_or('\0')
    }

    /// The text up to the bracket that closes; the one that opens was read.
    fn bracketed(&mut self, open: char, close: char) -> String {
        let mut depth = 1;
        let mut inner = String::new();
        while self.at < self.text.len() {
            let character = self.peek();
            self.at += 1;
            if character == open {
                depth += 1;
            } else if character == close {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            inner.push(character);
        }
        inner
    }

    fn variable(&mut self) -> Text {
        let mut name = String::new();
        if self.peek() == '{' {
            self.at += 1;
            name = self.bracketed('{', '}');
        } else {
            while self.peek().is_alphanumeric() || matches!(self.peek(), '_' | ':') {
                name.push(self.peek());
                self.at += 1;
            }
        }
        let name = name.trim_start_matches("env:").to_owned();
        self.known.get(&name).cloned().unwrap_or_else(|| Text::variable(&name))
    }

    fn quoted(&mut self, quote: char) -> Text {
        let mut text = Text::default();
        let escape = if self.language == Language::Tcl { '\\' } else { '`' };
        while self.at < self.text.len() {
            let character = self.peek();
            self.at += 1;
            if character == quote {
                break;
            }
            if character == escape && quote == '"' {
                let next = self.peek();
                self.at += 1;
                let plain = match next {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    other => other,
                };
                text.push(crate::value::Piece::Known(plain.to_string()));
            } else if character == '$'
                && quote == '"'
                && (self.peek().is_alphabetic() || matches!(self.peek(), '_' | '{'))
            {
                let value = self.variable();
                text.append(&value);
            } else {
                text.push(crate::value::Piece::Known(character.to_string()));
            }
        }
        text
    }
}

impl Iterator for Reader<'_> {
    type Item = OneCommand;

    fn next(&mut self) -> Option<OneCommand> {
        let is_tcl = self.language == Language::Tcl;
        let mut command = OneCommand::default();
        let mut word: Option<Text> = None;
        let known = |character: char| crate::value::Piece::Known(character.to_string());
        if self.at >= self.text.len() {
            return None;
        }
        while self.at < self.text.len() {
            let character = self.peek();
            self.at += 1;
            match character {
                '\n' | ';' => break,
                '|' if !is_tcl && self.peek() != '|' => {
                    command.goes_on = true;
                    break;
                }
                '&' if !is_tcl && self.peek() == '&' => {
                    self.at += 1;
                    break;
                }
                '|' if !is_tcl => {
                    self.at += 1;
                    break;
                }
                '#' if word.is_none() && (command.words.is_empty() || !is_tcl) => {
                    while self.at < self.text.len() && self.peek() != '\n' {
                        self.at += 1;
                    }
                }
                '\\' if is_tcl => {
                    let next = self.peek();
                    self.at += 1;
                    word.get_or_insert_default().push(known(next));
                }
                '"' => {
                    let text = self.quoted('"');
                    word.get_or_insert_default().append(&text);
                }
                '\'' if !is_tcl => {
                    let text = self.quoted('\'');
                    word.get_or_insert_default().append(&text);
                }
                '{' if is_tcl && word.is_none() => {
                    let inner = self.bracketed('{', '}');
                    word = Some(Text::known(inner));
                }
                '{' if !is_tcl => {
                    let inner = self.bracketed('{', '}');
                    command.inner.get_or_insert_default().push(inner);
                }
                '(' if !is_tcl && word.as_ref().is_none_or(|word| !word.known_start().starts_with('[')) => {
                    let inner = self.bracketed('(', ')');
                    let is_download =
                        ["iwr", "irm", "webrequest", "restmethod", "webclient", "downloadstring", "curl", "wget"]
                            .iter()
                            .any(|mark| inner.to_ascii_lowercase().contains(mark));
                    if is_download {
                        command.words.extend(word.take());
                        let flow = Flow::labelled(Labels::DOWNLOADED);
                        word = Some(Text::unknown(What::Output(Rc::new(flow)), false));
                    }
                    command.inner.get_or_insert_default().push(inner);
                }
                '[' if is_tcl => {
                    let inner = self.bracketed('[', ']');
                    command.inner.get_or_insert_default().push(inner);
                    word.get_or_insert_default().append(&Text::variable("result"));
                }
                '$' if self.peek().is_alphabetic() || matches!(self.peek(), '_' | '{') => {
                    let start = self.at;
                    let value = self.variable();
                    // `$name = value` sets it.
                    let name: String = self.text[start..self.at].iter().collect();
                    let rest: String = self.text[self.at..].iter().take(3).collect();
                    let is_set =
                        !is_tcl && word.is_none() && command.words.is_empty() && rest.trim_start().starts_with('=');
                    if is_set {
                        command.words.push(Text::known(format!("${name}")));
                    } else {
                        word.get_or_insert_default().append(&value);
                    }
                }
                ',' if !is_tcl => {
                    command.words.extend(word.take());
                    command.words.push(Text::known(","));
                }
                '&' if !is_tcl && word.is_none() => command.words.push(Text::known("&")),
                blank if blank.is_whitespace() => command.words.extend(word.take()),
                other => word.get_or_insert_default().push(known(other)),
            }
        }
        command.words.extend(word);
        Some(command)
    }
}
