//! What cannot be seen of a stream, until it goes out at its place.

use std::collections::VecDeque;

/// What was taken out and did not go out yet, in order.
#[derive(Default)]
pub(super) struct Hidden {
    entries: VecDeque<Entry>,
    /// The bytes of all entries, one after the other: there may be one at every line end, and each would take memory of
    /// its own otherwise.
    bytes: Vec<u8>,
    /// How many of those have gone out.
    gone: usize,
}

struct Entry {
    /// Before which byte of what can be seen it stands.
    place: u64,
    length: usize,
    /// Whether it goes out even where it stands inside a value.
    lasts: bool,
}

impl Hidden {
    pub(super) fn push(&mut self, place: u64, bytes: &[u8], lasts: bool) {
        self.bytes.extend_from_slice(bytes);
        self.entries.push_back(Entry { place, length: bytes.len(), lasts });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Before which byte the first one stands.
    pub(super) fn next_place(&self) -> Option<u64> {
        self.entries.front().map(|entry| entry.place)
    }

    /// Whether the last one is the end of a line, or was drawn over, and stands before the byte at `place`.
    pub(super) fn ends_line_at(&self, place: u64) -> bool {
        self.entries.back().is_some_and(|entry| !entry.lasts && entry.place == place)
    }

    /// Sends the first one.
    pub(super) fn send_next(&mut self, out: &mut Vec<u8>) {
        self.take_next(|bytes, _| out.extend_from_slice(bytes));
    }

    /// Sends the first one where it goes out even inside a value, and drops it otherwise.
    pub(super) fn send_next_if_it_lasts(&mut self, out: &mut Vec<u8>) {
        self.take_next(|bytes, lasts| {
            if lasts {
                out.extend_from_slice(bytes);
            }
        });
    }

    fn take_next(&mut self, take: impl FnOnce(&[u8], bool)) {
        let Some(entry) = self.entries.pop_front() else { return };
        let end = self.gone + entry.length;
        take(&self.bytes[self.gone..end], entry.lasts);
        self.gone = end;
        // Gone bytes are dropped once they are the larger part, so that the rest is not moved for every one.
        if self.gone > self.bytes.len() / 2 {
            self.bytes.drain(..self.gone);
            self.gone = 0;
        }
    }
}
