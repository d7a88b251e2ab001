//! What the revisions of the protocol want, on both transports: which methods exist, what may come in an array, what a
//! client is told of things that its revision does not know.

use chiton_testkit::processes::eventually;
use chiton_testkit::wire::{LIMIT, Wire, modern_meta};
use serde_json::{Value, json};

use crate::place::web::{Headers, Server, Session, events, status};
use crate::place::{Place, said};

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const MODERN: &str = "2026-07-28";

/// What a method answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Result,
    Error(i64),
}

use Answer::{Error, Result};

fn answer_of(message: &Value) -> Answer {
    match message["error"]["code"].as_i64() {
        Some(code) => Error(code),
        None if message.get("result").is_some() => Result,
        None => panic!("neither a result nor an error: {message}"),
    }
}

/// Each method with good parameters: its answer in the revisions with sessions, and in the one without, where the
/// second number is the status over HTTP.
fn methods() -> Vec<(&'static str, Value, Answer, (Answer, u16))> {
    let run = json!({"uri": "chiton://runs/shell_ffffffff/output"});
    let call = json!({"name": "Bash", "arguments": {"command": "true"}});
    let hello = json!({"protocolVersion": MODERN, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let completed = json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": ""}});
    let (none, nowhere) = (Error(-32601), (Error(-32601), 404));
    vec![
        ("ping", json!({}), Result, nowhere),
        ("tools/list", json!({}), Result, (Result, 200)),
        ("tools/call", call, Result, (Result, 200)),
        ("resources/list", json!({}), Result, (Result, 200)),
        ("resources/templates/list", json!({}), Result, (Result, 200)),
        ("resources/read", run.clone(), Error(-32002), (Error(-32602), 200)),
        ("resources/subscribe", run.clone(), Error(-32002), nowhere),
        ("resources/unsubscribe", run, Result, nowhere),
        ("logging/setLevel", json!({"level": "error"}), Result, nowhere),
        ("initialize", hello, Result, nowhere),
        ("server/discover", json!({}), Error(-32602), (Result, 200)),
        ("prompts/list", json!({}), none, nowhere),
        ("prompts/get", json!({"name": "x"}), none, nowhere),
        ("completion/complete", completed, none, nowhere),
        ("tasks/get", json!({"taskId": "shell_ffffffff"}), Error(-32021), (Error(-32021), 400)),
        ("tasks/list", json!({}), none, nowhere),
        ("roots/list", json!({}), none, nowhere),
        ("sampling/createMessage", json!({}), none, nowhere),
        ("no/such", json!({}), none, nowhere),
    ]
}

#[test]
fn every_method_answers_as_each_revision_says_on_standard_input() {
    let place = Place::new();
    for revision in LEGACY {
        let mut wire = place.wire(&[]);
        wire.greet(revision, &json!({}));
        for (method, params, expected, _) in methods() {
            let answer = wire.ask(method, params);
            assert_eq!(answer_of(&answer), expected, "{method} in {revision}: {answer}");
        }
    }
    // Each as the first thing that is said, and after something else.
    for (method, params, _, (expected, _)) in methods() {
        let mut wire = place.wire(&[]);
        wire.modern(&json!({}));
        for _ in 0..2 {
            let answer = wire.ask(method, params.clone());
            assert_eq!(answer_of(&answer), expected, "{method} in {MODERN}: {answer}");
            assert_eq!(answer_of(&wire.ask("tools/list", json!({}))), Result, "after {method}");
        }
    }
}

/// A request of the newest revision over HTTP.
fn modern(server: &Server, method: &str, params: &Value) -> String {
    let mut params = params.clone();
    params["_meta"] = modern_meta(&json!({}));
    let name = params["name"].as_str().or(params["uri"].as_str()).or(params["taskId"].as_str()).map(str::to_owned);
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let with = |headers: &mut Headers| {
        headers.push(("MCP-Protocol-Version".to_owned(), MODERN.to_owned()));
        headers.push(("Mcp-Method".to_owned(), method.to_owned()));
        headers.extend(name.map(|name| ("Mcp-Name".to_owned(), name)));
    };
    server.send(server.request(&body, with).as_bytes())
}

#[test]
fn every_method_answers_as_each_revision_says_over_http() {
    let place = Place::new();
    let server = Server::start(&place, "127.0.0.1:0", &[]);
    for revision in LEGACY {
        let session = Session::of(&server, revision, &json!({}));
        for (method, params, expected, _) in methods() {
            // There is no such thing as a second beginning of a session over HTTP, and discovery is not of this era.
            if ["initialize", "server/discover"].contains(&method) {
                continue;
            }
            let answer = session.ask(method, &params);
            assert_eq!(answer_of(&answer), expected, "{method} in {revision}: {answer}");
        }
    }
    for (method, params, _, (expected, code)) in methods() {
        let answer = modern(&server, method, &params);
        let message = events(&answer).into_iter().find(|message| message["id"] == 7);
        let message = message.unwrap_or_else(|| panic!("{method}: {answer}"));
        assert_eq!((answer_of(&message), status(&answer)), (expected, code), "{method}: {answer}");
    }
}

#[test]
fn parameters_that_do_not_fit_do_not_bring_a_removed_method_back() {
    let place = Place::new();
    let server = Server::start(&place, "127.0.0.1:0", &[]);
    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"] {
        let answer = modern(&server, method, &json!({}));
        assert_eq!(status(&answer), 404, "{method}: {answer}");
        assert_eq!(answer_of(&events(&answer)[0]), Error(-32601), "{method}: {answer}");
    }
}

/// A call that writes what it was given, as a text that is not valid everywhere.
fn odd_call(id: u32, odd: &[u8]) -> Vec<u8> {
    let head = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"Bash","arguments":{{"command":"echo some words before; echo '"#
    );
    [head.as_bytes(), odd, br#"'","description":"\ud83d"},"_meta":{"x\udc00":"\ud83d"}}}"#].concat()
}

/// What is half a character, and what it is read as.
const ODD: [(&[u8], &str); 6] = [
    (br"\ud83d", "\u{fffd}"),
    (br"\udc00x", "\u{fffd}x"),
    (br"\ude00\ud83d", "\u{fffd}\u{fffd}"),
    (br"\ud83d\ude00", "\u{1f600}"),
    (b"a\xffb", "a\u{fffd}b"),
    (b"\xf0\x9f\x98", "\u{fffd}"),
];

#[test]
fn half_a_character_does_not_cost_the_call() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let server = Server::start(&place, "127.0.0.1:0", &[]);
    let session = Session::open(&server);
    for (number, (odd, read)) in (1000..).zip(ODD) {
        let call = odd_call(number, odd);
        wire.raw(&[call.as_slice(), b"\n"].concat());
        let over_http = session.post_raw(&call);
        let over_http = events(&over_http).into_iter().find(|message| message["id"] == number);
        for answer in [wire.answer(number.into()), over_http.unwrap_or_else(|| panic!("{odd:?} has no answer"))] {
            let said = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
            assert!(said.lines().any(|line| line == read), "{odd:?}: {answer}");
        }
    }
}

fn ping(id: u32) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

fn echo(id: u32, words: &str) -> Value {
    let params = json!({"name": "Bash", "arguments": {"command": format!("echo {words}")}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// An array with a bit of everything, and what is to come back: ids with error codes.
fn mixed() -> (Value, Vec<(Value, Option<i64>)>) {
    let told = json!({"jsonrpc": "2.0", "method": "notifications/nobody/knows"});
    let unknown = json!({"jsonrpc": "2.0", "id": "s", "method": "no/such"});
    let hello = json!({"jsonrpc": "2.0", "id": 24, "method": "initialize", "params": {"protocolVersion": "2025-03-26",
        "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}});
    let sent = json!([ping(21), echo(22, "one"), told, echo(23, "two"), unknown, 5, hello]);
    let mut back: Vec<(Value, Option<i64>)> = [21, 22, 23].map(|id| (json!(id), None)).to_vec();
    back.extend([(json!("s"), Some(-32601)), (Value::Null, Some(-32600)), (json!(24), Some(-32600))]);
    (sent, back)
}

fn check_mixed(answer: &Value, expected: &[(Value, Option<i64>)]) {
    let answers = answer.as_array().unwrap_or_else(|| panic!("not an array: {answer}"));
    assert_eq!(answers.len(), expected.len(), "{answer}");
    for (id, code) in expected {
        let found = answers.iter().find(|one| one["id"] == *id).unwrap_or_else(|| panic!("no {id}: {answer}"));
        assert_eq!(found["error"]["code"].as_i64(), *code, "{found}");
        assert_eq!(found.get("result").is_some(), code.is_none(), "{found}");
    }
    assert!(answer.to_string().contains("one"), "{answer}");
}

#[test]
fn an_array_is_answered_with_an_array_where_the_revision_has_them() {
    for revision in LEGACY {
        let place = Place::new();
        let mut wire = place.wire(&[]);
        wire.raw(format!("{}\n", json!([ping(1)])).as_bytes());
        assert_eq!(wire.message()["error"]["code"], -32600, "nothing was agreed upon yet");
        wire.greet(revision, &json!({}));
        let (sent, back) = mixed();
        wire.send(&sent);
        let answer = wire.message();
        if ["2024-11-05", "2025-03-26"].contains(&revision) {
            check_mixed(&answer, &back);
            let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            wire.send(&json!([told.clone(), told]));
            wire.send(&json!([5]));
            assert_eq!(wire.message()[0]["error"]["code"], -32600, "an array of notifications has no answer");
        } else {
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32600)), "{revision}");
            assert!(answer["error"]["message"].as_str().unwrap().contains("2025-03-26"), "{answer}");
        }
        wire.send(&json!([]));
        assert_eq!(wire.message()["error"]["code"], -32600, "an empty array");
        let many: Vec<Value> = (0..1001).map(ping).collect();
        wire.send(&json!(many));
        assert_eq!(wire.message()["error"]["code"], -32600, "too many");
        assert_eq!(wire.ask("ping", json!({}))["result"], json!({}), "after all that");
    }
}

#[test]
fn an_array_is_answered_with_an_array_over_http() {
    let place = Place::new();
    let server = Server::start(&place, "127.0.0.1:0", &[]);
    for revision in LEGACY {
        let session = Session::of(&server, revision, &json!({}));
        let (sent, back) = mixed();
        let answer = session.post(&sent);
        if ["2024-11-05", "2025-03-26"].contains(&revision) {
            let last = events(&answer).pop().unwrap_or_else(|| panic!("{answer}"));
            check_mixed(&last, &back);
            let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            assert_eq!(status(&session.post(&json!([told.clone(), told]))), 202);
        } else {
            assert_eq!((status(&answer), &events(&answer)[0]["error"]["code"]), (400, &json!(-32600)), "{answer}");
        }
        let empty = session.post(&json!([]));
        assert_eq!((status(&empty), &events(&empty)[0]["error"]["code"]), (400, &json!(-32600)), "{empty}");
    }
    let without = server.send(server.request(&json!([ping(1)]), |_| {}).as_bytes());
    assert_eq!(status(&without), 400, "an array without a session: {without}");
    let newest = |headers: &mut Headers| headers.push(("MCP-Protocol-Version".to_owned(), MODERN.to_owned()));
    let newest = server.send(server.request(&json!([ping(1)]), newest).as_bytes());
    assert_eq!((status(&newest), &events(&newest)[0]["error"]["code"]), (400, &json!(-32600)), "{newest}");
    let gone = |headers: &mut Headers| headers.push(("Mcp-Session-Id".to_owned(), "nobody".to_owned()));
    assert_eq!(status(&server.send(server.request(&json!([ping(1)]), gone).as_bytes())), 404);
}

#[test]
fn what_is_withdrawn_from_an_array_does_not_hold_up_the_rest() {
    let place = Place::new();
    let mut wire = place.wire(&[]);
    wire.greet("2025-03-26", &json!({}));
    let started = place.folder.path().join("started");
    let long = json!({"command": format!("touch {}; sleep 600", started.display())});
    let long =
        json!({"jsonrpc": "2.0", "id": 32, "method": "tools/call", "params": {"name": "Bash", "arguments": long}});
    wire.send(&json!([echo(31, "short"), long]));
    assert!(eventually(LIMIT, || started.exists()));
    wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 32}}));
    let answer = wire.message();
    assert_eq!(answer.as_array().map(Vec::len), Some(1), "{answer}");
    assert_eq!(answer[0]["id"], 31, "{answer}");
}

#[test]
fn what_is_withdrawn_from_an_array_over_http_does_not_hold_up_the_rest() {
    let place = Place::new();
    let server = Server::start(&place, "127.0.0.1:0", &[]);
    let session = Session::of(&server, "2025-03-26", &json!({}));
    let started = place.folder.path().join("started");
    let long = json!({"command": format!("touch {}; sleep 600", started.display())});
    let long = json!({"name": "Bash", "arguments": long, "_meta": {"progressToken": 1}});
    let long = json!({"jsonrpc": "2.0", "id": 42, "method": "tools/call", "params": long});
    std::thread::scope(|scope| {
        let posting = scope.spawn(|| session.post(&json!([echo(41, "short"), long])));
        assert!(eventually(LIMIT, || started.exists()));
        let withdrawn = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 42}});
        assert_eq!(status(&session.post(&withdrawn)), 202);
        let answer = posting.join().unwrap();
        let last = events(&answer).pop().unwrap_or_else(|| panic!("{answer}"));
        assert_eq!(last.as_array().map(Vec::len), Some(1), "{answer}");
        assert_eq!(last[0]["id"], 41, "{answer}");
    });
}

#[test]
fn a_client_is_told_what_its_revision_knows() {
    let place = Place::new();
    let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    for revision in LEGACY {
        let mut wire = place.wire(&[]);
        let hello = wire.greet(revision, &json!({}))["result"].clone();
        let server = &hello["serverInfo"];
        let is_there = |value: &Value| !value.is_null();
        assert_eq!(is_there(&server["title"]), revision >= "2025-06-18", "{hello}");
        assert_eq!(is_there(&server["description"]), revision >= "2025-11-25", "{hello}");
        assert_eq!(is_there(&server["icons"]), revision >= "2025-11-25", "{hello}");
        assert!(!is_there(&hello["capabilities"]["extensions"]), "{hello}");
        let tools = wire.ask("tools/list", json!({}))["result"]["tools"].clone();
        for tool in tools.as_array().unwrap() {
            assert_eq!(is_there(&tool["title"]), revision >= "2025-06-18", "{tool}");
            assert_eq!(is_there(&tool["annotations"]), revision >= "2025-03-26", "{tool}");
            assert_eq!(is_there(&tool["annotations"]["title"]), revision == "2025-03-26", "{tool}");
            assert_eq!(is_there(&tool["_meta"]), revision >= "2025-06-18", "{tool}");
        }
        let mut knows = place.wire(&[]);
        let hello = knows.greet(revision, &tasks);
        assert_eq!(hello["result"]["capabilities"]["extensions"], tasks["extensions"], "whoever declares it knows it");
    }
    let mut wire = place.wire(&[]);
    wire.modern(&json!({}));
    let found = wire.ask("server/discover", json!({}))["result"].clone();
    assert_eq!(found["capabilities"]["extensions"], tasks["extensions"], "{found}");
    let server = &found["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(server["title"], "Chiton", "{found}");
    assert!(server["icons"][0]["src"].as_str().unwrap().starts_with("data:image/svg+xml;base64,"), "{found}");
}

fn listed(wire: &mut Wire) -> Vec<String> {
    let list = wire.ask("resources/list", json!({}));
    let uris = list["result"]["resources"].as_array().unwrap_or_else(|| panic!("{list}")).iter();
    uris.map(|resource| resource["uri"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_list_of_resources_has_what_was_not_seen_whole_and_any_run_can_be_read() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    wire.call("Bash", &json!({"command": "true"}));
    let long = wire.call("Bash", &json!({"command": "seq 1 20000"}));
    assert_eq!(long["isError"], false, "{long}");
    let background = wire.call("Bash", &json!({"command": "echo kept; sleep 600", "run_in_background": true}));
    let uris = listed(&mut wire);
    assert_eq!(uris.len(), 2, "{uris:?}");
    // The newest first.
    let id = |uri: &str| uri.split('/').nth(3).unwrap().to_owned();
    assert!(background.to_string().contains(&id(&uris[0])), "{uris:?} {background}");
    let read = wire.ask("resources/read", json!({"uri": format!("{}?tail=1", uris[1])}));
    assert_eq!(read["result"]["contents"][0]["text"], "20000\n");
    assert!(place.call(&["kill", &id(&uris[0])]).status.success());

    let all = String::from_utf8(place.call(&["ps", "--all", "--json"]).stdout).unwrap();
    let mut all = all.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let quiet = all.find(|run| run["command"] == "true").expect("it has run");
    let uri = format!("chiton://runs/{}/output", quiet["run_id"].as_str().unwrap());
    assert_eq!(wire.ask("resources/read", json!({"uri": uri}))["result"]["contents"][0]["text"], "");
}

#[test]
fn without_a_token_nothing_looks_like_an_oauth_server() {
    let place = Place::new();
    let server = Server::start(&place, "127.0.0.1:0", &[]);
    let get = |method: &str, path: &str, more: &str| {
        let request = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{more}\r\n", server.host);
        server.send(request.as_bytes())
    };
    for path in [
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-authorization-server/mcp",
        "/.well-known/openid-configuration",
        "/.well-known/openid-configuration/mcp",
        "/mcp/.well-known/openid-configuration",
        "/authorize",
        "/token",
    ] {
        let answer = get("GET", path, "");
        assert_eq!(status(&answer), 404, "{path}: {answer}");
        assert!(!answer.to_lowercase().contains("www-authenticate"), "{path}: {answer}");
    }
    assert_eq!(status(&get("POST", "/register", "Content-Length: 0\r\n")), 404);
    assert_eq!(status(&get("GET", "/.well-known/openid-configuration", "Origin: https://evil.example\r\n")), 403);
    let refused = get("POST", "/mcp", "Content-Length: 0\r\n");
    let challenge = refused.lines().find(|line| line.to_lowercase().starts_with("www-authenticate:"));
    assert_eq!(
        (status(&refused), challenge.map(str::to_lowercase).as_deref()),
        (401, Some("www-authenticate: bearer"))
    );
}

/// A server that was started in the home directory, and a folder with a project in it.
fn at_home(place: &Place, arguments: &[&str]) -> (Wire, std::path::PathBuf) {
    let project = place.folder.path().join("a project");
    std::fs::create_dir_all(project.join("sub")).unwrap();
    (place.wire(arguments), project.canonicalize().unwrap())
}

fn roots_of(paths: &[&std::path::Path]) -> Value {
    let uri = |path: &&std::path::Path| json!({"uri": format!("file://{}", path.display()).replace(' ', "%20")});
    json!({"roots": paths.iter().map(uri).collect::<Vec<_>>()})
}

/// Answers the question for roots that comes next.
fn give_roots(wire: &mut Wire, roots: &Value) {
    let asked = wire.message();
    assert_eq!(asked["method"], "roots/list", "{asked}");
    wire.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": roots}));
}

#[test]
fn a_client_that_starts_servers_anywhere_says_by_its_roots_where_to_start() {
    let place = Place::new();
    let (mut wire, project) = at_home(&place, &[]);
    let hello = wire.greet("2025-06-18", &json!({"roots": {"listChanged": true}}));
    let instructions = hello["result"]["instructions"].as_str().unwrap();
    assert!(!instructions.contains("directory"), "it is not known yet: {instructions}");
    // The list waits for the answer, which names the directory.
    let list = wire.request("tools/list", json!({}));
    let missing = std::path::Path::new("/no/such/place");
    give_roots(&mut wire, &roots_of(&[missing, &project]));
    let tools = wire.answer(list).to_string();
    assert!(tools.contains(&format!("starts in {}", project.display())), "{tools}");
    // They change before anything has run.
    let sub = project.join("sub");
    wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}));
    give_roots(&mut wire, &roots_of(&[&sub]));
    let call = wire.request("tools/call", json!({"name": "Bash", "arguments": {"command": "pwd"}}));
    let first = said(&wire.answer(call)["result"]);
    assert!(first.lines().any(|line| line == sub.to_str().unwrap()), "{first}");
    assert!(first.contains(&format!("[working directory: {}]", sub.display())), "it is told once: {first}");
    let second = said(&wire.call("Bash", &json!({"command": "pwd"})));
    assert!(second.contains("/sub") && !second.contains("[working directory"), "{second}");
    // And afterwards, when it is too late.
    wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}));
    assert!(said(&wire.call("Bash", &json!({"command": "pwd"}))).contains("/sub"));
    assert!(wire.other.iter().all(|message| message["method"] != "roots/list"), "nobody is asked for nothing");
}

#[test]
fn roots_change_nothing_where_the_directory_is_chosen_or_in_one_of_them() {
    let place = Place::new();
    let (mut chosen, project) = at_home(&place, &["--dir", "/usr"]);
    chosen.greet("2025-06-18", &json!({"roots": {}}));
    assert!(said(&chosen.call("Bash", &json!({"command": "pwd"}))).contains("/usr"));
    assert!(chosen.other.is_empty(), "{:?}", chosen.other);

    let mut command = place.server(&[]);
    command.current_dir(project.join("sub"));
    let mut inside = Wire::start(command);
    let hello = inside.greet("2025-06-18", &json!({"roots": {}}));
    assert!(hello["result"]["instructions"].as_str().unwrap().contains("/sub"), "{hello}");
    let call = inside.request("tools/call", json!({"name": "Bash", "arguments": {"command": "pwd"}}));
    let other = std::path::Path::new("/etc");
    give_roots(&mut inside, &roots_of(&[other, &project]));
    assert!(said(&inside.answer(call)["result"]).contains("/sub"));
}

#[test]
fn a_client_that_does_not_answer_for_its_roots_holds_nothing_up() {
    let place = Place::new();
    let (mut wire, _) = at_home(&place, &[]);
    wire.greet("2025-06-18", &json!({"roots": {}}));
    let home = place.folder.path().canonicalize().unwrap();
    let reply = said(&wire.call("Bash", &json!({"command": "pwd -P"})));
    assert!(reply.lines().any(|line| line == home.to_str().unwrap()), "{reply}");
    assert_eq!(wire.message()["method"], "roots/list", "it was asked");
}

#[test]
fn the_newest_revision_is_asked_for_roots_by_the_answer_to_a_call() {
    let place = Place::new();
    let (mut wire, project) = at_home(&place, &[]);
    wire.modern(&json!({"roots": {}}));
    let call = json!({"name": "Bash", "arguments": {"command": "pwd"}});
    let asked = wire.ask("tools/call", call.clone())["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert_eq!(asked["inputRequests"]["roots"]["method"], "roots/list", "{asked}");
    let mut again = call.clone();
    again["inputResponses"] = json!({"roots": roots_of(&[&project])});
    let reply = said(&wire.ask("tools/call", again)["result"]);
    assert!(reply.lines().any(|line| line == project.to_str().unwrap()), "{reply}");

    // One that calls again without an answer is not asked again.
    let (mut silent, _) = at_home(&place, &[]);
    silent.modern(&json!({"roots": {}}));
    assert_eq!(silent.ask("tools/call", call.clone())["result"]["resultType"], "input_required");
    assert_eq!(silent.ask("tools/call", call.clone())["result"]["resultType"], "complete");

    // And one that was started in a project is not asked at all.
    let mut command = place.server(&[]);
    command.current_dir(&project);
    let mut inside = Wire::start(command);
    inside.modern(&json!({"roots": {}}));
    assert_eq!(inside.ask("tools/call", call)["result"]["resultType"], "complete");
}

#[test]
fn roots_are_asked_for_over_http_as_well() {
    let place = Place::new();
    let project = place.folder.path().join("project");
    std::fs::create_dir(&project).unwrap();
    let server = Server::start(&place, "127.0.0.1:0", &[]);
    let session = Session::of(&server, "2025-06-18", &json!({"roots": {}}));
    let mut stream = session.listen();
    let asked = stream.find(|message| message["method"] == "roots/list").expect("it is asked");
    let project = project.canonicalize().unwrap();
    let told = session.post(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": roots_of(&[&project])}));
    assert_eq!(status(&told), 202, "{told}");
    // The list is not held up, so it may still be the old one; no command has run, so it becomes the new one.
    let starts_there = || session.ask("tools/list", &json!({})).to_string().contains("/project");
    assert!(eventually(LIMIT, starts_there));
    let reply = said(&session.call("Bash", &json!({"command": "pwd"})));
    assert!(reply.lines().any(|line| line == project.to_str().unwrap()), "{reply}");
}
