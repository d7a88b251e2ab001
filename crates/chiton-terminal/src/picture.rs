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
pub fn svg(screen: &Snapshot) -> String {
    let width = f32::from(screen.size.columns) * CELL.0 + 2.0 * MARGIN;
    let height = f32::from(screen.size.rows) * CELL.1 + 2.0 * MARGIN + BAR;
    let mut image = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"'DejaVu Sans Mono', 'Liberation Mono', Menlo, Consolas, monospace\" font-size=\"{FONT}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{}\"/>\n",
        hex(BACKGROUND)
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
        row.runs.iter().for_each(|run| draw(&mut image, run, top));
    }

    if screen.cursor.visible {
        let (x, y) = (left(screen.cursor.column), MARGIN + BAR + f32::from(screen.cursor.row) * CELL.1);
        let (width, height) = CELL;
        let colour = hex(FOREGROUND);
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

fn draw(image: &mut String, run: &Run, top: f32) {
    let (foreground, background) = colours(&run.style);
    let (x, width) = (left(run.column), f32::from(run.width) * CELL.0);
    if background != BACKGROUND {
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

fn colours(style: &Style) -> ((u8, u8, u8), (u8, u8, u8)) {
    let of = |colour, usual| match colour {
        Colour::Usual => usual,
        Colour::Indexed(index) => usual_colour(usize::from(index)),
        Colour::Rgb(red, green, blue) => (red, green, blue),
    };
    let (foreground, background) = (of(style.foreground, FOREGROUND), of(style.background, BACKGROUND));
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
        let image = svg(&screen.snapshot());
        assert!(image.contains("font-weight=\"bold\">&lt;script&gt;</text>"), "{image}");
        assert!(image.contains("<title>a &lt;b&gt; &amp; &quot;c&quot;</title>"), "{image}");
        assert!(image.contains(&hex(NAMED[1])) && image.contains(&hex(NAMED[4])), "{image}");
        assert!(image.contains("\u{4e16}") && image.contains("textLength=\"16.8\""), "two columns wide: {image}");
        assert!(image.contains("fill-opacity=\"0.55\""), "the cursor: {image}");
        screen.feed(b"\x1b[?25l");
        assert!(!svg(&screen.snapshot()).contains("fill-opacity=\"0.55\""));
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
