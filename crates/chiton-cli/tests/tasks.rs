//! Background commands from the command line.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use crate::place::{Place, text};

fn code(output: &std::process::Output) -> i32 {
    output.status.code().unwrap()
}

#[test]
fn a_background_command_is_listed_read_waited_for_and_killed() {
    let place = Place::new();
    let id = place.background(&[
        "--description",
        "the ticker",
        "for i in 1 2 3; do echo tick $i; echo err $i >&2; done; sleep 60",
    ]);
    let found = place.call(&["wait", "--for", "tick 3", "--timeout", "20s", &id]);
    assert_eq!((code(&found), text(&found.stdout)), (0, "tick 3\n".to_owned()));
    let list = text(&place.call(&["ps"]).stdout);
    assert!(list.contains(&id) && list.contains("running") && list.contains("the ticker: for i in"), "{list}");
    let json: serde_json::Value = serde_json::from_slice(&place.call(&["ps", "--json"]).stdout).unwrap();
    assert_eq!(
        (&json["run_id"], &json["status"], &json["is_running"]),
        (&id.as_str().into(), &"running".into(), &true.into())
    );
    let logs = place.call(&["logs", &id]);
    assert_eq!(
        (text(&logs.stdout).as_str(), text(&logs.stderr).as_str()),
        ("tick 1\ntick 2\ntick 3\n", "err 1\nerr 2\nerr 3\n")
    );
    assert_eq!(text(&place.call(&["logs", "--stderr", "--tail", "1", &id]).stderr), "err 3\n");
    assert_eq!(text(&place.call(&["logs", "--grep", "2", "--stdout", &id]).stdout), "tick 2\n");
    assert_eq!(code(&place.call(&["logs", "--grep", "nothing", &id])), 1);
    assert_eq!(code(&place.call(&["wait", "--timeout", "100ms", &id])), 124);
    assert_eq!(code(&place.call(&["wait", "--idle", "100ms", &id])), 0);
    let short = &id[..10];
    assert_eq!(text(&place.call(&["kill", short]).stdout), format!("{id} terminated\n"), "a beginning is enough");
    assert_eq!(text(&place.call(&["kill", &id]).stdout), format!("{id} already stopped (killed)\n"));
    assert_eq!(code(&place.call(&["wait", &id])), 137);
    assert_eq!(text(&place.call(&["ps"]).stdout), "");
    assert!(text(&place.call(&["ps", "--all"]).stdout).contains("killed"));
}

#[test]
fn logs_follow_a_command_of_another_process_to_its_end() {
    let place = Place::new();
    let id =
        place.background(&["echo first; while [ ! -e go ]; do sleep 0.02; done; echo second; echo third >&2; exit 4"]);
    let mut follower = place.command();
    follower.args(["logs", "-f", &id]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut follower = follower.spawn().unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "first");
    std::fs::write(place.folder.path().join("go"), "").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "second");
    assert!(lines.next().is_none());
    let output = follower.wait_with_output().unwrap();
    assert_eq!(text(&output.stderr), "third\n");
    assert_eq!(code(&place.call(&["wait", &id])), 4, "the command's own code");
}

#[test]
fn following_one_stream_or_the_tail_neither_loses_nor_repeats_a_line() {
    let place = Place::new();
    let id = place.background(&["for i in {1..30000}; do echo e$i >&2; (( i % 7 )) || echo o$i; done"]);
    assert_eq!(text(&place.call(&["logs", "-f", "--stdout", &id]).stdout).lines().count(), 30_000 / 7);
    let id = place.background(&["for i in {1..60000}; do echo $i; done"]);
    let shown = text(&place.call(&["logs", "-f", "--tail", "50", &id]).stdout);
    let numbers: Vec<u32> = shown.lines().map(|line| line.parse().unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "in order, each once");
    assert_eq!(numbers.last(), Some(&60_000));
}

#[test]
fn a_wait_is_from_the_beginning_or_for_what_is_new() {
    let place = Place::new();
    let id = place.background(&["echo built 1; until [ -e go ]; do sleep 0.02; done; echo built 2; sleep 60"]);
    let built = |options: &[&str]| place.call(&[&["wait", "--for", "built", "--timeout"], options, &[&id]].concat());
    assert_eq!(text(&built(&["20s"]).stdout), "built 1\n", "what is there already counts");

    let over = built(&["300ms", "--new"]);
    assert_eq!((code(&over), text(&over.stdout)), (124, String::new()));
    assert!(text(&over.stderr).contains("nothing new matches; an earlier line did: built 1"), "{}", text(&over.stderr));

    std::fs::write(place.folder.path().join("go"), "").unwrap();
    assert_eq!(text(&built(&["20s", "--since", "8"]).stdout), "built 2\n");
    assert_eq!(text(&built(&["20s", "--since", "0"]).stdout), "built 1\n");
    place.call(&["kill", &id]);
}

#[test]
fn a_pattern_far_behind_is_found() {
    let place = Place::new();
    let id = place.background(&["yes 0123456789 | head -n 3200000; echo READY; sleep 60"]);
    let found = place.call(&["wait", "--for", "READY", "--timeout", "60s", &id]);
    assert_eq!((code(&found), text(&found.stdout)), (0, "READY\n".to_owned()));
    place.call(&["kill", &id]);
}

#[test]
fn a_kill_does_not_wait_for_a_caller_that_does_not_read() {
    let place = Place::new();
    let mut caller = place.command();
    caller.args(["run", "yes"]).stdout(Stdio::piped());
    let mut caller = caller.spawn().unwrap();
    let listed = || text(&place.call(&["ps"]).stdout);
    assert!(chiton_testkit::processes::eventually(Duration::from_secs(10), || listed().contains("running")));
    // Nobody ever reads: a kill that waited for it would not return.
    assert!(text(&place.call(&["kill", "--all"]).stdout).ends_with(" yes\n1 terminated\n"));
    caller.kill().unwrap();
    caller.wait().unwrap();
}

#[test]
fn the_longest_times_are_as_good_as_any() {
    let place = Place::new();
    let long = "2562047788015214h";
    let id = place.background(&["trap '' TERM; sleep 60"]);
    assert_eq!(code(&place.call(&["wait", "--timeout", "100ms", "--idle", long, &id])), 124);
    assert_eq!(code(&place.call(&["kill", "--grace", "50ms", &id])), 0);
    let output = place.run(&["--timeout", long, "--grace", long, "--wait", long, "echo fine"]);
    assert_eq!((code(&output), text(&output.stdout)), (0, "fine\n".to_owned()));
}

#[test]
fn text_end_of_input_and_signals_are_sent() {
    let place = Place::new();
    let id = place.background(&["--open-stdin", "read line; echo got $line; cat"]);
    assert_eq!(code(&place.call(&["send", &id, "hello there"])), 0);
    assert_eq!(code(&place.call(&["send", "-n", "--eof", &id, "no newline"])), 0);
    assert_eq!(code(&place.call(&["wait", "--timeout", "20s", &id])), 0);
    assert_eq!(text(&place.call(&["logs", &id]).stdout), "got hello there\nno newline");
    let late = place.call(&["send", &id, "late"]);
    assert_eq!(code(&late), 125);
    assert!(text(&late.stderr).contains("has ended"), "{}", text(&late.stderr));
    let id = place.background(&["trap 'echo int; exit 3' INT; echo up; while :; do sleep 0.02; done"]);
    place.call(&["wait", "--for", "up", "--timeout", "20s", &id]);
    let closed = place.call(&["send", &id, "text"]);
    assert!(text(&closed.stderr).contains("start it with --open-stdin"), "{}", text(&closed.stderr));
    assert_eq!(code(&place.call(&["send", "--signal", "INT", &id])), 0);
    assert_eq!(code(&place.call(&["wait", "--timeout", "20s", &id])), 3);
    assert!(text(&place.call(&["send", "--signal", "NONE", &id]).stderr).contains("no signal of this name"));
    assert_eq!(code(&place.call(&["send", &id])), 125, "nothing to send");
}

#[test]
fn a_command_that_takes_too_long_is_handed_back_alive() {
    let place = Place::new();
    for arguments in [&["--wait", "200ms"][..], &["--timeout", "200ms", "--on-timeout", "background"]] {
        let output = place.run(&[arguments, &["echo before; sleep 0.8; echo after"]].concat());
        assert_eq!((code(&output), text(&output.stdout)), (0, "before\n".to_owned()));
        let note = text(&output.stderr);
        let id =
            note.split_whitespace().find(|word| word.starts_with("shell_")).unwrap().trim_end_matches(';').to_owned();
        assert_eq!(code(&place.call(&["wait", &id])), 0);
        assert_eq!(text(&place.call(&["logs", &id]).stdout), "before\nafter\n");
    }
    let json = place.json(&["--wait", "100ms", "sleep 60"]);
    assert_eq!(json["outcome"], "running");
    let killed = text(&place.call(&["kill", "--all"]).stdout);
    assert!(killed.starts_with("shell_") && killed.ends_with(" sleep 60\n1 terminated\n"), "{killed}");
}

#[test]
fn mistakes_are_answered_with_what_to_do() {
    let place = Place::new();
    let id = place.background(&["true"]);
    place.call(&["wait", &id]);
    let cases: [(&[&str], &str); 6] = [
        (&["logs", "shell_00000000"], "not found"),
        (&["wait", "shell_00000000"], "not found"),
        (&["kill", "shell_00000000"], "not found"),
        (&["send", "shell_00000000", "x"], "not found"),
        (&["logs", "--grep", "[bad", &id], "Invalid filter regex '[bad'"),
        (&["wait", "--for", "[bad", &id], "[bad"),
    ];
    for (arguments, words) in cases {
        let output = place.call(arguments);
        assert_ne!(code(&output), 0, "{arguments:?}");
        assert!(text(&output.stderr).contains(words), "{arguments:?}: {}", text(&output.stderr));
    }
    let near = format!("{}x", &id[..13]);
    assert!(text(&place.call(&["logs", &near]).stderr).contains(&format!("did you mean {id}?")));
}

#[test]
fn finished_commands_are_cleaned_up_and_running_ones_stay() {
    let place = Place::new();
    for number in 0..5 {
        place.run(&[&format!("echo {number}")]);
    }
    let id = place.background(&["sleep 60"]);
    assert!(text(&place.call(&["clean", "--older-than", "1h"]).stdout).starts_with("0 removed"));
    assert!(text(&place.call(&["clean", "--keep", "3"]).stdout).starts_with("2 removed"));
    assert!(text(&place.call(&["clean"]).stdout).starts_with("3 removed"));
    assert!(text(&place.call(&["ps"]).stdout).contains(&id));
    place.call(&["kill", &id]);
}

#[test]
fn ids_are_completed() {
    let place = Place::new();
    let id = place.background(&["echo hello"]);
    place.call(&["wait", &id]);
    let mut complete = place.command();
    complete.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", "2").env("_CLAP_IFS", "\n");
    let output = complete.args(["--", "chiton", "logs", "shell_"]).output().unwrap();
    assert!(text(&output.stdout).contains(&id), "{}", text(&output.stdout));
}
