//! Output that is not text is named, and not sent: no model can read it, and some clients cannot pass it on.
//!
//! This is done once for all dialects, before one of them writes its reply. What they get is a line of text in place of the
//! bytes; the bytes stay where they are.

use std::path::Path;

use chiton_engine::Response;
use chiton_engine::render::TextView;

use crate::action::{Amount, Done, Exchanged, Ran, TaskOutput};

/// What stands for a NUL in a text that has only a few of them.
const NUL: char = '\u{2400}';
/// A text may have one NUL in this many characters. Data has far more, and so does a list that is separated by them.
const TEXT_PER_NUL: usize = 100;
/// Data has at least one character in this many that no text has.
const TEXT_PER_ODD: usize = 4;
/// As few of them as this harm nobody, and may be what somebody wanted to print.
const FEW_ODD: usize = 8;

/// The same with every stream that is not text replaced by a line that says so.
pub fn named(mut done: Done) -> Done {
    match &mut done {
        Done::Ran(ran) => name_ran(ran),
        Done::Read(read) => name_read(read),
        Done::Exchanged(answer) => name_exchanged(answer),
        _ => {}
    }
    done
}

fn name_ran(ran: &mut Ran) {
    let (total, file) = (ran.amount.bytes, ran.transcript.clone());
    let Response::Ran(report) = &mut ran.response else { return };
    let (id, file) = (report.run_id.clone(), file.as_deref());

    let alone = report.stdout.head.is_empty() || report.stderr.head.is_empty();
    let exact = alone.then_some(total);
    let stdout = replace(&mut report.stdout, &id, exact, file);
    let stderr = replace(&mut report.stderr, &id, exact, file);
    let output = replace(&mut report.output, &id, Some(total), file);

    if stdout {
        ran.stdout_characters = report.stdout.head.chars().count() as u64;
    }
    if stderr {
        ran.stderr_characters = report.stderr.head.chars().count() as u64;
    }
    if stdout || stderr || output {
        let views = [&report.stdout, &report.stderr];
        let bytes = views.iter().map(|view| view.head.len() as u64 + view.omitted).sum();
        let lines = views.iter().map(|view| view.head.lines().count() as u64).sum::<u64>();
        ran.amount = Amount { bytes, lines: lines.min(ran.amount.lines) };
    }
}

fn name_read(read: &mut TaskOutput) {
    let (id, file) = (read.task.id.clone(), read.transcript.clone());
    let more = read.left_out;
    let name = |view: &mut TextView| {
        let bytes = bytes_of(view).max(bytes_of(view).saturating_sub(view.omitted) + more);
        replace(view, &id, Some(bytes), file.as_deref())
    };
    let output = name(&mut read.output);
    name(&mut read.stdout);
    name(&mut read.stderr);
    if output {
        read.left_out = 0;
    }
}

fn name_exchanged(answer: &mut Exchanged) {
    let bytes = answer.amount.bytes;
    if replace(&mut answer.output, &answer.task.id, Some(bytes), None) {
        answer.amount = Amount { bytes: answer.output.head.len() as u64, lines: 1 };
    }
}

/// Names what is not text; gives whether it did. Of a text, only NULs are replaced.
fn replace(view: &mut TextView, id: &str, bytes: Option<u64>, file: Option<&Path>) -> bool {
    let Sample { characters, nuls, odd } = Sample::of(view);
    if nuls * TEXT_PER_NUL > characters || (odd > FEW_ODD && odd * TEXT_PER_ODD > characters) {
        let bytes = bytes.unwrap_or_else(|| bytes_of(view));
        let way = match file {
            Some(file) => format!("they are in {}", file.display()),
            None if odd == 0 => "pipe it through tr '\\0' '\\n', or send it to a file".to_owned(),
            None => "send it to a file, or pipe it through xxd".to_owned(),
        };
        let head = format!("[binary output of {id}, {bytes} bytes, not shown: {way}]\n");
        *view = TextView { head, tail: None, omitted: 0 };
        return true;
    }
    if nuls > 0 {
        let visible = |text: &str| text.replace('\0', NUL.encode_utf8(&mut [0; 4]));
        view.head = format!("[{nuls} NUL bytes are shown as {NUL}]\n{}", visible(&view.head));
        view.tail = view.tail.as_deref().map(visible);
    }
    false
}

/// What decides whether something is text.
struct Sample {
    characters: usize,
    nuls: usize,
    /// Characters that no text has: bytes that are not UTF-8, and controls that neither move a cursor nor begin an escape.
    odd: usize,
}

impl Sample {
    fn of(view: &TextView) -> Self {
        let mut sample = Self { characters: 0, nuls: 0, odd: 0 };
        for character in view.head.chars().chain(view.tail.iter().flat_map(|tail| tail.chars())) {
            sample.characters += 1;
            match character {
                '\0' => sample.nuls += 1,
                // Bell, backspace, tab, line and form feeds, carriage return, shifts, and escape: terminals are sent these.
                '\u{7}'..='\u{f}' | '\u{1b}' => {}
                '\u{1}'..='\u{1f}' | '\u{7f}' | char::REPLACEMENT_CHARACTER => sample.odd += 1,
                _ => {}
            }
        }
        sample
    }
}

/// About how many bytes were printed: each byte that is not UTF-8 is one character of the view.
fn bytes_of(view: &TextView) -> u64 {
    let count = |text: &str| -> usize {
        text.chars()
            .map(|character| if character == char::REPLACEMENT_CHARACTER { 1 } else { character.len_utf8() })
            .sum()
    };
    (count(&view.head) + view.tail.as_deref().map_or(0, count)) as u64 + view.omitted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(bytes: &[u8]) -> TextView {
        TextView { head: String::from_utf8_lossy(bytes).into_owned(), tail: None, omitted: 0 }
    }

    #[test]
    fn data_is_named_and_text_is_not() {
        let noise: Vec<u8> = [0x8b, 0xc2, 0x5b, 0xe3, 0x91, 0xff, 0xfe, 0x03, 0xcb, 0x48].repeat(3);
        let latin: Vec<u8> = b"ein l\xe4ngerer Text mit \xdcmlauten, wie ihn alte Dateien haben\n".repeat(3);
        let cases: &[(&[u8], bool)] = &[
            (&[0; 1000], true),
            (b"a\0b", true),
            (b"HOME=/root\0PATH=/bin\0", true),
            (&noise, true),
            (&[b"\x7fELF\x02\x01\x01".as_slice(), &[0; 40], b"/lib/ld.so"].concat(), true),
            (b"\xff\xfeh\0i\0", true),
            (b"", false),
            (b"plain\ttext\r\n", false),
            ("\u{fffd}".as_bytes(), false),
            ("h\u{e9}llo \u{4e16}\u{754c} \u{1f600}\n".as_bytes(), false),
            (b"\x1b[1;31mred\x1b[0m\x07\x08 \x0e\x0f", false),
            (&latin, false),
        ];
        for (bytes, binary) in cases {
            let mut view = view(bytes);
            let before = view.clone();
            assert_eq!(replace(&mut view, "shell_00000001", None, None), *binary, "{:?}", before.head);
            if !binary {
                assert_eq!(view, before);
            }
        }
    }

    #[test]
    fn the_line_says_how_much_it_is_and_how_to_get_it() {
        let named = |bytes: &[u8], file: Option<&str>| {
            let mut view = view(bytes);
            replace(&mut view, "shell_00000001", Some(7), file.map(Path::new));
            view.head
        };
        let start = "[binary output of shell_00000001, 7 bytes, not shown: ";
        assert_eq!(named(b"\xff\0\xff", None), format!("{start}send it to a file, or pipe it through xxd]\n"));
        let separated = format!("{start}pipe it through tr '\\0' '\\n', or send it to a file]\n");
        assert_eq!(named(b"a\0b\0", None), separated);
        assert_eq!(named(b"a\0b\0", Some("/x/output.log")), format!("{start}they are in /x/output.log]\n"));
    }

    #[test]
    fn a_single_nul_costs_nobody_a_log() {
        let mut log = view(format!("{}\0end", "a line of a log\n".repeat(20)).as_bytes());
        assert!(!replace(&mut log, "shell_00000001", None, None));
        assert!(
            log.head.starts_with("[1 NUL bytes are shown as \u{2400}]\na line") && log.head.ends_with("\u{2400}end")
        );
    }
}
