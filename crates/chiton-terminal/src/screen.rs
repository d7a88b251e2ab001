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
//!
//! The emulator gets plain output only when somebody looks, or something else comes ([`super::backlog`]).

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
use super::backlog::{Backlog, Room, is_plain};
use super::picture::usual_colour;
use super::sequences::SequenceTracker;
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

/// The most bytes of plain output that wait to be shown: more than a screen with what scrolled off it has, as a rule.
const BACKLOG_BYTES: usize = 256 << 10;

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
    sequences: SequenceTracker,
    /// Plain output that the emulator did not get yet.
    backlog: Backlog,
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
        Self::with_backlog(size, BACKLOG_BYTES)
    }

    fn with_backlog(size: TerminalSize, most: usize) -> Self {
        let size = TerminalSize::nearest(size.columns, size.rows);
        let heard = Rc::new(RefCell::new(Heard { size: (size.columns, size.rows), ..Heard::default() }));
        let term = Term::new(config(size), &size, Ears(Rc::clone(&heard)));
        Self {
            term,
            parser: Processor::new(),
            heard,
            size,
            held: Vec::new(),
            command: None,
            uncounted: 0,
            sequences: SequenceTracker::default(),
            backlog: Backlog::new(most),
        }
    }

    /// Its size.
    pub fn size(&self) -> TerminalSize {
        self.size
    }

    /// Takes the next bytes of output.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.can_wait() && is_plain(bytes) {
            let (rows, history) = (usize::from(self.size.rows), config(self.size).scrolling_history);
            // Those that fill the screen and what is kept of what scrolled off it. Before them, as many as the screen has
            // rows may be written over what was there.
            if self.backlog.add(bytes, history + 2 * rows) == Room::Used {
                self.catch_up();
            }
        } else {
            self.catch_up();
            self.feed_now(bytes);
        }
    }

    /// Shows everything that has come. Whoever looks sees that in any case; this is for choosing the time.
    pub fn catch_up(&mut self) {
        if let Some((instead, bytes)) = self.backlog.take(usize::from(self.size.rows)) {
            self.feed_now(&instead);
            self.feed_now(&bytes);
        }
    }

    /// Whether text that comes now can be shown later: it moves the whole screen where it scrolls, and what scrolls off
    /// is kept.
    fn can_wait(&self) -> bool {
        self.held.is_empty() && self.command.is_none() && self.sequences.is_plain() && !self.is_alternate()
    }

    fn feed_now(&mut self, bytes: &[u8]) {
        self.sequences.follow(bytes);
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
        self.catch_up();
        self.sequences.note_resize();
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
    pub fn snapshot(&mut self) -> Snapshot {
        self.catch_up();
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
    pub fn scrollback(&mut self, most: usize) -> Vec<Row> {
        self.catch_up();
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A few lines, or so many that most of them leave no trace; text of all kinds, and what programs do besides.
    fn output() -> impl Strategy<Value = Vec<u8>> {
        let line = prop_oneof![
            Just("y".to_owned()),
            Just(String::new()),
            "[ -~]{1,12}",
            "[a-c]{20,45}",
            "\t?[a\u{e9}\u{4e16}e\u{301}\u{200b}\u{85}]{0,8}\u{8}?",
        ];
        let end = prop_oneof![8 => Just("\r\n"), 1 => Just("\n"), 1 => Just("\r"), 1 => Just("")];
        let flood = (line, end, prop_oneof![3 => 1usize..4, 2 => 1000usize..1500])
            .prop_map(|(line, end, times)| format!("{line}{end}").repeat(times).into_bytes());
        let other = proptest::sample::select(vec![
            "\x1b[31m", "\x1b[0m", "\x1b[44m", "\x1b[2;3r", "\x1b[r", "\x1bc", "\x1b[3A", "\x1b[2;2H", "\x1b[5b",
            "\x1b[?1049h", "\x1b[?1049l", "\x1b[?7l", "\x1b[?7h", "\x1b[4h", "\x1b[20h", "\x1b[", "\x1bP", "\x1b\\",
            "\x1b", "\x07", "\x0e", "\x1b)0", "\x0f", "\x1b7", "\x1b8", "\x1b[6n", "\x1b]0;t\x07", "\x1b]0;", "\x18",
            "\x1b[2J", "\x1b[K", "\x1b[L", "\x1bH", "\x1bM", "\x0b",
        ]);
        let broken = proptest::sample::select(vec![&b"\xff\xc2"[..], b"\x80", b"\xe4\xb8", b"\x96", b"\xf0\x9f"]);
        prop_oneof![
            6 => flood,
            4 => other.prop_map(|text| text.as_bytes().to_vec()),
            1 => broken.prop_map(<[u8]>::to_vec),
        ]
    }

    /// Everything that can be told apart about a screen.
    fn seen(screen: &mut Screen) -> (Snapshot, Vec<Row>, Vec<u8>) {
        (screen.snapshot(), screen.scrollback(usize::MAX), screen.take_answers())
    }

    proptest! {
        #[test]
        fn what_is_shown_late_is_shown_as_if_it_had_been_shown_at_once(
            outputs in proptest::collection::vec((output(), any::<bool>()), 1..20),
            size in (2u16..12, 1u16..6),
            piece in prop_oneof![1usize..10, 100usize..3000],
        ) {
            let size = TerminalSize { columns: size.0, rows: size.1 };
            let (mut late, mut at_once) = (Screen::with_backlog(size, 12 << 10), Screen::new(size));
            for (output, looks) in outputs {
                for piece in output.chunks(piece) {
                    late.feed(piece);
                    at_once.feed_now(piece);
                }
                if looks {
                    prop_assert_eq!(seen(&mut late), seen(&mut at_once));
                }
            }
            // What a program did before shows in what it does next.
            for last in [&b"\x1b[3b|"[..], b"\x18\x1b[3b|", b"x\tx\x1b[3bend\r\n\n\n\x1b8x"] {
                late.feed(last);
                at_once.feed_now(last);
                prop_assert_eq!(seen(&mut late), seen(&mut at_once));
            }
        }
    }

    #[test]
    fn most_of_a_flood_is_never_shown_to_the_emulator_and_little_waits() {
        let mut screen = Screen::new(TerminalSize::USUAL);
        let lines: Vec<String> = (0..200_000).map(|number| format!("line {number}\r\n")).collect();
        for piece in lines.concat().as_bytes().chunks(4096) {
            screen.feed(piece);
            assert_eq!(screen.term.grid().history_size(), 0, "nothing was shown yet");
        }
        assert!(screen.snapshot().to_text().ends_with("line 199998\nline 199999"));
        assert_eq!(screen.scrollback(1)[0].text(), "line 199976");
        assert_eq!(screen.scrollback(usize::MAX)[0].text(), "line 198977");
    }
}
