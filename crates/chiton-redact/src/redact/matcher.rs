//! Finds values in what can be seen of a stream.
//!
//! 1. New bytes are searched for forms ([`crate::patterns`]). Each occurrence is noted; one that reaches the end of what
//!    has arrived is followed byte by byte from then on.
//! 2. Bytes that can no longer be the beginning of a form go out, each noted occurrence as its mask. Where occurrences
//!    overlap, every byte of all of them is masked.
//! 3. The rest, less than one form, waits for the next bytes, no longer than it can still become a form.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

use zeroize::Zeroize;

use crate::forms::SHORTEST;
use crate::patterns::{FormHead, LOOK, Patterns, STRIDE, four};

/// Where what was searched goes. Places are counted from the beginning of the stream.
pub(super) trait Sink {
    /// Bytes that are no part of a value.
    fn plain(&mut self, start: u64, bytes: &[u8]);
    /// A value, or the rest of one.
    fn mask(&mut self, place: Range<u64>, mask: &[u8]);
    /// The rest of what the last mask stands for.
    fn swallow(&mut self, place: Range<u64>);
}

/// Searches one stream.
pub(super) struct Matcher {
    pub(super) patterns: Arc<Patterns>,
    /// Bytes that have arrived and may still belong to a form.
    pub(super) held: Vec<u8>,
    /// How many bytes were there before them.
    base: u64,
    /// How much of them has gone out already, as itself or as a mask.
    sent: usize,
    /// Where in `held` the search goes on.
    next_look: usize,
    /// Forms whose beginning is the end of `held`.
    open: Vec<OpenForm>,
    /// Occurrences that have not gone out yet.
    found: Vec<Occurrence>,
    /// The mask that went out last, as long as nothing else went out after it.
    last_mask: Option<u32>,
    /// How many occurrences there were so far.
    pub(super) count: u64,
}

struct OpenForm {
    form: u32,
    matched: usize,
}

#[derive(Clone, Copy)]
struct Occurrence {
    start: usize,
    end: usize,
    mask: u32,
}

impl Matcher {
    pub(super) fn new(patterns: Arc<Patterns>) -> Self {
        Self {
            patterns,
            held: Vec::new(),
            base: 0,
            sent: 0,
            next_look: 0,
            open: Vec::new(),
            found: Vec::new(),
            last_mask: None,
            count: 0,
        }
    }

    /// Takes the next bytes of the stream and sends what can go out now.
    pub(super) fn push(&mut self, bytes: &[u8], out: &mut impl Sink) {
        let before = self.held.len();
        self.held.extend_from_slice(bytes);
        let closed = self.follow(before);
        self.look(&closed);
        let hold = self.hold();
        self.send(hold, out);
        self.forget(hold);
    }

    /// How many bytes have arrived and not gone out yet.
    pub(super) fn waiting(&self) -> usize {
        self.held.len() - self.sent
    }

    /// Whether nothing that has arrived makes a difference to what follows.
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty() && self.open.is_empty() && self.found.is_empty()
    }

    /// Sends everything that has arrived. A beginning of a form that is long enough goes out as the mask; what follows it
    /// later is still recognised as its rest.
    pub(super) fn flush(&mut self, out: &mut impl Sink) {
        let end = self.held.len();
        for OpenForm { form, matched } in &self.open {
            if *matched >= SHORTEST {
                let mask = self.patterns.forms[*form as usize].mask;
                self.found.push(Occurrence { start: end - matched, end, mask });
            }
        }
        self.send(end, out);
    }

    /// Sends what has arrived, where it is so little of a form that it tells nothing: a line should not lack its end.
    /// What follows it later is still recognised as its rest.
    pub(super) fn end_line(&mut self, out: &mut impl Sink) {
        if self.open.iter().all(|open| open.matched < SHORTEST) {
            self.send(self.held.len(), out);
        }
    }

    /// Takes the last character back, where it did not go out yet: a program draws over it.
    pub(super) fn take_back(&mut self) -> Option<Vec<u8>> {
        if self.waiting() == 0 {
            return None;
        }
        let start = self.held.iter().rposition(|byte| byte & 0xC0 != 0x80)?;
        let character = self.held.split_off(start);
        // Forms cannot be followed backwards, so what is left is searched anew. It is less than one form.
        self.open.clear();
        self.found.clear();
        self.next_look = 0;
        self.look(&[]);
        Some(character)
    }

    /// Follows the forms that were open over the new bytes. Returns those that ended on the way, and where.
    fn follow(&mut self, from: usize) -> Vec<(u32, usize)> {
        let mut closed = Vec::new();
        let Self { patterns, held, open, found, count, .. } = self;

        open.retain_mut(|OpenForm { form: number, matched }| {
            let form = &patterns.forms[*number as usize];
            let (bytes, fallback) = (&form.bytes, form.fallback());
            for (place, byte) in held.iter().enumerate().skip(from) {
                while *matched == bytes.len() || (*matched > 0 && bytes[*matched] != *byte) {
                    *matched = fallback[*matched - 1] as usize;
                }
                *matched += usize::from(bytes[*matched] == *byte);
                if *matched == bytes.len() {
                    *count += 1;
                    found.push(Occurrence { start: place + 1 - bytes.len(), end: place + 1, mask: form.mask });
                }
                if *matched == 0 {
                    closed.push((*number, place + 1));
                    return false;
                }
            }
            if *matched == bytes.len() {
                *matched = fallback[*matched - 1] as usize;
            }
            if *matched == 0 {
                closed.push((*number, held.len()));
            }
            *matched > 0
        });
        closed
    }

    /// Searches for forms that begin in bytes that were not searched yet.
    fn look(&mut self, closed: &[(u32, usize)]) {
        loop {
            match self.patterns.look(&self.held, self.next_look) {
                Ok(place) => {
                    self.next_look = place;
                    self.compare(closed);
                    self.next_look += STRIDE;
                }
                Err(place) => {
                    self.next_look = place;
                    return;
                }
            }
        }
    }

    fn compare(&mut self, closed: &[(u32, usize)]) {
        let Self { patterns, held, next_look, open, found, count, .. } = self;
        // The earliest beginning of a form first: following it finds the later ones.
        let bytes = four(&held[*next_look..*next_look + LOOK]);
        for FormHead { beginning, offset, .. } in patterns.with_head(bytes).rev() {
            let Some(start) = next_look.checked_sub(usize::from(offset)) else { continue };
            let rest = &held[start..];
            let known = rest.len().min(SHORTEST);
            if patterns.beginning(beginning)[..known] != rest[..known] {
                continue;
            }
            for (number, form) in patterns.beginning_with(beginning) {
                // A form that is being followed finds its other beginnings by itself, and so did one that was until here.
                let followed = open.iter().any(|open| open.form == number)
                    || closed.iter().any(|(form, until)| *form == number && start < *until);
                if followed {
                    continue;
                }
                if rest.starts_with(&form.bytes) {
                    *count += 1;
                    found.push(Occurrence { start, end: start + form.bytes.len(), mask: form.mask });
                } else if form.bytes.starts_with(rest) {
                    open.push(OpenForm { form: number, matched: rest.len() });
                }
            }
        }
    }

    /// The first byte of `held` that may still become part of a form.
    fn hold(&self) -> usize {
        let end = self.held.len();
        let short =
            (end.saturating_sub(SHORTEST - 1)..end).find(|start| self.patterns.begins_with(&self.held[*start..]));
        let open = self.open.iter().map(|open| end - open.matched);
        open.chain(short).min().unwrap_or(end)
    }

    /// Sends what lies before `end`.
    fn send(&mut self, end: usize, out: &mut impl Sink) {
        self.found.sort_unstable_by_key(|found| (found.start, Reverse(found.end), found.mask));
        let due = self.found.partition_point(|found| found.start < end);

        for Occurrence { start, end, mask } in self.found.drain(..due) {
            if end <= self.sent {
                continue;
            }
            if start > self.sent {
                out.plain(self.base + self.sent as u64, &self.held[self.sent..start]);
            }
            let place = self.base + start.max(self.sent) as u64..self.base + end as u64;
            if start >= self.sent || self.last_mask != Some(mask) {
                out.mask(place, self.patterns.mask(mask));
                self.last_mask = Some(mask);
            } else {
                out.swallow(place);
            }
            self.sent = end;
        }

        if self.sent < end {
            out.plain(self.base + self.sent as u64, &self.held[self.sent..end]);
            self.sent = end;
            self.last_mask = None;
        }
    }

    /// Forgets what lies before `hold`.
    fn forget(&mut self, hold: usize) {
        self.held.drain(..hold);
        self.base += hold as u64;
        self.sent -= hold;
        self.next_look = self.next_look.saturating_sub(hold);
        for found in &mut self.found {
            found.start -= hold;
            found.end -= hold;
        }
    }
}

impl Drop for Matcher {
    fn drop(&mut self) {
        self.held.zeroize();
    }
}
