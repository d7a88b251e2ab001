//! Values become masks in a stream that comes in any pieces.
//!
//! 1. New bytes are looked at for forms ([`super::patterns`]). Each occurrence is noted; one that reaches the end of
//!    what has come is followed byte by byte from then on.
//! 2. What cannot be the beginning of a form any more is let out, each noted occurrence as its mask. Where occurrences
//!    overlap, every byte of all of them is masked.
//! 3. The rest, less than one form, waits for the next bytes: no longer than it can still become a form.

use std::cmp::Reverse;
use std::sync::Arc;

use zeroize::Zeroize;

use super::forms::SHORTEST;
use super::patterns::{FormHead, LOOK, Patterns, STRIDE, four};

/// Masks one stream.
pub struct Redactor {
    patterns: Arc<Patterns>,
    /// What has come and may still belong to a form.
    held: Vec<u8>,
    /// How much of that is told already, as itself or as a mask.
    told: usize,
    /// Where in `held` the next look is due.
    next_look: usize,
    /// Forms whose beginning is the end of `held`.
    open: Vec<OpenForm>,
    /// Occurrences that are not told yet.
    found: Vec<Occurrence>,
    /// The mask that was told last, while nothing else was told after it.
    last_mask: Option<u32>,
    /// How many occurrences there were so far.
    count: u64,
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

impl Redactor {
    /// Masks what `patterns` were made from.
    pub fn new(patterns: Arc<Patterns>) -> Self {
        Self {
            patterns,
            held: Vec::new(),
            told: 0,
            next_look: 0,
            open: Vec::new(),
            found: Vec::new(),
            last_mask: None,
            count: 0,
        }
    }

    /// Takes the next bytes of the stream; appends to `out` what can be told now.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.patterns.is_empty() {
            return out.extend_from_slice(bytes);
        }
        let before = self.held.len();
        self.held.extend_from_slice(bytes);
        let closed = self.follow(before);
        self.look(&closed);
        let hold = self.hold();
        self.tell(hold, out);
        self.let_go(hold);
    }

    /// How many bytes have come and are not told yet.
    pub fn waiting(&self) -> usize {
        self.held.len() - self.told
    }

    /// Tells everything that has come. A beginning of a form that is long enough to be one is told as the mask; what
    /// follows it later is still known as its rest.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        let end = self.held.len();
        for OpenForm { form, matched } in &self.open {
            if *matched >= SHORTEST {
                let mask = self.patterns.forms[*form as usize].mask;
                self.found.push(Occurrence { start: end - matched, end, mask });
            }
        }
        self.tell(end, out);
    }

    /// Follows the forms that were open over the new bytes. Gives those that ended on the way, and where.
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

    /// Looks for forms that begin in what was not looked at yet.
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
        for FormHead { form: number, offset, .. } in patterns.with_head(bytes).iter().rev() {
            let Some(start) = next_look.checked_sub(usize::from(*offset)) else { continue };
            // One that is followed finds its other beginnings by itself, as did one that was until there.
            let followed = open.iter().any(|open| open.form == *number)
                || closed.iter().any(|(form, until)| form == number && start < *until);
            if followed {
                continue;
            }
            let form = &patterns.forms[*number as usize];
            let rest = &held[start..];
            if rest.starts_with(&form.bytes) {
                *count += 1;
                found.push(Occurrence { start, end: start + form.bytes.len(), mask: form.mask });
            } else if form.bytes.starts_with(rest) {
                open.push(OpenForm { form: *number, matched: rest.len() });
            }
        }
    }

    /// From where on `held` may still become a form.
    fn hold(&self) -> usize {
        let end = self.held.len();
        let short =
            (end.saturating_sub(SHORTEST - 1)..end).find(|start| self.patterns.begins_with(&self.held[*start..]));
        let open = self.open.iter().map(|open| end - open.matched);
        open.chain(short).min().unwrap_or(end)
    }

    /// Tells what lies before `end`.
    fn tell(&mut self, end: usize, out: &mut Vec<u8>) {
        self.found.sort_unstable_by_key(|found| (found.start, Reverse(found.end), found.mask));
        let due = self.found.partition_point(|found| found.start < end);
        for Occurrence { start, end, mask } in self.found.drain(..due) {
            if end <= self.told {
                continue;
            }
            if start > self.told {
                out.extend_from_slice(&self.held[self.told..start]);
            }
            if start >= self.told || self.last_mask != Some(mask) {
                out.extend_from_slice(self.patterns.mask(mask));
                self.last_mask = Some(mask);
            }
            self.told = end;
        }
        if self.told < end {
            out.extend_from_slice(&self.held[self.told..end]);
            self.told = end;
            self.last_mask = None;
        }
    }

    fn let_go(&mut self, hold: usize) {
        self.held.drain(..hold);
        self.told -= hold;
        self.next_look = self.next_look.saturating_sub(hold);
        for found in &mut self.found {
            found.start -= hold;
            found.end -= hold;
        }
    }
}

impl Drop for Redactor {
    fn drop(&mut self) {
        self.held.zeroize();
    }
}

impl Patterns {
    /// A whole text with every value masked.
    pub fn masked(self: &Arc<Self>, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        let mut redactor = Redactor::new(Arc::clone(self));
        redactor.push(text, &mut out);
        redactor.flush(&mut out);
        out
    }

    /// Whether any form of any value occurs in `text`.
    pub fn occur_in(self: &Arc<Self>, text: &[u8]) -> bool {
        let mut redactor = Redactor::new(Arc::clone(self));
        redactor.push(text, &mut Vec::new());
        redactor.count > 0
    }
}

#[cfg(test)]
mod tests;
