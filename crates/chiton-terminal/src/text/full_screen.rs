//! Lines of output, told from what a full-screen program draws.

use super::escapes::{Escapes, Token};

/// The modes that switch to the alternate screen and back.
const ALTERNATE: [&str; 3] = ["47", "1047", "1049"];

/// Which screen a text was written to at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenAtEnd {
    /// The one that lines scroll on.
    Main,
    /// The one that full-screen programs draw on.
    Alternate,
}

/// A text without what was drawn on the alternate screen, where lines do not follow each other.
pub fn outside_full_screen(text: &str, end: ScreenAtEnd) -> String {
    let switches = switches(text);
    // A text that begins within a full-screen program shows how that ends, or never does.
    let mut inside = switches.first().map_or(end == ScreenAtEnd::Alternate, |first| !first.enters);
    let (mut out, mut place) = (String::new(), 0);
    for switch in switches {
        if !inside {
            out.push_str(&text[place..switch.start]);
        }
        (inside, place) = (switch.enters, switch.end);
    }
    if !inside {
        out.push_str(&text[place..]);
    }
    out
}

/// Whether a text goes to places on the screen, or clears it: what a program draws like that is not lines.
pub fn draws_on_screen(text: &str) -> bool {
    let mut draws = false;
    Escapes::default().push(text.as_bytes(), &mut |token| {
        draws |= matches!(token, Token::Sequence(sequence) if sequence.is_about_the_screen());
    });
    draws
}

/// A sequence that switches between the two screens.
struct Switch {
    start: usize,
    end: usize,
    enters: bool,
}

fn switches(text: &str) -> Vec<Switch> {
    let found = text.match_indices("\u{1b}[?").filter_map(|(start, opening)| {
        let rest = &text[start + opening.len()..];
        let length = rest.find(|character: char| !character.is_ascii_digit() && character != ';')?;
        let enters = match rest.as_bytes()[length] {
            b'h' => true,
            b'l' => false,
            _ => return None,
        };
        let is_switch = rest[..length].split(';').any(|mode| ALTERNATE.contains(&mode));
        is_switch.then_some(Switch { start, end: start + opening.len() + length + 1, enters })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_printed_outside_a_full_screen_program_is_left() {
        let (main, alternate) = (ScreenAtEnd::Main, ScreenAtEnd::Alternate);
        let cases = [
            ("plain\n", main, "plain\n"),
            ("$ vim\n\u{1b}[?1049hdrawn\u{1b}[?1049l$ ", main, "$ vim\n$ "),
            ("a\u{1b}[?1049;25hdrawn\u{1b}[?25h more\u{1b}[?47lb", main, "ab"),
            ("drawn before\u{1b}[?1049ldone\n", main, "done\n"),
            ("start\n\u{1b}[?1049hdrawn", alternate, "start\n"),
            ("drawn all the time", alternate, ""),
            ("\u{1b}[?25lhidden cursor\u{1b}[?2004h", main, "\u{1b}[?25lhidden cursor\u{1b}[?2004h"),
            ("broken off \u{1b}[?10", main, "broken off \u{1b}[?10"),
        ];
        for (text, end, expected) in cases {
            assert_eq!(outside_full_screen(text, end), expected, "{text:?}");
        }
    }

    #[test]
    fn going_to_a_place_is_drawing_and_going_back_in_a_line_is_not() {
        for text in ["\u{1b}[H", "\u{1b}[3;5Hx", "\u{1b}[2J", "\u{1b}[?1049h", "a\u{1b}[7d"] {
            assert!(draws_on_screen(text), "{text:?}");
        }
        for text in ["", "50%\r60%\r\u{1b}[Kdone\n", "\u{1b}[31mred\u{1b}[0m", "\u{1b}[2A\u{1b}[Kup", "\u{1b}[0J"] {
            assert!(!draws_on_screen(text), "{text:?}");
        }
    }
}
