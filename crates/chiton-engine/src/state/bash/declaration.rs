//! One line of `declare -p` as a variable.

use std::collections::BTreeMap;

use crate::bytes::ByteString;
use crate::state::{Value, Variable};
use chiton_shell::quote::read_word;

/// Splits the output of `declare -p` into variables. `None` where it is not what bash prints.
pub(super) fn read_all(mut text: &[u8]) -> Option<Vec<(String, Variable)>> {
    let mut variables = Vec::new();
    while !text.is_empty() {
        let (name, variable, rest) = read_one(text)?;
        variables.push((name, variable));
        text = rest;
    }
    Some(variables)
}

/// `declare -ATTRIBUTES NAME[=VALUE]` and a newline.
fn read_one(text: &[u8]) -> Option<(String, Variable, &[u8])> {
    let rest = text.strip_prefix(b"declare -")?;
    let (letters, rest) = split_at_byte(rest, b' ')?;
    let end = rest.iter().position(|byte| matches!(byte, b'=' | b'\n'))?;
    let name = String::from_utf8(rest[..end].to_vec()).ok()?;
    let rest = &rest[end..];
    let is_array = letters.contains(&b'a') || letters.contains(&b'A');
    let mut attributes: Vec<u8> = letters
        .iter()
        .copied()
        .filter(|letter| letter.is_ascii_alphabetic() && !matches!(letter, b'a' | b'A'))
        .collect();
    attributes.sort_unstable();
    let (value, rest) = match rest {
        [b'\n', after @ ..] if letters.contains(&b'A') => (Value::Associative(Vec::new()), after),
        [b'\n', after @ ..] if letters.contains(&b'a') => (Value::Indexed(BTreeMap::new()), after),
        [b'\n', after @ ..] => (Value::Unset, after),
        [b'=', after @ ..] if is_array => read_array(after, letters.contains(&b'A'))?,
        [b'=', after @ ..] => {
            let (value, rest) = read_word(after, |byte| byte == b'\n')?;
            (Value::Scalar(value.into()), rest.strip_prefix(b"\n")?)
        }
        _ => return None,
    };
    Some((name, Variable { attributes: String::from_utf8(attributes).ok()?, value }, rest))
}

/// `([KEY]=VALUE …)` and a newline; bash puts a space before the closing parenthesis of an associative array.
fn read_array(text: &[u8], associative: bool) -> Option<(Value, &[u8])> {
    let mut rest = text.strip_prefix(b"(")?;
    let mut pairs: Vec<(ByteString, ByteString)> = Vec::new();
    loop {
        rest = &rest[rest.iter().position(|byte| *byte != b' ')?..];
        if let Some(after) = rest.strip_prefix(b")") {
            let after = after.strip_prefix(b"\n")?;
            if associative {
                pairs.sort();
                return Some((Value::Associative(pairs), after));
            }
            let indexed: Option<_> = pairs
                .into_iter()
                .map(|(key, value)| Some((std::str::from_utf8(&key).ok()?.parse().ok()?, value)))
                .collect();
            return Some((Value::Indexed(indexed?), after));
        }
        let (key, after) = read_word(rest.strip_prefix(b"[")?, |byte| byte == b']')?;
        let (value, after) = read_word(after.strip_prefix(b"]=")?, |byte| matches!(byte, b' ' | b')'))?;
        pairs.push((key.into(), value.into()));
        rest = after;
    }
}

fn split_at_byte(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let place = memchr::memchr(byte, text)?;
    Some((&text[..place], &text[place + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_declaration_is_read() {
        let text = br#"declare -x PATH="/bin"
declare -- plain=$'a\nb'
declare -ir UID="0"
declare -a list=([0]="x y" [7]=$'\n')
declare -ax empty=()
declare -A map=([b]="2" ["a ]"]="1" )
declare -n ref="plain"
declare -x declared
declare -a none
"#;
        let read = read_all(text).unwrap();
        let names: Vec<_> = read.iter().map(|(name, variable)| (name.as_str(), variable.attributes.as_str())).collect();
        assert_eq!(
            names,
            [
                ("PATH", "x"),
                ("plain", ""),
                ("UID", "ir"),
                ("list", ""),
                ("empty", "x"),
                ("map", ""),
                ("ref", "n"),
                ("declared", "x"),
                ("none", ""),
            ]
        );
        assert_eq!(read[1].1.value, Value::Scalar("a\nb".into()));
        assert_eq!(read[3].1.value, Value::Indexed([(0, "x y".into()), (7, "\n".into())].into()));
        assert_eq!(read[5].1.value, Value::Associative(vec![("a ]".into(), "1".into()), ("b".into(), "2".into())]));
        assert_eq!(read[7].1.value, Value::Unset);
    }

    #[test]
    fn anything_else_is_refused_rather_than_half_read() {
        for text in [&b"declare"[..], b"declare -x A=\"open\n", b"echo hi\n", b"declare -a l=([0]=\"x\"\n"] {
            assert_eq!(read_all(text), None);
        }
    }
}
