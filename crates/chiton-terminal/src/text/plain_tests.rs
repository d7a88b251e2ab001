use proptest::prelude::*;

use super::*;
use crate::{Screen, TerminalSize};

fn text_of(output: &[u8]) -> String {
    String::from_utf8_lossy(&plain(output)).into_owned()
}

fn in_pieces(output: &[u8], piece: usize) -> Vec<u8> {
    let (mut text, mut out) = (PlainText::new(), Vec::new());
    output.chunks(piece).for_each(|part| text.push(part, &mut out));
    text.finish(&mut out);
    out
}

/// One of each kind there is.
const SEQUENCES: [&str; 40] = [
    "\x1b[31m",
    "\x1b[0m",
    "\x1b[m",
    "\x1b[38;2;1;2;3m",
    "\x1b[38:2::1:2:3m",
    "\x1b[?25l",
    "\x1b[?2004h",
    "\x1b[>4;2m",
    "\x1b[!p",
    "\x1b[2 q",
    "\x1b[6n",
    "\x1b[c",
    "\x1b]0;a title\x07",
    "\x1b]0;a title\x1b\\",
    "\x1b]0;gr\u{fc}n \u{4e16}\x07",
    "\x1b]8;;https://example.org\x1b\\",
    "\x1b]8;;\x1b\\",
    "\x1b]52;c;aGVsbG8=\x07",
    "\x1b]133;A\x07",
    "\x1b]1337;File=inline=1:AAAA\x07",
    "\x1bP1$r0m\x1b\\",
    "\x1bPq#0;2;0;0;0\n#0~~@@\x1b\\",
    "\x1bPtmux;\x1b\x1b]0;t\x07\x1b\\",
    "\x1b_Gf=100;AAAA\x1b\\",
    "\x1b^private\x1b\\",
    "\x1bXstring\x1b\\",
    "\x1b(B",
    "\x1b)0",
    "\x1b*A",
    "\x1b%G",
    "\x1b#3",
    "\x1b F",
    "\x1b=",
    "\x1b>",
    "\x1b7",
    "\x1bN",
    "\u{9b}31m",
    "\u{9d}0;title\x07",
    "\u{9d}0;title\u{9c}",
    "\u{90}q\u{9c}",
];

#[test]
fn every_escape_sequence_split_at_every_position_is_stripped_completely() {
    for sequence in SEQUENCES {
        let output = format!("be{sequence}fore \u{e9}{sequence}{sequence}\u{4e16}{sequence}after");
        let expected = "before \u{e9}\u{4e16}after";
        assert_eq!(text_of(output.as_bytes()), expected, "{sequence:?}");
        for place in 0..=output.len() {
            let (mut text, mut out) = (PlainText::new(), Vec::new());
            text.push(&output.as_bytes()[..place], &mut out);
            text.push(&output.as_bytes()[place..], &mut out);
            text.finish(&mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected, "{sequence:?} at {place}");
        }
        for length in 1..sequence.len() {
            if sequence.is_char_boundary(length) {
                let broken_off = text_of(format!("text{}", &sequence[..length]).as_bytes());
                assert_eq!(broken_off, "text", "{sequence:?} broken off after {length}");
            }
        }
    }
}

#[test]
fn what_was_drawn_over_is_there_as_it_was_last() {
    let cases: &[(&str, &str)] = &[
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("10%\r50%\r100%\n", "100%\n"),
        ("10%\r50%\r100%", "100%"),
        ("100%\r", "100%"),
        ("hello\rHE\n", "HEllo\n"),
        ("long text\r\x1b[Kshort\n", "short\n"),
        ("long text\x1b[2K\rshort\n", "short\n"),
        ("long text\x1b[1K\rshort\n", "short\n"),
        ("long\r    \rok\n", "ok\n"),
        ("abc\x08\x08X\n", "aXc\n"),
        ("abc\x08 \x08\n", "ab\n"),
        ("pass\x08\x08\x08\x08\x08\x08word\n", "word\n"),
        ("\x1b[1Gfirst\x1b[1Gsecond\n", "second\n"),
        ("spin |\x08/\x08-\x08\\\x08 done\n", "spin  done\n"),
        ("a  \nb\n", "a  \nb\n"),
        ("grep\x1b[m\x1b[K:\x1b[01;31m\x1b[Khit\x1b[m\x1b[K\n", "grep:hit\n"),
        ("one\ntwo\nthree\x1b[2A\rONE\x1b[B\rTWO\x1b[B\rTHREE\n", "ONE\nTWO\nTHREE\n"),
        ("a: 1%\nb: 1%\n\x1b[2Aa: 50%\n\x1b[Kb: 50%\n\x1b[2Aa: ok\x1b[K\nb: ok\x1b[K\n", "a: ok\nb: ok\n"),
        ("x\x1b[3Cy\n", "x   y\n"),
        ("x\x1b[3C\n", "x\n"),
        ("abcdef\x1b[4D\x1b[2P\n", "abef\n"),
        ("abef\x1b[2D\x1b[2@cd\n", "abcdef\n"),
        ("abcdef\x1b[4D\x1b[2X\n", "ab  ef\n"),
        ("prompt$ \x1b[?1049h\x1b[HFull screen\x1b[?1049lback\n", "prompt$ \nFull screen\nback\n"),
        ("\u{4e16}\u{754c}\r\u{4e16}x\n", "\u{4e16}x\n"),
        ("\u{4e16}\u{754c}\rx\n", "x \u{754c}\n"),
        ("e\u{301}\x08a\n", "a\n"),
        ("\te\rx\n", "x       e\n"),
        ("a\tb\rc\n", "c\tb\n"),
        ("a\0b\x1fc\n", "a\0b\x1fc\n"),
        ("bell\x07\n", "bell\n"),
        ("a\u{a0}\u{b0}\n", "a\u{a0}\u{b0}\n"),
        ("plain [31m text", "plain [31m text"),
        ("new\x1b[\nline", "new\nline"),
        ("open\x1b]0;never closed\nnext line\n", "open\nnext line\n"),
        ("caf\x1b[3\u{e9}\n", "caf\u{e9}\n"),
        ("x\x1b[999Cy\x1b[999;999Hz", &("x".to_owned() + &" ".repeat(249) + "y\nz")),
        ("", ""),
        ("\n\n", "\n\n"),
    ];
    for (output, expected) in cases {
        assert_eq!(text_of(output.as_bytes()), *expected, "{output:?}");
        for piece in 1..=output.len() {
            assert_eq!(
                in_pieces(output.as_bytes(), piece),
                plain(output.as_bytes()),
                "{output:?} in pieces of {piece}"
            );
        }
    }
}

#[test]
fn a_progress_bar_of_four_megabytes_is_a_line_and_takes_no_memory() {
    let (mut text, mut out) = (PlainText::new(), Vec::new());
    let mut bytes = 0;
    let mut step = 0;
    while bytes < 4 << 20 {
        let part = format!("\r\x1b[32m{step:>9}\x1b[0m [{:<50}]", "#".repeat(step % 50));
        bytes += part.len();
        text.push(part.as_bytes(), &mut out);
        step += 1;
        assert!(text.page.lines.len() == 1 && text.page.lines[0].size() < 100 && out.is_empty());
    }
    text.push(b"\ndone\n", &mut out);
    text.finish(&mut out);
    let out = String::from_utf8(out).unwrap();
    assert_eq!(out.lines().count(), 2, "{out}");
    assert!(out.starts_with(&format!("{:>9} [", step - 1)) && out.ends_with("]\ndone\n"), "{out}");
}

#[test]
fn memory_is_bounded_whatever_comes_and_no_text_is_lost() {
    let kinds: [&[u8]; 6] =
        [b"x", b"abc\n", b"\x1b]", b"\rz\x1b[999C", "\u{301}".as_bytes(), "\r\u{4e16}\u{301}".as_bytes()];
    for kind in kinds {
        let (mut text, mut out) = (PlainText::new(), Vec::new());
        let chunk = kind.repeat(10_000);
        for _ in 0..40 {
            text.push(&chunk, &mut out);
            let held: usize = text.page.lines.iter().map(Line::size).sum();
            assert!(held <= WINDOW_BYTES + 2 * chunk.len(), "{kind:?}: {held}");
            assert!(text.page.lines.len() <= WINDOW + 1);
        }
        text.finish(&mut out);
        if kind == b"x" || kind == b"abc\n" {
            assert_eq!(out, kind.repeat(400_000));
        }
    }
}

#[test]
fn lines_come_out_as_they_end_where_they_are_followed() {
    let (mut text, mut out) = (PlainText::following(), Vec::new());
    text.push(b"one\r\ntw", &mut out);
    assert_eq!(out, b"one\n");
    text.push(b"o\rTWO\n\x1b[A", &mut out);
    assert_eq!(out, b"one\nTWO\n");
    text.push(b"rest", &mut out);
    text.finish(&mut out);
    assert_eq!(out, b"one\nTWO\nrest");
}

/// What a terminal shows of this output, its rows as lines; wide and high enough for all of it.
fn emulated(output: &str) -> String {
    let mut screen = Screen::new(TerminalSize { columns: 600, rows: 60 });
    screen.feed(output.as_bytes());
    screen.snapshot().to_text()
}

/// Lines without what cannot be seen: tabs as blanks, no blanks at the ends, no empty lines at the bottom.
fn visible(text: &str) -> String {
    let shown: Vec<String> = text
        .split('\n')
        .map(|line| {
            let mut wide = String::new();
            let mut column = 0;
            for character in line.chars() {
                let width = unicode_width::UnicodeWidthChar::width(character).unwrap_or(0);
                if character == '\t' {
                    let blanks = 8 - column % 8;
                    wide.extend(std::iter::repeat_n(' ', blanks));
                    column += blanks;
                } else if width > 0 || !character.is_control() {
                    wide.push(character);
                    column += width;
                }
            }
            wide.trim_end_matches(' ').to_owned()
        })
        .collect();
    let filled = shown.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    shown[..filled].join("\n")
}

/// Output of a program that keeps within its lines. Wide characters come without erasing and inserting: this emulator
/// leaves one that is cut in half as it was.
fn output(letters: &'static str, edits: &'static str) -> impl Strategy<Value = String> {
    let sequences = SEQUENCES.into_iter().filter(|sequence| {
        // Those that this emulator, unlike others, does not know, or that change how letters look.
        !sequence.contains(['\u{9b}', '\u{9d}', '\u{90}']) && !["\x1b)0", "\x1b#3", "\x1b*A"].contains(sequence)
    });
    let piece = prop_oneof![
        6 => "[ -~]{0,12}",
        2 => letters,
        1 => "[a-z]\u{301}",
        2 => Just("\r".to_owned()),
        3 => Just("\r\n".to_owned()),
        1 => Just("\x08".to_owned()),
        1 => Just("\t".to_owned()),
        2 => prop::sample::select(sequences.map(str::to_owned).collect::<Vec<_>>()),
        2 => (0u8..12, prop::sample::select(edits.chars().collect::<Vec<_>>()))
            .prop_map(|(count, last)| format!("\x1b[{}{last}", if last == 'K' { count % 3 } else { count })),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_text_is_what_a_terminal_shows(output in prop_oneof![
        output("[a-z\u{e9}\u{df}]{0,6}", "CDGPX@K"),
        output("[a-z\u{e9}\u{4e16}\u{754c}\u{1f600}\u{ac00}]{0,6}", "CDG"),
    ]) {
        prop_assert_eq!(visible(&text_of(output.as_bytes())), emulated(&output), "{:?}", output);
    }

    #[test]
    fn the_text_does_not_depend_on_the_pieces(output in prop::collection::vec(prop_oneof![
        4 => any::<u8>().prop_map(|byte| vec![byte]),
        2 => "[a-z]{0,5}".prop_map(String::into_bytes),
        2 => prop::sample::select(vec!["\x1b", "\x1b[", "\x1b]", "\r", "\n", "\x08", "\u{9b}", "\u{e9}", "\u{1f600}", "\x1b[2A", "\x1b[5C", "\x1b[K"])
            .prop_map(|text| text.as_bytes().to_vec()),
    ], 0..60), cuts in prop::collection::vec(0usize..200, 0..6)) {
        let output = output.concat();
        let whole = plain(&output);
        prop_assert!(!whole.contains(&0x1b));
        let (mut text, mut out) = (PlainText::new(), Vec::new());
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(output.len())).collect();
        cuts.sort_unstable();
        let mut last = 0;
        for cut in cuts.into_iter().chain([output.len()]) {
            text.push(&output[last..cut], &mut out);
            last = cut;
        }
        text.finish(&mut out);
        prop_assert_eq!(out, whole);
    }
}
