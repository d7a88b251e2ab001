//! A command in a pod, over the fifth version of the protocol for it: each message begins with the number of a stream.

use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::http::Request;
use super::websocket::{self, BINARY, CLOSE, PING, PONG};
use super::{Cluster, locked};

/// The protocol, as both sides call it. Earlier ones cannot say that the input has ended.
const PROTOCOL: &str = "v5.channel.k8s.io";

/// The streams, by their numbers.
const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ENDING: u8 = 3;
/// The end of the stream whose number follows.
const END: u8 = 255;

/// What a client has asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecRequest {
    /// The namespace of the pod.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The container; empty where the client left it to the server.
    pub container: String,
    /// The program and its arguments.
    pub command: Vec<String>,
}

/// A command that can be started.
pub(super) struct Prepared {
    command: Command,
    /// What the client has to be told first.
    welcome: String,
}

/// Reads what was asked; gives a command, or the code and the reason why there is none.
pub(super) fn prepare(
    cluster: &Cluster,
    request: &Request,
    namespace: &str,
    name: &str,
) -> Result<Prepared, (u16, String)> {
    let pod = cluster.find(namespace, name).ok_or_else(|| (404, format!("pods \"{name}\" not found")))?;
    if pod.options.phase != "Running" {
        let phase = &pod.options.phase;
        return Err((400, format!("cannot exec into a container in a pod that is {phase}; current phase is {phase}")));
    }
    if request.parameter("tty") == Some("true") {
        return Err((400, "this server gives no terminals".to_owned()));
    }

    let container = request.parameter("container").unwrap_or_default();
    let machine = pod.container(container).map_err(|reason| (400, reason))?;
    let words = request.query.iter().filter(|(key, _)| key == "command").map(|(_, word)| word.clone());
    let words: Vec<String> = words.collect();
    let [program, arguments @ ..] = words.as_slice() else {
        return Err((400, "you must specify at least one command for the container".to_owned()));
    };
    // The last of all doubts: a client that is refused tries again in an older way, and shows what it hears then.
    let key = request.header("sec-websocket-key").filter(|_| speaks(request));
    let key = key.ok_or_else(|| (400, format!("this server runs commands over WebSocket with {PROTOCOL} alone")))?;

    let asked = ExecRequest {
        namespace: namespace.to_owned(),
        pod: name.to_owned(),
        container: container.to_owned(),
        command: words.clone(),
    };
    locked(&cluster.requests).push(asked);

    let mut command = locked(machine).command(program);
    let stdin = if request.parameter("stdin") == Some("true") { Stdio::piped() } else { Stdio::null() };
    command.args(arguments).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let accepted = websocket::accepted(key);
    let welcome = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accepted}\r\nSec-WebSocket-Protocol: {PROTOCOL}\r\n\r\n"
    );
    Ok(Prepared { command, welcome })
}

fn speaks(request: &Request) -> bool {
    let upgrade = request.header("upgrade").unwrap_or_default();
    let offered = request.header("sec-websocket-protocol").unwrap_or_default();
    upgrade.eq_ignore_ascii_case("websocket") && offered.split(',').any(|name| name.trim() == PROTOCOL)
}

/// Runs it until it has ended and the connection as well, in any order.
pub(super) fn run(prepared: Prepared, reader: BufReader<TcpStream>, mut writer: TcpStream) {
    let Prepared { mut command, welcome } = prepared;
    if writer.write_all(welcome.as_bytes()).is_err() {
        return;
    }
    let writer = Arc::new(Mutex::new(writer));
    match command.spawn() {
        Ok(child) => serve(child, reader, &writer),
        Err(error) => tell(&writer, &json!({"status": "Failure", "message": error.to_string()})),
    }
}

fn serve(mut child: Child, reader: BufReader<TcpStream>, writer: &Arc<Mutex<TcpStream>>) {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        scope.spawn(move || feed(reader, stdin, writer));
        let out = scope.spawn(move || stdout.map(|stream| forward(stream, STDOUT, writer)));
        let err = scope.spawn(move || stderr.map(|stream| forward(stream, STDERR, writer)));
        let _ = (out.join(), err.join());
        if let Ok(status) = child.wait() {
            tell(writer, &ending(status));
        }
    });
}

/// Gives the command what the client sends, until one of them has had enough.
fn feed(mut reader: BufReader<TcpStream>, mut stdin: Option<ChildStdin>, writer: &Mutex<TcpStream>) {
    let mut unfinished = None;
    while let Ok(message) = websocket::read_message(&mut reader, &mut unfinished) {
        match (message.kind, message.payload.as_slice()) {
            (CLOSE, _) => return,
            (PING, body) => drop(websocket::write_message(&mut *locked(writer), PONG, body)),
            // A command that has closed its input does not mind what else comes.
            (_, [STDIN, bytes @ ..]) => stdin = stdin.filter(|mut stdin| stdin.write_all(bytes).is_ok()),
            (_, [END, STDIN]) => stdin = None,
            _ => {}
        }
    }
}

/// Gives the client what the command prints. When the client is gone it goes nowhere, and the command goes on.
fn forward(mut stream: impl Read, number: u8, writer: &Mutex<TcpStream>) {
    let mut buffer = vec![number; 32 * 1024 + 1];
    while let Ok(count @ 1..) = stream.read(&mut buffer[1..]) {
        let _ = websocket::write_message(&mut *locked(writer), BINARY, &buffer[..=count]);
    }
}

/// Says how it ended, and that this was all.
fn tell(writer: &Mutex<TcpStream>, ending: &Value) {
    let mut writer = locked(writer);
    let message = [&[ENDING], ending.to_string().as_bytes()].concat();
    let _ = websocket::write_message(&mut *writer, BINARY, &message);
    let _ = websocket::write_message(&mut *writer, CLOSE, &1000_u16.to_be_bytes());
    let _ = writer.shutdown(Shutdown::Write);
}

/// An ending in the words of the API.
fn ending(status: ExitStatus) -> Value {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(255);
    if code == 0 {
        return json!({"metadata": {}, "status": "Success"});
    }
    json!({
        "metadata": {}, "status": "Failure", "reason": "NonZeroExitCode",
        "message": format!("command terminated with non-zero exit code: {code}"),
        "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]},
    })
}
