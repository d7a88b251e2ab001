//! Names of files and texts of commands as they are shown to people: whatever is in them, they stay in their line, and a
//! terminal does nothing but print them.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A path relative to the first of these folders that it is in. One with something special in it is in quotes, with
/// escapes as `$'…'` of bash has them.
pub(crate) fn path(roots: &[PathBuf], path: &Path, is_folder: bool) -> String {
    let inside = roots.iter().find_map(|root| path.strip_prefix(root).ok()).filter(|path| !path.as_os_str().is_empty());
    let mut bytes = inside.unwrap_or(path).as_os_str().as_encoded_bytes().to_vec();
    if is_folder {
        bytes.push(b'/');
    }
    name(&bytes)
}

/// The name of a file.
pub(crate) fn name(bytes: &[u8]) -> String {
    let is_plain = |text: &str| !text.is_empty() && !text.chars().any(|one| is_special(one) || one == '\'');
    if let Some(text) = std::str::from_utf8(bytes).ok().filter(|text| is_plain(text)) {
        return text.to_owned();
    }
    let mut text = String::from("$'");
    for chunk in bytes.utf8_chunks() {
        for one in chunk.valid().chars() {
            match one {
                '\'' | '\\' => text.extend(['\\', one]),
                '\n' => text.push_str("\\n"),
                '\t' => text.push_str("\\t"),
                '\r' => text.push_str("\\r"),
                one if one.is_ascii_control() => drop(write!(text, "\\x{:02x}", u32::from(one))),
                one if is_special(one) => drop(write!(text, "\\u{:04x}", u32::from(one))),
                one => text.push(one),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text.push('\'');
    text
}

/// A command in one line.
pub(crate) fn line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().map(|one| if is_special(one) { '\u{fffd}' } else { one }).collect()
}

/// Text of which a terminal does nothing but print it.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let is_meant = |one: char| matches!(one, '\n' | '\t');
    if !text.chars().any(|one| is_special(one) && !is_meant(one)) {
        return Cow::Borrowed(text);
    }
    text.chars().map(|one| if is_special(one) && !is_meant(one) { '\u{fffd}' } else { one }).collect()
}

/// Controls, and what turns the direction of a line around.
fn is_special(one: char) -> bool {
    one.is_control()
        || matches!(one, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_in_its_line_and_can_be_given_to_bash() {
        let cases: [(&[u8], &str); 9] = [
            (b"plain", "plain"),
            (b"with space", "with space"),
            ("\u{e9}t\u{e9}".as_bytes(), "\u{e9}t\u{e9}"),
            (b"a\nb", "$'a\\nb'"),
            (b"\x1b[31mred", "$'\\x1b[31mred'"),
            (b"it's", "$'it\\'s'"),
            (b"\xff", "$'\\xff'"),
            ("a\u{202e}b".as_bytes(), "$'a\\u202eb'"),
            (b"", "$''"),
        ];
        for (bytes, shown) in cases {
            assert_eq!(name(bytes), shown);
        }
    }
}
