//! What a person would see: an emulator fed with a program's output.
//!
//! The emulator is alacritty's. This module protects it from what it does not guard against itself:
//! - A character that is split over two reads waits for its other half; the parser would lose what follows it.
//! - Synchronized updates are shown at once: a program that never ends one would stop the screen for good.
//! - Commands for the terminal (OSC) are collected up to a limit, and links are left out, so that memory stays bounded
//!   whatever a program prints.
//! - A cell takes a limited number of combining marks.
//!
//! The screen does not depend on the pieces in which output arrives.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use alacritty_terminal::event::{Event, EventListener, WindowSize};
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::term::{Config, Osc52, TermMode};
use alacritty_terminal::vte::ansi::{Color, NamedColor, Processor, Rgb, Timeout};
use alacritty_terminal::{Term, grid};

use super::TerminalSize;
use super::picture::usual_colour;
use super::snapshot::{Colour, Cursor, KeyboardMode, Row, Run, Snapshot, Style};
use crate::text::whole_characters;

/// The most rows that are kept after they scrolled off.
const SCROLLBACK_ROWS: usize = 1000;
/// The most cells in those rows: 24 bytes each, so five megabytes.
const SCROLLBACK_CELLS: usize = 200_000;
/// The longest command for the terminal that the emulator gets: longer than any title, and nothing else matters here.
const COMMAND_BYTES: usize = 1024;
/// The most marks that one cell takes. Languages need three or four.
const MARKS: usize = 8;
/// How many bytes with characters beyond ASCII pass before marks are counted again.
const UNCOUNTED: usize = 64 << 10;
/// The most bytes of answers that wait for a program. One that asks without reading gets no more.
const ANSWER_BYTES: usize = 4096;

/// A terminal's screen.
pub struct Screen {
    term: Term<Ears>,
    parser: Processor<NeverWait>,
    heard: Rc<RefCell<Heard>>,
    size: TerminalSize,
    /// The beginning of a character or of an escape sequence, waiting for the rest.
    held: Vec<u8>,
    /// A command for the terminal that has begun.
    command: Option<TerminalCommand>,
    uncounted: usize,
}

#[derive(Default)]
struct TerminalCommand {
    bytes: Vec<u8>,
    too_long: bool,
}

/// What the emulator reports besides what it shows.
#[derive(Default)]
struct Heard {
    answers: Vec<u8>,
    title: Option<String>,
    bells: u64,
    size: (u16, u16),
}

struct Ears(Rc<RefCell<Heard>>);

impl EventListener for Ears {
    fn send_event(&self, event: Event) {
        let mut heard = self.0.borrow_mut();
        let answer = match event {
            Event::PtyWrite(text) => text,
            Event::ColorRequest(index, answer) => {
                let (r, g, b) = usual_colour(index);
                answer(Rgb { r, g, b })
            }
            Event::TextAreaSizeRequest(answer) => {
                let (num_cols, num_lines) = heard.size;
                answer(WindowSize { num_lines, num_cols, cell_width: 8, cell_height: 16 })
            }
            Event::Title(title) => return heard.title = Some(title),
            Event::ResetTitle => return heard.title = None,
            Event::Bell => return heard.bells += 1,
            _ => return,
        };
        if heard.answers.len() + answer.len() <= ANSWER_BYTES {
            heard.answers.extend_from_slice(answer.as_bytes());
        }
    }
}

/// Synchronized updates never wait.
#[derive(Default)]
struct NeverWait;

impl Timeout for NeverWait {
    fn set_timeout(&mut self, _: Duration) {}
    fn clear_timeout(&mut self) {}
    fn pending_timeout(&self) -> bool {
        false
    }
}

impl Dimensions for TerminalSize {
    fn total_lines(&self) -> usize {
        usize::from(self.rows)
    }

    fn screen_lines(&self) -> usize {
        usize::from(self.rows)
    }

    fn columns(&self) -> usize {
        usize::from(self.columns)
    }
}

impl Screen {
    /// An empty screen. An impossible size becomes the nearest possible one.
    pub fn new(size: TerminalSize) -> Self {
        let size = TerminalSize::nearest(size.columns, size.rows);
        let heard = Rc::new(RefCell::new(Heard { size: (size.columns, size.rows), ..Heard::default() }));
        let term = Term::new(config(size), &size, Ears(Rc::clone(&heard)));
        Self { term, parser: Processor::new(), heard, size, held: Vec::new(), command: None, uncounted: 0 }
    }

    /// Its size.
    pub fn size(&self) -> TerminalSize {
        self.size
    }

    /// Takes the next bytes of output.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.held.is_empty() {
            return self.take(bytes);
        }
        let mut joined = std::mem::take(&mut self.held);
        joined.extend_from_slice(bytes);
        self.take(&joined);
    }

    /// The answers to what the program asked its terminal. Write them to the program's input.
    pub fn take_answers(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.heard.borrow_mut().answers)
    }

    /// Changes the size; rows are wrapped again.
    pub fn resize(&mut self, size: TerminalSize) {
        self.size = TerminalSize::nearest(size.columns, size.rows);
        self.heard.borrow_mut().size = (self.size.columns, self.size.rows);
        self.term.set_options(config(self.size));
        self.term.resize(self.size);
    }

    /// How the program wants the keyboard to behave.
    pub fn keyboard(&self) -> KeyboardMode {
        let mode = self.term.mode();
        KeyboardMode {
            application_cursor: mode.contains(TermMode::APP_CURSOR),
            bracketed_paste: mode.contains(TermMode::BRACKETED_PASTE),
        }
    }

    /// Whether a full-screen program shows the alternate screen.
    pub fn is_alternate(&self) -> bool {
        self.term.mode().contains(TermMode::ALT_SCREEN)
    }

    /// One look at it.
    pub fn snapshot(&self) -> Snapshot {
        let grid = self.term.grid();
        let place = grid.cursor.point;
        let heard = self.heard.borrow();

        Snapshot {
            size: self.size,
            rows: (0..i32::from(self.size.rows)).map(|line| row(&grid[Line(line)], self.size.columns)).collect(),
            cursor: Cursor {
                row: u16::try_from(place.line.0).unwrap_or(0),
                column: u16::try_from(place.column.0).unwrap_or(0),
                visible: self.term.mode().contains(TermMode::SHOW_CURSOR),
            },
            alternate: self.is_alternate(),
            title: heard.title.clone(),
            bells: heard.bells,
            scrolled_off: grid.history_size(),
            keyboard: self.keyboard(),
        }
    }

    /// The rows that scrolled off the top, the oldest first, `most` of them at most.
    pub fn scrollback(&self, most: usize) -> Vec<Row> {
        let grid = self.term.grid();
        let rows = i32::try_from(grid.history_size().min(most)).unwrap_or(0);
        (-rows..0).map(|line| row(&grid[Line(line)], self.size.columns)).collect()
    }

    fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            bytes = if self.command.is_some() { self.take_command(bytes) } else { self.take_text(bytes) };
        }
    }

    /// Shows everything up to the next command for the terminal; returns the rest.
    fn take_text<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        if let Some(place) = memchr::memmem::find(bytes, b"\x1b]") {
            self.show(&bytes[..place]);
            self.command = Some(TerminalCommand::default());
            return &bytes[place + 2..];
        }
        let whole = if bytes.ends_with(b"\x1b") { bytes.len() - 1 } else { whole_characters(bytes) };
        self.show(&bytes[..whole]);
        self.held.extend_from_slice(&bytes[whole..]);
        &[]
    }

    /// Collects a command for the terminal up to its end; returns the rest.
    fn take_command<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let Some(command) = &mut self.command else { return bytes };

        let end = bytes.iter().position(|byte| matches!(byte, 0x07 | 0x18 | 0x1a | 0x1b)).unwrap_or(bytes.len());
        if command.bytes.len() + end <= COMMAND_BYTES {
            command.bytes.extend_from_slice(&bytes[..end]);
        } else {
            command.too_long = true;
        }

        match &bytes[end..] {
            [] => &[],
            // The next byte decides whether this is its end.
            [0x1b] => {
                self.held.push(0x1b);
                &[]
            }
            [0x1b, b'\\', rest @ ..] => self.end_command(b"\x1b\\", rest),
            [0x07, rest @ ..] => self.end_command(b"\x07", rest),
            // Another sequence begins: this one is over.
            [0x1b, ..] => self.end_command(b"\x1b\\", &bytes[end..]),
            [_, rest @ ..] => {
                self.command = None;
                rest
            }
        }
    }

    fn end_command<'a>(&mut self, end: &[u8], rest: &'a [u8]) -> &'a [u8] {
        if let Some(command) = self.command.take().filter(|command| !command.too_long && !is_link(&command.bytes)) {
            let whole = [b"\x1b]".as_slice(), &command.bytes, end].concat();
            self.parser.advance(&mut self.term, &whole);
        }
        rest
    }

    fn show(&mut self, bytes: &[u8]) {
        if bytes.is_ascii() {
            return self.parser.advance(&mut self.term, bytes);
        }
        for part in bytes.chunks(UNCOUNTED) {
            self.parser.advance(&mut self.term, part);
            self.uncounted += part.len();
            if self.uncounted >= UNCOUNTED {
                self.uncounted = 0;
                self.limit_marks();
            }
        }
    }

    /// Takes marks from cells that have more than any language puts on a character.
    fn limit_marks(&mut self) {
        let (rows, columns) = (i32::from(self.size.rows), usize::from(self.size.columns));
        let history = i32::try_from(self.term.grid().history_size()).unwrap_or(0);
        let grid = self.term.grid_mut();
        for line in -history..rows {
            for column in 0..columns {
                let cell = &grid[Line(line)][Column(column)];
                let Some(marks) = cell.zerowidth().filter(|marks| marks.len() > MARKS) else { continue };
                let marks = marks[..MARKS].to_vec();
                let cell = &mut grid[Line(line)][Column(column)];
                cell.extra = None;
                for mark in marks {
                    cell.push_zerowidth(mark);
                }
            }
        }
    }
}

/// A link may be of any length, and different in every cell.
fn is_link(command: &[u8]) -> bool {
    command.starts_with(b"8;")
}

fn config(size: TerminalSize) -> Config {
    let rows = SCROLLBACK_ROWS.min(SCROLLBACK_CELLS / usize::from(size.columns));
    Config { scrolling_history: rows, osc52: Osc52::Disabled, ..Config::default() }
}

fn row(cells: &grid::Row<Cell>, columns: u16) -> Row {
    let mut runs: Vec<Run> = Vec::new();
    for column in 0..columns {
        let cell = &cells[Column(usize::from(column))];
        if cell.flags.intersects(Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER) {
            continue;
        }

        let style = style(cell);
        // The emulator remembers tabs in cells; what is seen is a blank.
        let character = if cell.c.is_control() { ' ' } else { cell.c };
        if character == ' ' && style == Style::default() && cell.zerowidth().is_none_or(<[char]>::is_empty) {
            continue;
        }

        let width = if cell.flags.contains(Flags::WIDE_CHAR) { 2 } else { 1 };
        let run = match runs.last_mut() {
            Some(run) if run.style == style && run.column + run.width == column => run,
            _ => {
                runs.push(Run { column, width: 0, text: String::new(), style });
                let last = runs.len() - 1;
                &mut runs[last]
            }
        };

        run.width += width;
        run.text.push(character);
        run.text.extend(cell.zerowidth().unwrap_or_default().iter().take(MARKS));
    }

    let last = &cells[Column(usize::from(columns) - 1)];
    Row { runs, wrapped: last.flags.contains(Flags::WRAPLINE) }
}

fn style(cell: &Cell) -> Style {
    let has = |flags| cell.flags.intersects(flags);
    Style {
        foreground: colour(cell.fg),
        background: colour(cell.bg),
        bold: has(Flags::BOLD),
        dim: has(Flags::DIM),
        italic: has(Flags::ITALIC),
        underline: has(Flags::ALL_UNDERLINES),
        struck: has(Flags::STRIKEOUT),
        inverse: has(Flags::INVERSE),
        hidden: has(Flags::HIDDEN),
    }
}

fn colour(colour: Color) -> Colour {
    match colour {
        Color::Spec(Rgb { r, g, b }) => Colour::Rgb(r, g, b),
        Color::Indexed(index) => Colour::Indexed(index),
        Color::Named(NamedColor::Foreground | NamedColor::Background | NamedColor::Cursor) => Colour::Usual,
        Color::Named(name) => u8::try_from(name as usize).map_or(Colour::Usual, Colour::Indexed),
    }
}
