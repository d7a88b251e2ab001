//! One simple command while it is read: its words, and who reads them as code.

use super::scanner::Scanner;

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
    /// The word is what a redirection goes to.
    pub(super) operand: bool,
    /// Between `[[` and `]]`.
    pub(super) condition: bool,
    /// In an array or a pattern: no word is the name of a command.
    pub(super) nameless: bool,
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
        self.words.is_empty() && !self.operand && !self.condition && !self.nameless
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
const EVALUATORS: [&str; 7] = ["eval", "trap", "alias", "let", "ssh", "watch", "parallel"];

impl Scanner<'_> {
    /// The command that reads the word that is being read as code, where there is one.
    pub(super) fn code_of(&self, simple: &Simple) -> Option<String> {
        if simple.condition {
            // These calculate with both their sides.
            let operators = [" -eq ", " -ne ", " -lt ", " -le ", " -gt ", " -ge ", " -v "];
            let has = |operator: &str| memchr::memmem::find(self.text, operator.as_bytes()).is_some();
            return operators.iter().any(|operator| has(operator)).then(|| "[[".to_owned());
        }
        let first = simple.words.first()?;
        let calculates = |word: &Vec<u8>| word.starts_with(b"-") && word.contains(&b'i');
        if let Some(name) = is_one_of(first, &DECLARATIONS).filter(|_| simple.words.iter().any(calculates)) {
            return Some(format!("{name} -i"));
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
