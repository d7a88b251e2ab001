//! What one command changed, found by comparing two states and applied to a third.

use std::collections::BTreeMap;

use super::shell_state::{ShellState, Value, Variable};

/// The keys a command changed, with their new content; `None` where it removed one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    from: ShellState,
    to: ShellState,
}

impl Change {
    pub(crate) fn between(from: &ShellState, to: ShellState) -> Self {
        Self { from: from.clone(), to }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.from == self.to
    }

    /// The same without any value that the command did not set: what can be written down.
    pub(crate) fn without_former_values(&self) -> (ShellState, ShellState) {
        let (mut from, mut to) = (self.from.clone(), self.to.clone());
        to.variables.retain(|name, value| from.variables.get(name) != Some(value));
        let removed = |name: &String| !self.to.variables.contains_key(name);
        let gone = || Variable { attributes: String::new(), value: Value::Unset };
        from.variables = from.variables.into_keys().filter(removed).map(|name| (name, gone())).collect();
        (from, to)
    }

    /// Finds out what the directory really is that it leads to: it may have come to be only now.
    pub(crate) fn find_directory(&mut self) {
        if self.to.cwd != self.from.cwd {
            self.to.real_cwd = self.to.cwd.canonicalize().unwrap_or_default();
        }
    }

    /// `current` with just these changes made to it.
    pub(crate) fn apply(&self, current: &ShellState) -> ShellState {
        let mut next = current.clone();
        let Self { from, to } = self;
        merge(&from.variables, &to.variables, &mut next.variables);
        merge(&from.functions, &to.functions, &mut next.functions);
        merge(&from.aliases, &to.aliases, &mut next.aliases);
        merge(&from.shopt, &to.shopt, &mut next.shopt);
        merge(&from.options, &to.options, &mut next.options);
        if from.cwd != to.cwd {
            next.cwd.clone_from(&to.cwd);
            next.real_cwd.clone_from(&to.real_cwd);
        }
        if from.umask != to.umask {
            next.umask = to.umask;
        }
        next
    }
}

fn merge<K: Ord + Clone, V: PartialEq + Clone>(
    from: &BTreeMap<K, V>,
    to: &BTreeMap<K, V>,
    current: &mut BTreeMap<K, V>,
) {
    for key in from.keys().filter(|key| !to.contains_key(*key)) {
        current.remove(key);
    }
    for (key, value) in to {
        if from.get(key) != Some(value) {
            current.insert(key.clone(), value.clone());
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
    fn a_value_that_came_with_the_call_alone_is_no_change() {
        let session = state(&[("A", "1")]);
        let mut loaded = session.clone();
        loaded.variables.insert("CALL".to_owned(), Variable::exported(Value::Scalar("x".into())));
        let change = Change::between(&loaded, loaded.clone());
        assert!(change.is_empty());
        assert_eq!(change.apply(&session), session);
    }
}
