//! A command in a terminal: the same promises, and a screen, keys and a prompt besides.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chiton_engine::tasks::{Cursor, ReadRequest, SendError, WaitFor, WaitReason, WindowEvent};
use chiton_engine::terminal::TerminalSize;
use chiton_engine::{
    CommandInput, CommandRequest, EnvironmentChange, Look, Outcome, Session, Signal, StartedTask, StateReport, Task,
    TaskLifetime, Tasks, Typing, Typist,
};
use chiton_testkit::processes::{eventually, marked};
use regex::bytes::Regex;
use tokio::task::JoinSet;

use crate::harness::{Harness, mark, marked_request, runtime, seconds};

fn in_terminal(command: &str) -> CommandRequest {
    CommandRequest { terminal: Some(TerminalSize::USUAL), ..CommandRequest::new(command) }
}

async fn start(harness: &Harness, session: &Session, command: &str) -> Task {
    let request = CommandRequest { task_lifetime: TaskLifetime::Session, ..in_terminal(command) };
    match harness.engine.start(session, request).await.unwrap() {
        StartedTask::Started(task) => *task,
        StartedTask::Refused(refused) => panic!("{}", refused.refusal.reason),
        StartedTask::Described(_) => panic!("a dry run"),
    }
}

async fn until(tasks: &Tasks, id: &str, wanted: WaitFor) -> WaitReason {
    tasks.wait(id, WaitFor { timeout: Some(seconds(30)), ..wanted }).await.unwrap().reason
}

async fn shows(tasks: &Tasks, id: &str, pattern: &str) -> Look {
    let wanted = WaitFor { screen: Some(Regex::new(pattern).unwrap()), ..WaitFor::default() };
    let reason = until(tasks, id, wanted).await;
    let look = tasks.look(id).await.unwrap();
    assert!(matches!(reason, WaitReason::Matched(_)), "{pattern}: {reason:?}\n{}", look.screen.to_text());
    look
}

async fn keys(tasks: &Tasks, id: &str, names: &str) {
    tasks.type_into(id, Typing::Keys(names.to_owned()), Typist::Caller).await.unwrap();
}

async fn text(tasks: &Tasks, id: &str, text: &str) {
    tasks.type_into(id, Typing::Text(text.to_owned()), Typist::Caller).await.unwrap();
}

fn printed(task: &Task) -> String {
    task.read(&mut Cursor::default(), &ReadRequest::default()).unwrap().to_text()
}

#[test]
fn nothing_is_lost_however_soon_a_command_ends() {
    let harness = Arc::new(Harness::new());
    runtime().block_on(async {
        // Many at a time, each with a keeper of its own, so that commands end before anybody has asked after them.
        for _ in 0..20 {
            let mut runs = JoinSet::new();
            for _ in 0..10 {
                let harness = Arc::clone(&harness);
                runs.spawn(async move { harness.request(&harness.session(), in_terminal("echo here")).await });
            }
            for report in runs.join_all().await {
                assert_eq!(report.stdout.to_text(), "here\r\n", "{:?}", report.outcome);
            }
        }
    });
}

#[test]
fn a_terminal_is_real_and_one_stream_and_only_there_on_request() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        let command = "test -t 0 && test -t 1 && test -t 2 && echo TTY; tty; echo err >&2; stty size; echo $TERM; : > /dev/tty && echo controlling; exit 3";
        let response = harness.request(&session, in_terminal(command)).await;
        assert_eq!(response.outcome, Outcome::Exited(3));
        let lines: Vec<&str> = response.stdout.head.split("\r\n").collect();
        assert!(lines[1].starts_with("/dev/pts/"), "{lines:?}");
        assert_eq!((lines[0], &lines[2..]), ("TTY", &["err", "24 80", "xterm-256color", "controlling", ""][..]));
        assert_eq!(response.stderr.head, "");
        let plain = harness.run(&session, "tty; test -t 1 || echo none; : 2>&1 > /dev/tty").await;
        assert!(plain.stdout.head.starts_with("not a tty\nnone\n"), "{}", plain.stdout.head);
    });
}

#[test]
fn every_ending_is_exact_in_a_terminal_too() {
    let harness = Harness::new();
    let signal = |name| Outcome::Signaled(Signal::parse(name).unwrap());
    let cases = [
        ("true", Outcome::Exited(0)),
        ("exit 7", Outcome::Exited(7)),
        ("kill -SEGV $$", signal("SEGV")),
        ("kill -HUP $$", signal("HUP")),
        ("kill -INT $$", signal("INT")),
        ("sleep 100", Outcome::TimedOut),
        ("trap '' TERM HUP INT; sleep 100", Outcome::TimedOut),
    ];
    runtime().block_on(async {
        let session = harness.session();
        for (command, outcome) in cases {
            let mark = mark();
            let mut request = marked_request(command, &mark);
            (request.terminal, request.timeout) = (Some(TerminalSize::USUAL), Some(Duration::from_millis(700)));
            request.grace = Some(Duration::from_millis(100));
            let response = harness.request(&session, request).await;
            assert_eq!(response.outcome, outcome, "{command}");
            assert!(marked(&mark).is_empty(), "{command}");
        }
    });
}

#[test]
fn the_last_bytes_before_the_end_are_never_lost() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        for round in 0..20 {
            let response =
                harness.request(&session, in_terminal(&format!("seq 1 {round}; printf 'end {round}'"))).await;
            assert!(response.stdout.head.ends_with(&format!("end {round}")), "{:?}", response.stdout.head);
        }
        let response = harness.request(&session, in_terminal("seq 1 50000")).await;
        let lines: Vec<String> = (1..=50_000).map(|number| format!("{number}\r\n")).collect();
        assert_eq!(response.stdout.head, lines.concat());
    });
}

#[test]
fn state_is_committed_and_leftovers_go_on_in_a_terminal_too() {
    let harness = Harness::new();
    let mark = mark();
    runtime().block_on(async {
        let session = harness.session();
        let mut request = marked_request("cd /usr; export A=1; f() { echo in f; }; sleep 100 & echo started", &mark);
        request.terminal = Some(TerminalSize::USUAL);
        let response = harness.request(&session, request).await;
        assert_eq!((&response.outcome, &response.state), (&Outcome::Exited(0), &StateReport::Committed));
        assert_eq!(response.leftovers.len(), 1, "{:?}", response.leftovers);
        let after = harness.run(&session, "pwd; echo $A; f; echo $TERM ${GIT_TERMINAL_PROMPT}").await;
        assert_eq!(after.stdout.head, "/usr\n1\nin f\ndumb 0\n", "what is for the terminal stays with it");
        let id = response.leftover_task.unwrap();
        harness.engine.tasks().kill(&id, Some(Duration::ZERO)).await.unwrap();
    });
    assert!(marked(&mark).is_empty());
}

#[test]
fn what_is_typed_arrives_and_is_shown_and_keys_interrupt() {
    let harness = Harness::new();
    runtime().block_on(async {
        let (session, tasks) = (harness.session(), harness.engine.tasks());
        // Not a child of bash: a key that arrives between fork and exec would be lost in bash's own handler.
        let command = "read -p 'name? ' x; echo \"hello $x\"; cat; echo end; exec sleep 100";
        let task = start(&harness, &session, command).await;
        shows(tasks, &task.id, "name\\?").await;
        text(tasks, &task.id, "wor\u{e9}\u{e9}").await;
        keys(tasks, &task.id, "backspace backspace l d enter").await;
        shows(tasks, &task.id, "^hello world$").await;
        text(tasks, &task.id, "line\n").await;
        shows(tasks, &task.id, "^line$").await;
        tasks.end_input(&task.id).await.unwrap();
        shows(tasks, &task.id, "^end$").await;
        keys(tasks, &task.id, "ctrl-c").await;
        assert_eq!(until(tasks, &task.id, WaitFor::default()).await, WaitReason::Ended);
        let task = tasks.get(&task.id).unwrap();
        assert_eq!(task.outcome, Some(Outcome::Signaled(Signal::parse("INT").unwrap())));
        let look = tasks.look(&task.id).await.unwrap();
        assert!(look.screen.to_text().contains("hello world"), "the last screen stays: {}", look.screen.to_text());
    });
}

#[test]
fn a_command_that_waits_is_known_to_wait_with_its_prompt_and_whether_it_shows_what_is_typed() {
    let harness = Harness::new();
    // Command, what the last line matches, echo.
    let cases = [
        ("read -p 'name? ' x", "^name\\?$", true),
        ("read -s -p 'Password: ' x", "^Password:$", false),
        ("echo one; cat", "^one$", true),
        ("bash --norc -i", "[$#]$", true),
        ("python3 -q", "^>>>$", true),
        ("python3 -c 'import getpass; getpass.getpass()'", "^Password:$", false),
        ("head -1 | cat", "", true),
        ("(echo sub; read x)", "^sub$", true),
        ("python3 -c 'import select,sys; print(\"menu\"); select.select([sys.stdin],[],[])'", "^menu$", true),
        (
            "python3 -c 'import select,sys; print(\"menu\"); p=select.poll(); p.register(0, select.POLLIN); p.poll()'",
            "^menu$",
            true,
        ),
        (
            "python3 -c 'import select,sys; print(\"menu\"); p=select.epoll(); p.register(0, select.EPOLLIN); p.poll()'",
            "^menu$",
            true,
        ),
    ];
    runtime().block_on(async {
        let session = harness.session();
        for (command, prompt, echo) in cases {
            let request = CommandRequest { until_input: true, timeout: Some(seconds(30)), ..in_terminal(command) };
            let response = harness.request(&session, request).await;
            assert_eq!(response.outcome, Outcome::Running, "{command}: {:?}", response.stdout);
            let wait = response.waits.unwrap();
            assert!(Regex::new(prompt).unwrap().is_match(wait.prompt.as_bytes()), "{command}: {wait:?}");
            assert_eq!((wait.echo, wait.certain), (echo, true), "{command}");
            let look = harness.engine.tasks().look(&response.run_id).await.unwrap();
            assert_eq!(look.waits, Some(wait), "{command}");
            harness.engine.tasks().kill(&response.run_id, Some(Duration::ZERO)).await.unwrap();
        }
    });
}

#[test]
fn one_link_serves_many_requests_and_never_answers_with_something_old() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        let command = "for i in {1..5}; do read -p \"question $i? \" answer; echo \"got $answer\"; done; exit 3";
        let task = start(&harness, &session, command).await;
        let mut link = harness.engine.tasks().open(&task.id).await.unwrap();
        for number in 1..=5 {
            let wanted = WaitFor { input: true, timeout: Some(seconds(30)), ..WaitFor::default() };
            let WaitReason::Input(wait) = link.wait(wanted).await.unwrap().reason else {
                panic!("no question {number}")
            };
            assert_eq!(wait.prompt.trim(), format!("question {number}?"));
            // The wait for the screen may leave looks behind that are older than the one asked for next.
            let shown = Regex::new(&format!("question {number}")).unwrap();
            let wanted = WaitFor { screen: Some(shown), timeout: Some(seconds(30)), ..WaitFor::default() };
            assert!(matches!(link.wait(wanted).await.unwrap().reason, WaitReason::Matched(_)));
            let look = link.look().await.unwrap();
            assert_eq!(look.waits.map(|wait| wait.prompt), Some(wait.prompt));
            link.type_in(Typing::Text(format!("answer {number}\n")), Typist::Caller).await.unwrap();
        }

        let wanted = WaitFor { timeout: Some(seconds(30)), ..WaitFor::default() };
        let ended = link.wait(wanted).await.unwrap();
        assert_eq!((ended.reason, ended.task.outcome), (WaitReason::Ended, Some(Outcome::Exited(3))));
        assert!(link.look().await.unwrap().screen.to_text().contains("got answer 5"));
        let error = link.type_in(Typing::Text("too late".to_owned()), Typist::Caller).await.unwrap_err();
        assert!(matches!(error, SendError::Ended { .. }), "{error}");
    });
}

#[test]
fn a_command_that_works_is_not_said_to_wait() {
    let harness = Harness::new();
    let cases = [
        "sleep 100",
        "while :; do :; done",
        "read x < /dev/zero & wait",
        "sleep 100 | cat",
        "python3 -c 'import time; time.sleep(100)'",
    ];
    runtime().block_on(async {
        let (session, tasks) = (harness.session(), harness.engine.tasks());
        for command in cases {
            let task = start(&harness, &session, command).await;
            let wanted = WaitFor { input: true, timeout: Some(Duration::from_millis(800)), ..WaitFor::default() };
            let waited = tasks.wait(&task.id, wanted).await.unwrap();
            assert_eq!(waited.reason, WaitReason::TimedOut, "{command}");
            assert_eq!(tasks.look(&task.id).await.unwrap().waits, None, "{command}");
            tasks.kill(&task.id, Some(Duration::ZERO)).await.unwrap();
        }
    });
}

#[test]
fn a_program_that_glances_at_its_terminal_while_it_leaves_is_not_said_to_wait() {
    let harness = Harness::new();
    // As vim does when it leaves: it waits for an answer of its terminal for a moment.
    let glances = [
        "import select; print(1, flush=True); select.select([0], [], [], 0.1)",
        "import select; print(2, flush=True); p = select.poll(); p.register(0, select.POLLIN); p.poll(100)",
        "import select; print(3, flush=True); p = select.epoll(); p.register(0, select.EPOLLIN); p.poll(0.1)",
        "import os, termios; print(4, flush=True); m = termios.tcgetattr(0); m[3] &= ~(termios.ICANON | termios.ECHO); \
         m[6][termios.VMIN] = 0; m[6][termios.VTIME] = 1; termios.tcsetattr(0, termios.TCSANOW, m); os.read(0, 1)",
    ];
    runtime().block_on(async {
        let session = harness.session();
        for (round, script) in glances.iter().cycle().take(2 * glances.len()).enumerate() {
            let command = format!("python3 -c '{script}'; exit 3");
            let request = CommandRequest { until_input: true, timeout: Some(seconds(30)), ..in_terminal(&command) };
            let response = harness.request(&session, request).await;
            assert_eq!(response.outcome, Outcome::Exited(3), "round {round}: {:?}", response.waits);
        }
        // One that looks again and again does wait.
        let script = "import select; print(\"menu\", flush=True)\nwhile not select.select([0], [], [], 0.05)[0]: pass";
        let command = format!("python3 -c '{script}'");
        let request = CommandRequest { until_input: true, timeout: Some(seconds(30)), ..in_terminal(&command) };
        let response = harness.request(&session, request).await;
        assert_eq!(response.waits.map(|wait| wait.prompt), Some("menu".to_owned()));
        harness.engine.tasks().kill(&response.run_id, Some(Duration::ZERO)).await.unwrap();
    });
}

#[test]
fn a_prompt_is_reported_at_once() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        // The promise is about us, not about a machine that is busy: the best of five counts.
        let mut best = Duration::MAX;
        for _ in 0..5 {
            let request = CommandRequest { until_input: true, ..in_terminal("read -p 'name? ' x") };
            let begun = Instant::now();
            let response = harness.request(&session, request).await;
            best = best.min(begun.elapsed());
            assert_eq!(response.waits.map(|wait| wait.prompt), Some("name?".to_owned()));
            harness.engine.tasks().kill(&response.run_id, Some(Duration::ZERO)).await.unwrap();
        }
        assert!(best < Duration::from_millis(150), "{best:?}");
    });
}

#[test]
fn a_new_size_reaches_program_and_screen() {
    let harness = Harness::new();
    runtime().block_on(async {
        let (session, tasks) = (harness.session(), harness.engine.tasks());
        let task = start(&harness, &session, "trap 'stty size' WINCH; echo ready; while :; do sleep 0.1; done").await;
        shows(tasks, &task.id, "ready").await;
        tasks.resize(&task.id, TerminalSize { columns: 100, rows: 30 }).await.unwrap();
        let look = shows(tasks, &task.id, "^30 100$").await;
        assert_eq!((look.screen.size.columns, look.screen.rows.len()), (100, 30));
        let error = tasks.resize(&task.id, TerminalSize { columns: 1, rows: 30 }).await.unwrap_err().to_string();
        assert!(error.contains("from 2 to 1000 columns"), "{error}");
        tasks.kill(&task.id, Some(Duration::ZERO)).await.unwrap();
    });
}

#[test]
fn what_a_terminal_cannot_do_is_said() {
    let harness = Harness::new();
    runtime().block_on(async {
        let (session, tasks) = (harness.session(), harness.engine.tasks());
        let mut request = in_terminal("cat");
        request.input = CommandInput::Text("x".into());
        let error = harness.engine.start(&session, request).await.unwrap_err().to_string();
        assert!(error.contains("type it"), "{error}");
        let request =
            CommandRequest { terminal: Some(TerminalSize { columns: 0, rows: 5 }), ..CommandRequest::new("cat") };
        let error = harness.engine.start(&session, request).await.unwrap_err().to_string();
        assert!(error.contains("0 columns and 5 rows"), "{error}");
        let task = start(&harness, &session, "cat").await;
        let error = tasks.type_into(&task.id, Typing::Keys("entr".to_owned()), Typist::Caller).await.unwrap_err();
        assert!(error.to_string().contains("did you mean enter?"), "{error}");
        tasks.kill(&task.id, Some(Duration::ZERO)).await.unwrap();
        let StartedTask::Started(pipe) =
            harness.engine.start(&session, CommandRequest::new("sleep 100")).await.unwrap()
        else {
            panic!("refused")
        };
        for error in [
            tasks.look(&pipe.id).await.unwrap_err(),
            tasks.resize(&pipe.id, TerminalSize::USUAL).await.unwrap_err(),
            tasks.type_into(&pipe.id, Typing::Keys("enter".to_owned()), Typist::Caller).await.unwrap_err(),
        ] {
            assert!(matches!(error, SendError::NoTerminal { .. }), "{error}");
        }
        tasks.kill(&pipe.id, Some(Duration::ZERO)).await.unwrap();
    });
}

#[test]
fn a_program_stopped_by_a_key_goes_on_since_nobody_could_call_it_back() {
    let harness = Harness::new();
    runtime().block_on(async {
        let (session, tasks) = (harness.session(), harness.engine.tasks());
        let task = start(&harness, &session, "echo ready; cat").await;
        shows(tasks, &task.id, "ready").await;
        keys(tasks, &task.id, "ctrl-z").await;
        shows(tasks, &task.id, "\\^Z").await;
        text(tasks, &task.id, "still here\n").await;
        shows(tasks, &task.id, "^still here$").await;
        tasks.kill(&task.id, Some(Duration::ZERO)).await.unwrap();
    });
}

#[test]
fn a_person_looks_in_and_takes_over_and_that_is_seen() {
    let harness = Harness::new();
    runtime().block_on(async {
        let (session, tasks) = (harness.session(), harness.engine.tasks());
        let task = start(&harness, &session, "read -p 'name? ' x; echo \"hello $x\"; read y").await;
        shows(tasks, &task.id, "name").await;
        let mut watching = tasks.attach(&task.id, None).await.unwrap();
        let mut typing = tasks.attach(&task.id, Some(Typist::Person)).await.unwrap();
        for window in [&mut watching, &mut typing] {
            let Some(WindowEvent::Screen(look)) = window.next().await else { panic!("the screen first") };
            assert_eq!(look.screen.to_text(), "name?");
        }
        watching.enter(b"not me\r").await;
        typing.enter(b"person\r").await;
        let look = shows(tasks, &task.id, "hello person").await;
        assert_eq!((look.people, look.typed_by_people), (1, 1));
        let mut seen = String::new();
        while !seen.contains("hello person") {
            let Some(WindowEvent::Output(bytes)) = watching.next().await else { panic!("output") };
            seen += &bytes.to_text();
        }
        drop(typing);
        tasks.kill(&task.id, Some(Duration::ZERO)).await.unwrap();
        while !matches!(watching.next().await, Some(WindowEvent::Ended(Outcome::Killed))) {}
    });
}

#[test]
fn a_window_that_does_not_read_holds_up_nothing_and_is_shown_the_screen_later() {
    let harness = Harness::new();
    runtime().block_on(async {
        let (session, tasks) = (harness.session(), harness.engine.tasks());
        let task = start(&harness, &session, "read x; seq 1 1000000; echo done; read x").await;
        let mut window = tasks.attach(&task.id, Some(Typist::Person)).await.unwrap();
        text(tasks, &task.id, "\n").await;
        shows(tasks, &task.id, "^done$").await;
        let mut screens = 0;
        loop {
            match window.next().await.unwrap() {
                WindowEvent::Screen(look) => {
                    screens += 1;
                    if look.screen.to_text().contains("done") {
                        break;
                    }
                }
                WindowEvent::Output(_) => {}
                other => panic!("{other:?}"),
            }
        }
        assert!(screens >= 2);
        tasks.kill(&task.id, Some(Duration::ZERO)).await.unwrap();
    });
}

#[test]
fn a_recording_gives_back_what_was_shown_with_its_times() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        let response =
            harness.request(&session, in_terminal("printf '\\033[31mred\\033[0m\\n'; sleep 0.3; echo gr\u{fc}n")).await;
        let task = harness.engine.tasks().get(&response.run_id).unwrap();
        let cast = String::from_utf8(task.write_cast(Vec::new()).unwrap()).unwrap();
        let lines: Vec<&str> = cast.lines().collect();
        assert!(lines[0].contains("\"version\":2") && lines[0].contains("\"width\":80"), "{cast}");
        assert!(lines[1].ends_with("\"o\", \"\\u001b[31mred\\u001b[0m\\r\\n\"]"), "{cast}");
        let later: f64 = lines[2][1..].split(',').next().unwrap().parse().unwrap();
        assert!(later >= 0.3 && lines[2].ends_with("\"gr\u{fc}n\\r\\n\"]"), "{cast}");
        let plain = harness.run(&session, "echo x").await;
        let error = harness.engine.tasks().get(&plain.run_id).unwrap().write_cast(Vec::new()).unwrap_err();
        assert!(error.to_string().contains("had no terminal"), "{error}");
    });
}

#[test]
fn an_environment_of_its_own_still_names_the_terminal() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        for (change, expected) in [
            (EnvironmentChange::Replace([("A".to_owned(), "1".into())].into()), "xterm-256color 1"),
            (EnvironmentChange::Merge([("TERM".to_owned(), "dumb".into())].into()), "dumb "),
        ] {
            let response =
                harness.request(&session, CommandRequest { environment: change, ..in_terminal("echo $TERM $A") }).await;
            assert_eq!(response.stdout.head.trim_end(), expected.trim_end());
        }
    });
}

#[test]
fn the_screen_is_the_same_for_whoever_comes_after_the_one_who_started_it() {
    let harness = Harness::new();
    let mark = mark();
    let id = runtime().block_on(async {
        let session = harness.session();
        let mut request = marked_request("vim -u NONE -i NONE -n file.txt", &mark);
        (request.terminal, request.task_lifetime) = (Some(TerminalSize::USUAL), TaskLifetime::Durable);
        let StartedTask::Started(task) = harness.engine.start(&session, request).await.unwrap() else {
            panic!("refused")
        };
        let tasks = harness.engine.tasks();
        shows(tasks, &task.id, "file.txt").await;
        text(tasks, &task.id, "iline one").await;
        shows(tasks, &task.id, "^line one").await;
        task.id
    });
    // Another process knows the folder and nothing else.
    let tasks = Tasks::new(&harness.folder.path().join("state"));
    runtime().block_on(async {
        let look = tasks.look(&id).await.unwrap();
        assert!(look.screen.alternate && look.screen.to_text().starts_with("line one"), "{}", look.screen.to_text());
        keys(&tasks, &id, "enter").await;
        text(&tasks, &id, "line two").await;
        keys(&tasks, &id, "esc : w q enter").await;
        assert_eq!(until(&tasks, &id, WaitFor::default()).await, WaitReason::Ended);
        assert_eq!(tasks.get(&id).unwrap().outcome, Some(Outcome::Exited(0)), "{}", printed(&tasks.get(&id).unwrap()));
    });
    let written = std::fs::read_to_string(harness.folder.path().join("file.txt")).unwrap();
    assert_eq!(written, "line one\nline two\n");
    assert!(eventually(seconds(10), || marked(&mark).is_empty()));
}

/// How often these processes gave up the processor by themselves: each sleep that ended was a wake-up.
fn wake_ups(pids: &[i32]) -> u64 {
    let of = |pid: &i32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
        line.trim().parse::<u64>().unwrap()
    };
    pids.iter().map(of).sum()
}

#[test]
fn fifty_idle_terminals_do_not_wake_up() {
    let harness = Harness::new();
    runtime().block_on(async {
        let (session, tasks) = (harness.session(), harness.engine.tasks());
        let mut keepers = Vec::new();
        for _ in 0..50 {
            let task = start(&harness, &session, "read x").await;
            let record = std::fs::read_to_string(task.folder().join("start.json")).unwrap();
            let record: serde_json::Value = serde_json::from_str(&record).unwrap();
            keepers.push(i32::try_from(record["keeper"].as_i64().unwrap()).unwrap());
        }
        // Settled within a second or so: a keeper makes itself small once. After that, nothing for a whole second.
        let mut last = wake_ups(&keepers);
        let quiet = eventually(seconds(20), || {
            std::thread::sleep(seconds(1));
            let now = wake_ups(&keepers);
            std::mem::replace(&mut last, now) == now
        });
        assert!(quiet, "they keep waking up");
        tasks.kill_all(Some(Duration::ZERO)).await.unwrap();
    });
}
