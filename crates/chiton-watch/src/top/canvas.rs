//! What is to be on the screen: cells with a character and its style each.
//!
//! Everything that is put here is cut to its place. Nothing that is not one character in one or two cells gets in: no control
//! characters, so no text can move the cursor.

use chiton_engine::terminal::snapshot::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A piece of text that looks the same.
pub(super) type Part = (String, Style);

/// Rows of the screen, one below the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) top: u16,
    pub(super) height: u16,
}

impl Area {
    /// Its first rows, and the others.
    pub(super) fn split(self, first: u16) -> (Self, Self) {
        let first = first.min(self.height);
        (Self { top: self.top, height: first }, Self { top: self.top + first, height: self.height - first })
    }

    /// The number of each row.
    pub(super) fn rows(self) -> impl Iterator<Item = u16> {
        self.top..self.top + self.height
    }
}

/// What one cell shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// The character and all that is put on top of it. Empty where nothing is, and to the right of a wide character.
    pub text: String,
    /// How it looks.
    pub style: Style,
    /// Whether the character to the left takes this cell, too.
    pub covered: bool,
}

/// A screen to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canvas {
    width: u16,
    height: u16,
    cells: Vec<Cell>,
    /// Where the cursor is, if it is shown: column and row.
    pub cursor: Option<(u16, u16)>,
}

impl Canvas {
    /// A blank one.
    pub fn new(width: u16, height: u16) -> Self {
        let cells = vec![Cell::default(); usize::from(width) * usize::from(height)];
        Self { width, height, cells, cursor: None }
    }

    /// How many columns and rows it has.
    pub fn size(&self) -> (u16, u16) {
        (self.width, self.height)
    }

    /// The cells of a row.
    pub fn row(&self, row: u16) -> &[Cell] {
        let start = usize::from(row) * usize::from(self.width);
        &self.cells[start..start + usize::from(self.width)]
    }

    pub(super) fn area(&self) -> Area {
        Area { top: 0, height: self.height }
    }

    fn row_mut(&mut self, row: u16) -> &mut [Cell] {
        let start = usize::from(row) * usize::from(self.width);
        &mut self.cells[start..start + usize::from(self.width)]
    }

    /// Puts a text at a place, at most `room` columns of it. Returns the column after it.
    pub(super) fn put(&mut self, row: u16, column: u16, room: u16, text: &str, style: Style) -> u16 {
        let end = column.saturating_add(room).min(self.width);
        let cells = self.row_mut(row);
        let mut at = column;
        for character in text.chars() {
            let width = match character {
                // As wide as one cell wherever it is: a row is not a place for columns of its own.
                '\t' => 1,
                _ => character.width().and_then(|width| u16::try_from(width).ok()).unwrap_or(0),
            };
            if width == 0 {
                // An accent belongs to what it is put on. A control character belongs nowhere.
                if !character.is_control()
                    && let Some(before) =
                        cells[usize::from(column)..usize::from(at)].iter_mut().rfind(|cell| !cell.covered)
                {
                    before.text.push(character);
                }
                continue;
            }
            if at + width > end {
                break;
            }
            uncover(cells, usize::from(at), usize::from(width));
            let shown = if character == '\t' { ' ' } else { character };
            cells[usize::from(at)] = Cell { text: shown.to_string(), style, covered: false };
            for cell in &mut cells[usize::from(at + 1)..usize::from(at + width)] {
                *cell = Cell { text: String::new(), style, covered: true };
            }
            at += width;
        }
        at
    }

    /// Puts the parts of a line one after the other, from the left.
    pub(super) fn put_line(&mut self, row: u16, parts: &[Part]) {
        let mut column = 0;
        for (text, style) in parts {
            column = self.put(row, column, self.width - column, text, *style);
        }
    }

    /// Puts lines one below the other, as many as fit.
    pub(super) fn put_lines(&mut self, area: Area, lines: &[Vec<Part>]) {
        for (row, line) in area.rows().zip(lines) {
            self.put_line(row, line);
        }
    }

    /// Changes how a row looks, also where nothing is.
    pub(super) fn restyle(&mut self, row: u16, change: impl Fn(&mut Style)) {
        self.row_mut(row).iter_mut().for_each(|cell| change(&mut cell.style));
    }
}

/// Makes room for a character: of a wide one of which half is overwritten, the other half goes, too.
fn uncover(cells: &mut [Cell], at: usize, width: usize) {
    if cells[at].covered {
        cells[at - 1] = Cell { style: cells[at - 1].style, ..Cell::default() };
    }
    if let Some(after) = cells.get_mut(at + width)
        && after.covered
    {
        *after = Cell { style: after.style, ..Cell::default() };
    }
}

/// How many columns a text takes.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// Breaks a line into as many as it takes at this width, between words where it can. Every character stays, so nothing can be
/// hidden behind many spaces.
pub(super) fn wrap(line: &[Part], width: u16) -> Vec<Vec<Part>> {
    let width = usize::from(width.max(1));
    let characters: Vec<(char, Style)> =
        line.iter().flat_map(|(text, style)| text.chars().map(|character| (character, *style))).collect();
    let mut lines = Vec::new();
    let mut rest = characters.as_slice();
    loop {
        let fitting = fitting(rest, width);
        if fitting == rest.len() {
            lines.push(joined(rest));
            return lines;
        }
        let is_space = |at: usize| rest.get(at).is_some_and(|(character, _)| *character == ' ');
        let end = match (0..fitting).rfind(|at| is_space(*at)) {
            // One space between two words needs no room at the end of a line.
            _ if is_space(fitting) => {
                if is_space(fitting + 1) {
                    fitting
                } else {
                    fitting + 1
                }
            }
            Some(space) => space + 1,
            // A word that is too long for any line.
            None => fitting,
        };
        lines.push(joined(&rest[..end]));
        rest = &rest[end..];
    }
}

/// How many of the characters fit, at least one.
fn fitting(characters: &[(char, Style)], width: usize) -> usize {
    let mut taken = 0;
    let fits = |(character, _): &&(char, Style)| {
        taken += if *character == '\t' { 1 } else { character.width().unwrap_or(0) };
        taken <= width
    };
    let all = characters.iter().take_while(fits).count();
    all.max(1).min(characters.len())
}

fn joined(characters: &[(char, Style)]) -> Vec<Part> {
    let same = characters.chunk_by(|(_, one), (_, other)| one == other);
    same.map(|run| (run.iter().map(|(character, _)| *character).collect(), run[0].1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(canvas: &Canvas, row: u16) -> Vec<&str> {
        canvas.row(row).iter().map(|cell| cell.text.as_str()).collect()
    }

    #[test]
    fn text_is_cut_to_its_place_and_wide_characters_are_never_halved() {
        let mut canvas = Canvas::new(5, 1);
        assert_eq!(canvas.put(0, 0, 5, "abcdefg", Style::default()), 5);
        assert_eq!(texts(&canvas, 0), ["a", "b", "c", "d", "e"]);
        assert_eq!(canvas.put(0, 1, 2, "xyz", Style::default()), 3);
        assert_eq!(texts(&canvas, 0), ["a", "x", "y", "d", "e"]);
        assert_eq!(canvas.put(0, 0, 5, "漢字漢", Style::default()), 4, "the third does not fit");
        assert_eq!(texts(&canvas, 0), ["漢", "", "字", "", "e"]);
        canvas.put(0, 1, 2, "ab", Style::default());
        assert_eq!(texts(&canvas, 0), ["", "a", "b", "", "e"], "what is left of a wide character goes");
        assert!(canvas.row(0).iter().all(|cell| !cell.covered));
        assert_eq!(canvas.put(0, 5, 9, "out", Style::default()), 5);
    }

    #[test]
    fn accents_stay_with_their_letter_and_control_characters_do_not_come_in() {
        let mut canvas = Canvas::new(4, 1);
        canvas.put(0, 0, 4, "e\u{301}\u{1b}[\r\nx\t|", Style::default());
        assert_eq!(texts(&canvas, 0), ["e\u{301}", "[", "x", " "]);
        let mut canvas = Canvas::new(2, 1);
        canvas.put(0, 0, 2, "\u{301}a", Style::default());
        assert_eq!(texts(&canvas, 0), ["a", ""], "an accent on nothing is left out");
    }

    #[test]
    fn lines_break_between_words_and_lose_nothing() {
        let plain = |text: &str, width| {
            let lines = wrap(&[(text.to_owned(), Style::default())], width);
            lines.into_iter().map(|line| line.into_iter().map(|(text, _)| text).collect()).collect::<Vec<String>>()
        };
        let cases: [(&str, u16, &[&str]); 8] = [
            ("", 10, &[""]),
            ("one two", 10, &["one two"]),
            ("one two three", 8, &["one two ", "three"]),
            ("one two three", 7, &["one two ", "three"]),
            ("abcdefghij", 4, &["abcd", "efgh", "ij"]),
            ("  indented text", 10, &["  indented ", "text"]),
            ("a          b", 4, &["a   ", "    ", "   b"]),
            ("漢字", 1, &["漢", "字"]),
        ];
        for (text, width, expected) in cases {
            let lines = plain(text, width);
            assert_eq!(lines.concat(), text);
            assert_eq!(lines, expected, "{text:?} at {width}");
        }

        let bold = Style { bold: true, ..Style::default() };
        let parts = [("key ".to_owned(), bold), ("what it does".to_owned(), Style::default())];
        let lines = wrap(&parts, 8);
        assert_eq!(lines[0], [("key ".to_owned(), bold), ("what ".to_owned(), Style::default())]);
        assert_eq!(lines[1], [("it does".to_owned(), Style::default())]);
    }
}
