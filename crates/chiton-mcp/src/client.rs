//! What one client has: its operator, and its calls that became tasks.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chiton_dialects::Reply;
use chiton_dialects::action::TaskRef;
use chiton_engine::{Lock, RunControl, TaskStatus};
use chiton_operator::{Called, Operator};
use jiff::Timestamp;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, ContentBlock, CreateTaskResult, DetailedTask, GetTaskResult, JsonObject, Task, TaskPayload,
    TaskStatus as Status,
};
use serde_json::{Value, json};
use tokio::sync::watch;

/// How long an answer is kept for a client that has not asked for it.
const KEPT: Duration = Duration::from_hours(1);
/// How often a client should ask.
const POLL_MS: u64 = 1000;

pub(crate) struct ServedClient {
    pub(crate) operator: Operator,
    /// By the id of their run.
    calls: Lock<HashMap<String, KeptCall>>,
    /// How many calls it waits for.
    awaited: watch::Sender<usize>,
}

/// A call that the client waits for, for as long as this lives.
pub(crate) struct AwaitedCall(Arc<ServedClient>);

impl AwaitedCall {
    pub(crate) fn of(client: &Arc<ServedClient>) -> Self {
        client.awaited.send_modify(|calls| *calls += 1);
        Self(Arc::clone(client))
    }
}

impl Drop for AwaitedCall {
    fn drop(&mut self) {
        self.0.awaited.send_modify(|calls| *calls -= 1);
    }
}

/// A call that goes on although its request was answered.
struct KeptCall {
    ended: watch::Receiver<Option<EndedCall>>,
    control: RunControl,
    cancelled: bool,
    /// Its answer as the client got it.
    delivered: Option<Reply>,
    begun: Instant,
    created: Timestamp,
}

/// What came of a call, and when.
pub(crate) struct EndedCall {
    pub(crate) called: Called,
    pub(crate) at: Timestamp,
}

impl ServedClient {
    pub(crate) fn new(operator: Operator) -> Self {
        Self { operator, calls: Lock::default(), awaited: watch::Sender::new(0) }
    }

    /// Waits until the client waits for no call.
    pub(crate) async fn idle(&self) {
        let mut awaited = self.awaited.subscribe();
        let _ = awaited.wait_for(|calls| *calls == 0).await.map(|_| ());
    }

    /// Makes a task of a call that has run as `id` since `created`; `ended` gets its answer.
    pub(crate) fn keep(
        &self,
        id: &str,
        created: Timestamp,
        ended: watch::Receiver<Option<EndedCall>>,
        control: RunControl,
    ) -> CreateTaskResult {
        let call = KeptCall { ended, control, cancelled: false, delivered: None, begun: Instant::now(), created };
        let mut calls = self.calls.lock();
        calls.retain(|_, call| call.ended.borrow().is_none() || call.begun.elapsed() < KEPT);
        calls.insert(id.to_owned(), call);
        CreateTaskResult::new(task(id, Status::Working, created, created))
    }

    /// The state of a task.
    pub(crate) async fn task(&self, id: &str, structured: bool) -> Result<GetTaskResult, ErrorData> {
        self.deliver(id).await;
        let calls = self.calls.lock();
        if let Some(call) = calls.get(id) {
            let ended = call.ended.borrow();
            let payload = match (&*ended, &call.delivered) {
                (Some(_), _) if call.cancelled => TaskPayload::Cancelled,
                (Some(_), Some(reply)) => {
                    TaskPayload::Completed { result: entries(&as_result(reply.clone(), structured)) }
                }
                // One that has ended only now is given when the client asks again.
                _ => TaskPayload::Working,
            };
            let ended = ended.as_ref().filter(|_| payload.status() != Status::Working);
            let changed = ended.map_or(call.created, |ended| ended.at);
            let task = task(id, payload.status(), call.created, changed);
            return Ok(GetTaskResult::new(DetailedTask::new(task, payload)));
        }
        drop(calls);
        self.stored(id, structured)
    }

    /// Makes the answer of a call that has ended what goes out to the client, once: it stays the same however often the
    /// client asks for it.
    async fn deliver(&self, id: &str) {
        let waiting = |call: &&KeptCall| !call.cancelled && call.delivered.is_none();
        let called = self.calls.lock().get(id).filter(waiting).and_then(|call| {
            let ended = call.ended.borrow();
            ended.as_ref().map(|ended| ended.called.clone())
        });
        let Some(called) = called else { return };
        let reply = self.operator.deliver(&called).await;
        if let Some(call) = self.calls.lock().get_mut(id) {
            call.delivered.get_or_insert(reply);
        }
    }

    /// A task that this server does not know, but the state directory does: one that was started in the background, or
    /// before a restart.
    fn stored(&self, id: &str, structured: bool) -> Result<GetTaskResult, ErrorData> {
        let unknown = |error: String| ErrorData::invalid_params(error, None);
        let (found, reply) = self.operator.look_up(id).map_err(|failure| unknown(failure.message))?;
        let started = Timestamp::try_from(found.started_at).unwrap_or_default();
        let ended = Timestamp::try_from(found.started_at + found.duration).unwrap_or(started);
        let changed = if found.status.is_running() { started } else { ended };
        let payload = match found.status {
            TaskStatus::Pending | TaskStatus::Running => TaskPayload::Working,
            TaskStatus::Killed => TaskPayload::Cancelled,
            TaskStatus::Lost => TaskPayload::Failed {
                error: entries(
                    &json!({"code": -32603, "message": "its keeper was killed, so nobody knows how it ended"}),
                ),
            },
            _ => TaskPayload::Completed { result: entries(&as_result(reply, structured)) },
        };
        Ok(GetTaskResult::new(DetailedTask::new(task(&found.id, payload.status(), started, changed), payload)))
    }

    /// Asks for the end of a task.
    pub(crate) async fn cancel(&self, id: &str) -> Result<(), ErrorData> {
        if let Some(call) = self.calls.lock().get_mut(id) {
            if call.ended.borrow().is_none() {
                call.cancelled = true;
                call.control.cancel();
            }
            return Ok(());
        }
        self.operator
            .kill(&TaskRef::Id(id.to_owned()))
            .await
            .map(|_| ())
            .map_err(|failure| ErrorData::invalid_params(failure.message, None))
    }
}

/// A task that started at `created`; its state is what it is since `changed`.
fn task(id: &str, status: Status, created: Timestamp, changed: Timestamp) -> Task {
    let kept = u64::try_from(KEPT.as_millis()).unwrap_or(u64::MAX);
    Task::new(id, status, created.to_string(), changed.to_string()).with_ttl_ms(kept).with_poll_interval_ms(POLL_MS)
}

fn entries(value: &impl serde::Serialize) -> JsonObject {
    match serde_json::to_value(value) {
        Ok(Value::Object(entries)) => entries,
        _ => JsonObject::new(),
    }
}

/// A reply as the protocol has it, with its structured form where that is wanted.
pub(crate) fn as_result(reply: Reply, structured: bool) -> CallToolResult {
    // A call may have a NUL in it, and some clients end a text there. Output has none left.
    let text = if reply.text.contains('\0') { reply.text.replace('\0', "\u{2400}") } else { reply.text };
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = structured.then(|| reply.structured.into());
    result.is_error = Some(reply.is_error);
    result
}
