//! Connections that break: nothing is lost, and nothing runs twice. What commands wrote down themselves is the judge.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use chiton_testkit::dice::Dice;
use chiton_testkit::processes::eventually;
use chiton_testkit::transports::{Proxy, Sshd, SshdOptions, usable};
use chiton_testkit::wire::Wire;
use serde_json::{Value, json};

use crate::near_side::NearSide;

/// How long a call may take that has to wait for another connection.
const PATIENCE: Duration = Duration::from_mins(2);

/// What is ended with SIGKILL at a random moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Client,
    Relay,
    Connection,
}

// 300 rounds, in three lanes that wait at the same time.
#[test]
fn nothing_is_lost_and_nothing_runs_twice_first_lane() {
    rounds(100, 1);
}

#[test]
fn nothing_is_lost_and_nothing_runs_twice_second_lane() {
    rounds(100, 2);
}

#[test]
fn nothing_is_lost_and_nothing_runs_twice_third_lane() {
    rounds(100, 3);
}

fn rounds(count: usize, seed: u64) {
    if !usable(&Sshd::available()) {
        return;
    }
    let sshd = Sshd::start(&SshdOptions::default());
    let near = NearSide::with_target("far", &sshd.client());
    let mut dice = Dice::new(seed);
    let notes = near.folder().join("notes");
    fs::create_dir(&notes).unwrap();
    let mut client = start(&near);
    let tasks: Vec<String> = (0..5).map(|number| background(&mut client, &notes, number)).collect();

    for round in 0..count {
        let victim = [Victim::Client, Victim::Relay, Victim::Connection][dice.roll(3)];
        let note = notes.join(format!("round{round}"));
        let command = format!("echo ran >> {}; sleep 0.0{}; echo round {round}", note.display(), dice.roll(9));
        let id = client.request("tools/call", json!({"name": "Bash", "arguments": {"command": command}}));
        std::thread::sleep(Duration::from_millis(dice.roll(120) as u64));
        kill(victim, &sshd, &mut client);
        if victim == Victim::Client {
            client = start(&near);
            // It may have been too early for the command to begin, but never too late for a second time.
            assert!(lines(&note) <= 1, "round {round}: ran {} times", lines(&note));
            continue;
        }
        let answer = client.try_answer(id).unwrap_or_else(|missing| panic!("round {round}, {victim:?}: {missing}"));
        let said = answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        assert!(said.contains(&format!("round {round}")), "round {round}, {victim:?}: {answer}");
        assert_eq!(lines(&note), 1, "round {round}, {victim:?}");
    }

    for (number, task) in tasks.iter().enumerate() {
        fs::write(notes.join(format!("stop{number}")), "").unwrap();
        let kept = near.run(&["wait", "--on", "far", task]);
        assert_eq!(kept.status.code(), Some(0), "{}", crate::near_side::text(&kept.stderr));
        let shown = near.run(&["logs", "--on", "far", task]);
        let written = fs::read(notes.join(format!("task{number}"))).unwrap();
        assert!(written.len() > 100 && shown.stdout == written, "task {number} has printed what it has written down");
    }
}

/// A client with a server over there.
fn start(near: &NearSide) -> Wire {
    let mut command = near.command(&["mcp", "--on", "far"]);
    command.stderr(std::process::Stdio::null());
    let mut wire = Wire::start(command);
    wire.patience = PATIENCE;
    wire.greet("2025-06-18", &json!({}));
    wire
}

fn background(client: &mut Wire, notes: &Path, number: usize) -> String {
    let notes = notes.display();
    let command = format!(
        "i=0; until [ -e {notes}/stop{number} ]; do i=$((i + 1)); echo line $i | tee -a {notes}/task{number}; sleep 0.02; done"
    );
    let arguments = json!({"command": command, "run_in_background": true});
    let answer = client.ask("tools/call", json!({"name": "Bash", "arguments": arguments}));
    let id = answer["result"]["structuredContent"]["bash_id"].as_str();
    id.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn kill(victim: Victim, sshd: &Sshd, client: &mut Wire) {
    match victim {
        Victim::Client => client.kill(),
        Victim::Connection => sshd.connections().iter().for_each(chiton_testkit::transports::Connection::kill),
        Victim::Relay => {
            for there in sshd.machine().processes() {
                let line = fs::read(format!("/proc/{there}/cmdline")).unwrap_or_default();
                let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
                if words.get(1) == Some(&&b"relay"[..]) {
                    end(there);
                }
            }
        }
    }
}

fn end(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}

fn lines(file: &Path) -> usize {
    fs::read_to_string(file).unwrap_or_default().lines().count()
}

#[test]
fn a_bad_network_changes_nothing_but_the_time() {
    if !usable(&Sshd::available()) || !usable(&Proxy::available()) {
        return;
    }
    let sshd = Sshd::start(&SshdOptions::default());
    // The program goes over first, over a good one.
    let near = NearSide::with_target("far", &sshd.client());
    near.run(&["run", "--on", "far", "true"]);
    let proxy = Proxy::start(sshd.port());
    near.write_target("far", &sshd.client_through(proxy.port()));
    proxy.delay(Duration::from_millis(100));
    proxy.limit_rate(Some(64_000));

    let mut client = start(&near);
    let call = |client: &mut Wire, command: &str| -> Value {
        client.ask("tools/call", json!({"name": "Bash", "arguments": {"command": command}}))["result"].clone()
    };
    call(&mut client, "cd /usr; export X=1");
    let mut times: Vec<Duration> = (0..15)
        .map(|_| {
            let began = Instant::now();
            call(&mut client, "true");
            began.elapsed()
        })
        .collect();
    times.sort();
    // There and back is 200 ms; the rest is ours, and the machine's that runs this.
    assert!(times[0] < Duration::from_millis(210), "{times:?}");

    proxy.cut_one_in(Some(100));
    let mut losses = 0;
    for number in 0..60 {
        let result = call(&mut client, &format!("pwd; echo $X {number}; seq 1 200 | md5sum"));
        let said = result["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(said.starts_with(&format!("/usr\n1 {number}\n")), "{said}");
        losses += usize::from(said.contains("the connection to far was lost"));
    }
    assert!(proxy.cuts() > 0 && losses > 0, "{} cuts, {losses} told", proxy.cuts());
}

#[test]
fn a_connection_that_gives_nothing_any_more_is_noticed_and_replaced() {
    if !usable(&Sshd::available()) {
        return;
    }
    let sshd = Sshd::start(&SshdOptions::default());
    let near = NearSide::with_target("far", &sshd.client());
    near.run(&["run", "--on", "far", "true"]);
    let mut client = start(&near);
    let note = near.folder().join("note");
    let command = format!("echo ran >> {}; sleep 3; echo done", note.display());
    let id = client.request("tools/call", json!({"name": "Bash", "arguments": {"command": command}}));
    assert!(eventually(PATIENCE, || note.exists()));
    // It stays open and silent; new ones get through.
    let stalled = sshd.connections();
    stalled.iter().for_each(chiton_testkit::transports::Connection::stall);
    let answer = client.try_answer(id).unwrap();
    let said = answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(said.contains("done") && said.contains("nothing was missed"), "{said}");
    assert_eq!(lines(&note), 1);
    stalled.iter().for_each(chiton_testkit::transports::Connection::kill);
}
