//! How values are written for bash, and how bash writes them.

/// Appends `value` as one word that bash reads back to exactly these bytes.
pub fn append_quoted(script: &mut Vec<u8>, value: &[u8]) {
    // Bash uses some control bytes itself and loses them next to broken characters, unless they are written out.
    let plain = |byte: &u8| (0x20..0x7f).contains(byte) || *byte >= 0x80 || matches!(byte, b'\n' | b'\t');
    if value.iter().all(plain) && std::str::from_utf8(value).is_ok() {
        return append_single_quoted(script, value);
    }
    append_ansi_quoted(script, value);
}

/// As [`append_quoted`], all on one line. After some errors bash goes on with the next line, and no part of a value may
/// be one.
pub fn append_quoted_on_one_line(script: &mut Vec<u8>, value: &[u8]) {
    if value.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
        append_ansi_quoted(script, value);
    } else {
        append_quoted(script, value);
    }
}

fn append_ansi_quoted(script: &mut Vec<u8>, value: &[u8]) {
    script.extend_from_slice(b"$'");
    for byte in value {
        match byte {
            b'\'' | b'\\' => script.extend_from_slice(&[b'\\', *byte]),
            0x20..0x7f => script.push(*byte),
            _ => script.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
        }
    }
    script.push(b'\'');
}

/// As [`append_quoted`], in a way that every POSIX shell reads.
pub fn append_single_quoted(script: &mut Vec<u8>, value: &[u8]) {
    script.push(b'\'');
    for byte in value {
        if *byte == b'\'' {
            script.extend_from_slice(b"'\\''");
        } else {
            script.push(*byte);
        }
    }
    script.push(b'\'');
}

/// Reads one word as `declare -p` and `alias -p` write it, from the beginning of `text`: any mix of `"…"`, `'…'`,
/// `$'…'`, escaped and bare bytes, up to a byte for which `ends` holds. Returns the value and what follows the word.
pub fn read_word(text: &[u8], ends: impl Fn(u8) -> bool) -> Option<(Vec<u8>, &[u8])> {
    let mut value = Vec::new();
    let mut rest = text;
    loop {
        match rest {
            [] => return Some((value, rest)),
            [b'$', b'\'', after @ ..] => rest = read_ansi_c(after, &mut value)?,
            [b'"', after @ ..] => rest = read_double(after, &mut value)?,
            [b'\'', after @ ..] => {
                let end = memchr::memchr(b'\'', after)?;
                value.extend_from_slice(&after[..end]);
                rest = &after[end + 1..];
            }
            [b'\\', byte, after @ ..] => {
                value.push(*byte);
                rest = after;
            }
            [byte, ..] if ends(*byte) => return Some((value, rest)),
            [byte, after @ ..] => {
                value.push(*byte);
                rest = after;
            }
        }
    }
}

fn read_double<'a>(mut rest: &'a [u8], value: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        if let [b'\\', b'$' | b'`' | b'"' | b'\\', ..] = rest {
            rest = &rest[1..];
        } else if let [b'"', after @ ..] = rest {
            return Some(after);
        }
        let (byte, after) = rest.split_first()?;
        value.push(*byte);
        rest = after;
    }
}

fn read_ansi_c<'a>(mut rest: &'a [u8], value: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        match rest {
            [b'\'', after @ ..] => return Some(after),
            [b'\\', b'0'..=b'7', ..] => {
                let count = rest[1..].iter().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
                let digits = std::str::from_utf8(&rest[1..=count]).ok()?;
                // Bash wraps what does not fit a byte.
                value.push(u8::try_from(u16::from_str_radix(digits, 8).ok()? & 0xff).ok()?);
                rest = &rest[1 + count..];
            }
            [b'\\', byte, after @ ..] => {
                value.push(match byte {
                    b'a' => 0x07,
                    b'b' => 0x08,
                    b'e' | b'E' => 0x1b,
                    b'f' => 0x0c,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'v' => 0x0b,
                    other => *other,
                });
                rest = after;
            }
            [byte, after @ ..] => {
                value.push(*byte);
                rest = after;
            }
            [] => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_bash_writes_a_value_reads_back() {
        let cases: [(&str, &[u8]); 8] = [
            (r#""plain""#, b"plain"),
            (r#""a \"b\" \$c \`d\` \\ e""#, b"a \"b\" $c `d` \\ e"),
            (r"$'a\nb\t\'c\\\303\251\001'", b"a\nb\t'c\\\xc3\xa9\x01"),
            ("'it'\\''s'", b"it's"),
            ("bare", b"bare"),
            ("\"\"", b""),
            ("$'\\E[0m'", b"\x1b[0m"),
            ("\"a!b\"", b"a!b"),
        ];
        for (text, value) in cases {
            let (read, rest) = read_word(text.as_bytes(), |byte| byte == b' ').unwrap();
            assert_eq!(read, value, "{text}");
            assert!(rest.is_empty());
        }
        assert_eq!(read_word(b"\"open", |_| false), None);
    }

    #[test]
    fn what_is_quoted_reads_back() {
        for value in [&b""[..], b"'", b"''a'", b"\x01\xff\n\"$`\\!'", b"\x7f1", "\u{e9}\n".as_bytes()] {
            let mut text = Vec::new();
            append_quoted(&mut text, value);
            assert_eq!(read_word(&text, |_| false).unwrap().0, value);
        }
    }
}
