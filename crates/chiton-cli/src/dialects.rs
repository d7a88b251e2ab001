//! `chiton dialects` and `chiton schema`: what tool surfaces there are, and what they look like to a model.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use chiton_dialects::{Dialect, Surroundings, ToolSpec, catalogue};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::operate;
use crate::setting;

/// List the tool surfaces with their tools
#[derive(Args)]
pub(crate) struct DialectsArguments {}

/// Print the tools of a dialect as a model provider takes them
#[derive(Args)]
pub(crate) struct SchemaArguments {
    /// The tool surface
    #[arg(long, default_value = "native", value_parser = operate::dialect)]
    dialect: &'static dyn Dialect,
    /// For whom
    #[arg(long, value_enum, default_value_t = Format::Mcp)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// An MCP client
    Mcp,
    /// `OpenAI`: functions
    Openai,
    /// Anthropic: tools
    Anthropic,
    /// Gemini: function declarations
    Gemini,
}

pub(crate) fn dialects() -> Result<ExitCode> {
    let rows: Vec<Vec<String>> =
        catalogue::all().iter().map(|dialect| vec![dialect.name().to_owned(), dialect.about().to_owned()]).collect();
    write!(std::io::stdout().lock(), "{}", crate::table::lay_out(&["NAME", "TOOLS"], &rows))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn schema(arguments: &SchemaArguments) -> Result<ExitCode> {
    let around = Surroundings { directory: setting::working_directory()?, timeout: None };
    let tools: Vec<Value> =
        arguments.dialect.tools(&around).iter().map(|tool| as_value(tool, arguments.format)).collect();
    writeln!(std::io::stdout().lock(), "{}", serde_json::to_string_pretty(&tools)?)?;
    Ok(ExitCode::SUCCESS)
}

fn as_value(tool: &ToolSpec, format: Format) -> Value {
    let (name, description, mut schema) = (tool.name, &tool.description, tool.input_schema());
    match format {
        Format::Mcp => json!({"name": name, "description": description, "inputSchema": schema}),
        Format::Openai => {
            json!({"type": "function", "function": {"name": name, "description": description, "parameters": schema}})
        }
        Format::Anthropic => json!({"name": name, "description": description, "input_schema": schema}),
        Format::Gemini => {
            // Its schema language has no word for this.
            without(&mut schema, "additionalProperties");
            json!({"name": name, "description": description, "parameters": schema})
        }
    }
}

fn without(schema: &mut Value, key: &str) {
    if let Value::Object(entries) = schema {
        entries.remove(key);
        entries.values_mut().for_each(|value| without(value, key));
    }
}
