//! The library as strangers use it: commands said piece by piece, events with an end, sessions as values, and the examples.
#![expect(clippy::disallowed_methods, reason = "the examples are programs of their own")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::time::Duration;

use chiton_engine::{Event, Outcome, Stream};
use chiton_testkit::processes::{eventually, marked};
use tokio_util::sync::CancellationToken;

use crate::harness::{Harness, runtime};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn everything_about_a_command_is_said_piece_by_piece() {
    runtime().block_on(async {
        let harness = Harness::new();
        let session = harness.session();
        let command = harness.engine.command(&session, "pwd; echo $A $B; cat; echo err >&2");
        let command = command.directory("/usr").env("A", "1").env("B", "2").stdin("read\n").description("all of it");
        let response = command.timeout(Duration::from_mins(1)).run().await.unwrap();
        let report = response.ran().unwrap();
        assert_eq!(report.stdout.to_text(), "/usr\n1 2\nread\n");
        assert_eq!(report.stderr.to_text(), "err\n");
        assert_eq!(response.exit_code(), Some(0));

        let late =
            harness.engine.command(&session, "sleep 600").timeout(Duration::from_millis(100)).run().await.unwrap();
        assert_eq!(late.outcome(), Some(Outcome::TimedOut));
        assert_eq!(late.exit_code(), None);
        let merged = harness.engine.command(&session, "echo a; echo b >&2; echo c").merged().run().await.unwrap();
        assert_eq!(merged.output().unwrap().to_text(), "a\nb\nc\n");
        let changed = harness.engine.command(&session, "echo $0").with(|request| request.called_as = Some("me".into()));
        assert_eq!(changed.run().await.unwrap().output().unwrap().to_text(), "me\n");
    });
}

#[test]
fn events_come_in_order_and_end_with_the_end() {
    runtime().block_on(async {
        let harness = Harness::new();
        let session = harness.session();
        let mut events = harness.engine.command(&session, "echo out; echo err >&2; exit 4").events();
        let (mut out, mut err, mut started) = (Vec::new(), Vec::new(), 0);
        let ending = loop {
            match events.next().await.expect("it ends with its end") {
                Event::Started { run_id, pid } => {
                    assert!(run_id.starts_with("shell_") && pid > 0 && out.is_empty());
                    started += 1;
                }
                Event::Output { stream: Stream::Stdout, bytes } => out.extend(bytes),
                Event::Output { bytes, .. } => err.extend(bytes),
                Event::Ended(response) => break response.unwrap(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!((started, text(&out).as_str(), text(&err).as_str()), (1, "out\n", "err\n"));
        assert_eq!(ending.exit_code(), Some(4));
        assert!(events.next().await.is_none() && events.next().await.is_none(), "nothing follows");
    });
}

#[test]
fn whoever_reads_slowly_loses_nothing() {
    runtime().block_on(async {
        let harness = Harness::new();
        let session = harness.session();
        let mut events = harness.engine.command(&session, "seq 300000").events();
        let (mut received, mut pieces) = (Vec::new(), 0);
        while let Some(event) = events.next().await {
            if let Event::Output { bytes, .. } = event {
                received.extend(bytes);
                pieces += 1;
                if pieces % 4 == 0 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        }
        let wanted = (1..=300_000).map(|number| number.to_string()).collect::<Vec<_>>().join("\n") + "\n";
        assert_eq!(received.len(), wanted.len());
        assert!(text(&received) == wanted);
    });
}

#[test]
fn a_command_ends_with_its_events() {
    runtime().block_on(async {
        let harness = Harness::new();
        let session = harness.session();
        let mark = format!("library-{}", std::process::id());
        let command =
            harness.engine.command(&session, "sleep 600 & echo up; sleep 600").env("CHITON_TEST_MARK", mark.as_str());
        let mut events = command.events();
        while let Some(event) = events.next().await {
            if matches!(event, Event::Output { .. }) {
                break;
            }
        }
        assert!(!marked(&mark).is_empty());
        drop(events);
        assert!(eventually(Duration::from_secs(30), || marked(&mark).is_empty()));
    });
}

#[test]
fn a_token_cancels_before_and_meanwhile_and_not_afterwards() {
    runtime().block_on(async {
        let harness = Harness::new();
        let session = harness.session();
        let file = harness.folder.path().join("made");
        let before = CancellationToken::new();
        before.cancel();
        let command = format!("echo up; sleep 600; touch {}", file.display());
        let response = harness.engine.command(&session, command.as_str()).cancelled_by(before).run().await.unwrap();
        assert_eq!(response.outcome(), Some(Outcome::Cancelled));

        let token = CancellationToken::new();
        let mut events = harness.engine.command(&session, command.as_str()).cancelled_by(token.clone()).events();
        let mut ending = None;
        while let Some(event) = events.next().await {
            match event {
                Event::Output { .. } => token.cancel(),
                Event::Ended(response) => ending = response.unwrap().outcome(),
                _ => {}
            }
        }
        assert_eq!(ending, Some(Outcome::Cancelled));
        assert!(!file.exists());

        let token = CancellationToken::new();
        let response = harness.engine.command(&session, "exit 5").cancelled_by(token.clone()).run().await.unwrap();
        token.cancel();
        assert_eq!(response.exit_code(), Some(5));
    });
}

#[test]
fn a_session_is_forked_and_stepped_back_in() {
    runtime().block_on(async {
        let harness = Harness::new();
        let session = harness.session();
        let run = async |session: &chiton_engine::Session, command: &str| {
            let response = harness.engine.command(session, command).run().await.unwrap();
            response.output().unwrap().to_text()
        };
        run(&session, "A=1; cd /usr").await;
        let fork = session.fork();
        run(&session, "A=2; cd /").await;
        run(&session, "echo nothing changes").await;
        assert_eq!(run(&fork, "echo $A $PWD; A=3").await, "1 /usr\n");
        assert_eq!(run(&session, "echo $A $PWD").await, "2 /\n");
        assert!(session.undo());
        assert_eq!(run(&session, "echo $A $PWD").await, "1 /usr\n");
        assert!(session.undo());
        assert_eq!(run(&session, "echo ${A-none}").await, "none\n");
        assert!(!session.undo());
        assert!(fork.undo() && !fork.undo(), "a fork has its own past");
        for number in 0..40 {
            run(&session, &format!("N={number}")).await;
        }
        assert_eq!((0..100).take_while(|_| session.undo()).count(), 16);
        assert_eq!(run(&session, "echo $N").await, "23\n");
    });
}

/// A built example. It is there after `cargo test`, as new as this test; by itself, with other features, it is built only
/// where it is missing.
fn example(name: &str) -> PathBuf {
    let programs = std::env::current_exe().unwrap();
    let path = programs.ancestors().nth(2).unwrap().join("examples").join(name);
    if path.exists() {
        return path;
    }
    let mut build = Process::new(env!("CARGO"));
    build.args(["build", "--quiet", "-p", "chiton-engine", "--example", name]);
    let built = build.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap();
    assert!(built.success());
    path
}

#[test]
fn the_examples_do_what_they_say() {
    let cases = [
        ("minimal", "exit code Some(3), printed \"hello\\n\"\nhello from /usr\n"),
        ("agent_loop", "step 1\nstep 2\nstep 3\nmodel: all as expected\n"),
        ("branches", "score 0, best: 7\nwritten down in /tmp, with 1 function\n"),
        ("secret_store", "14\nAuthorization: Bearer {{secret:api-token}}\nrefused: "),
        (
            "permission",
            "echo build: exited with code 0\n./deploy production: was refused: operation denied, reason: it is Friday\n",
        ),
    ];
    let listed: Vec<PathBuf> = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(listed.len(), cases.len(), "each of them is tried: {listed:?}");
    for (name, wanted) in cases {
        let output = Process::new(example(name)).current_dir("/").output().unwrap();
        let said = text(&output.stdout);
        assert!(output.status.success() && said.contains(wanted), "{name}: {said}{}", text(&output.stderr));
        assert!(!said.contains("tok-3f9a1c77e2"), "{name}");
    }
}

/// Every public item of the library, in a line each: whoever changes one sees it here, and everybody in the review.
#[test]
fn the_public_interface_is_the_one_that_was_agreed_on() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    collect(&crate_folder.join("src"), &crate_folder.join("src"), &mut found);
    found.sort();
    let now = found.join("\n") + "\n";
    let file = crate_folder.join("tests/cases/interface.txt");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, &now).unwrap();
    }
    let agreed = fs::read_to_string(&file).unwrap();
    let (old, new): (Vec<&str>, Vec<&str>) = (agreed.lines().collect(), now.lines().collect());
    let gone: Vec<_> = old.iter().filter(|line| !new.contains(line)).collect();
    let added: Vec<_> = new.iter().filter(|line| !old.contains(line)).collect();
    assert!(
        gone.is_empty() && added.is_empty(),
        "the interface has changed. If that is meant, `UPDATE=1 cargo test -p chiton-engine --test suite library::` notes it.\n\
         gone: {gone:#?}\nadded: {added:#?}"
    );
}

/// The public items in the files of a folder, by what they are written as: up to their body, in one line.
fn collect(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, found);
            continue;
        }
        let source = fs::read_to_string(&path).unwrap();
        // Tests and what follows them are nobody's interface.
        let source = source.split("#[cfg(test)]").next().unwrap();
        let module = path.strip_prefix(root).unwrap().with_extension("").display().to_string();
        let (mut item, mut of) = (String::new(), String::new());
        for line in source.lines() {
            if line.starts_with("impl") || line.starts_with("pub trait") {
                of = line.split('{').next().unwrap().trim().to_owned();
            } else if !line.starts_with([' ', '}', '\t']) && !line.is_empty() {
                of.clear();
            }
            let trimmed = line.trim();
            if item.is_empty() && !trimmed.starts_with("pub ") {
                continue;
            }
            item.push_str(if item.is_empty() { "" } else { " " });
            item.push_str(trimmed);
            let name = item["pub ".len()..].split(' ').next().unwrap_or_default();
            let is_field = name.ends_with(':') && !name.ends_with("::");
            let field_end = item.strip_suffix(',').map(str::len).filter(|_| is_field);
            if let Some(end) = field_end.or_else(|| item.find(['{', ';']).filter(|_| !is_field)) {
                let inside = if of.is_empty() { String::new() } else { format!("{of}: ") };
                found.push(format!("{module}: {inside}{}", item[..end].trim()));
                item.clear();
            }
        }
    }
}
