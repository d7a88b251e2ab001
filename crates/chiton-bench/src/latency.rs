//! How long a call takes: one command after the other, with and without a pause, in the library and over MCP.

use std::fs;
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use crate::bash;
use crate::bench::Bench;
use crate::measure::{Turns, percentile, timed};
use crate::sandbox;
use crate::server::Program;
use crate::subject::{Answer, Protection, Subject};
use crate::table::{Row, Which};
use chiton_engine::{Session, StateReport, WarmLimits};

/// The time an agent needs at the very least to read one answer and write the next call.
const PAUSE: Duration = Duration::from_millis(5);
/// The time a slow agent needs, or a person: a server has come to rest by then.
const SELDOM: Duration = Duration::from_millis(800);
const TURNS: Turns = Turns::new(5, 60);
/// How many of the slowest calls are named.
const SLOWEST: usize = 12;
const STARTS: Turns = Turns::new(5, 10);

/// Pipelines of programs that are not part of the shell. All of them give the same here and there.
const PIPELINES: [&str; 3] =
    ["ls | wc -l", "ls -la | grep x | sort | head -3", "cat words | tr a-z A-Z | sort | uniq -c | sort -rn | head -1"];

/// Commands that change the state in all ways that agents use: where they are, a variable, a function.
const CHANGES: [&str; 5] = ["cd /usr", "export X=1", "f() { echo \"$1\"; }", "cd /usr/lib", "export X=2"];

/// `true`, in a session.
pub(crate) fn calls(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let subject = sandboxed(bench, "calls")?;
    let session = subject.session()?;
    let bare = || {
        thread::sleep(PAUSE);
        bash::bare()
    };
    let (ours, bash) = TURNS.measure(|| subject.time(&session, "true", Answer::First, PAUSE), bare)?;
    let what = "`true` in a session, 5 ms between calls, engine level";
    rows.push(Row::times_within(format!("{what}, p50"), &ours, &bash, (Which::Middle, 0.18)));
    rows.push(Row::times_within(format!("{what}, p99"), &ours, &bash, (Which::Late, 0.5)));
    let mut changes = CHANGES.iter().cycle();
    let mut change = || changed(&subject, &session, changes.next().copied().unwrap_or_default(), PAUSE);
    let (ours, bash) = TURNS.measure(&mut change, bare)?;
    let what = "`cd`, `export X=1`, `f() { …; }`, with the state in the session";
    rows.push(Row::times_within(what, &ours, &bash, (Which::Middle, 0.35)));
    let (ours, bash) = TURNS.measure(|| subject.time(&session, "echo $$", Answer::WithState, PAUSE), bare)?;
    rows.push(Row::times("a command that only a shell of its own can run", &ours, &bash, Which::Middle));
    rows.push(first(bench)?);
    rows.push(over_mcp(bench)?);
    let now = Duration::ZERO;
    let (ours, bash) = TURNS.measure(|| subject.time(&session, "true", Answer::First, now), bash::bare)?;
    rows.push(Row::times_within("back to back, engine level, p50", &ours, &bash, (Which::Middle, 0.45)));
    rows.extend(back_to_back(bench)?);
    Ok(rows)
}

/// An engine whose commands are held as an agent's are by default: in a sandbox that keeps what they change.
fn sandboxed(bench: &Bench, name: &str) -> Result<Subject> {
    let folder = bench.folder(name);
    fs::create_dir_all(&folder)?;
    let policy = sandbox::work(&folder.canonicalize()?);
    Subject::with(&folder, Protection::Usual, |config| config.sandbox = Some(policy))
}

/// The seconds that a command takes which changes the state. With its answer that is in the session.
pub(crate) fn changed(subject: &Subject, session: &Session, command: &str, pause: Duration) -> Result<f64> {
    subject.pause(pause);
    let (took, report) = timed(|| subject.run(session, command, Answer::First))?;
    ensure!(report.state != StateReport::Follows, "the state of {command} was not there with the answer");
    Ok(took)
}

/// One call after the other over MCP, with no pause between an answer and the next request.
fn back_to_back(bench: &Bench) -> Result<Vec<Row>> {
    let program = Program::new(&bench.program, &bench.folder("back-to-back"))?;
    let mut server = program.serve()?;
    let (ours, bash) = TURNS.measure(|| server.time("true"), bash::bare)?;
    let row = |which: &str, goal| Row::times_within(format!("back to back over MCP, {which}"), &ours, &bash, goal);
    Ok(vec![row("p50", (Which::Middle, 0.45)), row("p99", (Which::Late, 1.2))])
}

/// Nothing but such calls, for a profiler to look at.
pub(crate) fn only(bench: &Bench, kind: &str, times: usize) -> Result<()> {
    let folder = bench.folder("only");
    let times: Vec<f64> = if let "mcp" | "mcp-rush" | "mcp-seldom" = kind {
        let mut server = Program::new(&bench.program, &folder)?.serve()?;
        let mut call = |number: usize| {
            match kind {
                "mcp" => thread::sleep(PAUSE),
                "mcp-seldom" => thread::sleep(SELDOM),
                // As it is measured: after a while in which others had the processors.
                _ if number.is_multiple_of(TURNS.calls) => {
                    (0..TURNS.calls).try_for_each(|_| bash::bare().map(drop))?;
                }
                _ => {}
            }
            server.time("true")
        };
        (0..times).map(&mut call).collect::<Result<_>>()?
    } else {
        let protection = match kind {
            "usual" | "cold" | "sandbox" | "sandbox-cold" | "turns" | "change" | "first" | "rush" => Protection::Usual,
            "secret" => Protection::WithSecret,
            "off" => Protection::Off,
            other => {
                let kinds = "usual, cold, sandbox, sandbox-cold, turns, change, first, rush, secret, off, mcp, mcp-rush, \
                             mcp-seldom";
                bail!("there is no kind '{other}'; there are: {kinds}")
            }
        };
        fs::create_dir_all(&folder)?;
        let policy = sandbox::work(&folder.canonicalize()?);
        let subject = Subject::with(&folder, protection, |config| {
            let is_held = kind.starts_with("sandbox") || matches!(kind, "turns" | "change" | "first" | "rush");
            config.sandbox = is_held.then_some(policy);
            if kind.ends_with("cold") {
                config.limits.warm = WarmLimits::none();
            }
        })?;
        let answer = if kind.ends_with("cold") { Answer::WithState } else { Answer::First };
        let session = subject.session()?;
        let mut changes = CHANGES.iter().cycle();
        let mut call = |number: usize| match kind {
            // As it is measured: in turns with bash.
            "turns" => {
                if number.is_multiple_of(TURNS.calls) {
                    (0..TURNS.calls).try_for_each(|_| {
                        thread::sleep(PAUSE);
                        bash::bare().map(drop)
                    })?;
                }
                subject.time(&session, "true", answer, PAUSE)
            }
            "change" => changed(&subject, &session, changes.next().copied().unwrap_or_default(), PAUSE),
            "first" => first_of_session(&subject),
            "rush" => subject.time(&session, "true", answer, Duration::ZERO),
            _ => subject.time(&session, "true", answer, PAUSE),
        };
        (0..times).map(&mut call).collect::<Result<_>>()?
    };
    println!("p50 {:.0} µs, p99 {:.0} µs", percentile(&times, 50.0) * 1e6, percentile(&times, 99.0) * 1e6);
    let mut slowest: Vec<(usize, f64)> = times.into_iter().enumerate().collect();
    slowest.sort_by(|one, other| other.1.total_cmp(&one.1));
    let named = slowest.iter().take(SLOWEST).map(|(number, time)| format!("{:.0} µs (call {number})", time * 1e6));
    println!("slowest: {}", named.collect::<Vec<_>>().join(", "));
    Ok(())
}

/// The first command of a session, in an engine that runs.
fn first(bench: &Bench) -> Result<Row> {
    let subject = sandboxed(bench, "first")?;
    subject.run(&subject.session()?, "true", Answer::First)?;
    let bare = || {
        thread::sleep(PAUSE);
        bash::bare()
    };
    let (ours, bash) = STARTS.measure(|| first_of_session(&subject), bare)?;
    let what = "cold: the first command of a session in a server that runs";
    Ok(Row::times_within(what, &ours, &bash, (Which::Middle, 1.5)))
}

fn first_of_session(subject: &Subject) -> Result<f64> {
    let session = subject.cold_session();
    subject.time(&session, "true", Answer::First, PAUSE)
}

fn over_mcp(bench: &Bench) -> Result<Row> {
    let program = Program::new(&bench.program, &bench.folder("mcp"))?;
    let mut server = program.serve()?;
    let ours = || {
        thread::sleep(PAUSE);
        server.time("true")
    };
    let bare = || {
        thread::sleep(PAUSE);
        bash::bare()
    };
    let (ours, bash) = TURNS.measure(ours, bare)?;
    let what = "the same over MCP stdio, request line to answer line, p50";
    Ok(Row::times_within(what, &ours, &bash, (Which::Middle, 0.25)))
}

/// Programs in pipelines, against `bash -c` of the same.
pub(crate) fn pipelines(bench: &Bench) -> Result<Vec<Row>> {
    let subject = Subject::new(&bench.folder("pipelines"), Protection::Usual)?;
    let folder = subject.folder().join("files");
    fs::create_dir(&folder)?;
    for number in 0..40 {
        fs::write(folder.join(format!("x{number}.txt")), "some text\n")?;
    }
    fs::write(folder.join("words"), "one\ntwo\nthree\ntwo\nfour\n".repeat(100))?;
    let session = subject.session()?;
    subject.run(&session, "cd files", Answer::WithState)?;
    let mut rows = Vec::new();
    for command in PIPELINES {
        let said = subject.run(&session, command, Answer::First)?.stdout.to_text();
        let expected = bash::run(command, Some(&folder))?.stdout;
        ensure!(said.as_bytes() == expected, "{command} says something else than under bash: {said}");
        let beside = || {
            thread::sleep(PAUSE);
            Ok(timed(|| bash::run(command, Some(&folder)))?.0)
        };
        let turns = Turns::new(5, 16);
        let (ours, beside) = turns.measure(|| subject.time(&session, command, Answer::First, PAUSE), beside)?;
        rows.push(Row::times_within(format!("`{command}`"), &ours, &beside, (Which::Middle, 0.85)));
    }
    Ok(rows)
}

/// From the start of the server to its answer to `initialize`, and a command line from its start to its end.
pub(crate) fn starts(bench: &Bench) -> Result<Vec<Row>> {
    let program = Program::new(&bench.program, &bench.folder("starts"))?;
    let start = || {
        let (took, server) = timed(|| program.serve())?;
        drop(server);
        Ok(took)
    };
    let (ours, bash) = STARTS.measure(start, bash::bare)?;
    let mut rows = vec![Row::times_within("start to the answer to `initialize`", &ours, &bash, (Which::Middle, 3.0))];
    let run = || Ok(timed(|| program.run(&["run", "true"]))?.0);
    let (ours, bash) = STARTS.measure(run, bash::bare)?;
    rows.push(Row::times_within("`chiton run true`, a process of its own", &ours, &bash, (Which::Middle, 2.2)));
    let version = || Ok(timed(|| program.run(&["--version"]))?.0);
    let (ours, bash) = STARTS.measure(version, bash::bare)?;
    rows.push(Row::times("`chiton --version`", &ours, &bash, Which::Middle));
    Ok(rows)
}

/// What protection costs, and whether many sessions make one of them slow.
pub(crate) fn ratios(bench: &Bench) -> Result<Vec<Row>> {
    let turns = Turns::new(5, 40);
    let protected = Subject::new(&bench.folder("on"), Protection::WithSecret)?;
    let bare = Subject::new(&bench.folder("off"), Protection::Off)?;
    let (on, off) = (protected.session()?, bare.session()?);
    let (ours, beside) = turns.measure(
        || protected.time(&on, "true", Answer::First, PAUSE),
        || bare.time(&off, "true", Answer::First, PAUSE),
    )?;
    let what = "guard, masking and journal on, against off: `true`, p50";
    let mut rows = vec![Row::times_within(what, &ours, &beside, (Which::Middle, 1.15))];
    drop((protected, bare));
    let many = Subject::new(&bench.folder("many"), Protection::Usual)?;
    let sessions = crowd(&many, 500)?;
    let one = Subject::new(&bench.folder("one"), Protection::Usual)?;
    let alone = one.session()?;
    let (ours, beside) = turns.measure(
        || many.time(&sessions[250], "true", Answer::First, PAUSE),
        || one.time(&alone, "true", Answer::First, PAUSE),
    )?;
    let what = "500 sessions alive, latency of one, against one session alone";
    rows.push(Row::times_within(what, &ours, &beside, (Which::Middle, 1.3)));
    Ok(rows)
}

/// This many sessions, each of which has run a command.
pub(crate) fn crowd(subject: &Subject, count: usize) -> Result<Vec<Session>> {
    let mut sessions = Vec::with_capacity(count);
    for _ in 0..count {
        let session = subject.session()?;
        subject.run(&session, "true", Answer::WithState)?;
        sessions.push(session);
    }
    Ok(sessions)
}
