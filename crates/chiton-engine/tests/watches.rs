//! A watch stays on its task: every line that matches counts, however fast they come and whoever is still there.

use std::fs;
use std::path::Path;
use std::time::Instant;

use chiton_engine::tasks::{Followed, SendError, WaitFor, WaitReason, Watch};
use chiton_engine::{CommandRequest, Session, StartedTask, Streams, Task, TaskLifetime, Tasks};
use chiton_testkit::processes::peak_memory;

use crate::harness::{Harness, runtime, seconds};

async fn start(harness: &Harness, session: &Session, command: &str) -> Task {
    let mut request = CommandRequest { task_lifetime: TaskLifetime::Durable, ..CommandRequest::new(command) };
    request.streams = Streams::Separate;
    match harness.engine.start(session, request).await.unwrap() {
        StartedTask::Started(task) => *task,
        _ => panic!("{command} was not started"),
    }
}

/// A command that goes on once the file `name` is there.
fn until(name: &str) -> String {
    format!("until [ -e {name} ]; do sleep 0.01; done")
}

fn allow(harness: &Harness, name: &str) {
    fs::write(harness.folder.path().join(name), "").unwrap();
}

async fn end(tasks: &Tasks, id: &str) -> Task {
    let waited = tasks.wait(id, WaitFor { timeout: Some(seconds(60)), ..WaitFor::default() }).await.unwrap();
    assert_eq!(waited.reason, WaitReason::Ended);
    waited.task
}

/// Waits until the watches on a task have matched so many lines; gives how often it was told on the way.
async fn matched(tasks: &Tasks, id: &str, wanted: u64) -> u64 {
    let (mut told, mut tellings) = (0, 0);
    while told < wanted {
        let wait = WaitFor { watched_beyond: Some(told), timeout: Some(seconds(120)), ..WaitFor::default() };
        let waited = tasks.wait(id, wait).await.unwrap();
        assert_eq!(waited.reason, WaitReason::Watched, "after {told} of {wanted} matches");
        told = tasks.watches(id).iter().map(|watch| watch.matches).sum();
        tellings += 1;
    }
    assert_eq!(told, wanted);
    tellings
}

/// A watch as its number, its pattern, how many lines matched, and the last of them with their numbers.
type Summary<'w> = (u32, &'w str, u64, Vec<(u64, &'w str)>);

fn summary(watches: &[Watch]) -> Vec<Summary<'_>> {
    assert!(watches.iter().all(|watch| watch.last.len() <= 5));
    let summary = |watch| {
        let Watch { number, pattern, matches, last, .. }: &Watch = watch;
        (*number, pattern.as_str(), *matches, last.iter().map(|line| (line.line, line.text.as_str())).collect())
    };
    watches.iter().map(summary).collect()
}

/// The most memory that the keeper of a run has had, in bytes.
fn keeper_memory(folder: &Path) -> u64 {
    let start: serde_json::Value = serde_json::from_slice(&fs::read(folder.join("start.json")).unwrap()).unwrap();
    peak_memory(start["keeper"].as_u64().and_then(|pid| pid.try_into().ok()).unwrap())
}

#[test]
fn of_a_million_lines_every_match_counts_in_bounded_memory_and_few_events() {
    let harness = Harness::new();
    runtime().block_on(async {
        let tasks = harness.engine.tasks();
        let command = format!("{}; seq 1 1000000; {}", until("go"), until("stop"));
        let task = start(&harness, &harness.session(), &command).await;
        tasks.watch(&task.id, "7$").await.unwrap();
        tasks.watch(&task.id, "^[0-9]*$").await.unwrap();

        let begun = Instant::now();
        allow(&harness, "go");
        let tellings = matched(tasks, &task.id, 1_100_000).await;
        let most = 4 * (begun.elapsed().as_secs() + 1) + 2;
        assert!(tellings <= most, "{tellings} tellings in {:?}", begun.elapsed());
        let memory = keeper_memory(&harness.folder_of(&task.id));
        assert!((1..64 << 20).contains(&memory), "its keeper took {memory} bytes");

        let watches = tasks.watches(&task.id);
        let sevens = [999_957, 999_967, 999_977, 999_987, 999_997].map(|number| (number, number.to_string()));
        let last: Vec<(u64, String)> = watches[0].last.iter().map(|line| (line.line, line.text.clone())).collect();
        assert_eq!((watches[0].matches, &last[..]), (100_000, &sevens[..]));
        assert_eq!(watches[1].matches, 1_000_000);
        let written = fs::metadata(harness.folder_of(&task.id).join("watches.json")).unwrap().len();
        assert!(written < 8192, "{written} bytes were written");

        allow(&harness, "stop");
        end(tasks, &task.id).await;
        assert_eq!(tasks.watches(&task.id), watches, "what they matched is there after the end");
    });
}

#[test]
fn both_streams_and_an_unfinished_last_line_are_matched_as_a_person_reads_them() {
    let harness = Harness::new();
    runtime().block_on(async {
        let tasks = harness.engine.tasks();
        let print = r"printf '\033[31merr\033[0mor 1\n' >&2; sleep 0.05; printf '10%%\r100%% error 2\n'; printf 'error'; sleep 0.05; printf ' 3'";
        let task = start(&harness, &harness.session(), &format!("{}; {print}", until("go"))).await;
        tasks.watch(&task.id, "^(100% )?error [0-9]$").await.unwrap();
        allow(&harness, "go");
        end(tasks, &task.id).await;
        let watches = tasks.watches(&task.id);
        let expected = vec![(1, "error 1"), (2, "100% error 2"), (3, "error 3")];
        assert_eq!(summary(&watches), [(1, "^(100% )?error [0-9]$", 3, expected)]);
    });
}

#[test]
fn lines_from_before_the_watch_count_only_where_that_is_asked_for() {
    let harness = Harness::new();
    runtime().block_on(async {
        let tasks = harness.engine.tasks();
        let command = format!("printf 'one a\\none b\\ntwo'; {}; printf ' c\\none d\\n'", until("go"));
        let task = start(&harness, &harness.session(), &command).await;
        let printed = WaitFor { bytes: Some(15), ..WaitFor::default() };
        tasks.wait(&task.id, printed).await.unwrap();

        let now = tasks.watch(&task.id, "one|two").await.unwrap();
        let all = tasks.watch_since(&task.id, "[ot]", 0).await.unwrap();
        let later = tasks.watch_since(&task.id, "one", 8).await.unwrap();
        assert_eq!((now.matches, all.matches, later.matches), (0, 2, 1));
        allow(&harness, "go");
        end(tasks, &task.id).await;
        let watches = tasks.watches(&task.id);
        let expected = [
            (1, "one|two", 2, vec![(3, "two c"), (4, "one d")]),
            (2, "[ot]", 4, vec![(1, "one a"), (2, "one b"), (3, "two c"), (4, "one d")]),
            (3, "one", 2, vec![(2, "one b"), (4, "one d")]),
        ];
        assert_eq!(summary(&watches), expected);
    });
}

#[test]
fn a_watch_is_added_once_taken_off_and_bounded_in_number() {
    let harness = Harness::new();
    runtime().block_on(async {
        let tasks = harness.engine.tasks();
        let task = start(&harness, &harness.session(), &until("go")).await;
        let first = tasks.watch(&task.id, "a").await.unwrap();
        assert_eq!(tasks.watch(&task.id, "a").await.unwrap(), first, "the same pattern is the same watch");
        for number in 2..=16 {
            assert_eq!(tasks.watch(&task.id, &format!("a{{{number}}}")).await.unwrap().number, number);
        }
        let problem = tasks.watch(&task.id, "b").await.unwrap_err().to_string();
        assert!(problem.contains("it has 16 watches, which is the most"), "{problem}");

        let removed = tasks.unwatch(&task.id, Some("a")).await.unwrap();
        assert_eq!(removed, [first]);
        assert_eq!(tasks.watches(&task.id).len(), 15);
        assert_eq!(tasks.watch(&task.id, "b").await.unwrap().number, 17, "a number is not used again");
        assert_eq!(tasks.unwatch(&task.id, None).await.unwrap().len(), 16);
        assert!(tasks.watches(&task.id).is_empty());
        assert!(tasks.unwatch(&task.id, Some("nothing")).await.unwrap().is_empty());

        let problems = [
            (tasks.watch(&task.id, "(").await.unwrap_err(), "Invalid watch regex '('"),
            (tasks.watch(&task.id, "").await.unwrap_err(), "it is empty"),
            (tasks.watch(&task.id, &"a".repeat(1001)).await.unwrap_err(), "it has 1001 bytes"),
            (tasks.watch("shell_00000000", "a").await.unwrap_err(), "task shell_00000000 not found"),
        ];
        for (problem, words) in problems {
            assert!(problem.to_string().contains(words), "{problem}");
        }

        allow(&harness, "go");
        end(tasks, &task.id).await;
        let ended = tasks.watch(&task.id, "a").await.unwrap_err();
        assert!(matches!(ended, SendError::Ended { .. }), "{ended}");
        assert!(ended.to_string().contains("so there is nothing to watch for"), "{ended}");
    });
}

#[test]
fn what_a_command_left_running_has_watches_of_its_own() {
    let harness = Harness::new();
    runtime().block_on(async {
        let tasks = harness.engine.tasks();
        let command = format!("({}; echo left; {}) & echo own", until("go"), until("stop"));
        let report = harness.run(&harness.session(), &command).await;
        let left = report.leftover_task.unwrap();
        tasks.watch(&left, "left|own").await.unwrap();
        allow(&harness, "go");
        matched(tasks, &left, 1).await;
        assert!(tasks.watches(&report.run_id).is_empty());
        let watches = tasks.watches(&left);
        assert_eq!(summary(&watches), [(1, "left|own", 1, vec![(2, "left")])]);
        allow(&harness, "stop");
        end(tasks, &left).await;
        assert_eq!(tasks.watches(&left), watches);
    });
}

#[test]
fn whoever_follows_is_sent_each_line_or_how_many_were_passed_over() {
    let harness = Harness::new();
    runtime().block_on(async {
        let tasks = harness.engine.tasks();
        let command = format!("{}; seq 1 5; {}; seq 6 300000", until("go"), until("flood"));
        let task = start(&harness, &harness.session(), &command).await;
        let mut follow = tasks.open(&task.id).await.unwrap().follow("^[0-9]+$", None).await.unwrap();
        assert!(tasks.watches(&task.id).is_empty(), "nobody else is told");
        allow(&harness, "go");
        let (mut seen, mut count) = (Vec::new(), 0);
        let ended = loop {
            match follow.next().await.unwrap() {
                Followed::Matched { passed, lines } => {
                    count += passed + lines.len() as u64;
                    assert_eq!(lines.last().unwrap().line, count, "the latest line comes last");
                    if count == 5 {
                        assert_eq!(passed, 0, "few lines are all sent");
                        allow(&harness, "flood");
                    }
                    seen.extend(lines.into_iter().map(|line| line.text));
                }
                Followed::Ended(task) => break task,
            }
        };
        assert_eq!((count, ended.id), (300_000, task.id));
        assert_eq!(seen[..5], ["1", "2", "3", "4", "5"]);
        assert_eq!(seen.last().unwrap(), "300000");
        assert!(seen.len() < 300_000, "a flood is not sent line by line");
    });
}
