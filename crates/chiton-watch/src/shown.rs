//! Text of a machine, made safe to show to a person.

use chiton_engine::terminal::text::plain;

/// Characters of a line that are shown.
const LINE: usize = 400;

/// The last line of some output that has anything on it, as plain text.
pub(crate) fn last_line(output: &[u8]) -> String {
    let text = plain(output);
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    cut(&harmless(line.trim_end()), LINE)
}

/// A text without anything that is not seen, or that moves what is seen: each such character becomes the sign for one that
/// cannot be shown. Line ends and tabs stay.
pub(crate) fn harmless(text: &str) -> String {
    text.chars().map(|character| if deceives(character) { char::REPLACEMENT_CHARACTER } else { character }).collect()
}

/// The first characters of a text, and a sign where there were more.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn deceives(character: char) -> bool {
    (character.is_control() && !matches!(character, '\n' | '\t'))
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_last_that_says_something() {
        let cases: [(&[u8], &str); 6] = [
            (b"one\ntwo\n", "two"),
            (b"one\n\n  \n", "one"),
            (b"", ""),
            (b"\x1b[31mred\x1b[0m\r\n", "red"),
            (b"10%\r20%\r30%", "30%"),
            (b"a\x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07", "alink"),
        ];
        for (output, expected) in cases {
            assert_eq!(last_line(output), expected, "{}", output.escape_ascii());
        }
    }

    #[test]
    fn nothing_that_turns_the_text_around_is_left() {
        assert_eq!(harmless("a\u{202e}b\u{200b}c\u{7}d\te\nf"), "a\u{fffd}b\u{fffd}c\u{fffd}d\te\nf");
        assert_eq!(harmless("ßü 漢字 שלום"), "ßü 漢字 שלום");
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        assert_eq!(cut("äöü", 2), "äö…");
        assert_eq!(cut("äöü", 3), "äöü");
        assert!(last_line(&vec![b'x'; 100_000]).chars().count() <= LINE + 1);
    }
}
