//! Lines that match in the output of a task while it grows.
//!
//! 1. Each stream is searched by itself, from the beginning of the line that its reader is in.
//! 2. A line that the reader has a part of counts if the match reaches into what is new.
//! 3. A line matches as it was printed, or as a person would read it: without escape sequences and carriage returns.

use regex::bytes::Regex;

use super::list::Task;
use super::read::{Cursor, ReadError};
use crate::run::Stream;
use chiton_terminal::text::plain_text;

/// How much is searched at once; a line longer than this is searched in pieces.
const SEARCH_STEP: usize = 1 << 20;
/// How far back a match is looked for that was there before.
const LOOK_BACK: u64 = 16 << 20;

/// How far the output of a task was searched.
pub(super) struct LineSearch {
    streams: [StreamSearch; 2],
}

struct StreamSearch {
    stream: Stream,
    /// What the reader has.
    from: u64,
    /// Everything before this was searched; `None` before the first search.
    place: Option<u64>,
}

impl LineSearch {
    /// A search of what a reader does not have yet.
    pub(super) fn from(cursor: Cursor) -> Self {
        let of = |stream, from| StreamSearch { stream, from, place: None };
        Self { streams: [of(Stream::Stdout, cursor.stdout), of(Stream::Stderr, cursor.stderr)] }
    }

    /// The first line that matches and was not searched before. An unfinished line is searched again when it has grown.
    pub(super) fn next(&mut self, task: &Task, pattern: &Regex) -> Result<Option<String>, ReadError> {
        for search in &mut self.streams {
            if let Some(line) = search.next(task, pattern)? {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }

    /// The last line that matches and that a reader at this cursor has.
    pub(super) fn last_before(task: &Task, cursor: Cursor, pattern: &Regex) -> Result<Option<String>, ReadError> {
        let mut last = None;
        for (stream, end) in [(Stream::Stdout, cursor.stdout), (Stream::Stderr, cursor.stderr)] {
            let mut place = end.saturating_sub(LOOK_BACK);
            while place < end {
                let step = usize::try_from(end - place).unwrap_or(SEARCH_STEP).min(SEARCH_STEP);
                let piece = task.bytes_from(stream, place, step)?;
                if piece.bytes.is_empty() {
                    break;
                }
                let lines = piece.bytes.rsplit(|byte| *byte == b'\n');
                last = lines.into_iter().find_map(|line| shown_match(line, 0, pattern)).or(last);
                place = piece.offset + piece.bytes.len() as u64;
            }
        }
        Ok(last)
    }
}

impl StreamSearch {
    fn next(&mut self, task: &Task, pattern: &Regex) -> Result<Option<String>, ReadError> {
        let mut place = match self.place {
            Some(place) => place,
            None => self.line_start(task)?,
        };
        loop {
            let piece = task.bytes_from(self.stream, place, SEARCH_STEP)?;
            let mut start = piece.offset;
            for line in piece.bytes.split(|byte| *byte == b'\n') {
                let had = usize::try_from(self.from.saturating_sub(start)).unwrap_or(usize::MAX);
                if let Some(shown) = shown_match(line, had, pattern) {
                    return Ok(Some(shown));
                }
                start += line.len() as u64 + 1;
            }

            let full = piece.bytes.len() == SEARCH_STEP;
            let finished = memchr::memrchr(b'\n', &piece.bytes).map_or(0, |newline| newline + 1);
            place = piece.offset + if finished == 0 && full { SEARCH_STEP } else { finished } as u64;
            self.place = Some(place);
            if !full {
                return Ok(None);
            }
        }
    }

    /// Where the line begins that the reader is in.
    fn line_start(&self, task: &Task) -> Result<u64, ReadError> {
        let back = self.from.min(SEARCH_STEP as u64);
        let before = task.bytes_from(self.stream, self.from - back, usize::try_from(back).unwrap_or(SEARCH_STEP))?;
        if before.offset + before.bytes.len() as u64 != self.from {
            return Ok(self.from);
        }
        let line = memchr::memrchr(b'\n', &before.bytes).map_or(0, |newline| newline + 1);
        Ok(before.offset + line as u64)
    }
}

/// The line as it is shown, where it matches and the match is not within its first `had` bytes.
fn shown_match(line: &[u8], had: usize, pattern: &Regex) -> Option<String> {
    if line.len() <= had {
        return None;
    }
    let is_new = |line: &[u8], had: usize| pattern.find_iter(line).any(|found| had == 0 || found.end() > had);
    let shown = plain_text(&String::from_utf8_lossy(line));
    let shown = shown.trim_end_matches(['\r', '\n']);
    let had_shown = || if had == 0 { 0 } else { plain_text(&String::from_utf8_lossy(&line[..had])).len() };
    (is_new(line, had) || is_new(shown.as_bytes(), had_shown())).then(|| shown.to_owned())
}
