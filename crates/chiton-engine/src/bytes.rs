//! Bytes that are usually text: shell values, names and paths may hold any byte but NUL.
//!
//! To machines they travel as bytes; in files that people read they are a string, or `{"hex": …}` where they are not
//! valid UTF-8, so nothing is lost either way.

use std::borrow::Borrow;
use std::ffi::OsString;
use std::fmt;
use std::ops::Deref;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

/// A string of arbitrary bytes.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteString(Vec<u8>);

impl ByteString {
    /// The bytes as text, damaged places replaced.
    pub fn to_text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    /// The bytes as the name of a file.
    pub(crate) fn into_path(self) -> PathBuf {
        OsString::from_vec(self.0).into()
    }

    pub(crate) fn into_vec(self) -> Vec<u8> {
        self.0
    }
}

/// A path on the wire: serde takes only those that are UTF-8.
pub(crate) mod path_as_bytes {
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::ByteString;

    pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        ByteString::from(path.as_os_str().as_bytes()).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        ByteString::deserialize(deserializer).map(ByteString::into_path)
    }
}

/// Characters in bytes that arrive in pieces: every byte that does not continue one begins one.
pub fn characters(bytes: &[u8]) -> u64 {
    if bytes.is_ascii() {
        return bytes.len() as u64;
    }
    let begins = |byte: &u8| u8::from(!(0x80..0xc0).contains(byte));
    // A block whose count fits into one byte, so that the compiler counts many bytes at a time.
    bytes.chunks(255).map(|chunk| u64::from(chunk.iter().map(begins).sum::<u8>())).sum()
}

/// Ends of lines, and characters as [`characters`] counts them.
pub(crate) fn lines_and_characters(bytes: &[u8]) -> (u64, u64) {
    (memchr::memchr_iter(b'\n', bytes).count() as u64, characters(bytes))
}

impl Deref for ByteString {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for ByteString {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl<T: Into<Vec<u8>>> From<T> for ByteString {
    fn from(bytes: T) -> Self {
        Self(bytes.into())
    }
}

impl fmt::Debug for ByteString {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "\"{}\"", self.0.escape_ascii())
    }
}

impl Serialize for ByteString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return serializer.serialize_bytes(&self.0);
        }
        if let Ok(text) = std::str::from_utf8(&self.0) {
            return serializer.serialize_str(text);
        }
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("hex", &encode_hex(&self.0))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for ByteString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_any(ByteVisitor)
        } else {
            deserializer.deserialize_byte_buf(ByteVisitor)
        }
    }
}

struct ByteVisitor;

impl<'de> Visitor<'de> for ByteVisitor {
    type Value = ByteString;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string, bytes, or {\"hex\": \"…\"}")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ByteString, E> {
        Ok(text.into())
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<ByteString, E> {
        Ok(bytes.into())
    }

    fn visit_byte_buf<E: de::Error>(self, bytes: Vec<u8>) -> Result<ByteString, E> {
        Ok(bytes.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ByteString, A::Error> {
        let (key, value): (String, String) =
            map.next_entry()?.ok_or_else(|| de::Error::custom("an empty object where bytes were expected"))?;
        if key != "hex" {
            return Err(de::Error::unknown_field(&key, &["hex"]));
        }
        decode_hex(&value).map(ByteString).ok_or_else(|| de::Error::custom("not a hexadecimal string"))
    }
}

/// Lower-case hexadecimal digits of `bytes`.
pub(crate) fn encode_hex(bytes: &[u8]) -> String {
    use fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

pub(crate) fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_survive_json_and_the_wire() {
        for bytes in [&b""[..], b"plain", "gr\u{fc}n".as_bytes(), &[0xff, 0x00, b'a'], &[0xc3]] {
            let value = ByteString::from(bytes);
            let json = serde_json::to_string(&value).unwrap();
            assert_eq!(serde_json::from_str::<ByteString>(&json).unwrap(), value, "{json}");
            let wire = postcard::to_stdvec(&value).unwrap();
            assert_eq!(postcard::from_bytes::<ByteString>(&wire).unwrap(), value);
        }
    }
}
