//! Output as plain text: no escape sequence is left, and what a program drew over itself appears once, as it was last.
//!
//! 1. [`super::escapes`] takes the sequences out, however they are split over reads.
//! 2. Carriage returns, backspaces and the sequences that move within a line or erase in it take effect, so that a
//!    progress bar is one line. So does moving up, within the last lines, so that several bars stay several lines.
//! 3. A line that nothing was drawn over goes out byte for byte.
//!
//! Memory is bounded: lines go out when there are enough of them, and one that is too long goes out in parts. Control
//! characters that a terminal ignores stay: they separate records.

use std::collections::VecDeque;

use super::escapes::{Escapes, Sequence, Token};
use super::line::Line;

/// How many lines a program can go back: more than any set of progress bars has.
const WINDOW: usize = 100;
/// The most bytes in those lines together.
const WINDOW_BYTES: usize = 1 << 20;
/// A longer line goes out in parts, and only the last part can still change.
const LINE_BYTES: usize = 64 << 10;
/// A program that goes to the far right means the right margin, which text does not have.
const FAR_RIGHT: usize = 250;

/// Turns output into plain text, piece by piece.
pub struct PlainText {
    escapes: Escapes,
    page: Page,
}

/// The last lines and the place where the next character goes.
struct Page {
    lines: VecDeque<Line>,
    row: usize,
    /// `None` at the end of a line that nothing was drawn over.
    column: Option<usize>,
    /// Lines that are kept for going back, and the bytes in them.
    window: usize,
    bytes: usize,
}

impl PlainText {
    /// For text that is wanted as a whole: a line waits until it can no longer change.
    pub fn new() -> Self {
        Self::with_window(WINDOW)
    }

    /// For text that is wanted as it arrives: a line goes out when it ends.
    pub fn following() -> Self {
        Self::with_window(0)
    }

    fn with_window(window: usize) -> Self {
        let page = Page { lines: [Line::default()].into(), row: 0, column: None, window, bytes: 0 };
        Self { escapes: Escapes::default(), page }
    }

    /// Takes the next bytes; what can no longer change goes to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let Self { escapes, page } = self;
        escapes.push(bytes, &mut |token| match token {
            Token::Text(text) => page.text(text, out),
            Token::Control(control) => page.control(control, out),
            Token::Sequence(sequence) => page.sequence(&sequence, out),
        });
    }

    /// Writes the rest to `out`.
    pub fn finish(mut self, out: &mut Vec<u8>) {
        let page = &mut self.page;
        self.escapes.finish(&mut |text| page.text(text, &mut *out));
        page.settle();
        while page.lines.len() > 1 {
            page.send_first(out);
        }
        std::mem::take(page.line()).write(out);
    }
}

impl Default for PlainText {
    fn default() -> Self {
        Self::new()
    }
}

/// Output as plain text, all at once.
pub fn plain(bytes: &[u8]) -> Vec<u8> {
    let (mut text, mut out) = (PlainText::new(), Vec::with_capacity(bytes.len()));
    text.push(bytes, &mut out);
    text.finish(&mut out);
    out
}

/// A text as plain text, all at once.
pub fn plain_text(text: &str) -> String {
    if Escapes::are_none_in(text.as_bytes()) {
        return text.to_owned();
    }
    String::from_utf8_lossy(&plain(text.as_bytes())).into_owned()
}

impl Page {
    fn line(&mut self) -> &mut Line {
        &mut self.lines[self.row]
    }

    fn text(&mut self, text: &[u8], out: &mut Vec<u8>) {
        match self.column {
            Some(0) if self.lines[self.row].is_empty() => {
                self.column = None;
                self.line().append(text);
            }
            None => self.line().append(text),
            Some(column) => self.column = Some(self.line().put(column, text)),
        }
        if self.line().size() > LINE_BYTES && self.row + 1 == self.lines.len() {
            while self.lines.len() > 1 {
                self.send_first(out);
            }
            std::mem::take(self.line()).write(out);
            self.column = None;
        }
    }

    fn settle(&mut self) {
        if let Some(column) = self.line().settle() {
            self.column = Some(column);
        }
    }

    fn control(&mut self, control: u8, out: &mut Vec<u8>) {
        self.settle();
        match control {
            b'\n' => self.next_line(out),
            b'\r' => self.column = Some(0),
            0x08 => {
                let place = self.place();
                self.move_to(place.saturating_sub(1));
            }
            _ => {}
        }
    }

    fn next_line(&mut self, out: &mut Vec<u8>) {
        self.row += 1;
        if self.row < self.lines.len() {
            self.column = Some(0);
            return;
        }
        self.bytes += self.lines[self.row - 1].size();
        self.lines.push_back(Line::default());
        self.column = None;
        while self.lines.len() > self.window + 1 || (self.bytes > WINDOW_BYTES && self.lines.len() > 1) {
            self.send_first(out);
        }
    }

    fn send_first(&mut self, out: &mut Vec<u8>) {
        let Some(first) = self.lines.pop_front() else { return };
        self.bytes = self.bytes.saturating_sub(first.size());
        self.row = self.row.saturating_sub(1);
        first.write(out);
        out.push(b'\n');
    }

    /// The column where the next character goes.
    fn place(&mut self) -> usize {
        self.column.unwrap_or_else(|| self.lines[self.row].width())
    }

    fn move_to(&mut self, column: usize) {
        self.column = Some(column.min(FAR_RIGHT.max(self.line().width())));
    }

    fn sequence(&mut self, sequence: &Sequence, out: &mut Vec<u8>) {
        self.settle();
        let count = usize::from(sequence.number(0).max(1));

        match sequence.name() {
            "C" | "a" => {
                let place = self.place();
                self.move_to(place + count);
            }
            "D" => {
                let place = self.place();
                self.move_to(place.saturating_sub(count));
            }
            "G" | "`" => self.move_to(count - 1),
            "A" | "F" | "B" | "E" => self.move_rows(sequence.name(), count),
            "K" => self.erase_in_line(sequence.number(0)),
            "J" if sequence.number(0) == 0 => self.erase_below(),
            "P" => self.edit(|line, column| line.delete(column, count)),
            "@" => self.edit(|line, column| line.insert(column, count)),
            "X" => self.edit(|line, column| line.blank(column, column + count)),
            // About the screen as a whole: what follows does not belong to the current line.
            "H" | "f" | "d" | "J" | "ESC c" | "?h" | "?l" if sequence.is_about_the_screen() => self.new_page(out),
            "ESC E" | "ESC D" => self.next_line(out),
            "ESC M" => self.move_rows("A", 1),
            _ => {}
        }
    }

    fn edit(&mut self, change: impl FnOnce(&mut Line, usize)) {
        let column = self.place();
        self.column = Some(column);
        change(self.line(), column);
    }

    fn move_rows(&mut self, direction: &str, count: usize) {
        let column = if matches!(direction, "E" | "F") { 0 } else { self.place() };
        self.row = match direction {
            "A" | "F" => self.row.saturating_sub(count),
            _ => (self.row + count).min(self.lines.len() - 1),
        };
        self.column = Some(column);
    }

    fn erase_in_line(&mut self, part: u16) {
        match (part, self.column) {
            (0, Some(column)) => self.line().cut(column),
            (1, _) => self.edit(|line, column| line.blank(0, column + 1)),
            (2, _) => self.edit(|line, _| line.cut(0)),
            // At the end of a line there is nothing to the right.
            _ => {}
        }
    }

    fn erase_below(&mut self) {
        self.erase_in_line(0);
        for line in self.lines.iter_mut().skip(self.row + 1) {
            line.cut(0);
        }
    }

    fn new_page(&mut self, out: &mut Vec<u8>) {
        self.row = self.lines.len() - 1;
        if !self.line().is_empty() {
            self.next_line(out);
        }
    }
}

#[cfg(test)]
#[path = "plain_tests.rs"]
mod tests;
