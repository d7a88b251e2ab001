//! A client here, and its server on another machine: messages pass through, but calls are judged here first.
//!
//! 1. A call of a tool is put to the operator here ([`Operator::send_elsewhere`]). What may not run is answered here; a person is asked
//!    through the client, as for commands of this machine.
//! 2. What may run goes over with what was decided here, and with the values of the secrets it names.
//! 3. Everything else, such as lists, resources and progress, goes through as it is.
//! 4. A server over there that was replaced is greeted again, and gets again what it has not answered.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Waker};

use chiton_engine::consent::{Approver, Asking, Question};
use chiton_engine::{Elsewhere, Lock, RunControl, RunId};
use chiton_operator::{Called, Caller, NEAR, Operator};
use rmcp::model::{CallToolRequestParams, CallToolResponse, ElicitResult, ServerResult};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};

use crate::approval;
use crate::client::as_result;
use crate::revision::Revision;
use crate::streams;
use crate::structured;

/// The server on the other machine.
pub trait FarServer: Send + Sync {
    /// Sends it a message.
    fn send<'a>(&'a self, line: Vec<u8>) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;
    /// No more messages will come.
    fn end(&self);
    /// What there is to say about the connection since this was last asked.
    fn note(&self) -> Option<String>;
    /// Where it is, in words, and what it knows of itself.
    fn place(&self) -> Elsewhere;
}

/// What comes from there.
#[derive(Debug)]
pub enum FromFar {
    /// A message.
    Line(Vec<u8>),
    /// Another server has taken its place: it knows nothing yet.
    Another,
    /// It has ended, or cannot be reached any more, for this reason.
    Gone(Option<String>),
}

/// A call that is not answered yet.
struct Pending {
    /// The message, for a server that takes the place of another.
    line: Vec<u8>,
    /// The id of its run, where it starts one.
    run: Option<RunId>,
    /// Whether it can be sent again and happen once.
    repeatable: bool,
}

/// What the client said of itself.
#[derive(Default)]
struct Greeting {
    /// What it said, to be said again.
    lines: Vec<Vec<u8>>,
    /// The id of its first request, whose answer it has.
    id: Option<String>,
    name: String,
    revision: Option<Revision>,
    shows_forms: bool,
}

struct Proxy {
    operator: Operator,
    far: Arc<dyn FarServer>,
    client: mpsc::UnboundedSender<Vec<u8>>,
    pending: Lock<HashMap<String, Pending>>,
    /// Questions to the client that are ours.
    asked: Lock<HashMap<String, oneshot::Sender<Value>>>,
    next_question: AtomicU64,
    greeting: Lock<Greeting>,
    /// Calls that are judged just now, by their ids.
    judged: Lock<HashMap<String, RunControl>>,
    /// Answers that the client has already.
    swallowed: Lock<HashSet<String>>,
}

/// Serves a client on standard input and output with the tools of another machine, until one of them goes away.
///
/// # Errors
/// In words, when the other machine cannot be reached any more.
pub async fn serve_elsewhere(
    operator: Operator,
    far: Arc<dyn FarServer>,
    mut from_far: mpsc::Receiver<FromFar>,
) -> Result<(), String> {
    let (reader, mut writer) = streams::standard();
    let (client, mut outgoing) = mpsc::unbounded_channel::<Vec<u8>>();
    let proxy = Arc::new(Proxy {
        operator,
        far,
        client,
        pending: Lock::default(),
        asked: Lock::default(),
        next_question: AtomicU64::new(1),
        greeting: Lock::default(),
        judged: Lock::default(),
        swallowed: Lock::default(),
    });
    let writing = tokio::spawn(async move {
        while let Some(mut line) = outgoing.recv().await {
            line.push(b'\n');
            if writer.write_all(&line).await.is_err() || writer.flush().await.is_err() {
                return;
            }
        }
    });
    let reading = tokio::spawn(read_client(Arc::clone(&proxy), reader));

    let gone = loop {
        match from_far.recv().await {
            Some(FromFar::Line(line)) => proxy.answer(line),
            Some(FromFar::Another) => proxy.greet_again().await,
            Some(FromFar::Gone(why)) => break why,
            None => break None,
        }
    };
    reading.abort();
    if let Some(why) = &gone {
        proxy.give_up(why);
    }
    drop(proxy);
    let _ = writing.await;
    gone.map_or(Ok(()), Err)
}

async fn read_client(proxy: Arc<Proxy>, reader: impl tokio::io::AsyncRead + Unpin) {
    let mut lines = BufReader::with_capacity(64 << 10, reader);
    let mut line = Vec::new();
    while let Ok(1..) = lines.read_until(b'\n', &mut line).await {
        while line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            line.pop();
        }
        if !line.is_empty() {
            proxy.take(std::mem::take(&mut line)).await;
        }
        line.clear();
    }
    proxy.far.end();
}

impl Proxy {
    /// A message of the client.
    async fn take(self: &Arc<Self>, line: Vec<u8>) {
        let Ok(mut message) = serde_json::from_slice::<Value>(&line) else { return self.pass(line).await };
        if let Value::Array(messages) = message {
            // What of it may not run is answered by itself; the rest goes on together.
            let mut rest = Vec::new();
            for mut one in messages {
                if one["method"] != "tools/call" || self.judge(&mut one).await {
                    rest.push(one);
                }
            }
            if !rest.is_empty() {
                self.pass(Value::Array(rest).to_string().into_bytes()).await;
            }
            return;
        }
        match message["method"].as_str() {
            Some("tools/call") => {
                let proxy = Arc::clone(self);
                let judging = async move {
                    if proxy.judge(&mut message).await {
                        proxy.pass(message.to_string().into_bytes()).await;
                    }
                };
                at_once_or_beside(judging);
            }
            Some("initialize") => {
                self.greeting.lock().learn(&message, line.clone());
                self.pass(line).await;
            }
            Some("notifications/initialized") => {
                self.greeting.lock().lines.push(line.clone());
                self.pass(line).await;
            }
            Some("notifications/cancelled") => {
                if let Some(control) = self.judged.lock().get(&key(&message["params"]["requestId"])) {
                    control.cancel();
                }
                self.pass(line).await;
            }
            None if self.is_our_answer(&message) => {}
            _ => self.pass(line).await,
        }
    }

    async fn pass(&self, line: Vec<u8>) {
        self.far.send(line).await;
    }

    /// Whether a message answers a question of ours.
    fn is_our_answer(&self, message: &Value) -> bool {
        let asked = message["id"].as_str().and_then(|id| self.asked.lock().remove(id));
        asked.is_some_and(|asked| {
            let _ = asked.send(message.clone());
            true
        })
    }

    /// Judges a call. What may go over has what was decided in it then; what may not is answered.
    async fn judge(self: &Arc<Self>, message: &mut Value) -> bool {
        let id = message["id"].clone();
        let Ok(request) = serde_json::from_value::<CallToolRequestParams>(message["params"].clone()) else {
            // The server over there says what is wrong with it.
            return true;
        };
        let meta = &message["params"]["_meta"];
        let (modern, shows_forms, name) = self.greeting.lock().of_request(meta);
        if !self.operator.has_client_name() && !name.is_empty() {
            self.operator.set_client_name(&name);
        }
        // An answer to a question that was asked here is for us alone.
        let ours = request.request_state.as_deref().is_some_and(|state| self.operator.is_open_question(state));
        let control = RunControl::new();
        self.judged.lock().insert(key(&id), control.clone());
        let approver = (shows_forms && !modern).then(|| Arc::new(ThroughClient(Arc::clone(self))) as Arc<dyn Approver>);
        let caller = Caller {
            control,
            approver,
            asks_later: shows_forms && modern,
            consent: approval::brought(&request),
            ..Caller::silent()
        };
        let arguments = request.arguments.unwrap_or_default();
        let decided = self.operator.send_elsewhere(&request.name, &arguments, &caller, &self.far.place()).await;
        self.judged.lock().remove(&key(&id));
        match decided {
            Ok(near) => {
                let run = near.run_id.clone();
                let repeatable = self.operator.is_repeatable(&request.name, &arguments);
                if let Some(params) = message["params"].as_object_mut().filter(|_| ours) {
                    params.retain(|name, _| name != "requestState" && name != "inputResponses");
                }
                message["params"]["_meta"][NEAR] = serde_json::to_value(near).unwrap_or_default();
                let line = message.to_string().into_bytes();
                self.pending.lock().insert(key(&id), Pending { line, run, repeatable });
                true
            }
            Err(called) => {
                self.reply(&id, *called, modern).await;
                false
            }
        }
    }

    /// Answers a call that does not go over.
    async fn reply(&self, id: &Value, called: Called, modern: bool) {
        let later = called.question.as_ref().filter(|_| modern).and_then(|question| approval::ask_later(question));
        let response = if let Some(asking) = later {
            CallToolResponse::InputRequired(asking)
        } else {
            let (revision, name) = {
                let greeting = self.greeting.lock();
                (greeting.revision.clone(), greeting.name.clone())
            };
            let wanted = revision.is_none_or(|revision| revision.has_structured())
                && structured::is_wanted_by(&self.operator, &name);
            CallToolResponse::Complete(as_result(self.operator.deliver(&called).await, wanted))
        };
        let result = serde_json::to_value(ServerResult::from(response)).unwrap_or_default();
        self.tell(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    /// A message of the server.
    fn answer(&self, line: Vec<u8>) {
        let Ok(mut message) = serde_json::from_slice::<Value>(&line) else { return self.tell_line(line) };
        if message.get("method").is_some() {
            return self.tell_line(line);
        }
        let id = key(&message["id"]);
        if self.swallowed.lock().remove(&id) {
            return;
        }
        let Some(pending) = self.pending.lock().remove(&id) else { return self.tell_line(line) };
        if let Some(run) = &pending.run {
            let facts = &message["result"]["structuredContent"];
            self.operator.answered_elsewhere(&self.far.place().target, run, facts);
        }
        match self.far.note() {
            Some(note) if add_note(&mut message, &note) => self.tell(&message),
            _ => self.tell_line(line),
        }
    }

    fn tell(&self, message: &Value) {
        self.tell_line(message.to_string().into_bytes());
    }

    fn tell_line(&self, line: Vec<u8>) {
        // Where the client is gone nobody wants it.
        let _ = self.client.send(line);
    }

    /// Another server has taken the place of the one that knew this client.
    async fn greet_again(&self) {
        let (lines, id) = {
            let greeting = self.greeting.lock();
            (greeting.lines.clone(), greeting.id.clone())
        };
        let unanswered = id.as_ref().is_some_and(|id| self.pending.lock().contains_key(id));
        if let Some(id) = id.filter(|_| !unanswered) {
            self.swallowed.lock().insert(id);
        }
        for line in lines {
            self.pass(line).await;
        }
        let (again, lost): (Vec<_>, Vec<_>) = {
            let mut pending = self.pending.lock();
            let lost: Vec<String> =
                pending.iter().filter(|(_, call)| !call.repeatable).map(|(id, _)| id.clone()).collect();
            let lost = lost.into_iter().filter_map(|id| Some((id.clone(), pending.remove(&id)?))).collect();
            (pending.values().map(|call| call.line.clone()).collect(), lost)
        };
        for line in again {
            self.pass(line).await;
        }
        for (id, call) in lost {
            let why = "the host on the other side ended meanwhile; whether this was done is not known";
            self.fail(&id, &call, why);
        }
    }

    /// Answers everything that nobody will answer any more.
    fn give_up(&self, why: &str) {
        for (id, call) in std::mem::take(&mut *self.pending.lock()) {
            self.fail(&id, &call, why);
        }
    }

    fn fail(&self, id: &str, call: &Pending, why: &str) {
        let Ok(id) = serde_json::from_str::<Value>(id) else { return };
        let target = self.far.place().target;
        let rest = call.run.as_ref().map_or_else(String::new, |run| {
            format!(". The command may still run there: `chiton logs --on {target} {run}` shows its output")
        });
        let content = json!([{"type": "text", "text": format!("{why}{rest}")}]);
        self.tell(&json!({"jsonrpc": "2.0", "id": id, "result": {"content": content, "isError": true}}));
    }
}

impl Greeting {
    fn learn(&mut self, message: &Value, line: Vec<u8>) {
        let params = &message["params"];
        self.lines = vec![line];
        self.id = Some(key(&message["id"]));
        params["clientInfo"]["name"].as_str().unwrap_or_default().clone_into(&mut self.name);
        self.revision = params["protocolVersion"].as_str().map(Revision::new);
        self.shows_forms = shows_forms(&params["capabilities"]);
    }

    /// Whether a request is of the newest revision, whether its client shows forms to a person, and what it is called. The
    /// newest revision says all that in each request.
    fn of_request(&self, meta: &Value) -> (bool, bool, String) {
        let of_meta = |name: &str| &meta[format!("io.modelcontextprotocol/{name}")];
        match of_meta("protocolVersion").as_str().map(Revision::new) {
            Some(revision) if revision.is_modern() => {
                let name = of_meta("clientInfo")["name"].as_str().unwrap_or_default().to_owned();
                (true, shows_forms(of_meta("clientCapabilities")), name)
            }
            _ => (false, self.shows_forms, self.name.clone()),
        }
    }
}

/// Whether a client with these capabilities shows forms to a person. One that says nothing more of its elicitation does.
fn shows_forms(capabilities: &Value) -> bool {
    let Some(kinds) = capabilities.get("elicitation") else { return false };
    kinds.get("form").is_some() || kinds.get("url").is_none()
}

/// The id of a message as a text that no other id has.
fn key(id: &Value) -> String {
    id.to_string()
}

/// Adds a line to the answer of a call.
fn add_note(message: &mut Value, note: &str) -> bool {
    let Some(content) = message["result"]["content"].as_array_mut() else { return false };
    let last = content.iter_mut().rev().find(|block| block["type"] == "text");
    let Some(text) = last.and_then(|block| block.get_mut("text")) else { return false };
    let before = text.as_str().unwrap_or_default().trim_end();
    *text = Value::String(format!("{before}\n\n[{note}]"));
    true
}

/// Does what can be done at once in its turn; what has to wait, for a person as a rule, holds nobody up.
fn at_once_or_beside(work: impl Future<Output = ()> + Send + 'static) {
    let mut work: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(work);
    let mut context = Context::from_waker(Waker::noop());
    if work.as_mut().poll(&mut context).is_pending() {
        tokio::spawn(work);
    }
}

/// Asks a person through the client.
struct ThroughClient(Arc<Proxy>);

impl std::fmt::Debug for ThroughClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ThroughClient")
    }
}

impl Approver for ThroughClient {
    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a> {
        Box::pin(async move {
            let form = approval::form(question).ok_or("the question cannot be put into a form")?;
            let id = format!("chiton-near-{}", self.0.next_question.fetch_add(1, Ordering::Relaxed));
            let (sender, answer) = oneshot::channel();
            self.0.asked.lock().insert(id.clone(), sender);
            let params = serde_json::to_value(form).unwrap_or(Value::Object(Map::new()));
            self.0.tell(&json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params}));
            let answer = answer.await.map_err(|_| "the client is gone".to_owned())?;
            if let Some(error) = answer.get("error") {
                return Err(error["message"].as_str().unwrap_or("the client could not ask").to_owned());
            }
            let result: ElicitResult = serde_json::from_value(answer["result"].clone())
                .map_err(|_| "the client gave no answer to it".to_owned())?;
            Ok(approval::read(&result))
        })
    }
}
