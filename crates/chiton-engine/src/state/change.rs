//! What one command changed, found by comparing two states and applied to a third.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::shell_state::{Function, ShellState, Value, Variable};
use crate::bytes::ByteString;

/// The keys a command changed, with their new content; `None` where it removed one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    variables: Entries<String, Variable>,
    functions: Entries<ByteString, Function>,
    aliases: Entries<ByteString, ByteString>,
    shopt: Entries<String, bool>,
    options: Entries<String, bool>,
    directory: Option<Move>,
    /// What it was, and what it is.
    umask: Option<(u32, u32)>,
}

type Entries<K, V> = BTreeMap<K, Option<V>>;

/// Another directory than before.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Move {
    from: PathBuf,
    to: PathBuf,
    /// Without links, where somebody has looked.
    real: PathBuf,
}

/// What a shell says that knows what its command can have changed: how that is now.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartOfState {
    /// With nothing in it that cannot have changed.
    pub(crate) now: ShellState,
    pub(crate) gone_variables: Vec<String>,
    pub(crate) gone_functions: Vec<ByteString>,
}

impl Change {
    pub(crate) fn between(from: &ShellState, to: ShellState) -> Self {
        Self {
            variables: entries(&from.variables, to.variables),
            functions: entries(&from.functions, to.functions),
            aliases: entries(&from.aliases, to.aliases),
            shopt: entries(&from.shopt, to.shopt),
            options: entries(&from.options, to.options),
            directory: moved(from, to.cwd, to.real_cwd),
            umask: (from.umask != to.umask).then_some((from.umask, to.umask)),
        }
    }

    /// Where only a part of the state can have changed. It takes as long as that part is large, not as the state is.
    pub(crate) fn of_part(from: &ShellState, part: PartOfState) -> Self {
        let PartOfState { now, gone_variables, gone_functions } = part;
        Self {
            variables: new_and_gone(&from.variables, now.variables, gone_variables),
            functions: new_and_gone(&from.functions, now.functions, gone_functions),
            aliases: Entries::new(),
            shopt: Entries::new(),
            options: Entries::new(),
            directory: moved(from, now.cwd, now.real_cwd),
            umask: None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        let Self { variables, functions, aliases, shopt, options, directory, umask } = self;
        variables.is_empty()
            && functions.is_empty()
            && aliases.is_empty()
            && shopt.is_empty()
            && options.is_empty()
            && directory.is_none()
            && umask.is_none()
    }

    /// Where it leads, where that is another directory.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.directory.as_ref().map(|moved| &*moved.to)
    }

    /// The same as two states that differ by it, without any value that the command did not set: what can be written down.
    pub(crate) fn without_former_values(&self) -> (ShellState, ShellState) {
        let (mut from, mut to) = (ShellState::default(), ShellState::default());
        let gone = || Variable { attributes: String::new(), value: Value::Unset };
        (from.variables, to.variables) = apart(&self.variables, gone);
        let gone = || Function { attributes: String::new(), text: ByteString::default() };
        (from.functions, to.functions) = apart(&self.functions, gone);
        (from.aliases, to.aliases) = apart(&self.aliases, ByteString::default);
        (from.shopt, to.shopt) = apart(&self.shopt, || false);
        (from.options, to.options) = apart(&self.options, || false);
        if let Some(Move { from: was, to: is, real }) = self.directory.clone() {
            (from.cwd, to.cwd, to.real_cwd) = (was, is, real);
        }
        (from.umask, to.umask) = self.umask.unwrap_or_default();
        (from, to)
    }

    /// Finds out what the directory really is that it leads to: it may have come to be only now.
    pub(crate) fn find_directory(&mut self) {
        if let Some(moved) = &mut self.directory {
            moved.real = moved.to.canonicalize().unwrap_or_default();
        }
    }

    /// `current` with just these changes made to it.
    pub(crate) fn apply(&self, current: &ShellState) -> ShellState {
        let mut next = current.clone();
        merge(&self.variables, &mut next.variables);
        merge(&self.functions, &mut next.functions);
        merge(&self.aliases, &mut next.aliases);
        merge(&self.shopt, &mut next.shopt);
        merge(&self.options, &mut next.options);
        if let Some(moved) = &self.directory {
            next.cwd.clone_from(&moved.to);
            next.real_cwd.clone_from(&moved.real);
        }
        if let Some((_, umask)) = self.umask {
            next.umask = umask;
        }
        next
    }
}

fn moved(from: &ShellState, to: PathBuf, real: PathBuf) -> Option<Move> {
    (from.cwd != to).then(|| Move { from: from.cwd.clone(), to, real })
}

fn entries<K: Ord + Clone, V: PartialEq>(from: &BTreeMap<K, V>, to: BTreeMap<K, V>) -> Entries<K, V> {
    let gone: Vec<K> = from.keys().filter(|key| !to.contains_key(*key)).cloned().collect();
    new_and_gone(from, to, gone)
}

/// What is not as it was, and what is not there any more.
fn new_and_gone<K: Ord, V: PartialEq>(from: &BTreeMap<K, V>, now: BTreeMap<K, V>, gone: Vec<K>) -> Entries<K, V> {
    let new = now.into_iter().filter(|(key, value)| from.get(key) != Some(value));
    let gone = gone.into_iter().filter(|key| from.contains_key(key));
    new.map(|(key, value)| (key, Some(value))).chain(gone.map(|key| (key, None))).collect()
}

/// What is gone, with something in its place, and what is new.
fn apart<K: Ord + Clone, V: Clone>(entries: &Entries<K, V>, gone: impl Fn() -> V) -> (BTreeMap<K, V>, BTreeMap<K, V>) {
    let removed = entries.iter().filter(|(_, value)| value.is_none()).map(|(key, _)| (key.clone(), gone()));
    let new = entries.iter().filter_map(|(key, value)| Some((key.clone(), value.clone()?)));
    (removed.collect(), new.collect())
}

fn merge<K: Ord + Clone, V: Clone>(entries: &Entries<K, V>, current: &mut BTreeMap<K, V>) {
    for (key, value) in entries {
        match value {
            Some(value) => drop(current.insert(key.clone(), value.clone())),
            None => drop(current.remove(key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(pairs: &[(&str, &str)]) -> ShellState {
        let environment = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).into()));
        ShellState::fresh("/", environment, 0o022)
    }

    #[test]
    fn two_commands_that_overlap_keep_each_others_changes() {
        let start = state(&[("A", "1"), ("B", "1"), ("C", "1")]);
        let first = Change::between(&start, state(&[("A", "2"), ("B", "1"), ("C", "1")]));
        let second = Change::between(&start, state(&[("A", "1"), ("B", "2")]));
        let both = second.apply(&first.apply(&start));
        assert_eq!(both, state(&[("A", "2"), ("B", "2")]));
    }

    #[test]
    fn a_part_of_a_state_changes_as_much_as_the_whole() {
        let start = state(&[("A", "1"), ("B", "1"), ("C", "1")]);
        let whole = Change::between(&start, ShellState { cwd: "/usr".into(), ..state(&[("A", "2"), ("C", "1")]) });
        let now = ShellState { cwd: "/usr".into(), ..state(&[("A", "2"), ("C", "1")]) };
        let gone_variables = vec!["B".to_owned(), "never there".to_owned()];
        let part = Change::of_part(&start, PartOfState { now, gone_variables, ..PartOfState::default() });
        assert_eq!(part, whole);
        assert!(Change::of_part(&start, PartOfState { now: start.clone(), ..PartOfState::default() }).is_empty());
    }

    #[test]
    fn what_is_written_down_of_a_change_makes_the_same_change() {
        let start = state(&[("A", "1"), ("B", "1"), ("SECRET", "of before")]);
        let mut end = ShellState { cwd: "/usr".into(), umask: 0o077, ..state(&[("A", "2"), ("SECRET", "of before")]) };
        end.functions.insert("f".into(), Function { attributes: String::new(), text: "f () { :; }".into() });
        end.options.insert("noclobber".to_owned(), true);
        let change = Change::between(&start, end.clone());
        let (from, to) = change.without_former_values();
        assert_eq!(Change::between(&from, to.clone()).apply(&start), end);
        assert!(!format!("{from:?}{to:?}").contains("of before"));
    }

    #[test]
    fn a_value_that_came_with_the_call_alone_is_no_change() {
        let session = state(&[("A", "1")]);
        let mut loaded = session.clone();
        loaded.variables.insert("CALL".to_owned(), Variable::exported(Value::Scalar("x".into())));
        let change = Change::between(&loaded, loaded.clone());
        assert!(change.is_empty());
        assert_eq!(change.apply(&session), session);
    }
}
