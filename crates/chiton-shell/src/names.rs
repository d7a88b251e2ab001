//! Rows of a table, found by the names that they have.
//!
//! An index is made by every process that uses it, and many of those look up a name or two before they end. So it has to be
//! quick to make above all: one pass over the names, a hash that reads at most 16 bytes of each, and nothing moves later.

/// The rows of a table by name. A name that ends with `*` stands for all that begin like it.
#[derive(Debug)]
pub struct NameIndex<T: 'static> {
    entries: Vec<Entry<T>>,
    /// By the hash of a name the number of its first entry, from 1; 0 where there is none.
    first: Vec<u32>,
    by_start: Vec<(&'static str, &'static T)>,
}

#[derive(Debug)]
struct Entry<T: 'static> {
    name: &'static str,
    row: &'static T,
    /// The next entry of the same hash, from 1; 0 where there is none.
    next: u32,
}

impl<T> NameIndex<T> {
    /// An index of these rows, in this order.
    pub fn new(rows: impl IntoIterator<Item = (&'static str, &'static T)>) -> Self {
        let (mut entries, mut by_start) = (Vec::with_capacity(512), Vec::new());
        for (name, row) in rows {
            match name.strip_suffix('*') {
                Some(start) => by_start.push((start, row)),
                None => entries.push(Entry { name, row, next: 0 }),
            }
        }

        let mut first = vec![0; (entries.len() * 2).next_power_of_two()];
        // Backwards, so that each name's rows are found in their order.
        for (number, entry) in (1..).zip(&mut entries).collect::<Vec<_>>().into_iter().rev() {
            let place = hash(entry.name) & (first.len() - 1);
            entry.next = std::mem::replace(&mut first[place], number);
        }
        Self { entries, first, by_start }
    }

    /// The rows for just this name, in their order.
    pub fn exact<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'static T> + use<'a, T> {
        let entry = |number: u32| self.entries.get(number.checked_sub(1)? as usize);
        let first = entry(self.first[hash(name) & (self.first.len() - 1)]);
        let all = std::iter::successors(first, move |before| entry(before.next));
        all.filter(move |entry| entry.name == name).map(|entry| entry.row)
    }

    /// The rows for all names that begin like this one, in their order.
    pub fn by_start<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'static T> + use<'a, T> {
        self.by_start.iter().filter(move |(start, _)| name.starts_with(start)).map(|(_, row)| *row)
    }

    /// All rows for a name, those for just this one first.
    pub fn rows<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'static T> + use<'a, T> {
        self.exact(name).chain(self.by_start(name))
    }
}

/// Mixes the length of a name with its first and its last bytes.
fn hash(name: &str) -> usize {
    let bytes = name.as_bytes();
    let (head, tail) = match bytes.len() {
        8.. => (word(&bytes[..8]), word(&bytes[bytes.len() - 8..])),
        _ => (word(bytes), 0),
    };
    let mixed = (head ^ tail.rotate_left(29) ^ bytes.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    usize::try_from(mixed >> 32).unwrap_or_default()
}

/// At most eight bytes as a number.
fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::NameIndex;

    static NUMBERS: [u32; 6] = [0, 1, 2, 3, 4, 5];

    fn index(names: &[&'static str]) -> NameIndex<u32> {
        NameIndex::new(names.iter().copied().zip(&NUMBERS))
    }

    fn found(index: &NameIndex<u32>, name: &str) -> Vec<u32> {
        index.rows(name).copied().collect()
    }

    #[test]
    fn rows_are_found_by_name_in_their_order_and_those_for_many_names_last() {
        let index = index(&["git", "py*", "git", "python3", "p*", "verylongname-of-a-program"]);
        assert_eq!(found(&index, "git"), [0, 2]);
        assert_eq!(found(&index, "python3"), [3, 1, 4]);
        assert_eq!(found(&index, "verylongname-of-a-program"), [5]);
        assert_eq!(found(&index, "verylongname-or-a-program"), []);
        assert_eq!(found(&index, "py*"), [1, 4]);
        assert_eq!(index.exact("py*").count(), 0);
        assert_eq!(found(&index, ""), []);
    }

    #[test]
    fn an_empty_table_has_nothing() {
        assert_eq!(found(&index(&[]), "git"), []);
    }

    #[test]
    fn every_one_of_many_names_is_found() {
        let names: &[&str] = (0..5000).map(|number| &*format!("name-{number}").leak()).collect::<Vec<_>>().leak();
        let index = NameIndex::new(names.iter().map(|name| (*name, name)));
        for name in names {
            assert_eq!(index.exact(name).collect::<Vec<_>>(), [name]);
        }
    }
}
