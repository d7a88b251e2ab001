//! References to ports as they stand in a text: `{{port:NAME}}`, spelled exactly so.

use std::ops::Range;

/// The longest name, in bytes.
const NAME_BYTES: usize = 32;
/// What is longer than this was not meant as a name.
const MOST_MEANT: usize = 64;

const BEGINNING: &[u8] = b"{{port:";
const END: &[u8] = b"}}";

/// Every reference in `text`, where it stands, and its name: an error where that is not one.
pub(super) fn find(text: &[u8]) -> Vec<(Range<usize>, Result<String, String>)> {
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(place) = memchr::memmem::find(&text[start..], BEGINNING) {
        start += place;
        let inner = &text[start + BEGINNING.len()..];
        match name_at(inner) {
            Some(name) => {
                let end = start + BEGINNING.len() + name.len() + END.len();
                let name = String::from_utf8_lossy(name).into_owned();
                found.push((start..end, if is_name(&name) { Ok(name) } else { Err(name) }));
                start = end;
            }
            None => start += BEGINNING.len(),
        }
    }
    found
}

/// What stands there as a name; `None` where no reference ends.
fn name_at(text: &[u8]) -> Option<&[u8]> {
    let name = &text[..memchr::memmem::find(&text[..text.len().min(MOST_MEANT + END.len())], END)?];
    let is_one_word = !name.iter().any(|byte| matches!(byte, b'\n' | b'{' | b'}'));
    is_one_word.then_some(name)
}

/// Whether `text` can be the name of a port: up to 32 letters, digits, `_` or `-`, beginning with a letter or `_`.
fn is_name(text: &str) -> bool {
    let is_first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let is_later = |byte: u8| is_first(byte) || byte.is_ascii_digit() || byte == b'-';
    text.len() <= NAME_BYTES && text.bytes().next().is_some_and(is_first) && text.bytes().all(is_later)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_spelling_counts_and_a_bad_name_is_told_from_other_text() {
        let long = format!("{{{{port:{}}}}}", "x".repeat(32));
        let too_long = format!("{{{{port:{}}}}}", "x".repeat(33));
        let text = format!("{{{{port:{}}}}}", "x".repeat(65));
        let (good, bad) = (|name: &str| Ok(name.to_owned()), |name: &str| Err(name.to_owned()));
        let cases = [
            ("{{port:web}}", vec![good("web")]),
            ("x{{port:a}}{{port:_b-1}}y", vec![good("a"), good("_b-1")]),
            ("{{{port:a}}}", vec![good("a")]),
            ("{{port:}}", vec![bad("")]),
            ("{{port:8080}}", vec![bad("8080")]),
            ("{{port: web}}", vec![bad(" web")]),
            ("{{port:a.b}}", vec![bad("a.b")]),
            ("{{port:\u{e4}}}", vec![bad("\u{e4}")]),
            (&long, vec![good(&"x".repeat(32))]),
            (&too_long, vec![bad(&"x".repeat(33))]),
            (&text, vec![]),
            ("{{port:a}", vec![]),
            ("{{port:a\n}}", vec![]),
            ("{{port:{{port:a}}}}", vec![good("a")]),
            ("{{port}}", vec![]),
            ("{{ port:a}}", vec![]),
            ("{{Port:a}}", vec![]),
            ("'{''{port:a}}'", vec![]),
            ("", vec![]),
        ];
        for (text, expected) in cases {
            let found: Vec<_> = find(text.as_bytes());
            for (range, name) in &found {
                let (Ok(name) | Err(name)) = name;
                assert_eq!(&text[range.clone()], format!("{{{{port:{name}}}}}"));
            }
            assert_eq!(found.into_iter().map(|(_, name)| name).collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
