//! The ways in which programs write a value, besides base64 and hexadecimal: percent signs, JSON, shell quotes.

use std::fmt::Write;

use data_encoding::{HEXLOWER, HEXUPPER};

/// Percent-encoding: letters, digits and `plain` stay, the rest is written in one of the two cases.
pub(super) fn percent(bytes: &[u8], plain: Plain, upper: bool) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len() * 3);
    for byte in bytes {
        match plain {
            Plain::Form if *byte == b' ' => text.push(b'+'),
            Plain::Nothing => append_percent(&mut text, *byte, upper),
            _ if byte.is_ascii_alphanumeric() || plain.also().contains(byte) => text.push(*byte),
            _ => append_percent(&mut text, *byte, upper),
        }
    }
    text
}

fn append_percent(text: &mut Vec<u8>, byte: u8, upper: bool) {
    let digits = if upper { HEXUPPER } else { HEXLOWER };
    text.push(b'%');
    text.extend_from_slice(digits.encode(&[byte]).as_bytes());
}

/// Which characters stay as they are besides letters and digits. Programs differ in that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plain {
    /// `curl --data-urlencode`, `jq @uri`.
    Unreserved,
    /// Python's `quote`.
    Path,
    /// JavaScript's `encodeURIComponent`.
    Component,
    /// JavaScript's `encodeURI`.
    Whole,
    /// HTML forms: a space is a plus.
    Form,
    /// Not even letters stay.
    Nothing,
}

impl Plain {
    pub(super) const ALL: [Self; 6] =
        [Self::Unreserved, Self::Path, Self::Component, Self::Whole, Self::Form, Self::Nothing];

    fn also(self) -> &'static [u8] {
        match self {
            Self::Unreserved => b"-_.~",
            Self::Path => b"-_.~/",
            Self::Component => b"-_.!~*'()",
            Self::Whole => b"-_.!~*'();/?:@&=+$,#",
            Self::Form => b"-_.*",
            Self::Nothing => b"",
        }
    }
}

/// Which characters a JSON writer escapes besides those it must.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JsonStyle {
    /// Everything beyond ASCII, as Python does.
    pub(super) ascii: bool,
    /// `<`, `>` and `&`, as Go does.
    pub(super) html: bool,
    /// The slash, as PHP does.
    pub(super) slash: bool,
    /// Digits above nine in upper case.
    pub(super) upper: bool,
}

/// The inside of a JSON string.
pub(super) fn json(text: &str, style: JsonStyle) -> Vec<u8> {
    let mut out = String::with_capacity(text.len() * 2);
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '/' if style.slash => out.push_str("\\/"),
            '\0'..'\u{20}' | '\u{7f}' => append_unicode(&mut out, character, style.upper),
            '<' | '>' | '&' if style.html => append_unicode(&mut out, character, style.upper),
            _ if style.ascii && !character.is_ascii() => append_unicode(&mut out, character, style.upper),
            _ => out.push(character),
        }
    }
    out.into_bytes()
}

fn append_unicode(out: &mut String, character: char, upper: bool) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        let _ = if upper { write!(out, "\\u{unit:04X}") } else { write!(out, "\\u{unit:04x}") };
    }
}

/// As `printf %q` writes it: a backslash before everything that means something to a shell.
pub(super) fn backslashed(value: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.len() * 2);
    for (place, byte) in value.iter().enumerate() {
        let special = b"\t\n !\"$&'()*,;<>?[\\]^`{|}".contains(byte)
            || (*byte == b'#' && place == 0)
            || (*byte == b'~' && (place == 0 || matches!(value[place - 1], b':' | b'=')));
        if special {
            text.push(b'\\');
        }
        text.push(*byte);
    }
    text
}

/// The inside of single quotes: `set -x`, `${x@Q}`, `alias`.
pub(super) fn single_quoted(value: &[u8]) -> Vec<u8> {
    replace(value, |byte| (byte == b'\'').then_some(&b"'\\''"[..]))
}

/// The inside of double quotes, as `declare -p` writes it.
pub(super) fn double_quoted(value: &[u8]) -> Vec<u8> {
    replace(value, |byte| match byte {
        b'"' => Some(b"\\\""),
        b'$' => Some(b"\\$"),
        b'`' => Some(b"\\`"),
        b'\\' => Some(b"\\\\"),
        _ => None,
    })
}

/// The body of a here document.
pub(super) fn in_heredoc(value: &[u8]) -> Vec<u8> {
    replace(value, |byte| match byte {
        b'$' => Some(b"\\$"),
        b'`' => Some(b"\\`"),
        b'\\' => Some(b"\\\\"),
        _ => None,
    })
}

/// The inside of `$'…'`; with `octal`, everything beyond ASCII as numbers, as in the C locale.
pub(super) fn ansi_c(value: &[u8], octal: bool) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.len() * 2);
    for byte in value {
        match byte {
            0x07 => text.extend_from_slice(b"\\a"),
            0x08 => text.extend_from_slice(b"\\b"),
            0x1b => text.extend_from_slice(b"\\E"),
            0x0c => text.extend_from_slice(b"\\f"),
            b'\n' => text.extend_from_slice(b"\\n"),
            b'\r' => text.extend_from_slice(b"\\r"),
            b'\t' => text.extend_from_slice(b"\\t"),
            0x0b => text.extend_from_slice(b"\\v"),
            b'\\' | b'\'' => text.extend_from_slice(&[b'\\', *byte]),
            0x20..=0x7e => text.push(*byte),
            0x80.. if !octal => text.push(*byte),
            _ => text.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
        }
    }
    text
}

fn replace(value: &[u8], by: impl Fn(u8) -> Option<&'static [u8]>) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.len() * 2);
    for byte in value {
        match by(*byte) {
            Some(other) => text.extend_from_slice(other),
            None => text.push(*byte),
        }
    }
    text
}
