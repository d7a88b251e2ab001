//! Whoever asks for a command may choose the id of its run. A call that is made twice then runs once.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chiton_engine::audit::{AuditConfig, Journal};
use chiton_engine::changes::UndoOptions;
use chiton_engine::sandbox::policy::{SandboxPolicy, UndoPolicy};
use chiton_engine::{
    AnswerMode, CommandRequest, Engine, EngineError, Outcome, RunControl, RunId, Session, Silent, StartedTask,
    TaskLifetime,
};
use chiton_testkit::processes::{MARK, eventually, marked, parent_of};
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{Harness, enclosed, mark, runtime, seconds};

fn asked(command: &str, id: &RunId) -> CommandRequest {
    CommandRequest { run_id: Some(id.clone()), ..CommandRequest::new(command) }
}

/// Has shells wait for the session's next commands.
async fn warmed(harness: &Harness, session: &Session) {
    session.settled().await;
    harness.engine.warm(session);
}

async fn run(engine: &Engine, session: &Session, request: CommandRequest) -> Result<Outcome, EngineError> {
    let response = engine.run(session, request, &mut Silent, &RunControl::new()).await?;
    Ok(response.outcome().unwrap())
}

fn is_taken(result: &Result<Outcome, EngineError>, id: &RunId) -> bool {
    matches!(result, Err(EngineError::RunExists { id: taken }) if taken == id)
}

#[test]
fn a_run_has_the_id_it_was_given_in_a_new_shell_and_in_one_that_waited() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        for round in 0..6 {
            let id = RunId::random().unwrap();
            if round > 0 {
                warmed(&harness, &session).await;
            }
            let mut request = asked(&format!("echo {round}; sleep 0.1 & echo later"), &id);
            request.answer = if round % 2 == 0 { AnswerMode::BeforeState } else { AnswerMode::WithState };
            let report = harness.request(&session, request).await;
            assert_eq!((report.run_id.as_str(), report.warm), (id.as_str(), round > 0));
            session.settled().await;
            let task = harness.engine.tasks().get(id.as_str()).unwrap();
            assert_eq!(task.outcome, Some(Outcome::Exited(0)));
            let output = fs::read(harness.folder_of(id.as_str()).join("stdout.0000000000000000")).unwrap();
            assert_eq!(String::from_utf8(output).unwrap(), format!("{round}\nlater\n"), "the spool is in its folder");
        }
    });
}

#[test]
fn a_task_that_waits_can_be_reached_by_the_id_it_was_given() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        for cold in [true, false] {
            let id = RunId::random().unwrap();
            if !cold {
                warmed(&harness, &session).await;
            }
            let mut request = asked("sleep 600", &id);
            request.task_lifetime = TaskLifetime::Durable;
            let StartedTask::Started(task) = harness.engine.start(&session, request).await.unwrap() else { panic!() };
            assert_eq!(task.id, id.as_str());
            let again = harness.engine.start(&session, asked("sleep 601", &id)).await;
            assert!(matches!(again, Err(EngineError::RunExists { id: taken }) if taken == id));
            harness.engine.tasks().kill(id.as_str(), None).await.unwrap();
            assert_eq!(harness.engine.tasks().get(id.as_str()).unwrap().outcome, Some(Outcome::Killed));
        }
    });
}

#[test]
fn what_was_run_is_not_run_again_and_the_shell_that_waited_still_does() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::new(folder.path(), AuditConfig::default(), "test");
    let harness = Harness::with(|config| config.audit = Some(journal));
    runtime().block_on(async {
        let session = harness.session();
        let id = RunId::random().unwrap();
        for round in 0..4 {
            warmed(&harness, &session).await;
            let result = run(&harness.engine, &session, asked("echo once >> log", &id)).await;
            assert_eq!(is_taken(&result, &id), round > 0, "{result:?}");
        }
        let report = harness.run(&session, "cat log").await;
        assert_eq!(report.stdout.to_text(), "once\n");
        assert!(report.warm);
    });
    let lines = all_text(folder.path());
    assert_eq!(lines.matches("asked for again").count(), 3, "{lines}");
    assert_eq!(lines.matches("\"failed\"").count(), 0, "{lines}");
}

fn all_text(folder: &Path) -> String {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.is_file()).map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
}

#[test]
fn of_calls_at_the_same_time_one_runs_whichever_process_they_come_through() {
    let harness = Arc::new(Harness::new());
    // A second engine on the same state, as in another process.
    let mut config = harness.engine.config().clone();
    config.room = chiton_engine::WarmRoom::default();
    let other = Engine::new(config).unwrap();
    let runtime = runtime();
    let sessions = [harness.session(), harness.session()];
    for round in 0..30 {
        let id = RunId::random().unwrap();
        if round % 3 != 0 {
            runtime.block_on(async {
                for (session, engine) in sessions.iter().zip([&harness.engine, &other]) {
                    session.settled().await;
                    engine.warm(session);
                }
            });
        }
        let calls: Vec<_> = (0..8)
            .map(|number| {
                let engine = [&harness.engine, &other][number % 2].clone();
                let (session, request) = (sessions[number % 2].clone(), asked("echo x >> log", &id));
                runtime.spawn(async move { run(&engine, &session, request).await })
            })
            .collect();
        let results: Vec<_> = calls.into_iter().map(|call| runtime.block_on(call).unwrap()).collect();
        let ran = results.iter().filter(|result| matches!(result, Ok(Outcome::Exited(0)))).count();
        let refused = results.iter().filter(|result| is_taken(result, &id)).count();
        assert_eq!((ran, refused), (1, 7), "{results:?}");
        let log = fs::read_to_string(harness.folder.path().join("log")).unwrap();
        assert_eq!(log.lines().count(), round + 1);
    }
}

/// A session whose shells, those that wait too, can be found by `mark`.
fn session_with(harness: &Harness, mark: &str) -> Session {
    let session = harness.session();
    let mut state = chiton_engine::ShellState::clone(&session.state());
    let value = chiton_engine::state::Value::Scalar(mark.into());
    state.variables.insert(MARK.to_owned(), chiton_engine::state::Variable::exported(value));
    session.restore(state.into());
    session
}

fn signal(pid: i32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
}

/// Whether there are two stems, each with a branch that waits for its command, and their keepers have taken note of that.
fn two_branches_wait(mark: &str) -> bool {
    let shells: Vec<i32> = marked(mark).iter().map(|shell| shell.pid).collect();
    let branches: Vec<(i32, i32)> = shells
        .iter()
        .map(|shell| (*shell, parent_of(*shell).cast_signed()))
        .filter(|(_, stem)| shells.contains(stem))
        .collect();
    let read = |pid: i32, what: &str| fs::read_to_string(format!("/proc/{pid}/{what}")).unwrap_or_default();
    // The pipe that commands come through is its descriptor 250.
    let waits = |branch: i32| read(branch, "syscall").split(' ').nth(1) == Some("0xfa");
    let sleeps = |pid: i32| read(pid, "stat").rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'));
    branches.len() >= 2
        && branches.iter().all(|(branch, stem)| waits(*branch) && sleeps(parent_of(*stem).cast_signed()))
}

/// Waits until a process has ended, or is stopped.
fn wait_for_state(pid: i32, states: &str) {
    let state = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_else(|_| ") Z".to_owned());
    let is_so = || state().rsplit(") ").next().is_some_and(|rest| rest.starts_with(|first| states.contains(first)));
    assert!(eventually(seconds(5), is_so), "{}", state());
}

#[test]
fn a_keeper_that_was_killed_while_it_waited_costs_no_id() {
    let harness = Harness::new();
    runtime().block_on(async {
        let mark = mark();
        let session = session_with(&harness, &mark);
        for round in 0..4 {
            warmed(&harness, &session).await;
            assert!(eventually(seconds(10), || marked(&mark).len() >= 2), "nobody waits");
            for keeper in marked(&mark).iter().map(|shell| parent_of(shell.pid).cast_signed()).filter(|pid| *pid > 1) {
                signal(keeper, Signal::KILL);
                wait_for_state(keeper, "Z");
            }
            let id = RunId::random().unwrap();
            let report = harness.request(&session, asked(&format!("echo {round} >> log; cat log"), &id)).await;
            assert_eq!((report.outcome, report.run_id.as_str()), (Outcome::Exited(0), id.as_str()), "round {round}");
            let expected = (0..=round).fold(String::new(), |text, number| text + &format!("{number}\n"));
            assert_eq!(report.stdout.to_text(), expected, "each ran once");
        }
    });
}

#[test]
fn a_shell_that_was_gone_when_its_command_came_is_replaced_under_the_same_id() {
    let harness = Arc::new(Harness::new());
    let runtime = runtime();
    let mark = mark();
    let session = session_with(&harness, &mark);
    for round in 0..6 {
        runtime.block_on(warmed(&harness, &session));
        assert!(eventually(seconds(10), || two_branches_wait(&mark)), "nobody waits");
        // Nothing is owed by a keeper that is about to stand still.
        runtime.block_on(session.settled());
        let shells: Vec<i32> = marked(&mark).iter().map(|shell| shell.pid).collect();
        let parent = |shell: i32| parent_of(shell).cast_signed();
        let (branches, stems): (Vec<i32>, Vec<i32>) =
            shells.iter().partition(|shell| shells.contains(&parent(**shell)));
        let keepers: Vec<i32> = stems.iter().map(|stem| parent(*stem)).collect();
        // A keeper that stands still cannot report that its shell is gone.
        for keeper in &keepers {
            signal(*keeper, Signal::STOP);
            wait_for_state(*keeper, "T");
        }
        // A branch comes to the keeper when its stem is gone.
        for shell in stems.into_iter().chain(branches) {
            signal(shell, Signal::KILL);
            wait_for_state(shell, "Z");
        }

        let id = RunId::random().unwrap();
        let request = asked(&format!("echo {round} >> log; cat log"), &id);
        let call = {
            let (harness, session) = (Arc::clone(&harness), session.clone());
            runtime.spawn(async move {
                if round % 2 == 0 {
                    return harness.request(&session, request).await.outcome;
                }
                let started = harness.engine.start(&session, request).await.unwrap();
                let StartedTask::Started(task) = started else { panic!("{started:?}") };
                let mut link = harness.engine.tasks().open(&task.id).await.unwrap();
                link.wait(chiton_engine::tasks::WaitFor::default()).await.unwrap().task.outcome.unwrap()
            })
        };
        // The command is on its way to a shell that is gone.
        assert!(eventually(seconds(10), || harness.folder_of(id.as_str()).is_dir()));
        assert!(matches!(
            runtime.block_on(run(&harness.engine, &session, asked("echo twice >> log", &id))),
            Err(EngineError::RunExists { .. })
        ));
        for keeper in keepers {
            signal(keeper, Signal::CONT);
        }
        assert_eq!(runtime.block_on(call).unwrap(), Outcome::Exited(0));
        let expected = (0..=round).fold(String::new(), |text, number| text + &format!("{number}\n"));
        assert_eq!(fs::read_to_string(harness.folder.path().join("log")).unwrap(), expected, "each ran once");
        let task = harness.engine.tasks().get(id.as_str()).unwrap();
        assert_eq!((task.id.as_str(), task.outcome), (id.as_str(), Some(Outcome::Exited(0))));
    }
    session.close();
    runtime.block_on(session.settled());
    let folders = || harness.engine.tasks().ids().len();
    assert!(eventually(seconds(10), || folders() == 6), "{} folders: what came to nothing is gone", folders());
}

#[test]
fn what_a_shell_that_waited_in_a_sandbox_changes_is_undone_by_the_id_it_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().canonicalize().unwrap();
    let policy = sandbox(&work);
    let harness = Harness::with(|config| config.sandbox = Some(policy));
    runtime().block_on(async {
        let session = harness.session_in(&work);
        harness.run(&session, "echo old > file").await;
        for round in 0..20 {
            warmed(&harness, &session).await;
            let id = RunId::random().unwrap();
            let report = harness.request(&session, asked("echo new > file", &id)).await;
            assert!(report.warm, "round {round}: {:?}", report.notices);
            assert_eq!(fs::read_to_string(work.join("file")).unwrap(), "new\n");
            session.settled().await;
            let logs = chiton_engine::changes::ChangeLogs::new(&harness.engine.config().state_directory);
            logs.undo(id.as_str(), UndoOptions::default()).unwrap();
            assert_eq!(fs::read_to_string(work.join("file")).unwrap(), "old\n", "round {round}");
        }
    });
}

fn sandbox(work: &Path) -> SandboxPolicy {
    SandboxPolicy { undo: UndoPolicy::Keep, ..enclosed(work) }
}

#[test]
fn an_id_costs_a_command_no_time() {
    let harness = Harness::new();
    let runtime = runtime();
    let session = harness.session();
    let time = |given: bool| {
        runtime.block_on(warmed(&harness, &session));
        let mut request = CommandRequest::new("true");
        request.answer = AnswerMode::BeforeState;
        request.run_id = given.then(|| RunId::random().unwrap());
        let begun = Instant::now();
        runtime.block_on(harness.request(&session, request));
        begun.elapsed()
    };
    // Machines are busy at times; one quiet moment is enough.
    let difference = || {
        let mut times: [Vec<Duration>; 2] = Default::default();
        for round in 0..200 {
            times[round % 2].push(time(round % 2 == 1));
        }
        let [without, with] = times.map(|mut all| {
            all.sort();
            all[all.len() / 2]
        });
        println!("{without:?} without, {with:?} with an id");
        with.saturating_sub(without)
    };
    assert!((0..5).any(|_| difference() < Duration::from_micros(100)), "it takes a tenth of a millisecond longer");
}

#[test]
fn an_id_whose_run_could_not_be_started_is_free() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        let id = RunId::random().unwrap();
        let mut request = asked("true", &id);
        request.shell = Some(chiton_engine::Shell::at(Path::new("/nonexistent/bash")));
        assert!(matches!(run(&harness.engine, &session, request).await, Err(EngineError::Start(_))));
        assert_eq!(run(&harness.engine, &session, asked("true", &id)).await.unwrap(), Outcome::Exited(0));
    });
}
