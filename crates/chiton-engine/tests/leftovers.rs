//! A command ends when its shell ends; what it leaves running is named, kept, and heard.

use std::time::{Duration, Instant};

use chiton_engine::capture::spool::SpoolReader;
use chiton_engine::{AnswerMode, CommandRequest, Lifetime, Outcome, Stream};
use chiton_testkit::processes::{eventually, marked};

use crate::harness::{Harness, mark, marked_request, runtime, seconds};

/// Ways to leave something behind that holds one or both streams.
const LEAVING: [(&str, &str); 10] = [
    ("background", "sleep 60 & echo started"),
    ("setsid", "setsid sleep 60 & echo started"),
    ("nohup", "nohup sleep 60 >/dev/null 2>&1 & echo started"),
    ("double fork", "(sleep 60 &) ; echo started"),
    ("disown", "sleep 60 & disown; echo started"),
    ("triple fork in a new session", "(setsid bash -c '(sleep 60 &) & sleep 60' &) ; echo started"),
    ("holds stdout only", "sleep 60 2>/dev/null & echo started"),
    ("holds stderr only", "sleep 60 >/dev/null & echo started"),
    ("coprocess", "coproc sleep 60; echo started"),
    ("in a function of a subshell", "f() { sleep 60 & }; (f); echo started"),
];

#[test]
fn a_command_that_leaves_something_running_returns_at_once_and_names_it() {
    let harness = Harness::new();
    runtime().block_on(async {
        for (name, command) in LEAVING {
            // The promise is about us, not about a machine that is busy: the best of three counts.
            let mut best = Duration::MAX;
            for _ in 0..3 {
                best = best.min(leave_once(&harness, name, command).await);
                if best < PROMISED {
                    break;
                }
            }
            assert!(best < PROMISED, "{name}: answered {best:?} after the end");
        }
    });
}

/// How long after the end of its shell a command is answered.
const PROMISED: Duration = Duration::from_millis(250);

async fn leave_once(harness: &Harness, name: &str, command: &str) -> Duration {
    let mark = mark();
    let start = Instant::now();
    let response = harness.request(&harness.session(), marked_request(command, &mark)).await;
    let took = start.elapsed().saturating_sub(response.duration);
    assert_eq!(response.outcome, Outcome::Exited(0), "{name}");
    assert_eq!(response.stdout.to_text(), "started\n", "{name}");
    let named: Vec<i32> = response.leftovers.iter().map(|leftover| leftover.pid).collect();
    let alive: Vec<i32> = marked(&mark).iter().map(|process| process.pid).collect();
    assert_eq!(named, alive, "{name}: exactly those that run are named");
    assert!(response.leftovers.iter().any(|leftover| leftover.command == "sleep 60"), "{name}");
    end(&alive);
    assert!(eventually(seconds(5), || marked(&mark).is_empty()), "{name}");
    took
}

fn end(pids: &[i32]) {
    for pid in pids {
        let pid = rustix_pid(*pid);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

fn rustix_pid(pid: i32) -> rustix::process::Pid {
    rustix::process::Pid::from_raw(pid).unwrap()
}

#[test]
fn what_a_leftover_prints_later_is_kept() {
    let harness = Harness::new();
    let gate = harness.folder.path().join("gate");
    let command = format!(
        "(until [ -e {0} ]; do sleep 0.02; done; echo later; echo oops >&2; exec sleep 60) & echo now",
        gate.display()
    );
    runtime().block_on(async {
        let mark = mark();
        let response = harness.request(&harness.session(), marked_request(&command, &mark)).await;
        assert_eq!(response.stdout.to_text(), "now\n");
        std::fs::write(&gate, "").unwrap();
        let spool = SpoolReader::open(&harness.folder_of(&response.run_id));
        let text = |stream| -> Vec<u8> {
            spool.read(stream, 0..u64::MAX).unwrap().into_iter().flat_map(|piece| piece.bytes).collect()
        };
        assert!(
            eventually(seconds(10), || text(Stream::Stdout) == b"now\nlater\n" && text(Stream::Stderr) == b"oops\n")
        );
        end(&marked(&mark).iter().map(|process| process.pid).collect::<Vec<_>>());
    });
}

#[test]
fn who_keeps_a_leftover_sleeps() {
    let harness = Harness::new();
    runtime().block_on(async {
        // One that changes nothing in its session, one whose state is handed back, and one that a signal ends while its
        // shell hands it back.
        for command in ["sleep 60 & echo started", "sleep 60 & X=1; echo started", "sleep 60 & kill -TERM $$"] {
            let mark = mark();
            // With the answer before the state, as servers have it.
            let request = CommandRequest { answer: AnswerMode::BeforeState, ..marked_request(command, &mark) };
            let session = harness.session();
            let response = harness.request(&session, request).await;
            session.settled().await;

            let start = std::fs::read_to_string(harness.folder_of(&response.run_id).join("start.json")).unwrap();
            let keeper = start.split("\"keeper\":").nth(1).unwrap().trim_end_matches('}').to_owned();
            let wakes = || {
                let status = std::fs::read_to_string(format!("/proc/{keeper}/status")).unwrap();
                let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
                line.trim().parse::<u64>().unwrap()
            };
            // At first it makes itself small, which may take a while on a busy machine.
            let mut sleeps = false;
            for _ in 0..5 {
                let before = wakes();
                tokio::time::sleep(seconds(1)).await;
                sleeps = wakes() == before;
                if sleeps {
                    break;
                }
            }
            assert!(sleeps, "{command}: it wakes up all the time");
            end(&marked(&mark).iter().map(|process| process.pid).collect::<Vec<_>>());
        }
    });
}

#[test]
fn output_of_a_helper_that_is_just_finishing_is_part_of_the_answer() {
    let harness = Harness::new();
    let response = runtime().block_on(harness.run(&harness.session(), "echo through > >(sleep 0.03; cat)"));
    assert_eq!(response.stdout.to_text(), "through\n");
    assert!(response.leftovers.is_empty());
}

#[test]
fn leftovers_of_a_session_end_with_it_and_others_do_not() {
    let harness = Harness::new();
    runtime().block_on(async {
        for (lifetime, ends) in [(Lifetime::Session, true), (Lifetime::Call, false), (Lifetime::Durable, false)] {
            let mark = mark();
            let session = harness.session();
            let mut request = marked_request("setsid sleep 60 & echo started", &mark);
            request.lifetime = lifetime;
            harness.request(&session, request).await;
            assert_eq!(marked(&mark).len(), 1);
            session.close();
            if ends {
                assert!(eventually(seconds(5), || marked(&mark).is_empty()), "{lifetime:?}");
            } else {
                // Something that would have ended them has had its time when another command is done.
                harness.run(&session, "sleep 0.2").await;
                assert_eq!(marked(&mark).len(), 1, "{lifetime:?}");
                end(&marked(&mark).iter().map(|process| process.pid).collect::<Vec<_>>());
            }
        }
    });
}

#[test]
fn a_caller_that_goes_away_ends_the_command_by_its_lifetime() {
    let harness = Harness::new();
    runtime().block_on(async {
        for (lifetime, ends) in [(Lifetime::Call, true), (Lifetime::Session, true), (Lifetime::Durable, false)] {
            let mark = mark();
            let session = harness.session();
            let mut request = marked_request("sleep 60 & setsid sleep 60; wait", &mark);
            request.lifetime = lifetime;
            let control = chiton_engine::RunControl::new();
            let mut silent = chiton_engine::Silent;
            let run = harness.engine.run(&session, request, &mut silent, &control);
            // Dropped in the middle, as when a client's connection closes.
            let dropped = tokio::time::timeout(Duration::from_millis(300), run).await;
            assert!(dropped.is_err());
            if ends {
                assert!(eventually(seconds(10), || marked(&mark).is_empty()), "{lifetime:?}");
            } else {
                harness.run(&session, "sleep 0.2").await;
                assert_eq!(marked(&mark).len(), 3, "{lifetime:?}: {:?}", marked(&mark));
                end(&marked(&mark).iter().map(|process| process.pid).collect::<Vec<_>>());
            }
        }
    });
}

#[test]
fn nothing_waits_for_a_person() {
    let harness = Harness::new();
    let prompts = [
        "cat",
        "read x; echo $?",
        "read -p name? x </dev/tty; echo $?",
        "bash -c 'read x; echo got $x'",
        "head -1",
        "wc -c",
        "[ -t 0 ] || [ -t 1 ] || [ -t 2 ] || echo none",
        "exec 3</dev/tty; echo $?",
        "select x in a b; do :; done",
        "mapfile x; echo ${#x[@]}",
        "sort",
    ];
    runtime().block_on(async {
        for prompt in prompts {
            let mut request = CommandRequest::new(prompt);
            request.timeout = Some(seconds(10));
            let response = harness.request(&harness.session(), request).await;
            assert!(matches!(response.outcome, Outcome::Exited(_)), "{prompt}: {}", response.outcome);
        }
    });
}
