//! The header: for each reader a stanza with the key of the file, and a sum that only who has that key can make.
//!
//! ```text
//! age-encryption.org/v1
//! -> X25519 SHARE
//! BODY
//! --- SUM
//! ```

use data_encoding::BASE64_NOPAD;
use hmac::{Hmac, KeyInit, Mac};
use memchr::memchr;
use sha2::Sha256;

use super::{FileKey, OpenError, derive};

const VERSION: &str = "age-encryption.org/v1";
const STANZA: &str = "-> ";
const END: &str = "---";
const COLUMNS: usize = 64;

/// The key of the file, for one reader.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stanza {
    /// Its kind, then what belongs to that.
    pub(super) words: Vec<String>,
    pub(super) body: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Header<'a> {
    pub(super) stanzas: Vec<Stanza>,
    /// What the sum is of.
    summed: &'a [u8],
    sum: Vec<u8>,
}

impl Header<'_> {
    /// Makes sure that nobody changed it.
    pub(super) fn check(&self, file_key: &FileKey) -> Result<(), OpenError> {
        summing(file_key, self.summed).verify_slice(&self.sum).map_err(|_| OpenError::Header)
    }
}

pub(super) fn write(stanza: &Stanza, file_key: &FileKey) -> String {
    let mut text = format!("{VERSION}\n{STANZA}{}\n", stanza.words.join(" "));
    let body = BASE64_NOPAD.encode(&stanza.body);
    let mut rest = body.as_str();
    while rest.len() >= COLUMNS {
        let (line, after) = rest.split_at(COLUMNS);
        text += line;
        text.push('\n');
        rest = after;
    }
    // The last line is shorter than the others, and empty if it has to be: so it is known to be the last.
    text += rest;
    text.push('\n');
    text += END;
    let sum = summing(file_key, text.as_bytes()).finalize().into_bytes();
    format!("{text} {}\n", BASE64_NOPAD.encode(&sum))
}

/// The header of a file, and what comes after it.
pub(super) fn read(file: &[u8]) -> Result<(Header<'_>, &[u8]), OpenError> {
    let mut lines = Lines { file, at: 0 };
    match lines.next() {
        Ok(VERSION) => {}
        _ => return Err(OpenError::NotAge),
    }
    let mut stanzas = Vec::new();
    loop {
        let start = lines.at;
        let line = lines.next()?;
        if let Some(words) = line.strip_prefix(STANZA) {
            stanzas.push(Stanza { words: read_words(words)?, body: read_body(&mut lines)? });
            continue;
        }
        let sum = line.strip_prefix(END).and_then(|rest| rest.strip_prefix(' ')).ok_or(OpenError::Header)?;
        let sum = BASE64_NOPAD.decode(sum.as_bytes()).map_err(|_| OpenError::Header)?;
        let summed = &file[..start + END.len()];
        return Ok((Header { stanzas, summed, sum }, &file[lines.at..]));
    }
}

struct Lines<'a> {
    file: &'a [u8],
    at: usize,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Result<&'a str, OpenError> {
        let rest = &self.file[self.at..];
        let end = memchr(b'\n', rest).ok_or(OpenError::Header)?;
        self.at += end + 1;
        std::str::from_utf8(&rest[..end]).map_err(|_| OpenError::Header)
    }
}

fn read_words(line: &str) -> Result<Vec<String>, OpenError> {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let is_word = |word: &String| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic());
    if words.iter().all(is_word) { Ok(words) } else { Err(OpenError::Header) }
}

fn read_body(lines: &mut Lines<'_>) -> Result<Vec<u8>, OpenError> {
    let mut body = Vec::new();
    loop {
        let line = lines.next()?;
        if line.len() > COLUMNS {
            return Err(OpenError::Header);
        }
        body.extend(BASE64_NOPAD.decode(line.as_bytes()).map_err(|_| OpenError::Header)?);
        if line.len() < COLUMNS {
            return Ok(body);
        }
    }
}

fn summing(file_key: &FileKey, text: &[u8]) -> Hmac<Sha256> {
    let key = derive(&file_key[..], b"", b"header");
    let mut sum = Hmac::<Sha256>::new_from_slice(&key[..]).expect("HMAC takes a key of any length");
    sum.update(text);
    sum
}
