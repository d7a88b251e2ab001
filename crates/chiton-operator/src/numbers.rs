//! Short numbers for tasks, for surfaces whose models expect a number of at most five digits.

use std::collections::{HashMap, HashSet};

/// From where numbers are given, and up to where.
const FIRST: u32 = 1_000;
const LAST: u32 = 99_999;

/// The numbers that were given to tasks. A number is never given twice: a call that comes late cannot reach another task
/// than the one it means.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    by_id: HashMap<String, u32>,
    given: HashMap<u32, String>,
}

impl Numbers {
    /// The number of the task `id`, a new one where it has none. `existing` gives the ids of all tasks.
    pub(crate) fn of(&mut self, id: &str, existing: impl FnOnce() -> Vec<String>) -> u32 {
        if let Some(number) = self.by_id.get(id) {
            return *number;
        }
        if self.given.len() > (LAST - FIRST) as usize / 2 {
            self.drop_all_but(&existing().into_iter().collect());
        }
        let mut number = FIRST + hash(id) % (LAST - FIRST + 1);
        while self.given.contains_key(&number) {
            number = if number == LAST { FIRST } else { number + 1 };
        }
        self.by_id.insert(id.to_owned(), number);
        self.given.insert(number, id.to_owned());
        number
    }

    /// The task with this number.
    pub(crate) fn id(&self, number: u64) -> Option<&str> {
        self.given.get(&u32::try_from(number).ok()?).map(String::as_str)
    }

    /// Only where half of all numbers are given: then those of tasks that are gone are free again.
    fn drop_all_but(&mut self, existing: &HashSet<String>) {
        self.given.retain(|_, id| existing.contains(id));
        self.by_id.retain(|id, _| existing.contains(id));
    }
}

/// Spreads ids over the numbers, so that two servers seldom give the same one.
fn hash(id: &str) -> u32 {
    id.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_has_a_number_of_its_own_with_at_most_five_digits() {
        let mut numbers = Numbers::default();
        let ids: Vec<String> = (0..40_000).map(|number| format!("shell_{number:08x}")).collect();
        for id in &ids {
            let number = numbers.of(id, Vec::new);
            assert!((FIRST..=LAST).contains(&number));
            assert_eq!(numbers.of(id, Vec::new), number, "it stays");
        }
        for id in &ids {
            let number = numbers.of(id, Vec::new);
            assert_eq!(numbers.id(number.into()), Some(id.as_str()));
        }
        assert_eq!(numbers.id(u64::MAX), None);
        for number in 40_000..60_000 {
            numbers.of(&format!("shell_{number:08x}"), || ids[..10].to_vec());
        }
        assert!(numbers.given.len() < 50_000, "{} are kept", numbers.given.len());
        let kept = numbers.of(&ids[3], Vec::new);
        assert_eq!(numbers.id(kept.into()), Some(ids[3].as_str()));
    }
}
