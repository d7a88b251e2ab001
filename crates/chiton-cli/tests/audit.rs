//! `chiton audit --tokens`: what was printed and what was replied, by program, and a journal that stays whole.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests start the program from outside")]

mod place;

use place::{Place, text};
use serde_json::{Value, json};

/// The rows of `chiton audit --tokens --json`.
fn rows(place: &Place, arguments: &[&str]) -> Vec<Value> {
    let output = place.call(&[&["audit", "--tokens", "--json"], arguments].concat());
    assert!(output.status.success(), "{output:?}");
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn row(rows: &[Value], program: &str) -> Value {
    let found = rows.iter().find(|row| row["program"] == program);
    found.unwrap_or_else(|| panic!("{program} is not in {rows:?}")).clone()
}

#[test]
fn what_programs_printed_and_what_was_replied_is_told_by_program() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let mut replied = 0;
    let mut call = |tool: &str, arguments: Value| {
        let reply = wire.call(tool, &arguments);
        reply["content"][0]["text"].as_str().unwrap().to_owned()
    };
    for command in ["seq 1 100", "cd / && timeout 60 seq 1 200", "env A=b seq 5"] {
        replied += call("Bash", json!({"command": command})).len();
    }
    let long = call("Bash", json!({"command": "printf x; head -c 100000 /dev/zero | tr '\\0' y"}));
    let started = call("Bash", json!({"command": "exec cat /etc/hostname", "run_in_background": true}));
    let id =
        started.split(|end: char| !end.is_ascii_alphanumeric() && end != '_').find(|word| word.starts_with("shell_"));
    let read = call("BashOutput", json!({"bash_id": id.unwrap(), "wait": 10_000}));
    call("ListShells", json!({}));
    drop(wire);
    assert!(place.run(&["wc -c /etc/passwd"]).status.success());

    let rows = rows(&place, &[]);
    let seq = row(&rows, "seq");
    let printed: usize =
        [100, 200, 5].iter().flat_map(|last| 1..=*last).map(|number: i32| number.to_string().len() + 1).sum();
    assert_eq!(seq["runs"], 3, "{rows:?}");
    assert_eq!(seq["printed_bytes"], printed, "{rows:?}");
    assert_eq!(seq["reply_bytes"], replied, "{rows:?}");
    assert_eq!(seq["runs_without_reply"], 0, "{rows:?}");
    let head = row(&rows, "head");
    assert_eq!(head["printed_bytes"], 100_001, "{rows:?}");
    assert_eq!(head["reply_bytes"], long.len(), "{rows:?}");
    // A task has the reply to its start, and to every reading.
    assert_eq!(row(&rows, "cat")["reply_bytes"], started.len() + read.len(), "{rows:?}");
    // A person's command is not replied to.
    let wc = row(&rows, "wc");
    assert_eq!(
        (&wc["runs"], &wc["reply_bytes"], &wc["runs_without_reply"]),
        (&json!(1), &json!(0), &json!(1)),
        "{rows:?}"
    );

    let table = text(&place.call(&["audit", "--tokens"]).stdout);
    assert!(table.lines().any(|line| line.starts_with("seq ")) && table.contains("1 of these runs"), "{table}");
    assert!(text(&place.call(&["audit", "--tokens", "--session", "nobody"]).stdout).contains("no such runs"));
    let verified = place.call(&["audit", "verify"]);
    assert!(verified.status.success(), "{verified:?}");
}

#[test]
fn a_journal_without_replies_is_read_and_each_reply_is_noted_once() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    // The first command finds no shell that waits for it; the others do.
    for _ in 0..5 {
        wire.call("Bash", &json!({"command": "true"}));
    }
    // It waits until all is written; whoever is killed before that leaves it to others.
    wire.call("ListShells", &json!({}));
    drop(wire);
    let journal = text(&place.call(&["audit", "--json"]).stdout);
    let lines: Vec<Value> = journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |event: &str| lines.iter().filter(|line| line["event"] == event).count();
    assert_eq!((of("run"), of("end")), (5, 5), "{journal}");
    // With the end of its command, or behind it.
    for run in lines.iter().filter(|line| line["event"] == "run") {
        let noted = lines.iter().filter(|line| line["run"] == run["run"] && line["reply_bytes"].is_u64()).count();
        assert_eq!(noted, 1, "{journal}");
    }

    // As a version that did not note replies would have written it.
    let old = r#"{"number":1,"at_ms":1,"previous":"","event":"run","who":"x","run":"shell_00000001","command":"ls -la"}
{"number":2,"at_ms":2,"previous":"","event":"end","who":"x","run":"shell_00000001","outcome":"exited","exit_code":0,"output_bytes":77}
"#;
    let elsewhere = Place::new();
    assert!(elsewhere.run(&["true"]).status.success());
    let file = elsewhere.folder.path().read_dir().unwrap().flatten().find_map(|entry| find(&entry.path())).unwrap();
    std::fs::write(&file, old).unwrap();
    let ls = row(&rows(&elsewhere, &[]), "ls");
    assert_eq!((&ls["printed_bytes"], &ls["runs_without_reply"]), (&json!(77), &json!(1)));
}

/// The file of the journal, at or below this path.
fn find(path: &std::path::Path) -> Option<std::path::PathBuf> {
    if path.file_name().is_some_and(|name| name == "journal.jsonl") {
        return Some(path.to_owned());
    }
    path.read_dir().ok()?.flatten().find_map(|entry| find(&entry.path()))
}
