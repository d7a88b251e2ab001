//! Own work first: a server lists, reads, writes to and stops what its own client has started. What other clients of the
//! same user run is reached by a call that says so, and what people run by its id.

use std::fs;
use std::path::PathBuf;

use chiton_testkit::wire::Wire;
use serde_json::{Value, json};

use crate::place::{Place, said, text};

/// How a client speaks to its server.
#[derive(Clone, Copy)]
enum Era {
    Older,
    Newest,
}

/// A folder to work in.
fn folder(place: &Place, name: &str) -> PathBuf {
    let folder = place.folder.path().join(name);
    fs::create_dir_all(&folder).unwrap();
    folder.canonicalize().unwrap()
}

/// The server of a client of this name that works in the folder of this name.
fn agent(place: &Place, name: &str, works_in: &str, era: Era, arguments: &[&str]) -> Wire {
    let folder = folder(place, works_in);
    let mut wire = place.wire(&[&["--dir", folder.to_str().unwrap()], arguments].concat());
    name.clone_into(&mut wire.name);
    match era {
        Era::Older => drop(wire.greet("2025-06-18", &json!({}))),
        Era::Newest => wire.modern(&json!({})),
    }
    wire
}

/// Starts a background command; gives its id.
fn start(wire: &mut Wire, command: &str) -> String {
    let started = wire.call("Bash", &json!({"command": command, "run_in_background": true, "description": "naps"}));
    let text = said(&started);
    let id = text.split_whitespace().find(|word| word.starts_with("shell_"));
    id.unwrap_or_else(|| panic!("{started}")).trim_end_matches('.').to_owned()
}

fn resources(wire: &mut Wire) -> String {
    wire.ask("resources/list", json!({})).to_string()
}

#[test]
fn a_client_sees_its_own_work_and_that_of_others_where_it_says_so() {
    for (one, other) in [(Era::Older, Era::Newest), (Era::Newest, Era::Older)] {
        let place = Place::new();
        let (mut alpha, mut beta) = (agent(&place, "alpha", "a", one, &[]), agent(&place, "beta", "b", other, &[]));
        let id = start(&mut alpha, "echo up; sleep 100");
        let own = said(&alpha.call("ListShells", &json!({})));
        assert!(own.contains(&id) && own.contains("naps: echo up; sleep 100"), "{own}");
        assert!(resources(&mut alpha).contains(&id));

        let listed = said(&beta.call("ListShells", &json!({})));
        assert!(listed.starts_with("Nothing runs.\n[machine: "), "{listed}");
        assert!(!resources(&mut beta).contains(&id));
        let resource = beta.ask("resources/read", json!({"uri": format!("chiton://runs/{id}/output")}));
        assert!(resource["error"].is_object(), "{resource}");
        let directory = folder(&place, "a");
        let whose = format!("task {id} not found here: it belongs to alpha, in {}", directory.display());
        for (tool, arguments) in [
            ("BashOutput", json!({"bash_id": id})),
            ("BashOutput", json!({"bash_id": &id[..12]})),
            ("BashInput", json!({"bash_id": id, "signal": "TERM"})),
            ("KillShell", json!({"bash_id": id})),
        ] {
            let refused = beta.call(tool, &arguments);
            let said = said(&refused);
            assert!(refused["isError"] == true && said.contains(&whose), "{tool}: {said}");
            assert!(said.contains("`others: true` reaches it"), "{tool}: {said}");
        }

        let listed = said(&beta.call("ListShells", &json!({"others": true})));
        assert!(listed.starts_with("Nothing of yours runs.\n"), "{listed}");
        assert!(listed.contains(&id) && listed.contains(&format!("[of alpha in {}]", directory.display())), "{listed}");
        let read = beta.call("BashOutput", &json!({"bash_id": id, "others": true, "wait_for": "up", "wait": 20_000}));
        assert!(read["isError"] == false && said(&read).contains("is running"), "{read}");
        let killed = beta.call("KillShell", &json!({"bash_id": id, "others": true}));
        assert!(said(&killed).contains("terminated"), "{killed}");
    }
}

#[test]
fn what_a_command_leaves_running_belongs_to_whoever_ran_it() {
    let place = Place::new();
    let (mut alpha, mut beta) =
        (agent(&place, "alpha", "a", Era::Older, &[]), agent(&place, "beta", "b", Era::Older, &[]));
    let left = said(&alpha.call("Bash", &json!({"command": "sleep 100 & echo left"})));
    let handed_back = said(&alpha.call("Bash", &json!({"command": "sleep 101", "wait": 50})));
    for text in [left, handed_back] {
        let id =
            text.split([' ', ':', ',']).find(|word| word.starts_with("shell_")).unwrap_or_else(|| panic!("{text}"));
        assert!(said(&alpha.call("ListShells", &json!({}))).contains(id), "{text}");
        let refused = said(&beta.call("KillShell", &json!({"bash_id": id})));
        assert!(refused.contains("it belongs to alpha"), "{refused}");
        assert!(said(&alpha.call("KillShell", &json!({"bash_id": id}))).contains("terminated"), "{text}");
    }
}

/// A dialect without a word for others, and calls that read and stop a task of this id and process id.
type Surface = (&'static str, fn(&str, i64) -> Vec<(&'static str, Value)>);

const SURFACES: &[Surface] = &[
    ("exec", |id, _| vec![("exec_status", json!({"id": id})), ("exec_stop", json!({"id": id}))]),
    ("boris", |id, _| vec![("task_output", json!({"task_id": id}))]),
    ("wave", |id, _| vec![("BashOutput", json!({"bash_id": id})), ("KillBash", json!({"shell_id": id}))]),
    ("opencode", |id, _| vec![("BashOutput", json!({"bash_id": id})), ("KillShell", json!({"shell_id": id}))]),
    ("gemini", |_, pid| vec![("read_background_output", json!({"pid": pid}))]),
];

#[test]
fn a_surface_without_a_word_for_others_says_what_a_person_can_do() {
    let place = Place::new();
    let mut alpha = agent(&place, "alpha", "a", Era::Older, &[]);
    let id = start(&mut alpha, "sleep 100");
    let told = place.background(&["echo told; sleep 100"]);
    let pid = |id: &str| {
        let found = text(&place.call(&["ps", "--all", "--json"]).stdout);
        let tasks = found.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        tasks.into_iter().find(|task| task["run_id"] == id).unwrap()["pid"].as_i64().unwrap()
    };
    for (dialect, calls) in SURFACES {
        let mut beta = agent(&place, "beta", "b", Era::Older, &["--dialect", dialect]);
        for (tool, arguments) in calls(&id, pid(&id)) {
            let refused = beta.call(tool, &arguments);
            let said = refused.to_string();
            for part in
                ["not found", "it belongs to alpha, in", &format!("chiton logs {id}"), &format!("chiton kill {id}")]
            {
                assert!(said.contains(part), "{dialect} {tool} {part}: {said}");
            }
        }
        // What a person has started is found by the id that a person tells.
        let (tool, arguments) = calls(&told, pid(&told)).swap_remove(0);
        let read = beta.call(tool, &arguments).to_string();
        assert!(!read.contains("not found") && !read.contains("belongs to"), "{dialect} {tool}: {read}");
    }
    let mut gemini = agent(&place, "beta", "b", Era::Older, &["--dialect", "gemini"]);
    let listed = said(&gemini.call("list_background_processes", &json!({})));
    assert_eq!(listed, "No background processes.");
    for id in [id, told] {
        place.call(&["kill", &id]);
    }
}

#[test]
fn what_people_run_is_found_by_its_id_and_listed_where_a_call_says_so() {
    let place = Place::new();
    let mut alpha = agent(&place, "alpha", "a", Era::Older, &[]);
    let id = place.background(&["--open-stdin", "echo up; read line; sleep 100"]);
    let listed = said(&alpha.call("ListShells", &json!({})));
    assert!(listed.starts_with("Nothing runs.\n[machine: "), "{listed}");
    assert!(!resources(&mut alpha).contains(&id));
    let listed = said(&alpha.call("ListShells", &json!({"others": true})));
    assert!(listed.contains(&id) && listed.contains("[of a person in "), "{listed}");
    let read = alpha.call("BashOutput", &json!({"bash_id": id, "wait_for": "up", "wait": 20_000}));
    assert!(said(&read).contains("\nup"), "{read}");
    assert_eq!(alpha.call("BashInput", &json!({"bash_id": id, "text": "x\n"}))["isError"], false);
    assert!(said(&alpha.call("KillShell", &json!({"bash_id": id}))).contains("terminated"));
}

#[test]
fn a_client_that_starts_anew_finds_its_work_again_and_nobody_else_does() {
    let place = Place::new();
    let mut alpha = agent(&place, "alpha", "a", Era::Older, &[]);
    let id = start(&mut alpha, "sleep 100");
    let lists = |mut wire: Wire| said(&wire.call("ListShells", &json!({}))).contains(&id);
    assert!(!lists(agent(&place, "alpha", "a", Era::Newest, &[])), "its server lives, and so this is another one");
    alpha.kill();
    assert!(!lists(agent(&place, "beta", "a", Era::Older, &[])), "another client");
    assert!(!lists(agent(&place, "alpha", "b", Era::Older, &[])), "another directory");
    assert!(lists(agent(&place, "alpha", "a", Era::Newest, &[])));
    let mut again = agent(&place, "alpha", "a", Era::Older, &[]);
    assert!(said(&again.call("KillShell", &json!({"bash_id": id}))).contains("terminated"));
}

#[test]
fn a_person_sees_everything_with_its_owner_and_where_it_runs() {
    let place = Place::new();
    let mut alpha = agent(&place, "alpha", "a", Era::Older, &[]);
    let (id, own) = (start(&mut alpha, "sleep 100"), place.background(&["sleep 101"]));
    let listed = text(&place.call(&["ps"]).stdout);
    let line = |id: &str| listed.lines().find(|line| line.contains(id)).unwrap_or_else(|| panic!("{listed}"));
    let directory = folder(&place, "a");
    assert!(line(&id).contains(&format!("  alpha  {}  ", directory.display())), "{listed}");
    assert!(line(&own).contains("  -      "), "{listed}");
    let json = text(&place.call(&["ps", "--json"]).stdout);
    let tasks: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let owner = |id: &str| tasks.iter().find(|task| task["run_id"] == id).unwrap()["owner"].clone();
    assert_eq!(owner(&id)["client"], "alpha");
    assert_eq!(owner(&id)["server_pid"], alpha.server.id());
    assert_eq!(owner(&own), Value::Null);

    // One tool call from the command line is a person's as well.
    let called = place.call(&["call", "BashOutput", &json!({"bash_id": id}).to_string()]);
    assert!(called.status.success(), "{}", text(&called.stdout));
    assert!(text(&place.call(&["call", "ListShells"]).stdout).contains(&id));
    let killed = text(&place.call(&["kill", &id, &own]).stdout);
    assert_eq!(killed.matches("terminated").count(), 2, "{killed}");
}

#[test]
fn a_record_of_an_older_version_is_nobodys() {
    let place = Place::new();
    let mut alpha = agent(&place, "alpha", "a", Era::Older, &[]);
    let id = start(&mut alpha, "echo old");
    alpha.call("BashOutput", &json!({"bash_id": id, "wait": 20_000}));
    let record = place.folder.path().join("state/chiton/runs").join(&id).join("request.json");
    let mut request: Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    assert_eq!(request.as_object_mut().unwrap().remove("owner").unwrap()["client"], "alpha");
    fs::write(&record, request.to_string()).unwrap();

    let mut beta = agent(&place, "beta", "b", Era::Older, &[]);
    let read = said(&beta.call("BashOutput", &json!({"bash_id": id})));
    assert!(read.ends_with("\nold"), "{read}");
    assert!(!said(&beta.call("ListShells", &json!({}))).contains(&id));
}

#[test]
fn a_list_is_what_runs_and_the_last_few_that_ran_in_the_background() {
    let place = Place::new();
    let mut alpha = agent(&place, "alpha", "a", Era::Older, &[]);
    for number in 0..4 {
        alpha.call("Bash", &json!({"command": format!("echo awaited {number}")}));
    }
    let mut ended = Vec::new();
    for number in 0..7 {
        let id = start(&mut alpha, &format!("echo ended {number}"));
        alpha.call("BashOutput", &json!({"bash_id": id, "wait": 20_000}));
        ended.push(id);
    }
    let idle = said(&alpha.call("ListShells", &json!({})));
    assert!(idle.starts_with("Nothing runs.\n"), "{idle}");
    let running = start(&mut alpha, "sleep 100");

    let listed = alpha.call("ListShells", &json!({}));
    let lines: Vec<String> = said(&listed).lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 1 + 5 + 1 + 1, "{lines:#?}");
    assert!(lines[0].contains(&running) && lines[0].contains("is running"), "{lines:#?}");
    for (line, id) in lines[1..6].iter().zip(ended.iter().rev()) {
        assert!(line.contains(id) && line.contains("naps: echo ended"), "{lines:#?}");
    }
    assert_eq!(lines[6], "[6 more have ended: ListShells with ended 11 lists them]");
    assert!(lines[7].starts_with("[machine: "), "{lines:#?}");

    let all = said(&alpha.call("ListShells", &json!({"ended": 11})));
    assert_eq!(all.lines().count(), 13, "{all}");
    assert!(all.contains("echo awaited 0") && !all.contains("more have ended"), "{all}");
    let none = said(&alpha.call("ListShells", &json!({"ended": 0})));
    assert_eq!(none.lines().count(), 3, "{none}");
    alpha.call("KillShell", &json!({"bash_id": running}));
}
