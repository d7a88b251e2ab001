//! `kill -9` of the server at any moment: its tasks go on, and the next server finds them all, once, with everything
//! they printed and how they ended.
#![cfg(test)]

mod harness;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use chiton_engine::audit::lost::note_lost;
use chiton_engine::audit::{AuditConfig, AuditEvent, Journal, read};
use chiton_engine::tasks::{Cursor, ReadRequest, WaitFor};
use chiton_engine::{
    CommandRequest, Engine, EngineConfig, Outcome, Session, StartedTask, TaskLifetime, TaskStatus, Tasks,
};
use chiton_testkit::named;
use chiton_testkit::trials::{self, Threads, Trial, passes};
use harness::{runtime, seconds};

const ROUNDS: usize = 300;
const TASKS: usize = 5;
/// The variable that makes this program the server, with the folder in which it works.
const SERVER: &str = "CHITON_TEST_SERVER";

/// This program is the test, and also the server that the test starts and kills.
fn main() -> ExitCode {
    if let Some(folder) = std::env::var_os(SERVER) {
        serve(Path::new(&folder));
        return ExitCode::SUCCESS;
    }
    let tests = named![fn(); no_task_is_lost_or_doubled_whenever_the_server_dies];
    let trials = tests.map(|(name, check)| Trial::test(name, move || passes(check)));
    trials::run(Threads::Processors, trials.into(), Vec::new())
}

fn journal(folder: &Path) -> Journal {
    Journal::new(folder.join("state/audit"), AuditConfig::default(), "test").with_witness_in(&folder.join("witness"))
}

/// Starts the tasks and lives until it is killed.
fn serve(folder: &Path) {
    runtime().block_on(async {
        let mut config = EngineConfig::new(folder.join("state")).unwrap();
        config.keeper = harness::keeper();
        config.audit = Some(journal(folder));
        let engine = Engine::new(config).unwrap();
        let environment = [("PATH".to_owned(), harness::PATH.into())];
        let session = Session::new(engine.fresh_state(folder, environment, 0o022));
        for number in 0..TASKS {
            // Each logs on its own what it prints, and exits with its number.
            let log = folder.join(format!("log-{number}"));
            let log = log.display();
            let command = format!(
                "echo {number} > {log}.start; for i in {{1..20}}; do echo line $i >> {log}; echo line $i; \
                 [ $((i % 5)) = 0 ] && sleep 0.01; done; echo over >> {log}.end; exit {number}"
            );
            let mut request = CommandRequest::new(command);
            request.task_lifetime = TaskLifetime::Durable;
            match engine.start(&session, request).await.unwrap() {
                StartedTask::Started(task) => fs::write(folder.join(format!("id-{number}")), task.id).unwrap(),
                StartedTask::Refused(_) | StartedTask::Described(_) => unreachable!(),
            }
        }
        tokio::time::sleep(seconds(60)).await;
    });
}

#[expect(clippy::disallowed_methods, reason = "the server is a process of its own, so that it can be killed")]
fn no_task_is_lost_or_doubled_whenever_the_server_dies() {
    let own = std::env::current_exe().unwrap();
    let runtime = runtime();
    let mut started_in_all = 0;
    for round in 0..ROUNDS {
        let folder = tempfile::tempdir().unwrap();
        let mut server =
            Command::new(&own).env(SERVER, folder.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // From before the first start to after the last end.
        std::thread::sleep(Duration::from_micros((round as u64 * 7919) % 90_000));
        server.kill().unwrap();
        server.wait().unwrap();
        started_in_all += runtime.block_on(check(folder.path(), round));
    }
    assert!(started_in_all > ROUNDS, "only {started_in_all} tasks were started at all");
}

/// Compares what the registry says with what the tasks themselves logged; tells how many there were.
async fn check(folder: &Path, round: usize) -> usize {
    let tasks = Tasks::new(&folder.join("state"));
    let (found, damaged) = tasks.list().unwrap();
    assert_eq!(damaged, [], "round {round}");
    let mut numbers = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for task in found {
        let limit = WaitFor { timeout: Some(seconds(30)), ..WaitFor::default() };
        let task = tasks.wait(&task.id, limit).await.unwrap().task;
        ids.insert(task.id.clone());
        let number: usize = task.command.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert!(numbers.insert(number), "round {round}: task {number} is there twice");
        let log = folder.join(format!("log-{number}"));
        let logged = fs::read_to_string(&log).unwrap_or_default();
        let printed = task.read(&mut Cursor::default(), &ReadRequest::default()).unwrap().to_text();
        assert_eq!(printed, logged, "round {round}: task {number}, {:?}", task.status);
        if log.with_extension("end").exists() {
            assert_eq!(task.outcome, Some(Outcome::Exited(i32::try_from(number).unwrap())), "round {round}");
        } else {
            // The engine died before the keeper had its plan: nothing ran, and nothing is said to have run.
            assert!(!log.with_extension("start").exists(), "round {round}: {number} was cut off: {:?}", task.status);
            assert_eq!(task.status, TaskStatus::Lost, "round {round}");
        }
    }
    let logs = fs::read_dir(folder).unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    for number in logs.filter_map(|name| name.strip_suffix(".start")?.strip_prefix("log-")?.parse().ok()) {
        assert!(numbers.contains(&number), "round {round}: task {number} ran and is not found");
    }
    check_journal(folder, &ids, round);
    numbers.len()
}

/// Every task has one end in the journal, whoever wrote it; notices of what was lost are not repeated.
fn check_journal(folder: &Path, ids: &BTreeSet<String>, round: usize) {
    let journal = journal(folder);
    note_lost(&folder.join("state"), &journal);
    note_lost(&folder.join("state"), &journal);
    read::verify(journal.folder(), journal.witness()).unwrap();

    let mut ends = BTreeMap::new();
    read::lines(journal.folder(), |_, line| {
        if line.entry.event == AuditEvent::End {
            *ends.entry(line.entry.run.clone().unwrap()).or_insert(0) += 1;
        }
    })
    .unwrap();
    let expected: BTreeMap<String, i32> = ids.iter().map(|id| (id.clone(), 1)).collect();
    assert_eq!(ends, expected, "round {round}");
}
