//! Ports: what a task listens on, in every place where it is shown, and free ones that commands call by a name.

use std::net::TcpListener;
use std::path::Path;

use chiton_testkit::wire::Wire;
use serde_json::{Value, json};

use crate::place::{Place, said, text};

/// A port that nobody has at this moment.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn server(port: u16) -> String {
    format!("exec python3 -m http.server {port} --bind 127.0.0.1")
}

fn bash(wire: &mut Wire, command: &str) -> String {
    said(&wire.call("Bash", &json!({"command": command})))
}

fn id_in(text: &str) -> String {
    let start = text.find("shell_").unwrap_or_else(|| panic!("{text}"));
    text[start..start + "shell_".len() + 8].to_owned()
}

/// A place in which nothing is left running, however a test ends.
struct Swept(Place);

impl Swept {
    fn new() -> Self {
        Self(Place::new())
    }
}

impl std::ops::Deref for Swept {
    type Target = Place;

    fn deref(&self) -> &Place {
        &self.0
    }
}

impl Drop for Swept {
    fn drop(&mut self) {
        let _ = self.0.call(&["kill", "--all"]);
    }
}

#[test]
fn the_command_line_shows_ports_and_waits_for_them() {
    let place = Swept::new();
    let port = free_port();
    let quiet = place.background(&["sleep 600"]);
    assert!(!text(&place.call(&["ps"]).stdout).contains("LISTENING"), "nothing listens");
    let id = place.background(&[&server(port)]);
    for wanted in [port.to_string(), "any".to_owned()] {
        let waited = place.call(&["wait", "--port", &wanted, "--timeout", "60s", &id]);
        assert_eq!((waited.status.code(), text(&waited.stdout)), (Some(0), format!("127.0.0.1:{port}\n")));
    }

    let list = text(&place.call(&["ps"]).stdout);
    let line = list.lines().find(|line| line.starts_with(&id)).unwrap();
    assert!(line.contains(&format!("  127.0.0.1:{port}  ")) && list.contains("  LISTENING  "), "{list}");
    let json = text(&place.call(&["ps", "--json"]).stdout);
    let tasks: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let task = |id: &str| tasks.iter().find(|task| task["run_id"] == id).unwrap();
    let socket = &task(&id)["listening"][0];
    assert_eq!((&socket["protocol"], &socket["port"]), (&json!("tcp"), &json!(port)));
    assert_eq!(socket["address"], "127.0.0.1");
    assert_eq!((&task(&quiet)["listening"], &task(&quiet)["listening_unknown"]), (&json!([]), &Value::Null));

    let in_vain = place.call(&["wait", "--port", &port.to_string(), "--timeout", "50ms", &quiet]);
    assert_eq!(in_vain.status.code(), Some(124));
    assert!(text(&in_vain.stderr).contains("but not this task"), "{}", text(&in_vain.stderr));
    assert_eq!(place.call(&["wait", "--port", "0x1", &id]).status.code(), Some(125));
}

#[test]
fn replies_say_what_a_task_listens_on_once_and_programs_always_get_it() {
    let place = Swept::new();
    let mut wire = place.session(&[]);
    let port = free_port();
    let started = wire.call("Bash", &json!({"command": server(port), "wait_for_port": port, "wait": 60_000}));
    let text = said(&started);
    assert!(
        text.contains("is running") && text.contains(&format!("[waited: it listens on 127.0.0.1:{port}]")),
        "{text}"
    );
    assert!(!text.contains("[listening on"), "{text}");
    let id = id_in(&text);

    let read = said(&wire.call("BashOutput", &json!({"bash_id": id, "wait_for_port": 0})));
    assert!(read.contains(&format!("it listens on 127.0.0.1:{port}")), "{read}");
    let read = said(&wire.call("BashOutput", &json!({"bash_id": id})));
    assert!(!read.contains("listen"), "the client knows it: {read}");
    let list = said(&wire.call("ListShells", &json!({})));
    assert!(list.contains(&format!("  [listening on 127.0.0.1:{port}]")), "{list}");
    let bad = said(&wire.call("BashOutput", &json!({"bash_id": id, "wait_for_port": 65_536})));
    assert!(bad.contains("'wait_for_port' is a port from 1 to 65535"), "{bad}");

    let call = format!(r#"{{"bash_id": "{id}", "others": true}}"#);
    let called = place.call(&["call", "--json", "BashOutput", &call]);
    let reply: Value = serde_json::from_slice(&called.stdout).unwrap();
    assert_eq!(reply["structured"]["listening"][0]["port"], port, "{reply}");
    assert!(reply["text"].as_str().unwrap().contains(&format!("[listening on 127.0.0.1:{port}]")), "{reply}");
}

#[test]
fn what_a_command_left_running_is_said_to_listen() {
    let place = Swept::new();
    let mut wire = place.session(&[]);
    let port = free_port();
    // It returns once the server answers.
    let check = format!("until (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null; do sleep 0.05; done");
    let left = bash(&mut wire, &format!("python3 -m http.server {port} --bind 127.0.0.1 >/dev/null 2>&1 & {check}"));
    assert!(left.contains("[left running as shell_"), "{left}");
    assert!(left.contains(&format!("[listening on 127.0.0.1:{port}]")), "{left}");
}

#[test]
fn a_task_is_seen_to_listen_after_its_server_was_killed() {
    let place = Swept::new();
    let mut wire = place.session(&[]);
    let port = free_port();
    let id = id_in(&said(&wire.call("Bash", &json!({"command": server(port), "wait_for_port": port, "wait": 60_000}))));
    wire.kill();
    let list = text(&place.call(&["ps"]).stdout);
    assert!(list.contains(&id) && list.contains(&format!("  127.0.0.1:{port}  ")), "{list}");
    let mut next = place.session(&[]);
    let read = said(&next.call("BashOutput", &json!({"bash_id": id})));
    assert!(read.contains(&format!("[listening on 127.0.0.1:{port}]")), "{read}");
}

/// The number in an answer to `echo =NUMBER=`.
fn number(text: &str) -> u16 {
    text.split('=').nth(1).and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn a_name_has_one_number_in_a_session_and_another_in_another() {
    let place = Swept::new();
    let (mut one, mut other) = (place.session(&[]), place.session(&[]));
    let first = bash(&mut one, "echo ={{port:web}}=");
    let web = number(&first);
    assert!(first.contains(&format!("[port web = {web}]")), "{first}");
    let again = bash(&mut one, "echo ={{port:web}}= \"$(echo {{port:web}})\"");
    assert_eq!(again, format!("={web}= {web}"), "the same, and told once");
    assert_ne!(number(&bash(&mut one, "echo ={{port:api}}=")), web);
    assert_ne!(number(&bash(&mut other, "echo ={{port:web}}=")), web);
    assert!(TcpListener::bind(("127.0.0.1", web)).is_ok(), "it is free");

    let call = json!({"command": "cat; echo $PORT", "env": {"PORT": "{{port:web}}"}, "stdin": "={{port:web}}="});
    assert_eq!(said(&one.call("Bash", &call)), format!("={web}={web}"));
    let broken_up = bash(&mut one, "echo '{''{port:web}}'");
    assert_eq!(broken_up, "{{port:web}}");
    let bad = bash(&mut one, "touch made; echo {{port:80 80}}");
    assert!(bad.contains("'80 80' is not a name for a port") && bad.contains("Nothing was started"), "{bad}");
    assert!(!place.folder.path().join("made").exists());
}

#[test]
fn what_ran_is_written_down_with_the_number() {
    let place = Swept::new();
    let output = place.run(&["--background", "sleep {{port:nap}}"]);
    let remark = text(&output.stderr);
    let nap: u16 = remark.split("port nap = ").nth(1).unwrap().trim().parse().unwrap();
    let listed: Value = serde_json::from_slice(&place.call(&["ps", "--json"]).stdout).unwrap();
    assert_eq!(listed["command"], format!("sleep {nap}"));
    assert_eq!(listed["ports"], json!({"nap": nap}));

    // The session of that call is over, but what it started may still want its port.
    for _ in 0..3 {
        assert_ne!(number(&text(&place.run(&["echo ={{port:nap}}="]).stdout)), nap);
    }
    assert_eq!(place.call(&["kill", "--all"]).status.code(), Some(0));
    assert_eq!(number(&text(&place.run(&["echo ={{port:nap}}="]).stdout)), nap, "nothing runs with it any more");
}

#[test]
fn a_session_with_a_name_keeps_its_port_when_its_server_is_killed() {
    let place = Swept::new();
    let mut wire = place.session(&["--session", "shop"]);
    let web = number(&bash(&mut wire, "echo ={{port:web}}="));
    wire.kill();
    let mut others: Vec<Wire> = (0..3).map(|_| place.session(&[])).collect();
    for other in &mut others {
        assert_ne!(number(&bash(other, "echo ={{port:web}}=")), web);
    }
    let mut next = place.session(&["--session", "shop"]);
    assert_eq!(number(&bash(&mut next, "echo ={{port:web}}=")), web);
    let named = json!({"command": "echo ={{port:web}}=", "session": "shop"});
    assert_eq!(number(&said(&others[0].call("Bash", &named))), web, "the session counts, not the server");
    assert_eq!(number(&text(&place.run(&["--session", "shop", "echo ={{port:web}}="]).stdout)), web);
}

#[test]
fn a_port_is_free_again_when_the_server_of_its_session_was_killed() {
    let place = Swept::new();
    let mut wire = place.session(&[]);
    let web = number(&bash(&mut wire, "echo ={{port:web}}="));
    assert!(held(&place, web));
    wire.kill();
    let mut next = place.session(&[]);
    assert_eq!(number(&bash(&mut next, "echo ={{port:web}}=")), web);
}

fn held(place: &Place, port: u16) -> bool {
    Path::new(&place.folder.path().join("state/chiton/ports").join(port.to_string())).exists()
}
