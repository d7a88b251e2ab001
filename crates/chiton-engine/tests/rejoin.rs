//! A call that is made a second time is answered with the run that the first one started.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chiton_engine::limits::ViewLimits;
use chiton_engine::{
    CommandRequest, Engine, Occurrence, OnTimeout, Outcome, RunControl, RunEvent, RunId, RunReport, SENT_TWICE,
    Session, StartedTask, StateReport, Stream, TaskLifetime, WarmRoom,
};
use chiton_testkit::processes::{eventually, marked};

use crate::harness::{Harness, mark, marked_request, runtime, seconds};

fn asked(command: &str, id: &RunId) -> CommandRequest {
    CommandRequest { run_id: Some(id.clone()), ..CommandRequest::new(command) }
}

/// An engine on the same state, as in another process.
fn another(harness: &Harness) -> Engine {
    let mut config = harness.engine.config().clone();
    config.room = WarmRoom::default();
    Engine::new(config).unwrap()
}

/// What a listener received.
#[derive(Debug, Default, PartialEq, Eq)]
struct Heard {
    run: String,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

async fn once(engine: &Engine, session: &Session, request: CommandRequest) -> (RunReport, Heard) {
    once_with(engine, session, request, &RunControl::new()).await
}

async fn once_with(
    engine: &Engine,
    session: &Session,
    request: CommandRequest,
    control: &RunControl,
) -> (RunReport, Heard) {
    let mut heard = Heard::default();
    let mut listener = |event: RunEvent<'_>| match event {
        RunEvent::Started { run_id, .. } => run_id.clone_into(&mut heard.run),
        RunEvent::Output { stream: Stream::Stdout, bytes } => heard.stdout.extend_from_slice(bytes),
        RunEvent::Output { bytes, .. } => heard.stderr.extend_from_slice(bytes),
        RunEvent::Passed { .. } => panic!("it wants everything"),
    };
    let response = engine.run_once(session, request, &mut listener, control).await.unwrap();
    (response.into_ran().unwrap(), heard)
}

fn was_sent_twice(report: &RunReport) -> bool {
    report.notices.iter().any(|notice| notice == SENT_TWICE)
}

#[test]
fn it_says_what_the_first_call_said_also_in_another_process() {
    let harness = Harness::new();
    let other = another(&harness);
    let commands = [
        "printf 'a\\377\\000b\\n'; echo err >&2; exit 3",
        "seq 100000; echo done >&2",
        "true",
        "kill -TERM $$",
        "cd /usr; X=1; false",
        "sleep 60 >&- 2>&- & echo left",
        "nosuchcommand",
    ];
    runtime().block_on(async {
        let (session, elsewhere) = (harness.session(), harness.session());
        for command in commands {
            let id = RunId::random().unwrap();
            harness.engine.warm(&session);
            let (first, heard) = once(&harness.engine, &session, asked(command, &id)).await;
            assert!(!was_sent_twice(&first), "{command}");
            session.settled().await;
            let cwd = session.state().cwd.clone();
            for (engine, place) in [(&harness.engine, &session), (&other, &elsewhere)] {
                let (again, heard_again) = once(engine, place, asked(command, &id)).await;
                assert!(was_sent_twice(&again), "{command}: {:?}", again.notices);
                assert_eq!(heard_again, heard, "{command}");
                assert_eq!(again.run_id, id.as_str());
                assert_eq!((&again.outcome, again.pid), (&first.outcome, first.pid), "{command}");
                assert_eq!((&again.stdout, &again.stderr), (&first.stdout, &first.stderr), "{command}");
                assert_eq!(again.leftovers, first.leftovers, "{command}");
                assert_eq!(again.leftover_task, first.leftover_task, "{command}");
                assert!(matches!(again.state, StateReport::Discarded(_)));
            }
            assert_eq!(session.state().cwd, cwd, "the session stays as the first call left it");
            if let Some(task) = first.leftover_task {
                harness.engine.tasks().kill(&task, None).await.unwrap();
            }
        }
    });
}

#[test]
fn a_run_that_goes_on_is_followed_to_its_end() {
    let harness = Arc::new(Harness::new());
    let other = another(&harness);
    let runtime = runtime();
    let session = harness.session();
    let id = RunId::random().unwrap();
    let command = "echo begins; while ! [ -e go ]; do sleep 0.01; done; echo ends; echo err >&2; exit 7";
    let first = {
        let (harness, session, request) = (Arc::clone(&harness), session.clone(), asked(command, &id));
        runtime.spawn(async move { once(&harness.engine, &session, request).await })
    };
    assert!(eventually(seconds(10), || harness.engine.tasks().get(id.as_str()).is_ok()));
    let second = {
        let (session, request) = (harness.session(), asked(command, &id));
        runtime.spawn(async move { once(&other, &session, request).await })
    };
    std::thread::sleep(Duration::from_millis(100));
    fs::write(harness.folder.path().join("go"), "").unwrap();
    for (call, sent_twice) in [(first, false), (second, true)] {
        let (report, heard) = runtime.block_on(call).unwrap();
        assert_eq!((report.outcome.clone(), was_sent_twice(&report)), (Outcome::Exited(7), sent_twice));
        assert_eq!((&heard.stdout[..], &heard.stderr[..]), (&b"begins\nends\n"[..], &b"err\n"[..]));
        assert_eq!(report.output.to_text(), "begins\nends\nerr\n");
    }
}

#[test]
fn many_calls_at_once_run_once_and_all_are_answered() {
    let harness = Arc::new(Harness::new());
    let other = another(&harness);
    let runtime = runtime();
    let session = harness.session();
    for round in 0..20 {
        let id = RunId::random().unwrap();
        if round % 2 == 0 {
            runtime.block_on(async {
                session.settled().await;
                harness.engine.warm(&session);
            });
        }
        let calls: Vec<_> = (0..6)
            .map(|number| {
                let engine = [&harness.engine, &other][number % 2].clone();
                let (session, request) = (session.clone(), asked("echo x >> log; echo hello", &id));
                runtime.spawn(async move { once(&engine, &session, request).await })
            })
            .collect();
        let reports: Vec<_> = calls.into_iter().map(|call| runtime.block_on(call).unwrap()).collect();
        assert!(reports.iter().all(|(report, heard)| {
            report.outcome == Outcome::Exited(0) && heard.stdout == b"hello\n" && report.run_id == id.as_str()
        }));
        assert_eq!(reports.iter().filter(|(report, _)| !was_sent_twice(report)).count(), 1);
        assert_eq!(fs::read_to_string(harness.folder.path().join("log")).unwrap().lines().count(), round + 1);
    }
}

#[test]
fn it_waits_as_long_as_the_call_would_have() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        let id = RunId::random().unwrap();
        let waiting = |wait| CommandRequest {
            wait: Some(wait),
            task_lifetime: TaskLifetime::Durable,
            ..asked("echo up; sleep 600", &id)
        };
        let (first, _) = once(&harness.engine, &session, waiting(Duration::from_millis(300))).await;
        assert_eq!(first.outcome, Outcome::Running);
        let begun = Instant::now();
        let (again, heard) = once(&harness.engine, &session, waiting(Duration::from_millis(200))).await;
        assert_eq!((again.outcome, &heard.stdout[..]), (Outcome::Running, &b"up\n"[..]));
        assert!((200..5000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());

        // Its time is over already.
        let over = CommandRequest {
            timeout: Some(Duration::from_millis(100)),
            on_timeout: OnTimeout::HandBack,
            ..asked("echo up; sleep 600", &id)
        };
        let begun = Instant::now();
        assert_eq!(once(&harness.engine, &session, over).await.0.outcome, Outcome::Running);
        assert!(begun.elapsed() < seconds(5));
        harness.engine.tasks().kill(id.as_str(), None).await.unwrap();
        assert_eq!(once(&harness.engine, &session, asked("", &id)).await.0.outcome, Outcome::Killed);
    });
}

#[test]
fn a_second_call_that_is_withdrawn_ends_the_run() {
    let harness = Arc::new(Harness::new());
    let runtime = runtime();
    let (id, mark) = (RunId::random().unwrap(), mark());
    let request = CommandRequest { run_id: Some(id.clone()), ..marked_request("echo up; sleep 600", &mark) };
    let first = {
        let (harness, session, request) = (Arc::clone(&harness), harness.session(), request.clone());
        runtime.spawn(async move { once(&harness.engine, &session, request).await.0.outcome })
    };
    assert!(eventually(seconds(10), || harness.engine.tasks().get(id.as_str()).is_ok()));
    let control = RunControl::new();
    let second = {
        let (other, session, control) = (another(&harness), harness.session(), control.clone());
        runtime.spawn(async move { once_with(&other, &session, request, &control).await.0.outcome })
    };
    std::thread::sleep(Duration::from_millis(50));
    control.cancel();
    assert_eq!(runtime.block_on(second).unwrap(), Outcome::Cancelled);
    assert_eq!(runtime.block_on(first).unwrap(), Outcome::Cancelled);
    assert!(eventually(seconds(10), || marked(&mark).is_empty()));
}

#[test]
fn a_task_is_found_and_not_started_again() {
    let harness = Harness::new();
    let other = another(&harness);
    runtime().block_on(async {
        let session = harness.session();
        let id = RunId::random().unwrap();
        let request =
            || CommandRequest { task_lifetime: TaskLifetime::Durable, ..asked("echo x >> log; sleep 600", &id) };
        for (engine, expected) in
            [(&harness.engine, Occurrence::First), (&harness.engine, Occurrence::Again), (&other, Occurrence::Again)]
        {
            let (started, occurrence) = engine.start_once(&session, request()).await.unwrap();
            let StartedTask::Started(task) = started else { panic!("{started:?}") };
            assert_eq!((task.id.as_str(), occurrence), (id.as_str(), expected));
        }
        let log = harness.folder.path().join("log");
        assert!(eventually(seconds(10), || log.exists()), "it has begun");
        harness.engine.tasks().kill(id.as_str(), None).await.unwrap();
        let (_, occurrence) = other.start_once(&session, request()).await.unwrap();
        assert_eq!(occurrence, Occurrence::Again, "also once it has ended");
        assert_eq!(fs::read_to_string(log).unwrap(), "x\n");
    });
}

#[test]
fn a_folder_that_somebody_took_and_left_is_no_run() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        let id = RunId::random().unwrap();
        fs::create_dir(harness.folder_of(id.as_str())).unwrap();
        let (report, heard) = once(&harness.engine, &session, asked("echo now", &id)).await;
        assert_eq!((&heard.stdout[..], was_sent_twice(&report)), (&b"now\n"[..], false));
    });
}

#[test]
fn a_run_whose_records_cannot_be_read_is_not_run_again() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        let id = RunId::random().unwrap();
        once(&harness.engine, &session, asked("echo x >> log", &id)).await;
        fs::write(harness.folder_of(id.as_str()).join("request.json"), "{").unwrap();
        let request = asked("echo x >> log", &id);
        let again = harness.engine.run_once(&session, request, &mut chiton_engine::Silent, &RunControl::new()).await;
        assert!(again.unwrap_err().to_string().contains("cannot be followed"));
        assert_eq!(fs::read_to_string(harness.folder.path().join("log")).unwrap(), "x\n");
    });
}

#[test]
fn a_long_output_is_shown_from_both_of_its_ends() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        let id = RunId::random().unwrap();
        let request = || CommandRequest { view: Some(ViewLimits { head: 10, tail: 10 }), ..asked("seq 300000", &id) };
        let (first, _) = once(&harness.engine, &session, request()).await;
        let (again, _) = once(&harness.engine, &session, request()).await;
        assert_eq!((again.stdout, again.output), (first.stdout, first.output));
    });
}

#[test]
fn a_call_without_an_id_is_made_anew() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        for _ in 0..2 {
            let (report, _) = once(&harness.engine, &session, CommandRequest::new("echo x")).await;
            assert!(!was_sent_twice(&report));
        }
        assert_eq!(harness.engine.tasks().list().unwrap().0.len(), 2);
    });
}
