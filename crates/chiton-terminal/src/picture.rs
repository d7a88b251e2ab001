//! A look at a screen as an SVG, for people, who should not have to read escape sequences.
//!
//! The text stays text, so it can be searched and copied. Fonts are the viewer's; each stretch states its width, so that
//! columns line up whatever the font.

use std::fmt::Write;

use super::snapshot::{Colour, Run, Snapshot, Style};

/// One character, in pixels.
const CELL: (f32, f32) = (8.4, 17.0);
const MARGIN: f32 = 12.0;
/// The bar above the screen, for its title.
const BAR: f32 = 28.0;
const FONT: f32 = 14.0;

const FOREGROUND: (u8, u8, u8) = (0xd8, 0xde, 0xe9);
const BACKGROUND: (u8, u8, u8) = (0x1b, 0x1f, 0x27);
/// The sixteen colours that have names.
const NAMED: [(u8, u8, u8); 16] = [
    (0x3b, 0x42, 0x52),
    (0xe0, 0x6c, 0x75),
    (0x98, 0xc3, 0x79),
    (0xe5, 0xc0, 0x7b),
    (0x61, 0xaf, 0xef),
    (0xc6, 0x78, 0xdd),
    (0x56, 0xb6, 0xc2),
    (0xd8, 0xde, 0xe9),
    (0x6b, 0x74, 0x86),
    (0xff, 0x7b, 0x86),
    (0xb5, 0xe8, 0x90),
    (0xff, 0xd8, 0x8a),
    (0x82, 0xc4, 0xff),
    (0xdf, 0x93, 0xf5),
    (0x70, 0xd6, 0xe3),
    (0xff, 0xff, 0xff),
];

const LIGHT_FOREGROUND: (u8, u8, u8) = (0x24, 0x29, 0x2f);
const LIGHT_BACKGROUND: (u8, u8, u8) = (0xf6, 0xf8, 0xfa);
/// The sixteen on a light ground: dark enough to be read there, white and black change places.
const LIGHT_NAMED: [(u8, u8, u8); 16] = [
    (0x24, 0x29, 0x2f),
    (0xb3, 0x1d, 0x28),
    (0x11, 0x63, 0x29),
    (0x7a, 0x55, 0x00),
    (0x03, 0x55, 0xb8),
    (0x7b, 0x2c, 0xa3),
    (0x0e, 0x68, 0x78),
    (0x4b, 0x53, 0x5d),
    (0x6a, 0x73, 0x7d),
    (0xcf, 0x22, 0x2e),
    (0x1a, 0x7f, 0x37),
    (0x9a, 0x67, 0x00),
    (0x09, 0x69, 0xda),
    (0x82, 0x50, 0xdf),
    (0x13, 0x7c, 0x8e),
    (0x24, 0x29, 0x2f),
];

/// The colours of a picture where the program has not chosen its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// Light on dark, as most terminals are.
    #[default]
    Dark,
    /// Dark on light, for pages that are.
    Light,
}

impl Scheme {
    fn foreground(self) -> (u8, u8, u8) {
        match self {
            Self::Dark => FOREGROUND,
            Self::Light => LIGHT_FOREGROUND,
        }
    }

    fn background(self) -> (u8, u8, u8) {
        match self {
            Self::Dark => BACKGROUND,
            Self::Light => LIGHT_BACKGROUND,
        }
    }

    /// The colour of this number of the 256.
    fn indexed(self, index: u8) -> (u8, u8, u8) {
        match (self, LIGHT_NAMED.get(usize::from(index))) {
            (Self::Light, Some(colour)) => *colour,
            _ => usual_colour(usize::from(index)),
        }
    }

    /// The line around the window: a light one would not stand out from its page.
    fn frame(self) -> &'static str {
        match self {
            Self::Dark => "",
            Self::Light => " stroke=\"#d0d7de\"",
        }
    }
}

/// The colour of this number: the 256, then foreground, background and cursor.
pub(crate) fn usual_colour(index: usize) -> (u8, u8, u8) {
    let level = |step: usize| if step == 0 { 0 } else { u8::try_from(55 + step * 40).unwrap_or(255) };
    match index {
        0..=15 => NAMED[index],
        16..=231 => {
            let place = index - 16;
            (level(place / 36), level(place / 6 % 6), level(place % 6))
        }
        232..=255 => {
            let grey = u8::try_from(8 + (index - 232) * 10).unwrap_or(255);
            (grey, grey, grey)
        }
        257 => BACKGROUND,
        _ => FOREGROUND,
    }
}

/// The screen as an SVG.
pub fn svg(screen: &Snapshot, scheme: Scheme) -> String {
    let width = f32::from(screen.size.columns) * CELL.0 + 2.0 * MARGIN;
    let height = f32::from(screen.size.rows) * CELL.1 + 2.0 * MARGIN + BAR;
    let mut image = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"'DejaVu Sans Mono', 'Liberation Mono', Menlo, Consolas, monospace\" font-size=\"{FONT}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{}\"{}/>\n",
        hex(scheme.background()),
        scheme.frame()
    );

    for (place, light) in ["#ff5f57", "#febc2e", "#28c840"].iter().enumerate() {
        let x = MARGIN + 6.0 + 18.0 * f32::from(u8::try_from(place).unwrap_or(0));
        let _ = writeln!(image, "<circle cx=\"{x:.1}\" cy=\"17\" r=\"5.5\" fill=\"{light}\"/>");
    }

    if let Some(title) = &screen.title {
        let _ = writeln!(
            image,
            "<title>{0}</title>\n<text x=\"{1:.1}\" y=\"21\" fill=\"#8892a4\" text-anchor=\"middle\" font-size=\"12\">{0}</text>",
            escaped(title),
            width / 2.0
        );
    }

    for (number, row) in (0u16..).zip(&screen.rows) {
        let top = MARGIN + BAR + f32::from(number) * CELL.1;
        row.runs.iter().for_each(|run| draw(&mut image, run, top, scheme));
    }

    if screen.cursor.visible {
        let (x, y) = (left(screen.cursor.column), MARGIN + BAR + f32::from(screen.cursor.row) * CELL.1);
        let (width, height) = CELL;
        let colour = hex(scheme.foreground());
        let _ = writeln!(
            image,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width}\" height=\"{height}\" fill=\"{colour}\" fill-opacity=\"0.55\"/>"
        );
    }

    image.push_str("</svg>\n");
    image
}

fn left(column: u16) -> f32 {
    MARGIN + f32::from(column) * CELL.0
}

fn draw(image: &mut String, run: &Run, top: f32, scheme: Scheme) {
    let (foreground, background) = colours(&run.style, scheme);
    let (x, width) = (left(run.column), f32::from(run.width) * CELL.0);
    if background != scheme.background() {
        let (colour, height) = (hex(background), CELL.1);
        let _ = writeln!(
            image,
            "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>"
        );
    }

    if run.style.hidden || run.text.trim().is_empty() {
        return;
    }

    let Style { bold, italic, underline, struck, dim, .. } = run.style;
    let lines = match (underline, struck) {
        (false, false) => "",
        (true, false) => " text-decoration=\"underline\"",
        (false, true) => " text-decoration=\"line-through\"",
        (true, true) => " text-decoration=\"underline line-through\"",
    };
    let _ = writeln!(
        image,
        "<text x=\"{x:.1}\" y=\"{:.1}\" fill=\"{}\" textLength=\"{width:.1}\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\"{}{}{}{lines}>{}</text>",
        top + 13.0,
        hex(foreground),
        if bold { " font-weight=\"bold\"" } else { "" },
        if italic { " font-style=\"italic\"" } else { "" },
        if dim { " fill-opacity=\"0.6\"" } else { "" },
        escaped(&run.text)
    );
}

fn colours(style: &Style, scheme: Scheme) -> ((u8, u8, u8), (u8, u8, u8)) {
    let of = |colour, usual| match colour {
        Colour::Usual => usual,
        Colour::Indexed(index) => scheme.indexed(index),
        Colour::Rgb(red, green, blue) => (red, green, blue),
    };
    let foreground = of(style.foreground, scheme.foreground());
    let background = of(style.background, scheme.background());
    if style.inverse { (background, foreground) } else { (foreground, background) }
}

fn hex((red, green, blue): (u8, u8, u8)) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Text for XML, which allows few control characters.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            other if other.is_control() => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Screen, TerminalSize};

    #[test]
    fn a_picture_shows_text_colours_and_the_cursor_and_nothing_can_break_out_of_it() {
        let mut screen = Screen::new(TerminalSize { columns: 20, rows: 3 });
        screen.feed(b"\x1b]0;a <b> & \"c\"\x07\x1b[1;31m<script>\x1b[0m ok\r\n\x1b[44m\xe4\xb8\x96\x1b[0m");
        let image = svg(&screen.snapshot(), Scheme::Dark);
        assert!(image.contains("font-weight=\"bold\">&lt;script&gt;</text>"), "{image}");
        assert!(image.contains("<title>a &lt;b&gt; &amp; &quot;c&quot;</title>"), "{image}");
        assert!(image.contains(&hex(NAMED[1])) && image.contains(&hex(NAMED[4])), "{image}");
        assert!(image.contains("\u{4e16}") && image.contains("textLength=\"16.8\""), "two columns wide: {image}");
        assert!(image.contains("fill-opacity=\"0.55\""), "the cursor: {image}");
        screen.feed(b"\x1b[?25l");
        assert!(!svg(&screen.snapshot(), Scheme::Dark).contains("fill-opacity=\"0.55\""));
    }

    #[test]
    fn a_light_picture_has_dark_text_and_keeps_the_colours_that_a_program_chose_itself() {
        let mut screen = Screen::new(TerminalSize { columns: 40, rows: 2 });
        screen.feed(b"plain \x1b[33mnamed\x1b[0m \x1b[38;2;1;2;3mown\x1b[0m \x1b[7minverse\x1b[0m");
        let image = svg(&screen.snapshot(), Scheme::Light);
        let fills = |colour, text: &str| {
            let line = image.lines().find(|line| line.contains(&format!(">{text}")));
            line.is_some_and(|line| line.contains(&format!("fill=\"{}\"", hex(colour))))
        };
        assert!(fills(LIGHT_FOREGROUND, "plain") && fills(LIGHT_NAMED[3], "named"), "{image}");
        assert!(fills((1, 2, 3), "own") && fills(LIGHT_BACKGROUND, "inverse"), "{image}");
        assert!(!image.contains(&hex(BACKGROUND)) && !image.contains(&hex(FOREGROUND)), "{image}");
    }

    #[test]
    fn the_256_colours_are_those_of_an_xterm() {
        for (index, colour) in
            [(16, (0, 0, 0)), (196, (255, 0, 0)), (231, (255, 255, 255)), (232, (8, 8, 8)), (255, (238, 238, 238))]
        {
            assert_eq!(usual_colour(index), colour, "{index}");
        }
    }
}
