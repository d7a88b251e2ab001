//! One look at a screen.

use serde::{Deserialize, Serialize};

use super::TerminalSize;

/// What a person would see at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The size of the terminal.
    pub size: TerminalSize,
    /// Its rows from the top, all of them.
    pub rows: Vec<Row>,
    /// Where the cursor is.
    pub cursor: Cursor,
    /// Whether a full-screen program shows the alternate screen.
    pub alternate: bool,
    /// The title that the program gave the window.
    pub title: Option<String>,
    /// How often it rang the bell.
    pub bells: u64,
    /// How many rows scrolled off the top and are still kept.
    pub scrolled_off: usize,
    /// How the program wants the keyboard to behave.
    pub keyboard: KeyboardMode,
}

/// The place of the cursor, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// Row from the top.
    pub row: u16,
    /// Column from the left.
    pub column: u16,
    /// Whether it is shown.
    pub visible: bool,
}

/// How a program wants the keyboard to behave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyboardMode {
    /// Arrow keys send what an application wants, not what a line editor wants.
    pub application_cursor: bool,
    /// A paste is marked as one.
    pub bracketed_paste: bool,
}

/// One row of a screen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Stretches of the same style, from the left. Columns in none of them are blank.
    pub runs: Vec<Run>,
    /// Whether the text goes on in the next row, because this one was full.
    pub wrapped: bool,
}

/// A stretch of characters that look the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The column of its first character.
    pub column: u16,
    /// The columns it takes: wide characters take two.
    pub width: u16,
    /// The characters.
    pub text: String,
    /// How they look.
    pub style: Style,
}

/// How characters look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Style {
    /// Their colour.
    pub foreground: Colour,
    /// The colour behind them.
    pub background: Colour,
    /// Bold.
    pub bold: bool,
    /// Darker than usual.
    pub dim: bool,
    /// Italic.
    pub italic: bool,
    /// Underlined, in whatever way.
    pub underline: bool,
    /// Struck out.
    pub struck: bool,
    /// Colours swapped.
    pub inverse: bool,
    /// Invisible, as old programs show passwords.
    pub hidden: bool,
}

/// A colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Colour {
    /// The terminal's own.
    #[default]
    Usual,
    /// One of the 256.
    Indexed(u8),
    /// Any.
    Rgb(u8, u8, u8),
}

impl Row {
    /// Its characters, without blanks at the end.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut column = 0;
        for run in &self.runs {
            text.extend(std::iter::repeat_n(' ', usize::from(run.column.saturating_sub(column))));
            text.push_str(&run.text);
            column = run.column + run.width;
        }
        text.truncate(text.trim_end_matches(' ').len());
        text
    }
}

impl Snapshot {
    /// Shows this text instead of its rows, line by line from the top, without styles. What does not fit is not shown.
    pub fn show_text(&mut self, text: &str) {
        let columns = usize::from(self.size.columns);
        let mut lines = text.split('\n');
        for row in &mut self.rows {
            let line = lines.next().unwrap_or_default();
            let (mut shown, mut width) = (String::new(), 0);
            for character in line.chars() {
                let wide = unicode_width::UnicodeWidthChar::width(character).unwrap_or(0);
                if width + wide > columns {
                    break;
                }
                width += wide;
                shown.push(character);
            }
            let width = u16::try_from(width).unwrap_or(self.size.columns);
            let run = Run { column: 0, width, text: shown, style: Style::default() };
            *row = Row { runs: if width > 0 { vec![run] } else { Vec::new() }, wrapped: false };
        }
    }

    /// The rows as lines, without blanks at their ends and without empty rows at the bottom.
    pub fn to_text(&self) -> String {
        let rows: Vec<String> = self.rows.iter().map(Row::text).collect();
        let filled = rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1);
        rows[..filled].join("\n")
    }

    /// The row of the cursor, or the last one above it that has text: the question of a program that waits.
    pub fn prompt(&self) -> String {
        let above = self.rows.iter().take(usize::from(self.cursor.row) + 1).rev();
        above.map(Row::text).find(|text| !text.is_empty()).unwrap_or_default()
    }
}
