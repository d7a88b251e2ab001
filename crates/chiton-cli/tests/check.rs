//! `chiton check` as a person or a script uses it. It runs nothing, whatever it is given.
#![expect(clippy::disallowed_methods, reason = "the tests start the program from outside")]

mod place;

use std::io::Write;
use std::process::Stdio;

use place::{Place, text};

/// Arguments, a part of standard output, exit code.
const CASES: [(&[&str], &str, i32); 9] = [
    (&["ls -la"], "allow: Nothing speaks against it.", 0),
    (&["git push --force"], "ask [publish]", 10),
    (&["rm -rf /"], "deny [delete-root]", 20),
    (&["--home", "/home/x", "--user", "x", "--cwd", "/home/x/p", "rm -rf ~"], "/home/x: a home directory", 20),
    (&["--cwd", "/srv/app", "cd /tmp; rm -rf ../srv"], "/srv", 20),
    (&["--cwd", "/srv/app/sub", "--workspace", "/srv/app", "rm -rf .."], "the whole workspace", 10),
    (&["echo \"open"], "a double quote is never closed", 10),
    (&["vim x"], "note: vim waits for a person", 0),
    (&["-c"], "allow", 0),
];

#[test]
fn a_verdict_is_told_in_words_and_by_the_exit_code() {
    let place = Place::new();
    for (arguments, part, code) in CASES {
        let output = place.call(&[&["check"], arguments].concat());
        let shown = text(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {shown}{}", text(&output.stderr));
        assert!(shown.contains(part), "{arguments:?}: {shown}");
    }
}

#[test]
fn the_place_is_underlined() {
    let output = Place::new().call(&["check", "echo ok && rm -rf /etc # x"]);
    assert!(
        text(&output.stdout).contains("  echo ok && rm -rf /etc # x\n                    ^^^^\n"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn a_command_may_come_on_standard_input_and_the_verdict_as_json() {
    let place = Place::new();
    let mut child =
        place.command().args(["check", "--json", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"X=/\nsudo rm -rf \"$X\" > log\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(20));
    let verdict: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(verdict["verdict"], "deny");
    assert_eq!(verdict["rule"], "delete-root");
    assert_eq!(verdict["target"], "/");
    assert!(verdict["reason"].as_str().unwrap().contains('/'));
    assert_eq!(verdict["span"]["start"], 16);
    let words: Vec<&str> =
        verdict["commands"][1]["words"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
    assert_eq!(words, ["sudo", "rm", "-rf", "/"]);
    assert_eq!(verdict["files"][0]["access"], "write");
    assert_eq!(verdict["waits"][0]["program"], "sudo");
}
