//! One line of text that a program may draw over.

use unicode_width::UnicodeWidthChar;

use super::whole_characters;

/// The most marks that one character takes.
const MARKS: usize = 32;

/// A line: bytes as they came, or cells once something was drawn over something else.
#[derive(Debug)]
pub(super) enum Line {
    Bytes(Vec<u8>),
    Cells(Cells),
}

#[derive(Debug, Default)]
pub(super) struct Cells {
    columns: Vec<Cell>,
    /// The beginning of a character, and the column where it goes.
    unfinished: Vec<u8>,
    place: usize,
}

/// One column of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cell {
    Character(char),
    /// A character with marks on it.
    Marked(Box<str>),
    /// The rest of a wide character or of a tab.
    Rest,
}

const BLANK: Cell = Cell::Character(' ');

impl Default for Line {
    fn default() -> Self {
        Self::Bytes(Vec::new())
    }
}

impl Line {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::Cells(line) => line.columns.is_empty() && line.unfinished.is_empty(),
        }
    }

    /// About how many bytes it has.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Cells(line) => line.columns.len(),
        }
    }

    /// How many columns it has.
    pub(super) fn width(&mut self) -> usize {
        match self {
            Self::Bytes(bytes) if bytes.iter().all(|byte| (0x20..0x7f).contains(byte)) => bytes.len(),
            _ => {
                self.settle();
                self.cells().columns.len()
            }
        }
    }

    /// Adds to its end.
    pub(super) fn append(&mut self, text: &[u8]) {
        match self {
            Self::Bytes(bytes) => bytes.extend_from_slice(text),
            Self::Cells(line) => {
                let end = line.columns.len();
                line.put(end, text);
            }
        }
    }

    /// Writes over what is there from `column` on; returns the column after it.
    pub(super) fn put(&mut self, column: usize, text: &[u8]) -> usize {
        self.cells().put(column, text)
    }

    /// Replaces a character that was begun and not finished. Returns the column after it, if there was one.
    pub(super) fn settle(&mut self) -> Option<usize> {
        match self {
            Self::Cells(line) if !line.unfinished.is_empty() => Some(line.settle()),
            _ => None,
        }
    }

    /// Removes everything from `column` on.
    pub(super) fn cut(&mut self, column: usize) {
        if column == 0 {
            return *self = Self::default();
        }
        let line = self.cells();
        line.break_up(column);
        line.columns.truncate(column);
    }

    /// Makes the columns blank.
    pub(super) fn blank(&mut self, from: usize, to: usize) {
        let line = self.cells();
        let to = to.min(line.columns.len());
        if from < to {
            line.break_up(from);
            line.break_up(to);
            line.columns[from..to].fill(BLANK);
        }
    }

    /// Removes `count` columns at `column`; the rest moves left.
    pub(super) fn delete(&mut self, column: usize, count: usize) {
        let line = self.cells();
        let end = column.saturating_add(count).min(line.columns.len());
        if column < end {
            line.break_up(column);
            line.break_up(end);
            line.spread_tabs(column);
            line.columns.drain(column..end);
        }
    }

    /// Puts `count` blanks at `column`; the rest moves right.
    pub(super) fn insert(&mut self, column: usize, count: usize) {
        let line = self.cells();
        if column < line.columns.len() {
            line.break_up(column);
            line.spread_tabs(column);
            // No screen is wider, and what moves beyond its margin is gone.
            line.columns.splice(column..column, std::iter::repeat_n(BLANK, count.min(1000)));
        }
    }

    /// Writes it to `out`, without the blanks at the end of a line that was drawn over: they erased something.
    pub(super) fn write(mut self, out: &mut Vec<u8>) {
        self.settle();
        match self {
            Self::Bytes(bytes) => out.extend_from_slice(&bytes),
            Self::Cells(line) => {
                let filled = line.columns.iter().rposition(|cell| *cell != BLANK).map_or(0, |last| last + 1);
                for cell in &line.columns[..filled] {
                    match cell {
                        Cell::Character(character) => {
                            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                        }
                        Cell::Marked(text) => out.extend_from_slice(text.as_bytes()),
                        Cell::Rest => {}
                    }
                }
            }
        }
    }

    fn cells(&mut self) -> &mut Cells {
        if let Self::Bytes(bytes) = self {
            let mut line = Cells::default();
            line.put(0, bytes);
            line.settle();
            *self = Self::Cells(line);
        }
        let Self::Cells(line) = self else { unreachable!("it was made cells just now") };
        line
    }
}

impl Cells {
    fn put(&mut self, mut column: usize, text: &[u8]) -> usize {
        let mut joined = std::mem::take(&mut self.unfinished);
        let bytes = if joined.is_empty() {
            text
        } else {
            joined.extend_from_slice(text);
            &joined
        };
        let (whole, rest) = bytes.split_at(whole_characters(bytes));
        for character in String::from_utf8_lossy(whole).chars() {
            column = self.put_character(column, character);
        }
        self.unfinished = rest.to_vec();
        self.place = column;
        column
    }

    fn settle(&mut self) -> usize {
        let rest = std::mem::take(&mut self.unfinished);
        let mut column = self.place;
        for character in String::from_utf8_lossy(&rest).chars() {
            column = self.put_character(column, character);
        }
        column
    }

    fn put_character(&mut self, column: usize, character: char) -> usize {
        let width = match character {
            '\t' => 8 - column % 8,
            _ => character.width().unwrap_or(0),
        };

        if width == 0 {
            self.mark(column, character);
            return column;
        }
        let end = column + width;

        // A tab goes over what is there, it does not erase it.
        if character == '\t' && column < self.columns.len() {
            return end;
        }

        self.break_up(column);
        self.break_up(end);
        if self.columns.len() < end {
            self.columns.resize(end, BLANK);
        }

        self.columns[column] = Cell::Character(character);
        self.columns[column + 1..end].fill(Cell::Rest);
        end
    }

    /// Puts a mark on the character before `column`.
    fn mark(&mut self, column: usize, mark: char) {
        let mut place = column.saturating_sub(1);
        if self.columns.len() <= place {
            self.columns.resize(place + 1, BLANK);
        }
        while place > 0 && self.columns[place] == Cell::Rest {
            place -= 1;
        }
        match &mut self.columns[place] {
            Cell::Marked(text) if text.chars().count() <= MARKS => {
                let longer = format!("{text}{mark}");
                *text = longer.into();
            }
            Cell::Marked(_) | Cell::Rest => {}
            Cell::Character(character) => {
                let text = String::from_iter([*character, mark]);
                self.columns[place] = Cell::Marked(text.into());
            }
        }
    }

    /// Makes blanks of the tabs from `column` on: after moving, they would have another width.
    fn spread_tabs(&mut self, column: usize) {
        let mut in_tab = false;
        for cell in self.columns.iter_mut().skip(column) {
            in_tab = *cell == Cell::Character('\t') || (in_tab && *cell == Cell::Rest);
            if in_tab {
                *cell = BLANK;
            }
        }
    }

    /// A wide character or a tab that is cut at `column` becomes blanks.
    fn break_up(&mut self, column: usize) {
        if self.columns.get(column) != Some(&Cell::Rest) {
            return;
        }
        let start = self.columns[..column].iter().rposition(|cell| *cell != Cell::Rest).unwrap_or(0);
        let end = self.columns[column..]
            .iter()
            .position(|cell| *cell != Cell::Rest)
            .map_or(self.columns.len(), |n| column + n);
        self.columns[start..end].fill(BLANK);
    }
}
