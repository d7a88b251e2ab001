//! How much of a text holds no value, found without copying it: nearly all text that programs print.
//!
//! 1. Only text without escape characters and backspaces is searched here, so nothing but line ends is hidden in it.
//! 2. A value whose first eight bytes stand in one line is found in the text as it is.
//! 3. For one that is cut by a line end within its first eight bytes, four bytes are looked up on each side of every line
//!    end, as they follow each other without it. Where lines are shorter than that, the text is searched once more
//!    without any line ends.
//! 4. The last bytes may be the beginning of a value that is not complete.
//!
//! What is found only may be a value. What is and what becomes of it is left to [`super::matcher`].

use std::ops::Range;
use std::sync::Arc;

use super::{BACKSPACE, ESCAPE};
use crate::forms::SHORTEST;
use crate::patterns::{LOOK, Patterns, STRIDE, four};

/// How much is searched in one way before it is searched in the next, so that little is searched twice where much is
/// found. It stays in the nearest cache meanwhile.
const BLOCK: usize = 4096;
/// A line that is so short is sooner searched together with those that follow than by itself.
const SHORT_LINE: usize = 12;
/// The most bytes of a beginning that stand on one side of a line end.
const BESIDE: usize = SHORTEST - 1;

/// What is hidden in a text besides line ends.
#[derive(Clone, Copy)]
pub(super) enum Hides {
    Nothing,
    /// Escape sequences, and so many backspaces.
    Some {
        backspaces: usize,
    },
}

impl Hides {
    /// What is hidden in `text`.
    pub(super) fn of(text: &[u8]) -> Self {
        match memchr::memchr2(ESCAPE, BACKSPACE, text) {
            None => Self::Nothing,
            Some(place) => Self::Some { backspaces: memchr::memchr_iter(BACKSPACE, &text[place..]).count() },
        }
    }

    /// How many of the next bytes are searched together, where that need not be more than `step`: all, where a backspace
    /// is among them. A character that was searched before the backspace that takes it back came may have been the end of
    /// what was the beginning of a value.
    pub(super) fn together(self, text: &[u8], step: usize) -> usize {
        let takes_back = match self {
            Self::Some { backspaces } => backspaces > 0 && memchr::memchr(BACKSPACE, text).is_some(),
            Self::Nothing => false,
        };
        if takes_back { text.len() } else { step.min(text.len()) }
    }

    /// The length of the part of `text` in which nothing of this is.
    fn come_after(self, text: &[u8]) -> usize {
        let Self::Some { backspaces } = self else { return text.len() };
        let place = memchr::memchr2(ESCAPE, BACKSPACE, text).unwrap_or(text.len());
        // Each backspace may take back one of the characters before.
        if backspaces == 0 { place } else { back(text, place, backspaces.saturating_mul(4)) }
    }
}

/// The length of the part of `text` in which no form of a value begins, whatever follows.
pub(super) fn clean_length(patterns: &Arc<Patterns>, text: &[u8], hides: Hides) -> usize {
    let text = &text[..hides.come_after(text)];
    let visible = patterns.seen_through();
    let suspect = first_suspect(visible, text, Lines::Joined);
    if Arc::ptr_eq(visible, patterns) {
        return suspect.map_or_else(|| unfinished(visible, text, is_line_end), |place| back(text, place, BESIDE));
    }

    // Some forms hold line ends, perhaps at their beginning; a few cannot be seen without what they hide.
    let text = &text[..suspect.unwrap_or(text.len())];
    let as_it_is = if patterns.all_seen_through() { None } else { first_suspect(patterns, text, Lines::Apart) };
    let place = as_it_is
        .or(suspect)
        .unwrap_or_else(|| unfinished(visible, text, is_line_end).min(unfinished(patterns, text, |_| false)));
    back(text, place, BESIDE)
}

/// Whether a form may go on behind a line end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    Joined,
    Apart,
}

/// A place at most [`BESIDE`] visible bytes behind the first one where a form begins, or may begin.
fn first_suspect(patterns: &Patterns, text: &[u8], lines: Lines) -> Option<usize> {
    let (mut next_look, mut start) = (0, 0);
    while start < text.len() {
        let end = (start + BLOCK).min(text.len());
        let in_line = in_one_line(patterns, text, end, &mut next_look, lines);
        let until = in_line.unwrap_or(end).max(start);
        let cut = if lines == Lines::Joined { across_line_ends(patterns, text, start..until) } else { None };
        if let Some(place) = cut.or(in_line) {
            return Some(place);
        }
        start = end;
    }
    None
}

/// Where the first form begins whose first eight bytes stand in one line, looking from `next_look` on, up to `end`.
fn in_one_line(patterns: &Patterns, text: &[u8], end: usize, next_look: &mut usize, lines: Lines) -> Option<usize> {
    loop {
        match patterns.look(&text[..end], *next_look) {
            Ok(place) => {
                let start = begins_at(patterns, text, place, lines);
                if start.is_some() {
                    return start;
                }
                *next_look = place + STRIDE;
            }
            Err(place) => {
                *next_look = place;
                return None;
            }
        }
    }
}

/// Where a form begins that has the four bytes at `place` in its own first eight, if one may.
fn begins_at(patterns: &Patterns, text: &[u8], place: usize, lines: Lines) -> Option<usize> {
    let mut heads = patterns.with_head(four(&text[place..place + LOOK])).rev();
    heads.find_map(|head| {
        let start = place.checked_sub(usize::from(head.offset))?;
        let rest = &text[start..];
        if !rest.starts_with(&patterns.beginning(head.beginning)) {
            return None;
        }
        let may_stand = patterns.beginning_with(head.beginning).any(|(_, form)| {
            let same = form.bytes.iter().zip(rest).take_while(|(one, other)| one == other).count();
            let goes_on = rest.get(same).is_none_or(|next| lines == Lines::Joined && is_line_end(*next));
            same == form.bytes.len() || goes_on
        });
        may_stand.then_some(start)
    })
}

/// A line end in `range` that a form may be cut by within its first eight bytes.
fn across_line_ends(patterns: &Patterns, text: &[u8], range: Range<usize>) -> Option<usize> {
    let mut place = range.start;
    while let Some(found) = memchr::memchr2(b'\n', b'\r', &text[place..range.end]) {
        let start = place + found;
        let end = start + text[start..].iter().take_while(|byte| is_line_end(**byte)).count();
        // Where the range begins, that is the rest of a line.
        let is_short = found < SHORT_LINE && place > range.start;
        match beside(text, start, end).filter(|_| !is_short) {
            Some([before, after]) => {
                if (patterns.may_hold(before) || patterns.may_hold(after)) && is_cut(patterns, text, start) {
                    return Some(start);
                }
            }
            None if text.len() - end < SHORTEST => return is_cut(patterns, text, start).then_some(start),
            None => return without_line_ends(patterns, text, start..range.end),
        }
        place = end.min(range.end);
    }
    None
}

/// Four bytes that begin three before the line ends at `start..end`, and the four that follow them, without the line
/// ends. A beginning of eight bytes that is cut here holds one or the other among its first ones. `None` where there are
/// other line ends, or too little text.
fn beside(text: &[u8], start: usize, end: usize) -> Option<[u32; 2]> {
    let before = text.get(start.checked_sub(3)?..)?.first_chunk::<4>()?;
    let after = text.get(end..)?.first_chunk::<8>()?;
    let joined = u64::from(u32::from_le_bytes(*before) & 0x00FF_FFFF) | u64::from_le_bytes(*after) << 24;
    let holds = |byte: u8| {
        const EACH: u64 = u64::from_le_bytes([1; 8]);
        let others = joined ^ (EACH * u64::from(byte));
        others.wrapping_sub(EACH) & !others & (EACH << 7) != 0
    };
    #[expect(clippy::cast_possible_truncation, reason = "one half and the other")]
    (!holds(b'\n') && !holds(b'\r')).then_some([joined as u32, (joined >> 32) as u32])
}

/// Whether a form begins before the line end at `start` and goes on behind it, as far as its first eight bytes tell.
fn is_cut(patterns: &Patterns, text: &[u8], start: usize) -> bool {
    let mut around = [0; 2 * BESIDE];
    let before = gather(&mut around, text[..start].iter().rev(), BESIDE);
    around[..before].reverse();
    let after = gather(&mut around[before..], text[start..].iter(), BESIDE);
    let beginnings = around[..before + after].windows(SHORTEST).take(before);
    beginnings.filter_map(|bytes| bytes.first_chunk()).any(|bytes| patterns.has_beginning(*bytes))
}

/// Copies up to `most` visible bytes; gives how many there were.
fn gather<'a>(room: &mut [u8], bytes: impl Iterator<Item = &'a u8>, most: usize) -> usize {
    let visible = bytes.copied().filter(|byte| !is_line_end(*byte)).take(most);
    room.iter_mut().zip(visible).map(|(place, byte)| *place = byte).count()
}

/// Searches the text of `range` without its line ends, and as much around it as a beginning may have there.
fn without_line_ends(patterns: &Patterns, text: &[u8], range: Range<usize>) -> Option<usize> {
    let mut joined = [0; BLOCK + 2 * SHORTEST];
    let begin = back(text, range.start, BESIDE);
    let mut length = 0;
    for byte in &text[begin..range.end] {
        // Without a branch, which would be guessed wrong at every line end.
        joined[length] = *byte;
        length += usize::from(!is_line_end(*byte));
    }
    length += gather(&mut joined[length..], text[range.end..].iter(), SHORTEST);

    let joined = &joined[..length];
    let mut next_look = 0;
    while let Ok(place) = patterns.look(joined, next_look) {
        let mut heads = patterns.with_head(four(&joined[place..place + LOOK])).rev();
        let start = heads.find_map(|head| {
            let start = place.checked_sub(usize::from(head.offset))?;
            joined[start..].starts_with(&patterns.beginning(head.beginning)).then_some(start)
        });
        if let Some(start) = start {
            let mut visible = text[begin..].iter().enumerate().filter(|(_, byte)| !is_line_end(**byte));
            return visible.nth(start).map(|(place, _)| begin + place);
        }
        next_look = place + STRIDE;
    }
    None
}

/// Where the last bytes of `text` begin that may become a form: fewer than eight, of those that are not `hidden`.
fn unfinished(patterns: &Patterns, text: &[u8], hidden: fn(u8) -> bool) -> usize {
    let (mut last, mut places) = ([0; BESIDE], [text.len(); BESIDE]);
    let mut first = BESIDE;
    for (place, byte) in text.iter().enumerate().rev().filter(|(_, byte)| !hidden(**byte)).take(BESIDE) {
        first -= 1;
        (last[first], places[first]) = (*byte, place);
    }
    (first..BESIDE).find(|start| patterns.begins_with(&last[*start..])).map_or(text.len(), |start| places[start])
}

/// The place so many visible bytes before `place`, and before the line ends there.
fn back(text: &[u8], place: usize, visible: usize) -> usize {
    let mut left = visible;
    let mut is_behind = |byte: &u8| {
        let counts = !is_line_end(*byte);
        let passes = !counts || left > 0;
        left = left.saturating_sub(usize::from(counts));
        passes
    };
    place - text[..place].iter().rev().take_while(|byte| is_behind(byte)).count()
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}
