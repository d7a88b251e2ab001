//! A client that speaks HTTP by plain sockets, so that a test sees exactly what goes over the wire.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};

use chiton_testkit::wire::{LIMIT, modern_meta};
use serde_json::{Value, json};

use super::{Place, text};

/// The head of a request.
pub type Headers = Vec<(String, String)>;

pub struct Server {
    pub child: Child,
    /// `127.0.0.1:PORT`, or `localhost` for a socket.
    pub host: String,
    socket: Option<String>,
    pub token: String,
}

impl Server {
    pub fn start(place: &Place, address: &str, arguments: &[&str]) -> Self {
        let mut command = place.command();
        command.args(["mcp", "--http", address]).args(arguments).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let line = said.find(|line| line.contains("serving at ")).expect("it serves");
        let found = line.split_once("serving at ").unwrap().1;
        let (at, file) = found.trim().split_once("; the token is in ").unwrap();
        let token = std::fs::read_to_string(file).unwrap();
        let socket = at.strip_prefix("unix:").map(str::to_owned);
        let host = at.strip_prefix("http://").map_or("localhost", |rest| rest.trim_end_matches("/mcp")).to_owned();
        Self { child, host, socket, token }
    }

    pub fn send(&self, request: &[u8]) -> String {
        let mut answer = Vec::new();
        match &self.socket {
            Some(path) => exchange(UnixStream::connect(path).unwrap(), request, &mut answer),
            None => exchange(TcpStream::connect(&self.host).unwrap(), request, &mut answer),
        }
        text(&answer)
    }

    /// A request with everything in order, but for what `change` does to its headers.
    pub fn request(&self, body: &Value, change: impl FnOnce(&mut Headers)) -> String {
        text(&self.raw_request(body.to_string().as_bytes(), change))
    }

    /// The same with any bytes as its body.
    pub fn raw_request(&self, body: &[u8], change: impl FnOnce(&mut Headers)) -> Vec<u8> {
        let mut headers = vec![
            ("Host".to_owned(), self.host.clone()),
            ("Authorization".to_owned(), format!("Bearer {}", self.token)),
            ("Content-Type".to_owned(), "application/json".to_owned()),
            ("Accept".to_owned(), "application/json, text/event-stream".to_owned()),
            ("Connection".to_owned(), "close".to_owned()),
        ];
        change(&mut headers);
        let head = headers.iter().fold(String::new(), |head, (name, value)| head + name + ": " + value + "\r\n");
        let head = format!("POST /mcp HTTP/1.1\r\n{head}Content-Length: {}\r\n\r\n", body.len());
        [head.as_bytes(), body].concat()
    }

    /// A call of the newest revision, which needs no session.
    pub fn call_modern(&self, arguments: &Value) -> Value {
        let body = modern_call(arguments);
        let answer = self.send(self.request(&body, modern_headers).as_bytes());
        events(&answer).into_iter().find(|message| message["id"] == 1).unwrap_or_else(|| panic!("{answer}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn exchange(mut stream: impl Read + Write, request: &[u8], answer: &mut Vec<u8>) {
    // It may hang up before it has heard everything: that is an answer, too.
    let _ = stream.write_all(request);
    let _ = stream.flush();
    if let Err(error) = stream.read_to_end(answer) {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
    }
}

pub fn modern_call(arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "Bash", "arguments": arguments, "_meta": modern_meta(&json!({}))}})
}

pub fn modern_headers(headers: &mut Headers) {
    for (name, value) in [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "Bash")] {
        headers.push((name.to_owned(), value.to_owned()));
    }
}

pub fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
}

/// The messages of an answer, whether it is one or a stream of them.
pub fn events(answer: &str) -> Vec<Value> {
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let lines = body.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    let is_message = |value: &Value| value.is_object() || value.is_array();
    lines.filter_map(|line| serde_json::from_str(line).ok()).filter(is_message).collect()
}

/// A session of an older revision.
pub struct Session<'a> {
    server: &'a Server,
    pub id: String,
    revision: String,
    /// What the server said of itself.
    pub hello: Value,
}

impl<'a> Session<'a> {
    /// One of the revision that most clients speak.
    pub fn open(server: &'a Server) -> Self {
        Self::of(server, "2025-06-18", &json!({}))
    }

    /// One of any of them, with these capabilities of the client.
    pub fn of(server: &'a Server, revision: &str, capabilities: &Value) -> Self {
        let client = json!({"name": "http", "version": "1"});
        let params = json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": client});
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let answer = server.send(server.request(&hello, |_| {}).as_bytes());
        let id =
            answer.lines().find_map(|line| line.to_lowercase().strip_prefix("mcp-session-id: ").map(str::to_owned));
        let id = id.unwrap_or_else(|| panic!("no session: {answer}"));
        let hello = events(&answer).remove(0);
        let session = Self { server, id, revision: revision.to_owned(), hello };
        let told = session.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(status(&told), 202, "{told}");
        session
    }

    pub fn post(&self, body: &Value) -> String {
        self.post_raw(body.to_string().as_bytes())
    }

    pub fn post_raw(&self, body: &[u8]) -> String {
        let with = |headers: &mut Headers| {
            headers.push(("Mcp-Session-Id".to_owned(), self.id.clone()));
            headers.push(("MCP-Protocol-Version".to_owned(), self.revision.clone()));
        };
        self.server.send(&self.server.raw_request(body, with))
    }

    /// The messages that the server sends by itself, as they come.
    pub fn listen(&self) -> impl Iterator<Item = Value> {
        let mut stream = TcpStream::connect(&self.server.host).unwrap();
        let head = format!(
            "GET /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nAccept: text/event-stream\r\nMcp-Session-Id: \
             {}\r\nMCP-Protocol-Version: {}\r\n\r\n",
            self.server.host, self.server.token, self.id, self.revision
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        lines.filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
    }

    /// Sends a request; gives the answer to it.
    pub fn ask(&self, method: &str, params: &Value) -> Value {
        let answer = self.post(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}));
        let found = events(&answer).into_iter().find(|message| message["id"] == 7);
        found.unwrap_or_else(|| panic!("{answer}"))
    }

    pub fn call(&self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))["result"].clone()
    }
}
