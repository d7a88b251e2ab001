//! References as they stand in a text: `{{secret:NAME}}` and `{{decrypt:ID}}`, spelled exactly so.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// What a reference names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReferenceKind {
    /// A secret in a store, by its name.
    Secret,
    /// Something that was encrypted, by its id.
    Decrypt,
}

impl ReferenceKind {
    const ALL: [Self; 2] = [Self::Secret, Self::Decrypt];

    fn word(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::Decrypt => "decrypt",
        }
    }
}

/// One reference. It prints as the token that it is in a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Reference {
    /// What it names.
    pub kind: ReferenceKind,
    /// The name or the id.
    pub name: String,
}

/// The longest name, in bytes.
pub const NAME_BYTES: usize = 64;

impl Reference {
    /// A reference to the secret of this name; `None` if that is not a name.
    pub fn secret(name: &str) -> Option<Self> {
        is_name(name).then(|| Self { kind: ReferenceKind::Secret, name: name.to_owned() })
    }

    /// A reference to what was encrypted under this id; `None` if that is not an id.
    pub fn decrypt(id: &str) -> Option<Self> {
        is_name(id).then(|| Self { kind: ReferenceKind::Decrypt, name: id.to_owned() })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{{{{{}:{}}}}}", self.kind.word(), self.name)
    }
}

/// Whether `text` can be the name of a secret: 1 to 64 letters, digits, `_`, `.` or `-`.
pub fn is_name(text: &str) -> bool {
    (1..=NAME_BYTES).contains(&text.len()) && text.bytes().all(is_name_byte)
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

/// Every reference in `text`, and where it stands.
pub fn find(text: &[u8]) -> Vec<(Range<usize>, Reference)> {
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(place) = memchr::memmem::find(&text[start..], b"{{") {
        start += place;
        match read(&text[start..]) {
            Some((reference, length)) => {
                found.push((start..start + length, reference));
                start += length;
            }
            None => start += 1,
        }
    }
    found
}

/// The reference that `text` begins with, and its length.
fn read(text: &[u8]) -> Option<(Reference, usize)> {
    let inner = text.strip_prefix(b"{{")?;
    let named = |kind: ReferenceKind| Some((kind, inner.strip_prefix(kind.word().as_bytes())?.strip_prefix(b":")?));
    let (kind, rest) = ReferenceKind::ALL.into_iter().find_map(named)?;
    let length = rest.iter().take_while(|byte| is_name_byte(**byte)).count();
    let name = std::str::from_utf8(&rest[..length]).ok().filter(|name| is_name(name))?;
    rest[length..].starts_with(b"}}").then(|| {
        let reference = Reference { kind, name: name.to_owned() };
        let length = reference.to_string().len();
        (reference, length)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        find(text.as_bytes())
            .into_iter()
            .map(|(range, reference)| {
                assert_eq!(&text[range], reference.to_string());
                reference.to_string()
            })
            .collect()
    }

    #[test]
    fn exactly_the_spelling_counts_and_anything_else_is_text() {
        let long = format!("{{{{secret:{}}}}}", "x".repeat(64));
        let too_long = format!("{{{{secret:{}}}}}", "x".repeat(65));
        let cases: [(&str, &[&str]); 20] = [
            ("{{secret:a}}", &["{{secret:a}}"]),
            ("x{{decrypt:uuid-123}}y", &["{{decrypt:uuid-123}}"]),
            ("{{secret:a.b_c-9}}{{secret:b}}", &["{{secret:a.b_c-9}}", "{{secret:b}}"]),
            ("{{{secret:a}}}", &["{{secret:a}}"]),
            ("{{ secret:a}}", &[]),
            ("{{secret: a}}", &[]),
            ("{{secret:a }}", &[]),
            ("{{Secret:a}}", &[]),
            ("{{secret:}}", &[]),
            ("{{secret:a}", &[]),
            ("{secret:a}}", &[]),
            ("{{secret:a/b}}", &[]),
            ("{{secret:\u{e4}}}", &[]),
            ("{{other:x}}", &[]),
            ("${{ secrets.X }}", &[]),
            ("{{}}", &[]),
            ("{{secret:{{secret:a}}}}", &["{{secret:a}}"]),
            ("{{secret:a\n}}", &[]),
            (&long, &[&long]),
            (&too_long, &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(found(text), expected, "{text}");
        }
    }
}
