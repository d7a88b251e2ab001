//! What a program takes each of its words for.

use super::{CodeProgram, CodeWords, OptionStyle, WordText};

/// What one word is to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// It is read as code, because of this option where there is one.
    Code(Option<&'static str>),
    /// It is an operand, and data.
    Operand,
    /// It is an option, or what an option takes.
    Data,
}

/// What the next word is.
#[derive(Clone, Copy)]
enum Next {
    Anything,
    Code(&'static str),
    Data(usize),
}

/// How one option word is read.
enum OptionMeaning {
    /// It is complete.
    Flag,
    /// It holds code.
    HoldsCode(&'static str),
    /// What follows it is this.
    Takes(Next),
    /// A long option that nobody knows: it may take the next word.
    MayTake,
}

struct OptionReading<'p> {
    program: &'p CodeProgram,
    next: Next,
    /// No more options follow.
    ended: bool,
    /// An option gave the code.
    given: Option<&'static str>,
    /// Every word is code from here on.
    all: bool,
    operands: usize,
    /// Words that may be operands or belong to an option.
    maybe_operands: usize,
    /// The next word may belong to a long option.
    may_be_taken: bool,
    /// The word before, in lower case.
    before: String,
}

/// What `program` takes each of the words after its name for. The last one may be only the beginning of a word.
pub(super) fn uses(program: &CodeProgram, words: &[WordText]) -> Vec<Use> {
    let mut reading = OptionReading {
        program,
        next: Next::Anything,
        ended: false,
        given: None,
        all: false,
        operands: 0,
        maybe_operands: 0,
        may_be_taken: false,
        before: String::new(),
    };
    words.iter().map(|word| reading.word(word)).collect()
}

/// Whether `text` is `option`, or a group of letters with it.
pub(super) fn mentions(text: &str, option: &str) -> bool {
    match option.strip_prefix('-').filter(|letter| letter.len() == 1) {
        Some(letter) => text.starts_with('-') && !text.starts_with("--") && text.contains(letter),
        None => text == option,
    }
}

impl OptionReading<'_> {
    fn word(&mut self, word: &WordText) -> Use {
        let text = word.text.as_str();
        let lower = text.to_ascii_lowercase();
        let before = std::mem::replace(&mut self.before, lower.clone());
        self.all |= self.program.code.iter().any(|code| match code {
            CodeWords::Everything => true,
            CodeWords::EverythingWith(starts) => starts.iter().any(|start| text.starts_with(start)),
            CodeWords::After(name) => before == *name,
            _ => false,
        });
        let sets = |code: &CodeWords| match code {
            CodeWords::Joined(start) => text.starts_with(start),
            CodeWords::Setting(name) => lower.starts_with(name) || before.starts_with(name),
            _ => false,
        };
        if self.all || self.program.code.iter().any(sets) {
            return Use::Code(None);
        }

        match std::mem::replace(&mut self.next, Next::Anything) {
            Next::Code(option) => {
                self.given = Some(option);
                self.ended |= self.program.code.contains(&CodeWords::LastOption(option));
                Use::Code(Some(option))
            }
            Next::Data(count) => {
                self.next = if count > 1 { Next::Data(count - 1) } else { Next::Anything };
                Use::Data
            }
            Next::Anything if self.is_option(text) => self.option(word),
            Next::Anything => self.operand(word),
        }
    }

    fn is_option(&self, text: &str) -> bool {
        let begins = text.starts_with('-') || (self.program.style == OptionStyle::Shell && text.starts_with('+'));
        begins && !self.ended
    }

    fn option(&mut self, word: &WordText) -> Use {
        let text = word.text.as_str();
        self.may_be_taken = false;
        if text == "--" && word.certain {
            self.ended = true;
            return Use::Data;
        }

        match self.read(text) {
            OptionMeaning::HoldsCode(option) => {
                self.given = Some(option);
                Use::Code(Some(option))
            }
            // Only the beginning of the word is known, so the rest is in the same word.
            OptionMeaning::Takes(Next::Code(option)) if !word.certain => Use::Code(Some(option)),
            _ if !word.certain && self.takes_code_in_word(text) => Use::Code(Some("-c")),
            OptionMeaning::Flag => Use::Data,
            OptionMeaning::Takes(next) => {
                self.next = next;
                Use::Data
            }
            OptionMeaning::MayTake => {
                self.may_be_taken = true;
                Use::Data
            }
        }
    }

    fn read(&mut self, text: &str) -> OptionMeaning {
        let (name, joined) = text.split_once('=').map_or((text, false), |(name, _)| (name, true));
        let is_long = name.starts_with("--");

        // GNU programs take any beginning of a long option that leaves no doubt.
        let is = |option: &str| {
            option.len() > 2 && (option == name || (is_long && name.len() > 3 && option.starts_with(name)))
        };
        let codes = self.program.code.iter().filter_map(|code| match code {
            CodeWords::Option(option) | CodeWords::LastOption(option) => Some(*option),
            _ => None,
        });
        if let Some(option) = codes.clone().find(|option| is(option)) {
            return if joined { OptionMeaning::HoldsCode(option) } else { OptionMeaning::Takes(Next::Code(option)) };
        }
        if let Some((_, count)) = self.program.values.iter().find(|(option, _)| option.len() > 2 && *option == name) {
            return if joined || *count == 0 { OptionMeaning::Flag } else { OptionMeaning::Takes(Next::Data(*count)) };
        }
        if is_long {
            return if joined { OptionMeaning::Flag } else { OptionMeaning::MayTake };
        }
        if self.program.style == OptionStyle::Shell { self.shell_letters(text) } else { self.letters(text) }
    }

    /// `-abc` up to the first letter that takes something.
    fn letters(&self, text: &str) -> OptionMeaning {
        for (at, letter) in text.char_indices().skip(1) {
            let is_last = at + letter.len_utf8() == text.len();
            let is = |option: &str| option.len() == 2 && option.ends_with(letter);

            let code = self.program.code.iter().find_map(|code| match code {
                CodeWords::Option(option) | CodeWords::LastOption(option) if is(option) => Some(*option),
                _ => None,
            });
            if let Some(option) = code {
                return if is_last {
                    OptionMeaning::Takes(Next::Code(option))
                } else {
                    OptionMeaning::HoldsCode(option)
                };
            }

            if let Some((_, count)) = self.program.values.iter().find(|(option, _)| is(option)) {
                return if is_last && *count > 0 {
                    OptionMeaning::Takes(Next::Data(*count))
                } else {
                    OptionMeaning::Flag
                };
            }
        }
        OptionMeaning::Flag
    }

    /// `fish -c'code'`: some shells take code in the same word, others more letters.
    fn takes_code_in_word(&self, text: &str) -> bool {
        self.program.style == OptionStyle::Shell && !text.starts_with("--") && text.contains(['c', 'C'])
    }

    /// `-ceo pipefail`: every letter counts, and what they take follows in words of its own.
    fn shell_letters(&mut self, text: &str) -> OptionMeaning {
        let takes = |letter: char| {
            let mut values = self.program.values.iter();
            values.any(|(option, _)| option.len() == 2 && option.ends_with(letter))
        };
        let count = text.chars().skip(1).filter(|letter| takes(*letter)).count();
        if text.starts_with('-') && text.contains('c') {
            self.given = Some("-c");
        }
        match count {
            // An option without argument in bash; in fish it takes code.
            0 if text.contains('C') => OptionMeaning::MayTake,
            0 => OptionMeaning::Flag,
            _ => OptionMeaning::Takes(Next::Data(count)),
        }
    }

    fn operand(&mut self, word: &WordText) -> Use {
        let shell = self.program.style == OptionStyle::Shell;
        let code = self.program.code.iter().any(|code| match code {
            CodeWords::FirstOperand => self.operands == 0 && (shell || self.given.is_none()),
            CodeWords::Operands(from) => self.operands + self.maybe_operands >= *from,
            _ => false,
        });

        // A bare expansion may be an option of a shell, and a word after an unknown option may belong to that.
        let may_be_option = shell && !word.certain && word.text.is_empty();
        if std::mem::replace(&mut self.may_be_taken, false) || may_be_option {
            self.maybe_operands += 1;
        } else {
            self.operands += 1;
            self.ended |= self.program.stops;
        }
        if code { Use::Code(self.given.filter(|_| shell)) } else { Use::Operand }
    }
}
