//! Code for an interpreter: which calls in it delete, write, run or multiply.
//!
//! 1. [`lexer`] cuts the code into tokens.
//! 2. [`scan`] finds the calls in them, and [`values`] what their arguments say.
//! 3. [`calls`] has a row for each call that does something, and [`effects`] reports what that is.
//! 4. [`whole`] looks at what only the whole of a code shows.

mod calls;
mod effects;
pub(crate) mod lexer;
mod scan;
mod values;
mod whole;

use std::rc::Rc;

use crate::machine::state::World;
use crate::machine::{DEEPEST_CALLS, Machine};
use crate::value::{Arg, Flow, Labels, Piece};

/// A language that an interpreter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    AppleScript,
    Awk,
    JavaScript,
    Lua,
    Perl,
    Php,
    Python,
    R,
    /// Also what stands for languages that nobody has described here.
    Ruby,
    Tcl,
}

impl Language {
    /// Its name for people.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::AppleScript => "applescript",
            Self::Awk => "awk",
            Self::JavaScript => "javascript",
            Self::Lua => "lua",
            Self::Perl => "perl",
            Self::Php => "php",
            Self::Python => "python",
            Self::R => "r",
            Self::Ruby => "ruby",
            Self::Tcl => "tcl",
        }
    }

    /// The language that the first line of a script names; none if that is the shell's, or not known.
    pub(crate) fn of_script(text: &str) -> Option<Self> {
        let line = text.lines().next()?.strip_prefix("#!")?;
        let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or_default());
        let name = words.find(|word| *word != "env" && !word.starts_with('-'))?;

        match name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.') {
            "python" | "pypy" => Some(Self::Python),
            "perl" => Some(Self::Perl),
            "ruby" => Some(Self::Ruby),
            "node" | "deno" | "bun" => Some(Self::JavaScript),
            "php" => Some(Self::Php),
            "awk" | "gawk" => Some(Self::Awk),
            "lua" => Some(Self::Lua),
            _ => None,
        }
    }
}

/// Goes through code that an interpreter runs. What is unknown in it stands for itself.
pub(crate) fn run_code(machine: &mut Machine<'_>, code: &Arg, language: Language, world: &World, input: &Rc<Flow>) {
    let labels = code.text.labels();
    if labels.has(Labels::DOWNLOADED) || labels.has(Labels::DECODED) {
        machine.object_to_flow(&Flow::labelled(labels), code);
    }
    if !machine.step(code.span) || machine.frames.len() >= DEEPEST_CALLS {
        return;
    }

    let known = |piece: &Piece| match piece {
        Piece::Known(text) => text.clone(),
        Piece::Glob(_) | Piece::Unknown(_) => "__unknown__".to_owned(),
    };
    let text = code.text.as_literal().unwrap_or_else(|| code.text.0.iter().map(known).collect());
    let tokens = lexer::tokens(&text, language);

    scan::scan(machine, &tokens, language, world, input, code.span);
    whole::look_at(machine, &text, &tokens, world, code.span);
}
