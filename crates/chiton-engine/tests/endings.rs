//! Every way to end has its name, and none is mistaken for another.

use std::time::Duration;

use chiton_engine::{CommandRequest, Outcome, RunControl, Session, Silent, StateReport};
use chiton_testkit::oracle;

use crate::harness::{Harness, runtime, seconds};

#[test]
fn every_exit_code_is_exact() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        for code in 0..=255 {
            let response = harness.run(&session, &format!("exit {code}")).await;
            assert_eq!(response.outcome, Outcome::Exited(code));
        }
    });
}

#[test]
fn death_by_every_signal_is_exact_and_no_exit_code() {
    // All but those that stop a process instead of ending it.
    let signals = (1..=64).filter(|number| ![19, 20, 21, 22, 32, 33].contains(number));
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        for number in signals {
            let command = format!("echo before; kill -{number} $$; echo after");
            let expected = oracle::bash(command.as_bytes(), "/".as_ref(), &[("PATH", crate::harness::PATH)]);
            let (observed, response) = harness.observe(&session, command.as_bytes()).await;
            assert_eq!(observed, expected, "signal {number}");
            if expected.status < 0 {
                assert_eq!(response.outcome.signal().map(chiton_engine::Signal::number), Some(number));
                assert_eq!(response.outcome.exit_code(), None);
            }
        }
        let killed = harness.run(&session, "kill -9 $$").await;
        let exited = harness.run(&session, "exit 137").await;
        assert_eq!(killed.outcome.to_string(), "was ended by SIGKILL");
        assert_eq!(exited.outcome, Outcome::Exited(137));
    });
}

#[test]
fn the_status_of_every_part_of_a_pipeline_is_known() {
    let harness = Harness::new();
    let cases: [(&str, &[i32]); 10] = [
        ("exit 3 | true | (exit 5)", &[3, 0, 5]),
        ("false | true", &[1, 0]),
        ("false | true # comment", &[1, 0]),
        ("echo 'a|b'", &[0]),
        ("set -o pipefail; (exit 4) | true", &[4, 0]),
        ("if true; then (exit 2) | (exit 3); fi", &[2, 3]),
        ("set -x; false | true", &[1, 0]),
        ("(exit 9)", &[9]),
        ("true | true; exit 3", &[3]),
        ("true | true\n)", &[2]),
    ];
    for (command, statuses) in cases {
        let response = runtime().block_on(harness.run(&harness.session(), command));
        assert_eq!(response.pipe_status, statuses, "{command}");
    }
}

#[test]
fn an_ending_says_what_was_used() {
    let harness = Harness::new();
    let command =
        "i=0; while ((i < 200000)); do ((i++)); done; head -c 50000000 /dev/zero | tail -c 50000000 >/dev/null";
    let response = runtime().block_on(harness.run(&harness.session(), command));
    assert!(response.usage.unwrap().user_us > 10_000, "{:?}", response.usage);
    assert!(response.usage.unwrap().peak_memory > 40_000_000, "tail keeps 50 MB: {:?}", response.usage);
    assert!(response.duration.as_micros() >= 10_000);
}

/// Ways a command ends that ruin a long-lived shell, and whether what it did before counts.
const RUINOUS: [(&str, bool); 10] = [
    ("cd /usr; A=2; exit 3", true),
    ("cd /usr; A=2; set -e; false; echo no", true),
    ("cd /usr; A=2; set -euo pipefail; false | true", true),
    ("cd /usr; A=2; exec true", false),
    ("cd /usr; A=2; kill -9 $$", false),
    ("cd /usr; A=2; kill -TERM $$", false),
    ("cd /usr; A=2; sleep 100", false),
    ("cd /usr; A=2\n)", true),
    ("cd /usr; A=2\necho \"open", true),
    ("f() { local B=1; cd /usr; A=2; exit 3; }; f", true),
];

#[test]
fn nothing_costs_a_session() {
    let harness = Harness::new();
    runtime().block_on(async {
        for (command, counts) in RUINOUS {
            let session = harness.session_in("/tmp".as_ref());
            harness.run(&session, "A=1; cd /tmp").await;
            let mut request = CommandRequest::new(command);
            request.timeout = Some(seconds(1));
            let response = harness.request(&session, request).await;
            assert_eq!(response.state == StateReport::Committed, counts, "{command}: {:?}", response.state);
            let next = harness.run(&session, "echo \"$A $PWD ${B-unset}\"; false; true | true; echo $-").await;
            let expected = if counts { "2 /usr unset\nhBc\n" } else { "1 /tmp unset\nhBc\n" };
            assert_eq!(next.stdout.to_text(), expected, "after {command}");
        }
    });
}

#[test]
fn a_timeout_keeps_what_was_printed_before_it_and_during_the_grace() {
    let harness = Harness::new();
    let mut request = CommandRequest::new("echo before; trap 'echo cleanup; exit 0' TERM; sleep 300 & wait");
    request.timeout = Some(seconds(1));
    request.grace = Some(seconds(250));
    let response = runtime().block_on(harness.request(&harness.session(), request));
    assert_eq!(response.outcome, Outcome::TimedOut);
    assert_eq!(response.stdout.to_text(), "before\ncleanup\n");
    assert!(response.duration < seconds(200), "the grace was waited out: {:?}", response.duration);
    assert!(matches!(&response.state, StateReport::Discarded(why) if why.contains("timed out")));
}

#[test]
fn a_timeout_holds_within_grace_for_one_that_ignores_it() {
    // Whoever forgets the grace of the call has that of the engine.
    let harness = Harness::with(|config| config.limits.stop.grace = seconds(300));
    let mut request = CommandRequest::new("trap '' TERM; while :; do sleep 1; done");
    request.timeout = Some(seconds(1));
    request.grace = Some(seconds(1));
    let start = std::time::Instant::now();
    let response = runtime().block_on(harness.request(&harness.session(), request));
    assert_eq!(response.outcome, Outcome::TimedOut);
    let took = start.elapsed();
    assert!(took >= seconds(2), "the grace was cut short: {took:?}");
    assert!(took < seconds(200), "the grace was not that of the call: {took:?}");
}

#[test]
fn a_call_s_own_limit_wins_over_the_engine_s() {
    let harness = Harness::with(|config| config.limits.default_timeout = Some(Duration::from_millis(300)));
    runtime().block_on(async {
        let session = harness.session();
        assert_eq!(harness.run(&session, "sleep 5").await.outcome, Outcome::TimedOut);
        let mut request = CommandRequest::new("sleep 0.6; echo done");
        request.timeout = Some(seconds(20));
        assert_eq!(harness.request(&session, request).await.stdout.to_text(), "done\n");
    });
}

#[test]
fn a_stopped_command_is_cancelled_or_killed_as_asked() {
    let harness = Harness::new();
    runtime().block_on(async {
        for (kill, expected) in [(false, Outcome::Cancelled), (true, Outcome::Killed)] {
            let control = RunControl::new();
            let remote = control.clone();
            let mut listener = move |event: chiton_engine::RunEvent<'_>| {
                if matches!(event, chiton_engine::RunEvent::Output { .. }) {
                    if kill { remote.kill() } else { remote.cancel() }
                }
            };
            let request = CommandRequest::new("echo up; bash -c 'sleep 1000' & wait");
            let session = harness.session();
            let response =
                harness.engine.run(&session, request, &mut listener, &control).await.unwrap().into_ran().unwrap();
            assert_eq!(response.outcome, expected);
            assert_eq!(response.stdout.to_text(), "up\n");
            assert!(response.survivors.is_empty() && response.leftovers.is_empty());
        }
    });
}

#[test]
fn a_run_cancelled_before_it_began_is_stopped_as_well() {
    let harness = Harness::new();
    let control = RunControl::new();
    control.cancel();
    let request = CommandRequest::new("sleep 1000");
    let session = harness.session();
    let response =
        runtime().block_on(harness.engine.run(&session, request, &mut Silent, &control)).unwrap().into_ran().unwrap();
    assert_eq!(response.outcome, Outcome::Cancelled);
}

#[test]
fn what_cannot_be_run_is_said_before_anything_starts() {
    let harness = Harness::new();
    let marker = harness.folder.path().join("marker");
    let command = format!("touch {}", marker.display());
    let refuse = |request: CommandRequest, session: &Session, words: &[&str]| {
        let error = runtime()
            .block_on(harness.engine.run(session, request, &mut Silent, &RunControl::new()))
            .unwrap_err()
            .to_string();
        for word in words {
            assert!(error.contains(word), "{error} lacks {word}");
        }
        assert!(!marker.exists(), "{error}");
    };
    let session = harness.session();
    let mut request = CommandRequest::new(command.as_str());
    request.directory = Some("/no/such/dir".into());
    refuse(request, &session, &["/no/such/dir", "No such file"]);
    let mut request = CommandRequest::new(command.as_str());
    request.directory = Some("/etc/hostname".into());
    refuse(request, &session, &["/etc/hostname", "not a directory"]);
    refuse(CommandRequest::new(format!("{command}\0")), &session, &["NUL"]);
    let mut request = CommandRequest::new(command.as_str());
    request.timeout = Some(Duration::ZERO);
    refuse(request, &session, &["timeout"]);
    let mut request = CommandRequest::new(command.as_str());
    request.environment = chiton_engine::EnvironmentChange::Merge([("1X".to_owned(), "v".into())].into());
    refuse(request, &session, &["1X"]);
    let runs = std::fs::read_dir(harness.folder.path().join("state/runs")).unwrap().count();
    assert_eq!(runs, 0, "nothing was started, so nothing is kept");
}

#[test]
fn a_keeper_that_is_none_is_named() {
    let harness = Harness::with(|config| config.keeper = "/bin/true".into());
    let request = CommandRequest::new("true");
    let session = harness.session();
    let error = runtime()
        .block_on(harness.engine.run(&session, request, &mut Silent, &RunControl::new()))
        .unwrap_err()
        .to_string();
    assert!(error.contains("/bin/true") && error.contains("serve_if_asked"), "{error}");
}

#[test]
fn a_keeper_that_was_killed_is_reported_as_lost_with_the_output_so_far() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        // The keeper is the parent of the shell.
        let response = harness.run(&session, "echo so far; sleep 0.2; kill -9 $PPID; sleep 0.5").await;
        assert_eq!(response.outcome, Outcome::Lost);
        assert_eq!(response.stdout.to_text(), "so far\n");
        assert_eq!(harness.run(&session, "echo next").await.stdout.to_text(), "next\n");
    });
}
