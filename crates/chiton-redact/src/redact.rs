//! Values become masks in a stream that arrives in any pieces.
//!
//! 1. [`matcher`] searches the bytes as they are, and says what goes out and what becomes a mask.
//! 2. Of that, what cannot be seen is taken out: escape sequences, line ends inside a value that a program has wrapped,
//!    characters that were drawn over. The rest is searched once more: a view without them must not show a value that
//!    the bytes with them do not.
//! 3. What was taken out goes out at its place. Escape sequences inside a value follow its mask; line ends inside it are
//!    part of it.
//!
//! All that is left out where nothing is held back and [`clean`] finds that no value begins.

mod clean;
mod hidden;
mod matcher;

use std::ops::Range;
use std::sync::Arc;

use zeroize::Zeroize;

use super::patterns::Patterns;
use clean::{Hides, clean_length};
use hidden::Hidden;
use matcher::{Matcher, Sink};

const ESCAPE: u8 = 0x1B;
const BACKSPACE: u8 = 0x08;
/// A sequence that is longer than this is none: what follows is text again.
const SEQUENCE_BYTES: usize = 4096;

/// How many bytes are searched with everything that may be hidden in them before it is checked whether the next ones are
/// clean.
const STEP: usize = 64;

/// Whether more bytes are there already.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Inner,
    Last,
}

/// Masks one stream.
pub struct Redactor {
    raw: Matcher,
    /// What the first search lets through.
    passed: Vec<u8>,
    matcher: Matcher,
    /// How many bytes the matcher has had.
    seen: u64,
    /// What was taken out and did not go out yet, and before which of those bytes it stands.
    hidden: Hidden,
    /// A sequence that has begun, and how much of it has gone out.
    unfinished: Vec<u8>,
    unfinished_sent: usize,
    /// The bytes of one push that can be seen, after a character of the one before that may still be drawn over.
    visible: Vec<u8>,
    /// Whether this line has characters that were drawn over.
    is_struck: bool,
}

impl Redactor {
    /// Masks the values that `patterns` was made from.
    pub fn new(patterns: Arc<Patterns>) -> Self {
        let seen_through = Arc::clone(patterns.seen_through());
        Self {
            raw: Matcher::new(patterns),
            passed: Vec::new(),
            matcher: Matcher::new(seen_through),
            seen: 0,
            hidden: Hidden::default(),
            unfinished: Vec::new(),
            unfinished_sent: 0,
            visible: Vec::new(),
            is_struck: false,
        }
    }

    /// Takes the next bytes of the stream and appends to `out` what can go out now.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.raw.patterns.is_empty() {
            return out.extend_from_slice(bytes);
        }
        let hides = Hides::of(bytes);
        let (mut rest, mut step) = (bytes, STEP);
        while !rest.is_empty() {
            if self.holds_nothing() {
                let clean = clean_length(&self.raw.patterns, rest, hides);
                out.extend_from_slice(&rest[..clean]);
                rest = &rest[clean..];
                // Where it is never clean for long, as in text with colours, that is not tried so often.
                step = if clean >= step { STEP } else { step * 4 };
            }
            let (next, later) = rest.split_at(hides.together(rest, step));
            self.search_twice(next, if later.is_empty() { Piece::Last } else { Piece::Inner }, out);
            rest = later;
        }
    }

    /// The same for bytes that stand at `arrived` in a buffer. What can go out now is put together in the buffer, with few
    /// bytes moved, where it fits into it; otherwise it is in `spare`.
    pub fn push_in_place<'a>(
        &mut self,
        buffer: &'a mut [u8],
        arrived: Range<usize>,
        spare: &'a mut Vec<u8>,
    ) -> &'a [u8] {
        spare.clear();
        if self.raw.patterns.is_empty() {
            return &buffer[arrived];
        }

        // What was held back, with as many of the new bytes as it takes until nothing is.
        let (mut from, hides) = (arrived.start, Hides::of(&buffer[arrived.clone()]));
        while from < arrived.end && !self.holds_nothing() {
            let to = from + hides.together(&buffer[from..arrived.end], STEP);
            let piece = if to == arrived.end { Piece::Last } else { Piece::Inner };
            self.search_twice(&buffer[from..to], piece, spare);
            from = to;
        }
        let first = spare.len();

        if first > from {
            self.push(&buffer[from..arrived.end], spare);
            return spare;
        }

        let rest = &buffer[from..arrived.end];
        let hides = if from == arrived.start { hides } else { Hides::of(rest) };
        let clean = from + clean_length(&self.raw.patterns, rest, hides);
        self.push(&buffer[clean..arrived.end], spare);
        let last = spare.len() - first;
        if clean + last > buffer.len() {
            spare.splice(first..first, buffer[from..clean].iter().copied());
            return spare;
        }
        buffer[from - first..from].copy_from_slice(&spare[..first]);
        buffer[clean..clean + last].copy_from_slice(&spare[first..]);
        &buffer[from - first..clean + last]
    }

    /// Whether nothing of the bytes that have arrived makes a difference to those that follow.
    fn holds_nothing(&self) -> bool {
        let is_at_rest = self.unfinished.is_empty() && self.unfinished_sent == 0 && !self.is_struck;
        is_at_rest
            && self.raw.is_empty()
            && self.matcher.is_empty()
            && self.hidden.is_empty()
            && self.visible.is_empty()
    }

    /// Searches bytes as they are and without what cannot be seen, and appends to `out` what can go out.
    fn search_twice(&mut self, bytes: &[u8], piece: Piece, out: &mut Vec<u8>) {
        let mut passed = std::mem::take(&mut self.passed);
        self.raw.push(bytes, &mut AsItIs(&mut passed));
        self.see_through(&passed, piece, out);
        self.passed = passed;
        self.passed.clear();
    }

    /// The second search.
    fn see_through(&mut self, bytes: &[u8], piece: Piece, out: &mut Vec<u8>) {
        let joined;
        let mut rest = if self.unfinished.is_empty() {
            bytes
        } else {
            joined = [&std::mem::take(&mut self.unfinished)[..], bytes].concat();
            &joined
        };
        while let Some(place) = rest.iter().position(|byte| hides(*byte)) {
            self.visible.extend_from_slice(&rest[..place]);
            rest = &rest[place..];
            let Some(length) = self.take_out(rest) else {
                self.unfinished = rest.to_vec();
                rest = b"";
                break;
            };
            rest = &rest[length..];
        }
        self.visible.extend_from_slice(rest);

        // Where characters are drawn over, the last one may be the next.
        let last =
            self.visible.iter().rposition(|byte| byte & 0xC0 != 0x80).filter(|_| self.is_struck && !rest.is_empty());
        let last = last.map(|start| self.visible.split_off(start)).unwrap_or_default();
        self.search(out);
        self.visible = last;

        // A line that has ended is not held back for the few characters at its end.
        if piece == Piece::Last && self.hidden.ends_line_at(self.seen) {
            let mut sink = Unhiding { hidden: &mut self.hidden, out };
            self.matcher.end_line(&mut sink);
        }
        self.unhide(out);
    }

    fn search(&mut self, out: &mut Vec<u8>) {
        self.seen += self.visible.len() as u64;
        let mut sink = Unhiding { hidden: &mut self.hidden, out };
        self.matcher.push(&self.visible, &mut sink);
        self.visible.clear();
    }

    /// Takes out what cannot be seen at the beginning of `rest`. Gives its length, or `None` where its end has not come.
    fn take_out(&mut self, rest: &[u8]) -> Option<usize> {
        let place = self.seen + self.visible.len() as u64;
        match rest[0] {
            ESCAPE => {
                let length = sequence(rest)?;
                let text = &rest[..length];
                let sent = std::mem::take(&mut self.unfinished_sent);
                // A title may hold a value too.
                if matches!(text.get(1), Some(b']' | b'P' | b'_' | b'^' | b'X')) {
                    let masked = self.raw.patterns.masked_as_it_is(text);
                    self.hidden.push(place, &masked[sent.min(masked.len())..], true);
                } else {
                    self.hidden.push(place, &text[sent.min(length)..], true);
                }
                return Some(length);
            }
            BACKSPACE => {
                self.is_struck = true;
                let mut bytes = self.take_back();
                let place = self.seen + self.visible.len() as u64;
                bytes.push(BACKSPACE);
                self.hidden.push(place, &bytes, false);
            }
            _ => {
                self.is_struck = false;
                self.hidden.push(place, &rest[..1], false);
            }
        }
        Some(1)
    }

    /// The character before a backspace, where it is still here.
    fn take_back(&mut self) -> Vec<u8> {
        if let Some(start) = self.visible.iter().rposition(|byte| byte & 0xC0 != 0x80) {
            return self.visible.split_off(start);
        }
        let character = self.matcher.take_back().unwrap_or_default();
        self.seen -= character.len() as u64;
        character
    }

    /// How many bytes have arrived and not gone out yet.
    pub fn waiting(&self) -> usize {
        self.raw.waiting() + self.matcher.waiting() + self.visible.len()
    }

    /// Sends everything that has arrived. A beginning of a form that is long enough goes out as the mask; what follows it
    /// later is still recognised as its rest.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        let mut passed = Vec::new();
        self.raw.flush(&mut AsItIs(&mut passed));
        self.see_through(&passed, Piece::Last, out);
        self.search(out);
        let mut sink = Unhiding { hidden: &mut self.hidden, out };
        self.matcher.flush(&mut sink);
        self.unhide(out);
        let unfinished = self.raw.patterns.masked_as_it_is(&self.unfinished);
        out.extend_from_slice(&unfinished[self.unfinished_sent.min(unfinished.len())..]);
        self.unfinished_sent = unfinished.len();
    }

    /// Sends what stands behind the last byte that was sent.
    fn unhide(&mut self, out: &mut Vec<u8>) {
        if self.matcher.waiting() == 0 {
            while !self.hidden.is_empty() {
                self.hidden.send_next(out);
            }
        }
    }
}

impl Drop for Redactor {
    fn drop(&mut self) {
        self.passed.zeroize();
        self.visible.zeroize();
        self.unfinished.zeroize();
    }
}

/// Puts what was taken out back to its place.
struct Unhiding<'a> {
    hidden: &'a mut Hidden,
    out: &'a mut Vec<u8>,
}

impl Unhiding<'_> {
    /// Sends what stands before the byte at `place`.
    fn before(&mut self, place: u64) {
        while self.hidden.next_place().is_some_and(|next| next <= place) {
            self.hidden.send_next(self.out);
        }
    }

    /// The same inside a value.
    fn within(&mut self, place: &Range<u64>) {
        while self.hidden.next_place().is_some_and(|next| next < place.end) {
            self.hidden.send_next_if_it_lasts(self.out);
        }
    }
}

impl Sink for Unhiding<'_> {
    fn plain(&mut self, start: u64, bytes: &[u8]) {
        let (mut place, mut rest) = (start, bytes);
        self.before(place);
        while let Some(next) = self.hidden.next_place() {
            let length = usize::try_from(next - place).unwrap_or(usize::MAX);
            if length >= rest.len() {
                break;
            }
            self.out.extend_from_slice(&rest[..length]);
            (place, rest) = (next, &rest[length..]);
            self.before(place);
        }
        self.out.extend_from_slice(rest);
    }

    fn mask(&mut self, place: Range<u64>, mask: &[u8]) {
        self.before(place.start);
        self.out.extend_from_slice(mask);
        self.within(&place);
    }

    fn swallow(&mut self, place: Range<u64>) {
        self.within(&place);
    }
}

/// Bytes as they are, without anything to put back.
struct AsItIs<'a>(&'a mut Vec<u8>);

impl Sink for AsItIs<'_> {
    fn plain(&mut self, _start: u64, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn mask(&mut self, _place: Range<u64>, mask: &[u8]) {
        self.0.extend_from_slice(mask);
    }

    fn swallow(&mut self, _place: Range<u64>) {}
}

/// Whether something begins here that cannot be seen.
fn hides(byte: u8) -> bool {
    // Nearly all bytes are answered by the first comparison.
    byte < b' ' && matches!(byte, ESCAPE | BACKSPACE | b'\n' | b'\r')
}

/// The length of the sequence that `text` begins with, which has an escape character first; `None` where its end has not
/// come. One that breaks off ends before the byte that it cannot hold.
fn sequence(text: &[u8]) -> Option<usize> {
    let introducer = *text.get(1)?;
    match introducer {
        b'[' => {
            let length = text[2..].iter().take_while(|byte| (0x20..=0x3F).contains(*byte)).count() + 2;
            let last = text.get(length).copied();
            match last {
                None => (text.len() > SEQUENCE_BYTES).then_some(2),
                Some(0x40..=0x7E) => Some(length + 1),
                Some(_) => Some(length),
            }
        }
        b']' | b'P' | b'_' | b'^' | b'X' => {
            for (place, byte) in text.iter().enumerate().skip(2) {
                match *byte {
                    0x07 => return Some(place + 1),
                    // Without the rest of its end it would not be the end.
                    ESCAPE if place + 1 == text.len() => return None,
                    ESCAPE if text[place + 1] == b'\\' => return Some(place + 2),
                    ESCAPE | b'\n' | b'\r' | 0x18 | 0x1A => return Some(place),
                    _ => {}
                }
            }
            (text.len() > SEQUENCE_BYTES).then_some(2)
        }
        0x20..=0x2F => {
            let length = text[1..].iter().take_while(|byte| (0x20..=0x2F).contains(*byte)).count() + 1;
            text.get(length).map(|_| length + 1)
        }
        0x30..=0x7E => Some(2),
        _ => Some(1),
    }
}

impl Patterns {
    /// A text in which nothing is taken for an escape sequence, with every value masked.
    fn masked_as_it_is(self: &Arc<Self>, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        let mut matcher = Matcher::new(Arc::clone(self));
        matcher.push(text, &mut AsItIs(&mut out));
        matcher.flush(&mut AsItIs(&mut out));
        out
    }

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
        let mut out = Vec::new();
        redactor.push(text, &mut out);
        out.zeroize();
        redactor.raw.count + redactor.matcher.count > 0
    }
}

#[cfg(test)]
mod tests;
