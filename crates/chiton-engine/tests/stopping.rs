//! After a timeout, a cancel or a kill nobody is left, however they tried to get away.

use std::sync::Arc;
use std::time::Duration;

use chiton_engine::{CommandRequest, Outcome, RunControl, RunEvent};
use chiton_testkit::processes::{marked, parent_of};

use crate::harness::{Harness, mark, marked_request, runtime, seconds};

/// Each says `up` once it has got away.
const ESCAPES: [(&str, &str); 16] = [
    ("a child in the background", "sleep 300 & echo up; wait"),
    ("a child in a new session", "setsid sleep 300 & echo up; wait"),
    ("a new session that forked", "setsid --fork sleep 300; echo up; sleep 300"),
    ("a double fork", "(sleep 300 & ); echo up; sleep 300"),
    ("a double fork into a new session", "(setsid bash -c '(sleep 300 &)' & ); echo up; sleep 300"),
    ("nohup", "nohup sleep 300 >/dev/null 2>&1 & echo up; wait"),
    ("disown", "sleep 300 & disown -a; echo up; sleep 300"),
    ("a process group of its own", "set -m; sleep 300 & set +m; echo up; sleep 300"),
    ("one that ignores TERM", "trap '' TERM; echo up; while :; do sleep 300; done"),
    ("one that ignores every signal it can", "trap '' HUP INT QUIT TERM USR1 USR2 PIPE; echo up; sleep 300"),
    ("a child that ignores TERM in a new session", "setsid bash -c 'trap \"\" TERM; echo up; sleep 300; sleep 300'"),
    ("one that is stopped", "bash -c 'kill -STOP $$' & setsid bash -c 'kill -STOP $$' & echo up; wait"),
    ("a leader that is stopped", "sleep 300 & echo up; kill -STOP $$; sleep 300"),
    ("a changed name", "exec -a innocent sleep 300 & setsid bash -c 'exec -a \"[kworker]\" sleep 300' & echo up; wait"),
    ("a pipeline", "sleep 300 | (setsid sleep 300; cat) | sleep 300 & echo up; wait"),
    (
        "generation after generation",
        "ulimit -u 4000; f() { f & }; setsid bash -c \"$(declare -f f); f\" & f & echo up; sleep 300",
    ),
];

const ROUNDS: usize = 100;

#[test]
fn nobody_escapes_a_timeout_a_cancel_or_a_kill() {
    let harness = Arc::new(Harness::with(|config| config.limits.stop.grace = Duration::from_millis(40)));
    let runtime = runtime();
    for (name, command) in ESCAPES {
        let rounds: Vec<_> = (0..ROUNDS)
            .map(|round| {
                let harness = Arc::clone(&harness);
                runtime.spawn(async move { stop_once(&harness, name, command, round).await })
            })
            .collect();
        // A few at a time come to the same as all at once: the runtime has two threads, the machine its processes.
        for round in rounds {
            runtime.block_on(round).unwrap();
        }
    }
}

async fn stop_once(harness: &Harness, name: &str, command: &str, round: usize) {
    static ROOM: tokio::sync::Semaphore = tokio::sync::Semaphore::const_new(6);
    let _room = ROOM.acquire().await.unwrap();
    let mark = mark();
    let control = RunControl::new();
    let remote = control.clone();
    let mut request = marked_request(command, &mark);
    let expected = match round % 3 {
        0 => {
            request.timeout = Some(Duration::from_millis(150));
            Outcome::TimedOut
        }
        1 => Outcome::Cancelled,
        _ => Outcome::Killed,
    };
    let mut listener = move |event: RunEvent<'_>| {
        if matches!(event, RunEvent::Output { .. }) {
            match round % 3 {
                0 => {}
                1 => remote.cancel(),
                _ => remote.kill(),
            }
        }
    };
    let session = harness.session();
    let response = harness.engine.run(&session, request, &mut listener, &control).await.unwrap().into_ran().unwrap();
    assert_eq!(response.outcome, expected, "{name}");
    assert!(response.survivors.is_empty(), "{name}: {:?}", response.survivors);
    let left = marked(&mark);
    assert!(left.is_empty(), "{name}, round {round}: {left:?}");
}

#[test]
fn the_group_is_signalled_as_one_and_children_hear_it_too() {
    let harness = Harness::new();
    // Parent, child and grandchild each say that they were asked.
    let command = "trap 'echo parent; exit' TERM; \
        bash -c 'trap \"echo child; exit\" TERM; bash -c \"trap \\\"echo grandchild; exit\\\" TERM; echo up; sleep 100 & wait\" & wait; wait' & wait; wait";
    runtime().block_on(async {
        let control = RunControl::new();
        let remote = control.clone();
        let mut listener = move |event: RunEvent<'_>| {
            if matches!(event, RunEvent::Output { .. }) {
                remote.cancel();
            }
        };
        let session = harness.session();
        let request = CommandRequest::new(command);
        let response =
            harness.engine.run(&session, request, &mut listener, &control).await.unwrap().into_ran().unwrap();
        let text = response.stdout.to_text();
        for word in ["up", "parent", "child", "grandchild"] {
            assert!(text.lines().any(|line| line == word), "{word} in {text}");
        }
    });
}

#[test]
fn the_shell_leads_a_group_and_a_session_of_its_own() {
    let harness = Harness::new();
    let command = "read -r _ _ _ _ group session _ < /proc/$$/stat; echo $((group == $$)) $((session == $$))";
    let response = runtime().block_on(harness.run(&harness.session(), command));
    assert_eq!(response.stdout.to_text(), "1 1\n");
}

#[test]
fn a_kill_by_the_group_from_a_second_command_ends_the_first() {
    let harness = Harness::new();
    runtime().block_on(async {
        let mark = mark();
        let response =
            harness.request(&harness.session(), marked_request("sleep 300 & sleep 300 & echo $$", &mark)).await;
        let group = response.stdout.to_text().trim().to_owned();
        assert_eq!(marked(&mark).len(), 2);
        let keeper = parent_of(marked(&mark)[0].pid).cast_signed();
        harness.run(&harness.session(), &format!("kill -9 -{group}")).await;
        assert!(chiton_testkit::processes::eventually(seconds(5), || marked(&mark).is_empty()));
        assert!(chiton_testkit::processes::eventually(seconds(5), || {
            !std::path::Path::new(&format!("/proc/{keeper}")).exists()
        }));
    });
}

#[test]
fn a_second_request_to_stop_shortens_the_grace_and_keeps_the_cause() {
    let harness = Harness::new();
    let mut request = CommandRequest::new("trap '' TERM; echo up; while :; do sleep 100; done");
    request.grace = Some(seconds(300));
    runtime().block_on(async {
        let control = RunControl::new();
        let remote = control.clone();
        let mut listener = move |event: RunEvent<'_>| {
            if matches!(event, RunEvent::Output { .. }) {
                remote.cancel();
                let remote = remote.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    remote.cancel_within(Duration::ZERO);
                });
            }
        };
        let session = harness.session();
        let start = std::time::Instant::now();
        let response =
            harness.engine.run(&session, request, &mut listener, &control).await.unwrap().into_ran().unwrap();
        assert_eq!(response.outcome, Outcome::Cancelled);
        assert!(start.elapsed() < seconds(200), "the grace was waited out");
    });
}
