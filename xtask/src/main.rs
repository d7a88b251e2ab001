//! Chores of the project: `cargo xtask test`, `cargo xtask bench`, `cargo xtask dist`, and others.
#![expect(clippy::disallowed_methods, reason = "a chore is to start other programs")]

mod bench;
mod book;
mod differential;
mod dist;
mod foreign;
mod package;
mod pictures;
mod programs;
mod projects;
mod python;
mod watch;

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::iter;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use anyhow::{Error, Result, bail, ensure};
use chiton_testkit::carried;
use programs::{found, install};
use watch::Watch;

const HELP: &str = "\
Chores of the project.

  cargo xtask test     everything: format, lints, all tests, documentation, clients written elsewhere; installs what is
                       missing by Debian's packages where it may, but not with CHITON_NO_INSTALL=1
                       --agents [CLIENT] [SCENARIO]   instead: the real agents (Claude Code, Codex, Gemini CLI, opencode)
                       with a model that plays a script; minutes, and about 1.3 GB of npm packages at first
  cargo xtask bench    how fast and how large it is, beside plain bash; under 3 minutes after the build
                       [latency] [throughput] [memory] [sandbox] [undo] [parts] [growth] [counts]   only these
                       --save     also into docs/performance.md, its plots, and the counts that are checked in
                       --state DIR  keep state there meanwhile, for instance on another file system
                       --check    fail where an instruction count has changed by more than 5 %
                       tokens [--save] [--check]   instead: what a model reads of recorded sessions, in tokens
  cargo xtask counts   whether an instruction count has changed by more than 5 % in the build that is tested
                       --save     takes the counts over
  cargo xtask docs     makes the pictures in docs/pictures anew: a session, `chiton top`, and, with npm and chromium, `chiton ui`
                       --book     instead: the pages of docs as a book below target/book; needs mdbook, or installs it
  cargo xtask fuzz     random texts: whatever bash runs must be listed by the guard, or asked about; --help says more
                       [--texts N] [--seconds S] [--seed X]   without a bound otherwise
  cargo xtask projects real projects from the registries of cargo, npm and pip, each built and tested outside and inside
                       of the sandbox `work`; needs the network, and about half an hour
                       [WORD…]    only those with one of these words in their names
                       --program FILE   last: this chiton, instead of the release build or that of the tests
  cargo xtask dist     the program as people get it, in archives below target/dist: no library needed, no path of this machine
                       [x86_64] [aarch64]   only these
                       --check    build it once more from a clean checkout elsewhere, and compare
  cargo xtask package  packages of that, below target/package: wheels, npm, Debian, the files of an image, server.json
                       [x86_64] [aarch64]   only these
                       --check    install each of them in an empty place, and use it once
                       --quick    the same with the program as the tests have built it, as `cargo xtask test` does
  cargo xtask python   only the tests of the Python package
  cargo xtask agree    whether scripts and commands parse, here and for `bash -n`
                       [FILE…] [--lines FILE] [--installed]
";

fn main() -> ExitCode {
    let chore = env::args().nth(1).unwrap_or_default();
    // `fuzz` and `agree` have a help of their own, and their programs may be asked for one.
    let wants_help = env::args().skip(2).any(|word| word == "--help") && !matches!(chore.as_str(), "fuzz" | "agree");
    let done = match chore.as_str() {
        _ if wants_help => {
            print!("{HELP}");
            Ok(())
        }
        "test" if env::args().len() > 2 && env::args().nth(2).as_deref() != Some("--agents") => {
            Err(anyhow::anyhow!("`cargo xtask test` takes only --agents; `cargo test` runs single tests"))
        }
        "test" if env::args().nth(2).as_deref() == Some("--agents") => agents(),
        "test" => test(),
        "bench" if env::args().nth(2).as_deref() == Some("tokens") => tokens(),
        "bench" => bench::run(env::args().skip(2)),
        "counts" => bench::counts(env::args().nth(2).as_deref().unwrap_or("--check")),
        "docs" if env::args().nth(2).as_deref() == Some("--book") => book::build(),
        "docs" => docs(),
        "projects" => projects::run(env::args().skip(2)),
        "dist" => dist::run(&env::args().skip(2).collect::<Vec<_>>()),
        "python" => tested_python(),
        "package" => package::run(&env::args().skip(2).collect::<Vec<_>>()),
        "fuzz" | "agree" => differential::run(env::args().skip(1)),
        "" | "help" | "--help" => {
            print!("{HELP}");
            Ok(())
        }
        other => {
            eprint!("there is no chore '{other}'\n\n{HELP}");
            return ExitCode::FAILURE;
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn test() -> Result<()> {
    let watch = Watch::begin();
    let done = test_all(&watch);
    watch.end();
    done
}

fn test_all(watch: &Watch) -> Result<()> {
    ensure!(
        quiet("bash", &["--version"]),
        "bash is missing: the engine runs commands with it, and the tests compare with it. Install it first."
    );
    watch.expect("The installation of what is missing", PATIENCE);
    programs::make_ready()?;
    component("rustfmt", &["fmt", "--version"])?;
    component("clippy", &["clippy", "--version"])?;
    // Nobody knows how long a machine builds.
    watch.expect("The build", Duration::MAX);
    cargo(&["fmt", "--all", "--check"], "the format differs: run `cargo fmt --all`")?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], "clippy has objections")?;
    carried()?;
    // Documentation tests compile the example of the library; the rest runs what it promises.
    let unsteady = tests(watch)?;
    eprintln!("\n== clients written elsewhere");
    watch.expect("A client written elsewhere", PATIENCE);
    foreign::run()?;
    eprintln!("\n== packages");
    watch.expect("A package", PATIENCE);
    package::try_with_tested_program()?;
    eprintln!("\n== the Python package");
    watch.expect("The Python package", PATIENCE);
    python::run()?;
    eprintln!("\n== instructions");
    watch.expect("The count of instructions", PATIENCE);
    bench::counts("--check")?;
    guard_report()?;
    rows()?;
    programs::report_missing();
    for test in unsteady {
        println!("Unsteady: {test} failed among the others and passed by itself; find out why.");
    }
    Ok(())
}

/// Makes the program that tests carry to other machines, so that none of them has to. It is a variant of the one that
/// they use here, which comes first.
fn carried() -> Result<()> {
    cargo(&["test", "--workspace", "--no-run", "--quiet"], "the tests do not build")?;
    eprintln!("\n== the program that tests carry to other machines");
    match carried::available() {
        Ok(()) => drop(carried::make(carried::Scope::Workspace).map_err(Error::msg)?),
        Err(missing) => eprintln!("left out, with the tests that need it: {missing}"),
    }
    Ok(())
}

/// Runs all tests, and once more by themselves those that failed among the others: some of them wait for what the machine
/// does, and one that was busy elsewhere has broken no promise. What passed only then is given back, to be named at the end.
fn tests(watch: &Watch) -> Result<Vec<String>> {
    let run = watched(watch, &TESTS)?;
    if run.passed {
        return Ok(Vec::new());
    }
    ensure!(!run.targets.is_empty(), "tests failed");
    // With all packages, as before: for one of them cargo would choose other features, and build everything again. That
    // means the targets of that name in all packages, but no other tests in them.
    let selected =
        run.targets.iter().filter_map(|target| target.strip_prefix("-p ")?.split_once(' ')).map(|(_, target)| target);
    let selected: BTreeSet<&str> = selected.collect();
    let again: Vec<&str> = TESTS.into_iter().chain(selected.iter().flat_map(|target| target.split(' '))).collect();

    // A target that has not come to its end has not said which of its tests it was.
    if run.ended < run.targets.len() {
        ensure!(run.targets.len() - run.ended <= run.hung, "tests failed");
        ensure!(watched(watch, &again)?.passed, "tests failed or hung, also by themselves");
        return Ok(run.targets.into_iter().map(|target| format!("a test of {target}")).collect());
    }
    ensure!((1..=MOST_AGAIN).contains(&run.failed.len()), "tests failed");
    for test in &run.failed {
        eprintln!("\n== once more: {test}");
        let passes = || -> Result<bool> {
            let alone = watched(watch, &[&again[..], &["--", test]].concat())?;
            // It has to say so: nothing at all would pass as well.
            Ok(alone.passed && alone.succeeded.contains(test))
        };
        // Twice at most: what races with the machine may lose once more.
        ensure!(passes()? || passes()?, "{test} failed, also by itself");
    }
    Ok(run.failed.into_iter().map(|test| format!("the test {test}")).collect())
}

const TESTS: [&str; 3] = ["test", "--workspace", "--no-fail-fast"];

/// What came of a run of tests.
struct TestRun {
    passed: bool,
    /// Of which at least one test failed, as arguments of cargo.
    targets: Vec<String>,
    /// How many of them have come to their end.
    ended: usize,
    /// How often something was killed because it hung.
    hung: usize,
    /// The tests that failed, and those that did not.
    failed: Vec<String>,
    succeeded: Vec<String>,
}

/// Runs tests as cargo does with these arguments, and kills those that hang.
fn watched(watch: &Watch, arguments: &[&str]) -> Result<TestRun> {
    eprintln!("\n== cargo {}", arguments.join(" "));
    let mut running = cargo_command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    watch.expect("A test", PATIENCE);
    watch.spare(running.id());
    let hears = watch.clone();
    let (listing, listed) = mpsc::channel();
    if let Some(stderr) = running.stderr.take() {
        thread::spawn(move || listing.send(failed_targets(stderr, &hears)));
    }
    let (saying, said) = mpsc::channel();
    if let Some(stdout) = running.stdout.take() {
        let hears = watch.clone();
        thread::spawn(move || listen(stdout, &saying, &hears));
    }
    let passed = running.wait()?.success();
    let hung = watch.hung();
    watch.expect("The end of the tests", Duration::MAX);
    // What was left behind by a test may hold the pipes open, so their end is not waited for.
    let targets = if passed { Vec::new() } else { listed.recv_timeout(LAST_WORDS).unwrap_or_default() };
    let mut run = TestRun { passed, targets, ended: 0, hung, failed: Vec::new(), succeeded: Vec::new() };
    for said in iter::from_fn(|| said.recv_timeout(LAST_WORDS).ok()) {
        match said {
            Said::Ended => run.ended += 1,
            Said::Failed(test) => run.failed.push(test),
            Said::Passed(test) => run.succeeded.push(test),
        }
    }
    Ok(run)
}

/// The same for what is not Rust: what fails is tried once more by itself.
fn steadily(what: &str, attempt: impl Fn() -> Result<()>) -> Result<()> {
    if let Err(error) = attempt() {
        eprintln!("{what} failed, so once more: {error:#}");
        attempt()?;
        println!("Unsteady: {what} failed and passed the second time; find out why.");
    }
    Ok(())
}

/// How long tests, or the like, may give no sign of life. The longest of them take a minute.
const PATIENCE: Duration = Duration::from_mins(8);
/// More tests than this do not fail because the machine was busy.
const MOST_AGAIN: usize = 5;
/// After so long a silence cargo and the tests, which have ended, have said everything.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Passes on what cargo says, up to the list of what failed, which is its last word: something that a test has left behind
/// may hold this pipe open for longer.
fn failed_targets(stderr: impl Read, watch: &Watch) -> Vec<String> {
    let (mut failed, mut announced) = (Vec::new(), None);
    for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        eprintln!("{line}");
        watch.heard();
        announced = announced.or_else(|| announced_failures(&line));
        failed.extend(failed_target(&line).map(str::to_owned));
        if announced.is_some_and(|count| failed.len() >= count) {
            break;
        }
    }
    failed
}

/// What tests say.
enum Said {
    /// This one failed.
    Failed(String),
    /// This one passed.
    Passed(String),
    /// A target has ended of whose tests one failed.
    Ended,
}

/// Passes on what the tests say, and picks out what came of them.
fn listen(stdout: impl Read, saying: &mpsc::Sender<Said>, watch: &Watch) {
    for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        watch.heard();
        let said = if line.starts_with("test result: FAILED.") {
            Some(Said::Ended)
        } else {
            let failed = verdict_on(&line, "FAILED").map(|name| Said::Failed(name.to_owned()));
            failed.or_else(|| verdict_on(&line, "ok").map(|name| Said::Passed(name.to_owned())))
        };
        let _ = said.map(|said| saying.send(said));
    }
}

/// The name of the test that a line says this of. Some are of a kind, which stands in brackets before the name.
fn verdict_on<'a>(line: &'a str, verdict: &str) -> Option<&'a str> {
    let test = line.strip_prefix("test ")?.strip_suffix(verdict)?.strip_suffix(" ... ")?.trim();
    Some(test.split_once(']').filter(|_| test.starts_with('[')).map_or(test, |(_, name)| name.trim()))
}

/// How many targets cargo is about to list.
fn announced_failures(line: &str) -> Option<usize> {
    let (count, rest) = line.strip_prefix("error: ")?.split_once(' ')?;
    matches!(rest, "target failed:" | "targets failed:").then(|| count.parse().ok())?
}

/// The target in a line of cargo's closing list, as the arguments that run it.
fn failed_target(line: &str) -> Option<&str> {
    line.trim().strip_prefix('`')?.strip_suffix('`').filter(|target| target.starts_with("-p "))
}

/// What the models of real agents see. Not among the other tests: it takes minutes and installs a lot.
/// Counts tokens, with the program as it is built for tests.
fn tokens() -> Result<()> {
    cargo(&["build", "-p", "chiton-cli"], "it does not build")?;
    foreign::tokens(&env::args().skip(3).collect::<Vec<String>>())
}

/// Makes what the documentation shows of the program.
fn docs() -> Result<()> {
    let check = ["test", "-p", "chiton-cli", "--test", "documents", "page-readme"];
    cargo(&check, "the README shows what does not happen")?;
    pictures::draw()?;
    foreign::pictures()?;
    pictures::prune()
}

fn agents() -> Result<()> {
    ensure!(quiet("npm", &["--version"]), "npm is missing: it installs the agents");
    cargo(&["build", "-p", "chiton-cli"], "the program does not build")?;
    foreign::agents(&env::args().skip(3).collect::<Vec<_>>())
}

/// The tests of the Python package alone.
fn tested_python() -> Result<()> {
    let build = ["test", "--no-run", "-p", "chiton-cli", "-p", "chiton-python", "--test", "library"];
    cargo(&build, "the library does not build")?;
    python::run()
}

/// Misses and false alarms of the guard by class, as its tests have just counted them.
fn guard_report() -> Result<()> {
    let report = fs::read_to_string(bench::target().join("tmp/guard-corpus.txt"))?;
    println!("\nThe guard's corpus:\n{}", report.trim_end());
    Ok(())
}

/// How many rows of the requirement documents pass: the tests have just verified this table.
fn rows() -> Result<()> {
    let table = fs::read_to_string(root().join("docs/conformance.md"))?;
    println!("\nRequirement documents:");
    table.lines().filter(|line| line.ends_with("rows pass")).for_each(|line| println!("{line}"));
    Ok(())
}

/// Whether nothing of the project was built here before this run.
fn is_first_build() -> bool {
    static FIRST: OnceLock<bool> = OnceLock::new();
    *FIRST.get_or_init(|| !bench::target().join("debug/chiton").exists())
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Makes sure that a part of the tool chain is there, installing it where that can be done.
fn component(name: &str, check: &[&str]) -> Result<()> {
    if quiet("cargo", check) || (quiet("rustup", &["component", "add", name]) && quiet("cargo", check)) {
        return Ok(());
    }
    bail!(
        "{name} is missing and could not be installed: run `rustup component add {name}`, or install your system's package of it"
    )
}

fn quiet(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn cargo(arguments: &[&str], otherwise: &str) -> Result<()> {
    eprintln!("\n== cargo {}", arguments.join(" "));
    ensure!(cargo_command(arguments).status()?.success(), "{otherwise}");
    Ok(())
}

fn cargo_command(arguments: &[&str]) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // A job in the background of a script ignores the keys of a terminal, one of nohup its end, and everything they start does
    // too. Tests compare with a shell that does not.
    let heeds = ["--default-signal=INT,QUIT,HUP"];
    let mut command = if quiet("env", &[&heeds[..], &["true"]].concat()) {
        let mut command = Command::new("env");
        command.args(heeds).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.args(arguments).current_dir(root());
    if is_first_build() {
        // A build from nothing gains nothing from being incremental, and takes longer for it.
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

#[cfg(test)]
mod tests {
    use super::{Watch, failed_target, failed_targets, verdict_on};

    #[test]
    fn a_test_that_failed_is_found_whatever_ran_it() {
        let cases = [
            ("test near::a_call_that_comes_again ... FAILED", Some("near::a_call_that_comes_again")),
            ("test [cursor]         approve: a_switch        ... FAILED", Some("approve: a_switch")),
            ("test                python-runs                  ... FAILED", Some("python-runs")),
            ("test near::a_call_that_comes_again ... ok", None),
            ("test result: FAILED. 0 passed; 1 failed; 0 ignored", None),
        ];
        for (line, test) in cases {
            assert_eq!(verdict_on(line, "FAILED"), test, "{line}");
        }
    }

    #[test]
    fn a_target_that_failed_is_found_in_what_cargo_says() {
        let cases = [
            ("    `-p chiton-engine --test forgotten`", Some("-p chiton-engine --test forgotten")),
            ("    `-p chiton-cli --bin chiton`", Some("-p chiton-cli --bin chiton")),
            ("error: 1 target failed:", None),
            ("help: run with `RUST_BACKTRACE=1`", None),
        ];
        for (line, target) in cases {
            assert_eq!(failed_target(line), target, "{line}");
        }
    }

    #[test]
    fn what_follows_the_list_of_failures_is_not_waited_for() {
        let said = "warning: x\nerror: 2 targets failed:\n    `-p a --lib`\n    `-p b --test c`\n`-p not --listed`\n";
        assert_eq!(failed_targets(said.as_bytes(), &Watch::begin()), ["-p a --lib", "-p b --test c"]);
        assert!(failed_targets("error: could not compile `a`\n".as_bytes(), &Watch::begin()).is_empty());
    }
}
