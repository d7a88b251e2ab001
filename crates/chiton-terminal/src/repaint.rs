//! A look at a screen as output that makes another terminal show the same.

use super::snapshot::{Colour, Snapshot, Style};

/// Brings a terminal back to what a shell expects after it showed another screen.
pub const RESTORE: &str =
    "\x1b[0m\x1b[?7h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?1l\x1b>\x1b[?25h";

/// The screen, cursor and keyboard modes included.
pub fn repaint(screen: &Snapshot) -> Vec<u8> {
    let mut out = String::from(if screen.alternate { "\x1b[?1049h" } else { "\x1b[?1049l" });
    // Without wrapping, what does not fit a smaller window is cut and disturbs nothing else.
    out.push_str("\x1b[?7l\x1b[0m\x1b[H\x1b[2J");

    for (number, row) in (1..).zip(&screen.rows) {
        for run in &row.runs {
            out.push_str(&format!("\x1b[{number};{}H{}{}", run.column + 1, look(&run.style), run.text));
        }
    }

    let (row, column) = (screen.cursor.row + 1, screen.cursor.column + 1);
    let switch = |number: u16, on: bool| format!("\x1b[?{number}{}", if on { 'h' } else { 'l' });
    out.push_str(&format!("\x1b[0m\x1b[?7h\x1b[{row};{column}H"));
    out.push_str(&switch(25, screen.cursor.visible));
    out.push_str(&switch(1, screen.keyboard.application_cursor));
    out.push_str(&switch(2004, screen.keyboard.bracketed_paste));
    out.into_bytes()
}

fn look(style: &Style) -> String {
    let mut codes = String::from("0");
    let flags = [
        (style.bold, 1),
        (style.dim, 2),
        (style.italic, 3),
        (style.underline, 4),
        (style.inverse, 7),
        (style.hidden, 8),
        (style.struck, 9),
    ];
    for (_, code) in flags.iter().filter(|(on, _)| *on) {
        codes += &format!(";{code}");
    }
    codes += &colour(style.foreground, 38);
    codes += &colour(style.background, 48);
    format!("\x1b[{codes}m")
}

fn colour(colour: Colour, which: u8) -> String {
    match colour {
        Colour::Usual => String::new(),
        Colour::Indexed(index) => format!(";{which};5;{index}"),
        Colour::Rgb(red, green, blue) => format!(";{which};2;{red};{green};{blue}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Screen, TerminalSize};

    #[test]
    fn a_repainted_screen_is_the_same_screen() {
        let outputs: [&[u8]; 4] = [
            b"plain\r\ntext",
            b"\x1b[1;31mred\x1b[0m \x1b[48;5;200;38;2;1;2;3;4;7mfancy\x1b[0m\x1b[5;10Hfar\x1b[?25l",
            "\x1b[?1049h\x1b[?1h\x1b[?2004h\u{4e16}\u{754c} e\u{301}\x1b[10;20H\x1b[9mx".as_bytes(),
            b"\x1b[24;70Hlast row",
        ];
        for output in outputs {
            let mut first = Screen::new(TerminalSize::USUAL);
            first.feed(output);
            let mut second = Screen::new(TerminalSize::USUAL);
            second.feed(b"something else\r\n\x1b[31mbefore");
            second.feed(&repaint(&first.snapshot()));
            let (mut first, mut second) = (first.snapshot(), second.snapshot());
            (first.scrolled_off, second.scrolled_off) = (0, 0);
            assert_eq!(first, second, "{}", output.escape_ascii());
        }
    }
}
