//! Who reads a word, or standard input, as code: the one list of shells, builtins, variables, programs and
//! interpreters that do.
//!
//! [`programs::PROGRAMS`] has a row for each program, [`crate::builtins::BUILTINS`] for each builtin, [`VARIABLES`] for
//! each variable. [`crate::Survey`] applies them to the words of a command.

mod options;
pub mod programs;

use crate::builtins::{BuiltinEffect, builtin};
pub use crate::code_words::CodeWords;
use crate::tree::{Part, Simple, Word};
use crate::walk;
use options::Use;
pub use programs::{PROGRAMS, SHELLS, WRAPPERS};

/// What code is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// A shell's language.
    Shell,
    /// Any other: Python, SQL, the filters of `jq`.
    Other,
}

/// Whoever reads a word as code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedReader {
    /// What to call it: `bash -c`, `eval`, `PS4`.
    pub name: String,
    /// What it takes the word for.
    pub language: Language,
}

/// When a program reads its standard input as code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeInput {
    /// Never: it is data.
    Never,
    /// Whatever its words say.
    Always,
    /// When its words hold no code and no operand, such as the name of a script. A shell that is given code passes its
    /// input on to the commands in it.
    WithoutScript,
    /// When its words hold no code, whatever else they hold.
    WithoutCode,
    /// When it puts its input into the words of another program that reads code.
    WithReader,
    /// When one of these options asks for a shell and no command follows.
    WithOption(&'static [&'static str]),
}

/// How options are joined in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionStyle {
    /// `-ofile`: the rest of the word belongs to the first letter that takes something.
    Joined,
    /// `-eo pipefail`: as shells have it, where `+` begins an option too and the rest of the word is more letters.
    Shell,
}

/// Where the name of a program counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// As any word of a command: `docker exec box sh -c …`.
    Anywhere,
    /// As its first word, and after one of [`WRAPPERS`].
    AsCommand,
}

/// A program that reads some of its words, or its input, as code.
#[derive(Clone, Copy, Debug)]
pub struct CodeProgram {
    /// Its names, without paths and versions.
    pub names: &'static [&'static str],
    /// What it reads.
    pub language: Language,
    /// Where its name counts.
    pub standing: Standing,
    /// Which of its words.
    pub code: &'static [CodeWords],
    /// When its standard input.
    pub input: CodeInput,
    /// Options that take data, and how many words of it; none where only the rest of the same word is meant.
    pub values: &'static [(&'static str, usize)],
    /// How its options are written.
    pub style: OptionStyle,
    /// Whether words after the first operand belong to a script, options included.
    pub stops: bool,
}

/// Variables that a shell evaluates or calculates with, or that programs hand to one.
pub const VARIABLES: [&str; 37] = [
    // Expanded, run or read as a file of commands by bash itself.
    "PS0", "PS1", "PS2", "PS3", "PS4", "PROMPT_COMMAND", "BASH_ENV", "ENV", "BASH_ALIASES",
    // Integers, so that bash calculates with what is assigned.
    "OPTIND", "RANDOM", "SRANDOM", "SECONDS", "HISTCMD", "LINENO", "BASHPID", "EPOCHSECONDS",
    // Commands that programs hand to a shell.
    "EDITOR", "VISUAL", "FCEDIT", "PAGER", "MANPAGER", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR",
    "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "LESSOPEN", "LESSCLOSE", "RSYNC_RSH", "TAR_OPTIONS",
    "MAKEFLAGS", "SHELL", // Options and code for interpreters.
    "PERL5OPT", "RUBYOPT", "NODE_OPTIONS",
];

/// Who evaluates a variable of this name.
pub fn of_variable(name: &str) -> Option<NamedReader> {
    VARIABLES.contains(&name).then(|| NamedReader { name: name.to_owned(), language: Language::Shell })
}

/// Who calculates with the operands of `[[ … ]]`, where some operator among its words does.
pub fn of_condition(words: &[Word]) -> Option<NamedReader> {
    const CALCULATING: [&str; 9] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R", "-t"];
    let calculates = words.iter().any(|word| CALCULATING.contains(&text_of(word).text.as_str()));
    calculates.then(|| NamedReader { name: "[[".to_owned(), language: Language::Shell })
}

/// How many names from the lists are looked at in one command. With more, everything counts as code.
const MOST_CANDIDATES: usize = 16;
/// How deep code in code is parsed, as in `bash -c "sudo bash -c '…'"`. What lies deeper counts as reading its input.
const DEEPEST_CODE: usize = 2;
/// The longest code that is parsed.
const LONGEST_CODE: usize = 64 << 10;

/// The text of a word, as far as it is known.
#[derive(Clone, Debug)]
pub(crate) struct WordText {
    /// As if each expansion in it were empty.
    text: String,
    /// Whether that is all of it.
    certain: bool,
}

/// What braces in a word do. Whether bash expands them depends on the whole word, so both are asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Braces {
    /// They are text.
    Kept,
    /// They make several words of one.
    Split,
}

impl Braces {
    pub(crate) const BOTH: [Self; 2] = [Self::Kept, Self::Split];
}

/// What stands in a word before a place.
#[derive(Clone, Copy)]
pub(crate) struct Before<'a> {
    /// As it is written, with its quotes.
    pub(crate) text: &'a [u8],
    /// Whether a brace in it is outside quotes.
    pub(crate) has_bare_brace: bool,
}

/// The words of a simple command, up to a place in one of them or all of them.
pub(crate) struct Words {
    texts: Vec<WordText>,
}

impl Words {
    /// All words of `simple`.
    pub(crate) fn all(simple: &Simple, braces: Braces) -> Self {
        Self { texts: simple.words.iter().flat_map(|word| pieces_of(word, braces)).collect() }
    }

    /// The words of `simple` up to a place in the word at `index`, before which that word has the text `before`.
    pub(crate) fn before(simple: &Simple, index: usize, before: Before<'_>, braces: Braces) -> Self {
        let words = &simple.words[..index];
        let mut texts: Vec<WordText> = words.iter().flat_map(|word| pieces_of(word, braces)).collect();
        let splits = before.has_bare_brace && braces == Braces::Split;
        let plain: Vec<u8> = before.text.iter().copied().filter(|byte| !matches!(byte, b'\'' | b'"' | b'\\')).collect();
        let text = String::from_utf8_lossy(&plain).into_owned();
        match text.rfind(['{', ',']).filter(|_| splits) {
            Some(at) => {
                texts.extend(split_braces(&text[..at]));
                texts.push(WordText { text: text[at + 1..].to_owned(), certain: false });
            }
            None => texts.push(WordText { text, certain: false }),
        }
        Self { texts }
    }

    /// Who reads the last of these words as code.
    pub(crate) fn reader(&self) -> Option<NamedReader> {
        let (last, earlier) = self.texts.split_last()?;
        let assigned = last.text.split(['=', '+', '[']).next().filter(|name| name.len() < last.text.len());
        let declared = || self.declarer().filter(|_| !self.is_plain_assignment() || self.has_attribute(b"inaA"));
        let variable = assigned.filter(|_| !earlier.is_empty()).and_then(of_variable);
        variable
            .or_else(|| declared().map(shell_reader))
            .or_else(|| self.too_many(earlier.len()))
            .or_else(|| self.candidates(earlier.len()).find_map(|(at, candidate)| self.reads_last(at, candidate)))
    }

    /// Who reads an element of an array as code, in an argument `name=(…)` of a declarer.
    pub(crate) fn array_reader(&self) -> Option<NamedReader> {
        self.declarer().filter(|_| self.has_attribute(b"in")).map(shell_reader)
    }

    /// Who reads the standard input of `simple` as code.
    pub(crate) fn input_reader_of(simple: &Simple) -> Option<NamedReader> {
        Self::nested_input_reader(simple, 0)
    }

    fn nested_input_reader(simple: &Simple, depth: usize) -> Option<NamedReader> {
        Braces::BOTH.into_iter().find_map(|braces| Self::all(simple, braces).input_reader(depth))
    }

    fn input_reader(&self, depth: usize) -> Option<NamedReader> {
        self.too_many(self.texts.len()).or_else(|| {
            self.candidates(self.texts.len()).find_map(|(at, candidate)| match candidate {
                Candidate::Builtin => self.sources_input(at, depth).map(shell_reader),
                Candidate::Program(program) => self.reads_input(at, program, depth).then(|| self.named(at, program)),
            })
        })
    }

    fn named(&self, at: usize, program: &CodeProgram) -> NamedReader {
        NamedReader { name: name_of(&self.texts[at].text, at).to_owned(), language: program.language }
    }

    /// Somebody who reads everything, where there are more names from the lists than are looked at.
    fn too_many(&self, count: usize) -> Option<NamedReader> {
        let (at, _) = self.candidates(count).nth(MOST_CANDIDATES)?;
        let name = name_of(&self.texts[at].text, at).to_owned();
        Some(NamedReader { name, language: Language::Other })
    }

    /// The declarer among these words.
    pub(crate) fn declarer(&self) -> Option<&'static str> {
        self.builtins().find(|builtin| builtin.effect == BuiltinEffect::Declares).map(|builtin| builtin.name)
    }

    /// Whether these words make a variable one whose values are calculated with, or one that stands for another.
    pub(crate) fn changes_attributes(&self) -> bool {
        self.declarer().is_some() && self.has_attribute(b"in")
    }

    /// Whether these words put their standard input into variables.
    pub(crate) fn reads_into_variables(&self) -> bool {
        self.builtins().any(|builtin| matches!(builtin.name, "read" | "mapfile" | "readarray"))
    }

    fn builtins(&self) -> impl Iterator<Item = &'static crate::builtins::Builtin> {
        let found = self.candidates(self.texts.len()).filter(|(_, candidate)| matches!(candidate, Candidate::Builtin));
        found.filter_map(|(at, _)| builtin(&self.texts[at].text))
    }

    /// Whether a declarer is given one of these attributes.
    fn has_attribute(&self, letters: &[u8]) -> bool {
        let gives =
            |text: &WordText| text.text.starts_with('-') && text.text.bytes().any(|byte| letters.contains(&byte));
        self.texts.iter().any(gives)
    }

    /// Whether the last word begins like `name=`, with nothing but a name before the sign.
    fn is_plain_assignment(&self) -> bool {
        let Some((name, _)) = self.texts.last().and_then(|last| last.text.split_once('=')) else { return false };
        let name = name.strip_suffix('+').unwrap_or(name);
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    }

    /// The names among the first `count` words that are in one of the lists.
    fn candidates(&self, count: usize) -> impl Iterator<Item = (usize, Candidate)> {
        let first = self.texts.first();
        let name = first.map_or("", |first| name_of(&first.text, 0));
        let uncertain = first.is_some_and(|first| !first.certain);
        let prints = !uncertain && builtin(name).is_some_and(|builtin| builtin.effect == BuiltinEffect::Prints);
        let hands_on = uncertain || WRAPPERS.contains(&name);
        // Another program cannot start a builtin of this shell: `docker run --name test -v …` does not.
        let runs_builtins = uncertain || matches!(name, "command" | "builtin");
        let count = if prints { count.min(1) } else { count };
        self.texts[..count].iter().enumerate().flat_map(move |(at, text)| {
            let as_command = at == 0 || hands_on;
            let found = if at == 0 || runs_builtins { builtin(&text.text) } else { None };
            let builtin = found.map(|_| Candidate::Builtin);
            let name = name_of(&text.text, at);
            let stands = move |program: &&CodeProgram| as_command || program.standing == Standing::Anywhere;
            let program = programs::named(name).filter(stands).map(Candidate::Program);
            builtin.into_iter().chain(program).map(move |candidate| (at, candidate))
        })
    }

    fn reads_last(&self, at: usize, candidate: Candidate) -> Option<NamedReader> {
        let after = &self.texts[at + 1..];
        let name = name_of(&self.texts[at].text, at);
        let uses = match candidate {
            Candidate::Builtin => options::uses(&builtin_program(name)?, after),
            Candidate::Program(program) => options::uses(program, after),
        };
        let language = if let Candidate::Program(program) = candidate { program.language } else { Language::Shell };
        match uses.last()? {
            Use::Code(None) => Some(NamedReader { name: name.to_owned(), language }),
            Use::Code(Some(option)) => Some(NamedReader { name: format!("{name} {option}"), language }),
            _ => None,
        }
    }

    /// `source /dev/stdin`.
    fn sources_input(&self, at: usize, depth: usize) -> Option<&'static str> {
        let name = builtin(&self.texts[at].text).map(|builtin| builtin.name)?;
        let sources = matches!(name, "." | "source") && self.texts[at + 1..].iter().any(is_standard_input);
        // What these are given is run here, with the same input.
        let evaluates = name == "eval" && passes_input_on(self.texts[at + 1..].iter(), depth);
        (sources || evaluates).then_some(name)
    }

    fn reads_input(&self, at: usize, program: &'static CodeProgram, depth: usize) -> bool {
        let after = &self.texts[at + 1..];
        let uses = options::uses(program, after);
        let code = || after.iter().zip(&uses).filter(|(_, used)| matches!(used, Use::Code(_))).map(|(text, _)| text);
        let has_script = uses.iter().any(|used| matches!(used, Use::Code(_) | Use::Operand));
        let passes_on = || program.language == Language::Shell && passes_input_on(code(), depth);

        match program.input {
            CodeInput::Never => false,
            CodeInput::Always => true,
            _ if after.iter().any(is_standard_input) => true,
            CodeInput::WithoutScript if program.style == OptionStyle::Shell => {
                let gives_code = uses.iter().any(|used| matches!(used, Use::Code(Some(_))));
                let options = || after.iter().zip(&uses).take_while(|(_, used)| **used == Use::Data);
                let takes_input = options().any(|(text, _)| options::mentions(&text.text, "-s"));
                !has_script || if gives_code { passes_on() } else { takes_input }
            }
            CodeInput::WithoutScript => !has_script || passes_on(),
            CodeInput::WithoutCode => code().next().is_none() || passes_on(),
            CodeInput::WithReader => self.candidates(self.texts.len()).any(|(other, _)| other > at),
            CodeInput::WithOption(options) => {
                let asks = |text: &WordText| options.iter().any(|option| options::mentions(&text.text, option));
                after.iter().any(asks) && !has_script
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Candidate {
    Builtin,
    Program(&'static CodeProgram),
}

fn shell_reader(name: &str) -> NamedReader {
    NamedReader { name: name.to_owned(), language: Language::Shell }
}

/// A builtin as a program, for its options.
fn builtin_program(name: &str) -> Option<CodeProgram> {
    builtin(name).map(|builtin| CodeProgram { code: builtin.code, ..programs::NOTHING })
}

fn is_standard_input(text: &WordText) -> bool {
    matches!(text.text.as_str(), "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}

/// Whether a shell that is given `code` has its input read as code by some command in it.
fn passes_input_on<'t>(code: impl Iterator<Item = &'t WordText>, depth: usize) -> bool {
    let mut text = String::new();
    for piece in code {
        if !piece.certain {
            return true;
        }
        text.push_str(&piece.text);
        text.push(' ');
    }
    if text.len() > LONGEST_CODE || depth == DEEPEST_CODE {
        return true;
    }

    let Ok(script) = crate::parse(text.as_bytes()) else { return true };
    let mut reads = false;
    walk::list(&script.list, &mut |node| {
        if let walk::Visited::Command(crate::tree::Command { kind: crate::tree::CommandKind::Simple(simple), .. }) =
            node
        {
            reads |= Words::nested_input_reader(simple, depth + 1).is_some();
        }
    });
    reads
}

/// The name of the program that a word starts: without its path, where it is one, and without `.exe`.
fn name_of(text: &str, at: usize) -> &str {
    let is_path = at == 0 || text.starts_with(['/', '.', '~']) || text.contains("bin/");
    let name = if is_path && text != "." { text.rsplit('/').next().unwrap_or(text) } else { text };
    name.strip_suffix(".exe").unwrap_or(name)
}

fn text_of(word: &Word) -> WordText {
    fn collect(parts: &[Part], text: &mut WordText) {
        for part in parts {
            match part {
                Part::Literal(piece) | Part::Quoted(piece) => text.text.push_str(piece),
                Part::Double(inside) => collect(inside, text),
                _ => text.certain = false,
            }
        }
    }
    let mut text = WordText { text: String::new(), certain: true };
    collect(&word.parts, &mut text);
    text
}

/// The text of a word; several where braces make several words of it.
fn pieces_of(word: &Word, braces: Braces) -> Vec<WordText> {
    let has =
        |character: char| word.parts.iter().any(|part| matches!(part, Part::Literal(text) if text.contains(character)));
    let text = text_of(word);
    if braces == Braces::Split && has('{') && has(',') { split_braces(&text.text).collect() } else { vec![text] }
}

fn split_braces(text: &str) -> impl Iterator<Item = WordText> {
    let pieces = text.split(['{', ',', '}']).filter(|piece| !piece.is_empty());
    pieces.map(|piece| WordText { text: piece.to_owned(), certain: true })
}
