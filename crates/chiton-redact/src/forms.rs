//! All the forms in which a value is recognised.

use chiton_shell::quote::append_quoted_on_one_line;
use data_encoding::{BASE64_NOPAD, BASE64URL_NOPAD, HEXLOWER, HEXUPPER};

use super::encoding::{self, JsonStyle, Plain};

/// The shortest form that is searched for, in bytes. Anything shorter would be found in innocent text.
pub const SHORTEST: usize = 8;

/// Longer values are not searched for in dumps.
const DUMPED: usize = 1024;
/// How many bytes a line of a dump has.
const DUMP_LINE: usize = 16;

/// Longer values are not searched for in twice quoted form, since each form takes its length in memory.
const TWICE_QUOTED: usize = 4096;

/// Every form of `value`, each once. None is shorter than [`SHORTEST`].
pub(super) fn of(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    // Programs drop the line end of a file they read a value from.
    let bare = value.strip_suffix(b"\n").map_or(value, |bare| bare.strip_suffix(b"\r").unwrap_or(bare));

    let values = [value, bare];
    for value in &values[..=usize::from(bare != value)] {
        forms.push(value.to_vec());
        base64(value, &mut forms);
        forms.push(HEXLOWER.encode(value).into_bytes());
        forms.push(HEXUPPER.encode(value).into_bytes());
        for upper in [false, true] {
            forms.push(encoding::percent(value, Plain::Nothing, upper));
        }
        // Letters and digits are the same in all the others.
        if !value.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')) {
            for upper in [false, true] {
                forms.extend(Plain::ALL.map(|plain| encoding::percent(value, plain, upper)));
            }
            json(value, &mut forms);
            quoted(value, &mut forms);
        }
    }

    lines(value, &mut forms);
    dumps(bare, &mut forms);
    forms.retain(|form| form.len() >= SHORTEST);
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// For each of the three places that a value can have in a group of three bytes: the characters that depend on the value
/// alone, and for a value that ends the text also the last ones, padded or not. Also wrapped, as programs do.
fn base64(value: &[u8], forms: &mut Vec<Vec<u8>>) {
    for alphabet in [BASE64_NOPAD, BASE64URL_NOPAD] {
        for before in 0..3usize {
            let text = alphabet.encode(&[&b"\0\0"[..before], value].concat()).into_bytes();
            let (start, end) = ((before * 8).div_ceil(6), (before + value.len()) * 8 / 6);
            forms.push(text[start..end].to_vec());
            forms.push(text[start..].to_vec());
            forms.push([&text[start..], padding(text.len())].concat());
        }
    }

    let text = BASE64_NOPAD.encode(value).into_bytes();
    for width in [64, 76] {
        if text.len() > width {
            forms.extend(text.chunks(width).map(<[u8]>::to_vec));
        }
    }
}

/// The characters that bring base64 to a multiple of four.
fn padding(length: usize) -> &'static [u8] {
    match length % 4 {
        2 => b"==",
        3 => b"=",
        _ => b"",
    }
}

fn json(value: &[u8], forms: &mut Vec<Vec<u8>>) {
    let text = String::from_utf8_lossy(value);
    for ascii in [false, true] {
        for html in [false, true] {
            for slash in [false, true] {
                for upper in [false, true] {
                    forms.push(encoding::json(&text, JsonStyle { ascii, html, slash, upper }));
                }
            }
        }
    }
}

/// The value as a shell writes it, and that as it writes it again: `set` shows a variable that holds a quoted value.
fn quoted(value: &[u8], forms: &mut Vec<Vec<u8>>) {
    let mut ours = Vec::new();
    append_quoted_on_one_line(&mut ours, value);
    let inside = ours.strip_prefix(b"$").unwrap_or(&ours);
    let mut once = vec![
        value.to_vec(),
        encoding::backslashed(value),
        encoding::single_quoted(value),
        encoding::double_quoted(value),
        encoding::ansi_c(value, false),
        encoding::ansi_c(value, true),
        encoding::in_heredoc(value),
        inside[1..inside.len() - 1].to_vec(),
    ];

    once.sort_unstable();
    once.dedup();

    for form in once.iter().filter(|_| value.len() <= TWICE_QUOTED) {
        forms.push(encoding::backslashed(form));
        forms.push(encoding::single_quoted(form));
        forms.push(encoding::double_quoted(form));
        forms.extend([false, true].map(|octal| encoding::ansi_c(form, octal)));
    }
    forms.extend(once);
}

/// Each line of a value that has several, without the blanks around it: a program that prints the value may indent it
/// or end its lines differently.
fn lines(value: &[u8], forms: &mut Vec<Vec<u8>>) {
    if value.contains(&b'\n') {
        forms.extend(value.split(|byte| *byte == b'\n').map(|line| line.trim_ascii().to_vec()));
    }
}

/// Each line of a dump that begins with the value, as `xxd`, `hexdump -C`, `od -tx1` and `od -c` write it: the bytes,
/// and the characters beside them.
fn dumps(value: &[u8], forms: &mut Vec<Vec<u8>>) {
    if value.len() > DUMPED {
        return;
    }
    let with_line_end = [value, b"\n"].concat();
    for value in [value, &with_line_end] {
        for (number, line) in value.chunks(DUMP_LINE).enumerate() {
            let digits: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
            let pairs = digits.chunks(2).map(<[String]>::concat).collect::<Vec<_>>().join(" ");
            let halves = digits.chunks(DUMP_LINE / 2).map(|half| half.join(" ")).collect::<Vec<_>>().join("  ");
            let visible = |byte: &u8| char::from(if (b' '..=b'~').contains(byte) { *byte } else { b'.' });
            let text: String = line.iter().map(visible).collect();
            // It begins with the place in the dump: a prompt that ends like a value begins would wait otherwise.
            let spaced: String = line.iter().flat_map(|byte| [' ', ' ', ' ', visible(byte)]).collect();
            forms.push(format!("{:07o}{}", number * DUMP_LINE, spaced.trim_end_matches([' ', '.'])).into_bytes());
            forms.push(format!("{pairs:39}  {text}").into_bytes());
            forms.push(format!("{halves:48}  |{text}|").into_bytes());
            forms.extend([pairs.into_bytes(), halves.into_bytes(), digits.join(" ").into_bytes()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    const VALUES: [&str; 9] = [
        "S3CR3T-VALUE", "it's \"quoted\" $(and) `more`", "back\\slash and\ttab", "two lines\nof a value\n",
        "~home/#hash=~x", "p@ss/w+rd?&=%,;", "gr\u{fc}n-und-bl\u{e4}u", "\u{1}control\u{7f}\u{1b}[0m",
        "{a,b} [c] !x ^y |z",
    ];

    fn is_known(value: &str, seen: &[u8]) -> bool {
        of(value.as_bytes()).iter().any(|form| memchr::memmem::find(seen, form).is_some())
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "bash is the oracle here")]
    fn what_bash_writes_for_a_value_is_one_of_its_forms() {
        let writers = [
            "printf %s \"$v\"",
            "printf %q \"$v\"",
            "printf %s \"${v@Q}\"",
            "declare -p v",
            "set -x; : \"$v\"",
            "alias x=\"$v\"; alias x",
            "trap -- \"$v\" USR1; trap -p USR1",
            "f() { : x; }; set | grep -a -A3 ^v=",
        ];
        for value in VALUES {
            for writer in writers {
                for locale in ["C", "C.UTF-8"] {
                    let output = Command::new("bash")
                        .args(["--norc", "-c", writer])
                        .env("v", value)
                        .env("LC_ALL", locale)
                        .stdin(Stdio::null())
                        .output()
                        .unwrap();
                    let seen = [output.stdout, output.stderr].concat();
                    assert!(is_known(value, &seen), "{writer} in {locale}: {}", seen.escape_ascii());
                }
            }
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the programs themselves are the oracle here")]
    fn dumps_of_a_value_are_known() {
        let value = "S3CR3T-VALUE-0123456789-abcdef";
        for writer in ["xxd", "hexdump -C", "od -c", "od -An -tx1", "od -A x -t x1z"] {
            let script = format!("command -v {} > /dev/null || exit 9; printf %s \"$v\" | {writer}", &writer[..2]);
            let script =
                script.replace("command -v he", "command -v hexdump").replace("command -v xx", "command -v xxd");
            let output = Command::new("bash").args(["--norc", "-c", &script]).env("v", value).output().unwrap();
            if output.status.code() != Some(9) {
                let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| line.len() > 30);
                for line in lines {
                    assert!(is_known(value, line), "{writer}: {}", line.escape_ascii());
                }
            }
        }
    }

    #[test]
    fn base64_is_known_at_every_alignment_with_anything_around_it() {
        for value in VALUES {
            for before in ["", "u", "us", "user:"] {
                for after in ["", "\n", "xy", " and more"] {
                    let text = format!("{before}{value}{after}");
                    for alphabet in [BASE64_NOPAD, BASE64URL_NOPAD] {
                        let mut encoded = alphabet.encode(text.as_bytes()).into_bytes();
                        assert!(is_known(value, &encoded), "{text}");
                        encoded.extend_from_slice(padding(encoded.len()));
                        assert!(is_known(value, &encoded), "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_other_stated_forms_are_known() {
        let cases = [
            ("S3CR3T-VALUE", "5333435233542d56414c5545"),
            ("S3CR3T-VALUE", "5333435233542D56414C5545"),
            ("p@ss/w+rd?&=%,;", "p%40ss%2Fw%2Brd%3F%26%3D%25%2C%3B"),
            ("p@ss/w+rd?&=%,;", "p%40ss%2fw%2brd%3f%26%3d%25%2c%3b"),
            ("p@ss/w+rd?&=%,;", "p%40ss/w%2Brd%3F%26%3D%25%2C%3B"),
            ("a value & more", "a+value+%26+more"),
            ("two lines\nof a value\n", "two lines\\nof a value"),
            ("two lines\nof a value\n", "  two lines\r\n  of a value\r\n"),
            ("gr\u{fc}n-und-bl\u{e4}u", "gr\\u00fcn-und-bl\\u00e4u"),
            ("smile \u{1f600} on", "smile \\ud83d\\ude00 on"),
            ("<tag> & more", "\\u003ctag\\u003e \\u0026 more"),
        ];
        for (value, seen) in cases {
            assert!(is_known(value, seen.as_bytes()), "{seen}");
        }
    }

    #[test]
    fn no_form_is_short() {
        for value in ["12345678", "1\n2\n3\n4\n5", "        \n\n"] {
            assert!(of(value.as_bytes()).iter().all(|form| form.len() >= SHORTEST));
        }
    }
}
