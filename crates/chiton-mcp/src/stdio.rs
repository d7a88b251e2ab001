//! Messages as lines on standard input and output.
//!
//! The library's own reader ignores a line that is not JSON, drops a long one silently, knows no arrays of messages, and
//! reports the end of input only after a wait. This one answers the first three and reports the fourth at once.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use chiton_operator::Operator;
use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ErrorCode, JsonRpcMessage, RequestId, ServerResult};
use rmcp::service::{RxJsonRpcMessage, ServiceExt, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, Semaphore, watch};

use crate::batch::{self, Batch};
use crate::client::ServedClient;
use crate::message::{self, Found, Message, Objection};
use crate::near::NearCalls;
use crate::push::ChannelOffer;
use crate::revision::Revision;
use crate::roots::{ClientPlace, StartDirectory};
use crate::server::{Clientele, Maker, Server};
use crate::streams;

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
    serve(operator, None, StdioOptions::default()).await
}

/// How a client on standard input and output is served.
#[derive(Clone, Debug, Default)]
pub struct StdioOptions {
    /// Who says where its commands start.
    pub start: StartDirectory,
    /// Whether the server speaks to its model unasked.
    pub channel: ChannelOffer,
    /// Whether calls come from another machine, which says in `_meta["chiton/near"]` what it has decided about them
    /// ([`chiton_engine::FromNear`]). Without it, that is ignored: anybody could write it.
    pub near: NearCalls,
}

/// The same with options. Where the client has a say in where its commands start, `make` makes an operator that starts in
/// a directory of the client's instead.
///
/// # Errors
/// In words, when the client does not speak MCP.
pub async fn serve_stdio_from(
    operator: Operator,
    options: StdioOptions,
    make: impl Fn(Option<&ClientPlace>) -> Result<Operator, String> + Send + Sync + 'static,
) -> Result<(), String> {
    serve(operator, Some(Arc::new(make)), options).await
}

async fn serve(operator: Operator, maker: Option<Maker>, options: StdioOptions) -> Result<(), String> {
    let (reader, writer) = streams::standard();
    let gone = watch::Sender::new(false);
    let transport = Lines::new(reader, writer, gone.clone());
    let client = Arc::new(ServedClient::new(operator));
    let server = Server::new(Clientele::One, client, maker, options.start, gone.clone()).offering(options.channel);
    let server = server.believing(options.near);
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
    /// What was agreed upon, where anything was.
    revision: Option<Revision>,
    /// Messages of an array that the server has not taken yet.
    taken_apart: VecDeque<Message>,
    /// Arrays that are not answered yet.
    batches: Vec<Batch>,
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
            revision: None,
            taken_apart: VecDeque::new(),
            batches: Vec::new(),
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

    /// Writes an answer that does not come from the server.
    fn reply(&self, answer: &Value) {
        let (writer, place) = (Arc::clone(&self.writer), Arc::clone(&self.room).try_acquire_owned());
        let answer = answer.to_string().into_bytes();
        // Nobody waits for it here: the reader may be dropped at any moment, and the answer with it.
        tokio::spawn(async move {
            let _place = place;
            let _ = write(&writer, answer).await;
        });
    }

    async fn next_message(&mut self) -> io::Result<Option<Message>> {
        loop {
            if let Some(message) = self.taken_apart.pop_front() {
                return Ok(Some(message));
            }
            match self.next_line().await? {
                InputLine::End => return Ok(None),
                InputLine::TooLong => {
                    let problem = format!("a message may have {MOST_BYTES} bytes at most; this one was skipped");
                    self.reply(&Objection::new(Value::Null, ErrorCode::INVALID_REQUEST, problem).to_json());
                }
                InputLine::Line => {
                    let found = message::read(&message::text_of(&self.line), None);
                    self.line.clear();
                    self.line.shrink_to(KEPT_BYTES);
                    match found {
                        Ok(Found::Message(message)) => self.taken_apart.push_back(*message),
                        Ok(Found::Batch(elements)) => self.take_apart(&elements),
                        Ok(Found::Nothing) => {}
                        Err(objection) => self.reply(&objection.to_json()),
                    }
                }
            }
        }
    }

    fn take_apart(&mut self, elements: &[Value]) {
        let has_batches = self.revision.as_ref().is_some_and(Revision::has_batches);
        if let Some(objection) = batch::refusal(elements, has_batches) {
            return self.reply(&objection.to_json());
        }
        let (elements, batch) = Batch::open(elements);
        self.taken_apart.extend(elements.into_iter().map(|element| element.message));
        if !batch.is_complete() {
            self.batches.push(batch);
        } else if let Some(answer) = batch.into_answer() {
            self.reply(&answer);
        }
    }

    /// A request that is withdrawn is not answered, so its array does not wait for it.
    fn withdraw(&mut self, message: &Message) {
        let JsonRpcMessage::Notification(told) = message else { return };
        let ClientNotification::CancelledNotification(withdrawn) = &told.notification else { return };
        let Some(id) = &withdrawn.params.request_id else { return };
        if let Some(place) = self.batches.iter().position(|batch| batch.waits_for(id)) {
            self.batches[place].withdraw(id);
            if let Some(answer) = self.completed(place) {
                self.reply(&answer);
            }
        }
    }

    /// The answer to the array at `place`, once all of it is there.
    fn completed(&mut self, place: usize) -> Option<Value> {
        let is_complete = self.batches.get(place).is_some_and(Batch::is_complete);
        is_complete.then(|| self.batches.swap_remove(place)).and_then(Batch::into_answer)
    }

    /// What is to be written for a message of the server: the message, or nothing while its array is not complete.
    fn outgoing(&mut self, message: TxJsonRpcMessage<RoleServer>) -> Outgoing {
        if let JsonRpcMessage::Response(response) = &message
            && let ServerResult::InitializeResult(hello) = &response.result
        {
            self.revision = Some(Revision::new(hello.protocol_version.as_str()));
        }
        let place = answered(&message).and_then(|id| self.batches.iter().position(|batch| batch.waits_for(id)));
        let Some(place) = place else { return Outgoing::Message(Box::new(message)) };
        if let (Some(id), Ok(answer)) = (answered(&message), serde_json::to_value(&message)) {
            self.batches[place].answer(id, answer);
        }
        self.completed(place).map_or(Outgoing::Nothing, Outgoing::Answers)
    }
}

/// What is written.
enum Outgoing {
    Message(Box<TxJsonRpcMessage<RoleServer>>),
    /// All answers to an array.
    Answers(Value),
    Nothing,
}

impl Outgoing {
    fn into_text(self) -> io::Result<Option<Vec<u8>>> {
        Ok(match self {
            Self::Message(message) => Some(serde_json::to_vec(&message)?),
            Self::Answers(answers) => Some(serde_json::to_vec(&answers)?),
            Self::Nothing => None,
        })
    }
}

/// The request that a message answers.
fn answered(message: &TxJsonRpcMessage<RoleServer>) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
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
        let outgoing = self.outgoing(item);
        async move {
            let _place = place;
            match outgoing.into_text()? {
                Some(text) => write(&writer, text).await,
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        // A client that asks and never reads the answers has to wait here.
        let room = Arc::clone(&self.room);
        drop(room.acquire().await);
        let message = self.next_message().await.ok().flatten();
        match &message {
            Some(message) => self.withdraw(message),
            None => {
                self.gone.send_replace(true);
            }
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
