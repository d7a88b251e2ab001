//! The emulator: recorded streams with the screens they give, a reference emulator on the same bytes, any pieces.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the reference emulator is another program")]

use std::fs;
use std::process::Command;

use chiton_engine::terminal::snapshot::{Colour, Snapshot};
use chiton_engine::terminal::{Screen, TerminalSize};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

fn size(columns: u16, rows: u16) -> TerminalSize {
    TerminalSize { columns, rows }
}

fn shown(size: TerminalSize, output: &[u8]) -> Snapshot {
    let mut screen = Screen::new(size);
    screen.feed(output);
    screen.snapshot()
}

/// Name, columns, rows, output, the screen, row and column of the cursor.
type Case = (&'static str, u16, u16, &'static str, &'static str, (u16, u16));

const CASES: &[Case] = &[
    ("text", 10, 3, "one\r\ntwo", "one\ntwo", (1, 3)),
    ("wrap", 5, 3, "abcdefg", "abcde\nfg", (1, 2)),
    ("wrap is pending at the margin", 5, 3, "abcde", "abcde", (0, 4)),
    ("scroll", 10, 3, "1\r\n2\r\n3\r\n4", "2\n3\n4", (2, 1)),
    ("alternate screen", 10, 3, "shell\x1b[?1049h\x1b[Hvim", "vim", (0, 3)),
    ("back from the alternate screen", 10, 3, "shell\x1b[?1049h\x1b[Hvim\x1b[?1049l", "shell", (0, 5)),
    ("scroll region", 10, 5, "1\r\n2\r\n3\r\n4\r\n5\x1b[2;4r\x1b[4;1H\nx", "1\n3\n4\nx\n5", (3, 1)),
    ("reverse index", 10, 3, "a\r\nb\x1b[H\x1bMtop", "top\na\nb", (0, 3)),
    ("insert and delete lines", 10, 4, "1\r\n2\r\n3\x1b[2;1H\x1b[Lx\x1b[3;1H\x1b[M", "1\nx\n3", (2, 0)),
    ("insert and delete characters", 10, 2, "abcdef\x1b[1;3H\x1b[2@\x1b[1;8H\x1b[1P", "ab  cde", (0, 7)),
    ("erase", 10, 3, "xxxxx\r\nyyyyy\r\nzzzzz\x1b[2;3H\x1b[K\x1b[J", "xxxxx\nyy", (1, 2)),
    ("wide characters", 10, 2, "\u{4e16}\u{754c}!", "\u{4e16}\u{754c}!", (0, 5)),
    ("a wide character does not fit at the margin", 5, 2, "abcd\u{4e16}", "abcd\n\u{4e16}", (1, 2)),
    ("combining marks", 10, 2, "e\u{301}a\u{308}", "e\u{301}a\u{308}", (0, 2)),
    ("tabs", 20, 2, "a\tb\tc", "a       b       c", (0, 17)),
    ("line drawing", 10, 2, "\x1b(0lqk\x1b(B", "\u{250c}\u{2500}\u{2510}", (0, 3)),
    ("repeat", 10, 2, "=\x1b[4b", "=====", (0, 5)),
    ("no UTF-8", 10, 2, "a\u{fffd}b", "a\u{fffd}b", (0, 3)),
    ("an unfinished update is shown", 10, 2, "\x1b[?2026hhalf", "half", (0, 4)),
];

#[test]
fn recorded_streams_give_their_screens() {
    for (name, columns, rows, output, expected, cursor) in CASES {
        let screen = shown(size(*columns, *rows), output.as_bytes());
        assert_eq!(screen.to_text(), *expected, "{name}");
        assert_eq!((screen.cursor.row, screen.cursor.column), *cursor, "{name}");
        for piece in 1..output.len() {
            let mut screen = Screen::new(size(*columns, *rows));
            output.as_bytes().chunks(piece).for_each(|part| screen.feed(part));
            assert_eq!(screen.snapshot().to_text(), *expected, "{name} in pieces of {piece}");
        }
    }
}

#[test]
fn title_bell_colours_and_modes_are_known() {
    let mut screen = Screen::new(size(20, 4));
    screen.feed(b"\x1b]2;my title\x1b\\\x07\x07\x1b[1;31mred\x1b[48;5;200mpink\x1b[38;2;1;2;3mrgb\x1b[7minv\x1b[0m");
    let look = screen.snapshot();
    assert_eq!((look.title.as_deref(), look.bells), (Some("my title"), 2));
    let runs = &look.rows[0].runs;
    let styles: Vec<_> =
        runs.iter().map(|run| (run.text.as_str(), run.style.foreground, run.style.background)).collect();
    assert_eq!(
        styles,
        [
            ("red", Colour::Indexed(1), Colour::Usual),
            ("pink", Colour::Indexed(1), Colour::Indexed(200)),
            ("rgb", Colour::Rgb(1, 2, 3), Colour::Indexed(200)),
            ("inv", Colour::Rgb(1, 2, 3), Colour::Indexed(200)),
        ]
    );
    assert!(runs.iter().all(|run| run.style.bold) && runs[3].style.inverse && !runs[2].style.inverse);
    assert!(!look.keyboard.application_cursor && !look.keyboard.bracketed_paste && look.cursor.visible);
    screen.feed(b"\x1b[?1h\x1b[?2004h\x1b[?25l\x1b[?1049h");
    let look = screen.snapshot();
    assert!(
        look.keyboard.application_cursor && look.keyboard.bracketed_paste && !look.cursor.visible && look.alternate
    );
}

#[test]
fn a_program_that_asks_is_answered() {
    let cases: &[(&[u8], &[u8])] = &[
        (b"\x1b[5n", b"\x1b[0n"),
        (b"ab\x1b[6n", b"\x1b[1;3R"),
        (b"\x1b[c", b"\x1b[?6c"),
        (b"\x1b[18t", b"\x1b[8;24;80t"),
        (b"\x1b[14t", b"\x1b[4;384;640t"),
        (b"\x1b]11;?\x07", b"\x1b]11;rgb:1b1b/1f1f/2727\x07"),
        (b"\x1b]11;?\x1b\\", b"\x1b]11;rgb:1b1b/1f1f/2727\x1b\\"),
        (b"\x1b[?2004$p", b"\x1b[?2004;2$y"),
        (b"plain", b""),
    ];
    for (question, answer) in cases {
        let mut screen = Screen::new(TerminalSize::USUAL);
        screen.feed(question);
        assert_eq!(screen.take_answers(), *answer, "{}", question.escape_ascii());
        assert_eq!(screen.take_answers(), b"", "once");
    }
    let mut screen = Screen::new(TerminalSize::USUAL);
    screen.feed(&b"\x1b[6n".repeat(1_000_000));
    assert!(screen.take_answers().len() <= 4096, "who asks without reading is not answered without end");
}

#[test]
fn what_scrolls_off_is_kept_up_to_a_limit_and_a_new_size_wraps_anew() {
    let mut screen = Screen::new(size(10, 3));
    for line in 0..5000 {
        screen.feed(format!("line {line}\r\n").as_bytes());
    }
    let look = screen.snapshot();
    assert_eq!((look.to_text().as_str(), look.scrolled_off), ("line 4998\nline 4999", 1000));
    let back = screen.scrollback(usize::MAX);
    assert_eq!((back.len(), back[999].text().as_str(), back[0].text().as_str()), (1000, "line 4997", "line 3998"));
    screen.feed(b"\x1b[2J\x1b[H0123456789abc");
    screen.resize(size(20, 3));
    assert!(screen.snapshot().to_text().contains("0123456789abc"), "{}", screen.snapshot().to_text());
    screen.resize(size(5, 5));
    assert!(screen.snapshot().to_text().ends_with("01234\n56789\nabc"), "{}", screen.snapshot().to_text());
}

#[test]
fn memory_stays_bounded_whatever_is_printed() {
    let title = [b"\x1b]0;".as_slice(), &b"t".repeat(1 << 20)].concat();
    let link = |number: usize| format!("\x1b]8;;https://example.org/{number}/{}\x1b\\x", "l".repeat(4000)).into_bytes();
    let before = memory();
    let mut screen = Screen::new(TerminalSize::USUAL);
    for round in 0..100 {
        screen.feed(&title);
        screen.feed(b"\x07");
        screen.feed("e".as_bytes());
        screen.feed(&"\u{301}".repeat(100_000).into_bytes());
        (0..200).for_each(|number| screen.feed(&link(round * 200 + number)));
        screen.feed(b"\x1bP");
        screen.feed(&b"d".repeat(1 << 20));
        screen.feed(b"\x1b\\");
    }
    let grown = memory().saturating_sub(before);
    // Some 400 MB went in; other tests of this file run beside this one.
    assert!(grown < 60 << 20, "{grown} bytes");
    assert_eq!(screen.snapshot().title, None, "too long for a title");
}

fn memory() -> usize {
    let status = fs::read_to_string("/proc/self/statm").unwrap();
    status.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// The same bytes in tmux: what it shows, and where its cursor is.
struct Reference {
    folder: tempfile::TempDir,
    socket: String,
}

impl Reference {
    fn start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket").display().to_string();
        Command::new("tmux").arg("-V").output().ok()?;
        Some(Self { folder, socket })
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let output = Command::new("tmux")
            .args(["-u", "-S", &self.socket, "-f", "/dev/null"])
            .args(arguments)
            .env("LC_ALL", "C.UTF-8")
            .env_remove("TMUX")
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn shows(&self, number: usize, size: TerminalSize, bytes: &[u8]) -> (String, (u16, u16)) {
        let file = self.folder.path().join(format!("bytes-{number}"));
        fs::write(&file, bytes).unwrap();
        let (name, columns, rows) = (format!("case-{number}"), size.columns.to_string(), size.rows.to_string());
        // The channel says that all bytes have gone to the terminal; tmux reads them before it serves the next client.
        let script = format!(
            "stty raw -echo; cat {}; tmux -S {} wait-for -S done-{number}; sleep 600",
            file.display(),
            self.socket
        );
        self.tmux(&[
            "new-session", "-d", "-s", &name, "-x", &columns, "-y", &rows, &script, ";", "set", "-g", "status", "off",
        ]);
        self.tmux(&["wait-for", &format!("done-{number}")]);
        let text = self.tmux(&["capture-pane", "-p", "-t", &name]);
        let cursor = self.tmux(&["display-message", "-p", "-t", &name, "#{cursor_y} #{cursor_x}"]);
        let numbers: Vec<u16> = cursor.split_whitespace().map(|word| word.parse().unwrap()).collect();
        (text.trim_end_matches('\n').to_owned(), (numbers[0], numbers[1]))
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        let _ = Command::new("tmux").args(["-S", &self.socket, "kill-server"]).output();
    }
}

/// Streams with everything that programs use, from a fixed seed. Moving up and down is not among it: tmux stops at the
/// margins of a scroll region, this emulator at those of the screen.
fn streams() -> Vec<String> {
    let piece = prop_oneof![
        5 => "[ -~]{1,30}",
        2 => "[\u{4e16}\u{754c}\u{e9}\u{2500}a-z]{1,10}",
        1 => "[a-z]\u{301}",
        3 => Just("\r\n".to_owned()),
        1 => Just("\t".to_owned()),
        2 => (1u8..12, 1u8..45).prop_map(|(row, column)| format!("\x1b[{row};{column}H")),
        2 => (0u8..4, prop::sample::select("CDGd".chars().collect::<Vec<_>>())).prop_map(|(count, last)| format!("\x1b[{count}{last}")),
        1 => (0u8..3, prop::sample::select("JK".chars().collect::<Vec<_>>())).prop_map(|(part, last)| format!("\x1b[{part}{last}")),
        1 => (1u8..4, prop::sample::select("@PXST".chars().collect::<Vec<_>>())).prop_map(|(count, last)| format!("\x1b[{count}{last}")),
        1 => (1u8..5, 6u8..10).prop_map(|(top, bottom)| format!("\x1b[{top};{bottom}r")),
        1 => prop::sample::select(vec!["\x1b[r", "\x1bM", "\x1bD", "\x1bE", "\x1b7", "\x1b8", "\x1b[31m", "\x1b[0m", "\x1b[?25l", "\x1b]0;t\x07"]).prop_map(str::to_owned),
    ];
    let pieces = || prop::collection::vec(piece.clone(), 1..20).prop_map(|pieces| pieces.concat());
    let stream = (pieces(), prop::option::of(pieces()), pieces()).prop_map(|(before, full_screen, after)| {
        let full_screen = full_screen.map(|text| format!("\x1b[r\x1b[?1049h\x1b[H{text}\x1b[r\x1b[?1049l"));
        before + &full_screen.unwrap_or_default() + &after
    });
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    (0..60).map(|_| stream.new_tree(&mut runner).unwrap().current()).collect()
}

#[test]
fn the_screen_is_the_one_that_tmux_shows() {
    let Some(reference) = Reference::start() else {
        assert!(std::env::var_os("CI").is_none(), "install tmux for this test");
        return;
    };
    let mut number = 0;
    // It puts the cursor of a full line one further right, and gives line drawing as the letters it was asked by.
    let differs = ["wrap is pending at the margin", "line drawing"];
    for (name, columns, rows, output, ..) in CASES.iter().filter(|case| !differs.contains(&case.0)) {
        number += 1;
        let ours = shown(size(*columns, *rows), output.as_bytes());
        let theirs = reference.shows(number, size(*columns, *rows), output.as_bytes());
        assert_eq!((ours.to_text(), (ours.cursor.row, ours.cursor.column)), theirs, "{name}");
    }
    for stream in streams() {
        number += 1;
        let ours = shown(size(40, 10), stream.as_bytes());
        let (theirs, _) = reference.shows(number, size(40, 10), stream.as_bytes());
        assert_eq!(ours.to_text(), theirs, "{stream:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes_in_any_pieces_give_the_same_screen_and_no_panic(
        columns in 2u16..40,
        rows in 1u16..12,
        pieces in prop::collection::vec(prop_oneof![
            3 => prop::collection::vec(any::<u8>(), 0..20),
            2 => "\\PC{0,10}".prop_map(String::into_bytes),
            3 => (0u16..300, 0u16..300, prop::sample::select(b"ABCDEFGHIJKLMPSTXZ@bdfghlmnpqrstu".to_vec()))
                .prop_map(|(one, two, last)| format!("\x1b[{one};{two}{}", char::from(last)).into_bytes()),
            2 => prop::sample::select(vec![
                "\x1b[?1049h", "\x1b[?1049l", "\x1b[?2026h", "\x1b[?2026l", "\x1b]0;t\x07", "\x1b]8;;u\x1b\\", "\x1bc", "\x1bM", "\x1b(0",
                "\u{4e16}", "\u{301}", "\u{1f468}\u{200d}\u{1f469}", "\r\n", "\t", "\x1b[?5h", "\x1b[4h", "\x1b[?7l", "\x1b[?6h", "\x1bP", "\x1b]",
            ]).prop_map(|text| text.as_bytes().to_vec()),
        ], 0..40),
        cuts in prop::collection::vec(0usize..600, 0..10),
        again in (2u16..40, 1u16..12),
    ) {
        let output = pieces.concat();
        let mut whole = Screen::new(size(columns, rows));
        whole.feed(&output);
        let mut parts = Screen::new(size(columns, rows));
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(output.len())).collect();
        cuts.sort_unstable();
        let mut last = 0;
        for cut in cuts.into_iter().chain([output.len()]) {
            parts.feed(&output[last..cut]);
            last = cut;
        }
        prop_assert_eq!(whole.snapshot(), parts.snapshot());
        prop_assert_eq!(whole.scrollback(usize::MAX), parts.scrollback(usize::MAX));
        for screen in [&mut whole, &mut parts] {
            screen.resize(size(again.0, again.1));
            screen.feed(&output);
        }
        prop_assert_eq!(whole.snapshot(), parts.snapshot());
    }
}
