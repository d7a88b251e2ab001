use proptest::prelude::*;

use super::*;

fn log(line: impl Fn(usize) -> String, count: usize) -> String {
    (1..=count).map(|number| line(number) + "\n").collect()
}

fn shown(text: &str) -> Option<String> {
    compact(text, 1, Ending::Well).map(|compacted| compacted.shown)
}

/// How much less is shown, in percent.
fn saved(text: &str, ending: Ending) -> usize {
    compact(text, 1, ending).map_or(0, |compacted| 100 - compacted.shown.len() * 100 / text.len())
}

/// Puts the lines of gaps back, and checks that what is shown and what is left out are all there is.
fn whole_again(text: &str, first: u64, compacted: &Compacted) {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let line = |number: u64| lines[usize::try_from(number - first).unwrap()];
    let mut next = first;
    let (mut again, mut shown, mut gaps) = (String::new(), String::new(), Vec::new());
    for part in &compacted.parts {
        assert_eq!(*part.lines.start(), next, "no line is missing, and none comes twice");
        next = part.lines.end() + 1;
        shown += &part.text;
        if part.lines.start() == part.lines.end() && part.text == line(*part.lines.start()) {
            again += &part.text;
        } else {
            assert!(looks_like_gap(&part.text), "{}", part.text);
            gaps.push(part.lines.clone());
            again.extend(part.lines.clone().map(line));
        }
    }
    assert_eq!(again, text);
    assert_eq!((shown, gaps), (compacted.shown.clone(), compacted.gaps.clone()));
    assert!(compacted.shown.len() < text.len());
    let left_out: Vec<&str> = compacted.gaps.iter().cloned().flatten().map(line).collect();
    assert_eq!(left_out.len() as u64, compacted.lines);
    assert_eq!(left_out.iter().map(|line| line.len() as u64).sum::<u64>(), compacted.bytes);
    for line in left_out {
        let lower = line.to_lowercase();
        for word in ["error", "warn", "fail", "panic", "fatal", "exception", "denied", "skip", "not found", "traceback"]
        {
            assert!(!lower.contains(word), "{line}");
        }
    }
}

#[test]
fn a_build_is_its_first_line_its_last_and_what_is_left_out() {
    let lines = log(|number| format!("   Compiling crate{number}x v1.0.{number}"), 100);
    let text = format!("start\n{lines}    Finished in 3s\n");
    assert_eq!(
        shown(&text).unwrap(),
        "start\n   Compiling crate1x v1.0.1\n[\u{2026} 98 lines like it: lines 3-100]\n   Compiling crate100x v1.0.100\n    \
         Finished in 3s\n"
    );
}

#[test]
fn builds_and_tests_are_reduced_by_four_fifths() {
    let names = ["serde", "libc", "proc-macro2", "syn", "memchr", "unicode-ident", "cfg-if", "tokio", "regex", "quote"];
    let name = |number: usize| {
        format!("{}{}", names[number % 10], if number > 9 { number.to_string() } else { String::new() })
    };
    let cases = [
        ("cargo", log(|number| format!("   Compiling {} v{number}.1.0", name(number)), 120)),
        (
            "pytest",
            log(
                |number| {
                    format!("tests/unit/test_{number}.py::test_case[{number}-a b] PASSED      [{:3}%]", number / 2)
                },
                200,
            ),
        ),
        ("libtest", log(|number| format!("test parse::case_{number} ... ok"), 200)),
        (
            "go test",
            log(|number| format!("=== RUN   TestThing{number}\n--- PASS: TestThing{number} (0.0{}s)", number % 10), 80),
        ),
        (
            "apt",
            log(
                |number| {
                    format!(
                        "Selecting previously unselected package lib{number}.\nPreparing to unpack .../{number}-lib_1.{number}_all.deb \
                         ...\nUnpacking lib{number} (1.{number}-2) ..."
                    )
                },
                40,
            ),
        ),
        ("make", log(|number| format!("  CC      drivers/net/part{number}.o"), 100)),
        (
            "cmake",
            log(
                |number| format!("[{:3}%] Building CXX object src/CMakeFiles/a.dir/file{number}.cpp.o", number / 2),
                100,
            ),
        ),
        (
            "mvn",
            log(
                |number| {
                    format!(
                        "[INFO] Downloading from central: https://repo.maven.org/a/{number}.jar\n[INFO] Downloaded from central: https://repo.maven.org/a/{number}.jar ({number} kB at 3.{number} MB/s)"
                    )
                },
                60,
            ),
        ),
    ];
    for (name, text) in cases {
        assert!(saved(&text, Ending::Well) >= 80, "{name}: {} %\n{:?}", saved(&text, Ending::Well), shown(&text));
    }
}

#[test]
fn of_a_failed_command_only_lines_that_say_success_are_left_out() {
    let compiling = log(|number| format!("   Compiling crate{number} v1.0.{number}"), 100);
    let passed = log(|number| format!("test parse::case_{number} ... ok"), 100);
    assert_eq!(saved(&compiling, Ending::Failed), 0);
    assert!(saved(&passed, Ending::Failed) > 80);
    let both = format!("{compiling}test a::b ... FAILED\n{passed}");
    let compacted = compact(&both, 1, Ending::Failed).unwrap();
    assert_eq!(compacted.gaps, [103..=200]);
    whole_again(&both, 1, &compacted);
}

#[test]
fn a_line_of_trouble_is_seen_wherever_it_stands() {
    for trouble in [
        "test parse::case_50 ... FAILED", "   Compiling thiserror v1.0.50", "tests/a.py::b SKIPPED [ 50%]",
        "warning: x",
    ] {
        let lines = |from: usize| log(|number| format!("test parse::case_{} ... ok", number + from), 60);
        let text = format!("{}{trouble}\n{}", lines(0), lines(60));
        let compacted = compact(&text, 1, Ending::Well).unwrap();
        assert!(compacted.shown.contains(&format!("\n{trouble}\n")), "{}", compacted.shown);
        assert_eq!(compacted.gaps.len(), 2);
        whole_again(&text, 1, &compacted);
    }
}

#[test]
fn what_is_short_few_or_worth_nothing_stays() {
    assert_eq!(shown(&log(|number| format!("test case_{number} ... ok"), 20)), None, "short");
    let long = "x".repeat(500);
    assert_eq!(shown(&log(|number| format!("test {long}{number}::a ... ok"), 5)), None, "five are not a run");
    assert!(shown(&log(|number| format!("test {long}{number}::a ... ok"), 6)).is_some(), "six are");
    assert_eq!(shown(&log(|number| format!("{number} {number}"), 1000)), None, "rows of numbers");
    assert_eq!(shown(&log(|number| format!("{{\"ok\": {number}}}"), 1000)), None, "objects");
    let forged =
        format!("[\u{2026} 9 lines like it: lines 3-11]\n{}", log(|number| format!("test a::b{number} ... ok"), 200));
    assert_eq!(shown(&forged), None, "nobody can tell our gaps from those that were printed");
}

#[test]
fn lines_are_counted_from_where_the_text_begins() {
    let text = log(|number| format!("test parse::case_{number} ... ok"), 100);
    let compacted = compact(&text, 501, Ending::Well).unwrap();
    assert_eq!(compacted.gaps, [502..=599]);
    whole_again(&text, 501, &compacted);
}

#[test]
fn what_is_drawn_over_several_lines_is_left_alone() {
    let text = log(|number| format!("test parse::case_{number} ... ok"), 100);
    assert!(compact_plain(&text, 1, Ending::Well).is_some());
    assert!(
        compact_plain(&text.replace(" ok", " \u{1b}[32mok\u{1b}[0m\r"), 1, Ending::Well).is_some(),
        "colours are not in the way"
    );
    assert!(compact_plain(&format!("{text}\u{1b}[5A\u{1b}[Jdone\n"), 1, Ending::Well).is_none());
}

/// A line of one of a few kinds, some of which must be seen.
fn line() -> impl Strategy<Value = String> {
    let number = 0..200_u32;
    prop_oneof![
        8 => number.clone().prop_map(|number| format!("test module::case_{number} ... ok")),
        8 => number.clone().prop_map(|number| format!("   Compiling crate-{number} v1.{number}.0")),
        4 => number.clone().prop_map(|number| format!("tests/a.py::test_{number} PASSED [{number:3}%]")),
        4 => number.clone().prop_map(|number| format!("GET /a/{number} {}", if number % 7 == 0 { 500 } else { 200 })),
        1 => number.clone().prop_map(|number| format!("error[E0{number}]: no")),
        1 => number.clone().prop_map(|number| format!("\u{1b}[33mwarning\u{1b}[0m: {number}")),
        1 => Just(String::new()),
        1 => number.prop_map(|number| "long ".repeat(number as usize * 3)),
        1 => "\\PC{0,60}",
        1 => Just("[\u{2026} lines like nothing".to_owned()),
        1 => Just("\u{fffd}\u{fffd} broken bytes".to_owned()),
    ]
}

/// Runs of like lines, one after the other, with any line ends.
fn soup() -> impl Strategy<Value = String> {
    let run = (line(), 1..30_usize, prop_oneof![Just("\n"), Just("\r\n")]);
    let runs = prop::collection::vec(prop_oneof![3 => run, 1 => (line(), Just(1), Just("\n"))], 1..30);
    (runs, prop::collection::vec(line(), 0..40), any::<bool>()).prop_map(|(runs, mixed, finished)| {
        let mut text = String::new();
        for (line, count, end) in runs {
            (0..count).for_each(|number| text += &format!("{}{end}", line.replace("case_", &format!("case_{number}"))));
        }
        for line in &mixed {
            text += &format!("{line}\n");
        }
        if !finished {
            text.truncate(text.trim_end().len());
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn what_is_shown_and_what_is_left_out_are_all_there_is(text in soup(), first in 1..5000_u64, failed: bool) {
        let ending = if failed { Ending::Failed } else { Ending::Well };
        if let Some(compacted) = compact(&text, first, ending) {
            whole_again(&text, first, &compacted);
        }
    }

    #[test]
    fn any_text_at_all_is_taken(text in "(?s).{0,300}", count in 1..40_usize) {
        let text = text.repeat(count);
        if let Some(compacted) = compact(&text, 1, Ending::Well) {
            whole_again(&text, 1, &compacted);
        }
    }
}
