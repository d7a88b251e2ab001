//! What is kept of runs that have ended, and what goes first: what nobody has read is not swept away by what was in its
//! reply, and an id that was swept says so. Real servers on one state directory.

use std::fs;
use std::path::PathBuf;

use chiton_testkit::processes::eventually;
use chiton_testkit::wire::{LIMIT, Wire};
use serde_json::{Value, json};

use crate::place::{Place, said, text};

/// The server of a client of this name, with these settings. All of them work in the same folder.
fn agent(place: &Place, name: &str, settings: &[(&str, &str)], arguments: &[&str]) -> Wire {
    let mut server = place.server(arguments);
    server.envs(settings.iter().copied());
    let mut wire = Wire::start(server);
    name.clone_into(&mut wire.name);
    wire.greet("2025-06-18", &json!({}));
    wire
}

/// Starts a background command and waits for its end, without a look at its output; gives its id.
fn finished_task(place: &Place, wire: &mut Wire, command: &str) -> String {
    let started = said(&wire.call("Bash", &json!({"command": command, "run_in_background": true})));
    let id = started.split_whitespace().find(|word| word.starts_with("shell_"));
    let id = id.unwrap_or_else(|| panic!("{started}")).trim_end_matches('.').to_owned();
    place.call(&["wait", &id]);
    id
}

fn run(wire: &mut Wire, command: &str) -> String {
    said(&wire.call("Bash", &json!({"command": command})))
}

fn run_often(wire: &mut Wire, times: usize) {
    for number in 0..times {
        assert_eq!(run(wire, &format!("echo {number}")).trim(), number.to_string());
    }
}

/// The id of the run with this command. The records of a run follow the answer.
fn id_of(place: &Place, command: &str) -> String {
    let mut id = None;
    let is_listed = || {
        let listed = text(&place.call(&["ps", "--all", "--json"]).stdout);
        let mut rows = listed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let row = rows.find(|row| row["command"] == command);
        id = row.map(|row| row["run_id"].as_str().unwrap().to_owned());
        id.is_some()
    };
    assert!(eventually(LIMIT, is_listed), "no run of {command}");
    id.unwrap()
}

fn folder(place: &Place, id: &str) -> PathBuf {
    place.folder.path().join("state/chiton/runs").join(id)
}

fn logs(place: &Place, id: &str) -> String {
    let output = place.call(&["logs", id]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn numbers(last: u32) -> String {
    (1..=last).fold(String::new(), |all, number| all + &format!("{number}\n"))
}

#[test]
fn a_task_that_nobody_read_is_whole_after_five_thousand_calls_of_three_servers() {
    let place = Place::new();
    let mut servers = ["alpha", "beta", "gamma"].map(|name| agent(&place, name, &[], &[]));
    let unread = finished_task(&place, &mut servers[0], "seq 1 20000; exit 3");
    let cut = "seq 1 30000";
    assert!(run(&mut servers[1], cut).contains("left out"));
    let cut = id_of(&place, cut);
    let first = "echo first; exit 7";
    run(&mut servers[0], first);
    let first = id_of(&place, first);

    std::thread::scope(|scope| {
        for server in &mut servers {
            scope.spawn(move || run_often(server, 1667));
        }
    });

    assert_eq!(logs(&place, &unread), numbers(20_000));
    assert_eq!(logs(&place, &cut), numbers(30_000));
    let read = servers[0].call("BashOutput", &json!({"bash_id": unread}));
    assert_ne!(read["isError"], true, "{read}");
    assert!(said(&read).contains("exited with code 3") && said(&read).contains("\n1\n2\n3\n"));

    // Each server sweeps after every 32nd of its calls, behind the answer, and has a few folders made ahead.
    let kept = || fs::read_dir(place.folder.path().join("state/chiton/runs")).unwrap().count();
    assert!(eventually(LIMIT, || kept() < 1000 + 3 * 60), "{} are kept", kept());
    let removed = servers[0].call("BashOutput", &json!({"bash_id": first}));
    assert_eq!(removed["isError"], true, "{removed}");
    let removed = said(&removed);
    assert!(removed.contains(&format!("{first} was removed on 20")), "{removed}");
    assert!(removed.contains("because more than 1000 finished runs were kept; it had ended with exit 7"), "{removed}");
    // What another client did is not told.
    let others = said(&servers[1].call("BashOutput", &json!({"bash_id": first})));
    assert!(others.contains("not found") && !others.contains("removed"), "{others}");
}

/// Few runs are kept, so that few calls sweep.
const FEW: [(&str, &str); 1] = [("CHITON_RETENTION_FINISHED", "20")];

#[test]
fn what_goes_first_is_known_to_the_next_server_after_the_first_was_killed() {
    let place = Place::new();
    let mut first = agent(&place, "alpha", &FEW, &[]);
    let read = finished_task(&place, &mut first, "echo read; exit 4");
    assert!(said(&first.call("BashOutput", &json!({"bash_id": read}))).contains("read"));
    let filtered = finished_task(&place, &mut first, "echo one; echo two");
    assert!(said(&first.call("BashOutput", &json!({"bash_id": filtered, "filter": "two"}))).contains("two"));
    let unread = finished_task(&place, &mut first, "echo unread; exit 5");
    let long = "seq 1 1000 | cat";
    assert!(run(&mut first, long).contains("\n1000"));
    let long = id_of(&place, long);
    // A call whose server is killed meanwhile has no reply, so nobody has seen what it printed.
    let unanswered = "echo nobody saw this; sleep 100";
    first.request("tools/call", json!({"name": "Bash", "arguments": {"command": unanswered}}));
    let has_printed = || {
        let listed = text(&place.call(&["ps", "--json"]).stdout);
        listed.contains("nobody saw") && logs(&place, &id_of(&place, unanswered)).contains("nobody saw this")
    };
    assert!(eventually(LIMIT, has_printed));
    first.kill();
    let unanswered = id_of(&place, unanswered);
    place.call(&["wait", &unanswered]);

    let mut second = agent(&place, "alpha", &FEW, &[]);
    run_often(&mut second, 200);
    for id in [&read, &filtered, &unread, &unanswered] {
        assert!(folder(&place, id).is_dir(), "{id} is gone");
    }
    assert!(!folder(&place, &long).exists(), "its whole output was in its reply");

    // A person who cleans up sees what is unread, and keeps it.
    let tried = text(&place.call(&["clean", "--dry-run"]).stdout);
    assert!(tried.contains("would be removed") && tried.contains("1 read later"), "{tried}");
    assert!(folder(&place, &read).is_dir());
    let cleaned = text(&place.call(&["clean"]).stdout);
    assert!(cleaned.contains("3 kept with output that nobody has read"), "{cleaned}");
    assert!(!folder(&place, &read).exists());
    assert!(place.call(&["clean", "--all"]).status.success());
    for (id, exit) in [(&read, 4), (&unread, 5)] {
        let said = said(&second.call("BashOutput", &json!({"bash_id": id})));
        assert!(said.contains(&format!("by `chiton clean`; it had ended with exit {exit}")), "{said}");
    }
}

#[test]
fn every_surface_says_that_a_run_was_removed() {
    let place = Place::new();
    let mut native = agent(&place, "alpha", &[], &[]);
    let id = finished_task(&place, &mut native, "exit 9");
    assert!(place.call(&["clean", "--all"]).status.success());
    let words = "by `chiton clean`; it had ended with exit 9";

    for arguments in
        [vec!["logs", &id], vec!["wait", &id], vec!["kill", &id], vec!["logs", &id[..12]], vec!["export", &id]]
    {
        let output = place.call(&arguments);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(text(&output.stderr).contains(words), "{arguments:?}: {}", text(&output.stderr));
    }
    for tool in ["BashOutput", "KillShell"] {
        let reply = native.call(tool, &json!({"bash_id": id}));
        assert!(reply["isError"] == true && said(&reply).contains(words), "{tool}: {reply}");
    }
    let resource = native.ask("resources/read", json!({"uri": format!("chiton://runs/{id}/output")}));
    assert!(resource["error"]["message"].as_str().is_some_and(|text| text.contains(words)), "{resource}");
    drop(native);

    let rows = [
        ("claude", "TaskStop", "task_id"),
        ("wave", "BashOutput", "bash_id"),
        ("wave", "KillBash", "shell_id"),
        ("opencode", "BashOutput", "bash_id"),
        ("opencode", "KillShell", "shell_id"),
        ("boris", "task_output", "task_id"),
        ("exec", "exec_status", "id"),
    ];
    for (dialect, tool, parameter) in rows {
        let mut wire = agent(&place, "alpha", &[], &["--dialect", dialect]);
        let reply = wire.call(tool, &json!({parameter: id}));
        assert!(said(&reply).contains(words), "{dialect} {tool}: {reply}");
    }
}

#[test]
fn servers_that_sweep_at_the_same_time_keep_what_is_unread_and_name_what_went() {
    let place = Place::new();
    let mut servers = ["alpha", "beta", "gamma"].map(|name| agent(&place, name, &FEW, &[]));
    let unread: Vec<String> =
        (0..30).map(|number| finished_task(&place, &mut servers[number % 3], &format!("echo {number}"))).collect();
    let before: Vec<String> = ["alpha", "beta", "gamma"]
        .iter()
        .zip(&mut servers)
        .map(|(name, server)| {
            run(server, &format!("echo {name}"));
            id_of(&place, &format!("echo {name}"))
        })
        .collect();

    // With so few to keep, every call sweeps.
    std::thread::scope(|scope| {
        for server in &mut servers {
            scope.spawn(move || run_often(server, 60));
        }
    });

    for (number, id) in unread.iter().enumerate() {
        assert_eq!(logs(&place, id), format!("{number}\n"));
    }
    for (server, id) in servers.iter_mut().zip(&before) {
        let reply = said(&server.call("BashOutput", &json!({"bash_id": id})));
        assert!(reply.contains("because more than 20 finished runs were kept; it had ended with exit 0"), "{reply}");
    }
}
