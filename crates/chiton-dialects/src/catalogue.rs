//! All dialects.

use crate::tool::Dialect;
use crate::{anthropic, boris, claude, exec, modes, native, opencode, wave};

static ALL: [&dyn Dialect; 8] = [
    &native::Native,
    &exec::Exec,
    &modes::Modes,
    &boris::Boris,
    &wave::Wave,
    &opencode::Opencode,
    &claude::Claude,
    &anthropic::Anthropic,
];

/// The dialect of this name.
pub fn find(name: &str) -> Option<&'static dyn Dialect> {
    ALL.into_iter().find(|dialect| dialect.name() == name)
}

/// The names of all, the default first.
pub fn names() -> Vec<&'static str> {
    ALL.into_iter().map(Dialect::name).collect()
}

/// All of them.
pub fn all() -> &'static [&'static dyn Dialect] {
    &ALL
}
