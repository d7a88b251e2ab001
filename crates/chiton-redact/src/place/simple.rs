//! One simple command while it is read: its words, and who reads them as code.

use super::scanner::Scanner;

/// What stands behind a redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    /// A file.
    File,
    /// A descriptor, behind `>&` or `<&`. Bash expands a word twice that turns out to be none.
    Descriptor,
    /// The input itself, behind `<<<`, and the command that reads it as code, where there is one.
    Text(Option<String>),
}

/// The simple command that is being read.
#[derive(Default)]
pub(super) struct Simple {
    /// Its words so far, quotes removed, as far as they matter.
    pub(super) words: Vec<Vec<u8>>,
    /// The word that is being read.
    pub(super) word: Vec<u8>,
    pub(super) in_word: bool,
    /// Nothing of the word was quoted so far.
    pub(super) bare: bool,
    /// The word is what a redirection goes to, and which.
    pub(super) operand: Option<Operand>,
    /// Between `[[` and `]]`.
    pub(super) condition: bool,
    /// In an array or a pattern: no word is the name of a command.
    pub(super) nameless: bool,
    /// In an array, or an extended pattern.
    pub(super) listed: bool,
}

impl Simple {
    pub(super) fn begin_word(&mut self) {
        if !self.in_word {
            self.word.clear();
            (self.in_word, self.bare) = (true, true);
        }
    }

    /// Whether a word that begins now would be the name of a command.
    pub(super) fn at_command(&self) -> bool {
        self.words.is_empty() && self.operand.is_none() && !self.condition && !self.nameless
    }

    /// Why no value can be put into the word that is being read, where that is so.
    pub(super) fn objection(&self) -> Option<&'static str> {
        if self.at_command() && !self.is_assignment() {
            return Some("it is the name of a command there");
        }
        if self.operand == Some(Operand::Descriptor) {
            return Some("it is behind >& or <&, where bash reads it twice");
        }
        let index = self.nameless && self.word.starts_with(b"[") && !self.word.contains(&b']');
        index.then_some("it is an index there, with which bash calculates")
    }

    /// Whether a `[` here begins an index, which ends with its `]` and nowhere before, blanks or not.
    pub(super) fn takes_index(&self) -> bool {
        let is_name = self.word.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let named = self.in_word && self.bare && is_name && (self.at_command() || self.declares());
        named || (self.listed && !self.in_word)
    }

    /// Whether the word that is being read is an argument of a declaration.
    pub(super) fn declares(&self) -> bool {
        self.operand.is_none() && self.words.iter().any(|word| is_one_of(word, &DECLARATIONS).is_some())
    }

    pub(super) fn is_assignment(&self) -> bool {
        let name = self.word.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        let rest = &self.word[name..];
        let rest = match (rest.first(), memchr::memchr(b']', rest)) {
            (Some(b'['), Some(close)) => &rest[close + 1..],
            _ => rest,
        };
        name > 0 && !self.word[0].is_ascii_digit() && (rest.starts_with(b"=") || rest.starts_with(b"+="))
    }
}

pub(super) const RESERVED: [&[u8]; 10] =
    [b"!", b"{", b"do", b"elif", b"else", b"if", b"then", b"until", b"while", b"time"];
pub(super) const SHELLS: [&str; 10] = ["bash", "sh", "dash", "ash", "ksh", "mksh", "zsh", "fish", "su", "runuser"];
const DECLARATIONS: [&str; 5] = ["declare", "typeset", "local", "readonly", "export"];
/// They read their arguments as code, or as names of variables, in which an index may be code.
const EVALUATORS: [&str; 15] = [
    "eval",
    "trap",
    "alias",
    "let",
    "ssh",
    "watch",
    "parallel",
    "compgen",
    "complete",
    "bind",
    "read",
    "unset",
    "getopts",
    "mapfile",
    "readarray",
];
/// They take the name of a variable behind an option.
const NAMING: [&str; 4] = ["printf", "test", "[", "wait"];
/// Variables that the shell itself evaluates.
const EVALUATED: [&str; 7] = ["PS0", "PS1", "PS2", "PS4", "PROMPT_COMMAND", "BASH_ENV", "ENV"];

impl Scanner<'_> {
    /// The command that reads the word that is being read as code, where there is one.
    pub(super) fn code_of(&self, simple: &Simple) -> Option<String> {
        if simple.condition {
            // These calculate with both their sides.
            let operators = [" -eq ", " -ne ", " -lt ", " -le ", " -gt ", " -ge ", " -v "];
            let has = |operator: &str| memchr::memmem::find(self.text, operator.as_bytes()).is_some();
            return operators.iter().any(|operator| has(operator)).then(|| "[[".to_owned());
        }
        if let Some(operand) = &simple.operand {
            return if let Operand::Text(reader) = operand { reader.clone() } else { None };
        }
        let name = simple.word.split(|byte| matches!(byte, b'=' | b'+' | b'[')).next().unwrap_or_default();
        if simple.is_assignment()
            && let Some(name) = is_one_of(name, &EVALUATED)
        {
            return Some(name);
        }
        if let Some(name) = simple.words.iter().find_map(|word| is_one_of(word, &DECLARATIONS)) {
            // With an index, an integer, a reference or a list the value is more than that.
            let attributes = |word: &Vec<u8>| word.starts_with(b"-") && word.iter().any(|byte| b"inaA".contains(byte));
            let plain = simple.is_assignment() && !simple.word.contains(&b'[');
            return (!plain || simple.words.iter().any(attributes)).then_some(name);
        }
        let is_naming = |word: &[u8]| [b"-v", b"-R", b"-p"].iter().any(|option| word.starts_with(*option));
        if (is_naming(&simple.word) || simple.words.iter().any(|word| is_naming(word)))
            && let Some(name) = simple.words.iter().find_map(|word| is_one_of(word, &NAMING))
        {
            return Some(name);
        }
        let evaluator = simple.words.iter().find_map(|word| is_one_of(word, &EVALUATORS));
        if evaluator.is_some() {
            return evaluator;
        }
        let shell = simple.words.iter().position(|word| is_one_of(word, &SHELLS).is_some())?;
        let after = &simple.words[shell + 1..];
        let is_option = |word: &Vec<u8>| word.starts_with(b"-") && !word.starts_with(b"--");
        let command = after.iter().position(|word| is_option(word) && word.contains(&b'c'))?;
        let given = after[command + 1..].iter().any(|word| !word.starts_with(b"-"));
        if given { None } else { is_one_of(&simple.words[shell], &SHELLS).map(|shell| format!("{shell} -c")) }
    }
}

/// The last part of a path, where it is one of these names.
pub(super) fn is_one_of(word: &[u8], names: &[&str]) -> Option<String> {
    let name = word.rsplit(|byte| *byte == b'/').next()?;
    names.iter().find(|known| known.as_bytes() == name).map(|known| (*known).to_owned())
}
