//! Text that shows everything that is in it.

/// Text with everything written out that is not seen, or changes what is seen; letters that look like others have their
/// number beside them. Line ends stay.
pub fn visible(text: &str) -> String {
    written_out(text, LineEnds::Kept)
}

/// The same on one line.
pub(super) fn on_one_line(text: &str) -> String {
    written_out(text, LineEnds::WrittenOut)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEnds {
    Kept,
    WrittenOut,
}

fn written_out(text: &str, line_ends: LineEnds) -> String {
    text.chars().fold(String::new(), |mut shown, character| {
        if character == '\n' && line_ends == LineEnds::Kept {
            shown.push(character);
        } else if is_hidden(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
            if looks_like_another(character) {
                shown.push_str(&format!("\u{27e8}U+{:04X}\u{27e9}", u32::from(character)));
            }
        }
        shown
    })
}

/// Whether a character is not seen, moves what is seen, or ends a line for some viewers.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{1680}' | '\u{180b}'..='\u{180f}'
            | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{3000}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffc}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
        || is_combining(character)
}

/// Whether a character is drawn over the one before it.
fn is_combining(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// Whether a character can be taken for an ASCII one: letters of related scripts, wide and mathematical forms, quotes,
/// dashes and slashes.
fn looks_like_another(character: char) -> bool {
    const LETTERS: &str = "\
        \u{430}\u{435}\u{43e}\u{440}\u{441}\u{443}\u{445}\u{456}\u{458}\u{455}\u{4bb}\u{501}\u{51b}\u{51d}\u{475}\u{4cf}\u{43a}\
        \u{410}\u{412}\u{415}\u{41a}\u{41c}\u{41d}\u{41e}\u{420}\u{421}\u{422}\u{423}\u{425}\u{405}\u{406}\u{408}\u{4c0}\u{50c}\
        \u{3b1}\u{3b9}\u{3ba}\u{3bd}\u{3bf}\u{3c1}\u{3c4}\u{3c5}\u{3c7}\u{3b3}\u{3f2}\u{3f3}\
        \u{391}\u{392}\u{395}\u{396}\u{397}\u{399}\u{39a}\u{39c}\u{39d}\u{39f}\u{3a1}\u{3a4}\u{3a5}\u{3a7}\
        \u{131}\u{237}\u{251}\u{261}\u{269}\u{29f}\u{280}\u{1d0f}\u{1d1c}\u{1d20}\u{1d21}\u{1d22}\u{585}\u{578}\u{57d}\u{570}\u{581}\u{561}\u{566}";
    const SIGNS: &str = "\
        \u{2010}\u{2011}\u{2012}\u{2013}\u{2014}\u{2015}\u{2212}\u{fe58}\u{fe63}\u{2043}\u{2044}\u{2215}\u{29f8}\u{2571}\u{3033}\
        \u{2018}\u{2019}\u{201a}\u{201b}\u{201c}\u{201d}\u{201e}\u{201f}\u{2032}\u{2033}\u{2035}\u{2c8}\u{2b9}\u{2bc}\u{60c}\u{37e}\u{a789}\
        \u{2236}\u{ff61}\u{2024}\u{2025}\u{2026}\u{3002}\u{2223}\u{1c0}\u{2758}\u{2216}\u{fe68}\u{29f5}\u{2217}\u{204e}\u{2039}\u{203a}\u{2a7d}\u{2a7e}";
    matches!(character, '\u{ff01}'..='\u{ff5e}' | '\u{1d400}'..='\u{1d7ff}' | '\u{2100}'..='\u{214f}'
        | '\u{2160}'..='\u{217f}' | '\u{24b6}'..='\u{24e9}')
        || LETTERS.contains(character)
        || SIGNS.contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_deceives_the_eye_stays_hidden() {
        assert_eq!(visible("a\u{202e}b\u{200b}c\r\u{1b}[2K\u{feff}"), r"a\u{202e}b\u{200b}c\u{d}\u{1b}[2K\u{feff}");
        assert_eq!(visible("a\u{2028}b\u{a0}c\u{301}"), r"a\u{2028}b\u{a0}c\u{301}");
        assert_eq!(visible("plain\nßü 漢字"), "plain\nßü 漢字");
    }

    #[test]
    fn a_letter_that_looks_like_another_has_its_number_beside_it() {
        assert_eq!(visible("r\u{43c} \u{440}m \u{2013}rf \u{ff0f}"), "rм р⟨U+0440⟩m –⟨U+2013⟩rf ／⟨U+FF0F⟩");
    }

    #[test]
    fn a_line_cannot_be_forged_where_there_is_only_one() {
        assert_eq!(on_one_line("here\nrule none"), r"here\u{a}rule none");
    }
}
