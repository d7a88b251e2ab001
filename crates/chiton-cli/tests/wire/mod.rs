//! A client that speaks to the server in lines, so that a test sees exactly what goes over the wire.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::place::Place;

/// How long anything may take before a test says that it does not come.
pub const LIMIT: Duration = Duration::from_secs(30);

pub struct Wire {
    pub server: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Messages that came while something else was waited for.
    pub other: VecDeque<Value>,
    next: u64,
    /// What every request carries: how the newest revision says who asks.
    meta: Option<Value>,
}

impl Wire {
    /// Starts the server without a word.
    pub fn start(place: &Place, arguments: &[&str]) -> Self {
        let (mut wire, output) = Self::start_unread(place, arguments);
        wire.lines = read_lines(output);
        wire
    }

    /// The same with a command of one's own, an environment in it for instance.
    pub fn start_with(command: Command, arguments: &[&str]) -> Self {
        let (mut wire, output) = Self::start_unread_with(command, arguments);
        wire.lines = read_lines(output);
        wire
    }

    /// The same, with the output left unread.
    pub fn start_unread(place: &Place, arguments: &[&str]) -> (Self, ChildStdout) {
        Self::start_unread_with(place.command(), arguments)
    }

    fn start_unread_with(mut command: Command, arguments: &[&str]) -> (Self, ChildStdout) {
        command.arg("mcp").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = command.spawn().unwrap();
        let (input, output) = (server.stdin.take(), server.stdout.take().unwrap());
        let (_, lines) = channel();
        (Self { server, input, lines, other: VecDeque::new(), next: 0, meta: None }, output)
    }

    /// A session of an older revision; `capabilities` of the client.
    pub fn greet(&mut self, revision: &str, capabilities: &Value) -> Value {
        let client = json!({"name": "wire", "version": "1"});
        let hello = json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": client});
        let answer = self.ask("initialize", hello);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    /// From now on every request says who asks, as the newest revision wants it.
    pub fn modern(&mut self, capabilities: &Value) {
        self.meta = Some(modern_meta(capabilities));
    }

    pub fn session(place: &Place, arguments: &[&str]) -> Self {
        let mut wire = Self::start(place, arguments);
        wire.greet("2025-06-18", &json!({}));
        wire
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub fn send(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    /// Sends a request; gives its id.
    pub fn request(&mut self, method: &str, mut params: Value) -> u64 {
        self.next += 1;
        if let Some(meta) = &self.meta {
            let given = params.get("_meta").and_then(Value::as_object).cloned().unwrap_or_default();
            params["_meta"] = meta.clone();
            params["_meta"].as_object_mut().unwrap().extend(given);
        }
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.next
    }

    /// The next message, whatever it is.
    pub fn message(&mut self) -> Value {
        self.other.pop_front().unwrap_or_else(|| self.fresh())
    }

    fn fresh(&mut self) -> Value {
        let line = self.lines.recv_timeout(LIMIT).expect("a message");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// The answer to a request; other messages are kept.
    pub fn answer(&mut self, id: u64) -> Value {
        if let Some(place) = self.other.iter().position(|message| message["id"] == id) {
            return self.other.remove(place).unwrap();
        }
        loop {
            let message = self.fresh();
            if message["id"] == id {
                return message;
            }
            self.other.push_back(message);
        }
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        answer.get("result").cloned().unwrap_or_else(|| panic!("{answer}"))
    }

    /// The next notification of this method.
    pub fn notification(&mut self, method: &str) -> Value {
        if let Some(place) = self.other.iter().position(|message| message["method"] == method) {
            return self.other.remove(place).unwrap()["params"].clone();
        }
        loop {
            let message = self.fresh();
            if message["method"] == method {
                return message["params"].clone();
            }
            self.other.push_back(message);
        }
    }

    /// Says nothing more; gives how the server ended.
    pub fn close(&mut self) -> ExitStatus {
        self.input = None;
        self.server.wait().unwrap()
    }

    /// Whether the server has said its last word, all of which is in `other` then.
    pub fn is_over(&mut self) -> bool {
        loop {
            match self.lines.recv_timeout(LIMIT) {
                Ok(line) => self.other.push_back(serde_json::from_str(&line).unwrap()),
                Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) => return false,
            }
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

pub fn modern_meta(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

pub fn read_lines(output: ChildStdout) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            if line.is_err() || sender.send(line.unwrap()).is_err() {
                return;
            }
        }
    });
    lines
}
