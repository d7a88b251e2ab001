//! What the guard asks about is asked of a person through the client, in both eras of the protocol. The canary is a
//! harmless command that a rule of the human makes worth asking about.

use chiton_testkit::wire::Wire;
use serde_json::{Value, json};

use crate::place::{Place, text};

const RULE: &str = "[{decision = 'ask', program = ['touch'], any_argument = ['canary*'], reason = 'Canaries sing.', match = ['touch canary']}]";

/// A place whose settings ask about canaries; they lie outside of where commands run.
fn asking() -> (Place, Vec<String>) {
    let place = Place::new();
    let (settings, work) = (place.folder.path().join("settings.toml"), place.folder.path().join("work"));
    std::fs::write(&settings, format!("[guard]\nrule = {RULE}\n")).unwrap();
    std::fs::create_dir(&work).unwrap();
    let arguments = ["--config", settings.to_str().unwrap(), "--dir", work.to_str().unwrap()].map(str::to_owned);
    (place, arguments.to_vec())
}

fn sings(place: &Place, name: &str) -> bool {
    place.folder.path().join("work").join(name).exists()
}

fn start(place: &Place, arguments: &[String]) -> Wire {
    place.wire(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Answers the question that the server asks next; gives the question.
fn answer(wire: &mut Wire, answer: &Value) -> String {
    let asked = wire.message();
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    wire.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer}));
    asked["params"]["message"].as_str().unwrap().to_owned()
}

fn accept(choice: &str) -> Value {
    json!({"action": "accept", "content": {"answer": choice}})
}

#[test]
fn an_older_client_is_asked_while_the_call_waits() {
    let (place, arguments) = asking();
    let mut wire = start(&place, &arguments);
    wire.greet("2025-06-18", &json!({"elicitation": {}}));
    let call = |wire: &mut Wire, command: &str| {
        wire.request("tools/call", json!({"name": "Bash", "arguments": {"command": command}}))
    };
    let (said_no, undecided) = (Some("a person said no"), Some("nobody decided"));
    let cases = [
        ("touch canary.no", json!({"action": "decline"}), said_no),
        ("touch canary.never", json!({"action": "cancel"}), undecided),
        ("touch canary.choice", accept("no"), said_no),
        ("touch canary.empty", json!({"action": "accept"}), undecided),
        ("touch canary.once", accept("once"), None),
    ];
    for (command, given, refusal) in cases {
        let runs = refusal.is_none();
        let id = call(&mut wire, command);
        let question = answer(&mut wire, &given);
        assert!(question.contains(command) && question.contains("Canaries sing."), "{question}");
        let result = wire.answer(id)["result"].clone();
        assert_eq!(result["isError"], !runs, "{command}: {result}");
        assert_eq!(sings(&place, &command["touch ".len()..]), runs, "{command}");
        let said = result["content"][0]["text"].as_str().unwrap().to_owned();
        for words in ["a person said no", "nobody decided"] {
            assert_eq!(said.contains(words), refusal == Some(words), "{command}: {said}");
        }
        let advice = said.contains("not a refusal by a person");
        assert_eq!(advice, refusal == undecided, "what can be done then: {said}");
    }
    let id = call(&mut wire, "touch canary.broken");
    let asked = wire.message();
    wire.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32603, "message": "no window"}}));
    let said = wire.answer(id)["result"].to_string();
    assert!(said.contains("nobody decided") && said.contains("no window") && !said.contains("said no"), "{said}");
    // Once is once; for the session it is for exactly this.
    let id = call(&mut wire, "touch canary.once");
    answer(&mut wire, &accept("session"));
    wire.answer(id);
    let again = wire.call("Bash", &json!({"command": "touch canary.once"}));
    assert_eq!(again["isError"], false, "{again}");
    let id = call(&mut wire, "touch canary.once canary.more");
    answer(&mut wire, &json!({"action": "decline"}));
    assert_eq!(wire.answer(id)["result"]["isError"], true);
    assert!(!sings(&place, "canary.more"));
    // What deceives the eye is written out.
    let id = call(&mut wire, "touch canary.x #\u{202e}txt\u{200b}\r\u{1b}[2K");
    let question = answer(&mut wire, &json!({"action": "decline"}));
    assert!(
        !question.contains('\u{202e}') && !question.contains('\u{1b}') && question.contains("\\u{202e}"),
        "{question}"
    );
    wire.answer(id);
}

#[test]
fn a_newer_client_gets_the_question_as_the_answer_and_calls_again() {
    let (place, arguments) = asking();
    let mut wire = start(&place, &arguments);
    wire.modern(&json!({"elicitation": {}}));
    let ask = |wire: &mut Wire, arguments: Value| {
        let asked = wire.ask("tools/call", json!({"name": "Bash", "arguments": arguments}))["result"].clone();
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        asked["requestState"].as_str().unwrap().to_owned()
    };
    let again = |wire: &mut Wire, arguments: Value, state: &str, given: Value| {
        let params = json!({"name": "Bash", "arguments": arguments, "requestState": state, "inputResponses": {"consent": given}});
        wire.ask("tools/call", params)["result"].clone()
    };
    let canary = json!({"command": "touch canary"});
    let state = ask(&mut wire, canary.clone());
    assert!(!sings(&place, "canary"));
    let refused = again(&mut wire, canary.clone(), &state, json!({"action": "decline"}));
    assert!(refused["isError"] == true && refused.to_string().contains("said no"), "{refused}");
    let state = ask(&mut wire, canary.clone());
    let changes = [
        json!({"command": "touch canary other"}),
        json!({"command": "touch canary", "workdir": "/tmp"}),
        json!({"command": "touch canary", "env": {"A": "1"}}),
        json!({"command": "touch canary", "stdin": "x"}),
    ];
    for changed in changes {
        let state = ask(&mut wire, canary.clone());
        let refused = again(&mut wire, changed.clone(), &state, accept("once"));
        assert!(refused["isError"] == true && refused.to_string().contains("consent"), "{changed}: {refused}");
    }
    assert!(!sings(&place, "canary"), "nothing has run so far");
    let done = again(&mut wire, canary.clone(), &state, accept("once"));
    assert_eq!(done["isError"], false, "{done}");
    assert!(sings(&place, "canary"));
    std::fs::remove_file(place.folder.path().join("work/canary")).unwrap();
    let foreign = |wire: &mut Wire, state: &str, arguments: &Value, given: Value| {
        let params = json!({"name": "Bash", "arguments": arguments, "requestState": state, "inputResponses": {"consent": given}});
        wire.ask("tools/call", params)["error"]["code"].clone()
    };
    assert_eq!(foreign(&mut wire, &state, &canary, accept("once")), -32602, "a consent is for one run");
    assert_eq!(foreign(&mut wire, "not ours", &canary, accept("once")), -32602);
    let harmless = json!({"command": "touch harmless"});
    assert_eq!(foreign(&mut wire, "not ours", &harmless, accept("once")), -32602, "whatever the call is");
    assert!(!sings(&place, "canary") && !sings(&place, "harmless"), "nothing has run");
    let state = ask(&mut wire, canary.clone());
    assert_eq!(foreign(&mut wire, &state, &canary, json!({"action": "perhaps"})), -32602, "not an answer");
    let cancelled = again(&mut wire, canary.clone(), &state, json!({"action": "cancel"}));
    assert!(cancelled["isError"] == true && cancelled.to_string().contains("nobody decided"), "{cancelled}");
    // The directory of the session is part of what was agreed to.
    let state = ask(&mut wire, canary.clone());
    wire.call("Bash", &json!({"command": "mkdir sub; cd sub"}));
    let moved = again(&mut wire, canary, &state, accept("once"));
    assert_eq!(moved["isError"], true, "{moved}");
}

#[test]
fn a_consent_holds_for_the_shell_that_was_asked_for_and_no_other() {
    let (place, mut arguments) = asking();
    arguments.extend(["--dialect".to_owned(), "codex".to_owned()]);
    let mut wire = start(&place, &arguments);
    wire.modern(&json!({"elicitation": {}}));
    let in_shell = |shell: &str| json!({"cmd": "touch canary", "shell": shell});
    let ask = |wire: &mut Wire| {
        let asked = wire.ask("tools/call", json!({"name": "exec_command", "arguments": in_shell("sh")}));
        asked["result"]["requestState"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned()
    };
    let again = |wire: &mut Wire, shell: &str, state: &str| {
        let answers = json!({"consent": accept("once")});
        let call = json!({"name": "exec_command", "arguments": in_shell(shell), "requestState": state, "inputResponses": answers});
        wire.ask("tools/call", call)["result"].clone()
    };

    let state = ask(&mut wire);
    let other = again(&mut wire, "bash", &state);
    assert!(other.to_string().contains("consent") && !sings(&place, "canary"), "{other}");

    let state = ask(&mut wire);
    let done = again(&mut wire, "sh", &state);
    assert!(sings(&place, "canary"), "{done}");
}

#[test]
fn where_nobody_can_be_asked_nothing_runs_and_that_is_said() {
    let (place, arguments) = asking();
    let mut wire = start(&place, &arguments);
    wire.greet("2025-06-18", &json!({}));
    for arguments in [json!({"command": "touch canary"}), json!({"command": "touch canary", "run_in_background": true})]
    {
        let refused = wire.call("Bash", &arguments);
        let said = refused["content"][0]["text"].as_str().unwrap();
        assert!(refused["isError"] == true && said.contains("nobody here who could be asked"), "{refused}");
    }
    let mut command = place.command();
    command.args(["--config", &arguments[1], "run", "touch canary"]).current_dir(place.folder.path().join("work"));
    let refused = command.output().unwrap();
    assert_eq!(refused.status.code(), Some(125), "{}", text(&refused.stderr));
    assert!(!sings(&place, "canary"));
}

#[test]
fn a_form_is_sent_to_nobody_who_cannot_show_one() {
    let cases = [
        (json!({"elicitation": {}}), true),
        (json!({"elicitation": {"form": {}}}), true),
        (json!({"elicitation": {"form": {}, "url": {}}}), true),
        (json!({"elicitation": {"url": {}}}), false),
        (json!({}), false),
    ];
    for (capabilities, is_asked) in cases {
        let (place, arguments) = asking();
        let mut older = start(&place, &arguments);
        older.greet("2025-11-25", &capabilities);
        older.request("tools/call", json!({"name": "Bash", "arguments": {"command": "touch canary"}}));
        let message = older.message();
        assert_eq!(message["method"] == "elicitation/create", is_asked, "{capabilities}: {message}");
        let mut newer = start(&place, &arguments);
        newer.modern(&capabilities);
        let result = newer.call("Bash", &json!({"command": "touch canary"}));
        assert_eq!(result["resultType"] == "input_required", is_asked, "{capabilities}: {result}");
        assert!(is_asked || result.to_string().contains("nobody here who could be asked"), "{result}");
    }
}

#[test]
fn a_question_on_the_terminal_that_is_left_is_not_answered_with_no() {
    // Ctrl-D, Ctrl-C, and an answer.
    for (typed, words) in [("\u{4}", "nobody decided"), ("\u{3}", "nobody decided"), ("n\n", "a person said no")] {
        let (place, arguments) = asking();
        let work = place.folder.path().join("work");
        let mut wire = place.wire(&["--guard", "off", "--sandbox", "off", "--dir", work.to_str().unwrap()]);
        wire.greet("2025-06-18", &json!({}));
        let chiton = env!("CARGO_BIN_EXE_chiton");
        let command = format!("{chiton} --config {} run 'touch canary'; echo ended:$?", arguments[1]);
        // The shell outlives what the keys end.
        let wide =
            json!({"command": format!("trap : INT; {command}"), "run_in_background": true, "pty": true, "cols": 200});
        let started = wire.call("Bash", &wide);
        let id = started["structuredContent"]["bash_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned();
        wire.call("BashOutput", &json!({"bash_id": id, "wait_for": "Run it", "wait": 20_000, "view": "screen"}));
        wire.call("BashInput", &json!({"bash_id": id, "text": typed}));
        let ended =
            wire.call("BashOutput", &json!({"bash_id": id, "wait_for": "ended:", "wait": 20_000, "view": "screen"}));
        let screen = ended.to_string();
        assert!(screen.contains("ended:") && screen.contains(words), "{typed:?}: {screen}");
        assert!(!sings(&place, "canary"));
    }
}

#[test]
fn a_shell_that_runs_is_not_given_what_would_not_be_run() {
    let (place, arguments) = asking();
    let mut wire = start(&place, &arguments);
    wire.greet("2025-06-18", &json!({}));
    let started = wire.call("Bash", &json!({"command": "bash", "run_in_background": true, "open_stdin": true}));
    let id = started["structuredContent"]["bash_id"].as_str().unwrap().to_owned();
    let refused = wire.call("BashInput", &json!({"bash_id": id, "text": "touch canary\n"}));
    assert!(refused["isError"] == true && refused.to_string().contains("Canaries sing."), "{refused}");
    let sent = place.call(&["--config", &arguments[1], "send", &id, "touch canary"]);
    assert!(!sent.status.success() && text(&sent.stderr).contains("Canaries sing."), "{}", text(&sent.stderr));
    let written = wire.call("BashInput", &json!({"bash_id": id, "text": "touch other; exit\n"}));
    assert_eq!(written["isError"], false, "{written}");
    wire.call("BashOutput", &json!({"bash_id": id, "wait": 10_000}));
    assert!(sings(&place, "other") && !sings(&place, "canary"));
    // Both are in the journal, with what was to be written and why it was not.
    let journal = text(&place.call(&["audit", "--json", "--outcome", "refused"]).stdout);
    let refused: Vec<Value> = journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(refused.len(), 2, "{journal}");
    for line in refused {
        assert_eq!((&line["event"], &line["run"]), (&json!("input"), &json!(id)), "{line}");
        let says = |name: &str, part: &str| line[name].as_str().is_some_and(|text| text.contains(part));
        assert!(says("text", "touch canary") && says("verdict", "Canaries sing."), "{line}");
    }
}

#[test]
fn rules_are_not_taken_from_where_commands_can_write() {
    let (place, _) = asking();
    let settings = place.folder.path().join("settings.toml");
    let inside =
        place.call(&["--config", settings.to_str().unwrap(), "mcp", "--dir", place.folder.path().to_str().unwrap()]);
    // The home directory of its user is where settings are.
    assert!(inside.status.success(), "{}", text(&inside.stderr));
    let project = place.folder.path().join("work/settings.toml");
    std::fs::copy(&settings, &project).unwrap();
    let work = place.folder.path().join("work");
    let refused = place.call(&["--config", project.to_str().unwrap(), "mcp", "--dir", work.to_str().unwrap()]);
    assert!(!refused.status.success() && text(&refused.stderr).contains("[guard]"), "{}", text(&refused.stderr));
    std::fs::write(&settings, "[guard]\nrule = [{decision = 'deny', program = ['touch'], match = ['echo']}]\n")
        .unwrap();
    let wrong = place.call(&["--config", settings.to_str().unwrap(), "run", "true"]);
    assert!(
        !wrong.status.success() && text(&wrong.stderr).contains("does not match its example"),
        "{}",
        text(&wrong.stderr)
    );
}

/// What may change in a session while a person thinks.
const CHANGES: &[&str] = &["BIRD=canary.b", "touch() { echo > canary.c; }", "cd sub"];

/// A server whose session has a bird, in a directory with another one in it.
fn with_bird(place: &Place, arguments: &[String], greet: impl FnOnce(&mut Wire)) -> Wire {
    std::fs::create_dir_all(place.folder.path().join("work/sub")).unwrap();
    let mut wire = start(place, arguments);
    greet(&mut wire);
    assert_eq!(wire.call("Bash", &json!({"command": "BIRD=canary.a"}))["isError"], false);
    wire
}

fn nothing_sings(place: &Place) -> bool {
    ["canary.a", "canary.b", "canary.c", "sub/canary.a"].iter().all(|name| !sings(place, name))
}

#[test]
fn an_older_client_s_consent_is_for_the_state_that_was_judged() {
    let command = json!({"command": "touch \"$BIRD\""});
    for change in CHANGES {
        let (place, arguments) = asking();
        let mut wire =
            with_bird(&place, &arguments, |wire| drop(wire.greet("2025-06-18", &json!({"elicitation": {}}))));
        let id = wire.request("tools/call", json!({"name": "Bash", "arguments": command}));
        let asked = wire.message();
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        let meanwhile = wire.call("Bash", &json!({"command": change}));
        assert_eq!(meanwhile["isError"], false, "{change}: {meanwhile}");
        wire.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept("once")}));
        let result = wire.answer(id)["result"].clone();
        assert!(result["isError"] == true && nothing_sings(&place), "{change}: {result}");
        assert!(result.to_string().contains("has changed since a person agreed"), "{change}: {result}");
    }
}

#[test]
fn a_newer_client_s_consent_is_for_the_state_that_was_judged() {
    let command = json!({"command": "touch \"$BIRD\""});
    for change in CHANGES {
        let (place, arguments) = asking();
        let mut wire = with_bird(&place, &arguments, |wire| wire.modern(&json!({"elicitation": {}})));
        let asked = wire.ask("tools/call", json!({"name": "Bash", "arguments": command}))["result"].clone();
        let state = asked["requestState"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned();
        wire.call("Bash", &json!({"command": change}));
        let params = json!({"name": "Bash", "arguments": command, "requestState": state, "inputResponses": {"consent": accept("once")}});
        let result = wire.ask("tools/call", params)["result"].clone();
        assert!(result["isError"] == true && nothing_sings(&place), "{change}: {result}");
    }
}

/// A person at a terminal runs `chiton run` with these arguments, says yes, and `meanwhile` happens between the question
/// and the answer. Gives what is on the screen in the end.
fn on_the_terminal(place: &Place, settings: &str, arguments: &str, meanwhile: impl FnOnce(&mut Wire, &str)) -> String {
    let work = place.folder.path().join("work");
    let mut wire = place.wire(&["--guard", "off", "--sandbox", "off", "--dir", work.to_str().unwrap()]);
    wire.greet("2025-06-18", &json!({}));
    let chiton = env!("CARGO_BIN_EXE_chiton");
    let command = format!("{chiton} --config {settings} run {arguments}; echo ended:$?");
    // Wide and high enough for the question wherever this test runs.
    let window = json!({"command": command, "run_in_background": true, "pty": true, "cols": 400, "rows": 50});
    let started = wire.call("Bash", &window);
    let id = started["structuredContent"]["bash_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned();
    let shown =
        wire.call("BashOutput", &json!({"bash_id": id, "wait_for": "Run it", "wait": 20_000, "view": "screen"}));
    assert!(shown.to_string().contains("Canaries sing."), "{shown}");
    meanwhile(&mut wire, &id);
    wire.call("BashInput", &json!({"bash_id": id, "text": "y\n"}));
    let ended = json!({"bash_id": id, "wait_for": "ended:[0-9]", "wait": 20_000, "view": "screen"});
    wire.call("BashOutput", &ended).to_string()
}

#[test]
fn a_consent_on_the_terminal_is_for_the_directory_that_was_judged() {
    for swapped in [false, true] {
        let (place, arguments) = asking();
        let work = place.folder.path().join("work");
        let ended = on_the_terminal(&place, &arguments[1], "'touch canary'", |wire, id| {
            if swapped {
                std::fs::rename(&work, place.folder.path().join("aside")).unwrap();
                std::fs::create_dir(&work).unwrap();
                return;
            }
            // A person takes their time, and the question stays: nothing else is drawn before the command has started.
            let later = json!({"bash_id": id, "wait_for": "0:0", "wait": 3_500, "view": "screen"});
            let shown = wire.call("BashOutput", &later).to_string();
            assert!(shown.contains("Run it?") && !shown.contains("0:0"), "{shown}");
        });
        let expected = if swapped { "ended:125" } else { "ended:0" };
        assert!(ended.contains(expected), "{ended}");
        assert_eq!(sings(&place, "canary"), !swapped, "{ended}");
        assert!(!place.folder.path().join("aside/canary").exists());
    }
}

/// Another process changes the session while the question stands: nothing runs but what was judged.
#[test]
fn a_consent_on_the_terminal_is_for_the_state_that_was_judged() {
    for change in CHANGES {
        let (place, arguments) = asking();
        let work = place.folder.path().join("work");
        std::fs::create_dir_all(work.join("sub")).unwrap();
        let settings = arguments[1].as_str();
        let in_session = |command: &str| {
            let run = ["--config", settings, "run", "--session", "birds", command];
            let ran = place.command().current_dir(&work).args(run).output().unwrap();
            assert!(ran.status.success(), "{command}: {}", text(&ran.stderr));
        };
        in_session("BIRD=canary.a");
        let command = "--session birds 'touch \"$BIRD\"'";
        let ended = on_the_terminal(&place, settings, command, |_, _| in_session(change));
        assert!(ended.contains("ended:"), "{change}: {ended}");
        for other in ["canary.b", "canary.c", "sub/canary.a"] {
            assert!(!sings(&place, other), "{change}: {ended}");
        }
        assert_eq!(sings(&place, "canary.a"), ended.contains("ended:0"), "{change}: {ended}");
    }
}

/// The text of a script is part of what a person agreed to.
#[test]
fn a_consent_on_the_terminal_is_for_the_script_as_it_was() {
    for edited in [false, true] {
        let (place, arguments) = asking();
        let script = place.folder.path().join("work/sing.sh");
        std::fs::write(&script, "touch canary.a\n").unwrap();
        let ended = on_the_terminal(&place, &arguments[1], "'bash sing.sh; touch canary'", |_, _| {
            if edited {
                std::fs::write(&script, "touch canary.b\n").unwrap();
            }
        });
        assert!(!sings(&place, "canary.b"), "{ended}");
        assert_eq!(sings(&place, "canary.a"), !edited, "{ended}");
        assert_eq!(ended.contains("ended:0"), !edited, "{ended}");
    }
}

#[test]
fn a_question_shows_no_variable_that_the_dialect_sets_for_every_command() {
    let (place, arguments) = asking();
    let mut wire = start(&place, &[&["--dialect".to_owned(), "codex".to_owned()], &arguments[..]].concat());
    wire.greet("2025-06-18", &json!({"elicitation": {}}));
    let id = wire.request("tools/call", json!({"name": "exec_command", "arguments": {"cmd": "touch canary.no"}}));
    let question = answer(&mut wire, &json!({"action": "decline"}));
    assert!(question.contains("touch canary.no"), "{question}");
    for variable in ["NO_COLOR", "COLORTERM", "TERM=", "LANG", "LC_", "with "] {
        assert!(!question.contains(variable), "{variable} is in: {question}");
    }
    assert_eq!(wire.answer(id)["result"]["isError"], true);
    // What the call itself asks for is shown.
    let mut wire = start(&place, &arguments);
    wire.greet("2025-06-18", &json!({"elicitation": {}}));
    let call = json!({"name": "Bash", "arguments": {"command": "touch canary.no", "env": {"NO_COLOR": "1"}}});
    let id = wire.request("tools/call", call);
    let question = answer(&mut wire, &json!({"action": "decline"}));
    assert!(question.contains("with NO_COLOR=1"), "{question}");
    wire.answer(id);
}
