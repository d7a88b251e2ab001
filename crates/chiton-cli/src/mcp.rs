//! `chiton mcp`: the server that agents talk to.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use clap::Args;

use crate::operate::OperatorArguments;

/// Serve an agent over MCP, on standard input and output
#[derive(Args)]
#[command(after_help = "\
An MCP client starts this by itself; its entry is, for most of them:
  {\"mcpServers\": {\"chiton\": {\"command\": \"chiton\", \"args\": [\"mcp\"]}}}

Closing standard input ends it: commands that a call waits for are stopped, durable tasks go on.")]
pub(crate) struct McpArguments {
    #[command(flatten)]
    operator: OperatorArguments,
}

pub(crate) fn mcp(arguments: &McpArguments, state: &Path) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let served = runtime.block_on(async {
        let operator = arguments.operator.operator(state, "mcp")?;
        chiton_mcp::server::serve_stdio(operator)
            .await
            .map_err(|error| anyhow!("the client does not speak MCP: {error}"))
    });
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}
