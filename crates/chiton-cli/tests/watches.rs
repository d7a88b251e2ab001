//! A watch that an agent or a person puts on a background command.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::Duration;

use chiton_testkit::processes::eventually;
use serde_json::{Value, json};

use crate::place::{Place, allow, said, text, until};

const LIMIT: Duration = Duration::from_mins(1);

fn id_of(reply: &Value) -> String {
    let text = said(reply);
    let start = text.find("shell_").unwrap_or_else(|| panic!("{text}"));
    text[start..start + 14].to_owned()
}

/// The watches on a command, as pattern and matches.
fn watches(place: &Place, id: &str) -> Vec<(String, u64)> {
    let file = place.folder.path().join("state/chiton/runs").join(id).join("watches.json");
    let all: Value = serde_json::from_slice(&fs::read(file).unwrap_or_else(|_| b"[]".to_vec())).unwrap();
    let pair = |watch: &Value| (watch["pattern"].as_str().unwrap().to_owned(), watch["matches"].as_u64().unwrap());
    all.as_array().unwrap().iter().map(pair).collect()
}

#[test]
fn an_agent_puts_watches_on_a_command_and_ends_them() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let command = format!("echo error 0; {}; echo error 1; {}", until("go"), until("stop"));
    let arguments = json!({"command": command, "run_in_background": true, "watch": "^error"});
    let started = wire.call("Bash", &arguments);
    let id = id_of(&started);
    assert!(said(&started).contains("watching for '^error': when lines match, your next reply says so"));
    assert!(eventually(LIMIT, || watches(&place, &id) == [("^error".to_owned(), 1)]), "its first lines count too");

    let added = wire.call("BashOutput", &json!({"bash_id": id, "watch": "1$"}));
    assert!(said(&added).contains("[watching for '1$': when lines match, your next reply says so]"), "{added}");
    assert_eq!(
        added["structuredContent"]["watches"],
        json!([{"pattern": "1$", "matches": 0, "state": "standing"}]),
        "{added}"
    );
    allow(&place, "go");
    assert!(eventually(LIMIT, || watches(&place, &id) == [("^error".to_owned(), 2), ("1$".to_owned(), 1)]));

    let again = wire.call("BashOutput", &json!({"bash_id": id, "watch": "1$"}));
    assert!(said(&again).contains("it has matched 1 by now"), "{again}");
    let ended = wire.call("BashOutput", &json!({"bash_id": id, "watch": ""}));
    let words = "[no longer watching for '^error', which matched 2 lines; '1$', which matched 1 lines]";
    assert!(said(&ended).contains(words), "{ended}");
    assert!(watches(&place, &id).is_empty());
    let none = wire.call("BashOutput", &json!({"bash_id": id, "watch": ""}));
    assert!(said(&none).contains("[nothing was watched for]"), "{none}");

    let bad = wire.call("BashOutput", &json!({"bash_id": id, "watch": "("}));
    assert_eq!((&bad["isError"], said(&bad).contains("Invalid watch regex '('")), (&json!(true), true), "{bad}");
    let bad = wire.call("Bash", &json!({"command": "touch ran", "run_in_background": true, "watch": "("}));
    assert_eq!((&bad["isError"], said(&bad).contains("Invalid watch regex '('")), (&json!(true), true), "{bad}");
    assert!(!place.folder.path().join("ran").exists(), "nothing was started");
    let alone = wire.call("Bash", &json!({"command": "true", "watch": "x"}));
    assert!(said(&alone).contains("goes with run_in_background"), "{alone}");

    allow(&place, "stop");
    place.call(&["wait", &id]);
    let late = wire.call("BashOutput", &json!({"bash_id": id, "watch": "x"}));
    assert!(said(&late).contains("has ended (completed), so there is nothing to watch for"), "{late}");
}

#[test]
fn a_watch_outlives_the_server_that_put_it_there() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let command = format!("{}; seq 1 100; exit 3", until("go"));
    let started = wire.call("Bash", &json!({"command": command, "run_in_background": true, "watch": "5"}));
    let id = id_of(&started);
    wire.kill();
    allow(&place, "go");
    assert_eq!(place.call(&["wait", &id]).status.code(), Some(3));
    assert_eq!(watches(&place, &id), [("5".to_owned(), 19)], "what it matched is there when the command has ended");
}

#[test]
fn wait_each_prints_every_line_that_matches_until_the_end() {
    let place = Place::new();
    let command = format!(
        "echo warn 0; {}; echo warn 1; echo fine; printf '\\033[33mwarn\\033[0m 2\\n' >&2; {}; echo warn 3; exit 7",
        until("go"),
        until("stop")
    );
    let id = place.background(&[&command]);
    assert_eq!(text(&place.call(&["wait", "--for", "warn 0", &id]).stdout), "warn 0\n");
    let mut command = place.command();
    command.args(["wait", "--each", "^warn", "--since", "7", &id]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut waiting = command.spawn().unwrap();
    let mut lines = BufReader::new(waiting.stdout.take().unwrap());
    allow(&place, "go");
    let mut next = || {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        line
    };
    assert_eq!(next(), "warn 1\n");
    assert_eq!(next(), "warn 2\n", "also of standard error, and without colours");
    allow(&place, "stop");
    assert_eq!(next(), "warn 3\n");
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.as_str(), waiting.wait().unwrap().code()), ("", Some(7)), "the code is the command's");

    assert!(watches(&place, &id).is_empty(), "nobody else is told of it");

    let ended = place.call(&["wait", "--each", "^warn", &id]);
    assert_eq!((ended.status.code(), text(&ended.stdout)), (Some(7), String::new()));
    let ended = place.call(&["wait", "--each", "[13]$", "--since", "0", &id]);
    assert_eq!((ended.status.code(), text(&ended.stdout)), (Some(7), "warn 1\nwarn 3\n".to_owned()));
    let bad = place.call(&["wait", "--each", "(", &id]);
    assert_eq!(bad.status.code(), Some(125), "{}", text(&bad.stderr));
}

#[test]
fn wait_each_says_how_many_lines_it_passed_over() {
    let place = Place::new();
    let id = place.background(&["seq 1 200000; sleep 60"]);
    let shown = place.call(&["wait", "--each", ".", "--since", "0", "--timeout", "3s", &id]);
    let (shown, code) = (text(&shown.stdout), shown.status.code());
    place.call(&["kill", &id]);
    let passed = |line: &str| line.strip_prefix('[')?.strip_suffix(" more lines matched]")?.parse::<u64>().ok();
    let count: u64 = shown.lines().map(|line| passed(line).unwrap_or(1)).sum();
    assert_eq!((count, code), (200_000, Some(124)), "{shown}");
    assert_eq!(shown.lines().last(), Some("200000"));
}
