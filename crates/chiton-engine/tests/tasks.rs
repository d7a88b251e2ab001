//! A task can always be found, read, waited for, written to and stopped.

use std::fs;
use std::time::Duration;

use chiton_engine::tasks::link::Killed;
use chiton_engine::tasks::{Cursor, Filter, Marked, Part, ReadError, ReadRequest, SendError, WaitFor, WaitReason};
use chiton_engine::{
    CommandInput, CommandRequest, EngineError, OnTimeout, Outcome, Session, Signal, StartedTask, Stream, Streams, Task,
    TaskLifetime, TaskStatus, Tasks,
};
use chiton_testkit::processes::{eventually, marked};
use regex::bytes::Regex;
use tokio::task::JoinSet;

use crate::harness::{Harness, mark, marked_request, runtime, seconds};

async fn start(harness: &Harness, session: &Session, request: CommandRequest) -> Task {
    match harness.engine.start(session, request).await.unwrap() {
        StartedTask::Started(task) => *task,
        StartedTask::Refused(refused) => panic!("{}", refused.refusal.reason),
        StartedTask::Described(_) => panic!("a dry run"),
    }
}

fn durable(command: &str) -> CommandRequest {
    CommandRequest { task_lifetime: TaskLifetime::Durable, ..CommandRequest::new(command) }
}

async fn ended(tasks: &Tasks, id: &str) -> Task {
    let waited = tasks.wait(id, WaitFor { timeout: Some(seconds(30)), ..WaitFor::default() }).await.unwrap();
    assert_eq!(waited.reason, WaitReason::Ended);
    waited.task
}

fn text(task: &Task) -> String {
    task.read(&mut Cursor::default(), &ReadRequest::default()).unwrap().to_text()
}

#[test]
fn every_ending_has_its_status_and_duration_stands_still_after_it() {
    let harness = Harness::new();
    let cases: [(&str, Option<u64>, TaskStatus, Option<Outcome>); 6] = [
        ("echo hello", None, TaskStatus::Completed, Some(Outcome::Exited(0))),
        ("exit 3", None, TaskStatus::Failed, Some(Outcome::Exited(3))),
        ("kill -SEGV $$", None, TaskStatus::Failed, Signal::parse("SEGV").map(Outcome::Signaled)),
        ("kill -KILL $$", None, TaskStatus::Killed, Some(Outcome::Signaled(Signal::KILL))),
        ("sleep 100", Some(100), TaskStatus::TimedOut, Some(Outcome::TimedOut)),
        ("sleep 0.3; kill -9 $PPID", None, TaskStatus::Lost, Some(Outcome::Lost)),
    ];
    runtime().block_on(async {
        let session = harness.session();
        for (command, timeout, status, outcome) in cases {
            let mut request = durable(command);
            request.timeout = timeout.map(Duration::from_millis);
            let started = start(&harness, &session, request).await;
            let task = ended(harness.engine.tasks(), &started.id).await;
            assert_eq!((task.status, task.outcome), (status, outcome), "{command}");
            if status != TaskStatus::Lost {
                let again = harness.engine.tasks().get(&task.id).unwrap();
                assert_eq!(again.duration, task.duration, "{command}");
            }
        }
        let running = start(&harness, &session, durable("sleep 100")).await;
        assert_eq!(running.status, TaskStatus::Running);
        let first = harness.engine.tasks().get(&running.id).unwrap().duration;
        assert!(eventually(seconds(5), || harness.engine.tasks().get(&running.id).unwrap().duration > first));
        assert!(matches!(harness.engine.tasks().kill(&running.id, None).await.unwrap(), Killed::Stopped(_)));
        assert_eq!(harness.engine.tasks().get(&running.id).unwrap().status, TaskStatus::Killed);
    });
}

#[test]
fn a_start_returns_at_once_and_commits_nothing() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session_in("/tmp".as_ref());
        let task = start(&harness, &session, durable("cd /usr; A=1; sleep 60")).await;
        assert!(harness.engine.tasks().get(&task.id).unwrap().status.is_running());
        assert!(task.id.starts_with("shell_") && task.id.len() == 14 && task.pid.is_some());
        harness.engine.tasks().kill(&task.id, None).await.unwrap();
        let quick = start(&harness, &session, durable("cd /usr; A=1")).await;
        ended(harness.engine.tasks(), &quick.id).await;
        assert_eq!(harness.run(&session, "pwd; echo ${A-unset}").await.stdout.to_text(), "/tmp\nunset\n");
    });
}

#[test]
fn output_is_read_whole_in_part_and_in_order() {
    let harness = Harness::new();
    runtime().block_on(async {
        let command = "for i in 1 2 3 4 5; do echo out $i; sleep 0.02; echo err $i >&2; sleep 0.02; done";
        let task = start(&harness, &harness.session(), durable(command)).await;
        let task = ended(harness.engine.tasks(), &task.id).await;
        let read = |streams, part| {
            let request = ReadRequest { streams, part, ..ReadRequest::default() };
            task.read(&mut Cursor::default(), &request).unwrap()
        };
        let all: Vec<String> = (1..=5).map(|number| format!("out {number}\nerr {number}\n")).collect();
        assert_eq!(read(Marked::Both, Part::All).to_text(), all.concat());
        assert_eq!(read(Marked::Both, Part::All).chunks.len(), 10, "each with its stream");
        assert_eq!(read(Marked::Only(Stream::Stderr), Part::Head(2)).to_text(), "err 1\nerr 2\n");
        assert_eq!(read(Marked::Only(Stream::Stdout), Part::Tail(1)).to_text(), "out 5\n");
        assert_eq!(read(Marked::Both, Part::Lines(2..4)).to_text(), "out 2\nerr 2\n");
        assert_eq!(read(Marked::Both, Part::Bytes(4..9)).to_text(), "1\nerr");
        assert_eq!(read(Marked::Both, Part::Lines(100..200)).to_text(), "");
        assert_eq!(read(Marked::Both, Part::Bytes(1000..2000)).to_text(), "");
        assert_eq!(read(Marked::Both, Part::Tail(100)).to_text(), all.concat());
        let limited = ReadRequest { limit: 10, part: Part::Tail(3), ..ReadRequest::default() };
        let output = task.read(&mut Cursor::default(), &limited).unwrap();
        assert_eq!((output.to_text().as_str(), output.left_out), ("t 5\nerr 5\n", 8));
    });
}

#[test]
fn searching_gives_lines_and_their_surroundings_and_never_consumes() {
    let harness = Harness::new();
    runtime().block_on(async {
        let command = "for i in {1..100}; do echo \"info $i\"; [ $((i % 40)) = 0 ] && echo \"error $i\"; done; true";
        let task = start(&harness, &harness.session(), durable(command)).await;
        let task = ended(harness.engine.tasks(), &task.id).await;
        let mut cursor = Cursor::default();
        let mut filter = Filter::new("^error").unwrap();
        let search = |filter: &Filter, cursor: &mut Cursor| {
            let request = ReadRequest { filter: Some(filter.clone()), part: Part::New, ..ReadRequest::default() };
            task.read(cursor, &request).unwrap()
        };
        assert_eq!(search(&filter, &mut cursor).to_text(), "error 40\nerror 80\n");
        assert_eq!(search(&filter, &mut cursor).matches, 2, "the same again");
        assert_eq!(cursor, Cursor::default());
        (filter.before, filter.after) = (1, 2);
        let around = "info 40\nerror 40\ninfo 41\ninfo 42\ninfo 80\nerror 80\ninfo 81\ninfo 82\n";
        assert_eq!(search(&filter, &mut cursor).to_text(), around);
        match Filter::new("[invalid(regex") {
            Err(ReadError::BadFilter { pattern, reason }) => {
                assert_eq!(pattern, "[invalid(regex");
                assert!(!reason.is_empty());
            }
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_reader_that_polls_gets_each_byte_exactly_once() {
    let harness = Harness::new();
    let runtime = runtime();
    runtime.block_on(async {
        // 100 MB in odd sizes, two-byte characters across every border.
        let command = "for size in 1 3 7 4093 65537 1000003; do
            head -c 8500000 /dev/zero | sed 's/\\x0/\\xc3\\xa9/g' | dd bs=$size status=none iflag=fullblock; done; printf end";
        let session = harness.session();
        let task = start(&harness, &session, durable(command)).await;
        let mut cursor = Cursor::default();
        let (mut characters, mut reads) = (0u64, 0u64);
        loop {
            let task = harness.engine.tasks().get(&task.id).unwrap();
            let request = ReadRequest { part: Part::New, limit: 3_000_001, ..ReadRequest::default() };
            let output = task.read(&mut cursor, &request).unwrap();
            assert_eq!(output.not_kept, 0);
            let text = output.to_text();
            let wrong = text.chars().find(|character| !['\u{e9}', 'e', 'n', 'd'].contains(character));
            assert_eq!(wrong, None, "after {characters} characters");
            characters += text.chars().count() as u64;
            reads += 1;
            if !task.status.is_running() && text.is_empty() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(characters, 6 * 8_500_000 + 3, "in {reads} reads");
        assert_eq!(cursor.stdout, 6 * 17_000_000 + 3);
    });
}

#[test]
fn a_wait_ends_with_the_first_thing_that_happens_and_says_which() {
    let harness = Harness::new();
    runtime().block_on(async {
        let tasks = harness.engine.tasks();
        let session = harness.session();
        let task = start(&harness, &session, durable("echo first; sleep 0.3; echo ready on port 80; sleep 60")).await;
        let pattern = |text: &str| Some(Regex::new(text).unwrap());
        let limit = Some(seconds(20));
        let wait = |wanted| tasks.wait(&task.id, wanted);
        let found = wait(WaitFor { pattern: pattern("ready"), timeout: limit, ..WaitFor::default() }).await.unwrap();
        assert_eq!(found.reason, WaitReason::Matched("ready on port 80".to_owned()));
        let there = wait(WaitFor { pattern: pattern("^first$"), timeout: limit, ..WaitFor::default() }).await.unwrap();
        assert_eq!(there.reason, WaitReason::Matched("first".to_owned()), "what is there already counts");
        let idle = wait(WaitFor { idle: Some(Duration::from_millis(200)), timeout: limit, ..WaitFor::default() })
            .await
            .unwrap();
        assert_eq!(idle.reason, WaitReason::Idle);
        let bytes = wait(WaitFor { bytes: Some(10), timeout: limit, ..WaitFor::default() }).await.unwrap();
        assert_eq!(bytes.reason, WaitReason::Bytes);
        let time = wait(WaitFor { timeout: Some(Duration::from_millis(100)), ..WaitFor::default() }).await.unwrap();
        assert_eq!(time.reason, WaitReason::TimedOut);
        assert!(time.task.status.is_running());
        let (end, _) = tokio::join!(wait(WaitFor { timeout: limit, ..WaitFor::default() }), tasks.kill(&task.id, None));
        assert_eq!(end.unwrap().reason, WaitReason::Ended);
        let over = wait(WaitFor { pattern: pattern("never"), ..WaitFor::default() }).await.unwrap();
        assert_eq!(over.reason, WaitReason::Ended, "a task that has ended prints nothing more");
        assert!(matches!(tasks.wait("shell_00000000", WaitFor::default()).await, Err(SendError::NotFound(_))));
        // A noisy one is not idle until it stops.
        let noisy =
            start(&harness, &session, durable("for i in 1 2 3 4 5; do echo $i; sleep 0.1; done; sleep 60")).await;
        let idle = WaitFor { idle: Some(seconds(2)), ..WaitFor::default() };
        tasks.wait(&noisy.id, idle).await.unwrap();
        assert_eq!(text(&tasks.get(&noisy.id).unwrap()), "1\n2\n3\n4\n5\n");
        tasks.kill(&noisy.id, None).await.unwrap();
    });
}

#[test]
fn a_wait_for_a_line_is_for_one_that_its_reader_does_not_have() {
    let harness = Harness::new();
    runtime().block_on(async {
        let tasks = harness.engine.tasks();
        let session = harness.session();
        let command = "echo compiled 1; printf 'unfini'; while read -r line; do printf '%s\\n' \"$line\"; done";
        let request = CommandRequest { input: CommandInput::Open, ..durable(command) };
        let task = start(&harness, &session, request).await;
        let wanted = |from: Cursor, pattern: &str, timeout: Duration| WaitFor {
            pattern: Some(Regex::new(pattern).unwrap()),
            timeout: Some(timeout),
            from,
            ..WaitFor::default()
        };
        let id = &task.id;
        let wait = |wanted| async move { tasks.wait(id, wanted).await.unwrap() };
        let begin = Cursor::default();
        wait(wanted(begin, "unfini", seconds(20))).await;

        // What its reader has does not end the wait, but is told.
        let read = tasks.get(&task.id).unwrap().cursor_at(u64::MAX).unwrap();
        assert_eq!(read, Cursor { stdout: 17, stderr: 0 });
        for pattern in ["compiled", "unfini"] {
            let over = wait(wanted(read, pattern, Duration::from_millis(200))).await;
            assert_eq!(over.reason, WaitReason::TimedOut, "{pattern}");
            assert!(over.earlier.is_some_and(|line| line.contains(pattern)), "{pattern}");
        }
        assert_eq!(wait(wanted(read, "never", Duration::from_millis(100))).await.earlier, None);

        // A line of which it has a part is new as a whole; the rest counts from the cursor on.
        tasks.write(&task.id, "shed\ncompiled 2\n").await.unwrap();
        let found = wait(wanted(read, "^unfinished$", seconds(20))).await;
        assert_eq!((found.reason, found.earlier), (WaitReason::Matched("unfinished".to_owned()), None));
        let found = wait(wanted(read, "compiled", seconds(20))).await;
        assert_eq!(found.reason, WaitReason::Matched("compiled 2".to_owned()));
        let found = wait(wanted(begin, "compiled", seconds(20))).await;
        assert_eq!(found.reason, WaitReason::Matched("compiled 1".to_owned()), "from the beginning on");

        // As a person reads it: colours and what was drawn over do not matter.
        tasks.write(&task.id, "\u{1b}[32mdone\u{1b}[0m\r\n").await.unwrap();
        let found = wait(wanted(read, "^done$", seconds(20))).await;
        assert_eq!(found.reason, WaitReason::Matched("done".to_owned()));

        // The end is the end, whatever was there before.
        let read = tasks.get(&task.id).unwrap().cursor_at(u64::MAX).unwrap();
        tasks.end_input(&task.id).await.unwrap();
        let over = wait(wanted(read, "compiled", seconds(20))).await;
        assert_eq!((over.reason, over.earlier.as_deref()), (WaitReason::Ended, Some("compiled 2")));
    });
}

#[test]
fn what_a_filter_had_no_room_for_is_read_from_where_it_says() {
    let harness = Harness::new();
    runtime().block_on(async {
        let response =
            harness.run(&harness.session(), "for i in {1..2000}; do echo line $i; echo other $i >&2; done").await;
        let task = harness.engine.tasks().get(&response.run_id).unwrap();
        let (mut found, mut part, mut reads) = (String::new(), Part::All, 0);
        loop {
            let filter = Some(Filter::new("^line .*7").unwrap());
            let request = ReadRequest { filter, part, limit: 500, ..ReadRequest::default() };
            let output = task.read(&mut Cursor::default(), &request).unwrap();
            assert!(output.to_text().len() <= 500);
            found += &output.to_text();
            (part, reads) = (Part::Bytes(output.rest..u64::MAX), reads + 1);
            if output.left_out == 0 {
                break;
            }
        }
        let expected: String = (1..=2000).map(|i| format!("line {i}\n")).filter(|line| line.contains('7')).collect();
        assert_eq!(found, expected);
        assert!(reads > 5);

        // What a tail leaves out is before what it gives.
        let request = ReadRequest { part: Part::Tail(1000), limit: 500, ..ReadRequest::default() };
        let tail = task.read(&mut Cursor::default(), &request).unwrap();
        let request = ReadRequest { part: Part::Bytes(tail.rest..tail.rest + tail.left_out), ..ReadRequest::default() };
        let before = task.read(&mut Cursor::default(), &request).unwrap();
        let request = ReadRequest { part: Part::Tail(1000), ..ReadRequest::default() };
        let whole = task.read(&mut Cursor::default(), &request).unwrap();
        assert_eq!(before.to_text() + &tail.to_text(), whole.to_text());
    });
}

#[test]
fn text_end_and_signals_reach_a_task() {
    let harness = Harness::new();
    runtime().block_on(async {
        let tasks = harness.engine.tasks();
        let session = harness.session();
        let open = |command: &str| CommandRequest { input: CommandInput::Open, ..durable(command) };
        let task = start(&harness, &session, open("read x; echo got $x; cat; echo end")).await;
        tasks.write(&task.id, "hello\n").await.unwrap();
        tasks.write(&task.id, vec![b'x'; 200_000]).await.unwrap();
        tasks.end_input(&task.id).await.unwrap();
        let task = ended(tasks, &task.id).await;
        assert_eq!(text(&task), format!("got hello\n{}end\n", "x".repeat(200_000)));
        let error = tasks.write(&task.id, "more").await.unwrap_err().to_string();
        assert!(error.contains("has ended") && error.contains(&task.id), "{error}");

        let closed = start(
            &harness,
            &session,
            durable("cat; trap 'echo usr1' USR1; trap 'echo int; exit 5' INT; echo up; while :; do sleep 0.02; done"),
        )
        .await;
        let up = WaitFor { pattern: Some(Regex::new("up").unwrap()), ..WaitFor::default() };
        tasks.wait(&closed.id, up).await.unwrap();
        let error = tasks.write(&closed.id, "x").await.unwrap_err().to_string();
        assert!(error.contains("standard input is closed"), "{error}");
        tasks.signal(&closed.id, Signal::parse("USR1").unwrap()).await.unwrap();
        let heard = WaitFor { pattern: Some(Regex::new("usr1").unwrap()), ..WaitFor::default() };
        tasks.wait(&closed.id, heard).await.unwrap();
        tasks.signal(&closed.id, Signal::INT).await.unwrap();
        let task = ended(tasks, &closed.id).await;
        assert_eq!(task.outcome, Some(Outcome::Exited(5)));
        assert!(tasks.signal(&closed.id, Signal::HUP).await.is_err());

        let slow = start(&harness, &session, open("sleep 60")).await;
        tasks.write(&slow.id, vec![b'x'; 900_000]).await.unwrap();
        let error = tasks.write(&slow.id, vec![b'x'; 900_000]).await.unwrap_err().to_string();
        assert!(error.contains("does not read"), "{error}");
        tasks.kill(&slow.id, None).await.unwrap();
    });
}

#[test]
fn a_kill_is_verified_repeatable_and_helpful() {
    let harness = Harness::new();
    runtime().block_on(async {
        let tasks = harness.engine.tasks();
        let session = harness.session();
        let mark = mark();
        let mut request =
            marked_request("trap '' TERM; setsid sleep 300 & (sleep 300 &); while :; do sleep 1; done", &mark);
        request.task_lifetime = TaskLifetime::Durable;
        let task = start(&harness, &session, request).await;
        assert!(eventually(seconds(5), || marked(&mark).len() >= 3));
        assert!(matches!(tasks.kill(&task.id, Some(Duration::from_millis(50))).await.unwrap(), Killed::Stopped(_)));
        assert_eq!(marked(&mark), []);
        match tasks.kill(&task.id, None).await.unwrap() {
            Killed::AlreadyStopped(task) => assert_eq!(task.status, TaskStatus::Killed),
            other => panic!("it was stopped before: {other:?}"),
        }
        let near = format!("{}0", &task.id[..13]);
        let near = if near == task.id { format!("{}1", &task.id[..13]) } else { near };
        let error = tasks.kill(&near, None).await.unwrap_err();
        assert!(error.to_string().contains("not found") && error.nearest.contains(&task.id), "{error}");
        for _ in 0..3 {
            start(&harness, &session, durable("sleep 300")).await;
        }
        assert_eq!(tasks.kill_all(None).await.unwrap(), 3);
        assert_eq!(tasks.kill_all(None).await.unwrap(), 0);
        assert_eq!(tasks.list().unwrap().0.len(), 4);
    });
}

#[test]
fn a_run_is_handed_back_alive_when_its_wait_or_its_time_is_over() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        let command = "echo before; sleep 0.6; echo after; exit 4";
        let mut soft = CommandRequest::new(command);
        soft.wait = Some(Duration::from_millis(200));
        let mut hard = CommandRequest::new(command);
        (hard.timeout, hard.on_timeout) = (Some(Duration::from_millis(200)), OnTimeout::HandBack);
        for request in [soft, hard] {
            let response = harness.request(&session, request).await;
            assert_eq!(response.outcome, Outcome::Running);
            assert_eq!(response.stdout.to_text(), "before\n");
            let task = ended(harness.engine.tasks(), &response.run_id).await;
            assert_eq!(task.outcome, Some(Outcome::Exited(4)));
            assert!(task.background);
            assert_eq!(text(&task), "before\nafter\n");
        }
        let mut quick = CommandRequest::new("echo done; cd /usr");
        quick.wait = Some(seconds(20));
        let response = harness.request(&session, quick).await;
        assert_eq!((response.outcome, response.cwd), (Outcome::Exited(0), "/usr".into()), "in time it is as ever");
    });
}

#[test]
fn what_a_command_leaves_running_is_a_task_of_its_own() {
    let harness = Harness::new();
    let gate = harness.folder.path().join("gate");
    let command = format!(
        "echo now; (until [ -e {} ]; do sleep 0.02; done; echo later; echo oops >&2; exit 6) & true",
        gate.display()
    );
    runtime().block_on(async {
        let response = harness.run(&harness.session(), &command).await;
        let tasks = harness.engine.tasks();
        let id = response.leftover_task.unwrap();
        let task = tasks.get(&id).unwrap();
        assert_eq!((task.status, task.leftover_of.as_deref()), (TaskStatus::Running, Some(response.run_id.as_str())));
        assert_eq!(tasks.running().unwrap().len(), 1, "the command itself has ended");
        fs::write(&gate, "").unwrap();
        let task = ended(tasks, &id).await;
        assert_eq!(task.outcome, Some(Outcome::Exited(6)));
        assert_eq!(text(&task), "later\noops\n", "its own output only");
        assert_eq!(text(&tasks.get(&response.run_id).unwrap()), "now\nlater\noops\n");
        let response = harness.run(&harness.session(), "sleep 300 & setsid sleep 300 & echo up").await;
        let id = response.leftover_task.unwrap();
        assert!(matches!(tasks.kill(&id, None).await.unwrap(), Killed::Stopped(_)));
        // It has run since it was started, not since the command that left it ended.
        let older = harness.run(&harness.session(), "sleep 300 & sleep 1; echo up").await;
        let older_id = older.leftover_task.unwrap();
        assert!(tasks.get(&older_id).unwrap().duration >= seconds(1));
        let killed = tasks.kill(&older_id, None).await.unwrap();
        assert!(killed.task().duration >= seconds(1), "{:?}", killed.task().duration);
        assert_eq!(tasks.get(&id).unwrap().status, TaskStatus::Killed);
        assert_eq!(tasks.get(&response.run_id).unwrap().outcome, Some(Outcome::Exited(0)));
    });
}

#[test]
fn a_session_has_no_more_tasks_than_it_may() {
    let harness = Harness::with(|config| config.limits.tasks_per_session = Some(10));
    runtime().block_on(async {
        let (session, other) = (harness.session(), harness.session());
        let mut ids = Vec::new();
        for _ in 0..10 {
            ids.push(start(&harness, &session, durable("sleep 300")).await.id);
        }
        let marker = harness.folder.path().join("marker");
        let eleventh = durable(&format!("touch {}", marker.display()));
        match harness.engine.start(&session, eleventh).await {
            Err(error @ EngineError::TaskLimit(10)) => {
                assert!(error.to_string().contains("maximum concurrent background task limit"));
            }
            other => panic!("{other:?}"),
        }
        assert!(!marker.exists());
        assert_eq!(harness.engine.tasks().list().unwrap().0.len(), 10, "nothing was started");
        let of_another = start(&harness, &other, durable("sleep 300")).await;
        harness.engine.tasks().kill(&ids[0], None).await.unwrap();
        start(&harness, &session, durable("sleep 300")).await;
        // All at once, through one door: each counts the others before any of them runs.
        harness.engine.tasks().kill_all(None).await.unwrap();
        let mut attempts = JoinSet::new();
        for _ in 0..16 {
            let (engine, session) = (harness.engine.clone(), session.clone());
            attempts.spawn(async move { engine.start(&session, durable("sleep 300")).await });
        }
        let (started, refused): (Vec<_>, Vec<_>) = attempts.join_all().await.into_iter().partition(Result::is_ok);
        assert_eq!((started.len(), refused.len()), (10, 6));
        assert!(refused.iter().all(|attempt| matches!(attempt, Err(EngineError::TaskLimit(10)))), "{refused:?}");
        assert_eq!(harness.engine.tasks().kill_all(None).await.unwrap(), 10);
        assert!(!harness.engine.tasks().get(&of_another.id).unwrap().status.is_running());
    });
}

#[test]
fn a_transcript_grows_and_ends_with_the_truth() {
    let harness = Harness::new();
    let cases = [
        ("echo out; echo err >&2", None, "out\nerr\n[the command exited with code 0]\n"),
        ("printf open; exit 3", None, "open\n[the command exited with code 3]\n"),
        ("echo x; kill -9 -$$", None, "x\n[the command was ended by SIGKILL]\n"),
        ("echo x; sleep 100", Some(200), "x\n[the command timed out]\n"),
    ];
    runtime().block_on(async {
        for (command, timeout, expected) in cases {
            let mut request = durable(command);
            (request.transcript, request.streams) = (true, Streams::Merged);
            request.timeout = timeout.map(Duration::from_millis);
            let task = start(&harness, &harness.session(), request).await;
            let path = harness.folder_of(&task.id).join("output.log");
            ended(harness.engine.tasks(), &task.id).await;
            assert_eq!(fs::read_to_string(path).unwrap(), expected, "{command}");
        }
        // Ended by its group from another command, as an agent would.
        let mut request = durable("echo up; sleep 300 & sleep 300");
        (request.transcript, request.streams) = (true, Streams::Merged);
        let task = start(&harness, &harness.session(), request).await;
        let path = harness.folder_of(&task.id).join("output.log");
        assert!(eventually(seconds(5), || fs::read_to_string(&path).is_ok_and(|text| text == "up\n")), "it grows");
        harness.run(&harness.session(), &format!("kill -9 -{}", task.pid.unwrap())).await;
        let task = ended(harness.engine.tasks(), &task.id).await;
        assert_eq!(task.status, TaskStatus::Killed);
        assert!(fs::read_to_string(&path).unwrap().ends_with("[the command was ended by SIGKILL]\n"));
    });
}

#[test]
fn tasks_of_a_session_end_with_it_and_durable_ones_do_not() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        let bound = start(&harness, &session, CommandRequest::new("sleep 300")).await;
        let free = start(&harness, &session, durable("sleep 300")).await;
        session.close();
        assert_eq!(ended(harness.engine.tasks(), &bound.id).await.status, TaskStatus::Killed);
        assert!(harness.engine.tasks().get(&free.id).unwrap().status.is_running());
        harness.engine.tasks().kill_all(None).await.unwrap();
    });
}

#[test]
fn several_tasks_run_apart_from_each_other() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        let mut ids = Vec::new();
        for number in 0..5 {
            let mut request = durable(&format!("echo from {number}; sleep {}", if number == 2 { 300 } else { 1 }));
            request.timeout = (number == 2).then(|| Duration::from_millis(200));
            ids.push(start(&harness, &session, request).await.id);
        }
        let unique: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(unique.len(), 5);
        for (number, id) in ids.iter().enumerate() {
            let task = ended(harness.engine.tasks(), id).await;
            assert_eq!(text(&task), format!("from {number}\n"));
            assert_eq!(task.status, if number == 2 { TaskStatus::TimedOut } else { TaskStatus::Completed });
        }
    });
}

#[test]
fn damaged_records_are_named_and_disturb_nobody() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        let good = harness.run(&session, "echo good").await;
        let bad = harness.run(&session, "echo bad; sleep 0.01").await;
        let tasks = harness.engine.tasks();
        for name in ["request.json", "ending.json", "start.json"] {
            let path = harness.folder_of(&bad.run_id).join(name);
            let whole = fs::read(&path).unwrap();
            for length in 0..whole.len() {
                fs::write(&path, &whole[..length]).unwrap();
                let (found, damaged) = tasks.list().unwrap();
                assert!(found.iter().any(|task| task.id == good.run_id), "{name} cut at {length}");
                if name != "start.json" {
                    assert!(
                        damaged.iter().any(|one| one.id == bad.run_id && one.reason.contains(name)),
                        "{name} {length}"
                    );
                }
            }
            fs::write(&path, &whole).unwrap();
        }
        // Strangers in the house are none of our business.
        let runs = harness.folder.path().join("state/runs");
        fs::write(runs.join("notes.txt"), "mine").unwrap();
        fs::create_dir(runs.join("shell_zzzzzzzz")).unwrap();
        fs::create_dir(runs.join("backup")).unwrap();
        fs::create_dir(runs.join("shell_00000000")).unwrap();
        let (found, damaged) = tasks.list().unwrap();
        assert_eq!((found.len(), damaged.len()), (2, 0), "{damaged:?}");
        fs::write(runs.join("shell_00000000/start.json"), "{\"pid\":1,\"keeper\":1}").unwrap();
        assert_eq!(tasks.list().unwrap().1[0].reason, "request.json is missing");
        assert_eq!(text(&tasks.get(&good.run_id).unwrap()), "good\n");
        assert_eq!(harness.run(&session, "echo on").await.stdout.to_text(), "on\n");
    });
}

#[test]
fn two_engines_on_one_state_directory_see_the_same_and_do_not_disturb_each_other() {
    let harness = Harness::new();
    let mut config = chiton_engine::EngineConfig::new(harness.folder.path().join("state")).unwrap();
    config.keeper = crate::harness::keeper();
    let other = chiton_engine::Engine::new(config).unwrap();
    runtime().block_on(async {
        let session = harness.session();
        let task = start(&harness, &session, durable("echo hello; sleep 300")).await;
        assert!(other.tasks().get(&task.id).unwrap().status.is_running());
        let everything = chiton_engine::tasks::CleanUp::everything();
        assert_eq!(other.clean(&everything).removed(), 0, "what runs is never removed");
        let waited = other.tasks().wait(&task.id, WaitFor { bytes: Some(6), ..WaitFor::default() }).await.unwrap();
        assert_eq!(waited.reason, WaitReason::Bytes);
        other.tasks().kill(&task.id, None).await.unwrap();
        assert_eq!(harness.engine.tasks().get(&task.id).unwrap().status, TaskStatus::Killed);
        assert_eq!(other.clean(&everything).removed(), 1);
        assert!(harness.engine.tasks().get(&task.id).is_err());
    });
}

#[test]
fn everything_on_disk_is_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let harness = Harness::new();
    runtime().block_on(async {
        let mut request = durable("echo out; echo err >&2; sleep 300");
        request.transcript = true;
        let task = start(&harness, &harness.session(), request).await;
        let printed = WaitFor { bytes: Some(8), ..WaitFor::default() };
        harness.engine.tasks().wait(&task.id, printed).await.unwrap();
        let mut open = vec![harness.folder.path().join("state")];
        let mut seen = 0;
        while let Some(path) = open.pop() {
            let data = fs::symlink_metadata(&path).unwrap();
            assert_eq!(data.permissions().mode() & 0o077, 0, "{}", path.display());
            seen += 1;
            if data.is_dir() {
                open.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            }
        }
        assert!(seen >= 8, "{seen}");
        harness.engine.tasks().kill(&task.id, None).await.unwrap();
    });
}

#[test]
fn two_hundred_silent_tasks_are_small_and_never_wake_up() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        for _ in 0..200 {
            start(&harness, &session, durable("sleep 300")).await;
        }
        let keepers: Vec<u32> = fs::read_dir(harness.folder.path().join("state/runs"))
            .unwrap()
            .filter_map(|run| fs::read_to_string(run.unwrap().path().join("start.json")).ok())
            .map(|text| text.split("\"keeper\":").nth(1).unwrap().trim_end_matches('}').parse().unwrap())
            .collect();
        assert_eq!(keepers.len(), 200);
        let switches = |pid: &u32| {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            line.unwrap().trim().parse::<u64>().unwrap()
        };
        // A quarter of a second after its start a keeper makes itself small, once, or later where the machine is busy.
        // Whoever has a timer wakes up in every three seconds; of the others there are three without any of them.
        let counts = || keepers.iter().map(switches).collect::<Vec<u64>>();
        let mut quiet = false;
        for _ in 0..5 {
            let before = counts();
            tokio::time::sleep(seconds(3)).await;
            quiet = counts() == before;
            if quiet {
                break;
            }
        }
        assert!(quiet, "somebody wakes up all the time");
        for keeper in &keepers {
            let rollup = fs::read_to_string(format!("/proc/{keeper}/smaps_rollup")).unwrap();
            let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap();
            let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
            assert!(kilobytes < 3000, "{kilobytes} kB");
        }
        assert_eq!(harness.engine.tasks().kill_all(None).await.unwrap(), 200);
    });
}

#[test]
fn what_runs_in_a_branch_belongs_to_the_session_it_came_from() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        let branch = session.branch();
        let mut request = CommandRequest::new("cd /usr; sleep 1000");
        request.wait = Some(Duration::from_millis(50));
        let id = harness.request(&branch, request).await.run_id;
        harness.run(&branch, "cd /usr").await;
        assert_eq!(branch.state().cwd, std::path::Path::new("/usr"));
        assert_eq!(session.state().cwd, harness.folder.path(), "a branch goes its own way");
        drop(branch);
        let looked = WaitFor { timeout: Some(Duration::from_millis(300)), ..WaitFor::default() };
        let waited = harness.engine.tasks().wait(&id, looked).await.unwrap();
        assert_eq!(waited.reason, WaitReason::TimedOut, "it outlives the branch");
        session.close();
        let ended = harness.engine.tasks().wait(&id, WaitFor::default()).await.unwrap();
        assert_eq!(ended.task.status, TaskStatus::Killed, "and not the session");
    });
}
