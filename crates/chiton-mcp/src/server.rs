//! The methods of the protocol.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use chiton_dialects::ToolSpec;
use chiton_dialects::tool::ToolEffect;
use chiton_engine::tasks::Cursor;
use chiton_engine::{FromNear, Lock, machine};
use chiton_operator::Operator;
use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, ClientCapabilities, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, DiscoverResult, ErrorCode, GetTaskParams, GetTaskResult,
    InitializeRequestParams, InitializeResult, InputRequiredResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListRootsResult, ListToolsResult, LoggingLevel, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ResourceUpdatedNotification, ResourceUpdatedNotificationParam,
    ServerCapabilities, ServerConfig, ServerNotification, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, RoleServer, SubscriptionContext};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use crate::approval;
use crate::call::{Asked, RunningCall};
use crate::client::{AwaitedCall, ServedClient};
use crate::identity;
use crate::log::Log;
use crate::near::NearCalls;
use crate::progress::OutputProgress;
use crate::push::{self, Channel, ChannelOffer, Push};
use crate::resources;
use crate::revision::Revision;
use crate::roots::{self, ClientPlace, RootsWait, StartDirectory};
use crate::structured;

/// How long the answer to a question for roots is of use.
const ROOTS: Duration = Duration::from_secs(30);

/// How long after its client is ready a server has started everything that the first command needs.
const STARTED: Duration = Duration::from_millis(100);

/// After so many calls the server looks again whether it holds on to memory that it does not need.
const MANY_CALLS: usize = 512;

/// A server that nobody has called for so long may be at rest for longer.
const QUIET: Duration = Duration::from_millis(500);

/// Makes an operator: one that starts in this directory, or where the server was started.
pub(crate) type Maker = Arc<dyn Fn(Option<&ClientPlace>) -> Result<Operator, String> + Send + Sync>;

/// Whom a server is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clientele {
    /// One client, for as long as it lives.
    One,
    /// Each session is a client of its own; calls without a session share one.
    Sessions,
}

pub(crate) struct Server {
    clientele: Clientele,
    /// The client of calls that belong to no session.
    shared: Arc<ServedClient>,
    /// The client of this session, where it is another.
    own: Lock<OwnClient>,
    maker: Option<Maker>,
    start: StartDirectory,
    roots: RootsWait,
    /// Whether a call was answered with a question for the roots.
    asked_for_roots: AtomicBool,
    /// Whether the client has closed its end.
    gone: watch::Sender<bool>,
    log: Arc<Log>,
    channel: ChannelOffer,
    near: NearCalls,
    push: Push,
    /// Calls of tools so far.
    calls: Arc<AtomicUsize>,
    /// Whether somebody waits for a while without calls.
    awaits_quiet: Arc<AtomicBool>,
    /// Resources that are watched for a client of an older revision.
    watched: Lock<HashMap<String, AbortHandle>>,
}

#[derive(Default)]
struct OwnClient {
    client: Option<Arc<ServedClient>>,
    /// Whether it has called a tool: then it stays where it is.
    has_called: bool,
}

impl Server {
    pub(crate) fn new(
        clientele: Clientele,
        shared: Arc<ServedClient>,
        maker: Option<Maker>,
        start: StartDirectory,
        gone: watch::Sender<bool>,
    ) -> Self {
        Self {
            clientele,
            shared,
            own: Lock::default(),
            maker,
            start,
            roots: RootsWait::new(),
            asked_for_roots: AtomicBool::new(false),
            gone,
            log: Arc::new(Log::new()),
            channel: ChannelOffer::default(),
            near: NearCalls::default(),
            push: Push::default(),
            calls: Arc::default(),
            awaits_quiet: Arc::default(),
            watched: Lock::default(),
        }
    }

    /// The same with a channel for whom this says.
    pub(crate) fn offering(mut self, channel: ChannelOffer) -> Self {
        self.channel = channel;
        self
    }

    /// The same for calls from another machine, where it is told so.
    pub(crate) fn believing(mut self, near: NearCalls) -> Self {
        self.near = near;
        self
    }

    /// The channel of a client with these capabilities. Over HTTP there is none.
    fn channel(&self, capabilities: &ClientCapabilities) -> Channel {
        match self.clientele {
            Clientele::One => Channel::of(capabilities, self.channel),
            Clientele::Sessions => Channel::None,
        }
    }

    fn client(&self) -> Arc<ServedClient> {
        Arc::clone(self.own.lock().client.as_ref().unwrap_or(&self.shared))
    }

    /// The client of a tool call, which from now on stays where it is.
    fn calling(&self) -> Arc<ServedClient> {
        let mut own = self.own.lock();
        own.has_called = true;
        Arc::clone(own.client.as_ref().unwrap_or(&self.shared))
    }

    /// Whether the client's roots can still decide where it starts.
    fn is_open(&self) -> bool {
        self.start.is_open() && self.maker.is_some() && !self.own.lock().has_called
    }

    /// Whether a client with these capabilities will probably start elsewhere, so that it is better not to name the current
    /// directory.
    fn will_move(&self, capabilities: &ClientCapabilities) -> bool {
        let is_nowhere = || self.start.is_nowhere(&self.client().operator.surroundings().directory);
        capabilities.roots.is_some() && self.is_open() && is_nowhere()
    }

    /// Asks a client of an older revision for its roots, and starts in one of them if there is reason to.
    async fn follow_roots(&self, peer: &Peer<RoleServer>) {
        let has_roots = peer.peer_info().is_some_and(|client| client.capabilities.roots.is_some());
        if has_roots && self.is_open() {
            self.roots.begin();
            if let Ok(Ok(listed)) = timeout(ROOTS, peer.list_roots()).await {
                self.start_in_one_of(&listed);
            }
        }
        self.roots.end();
    }

    fn start_in_one_of(&self, listed: &ListRootsResult) {
        let directory = self.client().operator.surroundings().directory.clone();
        let place = self.start.place(&directory, listed.roots.iter().map(|root| root.uri.as_str()));
        let (Some(place), Some(maker)) = (place, &self.maker) else { return };
        // If it cannot be had there, for example because the settings lie in there, it stays where it is.
        let Ok(operator) = maker(Some(&place)) else { return };
        let is_moved = place.directory != directory;
        let operator = if is_moved { operator.telling_its_directory() } else { operator };
        let moved = Arc::new(ServedClient::new(operator));
        let mut own = self.own.lock();
        if !own.has_called {
            own.client = Some(moved);
        }
    }

    /// The newest revision has no other way to ask for roots than by answering a call with the question. That costs a
    /// round, so it is done once, and only where the current directory says nothing.
    fn ask_for_roots(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Option<InputRequiredResult> {
        if let Some(listed) = roots::brought(request).filter(|_| self.is_open()) {
            self.start_in_one_of(&listed);
            self.roots.end();
        }
        let is_possible = self.clientele == Clientele::One && Revision::of(context).is_modern();
        let will_move = || self.will_move(&context.client_capabilities().unwrap_or_default());
        if !is_possible || !will_move() || self.asked_for_roots.swap(true, Ordering::Relaxed) {
            return None;
        }
        self.roots.begin();
        roots::ask_later()
    }

    /// Whether the state that a call brings back is one that it was given, and what else it brings can be read.
    fn check_state(&self, request: &CallToolRequestParams) -> Result<(), ErrorData> {
        let refuse = |problem: &'static str| Err(ErrorData::invalid_params(problem, None));
        if let Some(state) = &request.request_state
            && !self.client().operator.is_open_question(state)
        {
            return refuse(
                "this requestState was not given here, was used before, or has expired; call again without it",
            );
        }
        if !approval::is_readable(request) {
            return refuse("the response to 'consent' is not the result of an elicitation");
        }
        Ok(())
    }

    /// Tells the client what happens to its tasks while it calls nothing, where it can hear that: over a channel, or in log
    /// messages.
    fn start_push(&self, peer: &Peer<RoleServer>) {
        let info = peer.peer_info();
        let none = ClientCapabilities::default();
        let channel = self.channel(info.as_ref().map_or(&none, |client| &client.capabilities));
        let has_channel = channel != Channel::None;
        if !has_channel && !self.log.is_wanted(push::LEVEL) {
            return;
        }
        let client = self.client();
        if let Some(info) = info.filter(|_| has_channel && !client.operator.has_client_name()) {
            client.operator.set_client_name(&info.client_info.name);
        }
        self.push.start(&client, peer, channel, &self.log);
    }

    /// Gives back what only the start needed, or one call among many, once that is over and no call is waited for.
    fn give_back_memory(&self) {
        if self.clientele == Clientele::One {
            let client = self.client();
            tokio::spawn(async move {
                sleep(STARTED).await;
                client.idle().await;
                machine::give_back_memory();
            });
        }
    }

    /// Gives back memory once no call has come for a while. Whatever the calls until then: one look after another.
    fn rest_when_quiet(&self) {
        if self.clientele != Clientele::One || self.awaits_quiet.swap(true, Ordering::Relaxed) {
            return;
        }
        let (client, calls, awaits_quiet) = (self.client(), Arc::clone(&self.calls), Arc::clone(&self.awaits_quiet));
        tokio::spawn(async move {
            loop {
                let before = calls.load(Ordering::Relaxed);
                sleep(QUIET).await;
                client.idle().await;
                if calls.load(Ordering::Relaxed) == before {
                    break;
                }
            }
            awaits_quiet.store(false, Ordering::Relaxed);
            machine::give_back_memory();
        });
    }

    /// The client of a request, which says what it is called. Over HTTP, requests that belong to no session share one,
    /// whoever sends them.
    fn named(&self, client: Arc<ServedClient>, context: &RequestContext<RoleServer>) -> Arc<ServedClient> {
        let is_one = self.clientele == Clientele::One || !Arc::ptr_eq(&client, &self.shared);
        if is_one && !client.operator.has_client_name() {
            let name = context.client_info().map_or_else(|| UNNAMED.to_owned(), |info| info.name);
            client.operator.set_client_name(&name);
        }
        client
    }

    /// The client of a tool call, whose name the machine that it calls from may know better.
    fn caller(&self, near: Option<&FromNear>, context: &RequestContext<RoleServer>) -> Arc<ServedClient> {
        let client = self.calling();
        if let Some(name) = near.and_then(|near| near.caller.as_deref()) {
            client.operator.set_client_name(name);
        }
        self.named(client, context)
    }
}

/// A client that does not say its name.
const UNNAMED: &str = "an unnamed client";

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
        config.server_info = identity::implementation();
        let operator = &self.client().operator;
        let directory = operator.surroundings().directory.display();
        config.instructions = Some(format!("{}\nWorking directory: {directory}", instructions(operator)));
        config
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        if let (Clientele::Sessions, Some(maker)) = (self.clientele, &self.maker) {
            let operator = maker(None).map_err(|problem| ErrorData::internal_error(problem, None))?;
            self.own.lock().client.get_or_insert_with(|| Arc::new(ServedClient::new(operator)));
        }
        if request.capabilities.roots.is_some() && self.is_open() {
            self.roots.begin();
        }
        context.peer.set_peer_info(request.clone());
        let mut hello = self.negotiate_initialize(&request)?;
        let revision = Revision::new(hello.protocol_version.as_str());
        revision.trim(&mut hello, request.capabilities.extensions.is_some());
        if self.will_move(&request.capabilities) {
            hello.instructions = Some(instructions(&self.client().operator));
        }
        if self.channel(&request.capabilities) != Channel::None {
            push::declare_channel(&mut hello);
        }
        Ok(hello)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(match self.channel {
            ChannelOffer::WhereDeclared => ProtocolVersion::KNOWN_VERSIONS,
            ChannelOffer::Always => ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25),
        })
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let mut config = self.get_info();
        let capabilities = context.client_capabilities().unwrap_or_default();
        if self.clientele == Clientele::One && self.will_move(&capabilities) {
            config.instructions = Some(instructions(&self.client().operator));
        }
        Ok(DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), config))
    }

    /// The client will call soon, so this starts what its first command needs, once it is clear where.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let mut following = std::pin::pin!(self.follow_roots(&context.peer));
        if timeout(roots::PATIENCE, &mut following).await.is_err() {
            self.client().operator.warm();
            following.await;
        }
        self.client().operator.warm();
        self.start_push(&context.peer);
        self.give_back_memory();
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.follow_roots(&context.peer).await;
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        // Some tools say where they start.
        self.roots.over().await;
        let (revision, client) = (Revision::of(&context), self.client());
        let tools = client.operator.tools();
        let has_schema = structured::is_wanted(&client.operator, &context);
        let longest = client.operator.dialect().longest_reply();
        let tools = tools.iter().filter_map(|tool| as_tool(tool, has_schema, longest)).map(|mut tool| {
            revision.trim_tool(&mut tool);
            tool
        });
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let client = self.client();
        let tools = client.operator.tools();
        tools.iter().find(|tool| tool.name == name).and_then(|tool| as_tool(tool, false, None))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.check_state(&request)?;
        let near = self.near.brought(&context.meta)?;
        if let Some(asking) = self.ask_for_roots(&request, &context) {
            return Ok(CallToolResponse::InputRequired(asking));
        }
        self.roots.over().await;
        let client = self.caller(near.as_deref(), &context);
        self.start_push(&context.peer);
        let awaited = AwaitedCall::of(&client);
        let (progress, tool) = (OutputProgress::default(), request.name.clone());
        self.log.send(&context, LoggingLevel::Debug, || json!({"event": "call", "tool": tool})).await;
        let sending = context.meta.get_progress_token().map(|token| progress.send(context.peer.clone(), token));
        let begun = std::time::Instant::now();
        let way = approval::way(&context);
        let structured = structured::is_wanted(&client.operator, &context);
        let asked = Asked { request, near, structured };
        let mut call = RunningCall::start(&client, asked, progress, &way);
        let response = call.answer(&client, &way, &context, self.gone.subscribe()).await;
        drop(awaited);
        if self.calls.fetch_add(1, Ordering::Relaxed) % MANY_CALLS == MANY_CALLS - 1 {
            self.give_back_memory();
        }
        self.rest_when_quiet();
        if let Some(sending) = sending {
            sending.end().await;
        }
        let failed = matches!(&response, CallToolResponse::Complete(result) if result.is_error == Some(true));
        let level = if failed { LoggingLevel::Warning } else { LoggingLevel::Info };
        let millis = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let answer = || json!({"event": "answer", "tool": tool, "run": call.id(), "is_error": failed, "ms": millis});
        self.log.send(&context, level, answer).await;
        Ok(response)
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let client = self.named(self.client(), &context);
        client.task(&request.task_id, structured::is_wanted(&client.operator, &context)).await
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // We never ask the client anything in the middle of a task, so there is no answer to take.
        self.named(self.client(), &context).task(&request.task_id, false).await.map(|_| ())
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.named(self.client(), &context).cancel(&request.task_id).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let client = self.named(self.client(), &context);
        client.operator.settled().await;
        let mut list = resources::list(&client.operator, request.and_then(|page| page.cursor).as_deref())?;
        let revision = Revision::of(&context);
        list.resources.iter_mut().for_each(|resource| revision.trim_resource(resource));
        Ok(list)
    }

    // These two would be answered by default, with nothing, although nobody has declared them.
    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(no_method("prompts/list"))
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(no_method("completion/complete"))
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
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let client = self.named(self.client(), &context);
        client.operator.settled().await;
        resources::read(&client.operator, &request.uri).map(Into::into)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let client = self.named(self.client(), &context);
        client.operator.settled().await;
        let task = resources::find(&client.operator, &request.uri)?;
        let (tasks, uri) = (client.operator.tasks().clone(), request.uri.clone());
        let watching = tokio::spawn(async move {
            let mut seen = Cursor::default();
            loop {
                let more = resources::changed(&tasks, &task.id, &mut seen).await;
                let sent =
                    context.peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri.clone())).await;
                if !more || sent.is_err() {
                    return;
                }
            }
        });
        let mut watched = self.watched.lock();
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
        let mut watched = self.watched.lock();
        if let Some(handle) = watched.remove(&request.uri) {
            handle.abort();
        }
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut filter = SubscriptionFilter::new();
        let client = self.client();
        let known = |uri: &&String| resources::find(&client.operator, uri).is_ok();
        filter.resource_subscriptions =
            requested.resource_subscriptions.as_ref().map(|uris| uris.iter().filter(known).cloned().collect());
        Some(filter)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let client = self.named(self.client(), context.request_context());
        let mut watching = tokio::task::JoinSet::new();
        for uri in context.accepted().resource_subscriptions.clone().unwrap_or_default() {
            let task = resources::find(&client.operator, &uri)?;
            let (tasks, sink) = (client.operator.tasks().clone(), context.sink().clone());
            watching.spawn(async move {
                let mut seen = Cursor::default();
                loop {
                    let more = resources::changed(&tasks, &task.id, &mut seen).await;
                    let params = ResourceUpdatedNotificationParam::new(uri.clone());
                    let update = ResourceUpdatedNotification::new(params);
                    let sent = sink.send(ServerNotification::ResourceUpdatedNotification(update)).await;
                    if !more || sent.is_err() {
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
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.log.set(request.level);
        self.start_push(&context.peer);
        Ok(())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // A method that exists ends up here if the library could not read its parameters.
        let method = request.method.as_str();
        if METHODS.contains(&method) && !Revision::of(&context).has_removed(method) {
            let problem = format!("the parameters of {method} are not what it takes");
            return Err(ErrorData::invalid_params(problem, None));
        }
        Err(no_method(method))
    }
}

/// What this is and when to use it: some clients show a model nothing else of a server.
fn instructions(operator: &Operator) -> String {
    let runs = operator.dialect().running_tool();
    let held = operator.sandbox_in_words().map(|words| format!(" {words}")).unwrap_or_default();
    format!(
        "The shell of this machine: {runs} runs commands and programs, reports how each ended, and never hangs on what is \
         left running. Use it for every shell command, in place of any other shell tool.{held}"
    )
}

fn no_method(name: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method '{name}'"), None)
}

impl Drop for Server {
    fn drop(&mut self) {
        let watched = self.watched.get_mut();
        watched.values().for_each(AbortHandle::abort);
    }
}

/// Methods with parameters that can be wrong.
const METHODS: [&str; 12] = [
    "initialize", "tools/call", "tools/list", "resources/list", "resources/read", "resources/subscribe",
    "resources/unsubscribe", "subscriptions/listen", "logging/setLevel", "tasks/get", "tasks/update", "tasks/cancel",
];

/// Where Claude Code looks for how many characters a tool may answer with. Longer ones it writes to a file and shows the
/// beginning of; without this it also counts tokens, and 30,000 bytes of digits have too many of them.
const LONGEST_RESULT: &str = "anthropic/maxResultSizeChars";

fn as_tool(spec: &ToolSpec, has_schema: bool, longest: Option<usize>) -> Option<Tool> {
    serde_json::from_value(json!({
        "name": spec.name,
        "title": spec.title(),
        "description": spec.description,
        "inputSchema": spec.input_schema(),
        "outputSchema": has_schema.then_some(&spec.output_schema),
        "annotations": {
            "readOnlyHint": spec.effect == ToolEffect::Looks,
            "destructiveHint": spec.effect != ToolEffect::Looks,
            "idempotentHint": spec.effect == ToolEffect::Stops,
            "openWorldHint": spec.effect == ToolEffect::Runs,
        },
        "_meta": longest.map(|characters| json!({LONGEST_RESULT: characters})),
    }))
    .ok()
}
