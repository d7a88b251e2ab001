//! `cargo xtask bench`: how fast and how large the server is, as ratios against `bash -c true` in the same run.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::{cargo, root};

/// How often each thing is measured, in turns with the baseline.
const ROUNDS: usize = 200;
const STARTS: usize = 40;
const CALLS: usize = 1000;
const TERMINALS: usize = 50;
const FLOOD: usize = 100_000_000;

pub(crate) fn run() -> Result<()> {
    cargo(&["build", "--release"], "the program does not build")?;
    let program = root().join("target/release/chiton");
    let state = root().join("target/bench");
    let _ = fs::remove_dir_all(&state);
    fs::create_dir_all(&state)?;
    let mut table = Vec::new();
    starts(&program, &state, &mut table)?;
    calls(&program, &state, &mut table)?;
    terminals(&program, &state, &mut table)?;
    verdicts(&mut table)?;
    let size = fs::metadata(&program)?.len();
    table.push(vec!["size of the binary".to_owned(), mebibytes(size), String::new(), String::new()]);
    let _ = fs::remove_dir_all(&state);
    print(&table);
    Ok(())
}

/// What the guard takes for everyday commands.
fn verdicts(table: &mut Vec<Vec<String>>) -> Result<()> {
    cargo(&["build", "--release", "-p", "chiton-engine", "--example", "verdict_speed"], "the example does not build")?;
    let cases = root().join("crates/chiton-engine/tests/cases/guard");
    let mut command = Command::new(root().join("target/release/examples/verdict_speed"));
    let output = command.args(["everyday.tsv", "agents.tsv"].map(|name| cases.join(name))).output()?;
    ensure!(output.status.success(), "verdict_speed failed");
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    table.push(vec!["verdict, µs, p50 / p99 / p99.9".to_owned(), said, String::new(), String::new()]);
    Ok(())
}

/// From the start of the process to its answer to `initialize`, and what it occupies then.
fn starts(program: &Path, state: &Path, table: &mut Vec<Vec<String>>) -> Result<()> {
    let (mut ours, mut bash, mut idle) = (Vec::new(), Vec::new(), 0);
    for _ in 0..STARTS {
        bash.push(timed(bare_bash)?.0);
        let (took, server) = timed(|| Server::start(program, state))?;
        ours.push(took);
        idle = resident(server.child.id())?;
    }
    row(table, "start to the answer to initialize", &mut ours, &mut bash);
    table.push(vec!["memory, idle".to_owned(), mebibytes(idle), String::new(), String::new()]);
    Ok(())
}

/// `true` in one session, one call after the other, and as many at once as come through.
fn calls(program: &Path, state: &Path, table: &mut Vec<Vec<String>>) -> Result<()> {
    let mut server = Server::start(program, state)?;
    let (mut ours, mut bash) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bash.push(timed(bare_bash)?.0);
        ours.push(timed(|| server.call("true"))?.0);
    }
    row(table, "`true` over MCP", &mut ours, &mut bash);
    let begun = Instant::now();
    for _ in 0..CALLS / 2 {
        server.send("tools/call", &json!({"name": "Bash", "arguments": {"command": "true"}}))?;
    }
    for _ in 0..CALLS / 2 {
        server.read()?;
    }
    let together = begun.elapsed();
    let begun = Instant::now();
    for _ in ROUNDS + CALLS / 2..CALLS {
        server.call("true")?;
    }
    let alone = begun.elapsed() / u32::try_from(CALLS - CALLS / 2 - ROUNDS)?;
    let second = |each: Duration| format!("{:.0} / s", 1.0 / each.as_secs_f64());
    table.push(vec!["calls, one after the other".to_owned(), second(alone), String::new(), String::new()]);
    let each = together / u32::try_from(CALLS / 2)?;
    table.push(vec!["calls, all sent at once".to_owned(), second(each), String::new(), String::new()]);
    let after = mebibytes(resident(server.child.id())?);
    table.push(vec![format!("memory after {CALLS} calls"), after, String::new(), String::new()]);
    Ok(())
}

/// What fifty idle terminals occupy each, and how fast output goes through one with its screen kept.
fn terminals(program: &Path, state: &Path, table: &mut Vec<Vec<String>>) -> Result<()> {
    let chiton = |arguments: &[&str]| -> Result<String> {
        let output =
            Command::new(program).arg("--state-dir").arg(state).args(arguments).stdin(Stdio::null()).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let mut occupied = 0;
    for _ in 0..TERMINALS {
        let id = chiton(&["run", "--background", "--pty", "read x"])?;
        chiton(&["wait", "--input", "--timeout", "10s", &id])?;
    }
    // A keeper makes itself small a moment after its command has started.
    std::thread::sleep(Duration::from_secs(1));
    for entry in fs::read_dir(state.join("runs"))?.flatten() {
        let Ok(text) = fs::read_to_string(entry.path().join("start.json")) else { continue };
        let start: Value = serde_json::from_str(&text)?;
        if let Some(keeper) = start["keeper"].as_u64().filter(|_| !entry.path().join("ending.json").exists()) {
            occupied += proportional(keeper)?;
        }
    }
    chiton(&["kill", "--all"])?;
    let each = mebibytes(occupied / u64::try_from(TERMINALS)?);
    table.push(vec![
        format!("memory of a keeper with a terminal ({TERMINALS} idle)"),
        each,
        String::new(),
        String::new(),
    ]);
    let file = state.join("lines");
    let line = "00001234 INFO module::path processing request id=1234 took 567us and that was all\n";
    fs::write(&file, line.repeat(FLOOD / line.len()))?;
    let command = format!("cat {}", file.display());
    let pty = timed(|| chiton(&["run", "--json", "--max-output", "100", "--pty", &command]))?.0;
    let pipe = timed(|| chiton(&["run", "--json", "--max-output", "100", &command]))?.0;
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = |time: Duration| format!("{:.0} MB/s", FLOOD as f64 / 1e6 / time.as_secs_f64());
    table.push(vec!["`cat` of 100 MB in a terminal".to_owned(), rate(pty), rate(pipe) + " by a pipe", String::new()]);
    Ok(())
}

/// What a process occupies, what it shares with others counted in part.
fn proportional(pid: u64) -> Result<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).context("no Pss")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? << 10)
}

struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Server {
    fn start(program: &Path, state: &Path) -> Result<Self> {
        let mut command = Command::new(program);
        command.arg("--state-dir").arg(state).arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let input = child.stdin.take().context("no input")?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        let mut server = Self { child, input, output, next: 0 };
        let client = json!({"name": "bench", "version": "1"});
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        server.send("initialize", &hello)?;
        server.read()?;
        writeln!(server.input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(server)
    }

    fn send(&mut self, method: &str, params: &Value) -> Result<()> {
        self.next += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        writeln!(self.input, "{request}")?;
        Ok(())
    }

    fn read(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let answer: Value = serde_json::from_str(&line)?;
        ensure!(answer.get("result").is_some(), "{line}");
        Ok(answer)
    }

    fn call(&mut self, command: &str) -> Result<Value> {
        self.send("tools/call", &json!({"name": "Bash", "arguments": {"command": command}}))?;
        self.read()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn bare_bash() -> Result<()> {
    let mut command = Command::new("bash");
    let output = command.args(["--norc", "--noprofile", "-c", "true"]).stdin(Stdio::null()).output()?;
    ensure!(output.status.success(), "bash does not run");
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(Duration, T)> {
    let begun = Instant::now();
    let result = work()?;
    Ok((begun.elapsed(), result))
}

fn resident(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let number: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(number << 10)
}

fn row(table: &mut Vec<Vec<String>>, what: &str, ours: &mut [Duration], bash: &mut [Duration]) {
    let (middle, late) = (percentile(ours, 50), percentile(ours, 99));
    let (bash_middle, bash_late) = (percentile(bash, 50), percentile(bash, 99));
    let millis = |time: Duration| format!("{:.2}", time.as_secs_f64() * 1000.0);
    table.push(vec![
        what.to_owned(),
        format!("{} / {} ms", millis(middle), millis(late)),
        format!("{} / {} ms", millis(bash_middle), millis(bash_late)),
        format!("{:.2}", middle.as_secs_f64() / bash_middle.as_secs_f64()),
    ]);
}

fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() - 1) * percent / 100]
}

fn mebibytes(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a few megabytes, shown with one digit")]
    let mebibytes = bytes as f64 / f64::from(1 << 20);
    format!("{mebibytes:.1} MiB")
}

fn print(table: &[Vec<String>]) {
    println!("\n| what | p50 / p99 | `bash -c true` beside it | ratio of p50 |\n|---|---|---|---|");
    for row in table {
        println!("| {} |", row.join(" | "));
    }
}
