//! Whatever bash does, we do: the same bytes on both streams, the same status. Each case is a test for each way in which
//! a command meets its shell: `cargo test -p chiton-engine --test fidelity '[Warm] heredoc'`.
#![cfg(test)]

mod harness;

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use chiton_engine::sandbox::policy::{SandboxLimits, SandboxPolicy};
use chiton_engine::{AnswerMode, CommandRequest, EngineConfig, Session, StateReport, WarmLimits};
use chiton_testkit::cases::{self, Case};
use chiton_testkit::oracle;
use chiton_testkit::trials::{self, Threads, Trial, passes};
use harness::{Harness, PATH, enclosed, runtime};

/// Variables that both sides get; ours sets a few more so that nothing waits for a person.
fn environment(home: &str) -> Vec<(&str, &str)> {
    vec![
        ("PATH", PATH),
        ("HOME", home),
        ("LANG", "C.UTF-8"),
        ("PAGER", "cat"),
        ("GIT_PAGER", "cat"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GCM_INTERACTIVE", "never"),
        ("DEBIAN_FRONTEND", "noninteractive"),
        ("EDITOR", "true"),
        ("GIT_EDITOR", "true"),
        ("CHITON", "1"),
    ]
}

/// How a command meets its shell.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// The shell is started for it.
    Cold,
    /// The same, and it hands nothing back.
    WithoutState,
    /// The shell was there before.
    Warm,
    /// The same, and the answer does not wait for the state.
    AnswerFirst,
    /// The same, and the shell waited inside of a sandbox.
    Enclosed,
}

/// What the cases of one way share.
struct Bench {
    way: Way,
    /// Engines that no case uses at the moment.
    idle: Mutex<Vec<Harness>>,
    /// How many cases met a shell that waited.
    warm: AtomicUsize,
    /// How many were known to change nothing without the shell being asked.
    unasked: AtomicUsize,
}

fn main() -> ExitCode {
    let cases = cases::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/fidelity.cases"));
    let count = cases.len();
    let benches =
        [Way::Cold, Way::WithoutState, Way::Warm, Way::AnswerFirst, Way::Enclosed].map(|way| Arc::new(Bench::new(way)));
    let mut trials = Vec::new();
    for bench in &benches {
        let compared = cases.iter().filter(|case| bench.way != Way::Enclosed || case.name != RACES_INSIDE);
        trials.extend(compared.map(|case| {
            let (bench, case) = (Arc::clone(bench), case.clone());
            let kind = format!("{:?}", bench.way);
            Trial::test(case.name.clone(), move || bench.compare(&case).map_err(Into::into)).with_kind(kind)
        }));
    }

    let [_, _, warm, answer_first, enclosed] = benches;
    // Some cannot be given to a shell that waits: those that trace, that bash finds an error in, that set traps.
    let waited = move || {
        let met = [&warm, &answer_first, &enclosed].map(|bench| bench.warm.load(Ordering::Relaxed));
        let unasked = answer_first.unasked.load(Ordering::Relaxed);
        assert!(count >= 200, "only {count} cases");
        assert!(met.iter().all(|met| *met >= 500), "only {met:?} met a shell that waited");
        assert!(unasked >= 50, "only {unasked} are known to change nothing");
    };
    let closing = vec![Trial::test("most_cases_meet_a_shell_that_waited", move || passes(waited))];
    trials::run(Threads::Processors, trials, closing)
}

/// A signal that reaches a child between its fork and its program may be lost, since our exit trap has bash put it off. The
/// keeper is asked first inside of a sandbox, so it comes at that moment more often: see docs/sessions.md.
const RACES_INSIDE: &str = "wait-signalled";

/// As for work in the folder of the cases.
fn sandbox(config: &EngineConfig) -> SandboxPolicy {
    let work = config.state_directory.parent().unwrap();
    SandboxPolicy {
        profile: "work".to_owned(),
        write: vec![work.to_owned(), "/tmp".into(), "/dev/shm".into()],
        hide: vec![config.state_directory.clone(), "/root/.ssh".into()],
        limits: SandboxLimits { memory: Some(4 << 30), processes: Some(4000), ..SandboxLimits::default() },
        ..enclosed(work)
    }
}

impl Bench {
    fn new(way: Way) -> Self {
        Self { way, idle: Mutex::default(), warm: AtomicUsize::new(0), unasked: AtomicUsize::new(0) }
    }

    /// Runs a case under bash and in an engine that no other case uses meanwhile.
    fn compare(&self, case: &Case) -> Result<(), String> {
        let idle = self.idle.lock().unwrap().pop();
        let harness = idle.unwrap_or_else(|| {
            Harness::with(|config| {
                if matches!(self.way, Way::Cold | Way::WithoutState) {
                    config.limits.warm = WarmLimits::none();
                }
                if self.way == Way::Enclosed {
                    config.sandbox = Some(sandbox(config));
                }
            })
        });
        let result = self.compare_in(&harness, case);
        self.idle.lock().unwrap().push(harness);
        result
    }

    fn compare_in(&self, harness: &Harness, case: &Case) -> Result<(), String> {
        // One after the other in the same directory, emptied in between: paths in messages must be the same.
        let home = harness.folder.path().join("home");
        let fresh = || {
            let _ = std::fs::remove_dir_all(&home);
            std::fs::create_dir(&home).unwrap();
        };
        let text = home.to_str().unwrap().to_owned();
        let environment = environment(&text);
        let session = || {
            let variables = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).into()));
            Session::new(harness.engine.fresh_state(&home, variables, 0o022))
        };

        fresh();
        let expected = oracle::bash(&case.command, &home, &environment);
        fresh();
        let (observed, response) = runtime().block_on(async {
            let session = session();
            harness.engine.warm(&session);
            let mut request = CommandRequest::new(&case.command[..]);
            request.answer = match self.way {
                Way::AnswerFirst => AnswerMode::BeforeState,
                Way::WithoutState => AnswerMode::WithoutState,
                Way::Cold | Way::Warm | Way::Enclosed => AnswerMode::WithState,
            };
            if self.way == Way::WithoutState {
                harness.engine.expect(&session, &request);
            }
            harness.observe_request(&session, request).await
        });
        self.warm.fetch_add(usize::from(response.warm), Ordering::Relaxed);

        if self.way == Way::AnswerFirst && response.state == StateReport::Unchanged {
            // Said without having asked the shell. One that is asked says the same.
            self.unasked.fetch_add(1, Ordering::Relaxed);
            fresh();
            let asked = runtime().block_on(harness.request(&session(), CommandRequest::new(&case.command[..])));
            if asked.state != StateReport::Unchanged {
                return Err("it changes the state after all".to_owned());
            }
        }
        if observed == expected { Ok(()) } else { Err(format!("-- bash\n{expected:?}\n-- chiton\n{observed:?}")) }
    }
}
