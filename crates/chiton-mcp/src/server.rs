//! The adapter to the MCP library: the one module that knows it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use chiton_dialects::{Reply, ToolSpec};
use chiton_engine::RunControl;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer, ServiceExt};
use rmcp::{ErrorData, transport};
use serde_json::json;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

use crate::operator::Operator;
use crate::progress::Progress;

/// Serves one client on standard input and output until it goes away.
///
/// # Errors
/// In words, when the client does not speak MCP.
pub async fn serve_stdio(operator: Operator) -> Result<(), String> {
    let (reader, writer) = transport::stdio_pipes();
    let gone = watch::Sender::new(false);
    let reader = EndWatch { reader, gone: gone.clone() };
    let server = Server { operator: Arc::new(operator), gone };
    let running = server.serve((reader, writer)).await.map_err(|error| error.to_string())?;
    running.waiting().await.map(|_| ()).map_err(|error| error.to_string())
}

struct Server {
    operator: Arc<Operator>,
    /// Whether the client has closed its end.
    gone: watch::Sender<bool>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut config = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        config.server_info = Implementation::new("chiton", env!("CARGO_PKG_VERSION"));
        config.instructions = Some(format!("Working directory: {}", self.operator.surroundings().directory.display()));
        config
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.operator.dialect().tools(self.operator.surroundings());
        Ok(ListToolsResult { tools: tools.iter().filter_map(as_tool).collect(), ..ListToolsResult::default() })
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tools = self.operator.dialect().tools(self.operator.surroundings());
        tools.iter().find(|tool| tool.name == name).and_then(as_tool)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let progress = Progress::default();
        let telling = context.meta.get_progress_token().map(|token| {
            let peer = context.peer.clone();
            tokio::spawn(progress.clone().tell(peer, token))
        });
        let arguments = request.arguments.unwrap_or_default();
        let control = RunControl::new();
        let mut gone = self.gone.subscribe();
        let call = self.operator.call(&request.name, &arguments, progress.ear(), &control);
        tokio::pin!(call);
        let reply = tokio::select! {
            reply = &mut call => reply,
            () = context.ct.cancelled() => {
                control.cancel();
                call.await
            }
            // The library would wait for us before it tells us that the client is gone.
            () = closed(&mut gone) => {
                control.cancel();
                call.await
            }
        };
        if let Some(telling) = telling {
            telling.abort();
            // Nothing may follow the answer.
            let _ = telling.await;
        }
        Ok(CallToolResponse::Complete(as_result(reply)))
    }
}

async fn closed(gone: &mut watch::Receiver<bool>) {
    // Not the guard of the value itself: it must not live across a wait.
    let _ = gone.wait_for(|gone| *gone).await.map(|_| ());
}

fn as_tool(spec: &ToolSpec) -> Option<Tool> {
    serde_json::from_value(json!({
        "name": spec.name,
        "description": spec.description,
        "inputSchema": spec.input_schema(),
        "outputSchema": spec.output_schema,
        "annotations": {
            "readOnlyHint": spec.read_only,
            "destructiveHint": !spec.read_only,
            "idempotentHint": spec.read_only,
            "openWorldHint": !spec.read_only,
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

/// A reader that says when its other end was closed.
struct EndWatch<R> {
    reader: R,
    gone: watch::Sender<bool>,
}

impl<R: AsyncRead + Unpin> AsyncRead for EndWatch<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.reader).poll_read(context, buffer);
        let ended = matches!(&polled, Poll::Ready(Ok(()))) && buffer.filled().len() == before;
        if ended || matches!(&polled, Poll::Ready(Err(_))) {
            self.gone.send_replace(true);
        }
        polled
    }
}
