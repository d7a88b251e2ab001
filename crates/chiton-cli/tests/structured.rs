//! What a client is sent: an agent's model reads text and nothing twice, a program gets a lean structured form, and a
//! refusal says everything in both.

use chiton_testkit::wire::Wire;
use serde_json::{Value, json};

use crate::place::Place;

/// Each dialect with the tool that runs a command and the name of its parameter for it.
const RUNNERS: [(&str, &str, &str); 10] = [
    ("native", "Bash", "command"),
    ("exec", "exec", "command"),
    ("modes", "bash", "command"),
    ("boris", "bash", "command"),
    ("wave", "Bash", "command"),
    ("opencode", "Bash", "command"),
    ("claude", "Bash", "command"),
    ("codex", "exec_command", "cmd"),
    ("gemini", "run_shell_command", "command"),
    ("anthropic", "bash", "command"),
];

const IMITATIONS: [&str; 4] = ["claude", "codex", "gemini", "anthropic"];

/// A session of this client.
fn session(place: &Place, client: &str, revision: &str, arguments: &[&str]) -> Wire {
    let mut command = place.server(arguments);
    command.env(
        "CHITON_GUARD_RULE",
        "[{decision = 'deny', program = ['touch'], any_argument = ['canary*'], reason = 'Canaries sing.', match = ['touch canary']}]",
    );
    let mut wire = Wire::start(command);
    let client = json!({"name": client, "version": "1"});
    wire.ask("initialize", json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client}));
    wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    wire
}

/// Whether tools have a schema for the structured form, and replies have that form: both, or neither.
fn is_structured(wire: &mut Wire, tool: &str, parameter: &str) -> bool {
    let listed = wire.ask("tools/list", json!({}))["result"]["tools"].clone();
    let has_schema = listed.as_array().unwrap().iter().all(|tool| tool.get("outputSchema").is_some());
    let reply = wire.call(tool, &json!({parameter: "echo hello"}));
    let is_structured = reply.get("structuredContent").is_some();
    assert_eq!(has_schema, is_structured, "{reply}");
    assert!(reply["content"][0]["text"].as_str().unwrap().contains("hello"), "{reply}");
    is_structured
}

#[test]
fn an_agent_s_model_reads_the_text_and_a_program_gets_both() {
    let place = Place::new();
    for (dialect, tool, parameter) in RUNNERS {
        let imitates = IMITATIONS.contains(&dialect);
        let cases = [
            ("claude-code", "2025-06-18", false, !imitates && dialect != "native"),
            ("codex-mcp-client", "2025-06-18", false, !imitates && dialect != "native"),
            ("wire", "2025-06-18", false, !imitates),
            ("wire", "2025-03-26", false, false),
            ("claude-code", "2025-06-18", true, true),
        ];
        for (client, revision, asked, expected) in cases {
            let mut arguments = vec!["--dialect", dialect];
            arguments.extend(asked.then_some("--structured"));
            let mut wire = session(&place, client, revision, &arguments);
            let found = is_structured(&mut wire, tool, parameter);
            assert_eq!(found, expected, "{dialect} for {client}, {revision}, asked for: {asked}");
            wire.close();
        }
    }
}

#[test]
fn a_refusal_says_why_by_which_rule_where_and_what_to_do_in_text_and_in_structure() {
    let place = Place::new();
    for (dialect, tool, parameter) in RUNNERS {
        let mut wire = session(&place, "wire", "2025-06-18", &["--dialect", dialect, "--structured"]);
        let refused = wire.call(tool, &json!({parameter: "echo first; touch canary"}));
        assert_eq!(refused["isError"], true, "{dialect}: {refused}");
        let text = refused["content"][0]["text"].as_str().unwrap();
        for part in ["Canaries sing.", "`touch canary`", "[settings]", "a person can run it"] {
            assert!(text.contains(part), "{dialect} without {part}: {text}");
        }
        assert!(!text.contains("..") && !text.contains("no output") && !text.contains("stdout"), "{dialect}: {text}");

        let facts = &refused["structuredContent"];
        let facts = if dialect == "opencode" { &facts["metadata"] } else { facts };
        assert_eq!(facts["outcome"], "refused", "{dialect}: {refused}");
        assert_eq!(facts["refused"]["rule"], "settings", "{dialect}: {refused}");
        assert_eq!(facts["refused"]["decision"], "deny", "{dialect}: {refused}");
        assert!(facts["refused"]["reason"].as_str().unwrap().contains("Canaries sing."), "{dialect}: {refused}");
        assert_eq!(facts["refused"]["place"], json!({"start": 12, "end": 24}), "{dialect}: {refused}");
        wire.close();
    }
    assert!(!place.folder.path().join("canary").exists());
}

#[test]
fn the_structured_form_of_native_says_nothing_twice_and_nothing_that_goes_without_saying() {
    let place = Place::new();
    let mut wire = session(&place, "wire", "2025-06-18", &[]);
    let mut facts = |tool: &str, arguments: Value| {
        let facts = wire.call(tool, &arguments)["structuredContent"].clone();
        check_lean(tool, &facts);
        facts
    };
    let ran = facts("Bash", json!({"command": "echo hello", "description": "greets"}));
    assert_eq!((&ran["exit_code"], &ran["output"]), (&json!(0), &json!("hello\n")));
    assert_eq!(sorted_names(&ran), ["bash_id", "duration_ms", "exit_code", "output", "protection"]);
    assert_eq!(facts("Bash", json!({"command": "cd /usr"}))["cwd"], "/usr");
    assert_eq!(facts("Bash", json!({"command": "kill -9 $$"}))["signal"], "SIGKILL");

    let started = facts("Bash", json!({"command": "cat", "run_in_background": true, "open_stdin": true}));
    let id = json!({"bash_id": started["bash_id"]});
    assert_eq!(facts("BashOutput", id.clone())["status"], "running");
    let listed = facts("ListShells", json!({}));
    assert_eq!(listed["shells"][0]["command"], "cat", "a list says which is which: {listed}");
    assert_eq!(facts("KillShell", id)["status"], "killed");
}

fn sorted_names(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// No nulls, nothing empty, one id, and the command only where it tells one from another.
fn check_lean(tool: &str, facts: &Value) {
    for (name, value) in facts.as_object().unwrap() {
        let says_nothing = matches!(value, Value::Null | Value::String(_) | Value::Array(_))
            && (value.is_null() || value == "" || value == &json!([]));
        assert!(!says_nothing, "{tool}: {name} says nothing in {facts}");
    }
    for name in ["command", "task_id", "session_id", "run_id", "shell_id"] {
        assert!(facts.get(name).is_none(), "{tool}: {name} in {facts}");
    }
}

#[test]
fn a_client_that_would_put_long_replies_aside_is_told_how_long_ours_are() {
    let place = Place::new();
    let longest = |tool: &Value| tool["_meta"]["anthropic/maxResultSizeChars"].as_u64();
    for (dialect, tool, parameter) in RUNNERS {
        let mut wire = session(&place, "claude-code", "2025-06-18", &["--dialect", dialect]);
        let listed = wire.ask("tools/list", json!({}))["result"]["tools"].clone();
        let told: Vec<Option<u64>> = listed.as_array().unwrap().iter().map(longest).collect();
        if !["native", "claude"].contains(&dialect) {
            assert!(told.iter().all(Option::is_none), "{dialect}: {told:?}");
            continue;
        }

        let limit = told[0].unwrap();
        assert!(told.iter().all(|one| *one == Some(limit)), "{dialect}: {told:?}");
        // Claude Code takes 50,000 characters of a tool that says nothing, and no more than 500,000 of any.
        assert!((50_000..=500_000).contains(&limit), "{dialect}: {limit}");
        for command in ["head -c 30000 /dev/zero | tr '\\0' x", "seq 1 100000", "yes ä | head -c 200000"] {
            let reply = wire.call(tool, &json!({parameter: command}));
            let length = reply["content"][0]["text"].as_str().unwrap().chars().count() as u64;
            assert!(length <= limit, "{dialect}: {length} characters of {command}");
        }
    }
}
