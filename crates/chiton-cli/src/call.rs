//! `chiton call`: one tool call, for scripts and for trying out.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use chiton_operator::Caller;
use clap::Args;
use serde_json::{Map, Value, json};

use crate::audit::otlp::Exporter;
use crate::session_arguments::{Purpose, SessionArguments};
use crate::settings::Settings;

/// Make one tool call as an agent would
#[derive(Args)]
#[command(after_help = "\
Each call is a session of its own. Exit code: 0, or 1 when the reply counts as an error.

Examples:
  chiton call Bash '{\"command\": \"echo hello\"}'
  chiton call --dialect boris --json bash '{\"command\": \"pwd\", \"timeout\": 5000}'")]
pub(crate) struct CallArguments {
    #[command(flatten)]
    session: SessionArguments,
    /// Print the whole reply as JSON
    #[arg(long)]
    json: bool,
    /// The tool
    tool: String,
    /// Its arguments, as a JSON object
    #[arg(default_value = "{}")]
    arguments: String,
}

pub(crate) fn call(arguments: &CallArguments, settings: &Settings, state: &Path) -> Result<ExitCode> {
    let values: Map<String, Value> = serde_json::from_str(&arguments.arguments)
        .with_context(|| format!("the arguments are not a JSON object: {}", arguments.arguments))?;
    let runtime = crate::runtime::build(tokio::runtime::Builder::new_multi_thread().worker_threads(1))?;
    let exporter = Exporter::start(settings, state)?;
    let reply = runtime.block_on(async {
        let operator = arguments.session.resolve(settings, Purpose::OneCall, state)?.operator(state)?;
        let called = operator.call(&arguments.tool, &values, &Caller::silent()).await;
        anyhow::Ok(operator.deliver(&called).await)
    });
    if let Some(exporter) = exporter {
        exporter.finish();
    }
    let reply = reply?;
    let mut stdout = std::io::stdout().lock();
    if arguments.json {
        writeln!(
            stdout,
            "{}",
            json!({"text": reply.text, "structured": reply.structured, "is_error": reply.is_error})
        )?;
    } else {
        writeln!(stdout, "{}", reply.text)?;
    }
    runtime.shutdown_background();
    Ok(ExitCode::from(u8::from(reply.is_error)))
}
