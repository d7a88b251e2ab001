//! The escapes of `$'…'`.

/// What `$'…'` with this text between the quotes stands for.
pub(super) fn decode(text: &[u8]) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        if text[at] != b'\\' || at + 1 == text.len() {
            out.push(text[at]);
            at += 1;
            continue;
        }

        at += 2;
        match text[at - 1] {
            b'a' => out.push(7),
            b'b' => out.push(8),
            b'e' | b'E' => out.push(27),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'v' => out.push(11),
            b'x' if text.get(at) == Some(&b'{') => at = braced(text, at, &mut out),
            b'x' => {
                at = number(text, at, 16, 2, &mut |value| out.push(low_byte(value)))
                    .unwrap_or_else(|| raw(&mut out, b'x', at));
            }
            b'u' => {
                at = number(text, at, 16, 4, &mut |value| character(value, &mut out))
                    .unwrap_or_else(|| raw(&mut out, b'u', at));
            }
            b'U' => {
                at = number(text, at, 16, 8, &mut |value| character(value, &mut out))
                    .unwrap_or_else(|| raw(&mut out, b'U', at));
            }
            b'c' if at < text.len() => {
                out.push(text[at] & 0x1f);
                at += 1;
            }
            b'0'..=b'7' => {
                at = number(text, at - 1, 8, 3, &mut |value| out.push(low_byte(value))).unwrap_or(at);
            }
            other @ (b'\\' | b'\'' | b'"' | b'?') => out.push(other),
            other => {
                raw(&mut out, other, at);
            }
        }
        // A NUL ends the string for bash; the rest is not part of the word.
        if let Some(end) = out.iter().position(|byte| *byte == 0) {
            out.truncate(end);
            break;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn raw(out: &mut Vec<u8>, letter: u8, at: usize) -> usize {
    out.extend([b'\\', letter]);
    at
}

/// `\x{…}`, of which bash keeps the last byte.
fn braced(text: &[u8], at: usize, out: &mut Vec<u8>) -> usize {
    let end = number(text, at + 1, 16, usize::MAX, &mut |value| out.push(low_byte(value)));
    match end {
        Some(end) if text.get(end) == Some(&b'}') => end + 1,
        Some(end) => end,
        None => raw(out, b'x', at),
    }
}

fn low_byte(value: u32) -> u8 {
    u8::try_from(value & 0xff).unwrap_or_default()
}

fn character(value: u32, out: &mut Vec<u8>) {
    let character = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Reads up to `most` digits; gives where they end, or nothing where there is none.
fn number(text: &[u8], at: usize, radix: u32, most: usize, put: &mut dyn FnMut(u32)) -> Option<usize> {
    let digits = text[at..].iter().take(most).take_while(|byte| char::from(**byte).is_digit(radix)).count();
    let value = text[at..at + digits].iter().fold(0_u32, |value, byte| {
        value.wrapping_mul(radix).wrapping_add(char::from(*byte).to_digit(radix).unwrap_or_default())
    });
    (digits > 0).then(|| {
        put(value);
        at + digits
    })
}
