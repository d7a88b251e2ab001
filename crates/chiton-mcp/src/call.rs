//! A tool call that is being carried out.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chiton_dialects::Reply;
use chiton_engine::{FromNear, RunControl, RunEvent};
use chiton_operator::Caller;
use jiff::Timestamp;
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Map;
use tokio::sync::watch;

use crate::approval::{self, Way};
use crate::client::{EndedCall, ServedClient, as_result};
use crate::progress::OutputProgress;

/// A call that takes longer than this becomes a task, where the client knows tasks.
const PATIENCE: Duration = Duration::from_secs(2);

/// A call that is being carried out, by a task of its own.
pub(crate) struct RunningCall {
    ended: watch::Receiver<Option<EndedCall>>,
    control: RunControl,
    /// Its run, once it has one.
    run: Arc<OnceLock<StartedRun>>,
    /// Whether its answer has a structured form.
    structured: bool,
}

/// What a client asks for.
pub(crate) struct Asked {
    pub(crate) request: CallToolRequestParams,
    /// What the machine that it calls from has decided.
    pub(crate) near: Option<Box<FromNear>>,
    /// Whether its answer has a structured form.
    pub(crate) structured: bool,
}

struct StartedRun {
    id: String,
    at: Timestamp,
}

impl RunningCall {
    pub(crate) fn start(client: &Arc<ServedClient>, asked: Asked, progress: OutputProgress, way: &Way) -> Self {
        let Asked { request, near, structured } = asked;
        let (control, run) = (RunControl::new(), Arc::new(OnceLock::new()));
        let (sender, ended) = watch::channel(None);
        let asks_later = matches!(way, Way::Later);
        let approver = if let Way::Now(approver) = way { Some(Arc::clone(approver)) } else { None };
        let running = Self { ended, control: control.clone(), run: Arc::clone(&run), structured };

        let client = Arc::clone(client);
        tokio::spawn(async move {
            let on_event = Arc::new(move |event: &RunEvent<'_>| match event {
                RunEvent::Started { run_id, .. } => {
                    let _ = run.set(StartedRun { id: (*run_id).to_owned(), at: Timestamp::now() });
                }
                RunEvent::Output { bytes, .. } => progress.add(bytes),
                RunEvent::Passed { stream, amount, folder, from, .. } => {
                    progress.add_spooled(folder, *stream, *from..from + amount.bytes);
                }
            });
            let consent = approval::brought(&request);
            let caller = Caller { on_event, control, approver, asks_later, consent, near };
            let called = client.operator.call(&request.name, &request.arguments.unwrap_or_default(), &caller).await;
            sender.send_replace(Some(EndedCall { called, at: Timestamp::now() }));
        });
        running
    }

    /// The id of its run, once it has one.
    pub(crate) fn id(&self) -> Option<&String> {
        self.run.get().map(|run| &run.id)
    }

    /// Waits for the answer. Where it takes long and the client knows tasks, the call becomes one; where the client is
    /// gone, or withdraws the call, what runs is stopped.
    pub(crate) async fn answer(
        &mut self,
        client: &ServedClient,
        way: &Way,
        context: &RequestContext<RoleServer>,
        mut gone: watch::Receiver<bool>,
    ) -> CallToolResponse {
        let knows_tasks = context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks());
        let patience = tokio::time::sleep(PATIENCE);
        tokio::pin!(patience);
        let (mut stopping, mut patient) = (false, knows_tasks);
        loop {
            tokio::select! {
                () = self.ended() => break,
                () = context.ct.cancelled(), if !stopping => stopping = true,
                // The library would wait for this call before it reports that the client is gone.
                () = closed(&mut gone), if !stopping => stopping = true,
                () = &mut patience, if patient && !stopping => {
                    patient = false;
                    if let Some(run) = self.run.get() {
                        let (ended, control) = (self.ended.clone(), self.control.clone());
                        return CallToolResponse::Task(client.keep(&run.id, run.at, ended, control));
                    }
                }
            }
            if stopping {
                self.control.cancel();
            }
        }
        // Of a call that was withdrawn nobody reads the answer. What it would have told is left for the next.
        let is_read = !stopping && !context.ct.is_cancelled();
        self.response(way, Some(client).filter(|_| is_read)).await
    }

    /// The answer, for a client that reads it.
    async fn response(&self, way: &Way, client: Option<&ServedClient>) -> CallToolResponse {
        let called = self.ended.borrow().as_ref().map(|ended| ended.called.clone());
        let question = called.as_ref().and_then(|called| called.question.as_ref());
        if let (Way::Later, Some(question)) = (way, question)
            && let Some(asking) = approval::ask_later(question)
        {
            return CallToolResponse::InputRequired(asking);
        }
        let reply = match (called, client) {
            (Some(called), Some(client)) => client.operator.deliver(&called).await,
            (Some(called), None) => called.reply,
            (None, _) => Reply::bad("the call broke off", Map::default()),
        };
        CallToolResponse::Complete(as_result(reply, self.structured))
    }

    async fn ended(&mut self) {
        // The guard of the value is dropped at once: it must not live across a wait.
        let _ = self.ended.wait_for(Option::is_some).await.map(|_| ());
    }
}

async fn closed(gone: &mut watch::Receiver<bool>) {
    let _ = gone.wait_for(|gone| *gone).await.map(|_| ());
}
