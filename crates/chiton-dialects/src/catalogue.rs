//! All dialects.

use crate::tool::Dialect;
use crate::{boris, exec, modes, native, opencode, wave};

static ALL: [&dyn Dialect; 6] =
    [&native::Native, &exec::Exec, &modes::Modes, &boris::Boris, &wave::Wave, &opencode::Opencode];

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
