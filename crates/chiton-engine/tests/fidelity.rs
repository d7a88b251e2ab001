//! Whatever bash does, we do: the same bytes on both streams, the same status.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod harness;

use std::path::Path;

use chiton_engine::{AnswerMode, CommandRequest, Session, StateReport, WarmLimits};
use chiton_testkit::{cases, oracle};
use harness::{Harness, PATH, runtime};

/// Variables that both sides get; ours sets a few more so that nothing waits for a person.
fn environment(home: &str) -> Vec<(&str, &str)> {
    vec![
        ("PATH", PATH),
        ("HOME", home),
        ("LANG", "C.UTF-8"),
        ("PAGER", "cat"),
        ("GIT_PAGER", "cat"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GCM_INTERACTIVE", "never"),
        ("DEBIAN_FRONTEND", "noninteractive"),
        ("EDITOR", "true"),
        ("GIT_EDITOR", "true"),
    ]
}

/// How a command meets its shell.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// The shell is started for it.
    Cold,
    /// The shell was there before.
    Warm,
    /// The same, and the answer does not wait for the state.
    AnswerFirst,
}

#[test]
fn every_case_is_byte_for_byte_what_bash_does_in_a_shell_started_for_it() {
    compare(Way::Cold);
}

#[test]
fn every_case_is_byte_for_byte_what_bash_does_in_a_shell_that_waited() {
    // Some cannot be given to a shell that waits: those that trace, that bash finds an error in, that set traps.
    assert!(compare(Way::Warm) >= 500);
}

#[test]
fn every_case_is_byte_for_byte_what_bash_does_when_the_answer_goes_first() {
    assert!(compare(Way::AnswerFirst) >= 500);
}

/// Runs all cases; gives how many met a shell that waited.
fn compare(way: Way) -> usize {
    let cases = cases::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/fidelity.cases"));
    assert!(cases.len() >= 200, "only {} cases", cases.len());
    let harness = Harness::with(|config| {
        if way == Way::Cold {
            config.limits.warm = WarmLimits::none();
        }
    });
    let (mut warm, mut unasked) = (0, 0);
    let mut wrong = Vec::new();
    for case in &cases {
        // One after the other in the same directory, emptied in between: paths in messages must be the same.
        let home = harness.folder.path().join("home");
        let fresh = || {
            let _ = std::fs::remove_dir_all(&home);
            std::fs::create_dir(&home).unwrap();
        };
        let text = home.to_str().unwrap().to_owned();
        let environment = environment(&text);
        fresh();
        let expected = oracle::bash(&case.command, &home, &environment);
        fresh();
        let variables = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).into()));
        let session = Session::new(harness.engine.fresh_state(&home, variables, 0o022));
        let (observed, response) = runtime().block_on(async {
            harness.engine.warm(&session);
            let mut request = CommandRequest::new(&case.command[..]);
            if way == Way::AnswerFirst {
                request.answer = AnswerMode::BeforeState;
            }
            harness.observe_request(&session, request).await
        });
        warm += usize::from(response.warm);
        if way == Way::AnswerFirst && response.state == StateReport::Unchanged {
            // Said without having asked the shell. One that is asked says the same.
            unasked += 1;
            fresh();
            let variables = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).into()));
            let session = Session::new(harness.engine.fresh_state(&home, variables, 0o022));
            let asked = runtime().block_on(harness.request(&session, CommandRequest::new(&case.command[..])));
            if asked.state != StateReport::Unchanged {
                wrong.push(format!("{}: it changes the state after all", case.name));
            }
        }
        if observed != expected {
            wrong.push(format!("{}\n-- bash\n{expected:?}\n-- chiton\n{observed:?}\n", case.name));
        }
    }
    assert!(way != Way::AnswerFirst || unasked >= 50, "only {unasked} are known to change nothing");
    assert!(wrong.is_empty(), "{} of {} cases differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    warm
}
