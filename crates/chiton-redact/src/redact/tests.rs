use std::cmp::Reverse;

use super::*;
use crate::forms;
use crate::forms::SHORTEST;
use proptest::prelude::*;

const VALUES: [(&str, &str); 6] = [
    ("{{secret:plain}}", "S3CR3T-VALUE"),
    ("{{secret:quotes}}", "it's \"a\" $(value) \\ `x`"),
    ("{{secret:lines}}", "first line of it\n  second line\nshort\nand the last one"),
    ("{{secret:wide}}", "gr\u{fc}n-\u{1f600}-bl\u{e4}u"),
    ("{{secret:tail}}", "VALUE-S3CR3T"),
    ("{{decrypt:same}}", "aaaaaaaaaa"),
];

fn patterns(secrets: &[(&str, &str)]) -> Arc<Patterns> {
    Arc::new(Patterns::new(secrets.iter().map(|(mask, value)| (*mask, value.as_bytes()))))
}

fn through(patterns: &Arc<Patterns>, pieces: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut redactor = Redactor::new(Arc::clone(patterns));
    for piece in pieces {
        redactor.push(piece, &mut out);
        assert_eq!(
            redactor.raw.held.len(),
            longest_beginning(patterns, &piece_end(pieces, piece)),
            "held back too long"
        );
    }
    redactor.flush(&mut out);
    out
}

/// What had come when `last` had come.
fn piece_end<'a>(pieces: &[&'a [u8]], last: &&'a [u8]) -> Vec<u8> {
    let count = pieces.iter().position(|piece| std::ptr::eq(piece, last)).unwrap();
    pieces[..=count].concat()
}

/// The length of the longest end of `text` that is the beginning of a form, and not all of it.
fn longest_beginning(patterns: &Patterns, text: &[u8]) -> usize {
    let longest = patterns.forms.iter().map(|form| form.bytes.len()).max().unwrap_or(0);
    let lengths = 1..=text.len().min(longest);
    let begins = |length: &usize| {
        let end = &text[text.len() - length..];
        patterns.forms.iter().any(|form| form.bytes.len() > *length && form.bytes.starts_with(end))
    };
    lengths.filter(begins).max().unwrap_or(0)
}

/// The same by trying every form at every place.
fn slowly(patterns: &Patterns, text: &[u8]) -> Vec<u8> {
    let mut found = Vec::new();
    for start in 0..text.len() {
        for form in &patterns.forms {
            let rest = &text[start..];
            let unfinished = rest.len() >= SHORTEST && form.bytes.starts_with(rest);
            if rest.starts_with(&form.bytes) || unfinished {
                found.push((start, (start + form.bytes.len()).min(text.len()), form.mask));
            }
        }
    }
    found.sort_unstable_by_key(|(start, end, mask)| (*start, Reverse(*end), *mask));
    let (mut out, mut told, mut last) = (Vec::new(), 0, None);
    for (start, end, mask) in found {
        if end <= told {
            continue;
        }
        if start > told {
            out.extend_from_slice(&text[told..start]);
        }
        if start >= told || last != Some(mask) {
            out.extend_from_slice(patterns.mask(mask));
        }
        (told, last) = (end, Some(mask));
    }
    out.extend_from_slice(&text[told..]);
    out
}

#[test]
fn every_form_of_every_value_is_masked_at_every_split_position() {
    let all = patterns(&VALUES);
    for (mask, value) in VALUES {
        for form in forms::of(value.as_bytes()) {
            let text = [b"say: ", &form[..], b" end"].concat();
            let whole = all.masked(&text);
            assert!(memchr::memmem::find(&whole, mask.as_bytes()).is_some(), "{}", text.escape_ascii());
            for split in 0..=text.len() {
                let (first, second) = text.split_at(split);
                let out = through(&all, &[first, second]);
                assert_eq!(out, whole, "{} at {split}", text.escape_ascii());
                assert!(all.forms.iter().all(|form| memchr::memmem::find(&out, &form.bytes).is_none()));
            }
            let bytes: Vec<&[u8]> = text.chunks(1).collect();
            assert_eq!(through(&all, &bytes), whole, "{} byte by byte", text.escape_ascii());
        }
    }
}

#[test]
fn a_whole_value_alone_becomes_exactly_its_token() {
    let all = patterns(&VALUES);
    for (mask, value) in VALUES {
        assert_eq!(all.masked(value.as_bytes()), mask.as_bytes());
        let twice = format!("{value}\n{value}");
        assert_eq!(all.masked(twice.as_bytes()), format!("{mask}\n{mask}").as_bytes());
    }
}

#[test]
fn text_without_a_value_appears_at_once() {
    let all = patterns(&VALUES);
    for text in ["Password: ", "(yes/no) ", "$ ", "user@host:~$ ", "\u{1b}[?2004h> ", "progress 10%\r"] {
        let mut out = Vec::new();
        Redactor::new(Arc::clone(&all)).push(text.as_bytes(), &mut out);
        assert_eq!(out, text.as_bytes());
    }
}

#[test]
fn the_longest_value_wins_and_overlapping_values_are_masked_whole() {
    let all = patterns(&[("<1>", "password"), ("<2>", "password123"), ("<3>", "123-other")]);
    let cases = [
        ("password", "<1>"),
        ("password12", "<2>"),
        ("password12.", "<1>12."),
        ("password123", "<2>"),
        ("password123-other", "<2><3>"),
        ("password123-othe", "<2><3>"),
        ("password123-oth", "<2>-oth"),
        ("passwordpassword", "<1><1>"),
        ("passwor", "passwor"),
    ];
    for (text, expected) in cases {
        assert_eq!(String::from_utf8(all.masked(text.as_bytes())).unwrap(), expected, "{text}");
    }
}

#[test]
fn what_was_cut_by_a_flush_is_known_as_a_rest() {
    let all = patterns(&[("<1>", "0123456789abcdef")]);
    for cut in 0..16 {
        let mut out = Vec::new();
        let mut redactor = Redactor::new(Arc::clone(&all));
        redactor.push(&b"0123456789abcdef"[..cut], &mut out);
        redactor.flush(&mut out);
        redactor.push(&b"0123456789abcdef"[cut..], &mut out);
        redactor.flush(&mut out);
        // Less than a value can have is told; the rest never.
        let expected = if cut < SHORTEST { format!("{}<1>", &"01234567"[..cut]) } else { "<1>".to_owned() };
        assert_eq!(String::from_utf8(out).unwrap(), expected, "cut at {cut}");
    }
}

#[test]
fn a_value_that_stands_in_a_mask_is_not_let_out_by_it() {
    let all = patterns(&[("{{secret:my-password}}", "my-password"), ("{{secret:b}}", "[secret]")]);
    assert_eq!(all.masked(b"a my-password b [secret]"), b"a ******** b {{secret:b}}");
}

#[test]
fn a_value_of_140000_characters_is_masked_and_a_monotonous_one_costs_no_more() {
    let varied: String =
        (0..140_000u32).map(|number| char::from(b'a' + u8::try_from(number % 1009 * number % 23).unwrap())).collect();
    for value in [varied.as_str(), &"x".repeat(140_000)] {
        let all = patterns(&[("<1>", value)]);
        for piece in [1, 1000, 65_536] {
            let text = format!("{value}\n{value}.");
            let mut out = Vec::new();
            let mut redactor = Redactor::new(Arc::clone(&all));
            for part in text.as_bytes().chunks(piece) {
                redactor.push(part, &mut out);
            }
            redactor.flush(&mut out);
            assert_eq!(out, b"<1>\n<1>.", "pieces of {piece}");
        }
    }
}

/// Few letters and many beginnings: everything overlaps with everything.
fn text_of(alphabet: &'static str, length: Range<usize>) -> impl Strategy<Value = String> {
    let letters: Vec<char> = alphabet.chars().collect();
    proptest::collection::vec(proptest::sample::select(letters), length)
        .prop_map(|letters| letters.into_iter().collect())
}

proptest! {
    #[test]
    fn random_values_in_random_pieces_are_masked_as_by_trying_everything_everywhere(
        values in proptest::collection::vec(text_of("ab", 8..20), 1..4),
        parts in proptest::collection::vec((any::<proptest::sample::Index>(), any::<proptest::sample::Index>(), text_of("ab= ", 0..6)), 1..12),
        sizes in proptest::collection::vec(1usize..40, 1..8),
    ) {
        let masks: Vec<String> = (0..values.len()).map(|number| format!("<{number}>")).collect();
        let secrets: Vec<(&str, &str)> = masks.iter().map(String::as_str).zip(values.iter().map(String::as_str)).collect();
        let all = patterns(&secrets);
        let mut text = Vec::new();
        for (which, cut, filler) in &parts {
            let form = &all.forms[which.index(all.forms.len())].bytes;
            text.extend_from_slice(&form[..=cut.index(form.len())]);
            text.extend_from_slice(filler.as_bytes());
        }
        let mut pieces: Vec<&[u8]> = Vec::new();
        let mut rest = &text[..];
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*size).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        let out = through(&all, &pieces);
        prop_assert_eq!(out.escape_ascii().to_string(), slowly(&all, &text).escape_ascii().to_string());
    }

    #[test]
    fn random_bytes_and_any_secret_leave_no_form_behind(
        value in proptest::collection::vec(any::<u8>().prop_filter("no NUL", |byte| *byte != 0), 8..60),
        before in proptest::collection::vec(any::<u8>(), 0..40),
        after in proptest::collection::vec(any::<u8>(), 0..40),
        size in 1usize..30,
    ) {
        let all = Arc::new(Patterns::new([("<1>", &value[..])]));
        for form in forms::of(&value) {
            let text = [&before[..], &form, &after].concat();
            let mut out = Vec::new();
            let mut redactor = Redactor::new(Arc::clone(&all));
            text.chunks(size).for_each(|piece| redactor.push(piece, &mut out));
            redactor.flush(&mut out);
            for form in &all.forms {
                prop_assert!(memchr::memmem::find(&out, &form.bytes).is_none());
            }
        }
    }
}

/// What has gone out after each piece, and in the end.
fn gone_out(
    patterns: &Arc<Patterns>,
    pieces: &[Vec<u8>],
    push: impl Fn(&mut Redactor, &[u8], &mut Vec<u8>),
) -> (Vec<usize>, String) {
    let (mut redactor, mut out) = (Redactor::new(Arc::clone(patterns)), Vec::new());
    let mut lengths = Vec::new();
    for piece in pieces {
        push(&mut redactor, piece, &mut out);
        lengths.push(out.len());
    }
    redactor.flush(&mut out);
    (lengths, out.escape_ascii().to_string())
}

#[test]
fn a_character_that_is_taken_back_ends_no_value_wherever_it_stands() {
    let value: String = ('!'..='~').filter(|character| !matches!(character, '"' | '\'' | '\\' | '`' | '&')).collect();
    let all = Arc::new(Patterns::new([("<1>", value.as_bytes())]));
    for length in 1..value.len() {
        for drawn in ["x\x08", "xyz\x08\x08\x08", "x\x1b[m\x08"] {
            let text = [&[b'.'; 300][..], &value.as_bytes()[..length], drawn.as_bytes()].concat();
            let pieces = [text.clone()];
            let (_, quick) = gone_out(&all, &pieces, Redactor::push);
            let (_, searched) =
                gone_out(&all, &pieces, |redactor, piece, out| redactor.search_twice(piece, Piece::Last, out));
            assert_eq!(quick, searched, "{length} bytes and {drawn:?}");
        }
    }
}

/// Text between values: nothing, a few bytes of any kind, line ends, things that cannot be seen, or much.
fn filler() -> impl Strategy<Value = Vec<u8>> {
    let ends = proptest::sample::select(vec!["\n", "\r\n", "\r", "\n\n", "a\nb\nc\n", "1\n22\n333\n4444\n55555\n"]);
    let hidden = proptest::sample::select(vec!["\x1b[31m", "\x1b[m\x1b[K", "x\x08", "\x1b", "\x1b]0;t\x07"]);
    prop_oneof![
        2 => Just(Vec::new()),
        4 => text_of("ab= ", 1..12).prop_map(String::into_bytes),
        5 => ends.prop_map(|text| text.as_bytes().to_vec()),
        1 => hidden.prop_map(|text| text.as_bytes().to_vec()),
        1 => (4080usize..4110).prop_map(|length| vec![b'.'; length]),
        1 => (40usize..60).prop_map(|lines| b"a line of a log, with a number: 0000000\n".repeat(lines)),
        1 => (500usize..700).prop_map(|lines| b"12\n345\n".repeat(lines)),
    ]
}

/// Puts `end` into `text` after every so many bytes.
fn wrapped(text: &[u8], width: usize, end: &[u8]) -> Vec<u8> {
    text.chunks(width).collect::<Vec<_>>().join(end)
}

proptest! {
    #[test]
    fn what_is_clean_passes_exactly_as_if_it_had_been_searched(
        values in proptest::collection::vec(prop_oneof![
            5 => text_of("ab", 8..20),
            2 => text_of("abc\n", 8..24),
            1 => text_of("ab\r\n\x1b", 8..24),
        ], 1..4),
        parts in proptest::collection::vec(
            (any::<proptest::sample::Index>(), any::<proptest::sample::Index>(), 1usize..40, any::<bool>(), filler()),
            1..16,
        ),
        sizes in proptest::collection::vec(prop_oneof![1usize..40, 4000usize..5000, Just(20_000)], 1..8),
    ) {
        let all = Arc::new(Patterns::new(values.iter().map(|value| ("<1>", value.as_bytes()))));
        prop_assume!(!all.is_empty());
        let mut text = Vec::new();
        for (which, cut, width, carriage, filler) in &parts {
            let form = &all.forms[which.index(all.forms.len())].bytes;
            let end: &[u8] = if *carriage { b"\r\n" } else { b"\n" };
            text.extend_from_slice(&wrapped(&form[..=cut.index(form.len())], *width, end));
            text.extend_from_slice(filler);
        }
        let (mut pieces, mut rest) = (Vec::new(), &text[..]);
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*size).min(rest.len()));
            pieces.push(piece.to_vec());
            rest = after;
        }
        let (lengths, out) = gone_out(&all, &pieces, Redactor::push);
        let (searched_lengths, searched) =
            gone_out(&all, &pieces, |redactor, piece, out| redactor.search_twice(piece, Piece::Last, out));
        prop_assert_eq!(&out, &searched);
        let in_place = gone_out(&all, &pieces, |redactor, piece, out| {
            let (room, mut spare) = (sizes[0] % 32, Vec::new());
            let mut buffer = [&vec![b'?'; room][..], piece].concat();
            let arrived = room..buffer.len();
            out.extend_from_slice(redactor.push_in_place(&mut buffer, arrived, &mut spare));
        });
        prop_assert_eq!(&in_place.1, &searched);
        for lengths in [lengths, in_place.0] {
            prop_assert!(lengths.iter().zip(&searched_lengths).all(|(one, other)| one >= other), "held back for longer");
        }
    }
}

/// What a view shows: no escape sequence, nothing that was drawn over, no line end.
fn seen(text: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = after;
        match *first {
            ESCAPE => rest = &rest[sequence(&[&[ESCAPE][..], after].concat()).unwrap_or(1) - 1..],
            BACKSPACE => drop(out.pop()),
            b'\n' | b'\r' => {}
            byte => out.push(byte),
        }
    }
    out
}

/// No eight characters of `value` in a row are seen, whatever the pieces in which `text` arrives.
fn assert_unseen(value: &str, text: &[u8]) {
    let all = patterns(&[("{{secret:x}}", value)]);
    let parts: Vec<&[u8]> = forms::of(value.as_bytes()).iter().map(|form| form.clone().leak() as &[u8]).collect();
    let check = |pieces: &[&[u8]]| {
        let mut out = Vec::new();
        let mut redactor = Redactor::new(Arc::clone(&all));
        for piece in pieces {
            redactor.push(piece, &mut out);
        }
        redactor.flush(&mut out);
        let shown = seen(&out);
        for form in &parts {
            assert!(
                memchr::memmem::find(&shown, form).is_none(),
                "{} became {}",
                pieces.concat().escape_ascii(),
                out.escape_ascii()
            );
        }
        assert!(memchr::memmem::find(&shown, b"{{secret:x}}").is_some(), "{}", out.escape_ascii());
        assert!(memchr::memmem::find(&shown, &value.as_bytes()[SHORTEST..]).is_none_or(|_| value.len() < 2 * SHORTEST));
    };
    check(&[text]);
    for split in 0..=text.len() {
        check(&[&text[..split], &text[split..]]);
    }
    check(&text.chunks(1).collect::<Vec<_>>());
}

const TOKEN: &str = "S3CR3T-9f8a7b6c5d4e";

#[test]
fn colours_and_cursor_sequences_inside_a_value_do_not_show_it() {
    for sequence in ["\x1b[01;31m\x1b[K", "\x1b[m", "\x1b[3C", "\x1b]0;title\x07", "\x1b(B", "\x1b7", "\x1b[?25l"] {
        for place in 1..TOKEN.len() {
            let (first, second) = TOKEN.split_at(place);
            assert_unseen(TOKEN, format!("key={first}{sequence}{second} end\n").as_bytes());
        }
    }
    let coloured: String = TOKEN.chars().flat_map(|character| ["\x1b[31m".to_owned(), character.to_string()]).collect();
    assert_unseen(TOKEN, format!("{coloured}\x1b[0m\n").as_bytes());
}

#[test]
fn sequences_are_kept_in_order_around_the_mask() {
    let all = patterns(&[("<1>", TOKEN)]);
    let text = "a\x1b[1mS3CR3T-\x1b[31m9f8a7b\x1b[m6c5d4e\x1b[0m b";
    assert_eq!(all.masked(text.as_bytes()), b"a\x1b[1m<1>\x1b[31m\x1b[m\x1b[0m b");
    let other = "\x1b[1mnothing\x1b[0m here\r\nat\x08 all\x1b[";
    for split in 0..=other.len() {
        let mut out = Vec::new();
        let mut redactor = Redactor::new(Arc::clone(&all));
        redactor.push(&other.as_bytes()[..split], &mut out);
        redactor.push(&other.as_bytes()[split..], &mut out);
        redactor.flush(&mut out);
        assert_eq!(out.escape_ascii().to_string(), other.as_bytes().escape_ascii().to_string(), "at {split}");
    }
    assert_eq!(all.masked(format!("\x1b]0;{TOKEN}\x07x").as_bytes()), b"\x1b]0;<1>\x07x");
}

#[test]
fn overstrikes_do_not_show_a_value() {
    for under in ["_", ""] {
        let struck = |character: char| {
            let below = if under.is_empty() { character.to_string() } else { under.to_owned() };
            format!("{below}\x08{character}")
        };
        let text: String = TOKEN.chars().map(struck).collect();
        assert_unseen(TOKEN, format!("x {text} y\n").as_bytes());
    }
}

#[test]
fn a_value_that_was_wrapped_is_masked_as_one() {
    let all = patterns(&[("<1>", TOKEN)]);
    for width in 1..TOKEN.len() {
        for end in ["\n", "\r\n"] {
            let lines: Vec<String> =
                TOKEN.as_bytes().chunks(width).map(|line| String::from_utf8_lossy(line).into()).collect();
            let text = lines.join(end);
            assert_eq!(all.masked(text.as_bytes()), b"<1>", "width {width}");
        }
    }
}

#[test]
fn wrapped_hexadecimal_and_base64_are_masked_wherever_the_value_begins() {
    let value = "S3CR3T-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLM";
    let all = patterns(&[("<1>", value)]);
    for before in 0..100 {
        let plain = format!("{}{value} and more", "p".repeat(before));
        let hex = data_encoding::HEXLOWER.encode(plain.as_bytes());
        let base64 = data_encoding::BASE64.encode(plain.as_bytes());
        for (text, width) in [(&hex, 60), (&hex, 64), (&base64, 76), (&base64, 64)] {
            let wrapped = text.as_bytes().chunks(width).collect::<Vec<_>>().join(&b'\n');
            let out = all.masked(&wrapped);
            assert!(memchr::memmem::find(&out, b"<1>").is_some(), "{before}: {}", out.escape_ascii());
            let flat: Vec<u8> = out.iter().copied().filter(|byte| *byte != b'\n').collect();
            assert!(
                all.forms.iter().all(|form| memchr::memmem::find(&flat, &form.bytes).is_none()),
                "{before} {width}"
            );
        }
    }
}

#[test]
fn a_line_that_ends_like_a_value_begins_is_not_held_back() {
    let all = patterns(&[("<1>", TOKEN)]);
    let mut out = Vec::new();
    let mut redactor = Redactor::new(Arc::clone(&all));
    redactor.push(b"Listening on S3C\n", &mut out);
    assert_eq!(out, b"Listening on S3C\n");
    redactor.push(b"R3T-9f8a7b6c5d4e\n", &mut out);
    assert_eq!(out, b"Listening on S3C\n<1>\n");
}

/// `cargo test --release -p chiton-redact --lib measure_ -- --ignored --nocapture`
#[test]
#[ignore = "prints numbers, for a release build"]
fn measure_throughput() {
    use std::fmt::Write as _;
    use std::time::Instant;
    let values: Vec<(String, String)> = (0..100u64)
        .map(|number| {
            let mut value = String::new();
            for part in 0..3u64 {
                write!(value, "{:x}", (number * 3 + part + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)).unwrap();
            }
            (format!("{{{{secret:{number}}}}}"), format!("ghp_{value}/+&"))
        })
        .collect();
    let secrets: Vec<(&str, &str)> = values.iter().map(|(mask, value)| (mask.as_str(), value.as_str())).collect();
    let begin = Instant::now();
    let all = patterns(&secrets);
    println!("{} forms, compiled in {:?}", all.forms.len(), begin.elapsed());
    let mut log = String::new();
    for line in 0..200_000u64 {
        writeln!(
            log,
            "2026-11-15T10:00:{:02} INFO worker-{} finished job {:x} in {} ms",
            line % 60,
            line % 16,
            line.wrapping_mul(0x9E37_79B9),
            line % 977
        )
        .unwrap();
    }
    let rate = |micros: u128| log.len() as u128 / micros.max(1);
    let mut sink = 0;
    let mut timed = |name: &str, work: &mut dyn FnMut(&[u8], &mut Vec<u8>)| {
        let mut best = u128::MAX;
        for _ in 0..12 {
            let begin = Instant::now();
            let mut out = Vec::with_capacity(128 << 10);
            for piece in log.as_bytes().chunks(64 << 10) {
                out.clear();
                work(piece, &mut out);
                sink += out.len();
            }
            best = best.min(begin.elapsed().as_micros());
        }
        println!("{name}: {} MB/s", rate(best));
    };
    timed("copied", &mut |piece, out| out.extend_from_slice(piece));
    let mut redactor = Redactor::new(Arc::clone(&all));
    timed("masked", &mut |piece, out| redactor.push(piece, out));
    let mut redactor = Redactor::new(Arc::clone(&all));
    timed("searched for everything", &mut |piece, out| redactor.search_twice(piece, Piece::Last, out));
    let automaton = aho_corasick::AhoCorasick::builder()
        .match_kind(aho_corasick::MatchKind::LeftmostLongest)
        .build(all.forms.iter().map(|form| &form.bytes[..]))
        .unwrap();
    timed("by an automaton", &mut |piece, out| {
        let mut told = 0;
        for found in automaton.find_iter(piece) {
            out.extend_from_slice(&piece[told..found.start()]);
            told = found.end();
        }
        out.extend_from_slice(&piece[told..]);
    });
    println!("{sink}");
}
