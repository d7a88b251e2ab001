//! The adapter to the MCP library: the one module that knows it.
#![expect(
    deprecated,
    reason = "the newest revision drops log messages and resources/subscribe, the older ones have them"
)]

mod approval;
mod client;
mod gate;
mod http;
mod log;
mod progress;
mod resources;
mod stdio;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use chiton_dialects::tool::Effect;
use chiton_dialects::{Reply, ToolSpec};
use chiton_engine::consent::{Approver, Question};
use chiton_engine::tasks::Cursor;
use chiton_engine::{RunControl, RunEvent};
use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ContentBlock, CustomRequest,
    CustomResult, ErrorCode, GetTaskParams, GetTaskResult, Implementation, InitializeRequestParams, InitializeResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ResourceUpdatedNotification, ResourceUpdatedNotificationParam,
    ServerCapabilities, ServerConfig, ServerNotification, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, ServiceExt, SubscriptionContext};
use serde_json::{Map, json};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::operator::{Caller, Operator};
use approval::Way;
use client::Client;
use log::Log;
use progress::Progress;

pub use http::{Address, HttpError, HttpOptions, serve_http};

/// A call that takes longer than this becomes a task, where the client knows tasks.
const PATIENCE: Duration = Duration::from_secs(2);

/// Serves one client on standard input and output until it goes away.
///
/// # Errors
/// In words, when the client does not speak MCP.
pub async fn serve_stdio(operator: Operator) -> Result<(), String> {
    let (reader, writer) = rmcp::transport::stdio_pipes();
    let gone = watch::Sender::new(false);
    let transport = stdio::Lines::new(reader, writer, gone.clone());
    let server = Server::new(Arc::new(Client::new(operator)), None, gone.clone());
    let running = match server.serve(transport).await {
        Ok(running) => running,
        // A client that only looked and left is none that went wrong.
        Err(_) if *gone.borrow() => return Ok(()),
        Err(error) => return Err(error.to_string()),
    };
    running.waiting().await.map(|_| ()).map_err(|error| error.to_string())
}

/// Makes a client's own operator.
type Maker = Arc<dyn Fn() -> Result<Operator, String> + Send + Sync>;

struct Server {
    /// Where calls go that belong to no session.
    shared: Arc<Client>,
    /// The client of this session, where sessions have their own.
    own: OnceLock<Arc<Client>>,
    maker: Option<Maker>,
    /// Whether the client has closed its end.
    gone: watch::Sender<bool>,
    log: Log,
    /// Resources that are watched for a client of an older revision.
    watched: Mutex<HashMap<String, AbortHandle>>,
}

impl Server {
    fn new(shared: Arc<Client>, maker: Option<Maker>, gone: watch::Sender<bool>) -> Self {
        Self { shared, own: OnceLock::new(), maker, gone, log: Log::new(), watched: Mutex::default() }
    }

    fn client(&self) -> &Arc<Client> {
        self.own.get().unwrap_or(&self.shared)
    }

    fn operator(&self) -> &Operator {
        &self.client().operator
    }

    /// Waits for the answer of a call; where it takes long and the client knows tasks, makes one of it.
    async fn answer(&self, call: &mut Running, context: &RequestContext<RoleServer>) -> CallToolResponse {
        let knows_tasks = context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks());
        let mut gone = self.gone.subscribe();
        let patience = tokio::time::sleep(PATIENCE);
        tokio::pin!(patience);
        let (mut stopping, mut patient) = (false, knows_tasks);
        loop {
            tokio::select! {
                () = call.ended() => break,
                () = context.ct.cancelled(), if !stopping => stopping = true,
                // The library would wait for us before it tells us that the client is gone.
                () = closed(&mut gone), if !stopping => stopping = true,
                () = &mut patience, if patient && !stopping => {
                    patient = false;
                    if let Some(id) = call.id.get() {
                        return CallToolResponse::Task(self.client().keep(id, call.reply.clone(), call.control.clone()));
                    }
                }
            }
            if stopping {
                call.control.cancel();
            }
        }
        let reply = call.reply.borrow().clone();
        CallToolResponse::Complete(as_result(reply.unwrap_or_else(|| Reply::bad("the call broke off", Map::default()))))
    }
}

/// A call that is being carried out, by a task of its own.
struct Running {
    reply: watch::Receiver<Option<Reply>>,
    /// What a person would have to agree to first.
    question: Arc<OnceLock<Box<Question>>>,
    control: RunControl,
    /// The id of its run, once it has one.
    id: Arc<OnceLock<String>>,
}

impl Running {
    fn start(
        client: &Arc<Client>,
        request: CallToolRequestParams,
        progress: Progress,
        follows: bool,
        approver: Option<Arc<dyn Approver>>,
    ) -> Self {
        let (control, id, question) = (RunControl::new(), Arc::new(OnceLock::new()), Arc::new(OnceLock::new()));
        let (sender, reply) = watch::channel(None);
        let running = Self { reply, question: Arc::clone(&question), control: control.clone(), id: Arc::clone(&id) };
        let client = Arc::clone(client);
        tokio::spawn(async move {
            let heard = Arc::new(move |event: &RunEvent<'_>| match event {
                RunEvent::Started { run_id, .. } => drop(id.set((*run_id).to_owned())),
                RunEvent::Output { bytes, .. } => progress.add(bytes),
                RunEvent::Passed { .. } => {}
            });
            let consent = approval::brought(&request);
            let caller = Caller { heard, follows, control, approver, consent };
            let called = client.operator.call(&request.name, &request.arguments.unwrap_or_default(), &caller).await;
            if let Some(asked) = called.question {
                let _ = question.set(asked);
            }
            sender.send_replace(Some(called.reply));
        });
        running
    }

    async fn ended(&mut self) {
        // Not the guard of the value itself: it must not live across a wait.
        let _ = self.reply.wait_for(Option::is_some).await.map(|_| ());
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_logging()
            .enable_tasks()
            .build();
        let mut config = ServerConfig::new(capabilities);
        config.server_info = Implementation::new("chiton", env!("CARGO_PKG_VERSION"));
        config.instructions =
            Some(format!("Working directory: {}", self.operator().surroundings().directory.display()));
        config
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        if let Some(maker) = &self.maker {
            let operator = maker().map_err(|problem| ErrorData::internal_error(problem, None))?;
            let _ = self.own.set(Arc::new(Client::new(operator)));
        }
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    /// The client will call soon: what its first command needs is started meanwhile.
    async fn on_initialized(&self, _: NotificationContext<RoleServer>) {
        self.client().operator.warm();
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.operator().dialect().tools(self.operator().surroundings());
        Ok(ListToolsResult::with_all_items(tools.iter().filter_map(as_tool).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tools = self.operator().dialect().tools(self.operator().surroundings());
        tools.iter().find(|tool| tool.name == name).and_then(as_tool)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (progress, tool) = (Progress::default(), request.name.clone());
        self.log.tell(&context, LoggingLevel::Debug, || json!({"event": "call", "tool": tool})).await;
        let telling = context.meta.get_progress_token().map(|token| progress.tell(context.peer.clone(), token));
        let begun = std::time::Instant::now();
        let way = approval::way(&context);
        let approver = if let Way::Now(approver) = &way { Some(Arc::clone(approver)) } else { None };
        let mut call = Running::start(self.client(), request, progress, telling.is_some(), approver);
        let mut response = self.answer(&mut call, &context).await;
        if let (Way::Later, Some(question)) = (&way, call.question.get())
            && let Some(asking) = approval::ask_later(question)
        {
            response = CallToolResponse::InputRequired(asking);
        }
        if let Some(telling) = telling {
            telling.end().await;
        }
        let failed = matches!(&response, CallToolResponse::Complete(result) if result.is_error == Some(true));
        let level = if failed { LoggingLevel::Warning } else { LoggingLevel::Info };
        let millis = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let told = || json!({"event": "answer", "tool": tool, "run": call.id.get(), "is_error": failed, "ms": millis});
        self.log.tell(&context, level, told).await;
        Ok(response)
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.client().task(&request.task_id)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // Nothing is ever asked of the client in the middle of a task, so there is nothing to take.
        self.client().task(&request.task_id).map(|_| ())
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.client().cancel(&request.task_id).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.operator().settled().await;
        resources::list(self.operator(), request.and_then(|page| page.cursor).as_deref())
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.operator().settled().await;
        resources::read(self.operator(), &request.uri).map(Into::into)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.operator().settled().await;
        let task = resources::find(self.operator(), &request.uri)?;
        let (tasks, uri) = (self.operator().tasks(), request.uri.clone());
        let watching = tokio::spawn(async move {
            let mut seen = Cursor::default();
            loop {
                let more = resources::changed(&tasks, &task.id, &mut seen).await;
                let told =
                    context.peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri.clone())).await;
                if !more || told.is_err() {
                    return;
                }
            }
        });
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|_, handle| !handle.is_finished());
        if let Some(before) = watched.insert(request.uri, watching.abort_handle()) {
            before.abort();
        }
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = watched.remove(&request.uri) {
            handle.abort();
        }
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut filter = SubscriptionFilter::new();
        let known = |uri: &&String| resources::find(self.operator(), uri).is_ok();
        filter.resource_subscriptions =
            requested.resource_subscriptions.as_ref().map(|uris| uris.iter().filter(known).cloned().collect());
        Some(filter)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut watching = tokio::task::JoinSet::new();
        for uri in context.accepted().resource_subscriptions.clone().unwrap_or_default() {
            let task = resources::find(self.operator(), &uri)?;
            let (tasks, sink) = (self.operator().tasks(), context.sink().clone());
            watching.spawn(async move {
                let mut seen = Cursor::default();
                loop {
                    let more = resources::changed(&tasks, &task.id, &mut seen).await;
                    let params = ResourceUpdatedNotificationParam::new(uri.clone());
                    let update = ResourceUpdatedNotification::new(params);
                    let told = sink.send(ServerNotification::ResourceUpdatedNotification(update)).await;
                    if !more || told.is_err() {
                        return;
                    }
                }
            });
        }
        context.cancelled().await;
        Ok(())
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.log.set(request.level);
        Ok(())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // A method that exists ends up here when its parameters could not be read.
        let known = METHODS.contains(&request.method.as_str());
        let (code, problem) = if known {
            (ErrorCode::INVALID_PARAMS, format!("the parameters of {} are not what it takes", request.method))
        } else {
            (ErrorCode::METHOD_NOT_FOUND, format!("there is no method '{}'", request.method))
        };
        Err(ErrorData::new(code, problem, None))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let watched = self.watched.get_mut().unwrap_or_else(PoisonError::into_inner);
        watched.values().for_each(AbortHandle::abort);
    }
}

/// Methods with parameters that can be wrong.
const METHODS: [&str; 12] = [
    "initialize",
    "tools/call",
    "tools/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "logging/setLevel",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
];

async fn closed(gone: &mut watch::Receiver<bool>) {
    let _ = gone.wait_for(|gone| *gone).await.map(|_| ());
}

fn as_tool(spec: &ToolSpec) -> Option<Tool> {
    serde_json::from_value(json!({
        "name": spec.name,
        "description": spec.description,
        "inputSchema": spec.input_schema(),
        "outputSchema": spec.output_schema,
        "annotations": {
            "readOnlyHint": spec.effect == Effect::Looks,
            "destructiveHint": spec.effect != Effect::Looks,
            "idempotentHint": spec.effect == Effect::Stops,
            "openWorldHint": spec.effect == Effect::Runs,
        },
    }))
    .ok()
}

fn as_result(reply: Reply) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(reply.text)]);
    result.structured_content = Some(reply.structured.into());
    result.is_error = Some(reply.is_error);
    result
}
