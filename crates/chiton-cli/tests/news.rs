//! What changed since the last call: the next reply says it, once, at its end. A client that has a channel is told while it
//! calls nothing.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use chiton_testkit::processes::eventually;
use chiton_testkit::wire::{LIMIT, Wire};
use serde_json::{Value, json};

use crate::place::web::{Server, Session};
use crate::place::{Place, said, text};

/// A command that ends with code 3 once there is a file `go` where the test works.
fn until_go(place: &Place) -> String {
    format!("until [ -e {}/go ]; do sleep 0.05; done; exit 3", place.folder.path().display())
}

fn go(place: &Place) {
    fs::write(place.folder.path().join("go"), "").unwrap();
}

fn runs(place: &Place) -> PathBuf {
    place.folder.path().join("state/chiton/runs")
}

/// The tasks of which there is something to tell.
fn followed(place: &Place) -> Vec<String> {
    let folders = fs::read_dir(runs(place)).into_iter().flatten().flatten();
    let followed = folders.filter(|folder| folder.path().join("told.json").exists());
    followed.map(|folder| folder.file_name().into_string().unwrap()).collect()
}

/// Waits until a task has ended.
fn wait_for(place: &Place, id: &str) {
    let waited = place.call(&["wait", "--timeout", "30s", id]);
    assert_ne!(waited.status.code(), Some(124), "{id} does not end: {}", text(&waited.stderr));
}

/// Waits until the keeper has said that a task waits for input, or a watch has matched.
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    assert!(eventually(LIMIT, &mut holds), "{what}");
}

/// The lines of the last paragraph, where that is about tasks.
fn news(result: &Value) -> Vec<String> {
    let text = said(result);
    let last = text.rsplit("\n\n").next().unwrap_or_default();
    let is_news =
        |line: &str| [" ended: ", " waits for input", " match", "[and "].iter().any(|word| line.contains(word));
    if last.lines().all(is_news) { last.lines().map(str::to_owned).collect() } else { Vec::new() }
}

/// A harmless call of a surface, and one that leaves a task behind which runs this command.
type Surface = (&'static str, &'static str, fn(&str) -> Value, Option<&'static str>);

const SURFACES: &[Surface] = &[
    ("native", "Bash", |command| json!({"command": command, "run_in_background": true}), None),
    ("exec", "exec", |command| json!({"command": command}), Some("exec_bg")),
    ("modes", "bash", |command| json!({"command": command, "mode": "background"}), None),
    ("boris", "bash", |command| json!({"command": command, "run_in_background": true}), None),
    ("wave", "Bash", |command| json!({"command": command, "run_in_background": true}), None),
    ("opencode", "Bash", |command| json!({"command": command, "run_in_background": true}), None),
    ("claude", "Bash", |command| json!({"command": command, "run_in_background": true}), None),
    ("claude-2025", "Bash", |command| json!({"command": command, "run_in_background": true}), None),
    ("codex", "exec_command", |command| json!({"cmd": command, "yield_time_ms": 250}), None),
    ("gemini", "run_shell_command", |command| json!({"command": command, "is_background": true}), None),
    ("opencode-cli", "bash", |command| json!({"command": format!("bash -c '{command}' &")}), None),
    ("anthropic", "bash", |command| json!({"command": format!("bash -c '{command}' &")}), None),
];

fn harmless(dialect: &str) -> Value {
    if dialect == "codex" { json!({"cmd": "echo else"}) } else { json!({"command": "echo else"}) }
}

#[test]
fn the_very_next_reply_says_that_a_background_command_failed_in_every_dialect() {
    let known: BTreeSet<&str> = chiton_dialects::names().into_iter().collect();
    assert_eq!(SURFACES.iter().map(|surface| surface.0).collect::<BTreeSet<_>>(), known, "each has its row");
    for (dialect, tool, start, starter) in SURFACES {
        let place = Place::new();
        let mut wire = place.session(&["--dialect", dialect]);
        let started = wire.call(starter.unwrap_or(tool), &start(&until_go(&place)));
        let [id] = &followed(&place)[..] else { panic!("{dialect}: {started}") };
        let meanwhile = wire.call(tool, &harmless(dialect));
        assert_eq!(news(&meanwhile), [""; 0], "{dialect}: {meanwhile}");

        go(&place);
        wait_for(&place, id);
        let told = wire.call(tool, &harmless(dialect));
        let lines = news(&told);
        let [line] = &lines[..] else { panic!("{dialect}: {told}") };
        let name = match *dialect {
            "codex" => "[session ",
            "gemini" | "modes" => "[PID ",
            _ => &format!("[{id} "),
        };
        assert!(line.starts_with(name) && line.contains("ended: exit 3 after "), "{dialect}: {line}");
        let (before, _) = said(&told).rsplit_once("\n\n").map(|(text, news)| (text.to_owned(), news.len())).unwrap();
        assert!(before.contains("else") && !before.contains("ended: exit 3"), "{dialect}: {before}");
        if let Some(structured) = told.get("structuredContent") {
            let change = &structured["since_last_call"][0];
            assert_eq!((&change["bash_id"], &change["what"]), (&json!(id), &json!("ended")), "{dialect}: {structured}");
            assert_eq!(change["exit_code"], 3, "{dialect}: {structured}");
        }
        let again = wire.call(tool, &harmless(dialect));
        assert_eq!(news(&again), [""; 0], "{dialect}: {again}");
        assert_eq!(again["structuredContent"].get("since_last_call"), None, "{dialect}: {again}");
        assert!(followed(&place).is_empty(), "{dialect}");
    }
}

/// Starts a background command; gives its id.
fn start(wire: &mut Wire, arguments: &Value) -> String {
    let mut arguments = arguments.clone();
    arguments["run_in_background"] = json!(true);
    let started = wire.call("Bash", &arguments);
    let text = said(&started);
    let id = text.split_whitespace().find(|word| word.starts_with("shell_"));
    id.unwrap_or_else(|| panic!("{started}")).trim_end_matches('.').to_owned()
}

fn quick(wire: &mut Wire) -> Value {
    wire.call("Bash", &json!({"command": "echo else"}))
}

/// A server for a client of this name.
fn client(place: &Place, name: &str) -> Wire {
    let mut wire = place.wire(&[]);
    name.clone_into(&mut wire.name);
    wire.greet("2025-06-18", &json!({}));
    wire
}

#[test]
fn a_server_that_was_killed_leaves_to_the_next_what_it_has_not_told() {
    let place = Place::new();
    let mut wire = client(&place, "agent");
    let told = start(&mut wire, &json!({"command": "exit 4"}));
    wait_for(&place, &told);
    let lines = news(&quick(&mut wire));
    // The reply to its start may have said that it has ended already.
    assert!(lines.len() <= 1, "{lines:?}");
    let running = start(&mut wire, &json!({"command": until_go(&place)}));
    wire.kill();
    go(&place);
    wait_for(&place, &running);

    // Of somebody else's work nobody is told.
    assert_eq!(news(&quick(&mut client(&place, "another"))), [""; 0]);
    let mut next = client(&place, "agent");
    let lines = news(&quick(&mut next));
    assert!(lines.len() == 1 && lines[0].starts_with(&format!("[{running} ended: exit 3 after ")), "{lines:?}");
    assert_eq!(news(&quick(&mut next)), [""; 0]);
    next.kill();
    assert_eq!(news(&quick(&mut client(&place, "agent"))), [""; 0], "and never again");
}

#[test]
fn of_ten_that_end_at_once_five_have_a_line_and_the_others_are_counted() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let ids: Vec<String> = (0..10).map(|_| start(&mut wire, &json!({"command": until_go(&place)}))).collect();
    go(&place);
    for id in &ids {
        wait_for(&place, id);
    }
    let told = quick(&mut wire);
    let lines = news(&told);
    assert_eq!(lines.len(), 6, "{lines:?}");
    assert!(lines[..5].iter().all(|line| line.contains("ended: exit 3")), "{lines:?}");
    assert!(lines[5].starts_with("[and 5 more: ") && lines[5].ends_with("; ListShells lists them]"), "{lines:?}");
    let all = lines.join("\n");
    assert!(ids.iter().all(|id| all.matches(id.as_str()).count() == 1), "each once: {all}");
    let structured = told["structuredContent"]["since_last_call"].as_array().unwrap();
    let named: BTreeSet<&str> = structured.iter().filter_map(|change| change["bash_id"].as_str()).collect();
    assert_eq!(named, ids.iter().map(String::as_str).collect());
    assert_eq!(news(&quick(&mut wire)), [""; 0]);
}

#[test]
fn of_calls_at_the_same_time_one_tells() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let id = start(&mut wire, &json!({"command": until_go(&place)}));
    go(&place);
    wait_for(&place, &id);
    let requests: Vec<u64> = (0..8)
        .map(|_| wire.request("tools/call", json!({"name": "Bash", "arguments": {"command": "echo else"}})))
        .collect();
    let told: Vec<String> = requests.into_iter().flat_map(|id| news(&wire.answer(id)["result"])).collect();
    assert_eq!(told.len(), 1, "{told:?}");
}

#[test]
fn what_a_withdrawn_call_would_have_told_the_next_one_tells() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let id = start(&mut wire, &json!({"command": until_go(&place)}));
    let begun = place.folder.path().join("begun");
    let command = format!("touch {}; sleep 1000", begun.display());
    let call = wire.request("tools/call", json!({"name": "Bash", "arguments": {"command": command}}));
    wait_until("it begins", || begun.exists());
    go(&place);
    wait_for(&place, &id);
    let params = json!({"requestId": call});
    wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    let lines = news(&quick(&mut wire));
    assert!(lines.len() == 1 && lines[0].contains(&id), "{lines:?}");
}

#[test]
fn what_a_reply_says_by_itself_is_not_told_again() {
    for tool in ["BashOutput", "KillShell", "ListShells"] {
        let place = Place::new();
        let mut wire = place.session(&[]);
        let id = start(&mut wire, &json!({"command": until_go(&place)}));
        if tool != "KillShell" {
            go(&place);
            wait_for(&place, &id);
        }
        let arguments = if tool == "ListShells" { json!({}) } else { json!({"bash_id": id}) };
        let own = wire.call(tool, &arguments);
        assert!(said(&own).contains(&id), "{tool}: {own}");
        assert_eq!(news(&own), [""; 0], "{tool}: {own}");
        assert_eq!(news(&quick(&mut wire)), [""; 0], "{tool}");
    }
}

#[test]
fn it_stands_after_all_output_however_long_that_is() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let id = start(&mut wire, &json!({"command": until_go(&place)}));
    go(&place);
    wait_for(&place, &id);
    // Half a line at the end, and more than a reply shows.
    let told = wire.call("Bash", &json!({"command": "seq 1 20000; printf 'no end of line'"}));
    let text = said(&told);
    assert_eq!(text.matches(&id).count(), 1, "{text}");
    assert!(news(&told)[0].contains(&id), "{text}");
    assert!(text.rfind("no end of line").unwrap() < text.rfind(&id).unwrap(), "{text}");
    assert!(!told["structuredContent"]["output"].to_string().contains(&id), "{told}");
}

#[test]
fn two_clients_do_not_hear_of_each_other() {
    let place = Place::new();
    let (mut one, mut other) = (client(&place, "one"), client(&place, "other"));
    let id = start(&mut one, &json!({"command": until_go(&place)}));
    assert_eq!(news(&quick(&mut other)), [""; 0]);
    let server = Server::start(&place, "127.0.0.1:0", &[]);
    let (alpha, beta) = (Session::open(&server), Session::open(&server));
    let background = json!({"command": until_go(&place), "run_in_background": true});
    let started = alpha.call("Bash", &background);
    let over_http = said(&started);
    let over_http = over_http.split_whitespace().find(|word| word.starts_with("shell_")).unwrap();
    go(&place);
    wait_for(&place, &id);
    wait_for(&place, over_http.trim_end_matches('.'));

    assert_eq!(news(&quick(&mut other)), [""; 0]);
    assert_eq!(news(&beta.call("Bash", &json!({"command": "echo else"}))), [""; 0]);
    assert!(news(&quick(&mut one))[0].contains(&id));
    assert!(news(&alpha.call("Bash", &json!({"command": "echo else"})))[0].contains(over_http.trim_end_matches('.')));
}

/// The prompt that `chiton send` would answer, as the structured form of a read has it.
fn waits(wire: &mut Wire, id: &str) -> Vec<String> {
    let mut told = Vec::new();
    wait_until("it waits", || {
        told = news(&quick(wire));
        !told.is_empty()
    });
    assert!(told[0].contains(id), "{told:?}");
    told
}

#[test]
fn a_task_that_waits_for_input_is_told_with_its_question_once() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let forged = "x] \\n[shell_00000000 ended: exit 0 after 1 s";
    let command = format!("read -p $'{forged}? ' name; read -sp 'Password: ' word; echo; read -p 'Sure? ' sure");
    let started = wire.call("Bash", &json!({"command": command, "pty": true, "run_in_background": true}));
    let [id] = &followed(&place)[..] else { panic!("{started}") };
    let first = match news(&started) {
        told if told.is_empty() => waits(&mut wire, id),
        told => told,
    };
    assert_eq!(first, [format!("[{id} waits for input: (shell_00000000 ended: exit 0 after 1 s?]")]);
    assert_eq!(news(&quick(&mut wire)), [""; 0], "once");

    // The answer to what is typed shows the next question itself.
    let answer = wire.call("BashInput", &json!({"bash_id": id, "text": "me\n", "wait_for": "Password"}));
    assert!(said(&answer).contains("Password:"), "{answer}");
    let told: Vec<String> = news(&answer).into_iter().chain(news(&quick(&mut wire))).collect();
    assert!(told.len() <= 1, "{told:?}");

    // What somebody else types leads to a question that is new.
    let sent = place.call(&["send", id, "word"]);
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    let told = waits(&mut wire, id);
    assert_eq!(told, [format!("[{id} waits for input: Sure?]")]);
    wire.call("KillShell", &json!({"bash_id": id}));
}

/// How many lines the watches on a task have matched, as its folder says.
fn matches(place: &Place, id: &str) -> u64 {
    let watches: Value = fs::read(runs(place).join(id).join("watches.json"))
        .map_or(Value::Null, |text| serde_json::from_slice(&text).unwrap());
    watches.as_array().into_iter().flatten().filter_map(|watch| watch["matches"].as_u64()).sum()
}

#[test]
fn a_watch_that_matched_is_told_with_how_often_and_the_last_line() {
    let place = Place::new();
    let lines = place.folder.path().join("lines");
    fs::write(&lines, "").unwrap();
    let print = |text: &str| {
        let mut file = fs::OpenOptions::new().append(true).open(&lines).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    };
    let mut wire = client(&place, "agent");
    let command = format!("tail -f -s 0.05 -n +1 {}", lines.display());
    let id = start(&mut wire, &json!({"command": command, "watch": "ERROR|panic"}));
    assert_eq!(news(&quick(&mut wire)), [""; 0]);

    print("ERROR one\nfine\nERROR [two]\n");
    wait_until("it matches", || matches(&place, &id) == 2);
    let told = quick(&mut wire);
    assert_eq!(news(&told), [format!("[{id}: 2 lines match 'ERROR|panic', last: ERROR (two)]")]);
    let change = &told["structuredContent"]["since_last_call"][0];
    assert_eq!((&change["what"], &change["matches"]), (&json!("matched"), &json!(2)), "{change}");
    assert_eq!(news(&quick(&mut wire)), [""; 0]);

    wire.kill();
    print("panic three\n");
    wait_until("it matches", || matches(&place, &id) == 3);
    let mut wire = client(&place, "agent");
    assert_eq!(news(&quick(&mut wire)), [format!("[{id}: 1 line matches 'ERROR|panic', last: panic three]")]);

    // A read of all that is new shows the lines themselves.
    print("ERROR four\n");
    wait_until("it matches", || matches(&place, &id) == 4);
    let read = wire.call("BashOutput", &json!({"bash_id": id}));
    assert!(said(&read).contains("ERROR four"), "{read}");
    assert_eq!((news(&read), news(&quick(&mut wire))), (Vec::new(), Vec::new()));
    wire.call("KillShell", &json!({"bash_id": id}));
}

#[test]
fn lines_that_matched_are_told_also_where_the_reply_itself_shows_the_end() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let command = format!("trap 'echo ERROR: no route' EXIT; {}", until_go(&place));
    let id = start(&mut wire, &json!({"command": command, "watch": "ERROR"}));
    go(&place);
    wait_for(&place, &id);
    let listed = wire.call("ListShells", &json!({}));
    assert!(said(&listed).contains("exited with code 3"), "{listed}");
    assert_eq!(news(&listed), [format!("[{id}: 1 line matches 'ERROR', last: ERROR: no route]")], "{listed}");
    assert_eq!(news(&quick(&mut wire)), [""; 0]);
}

#[test]
fn a_watch_on_the_task_of_another_client_is_told_and_takes_nothing_from_that_one() {
    let place = Place::new();
    let (mut owner, mut other) = (client(&place, "owner"), client(&place, "other"));
    let command = format!("until [ -e {0}/go ]; do sleep 0.05; done; echo ready", place.folder.path().display());
    let id = start(&mut owner, &json!({"command": command}));
    let watched = other.call("BashOutput", &json!({"bash_id": id, "others": true, "watch": "ready"}));
    assert_eq!(watched["isError"], false, "{watched}");
    go(&place);
    wait_for(&place, &id);
    let lines = news(&quick(&mut other));
    assert!(lines.len() == 2 && lines[0] == format!("[{id}: 1 line matches 'ready', last: ready]"), "{lines:?}");
    let lines = news(&quick(&mut owner));
    assert!(lines.last().is_some_and(|line| line.contains("ended: exit 0")), "{lines:?}");
}

#[test]
fn a_task_whose_keeper_was_killed_is_told_to_be_lost() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let id = start(&mut wire, &json!({"command": "sleep 1000"}));
    let record: Value = serde_json::from_slice(&fs::read(runs(&place).join(&id).join("start.json")).unwrap()).unwrap();
    let (keeper, shell) = (record["keeper"].to_string(), record["pid"].to_string());
    assert!(Command::new("kill").args(["-9", &keeper]).status().unwrap().success());
    let mut told = Vec::new();
    wait_until("it is told", || {
        told = news(&quick(&mut wire));
        !told.is_empty()
    });
    assert!(told[0].starts_with(&format!("[{id} ended: lost, its keeper was killed, after ")), "{told:?}");
    let _ = Command::new("kill").args(["-9", "--", &format!("-{shell}")]).status();
}

#[test]
fn the_command_line_tells_in_a_session_that_has_a_name() {
    let place = Place::new();
    let call = |session: &str, arguments: &Value| {
        let output = place.call(&["call", "--session", session, "--json", "Bash", &arguments.to_string()]);
        let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
        json!({"content": [{"text": reply["text"]}]})
    };
    call("one", &json!({"command": until_go(&place), "run_in_background": true}));
    let [id] = &followed(&place)[..] else { panic!("one is followed") };
    go(&place);
    wait_for(&place, id);
    assert_eq!(news(&call("other", &json!({"command": "echo else"}))), [""; 0]);
    assert!(news(&call("one", &json!({"command": "echo else"})))[0].contains(id));
    assert_eq!(news(&call("one", &json!({"command": "echo else"}))), [""; 0]);
}

const CHANNEL: &str = "notifications/claude/channel";

/// A server for a client with these capabilities, and what the server said of itself.
fn with_capabilities(place: &Place, capabilities: &Value) -> (Wire, Value) {
    // Their commands look at what Chiton keeps, which a sandbox hides.
    let mut wire = place.wire(&["--sandbox", "off"]);
    let hello = wire.greet("2025-06-18", capabilities);
    (wire, hello["result"].clone())
}

#[test]
fn a_client_that_declares_a_channel_is_told_while_it_calls_nothing() {
    let place = Place::new();
    let (mut wire, hello) = with_capabilities(&place, &json!({"experimental": {"claude/channel": {}}}));
    assert_eq!(hello["capabilities"]["experimental"]["claude/channel"], json!({}), "{hello}");
    let id = start(&mut wire, &json!({"command": until_go(&place)}));
    go(&place);
    let sent = wire.notification(CHANNEL);
    let content = sent["content"].as_str().unwrap();
    assert!(content.starts_with(&format!("{id} ended: exit 3 after ")), "{sent}");
    let meta = json!({"bash_id": id, "what": "ended", "outcome": "exited", "exit_code": "3"});
    assert_eq!(sent["meta"], meta, "texts, by names of letters and underscores");
    assert_eq!(news(&quick(&mut wire)), [""; 0], "what was sent there counts as told");

    // While it waits for a call, the reply to that tells.
    let id = start(&mut wire, &json!({"command": "exit 5"}));
    let file = runs(&place).join(&id).join("ending.json");
    let told = wire.call("Bash", &json!({"command": format!("until [ -e {} ]; do sleep 0.05; done", file.display())}));
    let by_reply = news(&told).len();
    let by_channel = wire.other.iter().filter(|message| message["method"] == CHANNEL).count();
    assert!(by_reply + by_channel <= 1, "{told}");
    assert_eq!(news(&quick(&mut wire)), [""; 0]);
}

#[test]
fn a_client_without_a_channel_gets_no_such_message_and_log_messages_where_it_asks_for_them() {
    let place = Place::new();
    let (mut wire, hello) = with_capabilities(&place, &json!({}));
    assert_eq!(hello["capabilities"].get("experimental"), None, "{hello}");
    wire.ask("logging/setLevel", json!({"level": "notice"}));
    let id = start(&mut wire, &json!({"command": until_go(&place)}));
    go(&place);
    let logged = wire.notification("notifications/message");
    assert_eq!((&logged["level"], &logged["logger"]), (&json!("notice"), &json!("chiton")));
    assert_eq!((&logged["data"]["bash_id"], &logged["data"]["exit_code"]), (&json!(id), &json!(3)), "{logged}");
    assert!(news(&quick(&mut wire))[0].contains(&id), "no model has read the log");
    assert!(wire.other.iter().all(|message| message["method"] != CHANNEL), "{:?}", wire.other);
}

#[test]
fn where_a_person_turns_the_channel_on_every_client_is_told_there_and_again_by_the_next_reply() {
    let place = Place::new();
    let mut wire = place.wire(&["--channel", "--sandbox", "off"]);

    // As Claude Code begins: it looks for the newest revision, in which it would hear nothing.
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "agent", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    let refused = wire.ask("server/discover", json!({"_meta": meta}));
    assert_eq!(refused["error"]["code"], -32022, "{refused}");
    assert!(!refused["error"]["data"]["supported"].to_string().contains("2026"), "{refused}");

    let hello = wire.greet("2025-11-25", &json!({}))["result"].clone();
    assert_eq!(hello["protocolVersion"], "2025-11-25", "{hello}");
    assert_eq!(hello["capabilities"]["experimental"]["claude/channel"], json!({}), "{hello}");
    let id = start(&mut wire, &json!({"command": until_go(&place)}));
    go(&place);
    let sent = wire.notification(CHANNEL);
    assert_eq!((&sent["meta"]["bash_id"], &sent["meta"]["exit_code"]), (&json!(id), &json!("3")), "{sent}");
    assert!(news(&quick(&mut wire))[0].contains(&id), "nobody knows whether a model has read it");
    assert_eq!(news(&quick(&mut wire)), [""; 0]);

    // What ends while the client waits for a call is told by the reply to that, and by nothing else.
    fs::remove_file(place.folder.path().join("go")).unwrap();
    let id = start(&mut wire, &json!({"command": until_go(&place)}));
    let (signal, end) = (place.folder.path().join("go"), runs(&place).join(&id).join("ending.json"));
    let command = format!("touch {}; until [ -e {} ]; do sleep 0.05; done", signal.display(), end.display());
    let told = wire.call("Bash", &json!({"command": command}));
    assert!(news(&told)[0].contains(&id), "{told}");
    // One that ended before its call was answered would be told by that reply.
    fs::remove_file(signal).unwrap();
    let last = start(&mut wire, &json!({"command": until_go(&place)}));
    go(&place);
    assert_eq!(wire.notification(CHANNEL)["meta"]["bash_id"], json!(last));
}

#[test]
fn a_client_with_a_channel_that_comes_back_is_told_what_happened_meanwhile() {
    let place = Place::new();
    let capabilities = json!({"experimental": {"claude/channel": {}}});
    let (mut wire, _) = with_capabilities(&place, &capabilities);
    let id = start(&mut wire, &json!({"command": until_go(&place)}));
    wire.kill();
    let (mut next, _) = with_capabilities(&place, &capabilities);
    go(&place);
    let sent = next.notification(CHANNEL);
    assert_eq!(sent["meta"]["bash_id"], json!(id), "{sent}");
    assert_eq!(news(&quick(&mut next)), [""; 0]);
}

#[test]
fn a_call_that_became_a_task_of_the_protocol_tells_when_its_result_is_fetched() {
    let place = Place::new();
    let mut wire = place.wire(&[]);
    wire.greet("2025-11-25", &json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}));
    let id = start(&mut wire, &json!({"command": until_go(&place)}));
    let end = place.folder.path().join("end");
    let command = format!("until [ -e {} ]; do sleep 0.05; done", end.display());
    let call = wire.ask("tools/call", json!({"name": "Bash", "arguments": {"command": command}}));
    let task = call["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{call}")).to_owned();
    go(&place);
    wait_for(&place, &id);
    fs::write(end, "").unwrap();
    let mut result = Value::Null;
    wait_until("it completes", || {
        result = wire.ask("tasks/get", json!({"taskId": task}))["result"].clone();
        result["status"] == "completed"
    });
    assert!(news(&result["result"])[0].contains(&id), "{result}");
    let again = wire.ask("tasks/get", json!({"taskId": task}))["result"].clone();
    assert_eq!(again["result"], result["result"], "it stays what it was");
    assert_eq!(news(&quick(&mut wire)), [""; 0]);
}
