//! Five thousand commands later nothing is left but what is kept on purpose.
#![cfg(test)]

mod harness;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chiton_engine::{Outcome, RunControl, RunEvent};
use chiton_testkit::processes::{
    eventually, marked, open_descriptors, parent_of, resident_memory, with_command, zombies_of,
};
use harness::{Harness, mark, marked_request, runtime, seconds};

const COMMANDS: usize = 5000;
const AT_A_TIME: usize = 16;

/// A command and the word its outcome has.
const MIX: [(&str, &str); 10] = [
    ("true", "exited"),
    ("echo out; echo err >&2; exit 3", "exited"),
    ("cd /usr; export A=$RANDOM; f() { :; }", "exited"),
    ("seq 1 20000", "exited"),
    ("kill -9 $$", "signaled"),
    ("echo \"open", "exited"),
    ("(sleep 0.05 &); echo left", "exited"),
    ("sleep 100", "timed_out"),
    ("echo up; sleep 100", "cancelled"),
    ("ls / | wc -l | cat", "exited"),
];

#[test]
fn five_thousand_mixed_commands_leave_nothing_behind() {
    // What is ready for the first command of another session goes when nobody comes.
    let harness = Arc::new(Harness::with(|config| config.limits.warm.idle = seconds(2)));
    let runtime = runtime();
    let mark = mark();
    let session = harness.session();
    let next = Arc::new(AtomicUsize::new(0));
    let batch = |until: usize| {
        let workers: Vec<_> = (0..AT_A_TIME)
            .map(|_| {
                let (harness, session, next, mark) =
                    (Arc::clone(&harness), session.clone(), Arc::clone(&next), mark.clone());
                runtime.spawn(async move {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= until {
                            next.fetch_sub(1, Ordering::Relaxed);
                            return;
                        }
                        one(&harness, &session, number, &mark).await;
                    }
                })
            })
            .collect();
        for worker in workers {
            runtime.block_on(worker).unwrap();
        }
        // Shells that wait for the next command are no leak; nothing else is left.
        let others = || marked(&mark).into_iter().filter(|it| !it.command.contains("BASH_EXECUTION_STRING")).count();
        assert!(eventually(seconds(10), || others() == 0), "{:?}", marked(&mark));
        session.close();
        assert!(eventually(seconds(10), || marked(&mark).is_empty()), "{:?}", marked(&mark));
        let is_own = |it: &chiton_testkit::processes::Marked| parent_of(it.pid) == std::process::id();
        let own_keepers = || with_command("chiton-keeper").iter().filter(|it| is_own(it)).count();
        assert!(eventually(seconds(10), || own_keepers() == 0), "{} keepers are left", own_keepers());
        assert!(eventually(seconds(10), || zombies_of(std::process::id()).is_empty()));
        (open_descriptors(), resident_memory(std::process::id()))
    };
    let (descriptors, memory) = batch(1000);
    let (descriptors_after, memory_after) = batch(COMMANDS);
    assert!(descriptors_after <= descriptors, "{descriptors} descriptors became {descriptors_after}");
    assert!(memory_after < memory + (10 << 20), "{memory} bytes became {memory_after}");
    let names = std::fs::read_dir(harness.folder.path().join("state/runs")).unwrap();
    let kept = names.filter(|entry| entry.as_ref().unwrap().file_name() != ".tidied").count();
    // Nobody has seen what a call printed that was withdrawn, nor what became of what a command left running; the
    // folder of that command and that of its leftovers are two.
    let unread = COMMANDS / MIX.len() * 3;
    assert!(kept <= 1000 + AT_A_TIME + unread, "{kept} runs are kept");
}

async fn one(harness: &Harness, session: &chiton_engine::Session, number: usize, mark: &str) {
    let (command, word) = MIX[number % MIX.len()];
    let control = RunControl::new();
    let remote = control.clone();
    let cancels = word == "cancelled";
    let mut listener = move |event: RunEvent<'_>| {
        if cancels && matches!(event, RunEvent::Output { .. }) {
            remote.cancel();
        }
    };
    let mut request = marked_request(command, mark);
    if word == "timed_out" {
        request.timeout = Some(Duration::from_millis(30));
        // A shell that is just starting a program hears of it afterwards, and the program not at all.
        request.grace = Some(Duration::from_millis(300));
    }
    let response = harness.engine.run(session, request, &mut listener, &control).await.unwrap().into_ran().unwrap();
    assert_eq!(response.outcome.word(), word, "{command}: {}", response.outcome);
    assert!(!matches!(response.outcome, Outcome::Lost));
}
