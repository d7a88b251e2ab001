//! A client that speaks to the server in lines of JSON-RPC, so that a test sees exactly what goes over the wire.

use std::collections::VecDeque;
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::processes::eventually;

/// How long anything may take before a test says that it does not come.
pub const LIMIT: Duration = Duration::from_secs(30);

/// A server and the only client it has. It is killed when this goes away.
#[derive(Debug)]
pub struct Wire {
    /// The process.
    pub server: Child,
    /// Messages that came while the client waited for another one, oldest first.
    pub other: VecDeque<Value>,
    /// Every line that the server has sent and the client has read.
    pub transcript: Transcript,
    /// What the client calls itself.
    pub name: String,
    /// How long the client waits for a message, and for the end of the server.
    pub patience: Duration,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next: u64,
    /// What every request carries: how the newest revision says who asks.
    meta: Option<Value>,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Transcript {
    /// Nobody asks for it, and it may be long.
    #[default]
    Forgotten,
    /// All of it, line by line.
    Kept(String),
}

/// Why a message did not come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The server lives and sends nothing.
    Silence(Duration),
    /// The server has closed its standard output.
    End,
    /// This came, which is not JSON.
    Nonsense(String),
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silence(waited) => write!(formatter, "the server has sent nothing for {waited:?}"),
            Self::End => write!(formatter, "the server is gone"),
            Self::Nonsense(line) => write!(formatter, "the server has sent what is not JSON: {line}"),
        }
    }
}

impl Wire {
    /// Starts a server and sends it nothing.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(command: Command) -> Self {
        let (mut wire, output) = Self::start_unread(command);
        wire.read(output);
        wire
    }

    /// The same, and nobody reads what the server sends until [`Self::read`] is called.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start_unread(mut command: Command) -> (Self, ChildStdout) {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        let input = server.stdin.take();
        let output = server.stdout.take().expect("it was asked for");
        // Nothing comes until somebody reads.
        let (_, lines) = channel();
        let wire = Self {
            server,
            other: VecDeque::new(),
            transcript: Transcript::default(),
            name: "wire".to_owned(),
            patience: LIMIT,
            input,
            lines,
            next: 0,
            meta: None,
        };
        (wire, output)
    }

    /// A server and an open session of the revision that most clients speak.
    pub fn session(command: Command) -> Self {
        let mut wire = Self::start(command);
        wire.greet("2025-06-18", &json!({}));
        wire
    }

    /// From now on the server's output is read.
    pub fn read(&mut self, output: ChildStdout) {
        let (sender, lines) = channel();
        self.lines = lines;
        std::thread::spawn(move || {
            let whole = BufReader::new(output).lines().map_while(Result::ok);
            // Nobody wants the rest when the client is gone.
            let _ = whole.map(|line| sender.send(line)).find(Result::is_err);
        });
    }

    /// Opens a session of an older revision with these capabilities of the client; gives what the server replied.
    pub fn greet(&mut self, revision: &str, capabilities: &Value) -> Value {
        let client = json!({"name": self.name, "version": "1"});
        let hello = json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": client});
        let answer = self.ask("initialize", hello);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    /// From now on every request says who asks, as the newest revision wants it.
    pub fn modern(&mut self, capabilities: &Value) {
        let mut meta = modern_meta(capabilities);
        meta["io.modelcontextprotocol/clientInfo"]["name"] = json!(self.name);
        self.meta = Some(meta);
    }

    /// Sends any bytes.
    ///
    /// # Panics
    /// When the server does not take them.
    pub fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open until the client closes it");
        input.write_all(bytes).expect("the server reads");
    }

    /// Sends one message to a server that may be gone.
    pub fn try_send(&mut self, message: &Value) -> std::io::Result<()> {
        let input = self.input.as_mut().expect("the input is open until the client closes it");
        input.write_all(format!("{message}\n").as_bytes())
    }

    /// Sends one message.
    pub fn send(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    /// Sends a request; gives its id.
    pub fn request(&mut self, method: &str, mut params: Value) -> u64 {
        self.next += 1;
        if let Some(meta) = &self.meta {
            let mut meta = meta.clone();
            for (name, value) in params["_meta"].as_object().into_iter().flatten() {
                meta[name] = value.clone();
            }
            params["_meta"] = meta;
        }
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.next
    }

    /// The next message, whatever it is.
    ///
    /// # Panics
    /// When none comes.
    pub fn message(&mut self) -> Value {
        self.other.pop_front().unwrap_or_else(|| self.fresh().unwrap_or_else(|missing| panic!("{missing}")))
    }

    /// The answer to a request; other messages are kept in `other`.
    pub fn try_answer(&mut self, id: u64) -> Result<Value, Missing> {
        self.first(|message| message["id"] == id)
    }

    /// The same, where an answer has to come.
    ///
    /// # Panics
    /// When none comes.
    pub fn answer(&mut self, id: u64) -> Value {
        self.try_answer(id).unwrap_or_else(|missing| panic!("no answer to request {id}: {missing}"))
    }

    /// Sends a request and gives the answer to it.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// Calls a tool; gives the result.
    ///
    /// # Panics
    /// When the answer is an error of the protocol.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        answer.get("result").cloned().unwrap_or_else(|| panic!("{answer}"))
    }

    /// The parameters of the next notification of this method.
    ///
    /// # Panics
    /// When none comes.
    pub fn notification(&mut self, method: &str) -> Value {
        let found = self.first(|message| message["method"] == method);
        found.unwrap_or_else(|missing| panic!("no {method}: {missing}"))["params"].clone()
    }

    /// Closes the server's input; gives how the server ended, if it did.
    ///
    /// # Panics
    /// When the process cannot be asked.
    pub fn try_close(&mut self) -> Option<ExitStatus> {
        self.input = None;
        let mut status = None;
        eventually(self.patience, || {
            status = self.server.try_wait().expect("it is our child");
            status.is_some()
        });
        status
    }

    /// The same, where it has to end.
    ///
    /// # Panics
    /// When it does not.
    pub fn close(&mut self) -> ExitStatus {
        let status = self.try_close();
        status.unwrap_or_else(|| panic!("the server did not end with its input in {:?}", self.patience))
    }

    /// Ends the server without a word.
    ///
    /// # Panics
    /// When the system does not allow it.
    pub fn kill(&mut self) {
        self.server.kill().expect("it is our child");
        self.server.wait().expect("it is our child");
    }

    /// Whether the server has sent its last message, all of which are in `other` then.
    ///
    /// # Panics
    /// When something comes that is not JSON.
    pub fn is_over(&mut self) -> bool {
        loop {
            match self.fresh() {
                Ok(message) => self.other.push_back(message),
                Err(Missing::End) => return true,
                Err(Missing::Silence(_)) => return false,
                Err(nonsense @ Missing::Nonsense(_)) => panic!("{nonsense}"),
            }
        }
    }

    /// The first message that is wanted, of those that came before or are to come.
    fn first(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<Value, Missing> {
        if let Some(place) = self.other.iter().position(&wanted) {
            return Ok(self.other.remove(place).expect("it was just found"));
        }
        loop {
            let message = self.fresh()?;
            if wanted(&message) {
                return Ok(message);
            }
            self.other.push_back(message);
        }
    }

    fn fresh(&mut self) -> Result<Value, Missing> {
        let line = self.lines.recv_timeout(self.patience).map_err(|error| match error {
            RecvTimeoutError::Timeout => Missing::Silence(self.patience),
            RecvTimeoutError::Disconnected => Missing::End,
        })?;
        if let Transcript::Kept(text) = &mut self.transcript {
            text.push_str(&line);
            text.push('\n');
        }
        serde_json::from_str(&line).map_err(|_| Missing::Nonsense(line))
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// What a request of the newest revision says about its client.
pub fn modern_meta(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}
