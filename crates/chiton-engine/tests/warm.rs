//! A shell that was there before its command is no different from one that was started for it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use chiton_engine::{
    AnswerMode, CommandRequest, EnvironmentChange, Outcome, RunReport, Session, Signal, StateReport, Streams,
    WarmLimits,
};
use chiton_testkit::dice::Dice;
use chiton_testkit::oracle::{self, Observed};
use chiton_testkit::processes::{MARK, eventually, marked, parent_of};

use crate::harness::{Harness, PATH, mark, runtime, seconds};

/// A session whose shells, those that wait too, can be found by `mark`.
fn session_with(harness: &Harness, mark: &str) -> Session {
    let session = harness.session();
    let mut state = chiton_engine::ShellState::clone(&session.state());
    let value = chiton_engine::state::Value::Scalar(mark.into());
    state.variables.insert(MARK.to_owned(), chiton_engine::state::Variable::exported(value));
    session.restore(state.into());
    session
}

fn early_if(early: bool) -> AnswerMode {
    if early { AnswerMode::BeforeState } else { AnswerMode::WithState }
}

/// Runs a command whose shell waits for it already.
async fn run_warm(harness: &Harness, session: &Session, command: &str) -> RunReport {
    session.settled().await;
    harness.engine.warm(session);
    let mut request = CommandRequest::new(command);
    request.answer = AnswerMode::BeforeState;
    let response = harness.request(session, request).await;
    assert!(response.warm, "{command} met no shell that waited");
    response
}

#[test]
fn what_a_command_changes_is_there_for_a_shell_that_waits() {
    let harness = Harness::new();
    // What one command does, what the next one asks, and what it is answered.
    let cases = [
        ("cd /usr", "pwd", "/usr\n"),
        ("A=1; export B='two words'", "echo $A; printenv B", "1\ntwo words\n"),
        ("unset B", "echo ${B-gone}", "gone\n"),
        ("f() { echo from f; }", "f", "from f\n"),
        ("alias hi='echo hello'; shopt -s expand_aliases", "hi", "hello\n"),
        ("shopt -s nullglob", "echo /nowhere/*", "\n"),
        ("set -o noclobber", "set -o | grep -c 'noclobber.*on'", "1\n"),
        ("umask 077", "umask", "0077\n"),
        ("a=(x y z); declare -A m=([k]=v)", "echo ${a[1]} ${m[k]}", "y v\n"),
        ("set -euo pipefail; exit 3", "false; echo still here", "still here\n"),
        ("REPLY=kept", "echo $REPLY", "kept\n"),
        ("exec() { :; }; read() { :; }; eval() { :; }", "echo shadowed | cat", "shadowed\n"),
    ];
    runtime().block_on(async {
        let session = harness.session();
        for (change, question, answer) in cases {
            run_warm(&harness, &session, change).await;
            let response = run_warm(&harness, &session, question).await;
            assert_eq!(response.stdout.to_text(), answer, "{change}, then {question}: {:?}", response.stderr);
        }
    });
}

#[test]
fn a_shell_that_waited_starts_its_clock_with_the_command_and_shows_nothing_of_ours() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        run_warm(&harness, &session, "true").await;
        session.settled().await;
        harness.engine.warm(&session);
        tokio::time::sleep(Duration::from_millis(1200)).await;
        let response = run_warm(&harness, &session, "echo $SECONDS; set | grep -c '^__chiton'; ls /proc/self/fd").await;
        assert_eq!(response.stdout.to_text(), "0\n0\n0\n1\n2\n3\n");
    });
}

/// The shell that runs a command, as a program of it sees that.
const WHO_RUNS: &str = "sh -c 'echo \"$PPID\"'";

#[test]
fn commands_that_leave_nothing_are_run_by_one_copy_for_a_while() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        let mut copies = Vec::new();
        for _ in 0..300 {
            copies.push(run_warm(&harness, &session, WHO_RUNS).await.stdout.to_text());
        }
        let all: BTreeSet<&String> = copies.iter().collect();
        assert!(all.len() > 1, "a copy runs everything");
        // On a busy machine no shell waits now and then, and another one is started.
        assert!(all.len() < 150, "{} copies: {copies:?}", all.len());
    });
}

/// Whether this shell is among those that run the next commands: two wait as a rule.
async fn runs_again(harness: &Harness, session: &Session, shell: &str) -> bool {
    for _ in 0..10 {
        if run_warm(harness, session, WHO_RUNS).await.stdout.to_text() == shell {
            return true;
        }
    }
    false
}

#[test]
fn what_changes_the_state_is_run_by_the_copy_that_goes_on() {
    let harness = Harness::new();
    fs::create_dir(harness.folder.path().join("sub")).unwrap();
    let changes = [
        "export A=1",
        "A=2",
        "unset A",
        "cd sub",
        "cd ..",
        "cd sub && export A=3",
        "f() { echo \"$1\"; }",
        "unset -f f",
        "f() {\n  echo \"$1\"\n}\ng() { f; }",
        "l=(1 2)",
        "read -r first rest < /proc/self/stat",
        "PATH=$PATH:/opt/bin",
        "export B=\"$A$PWD\" C",
    ];
    runtime().block_on(async {
        let session = harness.session();
        for change in changes {
            let ran = run_warm(&harness, &session, &format!("{change}\n{WHO_RUNS}")).await.stdout;
            assert!(runs_again(&harness, &session, &ran.to_text()).await, "{change}");
        }
    });
}

#[test]
fn what_a_waiting_copy_must_not_have_ends_it() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        // It would not wait for long, would take something else for a character, or might have become large.
        for change in
            ["TMOUT=1", "export LC_ALL=C", "A=$(cat /proc/self/stat)", "A={1..9}", "for i in 1 2; do A=$i; done"]
        {
            let ran = run_warm(&harness, &session, &format!("{change}\n{WHO_RUNS}")).await.stdout;
            assert!(!runs_again(&harness, &session, &ran.to_text()).await, "{change}");
        }
        let response = harness.run(&session, "echo $TMOUT $LC_ALL $A").await;
        assert_eq!(response.stdout.to_text(), "1 C 2\n");
    });
}

#[test]
fn what_is_not_kept_of_a_change_is_not_in_the_copy_that_made_it() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        for round in 0..5 {
            let response = run_warm(&harness, &session, &format!("export KEPT={round} LD_PRELOAD=/nowhere.so")).await;
            assert_eq!(response.removed_variables.len(), 1, "{:?}", response.removed_variables);
            let next = harness.run(&session, "echo ${LD_PRELOAD-none} $KEPT").await;
            assert_eq!(next.stdout.to_text(), format!("none {round}\n"));
        }
    });
}

#[test]
fn a_copy_that_went_on_and_is_gone_takes_nothing_along() {
    let harness = Harness::new();
    fs::create_dir(harness.folder.path().join("sub")).unwrap();
    let sub = harness.folder.path().join("sub").display().to_string();
    // How it ends, or turns out to be needed as the shell itself.
    let ends = [
        ("sh -c 'kill -KILL $PPID'", Outcome::Signaled(Signal::KILL)),
        ("sh -c 'kill -TERM $PPID'", Outcome::Signaled(Signal::TERM)),
        ("echo ${gone?not set}", Outcome::Exited(127)),
        ("exit 3", Outcome::Exited(3)),
        ("echo $$", Outcome::Exited(0)),
        ("(sleep 1000 &)", Outcome::Exited(0)),
        ("for i in 1 2; do :; done", Outcome::Exited(0)),
    ];
    runtime().block_on(async {
        let session = harness.session();
        for (round, (command, outcome)) in ends.into_iter().enumerate() {
            for change in [format!("export A={round}"), "cd sub".to_owned(), format!("f() {{ echo f {round}; }}")] {
                run_warm(&harness, &session, &change).await;
            }
            let response = run_warm(&harness, &session, command).await;
            assert_eq!(response.outcome, outcome, "{command}");
            for left in &response.leftovers {
                let pid = rustix::process::Pid::from_raw(left.pid).unwrap();
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            }
            for question in ["sh -c 'echo $A; pwd'; type -t f", "echo $A; pwd; type -t f; : $$"] {
                let next = harness.run(&session, question).await;
                assert_eq!(next.stdout.to_text(), format!("{round}\n{sub}\nfunction\n"), "{command}, then {question}");
            }
            assert_eq!(harness.run(&session, "f").await.stdout.to_text(), format!("f {round}\n"));
            run_warm(&harness, &session, "cd ..").await;
        }
    });
}

#[test]
fn changes_by_chance_lead_where_they_lead_in_one_bash() {
    let harness = Harness::new();
    let place = harness.folder.path().join("place");
    fs::create_dir_all(place.join("sub/sub")).unwrap();
    let changes = [
        "export A=%", "A=%", "A+=%", "unset A", "B=$A%; export B", "unset -v B", "cd sub 2>/dev/null", "cd ..",
        "cd - >/dev/null 2>&1", "cd sub 2>/dev/null && A=%", "f() { echo f %; }", "f() {\n  A=%\n  echo \"$A\"\n}",
        "unset -f f", "l=(% \"$A\")", "unset l", "read -r C D <<< \"% $B\"", "if true; then E=%; fi", "C= D=%",
    ];
    let questions = [
        "echo \"$A|$B|$C|$D|$E|${l[*]}|$PWD|$OLDPWD\"",
        "sh -c 'echo \"$A|$B|$C\"; pwd'",
        "declare -p A B C D E l OLDPWD 2>/dev/null",
        "f 2>/dev/null",
        "declare -f f",
        "(f; A=x; cd /) 2>/dev/null",
        "env | grep -c '^[ABCDE]='",
    ];
    let environment = [("PATH", PATH), ("HOME", "/nonexistent"), ("LANG", "C.UTF-8")];
    for seed in 0..24 {
        let mut dice = Dice::new(seed);
        let mut commands = Vec::new();
        for number in 0..40 {
            let one = if dice.roll(3) == 0 { *dice.one_of(&questions) } else { *dice.one_of(&changes) };
            commands.push(one.replace('%', &number.to_string()));
        }
        commands.extend(questions.map(str::to_owned));
        let bash = oracle::bash(commands.join("\n").as_bytes(), &place, &environment);
        let ours = runtime().block_on(async {
            let session = harness.session_in(&place);
            let mut printed = String::new();
            for command in &commands {
                let mut request = CommandRequest::new(command.as_str());
                request.answer = AnswerMode::BeforeState;
                printed += &harness.request(&session, request).await.stdout.to_text();
            }
            printed
        });
        assert_eq!(ours, String::from_utf8_lossy(&bash.stdout), "seed {seed}: {commands:#?}");
    }
}

#[test]
fn a_copy_that_ran_a_command_is_as_good_as_new() {
    let harness = Harness::new();
    let place = harness.folder.path().join("place");
    fs::create_dir(&place).unwrap();
    fs::write(place.join("words"), "one\ntwo\n").unwrap();
    let environment = [("PATH", PATH), ("HOME", "/nonexistent"), ("LANG", "C.UTF-8")];
    // What is run before each of the others.
    let before = [
        "ls; cat words | sort | uniq -c",
        "nosuchprogram; ls nowhere",
        "echo one two > out; cat < words >> out 2>&1; rm out",
        "cat <<< text; cat <<E\ntext\nE",
        "false | true",
        "if grep -q two words; then ls; fi",
        "(exit 7)",
        "(cd /; x=1; set -u; exec 9</dev/null; ls)",
        "A=1 B=2 env",
        "sh -c 'kill -USR1 $$'",
        "\n\n\nls",
    ];
    // Bash says what a fresh shell answers.
    let questions = [
        "type ls sort; hash",
        "echo $? $_ $SECONDS",
        "echo ${gone?not set}",
        "\n\nnosuchprogram",
        "set -- a b; echo $# $-",
        "test -e 'out' || pwd",
        "cat; wc -c",
        "exit 3",
        "umask; ulimit -n; shopt -p nullglob",
        "sh -c 'kill -TERM $PPID'; echo not reached",
    ];
    let answers = questions.map(|question| (question, oracle::bash(question.as_bytes(), &place, &environment)));
    // What bash inherits from us is open in it as well, so it is not asked.
    let descriptors =
        ("ls /proc/self/fd", Observed { stdout: b"0\n1\n2\n3\n".to_vec(), stderr: Vec::new(), status: 0 });
    runtime().block_on(async {
        let session = harness.session_in(&place);
        for (question, bash) in answers.into_iter().chain([descriptors]) {
            for first in before {
                run_warm(&harness, &session, first).await;
                session.settled().await;
                let mut request = CommandRequest::new(question);
                request.answer = AnswerMode::BeforeState;
                let (ours, report) = harness.observe_request(&session, request).await;
                assert!(report.warm, "{question} met no shell that waited");
                assert_eq!(ours, bash, "{first}, then {question}");
            }
        }
    });
}

#[test]
fn what_a_command_left_running_is_not_taken_for_the_next_ones() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        run_warm(&harness, &session, "true").await;
        let left = run_warm(&harness, &session, "(sleep 1000 &)").await;
        assert_eq!(left.leftovers.len(), 1, "{:?}", left.leftovers);
        let pid = rustix::process::Pid::from_raw(left.leftovers[0].pid).unwrap();
        let next = run_warm(&harness, &session, "echo next").await;
        assert_eq!((next.stdout.to_text().as_str(), next.leftovers.len()), ("next\n", 0));
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    });
}

#[test]
fn a_call_that_needs_something_else_gets_it() {
    let harness = Harness::new();
    fs::create_dir(harness.folder.path().join("sub")).unwrap();
    runtime().block_on(async {
        let session = harness.session();
        for _ in 0..3 {
            run_warm(&harness, &session, "true").await;
            let mut request = CommandRequest::new("pwd; echo $X; echo err >&2");
            request.directory = Some("sub".into());
            request.environment = EnvironmentChange::Merge(BTreeMap::from([("X".to_owned(), "own".into())]));
            request.streams = Streams::Merged;
            request.called_as = Some("/bin/bash".into());
            let response = harness.request(&session, request).await;
            let there = harness.folder.path().join("sub").display().to_string();
            assert_eq!(response.stdout.to_text(), format!("{there}\nown\nerr\n"));
            let response = harness.run(&session, "pwd; echo $0 ${X-none}").await;
            let home = harness.folder.path().display();
            assert_eq!(response.stdout.to_text(), format!("{home}\nbash none\n"));
        }
    });
}

#[test]
fn a_directory_that_was_made_anew_is_the_new_one() {
    let harness = Harness::new();
    let place = harness.folder.path().join("place");
    fs::create_dir(&place).unwrap();
    runtime().block_on(async {
        let session = harness.session_in(&place);
        run_warm(&harness, &session, "true").await;
        session.settled().await;
        harness.engine.warm(&session);
        fs::remove_dir(&place).unwrap();
        fs::create_dir(&place).unwrap();
        let response = harness.run(&session, "touch here").await;
        assert_eq!(response.outcome, Outcome::Exited(0));
        assert!(place.join("here").exists());
    });
}

#[test]
fn a_waiting_shell_or_keeper_that_was_killed_costs_nothing() {
    let harness = Harness::new();
    runtime().block_on(async {
        let mark = mark();
        let session = session_with(&harness, &mark);
        for round in 0..12 {
            session.settled().await;
            harness.engine.warm(&session);
            assert!(eventually(seconds(10), || marked(&mark).len() >= 2), "nobody waits");
            let shells: Vec<i32> = marked(&mark).iter().map(|shell| shell.pid).collect();
            let victims: Vec<i32> = match round % 2 {
                0 => shells,
                _ => shells.into_iter().map(|shell| parent_of(shell).cast_signed()).collect(),
            };
            for victim in victims.iter().filter(|victim| **victim != 1) {
                let pid = rustix::process::Pid::from_raw(*victim).unwrap();
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                // The next command may come before anybody has noticed, but not before it has happened.
                let is_gone =
                    || fs::read_to_string(format!("/proc/{victim}/stat")).map_or(true, |it| it.contains(") Z"));
                assert!(eventually(seconds(5), is_gone));
            }
            let mut request = CommandRequest::new(format!("echo {round} >> log; cat log").as_str());
            request.answer = early_if(round % 3 == 0);
            let response = harness.request(&session, request).await;
            assert_eq!(response.outcome, Outcome::Exited(0), "round {round}");
            let expected = (0..=round).fold(String::new(), |text, number| text + &format!("{number}\n"));
            assert_eq!(response.stdout.to_text(), expected, "each ran once");
        }
    });
}

#[test]
fn a_command_that_has_ended_before_its_keeper_looked_has_run_once() {
    let harness = std::sync::Arc::new(Harness::new());
    let runtime = runtime();
    let mark = mark();
    let session = session_with(&harness, &mark);
    // In a copy of the shell that waits, and in that shell itself: with an answer that goes first, and with one that does not.
    let commands = [
        "echo x >> log", "echo x >> log", "echo x >> log; exit 3", "echo x >> log; exit 3",
        "echo x >> log; : $$; exit 3", "echo x >> log; exec true",
    ];
    for (round, command) in commands.into_iter().enumerate() {
        runtime.block_on(session.settled());
        let inside = runtime.enter();
        harness.engine.warm(&session);
        drop(inside);
        // A copy sleeps when it has said that it waits, and its keeper when it has heard that.
        let is_asleep =
            |pid: i32| fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|status| status.contains(") S"));
        let all_sleep = || {
            let shells = marked(&mark);
            let mut everybody = shells.iter().flat_map(|it| [it.pid, parent_of(it.pid).cast_signed()]);
            shells.len() >= 4 && everybody.all(is_asleep)
        };
        let stay_asleep = || {
            all_sleep() && {
                std::thread::sleep(Duration::from_millis(5));
                all_sleep()
            }
        };
        assert!(eventually(seconds(10), stay_asleep), "nobody waits");
        runtime.block_on(session.settled());
        let pids: Vec<i32> = marked(&mark).iter().map(|shell| shell.pid).collect();
        let parents = pids.iter().map(|shell| parent_of(*shell).cast_signed());
        let keepers: Vec<i32> = parents.filter(|parent| !pids.contains(parent)).collect();
        let tell = |signal| {
            for keeper in keepers.iter().filter_map(|keeper| rustix::process::Pid::from_raw(*keeper)) {
                let _ = rustix::process::kill_process(keeper, signal);
            }
        };
        tell(rustix::process::Signal::STOP);
        let call = {
            let (harness, session) = (std::sync::Arc::clone(&harness), session.clone());
            let mut request = CommandRequest::new(command);
            request.answer = early_if(round % 2 == 0);
            runtime.spawn(async move { harness.request(&session, request).await })
        };
        let log = || fs::read_to_string(harness.folder.path().join("log")).unwrap_or_default();
        let has_run = eventually(seconds(10), || log().lines().count() > round);
        // A shell that ends at once has ended by then, or will before its keeper has looked around.
        std::thread::sleep(Duration::from_millis(20));
        tell(rustix::process::Signal::CONT);
        let response = runtime.block_on(call).unwrap();
        assert!(has_run && response.warm, "{command}");
        assert_eq!(response.outcome, Outcome::Exited(if command.ends_with('3') { 3 } else { 0 }), "{command}");
        assert_eq!(log(), "x\n".repeat(round + 1), "{command}");
    }
}

#[test]
fn a_session_that_changes_from_call_to_call_is_never_answered_by_a_shell_of_before() {
    let harness = std::sync::Arc::new(Harness::new());
    let lane = |lane: usize| {
        let harness = std::sync::Arc::clone(&harness);
        std::thread::spawn(move || {
            runtime().block_on(async {
                for round in 0..12 {
                    let session = harness.session();
                    harness.engine.warm(&session);
                    // Each change makes those that are still starting useless.
                    for change in ["cd /", "A=1", "cd /usr && B=2", "f() { echo f; }", "shopt -s nullglob", "cd /"] {
                        let mut request = CommandRequest::new(change);
                        request.answer = AnswerMode::BeforeState;
                        assert_eq!(harness.request(&session, request).await.outcome, Outcome::Exited(0), "{change}");
                        let mut request =
                            CommandRequest::new("printf x; head -c 100000 /dev/zero | tr '\\0' y | wc -c");
                        request.answer = AnswerMode::BeforeState;
                        let response = harness.request(&session, request).await;
                        assert_eq!(response.outcome, Outcome::Exited(0), "{lane} {round}: after {change}");
                        assert_eq!(response.stdout.to_text(), "x100000\n", "{lane} {round}: after {change}");
                    }
                }
            });
        })
    };
    let lanes: Vec<_> = (0..3).map(lane).collect();
    for lane in lanes {
        lane.join().unwrap();
    }
}

#[test]
fn sixteen_calls_at_once_are_sixteen_commands() {
    let harness = std::sync::Arc::new(Harness::new());
    let runtime = runtime();
    let session = harness.session();
    for _ in 0..5 {
        let calls: Vec<_> = (0..16)
            .map(|number| {
                let (harness, session) = (std::sync::Arc::clone(&harness), session.clone());
                runtime.spawn(async move {
                    let mut request = CommandRequest::new(format!("echo {number}; V{number}={number}").as_str());
                    request.answer = early_if(number % 2 == 0);
                    harness.request(&session, request).await
                })
            })
            .collect();
        for (number, call) in calls.into_iter().enumerate() {
            assert_eq!(runtime.block_on(call).unwrap().stdout.to_text(), format!("{number}\n"));
        }
    }
    let response = runtime.block_on(harness.run(&session, "echo ${V0} ${V7} ${V15}"));
    assert_eq!(response.stdout.to_text(), "0 7 15\n", "each has left its own");
}

#[test]
fn of_hundreds_of_calls_at_once_each_is_run_once_and_answered() {
    let harness = std::sync::Arc::new(Harness::new());
    let runtime = runtime();
    let session = harness.session();
    // Some that a copy of a shell runs, some that take a shell of their own, some that take a while.
    let command = |number: usize| match number % 3 {
        0 => format!("echo {number} | tee -a log"),
        1 => format!("echo {number} | tee -a log; : $$"),
        _ => format!("sleep 0.02; echo {number} | tee -a log"),
    };
    let calls: Vec<_> = (0..300)
        .map(|number| {
            let (harness, session) = (std::sync::Arc::clone(&harness), session.clone());
            let mut request = CommandRequest::new(command(number).as_str());
            request.answer = early_if(number % 2 == 0);
            runtime.spawn(async move { harness.request(&session, request).await })
        })
        .collect();
    for (number, call) in calls.into_iter().enumerate() {
        assert_eq!(runtime.block_on(call).unwrap().stdout.to_text(), format!("{number}\n"));
    }
    let log = fs::read_to_string(harness.folder.path().join("log")).unwrap();
    let mut numbers: Vec<usize> = log.lines().map(|line| line.parse().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..300).collect::<Vec<_>>());
}

#[test]
fn the_first_command_of_a_session_finds_a_shell_and_nothing_of_other_sessions() {
    let harness = Harness::new();
    runtime().block_on(async {
        let question = "echo ${X-none} $PWD $(type -t f)";
        let answer = format!("none {}\n", harness.folder.path().display());
        let mut found = 0;
        let begun = std::time::Instant::now();
        while found < 3 {
            assert!(begun.elapsed() < seconds(20), "no shell has waited for the first command of a session");
            let session = harness.session();
            let mut request = CommandRequest::new(question);
            request.answer = AnswerMode::BeforeState;
            let response = harness.request(&session, request).await;
            assert_eq!(response.stdout.to_text(), answer);
            found += usize::from(response.warm);
            harness.run(&session, "X=another; f() { :; }; cd /usr").await;
            session.settled().await;
        }
        // One that begins in another way has a shell of its own.
        let session = session_with(&harness, "of-its-own");
        let response = harness.run(&session, &format!("echo ${MARK}")).await;
        assert_eq!(response.stdout.to_text(), "of-its-own\n");
    });
}

#[test]
fn every_ending_is_told_as_it_is_also_when_the_answer_goes_first() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        let cases = [
            ("true", Outcome::Exited(0)),
            ("false", Outcome::Exited(1)),
            ("exit 7", Outcome::Exited(7)),
            ("(exit 130)", Outcome::Exited(130)),
            ("kill -TERM $$; echo after", Outcome::Signaled(Signal::TERM)),
            ("kill -KILL $$", Outcome::Signaled(Signal::KILL)),
            ("set -e; false; echo no", Outcome::Exited(1)),
            ("exec false", Outcome::Exited(1)),
            ("nosuchcommand", Outcome::Exited(127)),
            ("builtin() { :; }; (exit 9)", Outcome::Exited(9)),
            ("(exit 4)", Outcome::Exited(4)),
        ];
        for (command, expected) in cases {
            session.settled().await;
            harness.engine.warm(&session);
            let mut request = CommandRequest::new(command);
            request.answer = AnswerMode::BeforeState;
            let response = harness.request(&session, request).await;
            assert_eq!(response.outcome, expected, "{command}");
            session.settled().await;
            let ended = || harness.engine.tasks().get(&response.run_id).unwrap().outcome == Some(expected.clone());
            assert!(eventually(seconds(5), ended), "{command}: what is written down is not what was answered");
        }
        let response = run_warm(&harness, &session, "true | false | (exit 3) | true").await;
        assert_eq!(response.pipe_status, [0, 1, 3, 0]);
        assert_eq!(response.state, StateReport::Unchanged);
    });
}

#[test]
fn a_command_that_can_change_nothing_is_over_with_its_answer_and_changes_nothing() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        run_warm(&harness, &session, "cd /usr; A=1; f() { echo from f; }; shopt -s nullglob; umask 027").await;
        session.settled().await;
        let before = session.state();
        let cases = [
            ("true", "", 0),
            ("ls -d /usr | cat", "/usr\n", 0),
            ("echo $A $(A=2; echo $A)", "1 2\n", 0),
            ("printf '%s\\n' \"$PWD\"; nosuchcommand", "/usr\n", 127),
            ("cat <<E\n$A\nE", "1\n", 0),
            ("env -i /bin/sh -c 'cd /; exit 3'", "", 3),
        ];
        for (command, printed, code) in cases {
            let response = run_warm(&harness, &session, command).await;
            assert_eq!((response.stdout.to_text().as_str(), response.outcome), (printed, Outcome::Exited(code)));
            assert_eq!(response.state, StateReport::Unchanged, "{command}");
            assert!(std::sync::Arc::ptr_eq(&session.state(), &before), "{command}");
            session.settled().await;
            let task = harness.engine.tasks().get(&response.run_id).unwrap();
            assert_eq!(task.outcome, Some(Outcome::Exited(code)), "{command}: it is written down");
        }
        let response = run_warm(&harness, &session, "pwd; f; echo $A /nowhere/*; umask").await;
        assert_eq!(response.stdout.to_text(), "/usr\nfrom f\n1\n0027\n");
    });
}

#[test]
fn who_is_left_running_is_named_also_when_the_answer_goes_first() {
    let harness = Harness::new();
    runtime().block_on(async {
        let mark = mark();
        let session = session_with(&harness, &mark);
        let response = run_warm(&harness, &session, "(setsid sleep 300 &); sleep 300 & echo started").await;
        assert_eq!(response.leftovers.len(), 2, "{:?}", response.leftovers);
        assert_ne!(response.state, StateReport::Follows);
        for leftover in response.leftovers {
            let pid = rustix::process::Pid::from_raw(leftover.pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
    });
}

#[test]
fn what_cannot_be_kept_is_said_with_the_next_answer() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        let response = run_warm(&harness, &session, "declare -x LD_PRELOAD=/nowhere.so").await;
        assert_eq!(response.state, StateReport::Follows);
        let next = run_warm(&harness, &session, "echo ${LD_PRELOAD-none}").await;
        assert_eq!(next.stdout.to_text(), "none\n");
        assert!(next.notices.iter().any(|notice| notice.contains("LD_PRELOAD")), "{:?}", next.notices);
    });
}

#[test]
fn shells_that_wait_are_few_and_go_when_nobody_comes() {
    let harness = Harness::with(|config| {
        config.limits.warm = WarmLimits { per_session: 2, in_all: 3, idle: Duration::from_millis(300) };
    });
    runtime().block_on(async {
        let mark = mark();
        let sessions: Vec<Session> = (0..5).map(|_| session_with(&harness, &mark)).collect();
        for session in &sessions {
            harness.run(session, "true").await;
            harness.engine.warm(session);
        }
        assert!(eventually(seconds(5), || marked(&mark).len() <= 3), "{:?}", marked(&mark));
        // The timer needs this runtime.
        let mut left = 1;
        for _ in 0..100 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            left = marked(&mark).len();
            if left == 0 {
                break;
            }
        }
        assert_eq!(left, 0, "{:?}", marked(&mark));
        let (runs, _) = harness.engine.tasks().list().unwrap();
        assert_eq!(runs.len(), 5);
        let folders = fs::read_dir(harness.folder.path().join("state/runs")).unwrap();
        let folders = folders.filter(|entry| entry.as_ref().unwrap().file_name() != ".tidied").count();
        assert_eq!(folders, 5, "one that waited in vain leaves nothing");
    });
}

#[test]
fn a_shell_that_was_started_for_one_command_runs_that_or_goes_and_leaves_nothing() {
    let harness = Harness::with(|config| config.limits.warm = WarmLimits::none());
    runtime().block_on(async {
        let mark = mark();
        let session = session_with(&harness, &mark);
        let request = |command: &str| {
            let mut request = CommandRequest::new(command);
            request.answer = AnswerMode::WithoutState;
            request
        };
        harness.engine.expect(&session, &request("exit 7"));
        assert!(eventually(seconds(10), || marked(&mark).len() == 1), "no shell waits");
        let waits = marked(&mark)[0].pid;
        let ran = harness.request(&session, request("exit 7")).await;
        assert_eq!((ran.outcome, ran.pid, ran.warm), (Outcome::Exited(7), waits, true));

        // As where its command is refused.
        harness.engine.expect(&session, &request("true"));
        assert!(eventually(seconds(10), || marked(&mark).len() == 1), "no shell waits");
        harness.engine.stand_down();
        assert!(eventually(seconds(10), || marked(&mark).is_empty()), "{:?}", marked(&mark));
        assert_eq!(harness.engine.tasks().list().unwrap().0.len(), 1, "what has run is there, and nothing else");
    });
}

#[test]
fn a_session_that_ends_takes_its_waiting_shells_along() {
    let harness = Harness::new();
    let mark = mark();
    runtime().block_on(async {
        let session = session_with(&harness, &mark);
        run_warm(&harness, &session, "true").await;
        session.settled().await;
        harness.engine.warm(&session);
        assert!(eventually(seconds(10), || marked(&mark).len() >= 2));
        drop(session);
        assert!(eventually(seconds(10), || marked(&mark).is_empty()), "{:?}", marked(&mark));
    });
}

#[test]
fn a_closed_session_has_no_shell_wait_not_even_with_the_keeper_that_is_free_only_then() {
    let harness = Harness::new();
    let mark = mark();
    runtime().block_on(async {
        let session = session_with(&harness, &mark);
        // A state that takes its time after the answer.
        run_warm(&harness, &session, "for i in {1..3000}; do declare v$i=$i; done").await;
        run_warm(&harness, &session, "true").await;
        session.close();
        session.settled().await;
        let end = std::time::Instant::now() + seconds(10);
        while !marked(&mark).is_empty() && std::time::Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(marked(&mark).is_empty(), "{:?}", marked(&mark));
        let response = harness.run(&session, "echo it can be used again").await;
        assert_eq!(response.stdout.to_text(), "it can be used again\n");
    });
}

#[test]
fn a_command_of_any_size_arrives_whole() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        // Around what is written to a pipe at once, and around what a shell can wait for.
        for size in [100, 4095, 4096, 4097, 8192, 20_000, 32_767, 32_768, 32_769, 70_000] {
            let frame = "cat <<'E'\n\nE".len();
            let text = "y".repeat(size - frame);
            session.settled().await;
            harness.engine.warm(&session);
            let mut request = CommandRequest::new(format!("cat <<'E'\n{text}\nE"));
            request.answer = AnswerMode::BeforeState;
            let response = harness.request(&session, request).await;
            assert_eq!(response.warm, size <= 32_768, "{size} bytes");
            assert_eq!(response.stdout.to_text().len(), text.len() + 1, "{size} bytes");
        }
    });
}
