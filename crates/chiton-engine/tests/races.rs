//! Kill, exit, timeout and cancel at the same moment: one ending, the same for everybody who asks.
#![cfg(test)]

mod harness;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chiton_engine::{Outcome, RunControl};
use chiton_testkit::processes::{eventually, marked, open_descriptors, zombies_of};
use harness::{Harness, mark, marked_request, runtime, seconds};

const RACES: usize = 10_000;
const AT_A_TIME: usize = 8;

#[test]
fn ten_thousand_races_have_one_ending_each() {
    let harness = Arc::new(Harness::new());
    let runtime = runtime();
    let mark = mark();
    let next = Arc::new(AtomicUsize::new(0));
    let seen: Arc<[AtomicUsize; 4]> = Arc::default();
    let before = open_descriptors();
    let workers: Vec<_> = (0..AT_A_TIME)
        .map(|_| {
            let (harness, next, mark, seen) =
                (Arc::clone(&harness), Arc::clone(&next), mark.clone(), Arc::clone(&seen));
            runtime.spawn(async move {
                while next.fetch_add(1, Ordering::Relaxed) < RACES {
                    let number = next.load(Ordering::Relaxed);
                    let kind = race(&harness, &mark, number).await;
                    seen[kind].fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for worker in workers {
        runtime.block_on(worker).unwrap();
    }
    let counts = seen.iter().map(|count| count.load(Ordering::Relaxed)).collect::<Vec<_>>();
    assert!(counts.iter().all(|count| *count > 0), "every ending wins sometimes, else this is no race: {counts:?}");
    assert!(eventually(seconds(10), || marked(&mark).is_empty()));
    assert!(eventually(seconds(10), || zombies_of(std::process::id()).is_empty()));
    // Two threads of the runtime and its pollers, give or take.
    assert!(eventually(seconds(10), || open_descriptors() <= before + 8), "{before} became {}", open_descriptors());
}

/// One command that ends by itself, by its time, by a cancel and by a kill at about the same moment.
async fn race(harness: &Harness, mark: &str, number: usize) -> usize {
    let spread = move |salt: usize| Duration::from_micros(((number * 7919 + salt * 104_729) % 16_000) as u64);
    let mut request = marked_request("sleep 0.02", mark);
    request.timeout = Some(spread(1) + Duration::from_millis(18));
    let control = RunControl::new();
    let remote = control.clone();
    let tasks = harness.engine.tasks().clone();
    let (id_sender, id_receiver) = tokio::sync::oneshot::channel();
    let stopper = tokio::spawn(async move {
        let id: String = id_receiver.await.unwrap();
        tokio::time::sleep(spread(2) + Duration::from_millis(5)).await;
        if number.is_multiple_of(2) {
            remote.cancel();
            return;
        }
        // By another door, as another process would.
        tasks.kill(&id, None).await.unwrap();
    });
    let mut id_sender = Some(id_sender);
    let mut listener = |event: chiton_engine::RunEvent<'_>| {
        if let chiton_engine::RunEvent::Started { run_id, .. } = event {
            id_sender.take().unwrap().send(run_id.to_owned()).unwrap();
        }
    };
    let session = harness.session();
    let response = harness.engine.run(&session, request, &mut listener, &control).await.unwrap().into_ran().unwrap();
    stopper.await.unwrap();
    let task = harness.engine.tasks().get(&response.run_id).unwrap();
    assert_eq!(task.outcome.as_ref(), Some(&response.outcome), "the record says what the answer says");
    assert!(response.survivors.is_empty() && response.leftovers.is_empty());
    match response.outcome {
        Outcome::Exited(0) => 0,
        Outcome::TimedOut => 1,
        Outcome::Cancelled => 2,
        Outcome::Killed => 3,
        other => panic!("{other}"),
    }
}
