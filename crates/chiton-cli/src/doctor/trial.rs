//! Tries it out: a command through the engine, and the server as a client starts it.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use chiton_engine::machine;
use chiton_engine::{
    CommandRequest, Engine, EngineConfig, Outcome, RunControl, RunReport, Session, Shell, Silent, Tasks, WarmLimits,
};

use chiton_engine::sandbox::policy::{MissingLayer, NetworkPolicy, SandboxLimits, SandboxPolicy, UndoPolicy};
use chiton_engine::sandbox::report::SandboxReport;

use super::finding::Finding;
use crate::handshake::{self, Talk};
use crate::{setup, surroundings};

/// More than a busy machine needs for a command that does nothing.
const PATIENCE: Duration = Duration::from_secs(20);
/// What a person would call slow.
const SLOW: Duration = Duration::from_secs(1);
/// The bash that the tests run with; older ones may carry less.
const BASH: u32 = 5;
/// Prints the version of bash, or nothing where the shell is another one.
const TRIAL: &str = "printf '%s' \"chiton:${BASH_VERSION-}\"";

/// The shell, and a command in it.
pub(super) fn shell_and_engine(state: &Path) -> Vec<Finding> {
    let shell = match Shell::find() {
        Ok(shell) => shell,
        Err(error) => {
            return vec![
                Finding::problem("shell", error.to_string())
                    .why("it runs the commands")
                    .remedy("install bash, for instance with the package manager"),
            ];
        }
    };
    let started = Instant::now();
    match run(state, TRIAL, None) {
        Ok(response) => {
            let text = response.stdout.to_text();
            let version = text.strip_prefix("chiton:");
            let mut findings = vec![judge_shell(shell.path(), version.unwrap_or_default())];
            findings.push(match (&response.outcome, version) {
                (Outcome::Exited(0), Some(_)) => ran(started.elapsed()),
                (outcome, _) => failed(&format!("a command that prints a word {outcome}")),
            });
            findings
        }
        Err(error) => vec![
            Finding::note("shell", format!("{}, version unknown", shell.path().display()))
                .why("no command could be run to ask it"),
            failed(&format!("no command can be run: {error:#}")),
        ],
    }
}

fn ran(took: Duration) -> Finding {
    let what = format!("a keeper started and ran a command in {} ms", took.as_millis());
    if took < SLOW {
        return Finding::ok("engine", what);
    }
    Finding::note("engine", what)
        .why("that is slow; usually it takes a few milliseconds")
        .remedy("see whether the machine is busy, or the state directory on a slow disk")
}

fn failed(what: &str) -> Finding {
    Finding::problem("engine", what)
        .why("this is what everything else here is for")
        .remedy("see to the other problems first; if there are none, report this one")
}

fn judge_shell(path: &Path, version: &str) -> Finding {
    let shown = path.display();
    if version.is_empty() {
        return Finding::note("shell", format!("{shown}; there is no bash"))
            .why("sessions carry directory, exported variables and umask only: no functions, aliases, options, arrays")
            .remedy("install bash, for instance with the package manager");
    }
    let number = version.split('(').next().unwrap_or(version);
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_some_and(|major| major >= BASH) {
        return Finding::ok("shell", format!("bash {number} at {shown}"));
    }
    Finding::note("shell", format!("bash {number} at {shown}"))
        .why(format!("Chiton is tested with bash {BASH} and newer; with this one less may be carried"))
        .remedy("install a newer bash")
}

/// The layers of a sandbox, found out by putting a command into one.
pub(super) fn sandbox(state: &Path) -> Result<SandboxReport> {
    run(state, ":", Some(policy(state)))?.protection.sandbox.context("the command ran without its sandbox")
}

/// A command whose workspace this folder is, and what it changes there is kept.
pub(super) fn watched(state: &Path, folder: &Path, command: &str) -> Result<RunReport> {
    let workspace = vec![folder.to_owned()];
    let policy = SandboxPolicy { write: workspace.clone(), workspace, undo: UndoPolicy::KeepAndAsk, ..policy(state) };
    let command = format!("cd '{}' && {{ {command}; }}", folder.display());
    run(state, &command, Some(policy))
}

fn policy(state: &Path) -> SandboxPolicy {
    SandboxPolicy {
        profile: "doctor".to_owned(),
        workspace: Vec::new(),
        write: vec!["/tmp".into()],
        made: Vec::new(),
        temporary: Vec::new(),
        caches: Vec::new(),
        hide: vec![state.to_owned()],
        keep: Vec::new(),
        network: NetworkPolicy::Off,
        sockets: Vec::new(),
        expose: Vec::new(),
        limits: SandboxLimits::default(),
        missing: MissingLayer::Say,
        undo: UndoPolicy::Off,
    }
}

/// Runs a command in a session of its own and leaves nothing behind.
fn run(state: &Path, command: &str, sandbox: Option<SandboxPolicy>) -> Result<RunReport> {
    let runtime = crate::runtime::build(tokio::runtime::Builder::new_multi_thread().worker_threads(1))?;
    let response = runtime.block_on(async {
        let mut config = EngineConfig::new(state)?;
        config.limits.warm = WarmLimits::none();
        config.sandbox = sandbox;
        let engine = Engine::new(config)?;
        let start =
            engine.fresh_state(surroundings::working_directory()?, surroundings::environment(), machine::umask());
        let mut request = CommandRequest::new(command);
        request.timeout = Some(PATIENCE);
        anyhow::Ok(engine.run(&Session::new(start), request, &mut Silent, &RunControl::new()).await?)
    });
    runtime.shutdown_background();
    let report = response?.into_ran().context("the command was not run")?;
    if let Ok(task) = Tasks::new(state).get(&report.run_id) {
        remove(task.folder());
    }
    Ok(report)
}

/// Waits for the end of the keeper, which holds the folder as long as it lives, and removes it.
fn remove(folder: &Path) {
    if let Ok(handle) = std::fs::File::open(folder) {
        let _ = rustix::fs::flock(&handle, rustix::fs::FlockOperation::LockExclusive);
    }
    let _ = std::fs::remove_dir_all(folder);
}

/// The MCP server, as a client starts it.
pub(super) fn server(state: &Path) -> Vec<Finding> {
    let started = Instant::now();
    vec![match introduce(state) {
        Ok(version) => Finding::ok(
            "mcp",
            format!("the server answers a client in {} ms (revision {version})", started.elapsed().as_millis()),
        ),
        Err(error) => Finding::problem("mcp", format!("the server does not answer: {error:#}"))
            .why("a client would see no tools")
            .remedy("see to the other problems first; if there are none, report this one"),
    }]
}

/// Starts the server as a client does; gives the protocol revision that it answers with.
fn introduce(state: &Path) -> Result<String> {
    #[expect(clippy::disallowed_methods, reason = "not a command of a user: this program, as a client starts it")]
    let mut command = Command::new(setup::own_path()?);
    command.arg("--state-dir").arg(state).arg("mcp");
    Ok(handshake::introduce(command, "chiton doctor", Talk::Greeting)?.revision)
}

#[cfg(test)]
mod tests {
    use super::super::finding::Health;
    use super::*;

    #[test]
    fn a_shell_is_judged_by_what_it_can_carry() {
        let cases = [
            ("5.2.15(1)-release", Health::Ok, "bash 5.2.15 at /x"),
            ("5.0.0(1)-release", Health::Ok, "bash 5.0.0 at /x"),
            ("10.1", Health::Ok, "bash 10.1 at /x"),
            ("4.4.23(1)-release", Health::Note, "bash 4.4.23 at /x"),
            ("3.2.57", Health::Note, "bash 3.2.57 at /x"),
            ("", Health::Note, "/x; there is no bash"),
        ];
        for (version, health, what) in cases {
            let finding = judge_shell(Path::new("/x"), version);
            assert_eq!((finding.health, finding.what.as_str()), (health, what));
            assert_eq!(finding.remedy.is_some(), health != Health::Ok);
        }
    }
}
