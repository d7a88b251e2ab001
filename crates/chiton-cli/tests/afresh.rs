//! A session that is broken begins afresh, and one whose directory is gone goes on elsewhere, after one word about it.

use std::fs;
use std::path::Path;

use chiton_testkit::wire::Wire;
use serde_json::{Value, json};

use crate::place::{Place, said, text};

fn bash(wire: &mut Wire, arguments: &Value) -> String {
    said(&wire.call("Bash", arguments))
}

/// What breaks a session, what then fails, what the reply says about it, and a command that works again.
const BROKEN: &[(&str, &str, &str)] = &[
    ("unset PATH", "uname", "PATH is empty in this session"),
    ("PATH=", "uname", "PATH is empty in this session"),
    ("export PATH=/nonexistent", "uname", "PATH of this session has none of the directories"),
    ("readonly LIMIT=1", "LIMIT=2; uname", "LIMIT was made readonly earlier"),
    ("readonly LIMIT=1", "unset LIMIT && uname", "LIMIT was made readonly earlier"),
    ("f() { :; }; readonly -f f", "f() { echo; } && uname", "f was made readonly earlier"),
];

#[test]
fn a_broken_session_is_told_once_how_it_begins_afresh_and_does() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    for session in [None, Some("work")] {
        for (breaks, fails, words) in BROKEN {
            let mut call = |command: &str, reset: bool| {
                let mut arguments = json!({"command": command, "session": session});
                if reset {
                    arguments["reset"] = true.into();
                }
                bash(&mut wire, &arguments)
            };
            let begun = call("cd /usr; export COLOUR=red; g() { :; }; shopt -s nullglob; umask 077; pwd", false);
            assert!(begun.contains("/usr"), "{begun}");
            call(breaks, false);
            let told = call(fails, false);
            assert!(told.contains(words) && told.contains("reset: true starts the session afresh"), "{breaks}: {told}");
            let again = call(fails, false);
            assert!(!again.contains("starts the session afresh"), "{breaks}: told twice: {again}");

            let fresh =
                call(&format!("{fails}; echo \"$PWD ${{COLOUR-none}}\"; type -t g; shopt nullglob; umask"), true);
            let here = place.folder.path().canonicalize().unwrap();
            let expected = format!("Linux\n{} none\nnullglob       \toff\n0022", here.display());
            assert!(fresh.contains(&expected) && !fresh.contains("readonly"), "{breaks}: {fresh}");
        }
    }
}

#[test]
fn a_failure_that_the_state_has_nothing_to_do_with_is_not_blamed_on_it() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    for arguments in [
        json!({"command": "no-such-program"}),
        json!({"command": "no-such-program", "env": {"PATH": "/nonexistent"}}),
        json!({"command": "readonly NEW=1; NEW=2"}),
        json!({"command": "echo 'bash: line 1: OTHER: readonly variable'; exit 1"}),
        json!({"command": "exit 127"}),
    ] {
        let text = bash(&mut wire, &arguments);
        assert!(!text.contains("afresh"), "{arguments}: {text}");
    }
}

#[test]
fn a_named_session_begins_afresh_for_everybody_who_uses_it() {
    let place = Place::new();
    let mut wire = place.session(&["--session", "work"]);
    bash(&mut wire, &json!({"command": "cd /usr; unset PATH"}));
    let broken = place.run(&["--session", "work", "uname"]);
    assert_eq!(broken.status.code(), Some(127));
    let remark = text(&broken.stderr);
    assert!(remark.contains("PATH is empty") && remark.contains("`chiton run --session work --reset`"), "{remark}");

    let fresh = place.run(&["--session", "work", "--reset", "uname; pwd"]);
    let here = place.folder.path().canonicalize().unwrap();
    assert_eq!(text(&fresh.stdout), format!("Linux\n{}\n", here.display()));
    assert!(text(&place.run(&["--session", "work", "pwd; export A=1"]).stdout).starts_with(here.to_str().unwrap()));
    assert_ne!(place.run(&["--reset", "true"]).status.code(), Some(0), "there is no session to begin afresh");

    // The session of a server has its name, too: what is written down is reset with it.
    let fresh = bash(&mut wire, &json!({"command": "uname; pwd", "reset": true}));
    assert!(fresh.contains(&format!("Linux\n{}", here.display())), "{fresh}");
    wire.close();
    let after = text(&place.run(&["--session", "work", "pwd; echo ${A-none}"]).stdout);
    assert_eq!(after, format!("{}\nnone\n", here.display()));
}

/// A dialect, its tool, and the parameter of the command.
const SURFACES: &[(&str, &str, &str)] = &[
    ("native", "Bash", "command"),
    ("claude", "Bash", "command"),
    ("wave", "Bash", "command"),
    ("boris", "bash", "command"),
    ("anthropic", "bash", "command"),
    ("opencode", "Bash", "command"),
    ("codex", "exec_command", "cmd"),
    ("gemini", "run_shell_command", "command"),
    ("modes", "bash", "command"),
];

fn told(result: &Value, gone: &Path, now: &Path) {
    let said = result.to_string();
    assert_eq!(result["isError"], true, "{said}");
    assert!(said.contains(&format!("{} is gone, so nothing was run", gone.display())), "{said}");
    assert!(said.contains(&format!("The session is in {} now", now.display())), "{said}");
}

#[test]
fn a_directory_that_is_gone_is_told_once_in_every_dialect() {
    for (dialect, tool, parameter) in SURFACES {
        let place = Place::new();
        let root = place.folder.path().canonicalize().unwrap();
        let work = root.join("work");
        fs::create_dir(&work).unwrap();
        let mut wire = place.session(&["--dialect", dialect, "--dir", work.to_str().unwrap()]);
        let mut run = |command: &str| wire.call(tool, &json!({*parameter: command}));
        assert!(run("pwd").to_string().contains(work.to_str().unwrap()), "{dialect}");

        fs::remove_dir(&work).unwrap();
        told(&run("echo > ran"), &work, &root);
        let second = run("echo > ran; pwd").to_string();
        assert!(second.contains(root.to_str().unwrap()) && !second.contains("is gone"), "{dialect}: {second}");
        assert!(root.join("ran").exists(), "{dialect}");
        assert!(!run("pwd").to_string().contains("is gone"), "{dialect}");
    }
}

#[test]
fn a_surface_that_always_starts_in_one_place_goes_back_there_when_it_can() {
    let place = Place::new();
    let root = place.folder.path().canonicalize().unwrap();
    let work = root.join("work");
    fs::create_dir(&work).unwrap();
    let mut wire = place.session(&["--dialect", "codex", "--dir", work.to_str().unwrap()]);
    let mut pwd = || wire.call("exec_command", &json!({"cmd": "pwd"}));
    fs::remove_dir(&work).unwrap();
    told(&pwd(), &work, &root);
    assert!(!pwd().to_string().contains("/work\\n"));
    fs::create_dir(&work).unwrap();
    let back = pwd().to_string();
    assert!(back.contains("/work\\n"), "{back}");
}

#[test]
fn a_named_session_whose_directory_is_gone_goes_on_elsewhere_in_any_process() {
    let place = Place::new();
    let root = place.folder.path().canonicalize().unwrap();
    let work = root.join("work");
    let mut wire = place.session(&[]);
    let lose = |wire: &mut Wire| {
        fs::create_dir(&work).unwrap();
        bash(wire, &json!({"command": format!("cd {}", work.display()), "session": "s"}));
        fs::remove_dir(&work).unwrap();
    };

    lose(&mut wire);
    told(&wire.call("Bash", &json!({"command": "pwd", "session": "s"})), &work, &root);
    assert!(bash(&mut wire, &json!({"command": "pwd", "session": "s"})).contains(root.to_str().unwrap()));

    lose(&mut wire);
    let first = place.run(&["--session", "s", "pwd"]);
    assert_eq!(first.status.code(), Some(125));
    let why = text(&first.stderr);
    assert!(why.contains("is gone, so nothing was run. The session is in"), "{why}");
    assert_eq!(text(&place.run(&["--session", "s", "pwd"]).stdout), format!("{}\n", root.display()));

    lose(&mut wire);
    assert_eq!(place.run(&["--background", "--session", "s", "pwd"]).status.code(), Some(125));
    assert!(
        bash(&mut wire, &json!({"command": "pwd", "session": "s"})).contains(root.to_str().unwrap()),
        "told already"
    );
}
