//! Bytes as text: escape sequences taken out, progress bars drawn once, characters never split.

mod escapes;
mod full_screen;
mod line;
mod plain;

pub use full_screen::{ScreenAtEnd, draws_on_screen, outside_full_screen};
pub use plain::{PlainText, plain, plain_text};

/// The length of `bytes` without an unfinished character at its end.
pub fn whole_characters(bytes: &[u8]) -> usize {
    let start = bytes.len().saturating_sub(3);
    for place in (start..bytes.len()).rev() {
        let wanted = match bytes[place] {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => return bytes.len(),
        };
        return if bytes.len() - place < wanted { place } else { bytes.len() };
    }
    bytes.len()
}

/// How many bytes at the start are the rest of a character that began before.
pub fn continuation_bytes(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| (0x80..=0xbf).contains(*byte)).count()
}
