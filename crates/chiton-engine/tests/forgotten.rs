//! A program that forgets `serve_if_asked` gets an error at once: it does not hang, and nothing multiplies.
#![cfg(test)]

mod harness;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant, SystemTime};

use chiton_engine::{CommandRequest, Engine, EngineConfig, RunControl, Session, Silent};
use chiton_testkit::named;
use chiton_testkit::trials::{self, Threads, Trial, passes};
use harness::{runtime, seconds};

/// What the program forgets, and whether it then even ends. As a keeper it has neither arguments nor variables of ours,
/// so it finds its state directory in a file beside it.
const FORGETS: &str = "forgets";
const STUBBORN: &str = "stubborn";
/// How long a stubborn program does something else.
const STUBBORN_FOR: Duration = Duration::from_mins(2);
/// What makes a PID namespace of `unshare`.
const PID_NAMESPACE: [&str; 5] = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];
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
    let tests = named![fn(&Linked);
        a_forgetful_program_gets_an_error_that_names_what_it_forgot,
        one_that_does_not_even_fail_is_not_waited_for,
        nor_is_it_in_a_pid_namespace_whose_session_leads_outside,
    ];
    let trials = tests.map(|(name, check)| Trial::test(name, move || passes(|| check(&Linked::new()))));
    trials::run(Threads::Fixed(3), trials.into(), Vec::new())
}

/// The snippet of the README without the one line. A stubborn program does something else first, for ever.
fn forget(state: &Path, is_stubborn: bool) -> ExitCode {
    let is_keeper = std::env::args_os().nth(1).is_some_and(|word| word == KEEPER);
    if is_stubborn && is_keeper {
        std::thread::sleep(STUBBORN_FOR);
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
        // For the test to count, which may look while we write: the name appears with the whole text.
        let id = std::process::id();
        let draft = state.join(format!("draft-{id}"));
        let _ = fs::write(&draft, problem).and_then(|()| fs::rename(&draft, state.join(format!("was-keeper-{id}"))));
    }
    ExitCode::FAILURE
}

fn a_forgetful_program_gets_an_error_that_names_what_it_forgot(linked: &Linked) {
    let (said, ended) = linked.run(FORGETS, Where::Here);
    let state = linked.place.path().join("state");
    assert!(said.contains("chiton_engine::serve_if_asked()"), "{said}");

    let names: Vec<String> =
        fs::read_dir(&state).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let keepers: Vec<&String> = names.iter().filter(|name| name.starts_with("was-keeper-")).collect();
    assert!((1..=4).contains(&keepers.len()), "each keeper failed by itself: {names:?}");
    for keeper in &keepers {
        let problem = fs::read_to_string(state.join(keeper)).unwrap();
        assert!(problem.contains("was started as a keeper"), "{problem}");
    }
    let runs = fs::read_dir(state.join("runs")).unwrap().count();
    assert!(runs <= 1, "{runs} folders of runs");

    // From the end of the last keeper on: how long a program takes to start is the machine's business.
    let last =
        keepers.iter().map(|keeper| fs::metadata(state.join(keeper)).unwrap().modified().unwrap()).max().unwrap();
    let waited = ended.duration_since(last).unwrap_or_default();
    assert!(waited < seconds(30), "it went on for {waited:?}");
}

fn one_that_does_not_even_fail_is_not_waited_for(linked: &Linked) {
    is_not_waited_for(linked, Where::Here);
}

/// As in a container that a program was put into from outside: there the number of the session is 0.
#[expect(clippy::disallowed_methods, reason = "whether there are such namespaces is found out by making one")]
fn nor_is_it_in_a_pid_namespace_whose_session_leads_outside(linked: &Linked) {
    if !Command::new("unshare").args(PID_NAMESPACE).arg("true").status().is_ok_and(|status| status.success()) {
        println!("not checked: this machine gives no PID namespaces");
        return;
    }
    is_not_waited_for(linked, Where::PidNamespace);
}

fn is_not_waited_for(linked: &Linked, place: Where) {
    let begun = Instant::now();
    let (said, _) = linked.run(STUBBORN, place);
    assert!(said.contains("chiton_engine::serve_if_asked()"), "{said}");
    assert!(begun.elapsed() + seconds(20) < STUBBORN_FOR, "{:?}", begun.elapsed());
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    Here,
    PidNamespace,
}

/// This program under a name of its own, so that the file beside it is ours alone.
struct Linked {
    place: tempfile::TempDir,
    program: PathBuf,
}

impl Linked {
    fn new() -> Self {
        let test = std::env::current_exe().unwrap();
        let place = tempfile::tempdir_in(test.parent().unwrap()).unwrap();
        let program = place.path().join("program");
        fs::hard_link(test, &program).unwrap();
        Self { place, program }
    }

    /// Runs it as one that forgets; gives what it said, and when it ended.
    #[expect(clippy::disallowed_methods, reason = "the program is one of its own")]
    fn run(&self, kind: &str, place: Where) -> (String, SystemTime) {
        let state = self.place.path().join("state");
        fs::write(self.program.with_extension("forgotten"), format!("{kind}\n{}", state.display())).unwrap();
        fs::create_dir(&state).unwrap();
        let mut command = match place {
            Where::Here => Command::new(&self.program),
            Where::PidNamespace => {
                let mut unshare = Command::new("unshare");
                unshare.args(PID_NAMESPACE).arg(&self.program);
                unshare
            }
        };
        let output = command.arg(kind).arg(&state).stderr(Stdio::null()).output().unwrap();
        (String::from_utf8_lossy(&output.stdout).into_owned(), SystemTime::now())
    }
}
