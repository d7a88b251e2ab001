//! A program that forgets `serve_if_asked` gets an error at once: it does not hang, and nothing multiplies.
#![cfg(test)]

mod harness;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use chiton_engine::{CommandRequest, Engine, EngineConfig, RunControl, Session, Silent};
use chiton_testkit::named;
use chiton_testkit::trials::{self, Threads, Trial, passes};
use harness::{runtime, seconds};

/// What the program forgets, and whether it then even ends. As a keeper it has neither arguments nor variables of ours,
/// so it finds its state directory in a file beside it.
const FORGETS: &str = "forgets";
const STUBBORN: &str = "stubborn";
/// How a keeper is asked for.
const KEEPER: &str = "chiton-keeper";

/// This program is the test, and also the one that forgets.
fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(word) if word == FORGETS || word == STUBBORN => {
            let state = PathBuf::from(arguments.next().unwrap());
            return forget(&state, word == STUBBORN);
        }
        Some(word) if word == KEEPER => {
            // What the program does when it is started as its own keeper: the same as always, had it not been told.
            let place = fs::read_link("/proc/self/exe").unwrap().with_extension("forgotten");
            let text = fs::read_to_string(&place).unwrap_or_default();
            let (kind, state) = text.split_once('\n').unwrap_or_default();
            return forget(Path::new(state), kind == STUBBORN);
        }
        _ => {}
    }
    let tests = named![fn();
        a_forgetful_program_gets_an_error_that_names_what_it_forgot,
        one_that_does_not_even_fail_is_not_waited_for,
    ];
    let trials = tests.map(|(name, check)| Trial::test(name, move || passes(check)));
    trials::run(Threads::Fixed(2), trials.into(), Vec::new())
}

/// The snippet of the README without the one line. A stubborn program does something else first, for ever.
fn forget(state: &Path, is_stubborn: bool) -> ExitCode {
    let is_keeper = std::env::args_os().nth(1).is_some_and(|word| word == KEEPER);
    if is_stubborn && is_keeper {
        std::thread::sleep(seconds(120));
    }
    let problem = runtime().block_on(async {
        let engine = match Engine::new(EngineConfig::new(state).unwrap()) {
            Ok(engine) => engine,
            Err(error) => return error.to_string(),
        };
        let session = Session::new(engine.fresh_state("/tmp", [("PATH".to_owned(), harness::PATH.into())], 0o022));
        let request = CommandRequest::new("echo hello");
        let response = engine.run(&session, request, &mut Silent, &RunControl::new()).await;
        response.map_or_else(|error| error.to_string(), |_| "it ran".to_owned())
    });
    println!("{problem}");
    if is_keeper {
        // For the test to count.
        let _ = fs::write(state.join(format!("was-keeper-{}", std::process::id())), problem);
    }
    ExitCode::FAILURE
}

fn a_forgetful_program_gets_an_error_that_names_what_it_forgot() {
    let (said, took, place) = run(FORGETS);
    let state = place.path().join("state");
    assert!(said.contains("chiton_engine::serve_if_asked()"), "{said}");
    assert!(took < seconds(5), "{took:?}");

    let names: Vec<String> =
        fs::read_dir(&state).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let keepers: Vec<&String> = names.iter().filter(|name| name.starts_with("was-keeper-")).collect();
    assert!((1..=4).contains(&keepers.len()), "each keeper failed by itself: {names:?}");
    for keeper in keepers {
        let problem = fs::read_to_string(state.join(keeper)).unwrap();
        assert!(problem.contains("was started as a keeper"), "{problem}");
    }
    let runs = fs::read_dir(state.join("runs")).unwrap().count();
    assert!(runs <= 1, "{runs} folders of runs");
}

fn one_that_does_not_even_fail_is_not_waited_for() {
    let (said, took, _) = run(STUBBORN);
    assert!(said.contains("chiton_engine::serve_if_asked()"), "{said}");
    assert!(took < seconds(40), "{took:?}");
}

/// Runs this program as one that forgets; gives what it said, how long it took, and where it has its state.
#[expect(clippy::disallowed_methods, reason = "the program is one of its own")]
fn run(kind: &str) -> (String, Duration, tempfile::TempDir) {
    let place = tempfile::tempdir().unwrap();
    let (program, state) = (place.path().join("program"), place.path().join("state"));
    // A copy, so that the file beside it is ours alone.
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::write(program.with_extension("forgotten"), format!("{kind}\n{}", state.display())).unwrap();
    fs::create_dir(&state).unwrap();

    let begun = Instant::now();
    let output = Command::new(&program).arg(kind).arg(&state).stderr(Stdio::null()).output().unwrap();
    let took = begun.elapsed();
    (String::from_utf8_lossy(&output.stdout).into_owned(), took, place)
}
