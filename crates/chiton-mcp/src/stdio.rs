//! Messages as lines on standard input and output.
//!
//! The library's own reader ignores a line that is not JSON, drops a long one silently, and reports the end of input
//! only after a wait. This one answers the first two and reports the third at once.

use std::io;
use std::sync::Arc;

use chiton_operator::Operator;
use rmcp::RoleServer;
use rmcp::model::{ErrorData, JsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, ServiceExt, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, Semaphore, watch};

use crate::client::ServedClient;
use crate::server::Server;

/// The longest line that is read. Larger than any command that can be run.
const MOST_BYTES: usize = 64 << 20;
/// What the buffer keeps between two lines.
const KEPT_BYTES: usize = 1 << 20;
/// How many messages may wait for a client that does not read. Beyond it nothing more is read from that client.
const MOST_WAITING: usize = 256;

/// Serves one client on standard input and output until it goes away.
///
/// # Errors
/// In words, when the client does not speak MCP.
pub async fn serve_stdio(operator: Operator) -> Result<(), String> {
    let (reader, writer) = rmcp::transport::stdio_pipes();
    let gone = watch::Sender::new(false);
    let transport = Lines::new(reader, writer, gone.clone());
    let server = Server::new(Arc::new(ServedClient::new(operator)), None, gone.clone());
    let running = match server.serve(transport).await {
        Ok(running) => running,
        // A client that only looked and left has done nothing wrong.
        Err(_) if *gone.borrow() => return Ok(()),
        Err(error) => return Err(error.to_string()),
    };
    running.waiting().await.map(|_| ()).map_err(|error| error.to_string())
}

struct Lines<R, W> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// Whether it skips the rest of a line that is too long.
    skipping: bool,
    writer: Arc<Mutex<W>>,
    room: Arc<Semaphore>,
    /// Set once the client has closed its end.
    gone: watch::Sender<bool>,
}

/// What was found on the input.
enum InputLine {
    Line,
    TooLong,
    End,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Lines<R, W> {
    fn new(reader: R, writer: W, gone: watch::Sender<bool>) -> Self {
        let (writer, room) = (Arc::new(Mutex::new(writer)), Arc::new(Semaphore::new(MOST_WAITING)));
        Self {
            reader: BufReader::with_capacity(64 << 10, reader),
            line: Vec::new(),
            skipping: false,
            writer,
            room,
            gone,
        }
    }

    /// The next line into `self.line`. May be dropped at any moment: what was read so far stays.
    async fn next_line(&mut self) -> io::Result<InputLine> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                return Ok(InputLine::End);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            let fits = self.line.len() + taken <= MOST_BYTES;
            let skipped = self.skipping;
            if !skipped && fits {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.reader.consume(taken);
            if skipped {
                self.skipping = end.is_none();
            } else if !fits {
                self.line.clear();
                self.skipping = end.is_none();
                return Ok(InputLine::TooLong);
            } else if end.is_some() {
                return Ok(InputLine::Line);
            }
        }
    }

    /// Answers what cannot be given to the server.
    fn object(&self, id: &Value, error: &ErrorData) {
        let (writer, place) = (Arc::clone(&self.writer), Arc::clone(&self.room).try_acquire_owned());
        let answer = json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string();
        // Nobody waits for it here: the reader may be dropped at any moment, and the answer with it.
        tokio::spawn(async move {
            let _place = place;
            let _ = write(&writer, answer.into_bytes()).await;
        });
    }

    async fn next_message(&mut self) -> io::Result<Option<RxJsonRpcMessage<RoleServer>>> {
        loop {
            match self.next_line().await? {
                InputLine::End => return Ok(None),
                InputLine::TooLong => {
                    let problem = format!("a message may have {MOST_BYTES} bytes at most; this one was skipped");
                    self.object(&Value::Null, &ErrorData::invalid_request(problem, None));
                }
                InputLine::Line => {
                    let read = read(&self.line);
                    self.line.clear();
                    self.line.shrink_to(KEPT_BYTES);
                    match read {
                        Ok(Some(message)) => return Ok(Some(message)),
                        Ok(None) => {}
                        Err((id, error)) => self.object(&id, &error),
                    }
                }
            }
        }
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (writer, room) = (Arc::clone(&self.writer), Arc::clone(&self.room));
        // Taken now and not at the first poll: a message counts as waiting from the moment it exists.
        let place = room.try_acquire_owned();
        async move {
            let _place = place;
            let text = serde_json::to_vec(&item)?;
            drop(item);
            write(&writer, text).await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        // A client that asks and never reads the answers has to wait here.
        let room = Arc::clone(&self.room);
        drop(room.acquire().await);
        let message = self.next_message().await.ok().flatten();
        if message.is_none() {
            self.gone.send_replace(true);
        }
        message
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.lock().await.flush().await
    }
}

async fn write<W: AsyncWrite + Unpin>(writer: &Mutex<W>, mut text: Vec<u8>) -> io::Result<()> {
    text.push(b'\n');
    let mut writer = writer.lock().await;
    writer.write_all(&text).await?;
    writer.flush().await
}

/// One line as a message; `None` if it is to be ignored; what to answer if it cannot be read.
fn read(line: &[u8]) -> Result<Option<RxJsonRpcMessage<RoleServer>>, (Value, ErrorData)> {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    let notification = match serde_json::from_slice(line) {
        // The library takes a request with senseless parameters for a notification, which nobody would answer.
        Ok(message @ JsonRpcMessage::Notification(_)) => Some(message),
        Ok(message) => return Ok(Some(message)),
        Err(_) => None,
    };
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => return Err((Value::Null, ErrorData::parse_error(format!("this is not JSON: {error}"), None))),
    };
    if notification.is_some() && value.get("id").is_none() {
        return Ok(notification);
    }
    let Value::Object(entries) = &value else {
        let problem = if value.is_array() { "batches are not supported: send one message a line" } else { NO_MESSAGE };
        return Err((Value::Null, ErrorData::invalid_request(problem, None)));
    };
    let id = entries.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
    match (id, entries.get("method").and_then(Value::as_str)) {
        // The protocol says to ignore a notification that one does not understand.
        (None, Some(_)) if !entries.contains_key("id") => Ok(None),
        (Some(id), Some(method)) => {
            Err((id, ErrorData::invalid_params(format!("the parameters of {method} are not what it takes"), None)))
        }
        (id, _) => Err((id.unwrap_or_default(), ErrorData::invalid_request(NO_MESSAGE, None))),
    }
}

const NO_MESSAGE: &str = "this is not a JSON-RPC message: it needs \"jsonrpc\": \"2.0\", an id and a method";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_ignored_or_answered() {
        let code = |line: &str| match read(line.as_bytes()) {
            Ok(Some(_)) => "message".to_owned(),
            Ok(None) => "ignored".to_owned(),
            Err((id, error)) => format!("{id} {}", error.code.0),
        };
        for (line, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "message"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#, "message"),
            (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, "message"),
            ("", "ignored"),
            ("\r\n", "ignored"),
            ("{", "null -32700"),
            ("\u{0}", "null -32700"),
            ("[]", "null -32600"),
            ("17", "null -32600"),
            ("{}", "null -32600"),
            (r#"{"id":7}"#, "7 -32600"),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, "null -32600"),
            (r#"{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":"loud"}"#, "7 -32602"),
            (r#"{"jsonrpc":"2.0","method":"notifications/nobody/knows","params":5}"#, "ignored"),
        ] {
            assert_eq!(code(line), expected, "{line}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(code(&deep), "null -32700");
    }
}
