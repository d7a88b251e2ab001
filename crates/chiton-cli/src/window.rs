//! The real terminal of a person, while it shows that of a command: raw keys in, its size, and back to what it was.

use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;

use chiton_engine::terminal::TerminalSize;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Keys come one by one and unchanged as long as this lives.
pub(crate) struct RawMode {
    before: Termios,
}

impl RawMode {
    /// Where standard input is a terminal.
    pub(crate) fn enter() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        Ok(Self { before })
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// Whether a person sits at both ends.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// The size of the window, where there is one.
pub(crate) fn size() -> Option<TerminalSize> {
    let size = tcgetwinsize(io::stdout().as_fd()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0)?;
    Some(TerminalSize::nearest(size.ws_col, size.ws_row))
}

/// What is typed, as it arrives. A thread reads it, since there is no other way to wait for a terminal; it ends with us.
pub(crate) fn typed() -> UnboundedReceiver<Vec<u8>> {
    let (sender, receiver) = unbounded_channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count) = io::stdin().lock().read(&mut buffer) {
            if count == 0 || sender.send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// What a person typed, without what their terminal sent by itself. It answers the program's questions, but the program
/// already has its answers from the terminal that it runs in.
pub(crate) fn without_answers(bytes: &[u8]) -> Vec<u8> {
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
