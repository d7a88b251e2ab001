//! A file as text: base64 in lines of 64 characters, between a first and a last line.

use data_encoding::BASE64;

use super::OpenError;

const FIRST: &str = "-----BEGIN AGE ENCRYPTED FILE-----";
const LAST: &str = "-----END AGE ENCRYPTED FILE-----";
const COLUMNS: usize = 64;

pub(super) fn write(file: &[u8]) -> String {
    let mut text = format!("{FIRST}\n");
    for line in file.chunks(COLUMNS / 4 * 3) {
        BASE64.encode_append(line, &mut text);
        text.push('\n');
    }
    text + LAST + "\n"
}

/// The bytes in a file that may be text. Only one way to write it is accepted, as the format demands.
pub(super) fn read(sealed: &[u8]) -> Result<Vec<u8>, OpenError> {
    let text = sealed.trim_ascii();
    if !text.starts_with(FIRST.as_bytes()) {
        return Ok(sealed.to_vec());
    }
    let text = std::str::from_utf8(text).map_err(|_| OpenError::Armour)?;
    let mut lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    if lines.next() != Some(FIRST) || lines.next_back() != Some(LAST) {
        return Err(OpenError::Armour);
    }

    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let mut is_last = false;
    for line in lines {
        if is_last || line.is_empty() || line.len() > COLUMNS {
            return Err(OpenError::Armour);
        }
        is_last = line.len() < COLUMNS || line.ends_with('=');
        bytes.extend(BASE64.decode(line.as_bytes()).map_err(|_| OpenError::Armour)?);
    }
    Ok(bytes)
}
