//! What people do to calls that wait, and how they are told of commands that nobody waits for.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use chiton_testkit::processes::eventually;
use chiton_testkit::wire::Wire;
use serde_json::{Value, json};

use crate::place::{Place, allow, said, text, until};

const LIMIT: Duration = Duration::from_mins(1);
const WORDS: &str = "a person handed it back with `chiton release`";

fn call(wire: &mut Wire, tool: &str, arguments: &Value) -> u64 {
    wire.request("tools/call", json!({"name": tool, "arguments": arguments}))
}

/// The command that runs, once one does.
fn running(place: &Place) -> String {
    let mut id = String::new();
    assert!(eventually(LIMIT, || {
        let list = text(&place.call(&["ps", "--json"]).stdout);
        let task = list.lines().next().map(|line| serde_json::from_str::<Value>(line).unwrap());
        id = task.and_then(|task| Some(task["run_id"].as_str()?.to_owned())).unwrap_or_default();
        !id.is_empty()
    }));
    id
}

/// A waiting call of each dialect: the tool, and what its parameter for the command is called.
const CALLS: [(&str, &str, &str); 12] = [
    ("native", "Bash", "command"),
    ("claude", "Bash", "command"),
    ("claude-2025", "Bash", "command"),
    ("codex", "exec_command", "cmd"),
    ("gemini", "run_shell_command", "command"),
    ("anthropic", "bash", "command"),
    ("exec", "exec", "command"),
    ("modes", "bash", "command"),
    ("boris", "bash", "command"),
    ("wave", "Bash", "command"),
    ("opencode", "Bash", "command"),
    ("opencode-cli", "bash", "command"),
];

#[test]
fn a_person_hands_a_waiting_call_back_in_every_dialect_and_the_command_goes_on() {
    for (dialect, tool, parameter) in CALLS {
        let place = Place::new();
        let mut wire = place.session(&["--dialect", dialect, "--structured"]);
        let command = format!("echo before; {}; echo after", until("go"));
        let waiting = call(&mut wire, tool, &json!({parameter: command}));
        let id = running(&place);
        let printed = || text(&place.call(&["logs", &id]).stdout) == "before\n";
        assert!(eventually(LIMIT, printed), "{dialect}");

        let released = place.call(&["release", &id]);
        assert_eq!(released.status.code(), Some(0), "{dialect}: {}", text(&released.stderr));
        assert_eq!(text(&released.stdout), format!("{id} goes on; the call that waited for it returns\n"));
        let reply = wire.answer(waiting)["result"].clone();
        let words = said(&reply);
        assert!(words.contains(WORDS) && words.contains(&id) && words.contains("before"), "{dialect}: {words}");
        assert_ne!(reply["isError"], json!(true), "{dialect}: {reply}");
        let facts = &reply["structuredContent"];
        let facts = if facts["metadata"].is_object() { &facts["metadata"] } else { facts };
        // The form of codex has no room for a word of its own but in its notes.
        let in_notes = facts["notes"].to_string().contains(WORDS);
        assert!(facts["released"] == json!(true) || (dialect == "codex" && in_notes), "{dialect}: {reply}");

        allow(&place, "go");
        assert_eq!(place.call(&["wait", &id]).status.code(), Some(0), "{dialect}: it ended by itself");
        assert_eq!(text(&place.call(&["logs", &id]).stdout), "before\nafter\n", "{dialect}");
        wire.close();
    }
}

#[test]
fn the_time_limit_of_a_call_does_not_hold_for_a_command_that_was_handed_back() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let waiting = call(&mut wire, "Bash", &json!({"command": "sleep 9; echo survived", "timeout": 8000}));
    let id = running(&place);
    let released = place.call(&["release", &id[..10]]);
    assert_eq!(released.status.code(), Some(0), "{}", text(&released.stderr));
    let reply = wire.answer(waiting)["result"].clone();
    let line = format!("[{WORDS}; it goes on as {id}, without a time limit]");
    assert!(said(&reply).contains(&line), "{reply}");
    assert_eq!(place.call(&["wait", &id]).status.code(), Some(0));
    assert_eq!(text(&place.call(&["logs", &id]).stdout), "survived\n");
}

#[test]
fn a_call_that_waits_for_a_background_command_is_handed_back_too() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let id = place.background(&[&until("go")]);
    let waiting = call(&mut wire, "BashOutput", &json!({"bash_id": id, "wait": 600_000}));
    // Until the call waits, nobody does.
    let released = || place.call(&["release", &id]).status.code() == Some(0);
    assert!(eventually(LIMIT, released));
    let reply = wire.answer(waiting)["result"].clone();
    assert!(said(&reply).contains(&format!("[waited: {WORDS}; it goes on]")), "{reply}");
    assert!(said(&reply).contains("is running"), "{reply}");
    allow(&place, "go");
    assert_eq!(place.call(&["wait", &id]).status.code(), Some(0));
}

#[test]
fn a_command_that_nobody_waits_for_cannot_be_handed_back() {
    let place = Place::new();
    let id = place.background(&[&until("go")]);
    let nobody = place.call(&["release", &id]);
    let words = format!("chiton: task {id}: no call waits for it: it runs in the background already\n");
    assert_eq!((nobody.status.code(), text(&nobody.stderr)), (Some(1), words));
    allow(&place, "go");
    place.call(&["wait", &id]);
    let ended = place.call(&["release", &id]);
    let words = format!("chiton: task {id} has ended (completed), so no call waits for it\n");
    assert_eq!((ended.status.code(), text(&ended.stderr)), (Some(1), words));
    let unknown = place.call(&["release", "shell_00000000"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(text(&unknown.stderr).contains("task shell_00000000 not found"), "{}", text(&unknown.stderr));
}

/// A place whose settings name a program that writes down what it was told, one line each time, and then runs `rest`.
fn told_place(rest: &str) -> Place {
    let place = Place::new();
    let program = place.folder.path().join("tell");
    fs::write(&program, format!("#!/bin/sh\nprintf '%s|%s|%s\\n' \"$1\" \"$2\" \"$3\" >> \"$HOME/told\"\n{rest}\n"))
        .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    notify(&place, &[program.to_str().unwrap(), "{event}", "{title}", "{text}"]);
    place
}

fn notify(place: &Place, words: &[&str]) {
    let folder = place.folder.path().join(".config/chiton");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), format!("notify = {words:?}\n")).unwrap();
}

fn told(place: &Place) -> String {
    fs::read_to_string(place.folder.path().join("told")).unwrap_or_default()
}

/// Waits until so many lines were told.
fn told_lines(place: &Place, count: usize) -> Vec<String> {
    assert!(eventually(LIMIT, || told(place).lines().count() >= count), "{}", told(place));
    told(place).lines().map(str::to_owned).collect()
}

#[test]
fn a_person_is_told_of_each_command_that_nobody_waits_for_when_it_ends() {
    let place = told_place("");
    let mut wire = place.session(&[]);
    // A call that is answered is not told of.
    assert_eq!(wire.call("Bash", &json!({"command": "exit 1"}))["isError"], json!(false));

    let hostile = "the tests \u{1b}[31m{title}\u{202e}\n$(touch ran)";
    let arguments = json!({"command": "exit 3", "run_in_background": true, "description": hostile});
    wire.call("Bash", &arguments);
    let first = &told_lines(&place, 1)[0];
    assert!(first.starts_with("ended|shell_") && first.contains(" exited with code 3|after "), "{first}");
    assert!(first.ends_with(": the tests  [31m{title}"), "{first}");

    // Handed back by a limit of its call, and by a person.
    wire.call("Bash", &json!({"command": format!("{}; exit 4", until("four")), "wait": 1}));
    allow(&place, "four");
    assert!(told_lines(&place, 2)[1].contains("exited with code 4|after "));
    let waiting = call(&mut wire, "Bash", &json!({"command": format!("{}; exit 5", until("five"))}));
    place.call(&["release", &running(&place)]);
    wire.answer(waiting);
    allow(&place, "five");
    assert!(told_lines(&place, 3)[2].contains("exited with code 5|after "));

    // Left running by a command that has ended.
    let left = wire.call("Bash", &json!({"command": format!("({}; exit 6) & echo left", until("six"))}));
    assert!(said(&left).contains("left running as shell_"), "{left}");
    allow(&place, "six");
    assert!(told_lines(&place, 4)[3].contains("exited with code 6|after "), "{}", told(&place));

    // The server is gone.
    wire.call("Bash", &json!({"command": format!("{}; exit 7", until("seven")), "run_in_background": true}));
    wire.kill();
    allow(&place, "seven");
    let lines = told_lines(&place, 5);
    assert!(lines[4].contains("exited with code 7|after "), "{lines:?}");
    assert_eq!(lines.len(), 5);
    assert!(!place.folder.path().join("ran").exists());
}

#[test]
fn a_person_is_told_that_a_command_waits_for_input_and_that_does_not_count_as_left_running() {
    // The program is still there when the command ends.
    let place = told_place("[ \"$1\" = waits ] && sleep 2");
    let id = place.background(&["--pty", "read -p 'Which name? ' name; exit 9"]);
    let first = told_lines(&place, 1)[0].clone();
    let words = format!("waits|{id} waits for input|it asks: Which name? (chiton attach {id}): read -p");
    assert!(first.starts_with(&words), "{first}");
    assert_eq!(place.call(&["send", &id, "me\n"]).status.code(), Some(0));
    assert_eq!(place.call(&["wait", &id]).status.code(), Some(9));
    let lines = told_lines(&place, 2);
    assert!(lines[1].starts_with(&format!("ended|{id} exited with code 9|")), "{lines:?}");
    assert_eq!(lines.len(), 2, "each is told once");
    let ending = place.folder.path().join("state/chiton/runs").join(&id).join("ending.json");
    let ending: Value = serde_json::from_slice(&fs::read(ending).unwrap()).unwrap();
    assert_eq!(ending["leftovers"], json!([]));
}

#[test]
fn a_program_that_fails_harms_no_command_and_doctor_says_so() {
    let place = told_place("exit 41");
    let finding = |place: &Place| {
        let report: Value = serde_json::from_slice(&place.call(&["doctor", "--json"]).stdout).unwrap();
        let all = report["findings"].as_array().unwrap();
        all.iter().find(|finding| finding["area"] == "notify").unwrap().clone()
    };
    assert_eq!(finding(&place)["status"], "ok");
    let id = place.background(&["echo fine"]);
    assert_eq!(place.call(&["wait", &id]).status.code(), Some(0));
    assert!(eventually(LIMIT, || finding(&place)["status"] == "problem"));
    let failed = finding(&place)["what"].as_str().unwrap().to_owned();
    assert!(failed.contains(&format!("failed the last time, for {id}: it exited with code 41")), "{failed}");
    let journal = text(&place.call(&["audit", "--json"]).stdout);
    assert!(journal.contains("notify_failed"), "{journal}");

    notify(&place, &["/nonexistent/tell", "{title}"]);
    let id = place.background(&["echo fine"]);
    assert_eq!(place.call(&["wait", &id]).status.code(), Some(0));
    assert_eq!(text(&place.call(&["logs", &id]).stdout), "fine\n");
    assert!(finding(&place)["what"].as_str().unwrap().contains("/nonexistent/tell cannot be executed"));
}

#[test]
fn a_program_that_does_not_end_is_killed_after_ten_seconds_with_all_that_it_started() {
    let place = told_place("sleep 1000 & echo $$ >> \"$HOME/tellers\"; wait");
    // One is told of by a keeper that looks after the command, one by a keeper with nothing left to keep.
    let ended = place.background(&["echo fine"]);
    let left = place.call(&["run", "sleep 1 & echo left"]);
    assert_eq!(text(&left.stdout), "left\n");
    assert_eq!(place.call(&["wait", &ended]).status.code(), Some(0), "the command's own end does not wait");
    told_lines(&place, 2);

    let tellers = || fs::read_to_string(place.folder.path().join("tellers")).unwrap_or_default();
    assert!(eventually(LIMIT, || tellers().lines().count() == 2), "{}", tellers());
    let is_alive = |group: &str| {
        let asked = Command::new("kill").args(["-0", "--", &format!("-{group}")]).stderr(Stdio::null()).status();
        asked.unwrap().success()
    };
    assert!(eventually(LIMIT, || !tellers().lines().any(is_alive)), "{}", tellers());

    let failed = || text(&place.call(&["doctor"]).stdout);
    assert!(eventually(LIMIT, || failed().contains("it had not ended after 10 s")), "{}", failed());
}

#[test]
fn a_person_is_told_of_five_questions_a_minute_and_always_of_the_end() {
    let place = told_place("");
    let mut wire = place.session(&[]);
    let command = "for number in 1 2 3 4 5 6 7 8; do read -p \"question $number? \" answer; done; exit 6";
    let started = wire.call("Bash", &json!({"command": command, "pty": true, "run_in_background": true}));
    let id = running(&place);
    assert_eq!(started["isError"], json!(false), "{started}");
    told_lines(&place, 1);
    for next in 2..=8 {
        let answered = wire.call("BashInput", &json!({"bash_id": id, "text": "yes\n", "wait": 30_000}));
        // In the line that says so, or at the end of what is new.
        let said = said(&answered);
        assert!(said.contains("waits for input") && said.contains(&format!("question {next}?")), "{answered}");
    }
    wire.call("BashInput", &json!({"bash_id": id, "text": "yes\n", "wait": 30_000}));

    assert!(eventually(LIMIT, || told(&place).contains("ended|")), "{}", told(&place));
    let lines: Vec<String> = told(&place).lines().map(str::to_owned).collect();
    let asked = lines.iter().filter(|line| line.starts_with("waits|")).count();
    assert_eq!((asked, lines.len()), (5, 6), "{lines:?}");
}

#[test]
fn every_listing_speaks_json_line_by_line() {
    let place = Place::new();
    let id = place.background(&["sleep 600"]);
    place.run(&["--session", "s", "A=1"]);
    let listings: [&[&str]; 15] = [
        &["ps", "--json"],
        &["ps", "--all", "--json"],
        &["session", "list", "--json"],
        &["session", "show", "s", "--json"],
        &["session", "checkpoints", "--json"],
        &["changes", "--json"],
        &["preview", "list", "--json"],
        &["audit", "--json"],
        &["dialects", "--json"],
        &["setup", "--json"],
        &["secret", "list", "--json"],
        &["sandbox", "list", "--json"],
        &["env", "--json"],
        &["doctor", "--json"],
        &["clean", "--dry-run", "--json"],
    ];
    for listing in listings {
        let output = place.call(listing);
        let said = text(&output.stdout);
        // What is one object may stand in several lines.
        let values = serde_json::Deserializer::from_str(&said).into_iter::<Value>();
        for value in values {
            let value = value.unwrap_or_else(|error| panic!("{listing:?}: {error}: {said}"));
            assert!(value.is_object() || value.is_array(), "{listing:?}: {value}");
        }
        let may_be_empty = ["session checkpoints", "changes", "preview list", "secret list"];
        assert!(
            !said.is_empty() || may_be_empty.contains(&listing[..listing.len() - 1].join(" ").as_str()),
            "{listing:?}"
        );
    }
    let waited = text(&place.call(&["wait", "--timeout", "50ms", "--json", &id]).stdout);
    let waited: Value = serde_json::from_str(&waited).unwrap();
    assert_eq!((waited["reason"].clone(), waited["command"]["run_id"].clone()), (json!("timed_out"), json!(id)));
    place.call(&["kill", &id]);
}
