//! Recorded outputs through the whole program: what a reply leaves out can be read back byte for byte, the exit code is the
//! command's own, and output that is the answer is whole.
//!
//! Programs of the recorded names stand first in `PATH`, print what was recorded and end as the real ones did.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use chiton_testkit::wire::Wire;
use serde_json::{Value, json};

use crate::place::Place;

/// A command and the recording that it prints.
const SHORTENED: &[(&str, &str)] = &[
    ("cargo build", "cargo-build-app"),
    ("cd . && timeout 60 cargo test 2>&1", "cargo-test-large"),
    ("cargo fetch", "cargo-fetch-app"),
    ("pytest -v", "pytest-click"),
    ("go test -v ./sum", "go-test-fails"),
    ("npm install express", "npm-install-verbose"),
    ("make -j2 all", "make-parallel"),
    ("cmake --build build", "cmake-build"),
    ("go test -v ./...", "go-test-verbose"),
    ("zip -r small.zip small", "zip"),
];

const WHOLE: &[(&str, &str)] = &[
    ("grep -rn Version .", "grep-recursive"),
    ("diff -ru one other", "diff-unified"),
    ("ls -la", "ls-long"),
    ("find . -type f", "find"),
    ("git log", "git-log"),
    ("git log --stat -12", "git-log-stat"),
    ("git diff HEAD~9", "git-diff"),
    ("cat app.log", "cargo-fetch-app"),
    ("make | tail -n 300", "make-parallel"),
    ("jq . x.json", "jq"),
    ("cargo metadata --format-version 1", "cargo-metadata"),
    ("sqlite3 x.db 'select 1'", "sqlite-table"),
    ("rustc wrong.rs", "rustc-errors"),
    ("make -k", "make-fails"),
];

/// A program that prints this recording and ends like it.
fn stand_in(folder: &Path, program: &str, recording: &str) -> (String, i64) {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../chiton-dialects/tests/outputs").join(recording);
    let about: Value = serde_json::from_slice(&std::fs::read(recorded.with_extension("json")).unwrap()).unwrap();
    let output = recorded.with_extension("out");
    let text = std::fs::read_to_string(&output).unwrap();
    let code = about["exit"].as_i64().unwrap();
    let path = folder.join(program);
    std::fs::write(&path, format!("#!/bin/sh\n/bin/cat '{}'\nexit {code}\n", output.display())).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    (text, code)
}

/// What a command that prints a recording is answered with, and the recording.
fn played(place: &Place, command: &str, program: &str, recording: &str) -> (Wire, Value, String, i64) {
    let bin = place.folder.path().join("bin");
    let _ = std::fs::remove_dir_all(&bin);
    std::fs::create_dir(&bin).unwrap();
    let (text, code) = stand_in(&bin, program, recording);
    let mut server = place.server(&[]);
    server.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let mut wire = Wire::session(server);
    let reply = wire.call("Bash", &json!({"command": command}));
    (wire, reply, text, code)
}

fn text_of(reply: &Value) -> &str {
    reply["content"][0]["text"].as_str().unwrap()
}

fn program_in(command: &str) -> &str {
    let words = command.split_whitespace();
    words.into_iter().find(|word| !["cd", ".", "&&", "timeout", "60"].contains(word)).unwrap()
}

#[test]
fn what_is_left_out_can_be_read_back_byte_for_byte_and_the_exit_code_is_as_it_was() {
    let place = Place::new();
    for (command, recording) in SHORTENED {
        let (mut wire, reply, whole, code) = played(&place, command, program_in(command), recording);
        let facts = &reply["structuredContent"];
        assert_eq!(facts["exit_code"], code, "{command}: {reply}");
        let id = facts["bash_id"].as_str().unwrap_or_else(|| panic!("{command}: no id in {reply}"));
        assert!(text_of(&reply).len() < whole.len(), "{command} is not shorter: {reply}");
        let shown = facts["output"].as_str().unwrap();
        assert!(text_of(&reply).contains(shown.trim_end()), "{command}: {reply}");

        let mut again = String::new();
        let mut gaps = 0;
        for line in shown.split_inclusive('\n') {
            let Some(range) = line.strip_prefix("[… ").and_then(|rest| rest.split_once(": ")) else {
                again.push_str(line);
                continue;
            };
            gaps += 1;
            let range = range.1.trim_end().trim_end_matches(']');
            let read = wire.call("BashOutput", &json!({"bash_id": id, "range": range}));
            again.push_str(read["structuredContent"]["output"].as_str().unwrap_or_else(|| panic!("{read}")));
        }
        assert!(gaps > 0, "{command}: {shown}");
        assert_eq!(again, whole, "{command}");
    }
}

#[test]
fn the_answer_of_a_program_and_the_errors_of_a_build_are_whole() {
    let place = Place::new();
    for (command, recording) in WHOLE {
        let (_wire, reply, whole, code) = played(&place, command, program_in(command), recording);
        assert_eq!(reply["structuredContent"]["exit_code"], code, "{command}: {reply}");
        assert!(text_of(&reply).contains(whole.trim_end()), "{command}: {}", text_of(&reply));
    }
}

#[test]
fn compact_false_shows_every_line() {
    let place = Place::new();
    let (mut wire, reply, whole, _) = played(&place, "cargo build", "cargo", "cargo-build-app");
    assert!(!text_of(&reply).contains(whole.trim_end()), "{reply}");
    let reply = wire.call("Bash", &json!({"command": "cargo build", "compact": false}));
    assert!(text_of(&reply).contains(whole.trim_end()), "{reply}");
}
