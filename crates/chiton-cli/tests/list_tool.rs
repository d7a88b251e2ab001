//! A tool that lists tasks, for tool surfaces that have none, where a person wants it.

use chiton_testkit::wire::Wire;
use serde_json::{Value, json};

use crate::place::Place;

fn tools(wire: &mut Wire) -> Vec<Value> {
    wire.ask("tools/list", json!({}))["result"]["tools"].as_array().unwrap().clone()
}

fn named(tools: &[Value], name: &str) -> Option<Value> {
    tools.iter().find(|tool| tool["name"] == name).cloned()
}

#[test]
fn a_surface_without_a_list_tool_gets_that_of_native_where_it_is_wanted() {
    let place = Place::new();
    let native = tools(&mut place.session(&[]));
    let list = named(&native, "ListShells").unwrap();
    for (dialect, starts) in [("claude", "Bash"), ("wave", "Bash"), ("opencode", "Bash"), ("exec", "exec_bg")] {
        let plain = tools(&mut place.session(&["--dialect", dialect]));
        assert_eq!(named(&plain, "ListShells"), None, "{dialect}: as what it imitates");

        let mut wire = place.session(&["--dialect", dialect, "--list-tool", "--structured"]);
        let more = tools(&mut wire);
        assert_eq!(more.len(), plain.len() + 1, "{dialect}");
        assert_eq!(named(&more, "ListShells").unwrap()["inputSchema"], list["inputSchema"], "{dialect}");

        let mut call = json!({"command": "sleep 60"});
        if starts == "Bash" {
            call["run_in_background"] = true.into();
        }
        wire.call(starts, &call);
        let listed = wire.call("ListShells", &json!({}));
        assert_eq!(listed["structuredContent"]["shells"][0]["command"], "sleep 60", "{dialect}: {listed}");
        let id = listed["structuredContent"]["shells"][0]["bash_id"].as_str().unwrap().to_owned();
        assert!(listed["content"][0]["text"].as_str().unwrap().contains(&id), "{dialect}: {listed}");
        place.call(&["kill", &id]);
    }
}

#[test]
fn a_surface_with_a_list_tool_gets_no_second_one() {
    let place = Place::new();
    for dialect in ["native", "gemini"] {
        let plain = tools(&mut place.session(&["--dialect", dialect]));
        assert_eq!(tools(&mut place.session(&["--dialect", dialect, "--list-tool"])), plain, "{dialect}");
    }
}

#[test]
fn the_settings_can_ask_for_it() {
    let place = Place::new();
    let mut server = place.server(&["--dialect", "wave"]);
    server.env("CHITON_MCP_LIST_TOOL", "true");
    assert!(named(&tools(&mut Wire::session(server)), "ListShells").is_some());
}

#[test]
fn the_list_says_how_large_the_machine_is() {
    let place = Place::new();
    let listed = place.session(&["--structured"]).call("ListShells", &json!({}));
    let machine = &listed["structuredContent"]["machine"];
    let cores = std::thread::available_parallelism().unwrap().get();
    assert_eq!(machine["cores"], cores, "{listed}");
    assert!(machine["memory_bytes"].as_u64().unwrap() > 1 << 20, "{listed}");
    let text = listed["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(&format!("[machine: {cores} core")) && text.ends_with("iB memory]"), "{text}");
}
