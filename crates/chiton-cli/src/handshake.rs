//! Starts a server as a client does, and asks it what it offers.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

/// More than a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(20);

/// How far the talk goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Talk {
    /// A greeting. The server does nothing beyond answering it.
    Greeting,
    /// The tools as well. The server gets ready for commands then, and a shell that nobody used may end after it.
    Tools,
}

/// What a server said of itself.
pub(crate) struct Introduction {
    /// The revision of the protocol that it answered with.
    pub(crate) revision: String,
    /// Its tools, where it was asked for them.
    pub(crate) tools: Vec<String>,
}

/// Starts a server, talks to it, and ends it.
pub(crate) fn introduce(mut command: Command, client: &str, talk: Talk) -> Result<Introduction> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("it cannot be started")?;
    let answer = ask(&mut child, client, talk);
    // The end of its input is what ends it.
    drop(child.stdin.take());
    if !ends_by_itself(&mut child) {
        let _ = child.kill();
        let _ = child.wait();
        answer?;
        bail!("it does not end when its client goes away");
    }
    answer
}

fn ask(child: &mut Child, client: &str, talk: Talk) -> Result<Introduction> {
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        bail!("it has no input or output");
    };
    let (sender, lines) = mpsc::channel();
    // Not joined: it ends with the server, which is ended in any case.
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            if sender.send(line).is_err() {
                return;
            }
        }
    });

    let hello = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": client, "version": env!("CARGO_PKG_VERSION")},
        },
    });
    let answer = call(child, &mut input, &lines, &hello)?;
    ensure!(answer["serverInfo"]["name"] == "chiton", "its answer is not the expected one: {answer}");
    let revision = answer["protocolVersion"].as_str().unwrap_or("unknown").to_owned();
    if talk == Talk::Greeting {
        return Ok(Introduction { revision, tools: Vec::new() });
    }

    let _ = writeln!(input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let listed = call(child, &mut input, &lines, &json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}))?;
    let names = listed["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
    Ok(Introduction { revision, tools: names.map(str::to_owned).collect() })
}

/// Sends a request and gives the result with its id; what comes between is not for us.
fn call(
    child: &mut Child,
    input: &mut ChildStdin,
    lines: &Receiver<std::io::Result<String>>,
    request: &Value,
) -> Result<Value> {
    // What it says instead of an answer is read below.
    let _ = writeln!(input, "{request}");
    loop {
        let line = match lines.recv_timeout(PATIENCE) {
            Ok(line) => line?,
            Err(mpsc::RecvTimeoutError::Timeout) => bail!("no answer in {} s", PATIENCE.as_secs()),
            Err(mpsc::RecvTimeoutError::Disconnected) => bail!("it ended at once: {}", last_words(child)),
        };
        let mut answer: Value = serde_json::from_str(&line).context("its answer is not JSON")?;
        if answer["id"] == request["id"] {
            ensure!(answer.get("error").is_none(), "its answer is an error: {}", answer["error"]["message"]);
            return Ok(answer["result"].take());
        }
    }
}

fn last_words(child: &mut Child) -> String {
    let mut words = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        let _ = std::io::Read::read_to_string(&mut stderr, &mut words);
    }
    if words.trim().is_empty() { "it printed nothing".to_owned() } else { words.trim().to_owned() }
}

fn ends_by_itself(child: &mut Child) -> bool {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        match child.try_wait() {
            Ok(Some(_)) => return true,
            Ok(None) => std::thread::sleep(Duration::from_millis(2)),
            Err(_) => return false,
        }
    }
    false
}
