//! Verbs that another machine asks for: it makes the id of the run, agrees in a person's name, and brings the secrets along.
//! The canary is a harmless command that a rule of the human makes worth asking about.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use chiton_testkit::processes::{eventually, marked};
use chiton_testkit::wire::Wire;
use serde_json::{Value, json};

use crate::place::{Place, allow, said, text, until};

const PATIENCE: Duration = Duration::from_secs(30);
const TWICE: &str = "this call was sent twice; it ran once";
const RULES: &str = "[{decision = 'ask', program = ['touch'], any_argument = ['canary*'], reason = 'Canaries sing.', match = ['touch canary']},
 {decision = 'deny', program = ['touch'], any_argument = ['vulture*'], reason = 'Vultures do not.', match = ['touch vulture']}]";

/// A dialect: what runs a command, its parameter, and what starts one in the background.
type Surface = (&'static str, &'static str, &'static str, Option<(&'static str, Value)>);

fn surfaces() -> Vec<Surface> {
    let flag = |tool| Some((tool, json!({"run_in_background": true})));
    vec![
        ("native", "Bash", "command", flag("Bash")),
        ("exec", "exec", "command", Some(("exec_bg", json!({})))),
        ("modes", "bash", "command", Some(("bash", json!({"mode": "background"})))),
        ("boris", "bash", "command", flag("bash")),
        ("wave", "Bash", "command", flag("Bash")),
        ("opencode", "Bash", "command", flag("Bash")),
        ("claude", "Bash", "command", flag("Bash")),
        ("claude-2025", "Bash", "command", flag("Bash")),
        ("codex", "exec_command", "cmd", Some(("exec_command", json!({"yield_time_ms": 250})))),
        ("gemini", "run_shell_command", "command", Some(("run_shell_command", json!({"is_background": true})))),
        ("opencode-cli", "bash", "command", None),
        ("anthropic", "bash", "command", None),
    ]
}

/// A place whose settings ask about canaries.
fn place_with_rules() -> Place {
    let place = Place::new();
    fs::create_dir_all(place.folder.path().join(".config/chiton")).unwrap();
    fs::write(place.folder.path().join(".config/chiton/config.toml"), format!("[guard]\nrule = {RULES}\n")).unwrap();
    fs::create_dir(place.folder.path().join("work")).unwrap();
    place
}

fn id(number: u32) -> String {
    format!("shell_{number:08x}")
}

fn request(wire: &mut Wire, tool: &str, arguments: &Value, near: &Value) -> u64 {
    wire.request("tools/call", json!({"name": tool, "arguments": arguments, "_meta": {"chiton/near": near}}))
}

fn call(wire: &mut Wire, tool: &str, arguments: &Value, near: &Value) -> Value {
    let id = request(wire, tool, arguments, near);
    let answer = wire.answer(id);
    answer.get("result").cloned().unwrap_or_else(|| panic!("{answer}"))
}

fn near_server(place: &Place, arguments: &[&str]) -> Wire {
    let mut wire = place.session(&[&["--near"], arguments].concat());
    wire.patience = PATIENCE;
    wire
}

#[test]
fn every_dialect_is_here() {
    let names: Vec<&str> = surfaces().iter().map(|surface| surface.0).collect();
    assert!(chiton_dialects::names().iter().all(|name| names.contains(name)));
}

#[test]
fn a_call_that_comes_again_is_answered_with_its_run_in_every_dialect_and_by_another_server_too() {
    for (number, (dialect, tool, parameter, background)) in (0..).step_by(2).zip(surfaces()) {
        let place = Place::new();
        let mut wire = near_server(&place, &["--dialect", dialect]);
        let arguments = json!({parameter: "echo x >> log; echo hello; exit 3"});
        let near = json!({"run_id": id(number)});
        let first = call(&mut wire, tool, &arguments, &near);
        assert!(said(&first).contains("hello") && !said(&first).contains(TWICE), "{dialect}: {first}");
        let again = call(&mut wire, tool, &arguments, &near);
        wire.kill();
        let mut wire = near_server(&place, &["--dialect", dialect]);
        let elsewhere = call(&mut wire, tool, &arguments, &near);
        for reply in [again, elsewhere] {
            assert!(said(&reply).contains("hello") && said(&reply).contains(TWICE), "{dialect}: {reply}");
            assert_eq!(reply["isError"], first["isError"], "{dialect}: {reply}");
        }
        let log = || fs::read_to_string(place.folder.path().join("log")).unwrap_or_default();
        assert_eq!(log(), "x\n", "{dialect}");

        let Some((tool, mut arguments)) = background else { continue };
        arguments[parameter] = json!(format!("echo y >> log; {}", until("go")));
        let near = json!({"run_id": id(number + 1)});
        let first = call(&mut wire, tool, &arguments, &near);
        assert!(!said(&first).contains(TWICE), "{dialect}: {first}");
        let again = call(&mut wire, tool, &arguments, &near);
        assert!(said(&again).contains(TWICE), "{dialect}: {again}");
        assert_eq!(again["isError"], first["isError"], "{dialect}: {again}");
        assert!(eventually(PATIENCE, || log() == "x\ny\n"), "{dialect}: {}", log());
        allow(&place, "go");
        place.call(&["wait", &id(number + 1)]);
        assert_eq!(log(), "x\ny\n", "{dialect}");
    }
}

#[test]
fn without_the_flag_nobody_is_believed() {
    let place = place_with_rules();
    let mut wire = place.session(&["--dir", "work"]);
    let near =
        json!({"run_id": id(1), "agreed": true, "secrets": [{"kind": "secret", "name": "a", "value": "12345678"}]});
    for command in ["touch canary", "echo {{secret:a}}"] {
        let reply = call(&mut wire, "Bash", &json!({"command": command}), &near);
        assert_eq!(reply["isError"], true, "{reply}");
    }
    let reply = call(&mut wire, "Bash", &json!({"command": "echo hello"}), &near);
    assert_eq!(reply["isError"], false, "{reply}");
    assert!(!place.folder.path().join("state/chiton/runs").join(id(1)).exists());
    assert!(!place.folder.path().join("work/canary").exists());
}

#[test]
fn what_a_person_agreed_to_elsewhere_runs_and_what_is_denied_here_does_not() {
    let place = place_with_rules();
    let mut wire = near_server(&place, &["--dir", "work"]);
    let cases = [("canary", false, true), ("canary", true, false), ("vulture", true, true)];
    for (bird, agreed, fails) in cases {
        let command = json!({"command": format!("touch {bird}")});
        let reply = call(&mut wire, "Bash", &command, &json!({"agreed": agreed}));
        assert_eq!(reply["isError"], fails, "{bird} {agreed}: {reply}");
        assert_eq!(place.folder.path().join("work").join(bird).exists(), !fails, "{bird} {agreed}");
    }
    let background = json!({"command": "touch canary.task", "run_in_background": true});
    assert_eq!(call(&mut wire, "Bash", &background, &json!({}))["isError"], true);
    assert_eq!(call(&mut wire, "Bash", &background, &json!({"agreed": true}))["isError"], false);
}

#[test]
fn secrets_that_come_along_are_used_and_masked_and_written_nowhere() {
    let place = Place::new();
    let mut wire = near_server(&place, &[]);
    let near = json!({"secrets": [{"kind": "secret", "name": "key", "value": "S3CR3T-VALUE"}]});
    let reply = call(&mut wire, "Bash", &json!({"command": "printf %s {{secret:key}} | tee out"}), &near);
    assert!(said(&reply).contains("{{secret:key}}") && !reply.to_string().contains("S3CR3T"), "{reply}");
    assert_eq!(fs::read_to_string(place.folder.path().join("out")).unwrap(), "S3CR3T-VALUE");
    let later = call(&mut wire, "Bash", &json!({"command": "cat out"}), &json!({}));
    assert!(said(&later).contains("{{secret:key}}"), "{later}");

    // Typed text names secrets, too.
    let started =
        json!({"command": "read -r line; printf %s \"$line\" > typed", "pty": true, "run_in_background": true});
    call(&mut wire, "Bash", &started, &json!({"run_id": id(7)}));
    let other = json!({"secrets": [{"kind": "secret", "name": "other", "value": "S3CR3T-OTHER"}]});
    call(&mut wire, "BashInput", &json!({"bash_id": id(7), "text": "{{secret:other}}\n"}), &other);
    let typed = || fs::read_to_string(place.folder.path().join("typed")).unwrap_or_default();
    assert!(eventually(PATIENCE, || typed() == "S3CR3T-OTHER"), "{}", typed());
    wire.close();
    let holders = place.command_of("grep").args(["-rl", "S3CR3T", "state"]).output().unwrap();
    assert_eq!(text(&holders.stdout), "", "nothing is kept");
}

#[test]
fn no_level_logs_the_secrets_that_come_along() {
    let place = Place::new();
    let log = place.folder.path().join("log");
    let mut server = place.server(&["--near", "--log-level", "trace"]);
    server.stderr(File::create(&log).unwrap());
    let mut wire = Wire::session(server);
    let near = json!({"secrets": [{"kind": "secret", "name": "key", "value": "S3CR3T-VALUE"}]});
    call(&mut wire, "Bash", &json!({"command": "echo {{secret:key}}"}), &near);
    wire.close();
    let logged = fs::read_to_string(log).unwrap();
    assert!(logged.contains("INFO") && !logged.contains("S3CR3T"), "{logged}");
}

#[test]
fn what_cannot_be_read_is_refused_without_being_repeated() {
    let place = Place::new();
    let mut wire = near_server(&place, &[]);
    for near in [json!("S3CR3T"), json!({"run_id": "S3CR3T"}), json!({"secrets": [{"name": "S3CR3T"}]})] {
        let id = request(&mut wire, "Bash", &json!({"command": "touch ran"}), &near);
        let answer = wire.answer(id);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert!(!answer.to_string().contains("S3CR3T"), "{answer}");
    }
    assert!(!place.folder.path().join("ran").exists());
}

#[test]
fn a_call_that_comes_again_waits_for_the_end_can_be_withdrawn_and_hears_progress() {
    let place = Place::new();
    let mut first = near_server(&place, &[]);
    let command = json!({"command": format!("echo begins; {}; echo ends", until("go"))});
    let near = json!({"run_id": id(1)});
    let one = request(&mut first, "Bash", &command, &near);
    let folder = place.folder.path().join("state/chiton/runs").join(id(1));
    assert!(eventually(PATIENCE, || folder.join("request.json").exists()));
    let mut second = near_server(&place, &[]);
    let params = json!({"name": "Bash", "arguments": command, "_meta": {"chiton/near": near, "progressToken": "p"}});
    let two = second.request("tools/call", params);
    assert_eq!(second.notification("notifications/progress")["progressToken"], "p");
    allow(&place, "go");
    let (one, two) = (first.answer(one)["result"].clone(), second.answer(two)["result"].clone());
    assert!(said(&one).contains("begins\nends") && !said(&one).contains(TWICE), "{one}");
    assert!(said(&two).contains("begins\nends") && said(&two).contains(TWICE), "{two}");

    let forever = json!({"command": "sleep 600", "timeout": 600_000});
    let near = json!({"run_id": id(2)});
    request(&mut first, "Bash", &forever, &near);
    let folder = place.folder.path().join("state/chiton/runs").join(id(2));
    assert!(eventually(PATIENCE, || folder.join("request.json").exists()));
    let again = request(&mut second, "Bash", &forever, &near);
    second.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": again}}));
    assert!(eventually(PATIENCE, || folder.join("ending.json").exists()), "it goes on");
}

#[test]
fn a_server_that_was_killed_leaves_an_answer_to_the_next_one() {
    let place = Place::new();
    let mut first = near_server(&place, &[]);
    let command = json!({"command": "echo x >> log; echo begins; sleep 600; echo y >> log", "timeout": 600_000});
    request(&mut first, "Bash", &command, &json!({"run_id": id(1)}));
    assert!(eventually(PATIENCE, || place.folder.path().join("log").exists()));
    first.kill();
    let mut second = near_server(&place, &[]);
    let reply = call(&mut second, "Bash", &command, &json!({"run_id": id(1)}));
    assert!(said(&reply).contains("begins") && said(&reply).contains(TWICE), "{reply}");
    assert_eq!(fs::read_to_string(place.folder.path().join("log")).unwrap(), "x\n");
}

#[test]
fn a_session_that_a_call_begins_afresh_or_copies_is_so_once() {
    let place = Place::new();
    let mut wire = near_server(&place, &[]);
    let restart = json!({"command": "A=${A-none}; echo \"A is $A\"; A=changed", "restart": true});
    for expected in ["A is none", "A is none"] {
        let reply = call(&mut wire, "Bash", &restart, &json!({"run_id": id(1)}));
        assert!(said(&reply).contains(expected), "{reply}");
    }
    let reply = call(&mut wire, "Bash", &json!({"command": "echo \"A is $A\""}), &json!({}));
    assert!(said(&reply).contains("A is changed"), "the second call began it afresh again: {reply}");
}

#[test]
fn the_owner_is_who_asks() {
    let place = Place::new();
    let mut wire = near_server(&place, &[]);
    let started = json!({"command": "sleep 600", "run_in_background": true});
    call(&mut wire, "Bash", &started, &json!({"caller": "agent on laptop", "run_id": id(1)}));
    let listed: Value = serde_json::from_slice(&place.call(&["ps", "--json"]).stdout).unwrap();
    place.call(&["kill", &id(1)]);
    assert_eq!(listed["owner"]["client"], "agent on laptop", "{listed}");
}

/// Starts a verb with what another machine says in a descriptor.
fn start(place: &Place, near: &str, arguments: &[&str]) -> Child {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(near.as_bytes()).unwrap();
    drop(writer);
    let reader = File::from(OwnedFd::from(reader));
    // Inherited by number, as the other end of a link does it.
    rustix::io::fcntl_setfd(&reader, rustix::io::FdFlags::empty()).unwrap();
    let number = reader.as_raw_fd().to_string();
    let arguments = arguments.iter().map(|argument| argument.replace("FD", &number));
    let mut command: Command = place.command();
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn with_near(place: &Place, near: &Value, arguments: &[&str]) -> Output {
    start(place, &near.to_string(), arguments).wait_with_output().unwrap()
}

#[test]
fn run_goes_on_as_the_one_that_started_it_would() {
    let place = Place::new();
    let near = json!({"run_id": id(1)});
    let command = "printf 'a\\377b\\n'; echo err >&2; echo x >> log; exit 7";
    let arguments = ["run", "--near", "FD", command];
    let first = with_near(&place, &near, &arguments);
    assert_eq!((first.status.code(), &first.stdout[..]), (Some(7), &b"a\xffb\n"[..]), "{}", text(&first.stderr));
    let again = with_near(&place, &near, &arguments);
    assert_eq!((again.status.code(), &again.stdout), (Some(7), &first.stdout));
    assert_eq!(text(&again.stderr), format!("err\nchiton: {TWICE}\n"));
    assert_eq!(fs::read_to_string(place.folder.path().join("log")).unwrap(), "x\n");

    let told: Value =
        serde_json::from_slice(&with_near(&place, &near, &["run", "--json", "--near", "FD", command]).stdout).unwrap();
    assert_eq!((&told["run_id"], &told["exit_code"], &told["stderr"]), (&json!(id(1)), &json!(7), &json!("err\n")));
}

#[test]
fn run_follows_what_still_runs_and_signals_stop_it() {
    let place = Place::new();
    let (near, mark) = (json!({"run_id": id(1)}).to_string(), format!("near-{}", std::process::id()));
    let command = format!("export CHITON_TEST_MARK={mark}; echo begins; sleep 600 & wait");
    let arguments = ["run", "--near", "FD", &command];
    let first = start(&place, &near, &arguments);
    let folder = place.folder.path().join("state/chiton/runs").join(id(1));
    assert!(eventually(PATIENCE, || folder.join("start.json").exists()));
    let mut second = start(&place, &near, &arguments);
    let mut heard = [0; 7];
    second.stdout.as_mut().unwrap().read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"begins\n", "it is told from its beginning");
    // The one that only joined ends it, too, as its owner would.
    let pid = rustix::process::Pid::from_raw(i32::try_from(second.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let (first, second) = (first.wait_with_output().unwrap(), second.wait_with_output().unwrap());
    assert_eq!(text(&first.stdout), "begins\n");
    assert_eq!(second.status.code(), Some(128 + 15), "{}", text(&second.stderr));
    assert!(eventually(PATIENCE, || marked(&mark).is_empty()), "something is left");
}

#[test]
fn a_foreground_command_ends_with_the_signal_that_its_verb_gets() {
    let place = Place::new();
    for (number, signal) in [(1, rustix::process::Signal::TERM), (2, rustix::process::Signal::HUP)] {
        let mark = format!("near-signal-{number}-{}", std::process::id());
        let command = format!("export CHITON_TEST_MARK={mark}; sleep 600 & wait");
        let child = start(&place, &json!({"run_id": id(number)}).to_string(), &["run", "--near", "FD", &command]);
        assert!(eventually(PATIENCE, || !marked(&mark).is_empty()));
        let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(128 + signal.as_raw()), "{}", text(&ended.stderr));
        assert!(eventually(PATIENCE, || marked(&mark).is_empty()), "something is left");
    }
}

#[test]
fn run_in_the_background_says_the_same_id_again() {
    let place = Place::new();
    let near = json!({"run_id": id(1), "caller": "me on laptop"});
    let command = format!("echo x >> log; {}", until("go"));
    let arguments = ["run", "--background", "--near", "FD", &command];
    for twice in [false, true] {
        let output = with_near(&place, &near, &arguments);
        assert_eq!(text(&output.stdout), format!("{}\n", id(1)));
        assert_eq!(text(&output.stderr).contains(TWICE), twice, "{}", text(&output.stderr));
    }
    allow(&place, "go");
    place.call(&["wait", &id(1)]);
    assert_eq!(fs::read_to_string(place.folder.path().join("log")).unwrap(), "x\n");
}

#[test]
fn run_and_send_take_secrets_and_consent_along() {
    let place = place_with_rules();
    let secrets = json!([{"kind": "secret", "name": "key", "value": "S3CR3T-VALUE"}]);
    let near = json!({"agreed": true, "secrets": secrets});
    let arguments = ["run", "--dir", "work", "--near", "FD", "touch canary; printf %s {{secret:key}} | tee out"];
    let output = with_near(&place, &near, &arguments);
    assert_eq!(text(&output.stdout), "{{secret:key}}", "{}", text(&output.stderr));
    assert!(place.folder.path().join("work/canary").exists());
    let denied = with_near(&place, &near, &["run", "--dir", "work", "--near", "FD", "touch vulture"]);
    assert_eq!(denied.status.code(), Some(125), "{}", text(&denied.stderr));

    let task = place.background(&["--open-stdin", "--dir", "work", "read -r line; printf %s \"$line\" > typed"]);
    let sent = with_near(&place, &json!({"secrets": secrets}), &["send", "--near", "FD", &task, "{{secret:key}}"]);
    assert_eq!(sent.status.code(), Some(0), "{}", text(&sent.stderr));
    let typed = || fs::read_to_string(place.folder.path().join("work/typed")).unwrap_or_default();
    assert!(eventually(PATIENCE, || typed() == "S3CR3T-VALUE"), "{}", typed());
    let holders = place.command_of("grep").args(["-rl", "S3CR3T", "state"]).output().unwrap();
    assert_eq!(text(&holders.stdout), "", "nothing is kept");
}

#[test]
fn run_says_what_is_wrong_with_what_it_is_given_and_repeats_no_secret() {
    let place = Place::new();
    for near in ["S3CR3T", "{\"run_id\": \"S3CR3T\"}", ""] {
        let output = start(&place, near, &["run", "--near", "FD", "touch ran"]).wait_with_output().unwrap();
        let complaint = text(&output.stderr);
        assert!(output.status.code() == Some(125) && complaint.contains("--near"), "{complaint}");
        assert!(!complaint.contains("S3CR3T"), "{complaint}");
    }
    for number in ["0", "2", "700", "-1"] {
        let output = place.run(&[&format!("--near={number}"), "touch ran"]);
        assert!(output.status.code() == Some(125) && text(&output.stderr).contains("--near"), "{number}");
    }
    assert!(!place.folder.path().join("ran").exists());
}
