//! Output arrives whole, in order, and as it was written.

use std::path::Path;
use std::time::Duration;

use chiton_engine::capture::spool::SpoolReader;
use chiton_engine::limits::ViewLimits;
use chiton_engine::{CommandInput, CommandRequest, Listener, Outcome, RunControl, RunEvent, Stream, Streams};
use chiton_testkit::processes::{eventually, parent_of, peak_memory};

use crate::harness::{Harness, runtime, seconds};

#[test]
fn any_bytes_survive_and_the_text_view_is_valid() {
    let harness = Harness::new();
    let command = b"for i in {0..255}; do printf \"\\\\x$(printf %02x $i)\"; done";
    let (observed, response) = runtime().block_on(harness.observe(&harness.session(), command));
    let all: Vec<u8> = (0..=255).collect();
    assert_eq!(observed.stdout, all);
    let spool = SpoolReader::open(&harness.folder_of(&response.run_id));
    assert_eq!(spool.read(Stream::Stdout, 0..u64::MAX).unwrap()[0].bytes, all);
    assert!(response.stdout.to_text().contains('\u{fffd}'));
}

#[test]
fn a_character_split_over_writes_is_not_damaged() {
    let harness = Harness::new();
    // A four-byte character, split at every place, with time in between for each part to be read alone.
    let command = r"for cut in 1 2 3; do
        printf '\xf0\x9f\x98\x80' | head -c $cut; sleep 0.02
        printf '\xf0\x9f\x98\x80' | tail -c $((4 - cut)); sleep 0.02
    done";
    let response = runtime().block_on(harness.run(&harness.session(), command));
    assert_eq!(response.stdout.to_text(), "\u{1f600}\u{1f600}\u{1f600}");
}

#[test]
fn one_pipe_for_both_streams_keeps_the_order_of_writing() {
    let harness = Harness::new();
    let mut request = CommandRequest::new("for i in {1..500}; do echo $i; echo e$i >&2; done");
    request.streams = Streams::Merged;
    let response = runtime().block_on(harness.request(&harness.session(), request));
    let expected: Vec<String> = (1..=500).map(|number| format!("{number}\ne{number}\n")).collect();
    assert_eq!(response.output.to_text(), expected.concat());
    assert_eq!(response.stdout, response.output);
    assert_eq!(response.stderr.to_text(), "");
}

#[test]
fn two_pipes_keep_the_streams_apart() {
    let harness = Harness::new();
    let response = runtime().block_on(harness.run(&harness.session(), "echo out; echo err >&2; exit 7"));
    assert_eq!(response.stdout.to_text(), "out\n");
    assert_eq!(response.stderr.to_text(), "err\n");
    assert_eq!(response.outcome, Outcome::Exited(7));
    let both = response.output.to_text();
    assert!(both == "out\nerr\n" || both == "err\nout\n", "{both}");
}

#[test]
fn input_arrives_byte_for_byte_and_ends() {
    let harness = Harness::new();
    let text: Vec<u8> = (1..=255).cycle().take(300_000).collect();
    runtime().block_on(async {
        let mut request = CommandRequest::new("cat | wc -c; cat");
        request.input = CommandInput::Text(text.clone().into());
        assert_eq!(harness.request(&harness.session(), request).await.stdout.to_text(), "300000\n");
        let (read, write) = std::io::pipe().unwrap();
        let mut request = CommandRequest::new("cat");
        request.input = CommandInput::Descriptor(std::sync::Arc::new(read.into()));
        std::thread::spawn(move || std::io::Write::write_all(&mut { write }, b"through a pipe\n").unwrap());
        assert_eq!(harness.request(&harness.session(), request).await.stdout.to_text(), "through a pipe\n");
    });
}

#[test]
fn a_slow_listener_slows_the_command_and_loses_nothing_and_the_deadline_holds() {
    let harness = Harness::new();
    let session = harness.session();
    runtime().block_on(async {
        let mut bytes = 0usize;
        let mut slow = |event: RunEvent<'_>| {
            if let RunEvent::Output { bytes: more, .. } = event {
                bytes += more.len();
                std::thread::sleep(Duration::from_millis(2));
            }
        };
        let request = CommandRequest::new("head -c 20000000 /dev/zero");
        harness.engine.run(&session, request, &mut slow, &RunControl::new()).await.unwrap();
        assert_eq!(bytes, 20_000_000);

        let (mut shell, mut keeper, mut keeper_peak) = (0, 0, 0);
        let mut ended_unread = None;
        let mut stuck = |event: RunEvent<'_>| match event {
            RunEvent::Started { pid, .. } => (shell, keeper) = (pid, parent_of(pid)),
            RunEvent::Output { .. } | RunEvent::Passed { .. } => {
                // Nobody reads until the command is over, and it is over by its deadline alone. What piles up meanwhile
                // is bounded.
                ended_unread.get_or_insert_with(|| {
                    eventually(seconds(100), || {
                        keeper_peak = peak_memory(keeper).max(keeper_peak);
                        !Path::new(&format!("/proc/{shell}")).exists()
                    })
                });
            }
        };
        let mut request = CommandRequest::new("yes");
        request.timeout = Some(seconds(1));
        let response =
            harness.engine.run(&session, request, &mut stuck, &RunControl::new()).await.unwrap().into_ran().unwrap();
        assert_eq!(response.outcome, Outcome::TimedOut);
        assert_eq!(ended_unread, Some(true), "the deadline waits for a reader");
        assert!(keeper_peak > 0 && keeper_peak < 8 << 20, "{keeper_peak}");
    });
}

#[test]
fn a_small_view_shows_beginning_and_end_and_counts_the_rest() {
    let harness = Harness::new();
    let mut request = CommandRequest::new("seq 1 10000; seq 1 2000 >&2");
    request.view = Some(ViewLimits { head: 10, tail: 6 });
    let response = runtime().block_on(harness.request(&harness.session(), request));
    assert_eq!(response.stdout.head, "1\n2\n3\n4\n5\n");
    assert_eq!(response.stdout.tail.as_deref(), Some("10000\n"));
    assert_eq!(response.stdout.omitted, 48_894 - 16);
    assert!(response.is_truncated());
    assert_eq!(response.omitted_bytes(), 48_894 - 16 + 8893 - 16);
}

/// Adds up what it hears.
#[derive(Default)]
struct Adder {
    all: bool,
    bytes: u64,
    lines: u64,
    passed: u64,
}

impl Listener for Adder {
    fn receive(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::Started { .. } => {}
            RunEvent::Output { bytes, .. } => {
                self.bytes += bytes.len() as u64;
                self.lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
            }
            RunEvent::Passed { amount, .. } => {
                self.bytes += amount.bytes;
                self.lines += amount.lines;
                self.passed += amount.bytes;
            }
        }
    }

    fn wants_output(&self) -> bool {
        self.all
    }
}

#[test]
fn much_output_is_the_same_whoever_listens() {
    let harness = Harness::new();
    // Both streams in turns, then much of one; 128 KiB are told in messages, the rest is in the spool.
    let script = "for i in {1..40}; do seq 1 3000; seq 1 500 >&2; done; seq 1 900000; echo the end";
    let mut shown = Vec::new();
    for all in [false, true] {
        for streams in [Streams::Separate, Streams::Merged] {
            let mut listener = Adder { all, ..Adder::default() };
            let mut request = CommandRequest::new(script);
            request.streams = streams;
            request.view = Some(ViewLimits { head: 1000, tail: 5000 });
            let (session, control) = (harness.session(), RunControl::new());
            let run = harness.engine.run(&session, request, &mut listener, &control);
            let response = runtime().block_on(run).unwrap().into_ran().unwrap();
            let bytes = 40 * (13_893 + 1892) + 6_188_895 + 8;
            assert_eq!((listener.bytes, listener.lines), (bytes, 40 * 3500 + 900_001), "{all} {streams:?}");
            assert_eq!(listener.passed > 5_000_000, !all, "{all} {streams:?}: {}", listener.passed);
            assert_eq!(response.lost_bytes, 0);
            let tail = response.stdout.tail.as_deref().unwrap();
            assert!(tail.len() == 5000 && tail.ends_with("900000\nthe end\n"), "{tail}");
            if streams == Streams::Separate {
                assert_eq!(response.output.tail.as_deref(), Some(tail));
                let errors = response.stderr.tail.as_deref().unwrap();
                assert!(errors.ends_with("499\n500\n"));
            }
            shown.push((response.stdout, response.stderr));
        }
    }
    assert_eq!(shown[0], shown[2]);
}

#[test]
fn a_keeper_is_small() {
    let harness = Harness::new();
    let mut memory = 0;
    let mut keeper = 0;
    let mut listener = |event: RunEvent<'_>| match event {
        RunEvent::Started { pid, .. } => keeper = parent_of(pid),
        RunEvent::Output { .. } | RunEvent::Passed { .. } => {
            memory = chiton_testkit::processes::own_memory(keeper);
        }
    };
    let session = harness.session();
    let request = CommandRequest::new("sleep 0.5; echo now; sleep 0.1");
    runtime().block_on(harness.engine.run(&session, request, &mut listener, &RunControl::new())).unwrap();
    assert!(memory > 0 && memory < 2_000_000, "{memory} bytes");
}
