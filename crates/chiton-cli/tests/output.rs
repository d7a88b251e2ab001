//! Long output in fewer lines, as a client sees it on the wire, and everything that is left out read back.

use chiton_testkit::wire::Wire;
use serde_json::{Value, json};

use crate::place::{Place, text};

fn text_of(reply: &Value) -> &str {
    reply["content"][0]["text"].as_str().unwrap()
}

fn output_of(reply: &Value) -> &str {
    reply["structuredContent"]["output"].as_str().unwrap_or_default()
}

fn bash(wire: &mut Wire, command: &str) -> Value {
    wire.call("Bash", &json!({"command": command}))
}

/// The lines that a reply leaves out, read one gap after the other.
fn gaps(wire: &mut Wire, reply: &Value) -> Vec<String> {
    let facts = &reply["structuredContent"];
    let ranges = facts["compacted"]["ranges"].as_array().unwrap_or_else(|| panic!("no gaps: {reply}")).clone();
    ranges.iter().map(|range| part(wire, facts["bash_id"].as_str().unwrap(), range.as_str().unwrap())).collect()
}

fn part(wire: &mut Wire, id: &str, range: &str) -> String {
    let read = wire.call("BashOutput", &json!({"bash_id": id, "range": range, "view": "raw"}));
    output_of(&read).to_owned()
}

/// What is shown with the gaps filled.
fn whole(wire: &mut Wire, reply: &Value) -> String {
    let mut gaps = gaps(wire, reply).into_iter();
    let lines = output_of(reply).split_inclusive('\n');
    let whole =
        lines.map(|line| if line.starts_with("[\u{2026} ") { gaps.next().unwrap() } else { line.to_owned() }).collect();
    assert_eq!(gaps.next(), None);
    whole
}

const TESTS: &str = r#"for i in {1..300}; do echo "test module::case_$i ... ok"; done"#;

fn expected(count: u32) -> String {
    (1..=count).fold(String::new(), |text, number| text + &format!("test module::case_{number} ... ok\n"))
}

#[test]
fn a_long_run_of_like_lines_is_a_gap_that_can_be_read_back() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let reply = bash(&mut wire, &format!("echo start; {TESTS}; echo end"));
    let id = reply["structuredContent"]["bash_id"].as_str().unwrap().to_owned();
    let shown = "start\ntest module::case_1 ... ok\n[\u{2026} 298 lines like it: lines 3-300]\ntest module::case_300 ... ok\nend";
    assert_eq!(
        text_of(&reply),
        format!("{shown}\n[left out above: BashOutput with bash_id {id} and range 'lines 3-300']")
    );
    assert_eq!(reply["structuredContent"]["compacted"]["lines"], 298);
    assert_eq!(reply["structuredContent"]["exit_code"], 0);
    assert_eq!(whole(&mut wire, &reply), format!("start\n{}end\n", expected(300)));

    let all = wire.call("Bash", &json!({"command": TESTS, "compact": false}));
    assert_eq!((output_of(&all), text_of(&all)), (expected(300).as_str(), expected(300).trim_end()));
}

#[test]
fn of_a_failed_command_nothing_is_left_out_but_success() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let reply = bash(
        &mut wire,
        &format!("{TESTS}; for i in {{1..200}}; do echo \"   Compiling crate$i v1.$i.0\" >&2; done; exit 3"),
    );
    assert_eq!((&reply["structuredContent"]["exit_code"], &reply["isError"]), (&json!(3), &json!(false)), "{reply}");
    assert!(
        text_of(&reply).starts_with("[exited with code 3]\ntest module::case_1 ... ok\n[\u{2026} 298 lines"),
        "{}",
        text_of(&reply)
    );
    for number in 1..=200 {
        assert!(output_of(&reply).contains(&format!("Compiling crate{number} v1")), "{number}");
    }
    let built = |text: String, number: u32| text + &format!("   Compiling crate{number} v1.{number}.0\n");
    let built = (1..=200).fold(String::new(), built);
    assert_eq!(whole(&mut wire, &reply), expected(300) + &built);
}

#[test]
fn what_was_asked_for_is_left_alone() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    bash(&mut wire, &format!("({TESTS}) > log; mytool() {{ cat log; }}"));
    for command in [
        "cat log",
        "grep ok log",
        "sed p log",
        "sudo() { \"$@\"; }; nice cat log",
        "mytool",
        "$(which cat) log",
        "tail -n 250 log",
    ] {
        let reply = bash(&mut wire, command);
        assert_eq!(reply["structuredContent"].get("compacted"), None, "{command}: {reply}");
        assert!(
            output_of(&reply).contains("\ntest module::case_200 ... ok\n")
                || text_of(&reply).contains("same output as"),
            "{command}"
        );
    }
}

#[test]
fn output_that_was_there_before_is_named_once_and_only_if_it_is_the_same() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    bash(&mut wire, &format!("({TESTS}) > log"));
    let first = bash(&mut wire, "cat log; exit 2");
    let id = first["structuredContent"]["bash_id"].as_str().unwrap();
    let second = bash(&mut wire, "cat ./log; exit 4");
    assert_eq!(
        (&second["structuredContent"]["exit_code"], &second["structuredContent"]["same_as"]),
        (&json!(4), &json!(id))
    );
    assert_eq!(
        text_of(&second),
        format!(
            "[exited with code 4]\n[same output as {id} (300 lines): BashOutput with bash_id {id} and since 0, or compact: false, shows it]"
        )
    );
    let shown = wire.call("Bash", &json!({"command": "cat log", "compact": false}));
    assert_eq!(output_of(&shown), expected(300));
    assert_eq!(output_of(&bash(&mut wire, "cat log; echo more")), expected(300) + "more\n", "one line more");
    assert_eq!(output_of(&wire.call("BashOutput", &json!({"bash_id": id, "since": 0}))), expected(300));
}

#[test]
fn more_than_a_reply_holds_is_compacted_from_the_spool() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let command = r#"for i in {1..20000}; do echo "test module::case_$i ... ok"; [ $i = 9000 ] && echo "warning: here"; done; echo end"#;
    let reply = bash(&mut wire, command);
    assert_eq!(
        output_of(&reply),
        "test module::case_1 ... ok\n[\u{2026} 8998 lines like it: lines 2-8999]\ntest module::case_9000 ... ok\nwarning: here\ntest \
         module::case_9001 ... ok\n[\u{2026} 10998 lines like it: lines 9003-20000]\ntest module::case_20000 ... ok\nend\n"
    );
    assert_eq!(reply["structuredContent"].get("truncated"), None);
    let id = reply["structuredContent"]["bash_id"].as_str().unwrap();
    assert_eq!(part(&mut wire, id, "lines 8999-9003").lines().collect::<Vec<_>>()[2], "warning: here");
}

#[test]
fn what_is_too_long_even_with_gaps_has_its_ends_and_is_no_longer_than_before() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let words = r#"x=; for i in {1..2000}; do x=x$x; [ ${#x} -gt 40 ] && x=; echo "step $x of $((i % 3)) kinds"; done"#;
    let reply = bash(&mut wire, &format!("{TESTS}; {words}; {TESTS}"));
    assert_eq!(reply["structuredContent"]["truncated"], true, "{reply}");
    assert!(text_of(&reply).len() < 2600, "{}", text_of(&reply));
    assert!(
        output_of(&reply).starts_with("test module::case_1 ... ok\n[\u{2026} 298 lines like it: lines 2-299]\n"),
        "{}",
        text_of(&reply)
    );
    let cut = text_of(&reply)
        .lines()
        .find(|line| line.contains(" of 2600 "))
        .unwrap_or_else(|| panic!("{}", text_of(&reply)));
    let range = cut.split("lines ").nth(1).unwrap().split(' ').next().unwrap();
    let id = reply["structuredContent"]["bash_id"].as_str().unwrap();
    let (from, to) = range.split_once('-').unwrap();
    let lines: Vec<&str> = output_of(&reply).lines().collect();
    let place = lines.iter().position(|line| *line == cut).unwrap();
    let before: u64 = from.parse::<u64>().unwrap() - 1;
    assert_eq!(part(&mut wire, id, &format!("lines {before}-{before}")).trim_end(), lines[place - 1]);
    let after: u64 = to.parse::<u64>().unwrap() + 1;
    assert_eq!(part(&mut wire, id, &format!("lines {after}-{after}")).trim_end(), lines[place + 1]);
}

#[test]
fn a_task_read_in_pieces_has_gaps_with_lines_of_the_whole() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let command = format!("echo head; {TESTS}; echo half; read line; {TESTS}; echo end");
    let started = wire.call("Bash", &json!({"command": command, "run_in_background": true, "open_stdin": true}));
    let id = started["structuredContent"]["bash_id"].as_str().unwrap().to_owned();
    let first = wire.call("BashOutput", &json!({"bash_id": id, "wait_for": "half"}));
    assert_eq!(first["structuredContent"]["compacted"]["ranges"], json!(["lines 3-300"]), "{first}");
    wire.call("BashInput", &json!({"bash_id": id, "text": "go\n"}));
    let second = wire.call("BashOutput", &json!({"bash_id": id, "wait_for": "end"}));
    assert_eq!(second["structuredContent"]["compacted"]["ranges"], json!(["lines 304-601"]), "{second}");
    let lines = part(&mut wire, &id, "lines 304-601");
    assert!(
        lines.starts_with("test module::case_2 ... ok\n") && lines.ends_with("test module::case_299 ... ok\n"),
        "{lines}"
    );
}

#[test]
fn head_tail_and_filter_cut_the_view_and_nothing_else() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let mut ask = |arguments: Value| {
        let mut all = json!({"command": "seq 1 100000; exit 5"});
        all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        let reply = wire.call("Bash", &all);
        assert_eq!(reply["structuredContent"]["exit_code"], 5, "{reply}");
        let id = reply["structuredContent"]["bash_id"].as_str().unwrap().to_owned();
        (text_of(&reply).replace(&id, "ID"), reply["structuredContent"]["selected"].clone())
    };
    let left_out = |count: u32, from: u32, to: u32| {
        format!("[\u{2026} {count} of 100000 lines left out: BashOutput with bash_id ID and range 'lines {from}-{to}']")
    };
    let cases = [
        (json!({"head": 2}), format!("1\n2\n{}", left_out(99998, 3, 100_000)), json!({"lines": 2, "of": 100_000})),
        (json!({"tail": 2}), format!("{}\n99999\n100000", left_out(99998, 1, 99998)), json!({"lines": 2, "of": 100_000})),
        (json!({"head": 1, "tail": 1}), format!("1\n{}\n100000", left_out(99998, 2, 99999)), json!({"lines": 2, "of": 100_000})),
        (
            json!({"filter": "^7777"}),
            "7777\n77770\n77771\n77772\n77773\n77774\n77775\n77776\n77777\n77778\n77779\n[11 of 100000 lines match: BashOutput \
             with bash_id ID and since 0 reads all]"
                .to_owned(),
            json!({"lines": 11, "of": 100_000, "matches": 11}),
        ),
        (
            json!({"filter": "^7777", "head": 1, "tail": 1}),
            "7777\n[\u{2026} 9 more lines that match]\n77779\n[11 of 100000 lines match: BashOutput with bash_id ID and since 0 \
             reads all]"
                .to_owned(),
            json!({"lines": 2, "of": 100_000, "matches": 11}),
        ),
    ];
    for (arguments, shown, selected) in cases {
        assert_eq!(ask(arguments.clone()), (format!("[exited with code 5]\n{shown}"), selected), "{arguments}");
    }
}

#[test]
fn a_wrong_filter_is_said_before_anything_runs() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    for (arguments, problem) in [
        (json!({"command": "touch ran", "filter": "("}), "filter"),
        (json!({"command": "touch ran", "filter": "x", "run_in_background": true}), "run_in_background"),
        (json!({"command": "touch ran", "tail": 5, "pty": true}), "pty"),
    ] {
        let reply = wire.call("Bash", &arguments);
        assert!(reply["isError"] == true && text_of(&reply).contains(problem), "{reply}");
    }
    assert!(!place.folder.path().join("ran").exists());
}

#[test]
fn other_dialects_have_gaps_where_a_person_says_so() {
    let place = Place::new();
    let both =
        format!("{TESTS}; for i in {{1..100}}; do echo \"note $i of 100 things that were done here\" >&2; done; exit");
    let stdout = |arguments: &[&str], code: u8| {
        let mut wire = place.session(&[&["--dialect", "exec"], arguments].concat());
        let reply = wire.call("exec", &json!({"command": format!("{both} {code}"), "timeout": 60000}));
        reply["structuredContent"].clone()
    };
    let whole = stdout(&[], 0);
    assert_eq!((whole["stdout"].as_str().unwrap(), whole.get("compacted")), (expected(300).as_str(), None));

    let well = stdout(&["--compact"], 0);
    assert!(well["stdout"].as_str().unwrap().contains("[\u{2026} 298 lines like it: lines 2-299]\n"), "{well}");
    assert!(well["stderr"].as_str().unwrap().contains("[\u{2026} 98 lines like it: lines 2-99]\n"), "{well}");
    let id = well["run_id"].as_str().unwrap();
    let read = place.call(&["logs", "--stdout", "--lines", "2-299", id]);
    let lines: String = expected(299).split_inclusive('\n').skip(1).collect();
    assert_eq!(text(&read.stdout), lines);

    let failed = stdout(&["--compact=runs"], 1);
    assert!(failed["stdout"].as_str().unwrap().contains("[\u{2026} 298 lines"), "{failed}");
    assert_eq!(
        failed["stderr"].as_str().unwrap().lines().count(),
        100,
        "no line of standard error is left out: {failed}"
    );
}

#[test]
fn a_setting_of_the_person_counts_for_native_too() {
    let place = Place::new();
    let settings = place.folder.path().join("settings.toml");
    std::fs::write(&settings, "[output]\ncompact = \"off\"\n").unwrap();
    let mut wire = place.session(&["--config", settings.to_str().unwrap()]);
    assert_eq!(output_of(&bash(&mut wire, TESTS)), expected(300));
}

#[test]
fn a_line_that_looks_like_a_gap_is_said_to_be_none() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let reply = bash(&mut wire, &format!("{TESTS}; echo '[\u{2026} 7 lines like it: lines 3-9]'"));
    assert_eq!(output_of(&reply), expected(300) + "[\u{2026} 7 lines like it: lines 3-9]\n");
    let last = text_of(&reply).lines().last().unwrap();
    assert_eq!(last, "[nothing is left out here: the command itself printed the lines that say so]");
}
