//! A tool call that is being carried out.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chiton_dialects::Reply;
use chiton_engine::consent::Approver;
use chiton_engine::{RunControl, RunEvent};
use chiton_operator::{Called, Caller};
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Map;
use tokio::sync::watch;

use crate::approval::{self, Way};
use crate::client::{ServedClient, as_result};
use crate::progress::OutputProgress;

/// A call that takes longer than this becomes a task, where the client knows tasks.
const PATIENCE: Duration = Duration::from_secs(2);

/// A call that is being carried out, by a task of its own.
pub(crate) struct RunningCall {
    called: watch::Receiver<Option<Called>>,
    control: RunControl,
    /// The id of its run, once it has one.
    id: Arc<OnceLock<String>>,
    /// Whether its answer has a structured form.
    structured: bool,
}

impl RunningCall {
    pub(crate) fn start(
        client: &Arc<ServedClient>,
        request: CallToolRequestParams,
        progress: OutputProgress,
        follows: bool,
        approver: Option<Arc<dyn Approver>>,
        structured: bool,
    ) -> Self {
        let (control, id) = (RunControl::new(), Arc::new(OnceLock::new()));
        let (sender, called) = watch::channel(None);
        let running = Self { called, control: control.clone(), id: Arc::clone(&id), structured };

        let client = Arc::clone(client);
        tokio::spawn(async move {
            let on_event = Arc::new(move |event: &RunEvent<'_>| match event {
                RunEvent::Started { run_id, .. } => drop(id.set((*run_id).to_owned())),
                RunEvent::Output { bytes, .. } => progress.add(bytes),
                RunEvent::Passed { .. } => {}
            });
            let consent = approval::brought(&request);
            let caller = Caller { on_event, follows, control, approver, consent };
            let called = client.operator.call(&request.name, &request.arguments.unwrap_or_default(), &caller).await;
            sender.send_replace(Some(called));
        });
        running
    }

    /// The id of its run, once it has one.
    pub(crate) fn id(&self) -> Option<&String> {
        self.id.get()
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
                    if let Some(id) = self.id.get() {
                        return CallToolResponse::Task(client.keep(id, self.called.clone(), self.control.clone()));
                    }
                }
            }
            if stopping {
                self.control.cancel();
            }
        }
        self.response(way)
    }

    fn response(&self, way: &Way) -> CallToolResponse {
        let called = self.called.borrow();
        if let (Way::Later, Some(question)) = (way, called.as_ref().and_then(|called| called.question.as_ref()))
            && let Some(asking) = approval::ask_later(question)
        {
            return CallToolResponse::InputRequired(asking);
        }
        let reply = called.as_ref().map(|called| called.reply.clone());
        let reply = reply.unwrap_or_else(|| Reply::bad("the call broke off", Map::default()));
        CallToolResponse::Complete(as_result(reply, self.structured))
    }

    async fn ended(&mut self) {
        // The guard of the value is dropped at once: it must not live across a wait.
        let _ = self.called.wait_for(Option::is_some).await.map(|_| ());
    }
}

async fn closed(gone: &mut watch::Receiver<bool>) {
    let _ = gone.wait_for(|gone| *gone).await.map(|_| ());
}
