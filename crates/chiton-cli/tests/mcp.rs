//! `chiton call` and the tool surfaces that no requirement document describes.

use serde_json::{Value, json};

use crate::place::{Place, text};

/// One call in a session of its own.
fn call(place: &Place, dialect: &str, tool: &str, arguments: &Value) -> Value {
    let output = place.call(&["call", "--json", "--dialect", dialect, tool, &arguments.to_string()]);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

#[test]
fn claude_s_surface_says_what_its_models_expect() {
    let place = Place::new();
    let good = call(&place, "claude", "Bash", &json!({"command": "echo out; echo err >&2"}));
    assert_eq!((&good["text"], &good["is_error"]), (&json!("out\nerr"), &json!(false)));
    let failed = call(&place, "claude", "Bash", &json!({"command": "echo why; exit 3"}));
    assert_eq!((&failed["text"], &failed["is_error"]), (&json!("Exit code 3\nwhy"), &json!(true)));
    let clamped = call(&place, "claude", "Bash", &json!({"command": "true", "timeout": 900_000}));
    assert!(clamped["text"].as_str().unwrap().contains("600000"), "{clamped}");
    for (dialect, tool) in [("claude", "TaskStop"), ("claude", "Monitor"), ("claude-2025", "BashOutput")] {
        let unknown = call(&place, dialect, tool, &json!({"task_id": "shell_00000000"}));
        assert!(unknown["is_error"] == true && unknown["structured"]["error"]["kind"] == "not_found", "{unknown}");
        assert!(unknown["text"].as_str().unwrap().contains("shell_00000000"), "{unknown}");
    }
}

#[test]
fn anthropic_s_surface_restarts_and_asks_for_a_command() {
    let place = Place::new();
    let good = call(&place, "anthropic", "bash", &json!({"command": "echo out; echo err >&2"}));
    assert_eq!((&good["structured"]["stdout"], &good["structured"]["stderr"]), (&json!("out\n"), &json!("err\n")));
    assert_eq!(call(&place, "anthropic", "bash", &json!({"restart": true}))["text"], "tool has been restarted.");
    let nothing = call(&place, "anthropic", "bash", &json!({}));
    assert_eq!(nothing["text"], "Missing required parameter: command");
}

#[test]
fn mistakes_in_a_call_can_be_repaired_from_the_answer() {
    let place = Place::new();
    let cases = [
        ("Nope", json!({}), "there are: Bash, BashOutput"),
        ("Bash", json!({}), "Missing required parameter: command"),
        ("Bash", json!({"command": 5}), "Invalid type for 'command': expected string, got number 5"),
        ("Bash", json!({"command": "true", "timeout": -1}), "timeout"),
        ("Bash", json!({"command": "true", "on_timeout": "pray"}), "'stop' or 'background', not 'pray'"),
        ("Bash", json!({"command": "true", "workdir": "/no/such"}), "/no/such"),
    ];
    for (tool, arguments, words) in cases {
        let reply = call(&place, "native", tool, &arguments);
        assert!(reply["is_error"] == true && reply["text"].as_str().unwrap().contains(words), "{arguments}: {reply}");
    }
    let ignored = call(&place, "native", "Bash", &json!({"command": "true", "cwd": "/"}));
    assert!(ignored["is_error"] == false && ignored["text"].as_str().unwrap().contains("'workdir'"), "{ignored}");
    assert!(text(&place.call(&["call", "Bash", "{nonsense"]).stderr).contains("not a JSON object"));
    assert!(text(&place.call(&["mcp", "--dialect", "klingon"]).stderr).contains("native"));
}

#[test]
fn a_client_that_goes_away_ends_a_call_that_only_waits() {
    let place = Place::new();
    let id = place.background(&["sleep 1000"]);
    let mut wire = place.session(&[]);
    let wait =
        json!({"name": "BashOutput", "arguments": {"bash_id": id, "wait": 600_000}, "_meta": {"progressToken": 1}});
    wire.request("tools/call", wait);
    // The first sign of life of the call: it waits.
    wire.notification("notifications/progress");
    let ended = wire.try_close();
    place.call(&["kill", &id]);
    assert!(ended.is_some(), "the server still waits");
}

#[test]
fn schemas_are_printed_for_each_provider() {
    let place = Place::new();
    for (format, pointer) in [
        ("mcp", "/0/inputSchema/required/0"),
        ("openai", "/0/function/parameters/required/0"),
        ("anthropic", "/0/input_schema/required/0"),
        ("gemini", "/0/parameters/required/0"),
    ] {
        let output = place.call(&["schema", "--format", format]);
        let schemas: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(schemas.pointer(pointer), Some(&json!("command")), "{format}");
    }
    for (format, function) in [("openai-strict", "/0/function"), ("openai-responses", "/0")] {
        let output = place.call(&["schema", "--format", format]);
        let schemas: Value = serde_json::from_slice(&output.stdout).unwrap();
        let function = schemas.pointer(function).unwrap();
        assert_eq!((&function["name"], &function["strict"]), (&json!("Bash"), &json!(true)), "{format}");
        assert_eq!(function["parameters"]["properties"]["env"]["type"], json!(["array", "null"]), "{format}");
    }
    let dialects = text(&place.call(&["dialects"]).stdout);
    for name in ["native", "exec", "modes", "boris", "wave", "opencode", "claude", "codex", "gemini", "anthropic"] {
        assert!(dialects.contains(name), "{name}");
    }
}

/// The text of a reply.
fn words(reply: &Value) -> String {
    reply["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_wait_for_a_line_is_not_over_because_of_one_that_was_read() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let command = "echo compiled 1; until [ -e go ]; do sleep 0.02; done; echo compiled 2; sleep 60";
    let started = wire.call("Bash", &json!({"command": command, "run_in_background": true}));
    let id = words(&started).split_whitespace().nth(2).unwrap().trim_end_matches('.').to_owned();
    let mut read = |more: Value| {
        let mut call = more;
        call["bash_id"] = json!(id);
        words(&wire.call("BashOutput", &call))
    };
    assert!(read(json!({"wait_for": "compiled"})).contains("[waited: a line matches: compiled 1]\ncompiled 1"));
    let over = read(json!({"wait_for": "compiled", "wait": 300}));
    assert!(over.contains("[waited: nothing new matches; an earlier line did: compiled 1]"), "{over}");
    let again = read(json!({"wait_for": "compiled", "wait": 20000, "since": 0}));
    assert!(again.contains("[waited: a line matches: compiled 1]"), "{again}");

    std::fs::write(place.folder.path().join("go"), "").unwrap();
    let new = read(json!({"wait_for": "compiled", "wait": 20000}));
    assert!(new.contains("[waited: a line matches: compiled 2]\ncompiled 2"), "{new}");
    let since = read(json!({"wait_for": "compiled", "wait": 20000, "since": 11}));
    assert!(since.contains("[waited: a line matches: compiled 2]"), "{since}");
    wire.call("KillShell", &json!({"bash_id": id}));
}

#[test]
fn advice_leads_on() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let ran = wire.call("Bash", &json!({"command": "seq 1 200000"}));
    let id = words(&ran).split("bash_id ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();

    // A filter says where its next matching lines are.
    let (mut numbers, mut since) = (Vec::new(), 0_u64);
    loop {
        let reply = words(&wire.call("BashOutput", &json!({"bash_id": id, "filter": "7$", "since": since})));
        numbers.extend(reply.lines().filter_map(|line| line.parse::<u32>().ok()));
        let Some(advice) = reply.lines().last().filter(|line| line.contains("more bytes")) else { break };
        assert!(advice.contains("the same filter"), "{advice}");
        let next = advice.split("since ").nth(1).and_then(|rest| rest.split(',').next()).unwrap().parse().unwrap();
        assert!(next > since, "{advice}");
        since = next;
    }
    assert_eq!(numbers, (1..=200_000).filter(|number| number % 10 == 7).collect::<Vec<u32>>());

    let pair = words(&wire.call("BashOutput", &json!({"bash_id": id, "range": "lines 1-2", "tail": 1})));
    assert!(pair.contains("'range' goes without tail"), "{pair}");

    let closed = wire.call("Bash", &json!({"command": "sleep 60", "run_in_background": true}));
    let id = words(&closed).split_whitespace().nth(2).unwrap().trim_end_matches('.').to_owned();
    let refused = words(&wire.call("BashInput", &json!({"bash_id": id, "text": "x\n"})));
    assert!(refused.contains("start it with open_stdin"), "{refused}");
    wire.call("KillShell", &json!({"bash_id": id}));
}
