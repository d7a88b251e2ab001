//! `chiton mcp` and a client of it, on its standard input and output. The tests have a client of their own, which reads in
//! a thread so that it can stop waiting; here that thread would be part of what is measured.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

/// The program that is measured, with a folder for its state.
#[derive(Debug)]
pub(crate) struct Program {
    path: PathBuf,
    folder: PathBuf,
}

impl Program {
    /// The program at `path`; its state is in `folder`.
    pub(crate) fn new(path: &Path, folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)?;
        Ok(Self { path: fs::canonicalize(path)?, folder: fs::canonicalize(folder)? })
    }

    /// Where its state is.
    pub(crate) fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    /// The program with no settings but those given here: nobody's configuration is part of a measurement.
    #[expect(clippy::disallowed_methods, reason = "it is measured as its users start it")]
    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.arg("--state-dir").arg(self.state()).current_dir(&self.folder);
        command.env("XDG_CONFIG_HOME", &self.folder).env("XDG_DATA_HOME", &self.folder);
        command
    }

    /// Runs it with these arguments; it has to end well.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<String> {
        let Output { status, stdout, stderr } = self.command().args(arguments).stdin(Stdio::null()).output()?;
        ensure!(status.success(), "chiton {}: {}", arguments.join(" "), String::from_utf8_lossy(&stderr));
        Ok(String::from_utf8_lossy(&stdout).trim().to_owned())
    }

    /// Starts the server and says hello.
    pub(crate) fn serve(&self) -> Result<Server> {
        let mut child = self.command().arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().context("no input")?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        let mut server = Server { child, input, output, next: 0 };
        let client = json!({"name": "bench", "version": "1"});
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        server.send("initialize", &hello)?;
        server.read()?;
        server.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(server)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.run(&["kill", "--all", "--grace", "0s"]);
    }
}

/// A server that has answered `initialize`.
pub(crate) struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Server {
    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn write(&mut self, message: &Value) -> Result<()> {
        let mut line = message.to_string();
        line.push('\n');
        Ok(self.input.write_all(line.as_bytes())?)
    }

    /// Sends a request.
    pub(crate) fn send(&mut self, method: &str, params: &Value) -> Result<()> {
        self.next += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}))
    }

    /// Reads one answer, which has to be a good one.
    pub(crate) fn read(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        checked(&line)
    }

    /// Calls the tool `Bash` with these arguments.
    pub(crate) fn call(&mut self, arguments: &Value) -> Result<Value> {
        self.send("tools/call", &json!({"name": "Bash", "arguments": arguments}))?;
        self.read()
    }

    /// Seconds from the line of the request to the line of the answer.
    pub(crate) fn time(&mut self, command: &str) -> Result<f64> {
        self.time_call(&json!({"name": "Bash", "arguments": {"command": command}}))
    }

    /// The same, with messages about what the command prints before it.
    pub(crate) fn time_followed(&mut self, command: &str) -> Result<f64> {
        let token = self.next;
        let arguments = json!({"command": command});
        self.time_call(&json!({"name": "Bash", "arguments": arguments, "_meta": {"progressToken": token}}))
    }

    fn time_call(&mut self, params: &Value) -> Result<f64> {
        self.next += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.next, "method": "tools/call", "params": params});
        let (sent, mut answer) = (format!("{request}\n"), String::new());
        let begun = Instant::now();
        self.input.write_all(sent.as_bytes())?;
        while answer.is_empty() || is_progress(&answer) {
            answer.clear();
            ensure!(self.output.read_line(&mut answer)? > 0, "the server has ended");
        }
        let took = begun.elapsed().as_secs_f64();
        checked(&answer)?;
        Ok(took)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a line tells of a command that goes on. Only its beginning is looked at, so that reading it takes no longer.
fn is_progress(line: &str) -> bool {
    let beginning = &line[..line.floor_char_boundary(100)];
    beginning.contains("\"method\":\"notifications/progress\"")
}

fn checked(line: &str) -> Result<Value> {
    let answer: Value = serde_json::from_str(line).with_context(|| format!("no answer: {line}"))?;
    ensure!(answer["result"].is_object() && answer["result"]["isError"] != true, "a bad answer: {line}");
    Ok(answer)
}
