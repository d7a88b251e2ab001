//! Programs that want a person where there is none: they are named when they fail for it, and do not hold up a call.

use chiton_engine::guard::{Context, GuardPolicy};
use chiton_engine::review::Guard;
use chiton_engine::terminal::TerminalSize;
use chiton_engine::{CommandInput, CommandRequest, EngineConfig, Outcome};

use crate::harness::{Harness, runtime, seconds};

/// A harness whose guard knows programs and refuses nothing here.
fn guarded() -> Harness {
    Harness::with(|config: &mut EngineConfig| {
        let around = Context::new("/nonexistent", "nobody", "/");
        config.guard = Guard::new(GuardPolicy::default().check(&around).unwrap(), around);
    })
}

#[test]
fn a_program_that_would_wait_for_a_person_is_named_once_and_only_where_it_failed_for_that() {
    let harness = guarded();
    let cases = [
        ("true", None),
        ("true || vim notes", None),
        ("less notes; less notes", None),
        ("ssh -V; exit 5", None),
        ("sudo-that-is-nowhere; exit 127", None),
        ("read -r answer || true", None),
        ("echo before; read -r answer", None),
        ("read -r answer", Some("read would wait for a person")),
        ("more notes; less notes; echo 'less: not a terminal' >&2; exit 7", Some("less would wait for a person")),
        ("less notes; more notes; echo 'Inappropriate ioctl for device'; exit 7", Some("more would wait for a person")),
    ];
    std::fs::write(harness.folder.path().join("notes"), "a line\n").unwrap();
    for (command, expected) in cases {
        let response = runtime().block_on(harness.run(&harness.session(), command));
        let hints: Vec<&String> =
            response.notices.iter().filter(|notice| notice.contains("wait for a person")).collect();
        assert_eq!(
            hints.len(),
            usize::from(expected.is_some()),
            "{command}: {:?} {:?}",
            response.outcome,
            response.notices
        );
        assert!(hints.iter().all(|hint| hint.starts_with(expected.unwrap_or_default())), "{command}: {hints:?}");
    }
}

#[test]
fn in_a_terminal_and_with_an_open_input_nobody_is_told_that_a_program_would_wait() {
    let harness = guarded();
    let failing = "less missing; echo 'not a terminal'; exit 7";
    let terminal = CommandRequest { terminal: Some(TerminalSize::USUAL), ..CommandRequest::new(failing) };
    let open = CommandRequest { input: CommandInput::Open, ..CommandRequest::new(failing) };
    for request in [terminal, open] {
        let response = runtime().block_on(harness.request(&harness.session(), request));
        assert_eq!(response.outcome, Outcome::Exited(7));
        assert!(response.notices.is_empty(), "{:?}", response.notices);
    }
}

#[test]
fn a_program_that_waits_for_keys_on_its_own_output_gets_a_hang_up_and_the_rest_goes_on() {
    let harness = guarded();
    // As vim does it where it finds the end of its input: it turns to its standard error.
    let script = "import select; print('menu', flush=True); select.select([2], [], [])";
    std::fs::write(harness.folder.path().join("menu.py"), script).unwrap();
    let limit = Some(seconds(60));
    let request = CommandRequest { timeout: limit, ..CommandRequest::new("python3 menu.py; echo \"after $?\"") };
    let response = runtime().block_on(harness.request(&harness.session(), request));
    assert_eq!(response.outcome, Outcome::Exited(0));
    assert_eq!(response.stdout.to_text(), "menu\nafter 129\n");
    let hints: Vec<&String> = response.notices.iter().filter(|notice| notice.contains("for a person")).collect();
    assert!(matches!(hints[..], [hint] if hint.starts_with("python3")), "{:?}", response.notices);

    // What waits for something else as well is left alone.
    let cases = [
        "python3 -c 'import select, os; r, w = os.pipe(); select.select([2, r], [], [], 1.5)'",
        "sleep 1",
        "timeout 1.5 tail -f menu.py; true",
        "cat menu.py | (sleep 1; cat)",
    ];
    for command in cases {
        let request = CommandRequest { timeout: limit, ..CommandRequest::new(command) };
        let response = runtime().block_on(harness.request(&harness.session(), request));
        assert_eq!((response.outcome, response.notices), (Outcome::Exited(0), Vec::new()), "{command}");
    }
}

#[test]
fn vim_without_a_terminal_comes_back_with_the_hint() {
    if !std::path::Path::new("/usr/bin/vim").exists() {
        eprintln!("skipped: vim is not installed");
        return;
    }
    let harness = guarded();
    let cases = [
        ("vim -u NONE -i NONE -n notes.txt", Outcome::Exited(129), 1),
        ("cd . && vim -u NONE -i NONE -n notes.txt; echo on", Outcome::Exited(0), 1),
        ("vim --version", Outcome::Exited(0), 0),
        ("vim -u NONE -i NONE -n -es -c 'normal ihello' -c wq notes.txt", Outcome::Exited(0), 0),
    ];
    for (command, outcome, expected) in cases {
        let request = CommandRequest { timeout: Some(seconds(60)), ..CommandRequest::new(command) };
        let response = runtime().block_on(harness.request(&harness.session(), request));
        assert_eq!(response.outcome, outcome, "{command}: {:?}", response.output);
        let named = response.notices.iter().filter(|notice| notice.starts_with("vim would wait for a person")).count();
        assert_eq!(named, expected, "{command}: {:?}", response.notices);
    }

    // Nothing but the editor on a file: that can do nothing else, so it is not started.
    for (command, is_started) in [
        ("vim notes.txt", false),
        ("vim", false),
        ("vim +q notes.txt", true),
        ("vim() { echo mine; }; vim notes.txt", true),
        ("true; vim notes.txt </dev/null 2>/dev/null", true),
        ("PATH=/nonexistent vim notes.txt", true),
    ] {
        let response = runtime().block_on(harness.respond(&harness.session(), CommandRequest::new(command)));
        assert_eq!(response.ran().is_some(), is_started, "{command}: {}", response.word());
        let reason = response.refusal().map_or("", |refusal| refusal.reason.as_str());
        assert!(is_started || reason.starts_with("vim would wait for a person: "), "{command}: {reason}");
    }
    let session = harness.session();
    runtime().block_on(harness.run(&session, "vim() { echo mine; }"));
    assert_eq!(runtime().block_on(harness.run(&session, "vim notes.txt")).stdout.to_text(), "mine\n");
    let terminal = CommandRequest { until_input: true, ..CommandRequest::new("vim notes.txt") };
    let terminal = CommandRequest { terminal: Some(TerminalSize::USUAL), ..terminal };
    let response = runtime().block_on(harness.request(&harness.session(), terminal));
    assert_eq!(response.outcome, Outcome::Running, "in a terminal it runs");
    runtime().block_on(harness.engine.tasks().kill(&response.run_id, None)).unwrap();
    assert_eq!(std::fs::read_to_string(harness.folder.path().join("notes.txt")).unwrap(), "hello\n");
}
