//! All dialects. A new one is a file in `catalogue/` and its two lines here.

mod anthropic;
mod boris;
mod claude;
mod claude_2025;
mod codex;
mod exec;
mod gemini;
mod modes;
mod native;
mod opencode;
mod opencode_cli;
mod wave;

use crate::tool::Dialect;

/// In the order in which they are listed; the first is the default.
static ALL: &[&dyn Dialect] = &[
    &native::Native,
    &exec::Exec,
    &modes::Modes,
    &boris::Boris,
    &wave::Wave,
    &opencode::Opencode,
    &claude::Claude,
    &claude_2025::Claude2025,
    &codex::Codex,
    &gemini::Gemini,
    &opencode_cli::OpencodeCli,
    &anthropic::Anthropic,
];

/// The dialect of this name.
pub fn find(name: &str) -> Option<&'static dyn Dialect> {
    ALL.iter().copied().find(|dialect| dialect.name() == name)
}

/// The names of all, the default first.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|dialect| dialect.name()).collect()
}

/// All of them.
pub fn all() -> &'static [&'static dyn Dialect] {
    ALL
}
