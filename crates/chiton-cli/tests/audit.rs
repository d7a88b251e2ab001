//! `chiton audit --tokens`: what was printed and what was replied, by program, and a journal that stays whole.
//! `chiton audit export`: one row for each command, as other programs take it.

use serde_json::{Value, json};

use crate::place::{Place, text};

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

/// Commands of every kind; gives them with their exit codes, where they have one.
fn several_commands(place: &Place) -> Vec<(&'static str, Option<i64>)> {
    let commands = [
        ("echo plain", Some(0)),
        ("echo 'two, \"lines\"\nof ünïcödé 🐢'\nexit 7", Some(7)),
        ("sleep 0.3", Some(0)),
        ("kill -TERM $$", None),
        ("printf 'back\\\\slash' | grep -q nothing", Some(1)),
    ];
    for (command, _) in commands {
        place.run(&["--session", "made", command]);
    }
    place.run(&["touch elsewhere", "--dry-run"]);
    commands.to_vec()
}

#[test]
fn the_export_for_atuin_has_everything_that_its_importer_wants() {
    /// As the importer of resh in atuin names what has to be there, by type.
    const TEXTS: &str = "cmdLine shell uname sessionId home lang lcAll login pwd pwdAfter shellEnv term realPwd \
        realPwdAfter host hosttype ostype machtype timezoneBefore timezoneAfter gitDir gitRealDir gitOriginRemote \
        gitDirAfter gitRealDirAfter gitOriginRemoteAfter machineId osReleaseId osReleaseVersionId osReleaseIdLike \
        osReleaseName osReleasePrettyName reshUuid reshVersion reshRevision recallLastCmdLine cols lines";
    const WHOLE: &str = "exitCode pid sessionPid shlvl";
    const TIMES: &str = "realtimeBefore realtimeAfter realtimeBeforeLocal realtimeAfterLocal realtimeDuration \
        realtimeSinceSessionStart realtimeSinceBoot";
    const FLAGS: &str = "partsMerged recalled";

    let place = Place::new();
    let before = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
    let commands = several_commands(&place);
    let output = place.call(&["audit", "export", "--format", "atuin"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let exported = text(&output.stdout);
    // Its lines end with a newline, also the last: atuin leaves out one that does not.
    assert!(exported.ends_with('\n'));
    let rows: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for row in &rows {
        let all = |names: &str, fits: fn(&Value) -> bool| {
            names.split_whitespace().inspect(|name| assert!(fits(&row[*name]), "{name}: {row}")).count()
        };
        let count = all(TEXTS, Value::is_string)
            + all(WHOLE, Value::is_i64)
            + all(TIMES, Value::is_f64)
            + all(FLAGS, Value::is_boolean);
        assert_eq!((count, row.as_object().unwrap().len()), (51, 51), "{row}");
        assert_eq!(row["pwd"], json!(place.folder.path().canonicalize().unwrap()));
        let (begin, end) = (row["realtimeBefore"].as_f64().unwrap(), row["realtimeAfter"].as_f64().unwrap());
        assert!(begin >= before - 0.001 && end >= begin && end < before + 600.0, "{row}");
    }
    let found: Vec<(&str, i64)> =
        rows.iter().map(|row| (row["cmdLine"].as_str().unwrap(), row["exitCode"].as_i64().unwrap())).collect();
    let expected: Vec<(&str, i64)> = commands.iter().map(|(command, code)| (*command, code.unwrap_or(-1))).collect();
    assert_eq!(found, expected);
    let slept = rows[2]["realtimeAfter"].as_f64().unwrap() - rows[2]["realtimeBefore"].as_f64().unwrap();
    assert!(slept >= 0.299, "{slept}");
}

#[test]
fn json_and_csv_have_the_same_rows() {
    let place = Place::new();
    let commands = several_commands(&place);
    let export = |arguments: &[&str]| {
        let output = place.call(&[&["audit", "export", "--format"], arguments].concat());
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        text(&output.stdout)
    };
    let rows: Vec<Value> =
        export(&["json", "--session", "made"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), commands.len());
    for (row, (command, code)) in rows.iter().zip(&commands) {
        assert_eq!((&row["command"], &row["exit_code"]), (&json!(command), &json!(code)), "{row}");
        assert!(row["duration_ms"].is_u64() && row["session"] == "made", "{row}");
    }
    assert_eq!(rows[3]["outcome"], "signaled");

    let table = read_csv(&export(&["csv", "--session", "made"]));
    let names: Vec<&String> = table[0].iter().collect();
    assert_eq!(names, rows[0].as_object().unwrap().keys().collect::<Vec<_>>());
    assert_eq!(table.len(), rows.len() + 1);
    for (cells, row) in table[1..].iter().zip(&rows) {
        for (name, cell) in names.iter().zip(cells) {
            let expected = match &row[name.as_str()] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(cell, &expected, "{name}");
        }
    }
    assert_eq!(export(&["json", "--session", "nobody"]), "");
    let wrong = place.call(&["audit", "export", "--format", "xml"]);
    assert!(!wrong.status.success() && text(&wrong.stderr).contains("atuin"), "{wrong:?}");
}

/// Reads a table as RFC 4180 has it.
fn read_csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut is_quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                cell.push('"');
                characters.next();
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !is_quoted => {
                assert_eq!(characters.next(), Some('\n'));
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            other => cell.push(other),
        }
    }
    assert!(row.is_empty() && cell.is_empty() && !is_quoted, "the last line has no end");
    rows
}
