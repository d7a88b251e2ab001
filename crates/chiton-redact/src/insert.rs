//! Values are put into a command as data, whatever they contain.
//!
//! 1. [`chiton_shell::Survey`] says where each reference stands: how it is quoted, what it is part of, who reads it as
//!    code. Where that is not certain, or no value can stand there as data, the command is refused with the reason.
//! 2. The quotes around a reference are closed, the value follows in quotes of its own, and they are opened again: so it
//!    is part of exactly one word. Bodies of here documents have no quotes; there the value stands as it is, and what
//!    would be expanded is escaped.

use std::ops::Range;

use chiton_shell::SyntaxError;
use chiton_shell::place::{Enclosure, Quoting, Role};
use chiton_shell::quote::{append_quoted_on_one_line, append_single_quoted};
use chiton_shell::reader::{Language, NamedReader};
use chiton_shell::survey::{Preceding, Site, Survey};
use chiton_shell::tree::{HereDocument, Script};
use zeroize::Zeroizing;

use super::reference::Reference;

/// The most references that a command may hold: each is looked up in the whole of it.
pub const MOST_REFERENCES: usize = 1000;

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

/// `command` with the values of these references, in order, put in. `parsed` is what [`chiton_shell::parse`] says about
/// it.
pub fn into_command(
    command: &[u8],
    parsed: Result<&Script, &SyntaxError>,
    known: &[Known<'_>],
    quotes: Quotes,
) -> Result<Zeroizing<Vec<u8>>, InsertError> {
    let Some(first) = known.first() else { return Ok(Zeroizing::new(command.to_vec())) };
    let refuse = |known: &Known<'_>, why: String| InsertError { reference: known.reference.clone(), why };
    let unreadable = |why: &dyn std::fmt::Display| format!("the command cannot be read for certain: {why}");
    if known.len() > MOST_REFERENCES {
        return Err(refuse(first, format!("the command names more than {MOST_REFERENCES} references")));
    }
    let script =
        parsed.map_err(|error| match known.iter().find(|known| command[..known.range.start].ends_with(b"$")) {
            Some(known) => refuse(known, AFTER_DOLLAR.to_owned()),
            None => refuse(first, unreadable(error)),
        })?;

    let survey = Survey::of(script, command);
    let mut resolved = Zeroizing::new(Vec::with_capacity(command.len() * 2));
    let mut copied = 0;
    let mut bodies = Vec::new();
    for known in known {
        let site = survey.at(known.range.start);
        let written = write(known, &site, &survey, quotes).map_err(|why| refuse(known, why))?;
        resolved.extend_from_slice(&command[copied..known.range.start]);
        let start = resolved.len();
        resolved.extend_from_slice(&written);
        copied = known.range.end;
        if let Some(here) = site.here {
            bodies.push((start..resolved.len(), here, known));
        }
    }
    resolved.extend_from_slice(&command[copied..]);

    // Each reference has its own reason before this one, which is about the whole.
    if let Some(doubt) = script.places.doubt() {
        return Err(refuse(first, unreadable(&doubt)));
    }
    for (range, here, known) in bodies {
        if ends_early(&resolved, range, here) {
            return Err(refuse(known, "the value has a line that would end the here document".to_owned()));
        }
    }
    Ok(resolved)
}

const AFTER_DOLLAR: &str = "a $ stands before it";

/// `text`, which is not a command, with the values put in.
pub fn into_text(text: &[u8], known: &[Known<'_>]) -> Zeroizing<Vec<u8>> {
    let mut resolved = Zeroizing::new(Vec::with_capacity(text.len() * 2));
    let mut copied = 0;
    for known in known {
        resolved.extend_from_slice(&text[copied..known.range.start]);
        resolved.extend_from_slice(known.value);
        copied = known.range.end;
    }
    resolved.extend_from_slice(&text[copied..]);
    resolved
}

fn write(
    known: &Known<'_>,
    site: &Site<'_>,
    survey: &Survey<'_>,
    quotes: Quotes,
) -> Result<Zeroizing<Vec<u8>>, String> {
    let value = known.value;
    if site.place.role == Role::Comment {
        return Ok(Zeroizing::new(known.reference.to_string().into_bytes()));
    }
    let objection = objection(site).or_else(|| {
        let end = survey.at(known.range.end - 1).place;
        (end != site.place).then_some("the text around it ends in the middle of it")
    });
    if let Some(why) = objection {
        return Err(why.to_owned());
    }
    if let Some(reader) = site.reader.as_ref().filter(|reader| !is_inert(value, reader)) {
        return Err(format!(
            "`{}` reads it as code, and the value has characters that would mean something there; hand it over as an \
             argument or in the environment",
            reader.name
        ));
    }
    if site.is_declared && value.trim_ascii_start().starts_with(b"(") {
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
    let mut text = match (site.place.quoting, site.here) {
        (Quoting::Bare, _) => quoted(b"", b""),
        (Quoting::Double, _) => quoted(b"\"", b"\""),
        (Quoting::Single, _) => quoted(b"'", b"'"),
        (Quoting::Ansi, _) if quotes == Quotes::Bash => quoted(b"'", b"$'"),
        (Quoting::Ansi, _) => return Err("a plain sh does not know $'…'".to_owned()),
        (Quoting::HereExpanded | Quoting::HereLiteral, Some(here)) => body(value, here)?,
        (Quoting::Escaped | Quoting::HereExpanded | Quoting::HereLiteral, _) => {
            return Err("a backslash stands before it".to_owned());
        }
    };
    for _ in 0..site.place.backticks {
        text = escaped(&text, b"\\`$");
    }
    Ok(text)
}

/// Why no value can stand there as data, where that is so.
fn objection(site: &Site<'_>) -> Option<&'static str> {
    match site.preceding {
        Some(Preceding::Backslash) => return Some("a backslash stands before it"),
        Some(Preceding::Dollar) => return Some(AFTER_DOLLAR),
        None => {}
    }

    match site.place.enclosure {
        Some(Enclosure::Parameter) => return Some("it is inside ${…}"),
        Some(Enclosure::Index) => return Some("it is an index there, with which bash calculates"),
        Some(Enclosure::Arithmetic) => return Some("it is inside an arithmetic expression"),
        None => {}
    }

    if site.is_descriptor {
        return Some("it is behind >& or <&, where bash reads it twice");
    }
    if site.place.backticks_in_quotes {
        return Some("it is between backticks in double quotes: write $(…)");
    }
    if site.place.backticks > 0 && site.here.is_some() {
        return Some("it is in a here document with backticks around or in it: write $(…)");
    }
    if site.names_command {
        return Some("it is the name of a command there");
    }

    match site.place.role {
        Role::HereDelimiter => Some("it is the delimiter of a here document there"),
        Role::AssignmentName => Some("it is the name of a variable there"),
        Role::Argument
        | Role::AssignmentValue
        | Role::RedirectionTarget
        | Role::HereString
        | Role::HereBody
        | Role::Subject => None,
        _ => Some("it is part of the command's syntax there"),
    }
}

/// Whether `reader` takes `value` for nothing but itself, wherever it stands in its code.
fn is_inert(value: &[u8], reader: &NamedReader) -> bool {
    let marks: &[u8] = match reader.language {
        Language::Shell => b"_./:@%+,-",
        Language::Other => b"_.-",
    };
    value.iter().all(|byte| byte.is_ascii_alphanumeric() || marks.contains(byte))
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

fn body(value: &[u8], here: &HereDocument) -> Result<Zeroizing<Vec<u8>>, String> {
    if here.strips_tabs && (value.starts_with(b"\t") || memchr::memmem::find(value, b"\n\t").is_some()) {
        return Err("the value has a line that begins with a tab, and this here document drops those".to_owned());
    }
    // Bash keeps two bytes for itself, and they do not survive in a body.
    if value.iter().any(|byte| matches!(byte, 0x01 | 0x7f)) {
        return Err("the value has a control character that does not survive in a here document".to_owned());
    }
    Ok(if here.quoted { Zeroizing::new(value.to_vec()) } else { escaped(value, b"\\`$") })
}

/// Whether any line that `range` touches is the one that ends the here document.
fn ends_early(text: &[u8], range: Range<usize>, here: &HereDocument) -> bool {
    let start = memchr::memrchr(b'\n', &text[..range.start]).map_or(0, |newline| newline + 1);
    let end = memchr::memchr(b'\n', &text[range.end..]).map_or(text.len(), |newline| range.end + newline);
    text[start..end].split(|byte| *byte == b'\n').any(|line| {
        let tabs = line.iter().take_while(|byte| here.strips_tabs && **byte == b'\t').count();
        line[tabs..] == here.delimiter
    })
}

#[cfg(test)]
mod tests;
