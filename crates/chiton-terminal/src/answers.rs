//! What a terminal sends by itself, among what a person types.

/// What a person typed, without what their terminal sent by itself. It answers the program's questions, but the program
/// already has its answers from the terminal that it runs in.
pub fn without_answers(bytes: &[u8]) -> Vec<u8> {
    let mut typed = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        let passed_over = answer(rest);
        if passed_over.is_none() {
            typed.push(*first);
        }
        rest = &rest[passed_over.unwrap_or(1)..];
    }
    typed
}

/// The length of an answer of a terminal that stands at the beginning.
fn answer(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [0x1b, b']' | b'P', ..] => {
            let bell = bytes.iter().position(|byte| *byte == 0x07).map(|place| place + 1);
            let end = bytes.windows(2).skip(2).position(|pair| pair == b"\x1b\\").map(|place| place + 4);
            bell.into_iter().chain(end).min()
        }
        [0x1b, b'[', rest @ ..] => {
            let length = rest.iter().position(|byte| (0x40..=0x7e).contains(byte))?;
            let (body, last) = (&rest[..length], rest[length]);
            let is_answer = match last {
                b'c' => body.starts_with(b"?") || body.starts_with(b">"),
                b'n' => !body.is_empty(),
                b'y' => body.ends_with(b"$"),
                b't' => true,
                // A place on the screen; in the first row, and near the left, it is a function key with shift or so.
                b'R' => body.contains(&b';') && !(body.starts_with(b"1;") && body.len() == 3),
                _ => false,
            };
            is_answer.then_some(length + 3)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_pass_and_answers_of_the_terminal_do_not() {
        let keys: [&[u8]; 8] =
            [b"a", b"\x1b", b"\x1b[A", b"\x1bOP", b"\x1b[1;2R", b"\x1b[15~", b"\x1b[200~x\x1b[201~", b"\x03"];
        for key in keys {
            assert_eq!(without_answers(key), key);
        }
        let answers: [&[u8]; 7] = [
            b"\x1b[?62;c",
            b"\x1b[>0;276;0c",
            b"\x1b[24;80R",
            b"\x1b[0n",
            b"\x1b[?2004;2$y",
            b"\x1b]11;rgb:0000/0000/0000\x07",
            b"\x1b]11;rgb:0000/0000/0000\x1b\\",
        ];
        for answer in answers {
            assert_eq!(without_answers(answer), b"", "{}", answer.escape_ascii());
            assert_eq!(without_answers(&[b"x".as_slice(), answer, b"y"].concat()), b"xy");
        }
    }
}
