//! What decoders make of text, as leniently as they do.

use std::sync::LazyLock;

use data_encoding::{BASE32_NOPAD, BASE64_NOPAD, Encoding, HEXLOWER_PERMISSIVE};

/// Base64 in both alphabets, without padding, whatever the last bits are.
static BASE64: LazyLock<Option<Encoding>> = LazyLock::new(|| {
    let mut specification = BASE64_NOPAD.specification();
    specification.check_trailing_bits = false;
    specification.translate.from.push_str("-_");
    specification.translate.to.push_str("+/");
    specification.encoding().ok()
});

/// What `base64 -d` makes of `text`: white space does not count, and behind padding another block may begin.
pub(crate) fn base64(text: &str) -> Option<String> {
    let encoding = BASE64.as_ref()?;
    text.split('=').map(|block| lenient(encoding, block, b'A')).collect()
}

/// What `base32 -d` makes of `text`.
pub(crate) fn base32(text: &str) -> Option<String> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=').collect();
    String::from_utf8(BASE32_NOPAD.decode(&digits).ok()?).ok()
}

/// Base64 of text in UTF-16, as `pwsh -EncodedCommand` takes it.
pub(crate) fn base64_of_utf16(text: &str) -> Option<String> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=').collect();
    let bytes = BASE64.as_ref()?.decode(&digits).ok()?;
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16(&units).ok()
}

/// What `xxd -r -p` makes of `text`.
pub(crate) fn hex(text: &str) -> Option<String> {
    lenient(&HEXLOWER_PERMISSIVE, text, b'0')
}

/// The escapes of `echo -e` and `printf`.
pub(crate) fn escapes(text: &str) -> String {
    let mut out = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' || at + 1 == bytes.len() {
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        at += 2;
        let single = match bytes[at - 1] {
            b'n' => Some(b'\n'),
            b't' => Some(b'\t'),
            b'r' => Some(b'\r'),
            b'a' => Some(0x07),
            b'e' | b'E' => Some(0x1b),
            b'\\' => Some(b'\\'),
            _ => None,
        };
        if let Some(byte) = single {
            out.push(byte);
            continue;
        }
        let (radix, from, most) = match bytes[at - 1] {
            b'x' => (16, at, 2),
            b'u' => (16, at, 4),
            b'U' => (16, at, 8),
            b'0' => (8, at, 3),
            b'1'..=b'7' => (8, at - 1, 3),
            other => {
                out.extend([b'\\', other]);
                continue;
            }
        };

        let is_digit = |byte: &&u8| char::from(**byte).is_digit(radix);
        let count = bytes[from..].iter().take(most).take_while(is_digit).count();
        let number = std::str::from_utf8(&bytes[from..from + count])
            .ok()
            .and_then(|text| u32::from_str_radix(text, radix).ok())
            .unwrap_or(0);
        at = from + count;
        if most > 3 {
            let character = char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER);
            out.extend(character.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            out.push(u8::try_from(number & 0xff).unwrap_or_default());
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Decodes the whole bytes in `text`. A program that decodes complains about what is left over, but prints the rest.
fn lenient(encoding: &Encoding, text: &str, zero: u8) -> Option<String> {
    let mut digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let whole = digits.len() * encoding.bit_width() / 8;
    while encoding.decode_len(digits.len()).is_err() {
        digits.push(zero);
    }

    let mut bytes = encoding.decode(&digits).ok()?;
    bytes.truncate(whole);
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_decoded_as_far_as_programs_decode_it() {
        let cases = [
            ("aGk=", Some("hi")),
            ("aGk=aGk=", Some("hihi")),
            ("aA==\naQ==\n", Some("hi")),
            ("aGk", Some("hi")),
            ("aG\nk\n", Some("hi")),
            ("aGl", Some("hi")),
            ("aGk_aGk-", Some("hi?hi>")),
            ("aGk/aGk+", Some("hi?hi>")),
            ("aGkhY", Some("hi!")),
            ("aGkh?", None),
            ("//79", None),
            ("", Some("")),
        ];
        for (text, expected) in cases {
            assert_eq!(base64(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn other_encodings_are_decoded() {
        assert_eq!(base32("NBUQ====").as_deref(), Some("hi"));
        assert_eq!(base32("N1"), None);
        assert_eq!(base64_of_utf16("aABpAA==").as_deref(), Some("hi"));
        assert_eq!(base64_of_utf16("?"), None);
    }

    #[test]
    fn hexadecimal_digits_are_decoded_in_pairs() {
        let cases =
            [("6869", Some("hi")), ("68 69\n", Some("hi")), ("6869a", Some("hi")), ("4A", Some("J")), ("6g", None)];
        for (text, expected) in cases {
            assert_eq!(hex(text).as_deref(), expected, "{text:?}");
        }
    }
}
