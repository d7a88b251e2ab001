//! The first and the last bytes of a stream in fixed memory.

use std::collections::VecDeque;

use crate::limits::ViewLimits;

/// Keeps `head` bytes from the beginning and `tail` bytes from the end of everything pushed into it.
#[derive(Debug)]
pub struct HeadTail {
    limits: ViewLimits,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl HeadTail {
    /// Empty, with these limits.
    pub fn new(limits: ViewLimits) -> Self {
        Self { limits, head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let to_head = bytes.len().min(self.limits.head - self.head.len());
        self.head.extend_from_slice(&bytes[..to_head]);
        let rest = &bytes[to_head..];
        let keep = &rest[rest.len().saturating_sub(self.limits.tail)..];
        let surplus = (self.tail.len() + keep.len()).saturating_sub(self.limits.tail);
        self.tail.drain(..surplus);
        self.tail.extend(keep);
    }

    /// Whether the beginning is complete, so that the next bytes can only be part of the end.
    pub(crate) fn has_head(&self) -> bool {
        self.head.len() == self.limits.head
    }

    /// The next bytes of the stream are counted but not available.
    pub(crate) fn pass_over(&mut self, count: u64) {
        self.total += count;
        // What stood before them is not the end any more, and what follows them not the beginning.
        self.tail.clear();
        self.limits.head = self.head.len();
    }

    /// How many bytes were pushed.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How many bytes are in neither the head nor the tail.
    pub fn omitted(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// The kept bytes: all of them in the first part where nothing was omitted, else beginning and end.
    pub fn into_parts(self) -> (Vec<u8>, Vec<u8>) {
        let complete = self.omitted() == 0;
        let Self { mut head, tail, .. } = self;
        if complete {
            head.extend(tail);
            return (head, Vec::new());
        }
        (head, tail.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_are_exact_for_every_chunk_size() {
        let data: Vec<u8> = (0..=255u8).cycle().take(1000).collect();
        for (head, tail) in [(0, 0), (0, 7), (7, 0), (10, 10), (500, 500), (501, 500), (2000, 3)] {
            for chunk in [1, 2, 3, 7, 64, 999, 1000] {
                let mut kept = HeadTail::new(ViewLimits { head, tail });
                data.chunks(chunk).for_each(|part| kept.push(part));
                let omitted = 1000usize.saturating_sub(head + tail);
                assert_eq!(kept.omitted(), omitted as u64, "head {head}, tail {tail}, chunk {chunk}");
                let (first, last) = kept.into_parts();
                if omitted == 0 {
                    assert_eq!((first, last), (data.clone(), Vec::new()));
                } else {
                    assert_eq!((&first[..], &last[..]), (&data[..head], &data[1000 - tail..]));
                }
            }
        }
    }
}
