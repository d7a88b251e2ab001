//! However much a command prints: memory is fixed, disk is bounded, beginning and end are exact, the rest is counted.
//!
//! Memory is measured for the whole process, so the parts run one after the other in one test.
#![cfg(test)]

mod harness;

use chiton_engine::capture::spool::SpoolReader;
use chiton_engine::limits::ViewLimits;
use chiton_engine::{CommandRequest, Outcome, RunControl, RunEvent, Stream};
use chiton_testkit::processes::{parent_of, peak_memory};
use harness::{Harness, runtime, seconds};

const GIGABYTE: u64 = 1_000_000_000;
/// What engine and keeper together may grow by.
const GROWTH: u64 = 32 << 20;

#[test]
fn floods_are_bounded() {
    let runtime = runtime();
    runtime.block_on(async {
        let warm_up = Harness::new();
        warm_up.run(&warm_up.session(), "seq 100000").await;
        let before = peak_memory(std::process::id());
        for (name, command) in [
            ("one line", "printf START; head -c 1000000000 /dev/zero | tr '\\0' x; printf END"),
            ("many lines", "printf START; yes xxxxxxx | head -c 1000000000; printf END"),
        ] {
            gigabyte(name, command).await;
        }
        let grown = peak_memory(std::process::id()) - before;
        assert!(grown < GROWTH / 2, "the engine grew by {grown} bytes");
        endless().await;
    });
}

async fn gigabyte(name: &str, command: &str) {
    let harness = Harness::new();
    let mut request = CommandRequest::new(command);
    request.view = Some(ViewLimits::split(100_000));
    let session = harness.session();
    let mut keeper_peak = 0;
    let mut heard = 0u64;
    let mut keeper = 0;
    let mut listener = |event: RunEvent<'_>| match event {
        RunEvent::Started { pid, .. } => keeper = parent_of(pid),
        RunEvent::Output { bytes, .. } => {
            heard += bytes.len() as u64;
            if heard > GIGABYTE * 9 / 10 && keeper_peak == 0 {
                keeper_peak = peak_memory(keeper);
            }
        }
        RunEvent::Passed { .. } => unreachable!("whoever does not say otherwise hears every byte"),
    };
    let response =
        harness.engine.run(&session, request, &mut listener, &RunControl::new()).await.unwrap().into_ran().unwrap();
    assert_eq!(response.outcome, Outcome::Exited(0), "{name}");
    assert_eq!(heard, GIGABYTE + 8, "{name}: a listener hears every byte");
    assert!(keeper_peak > 0 && keeper_peak < 8 << 20, "{name}: the keeper took {keeper_peak} bytes");
    let (head, tail) = (&response.stdout.head, response.stdout.tail.as_ref().unwrap());
    assert!(head.starts_with("STARTxxxxxxx") && tail.ends_with("END"), "{name}");
    assert_eq!((head.len(), tail.len()), (50_000, 50_000));
    assert_eq!(response.omitted_bytes(), GIGABYTE + 8 - 100_000);
    let spool = SpoolReader::open(&harness.folder_of(&response.run_id));
    let pieces = spool.read(Stream::Stdout, 0..16).unwrap();
    assert_eq!(&pieces[0].bytes[..12], b"STARTxxxxxxx");
    assert_eq!(spool.end(Stream::Stdout).unwrap(), GIGABYTE + 8);
    let on_disk: u64 = std::fs::read_dir(harness.folder_of(&response.run_id))
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!(on_disk < 257 << 20, "{name}: {on_disk} bytes on disk");
    assert!(response.lost_bytes > GIGABYTE - (257 << 20) && response.lost_bytes < GIGABYTE - (200 << 20));
}

async fn endless() {
    let harness = Harness::with(|config| config.limits.spool.per_run = 8 << 20);
    let mut request = CommandRequest::new("yes");
    request.timeout = Some(seconds(2));
    let response = harness.request(&harness.session(), request).await;
    assert_eq!(response.outcome, Outcome::TimedOut);
    let on_disk: u64 = std::fs::read_dir(harness.folder_of(&response.run_id))
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!(on_disk < 9 << 20, "{on_disk}");
}
