//! The lines of an output that a call asks for: those that match, and of these the first and the last ones.
//!
//! Output comes in pieces of any size, and what is kept of it never needs more room than the reply has.

use std::collections::VecDeque;

use chiton_engine::terminal::text::plain_text;
use regex::Regex;

/// Which lines a call asks for.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only lines that match.
    pub filter: Option<Regex>,
    /// This many from the beginning.
    pub head: Option<u64>,
    /// This many from the end.
    pub tail: Option<u64>,
}

/// The lines that were asked for, and how many there are besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selected {
    /// The first lines.
    pub head: String,
    /// The last lines.
    pub tail: String,
    /// Lines between the two that are left out: those that match, with a filter.
    pub left_out: u64,
    /// How many lines stand before those.
    pub before: u64,
    /// Lines that match, with a filter.
    pub matches: Option<u64>,
    /// Lines in all.
    pub lines: u64,
}

/// Reads output for a [`Selection`].
#[derive(Debug)]
pub struct Selector {
    selection: Selection,
    room: usize,
    first: String,
    first_lines: u64,
    last: VecDeque<String>,
    last_bytes: usize,
    /// The line that is not finished.
    open: String,
    matches: u64,
    lines: u64,
    /// Whether a line of the beginning had no room, so that nothing more belongs to it.
    is_full: bool,
}

impl Selector {
    /// For a reply that has room for this many bytes.
    pub fn new(selection: &Selection, room: usize) -> Self {
        Self {
            selection: selection.clone(),
            room,
            first: String::new(),
            first_lines: 0,
            last: VecDeque::new(),
            last_bytes: 0,
            open: String::new(),
            matches: 0,
            lines: 0,
            is_full: false,
        }
    }

    /// Takes the next piece.
    pub fn push(&mut self, text: &str) {
        for part in text.split_inclusive('\n') {
            self.open.push_str(part);
            if part.ends_with('\n') {
                self.finish_line();
            }
        }
    }

    fn finish_line(&mut self) {
        let line = std::mem::take(&mut self.open);
        self.lines += 1;
        let shown = plain_text(&line);
        let content = shown.trim_end_matches(['\r', '\n']);
        let is_match = |filter: &Regex| filter.is_match(content) || filter.is_match(line.trim_end_matches('\n'));
        if !self.selection.filter.as_ref().is_none_or(is_match) {
            return;
        }
        self.matches += 1;
        if self.belongs_to_first(&shown) {
            self.first.push_str(&shown);
            self.first_lines += 1;
        } else if let Some(most) = self.selection.tail {
            self.last_bytes += shown.len();
            self.last.push_back(shown);
            while self.last.len() as u64 > most || (self.last_bytes > self.tail_room() && self.last.len() > 1) {
                self.last_bytes -= self.last.pop_front().map_or(0, |line| line.len());
            }
        }
    }

    fn belongs_to_first(&mut self, line: &str) -> bool {
        let wanted = match (self.selection.head, self.selection.tail) {
            (Some(most), _) => self.first_lines < most,
            (None, None) => true,
            (None, Some(_)) => false,
        };
        let room = if self.selection.tail.is_some() { self.room / 2 } else { self.room };
        self.is_full |= wanted && self.first_lines > 0 && self.first.len() + line.len() > room;
        wanted && !self.is_full
    }

    fn tail_room(&self) -> usize {
        self.room - self.first.len().min(self.room / 2)
    }

    /// What was asked for, once there is no more.
    pub fn finish(mut self) -> Selected {
        if !self.open.is_empty() {
            self.finish_line();
        }
        let shown = self.first_lines + self.last.len() as u64;
        Selected {
            head: self.first,
            tail: self.last.into_iter().collect(),
            left_out: self.matches - shown,
            before: self.first_lines,
            matches: self.selection.filter.is_some().then_some(self.matches),
            lines: self.lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(text: &str, filter: Option<&str>, head: Option<u64>, tail: Option<u64>, piece: usize) -> Selected {
        let selection = Selection { filter: filter.map(|filter| Regex::new(filter).unwrap()), head, tail };
        let mut selector = Selector::new(&selection, 1000);
        let characters: Vec<char> = text.chars().collect();
        characters.chunks(piece).for_each(|piece| selector.push(&piece.iter().collect::<String>()));
        selector.finish()
    }

    #[test]
    fn the_lines_asked_for_are_given_and_the_others_are_counted() {
        let text: String = (1..=20).fold(String::new(), |text, number| text + &format!("line {number}\n"));
        let cases = [
            (None, Some(2), None, "line 1\nline 2\n", "", 18, None),
            (None, None, Some(2), "", "line 19\nline 20\n", 18, None),
            (None, Some(1), Some(1), "line 1\n", "line 20\n", 18, None),
            (None, Some(15), Some(15), "15", "5", 0, None),
            (Some("1$"), None, None, "line 1\nline 11\n", "", 0, Some(2)),
            (Some("1"), Some(1), Some(2), "line 1\n", "line 18\nline 19\n", 8, Some(11)),
            (Some("none"), Some(1), None, "", "", 0, Some(0)),
        ];
        for (filter, head, tail, first, last, left_out, matches) in cases {
            for piece in [1, 7, 1000] {
                let selected = select(&text, filter, head, tail, piece);
                if first.starts_with('l') || first.is_empty() {
                    assert_eq!((selected.head.as_str(), selected.tail.as_str()), (first, last));
                } else {
                    let lines = |text: &str| text.lines().count().to_string();
                    assert_eq!((lines(&selected.head), lines(&selected.tail)), (first.to_owned(), last.to_owned()));
                }
                assert_eq!((selected.left_out, selected.matches, selected.lines), (left_out, matches, 20));
            }
        }
    }

    #[test]
    fn what_is_given_never_needs_more_room_than_there_is() {
        let text = "0123456789\n".repeat(1000) + "end";
        for (head, tail) in [(Some(500), None), (None, Some(500)), (Some(500), Some(500)), (None, None)] {
            let selected = select(&text, Some("."), head, tail, 64);
            assert!(selected.head.len() + selected.tail.len() <= 1000);
            let shown = (selected.head.lines().count() + selected.tail.lines().count()) as u64;
            assert_eq!(shown + selected.left_out, 1001, "every line is shown or counted");
            assert_eq!(selected.tail.ends_with("end"), tail.is_some());
        }
    }

    #[test]
    fn a_line_matches_as_a_person_reads_it() {
        let selected = select("\u{1b}[31mred\u{1b}[0m line\r\nother\n", Some("^red line$"), None, None, 3);
        assert_eq!((selected.head.trim_end(), selected.matches), ("red line", Some(1)));
    }
}
