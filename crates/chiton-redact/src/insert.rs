//! A value is put into a command so that it is data, whatever it contains.
//!
//! The quotes around a reference are closed, the value follows in quotes of its own, and they are opened again: so it
//! is part of exactly one word. Bodies of here-documents have no quotes; there the value stands as it is, and what
//! would be expanded is escaped.

use std::ops::Range;

use zeroize::Zeroizing;

use super::place::{Heredoc, Located, Place, places};
use super::reference::Reference;
use chiton_shell::quote::{append_quoted_on_one_line, append_single_quoted};

/// A reference that stands where no value can be put.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reference} cannot be resolved in this place: {why}. Nothing was started")]
pub struct InsertError {
    /// The reference.
    pub reference: Reference,
    /// Why.
    pub why: String,
}

/// Which quotes the shell knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quotes {
    /// Those of bash, `$'…'` among them.
    Bash,
    /// Those that every POSIX shell knows.
    Posix,
}

/// A reference in a text, and its value.
pub struct Known<'a> {
    /// Where it stands.
    pub range: Range<usize>,
    /// The reference.
    pub reference: &'a Reference,
    /// The value.
    pub value: &'a [u8],
}

/// `command` with the values of these references, in order, put in.
pub fn into_command(command: &[u8], known: &[Known<'_>], quotes: Quotes) -> Result<Zeroizing<Vec<u8>>, InsertError> {
    let ranges: Vec<Range<usize>> = known.iter().map(|known| known.range.clone()).collect();
    let mut resolved = Zeroizing::new(Vec::with_capacity(command.len() * 2));
    let mut told = 0;
    let mut bodies = Vec::new();
    for (known, located) in known.iter().zip(places(command, &ranges)) {
        let refuse = |why: String| InsertError { reference: known.reference.clone(), why };
        resolved.extend_from_slice(&command[told..known.range.start]);
        let start = resolved.len();
        let written = write(known, &located, quotes).map_err(refuse)?;
        resolved.extend_from_slice(&written);
        told = known.range.end;
        if let Place::Heredoc(heredoc) = located.place {
            bodies.push((start..resolved.len(), heredoc, known.reference));
        }
    }
    resolved.extend_from_slice(&command[told..]);
    for (range, heredoc, reference) in bodies {
        if ends_early(&resolved, range, &heredoc) {
            let why = "the value has a line that would end the here-document".to_owned();
            return Err(InsertError { reference: reference.clone(), why });
        }
    }
    Ok(resolved)
}

/// `text`, which is no command, with the values put in.
pub fn into_text(text: &[u8], known: &[Known<'_>]) -> Zeroizing<Vec<u8>> {
    let mut resolved = Zeroizing::new(Vec::with_capacity(text.len() * 2));
    let mut told = 0;
    for known in known {
        resolved.extend_from_slice(&text[told..known.range.start]);
        resolved.extend_from_slice(known.value);
        told = known.range.end;
    }
    resolved.extend_from_slice(&text[told..]);
    resolved
}

fn write(known: &Known<'_>, located: &Located, quotes: Quotes) -> Result<Zeroizing<Vec<u8>>, String> {
    let value = known.value;
    if let Some(reader) = &located.code_of
        && !value.iter().all(|byte| is_inert(*byte))
    {
        return Err(format!(
            "`{reader}` reads it as code, and the value has characters that would mean something there; hand it over as an \
             argument or in the environment"
        ));
    }
    if located.declared && value.trim_ascii_start().starts_with(b"(") {
        return Err("a declaration may read a value that begins with ( as a list; assign it without one".to_owned());
    }
    let quoted = |before: &[u8], after: &[u8]| {
        let mut text = Zeroizing::new(before.to_vec());
        match quotes {
            Quotes::Bash => append_quoted_on_one_line(&mut text, value),
            Quotes::Posix => append_single_quoted(&mut text, value),
        }
        text.extend_from_slice(after);
        text
    };
    let mut text = match &located.place {
        Place::Word => quoted(b"", b""),
        Place::Double => quoted(b"\"", b"\""),
        Place::Single => quoted(b"'", b"'"),
        Place::AnsiC if quotes == Quotes::Bash => quoted(b"'", b"$'"),
        Place::AnsiC => return Err("a plain sh does not know $'…'".to_owned()),
        Place::Heredoc(heredoc) => body(value, heredoc)?,
        Place::Comment => Zeroizing::new(known.reference.to_string().into_bytes()),
        Place::Unfit(why) => return Err((*why).to_owned()),
    };
    for _ in 0..located.backticks {
        text = escaped(&text, b"\\`$");
    }
    Ok(text)
}

/// Whether a shell takes this byte for nothing but itself, wherever it stands.
fn is_inert(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_./:@%+,-".contains(&byte)
}

fn escaped(text: &[u8], special: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut out = Zeroizing::new(Vec::with_capacity(text.len() * 2));
    for byte in text {
        if special.contains(byte) {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out
}

fn body(value: &[u8], heredoc: &Heredoc) -> Result<Zeroizing<Vec<u8>>, String> {
    if heredoc.strips_tabs && (value.starts_with(b"\t") || memchr::memmem::find(value, b"\n\t").is_some()) {
        return Err("the value has a line that begins with a tab, and this here-document drops those".to_owned());
    }
    // Bash keeps two bytes for itself, and they do not survive in a body.
    if value.iter().any(|byte| matches!(byte, 0x01 | 0x7f)) {
        return Err("the value has a control character that does not survive in a here-document".to_owned());
    }
    Ok(if heredoc.quoted { Zeroizing::new(value.to_vec()) } else { escaped(value, b"\\`$") })
}

/// Whether any line that `range` touches is the one that ends the here-document.
fn ends_early(text: &[u8], range: Range<usize>, heredoc: &Heredoc) -> bool {
    let start = memchr::memrchr(b'\n', &text[..range.start]).map_or(0, |newline| newline + 1);
    let end = memchr::memchr(b'\n', &text[range.end..]).map_or(text.len(), |newline| range.end + newline);
    text[start..end].split(|byte| *byte == b'\n').any(|line| {
        let tabs = line.iter().take_while(|byte| heredoc.strips_tabs && **byte == b'\t').count();
        line[tabs..] == heredoc.delimiter
    })
}

#[cfg(test)]
mod tests;
