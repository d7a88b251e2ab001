//! What differs between two values of a session, thing by thing, for people and for machines.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::bytes::ByteString;
use crate::state::{ShellState, Variable, bash};

/// What kind of thing differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The working directory.
    Directory,
    /// A variable.
    Variable,
    /// A function.
    Function,
    /// An alias.
    Alias,
    /// An option of `set -o` or `shopt`.
    Option,
    /// The file mode creation mask.
    Umask,
}

/// One thing that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What it is.
    pub part: Part,
    /// Its name; empty where there is only one of its kind.
    pub name: String,
    /// What it was, as bash would be told; nothing where it was not there.
    pub before: Option<String>,
    /// What it is.
    pub after: Option<String>,
}

/// Everything that differs, part by part in the order of the names.
pub(super) fn between(
    (from, gone_from): (&ShellState, &BTreeSet<String>),
    (to, gone_to): (&ShellState, &BTreeSet<String>),
) -> Vec<Difference> {
    let mut found = Vec::new();
    if from.cwd != to.cwd {
        let shown = |state: &ShellState| Some(state.cwd.to_string_lossy().into_owned());
        found.push(Difference { part: Part::Directory, name: String::new(), before: shown(from), after: shown(to) });
    }
    let variable = |name: &String, variable: &Variable| bash::load::declaration_of(name, variable);
    add(&mut found, Part::Variable, (&from.variables, &to.variables), String::clone, variable);
    // An inherited variable that was unset has no value that was written down.
    for name in gone_from.symmetric_difference(gone_to) {
        if !from.variables.contains_key(name) && !to.variables.contains_key(name) {
            let inherited = |is_gone: bool| (!is_gone).then(|| format!("{name}, inherited"));
            found.push(Difference {
                part: Part::Variable,
                name: name.clone(),
                before: inherited(gone_from.contains(name)),
                after: inherited(gone_to.contains(name)),
            });
        }
    }
    let text = |name: &ByteString| name.to_text();
    add(&mut found, Part::Function, (&from.functions, &to.functions), text, |_, function| function.text.to_text());
    add(&mut found, Part::Alias, (&from.aliases, &to.aliases), text, |_, value| value.to_text());
    for (one, other) in [(&from.shopt, &to.shopt), (&from.options, &to.options)] {
        let word = |_: &String, on: &bool| if *on { "on" } else { "off" }.to_owned();
        add(&mut found, Part::Option, (one, other), String::clone, word);
    }
    if from.umask != to.umask {
        let shown = |state: &ShellState| Some(format!("{:04o}", state.umask));
        found.push(Difference { part: Part::Umask, name: String::new(), before: shown(from), after: shown(to) });
    }
    found
}

fn add<Key: Ord, Kept: PartialEq>(
    found: &mut Vec<Difference>,
    part: Part,
    (from, to): (&BTreeMap<Key, Kept>, &BTreeMap<Key, Kept>),
    name: impl Fn(&Key) -> String,
    shown: impl Fn(&Key, &Kept) -> String,
) {
    let keys: BTreeSet<&Key> = from.keys().chain(to.keys()).collect();
    for key in keys {
        let (before, after) = (from.get(key), to.get(key));
        if before != after {
            let shown = |kept: Option<&Kept>| kept.map(|kept| shown(key, kept));
            found.push(Difference { part, name: name(key), before: shown(before), after: shown(after) });
        }
    }
}
