//! The terminal that [`Top`](super::Top) is drawn on: taken over, drawn on where something changed, given back.

use std::io::{self, BufWriter, Stdout, Write};
use std::panic;
use std::sync::Once;

use chiton_engine::terminal::snapshot::{Colour, Style};
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::style::{Attribute, Color, Print, SetAttribute, SetBackgroundColor, SetForegroundColor};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use crossterm::{execute, queue};

use super::canvas::{Canvas, Cell};

/// The terminal of this program, taken over. It is given back when this is dropped.
pub struct Terminal {
    output: BufWriter<Stdout>,
    /// What is on it.
    shown: Canvas,
}

impl Terminal {
    /// Takes the terminal over.
    pub fn open() -> io::Result<Self> {
        give_back_in_a_panic();
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen, Hide)?;
        // The size that nothing has, so that the first drawing is of everything.
        Ok(Self { output: BufWriter::new(io::stdout()), shown: Canvas::new(0, 0) })
    }

    /// Draws what `draw` puts on a blank canvas, as far as it differs from what is there.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Canvas)) -> io::Result<()> {
        let (width, height) = size()?;
        let mut wanted = Canvas::new(width, height);
        draw(&mut wanted);

        if self.shown.size() != wanted.size() {
            queue!(self.output, SetAttribute(Attribute::Reset), Clear(ClearType::All))?;
            self.shown = Canvas::new(width, height);
        }
        queue!(self.output, Hide)?;
        write_changes(&mut self.output, &self.shown, &wanted)?;
        if let Some((column, row)) = wanted.cursor {
            queue!(self.output, MoveTo(column, row), Show)?;
        }
        self.output.flush()?;
        self.shown = wanted;
        Ok(())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        give_back();
    }
}

fn give_back() {
    let _ = execute!(io::stdout(), SetAttribute(Attribute::Reset), Show, LeaveAlternateScreen);
    let _ = disable_raw_mode();
}

/// Has a panic print on the usual screen, where it can be read.
fn give_back_in_a_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |what| {
            give_back();
            before(what);
        }));
    });
}

/// Writes in each row what is between the first and the last cell that differ.
fn write_changes(output: &mut impl Write, shown: &Canvas, wanted: &Canvas) -> io::Result<()> {
    let mut style = Style::default();
    queue!(output, SetAttribute(Attribute::Reset))?;
    for row in 0..wanted.size().1 {
        let (old, new) = (shown.row(row), wanted.row(row));
        let differs = |at: &usize| old[*at] != new[*at];
        let Some(mut first) = (0..new.len()).find(differs) else { continue };
        let last = (first..new.len()).rfind(differs).unwrap_or(first);
        // A wide character is written whole.
        while first > 0 && (new[first].covered || old[first].covered) {
            first -= 1;
        }
        queue!(output, MoveTo(u16::try_from(first).unwrap_or(u16::MAX), row))?;
        for cell in new[first..=last].iter().filter(|cell| !cell.covered) {
            if cell.style != style {
                style = cell.style;
                write_style(output, style)?;
            }
            queue!(output, Print(written(cell)))?;
        }
    }
    if style != Style::default() {
        queue!(output, SetAttribute(Attribute::Reset))?;
    }
    Ok(())
}

fn written(cell: &Cell) -> &str {
    if cell.text.is_empty() { " " } else { &cell.text }
}

fn write_style(output: &mut impl Write, style: Style) -> io::Result<()> {
    queue!(output, SetAttribute(Attribute::Reset))?;
    let attributes = [
        (style.bold, Attribute::Bold),
        (style.dim, Attribute::Dim),
        (style.italic, Attribute::Italic),
        (style.underline, Attribute::Underlined),
        (style.struck, Attribute::CrossedOut),
        (style.inverse, Attribute::Reverse),
        (style.hidden, Attribute::Hidden),
    ];
    for (_, attribute) in attributes.into_iter().filter(|(is_on, _)| *is_on) {
        queue!(output, SetAttribute(attribute))?;
    }
    if let Some(colour) = colour(style.foreground) {
        queue!(output, SetForegroundColor(colour))?;
    }
    if let Some(colour) = colour(style.background) {
        queue!(output, SetBackgroundColor(colour))?;
    }
    Ok(())
}

fn colour(colour: Colour) -> Option<Color> {
    match colour {
        Colour::Usual => None,
        Colour::Indexed(number) => Some(Color::AnsiValue(number)),
        Colour::Rgb(r, g, b) => Some(Color::Rgb { r, g, b }),
    }
}

#[cfg(test)]
mod tests {
    use chiton_engine::terminal::{Screen, TerminalSize};

    use super::*;

    const TEXTS: [&str; 8] = [
        "",
        "plain words",
        "漢字 and more",
        "a漢b字c漢d字e",
        "  ",
        "e\u{301}e\u{301}e\u{301}",
        "x",
        "漢字漢字漢字漢字漢字漢字",
    ];

    /// A screen that got only changes shows what one shows that got everything, for each step from one picture to another.
    #[test]
    fn changes_lead_from_any_picture_to_any_other() {
        let styles = [
            Style::default(),
            Style { bold: true, foreground: Colour::Indexed(3), ..Style::default() },
            Style { inverse: true, background: Colour::Rgb(1, 2, 3), ..Style::default() },
        ];
        let picture = |number: usize| {
            let mut canvas = Canvas::new(14, 3);
            for row in 0..3u16 {
                let place = number + usize::from(row) * 3;
                let column = u16::try_from(number % 3).unwrap();
                canvas.put(row, column, 14 - column, TEXTS[place % TEXTS.len()], styles[place % styles.len()]);
            }
            canvas
        };
        let pictures: Vec<Canvas> = (0..24).map(picture).collect();
        let size = TerminalSize::nearest(14, 3);
        for from in &pictures {
            for to in &pictures {
                let (mut changed, mut afresh) = (Screen::new(size), Screen::new(size));
                let mut bytes = Vec::new();
                write_changes(&mut bytes, &Canvas::new(14, 3), from).unwrap();
                write_changes(&mut bytes, from, to).unwrap();
                changed.feed(&bytes);
                let mut bytes = Vec::new();
                write_changes(&mut bytes, &Canvas::new(14, 3), to).unwrap();
                afresh.feed(&bytes);
                let rows = |screen: &mut Screen| {
                    let rows = screen.snapshot().rows;
                    rows.iter().map(|row| (row.text(), seen(&row.runs))).collect::<Vec<_>>()
                };
                assert_eq!(rows(&mut changed), rows(&mut afresh), "from {from:?}\nto {to:?}");
                for row in 0..3u16 {
                    let wanted: String = to.row(row).iter().filter(|cell| !cell.covered).map(written).collect();
                    assert_eq!(rows(&mut changed)[usize::from(row)].0.trim_end(), wanted.trim_end());
                }
            }
        }
    }

    /// The runs in which there is something to see: a blank may have been written or not.
    fn seen(runs: &[chiton_engine::terminal::snapshot::Run]) -> Vec<(u16, String, Style)> {
        let runs = runs.iter().filter(|run| !run.text.trim().is_empty() || run.style != Style::default());
        runs.map(|run| (run.column, run.text.trim_end().to_owned(), run.style)).collect()
    }

    #[test]
    fn nothing_is_written_where_nothing_changed() {
        let mut canvas = Canvas::new(20, 2);
        canvas.put(0, 0, 20, "the same", Style::default());
        let mut bytes = Vec::new();
        write_changes(&mut bytes, &canvas, &canvas.clone()).unwrap();
        assert_eq!(bytes, b"\x1b[0m");
    }
}
