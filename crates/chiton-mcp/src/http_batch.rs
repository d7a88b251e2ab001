//! Arrays of messages over HTTP.
//!
//! 1. Each message of the array is given to the library as a request of its own.
//! 2. What comes meanwhile goes to the client as it comes: progress, questions.
//! 3. The answers are kept, and sent as one array once all of them are there.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chiton_engine::Lock;
use http::request::Parts;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Collected, Full};
use hyper::body::Bytes;
use rmcp::model::{ClientNotification, ClientRequest, ErrorCode, JsonRpcMessage, ProtocolVersion, RequestId};
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use serde_json::Value;
use tokio::sync::{broadcast, mpsc};
use tokio::task::JoinSet;
use tokio::time::interval;

use crate::batch::{self, Batch, Element};
use crate::http_answer::{HttpAnswer, empty, event, events, json, object};
use crate::message::{Message, Objection};
use crate::revision::Revision;
use crate::server::Server;

type Service = StreamableHttpService<Server, LocalSessionManager>;

const SESSION: &str = "mcp-session-id";
/// How often a sign of life is sent.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// This many sessions are known before anybody checks which of them are over.
const LEAST: usize = 64;
/// Events that may wait for a client that does not read.
const MOST_WAITING: usize = 64;

/// The sessions whose revision has arrays of messages, each with those who want to know what is withdrawn.
pub(crate) struct BatchSessions {
    manager: Arc<LocalSessionManager>,
    open: Lock<HashMap<String, broadcast::Sender<RequestId>>>,
}

impl BatchSessions {
    pub(crate) fn new(manager: Arc<LocalSessionManager>) -> Self {
        Self { manager, open: Lock::default() }
    }

    /// Remembers a session that was just opened.
    pub(crate) async fn note(&self, message: &Message, answer: &HttpAnswer) {
        let JsonRpcMessage::Request(request) = message else { return };
        let ClientRequest::InitializeRequest(hello) = &request.request else { return };
        // A revision that nobody knows is answered with the newest one.
        let wanted = &hello.params.protocol_version;
        let is_known = ProtocolVersion::KNOWN_VERSIONS.contains(wanted);
        if !is_known || !Revision::new(wanted.as_str()).has_batches() {
            return;
        }
        if let Some(id) = session(answer.headers()) {
            self.drop_closed().await;
            self.open.lock().insert(id, broadcast::Sender::new(MOST_WAITING));
        }
    }

    async fn drop_closed(&self) {
        let ids: Vec<String> = self.open.lock().keys().cloned().collect();
        if ids.len() < LEAST {
            return;
        }
        for id in ids {
            if !self.manager.has_session(&id.as_str().into()).await.unwrap_or(false) {
                self.open.lock().remove(&id);
            }
        }
    }

    /// The client ends this session.
    pub(crate) fn forget(&self, head: &Parts) {
        if let Some(id) = session(&head.headers) {
            self.open.lock().remove(&id);
        }
    }

    /// Tells the arrays of a session that a request is withdrawn, if that is what this message says.
    pub(crate) fn withdraw(&self, head: &Parts, message: &Message) {
        let JsonRpcMessage::Notification(told) = message else { return };
        let ClientNotification::CancelledNotification(withdrawn) = &told.notification else { return };
        if let (Some(session), Some(id)) = (session(&head.headers), &withdrawn.params.request_id)
            && let Some(batches) = self.open.lock().get(&session)
        {
            let _ = batches.send(id.clone());
        }
    }

    fn withdrawn(&self, session: &str) -> Option<broadcast::Receiver<RequestId>> {
        self.open.lock().get(session).map(broadcast::Sender::subscribe)
    }
}

fn session(headers: &HeaderMap) -> Option<String> {
    headers.get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned)
}

/// Answers an array.
pub(crate) async fn answer(
    service: &Service,
    sessions: &BatchSessions,
    head: &Parts,
    elements: &[Value],
) -> HttpAnswer {
    let session = session(&head.headers);
    if let Some(id) = &session
        && !sessions.manager.has_session(&id.as_str().into()).await.unwrap_or(false)
    {
        return empty(StatusCode::NOT_FOUND);
    }
    let withdrawn = session.and_then(|session| sessions.withdrawn(&session));
    if let Some(objection) = batch::refusal(elements, withdrawn.is_some()) {
        return object(&objection);
    }

    let (elements, mut batch) = Batch::open(elements);
    let (sender, messages) = mpsc::channel(MOST_WAITING);
    let mut streams = JoinSet::new();
    for element in elements {
        let id = request_id(&element);
        let request = Request::from_parts(head.clone(), Full::new(Bytes::from(element.text)));
        let answer = service.handle(request).await;
        match id {
            None => {}
            Some(_) if answer.status().is_success() => drop(streams.spawn(follow(answer, sender.clone()))),
            Some(id) => batch.answer(&id, not_accepted(&id, answer).await),
        }
    }
    drop(sender);
    if streams.is_empty() {
        let answer = batch.into_answer();
        return answer.map_or_else(|| empty(StatusCode::ACCEPTED), |answer| json(StatusCode::OK, &answer));
    }

    let (events_sender, receiver) = mpsc::channel(MOST_WAITING);
    tokio::spawn(gather(batch, streams, messages, withdrawn, events_sender));
    events(receiver)
}

fn request_id(element: &Element) -> Option<RequestId> {
    match &element.message {
        JsonRpcMessage::Request(request) => Some(request.id.clone()),
        _ => None,
    }
}

/// The answer to a request that the library did not accept.
async fn not_accepted(id: &RequestId, answer: HttpAnswer) -> Value {
    let body = answer.into_body().collect().await.map(Collected::to_bytes).unwrap_or_default();
    if let Ok(answer) = serde_json::from_slice::<Value>(&body)
        && answer.get("error").is_some()
    {
        return answer;
    }
    let id = serde_json::to_value(id).unwrap_or_default();
    let problem = String::from_utf8_lossy(&body).into_owned();
    Objection::new(id, ErrorCode::INVALID_REQUEST, problem).to_json()
}

/// Reads the events of one answer.
async fn follow(answer: HttpAnswer, messages: mpsc::Sender<Value>) {
    let (mut body, mut line) = (answer.into_body(), Vec::new());
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        for byte in data {
            if byte != b'\n' {
                line.push(byte);
                continue;
            }
            // The library writes the data of an event on one line.
            let message = line.strip_prefix(b"data:").and_then(|data| serde_json::from_slice(data).ok());
            line.clear();
            if let Some(message) = message
                && messages.send(message).await.is_err()
            {
                return;
            }
        }
    }
}

/// Passes on what comes, and at the end all answers.
async fn gather(
    mut batch: Batch,
    // Held until the end: whoever is read goes on.
    _streams: JoinSet<()>,
    mut messages: mpsc::Receiver<Value>,
    withdrawn: Option<broadcast::Receiver<RequestId>>,
    client: mpsc::Sender<Bytes>,
) {
    let Some(mut withdrawn) = withdrawn else { return };
    let mut heartbeat = interval(HEARTBEAT);
    while !batch.is_complete() {
        let passed_on = tokio::select! {
            message = messages.recv() => match message {
                None => break,
                Some(message) => match answered(&message).filter(|id| batch.waits_for(id)) {
                    Some(id) => {
                        batch.answer(&id, message);
                        continue;
                    }
                    None => event(&message),
                },
            },
            Ok(id) = withdrawn.recv() => {
                batch.withdraw(&id);
                continue;
            }
            _ = heartbeat.tick() => Bytes::from_static(b":\n\n"),
        };
        if client.send(passed_on).await.is_err() {
            return;
        }
    }
    if let Some(answers) = batch.into_answer() {
        let _ = client.send(event(&answers)).await;
    }
}

/// The request that a message answers.
fn answered(message: &Value) -> Option<RequestId> {
    let is_answer = message.get("result").is_some() || message.get("error").is_some();
    is_answer.then(|| serde_json::from_value(message.get("id")?.clone()).ok())?
}
