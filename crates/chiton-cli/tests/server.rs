//! The server on standard input and output, as a client sees it on the wire.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use chiton_testkit::processes::{eventually, resident_memory, with_command};
use chiton_testkit::wire::{LIMIT, Wire};
use serde_json::{Value, json};

use crate::place::Place;

const TASKS: &str = r#"{"extensions": {"io.modelcontextprotocol/tasks": {}}}"#;

/// A number that no other process has in its command line.
fn number(test: u32) -> String {
    format!("{}.{}", 80_000 + test, std::process::id())
}

fn runs(command: &str) -> bool {
    !with_command(command).is_empty()
}

fn wait_until_it_runs(command: &str) {
    assert!(eventually(LIMIT, || runs(command)), "'{command}' does not run");
}

#[test]
fn every_revision_of_the_protocol_is_spoken() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let place = Place::new();
        let mut wire = place.wire(&[]);
        let hello = wire.greet(revision, &json!({}));
        assert_eq!(hello["result"]["protocolVersion"], revision);
        assert_eq!(wire.ask("ping", json!({}))["result"], json!({}), "{revision}");
        assert_eq!(wire.ask("tools/list", json!({}))["result"]["tools"][0]["name"], "Bash", "{revision}");
        let result = wire.call("Bash", &json!({"command": "echo $((6 * 7))"}));
        assert!(result["content"][0]["text"].as_str().unwrap().contains("42"), "{revision}: {result}");
        assert_eq!(result.get("structuredContent").is_some(), revision >= "2025-06-18", "{revision}: {result}");
        assert_eq!(result.get("resultType"), None, "older revisions do not know it");
        assert!(wire.close().success());
    }
    let place = Place::new();
    let mut wire = place.wire(&[]);
    wire.modern(&json!({}));
    let discovered = wire.ask("server/discover", json!({}));
    assert_eq!(discovered["result"]["supportedVersions"].as_array().unwrap().len(), 5);
    assert_eq!(wire.ask("tools/list", json!({}))["result"]["tools"][0]["name"], "Bash");
    let result = wire.call("Bash", &json!({"command": "cd /usr; echo $((6 * 7))"}));
    assert_eq!((&result["structuredContent"]["output"], &result["resultType"]), (&json!("42\n"), &json!("complete")));
    assert_eq!(
        wire.call("Bash", &json!({"command": "pwd"}))["structuredContent"]["output"],
        "/usr\n",
        "state carries over"
    );
    assert_eq!(wire.ask("ping", json!({}))["error"]["code"], -32601);
    assert!(wire.close().success());
}

#[test]
fn what_is_no_message_is_answered_and_the_next_one_is_heard() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let long = format!("{{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"{}\"}}\n", "x".repeat(65 << 20));
    let cases: Vec<(&[u8], Value, i64)> = vec![
        (b"{\n", Value::Null, -32700),
        (b"\xff\xfe\n", Value::Null, -32700),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/ca\n", Value::Null, -32700),
        (b"[]\n", Value::Null, -32600),
        (b"{\"id\": 71}\n", json!(71), -32600),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 72, \"method\": \"no/such\"}\n", json!(72), -32601),
        (
            b"{\"jsonrpc\": \"2.0\", \"id\": 73, \"method\": \"tools/call\", \"params\": {\"name\": 5}}\n",
            json!(73),
            -32602,
        ),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 74, \"method\": \"tools/call\"}\n", json!(74), -32602),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 75, \"method\": \"resources/read\", \"params\": []}\n", json!(75), -32602),
        (long.as_bytes(), Value::Null, -32600),
    ];
    for (line, id, code) in cases {
        wire.raw(line);
        let answer = wire.message();
        let shown = String::from_utf8_lossy(&line[..line.len().min(80)]);
        assert_eq!((&answer["id"], answer["error"]["code"].as_i64()), (&id, Some(code)), "{shown}: {answer}");
        assert!(!answer["error"]["message"].as_str().unwrap().is_empty());
        assert_eq!(wire.ask("ping", json!({}))["result"], json!({}), "after {shown}");
    }
    wire.raw(b"\n\r\n{\"jsonrpc\": \"2.0\", \"method\": \"notifications/nobody/knows\"}\n");
    assert_eq!(wire.ask("ping", json!({}))["result"], json!({}), "what is to be ignored is ignored");
}

#[test]
fn the_end_of_input_ends_what_a_call_waits_for_and_the_server_at_once() {
    // The library alone would wait five seconds before it stops anything. A machine that is busy may take as long, but
    // not every time.
    let at_once = |_| {
        let place = Place::new();
        let sleep = format!("sleep {}", number(1));
        let mut wire = place.session(&["--dialect", "exec"]);
        wire.request("tools/call", json!({"name": "exec", "arguments": {"command": sleep, "timeout_ms": 600_000}}));
        wait_until_it_runs(&sleep);
        let begun = Instant::now();
        assert!(wire.close().success());
        let took = begun.elapsed();
        assert!(eventually(LIMIT, || !runs(&sleep)), "the command lives on");
        took < Duration::from_secs(4)
    };
    assert!((0..3).any(at_once), "it takes four seconds and more, three times");
}

#[test]
fn a_call_that_is_withdrawn_ends_with_everything_it_started_and_is_not_answered() {
    let place = Place::new();
    let (outer, inner) = (format!("sleep {}", number(2)), format!("sleep {}", number(3)));
    let mut wire = place.session(&[]);
    let arguments = json!({"command": format!("setsid {inner} & {outer}")});
    let id =
        wire.request("tools/call", json!({"name": "Bash", "arguments": arguments, "_meta": {"progressToken": "p"}}));
    wait_until_it_runs(&outer);
    wait_until_it_runs(&inner);
    wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    assert!(eventually(LIMIT, || !runs(&outer) && !runs(&inner)), "it lives on");
    assert_eq!(wire.call("Bash", &json!({"command": "echo on"}))["structuredContent"]["output"], "on\n");
    assert!(wire.close().success());
    assert!(wire.is_over());
    assert!(!wire.other.iter().any(|message| message["id"] == id), "it was answered: {:?}", wire.other);
}

#[test]
fn progress_tells_all_output_in_order_and_then_that_it_lives() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    // Characters of two and three bytes, written byte by byte.
    let command = r"for i in 1 2 3 4 5; do for b in '\303' '\266' '\342' '\202' '\254' '\n'; do printf $b; done; sleep 0.15; done; sleep 6";
    let params = json!({"name": "Bash", "arguments": {"command": command}, "_meta": {"progressToken": 17}});
    let begun = Instant::now();
    let id = wire.request("tools/call", params);
    let answer = wire.answer(id);
    let reports: Vec<Value> = wire.other.drain(..).map(|message| message["params"].clone()).collect();
    let most = begun.elapsed().as_secs() * 10 + 10;
    assert!(reports.len() as u64 <= most && reports.len() >= 4, "{} reports", reports.len());
    assert!(reports.iter().all(|report| report["progressToken"] == 17));
    let times: Vec<f64> = reports.iter().map(|report| report["progress"].as_f64().unwrap()).collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    let messages: Vec<&str> = reports.iter().map(|report| report["message"].as_str().unwrap()).collect();
    let (signs, output): (Vec<&str>, Vec<&str>) =
        messages.iter().partition(|message| message.starts_with("running for"));
    assert_eq!(output.concat(), "ö€\n".repeat(5), "whole characters, each once");
    assert!(!signs.is_empty(), "no sign of life in six seconds of silence");
    assert_eq!(answer["result"]["structuredContent"]["output"], "ö€\n".repeat(5));
}

#[test]
fn an_idle_server_has_few_threads_and_little_memory() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    wire.call("Bash", &json!({"command": "true"}));
    let status = std::fs::read_to_string(format!("/proc/{}/status", wire.server.id())).unwrap();
    let threads = status.lines().find_map(|line| line.strip_prefix("Threads:")).unwrap().trim().parse::<u32>().unwrap();
    // The library's other way to read standard input has five to eight more.
    assert!(threads <= 4, "{threads} threads");
    assert!(resident_memory(wire.server.id()) < 40 << 20);
}

#[test]
fn a_client_that_does_not_read_blocks_no_call_and_costs_no_memory() {
    let place = Place::new();
    let (mut wire, output) = Wire::start_unread(place.server(&[]));
    let mut lines = vec![json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "slow", "version": "1"}}})];
    lines.push(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let calls = 40;
    for id in 1..=calls {
        let command = format!("yes 0123456789 | head -c 3000000; touch done.{id}");
        let params = json!({"name": "Bash", "arguments": {"command": command}, "_meta": {"progressToken": id}});
        lines.push(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }
    for line in &lines {
        wire.send(line);
    }
    let done = |id: u64| place.folder.path().join(format!("done.{id}")).exists();
    assert!(eventually(LIMIT * 2, || (1..=calls).all(done)), "commands wait for a reader of other answers");
    let resident = resident_memory(wire.server.id());
    assert!(resident < 120 << 20, "{} MiB", resident >> 20);
    wire.read(output);
    for id in 0..=calls {
        wire.answer(id);
    }
}

#[test]
fn output_of_runs_is_listed_read_and_watched_in_both_eras() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let result = wire.call(
        "Bash",
        &json!({"command": "echo one; read; echo two; read", "run_in_background": true, "open_stdin": true}),
    );
    let id = result["structuredContent"]["bash_id"].as_str().unwrap().to_owned();
    let uri = format!("chiton://runs/{id}/output");
    let listed = wire.ask("resources/list", json!({}));
    assert_eq!(listed["result"]["resources"][0]["uri"], uri, "{listed}");
    let templates = wire.ask("resources/templates/list", json!({}));
    assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "chiton://runs/{id}/output{?tail}");
    let contents = |wire: &mut Wire, uri: &str| {
        wire.ask("resources/read", json!({"uri": uri}))["result"]["contents"][0]["text"].as_str().map(str::to_owned)
    };
    assert_eq!(wire.ask("resources/subscribe", json!({"uri": uri}))["result"], json!({}));
    assert_eq!(wire.notification("notifications/resources/updated")["uri"], uri);
    assert_eq!(contents(&mut wire, &uri).unwrap(), "one\n");
    wire.call("BashInput", &json!({"bash_id": id, "text": "\n"}));
    while contents(&mut wire, &uri).unwrap() != "one\ntwo\n" {
        wire.notification("notifications/resources/updated");
    }
    assert_eq!(contents(&mut wire, &format!("{uri}?tail=1")).unwrap(), "two\n");
    assert_eq!(wire.ask("resources/unsubscribe", json!({"uri": uri}))["result"], json!({}));
    assert_eq!(
        wire.ask("resources/read", json!({"uri": "chiton://runs/shell_ffffffff/output"}))["error"]["code"],
        -32002
    );
    assert_eq!(wire.ask("resources/subscribe", json!({"uri": "file:///etc/passwd"}))["error"]["code"], -32002);

    // The next server of the client finds what this one has left.
    wire.kill();
    let mut modern = place.wire(&[]);
    modern.modern(&json!({}));
    let filter = json!({"resourceSubscriptions": [uri, "chiton://runs/shell_ffffffff/output"]});
    modern.request("subscriptions/listen", json!({"notifications": filter}));
    let accepted = modern.notification("notifications/subscriptions/acknowledged");
    assert_eq!(accepted["notifications"]["resourceSubscriptions"], json!([uri]));
    assert_eq!(modern.notification("notifications/resources/updated")["uri"], uri);
    assert_eq!(modern.ask("resources/read", json!({"uri": uri}))["result"]["contents"][0]["text"], "one\ntwo\n");
    modern.call("BashInput", &json!({"bash_id": id, "text": "\n"}));
    modern.notification("notifications/resources/updated");
}

#[test]
fn a_long_list_of_runs_comes_in_pages_without_a_gap() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let requests: Vec<u64> = (0..120)
        .map(|_| wire.request("tools/call", json!({"name": "Bash", "arguments": {"command": "seq 10000"}})))
        .collect();
    for id in requests {
        wire.answer(id);
    }
    let (mut seen, mut cursor) = (std::collections::BTreeSet::new(), None::<Value>);
    loop {
        let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let page = wire.ask("resources/list", params)["result"].clone();
        for resource in page["resources"].as_array().unwrap() {
            assert!(seen.insert(resource["uri"].as_str().unwrap().to_owned()), "twice: {resource}");
        }
        match page.get("nextCursor") {
            Some(next) => cursor = Some(next.clone()),
            None => break,
        }
    }
    assert_eq!(seen.len(), 120);
    assert_eq!(wire.ask("resources/list", json!({"cursor": "nowhere"}))["error"]["code"], -32602);
}

#[test]
fn a_call_that_takes_long_becomes_a_task_for_a_client_that_knows_tasks() {
    let capabilities: Value = serde_json::from_str(TASKS).unwrap();
    let place = Place::new();
    let mut wire = place.wire(&[]);
    wire.modern(&capabilities);
    let quick = wire.call("Bash", &json!({"command": "echo quick"}));
    assert_eq!((&quick["resultType"], &quick["structuredContent"]["output"]), (&json!("complete"), &json!("quick\n")));

    let go = place.folder.path().join("go");
    let waits = format!("until [ -e {} ]; do sleep 0.05; done; echo slow; cd /usr", go.display());
    let slow = wire.call("Bash", &json!({"command": waits}));
    assert_eq!((&slow["resultType"], &slow["status"]), (&json!("task"), &json!("working")), "{slow}");
    let task = slow["taskId"].as_str().unwrap().to_owned();
    assert_eq!(wire.ask("tasks/get", json!({"taskId": task}))["result"]["status"], "working");
    assert!(place.call(&["ps"]).stdout.windows(task.len()).any(|part| part == task.as_bytes()), "the same task model");
    std::fs::write(&go, "").unwrap();
    let mut got = Value::Null;
    assert!(eventually(LIMIT, || {
        got = wire.ask("tasks/get", json!({"taskId": task}))["result"].clone();
        got["status"] == "completed"
    }));
    assert_eq!(got["result"]["structuredContent"]["output"], "slow\n", "{got}");
    assert_eq!(got["result"]["isError"], false);
    let times = |got: &Value| (got["createdAt"].clone(), got["lastUpdatedAt"].clone());
    let (created, updated) = times(&got);
    assert!(created.as_str().unwrap() < updated.as_str().unwrap(), "it changed when it ended: {got}");
    assert_eq!(times(&slow), (created.clone(), created), "and not before");
    let later = wire.ask("tasks/get", json!({"taskId": task}))["result"].clone();
    assert_eq!(times(&later), times(&got), "nor after");
    assert_eq!(
        wire.call("Bash", &json!({"command": "pwd"}))["structuredContent"]["output"],
        "/usr\n",
        "its state is committed"
    );

    let (finished, sleep) = (task, format!("sleep {}", number(4)));
    let endless = wire.call("Bash", &json!({"command": sleep}));
    let task = endless["taskId"].as_str().unwrap().to_owned();
    assert!(wire.ask("tasks/cancel", json!({"taskId": task}))["result"].is_object());
    assert!(eventually(LIMIT, || wire.ask("tasks/get", json!({"taskId": task}))["result"]["status"] == "cancelled"));
    assert!(eventually(LIMIT, || !runs(&sleep)), "cancelled and alive");
    for (method, params) in [
        ("tasks/get", json!({"taskId": "shell_ffffffff"})),
        ("tasks/cancel", json!({"taskId": "shell_ffffffff"})),
        ("tasks/update", json!({"taskId": "shell_ffffffff", "inputResponses": {}})),
    ] {
        assert_eq!(wire.ask(method, params)["error"]["code"], -32602, "{method}");
    }

    // The client's next server, which knows nothing of the call, answers from what is written down.
    let next = |wire: &mut Wire| {
        wire.kill();
        *wire = place.wire(&[]);
        wire.modern(&capabilities);
    };
    next(&mut wire);
    assert_eq!(wire.ask("tasks/get", json!({"taskId": task}))["result"]["status"], "cancelled");
    let stored = wire.ask("tasks/get", json!({"taskId": finished}))["result"].clone();
    assert_eq!(times(&wire.ask("tasks/get", json!({"taskId": finished}))["result"]), times(&stored));
    assert!(stored["lastUpdatedAt"].as_str().unwrap() <= updated.as_str().unwrap(), "{stored} {updated}");
    let id = wire.call("Bash", &json!({"command": "echo kept", "run_in_background": true}));
    let id = id["structuredContent"]["bash_id"].as_str().unwrap().to_owned();
    next(&mut wire);
    assert!(eventually(LIMIT, || wire.ask("tasks/get", json!({"taskId": id}))["result"]["status"] == "completed"));
    let kept = wire.ask("tasks/get", json!({"taskId": id}))["result"]["result"].clone();
    assert!(kept["content"][0]["text"].as_str().unwrap().contains("kept"), "{kept}");
}

#[test]
fn a_client_without_tasks_gets_no_task() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    assert_eq!(wire.call("Bash", &json!({"command": "sleep 2.5; echo slow"}))["structuredContent"]["output"], "slow\n");
    assert_eq!(wire.ask("tasks/get", json!({"taskId": "x"}))["error"]["code"], -32021);
}

#[test]
fn log_messages_come_at_the_level_asked_for() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    wire.call("Bash", &json!({"command": "true"}));
    assert!(wire.other.is_empty(), "nobody asked: {:?}", wire.other);
    for (level, expected) in [("debug", 2), ("info", 1), ("warning", 0)] {
        assert_eq!(wire.ask("logging/setLevel", json!({"level": level}))["result"], json!({}));
        wire.call("Bash", &json!({"command": "true"}));
        wire.ask("ping", json!({}));
        let logged: Vec<Value> = wire.other.drain(..).filter(|one| one["method"] == "notifications/message").collect();
        assert_eq!(logged.len(), expected, "{level}: {logged:?}");
        assert!(logged.iter().all(|one| one["params"]["logger"] == "chiton"), "{logged:?}");
    }
    wire.call("Bash", &json!({"command": "true", "workdir": "/no/such"}));
    assert_eq!(wire.notification("notifications/message")["level"], "warning");
    assert_eq!(wire.ask("logging/setLevel", json!({"level": "loud"}))["error"]["code"], -32602);
}

#[test]
fn standard_output_carries_the_protocol_alone_at_every_log_level() {
    let place = Place::new();
    for level in ["off", "error", "warn", "info", "debug", "trace"] {
        let mut wire = place.session(&["--log-level", level]);
        // Everything that comes is read as JSON; anything else fails right there.
        wire.call(
            "Bash",
            &json!({"command": "echo out; echo err >&2; echo one > /proc/self/fd/1; echo two > /dev/stderr"}),
        );
        wire.raw(b"{nonsense\n");
        wire.message();
        assert!(wire.close().success());
        assert!(wire.is_over() && wire.other.is_empty(), "{level}: {:?}", wire.other);
    }
    assert!(!place.call(&["mcp", "--log-level", "loud"]).status.success());
}

#[test]
fn a_session_of_a_name_goes_on_in_the_next_server_and_on_the_command_line() {
    for (dialect, tool) in [("native", "Bash"), ("wave", "Bash"), ("anthropic", "bash")] {
        let place = Place::new();
        let arguments = ["--dialect", dialect, "--session", "work"];
        let mut first = place.session(&arguments);
        first.call(tool, &json!({"command": "cd /usr; export COLOUR=green"}));
        assert!(first.close().success());
        let mut second = place.session(&arguments);
        let result = second.call(tool, &json!({"command": "echo $PWD $COLOUR"}));
        assert!(result["content"][0]["text"].as_str().unwrap().contains("/usr green"), "{dialect}: {result}");
        let output = place.run(&["--session", "work", "echo $PWD $COLOUR"]);
        assert_eq!(output.stdout, b"/usr green\n", "{dialect}");
    }
    let place = Place::new();
    assert!(!place.call(&["mcp", "--session", "../escape"]).status.success());
}

#[test]
fn annotations_say_what_a_tool_does_to_the_world() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let tools = wire.ask("tools/list", json!({}))["result"]["tools"].clone();
    let hints = |name: &str| {
        let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
        ["readOnlyHint", "destructiveHint", "openWorldHint"].map(|hint| tool["annotations"][hint].as_bool().unwrap())
    };
    assert_eq!(hints("Bash"), [false, true, true]);
    assert_eq!(hints("BashOutput"), [true, false, false]);
    assert_eq!(hints("KillShell"), [false, true, false]);
    assert!(tools.as_array().unwrap().iter().all(|tool| tool["outputSchema"]["type"] == "object"));
}

/// Clients on Node.js start their servers so.
#[test]
fn a_client_may_bring_sockets_in_place_of_pipes() {
    let place = Place::new();
    let (mut input, theirs) = UnixStream::pair().unwrap();
    let (output, answers) = UnixStream::pair().unwrap();
    let mut command = place.server(&[]);
    command.stdin(OwnedFd::from(theirs)).stdout(OwnedFd::from(answers));
    let mut server = command.spawn().unwrap();
    drop(command);
    output.set_read_timeout(Some(LIMIT)).unwrap();

    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "node", "version": "1"}}});
    writeln!(input, "{hello}").unwrap();
    writeln!(input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
    // More than a socket holds: the server has to wait until somebody reads, and goes on where it stopped.
    let calls = 40;
    for id in 1..=calls {
        let params = json!({"name": "Bash", "arguments": {"command": "seq -w 5000"}});
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).unwrap();
    }
    let threads = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
        status.lines().find_map(|line| line.strip_prefix("Threads:")).unwrap().trim().parse::<u32>().unwrap()
    };
    let mut seen = std::collections::BTreeSet::new();
    for line in BufReader::new(&output).lines().take(1 + calls) {
        let answer: Value = serde_json::from_str(&line.unwrap()).unwrap();
        assert!(answer["result"].is_object(), "{answer}");
        seen.insert(answer["id"].as_u64().unwrap());
    }
    assert_eq!(seen.len(), 1 + calls);
    assert!(threads() <= 2, "{} threads", threads());
    drop(input);
    assert!(eventually(LIMIT, || server.try_wait().unwrap().is_some()), "it goes on without a client");
    assert!(server.wait().unwrap().success());
}

#[test]
fn an_idle_server_and_its_tasks_sleep() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let silent = format!("sleep {}", number(77));
    for session in ["one", "two"] {
        wire.call("Bash", &json!({"command": "cd /", "session": session}));
        wire.call("Bash", &json!({"command": silent, "run_in_background": true, "session": session}));
    }
    let keepers = || {
        let runs = std::fs::read_dir(place.folder.path().join("state/chiton/runs")).unwrap();
        let going = runs.map(|run| run.unwrap().path()).filter(|run| !run.join("ending.json").exists());
        let start = |run: PathBuf| std::fs::read_to_string(run.join("start.json")).ok();
        let starts = going.filter_map(start).filter_map(|text| serde_json::from_str::<Value>(&text).ok());
        starts.filter_map(|start| start["keeper"].as_u64()).collect::<Vec<u64>>()
    };
    assert!(eventually(LIMIT, || keepers().len() == 2), "{:?}", keepers());
    let watched: Vec<u64> = keepers().into_iter().chain([u64::from(wire.server.id())]).collect();
    let switches = |pid: &u64| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
        line.trim().parse::<u64>().unwrap()
    };
    let counts = || watched.iter().map(switches).collect::<Vec<u64>>();
    // Whoever looks around every second, or more often, wakes up in each of these; what is done once, later, in some.
    let sleeps = (0..6).any(|_| {
        let before = counts();
        std::thread::sleep(Duration::from_secs(3));
        counts() == before
    });
    place.call(&["kill", "--all", "--grace", "0s"]);
    assert!(sleeps, "somebody wakes up all the time: {watched:?}");
}
