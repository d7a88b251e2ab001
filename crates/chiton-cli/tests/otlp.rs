//! The journal reaches a receiver of OpenTelemetry logs: all of it, in order, and no command waits for that.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use chiton_engine::audit::{AuditConfig, AuditEntry, AuditEvent, Journal};
use chiton_testkit::wire::LIMIT;
use serde_json::{Value, json};

use crate::place::{Place, text};

/// What the receiver does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Takes,
    /// Takes it, and answers after a while.
    TakesSlowly(Duration),
    Answers(u16),
    /// Takes everything but records whose body has this text.
    TakesWithout(&'static str),
    /// Says with its answer that it did not take one of them.
    TakesAllButOne,
    /// Reads the request, and never answers.
    Hangs,
}

/// A request as it came.
#[derive(Clone, Debug)]
struct Came {
    head: String,
    body: Value,
    was_taken: bool,
}

struct Inside {
    does: Mutex<Does>,
    came: Mutex<Vec<Came>>,
    changed: Condvar,
    over: AtomicBool,
}

/// A receiver of OTLP over HTTP, on a port of its own.
struct Receiver {
    inside: Arc<Inside>,
    address: std::net::SocketAddr,
    serving: Option<JoinHandle<()>>,
}

impl Receiver {
    fn new(does: Does) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let inside = Arc::new(Inside {
            does: Mutex::new(does),
            came: Mutex::default(),
            changed: Condvar::new(),
            over: AtomicBool::new(false),
        });
        let serve = {
            let inside = Arc::clone(&inside);
            move || {
                let mut serving = Vec::new();
                for stream in listener.incoming() {
                    if inside.over.load(Ordering::SeqCst) {
                        break;
                    }
                    let inside = Arc::clone(&inside);
                    serving.push(std::thread::spawn(move || answer(stream.unwrap(), &inside)));
                }
                for one in serving {
                    one.join().unwrap();
                }
            }
        };
        Self { inside, address, serving: Some(std::thread::spawn(serve)) }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn now(&self, does: Does) {
        *self.inside.does.lock().unwrap() = does;
    }

    fn came(&self) -> Vec<Came> {
        self.inside.came.lock().unwrap().clone()
    }

    /// All records of requests that were taken.
    fn records(&self) -> Vec<Value> {
        self.came().iter().filter(|came| came.was_taken).flat_map(|came| records(&came.body)).collect()
    }

    fn numbers(&self) -> Vec<u64> {
        self.records().iter().filter_map(number).collect()
    }

    /// Waits until something is true of what came.
    fn wait_until(&self, what: &str, is_true: impl Fn(&[Came]) -> bool) {
        let came = self.inside.came.lock().unwrap();
        let (came, waited) = self.inside.changed.wait_timeout_while(came, LIMIT, |came| !is_true(came)).unwrap();
        assert!(!waited.timed_out(), "{what} did not happen: {came:?}");
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.inside.over.store(true, Ordering::SeqCst);
        self.inside.changed.notify_all();
        let _ = TcpStream::connect(self.address);
        let ended = self.serving.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

fn answer(stream: TcpStream, inside: &Inside) {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let length =
        head.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
    let mut body = vec![0; length.expect("a request says how long it is")];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let body: Value = serde_json::from_slice(&body).unwrap();
    let does = *inside.does.lock().unwrap();
    let has = |text: &str| records(&body).iter().any(|record| record["body"].to_string().contains(text));
    let (status, said) = match does {
        Does::Takes | Does::TakesSlowly(_) | Does::Hangs => (200, "{}"),
        Does::Answers(status) => (status, ""),
        Does::TakesWithout(text) => (if has(text) { 400 } else { 200 }, ""),
        Does::TakesAllButOne => (200, r#"{"partialSuccess": {"rejectedLogRecords": "1", "errorMessage": "no"}}"#),
    };
    let was_taken = status == 200 && does != Does::Hangs;
    inside.came.lock().unwrap().push(Came { head, body, was_taken });
    inside.changed.notify_all();
    match does {
        Does::Hangs => {
            // Until the other side has gone, or the test has.
            let mut rest = [0];
            reader.get_ref().set_read_timeout(Some(LIMIT)).unwrap();
            let _ = reader.read(&mut rest);
            return;
        }
        Does::TakesSlowly(time) => std::thread::sleep(time),
        _ => {}
    }
    let answer = format!("HTTP/1.1 {status} Word\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{said}", said.len());
    // Somebody who did not want to wait has gone.
    let _ = reader.get_mut().write_all(answer.as_bytes());
}

fn records(body: &Value) -> Vec<Value> {
    let logs = body["resourceLogs"].as_array().unwrap().iter();
    let scopes = logs.flat_map(|log| log["scopeLogs"].as_array().unwrap());
    scopes.flat_map(|scope| scope["logRecords"].as_array().unwrap().clone()).collect()
}

fn attribute(of: &Value, name: &str) -> Option<Value> {
    let found = of["attributes"].as_array().unwrap().iter().find(|one| one["key"] == name)?;
    found["value"].as_object().unwrap().values().next().cloned()
}

fn number(record: &Value) -> Option<u64> {
    attribute(record, "chiton.journal.number")?.as_str()?.parse().ok()
}

/// A place whose settings name a receiver.
fn place_with(url: &str, more: &str) -> Place {
    let place = Place::new();
    let folder = place.folder.path().join(".config/chiton");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), format!("{more}\n[audit]\notlp = '{url}'\n")).unwrap();
    place
}

/// The numbers of all lines in the journal.
fn written(place: &Place) -> Vec<u64> {
    let journal = text(&place.call(&["audit", "--json"]).stdout);
    journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["number"].as_u64().unwrap()).collect()
}

fn send(place: &Place) -> Output {
    place.call(&["audit", "send"])
}

#[track_caller]
fn ran(output: &Output) {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

/// The same without what came twice: who goes before the answer is there sends it again.
fn once(mut numbers: Vec<u64>) -> Vec<u64> {
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[test]
fn every_line_arrives_once_and_in_order() {
    let receiver = Receiver::new(Does::Answers(503));
    let place = place_with(&receiver.url(), "");
    for round in 0..3 {
        // Commands find nobody who takes it, so that none of them goes before the answer is there.
        receiver.now(Does::Answers(503));
        for command in 0..=round {
            ran(&place.run(&[&format!("echo {command}")]));
        }
        receiver.now(Does::Takes);
        let sent = send(&place);
        ran(&sent);
        assert!(text(&sent.stdout).contains("records sent to http://127.0.0.1:"), "{}", text(&sent.stdout));
        assert_eq!(receiver.numbers(), written(&place));
    }
    assert!(receiver.numbers().len() >= 12, "{:?}", receiver.numbers());
    let nothing = send(&place);
    assert!(text(&nothing.stdout).starts_with("0 records sent"), "{}", text(&nothing.stdout));
    ran(&place.call(&["audit", "verify"]));
}

#[test]
fn a_record_says_what_the_line_says() {
    let receiver = Receiver::new(Does::Takes);
    let place = place_with(&receiver.url(), "");
    assert_eq!(place.run(&["--session", "work", "printf 'ä\\n'; exit 3"]).status.code(), Some(3));
    ran(&send(&place));
    let came = receiver.came().into_iter().next().unwrap();
    assert!(came.head.starts_with("POST /v1/logs HTTP/1.1\r\n"), "{}", came.head);
    assert!(came.head.to_lowercase().contains("\r\ncontent-type: application/json\r\n"), "{}", came.head);
    let resource = &came.body["resourceLogs"][0]["resource"];
    assert_eq!(attribute(resource, "service.name"), Some(json!("chiton")));
    for name in ["service.version", "host.name", "process.pid", "enduser.id"] {
        assert!(attribute(resource, name).is_some(), "{name}: {resource}");
    }

    let records = receiver.records();
    let of = |event: &str| {
        let is_it = |record: &&Value| attribute(record, "chiton.event") == Some(json!(event));
        records.iter().find(is_it).unwrap_or_else(|| panic!("no {event} in {records:?}"))
    };
    let (run, end) = (of("run"), of("end"));
    assert_eq!(run["body"], json!({"stringValue": "printf 'ä\\n'; exit 3"}));
    assert_eq!((&run["severityNumber"], &run["severityText"]), (&json!(9), &json!("INFO")));
    assert_eq!(attribute(run, "chiton.session"), Some(json!("work")));
    assert_eq!(attribute(run, "chiton.client"), Some(json!("run")));
    let directory = place.folder.path().canonicalize().unwrap();
    assert_eq!(attribute(run, "process.working_directory"), Some(json!(directory)));
    let nanoseconds = run["timeUnixNano"].as_str().unwrap();
    assert!(nanoseconds.len() == 19 && nanoseconds.ends_with("000000"), "{nanoseconds}");
    assert_eq!(attribute(end, "process.exit_code"), Some(json!("3")));
    assert_eq!(attribute(end, "chiton.outcome"), Some(json!("exited")));
    assert_eq!(attribute(end, "chiton.run_id"), attribute(run, "chiton.run_id"));
    assert!(attribute(end, "chiton.duration_ms").unwrap().is_string());
}

#[test]
fn commands_and_a_server_send_by_themselves() {
    let receiver = Receiver::new(Does::Takes);
    let place = place_with(&receiver.url(), "");
    for _ in 0..3 {
        ran(&place.run(&["true"]));
    }
    // What a run did not manage in its last moment, the server sends, and what a keeper writes.
    let mut wire = place.session(&[]);
    wire.call("Bash", &json!({"command": "echo from the server"}));
    receiver.wait_until("the command of the server", |came| {
        let mut all = came.iter().flat_map(|came| records(&came.body));
        all.any(|record| record["body"]["stringValue"] == "echo from the server")
    });
    drop(wire);
    ran(&send(&place));
    assert_eq!(once(receiver.numbers()), written(&place));
}

#[test]
fn several_processes_at_once_send_nothing_twice() {
    let receiver = Receiver::new(Does::Answers(503));
    let place = place_with(&receiver.url(), "");
    for _ in 0..4 {
        ran(&place.run(&["true"]));
    }
    receiver.now(Does::TakesSlowly(Duration::from_millis(50)));
    let start = || place.command().args(["audit", "send"]).stdout(Stdio::null()).spawn().unwrap();
    let mut senders: Vec<_> = (0..6).map(|_| start()).collect();
    for sender in &mut senders {
        assert!(sender.wait().unwrap().success());
    }
    assert_eq!(receiver.numbers(), written(&place));
}

#[test]
fn without_a_receiver_commands_run_and_everything_arrives_later() {
    // Nobody listens on this port.
    let place = place_with("http://127.0.0.1:1", "");
    for command in ["echo one", "echo two", "echo three"] {
        let output = place.run(&[command]);
        ran(&output);
        assert_eq!(text(&output.stderr), "");
    }
    let failed = send(&place);
    assert_eq!(failed.status.code(), Some(125));
    let said = text(&failed.stderr);
    assert!(said.contains("no connection") && said.contains("0 records sent; 6 records wait"), "{said}");
    let doctor = text(&place.call(&["doctor"]).stdout);
    assert!(doctor.contains("wait, and the last"), "{doctor}");

    let receiver = Receiver::new(Does::Takes);
    let sent = place.command().env("CHITON_AUDIT_OTLP", receiver.url()).args(["audit", "send"]).output().unwrap();
    ran(&sent);
    assert_eq!(receiver.numbers(), written(&place));
}

#[test]
fn a_receiver_that_hangs_or_is_slow_holds_nobody_up() {
    for does in [Does::Hangs, Does::TakesSlowly(Duration::from_secs(4))] {
        let receiver = Receiver::new(does);
        let place = place_with(&receiver.url(), "");
        let before = Instant::now();
        ran(&place.run(&["true"]));
        // It would take ten seconds to give up, and four to answer.
        assert!(before.elapsed() < Duration::from_millis(3500), "{does:?}: {:?}", before.elapsed());
        receiver.wait_until("a request", |came| !came.is_empty());
        receiver.now(Does::Takes);
        ran(&send(&place));
        assert_eq!(once(receiver.numbers()), written(&place));
    }
}

#[test]
fn a_server_tries_again_by_itself() {
    let receiver = Receiver::new(Does::Answers(503));
    let place = place_with(&receiver.url(), "");
    let mut wire = place.session(&[]);
    wire.call("Bash", &json!({"command": "echo again"}));
    receiver.wait_until("a request that is not taken", |came| !came.is_empty());
    receiver.now(Does::Takes);
    receiver.wait_until("another one", |came| came.iter().any(|came| came.was_taken));
    drop(wire);
    ran(&send(&place));
    assert_eq!(once(receiver.numbers()), written(&place));
}

#[test]
fn what_the_journal_let_go_is_counted_once_and_told_everywhere() {
    let receiver = Receiver::new(Does::Takes);
    let place = place_with(&receiver.url(), "");
    let folder = place.folder.path().join("state/chiton/audit");
    std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
    let config = AuditConfig { file_bytes: 2000, files: 2, ..AuditConfig::default() };
    let journal = Journal::new(&folder, config, "test");
    let write = |count: usize| (0..count).for_each(|_| journal.append(AuditEntry::new(AuditEvent::Task)).unwrap());
    write(3);
    ran(&send(&place));
    write(80);
    let kept = written(&place);
    let lost = kept[0] - 4;
    assert!(lost > 10, "{kept:?}");
    // It starts a server, which would send everything.
    receiver.now(Does::Answers(503));
    let doctor = text(&place.call(&["doctor"]).stdout);
    assert!(doctor.contains(&format!("{lost} records were lost")), "{doctor}");
    receiver.now(Does::Takes);

    let sent = send(&place);
    ran(&sent);
    assert!(text(&sent.stderr).contains(&format!("{lost} records of the journal cannot be sent")), "{sent:?}");
    write(1);
    let again = send(&place);
    assert_eq!(text(&again.stderr), "");
    let told: Vec<Value> = receiver.records().iter().filter_map(|one| attribute(one, "chiton.lost_records")).collect();
    assert_eq!(told, [json!(lost.to_string())]);
    let numbers = receiver.numbers();
    assert_eq!((numbers.first(), numbers.last()), (Some(&1), Some(&84)));
    assert_eq!(numbers.len() as u64, 84 - lost);
    let doctor = text(&place.call(&["doctor"]).stdout);
    assert!(doctor.contains(&format!("0 records wait; {lost} records were lost")), "{doctor}");
}

#[test]
fn a_record_that_is_not_taken_is_lost_alone() {
    let receiver = Receiver::new(Does::Answers(503));
    let place = place_with(&receiver.url(), "");
    for command in ["echo one", "echo poison", "echo three"] {
        ran(&place.run(&[command]));
    }
    receiver.now(Does::TakesWithout("poison"));
    let sent = send(&place);
    ran(&sent);
    assert!(text(&sent.stderr).contains("1 record of the journal cannot be sent"), "{sent:?}");
    let numbers = receiver.numbers();
    assert_eq!(numbers.len() + 1, written(&place).len());
    assert!(numbers.is_sorted());

    // One that takes nothing at all is not a receiver, and everything waits.
    receiver.now(Does::Answers(400));
    ran(&place.run(&["echo four"]));
    assert_eq!(send(&place).status.code(), Some(125));
    receiver.now(Does::Takes);
    ran(&send(&place));
    let numbers = receiver.numbers();
    assert_eq!(numbers.len() + 1, written(&place).len());
    let told: Vec<Value> = receiver.records().iter().filter_map(|one| attribute(one, "chiton.lost_records")).collect();
    assert_eq!(told, [json!("1")]);

    // And one that says so with its answer.
    receiver.now(Does::Answers(503));
    ran(&place.run(&["echo five"]));
    receiver.now(Does::TakesAllButOne);
    assert!(text(&send(&place).stderr).contains("1 record of the journal cannot be sent"));
}

#[test]
fn no_value_of_a_secret_is_sent_but_in_the_header_that_names_it() {
    let receiver = Receiver::new(Does::Takes);
    let more = "[secrets]\nenv = ['TOKEN']\n[audit.otlp_headers]\nauthorization = 'Bearer {{secret:TOKEN}}'";
    let place = place_with(&receiver.url(), "");
    let file = place.folder.path().join(".config/chiton/config.toml");
    let settings = std::fs::read_to_string(&file).unwrap() + more;
    std::fs::write(&file, settings).unwrap();
    let value = "sesame-4711-open";
    let call = |arguments: &[&str]| place.command().env("TOKEN", value).args(arguments).output().unwrap();
    ran(&call(&["run", "echo {{secret:TOKEN}}"]));
    ran(&call(&["audit", "send"]));
    assert!(receiver.came().iter().all(|came| came.head.contains(&format!("authorization: Bearer {value}\r\n"))));
    let records = json!(receiver.records()).to_string();
    assert!(!records.contains(value) && records.contains("echo {{secret:TOKEN}}"), "{records}");

    // Without the secret nothing is sent, and commands run.
    let output = place.command().args(["run", "echo fine"]).output().unwrap();
    assert_eq!(text(&output.stdout), "fine\n");
    let failed = place.call(&["audit", "send"]);
    assert_eq!(failed.status.code(), Some(125));
    assert!(text(&failed.stderr).contains("there is no secret {{secret:TOKEN}}"), "{failed:?}");
}

#[test]
fn a_receiver_that_cannot_be_is_an_error_before_anything_runs() {
    for (url, reason) in [
        ("https://collector.example", "Chiton has no TLS"),
        ("collector:4318", "this is not an http:// URL"),
        ("env", "OTEL_EXPORTER_OTLP_ENDPOINT is not set"),
    ] {
        let place = place_with(url, "");
        for arguments in [&["run", "touch ran"][..], &["mcp"], &["call", "Bash", "{\"command\": \"touch ran\"}"]] {
            let output = place.call(arguments);
            assert_eq!(output.status.code(), Some(125), "{url}: {output:?}");
            assert!(text(&output.stderr).contains(reason), "{url}: {output:?}");
        }
        assert!(!place.folder.path().join("ran").exists());
        let doctor = place.call(&["doctor"]);
        assert!(text(&doctor.stdout).contains(reason), "{url}: {doctor:?}");
    }
    let nowhere = Place::new().call(&["audit", "send"]);
    assert!(text(&nowhere.stderr).contains("otlp = \"http://127.0.0.1:4318\""), "{nowhere:?}");
}

#[test]
fn the_variables_of_opentelemetry_hold_where_the_settings_say_so() {
    let receiver = Receiver::new(Does::Takes);
    let call = |place: &Place, arguments: &[&str]| {
        let mut command = place.command();
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url()).env("OTEL_EXPORTER_OTLP_HEADERS", "x-team=a%20b");
        command.args(arguments).output().unwrap()
    };
    let silent = Place::new();
    ran(&call(&silent, &["run", "true"]));
    assert!(receiver.came().is_empty());
    let place = place_with("env", "");
    ran(&call(&place, &["run", "true"]));
    ran(&call(&place, &["audit", "send"]));
    assert_eq!(once(receiver.numbers()), written(&place));
    assert!(receiver.came().iter().all(|came| came.head.contains("x-team: a b\r\n")));
}

#[test]
fn whoever_follows_sends_what_others_write() {
    let receiver = Receiver::new(Does::Takes);
    let place = place_with(&receiver.url(), "");
    let folder = place.folder.path().join("state/chiton/audit");
    std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
    let journal = Journal::new(&folder, AuditConfig::default(), "test");
    let mut follower = place.command();
    let mut follower = follower.args(["audit", "send", "--follow"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(follower.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(said.next().unwrap().contains("Ctrl-C ends it"));
    for last in 1..=3 {
        journal.append(AuditEntry::new(AuditEvent::Task)).unwrap();
        receiver.wait_until("the line that was just written", |came| {
            came.iter().flat_map(|came| records(&came.body)).filter_map(|record| number(&record)).any(|one| one == last)
        });
    }
    // A receiver that is gone for a while is said once, and the rest follows when it is back.
    receiver.now(Does::Answers(503));
    journal.append(AuditEntry::new(AuditEvent::Task)).unwrap();
    assert!(said.next().unwrap().contains("does not take the journal: it answered 503"));
    receiver.now(Does::Takes);
    receiver.wait_until("the line that waited", |came| {
        let taken = came.iter().filter(|came| came.was_taken).flat_map(|came| records(&came.body));
        taken.filter_map(|record| number(&record)).any(|one| one == 4)
    });
    follower.kill().unwrap();
    follower.wait().unwrap();
    assert_eq!(receiver.numbers(), [1, 2, 3, 4]);
}
