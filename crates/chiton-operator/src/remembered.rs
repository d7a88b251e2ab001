//! What is known of tasks, for as long as there are those tasks.

use std::collections::{HashMap, HashSet};

/// So many entries are kept before anybody checks whether their tasks are still there.
const LEAST: usize = 64;

/// Something known of each of many tasks. Tasks come and go for as long as a server lives, so entries of tasks that are
/// gone are dropped from time to time: there are at most twice as many entries as tasks, or [`LEAST`].
#[derive(Debug)]
pub(crate) struct Remembered<T> {
    by_id: HashMap<String, T>,
    /// How many entries there may be before the next check.
    room: usize,
}

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self { by_id: HashMap::new(), room: LEAST }
    }
}

impl<T: Default> Remembered<T> {
    /// What is known of the task `id`. `existing` gives the ids of all tasks.
    pub(crate) fn of(&mut self, id: &str, existing: impl FnOnce() -> Vec<String>) -> &mut T {
        if self.by_id.len() >= self.room && !self.by_id.contains_key(id) {
            let existing: HashSet<String> = existing().into_iter().collect();
            self.by_id.retain(|id, _| existing.contains(id));
            self.room = LEAST.max(2 * self.by_id.len());
        }
        self.by_id.entry(id.to_owned()).or_default()
    }

    /// Whether anything is known of the task `id`.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.by_id.contains_key(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_that_are_gone_are_dropped_and_no_others() {
        let mut remembered = Remembered::<usize>::default();
        let lasting: Vec<String> = (0..10).map(|number| format!("lasting-{number}")).collect();
        for (number, id) in lasting.iter().enumerate() {
            *remembered.of(id, Vec::new) = number;
        }
        for number in 0..10_000 {
            remembered.of(&format!("gone-{number}"), || lasting.clone());
            assert!(remembered.by_id.len() <= LEAST, "{}", remembered.by_id.len());
        }
        for (number, id) in lasting.iter().enumerate() {
            assert_eq!(*remembered.of(id, Vec::new), number);
        }
    }

    #[test]
    fn checks_become_rare_where_many_tasks_last() {
        let mut remembered = Remembered::<()>::default();
        let (mut ids, mut checks) = (Vec::new(), 0);
        for number in 0..10_000 {
            ids.push(number.to_string());
            remembered.of(&number.to_string(), || {
                checks += 1;
                ids.clone()
            });
        }
        assert_eq!(remembered.by_id.len(), 10_000);
        assert!(checks < 10, "{checks} checks");
    }
}
