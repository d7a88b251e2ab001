//! Nonsense on the wire: every answer is JSON-RPC, nothing breaks, nothing is left over.

use chiton_testkit::dice::Dice;
use chiton_testkit::processes::resident_memory;
use serde_json::{Value, json};

use crate::place::Place;

/// A value of any type, as wrong as it gets.
fn value(dice: &mut Dice, depth: usize) -> Value {
    match dice.roll(if depth == 0 { 9 } else { 11 }) {
        0 => Value::Null,
        1 => json!(dice.roll(2) == 0),
        2 => json!(i64::MIN),
        3 => json!(u64::MAX),
        4 => json!(-0.5),
        5 => json!(1e300),
        6 => json!(""),
        7 => json!("\u{0}\u{feff}\u{202e}\u{1f980}'\"$(true)`\\\n"),
        8 => json!("x".repeat(dice.roll(5000))),
        9 => Value::Array((0..dice.roll(4)).map(|_| value(dice, depth - 1)).collect()),
        _ => {
            let names = ["command", "name", "arguments", "timeout", "", "_meta", "bash_id", "\u{0}"];
            (0..dice.roll(4)).map(|_| ((*dice.one_of(&names)).to_owned(), value(dice, depth - 1))).collect()
        }
    }
}

/// What a method may be, real and not.
const METHODS: [&str; 14] = [
    "tools/call", "tools/call", "tools/call", "tools/list", "resources/read", "resources/list", "resources/subscribe",
    "tasks/get", "logging/setLevel", "completion/complete", "prompts/get", "initialize", "no/such", "",
];
/// Tools that can be called with anything without running anything.
const TOOLS: [&str; 6] = ["BashOutput", "BashInput", "KillShell", "ListShells", "Nothing", ""];

#[test]
fn nonsense_is_answered_in_json_and_leaves_nothing_behind() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let mut dice = Dice::new(0x5eed_1234_abcd_0001);
    let before = resident_memory(wire.server.id());
    for round in 0..3000_u64 {
        let id = 100_000 + round;
        let method = *dice.one_of(&METHODS);
        let mut params = value(&mut dice, 3);
        if method == "tools/call" && dice.roll(3) > 0 {
            // A command is never part of it: what would run is not for a fuzzer to choose.
            let mut arguments = value(&mut dice, 2);
            if let Some(entries) = arguments.as_object_mut() {
                entries.remove("command");
            }
            let tool = if dice.roll(4) == 0 { "Bash" } else { dice.one_of(&TOOLS) };
            params = json!({"name": tool, "arguments": arguments});
        }
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        match dice.roll(8) {
            // Cut anywhere, so that it is no JSON.
            0 => {
                let cut = line.as_bytes()[..=dice.roll(line.len() - 1)].to_vec();
                let whole = serde_json::from_slice::<Value>(&cut).is_ok();
                wire.raw(&cut);
                wire.raw(b"\n");
                if !whole {
                    assert_eq!(wire.message()["error"]["code"], -32700, "{line}");
                }
            }
            // A byte that is no text, which is read as a replacement where it is in a string.
            1 => {
                let mut broken = line.clone().into_bytes();
                let place = dice.roll(broken.len());
                broken.insert(place, 0xff);
                let read = serde_json::from_str::<Value>(&String::from_utf8_lossy(&broken));
                wire.raw(&broken);
                wire.raw(b"\n");
                match read {
                    Err(_) => assert_eq!(wire.message()["error"]["code"], -32700, "{line}"),
                    Ok(read) if read["id"] == id && read["method"].is_string() => drop(wire.answer(id)),
                    // Its id or its method is gone: it may be answered or not.
                    Ok(_) => drop(wire.ask("ping", json!({}))),
                }
            }
            _ => {
                wire.raw(line.as_bytes());
                wire.raw(b"\n");
                let answer = wire.answer(id);
                assert_eq!(answer["jsonrpc"], "2.0");
                let kinds = [answer.get("result").is_some(), answer.get("error").is_some()];
                assert_eq!(kinds.iter().filter(|kind| **kind).count(), 1, "{line}: {answer}");
                if let Some(error) = answer.get("error") {
                    assert!(error["code"].is_i64() && error["message"].is_string(), "{answer}");
                }
                let said = answer.to_string();
                assert!(!said.contains("panicked") && !said.contains("Error {"), "{line}: {said}");
            }
        }
        wire.other.clear();
    }
    let after = resident_memory(wire.server.id());
    assert!(after < before + (32 << 20), "grew by {} KiB", (after - before) >> 10);
    let listed = place.call(&["ps", "--all", "--json"]).stdout;
    assert!(!String::from_utf8_lossy(&listed).contains("shell_"), "something ran");
    assert!(wire.close().success());
}

#[test]
fn large_and_deep_arguments_are_taken_or_refused_in_words() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let large = "x".repeat(20 << 20);
    let result = wire.call("Bash", &json!({"command": "wc -c", "stdin": large}));
    assert_eq!(result["structuredContent"]["output"].as_str().unwrap().trim(), (20 << 20).to_string());
    let refused = wire.call("Bash", &json!({"command": format!("true #{large}")}));
    assert!(
        refused["isError"] == true || refused["structuredContent"]["exit_code"] == 0,
        "{}",
        &refused.to_string()[..300]
    );
    let unknown = wire.call("Bash", &json!({"command": "true", "nonsense": large}));
    assert!(unknown["isError"] == false && unknown.to_string().len() < 2000, "a note is no echo");
    let wrong = wire.call("Bash", &json!({"command": {"large": large}}));
    assert!(wrong["isError"] == true && wrong.to_string().len() < 2000, "an error is no echo");
    let missing = wire.call(&large, &json!({}));
    assert!(missing["isError"] == true && missing.to_string().len() < 2000, "an error is no echo");
    let named = wire.call("Bash", &json!({"command": "true", large.as_str(): 1}));
    assert!(named["isError"] == false && named.to_string().len() < 2000, "a note is no echo");
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    wire.raw(format!("{{\"jsonrpc\": \"2.0\", \"id\": 9, \"method\": \"ping\", \"params\": {deep}}}\n").as_bytes());
    assert_eq!(wire.message()["error"]["code"], -32700);
    assert_eq!(wire.ask("ping", json!({}))["result"], json!({}));
}
